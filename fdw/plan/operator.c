/*
 * operator.c
 *		Operators that bytes can answer: comparisons, prefixes.
 *
 * The collation that counts is the operator's.  Equality of text is equality of bytes, and a prefix
 * is a prefix of bytes, under every deterministic collation.  Order is order of bytes only under C,
 * or with the ~<~ operators.  Other types have one order; whether an encoding keeps it is for the
 * callers to say.
 */
#include "postgres.h"

#include "fdw/plan/operator.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "fdw/key/key_value.h"
#include "fdw/store/compat.h"
#include "fdw/table/type_kind.h"

static bool
is_deterministic(Oid collation)
{
	return OidIsValid(collation) && get_collation_isdeterministic(collation);
}

/* Returns true if a value of this type can be converted to the column's. */
static bool
is_convertible(const WtColumn *c, WtKind kind, Oid type)
{
	if (type == c->typid || (wt_is_integer(c->typid) && wt_is_integer(type)))
		return true;
	switch (c->typid)
	{
		case NAMEOID:
			return type == TEXTOID;
		case FLOAT4OID:
		case FLOAT8OID:
			return type == FLOAT4OID || type == FLOAT8OID;
		case TIMESTAMPTZOID:
			return type == DATEOID || type == TIMESTAMPOID;
		case TIMESTAMPOID:
			return type == DATEOID || (kind != WT_COND_EQ && wt_key_value_is_local(c, type));
		default:
			return kind != WT_COND_EQ && wt_key_value_is_local(c, type);
	}
}

/* The same as wt_operator_compares, without negation and collation.  *pattern: it is one of the
 * operators ~<~, which compare bytes. */
static bool
match_order(const WtColumn *c, Oid opno, WtKind *kind, Oid *type, bool *pattern)
{
	static const WtKind kinds[] = {0, WT_COND_LT, WT_COND_LE, WT_COND_EQ, WT_COND_GE, WT_COND_GT};
	Oid family = lookup_type_cache(c->typid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Oid left;
	int strategy;

	*pattern = false;
	if (!OidIsValid(opno) || !OidIsValid(family) ||
		(type_is_collatable(c->typid) && !wt_is_string(c->typid)))
		return false;
	if (get_op_opfamily_strategy(opno, family) == 0)
	{
		family = TEXT_PATTERN_BTREE_FAM_OID;
		if (!wt_is_text(c->typid) || get_op_opfamily_strategy(opno, family) == 0)
			return false;
		*pattern = true;
	}
	get_op_opfamily_properties(opno, family, false, &strategy, &left, type);
	if (strategy < BTLessStrategyNumber || strategy > BTGreaterStrategyNumber)
		return false;
	*kind = kinds[strategy];
	if (wt_is_text(c->typid))
		return left == TEXTOID && *type == TEXTOID;
	if (left == ANYENUMOID && type_is_enum(c->typid))
		left = *type = c->typid;
	return left == c->typid && is_convertible(c, *kind, *type);
}

bool
wt_operator_compares(const WtColumn *c, Oid opno, Oid collation, WtKind *kind, Oid *type)
{
	bool pattern, equality;

	if (!match_order(c, opno, kind, type, &pattern))
	{
		if (!match_order(c, get_negator(opno), kind, type, &pattern) || *kind != WT_COND_EQ)
			return false;
		*kind = WT_COND_NE;
	}
	equality = *kind == WT_COND_EQ || *kind == WT_COND_NE;
	return !wt_is_string(c->typid) || pattern ||
		   (equality ? is_deterministic(collation) : wt_collate_is_c(collation));
}

bool
wt_operator_has_prefix(const WtColumn *c, Oid function, Oid collation, WtKind *kind, Oid *type)
{
	*type = TEXTOID;
	switch (function)
	{
		case F_BYTEALIKE:
			*kind = WT_COND_LIKE;
			*type = BYTEAOID;
			return c->typid == BYTEAOID;
		case F_TEXTLIKE:
		case F_NAMELIKE:
			*kind = WT_COND_LIKE;
			break;
		case F_STARTS_WITH:
			*kind = WT_COND_STARTS;
			break;
		case F_TEXTREGEXEQ:
		case F_NAMEREGEXEQ:
			*kind = WT_COND_REGEX;
			break;
		default:
			return false;
	}
	return wt_is_string(c->typid) && is_deterministic(collation);
}

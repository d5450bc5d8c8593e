/*
 * merge_family.c
 *		Which merge operator a family gets from its option and the types of its columns.
 *
 * The option names an operation.  Whether it is one of integers or of doubles is decided by the
 * columns that show cells of the family; all of them are of one kind.  Without such columns it is
 * one of integers.  A map shows the bytes, and takes them in the same form.
 *
 * "append" is for types of which two values, one behind the other, are a value: text, varchar
 * without a length, and bytea, stored as they are.
 */
#include "postgres.h"

#include "fdw/ddl/merge_family.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "fdw/table/encoding.h"
#include "fdw/table/family_option.h"

#define DOUBLES (WIDE_MERGE_SUM_DOUBLE - WIDE_MERGE_SUM)

typedef enum Numbers
{
	NUMBERS_UNKNOWN,
	NUMBERS_INTEGER,
	NUMBERS_DOUBLE,
	NUMBERS_OTHER
} Numbers;

/* Returns true if two values of the column, one behind the other, are a value. */
static bool
appendable(const WtColumn *c)
{
	return c->role == WT_CELL && (c->enc == WT_ENC_TEXT || c->enc == WT_ENC_BYTES) &&
		   c->typmod < 0 && !c->domain &&
		   (c->typid == TEXTOID || c->typid == VARCHAROID || c->typid == BYTEAOID);
}

/* What the column's values are.  op: of integers, or one that is not of numbers. */
static Numbers
numbers_of(const WtColumn *c, uint8 op)
{
	bool plain = c->role == WT_CELL && (c->enc == WT_ENC_BINARY || c->enc == WT_ENC_COUNTER);

	if (op == WIDE_MERGE_APPEND)
		return appendable(c) ? NUMBERS_INTEGER : NUMBERS_OTHER;
	if (op == WIDE_MERGE_HLL || op == WIDE_MERGE_NONE)
		return (c->enc == WT_ENC_HLL) == (op == WIDE_MERGE_HLL) ? NUMBERS_INTEGER : NUMBERS_OTHER;
	if (!plain)
		return NUMBERS_OTHER;
	switch (c->typid)
	{
		case INT8OID:
			return NUMBERS_INTEGER;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return op == WIDE_MERGE_MIN || op == WIDE_MERGE_MAX ? NUMBERS_INTEGER : NUMBERS_OTHER;
		case FLOAT8OID:
			return op == WIDE_MERGE_OR || op == WIDE_MERGE_AND ? NUMBERS_OTHER : NUMBERS_DOUBLE;
		default:
			return NUMBERS_OTHER;
	}
}

static _Noreturn void
raise_column(WtTable *t, const WtFamily *f, const WtColumn *c, uint8 op)
{
	const char *hint =
		op == WIDE_MERGE_HLL || op == WIDE_MERGE_NONE
			? "A bigint column with encoding \"hll\" shows a count of distinct values. It is in a "
			  "family whose merge operator is \"hll\", with no columns of other kinds."
		: op == WIDE_MERGE_APPEND
			? "The columns of such a family are of type text, character varying without a length, "
			  "or bytea, and no domain.  Their encoding is \"text\" or \"bytes\"."
			: "The columns of such a family are all of type bigint, or all of type double "
			  "precision unless the operator is \"or\" or \"and\"; with \"min\" and \"max\" "
			  "timestamps count as bigint.  Their encoding is \"binary\" or \"counter\".";

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
			 errmsg("column \"%s\" cannot be in family \"%s\", whose merge operator is \"%s\"",
					c->name, f->name, wt_family_option_operator(op)),
			 errdetail("Foreign table \"%s\": the column is of type %s with encoding \"%s\".",
					   get_rel_name(t->relid), format_type_be(c->typid), wt_encoding_name(c->enc)),
			 errhint("%s", hint)));
}

uint8
wt_merge_family_operator(WtTable *t, const WtFamily *f, const wide_family_options *old)
{
	int k = (int) (f - t->families);
	uint8 stored = old != NULL ? old->merge : WIDE_MERGE_NONE;
	bool doubles = stored >= WIDE_MERGE_SUM_DOUBLE && stored <= WIDE_MERGE_MAX_DOUBLE;
	uint8 stored_op = doubles ? stored - DOUBLES : stored;
	uint8 op = (f->stated & WT_FAM_MERGE) ? f->opt.merge : stored_op;
	Numbers kind = stored == WIDE_MERGE_NONE ? NUMBERS_UNKNOWN
				   : doubles				 ? NUMBERS_DOUBLE
											 : NUMBERS_INTEGER;

	if (old != NULL && op != stored_op)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("the merge operator of family \"%s\" cannot be changed", f->name),
				 errdetail("Foreign table \"%s\": it is \"%s\", not \"%s\".",
						   get_rel_name(t->relid), wt_family_option_operator(stored_op),
						   wt_family_option_operator(op)),
				 errhint("Make another family, or drop this one first.")));
	for (int i = 0; i < t->natts; i++)
	{
		const WtColumn *c = &t->columns[i];
		Numbers n;

		if (c->family != k || (c->role != WT_CELL && c->role != WT_KEY))
			continue;
		n = numbers_of(c, op);
		if (n == NUMBERS_OTHER || (kind != NUMBERS_UNKNOWN && n != kind))
			raise_column(t, f, c, op);
		kind = n;
	}
	return kind == NUMBERS_DOUBLE && op != WIDE_MERGE_NONE ? op + DOUBLES : op;
}

void
wt_merge_family_check(const WtFamily *f, const wide_family_options *opt,
					  const wide_family_options *old)
{
	if (opt->merge == WIDE_MERGE_NONE)
		return;
	if (opt->merge == WIDE_MERGE_HLL && (opt->versions > 1 || opt->ttl_us > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("family \"%s\" counts distinct values, and cannot have \"versions\" or "
						"\"ttl\"",
						f->name)));
	if (opt->merge == WIDE_MERGE_APPEND && opt->versions > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("family \"%s\" has the merge operator \"append\", and cannot have "
						"\"versions\"",
						f->name)));
	if (opt->min_versions > 0 || opt->keep_deleted)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("family \"%s\" has a merge operator, and cannot have \"min_versions\" or "
						"\"keep_deleted\"",
						f->name)));
	if (old != NULL && (opt->versions != old->versions || opt->ttl_us != old->ttl_us))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("\"versions\" and \"ttl\" of family \"%s\" cannot be changed", f->name),
				 errdetail("It has a merge operator: what was added is kept as one sum where these "
						   "options do not tell it apart."),
				 errhint("Make another family, and add the values to it.")));
}

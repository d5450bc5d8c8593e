/*
 * pushdown.c
 *		WHERE clauses -> ranges of row keys.
 *
 * In the planner a clause is recognised (wt_conditions) as a condition on one
 * part of the key: an operator of the type's btree family, a list, a prefix, a
 * row comparison.  At run time, with the values at hand, each part's
 * conditions become intervals of bytes, and the parts one after the other
 * become ranges of keys (wt_ranges): parts bound to values first, then one
 * part with an interval.  The same code serves the planner's estimates.
 *
 * Which clause may be used is a question of byte order and of collation:
 *
 *	- equality of text is equality of bytes under every deterministic collation;
 *	- < and > of text are byte order only under C (or with the ~<~ operators);
 *	- a prefix is a prefix of bytes under every deterministic collation,
 *	  whatever the order of the collation, because the order here is bytes;
 *	- other types have one order, and an encoding keeps it or does not.
 *
 * The collation that counts is the operator's input collation, not the
 * column's.  A value that the key's encoding cannot hold (too large, negative
 * for an unsigned one, with the delimiter in it) is no error in a WHERE clause:
 * no row is equal to it, and in the order it is below or above all rows.
 */
#include "pushdown.h"

#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

/* Beyond so many ranges a product of lists is not multiplied out further. */
#define MAX_PRODUCT 10000

/* The latest finite timestamp that codec.c can encode. */
#define LAST_TIMESTAMP	(PG_INT64_MAX - 1 - WT_EPOCH_DIFF)

/* -------------------------------------------------------- what is possible */

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static WtColumn *
key_column(WtTable *t, int part)
{
	return &t->columns[t->keys[part]];
}

/* Also of the pseudo parts of the layout 'cells'. */
WtColumn *
wt_part_column(WtTable *t, int part)
{
	WtRole		role;

	if (part < t->nkeys)
		return key_column(t, part);
	role = part == WT_PART_FAMILY(t) ? WT_CELL_FAMILY : part == WT_PART_QUALIFIER(t) ? WT_CELL_QUALIFIER :
		part == WT_PART_VERSION(t) ? WT_CELL_VERSION : part == WT_PART_TS(t) ? WT_CELL_TS : WT_CELL_NO;
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role == role)
			return &t->columns[i];
	return NULL;
}

static WtColumn *
part_column(WtTable *t, int part)
{
	WtColumn   *c = wt_part_column(t, part);

	if (c == NULL)
		elog(ERROR, "widetable: no column for part %d", part);
	return c;
}

bool
wt_part_is_descending(WtTable *t, int part)
{
	WtColumn   *c;

	/* the newest version of a cell comes first */
	if (part >= t->nkeys)
		return part == WT_PART_TS(t);
	c = key_column(t, part);
	return c->desc != (c->enc == WT_ENC_REVERSE);
}

bool
wt_part_is_ordered(WtTable *t, int part)
{
	WtColumn   *c;

	/* a qualifier that is not text is shown as \x..., which sorts elsewhere */
	if (part >= t->nkeys)
		return part == WT_PART_QUALIFIER(t) && part_column(t, part)->typid == BYTEAOID;
	c = key_column(t, part);
	return c->enc == WT_ENC_REVERSE || wt_encoding_ordered(c);
}

/* Are equal values equal bytes, and different values different bytes? */
static bool
is_injective(const WtColumn *c)
{
	switch (c->typid)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case TEXTOID:
		case VARCHAROID:
		case BYTEAOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
			return true;
		default:
			/* 1.0 = 1.00, -0 = 0, 24 hours = 1 day: only the ordered form is canonical */
			return c->enc == WT_ENC_ORDERED || type_is_enum(c->typid);
	}
}

static bool
is_digest(const WtColumn *c)
{
	return c->enc == WT_ENC_MD5 || c->enc == WT_ENC_SHA1;
}

static bool
is_deterministic(Oid collation)
{
	return OidIsValid(collation) && get_collation_isdeterministic(collation);
}

/* ---------------------------------------------------- recognising clauses */

typedef struct Match
{
	PlannerInfo *root;
	RelOptInfo *rel;
	WtTable    *t;
	RestrictInfo *rinfo;
} Match;

/* The part that an expression stands for, or -1. */
static int
match_part(Match *m, Node *node)
{
	Var		   *var;
	WtColumn   *c;

	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return -1;
	var = (Var *) node;
	if (var->varno != (int) m->rel->relid || var->varlevelsup != 0 || var->varattno <= 0 || var->varattno > m->t->natts)
		return -1;
	c = &m->t->columns[var->varattno - 1];
	if (c->role == WT_KEY)
		return c->part;
	if (m->t->cells_layout && c->role == WT_CELL_FAMILY && is_text(c->typid))
		return WT_PART_FAMILY(m->t);
	if (m->t->cells_layout && c->role == WT_CELL_QUALIFIER && (is_text(c->typid) || c->typid == BYTEAOID))
		return WT_PART_QUALIFIER(m->t);
	if (m->t->cells_layout && c->role == WT_CELL_VERSION && is_integer(c->typid))
		return WT_PART_VERSION(m->t);
	if (m->t->cells_layout && c->role == WT_CELL_TS)
		return WT_PART_TS(m->t);
	if (m->t->cells_layout && c->role == WT_CELL_NO)
		return WT_PART_NO(m->t);
	return -1;
}

/* Can this be computed once, before the scan begins? */
static bool
is_value(Match *m, Node *node)
{
	Relids		varnos;
	bool		mine;

	if (contain_volatile_functions(node) || contain_subplans(node))
		return false;
	varnos = pull_varnos(m->root, node);
	mine = bms_is_member(m->rel->relid, varnos);
	bms_free(varnos);
	return !mine;
}

static WtCond *
new_cond(Match *m, int part, WtKind kind, bool faithful)
{
	WtCond	   *c = palloc0(sizeof(WtCond));

	c->part = part;
	c->kind = kind;
	c->faithful = faithful && part < m->t->nkeys;
	c->rinfo = m->rinfo;
	return c;
}

static WtCond *
add_value(WtCond *c, Node *value, Oid type)
{
	c->values = lappend(c->values, value);
	c->types = lappend_oid(c->types, type);
	return c;
}

/*
 * Does the operator (key OP value) belong to the order of the key's type, with
 * a value that we can turn into one of the key's type?  Sets kind and the type
 * of the value; pattern: one of the operators ~<~ that compare bytes.
 */
static bool
match_operator(WtColumn *c, Oid opno, WtKind *kind, Oid *type, bool *pattern)
{
	static const WtKind kinds[] = {0, WT_COND_LT, WT_COND_LE, WT_COND_EQ, WT_COND_GE, WT_COND_GT};
	Oid			family = lookup_type_cache(c->typid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Oid			left;
	int			strategy;

	*pattern = false;
	if (!OidIsValid(family) || (type_is_collatable(c->typid) && !is_text(c->typid)))
		return false;
	if (get_op_opfamily_strategy(opno, family) == 0)
	{
		family = TEXT_PATTERN_BTREE_FAM_OID;
		if (!is_text(c->typid) || get_op_opfamily_strategy(opno, family) == 0)
			return false;
		*pattern = true;
	}
	get_op_opfamily_properties(opno, family, false, &strategy, &left, type);
	if (strategy < BTLessStrategyNumber || strategy > BTGreaterStrategyNumber)
		return false;
	*kind = kinds[strategy];
	if (is_text(c->typid))
		return left == TEXTOID && *type == TEXTOID;
	if (left == ANYENUMOID && type_is_enum(c->typid))
		left = *type = c->typid;
	if (left != c->typid)
		return false;
	if (*type == c->typid || (is_integer(c->typid) && is_integer(*type)))
		return true;
	/* a date as a point in time: the order is kept; equality is not worth it */
	if (c->typid == TIMESTAMPTZOID)
		return *kind != WT_COND_EQ && (*type == DATEOID || *type == TIMESTAMPOID);
	if (c->typid == TIMESTAMPOID)
		return *kind != WT_COND_EQ && *type == DATEOID;
	return false;
}

/* May a comparison of this kind be answered by bytes?  *faithful: exactly. */
static bool
comparison_allowed(Match *m, int part, WtKind kind, Oid type, Oid collation, bool pattern, bool *faithful)
{
	WtColumn   *c = part_column(m->t, part);

	*faithful = true;
	if (kind == WT_COND_EQ)
	{
		if (part < m->t->nkeys && !is_injective(c))
			return false;
		if (is_text(c->typid) && !pattern && !is_deterministic(collation))
			return false;
		*faithful = !is_digest(c);
		return true;
	}
	/* an interval of text qualifiers counts when it holds none that is shown as \x...: wt_part_intervals */
	if (!wt_part_is_ordered(m->t, part) && part < WT_PART_QUALIFIER(m->t))
		return false;
	if (is_text(c->typid) && !pattern && !wt_collate_is_c(collation))
		return false;
	/* dates as timestamps, and values with the delimiter in them, may restrict nothing */
	*faithful = (type == c->typid || is_text(c->typid) || is_integer(c->typid)) && c->delimiter == 0;
	return true;
}

static bool
prefix_allowed(Match *m, int part, Oid collation, bool bytea)
{
	WtColumn   *c = part_column(m->t, part);

	if (part < m->t->nkeys && c->enc != WT_ENC_TEXT && c->enc != WT_ENC_BYTES && c->enc != WT_ENC_ORDERED)
		return false;
	if (bytea)
		return c->typid == BYTEAOID;
	return is_text(c->typid) && is_deterministic(collation);
}

/* key OP value in either order; LIKE and its relatives. */
static WtCond *
match_op(Match *m, Oid opno, Oid collation, Node *left, Node *right)
{
	int			part = match_part(m, left);
	WtKind		kind;
	Oid			type;
	bool		pattern,
				faithful;

	if (part < 0 || !is_value(m, right))
	{
		opno = get_commutator(opno);
		if (!OidIsValid(opno))
			return NULL;
		part = match_part(m, right);
		if (part < 0 || !is_value(m, left))
			return NULL;
		right = left;
	}
	if (match_operator(part_column(m->t, part), opno, &kind, &type, &pattern))
	{
		if (!comparison_allowed(m, part, kind, type, collation, pattern, &faithful))
			return NULL;
		return add_value(new_cond(m, part, kind, faithful), right, type);
	}
	switch (get_opcode(opno))
	{
		case F_TEXTLIKE:
			if (!prefix_allowed(m, part, collation, false))
				return NULL;
			return add_value(new_cond(m, part, WT_COND_LIKE, false), right, TEXTOID);
		case F_BYTEALIKE:
			if (!prefix_allowed(m, part, collation, true))
				return NULL;
			return add_value(new_cond(m, part, WT_COND_LIKE, false), right, BYTEAOID);
		case F_STARTS_WITH:
			if (!prefix_allowed(m, part, collation, false))
				return NULL;
			return add_value(new_cond(m, part, WT_COND_STARTS, false), right, TEXTOID);
		case F_TEXTREGEXEQ:
			if (!prefix_allowed(m, part, collation, false))
				return NULL;
			return add_value(new_cond(m, part, WT_COND_REGEX, false), right, TEXTOID);
		default:
			return NULL;
	}
}

/* key = ANY (array) */
static WtCond *
match_any(Match *m, ScalarArrayOpExpr *saop)
{
	Node	   *array = lsecond(saop->args);
	int			part = match_part(m, linitial(saop->args));
	WtKind		kind;
	Oid			type;
	bool		pattern,
				faithful;

	if (!saop->useOr || part < 0 || !is_value(m, array))
		return NULL;
	if (!match_operator(part_column(m->t, part), saop->opno, &kind, &type, &pattern) || kind != WT_COND_EQ)
		return NULL;
	if (!comparison_allowed(m, part, kind, type, saop->inputcollid, pattern, &faithful))
		return NULL;
	return add_value(new_cond(m, part, WT_COND_ANY, faithful), array, type);
}

/*
 * (a, b, c) < (x, y, z): the leading columns that are consecutive parts of the
 * key with one direction.  Fewer than all: the bound is inclusive, and the
 * clause has to be tested again.
 */
static WtCond *
match_row(Match *m, RowCompareExpr *rc)
{
	WtCond	   *cond = NULL;
	ListCell   *l,
			   *r,
			   *o,
			   *i;
	int			n = 0;
	bool		all = true;
	WtKind		want = WT_COND_LT;

	forfour(l, rc->largs, r, rc->rargs, o, rc->opnos, i, rc->inputcollids)
	{
		int			part = match_part(m, lfirst(l));
		WtKind		kind;
		Oid			type;
		bool		pattern,
					faithful;
		WtColumn   *c;

		if (part < 0 || part >= m->t->nkeys || !is_value(m, lfirst(r)))
			all = false;
		else
		{
			c = key_column(m->t, part);
			all = match_operator(c, lfirst_oid(o), &kind, &type, &pattern) &&
				kind != WT_COND_EQ && (type == c->typid || is_text(c->typid)) &&
				comparison_allowed(m, part, kind, type, lfirst_oid(i), pattern, &faithful) && faithful;
		}
		if (all && n == 0)
		{
			want = kind;
			cond = new_cond(m, part, kind, true);
		}
		else if (all)
			all = part == cond->part + n && kind == want &&
				wt_part_is_descending(m->t, part) == wt_part_is_descending(m->t, cond->part);
		if (!all)
			break;
		add_value(cond, lfirst(r), type);
		n++;
	}
	if (cond == NULL)
		return NULL;
	if (!all)
	{
		cond->kind = want == WT_COND_LT ? WT_COND_LE : want == WT_COND_GT ? WT_COND_GE : want;
		cond->faithful = false;
	}
	return cond;
}

/* k = 1 OR k = 2 OR ...: a list, when each arm is an equality of the same part */
static WtCond *
match_or(Match *m, BoolExpr *b)
{
	WtCond	   *all = NULL;
	ListCell   *lc;

	foreach(lc, b->args)
	{
		Node	   *arm = lfirst(lc);
		WtCond	   *c;

		if (IsA(arm, RestrictInfo))
			arm = (Node *) ((RestrictInfo *) arm)->clause;
		if (!IsA(arm, OpExpr) || list_length(((OpExpr *) arm)->args) != 2)
			return NULL;
		c = match_op(m, ((OpExpr *) arm)->opno, ((OpExpr *) arm)->inputcollid,
					 linitial(((OpExpr *) arm)->args), lsecond(((OpExpr *) arm)->args));
		if (c == NULL || c->kind != WT_COND_EQ || (all != NULL && all->part != c->part))
			return NULL;
		if (all == NULL)
			all = new_cond(m, c->part, WT_COND_LIST, c->faithful);
		all->faithful &= c->faithful;
		all->values = list_concat(all->values, c->values);
		all->types = list_concat(all->types, c->types);
	}
	return all;
}

static WtCond *
match_bool(Match *m, Node *node, bool value)
{
	int			part = match_part(m, node);

	if (part < 0 || part >= m->t->nkeys || key_column(m->t, part)->typid != BOOLOID || exprType(node) != BOOLOID)
		return NULL;
	return add_value(new_cond(m, part, WT_COND_EQ, true), makeBoolConst(value, false), BOOLOID);
}

static WtCond *
match_clause(Match *m, Node *clause)
{
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) clause;

				if (list_length(op->args) != 2)
					return NULL;
				return match_op(m, op->opno, op->inputcollid, linitial(op->args), lsecond(op->args));
			}
		case T_ScalarArrayOpExpr:
			return match_any(m, (ScalarArrayOpExpr *) clause);
		case T_RowCompareExpr:
			return match_row(m, (RowCompareExpr *) clause);
		case T_FuncExpr:
			{
				FuncExpr   *f = (FuncExpr *) clause;
				int			part;

				if (f->funcid != F_STARTS_WITH)
					return NULL;
				part = match_part(m, linitial(f->args));
				if (part < 0 || !is_value(m, lsecond(f->args)) || !prefix_allowed(m, part, f->inputcollid, false))
					return NULL;
				return add_value(new_cond(m, part, WT_COND_STARTS, false), lsecond(f->args), TEXTOID);
			}
		case T_BoolExpr:
			{
				BoolExpr   *b = (BoolExpr *) clause;
				Node	   *arg = linitial(b->args);

				if (b->boolop == OR_EXPR)
					return match_or(m, b);
				if (b->boolop != NOT_EXPR)
					return NULL;
				if (IsA(arg, DistinctExpr))
				{
					/* key IS NOT DISTINCT FROM value: a key is never null */
					DistinctExpr *d = (DistinctExpr *) arg;
					WtCond	   *c = match_op(m, d->opno, d->inputcollid, linitial(d->args), lsecond(d->args));

					return c != NULL && c->kind == WT_COND_EQ && c->faithful ? c : NULL;
				}
				return match_bool(m, arg, false);
			}
		case T_NullTest:
			{
				NullTest   *n = (NullTest *) clause;
				int			part = match_part(m, (Node *) n->arg);

				/* the original of a digest is in a cell, which may be missing */
				if (part < 0 || part >= m->t->nkeys || n->argisrow || is_digest(key_column(m->t, part)))
					return NULL;
				if (n->nulltesttype == IS_NULL)
					return new_cond(m, part, WT_COND_NEVER, true);
				/* always true: a condition without any effect */
				return new_cond(m, part, WT_COND_GE, true);
			}
		case T_Var:
		case T_RelabelType:
			return match_bool(m, clause, true);
		default:
			return NULL;
	}
}

/*
 * What the clauses say about the key, one entry for each clause that says
 * something.  A condition without values (IS NOT NULL) restricts nothing.
 */
List *
wt_conditions(PlannerInfo *root, RelOptInfo *rel, WtTable *t, List *rinfos)
{
	List	   *conds = NIL;
	ListCell   *lc;
	Match		m = {root, rel, t, NULL};

	if (!wt_enable_pushdown)
		return NIL;
	foreach(lc, rinfos)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		WtCond	   *c;

		if (rinfo->pseudoconstant || !restriction_is_securely_promotable(rinfo, rel))
			continue;
		m.rinfo = rinfo;
		c = match_clause(&m, (Node *) rinfo->clause);
		if (c != NULL)
			conds = lappend(conds, c);
	}
	return conds;
}

static bool
is_equality(WtKind kind)
{
	return kind == WT_COND_EQ || kind == WT_COND_ANY || kind == WT_COND_LIST;
}

static bool
is_trivial(const WtCond *c)
{
	return c->values == NIL && c->kind != WT_COND_NEVER;
}

/* How many values a list has, as far as that is known. */
static double
list_size(const WtCond *c)
{
	Node	   *array = linitial(c->values);

	if (c->kind == WT_COND_LIST)
		return list_length(c->values);
	if (IsA(array, Const) && !((Const *) array)->constisnull)
	{
		ArrayType  *a = DatumGetArrayTypeP(((Const *) array)->constvalue);

		return ArrayGetNItems(ARR_NDIM(a), ARR_DIMS(a));
	}
	return MAX_PRODUCT;
}

/*
 * Which conditions take part in the ranges, and which of them need not be
 * tested again: those up to the first part that is not bound to values.
 */
int
wt_conditions_choose(WtTable *t, List *conds)
{
	bool		exact = true,
				go_on = true;
	int			lists = 0,
				bound = 0;
	double		product = 1;
	ListCell   *lc;

	foreach(lc, conds)
	{
		WtCond	   *c = lfirst(lc);

		c->used = c->kind == WT_COND_NEVER || c->part >= t->nkeys;
		c->exact = c->kind == WT_COND_NEVER || is_trivial(c);
	}
	for (int part = 0; part < t->nkeys && go_on; part++)
	{
		bool		single = false,
					list = false,
					range = false,
					pattern = false;

		foreach(lc, conds)
		{
			WtCond	   *c = lfirst(lc);

			if (c->part != part || c->kind == WT_COND_NEVER || is_trivial(c))
				continue;
			if (c->kind == WT_COND_EQ)
				single = true;
			else if (is_equality(c->kind))
			{
				list = true;
				product *= list_size(c);
			}
			else
				range = true;
			pattern |= c->kind == WT_COND_LIKE;
		}
		/* a product of lists is not multiplied out when it is too large */
		if (list && !single && ++lists > 1 && product > MAX_PRODUCT)
			exact = false;
		foreach(lc, conds)
		{
			WtCond	   *c = lfirst(lc);

			if (c->part != part || c->kind == WT_COND_NEVER || is_trivial(c))
				continue;
			c->used = true;
			c->exact = exact && c->faithful;
		}
		if ((single || list) && bound == part)
			bound++;
		/* an interval inside of a value (a row comparison) ends the chain at run time */
		if (!(single || list) || range)
			exact = false;
		/* a pattern may turn out to be a plain value */
		go_on = single || list || pattern;
	}
	return bound;
}

bool
wt_part_is_single(List *conds, int part)
{
	ListCell   *lc;

	foreach(lc, conds)
	{
		WtCond	   *c = lfirst(lc);

		if (c->part == part && c->kind == WT_COND_EQ)
			return true;
	}
	return false;
}

/* ------------------------------------------------------- values to bytes */

typedef enum ValueFate
{
	VALUE_OK,
	VALUE_BELOW,				/* less than all values of the key */
	VALUE_ABOVE,
	VALUE_BEHIND,				/* no key has it; in the order it is right behind the value encoded */
	VALUE_NONE,					/* no key has it */
	VALUE_UNKNOWN				/* nothing can be said */
} ValueFate;

static int64
integer_value(Datum value, Oid type)
{
	return type == INT2OID ? DatumGetInt16(value) : type == INT4OID ? DatumGetInt32(value) : DatumGetInt64(value);
}

static ValueFate
adapt_integer(const WtColumn *c, Oid type, Datum *value)
{
	int64		x = integer_value(*value, type);
	int64		lo = PG_INT64_MIN,
				hi = PG_INT64_MAX;

	if (c->typid == INT2OID)
		lo = PG_INT16_MIN, hi = PG_INT16_MAX;
	else if (c->typid == INT4OID)
		lo = PG_INT32_MIN, hi = PG_INT32_MAX;
	if (c->enc >= WT_ENC_UNSIGNED1 && c->enc <= WT_ENC_UNSIGNED8)
	{
		lo = 0;
		if (c->enc == WT_ENC_UNSIGNED1)
			hi = 0xFF;
		else if (c->enc == WT_ENC_UNSIGNED2)
			hi = Min(hi, 0xFFFF);
		else if (c->enc == WT_ENC_UNSIGNED4)
			hi = Min(hi, (int64) 0xFFFFFFFF);
	}
	if (x < lo)
		return VALUE_BELOW;
	if (x > hi)
		return VALUE_ABOVE;
	*value = c->typid == INT2OID ? Int16GetDatum((int16) x) : c->typid == INT4OID ? Int32GetDatum((int32) x) : Int64GetDatum(x);
	return VALUE_OK;
}

static ValueFate
adapt_time(const WtColumn *c, Oid type, Datum *value)
{
	int			overflow = 0;

	if (type == c->typid)
		;
	else if (c->typid == TIMESTAMPTZOID)
		*value = TimestampTzGetDatum(type == DATEOID ? date2timestamptz_opt_overflow(DatumGetDateADT(*value), &overflow)
									 : timestamp2timestamptz_opt_overflow(DatumGetTimestamp(*value), &overflow));
	else
		*value = TimestampGetDatum(date2timestamp_opt_overflow(DatumGetDateADT(*value), &overflow));
	if (overflow != 0)
		return VALUE_UNKNOWN;
	/* the last years of the type do not fit in microseconds since 1970 */
	if (DatumGetTimestampTz(*value) > LAST_TIMESTAMP && !TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(*value)))
	{
		*value = TimestampTzGetDatum(LAST_TIMESTAMP);
		return VALUE_BEHIND;
	}
	return VALUE_OK;
}

/* Turn an argument into a value of the key's type, or say why there is none. */
static ValueFate
adapt_value(const WtColumn *c, Oid type, Datum *value)
{
	if (is_integer(c->typid))
		return adapt_integer(c, type, value);
	if (is_text(c->typid) || c->typid == BYTEAOID)
	{
		struct varlena *v = PG_DETOAST_DATUM_PACKED(*value);

		*value = PointerGetDatum(v);
		if (c->delimiter != 0 && memchr(VARDATA_ANY(v), c->delimiter, VARSIZE_ANY_EXHDR(v)) != NULL)
			return VALUE_NONE;
		return VALUE_OK;
	}
	if (c->typid == TIMESTAMPTZOID || c->typid == TIMESTAMPOID)
		return adapt_time(c, type, value);
	return VALUE_OK;
}

/* Append the bytes of a value as they stand in the key. */
static ValueFate
encode_value(WtTable *t, int part, const WtArg *arg, StringInfo out)
{
	Datum		value = arg->value;
	WtColumn   *c = part_column(t, part);
	ValueFate	fate = adapt_value(c, arg->type, &value);

	if (fate != VALUE_OK && fate != VALUE_BEHIND)
		return fate;
	if (part < t->nkeys)
		wt_key_encode_part(t, part, value, out);
	else
		appendBinaryStringInfo(out, VARDATA_ANY(DatumGetPointer(value)), VARSIZE_ANY_EXHDR(DatumGetPointer(value)));
	return fate;
}

/* The part's bytes end with the key: nothing marks the end of the value. */
static bool
is_raw(WtTable *t, int part)
{
	if (part >= t->nkeys)
		return true;
	return part == t->nkeys - 1 && key_column(t, part)->fixed_len == 0 && !key_column(t, part)->desc;
}

static wide_bytes
take(StringInfo s)
{
	wide_bytes	b;

	b.data = (const uint8 *) s->data;
	b.len = s->len;
	return b;
}

/* The first byte string behind all that begin with b (raw: behind b itself). */
static bool
bytes_after(wide_bytes b, bool raw, wide_bytes *out)
{
	StringInfoData s;

	initStringInfo(&s);
	if (raw)
	{
		appendBinaryStringInfo(&s, (const char *) b.data, b.len);
		appendStringInfoChar(&s, '\0');
	}
	else if (!wt_prefix_end(b.data, b.len, &s))
		return false;
	*out = take(&s);
	return true;
}

static int
bytes_cmp(wide_bytes a, wide_bytes b)
{
	int			c = memcmp(a.data, b.data, Min(a.len, b.len));

	if (c != 0)
		return c;
	return a.len < b.len ? -1 : a.len > b.len;
}

static void
make_point(wide_bytes b, bool raw, WtInterval *out)
{
	out->lo = b;
	out->inf = !bytes_after(b, raw, &out->hi);
	out->point = true;
}

/* ------------------------------------------------------------- intervals */

bool
wt_like_prefix(const char *pattern, int len, StringInfo out)
{
	for (int i = 0; i < len; i++)
	{
		if (pattern[i] == '%' || pattern[i] == '_')
			return false;
		if (pattern[i] == '\\')
		{
			/* a pattern that ends so is an error of LIKE's */
			if (++i == len)
				return false;
		}
		appendStringInfoChar(out, pattern[i]);
	}
	return true;
}

/* The beginning of a value as it stands in the key: escaped, inverted. */
static wide_bytes
encode_prefix(WtTable *t, int part, StringInfo prefix)
{
	WtColumn   *c = part_column(t, part);
	StringInfoData s;
	bool		escape = part < t->nkeys && c->delimiter == 0 && !is_raw(t, part);

	initStringInfo(&s);
	for (int i = 0; i < prefix->len; i++)
	{
		appendStringInfoChar(&s, prefix->data[i]);
		if (escape && prefix->data[i] == '\0')
			appendStringInfoChar(&s, (char) 0xFF);
	}
	if (part < t->nkeys && c->desc)
		for (int i = 0; i < s.len; i++)
			s.data[i] = ~s.data[i];
	return take(&s);
}

/* Could this be how bytes that are not text are shown in the layout 'cells'? */
static bool
shown_as_hex(WtTable *t, int part, const char *data, int len)
{
	return part >= t->nkeys && is_text(part_column(t, part)->typid) && len > 0 && data[0] == '\\';
}

static bool
arg_shown_as_hex(WtTable *t, int part, const WtArg *arg)
{
	struct varlena *v;

	if (part < t->nkeys || arg->isnull)
		return false;
	v = PG_DETOAST_DATUM_PACKED(arg->value);
	return shown_as_hex(t, part, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
}

/* LIKE, ^@, ~: one interval. false: the pattern restricts nothing. */
static bool
prefix_interval(WtTable *t, const WtTest *test, const WtArg *arg, WtInterval *out)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(arg->value);
	StringInfoData prefix;
	bool		whole = false;

	initStringInfo(&prefix);
	if (test->kind == WT_COND_STARTS)
		appendBinaryStringInfo(&prefix, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
	else if (test->kind == WT_COND_LIKE)
		whole = wt_like_prefix(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v), &prefix);
	else
	{
		char	   *p = regexp_fixed_prefix((text *) v, false, C_COLLATION_OID, &whole);

		whole = false;
		if (p != NULL)
			appendStringInfoString(&prefix, p);
	}
	if (shown_as_hex(t, test->part, prefix.data, prefix.len))
		return false;
	if (whole)
	{
		/* no wildcard at all: equality */
		WtArg		same = *arg;
		StringInfoData s;

		same.value = PointerGetDatum(cstring_to_text_with_len(prefix.data, prefix.len));
		initStringInfo(&s);
		if (encode_value(t, test->part, &same, &s) == VALUE_OK)
		{
			make_point(take(&s), is_raw(t, test->part), out);
			return true;
		}
	}
	if (prefix.len == 0)
		return false;
	out->lo = encode_prefix(t, test->part, &prefix);
	out->inf = !bytes_after(out->lo, false, &out->hi);
	out->point = false;
	return true;
}

/*
 * <, <=, >, >= of one value or a row of values.  1: *out, 0: no row, -1: no
 * restriction.
 */
static int
order_interval(WtTable *t, const WtTest *test, const WtArg *args, WtInterval *out)
{
	bool		less = test->kind == WT_COND_LT || test->kind == WT_COND_LE;
	bool		inclusive = test->kind == WT_COND_LE || test->kind == WT_COND_GE;
	bool		raw = false;
	bool		upper = less != wt_part_is_descending(t, test->part);
	StringInfoData s;
	wide_bytes	bound;

	initStringInfo(&s);
	for (int i = 0; i < test->n; i++)
	{
		const WtArg *arg = &args[test->first + i];
		ValueFate	fate;

		if (!arg->known)
		{
			/* the planner's case: what is known so far */
			if (i == 0)
				return -1;
			inclusive = true;
			break;
		}
		if (arg->isnull)
		{
			/* rows equal so far compare as null */
			if (i == 0)
				return 0;
			inclusive = false;
			break;
		}
		fate = encode_value(t, test->part + i, arg, &s);
		if (fate == VALUE_UNKNOWN || fate == VALUE_NONE)
		{
			if (i == 0)
				return -1;
			inclusive = true;
			break;
		}
		if (fate != VALUE_OK)
		{
			/* all rows that agree so far are on one side */
			inclusive = less == (fate != VALUE_BELOW);
			raw = fate == VALUE_BEHIND && is_raw(t, test->part + i);
			break;
		}
		raw = is_raw(t, test->part + i);
	}
	bound = take(&s);
	memset(out, 0, sizeof(*out));
	out->lo.data = (const uint8 *) "";
	out->inf = true;
	if (upper && !inclusive)
	{
		out->hi = bound;
		out->inf = false;
	}
	else if (upper)
		out->inf = !bytes_after(bound, raw, &out->hi);
	else if (inclusive)
		out->lo = bound;
	else if (!bytes_after(bound, raw, &out->lo))
		return 0;
	return 1;
}

static int
cmp_interval(const void *a, const void *b)
{
	return bytes_cmp(((const WtInterval *) a)->lo, ((const WtInterval *) b)->lo);
}

static void
add_point(WtTable *t, int part, const WtArg *arg, WtInterval *list, int *n)
{
	StringInfoData s;

	if (arg->isnull)
		return;
	initStringInfo(&s);
	if (encode_value(t, part, arg, &s) != VALUE_OK)
		return;
	make_point(take(&s), is_raw(t, part), &list[(*n)++]);
}

/* =, = ANY, list: points, sorted and distinct. false: not known yet. */
static bool
point_intervals(WtTable *t, const WtTest *test, const WtArg *args, WtInterval **out, int *n)
{
	const WtArg *arg = &args[test->first];
	WtInterval *list;
	int			m = 0;

	if (test->kind == WT_COND_ANY)
	{
		ArrayType  *array;
		WtArg		element = *arg;
		int16		len;
		bool		byval;
		char		align;
		Datum	   *values;
		bool	   *nulls;
		int			count;

		if (!arg->known)
			return false;
		*out = NULL;
		*n = 0;
		if (arg->isnull)
			return true;
		array = DatumGetArrayTypeP(arg->value);
		element.type = arg->type;
		get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
		deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align, &values, &nulls, &count);
		list = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(WtInterval) * Max(1, (Size) count));
		for (int i = 0; i < count; i++)
		{
			element.value = values[i];
			element.isnull = nulls[i];
			if (arg_shown_as_hex(t, test->part, &element))
				return false;
			add_point(t, test->part, &element, list, &m);
		}
	}
	else
	{
		for (int i = 0; i < test->n; i++)
			if (!arg[i].known || arg_shown_as_hex(t, test->part, &arg[i]))
				return false;
		list = palloc(sizeof(WtInterval) * test->n);
		for (int i = 0; i < test->n; i++)
			add_point(t, test->part, &arg[i], list, &m);
	}
	if (m > 1)
	{
		int			k = 0;

		qsort(list, m, sizeof(WtInterval), cmp_interval);
		for (int i = 1; i < m; i++)
			if (bytes_cmp(list[k].lo, list[i].lo) != 0)
				list[++k] = list[i];
		m = k + 1;
	}
	*out = list;
	*n = m;
	return true;
}

static int
hi_cmp(const WtInterval *a, const WtInterval *b)
{
	if (a->inf || b->inf)
		return (int) a->inf - (int) b->inf;
	return bytes_cmp(a->hi, b->hi);
}

/* The common part of two sorted lists of disjoint intervals. */
static WtInterval *
intersect(const WtInterval *a, int na, const WtInterval *b, int nb, int *n)
{
	WtInterval *out = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(WtInterval) * ((Size) na + nb));
	int			i = 0,
				j = 0;

	*n = 0;
	while (i < na && j < nb)
	{
		const WtInterval *x = &a[i],
				   *y = &b[j];
		const WtInterval *lo = bytes_cmp(x->lo, y->lo) >= 0 ? x : y;
		const WtInterval *hi = hi_cmp(x, y) <= 0 ? x : y;

		if (hi->inf || bytes_cmp(lo->lo, hi->hi) < 0)
		{
			WtInterval *r = &out[(*n)++];

			r->lo = lo->lo;
			r->hi = hi->hi;
			r->inf = hi->inf;
			/* still the whole of a value? */
			r->point = (x->point && bytes_cmp(x->lo, r->lo) == 0 && hi_cmp(x, r) == 0) ||
				(y->point && bytes_cmp(y->lo, r->lo) == 0 && hi_cmp(y, r) == 0);
		}
		if (hi == x)
			i++;
		else
			j++;
	}
	return out;
}

/* Does the interval hold a string that begins with a backslash? */
static bool
holds_backslash(const WtInterval *iv)
{
	static const wide_bytes first = {(const uint8 *) "\\", 1},
				behind = {(const uint8 *) "]", 1};

	return bytes_cmp(iv->lo, behind) < 0 && (iv->inf || bytes_cmp(iv->hi, first) > 0);
}

bool
wt_part_intervals(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int part,
				  WtInterval **out, int *n)
{
	WtInterval *list = NULL;
	int			count = 0;
	bool		restricted = false;

	for (int i = 0; i < ntests; i++)
	{
		const WtTest *test = &tests[i];
		WtInterval *more = NULL;
		int			m = 0;

		if (test->part != part || (test->n == 0 && test->kind != WT_COND_NEVER))
			continue;
		if (test->kind == WT_COND_NEVER)
			;
		else if (is_equality(test->kind))
		{
			if (!point_intervals(t, test, args, &more, &m))
				continue;
		}
		else
		{
			more = palloc(sizeof(WtInterval));
			if (test->kind >= WT_COND_LT && test->kind <= WT_COND_GE)
			{
				int			r = order_interval(t, test, args, more);

				if (r < 0)
					continue;
				m = r == 1;
			}
			else if (!args[test->first].known)
				continue;
			else if (args[test->first].isnull)
				m = 0;
			else if (!prefix_interval(t, test, &args[test->first], more))
				continue;
			else
				m = 1;
		}
		if (restricted)
			list = intersect(list, count, more, m, &count);
		else
		{
			list = more;
			count = m;
		}
		restricted = true;
	}
	/* what is not text is shown as text that begins with a backslash, and lies elsewhere */
	if (restricted && part == WT_PART_QUALIFIER(t) && is_text(part_column(t, part)->typid))
		for (int i = 0; i < count && restricted; i++)
			restricted = list[i].point || !holds_backslash(&list[i]);
	*out = list;
	*n = count;
	return restricted;
}

/* ----------------------------------------------------------------- ranges */

typedef struct KeyRange
{
	wide_bytes	lo;
	wide_bytes	hi;				/* data NULL: to the end */
	bool		point;
} KeyRange;

static wide_bytes
join_bytes(wide_bytes a, wide_bytes b)
{
	uint8	   *p = palloc(a.len + b.len + 1);
	wide_bytes	out = {p, a.len + b.len};

	memcpy(p, a.data, a.len);
	memcpy(p + a.len, b.data, b.len);
	return out;
}

/*
 * No key is longer than WIDE_MAX_ROW: a longer bound lies right behind its
 * own beginning of that length.
 */
static wide_bytes
fit_bound(wide_bytes b)
{
	uint8	   *p;
	wide_bytes	out;

	if (b.data == NULL || b.len <= WIDE_MAX_ROW)
		return b;
	p = palloc(WIDE_MAX_ROW + 1);
	memcpy(p, b.data, WIDE_MAX_ROW);
	p[WIDE_MAX_ROW] = 0;
	out.data = p;
	out.len = WIDE_MAX_ROW + 1;
	return out;
}

static void
add_range(KeyRange **list, int *n, int *max, wide_bytes x, const WtInterval *iv)
{
	KeyRange   *r;

	if (*n == *max)
	{
		Size		size;

		*max = Max(16, *max * 2);
		size = sizeof(KeyRange) * (Size) *max;
		*list = *list ? repalloc_huge(*list, size) : MemoryContextAllocHuge(CurrentMemoryContext, size);
	}
	r = &(*list)[*n];
	r->point = false;
	if (iv == NULL)
	{
		/* everything with these leading parts */
		r->lo = x;
		if (!bytes_after(x, false, &r->hi))
			r->hi.data = NULL, r->hi.len = 0;
	}
	else if (iv->point)
	{
		/* a whole key */
		r->lo = join_bytes(x, iv->lo);
		if (r->lo.len > WIDE_MAX_ROW)
			return;
		(void) bytes_after(r->lo, true, &r->hi);
		r->point = true;
	}
	else
	{
		r->lo = join_bytes(x, iv->lo);
		if (!iv->inf)
			r->hi = join_bytes(x, iv->hi);
		else if (!bytes_after(x, false, &r->hi))
			r->hi.data = NULL, r->hi.len = 0;
	}
	r->lo = fit_bound(r->lo);
	r->hi = fit_bound(r->hi);
	if (r->hi.data == NULL || bytes_cmp(r->lo, r->hi) < 0)
		(*n)++;
}

static int
cmp_range(const void *a, const void *b)
{
	return bytes_cmp(((const KeyRange *) a)->lo, ((const KeyRange *) b)->lo);
}

/* Sort; overlapping ranges become one. */
static int
merge_ranges(KeyRange *r, int n)
{
	int			k = 0;
	bool		sorted = true;

	for (int i = 1; i < n && sorted; i++)
		sorted = cmp_range(&r[i - 1], &r[i]) < 0;
	if (!sorted)
		qsort(r, n, sizeof(KeyRange), cmp_range);
	for (int i = 1; i < n; i++)
	{
		if (r[k].hi.data != NULL && bytes_cmp(r[i].lo, r[k].hi) >= 0)
		{
			r[++k] = r[i];
			continue;
		}
		r[k].point = r[k].point && r[i].point && bytes_cmp(r[k].lo, r[i].lo) == 0;
		if (r[k].hi.data != NULL && (r[i].hi.data == NULL || bytes_cmp(r[i].hi, r[k].hi) > 0))
			r[k].hi = r[i].hi;
	}
	return n == 0 ? 0 : k + 1;
}

/* The ranges of keys without salt. */
static KeyRange *
plain_ranges(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int *n, bool *full)
{
	wide_bytes *x = palloc(sizeof(wide_bytes));
	int			nx = 1;
	KeyRange   *out = NULL;
	int			max = 0;

	*n = 0;
	*full = false;
	x[0].data = (const uint8 *) "";
	x[0].len = 0;
	for (int i = 0; i < ntests; i++)
		if (tests[i].kind == WT_COND_NEVER)
			return NULL;
	for (int part = 0; part < t->nkeys; part++)
	{
		WtInterval *iv;
		int			niv;
		bool		points = true,
					last = part == t->nkeys - 1;
		wide_bytes *next;
		Size		k = 0;

		if (!wt_part_intervals(t, tests, ntests, args, part, &iv, &niv))
		{
			*full = part == 0;
			break;
		}
		if (niv == 0)
			return NULL;
		for (int i = 0; i < niv; i++)
			points = points && iv[i].point;
		if (points && nx > 1 && niv > 1 && (double) nx * niv > MAX_PRODUCT)
			break;
		if (!points || last)
		{
			for (int i = 0; i < nx; i++)
				for (int j = 0; j < niv; j++)
				{
					WtInterval	one = iv[j];

					one.point = one.point && last;
					add_range(&out, n, &max, x[i], &one);
				}
			*n = merge_ranges(out, *n);
			return out;
		}
		next = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(wide_bytes) * (Size) nx * niv);
		for (int i = 0; i < nx; i++)
			for (int j = 0; j < niv; j++)
				next[k++] = join_bytes(x[i], iv[j].lo);
		x = next;
		nx = (int) k;
	}
	for (int i = 0; i < nx; i++)
		add_range(&out, n, &max, x[i], NULL);
	*n = merge_ranges(out, *n);
	return out;
}

void
wt_ranges(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, WtRanges *out)
{
	int			n;
	KeyRange   *plain = plain_ranges(t, tests, ntests, args, &n, &out->full);
	int			buckets = Max(1, t->salt_buckets);

	out->total = n;
	out->points = 0;
	out->nbuckets = buckets;
	out->n = palloc0(sizeof(int) * buckets);
	out->ranges = palloc0(sizeof(wide_range *) * buckets);
	for (int i = 0; i < n; i++)
		out->points += plain[i].point;
	for (int b = 0; b < buckets; b++)
	{
		out->ranges[b] = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(wide_range) * (Size) Max(1, n));
		for (int i = 0; i < n; i++)
		{
			wide_range *r = &out->ranges[b][out->n[b]];
			uint8		salt = (uint8) b,
						next = (uint8) (b + 1);
			wide_bytes	s = {&salt, 1};

			if (t->salt_buckets == 0)
			{
				r->lo = plain[i].lo;
				r->hi = plain[i].hi;
				out->n[b]++;
				continue;
			}
			/* a whole key is in one bucket only */
			if (plain[i].point && wt_salt(plain[i].lo.data, plain[i].lo.len, t->salt_buckets) != b)
				continue;
			r->lo = join_bytes(s, plain[i].lo);
			if (plain[i].hi.data != NULL)
				r->hi = join_bytes(s, plain[i].hi);
			else if (b == 255)
				r->hi = plain[i].hi;
			else
			{
				s.data = &next;
				r->hi = join_bytes(s, (wide_bytes) {(const uint8 *) "", 0});
			}
			out->n[b]++;
		}
	}
}

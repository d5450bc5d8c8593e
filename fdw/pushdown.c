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
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* -------------------------------------------------------- what is possible */

/* Also of the pseudo parts of the layout 'cells'. */
WtColumn *
wt_part_column(WtTable *t, int part)
{
	WtRole		role;

	if (part < t->nkeys)
		return wt_key_column(t, part);
	role = part == WT_PART_FAMILY(t) ? WT_CELL_FAMILY : part == WT_PART_QUALIFIER(t) ? WT_CELL_QUALIFIER :
		part == WT_PART_VERSION(t) ? WT_CELL_VERSION : part == WT_PART_TS(t) ? WT_CELL_TS : WT_CELL_NO;
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role == role)
			return &t->columns[i];
	return NULL;
}

bool
wt_part_is_descending(WtTable *t, int part)
{
	WtColumn   *c;

	/* the newest version of a cell comes first */
	if (part >= t->nkeys)
		return part == WT_PART_TS(t);
	c = wt_key_column(t, part);
	return c->desc != (c->enc == WT_ENC_REVERSE);
}

bool
wt_part_is_ordered(WtTable *t, int part)
{
	WtColumn   *c;

	/* a qualifier that is not text is shown as \x..., which sorts elsewhere */
	if (part >= t->nkeys)
		return part == WT_PART_QUALIFIER(t) && wt_part_column(t, part)->typid == BYTEAOID;
	c = wt_key_column(t, part);
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
	if (m->t->cells_layout && c->role == WT_CELL_FAMILY && wt_is_text(c->typid))
		return WT_PART_FAMILY(m->t);
	if (m->t->cells_layout && c->role == WT_CELL_QUALIFIER && (wt_is_text(c->typid) || c->typid == BYTEAOID))
		return WT_PART_QUALIFIER(m->t);
	if (m->t->cells_layout && c->role == WT_CELL_VERSION && wt_is_integer(c->typid))
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
	if (!OidIsValid(family) || (type_is_collatable(c->typid) && !wt_is_text(c->typid)))
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
	if (left != c->typid)
		return false;
	if (*type == c->typid || (wt_is_integer(c->typid) && wt_is_integer(*type)))
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
	WtColumn   *c = wt_part_column(m->t, part);

	*faithful = true;
	if (kind == WT_COND_EQ)
	{
		if (part < m->t->nkeys && !is_injective(c))
			return false;
		if (wt_is_text(c->typid) && !pattern && !is_deterministic(collation))
			return false;
		*faithful = !is_digest(c);
		return true;
	}
	/* an interval of text qualifiers counts when it holds none that is shown as \x...: wt_part_intervals */
	if (!wt_part_is_ordered(m->t, part) && part < WT_PART_QUALIFIER(m->t))
		return false;
	if (wt_is_text(c->typid) && !pattern && !wt_collate_is_c(collation))
		return false;
	/* dates as timestamps, and values with the delimiter in them, may restrict nothing */
	*faithful = (type == c->typid || wt_is_text(c->typid) || wt_is_integer(c->typid)) && c->delimiter == 0;
	return true;
}

static bool
prefix_allowed(Match *m, int part, Oid collation, bool bytea)
{
	WtColumn   *c = wt_part_column(m->t, part);

	if (part < m->t->nkeys && c->enc != WT_ENC_TEXT && c->enc != WT_ENC_BYTES && c->enc != WT_ENC_ORDERED)
		return false;
	if (bytea)
		return c->typid == BYTEAOID;
	return wt_is_text(c->typid) && is_deterministic(collation);
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
	if (match_operator(wt_part_column(m->t, part), opno, &kind, &type, &pattern))
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
	if (!match_operator(wt_part_column(m->t, part), saop->opno, &kind, &type, &pattern) || kind != WT_COND_EQ)
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
			c = wt_key_column(m->t, part);
			all = match_operator(c, lfirst_oid(o), &kind, &type, &pattern) &&
				kind != WT_COND_EQ && (type == c->typid || wt_is_text(c->typid)) &&
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

	if (part < 0 || part >= m->t->nkeys || wt_key_column(m->t, part)->typid != BOOLOID || exprType(node) != BOOLOID)
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
				if (part < 0 || part >= m->t->nkeys || n->argisrow || is_digest(wt_key_column(m->t, part)))
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
	return WT_MAX_PRODUCT;
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
			else if (wt_is_equality(c->kind))
			{
				list = true;
				product *= list_size(c);
			}
			else
				range = true;
			pattern |= c->kind == WT_COND_LIKE;
		}
		/* a product of lists is not multiplied out when it is too large */
		if (list && !single && ++lists > 1 && product > WT_MAX_PRODUCT)
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

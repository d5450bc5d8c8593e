/*
 * key_condition.c
 *		Recognises WHERE clauses that are conditions on parts of the key.
 *
 * A clause is a condition on one part: an operator of the type's btree family, a list, a prefix, a
 * row comparison.  operator.c says which operators bytes can answer.  Once the values are known,
 * fdw/key/key_range.c makes ranges of keys of the conditions; the planner's estimates use the same
 * code.
 *
 * A clause with AND and OR in it becomes a disjunction of conjunctions (arms) of such conditions;
 * so does a row comparison over parts that go in different directions: (a, b) < (x, y) is
 * a < x OR a = x AND b < y.  An arm that says nothing about the key makes its OR useless.
 *
 * Conditions that ranges cannot express, because there is a gap in the parts or an interval before
 * them, go to the key filter (fdw/key/key_filter.c).  So clauses that the bytes of the key answer
 * exactly are not tested again, unless there are too many ways to meet all clauses.
 */
#include "postgres.h"

#include "fdw/plan/key_condition.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "fdw/key/key_range.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/key/part.h"
#include "fdw/plan/operator.h"
#include "fdw/plan/plain_column.h"
#include "fdw/store/compat.h"
#include "fdw/store/settings.h"
#include "fdw/table/encoding.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

typedef struct Match
{
	PlannerInfo *root;
	RelOptInfo *rel;
	WtTable *t;
	RestrictInfo *rinfo;
} Match;

/* Returns the part that an expression is, -1 if it is none. */
static int
match_part(Match *m, Node *node)
{
	WtColumn *c = wt_plain_column_of(m->rel, m->t, node);

	return c != NULL ? wt_part_of_column(m->t, c) : -1;
}

/* Returns true if the expression can be computed without the table's rows. */
static bool
is_value(Match *m, Node *node)
{
	Relids varnos;
	bool mine;

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
	WtCond *c = palloc0(sizeof(WtCond));

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

/* Returns true if bytes can answer a comparison of this kind; *faithful: they do so exactly. */
static bool
comparison_allowed(Match *m, int part, WtKind kind, Oid type, bool *faithful)
{
	WtColumn *c = wt_part_column(m->t, part);

	if (kind == WT_COND_EQ || kind == WT_COND_NE)
	{
		if (part < m->t->nkeys && !wt_encoding_is_injective(c))
			return false;
		*faithful = !wt_encoding_is_digest(c->enc);
		/* <>: not for digests, because two values may have the same digest */
		return kind == WT_COND_EQ || (part < m->t->nkeys && *faithful);
	}
	/* intervals of text qualifiers must not include any that is shown as \x...:
	 * wt_key_interval_of_part */
	if (!wt_part_is_ordered(m->t, part) && part < WT_PART_QUALIFIER(m->t))
		return false;
	/* not exact: dates as timestamps, and values that may contain the delimiter */
	*faithful = (type == c->typid || wt_is_string(c->typid) || wt_is_integer(c->typid) ||
				 c->typid == FLOAT4OID || c->typid == FLOAT8OID) &&
				c->delimiter == 0;
	return true;
}

/* Returns true if the operator (part OP value) is a comparison that bytes can answer. */
static bool
match_operator(Match *m, int part, Oid opno, Oid collation, WtKind *kind, Oid *type, bool *faithful)
{
	return wt_operator_compares(wt_part_column(m->t, part), opno, collation, kind, type) &&
		   comparison_allowed(m, part, *kind, *type, faithful);
}

/*
 * LIKE, ^@, regular expressions, as a function (part, value).  Only constant patterns that are a
 * prefix or a value ('ab%', 'ab') are faithful; others are tested again.
 */
static WtCond *
match_prefix(Match *m, int part, Oid function, Oid collation, Node *value)
{
	WtColumn *c = wt_part_column(m->t, part);
	WtKind kind;
	Oid type;
	bool faithful;

	if ((part < m->t->nkeys && c->enc != WT_ENC_TEXT && c->enc != WT_ENC_BYTES &&
		 c->enc != WT_ENC_ORDERED) ||
		!wt_operator_has_prefix(c, function, collation, &kind, &type))
		return NULL;
	faithful = kind != WT_COND_REGEX && c->delimiter == 0;
	if (kind == WT_COND_LIKE && !IsA(value, Const))
		faithful = false;
	else if (kind == WT_COND_LIKE && !((Const *) value)->constisnull)
	{
		struct varlena *v = PG_DETOAST_DATUM_PACKED(((Const *) value)->constvalue);
		StringInfoData prefix;

		initStringInfo(&prefix);
		if (wt_key_value_like_prefix(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v), &prefix) == WT_LIKE_MORE)
			faithful = false;
	}
	return add_value(new_cond(m, part, kind, faithful), value, type);
}

/* key OP value in either order; LIKE, ^@ and regular expressions. */
static WtCond *
match_op(Match *m, Oid opno, Oid collation, Node *left, Node *right)
{
	int part = match_part(m, left);
	WtKind kind;
	Oid type;
	bool faithful;

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
	if (match_operator(m, part, opno, collation, &kind, &type, &faithful))
		return add_value(new_cond(m, part, kind, faithful), right, type);
	return match_prefix(m, part, get_opcode(opno), collation, right);
}

/* key = ANY (array) */
static WtCond *
match_any(Match *m, ScalarArrayOpExpr *saop)
{
	Node *array = lsecond(saop->args);
	int part = match_part(m, linitial(saop->args));
	WtKind kind;
	Oid type;
	bool faithful;

	if (!saop->useOr || part < 0 || !is_value(m, array) ||
		!match_operator(m, part, saop->opno, saop->inputcollid, &kind, &type, &faithful) ||
		kind != WT_COND_EQ)
		return NULL;
	return add_value(new_cond(m, part, WT_COND_ANY, faithful), array, type);
}

/*
 * (a, b, c) < (x, y, z): takes the leading columns that are consecutive parts of the key in one
 * direction.  If these are not all columns, the bound is inclusive and the clause is tested again.
 */
static WtCond *
match_row(Match *m, RowCompareExpr *rc)
{
	WtCond *cond = NULL;
	ListCell *l, *r, *o, *i;
	int n = 0;
	bool all = true;
	WtKind want = WT_COND_LT;

	forfour(l, rc->largs, r, rc->rargs, o, rc->opnos, i, rc->inputcollids)
	{
		int part = match_part(m, lfirst(l));
		WtKind kind;
		Oid type;
		bool faithful;

		all = part >= 0 && part < m->t->nkeys && is_value(m, lfirst(r)) &&
			  match_operator(m, part, lfirst_oid(o), lfirst_oid(i), &kind, &type, &faithful) &&
			  wt_is_inequality(kind) && faithful;
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
		/* a part without a value makes the comparison null, but its bytes have a place */
		cond->faithful = cond->faithful && !wt_key_column(m->t, cond->part + n)->nullable;
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

/* k = 1 OR k = 2 OR ...: a list, if each arm is an equality of the same part. */
static WtCond *
match_list(Match *m, BoolExpr *b)
{
	WtCond *all = NULL;
	ListCell *lc;

	foreach(lc, b->args)
	{
		Node *arm = lfirst(lc);
		WtCond *c;

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

/* A boolean part by itself, or its negation. */
static WtCond *
match_bool(Match *m, Node *node, bool value)
{
	int part = match_part(m, node);

	if (part < 0 || part >= m->t->nkeys || wt_key_column(m->t, part)->typid != BOOLOID ||
		exprType(node) != BOOLOID)
		return NULL;
	return add_value(new_cond(m, part, WT_COND_EQ, true), makeBoolConst(value, false), BOOLOID);
}

/* starts_with(key, value) */
static WtCond *
match_function(Match *m, FuncExpr *f)
{
	int part = f->funcid == F_STARTS_WITH ? match_part(m, linitial(f->args)) : -1;

	if (part < 0 || !is_value(m, lsecond(f->args)))
		return NULL;
	return match_prefix(m, part, f->funcid, f->inputcollid, lsecond(f->args));
}

/* Returns true for a part of an index that rows may have no value for: NULL is a value to the
 * clause then. */
static bool
is_optional(const Match *m, int part)
{
	return part < m->t->nkeys && wt_key_column(m->t, part)->optional;
}

static WtCond *
match_boolean_expression(Match *m, BoolExpr *b)
{
	Node *arg = linitial(b->args);

	if (b->boolop == OR_EXPR)
		return match_list(m, b);
	if (b->boolop != NOT_EXPR)
		return NULL;
	if (IsA(arg, DistinctExpr))
	{
		/* key IS NOT DISTINCT FROM value: a key is never null */
		DistinctExpr *d = (DistinctExpr *) arg;
		WtCond *c = match_op(m, d->opno, d->inputcollid, linitial(d->args), lsecond(d->args));

		return c != NULL && c->kind == WT_COND_EQ && c->faithful && !is_optional(m, c->part) ? c
																							 : NULL;
	}
	return match_bool(m, arg, false);
}

static WtCond *
match_null_test(Match *m, NullTest *n)
{
	int part = match_part(m, (Node *) n->arg);

	/* the value of a digest is in a cell, which may be missing */
	if (part < 0 || part >= m->t->nkeys || n->argisrow ||
		wt_encoding_is_digest(wt_key_column(m->t, part)->enc) ||
		wt_key_column(m->t, part)->optional)
		return NULL;
	return new_cond(m, part, n->nulltesttype == IS_NULL ? WT_COND_NULL : WT_COND_NOT_NULL, true);
}

static WtCond *
match_boolean_test(Match *m, BooleanTest *b)
{
	int part = match_part(m, (Node *) b->arg);

	/* a key is never null, but a part of an index's */
	if (part >= 0 && is_optional(m, part) &&
		(b->booltesttype == IS_NOT_TRUE || b->booltesttype == IS_NOT_FALSE))
		return NULL;
	if (b->booltesttype == IS_TRUE || b->booltesttype == IS_NOT_FALSE)
		return match_bool(m, (Node *) b->arg, true);
	if (b->booltesttype == IS_FALSE || b->booltesttype == IS_NOT_TRUE)
		return match_bool(m, (Node *) b->arg, false);
	return NULL;
}

/* Returns the condition that a clause is, NULL if it is not exactly one. */
static WtCond *
match_clause(Match *m, Node *clause)
{
	switch (nodeTag(clause))
	{
		case T_OpExpr:
		{
			OpExpr *op = (OpExpr *) clause;

			if (list_length(op->args) != 2)
				return NULL;
			return match_op(m, op->opno, op->inputcollid, linitial(op->args), lsecond(op->args));
		}
		case T_ScalarArrayOpExpr:
			return match_any(m, (ScalarArrayOpExpr *) clause);
		case T_FuncExpr:
			return match_function(m, (FuncExpr *) clause);
		case T_BoolExpr:
			return match_boolean_expression(m, (BoolExpr *) clause);
		case T_NullTest:
			return match_null_test(m, (NullTest *) clause);
		case T_BooleanTest:
			return match_boolean_test(m, (BooleanTest *) clause);
		case T_Var:
		case T_RelabelType:
			return match_bool(m, clause, true);
		default:
			return NULL;
	}
}

/*
 * A row comparison as arms: (a, b) < (x, y) is a < x OR a = x AND b < y.  Takes the leading columns
 * that are parts of the key, in any order and direction, and returns their number.  If these are
 * not all columns, the rows that are equal in them are another arm, and the clause is tested again.
 */
static int
expand_row(Match *m, RowCompareExpr *rc, List **arms, bool *faithful)
{
	List *equal = NIL;
	int n = 0, total = list_length(rc->opnos);

	*arms = NIL;
	for (; n < total; n++)
	{
		int part = match_part(m, list_nth(rc->largs, n));
		Node *value = list_nth(rc->rargs, n);
		Oid collation = list_nth_oid(rc->inputcollids, n), type;
		WtKind kind;
		bool exact;

		if (part < 0 || part >= m->t->nkeys || !is_value(m, value) ||
			!match_operator(m, part, list_nth_oid(rc->opnos, n), collation, &kind, &type, &exact) ||
			!wt_is_inequality(kind) || !exact ||
			!comparison_allowed(m, part, WT_COND_EQ, type, &exact) || !exact)
			break;
		/* the operators of a row comparison <= are <=, but only the last column may be equal */
		if (n < total - 1)
			kind = kind == WT_COND_LT || kind == WT_COND_LE ? WT_COND_LT : WT_COND_GT;
		*arms = lappend(*arms, lappend(list_copy(equal),
									   add_value(new_cond(m, part, kind, true), value, type)));
		equal = lappend(equal, add_value(new_cond(m, part, WT_COND_EQ, true), value, type));
	}
	*faithful = n == total;
	if (n > 0 && n < total)
		*arms = lappend(*arms, equal);
	return n;
}

/* Returns every arm of a joined with every arm of b. */
static List *
multiply_arms(List *a, List *b)
{
	List *out = NIL;
	ListCell *x, *y;

	foreach(x, a)
		foreach(y, b)
			out = lappend(out, list_concat_copy(lfirst(x), lfirst(y)));
	return out;
}

/* key LIKE ANY (constant array), and other operators than =: makes an arm of each element. */
static bool
expand_any(Match *m, ScalarArrayOpExpr *saop, List **arms, bool *faithful)
{
	Const *array = lsecond(saop->args);
	Datum *values;
	bool *nulls;
	int16 len;
	bool byval;
	Oid type;
	int n;

	if (!saop->useOr || match_part(m, linitial(saop->args)) < 0 || !IsA(array, Const) ||
		array->constisnull)
		return false;
	type = ARR_ELEMTYPE(DatumGetArrayTypeP(array->constvalue));
	get_typlenbyval(type, &len, &byval);
	n = wt_key_value_elements(array->constvalue, &values, &nulls);
	if (n > WT_MAX_PRODUCT)
		return false;
	for (int i = 0; i < n; i++)
	{
		Const *value = makeConst(type, -1, array->constcollid, len, values[i], nulls[i], byval);
		WtCond *c = match_op(m, saop->opno, saop->inputcollid, linitial(saop->args),
							 (Node *) value);

		if (c == NULL || c->part >= m->t->nkeys)
			return false;
		*faithful = *faithful && c->faithful;
		*arms = lappend(*arms, list_make1(c));
	}
	return n > 0;
}

static bool match_tree(Match *m, Node *node, List **arms, bool *faithful);

/* The arms of an OR are those of its arguments, each of which must say something. */
static bool
match_or(Match *m, List *args, List **arms, bool *faithful)
{
	ListCell *lc;

	foreach(lc, args)
	{
		List *more;

		if (!match_tree(m, lfirst(lc), &more, faithful) ||
			list_length(*arms) + list_length(more) > WT_MAX_PRODUCT)
			return false;
		*arms = list_concat(*arms, more);
	}
	return true;
}

/* The arms of an AND are the product of those of its arguments; some may say nothing. */
static bool
match_and(Match *m, List *args, List **arms, bool *faithful)
{
	ListCell *lc;

	foreach(lc, args)
	{
		List *more;
		bool exact = true;

		if (match_tree(m, lfirst(lc), &more, &exact) &&
			(double) Max(1, list_length(*arms)) * list_length(more) <= WT_MAX_PRODUCT)
			*arms = *arms == NIL ? more : multiply_arms(*arms, more);
		else
			exact = false;
		*faithful = *faithful && exact;
	}
	return *arms != NIL;
}

/*
 * Makes arms of any clause.  Clears *faithful if the clause says more than the arms do.  Returns
 * false if it says nothing about the key.
 */
static bool
match_tree(Match *m, Node *node, List **arms, bool *faithful)
{
	WtCond *c;

	check_stack_depth();
	*arms = NIL;
	if (IsA(node, RowCompareExpr))
	{
		bool all;
		int n = expand_row(m, (RowCompareExpr *) node, arms, &all);

		c = match_row(m, (RowCompareExpr *) node);
		if (c == NULL || list_length(c->values) < n)
		{
			*faithful = *faithful && all;
			return n > 0;
		}
	}
	else
		c = match_clause(m, node);
	if (c != NULL)
	{
		if (c->part >= m->t->nkeys || c->kind == WT_COND_NOT_NULL)
			return false;
		*faithful = *faithful && c->faithful;
		*arms = list_make1(list_make1(c));
		return true;
	}
	if (IsA(node, ScalarArrayOpExpr))
		return expand_any(m, (ScalarArrayOpExpr *) node, arms, faithful);
	if (is_orclause(node))
		return match_or(m, ((BoolExpr *) node)->args, arms, faithful);
	return is_andclause(node) && match_and(m, ((BoolExpr *) node)->args, arms, faithful);
}

/* Returns a clause that is more than one condition; NULL if it says nothing about the key. */
static WtCond *
match_arms(Match *m, Node *clause)
{
	bool faithful = true;
	List *arms;
	WtCond *out;
	ListCell *a, *lc;

	if (!match_tree(m, clause, &arms, &faithful))
		return NULL;
	out = new_cond(m, 0, WT_COND_OR, faithful);
	out->arms = arms;
	out->part = m->t->nkeys;
	foreach(a, arms)
		foreach(lc, (List *) lfirst(a))
			out->part = Min(out->part, ((WtCond *) lfirst(lc))->part);
	return out;
}

List *
wt_key_condition_find(PlannerInfo *root, RelOptInfo *rel, WtTable *t, List *rinfos)
{
	List *conds = NIL;
	ListCell *lc;
	double ways = 1;
	Match m = {root, rel, t, NULL};

	if (!wt_settings_enable_pushdown)
		return NIL;
	foreach(lc, rinfos)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		WtCond *c;

		if (rinfo->pseudoconstant || !restriction_is_securely_promotable(rinfo, rel))
			continue;
		m.rinfo = rinfo;
		c = IsA(rinfo->clause, RowCompareExpr) ? NULL : match_clause(&m, (Node *) rinfo->clause);
		if (c == NULL)
			c = match_arms(&m, (Node *) rinfo->clause);
		if (c == NULL)
			continue;
		if (c->kind == WT_COND_OR && list_length(c->arms) == 1 &&
			list_length(linitial(c->arms)) == 1)
			c = linitial(linitial(c->arms));
		if (c->kind == WT_COND_OR)
		{
			if (ways * list_length(c->arms) > WT_MAX_PRODUCT)
				continue;
			ways *= list_length(c->arms);
		}
		conds = lappend(conds, c);
	}
	return conds;
}

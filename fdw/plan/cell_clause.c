/*
 * cell_clause.c
 *		Recognises WHERE clauses that the engine can test.
 *
 * A clause is one if it says of columns that show a cell: a comparison with a value, a list, a
 * prefix, NULL or not, or an OR of these.  cell_predicate.c makes the engine's predicates of
 * them when a scan begins; its head says which encodings and collations may be compared.
 */
#include "postgres.h"

#include "fdw/plan/cell_clause.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "fdw/key/key_value.h"
#include "fdw/plan/operator.h"
#include "fdw/plan/plain_column.h"
#include "fdw/plan/plan_private.h"
#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/store/settings.h"
#include "fdw/table/encoding.h"
#include "fdw/table/engine.h"
#include "fdw/table/lookup.h"
#include "fdw/table/marker.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

/* The most alternatives of a clause; clauses with more are left to PostgreSQL. */
#define MAX_LEAVES 32

bool
wt_cell_clause_order(const WtColumn *c, WtCellOrder *o)
{
	bool binary = c->enc == WT_ENC_BINARY || c->enc == WT_ENC_COUNTER;

	memset(o, 0, sizeof(*o));
	o->kind = WIDE_KIND_BYTES;
	if (c->role == WT_TIMESTAMP_OF)
	{
		o->kind = WIDE_KIND_TIME;
		return true;
	}
	if (c->role == WT_MAP)
	{
		o->equality = true;
		return true;
	}
	o->width = wt_encoding_length(c->typid, c->enc);
	if (type_is_enum(c->typid))
	{
		o->equality = true;
		return c->enc == WT_ENC_TEXT || c->enc == WT_ENC_BYTES;
	}
	switch (c->typid)
	{
		case TEXTOID:
		case VARCHAROID:
		case BYTEAOID:
		case OIDOID:
		case UUIDOID:
		case NUMERICOID:
		case INETOID:
			break;
		case BOOLOID:
			/* any byte but 00 is true: see bool_predicate */
			o->kind = WIDE_KIND_SIGNED;
			break;
		case FLOAT4OID:
		case FLOAT8OID:
			if (binary)
				o->kind = WIDE_KIND_FLOAT;
			break;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			if (binary)
				o->kind = WIDE_KIND_SIGNED;
			o->inverted = c->enc == WT_ENC_REVERSE;
			break;
		default:
			return false;
	}
	return binary || o->inverted || wt_encoding_is_ordered(c);
}

typedef struct Match
{
	RelOptInfo *rel;
	WtTable *t;
	List *leaves;
	bool exact;
	bool alternative; /* inside an OR */
	Node *key;		  /* name of the map's entry last matched; NULL: it was no map */
} Match;

WtColumn *
wt_cell_clause_map_entry(const WtColumn *map, const char *key, int len)
{
	WtColumn *c = palloc(sizeof(WtColumn));

	*c = *map;
	c->typid = TEXTOID;
	c->enc = WT_ENC_TEXT;
	c->qual_len = map->qual_len + len;
	c->qual = palloc(Max(1, c->qual_len));
	wt_bytes_copy(c->qual, map->qual, map->qual_len);
	wt_bytes_copy(c->qual + map->qual_len, key, len);
	return c;
}

/*
 * map ->> 'key' or map ? 'key': returns the map's entry, NULL if it is not exactly one cell.
 */
static WtColumn *
match_entry(Match *m, Node *map, Node *key)
{
	WtColumn *c = wt_plain_column_of(m->rel, m->t, map), *entry;
	text *name;
	int len;

	if (c == NULL || c->role != WT_MAP || c->family < 0 || !IsA(key, Const) ||
		((Const *) key)->constisnull)
		return NULL;
	name = DatumGetTextPP(((Const *) key)->constvalue);
	len = VARSIZE_ANY_EXHDR(name);
	/* qualifiers that are no text are shown as \x... */
	if (len >= 2 && memcmp(VARDATA_ANY(name), "\\x", 2) == 0)
		return NULL;
	entry = wt_cell_clause_map_entry(c, VARDATA_ANY(name), len);
	if (!wt_lookup_map_shows(m->t, c, (wide_bytes) {entry->qual, entry->qual_len}))
		return NULL;
	/* with an empty value it is a marker, which a map does not show */
	if (wt_marker_place(m->t, c->family, (wide_bytes) {entry->qual, entry->qual_len}))
		return NULL;
	for (int a = 0; a < m->t->natts; a++)
	{
		const WtColumn *o = &m->t->columns[a];

		/* a map does not show cells that have columns */
		if (o->family == c->family &&
			(o->role == WT_CELL || o->role == WT_TIMESTAMP_OF || o->role == WT_KEY) &&
			wt_bytes_equal(o->qual, o->qual_len, entry->qual, entry->qual_len))
			return NULL;
	}
	m->key = key;
	return entry;
}

/* Returns the column with a cell that an expression is, or NULL. */
static WtColumn *
match_column(Match *m, Node *node)
{
	WtColumn *c;

	m->key = NULL;
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node && IsA(node, OpExpr) && list_length(((OpExpr *) node)->args) == 2 &&
		get_opcode(((OpExpr *) node)->opno) == F_JSONB_OBJECT_FIELD_TEXT)
		return match_entry(m, linitial(((OpExpr *) node)->args), lsecond(((OpExpr *) node)->args));
	c = wt_plain_column_of(m->rel, m->t, node);
	/* other engines test values only */
	return c != NULL && c->family >= 0 &&
				   (c->role == WT_CELL || (c->role == WT_TIMESTAMP_OF && m->t->engine == NULL))
			   ? c
			   : NULL;
}

/*
 * Returns true if the expression can be computed once, before the scan begins.  With values of a
 * join's other side the scan would have to be opened again for each of its rows.  PostgreSQL might
 * never evaluate an alternative, so computing it must not fail.
 */
static bool
is_value(Match *m, Node *node)
{
	if (contain_var_clause(node) || contain_volatile_functions(node) || contain_subplans(node))
		return false;
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return !m->alternative || IsA(node, Const) || IsA(node, Param) || IsA(node, SQLValueFunction) ||
		   (IsA(node, FuncExpr) && ((FuncExpr *) node)->args == NIL);
}

static bool
add_leaf(Match *m, const WtColumn *c, WtKind kind, Node *value, Oid type)
{
	WtCellClauseLeaf *leaf = palloc0(sizeof(WtCellClauseLeaf));

	leaf->attno = c->attno;
	leaf->kind = kind;
	leaf->key = m->key;
	leaf->value = value;
	leaf->type = type;
	m->leaves = lappend(m->leaves, leaf);
	return true;
}

/*
 * Returns true if (column OP value) can be answered by the cell's bytes or its timestamp; sets the
 * operator and the type of the value.
 */
static bool
match_operator(const WtColumn *c, Oid opno, Oid collation, WtKind *kind, Oid *type)
{
	WtCellOrder order;

	return wt_cell_clause_order(c, &order) &&
		   wt_operator_compares(c, opno, collation, kind, type) &&
		   !wt_key_value_is_local(c, *type) &&
		   (!order.equality || *kind == WT_COND_EQ || *kind == WT_COND_NE);
}

/* Returns true if the function (column, value) is a test of a prefix of the cell's bytes. */
static bool
has_prefix(const WtColumn *c, Oid function, Oid collation, WtKind *kind, Oid *type)
{
	return c->role == WT_CELL && c->typid != NAMEOID &&
		   wt_operator_has_prefix(c, function, collation, kind, type);
}

/*
 * LIKE: adds the prefix or the value that a constant pattern asks for.  The clause is not exact
 * if the pattern asks for more, or is not constant.
 */
static bool
match_pattern(Match *m, const WtColumn *c, Node *pattern, Oid type)
{
	Const *known = IsA(pattern, Const) ? (Const *) pattern : NULL;
	struct varlena *v;
	StringInfoData prefix;
	WtLike form;
	text *start;

	if (known == NULL || known->constisnull)
	{
		m->exact = false;
		return add_leaf(m, c, WT_COND_LIKE, pattern, type);
	}
	v = PG_DETOAST_DATUM_PACKED(known->constvalue);
	initStringInfo(&prefix);
	form = wt_key_value_like_prefix(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v), &prefix);
	if (form != WT_LIKE_VALUE && prefix.len == 0)
		return false;
	if (form == WT_LIKE_MORE)
		m->exact = false;
	start = cstring_to_text_with_len(prefix.data, prefix.len);
	return add_leaf(m, c, form == WT_LIKE_VALUE ? WT_COND_EQ : WT_COND_STARTS,
					(Node *) makeConst(type, -1, known->constcollid, -1, PointerGetDatum(start),
									   false, false),
					type);
}

/*
 * column OP value in either order: returns the column and sets *value; *opno becomes the
 * commutator if the column is on the right.  Returns NULL if it is something else.
 */
static WtColumn *
match_sides(Match *m, Oid *opno, List *args, Node **value)
{
	WtColumn *c = match_column(m, linitial(args));

	*value = lsecond(args);
	if (c == NULL)
	{
		*opno = get_commutator(*opno);
		c = match_column(m, lsecond(args));
		*value = linitial(args);
	}
	return c != NULL && OidIsValid(*opno) && is_value(m, *value) ? c : NULL;
}

static bool
match_op(Match *m, OpExpr *expr)
{
	Oid opno = expr->opno, collation = expr->inputcollid, type;
	Node *value;
	WtColumn *c = match_sides(m, &opno, expr->args, &value);
	WtKind kind;

	if (c == NULL)
		return false;
	if (match_operator(c, opno, collation, &kind, &type))
		return add_leaf(m, c, kind, value, type);
	if (!has_prefix(c, get_opcode(opno), collation, &kind, &type))
		return false;
	if (kind == WT_COND_LIKE)
		return match_pattern(m, c, value, type);
	return kind == WT_COND_STARTS && add_leaf(m, c, kind, value, type);
}

/* = ANY (array) and <> ALL (array) */
static bool
match_array(Match *m, ScalarArrayOpExpr *saop)
{
	WtColumn *c = match_column(m, linitial(saop->args));
	WtKind kind;
	Oid type;

	if (c == NULL || c->typid == BOOLOID || c->role == WT_TIMESTAMP_OF ||
		!is_value(m, lsecond(saop->args)) ||
		!match_operator(c, saop->opno, saop->inputcollid, &kind, &type) ||
		kind != (saop->useOr ? WT_COND_EQ : WT_COND_NE))
		return false;
	return add_leaf(m, c, saop->useOr ? WT_COND_ANY : WT_COND_NOT_ANY, lsecond(saop->args), type);
}

static bool
match_distinct(Match *m, DistinctExpr *d, bool negated)
{
	Oid opno = d->opno, type;
	Node *value;
	WtColumn *c = match_sides(m, &opno, d->args, &value);
	WtKind kind;

	if (c == NULL || !match_operator(c, opno, d->inputcollid, &kind, &type) || kind != WT_COND_EQ)
		return false;
	return add_leaf(m, c, negated ? WT_COND_NOT_DISTINCT : WT_COND_DISTINCT, value, type);
}

/* A boolean column by itself, or with IS TRUE and the like. */
static bool
match_bool(Match *m, Node *node, bool value, bool or_null)
{
	WtColumn *c = match_column(m, node);
	WtCellOrder order;

	if (c == NULL || c->role != WT_CELL || c->typid != BOOLOID || !wt_cell_clause_order(c, &order))
		return false;
	if (or_null)
		(void) add_leaf(m, c, WT_COND_NULL, NULL, InvalidOid);
	return add_leaf(m, c, WT_COND_EQ, makeBoolConst(value, false), BOOLOID);
}

/* IS NULL, IS NOT NULL */
static bool
match_null(Match *m, Node *node, bool null)
{
	WtColumn *c = match_column(m, node);

	return c != NULL && add_leaf(m, c, null ? WT_COND_NULL : WT_COND_NOT_NULL, NULL, InvalidOid);
}

static bool
match_boolean_test(Match *m, BooleanTest *b)
{
	Node *arg = (Node *) b->arg;

	switch (b->booltesttype)
	{
		case IS_TRUE:
		case IS_NOT_FALSE:
			return match_bool(m, arg, true, b->booltesttype == IS_NOT_FALSE);
		case IS_FALSE:
		case IS_NOT_TRUE:
			return match_bool(m, arg, false, b->booltesttype == IS_NOT_TRUE);
		default:
			return match_null(m, arg, b->booltesttype == IS_UNKNOWN);
	}
}

static bool match_clause(Match *m, Node *clause);

static bool
match_boolean_expression(Match *m, BoolExpr *b)
{
	ListCell *lc;

	if (b->boolop == NOT_EXPR && IsA(linitial(b->args), DistinctExpr))
		return match_distinct(m, linitial(b->args), true);
	if (b->boolop == NOT_EXPR)
		return match_bool(m, linitial(b->args), false, false);
	if (b->boolop != OR_EXPR)
		return false;
	m->alternative = true;
	foreach(lc, b->args)
		if (!match_clause(m, lfirst(lc)))
			return false;
	return true;
}

/* Adds what the clause says to m->leaves.  Returns false if the engine cannot test it. */
static bool
match_clause(Match *m, Node *clause)
{
	switch (nodeTag(clause))
	{
		case T_OpExpr:
		{
			OpExpr *op = (OpExpr *) clause;

			if (get_opcode(op->opno) == F_JSONB_EXISTS)
			{
				WtColumn *c = match_entry(m, linitial(op->args), lsecond(op->args));

				return c != NULL && add_leaf(m, c, WT_COND_NOT_NULL, NULL, InvalidOid);
			}
			return list_length(op->args) == 2 && match_op(m, op);
		}
		case T_ScalarArrayOpExpr:
			return match_array(m, (ScalarArrayOpExpr *) clause);
		case T_DistinctExpr:
			return match_distinct(m, (DistinctExpr *) clause, false);
		case T_FuncExpr:
		{
			FuncExpr *f = (FuncExpr *) clause;
			WtColumn *c = f->funcid == F_STARTS_WITH ? match_column(m, linitial(f->args)) : NULL;
			WtKind kind;
			Oid type;

			return c != NULL && is_value(m, lsecond(f->args)) &&
				   has_prefix(c, f->funcid, f->inputcollid, &kind, &type) &&
				   add_leaf(m, c, kind, lsecond(f->args), type);
		}
		case T_BoolExpr:
			return match_boolean_expression(m, (BoolExpr *) clause);
		case T_NullTest:
		{
			NullTest *n = (NullTest *) clause;

			return !n->argisrow && match_null(m, (Node *) n->arg, n->nulltesttype == IS_NULL);
		}
		case T_BooleanTest:
			return match_boolean_test(m, (BooleanTest *) clause);
		case T_Var:
		case T_RelabelType:
			return exprType(clause) == BOOLOID && match_bool(m, clause, true, false);
		default:
			return false;
	}
}

List *
wt_cell_clause_find(RelOptInfo *rel, WtTable *t, List *rinfos)
{
	List *filters = NIL;
	ListCell *lc;

	/* in the layout 'cells' a row is one cell, and conditions on it are tests (key_condition.c) */
	if (!wt_settings_enable_pushdown || t->cells_layout || !wt_engine_can(t, WT_CAN_PREDICATES) ||
		(t->engine != NULL && t->engine->whole(t)))
		return NIL;
	foreach(lc, rinfos)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Match m = {.rel = rel, .t = t, .exact = t->engine == NULL};
		WtCellClause *filter;

		if (rinfo->pseudoconstant || !restriction_is_securely_promotable(rinfo, rel) ||
			!match_clause(&m, (Node *) rinfo->clause) || list_length(m.leaves) > MAX_LEAVES)
			continue;
		filter = palloc0(sizeof(WtCellClause));
		filter->rinfo = rinfo;
		filter->exact = m.exact;
		filter->leaves = m.leaves;
		filters = lappend(filters, filter);
	}
	return filters;
}

/* Appends an expression to the plan's and returns its index; -1 for NULL. */
static int
plan_value(Node *value, Oid type, List **exprs, List **types)
{
	if (value == NULL)
		return -1;
	*exprs = lappend(*exprs, value);
	*types = lappend_oid(*types, type);
	return list_length(*exprs) - 1;
}

List *
wt_cell_clause_plan(List *filters, List **exprs, List **types)
{
	List *out = NIL;
	ListCell *lc;
	int clause = 0;

	foreach(lc, filters)
	{
		WtCellClause *filter = lfirst(lc);
		ListCell *l;

		foreach(l, filter->leaves)
		{
			WtCellClauseLeaf *leaf = lfirst(l);
			WtLeaf one = {.clause = clause, .attno = leaf->attno, .kind = leaf->kind};

			one.arg = plan_value(leaf->value, leaf->type, exprs, types);
			one.key = plan_value(leaf->key, TEXTOID, exprs, types);
			out = wt_plan_private_append(out, &one, sizeof(one));
		}
		clause++;
	}
	return out;
}

/*
 * cell_clause.c
 *		WHERE clauses -> conditions on cells that the engine tests.
 *
 * In the planner a clause is recognised (wt_filters) when it says of columns
 * that show a cell: a comparison with a value, a list, a beginning, NULL or
 * not, or an OR of such.  When a scan begins and the values are known, each
 * becomes one of the engine's predicates on bytes (wt_predicates).
 *
 * Invariant: the engine leaves a row out only if the clause is not true of it,
 * and hands one out without "unsure" only if the clause is true (but for
 * filters that are not exact, which PostgreSQL tests again).  So
 *
 *	- only encodings are compared of which equal values have equal bytes, and for
 *	  < and > those that keep the order; decimal and hexadecimal text has many
 *	  spellings of one number and is left to PostgreSQL;
 *	- the collation that counts is the operator's: equality of text is equality of
 *	  bytes under every deterministic one, order only under C;
 *	- a value that the column cannot hold stands between two that it can, or
 *	  outside all of them, and the operator changes accordingly (Place);
 *	- an entry of a map, m->>'q', is the cell that the map would show there; its
 *	  value is text, or \x and digits where the bytes are no text, so that the order
 *	  is not that of bytes;
 *	- a cell of another width than its column's makes the row unsure: the scan
 *	  raises what decoding it would;
 *	- a timestamp beyond PostgreSQL's range is shown as infinity, so that one value
 *	  may stand for many timestamps (compare_time).
 *
 * Nothing here reads data.  Locking: none.
 */
#include "fdw/row/reader.h"
#include "fdw/row/cell_read.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

/* Alternatives of one clause; more are left to PostgreSQL. */
#define MAX_LEAVES 32

/* Of a family, the share that is read by time, up to which rows are looked for in an entry of their own. */
#define WORTH_AN_ENTRY 0.5

/* The latest finite timestamp that codec.c can encode. */
#define LAST_TIMESTAMP	(PG_INT64_MAX - 1 - WT_EPOCH_DIFF)

/* How the bytes of a column compare. */
typedef struct CellOrder
{
	wide_kind	kind;
	uint32		width;			/* the only right one, 0 = any */
	bool		inverted;		/* larger values have smaller bytes */
	bool		equality;		/* only equality is the same */
} CellOrder;

/* false: the bytes do not tell how values compare */
static bool
cell_order(const WtColumn *c, CellOrder *o)
{
	bool		binary = c->enc == WT_ENC_BINARY || c->enc == WT_ENC_COUNTER;

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
	o->width = wt_encoded_length(c->typid, c->enc);
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
			return true;
		case BOOLOID:
			/* any byte but 00 is true: see bool_predicate */
			o->kind = WIDE_KIND_SIGNED;
			return binary || c->enc == WT_ENC_ORDERED;
		case OIDOID:
		case UUIDOID:
			return binary || c->enc == WT_ENC_ORDERED;
		case FLOAT4OID:
		case FLOAT8OID:
			if (binary)
				o->kind = WIDE_KIND_FLOAT;
			return binary || c->enc == WT_ENC_ORDERED;
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
			return binary || o->inverted || wt_encoding_ordered(c);
		case NUMERICOID:
		case INETOID:
			return c->enc == WT_ENC_ORDERED;
		default:
			return false;
	}
}

/* ---------------------------------------------------- recognising clauses */

typedef struct Match
{
	RelOptInfo *rel;
	WtTable    *t;
	List	   *leaves;
	bool		exact;
	bool		alternative;	/* inside of OR */
	Node	   *key;			/* of the map's entry last matched, NULL: no map */
} Match;

static WtColumn *
var_column(Match *m, Node *node)
{
	Var		   *var;

	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return NULL;
	var = (Var *) node;
	if (var->varno != (int) m->rel->relid || var->varlevelsup != 0 || var->varattno <= 0 || var->varattno > m->t->natts)
		return NULL;
	return &m->t->columns[var->varattno - 1];
}

/* An entry of a map as a column of type text, with its whole qualifier. */
static WtColumn *
map_entry(const WtColumn *map, const char *key, int len)
{
	WtColumn   *c = palloc(sizeof(WtColumn));

	*c = *map;
	c->typid = TEXTOID;
	c->enc = WT_ENC_TEXT;
	c->qual_len = map->qual_len + len;
	c->qual = palloc(Max(1, c->qual_len));
	if (map->qual_len > 0)
		memcpy(c->qual, map->qual, map->qual_len);
	memcpy(c->qual + map->qual_len, key, len);
	return c;
}

/*
 * map ->> 'key' or map ? 'key': the map's entry, or NULL when that is not one
 * certain cell.
 */
static WtColumn *
match_entry(Match *m, Node *map, Node *key)
{
	WtColumn   *c = var_column(m, map),
			   *entry;
	text	   *name;
	int			len;

	if (c == NULL || c->role != WT_MAP || c->family < 0 || !IsA(key, Const) || ((Const *) key)->constisnull)
		return NULL;
	name = DatumGetTextPP(((Const *) key)->constvalue);
	len = VARSIZE_ANY_EXHDR(name);
	/* this is how qualifiers that are no text are shown */
	if (len >= 2 && memcmp(VARDATA_ANY(name), "\\x", 2) == 0)
		return NULL;
	entry = map_entry(c, VARDATA_ANY(name), len);
	if (!wt_map_shows(m->t, c, (wide_bytes) {entry->qual, entry->qual_len}))
		return NULL;
	for (int a = 0; a < m->t->natts; a++)
	{
		const WtColumn *o = &m->t->columns[a];

		/* maps leave these out */
		if (o->family == c->family && (o->role == WT_CELL || o->role == WT_TIMESTAMP_OF || o->role == WT_KEY) &&
			wt_bytes_equal(o->qual, o->qual_len, entry->qual, entry->qual_len))
			return NULL;
	}
	m->key = key;
	return entry;
}

/* The column with a cell that an expression stands for, or NULL. */
static WtColumn *
match_column(Match *m, Node *node)
{
	WtColumn   *c;

	m->key = NULL;
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node && IsA(node, OpExpr) && list_length(((OpExpr *) node)->args) == 2 &&
		get_opcode(((OpExpr *) node)->opno) == F_JSONB_OBJECT_FIELD_TEXT)
		return match_entry(m, linitial(((OpExpr *) node)->args), lsecond(((OpExpr *) node)->args));
	c = var_column(m, node);
	return c != NULL && c->family >= 0 && (c->role == WT_CELL || c->role == WT_TIMESTAMP_OF) ? c : NULL;
}

/*
 * Can this be computed once, before the scan begins?  With values of a join's
 * other side the scan would have to be opened anew for each of its rows.  An
 * alternative may never be looked at, so that it must not fail.
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
add_leaf(Match *m, const WtColumn *c, WtLeafOp op, Node *value, Oid type)
{
	WtFilterLeaf *leaf = palloc0(sizeof(WtFilterLeaf));

	leaf->attno = c->attno;
	leaf->op = op;
	leaf->key = m->key;
	leaf->value = value;
	leaf->type = type;
	m->leaves = lappend(m->leaves, leaf);
	return true;
}

static bool
is_deterministic(Oid collation)
{
	return OidIsValid(collation) && get_collation_isdeterministic(collation);
}

/* Are values of this type comparable with the column's, so that adapt() finds their place? */
static bool
type_allowed(const WtColumn *c, Oid left, Oid right)
{
	if (wt_is_text(c->typid))
		return left == TEXTOID && right == TEXTOID;
	if (type_is_enum(c->typid))
		return left == ANYENUMOID && right == ANYENUMOID;
	if (left != c->typid)
		return false;
	if (right == left || (wt_is_integer(left) && wt_is_integer(right)))
		return true;
	switch (left)
	{
		case FLOAT4OID:
			return right == FLOAT8OID;
		case FLOAT8OID:
			return right == FLOAT4OID;
		case TIMESTAMPTZOID:
			return right == DATEOID || right == TIMESTAMPOID;
		case TIMESTAMPOID:
			return right == DATEOID;
		default:
			return false;
	}
}

/*
 * Does (column OP value) say something about the cell's bytes, or its timestamp?
 * Sets the operator and the type of the value.
 */
static bool
match_operator(const WtColumn *c, Oid opno, Oid collation, WtLeafOp *op, Oid *type)
{
	static const WtLeafOp ops[] = {0, WT_LEAF_LT, WT_LEAF_LE, WT_LEAF_EQ, WT_LEAF_GE, WT_LEAF_GT};
	Oid			families[2] = {lookup_type_cache(c->typid, TYPECACHE_BTREE_OPFAMILY)->btree_opf, TEXT_PATTERN_BTREE_FAM_OID};
	CellOrder	order;

	if (!cell_order(c, &order))
		return false;
	for (int i = 0; i < (wt_is_text(c->typid) ? 2 : 1); i++)
	{
		Oid			left,
					equal = opno;
		int			strategy;
		bool		negated = false,
					equality;

		if (!OidIsValid(families[i]))
			continue;
		if (get_op_opfamily_strategy(opno, families[i]) == 0)
		{
			equal = get_negator(opno);
			negated = true;
			if (!OidIsValid(equal) || get_op_opfamily_strategy(equal, families[i]) != BTEqualStrategyNumber)
				continue;
		}
		get_op_opfamily_properties(equal, families[i], false, &strategy, &left, type);
		if (strategy < BTLessStrategyNumber || strategy > BTGreaterStrategyNumber || !type_allowed(c, left, *type))
			return false;
		*op = negated ? WT_LEAF_NE : ops[strategy];
		equality = strategy == BTEqualStrategyNumber;
		if (order.equality && !equality)
			return false;
		if (wt_is_text(c->typid) && !(equality ? is_deterministic(collation) : i == 1 || wt_collate_is_c(collation)))
			return false;
		if (type_is_enum(c->typid))
			*type = c->typid;
		return true;
	}
	return false;
}

/* A pattern that is known: the beginning that it asks for, and whether that is all. */
static bool
match_pattern(Match *m, const WtColumn *c, Node *pattern, Oid type)
{
	Const	   *known = IsA(pattern, Const) ? (Const *) pattern : NULL;
	struct varlena *v;
	StringInfoData prefix;
	const char *p;
	int			len;
	bool		whole;
	text	   *start;

	if (known == NULL || known->constisnull)
	{
		m->exact = false;
		return add_leaf(m, c, WT_LEAF_LIKE, pattern, type);
	}
	v = PG_DETOAST_DATUM_PACKED(known->constvalue);
	p = VARDATA_ANY(v);
	len = VARSIZE_ANY_EXHDR(v);
	initStringInfo(&prefix);
	whole = wt_like_prefix(p, len, &prefix);
	if (!whole && prefix.len == 0)
		return false;
	if (!whole)
	{
		StringInfoData front;
		int			i = len;

		/* nothing but % behind it?  (of what ends in an escaped one this says no) */
		initStringInfo(&front);
		while (i > 0 && p[i - 1] == '%')
			i--;
		if (!wt_like_prefix(p, i, &front))
			m->exact = false;
	}
	start = cstring_to_text_with_len(prefix.data, prefix.len);
	return add_leaf(m, c, whole ? WT_LEAF_EQ : WT_LEAF_PREFIX,
					(Node *) makeConst(type, -1, known->constcollid, -1, PointerGetDatum(start), false, false), type);
}

/* LIKE, ^@ and starts_with: collation and bytes are as they have to be? */
static bool
prefix_allowed(const WtColumn *c, Oid collation, bool bytea)
{
	if (c == NULL || c->role != WT_CELL)
		return false;
	return bytea ? c->typid == BYTEAOID : wt_is_text(c->typid) && is_deterministic(collation);
}

static bool
match_op(Match *m, Oid opno, Oid collation, Node *left, Node *right)
{
	WtColumn   *c = match_column(m, left);
	WtLeafOp	op;
	Oid			type;

	if (c == NULL)
	{
		opno = get_commutator(opno);
		c = match_column(m, right);
		right = left;
	}
	if (c == NULL || !OidIsValid(opno) || !is_value(m, right))
		return false;
	if (match_operator(c, opno, collation, &op, &type))
		return add_leaf(m, c, op, right, type);
	switch (get_opcode(opno))
	{
		case F_TEXTLIKE:
			return prefix_allowed(c, collation, false) && match_pattern(m, c, right, TEXTOID);
		case F_BYTEALIKE:
			return prefix_allowed(c, collation, true) && match_pattern(m, c, right, BYTEAOID);
		case F_STARTS_WITH:
			return prefix_allowed(c, collation, false) && add_leaf(m, c, WT_LEAF_PREFIX, right, TEXTOID);
		default:
			return false;
	}
}

/* = ANY (array) and <> ALL (array) */
static bool
match_array(Match *m, ScalarArrayOpExpr *saop)
{
	WtColumn   *c = match_column(m, linitial(saop->args));
	WtLeafOp	op;
	Oid			type;

	if (c == NULL || c->typid == BOOLOID || c->role == WT_TIMESTAMP_OF || !is_value(m, lsecond(saop->args)) ||
		!match_operator(c, saop->opno, saop->inputcollid, &op, &type) ||
		op != (saop->useOr ? WT_LEAF_EQ : WT_LEAF_NE))
		return false;
	return add_leaf(m, c, saop->useOr ? WT_LEAF_ANY : WT_LEAF_NOT_ANY, lsecond(saop->args), type);
}

static bool
match_distinct(Match *m, DistinctExpr *d, bool negated)
{
	Node	   *left = linitial(d->args),
			   *right = lsecond(d->args);
	WtColumn   *c = match_column(m, left);
	Oid			opno = d->opno;
	WtLeafOp	op;
	Oid			type;

	if (c == NULL)
	{
		opno = get_commutator(opno);
		c = match_column(m, right);
		right = left;
	}
	if (c == NULL || !OidIsValid(opno) || !is_value(m, right) ||
		!match_operator(c, opno, d->inputcollid, &op, &type) || op != WT_LEAF_EQ)
		return false;
	return add_leaf(m, c, negated ? WT_LEAF_NOT_DISTINCT : WT_LEAF_DISTINCT, right, type);
}

/* A boolean column by itself, or with IS TRUE and its relatives */
static bool
match_bool(Match *m, Node *node, WtLeafOp op, bool value, bool or_null)
{
	WtColumn   *c = match_column(m, node);
	CellOrder	order;

	if (c == NULL || c->role != WT_CELL || c->typid != BOOLOID || !cell_order(c, &order))
		return false;
	if (or_null)
		(void) add_leaf(m, c, WT_LEAF_NULL, NULL, InvalidOid);
	return add_leaf(m, c, op, makeBoolConst(value, false), BOOLOID);
}

static bool
match_boolean_test(Match *m, BooleanTest *b)
{
	WtColumn   *c = match_column(m, (Node *) b->arg);

	switch (b->booltesttype)
	{
		case IS_TRUE:
			return match_bool(m, (Node *) b->arg, WT_LEAF_EQ, true, false);
		case IS_NOT_TRUE:
			return match_bool(m, (Node *) b->arg, WT_LEAF_EQ, false, true);
		case IS_FALSE:
			return match_bool(m, (Node *) b->arg, WT_LEAF_EQ, false, false);
		case IS_NOT_FALSE:
			return match_bool(m, (Node *) b->arg, WT_LEAF_EQ, true, true);
		case IS_UNKNOWN:
			return c != NULL && add_leaf(m, c, WT_LEAF_NULL, NULL, InvalidOid);
		case IS_NOT_UNKNOWN:
			return c != NULL && add_leaf(m, c, WT_LEAF_NOT_NULL, NULL, InvalidOid);
	}
	return false;
}

/* Adds what the clause says to m->leaves; false: nothing that the engine could test. */
static bool
match_clause(Match *m, Node *clause)
{
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) clause;

				if (get_opcode(op->opno) == F_JSONB_EXISTS)
				{
					WtColumn   *c = match_entry(m, linitial(op->args), lsecond(op->args));

					return c != NULL && add_leaf(m, c, WT_LEAF_NOT_NULL, NULL, InvalidOid);
				}
				return list_length(op->args) == 2 &&
					match_op(m, op->opno, op->inputcollid, linitial(op->args), lsecond(op->args));
			}
		case T_ScalarArrayOpExpr:
			return match_array(m, (ScalarArrayOpExpr *) clause);
		case T_DistinctExpr:
			return match_distinct(m, (DistinctExpr *) clause, false);
		case T_FuncExpr:
			{
				FuncExpr   *f = (FuncExpr *) clause;
				WtColumn   *c = f->funcid == F_STARTS_WITH ? match_column(m, linitial(f->args)) : NULL;

				return prefix_allowed(c, f->inputcollid, false) && is_value(m, lsecond(f->args)) &&
					add_leaf(m, c, WT_LEAF_PREFIX, lsecond(f->args), TEXTOID);
			}
		case T_BoolExpr:
			{
				BoolExpr   *b = (BoolExpr *) clause;
				ListCell   *lc;

				if (b->boolop == NOT_EXPR && IsA(linitial(b->args), DistinctExpr))
					return match_distinct(m, linitial(b->args), true);
				if (b->boolop == NOT_EXPR)
					return match_bool(m, linitial(b->args), WT_LEAF_EQ, false, false);
				if (b->boolop != OR_EXPR)
					return false;
				m->alternative = true;
				foreach(lc, b->args)
					if (!match_clause(m, lfirst(lc)))
						return false;
				return true;
			}
		case T_NullTest:
			{
				NullTest   *n = (NullTest *) clause;
				WtColumn   *c = match_column(m, (Node *) n->arg);

				return c != NULL && !n->argisrow &&
					add_leaf(m, c, n->nulltesttype == IS_NULL ? WT_LEAF_NULL : WT_LEAF_NOT_NULL, NULL, InvalidOid);
			}
		case T_BooleanTest:
			return match_boolean_test(m, (BooleanTest *) clause);
		case T_Var:
		case T_RelabelType:
			return exprType(clause) == BOOLOID && match_bool(m, clause, WT_LEAF_EQ, true, false);
		default:
			return false;
	}
}

List *
wt_filters(RelOptInfo *rel, WtTable *t, List *rinfos)
{
	List	   *filters = NIL;
	ListCell   *lc;

	/* in the layout 'cells' a row is one cell */
	if (!wt_enable_pushdown || t->cells_layout)
		return NIL;
	foreach(lc, rinfos)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Match		m = {.rel = rel, .t = t, .exact = true};
		WtFilter   *filter;

		if (rinfo->pseudoconstant || !restriction_is_securely_promotable(rinfo, rel) ||
			!match_clause(&m, (Node *) rinfo->clause) || list_length(m.leaves) > MAX_LEAVES)
			continue;
		filter = palloc0(sizeof(WtFilter));
		filter->rinfo = rinfo;
		filter->exact = m.exact;
		filter->leaves = m.leaves;
		filters = lappend(filters, filter);
	}
	return filters;
}

/* ------------------------------------------------------ the plan's private list */

/* The place of an expression among the plan's; -1: there is none. */
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
wt_filters_plan(List *filters, List **exprs, List **types)
{
	List	   *out = NIL;
	ListCell   *lc;
	int			clause = 0;

	foreach(lc, filters)
	{
		WtFilter   *filter = lfirst(lc);
		ListCell   *l;

		foreach(l, filter->leaves)
		{
			WtFilterLeaf *leaf = lfirst(l);

			out = lappend(out, list_make5_int(clause, leaf->attno, leaf->op,
											  plan_value(leaf->value, leaf->type, exprs, types),
											  plan_value(leaf->key, TEXTOID, exprs, types)));
		}
		clause++;
	}
	return out;
}

WtLeaf *
wt_plan_leaves(List *fdw_private, int *n)
{
	List	   *leaves = list_nth(fdw_private, WtPrivatePredicates);
	WtLeaf	   *out = palloc(sizeof(WtLeaf) * Max(1, list_length(leaves)));
	ListCell   *lc;

	*n = 0;
	foreach(lc, leaves)
	{
		List	   *one = lfirst(lc);
		WtLeaf	   *leaf = &out[(*n)++];

		leaf->clause = linitial_int(one);
		leaf->attno = lsecond_int(one);
		leaf->op = lthird_int(one);
		leaf->arg = lfourth_int(one);
		leaf->key = list_nth_int(one, 4);
	}
	return out;
}

/* ------------------------------------------------- values in the column's order */

/* Where a value is among those that the column can hold. */
typedef enum Place
{
	PLACE_AT,					/* it is one of them */
	PLACE_BEHIND,				/* right behind the one that adapt() gives */
	PLACE_BEFORE,				/* right before it */
	PLACE_BELOW,				/* below all */
	PLACE_ABOVE
} Place;

static Place
adapt_integer(const WtColumn *c, Oid type, Datum *value)
{
	int64		x = type == INT2OID ? DatumGetInt16(*value) : type == INT4OID ? DatumGetInt32(*value) : DatumGetInt64(*value);
	int64		lo = c->typid == INT2OID ? PG_INT16_MIN : c->typid == INT4OID ? PG_INT32_MIN : PG_INT64_MIN;
	int64		hi = c->typid == INT2OID ? PG_INT16_MAX : c->typid == INT4OID ? PG_INT32_MAX : PG_INT64_MAX;

	if (c->enc >= WT_ENC_UNSIGNED1 && c->enc <= WT_ENC_UNSIGNED8)
	{
		int			width = wt_encoded_length(c->typid, c->enc);

		lo = 0;
		if (width < 8)
			hi = Min(hi, (INT64CONST(1) << (8 * width)) - 1);
	}
	if (x < lo)
		return PLACE_BELOW;
	if (x > hi)
		return PLACE_ABOVE;
	*value = c->typid == INT2OID ? Int16GetDatum((int16) x) : c->typid == INT4OID ? Int32GetDatum((int32) x) : Int64GetDatum(x);
	return PLACE_AT;
}

static Place
adapt_float(const WtColumn *c, Oid type, Datum *value)
{
	double		d;
	float		f;

	if (type == c->typid)
		return PLACE_AT;
	if (c->typid == FLOAT8OID)
	{
		*value = Float8GetDatum((double) DatumGetFloat4(*value));
		return PLACE_AT;
	}
	d = DatumGetFloat8(*value);
	f = (float) d;
	*value = Float4GetDatum(f);
	return (double) f < d ? PLACE_BEHIND : (double) f > d ? PLACE_BEFORE : PLACE_AT;
}

/* Dates and local times as points in time; beyond the type's range they are next to infinity. */
static Place
adapt_time(const WtColumn *c, Oid type, Datum *value)
{
	int			overflow = 0;
	Timestamp	ts;

	if (type == c->typid)
		ts = DatumGetTimestamp(*value);
	else if (c->typid == TIMESTAMPOID)
		ts = date2timestamp_opt_overflow(DatumGetDateADT(*value), &overflow);
	else if (type == DATEOID)
		ts = date2timestamptz_opt_overflow(DatumGetDateADT(*value), &overflow);
	else
		ts = timestamp2timestamptz_opt_overflow(DatumGetTimestamp(*value), &overflow);
	*value = TimestampGetDatum(overflow < 0 ? DT_NOBEGIN : ts);
	if (overflow < 0)
		return PLACE_BEHIND;
	if (overflow == 0 && (TIMESTAMP_NOT_FINITE(ts) || ts <= LAST_TIMESTAMP))
		return PLACE_AT;
	*value = TimestampGetDatum(LAST_TIMESTAMP);
	return PLACE_BEHIND;
}

static Place
adapt(const WtColumn *c, Oid type, Datum *value)
{
	switch (c->typid)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return adapt_integer(c, type, value);
		case FLOAT4OID:
		case FLOAT8OID:
			return adapt_float(c, type, value);
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return adapt_time(c, type, value);
		default:
			return PLACE_AT;
	}
}

/* ---------------------------------------------------------- the engine's form */

/* What is known of an alternative, or a clause, before the scan begins. */
typedef enum Outcome
{
	NEVER,						/* true of no row */
	ALWAYS,						/* true of every row */
	TESTED						/* predicates have been added */
} Outcome;

typedef struct Build
{
	WtTable    *t;
	WtEngine   *e;
	WtPredicates *out;
	int			cap;
	int			clause;
} Build;

static Outcome
add_predicate(Build *b, const WtColumn *c, wide_op op, wide_bytes *values, int n)
{
	CellOrder	order;
	wide_predicate *p;

	/* a family that has not been made yet has no cells */
	if (b->e->families[c->family] == 0)
		return op == WIDE_OP_IS_NULL ? ALWAYS : NEVER;
	if (b->out->n == b->cap)
	{
		b->cap = Max(8, 2 * b->cap);
		b->out->list = b->out->list == NULL ? palloc(sizeof(wide_predicate) * b->cap)
			: repalloc(b->out->list, sizeof(wide_predicate) * b->cap);
	}
	p = &b->out->list[b->out->n++];
	memset(p, 0, sizeof(*p));
	p->family = c->family;
	p->clause = b->clause;
	p->op = op;
	p->qualifier = (wide_bytes) {c->qual ? c->qual : (const uint8 *) "", c->qual_len};
	p->values = values;
	p->nvalues = n;
	if (values != NULL && cell_order(c, &order))
	{
		p->kind = order.kind;
		p->width = order.width;
	}
	return TESTED;
}

static wide_bytes
varlena_bytes(Datum value)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(value);

	return (wide_bytes) {(const uint8 *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v)};
}

static wide_bytes
encoded(const WtColumn *c, Datum value)
{
	StringInfoData s;

	initStringInfo(&s);
	wt_encode(c, value, &s);
	return (wide_bytes) {(const uint8 *) s.data, (size_t) s.len};
}

static wide_bytes
copied(const StringInfoData *s)
{
	uint8	   *data = palloc(Max(1, s->len));

	memcpy(data, s->data, s->len);
	return (wide_bytes) {data, (size_t) s->len};
}

static Outcome
add_value(Build *b, const WtColumn *c, wide_op op, wide_bytes value)
{
	wide_bytes *values = palloc(sizeof(wide_bytes));

	*values = value;
	return add_predicate(b, c, op, values, 1);
}

/* A map's entry is shown as this text: the bytes that it may have. */
static int
entry_bytes(Datum value, wide_bytes *out)
{
	StringInfoData s;
	wide_bytes	shown = varlena_bytes(value);

	out[0] = shown;
	initStringInfo(&s);
	wt_bytes_unshow((const char *) shown.data, shown.len, &s);
	out[1] = wt_bytes_of(&s);
	return wt_bytes_cmp(out[0], out[1]) == 0 ? 1 : 2;
}

/* Every byte but 00 is true. */
static Outcome
bool_predicate(Build *b, const WtColumn *c, WtLeafOp op, bool value)
{
	/* is the clause true of false and of true? */
	bool		of_false = op == WT_LEAF_EQ ? !value : op == WT_LEAF_NE ? value :
		op == WT_LEAF_LT ? value : op == WT_LEAF_LE ? true : op == WT_LEAF_GT ? false : !value;
	bool		of_true = op == WT_LEAF_EQ ? value : op == WT_LEAF_NE ? !value :
		op == WT_LEAF_LT ? false : op == WT_LEAF_LE ? value : op == WT_LEAF_GT ? !value : true;

	if (of_false && of_true)
		return add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
	if (!of_false && !of_true)
		return NEVER;
	return add_value(b, c, of_true ? WIDE_OP_NE : WIDE_OP_EQ, (wide_bytes) {(const uint8 *) "\0", 1});
}

/* The first timestamp that is shown as t or later (reader.c); false: there is none. */
static bool
first_shown(const WtColumn *c, int64 t, int64 *out)
{
	*out = t;
	if (c->typid == INT8OID || t == DT_NOBEGIN)
		return true;
	t = Max(t, MIN_TIMESTAMP);
	*out = t <= PG_INT64_MAX - WT_EPOCH_DIFF ? t + WT_EPOCH_DIFF : PG_INT64_MAX;
	return t <= PG_INT64_MAX - WT_EPOCH_DIFF;
}

/* The value as the column has it, or what has the same place among its values. */
static int64
time_of(const WtColumn *c, const WtArg *arg)
{
	Datum		value = arg->value;

	if (c->typid == INT8OID)
		(void) adapt_integer(c, arg->type, &value);
	else if (adapt_time(c, arg->type, &value) == PLACE_BEHIND)
		return DatumGetTimestamp(value) + 1;
	return DatumGetInt64(value);
}

static Outcome
add_time(Build *b, const WtColumn *c, wide_op op, int64 ts)
{
	uint64		big = pg_hton64((uint64) ts);

	return add_value(b, c, op, (wide_bytes) {memcpy(palloc(sizeof(big)), &big, sizeof(big)), sizeof(big)});
}

/*
 * timestamp OP value: `from` is the first timestamp that is shown as the value or
 * a later one, `to` the first that is shown as a later one.
 */
static Outcome
compare_time(Build *b, const WtColumn *c, WtLeafOp op, const WtArg *arg)
{
	int64		t = time_of(c, arg),
				from,
				to;
	bool		some_from = first_shown(c, t, &from),
				some_to = t < PG_INT64_MAX && first_shown(c, t + 1, &to);

	switch (op)
	{
		case WT_LEAF_GE:
			return some_from ? add_time(b, c, WIDE_OP_GE, from) : NEVER;
		case WT_LEAF_GT:
			return some_to ? add_time(b, c, WIDE_OP_GE, to) : NEVER;
		case WT_LEAF_LT:
			return some_from ? add_time(b, c, WIDE_OP_LT, from) : add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
		case WT_LEAF_LE:
			return some_to ? add_time(b, c, WIDE_OP_LT, to) : add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
		default:
			break;
	}
	if (!some_from || (some_to && from == to))
		return op == WT_LEAF_EQ ? NEVER : add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
	if (!some_to)
		return add_time(b, c, op == WT_LEAF_EQ ? WIDE_OP_GE : WIDE_OP_LT, from);
	if (to - 1 > from)			/* only -infinity, which has no first one */
		return add_time(b, c, op == WT_LEAF_EQ ? WIDE_OP_LT : WIDE_OP_GE, to);
	return add_time(b, c, op == WT_LEAF_EQ ? WIDE_OP_EQ : WIDE_OP_NE, from);
}

/* column OP value, for a value that is not null */
static Outcome
compare(Build *b, const WtColumn *c, WtLeafOp op, const WtArg *arg)
{
	static const wide_op ops[] = {WIDE_OP_EQ, WIDE_OP_NE, WIDE_OP_LT, WIDE_OP_LE, WIDE_OP_GT, WIDE_OP_GE};
	static const wide_op turned[] = {WIDE_OP_EQ, WIDE_OP_NE, WIDE_OP_GT, WIDE_OP_GE, WIDE_OP_LT, WIDE_OP_LE};
	bool		less = op == WT_LEAF_LT || op == WT_LEAF_LE;
	Datum		value = arg->value;
	Place		place;
	CellOrder	order;

	if (c->role == WT_TIMESTAMP_OF)
		return compare_time(b, c, op, arg);
	place = adapt(c, arg->type, &value);
	if (c->typid == BOOLOID)
		return bool_predicate(b, c, op, DatumGetBool(value));
	if (c->role == WT_MAP)
	{
		wide_bytes *bytes = palloc(sizeof(wide_bytes) * 2);
		int			n = entry_bytes(value, bytes);

		return add_predicate(b, c, op == WT_LEAF_EQ ? WIDE_OP_IN : WIDE_OP_NOT_IN, bytes, n);
	}
	if (place != PLACE_AT)
	{
		if (op == WT_LEAF_EQ)
			return NEVER;
		if (op == WT_LEAF_NE || (place == PLACE_BELOW && !less) || (place == PLACE_ABOVE && less))
			return add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
		if (place == PLACE_BELOW || place == PLACE_ABOVE)
			return NEVER;
		if (place == PLACE_BEHIND)
			op = less ? WT_LEAF_LE : WT_LEAF_GT;
		else
			op = less ? WT_LEAF_LT : WT_LEAF_GE;
	}
	(void) cell_order(c, &order);
	return add_value(b, c, order.inverted ? turned[op] : ops[op], encoded(c, value));
}

/* = ANY, <> ALL */
static Outcome
compare_array(Build *b, const WtColumn *c, bool any, const WtArg *arg)
{
	int16		len;
	bool		byval;
	char		align;
	Datum	   *elements;
	bool	   *nulls;
	int			count,
				n = 0;
	wide_bytes *values;
	StringInfoData scratch;

	get_typlenbyvalalign(arg->type, &len, &byval, &align);
	initStringInfo(&scratch);
	deconstruct_array(DatumGetArrayTypeP(arg->value), arg->type, len, byval, align, &elements, &nulls, &count);
	if (count == 0)
		return any ? NEVER : ALWAYS;
	values = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(wide_bytes) * 2 * (Size) count);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		/* <> NULL is not true of anything */
		if (nulls[i] && !any)
			return NEVER;
		if (!nulls[i] && c->role == WT_MAP)
			n += entry_bytes(elements[i], &values[n]);
		else if (!nulls[i] && adapt(c, arg->type, &elements[i]) == PLACE_AT)
		{
			/* a buffer of its own for each would take a kilobyte */
			resetStringInfo(&scratch);
			wt_encode(c, elements[i], &scratch);
			values[n++] = copied(&scratch);
		}
	}
	if (n == 0)
		return any ? NEVER : add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
	return add_predicate(b, c, any ? WIDE_OP_IN : WIDE_OP_NOT_IN, values, n);
}

/* What a pattern begins with; the rest is tested by PostgreSQL. */
static Outcome
pattern_predicate(Build *b, const WtColumn *c, wide_bytes pattern)
{
	StringInfoData prefix;

	initStringInfo(&prefix);
	(void) wt_like_prefix((const char *) pattern.data, (int) pattern.len, &prefix);
	return add_value(b, c, WIDE_OP_PREFIX, (wide_bytes) {(const uint8 *) prefix.data, (size_t) prefix.len});
}

static Outcome
distinct(Build *b, const WtColumn *c, const WtArg *arg)
{
	Outcome		unequal;

	if (arg->isnull)
		return add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
	if (add_predicate(b, c, WIDE_OP_IS_NULL, NULL, 0) == ALWAYS)
		return ALWAYS;
	unequal = compare(b, c, WT_LEAF_NE, arg);
	return unequal == ALWAYS ? ALWAYS : TESTED;
}

static Outcome
add_alternative(Build *b, const WtLeaf *leaf, const WtArg *args)
{
	const WtColumn *c = &b->t->columns[leaf->attno - 1];
	const WtArg *arg = leaf->arg >= 0 ? &args[leaf->arg] : NULL;

	if (leaf->key >= 0)
	{
		wide_bytes	key = varlena_bytes(args[leaf->key].value);

		c = map_entry(c, (const char *) key.data, (int) key.len);
	}
	switch (leaf->op)
	{
		case WT_LEAF_NULL:
			return add_predicate(b, c, WIDE_OP_IS_NULL, NULL, 0);
		case WT_LEAF_NOT_NULL:
			return add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
		case WT_LEAF_DISTINCT:
			return distinct(b, c, arg);
		case WT_LEAF_NOT_DISTINCT:
			return arg->isnull ? add_predicate(b, c, WIDE_OP_IS_NULL, NULL, 0) : compare(b, c, WT_LEAF_EQ, arg);
		default:
			break;
	}
	if (arg->isnull)
		return NEVER;
	switch (leaf->op)
	{
		case WT_LEAF_ANY:
		case WT_LEAF_NOT_ANY:
			return compare_array(b, c, leaf->op == WT_LEAF_ANY, arg);
		case WT_LEAF_PREFIX:
			return add_value(b, c, WIDE_OP_PREFIX, varlena_bytes(arg->value));
		case WT_LEAF_LIKE:
			return pattern_predicate(b, c, varlena_bytes(arg->value));
		default:
			return compare(b, c, leaf->op, arg);
	}
}

void
wt_predicates(WtTable *t, WtEngine *e, const WtLeaf *leaves, int nleaves, const WtArg *args, WtPredicates *out)
{
	Build		b = {.t = t, .e = e, .out = out};

	memset(out, 0, sizeof(*out));
	for (int i = 0; i < nleaves;)
	{
		int			start = out->n,
					end = i;
		bool		always = false;

		b.clause = leaves[i].clause;
		for (; end < nleaves && leaves[end].clause == b.clause; end++)
			always = always || add_alternative(&b, &leaves[end], args) == ALWAYS;
		if (always)
			out->n = start;
		else if (out->n == start)
		{
			out->never = true;
			return;
		}
		i = end;
	}
}

/* ------------------------------------------------------- files left out by time */

static bool
same_cell(const wide_predicate *a, const wide_predicate *b)
{
	return a->family == b->family && wt_bytes_cmp(a->qualifier, b->qualifier) == 0;
}

/* Is this predicate a clause by itself that asks for a timestamp from *since on? */
static bool
clause_since(const WtPredicates *p, int first, int64 *since)
{
	const wide_predicate *one = &p->list[first];

	if (one->kind != WIDE_KIND_TIME || (one->op != WIDE_OP_GE && one->op != WIDE_OP_EQ))
		return false;
	for (int i = 0; i < p->n; i++)
		if (i != first && p->list[i].clause == one->clause)
			return false;
	memcpy(since, one->values[0].data, sizeof(*since));
	*since = (int64) pg_ntoh64((uint64) *since);
	return true;
}

/* The predicate with the latest lower bound on the timestamp of a cell, NULL: none has one. */
static const wide_predicate *
latest_since(const WtPredicates *p, int64 *since)
{
	const wide_predicate *best = NULL;
	int64		one;

	for (int i = 0; i < p->n; i++)
		if (clause_since(p, i, &one) && (best == NULL || one > *since))
		{
			best = &p->list[i];
			*since = one;
		}
	return best;
}

typedef struct FileSizes
{
	int64		since;
	uint64		all,
				older;
} FileSizes;

static wide_status
add_file(void *arg, const wide_file_info *f)
{
	FileSizes  *sizes = arg;

	sizes->all += f->bytes;
	if (f->ts_max < sizes->since)
		sizes->older += f->bytes;
	return WIDE_OK;
}

double
wt_filters_recent(PlannerInfo *root, WtTable *t, WtEngine *e, List *filters)
{
	double		share = 1;
	ListCell   *lc;

	foreach(lc, filters)
	{
		WtFilter   *filter = lfirst(lc);
		WtFilterLeaf *leaf = linitial(filter->leaves);
		WtLeaf		one = {.attno = leaf->attno,.op = leaf->op,.key = -1};
		WtArg		arg = {.type = leaf->type};
		WtPredicates p;
		const wide_predicate *cell;
		int64		since;
		Node	   *value;

		if (t->columns[leaf->attno - 1].role != WT_TIMESTAMP_OF || list_length(filter->leaves) > 1 || leaf->value == NULL)
			continue;
		value = estimate_expression_value(root, leaf->value);
		if (!IsA(value, Const))
			continue;
		arg.known = true;
		arg.isnull = ((Const *) value)->constisnull;
		arg.value = ((Const *) value)->constvalue;
		wt_predicates(t, e, &one, 1, &arg, &p);
		cell = latest_since(&p, &since);
		if (p.never)
			share = 0;
		else if (cell != NULL && e->families[cell->family] != 0)
			share = Min(share, wt_share_since(e->families[cell->family], since));
	}
	return share;
}

double
wt_share_since(wide_family_id family, int64 since)
{
	FileSizes	sizes = {.since = since};

	wt_check(wide_file_each(wt_db(), family, add_file, &sizes), "could not list files");
	return sizes.all == 0 ? 1 : 1 - (double) sizes.older / sizes.all;
}

/*
 * Rows pass only if the cell that `since` is on is as new as that.  The engine
 * leaves out older files for an entry that reads this cell alone.  When the
 * family has other cells to give, that takes an entry beside the other one,
 * which is worth it when most of the family is not read then.  Returns the entry
 * for the predicates on this cell, -1: the family's ordinary one.
 */
static int
entry_by_time(const WtPredicates *p, const wide_predicate *cell, int64 since, wide_family_id id,
			  WtRowReader *r, wide_scan_spec *spec)
{
	const wide_scan_family *f = &spec->families[wt_reader_family(r, spec, id)];

	if (f->want == WIDE_WANT_COLUMNS &&
		(f->nquals == 0 || (f->nquals == 1 && wt_bytes_cmp(f->quals[0], cell->qualifier) == 0)))
	{
		bool		alone = true;

		for (int i = 0; i < p->n; i++)
			alone = alone && (p->list[i].family != cell->family || same_cell(&p->list[i], cell));
		if (alone)
			return -1;
	}
	return wt_share_since(id, since) <= WORTH_AN_ENTRY ? wt_reader_add(r, spec, id) : -1;
}

void
wt_predicates_attach(const WtPredicates *p, WtTable *t, WtEngine *e, WtRowReader *r, wide_scan_spec *spec)
{
	wide_predicate *list = palloc(sizeof(wide_predicate) * Max(1, p->n));
	int64		since = PG_INT64_MIN;
	const wide_predicate *cell = latest_since(p, &since);
	int			apart = -1;

	if (cell != NULL)
		apart = entry_by_time(p, cell, since, e->families[cell->family], r, spec);
	for (int i = 0; i < p->n; i++)
	{
		list[i] = p->list[i];
		list[i].family = apart >= 0 && same_cell(&p->list[i], cell) ? apart
			: wt_reader_family(r, spec, e->families[p->list[i].family]);
	}
	spec->predicates = list;
	spec->npredicates = p->n;
}

void
wt_predicates_print(const WtPredicates *p, StringInfo out)
{
	resetStringInfo(out);
	for (int i = 0; i < p->n; i++)
	{
		const wide_predicate *one = &p->list[i];

		appendBinaryStringInfo(out, (const char *) &one->family, sizeof(one->family));
		appendBinaryStringInfo(out, (const char *) &one->clause, sizeof(one->clause));
		appendBinaryStringInfo(out, (const char *) &one->op, sizeof(one->op));
		appendBinaryStringInfo(out, (const char *) &one->kind, sizeof(one->kind));
		appendBinaryStringInfo(out, (const char *) &one->qualifier.len, sizeof(one->qualifier.len));
		if (one->qualifier.len > 0)
			appendBinaryStringInfo(out, (const char *) one->qualifier.data, (int) one->qualifier.len);
		appendBinaryStringInfo(out, (const char *) &one->nvalues, sizeof(one->nvalues));
		for (int v = 0; v < one->nvalues; v++)
		{
			appendBinaryStringInfo(out, (const char *) &one->values[v].len, sizeof(one->values[v].len));
			if (one->values[v].len > 0)
				appendBinaryStringInfo(out, (const char *) one->values[v].data, (int) one->values[v].len);
		}
	}
}

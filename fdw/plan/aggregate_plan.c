/*
 * aggregate_plan.c
 *		Plans that aggregate while they scan.
 *
 * The scan aggregates for GROUP BY leading parts of the key of one table, or without GROUP BY.
 * The rows of a group are neighbours, so that one pass computes its aggregates, and groups come
 * in the order of the key.  Clauses that the key ranges do not answer are evaluated on each row.
 * DISTINCT on leading parts of the key is such a grouping without aggregates.
 *
 * If the first row of a group says all that is asked (no aggregates, or the least or greatest
 * value of the next part of the key), a loose scan can skip the others: the engine goes on
 * behind the group.  That costs a search for each group; the planner weighs it against reading
 * all rows.
 *
 * Left to PostgreSQL: grouping by other columns, DISTINCT and ORDER BY in aggregates, other
 * aggregates, clauses behind a security barrier (their order matters), clauses with subplans.
 */
#include "postgres.h"

#include "fdw/plan/aggregate_plan.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "fdw/key/part.h"
#include "fdw/plan/key_choice.h"
#include "fdw/plan/lock_mode.h"
#include "fdw/plan/plain_column.h"
#include "fdw/plan/plan_private.h"
#include "fdw/plan/scan_path.h"
#include "fdw/plan/scan_plan.h"
#include "fdw/plan/scan_size.h"
#include "fdw/plan/strict_expression.h"
#include "fdw/store/compat.h"
#include "fdw/store/settings.h"
#include "fdw/table/encoding.h"
#include "fdw/table/types.h"

/* One aggregate, while planning. */
typedef struct AggItem
{
	Aggref *aggref;
	WtAggKind kind;
	Expr *arg;	  /* NULL: count(*) */
	int column;	  /* attribute number of the argument; 0: it is no column */
	Oid compare;  /* min, max: comparison function */
	Oid opfamily; /* of compare */
} AggItem;

/* What is known of a path; its fdw_private is a list with this pointer. */
typedef struct GroupInfo
{
	RelOptInfo *base;
	WtTable *t;
	List *output; /* Vars and Aggrefs that the target and HAVING need */
	List *items;  /* AggItem, of the Aggrefs */
	List *having;
	int parts; /* leading parts of the key that make a group; 0: all rows are one group */
	bool reverse;
	bool loose;
} GroupInfo;

/* -------------------------------------------------------------- aggregates */

/* Returns true if the expression needs system columns or whole rows, which the scan does not have.
 */
static bool
has_system_columns(RelOptInfo *base, Node *expr)
{
	Bitmapset *attrs = NULL;
	int first;

	pull_varattnos(expr, base->relid, &attrs);
	first = bms_next_member(attrs, -1);
	return first >= 0 && first + FirstLowInvalidHeapAttributeNumber <= 0;
}

/* Returns true if the scan can evaluate the expression for each row. */
static bool
is_evaluable(RelOptInfo *base, Node *expr)
{
	return !contain_subplans(expr) && !contain_volatile_functions(expr) &&
		   !has_system_columns(base, expr);
}

/* min, max: recognises an aggregate that is the first value in an operator's order. */
static bool
recognise_extreme(AggItem *item)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(item->aggref->aggfnoid));
	Oid opr, opcintype;
	WtSortDirection direction;

	if (!HeapTupleIsValid(tuple))
		return false;
	opr = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop;
	ReleaseSysCache(tuple);
	if (!OidIsValid(opr) || item->aggref->aggfnoid >= FirstNormalObjectId ||
		!get_ordering_op_properties(opr, &item->opfamily, &opcintype, &direction))
		return false;
	item->kind = direction == WT_SORT_ASCENDS ? WT_AGG_MIN : WT_AGG_MAX;
	item->compare = get_opfamily_proc(item->opfamily, opcintype, opcintype, BTORDER_PROC);
	return OidIsValid(item->compare);
}

/* Sets item->kind.  Returns false if the scan does not compute such aggregates. */
static bool
recognise_kind(AggItem *item)
{
	static const struct
	{
		Oid function;
		WtAggKind kind;
	} kinds[] = {
		{F_COUNT_, WT_AGG_COUNT_ROWS},		 {F_COUNT_ANY, WT_AGG_COUNT},
		{F_SUM_INT2, WT_AGG_SUM_INT},		 {F_SUM_INT4, WT_AGG_SUM_INT},
		{F_SUM_INT8, WT_AGG_SUM_INT8},		 {F_AVG_INT2, WT_AGG_AVG_INT},
		{F_AVG_INT4, WT_AGG_AVG_INT},		 {F_AVG_INT8, WT_AGG_AVG_INT},
		{F_SUM_FLOAT4, WT_AGG_SUM_FLOAT4},	 {F_SUM_FLOAT8, WT_AGG_SUM_FLOAT8},
		{F_AVG_FLOAT4, WT_AGG_AVG_FLOAT},	 {F_AVG_FLOAT8, WT_AGG_AVG_FLOAT},
		{F_SUM_NUMERIC, WT_AGG_SUM_NUMERIC}, {F_AVG_NUMERIC, WT_AGG_AVG_NUMERIC},
		{F_BOOL_AND, WT_AGG_BOOL_AND},		 {F_EVERY, WT_AGG_BOOL_AND},
		{F_BOOL_OR, WT_AGG_BOOL_OR},
	};

	for (int i = 0; i < (int) lengthof(kinds); i++)
		if (kinds[i].function == item->aggref->aggfnoid)
		{
			item->kind = kinds[i].kind;
			return true;
		}
	return recognise_extreme(item);
}

/* Returns NULL if the scan cannot compute the aggregate. */
static AggItem *
recognise(RelOptInfo *base, Aggref *a)
{
	AggItem *item = palloc0(sizeof(AggItem));

	item->aggref = a;
	if (a->aggsplit != AGGSPLIT_SIMPLE || a->aggkind != AGGKIND_NORMAL || a->aggdistinct != NIL ||
		a->aggorder != NIL || a->aggdirectargs != NIL || a->aggvariadic || a->agglevelsup != 0 ||
		list_length(a->args) > 1 || !recognise_kind(item) ||
		(a->args == NIL) != (item->kind == WT_AGG_COUNT_ROWS))
		return NULL;
	if (a->args != NIL)
	{
		item->arg = linitial_node(TargetEntry, a->args)->expr;
		item->column = wt_plain_column(base, (Node *) item->arg);
	}
	if (!is_evaluable(base, (Node *) item->arg) || !is_evaluable(base, (Node *) a->aggfilter))
		return NULL;
	return item;
}

/* ------------------------------------------------------------------ groups */

/*
 * Returns how many leading parts of the key the expressions of a GROUP BY or DISTINCT are, in any
 * order; parts that are bound to one value may be left out.  Returns 0 if they are something
 * else.
 */
static int
leading_parts(GroupInfo *p, List *exprs)
{
	WtRelInfo *info = p->base->fdw_private;
	Bitmapset *parts = NULL;
	int last = -1;
	ListCell *lc;

	foreach(lc, exprs)
	{
		Var *var = lfirst(lc);
		WtColumn *c;

		if (!IsA(var, Var) || wt_plain_column(p->base, (Node *) var) == 0)
			return 0;
		c = &p->t->columns[var->varattno - 1];
		/* the value of a digest is in a cell, not in the key */
		if (c->role != WT_KEY || wt_encoding_is_digest(c->enc) || !wt_encoding_is_injective(c))
			return 0;
		parts = bms_add_member(parts, c->part);
		last = Max(last, c->part);
	}
	for (int part = 0; part < last; part++)
		if (!bms_is_member(part, parts) && !wt_key_choice_part_is_single(info->conds, part))
			return 0;
	return last + 1;
}

/*
 * Adds the group columns and aggregates in the expressions to p->output and p->items.  Returns
 * false if the scan cannot compute something.
 */
static bool
collect_output(GroupInfo *p, List *groups, List *exprs)
{
	ListCell *lc;

	foreach(lc, pull_var_clause((Node *) exprs, PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_PLACEHOLDERS))
	{
		Node *node = lfirst(lc);

		if (list_member(p->output, node))
			continue;
		if (IsA(node, Aggref))
		{
			AggItem *item = recognise(p->base, (Aggref *) node);

			if (item == NULL)
				return false;
			p->items = lappend(p->items, item);
		}
		else if (!IsA(node, Var) || !list_member(groups, node))
			return false;
		p->output = lappend(p->output, node);
	}
	return true;
}

/* ------------------------------------------------------------------- loose */

/*
 * Returns true if the first row of each group, in a scan in one direction, says all that is
 * asked; sets *reverse to the direction if it matters.
 */
static bool
first_row_is_enough(GroupInfo *p, bool *reverse)
{
	int parts = p->t->nkeys;
	bool directed = false;
	ListCell *lc;

	if (p->parts == 0 || (p->parts == parts && !p->t->cells_layout))
		return false;
	foreach(lc, p->items)
	{
		AggItem *item = lfirst(lc);
		bool back;

		if ((item->kind != WT_AGG_MIN && item->kind != WT_AGG_MAX) ||
			item->aggref->aggfilter != NULL || p->parts == parts ||
			item->column != wt_part_column(p->t, p->parts)->attno ||
			!wt_scan_path_part_sorts(p->t, p->parts, item->opfamily, item->aggref->inputcollid))
			return false;
		back = (item->kind == WT_AGG_MAX) != wt_part_is_descending(p->t, p->parts);
		if (directed && back != *reverse)
			return false;
		directed = true;
		*reverse = back;
	}
	return true;
}

/* ------------------------------------------------------------------- paths */

/* Returns true if an aggregate can read the relation: a scan of one table with its clauses. */
static bool
is_simple_scan(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell *lc;

	if (!wt_settings_enable_pushdown || !IS_SIMPLE_REL(rel) || rel->fdw_private == NULL ||
		rel->rtekind != RTE_RELATION || IS_DUMMY_REL(rel) || !bms_is_empty(rel->lateral_relids) ||
		root->parse->hasTargetSRFs || root->parse->groupingSets != NIL ||
		wt_lock_mode(root, rel) != WT_LOCK_NONE)
		return false;
	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (rinfo->pseudoconstant || rinfo->security_level > 0 ||
			contain_subplans((Node *) rinfo->clause))
			return false;
	}
	return true;
}

/*
 * Makes the plain scan.  Returns false if a clause that it leaves to the executor needs something
 * other than columns.
 */
static bool
make_plain_scan(PlannerInfo *root, GroupInfo *p, ForeignScan **scan)
{
	ForeignPath path = {.path.parent = p->base};
	Oid relid = planner_rt_fetch(p->base->relid, root)->relid;

	path.fdw_private = list_make2(makeInteger(p->reverse), makeInteger(p->parts > 0));
	*scan = wt_scan_plan_get_plan(root, p->base, relid, &path, NIL, p->base->baserestrictinfo,
								  NULL);
	/* volatile clauses are no obstacle: they are evaluated once for each row here, too */
	return !has_system_columns(p->base, (Node *) (*scan)->scan.plan.qual);
}

/* Returns true if the arguments of all aggregates are columns (aggregate_scan.c: direct). */
static bool
only_columns(const GroupInfo *p)
{
	ListCell *lc;

	foreach(lc, p->items)
	{
		const AggItem *item = lfirst(lc);

		if (item->aggref->aggfilter != NULL || (item->arg != NULL && item->column == 0))
			return false;
	}
	return !p->t->cells_layout;
}

/* Adds the path, as a loose scan if that is possible and cheaper. */
static void
add_aggregate_path(PlannerInfo *root, RelOptInfo *output, PathTarget *target, GroupInfo *p,
				   List *groups)
{
	WtRelInfo *info = p->base->fdw_private;
	const WtScanSize *size = &info->size;
	ForeignScan *scan;
	bool ordered = false, enough, reverse;
	int buckets = Max(1, p->t->salt_buckets),
		npathkeys = wt_scan_path_pathkeys(root, p->base, p->t, info->conds, &ordered);
	double ngroups = 1, rows;
	Cost startup, total, seek, stream, loose;

	reverse = ordered;
	enough = first_row_is_enough(p, &reverse);
	p->reverse = p->parts > 0 && reverse;
	if (!make_plain_scan(root, p, &scan))
		return;
	if (p->parts > 0)
		ngroups = estimate_num_groups(root, groups, p->base->rows, NULL, NULL);
	rows = ngroups;
	wt_scan_size_cost(p->base, info, size, &p->base->baserestrictcost, false, &startup, &total);
	/* no tuple is made of a row; half of the rest if cells go to the aggregates as they are */
	stream = total - size->delivered * 0.5 * cpu_tuple_cost;
	if (info->t->engine == NULL && scan->scan.plan.qual == NIL && only_columns(p))
		stream = startup + (stream - startup) * 0.5;
	stream += p->base->rows * list_length(p->items) * 0.5 * cpu_operator_cost;
	if (p->parts > 0)
		stream += size->scanned * log2(buckets) * cpu_operator_cost;
	seek = ((info->blocks > 0 ? seq_page_cost : 0) + WT_SEEK_COST * cpu_operator_cost) *
		   info->families * buckets;
	loose = startup + ngroups * (seek + cpu_tuple_cost);
	/* in each group, rows are read until one meets the conditions on cells */
	loose += Min(size->scanned, ngroups * size->scanned / Max(1, p->base->rows)) *
			 (total - startup) / Max(1, size->scanned);
	p->loose = enough && scan->scan.plan.qual == NIL && loose < stream;
	if (!p->loose)
		p->reverse = p->parts > 0 && ordered;
	if (p->parts == 0 || p->reverse != ordered)
		npathkeys = 0;
	if (p->having != NIL)
		rows = clamp_row_est(rows * clauselist_selectivity(root, p->having, 0, JOIN_INNER, NULL));
	if (p->loose)
		stream = loose;
	/* a tuple is made of a group instead */
	stream += ngroups * 0.5 * cpu_tuple_cost + target->cost.startup + rows * target->cost.per_tuple;
	{
		List *pathkeys = list_truncate(list_copy(root->query_pathkeys), npathkeys);
		ForeignPath *path = wt_create_foreign_upper_path(root, output, target, rows,
														 p->parts > 0 ? startup : stream, stream,
														 pathkeys, list_make1(p));

		/* a worker may run it, but as a whole */
		path->path.parallel_aware = false;
		add_path(output, (Path *) path);
	}
}

/* Adds a path for GROUP BY, or for aggregates of all rows. */
static void
add_grouping_path(PlannerInfo *root, GroupInfo *p, RelOptInfo *output, GroupPathExtraData *extra)
{
	PathTarget *target = output->reltarget;
	List *groups = NIL, *refs = NIL;
	ListCell *lc;
	int i = 0;

	if (extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL)
		return;
	foreach(lc, target->exprs)
	{
		Index ref = get_pathtarget_sortgroupref(target, i++);

		if (ref != 0 && get_sortgroupref_clause_noerr(ref, root->parse->groupClause) != NULL)
		{
			groups = lappend(groups, lfirst(lc));
			refs = lappend_int(refs, (int) ref);
		}
	}
	foreach(lc, root->parse->groupClause)
		if (!list_member_int(refs, (int) lfirst_node(SortGroupClause, lc)->tleSortGroupRef))
			return;
	p->parts = leading_parts(p, groups);
	if (groups != NIL && p->parts == 0)
		return;
	p->having = (List *) extra->havingQual;
	if (!collect_output(p, groups, target->exprs) || !collect_output(p, groups, p->having))
		return;
	add_aggregate_path(root, output, target, p, groups);
}

static void
add_distinct_path(PlannerInfo *root, GroupInfo *p, RelOptInfo *output)
{
	PathTarget *target = root->upper_targets[UPPERREL_DISTINCT];
	ListCell *lc;

	if (root->parse->hasDistinctOn || root->parse->hasAggs || root->parse->groupClause != NIL ||
		root->parse->hasWindowFuncs || target == NULL)
		return;
	/* all columns of the result are part of the DISTINCT */
	foreach(lc, target->exprs)
		if (!IsA(lfirst(lc), Var))
			return;
	p->parts = leading_parts(p, target->exprs);
	if (p->parts == 0 || !collect_output(p, target->exprs, target->exprs))
		return;
	add_aggregate_path(root, output, target, p, target->exprs);
}

void
wt_aggregate_plan_get_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
								  RelOptInfo *output_rel, void *extra)
{
	GroupInfo *p;

	if ((stage != UPPERREL_GROUP_AGG && stage != UPPERREL_DISTINCT) ||
		!is_simple_scan(root, input_rel))
		return;
	p = palloc0(sizeof(GroupInfo));
	p->base = input_rel;
	p->t = ((WtRelInfo *) input_rel->fdw_private)->t;
	if (stage == UPPERREL_GROUP_AGG)
		add_grouping_path(root, p, output_rel, extra);
	else
		add_distinct_path(root, p, output_rel);
}

/* -------------------------------------------------------------------- plan */

/*
 * Returns a family of the expression's columns, if the expression is null, and raises no error, in
 * a row that has none of them; -1: otherwise.
 */
static int
family_of_expression(GroupInfo *p, Node *expr)
{
	int family = -1;
	ListCell *lc;

	if (!wt_strict_expression_cannot_fail(expr))
		return -1;
	foreach(lc, pull_var_clause(expr, PVC_RECURSE_PLACEHOLDERS))
	{
		const Var *var = lfirst_node(Var, lc);

		if (var->varattno <= 0 || p->t->columns[var->varattno - 1].role != WT_CELL)
			return -1;
		family = p->t->columns[var->varattno - 1].family;
	}
	return family;
}

/* Returns true if all conditions may be left out of rows that have no cell that is read. */
static bool
may_leave_out(GroupInfo *p, List *conditions)
{
	ListCell *lc;

	foreach(lc, conditions)
		if (family_of_expression(p, lfirst(lc)) < 0 &&
			!wt_strict_expression_is_harmless(lfirst(lc)))
			return false;
	return true;
}

/*
 * Returns the strict family of the scan (WtFlagStrictFamily): one of those that are read, so that
 * no other family is asked whether a row exists.  Rows without a value of any argument do not
 * change the result if there is no GROUP BY and every aggregate has an argument that is null
 * without some cell; and they raise no error if arguments, FILTER clauses and quals, the clauses
 * that are tested on each row, raise none.  Returns -1 if rows without values count.
 */
static int
family_of_arguments(GroupInfo *p, List *quals)
{
	int family = -1;
	ListCell *lc;

	if (p->parts > 0 || p->t->cells_layout || !may_leave_out(p, quals))
		return -1;
	foreach(lc, p->items)
	{
		const AggItem *item = lfirst(lc);
		Node *filter = (Node *) item->aggref->aggfilter;

		if (item->arg == NULL || (filter != NULL && !may_leave_out(p, list_make1(filter))))
			return -1;
		family = family_of_expression(p, (Node *) item->arg);
		if (family < 0)
			return -1;
	}
	return family;
}

/* Returns the attribute number of each entry; 0 for aggregates. */
static List *
columns_of(List *tlist)
{
	List *out = NIL;
	ListCell *lc;

	foreach(lc, tlist)
	{
		Node *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;

		out = lappend_int(out, IsA(expr, Var) ? ((Var *) expr)->varattno : 0);
	}
	return out;
}

/* Appends an expression to exprs and returns its index; 0 for NULL. */
static int
add_expression(List **exprs, Expr *expr)
{
	if (expr == NULL)
		return 0;
	*exprs = lappend(*exprs, expr);
	return list_length(*exprs) - 1;
}

/* Appends an aggregate to items (WtAggItems), and its expressions to exprs. */
static List *
add_item(List *items, AggItem *item, List *tlist, List **exprs)
{
	WtAggItem out = {
		.entry = tlist_member((Expr *) item->aggref, tlist)->resno - 1,
		.kind = item->kind,
		.column = item->column,
		.type = item->arg ? exprType((Node *) item->arg) : InvalidOid,
		.compare = item->compare,
		.collation = item->aggref->inputcollid,
	};

	out.argument = add_expression(exprs, item->arg);
	out.filter = add_expression(exprs, item->aggref->aggfilter);
	return wt_plan_private_append(items, &out, sizeof(out));
}

static ForeignScan *
aggregate_plan(PlannerInfo *root, RelOptInfo *rel, ForeignPath *best_path, List *tlist)
{
	GroupInfo *p = linitial(best_path->fdw_private);
	ForeignScan *scan;
	List *exprs, *items = NIL, *filters, *needed, *scan_tlist;
	WtAggShape shape = {planner_rt_fetch(p->base->relid, root)->relid, .parts = p->parts,
						.loose = p->loose};
	ListCell *lc;
	int family;

	(void) make_plain_scan(root, p, &scan);
	family = family_of_arguments(p, scan->scan.plan.qual);
	if (family >= 0)
		linitial_int((List *) list_nth(scan->fdw_private, WtPrivateFlags)) = family;
	scan_tlist = add_to_flat_tlist(NIL, p->output);
	shape.nargs = list_length(scan->fdw_exprs);
	shape.nquals = list_length(scan->scan.plan.qual);
	/* index 0 means "none" in items, so the list must not be empty */
	exprs = list_concat_copy(scan->fdw_exprs, scan->scan.plan.qual);
	if (exprs == NIL)
		exprs = list_make1(makeBoolConst(true, false));
	foreach(lc, p->items)
		items = add_item(items, lfirst(lc), scan_tlist, &exprs);
	/* what the engine tests, for EXPLAIN */
	filters = list_truncate(list_copy(scan->fdw_recheck_quals),
							wt_plan_private_flag(scan->fdw_private, WtFlagFilters));
	needed = pull_var_clause((Node *) list_concat(list_copy_tail(exprs, shape.nargs), filters),
							 PVC_RECURSE_PLACEHOLDERS);
	scan_tlist = add_to_flat_tlist(scan_tlist, needed);
	return make_foreignscan(tlist, p->having, 0, exprs,
							list_make4(scan->fdw_private,
									   wt_plan_private_append(NIL, &shape, sizeof(shape)),
									   columns_of(scan_tlist), items),
							scan_tlist, filters, NULL);
}

ForeignScan *
wt_aggregate_plan_get_plan(PlannerInfo *root, RelOptInfo *rel, Oid relid, ForeignPath *best_path,
						   List *tlist, List *scan_clauses, Plan *outer_plan)
{
	if (IS_UPPER_REL(rel))
		return aggregate_plan(root, rel, best_path, tlist);
	return wt_scan_plan_get_plan(root, rel, relid, best_path, tlist, scan_clauses, outer_plan);
}

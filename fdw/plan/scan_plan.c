/*
 * scan_plan.c
 *		Plans of scans.
 *
 * A plan divides the clauses of a path: key ranges and key filter answer some, the engine's
 * predicates some, and the executor tests the rest.  fdw_private (plan_private.h) has what the
 * scan does, fdw_exprs the values.
 */
#include "postgres.h"

#include "fdw/plan/scan_plan.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"

#include "fdw/key/key_test.h"
#include "fdw/key/part.h"
#include "fdw/plan/cell_clause.h"
#include "fdw/plan/index_use.h"
#include "fdw/plan/key_choice.h"
#include "fdw/plan/key_condition.h"
#include "fdw/plan/lock_mode.h"
#include "fdw/plan/plan_private.h"
#include "fdw/plan/scan_columns.h"
#include "fdw/plan/scan_path.h"
#include "fdw/plan/scan_size.h"
#include "fdw/table/types.h"

/* Returns the most rows that are asked for; 0 if that is not known. */
static double
row_limit(PlannerInfo *root, RelOptInfo *rel, List *pathkeys)
{
	if (root->limit_tuples <= 0 || !bms_equal(root->all_baserels, rel->relids) ||
		!pathkeys_contained_in(root->query_pathkeys, pathkeys))
		return 0;
	return root->limit_tuples;
}

/* Returns true if there is a PlaceHolderVar, which ruleutils.c cannot show. */
static bool
has_placeholder(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, PlaceHolderVar) || expression_tree_walker(node, has_placeholder, context);
}

/*
 * Returns the attribute numbers that the scan must return for the clauses in rest and the target
 * list; sets *strict (wt_scan_columns_strict).  exact: clauses that the engine answers.  Columns
 * that only these need are not returned, but they say which rows exist, too.  With existence
 * 'projected' a family that is tested counts as read, unless rows must have a cell in another
 * family anyway.
 */
static Bitmapset *
choose_attributes(RelOptInfo *rel, WtTable *t, List *rest, List *exact, int *strict)
{
	List *all = list_concat_copy(get_actual_clauses(exact), rest);
	Bitmapset *read = wt_scan_columns_wanted(rel, t, all),
			  *wanted = wt_scan_columns_wanted(rel, t, rest);

	*strict = t->cells_layout ? -1 : wt_scan_columns_strict(rel, t, all, read, &wanted);
	return *strict < 0 && t->existence_projected ? read : wanted;
}

static bool
has_exec_param(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		return true;
	return expression_tree_walker(node, has_exec_param, context);
}

/*
 * Returns the clauses that the engine tests.  A scan is opened again when the values of these
 * change.  For the lookup of one key, as in a subquery that runs for each row of another table,
 * that would cost more than it saves.
 */
static List *
choose_filters(RelOptInfo *rel, WtTable *t, List *conds, List *clauses)
{
	List *out = NIL;
	ListCell *lc;
	bool lookup = wt_scan_size_keys(t, conds) >= 0;

	/* each of the keys would have filters of its own, which cost more than the row that is sent */
	if (lookup && t->engine != NULL)
		return NIL;
	foreach(lc, wt_cell_clause_find(rel, t, clauses))
	{
		WtCellClause *filter = lfirst(lc);

		if (!lookup || !has_exec_param((Node *) filter->rinfo->clause, NULL))
			out = lappend(out, filter);
	}
	return out;
}

/*
 * Returns true if EvalPlanQual may test rows of this plan: only of tables that are changed or
 * locked, or joined to such, which have row marks.  Other plans spare the executor the
 * preparation of these clauses.
 */
static bool
may_recheck(PlannerInfo *root)
{
	return root->rowMarks != NIL || root->parse->resultRelation != 0;
}

/*
 * Returns those of the conditions on the key that the scan takes, and sets *answered to the
 * clauses (RestrictInfos) that need not be tested again.
 */
static List *
choose_conditions(RelOptInfo *rel, WtTable *t, List *conds, List *clauses, List **answered)
{
	WtColumn *number = t->cells_layout ? wt_part_column(t, WT_PART_NO(t)) : NULL;
	List *out = NIL;
	ListCell *lc;

	/* a cell's number in its row counts all cells, even those that other conditions leave out */
	if (number != NULL &&
		!bms_is_member(number->attno, wt_scan_columns_wanted(rel, t, get_actual_clauses(clauses))))
		number = NULL;
	*answered = NIL;
	foreach(lc, conds)
	{
		WtCond *c = lfirst(lc);

		if (number != NULL && c->part >= t->nkeys && c->part != WT_PART_NO(t))
			continue;
		if (c->exact)
			*answered = lappend(*answered, c->rinfo);
		out = lappend(out, c);
	}
	return out;
}

List *
wt_scan_plan_tests(List *conds, List **exprs, List **types)
{
	List *tests = NIL;
	ListCell *lc;

	foreach(lc, wt_key_choice_flat(conds, false))
	{
		WtFlat *f = lfirst(lc);

		tests = wt_plan_private_append(tests, &f->test, sizeof(f->test));
		*exprs = list_concat(*exprs, list_copy(f->c->values));
		*types = list_concat(*types, list_copy(f->c->types));
	}
	return tests;
}

/*
 * Returns the clauses that the executor tests.  answered and exact are those (RestrictInfos)
 * that the key and the engine's predicates have answered; EvalPlanQual tests the former and all
 * filters, so they are put into *recheck, filters first.
 */
static List *
split_clauses(PlannerInfo *root, List *clauses, List *answered, List *filters, List *exact,
			  List **recheck)
{
	List *rest = NIL;
	ListCell *lc;

	*recheck = NIL;
	foreach(lc, filters)
		*recheck = lappend(*recheck, ((WtCellClause *) lfirst(lc))->rinfo->clause);
	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (rinfo->pseudoconstant)
			continue;
		if (list_member_ptr(answered, rinfo))
		{
			if (may_recheck(root))
				*recheck = lappend(*recheck, rinfo->clause);
		}
		else if (!list_member_ptr(exact, rinfo))
			rest = lappend(rest, rinfo->clause);
	}
	return rest;
}

/* Returns the flags of a scan (enum WtFlag). */
static List *
make_flags(int strict, int reverse, int ordered, WtLock lock, Index relid, int nfilters,
		   int lookups)
{
	List *flags = list_make5_int(strict, reverse, ordered, lock, (int) relid);

	return lappend_int(lappend_int(flags, nfilters), lookups);
}

/* Returns a plan's private list, in the order of enum WtPrivate. */
static List *
make_private(List *tests, List *types, List *columns, List *flags, double limit, List *show,
			 List *predicates, List *index)
{
	List *out = list_make5(tests, types, columns, flags,
						   makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8),
									 Float8GetDatum(limit), false, FLOAT8PASSBYVAL));

	return lappend(lappend(lappend(out, show), predicates), index);
}

/* For EXPLAIN: variables of other tables become parameters of the join in fdw_exprs. */
static List *
shown_exprs(List *exprs)
{
	return contain_var_clause((Node *) exprs) && !has_placeholder((Node *) exprs, NULL)
			   ? copyObject(exprs)
			   : NIL;
}

/* The plan is of no use without the index. */
static void
depend_on(PlannerInfo *root, const WtIndexUse *use)
{
	root->glob->relationOids = lappend_oid(root->glob->relationOids, use->x->relid);
}

/*
 * Returns the plan of a scan that reads the rows which the entries of an index are of.  All clauses
 * are tested in the rows.
 */
static ForeignScan *
get_rows_plan(PlannerInfo *root, RelOptInfo *baserel, ForeignPath *best_path, const WtIndexUse *use,
			  List *tlist, List *scan_clauses, Plan *outer_plan)
{
	WtTable *t = use->x->projection, *base = use->x->base;
	List *mapped = wt_index_use_clauses(root, baserel, use, scan_clauses);
	List *conds = wt_key_condition_find(root, baserel, t, mapped);
	List *rest = extract_actual_clauses(scan_clauses, false);
	List *exprs = NIL, *types = NIL, *keys = NIL, *answered, *filters, *predicates, *tests, *scan;
	int reverse = intVal(linitial(best_path->fdw_private)),
		ordered = intVal(lsecond(best_path->fdw_private)), strict;
	WtLock lock = wt_lock_mode(root, baserel);
	Bitmapset *wanted;

	(void) wt_key_choice_make(t, conds);
	tests = wt_scan_plan_tests(choose_conditions(baserel, t, conds, mapped, &answered), &exprs,
							   &types);
	/* what has expired since may not be left out by the value that the entry has of it */
	filters = use->x->timed ? NIL : choose_filters(baserel, t, conds, mapped);
	predicates = wt_cell_clause_plan(filters, &exprs, &types);
	for (int part = 0; part < base->nkeys; part++)
		keys = lappend_int(keys, wt_key_column(base, part)->attno);
	scan = make_private(tests, types, keys,
						make_flags(-1, reverse, ordered, WT_LOCK_NONE, baserel->relid, 0, 0), 0,
						NIL, predicates, NIL);
	wanted = choose_attributes(baserel, base, rest, NIL, &strict);
	depend_on(root, use);
	return make_foreignscan(tlist, rest, baserel->relid, exprs,
							make_private(NIL, types, wt_scan_columns_list(wanted),
										 make_flags(strict, 0, 0, lock, baserel->relid, 0, 0),
										 row_limit(root, baserel, best_path->path.pathkeys),
										 shown_exprs(exprs), NIL,
										 list_make2(list_make1_int((int) use->x->relid), scan)),
							NIL, NIL, outer_plan);
}

ForeignScan *
wt_scan_plan_get_plan(PlannerInfo *root, RelOptInfo *baserel, Oid relid, ForeignPath *best_path,
					  List *tlist, List *scan_clauses, Plan *outer_plan)
{
	List *path = best_path->fdw_private;
	const WtIndexUse *use = list_length(path) > 3 ? lfourth(path) : NULL;
	WtTable *t = use != NULL ? use->x->projection : ((WtRelInfo *) baserel->fdw_private)->t;
	List *conds, *chosen, *tests, *exprs = NIL, *types = NIL, *answered, *recheck, *rest, *filters,
								  *predicates, *exact, *flags;
	Bitmapset *wanted;
	int strict;
	WtLock lock = wt_lock_mode(root, baserel);

	if (use != NULL && !use->only)
		return get_rows_plan(root, baserel, best_path, use, tlist, scan_clauses, outer_plan);
	conds = wt_key_condition_find(root, baserel, t, scan_clauses);
	(void) wt_key_choice_make(t, conds);
	chosen = choose_conditions(baserel, t, conds, scan_clauses, &answered);
	tests = wt_scan_plan_tests(chosen, &exprs, &types);
	filters = choose_filters(baserel, t, conds, scan_clauses);
	predicates = wt_cell_clause_plan(filters, &exprs, &types);
	/* a row that is locked must pass again in its newest state, so the executor tests these, too */
	exact = lock == WT_LOCK_NONE ? wt_scan_size_exact_filters(filters) : NIL;
	rest = split_clauses(root, scan_clauses, answered, filters, exact, &recheck);
	wanted = choose_attributes(baserel, t, rest, exact, &strict);
	flags = make_flags(strict, intVal(linitial(path)), intVal(lsecond(path)), lock, baserel->relid,
					   list_length(filters), list_length(path) > 2 ? intVal(lthird(path)) : 0);
	if (use != NULL)
		depend_on(root, use);
	return make_foreignscan(tlist, rest, baserel->relid, exprs,
							make_private(tests, types, wt_scan_columns_list(wanted), flags,
										 row_limit(root, baserel, best_path->path.pathkeys),
										 shown_exprs(exprs), predicates,
										 use != NULL
											 ? list_make1(list_make1_int((int) use->x->relid))
											 : NIL),
							NIL, recheck, outer_plan);
}

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
#include "fdw/plan/key_choice.h"
#include "fdw/plan/key_condition.h"
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

ForeignScan *
wt_scan_plan_get_plan(PlannerInfo *root, RelOptInfo *baserel, Oid relid, ForeignPath *best_path,
					  List *tlist, List *scan_clauses, Plan *outer_plan)
{
	WtRelInfo *info = baserel->fdw_private;
	List *conds = wt_key_condition_find(root, baserel, info->t, scan_clauses);
	List *chosen, *tests, *exprs = NIL, *types = NIL, *answered, *recheck, *rest, *filters,
						  *predicates, *exact, *flags, *show, *private;
	Bitmapset *wanted;
	int strict;
	WtLock lock = wt_scan_path_lock_mode(root, baserel);
	Datum limit = Float8GetDatum(row_limit(root, baserel, best_path->path.pathkeys));

	(void) wt_key_choice_make(info->t, conds);
	chosen = choose_conditions(baserel, info->t, conds, scan_clauses, &answered);
	tests = wt_scan_plan_tests(chosen, &exprs, &types);
	filters = choose_filters(baserel, info->t, conds, scan_clauses);
	predicates = wt_cell_clause_plan(filters, &exprs, &types);
	/* a row that is locked must pass again in its newest state, so the executor tests these, too */
	exact = lock == WT_LOCK_NONE ? wt_scan_size_exact_filters(filters) : NIL;
	rest = split_clauses(root, scan_clauses, answered, filters, exact, &recheck);
	wanted = choose_attributes(baserel, info->t, rest, exact, &strict);
	flags = list_make5_int(strict, intVal(linitial(best_path->fdw_private)),
						   intVal(lsecond(best_path->fdw_private)), lock, (int) baserel->relid);
	flags = lappend_int(flags, list_length(filters));
	flags = lappend_int(flags, list_length(best_path->fdw_private) > 2
								   ? intVal(lthird(best_path->fdw_private))
								   : 0);

	/* for EXPLAIN: variables of other tables become parameters of the join in fdw_exprs */
	show = contain_var_clause((Node *) exprs) && !has_placeholder((Node *) exprs, NULL)
			   ? copyObject(exprs)
			   : NIL;
	private = list_make5(tests, types, wt_scan_columns_list(wanted), flags,
						 makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), limit, false,
								   FLOAT8PASSBYVAL));
	private = lappend(lappend(private, show), predicates);
	return make_foreignscan(tlist, rest, baserel->relid, exprs, private, NIL, recheck, outer_plan);
}

/*
 * lookup_path.c
 *		Joins that look up the rows of a table by their keys, many at a time.
 *
 * A nested loop whose inner side is the scan of one key costs a round trip for each row of its
 * outer side if the engine is elsewhere.  With this path the outer side has a node above it that
 * reads rows ahead, and makes their keys known to the scan, which asks for all of them at once:
 *
 *     Nested Loop
 *       ->  Custom Scan (Lookup Ahead)
 *             ->  the outer side
 *       ->  Foreign Scan
 *
 * The nested loop itself, and what the scan returns for a key, are as without it.  So this is right
 * for all kinds of joins that a nested loop can do, and a key that was not made known is only
 * slower.  The node returns the rows of its child as they come.  Both have a number in the plan by
 * which they find each other.
 */
#include "postgres.h"

#include "fdw/plan/lookup_path.h"

#include "foreign/fdwapi.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "fdw/plan/key_choice.h"
#include "fdw/plan/key_condition.h"
#include "fdw/plan/lock_mode.h"
#include "fdw/plan/plan_private.h"
#include "fdw/plan/scan_path.h"
#include "fdw/plan/scan_plan.h"
#include "fdw/plan/scan_size.h"
#include "fdw/store/settings.h"
#include "fdw/table/engine.h"
#include "fdw/table/types.h"

static set_join_pathlist_hook_type prev_hook = NULL;

/* What is known of the node's path; its custom_private is a list with this pointer. */
typedef struct Lookup
{
	RelOptInfo *rel; /* the table */
	WtTable *t;
	List *clauses; /* RestrictInfos of its scan */
	int token;
} Lookup;

/* --------------------------------------------------------------------- plan */

static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
		  List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	Lookup *l = linitial(best_path->custom_private);
	List *conds = wt_key_condition_find(root, l->rel, l->t, l->clauses);
	List *exprs = NIL, *types = NIL, *tests;
	ListCell *lc;

	(void) wt_key_choice_make(l->t, conds);
	tests = wt_scan_plan_tests(conds, &exprs, &types);
	scan->scan.plan.targetlist = tlist;
	scan->flags = best_path->flags;
	scan->custom_plans = custom_plans;
	scan->custom_exprs = copyObject(exprs);
	scan->custom_private = list_make4(tests, types, list_make1_oid(l->t->relid),
									  list_make1_int(l->token));
	/* the rows of the child as they are */
	foreach(lc, ((Plan *) linitial(custom_plans))->targetlist)
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, copyObject(lfirst(lc)));
	scan->methods = GetCustomScanMethods(WT_LOOKUP_NAME, false);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {.CustomName = WT_LOOKUP_NAME,
											   .PlanCustomPath = make_plan};

/* -------------------------------------------------------------------- paths */

/* Returns the node above a path of the outer side. */
static Path *
make_ahead(Path *outer, Lookup *l)
{
	CustomPath *p = makeNode(CustomPath);
	double first = Min(outer->rows, WT_LOOKUP_BATCH);

	p->path.pathtype = T_CustomScan;
	p->path.parent = outer->parent;
	p->path.pathtarget = outer->pathtarget;
	p->path.param_info = outer->param_info;
	p->path.parallel_safe = outer->parallel_safe;
	p->path.parallel_workers = outer->parallel_workers;
	p->path.rows = outer->rows;
	p->path.pathkeys = outer->pathkeys;
	p->path.total_cost = outer->total_cost + outer->rows * 2 * cpu_tuple_cost;
	p->path.startup_cost = outer->startup_cost +
						   (p->path.total_cost - outer->startup_cost) * first / Max(1, outer->rows);
	p->custom_paths = list_make1(outer);
	p->custom_private = list_make1(l);
	p->methods = &path_methods;
	return &p->path;
}

/* Returns the scan of one key that finds it among those that were read ahead. */
static Path *
make_inner(ForeignPath *of, double lookups, int token)
{
	ForeignPath *p = makeNode(ForeignPath);

	*p = *of;
	wt_scan_size_lookup_cost(lookups, &p->path.startup_cost, &p->path.total_cost);
	p->fdw_private = list_make3(linitial(of->fdw_private), lsecond(of->fdw_private),
								makeInteger(token));
	return &p->path;
}

/* Adds the join of a path of the outer side and lookups. */
static void
add_join(PlannerInfo *root, RelOptInfo *joinrel, JoinType jointype, JoinPathExtraData *extra,
		 Path *outer, ForeignPath *of, Lookup *l, bool partial)
{
	static int last_token = 0;
	Lookup *own = palloc(sizeof(Lookup));
	JoinCostWorkspace workspace;
	Path *ahead, *inner, *path;

	*own = *l;
	own->token = last_token = last_token < PG_INT32_MAX ? last_token + 1 : 1;
	ahead = make_ahead(outer, own);
	inner = make_inner(of, outer->rows, own->token);
	initial_cost_nestloop(root, &workspace, jointype, ahead, inner, extra);
	path = (Path *) create_nestloop_path(
		root, joinrel, jointype, &workspace, extra, ahead, inner, extra->restrictlist,
		build_join_pathkeys(root, joinrel, jointype, ahead->pathkeys), NULL);
	if (partial)
		add_partial_path(joinrel, path);
	else
		add_path(joinrel, path);
}

/* Adds joins with the lookups of a parameterised path, if it is the scan of one key. */
static void
add_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
		  JoinType jointype, JoinPathExtraData *extra, ForeignPath *of)
{
	WtRelInfo *info = innerrel->fdw_private;
	Lookup l = {.rel = innerrel, .t = info->t};
	ListCell *lc;

	l.clauses = list_concat_copy(innerrel->baserestrictinfo, of->path.param_info->ppi_clauses);
	if (wt_scan_size_keys(info->t, wt_key_condition_find(root, innerrel, info->t, l.clauses)) != 1)
		return;
	foreach(lc, outerrel->pathlist)
	{
		Path *outer = lfirst(lc);

		if (PATH_REQ_OUTER(outer) == NULL &&
			(outer == outerrel->cheapest_total_path || outer == outerrel->cheapest_startup_path ||
			 outer->pathkeys != NIL))
			add_join(root, joinrel, jointype, extra, outer, of, &l, false);
	}
	if (joinrel->consider_parallel && outerrel->partial_pathlist != NIL && of->path.parallel_safe &&
		bms_is_empty(joinrel->lateral_relids))
		add_join(root, joinrel, jointype, extra, linitial(outerrel->partial_pathlist), of, &l,
				 true);
}

/* Returns true if each lookup in the table costs a round trip that can be shared. */
static bool
is_remote(RelOptInfo *rel)
{
	WtRelInfo *info;

	if (rel->reloptkind != RELOPT_BASEREL || rel->fdwroutine == NULL ||
		rel->fdwroutine->GetForeignPaths != wt_scan_path_get_paths || rel->fdw_private == NULL)
		return false;
	info = rel->fdw_private;
	return info->exists && !info->t->cells_layout && info->t->engine != NULL &&
		   wt_engine_can(info->t, WT_CAN_BATCH);
}

static void
add_lookup_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
				 JoinType jointype, JoinPathExtraData *extra)
{
	ListCell *lc;

	if (prev_hook != NULL)
		prev_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if (!wt_settings_enable_pushdown || !wt_settings_enable_lookup_ahead || !enable_nestloop ||
		(jointype != JOIN_INNER && jointype != JOIN_LEFT && jointype != JOIN_SEMI &&
		 jointype != JOIN_ANTI) ||
		!is_remote(innerrel) || wt_lock_mode(root, innerrel) != WT_LOCK_NONE)
		return;
	foreach(lc, innerrel->pathlist)
	{
		Path *path = lfirst(lc);

		if (IsA(path, ForeignPath) && PATH_REQ_OUTER(path) != NULL &&
			bms_is_subset(PATH_REQ_OUTER(path), outerrel->relids))
			add_joins(root, joinrel, outerrel, innerrel, jointype, extra, (ForeignPath *) path);
	}
}

void
wt_lookup_path_init(void)
{
	prev_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = add_lookup_paths;
}

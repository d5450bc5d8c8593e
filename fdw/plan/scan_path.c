/*
 * scan_path.c
 *		Paths of scans.
 *
 * There is a plain path; ordered ones, forward and backward, if the order of the key is useful; and
 * parameterised ones, if a join gives values to leading parts of the key (nested loops of lookups).
 * Plain and ordered paths have partial ones for parallel plans.  A path's fdw_private is a list of
 * two Integers: reverse, ordered; of a scan by an index, of a third one, which is 0, and the
 *WtIndexUse.
 */
#include "postgres.h"

#include "fdw/plan/scan_path.h"

#include <math.h>

#include "access/attnum.h"
#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "fdw/derived/online_build.h"
#include "fdw/key/part.h"
#include "fdw/plan/key_choice.h"
#include "fdw/plan/index_use.h"
#include "fdw/plan/key_condition.h"
#include "fdw/plan/plain_column.h"
#include "fdw/plan/plan_private.h"
#include "fdw/plan/scan_size.h"
#include "fdw/plan/system_column.h"
#include "fdw/store/compat.h"
#include "fdw/store/settings.h"
#include "fdw/table/engine.h"
#include "fdw/table/table.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"

/*
 * For the number of workers, which PostgreSQL computes from pages: pages of PostgreSQL in a block
 * of usual size before compression; and bytes of an ordinary table that are as much work as a cell,
 * for scans of few blocks, as in memtables.
 */
#define BLOCK_PAGES 2
#define CELL_BYTES	32

/* Returns true if the equivalence class has the column that shows the part. */
static bool
class_has_part(RelOptInfo *rel, WtTable *t, EquivalenceClass *ec, int part)
{
	WtColumn *c = wt_part_column(t, part);
	ListCell *lc;

	if (c == NULL || ec->ec_has_volatile)
		return false;
	foreach(lc, ec->ec_members)
		if (wt_plain_column(rel, (Node *) ((EquivalenceMember *) lfirst(lc))->em_expr) == c->attno)
			return true;
	return false;
}

bool
wt_scan_path_part_sorts(WtTable *t, int part, Oid opfamily, Oid collation)
{
	WtColumn *c = wt_part_column(t, part);

	/* families come by name, the versions of a cell from the newest to the oldest */
	if (!wt_part_is_ordered(t, part) && (part < t->nkeys || part == WT_PART_QUALIFIER(t)))
		return false;
	if (wt_is_string(c->typid))
	{
		if (opfamily == TEXT_PATTERN_BTREE_FAM_OID)
			return wt_is_text(c->typid);
		if (!wt_collate_is_c(collation))
			return false;
	}
	else if (type_is_collatable(c->typid))
		return false;
	return opfamily == lookup_type_cache(c->typid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

/*
 * Parts that are bound to one value do not count.  NULLS FIRST or LAST matters to nullable parts of
 * an index only.  In the layout 'cells' the cells of a row are in the order of family,
 * qualifier and version, in backward scans, too.
 */
int
wt_scan_path_pathkeys(PlannerInfo *root, RelOptInfo *rel, WtTable *t, List *conds, bool *reverse)
{
	int parts = t->cells_layout ? WT_PART_VERSION(t) + 1 : t->nkeys;
	int part = 0, n = 0;
	bool directed = false;
	ListCell *lc;

	foreach(lc, root->query_pathkeys)
	{
		PathKey *pk = lfirst(lc);
		bool backward;
		int at;

		while (part < parts && !class_has_part(rel, t, pk->pk_eclass, part) &&
			   wt_key_choice_part_is_single(conds, part))
			part++;
		/* the versions of a cell by number, or by time from the newest, which is the same */
		at = part == WT_PART_VERSION(t) && !class_has_part(rel, t, pk->pk_eclass, part)
				 ? WT_PART_TS(t)
				 : part;
		if (part == parts || !class_has_part(rel, t, pk->pk_eclass, at) ||
			!wt_scan_path_part_sorts(t, at, pk->pk_opfamily, pk->pk_eclass->ec_collation))
			break;
		if (wt_part_column(t, at)->nullable && pk->pk_nulls_first == wt_pathkey_ascends(pk))
			break;
		backward = wt_pathkey_ascends(pk) == wt_part_is_descending(t, at);
		if (part >= t->nkeys ? backward : directed && backward != *reverse)
			break;
		if (part < t->nkeys)
		{
			*reverse = backward;
			directed = true;
		}
		n++;
		part++;
	}
	return n;
}

/* Returns the pathkeys of a scan in one direction, as far as they are useful to the query. */
static List *
scan_pathkeys(PlannerInfo *root, RelOptInfo *rel, WtTable *t, List *conds, bool reverse)
{
	List *out = NIL;
	Oid relid = planner_rt_fetch(rel->relid, root)->relid;

	for (int part = 0; part < t->nkeys; part++)
	{
		WtColumn *c = &t->columns[t->keys[part]];
		Oid sorted = c->typid == VARCHAROID ? TEXTOID : c->typid;
		TypeCacheEntry *tc = lookup_type_cache(sorted, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
		bool descending = wt_part_is_descending(t, part) != reverse;
		Oid type, collation, opr = descending ? tc->gt_opr : tc->lt_opr;
		int32 typmod;
		List *one;
		PathKey *pk;
		bool known = false;
		ListCell *lc;

		/* an entry of a map is no column of the table */
		if (c->source_is != WT_SOURCE_VALUE && wt_key_choice_part_is_single(conds, part))
			continue;
		if (!OidIsValid(opr) || c->source_is != WT_SOURCE_VALUE)
			break;
		get_atttypetypmodcoll(relid, c->attno, &type, &typmod, &collation);
		one = wt_expression_pathkey(root,
									(Expr *) makeVar(rel->relid, c->attno, type, typmod, collation,
													 0),
									opr, rel->relids);
		if (one == NIL)
		{
			if (wt_key_choice_part_is_single(conds, part))
				continue;
			break;
		}
		pk = linitial(one);
		if (EC_MUST_BE_REDUNDANT(pk->pk_eclass))
			continue;
		if (!wt_scan_path_part_sorts(t, part, pk->pk_opfamily, pk->pk_eclass->ec_collation))
		{
			if (wt_key_choice_part_is_single(conds, part))
				continue;
			break;
		}
		foreach(lc, out)
			known |= ((PathKey *) lfirst(lc))->pk_eclass == pk->pk_eclass;
		if (!known)
			out = lappend(out, pk);
	}
	return truncate_useless_pathkeys(root, rel, out);
}

/* ------------------------------------------------------------------ paths */

/* Returns what reading backward costs more in an engine that is elsewhere. */
static Cost
backward_cost(const WtScanSize *size)
{
	return size->scanned * (WT_REMOTE_BACKWARD - 1) * WT_REMOTE_ROW * cpu_operator_cost;
}

/* Adds a scan of the table; use: by an index. */
static void
add_scan_path(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, const WtIndexUse *use,
			  const WtScanSize *size, List *pathkeys, bool reverse, Relids outer,
			  const QualCost *qual)
{
	Cost startup, total;
	List *private = list_make2(makeInteger(reverse), makeInteger(pathkeys != NIL));

	if (use != NULL)
	{
		wt_index_use_cost(rel, use, size, qual, pathkeys != NIL, !bms_is_empty(outer), &startup,
						  &total);
		private = lappend(lappend(private, makeInteger(0)), unconstify(WtIndexUse *, use));
	}
	else
		wt_scan_size_cost(rel, info, size, qual, !bms_is_empty(outer), &startup, &total);
	if (info->t->engine != NULL && reverse)
		total += backward_cost(size);
	if (pathkeys != NIL && info->t->salt_buckets > 1)
	{
		/* the buckets are merged */
		startup += info->t->salt_buckets * cpu_operator_cost;
		total += info->t->salt_buckets * cpu_operator_cost +
				 size->scanned * log2(info->t->salt_buckets) * cpu_operator_cost;
	}
	add_path(rel, (Path *) wt_create_foreignscan_path(root, rel, NULL, size->rows, startup, total,
													  pathkeys, outer, private));
}

/*
 * Adds the same scan divided between processes.  Its cost is computed as that of a sequential scan:
 * the work is divided, reading blocks is not.  The more workers hand it rows, the less time the
 * leader has for the scan.
 */
static void
add_partial_scan_path(PlannerInfo *root, RelOptInfo *rel, List *pathkeys, bool reverse)
{
	WtRelInfo *info = rel->fdw_private;
	const WtScanSize *size = &info->size;
	double pages = Max(size->blocks * BLOCK_PAGES,
					   size->scanned * info->cells * CELL_BYTES / BLCKSZ);
	int workers = compute_parallel_worker(rel, pages, -1, max_parallel_workers_per_gather);
	double divisor = workers + (parallel_leader_participation ? Max(0, 1.0 - 0.3 * workers) : 0);
	Cost startup, total, io;
	ForeignPath *path;

	/* each part of what another engine stores is one process's work */
	if (info->t->engine != NULL && workers > 0)
	{
		int parts;

		(void) wt_scan_size_split_keys(info->e.all[0], 2, true, &parts);
		workers = Min(workers, parallel_leader_participation ? parts : parts + 1);
		divisor = workers + (parallel_leader_participation ? Max(0, 1.0 - 0.3 * workers) : 0);
	}
	if (workers <= 0)
		return;
	wt_scan_size_cost(rel, info, size, &rel->baserestrictcost, false, &startup, &total);
	if (info->t->engine != NULL && reverse)
		total += backward_cost(size);
	io = Min(total - startup,
			 Max(0, ceil(size->blocks) - Max(1, size->ranges) * info->families) * seq_page_cost);
	path =
		wt_create_foreignscan_path(root, rel, NULL, clamp_row_est(size->rows / divisor), startup,
								   startup + io + (total - startup - io) / divisor, pathkeys, NULL,
								   list_make2(makeInteger(reverse), makeInteger(pathkeys != NIL)));
	path->path.parallel_aware = true;
	path->path.parallel_workers = workers;
	add_partial_path(rel, (Path *) path);
}

/*
 * Adds a scan and, if possible, a partial one.  Salt buckets can be merged or divided between
 * processes, but not both.
 */
static void
add_scan_paths(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, const WtIndexUse *use,
			   List *pathkeys, bool reverse)
{
	WtScanSize size = info->size;

	/* an index finds entries; the rows are those of the relation */
	size.rows = ((WtRelInfo *) rel->fdw_private)->size.rows;
	add_scan_path(root, rel, info, use, &size, pathkeys, reverse, rel->lateral_relids,
				  &rel->baserestrictcost);
	if (use == NULL && rel->consider_parallel && bms_is_empty(rel->lateral_relids) &&
		(pathkeys == NIL || info->t->salt_buckets <= 1))
		add_partial_scan_path(root, rel, pathkeys, reverse);
}

static void
add_ordered_paths(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, const WtIndexUse *use)
{
	bool reverse = false;
	int n;

	if (!wt_settings_enable_pushdown)
		return;
	n = wt_scan_path_pathkeys(root, rel, info->t, info->conds, &reverse);
	if (n > 0)
	{
		List *keys = list_copy(root->query_pathkeys);

		add_scan_paths(root, rel, info, use, list_truncate(keys, n), reverse);
	}
	if (!has_useful_pathkeys(root, rel))
		return;
	for (int back = 0; back < 2; back++)
	{
		List *keys = scan_pathkeys(root, rel, info->t, info->conds, back);

		if (keys != NIL)
			add_scan_paths(root, rel, info, use, keys, back);
	}
}

/* Callback of generate_implied_equalities_for_column; arg points to the attribute number. */
static bool
member_is_column(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em,
				 void *arg)
{
	return wt_plain_column(rel, (Node *) em->em_expr) == *(AttrNumber *) arg;
}

/* Adds the tables other than rel to a list of sets, unless the set is empty or there already. */
static List *
add_outer(List *outers, RelOptInfo *rel, Relids relids)
{
	Relids outer = bms_del_member(bms_union(relids, rel->lateral_relids), rel->relid);
	ListCell *lc;

	if (bms_is_empty(outer))
		return outers;
	foreach(lc, outers)
		if (bms_equal(lfirst(lc), outer))
			return outers;
	return lappend(outers, outer);
}

/* Returns the sets of other tables that can give values to parts of the key. */
static List *
useful_outers(PlannerInfo *root, RelOptInfo *rel, WtTable *t)
{
	List *clauses = NIL, *outers = NIL;
	Relids all = NULL;
	ListCell *lc;

	foreach(lc, rel->joininfo)
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (join_clause_is_movable_to(rinfo, rel))
			clauses = lappend(clauses, rinfo);
	}
	if (rel->has_eclass_joins)
		for (int part = 0; part <= (t->cells_layout ? WT_PART_QUALIFIER(t) : t->nkeys - 1); part++)
		{
			WtColumn *column = wt_part_column(t, part);
			AttrNumber attno;

			if (column == NULL)
				continue;
			attno = column->attno;
			clauses = list_concat(clauses,
								  generate_implied_equalities_for_column(root, rel,
																		 member_is_column, &attno,
																		 rel->lateral_referencers));
		}
	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (wt_key_condition_find(root, rel, t, list_make1(rinfo)) != NIL)
			outers = add_outer(outers, rel, rinfo->clause_relids);
	}
	/* parts of the key from different tables */
	if (list_length(outers) > 1)
	{
		foreach(lc, outers)
			all = bms_union(all, lfirst(lc));
		outers = add_outer(outers, rel, all);
	}
	return outers;
}

static void
add_parameterized_paths(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, const WtIndexUse *use)
{
	ListCell *lc;

	foreach(lc, useful_outers(root, rel, info->t))
	{
		Relids outer = lfirst(lc);
		ParamPathInfo *ppi = get_baserel_parampathinfo(root, rel, outer);
		List *clauses = list_concat_copy(rel->baserestrictinfo, ppi->ppi_clauses);
		List *conds;
		ListCell *c;
		bool useful = false;
		WtScanSize size;
		QualCost qual;

		if (use == NULL)
			conds = wt_key_condition_find(root, rel, info->t, clauses);
		else if (!wt_index_use_conditions(root, rel, use, clauses, &conds))
			continue;
		(void) wt_key_choice_make(info->t, conds);
		foreach(c, conds)
		{
			WtCond *cond = lfirst(c);

			useful |= cond->ranged && list_member_ptr(ppi->ppi_clauses, cond->rinfo);
		}
		if (!useful)
			continue;
		wt_scan_size_estimate(root, rel, info, conds, clauses, &size);
		cost_qual_eval(&qual, clauses, root);
		ppi->ppi_rows = use == NULL ? size.rows : Min(ppi->ppi_rows, size.rows);
		size.rows = ppi->ppi_rows;
		add_scan_path(root, rel, info, use, &size, NIL, false, outer, &qual);
	}
}

/* Adds the scans by an index. */
static void
add_index_paths(PlannerInfo *root, RelOptInfo *rel, const WtIndexUse *use)
{
	if (use->alone)
	{
		if (use->info->conds != NIL || use->only)
			add_scan_paths(root, rel, use->info, use, NIL, false);
		/* a row of a timed index may be found by a value that it has no longer */
		if (!use->x->timed)
			add_ordered_paths(root, rel, use->info, use);
	}
	/* clauses on entries of maps have no classes of equal columns */
	if (use->x->map < 0)
		add_parameterized_paths(root, rel, use->info, use);
}

void
wt_scan_path_get_rel_size(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	WtTable *t = wt_table(relid);
	WtRelInfo *info;
	int width;

	wt_online_build_check_read(t, NULL);
	wt_system_column_check_scan(root, baserel, t);
	info = wt_scan_size_info(root, baserel, t, baserel->baserestrictinfo, &width);
	baserel->fdw_private = info;
	baserel->tuples = info->tuples;
	baserel->pages = (BlockNumber) Min(info->blocks, (double) MaxBlockNumber);
	wt_index_use_find(root, baserel);
	baserel->rows = info->size.rows;
	if (baserel->reltarget->width <= 0)
		baserel->reltarget->width = width;
}

void
wt_scan_path_get_paths(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	WtRelInfo *info = baserel->fdw_private;
	ListCell *lc;

	add_scan_paths(root, baserel, info, NULL, NIL, false);
	add_ordered_paths(root, baserel, info, NULL);
	add_parameterized_paths(root, baserel, info, NULL);
	foreach(lc, info->indexes)
		add_index_paths(root, baserel, lfirst(lc));
}

bool
wt_scan_path_is_parallel_safe(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	/* the transaction's writes are private to this process; see also begin_parallel in
	 * executor_hooks.c */
	return wt_settings_enable_parallel_scan && wt_batch(false) == NULL && !wt_engine_changed() &&
		   wt_engine_can(wt_table(rte->relid), WT_CAN_SPLIT);
}

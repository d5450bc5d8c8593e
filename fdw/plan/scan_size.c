/*
 * scan_size.c
 *		Sizes and costs of scans.
 *
 * The engine estimates the number of rows in those key ranges that are known while planning, from
 * its counters and block indexes; no data is read.  PostgreSQL's selectivity functions estimate the
 * rest.  No unique index tells the planner that a whole key is one row, so that is done here.
 */
#include "postgres.h"

#include "fdw/plan/scan_size.h"

#include <math.h>

#include "catalog/pg_statistic.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/key/key_range.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/key/part.h"
#include "fdw/plan/cell_clause.h"
#include "fdw/plan/cell_predicate.h"
#include "fdw/plan/key_choice.h"
#include "fdw/plan/key_condition.h"
#include "fdw/plan/scan_columns.h"
#include "fdw/plan/system_column.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/engine.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"

/* The most ranges that the engine is asked about; the others are assumed to be like these. */
#define ESTIMATE_RANGES 24

/* Rows whose values stand for values of the key that are not known while planning. */
#define SAMPLE_VALUES 8

/* Like WT_ROW_COST, of a row that a key filter leaves out. */
#define PASS_COST 4

/* The cost of a clause in the engine, as a share of its cost in PostgreSQL. */
#define FILTER_SHARE 0.5

/* The length of an array that is not known. */
#define DEFAULT_ARRAY 10

/* Returns how many families a scan opens. */
static int
count_families(WtRelInfo *info, Bitmapset *wanted, int strict)
{
	WtTable *t = info->t;
	Bitmapset *families = NULL;

	if (t->cells_layout || (strict < 0 && !t->existence_projected))
		return Max(1, info->e.nall);
	for (int a = 0; a < t->natts; a++)
		if (bms_is_member(a + 1, wanted) && t->columns[a].family >= 0)
			families = bms_add_member(families, t->columns[a].family);
	return Max(1, bms_num_members(families));
}

double
wt_scan_size_keys(WtTable *t, List *conds)
{
	double n = 1;
	ListCell *lc;

	for (int part = 0; part < t->nkeys; part++)
	{
		double least = -1;

		foreach(lc, conds)
		{
			WtCond *c = lfirst(lc);
			double m;

			if (c->part != part || !wt_is_equality(c->kind))
				continue;
			m = wt_key_choice_list_size(c, DEFAULT_ARRAY);
			if (least < 0 || m < least)
				least = m;
		}
		if (least < 0)
			return -1;
		n *= least;
	}
	return n;
}

/* The conditions of the ranges, with the values that are known while planning. */
typedef struct KnownTests
{
	WtTest *tests;
	int ntests;
	WtArg *args;
	List *later; /* WtCond: those of which a value is known at run time only */
} KnownTests;

/* Makes tests of the conditions that the ranges take. */
static void
find_known_tests(PlannerInfo *root, List *conds, KnownTests *k)
{
	List *flat = wt_key_choice_flat(conds, true);
	int n = 0;
	ListCell *lc;

	foreach(lc, flat)
		n += list_length(((WtFlat *) lfirst(lc))->c->values);
	k->tests = palloc(sizeof(WtTest) * Max(1, list_length(flat)));
	k->args = palloc0(sizeof(WtArg) * Max(1, n));
	k->ntests = 0;
	k->later = NIL;
	n = 0;
	foreach(lc, flat)
	{
		WtFlat *f = lfirst(lc);
		bool all = true;
		ListCell *v, *ty;

		k->tests[k->ntests++] = f->test;
		forboth(v, f->c->values, ty, f->c->types)
		{
			WtArg arg = wt_key_value_arg(estimate_expression_value(root, lfirst(v)),
										 lfirst_oid(ty));

			all = all && arg.known;
			k->args[n++] = arg;
		}
		if (!all)
			k->later = list_append_unique_ptr(k->later, f->clause);
	}
}

wide_estimate
wt_scan_size_range(wide_family_id family, const wide_range *range)
{
	static const wide_range whole = {{(const uint8 *) "", 0}, {NULL, 0}};
	const WtEngine *other = wt_engine_of(family);
	wide_estimate est = {0};

	if (other != NULL)
	{
		other->estimate(family, range, &est);
		return est;
	}
	wt_error_check(wide_estimate_range(wt_store_db(), family, range ? range : &whole, &est),
				   "could not estimate");
	return est;
}

void
wt_scan_size_table(WtTable *t, WtEngineTable *e, WtTableSize *out)
{
	double most = -1;

	memset(out, 0, sizeof(*out));
	for (int i = 0; i < e->nall; i++)
	{
		wide_estimate est = wt_scan_size_range(e->all[i], NULL);
		double n = t->cells_layout ? est.cells : est.rows;

		out->rows = Max(out->rows, est.rows);
		out->tuples = t->cells_layout ? out->tuples + n : Max(out->tuples, n);
		out->cells += est.cells;
		out->blocks += est.blocks;
		out->bytes += est.bytes;
		if (n > most)
		{
			most = n;
			out->largest = e->all[i];
		}
	}
}

/* Sets the rows (layout cells: cells) and blocks of the ranges, as the engine estimates them. */
static void
estimate_ranges(WtRelInfo *info, const WtRanges *r, double *rows, double *blocks)
{
	int asked = 0, all = 0;

	*rows = 0;
	*blocks = 0;
	for (int b = 0; b < r->nbuckets; b++)
	{
		all += r->n[b];
		for (int i = 0; i < r->n[b] && asked < ESTIMATE_RANGES; i++, asked++)
		{
			double most = 0;

			for (int f = 0; f < info->e.nall; f++)
			{
				wide_estimate est = wt_scan_size_range(info->e.all[f], &r->ranges[b][i]);

				most = info->t->cells_layout ? most + est.cells : Max(most, est.rows);
				*blocks += est.blocks;
			}
			*rows += most;
		}
	}
	if (asked > 0 && all > asked)
	{
		*rows *= (double) all / asked;
		*blocks *= (double) all / asked;
	}
}

/* Returns the clauses that are not conditions on the key. */
static List *
without_keys(WtTable *t, List *conds, List *clauses)
{
	ListCell *lc;

	foreach(lc, conds)
	{
		WtCond *c = lfirst(lc);

		if (c->used && c->part < t->nkeys)
			clauses = list_delete_ptr(clauses, c->rinfo);
	}
	return clauses;
}

/* Returns true if ANALYZE has statistics of the column that shows the part. */
static bool
part_has_statistics(PlannerInfo *root, RelOptInfo *rel, WtTable *t, int part)
{
	return SearchSysCacheExists3(STATRELATTINH,
								 ObjectIdGetDatum(planner_rt_fetch(rel->relid, root)->relid),
								 Int16GetDatum(wt_part_column(t, part)->attno),
								 BoolGetDatum(false));
}

/* What the callback of wide_split_keys adds keys to. */
typedef struct SplitKeys
{
	wide_bytes *keys;
	int n;
} SplitKeys;

/* Callback of wide_split_keys; it must not raise an error. */
static wide_status
add_key(void *arg, wide_bytes key)
{
	SplitKeys *s = arg;
	uint8 *copy = palloc_extended(Max(1, key.len), MCXT_ALLOC_NO_OOM);

	if (copy == NULL)
		return WIDE_NOMEM;
	s->keys[s->n++] = (wide_bytes) {memcpy(copy, key.data, key.len), key.len};
	return WIDE_OK;
}

wide_bytes *
wt_scan_size_split_keys(wide_family_id family, int parts, bool rough, int *n)
{
	SplitKeys s = {.keys = palloc(sizeof(wide_bytes) * Max(1, parts))};
	const WtEngine *other = wt_engine_of(family);

	/* the parts in which other engines store a table are too few for a sample */
	if (other != NULL && rough && (other->can & WT_CAN_SPLIT) != 0)
		return other->split(family, n);
	if (other == NULL)
		wt_error_check(wide_split_keys(wt_store_db(), family, parts, rough, add_key, &s),
					   "could not sample");
	*n = s.n;
	return s.keys;
}

/*
 * Sets later[i] for each test whose value is not known.  Returns false if there is none, if
 * values of rows cannot stand for one, or if the statistics of a single column are better.
 */
static bool
can_sample(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, const KnownTests *k, bool *later)
{
	WtTable *t = info->t;
	int unknown = 0, part = -1;

	if (t->engine != NULL)
		return false;
	for (int i = 0; i < k->ntests; i++)
	{
		const WtTest *test = &k->tests[i];

		for (int v = 0; v < test->n; v++)
			if (!k->args[test->first + v].known)
			{
				if (test->kind != WT_COND_EQ || test->clause != 0 || test->part >= t->nkeys ||
					wt_part_column(t, test->part) == NULL)
					return false;
				later[i] = true;
				unknown++;
				part = test->part;
			}
	}
	return unknown > 0 && info->exists &&
		   !(unknown == 1 && part == 0 && k->ntests == 1 &&
			 part_has_statistics(root, rel, t, part));
}

/*
 * Estimates ranges of leading parts of the key that are bound to values known only at run time,
 * from a join or a parameter: takes the values of some rows at equal distances in the table.
 * Values with many rows are more likely among these; the harmonic mean corrects that.  Returns
 * false if values of rows are of no use (can_sample).
 */
static bool
estimate_by_samples(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, const KnownTests *k,
					double *rows, double *blocks)
{
	WtTable *t = info->t;
	Datum *values = palloc(sizeof(Datum) * Max(1, t->nkeys));
	bool *nulls = palloc(sizeof(bool) * Max(1, t->nkeys));
	bool *later = palloc0(sizeof(bool) * Max(1, k->ntests));
	wide_bytes *keys;
	double inverse = 0, sum = 0;
	int nkeys, n = 0;

	if (!can_sample(root, rel, info, k, later))
		return false;
	keys = wt_scan_size_split_keys(info->e.all[0], SAMPLE_VALUES + 1, true, &nkeys);
	for (int at = 0; at < nkeys; at++)
	{
		WtRanges ranges;
		double some, in;
		bool usable = true;

		if (wt_rowkey_decode_soft(t, keys[at], NULL, values, nulls) != NULL)
			continue;
		for (int i = 0; i < k->ntests; i++)
			if (later[i])
			{
				int p = k->tests[i].part;

				/* the value of a digest is not in the key */
				usable = usable && !nulls[p];
				k->args[k->tests[i].first] = (WtArg) {
					.type = wt_part_column(t, p)->typid, .known = true, .value = values[p]};
			}
		if (!usable)
			continue;
		wt_key_range_make(t, k->tests, k->ntests, k->args, &ranges);
		if (ranges.full)
			continue;
		estimate_ranges(info, &ranges, &some, &in);
		inverse += 1 / Max(1, some);
		sum += in;
		n++;
	}
	for (int i = 0; i < k->ntests; i++)
		if (later[i])
			k->args[k->tests[i].first].known = false;
	if (n == 0)
		return false;
	*rows = Min(info->tuples, n / inverse);
	*blocks = Min(info->blocks, sum / n);
	return true;
}

/*
 * Returns how much the values that a join gives to the first part of the key are in the order in
 * which the other table is stored: the square of the correlation, as for index scans.  Other orders
 * are not known here.
 */
static double
outer_order(PlannerInfo *root, RelOptInfo *rel, List *conds)
{
	double near = 0;
	ListCell *lc;

	foreach(lc, conds)
	{
		WtCond *c = lfirst(lc);
		Node *value = c->used && c->part == 0 && c->kind == WT_COND_EQ ? linitial(c->values) : NULL;
		Var *var;
		RangeTblEntry *rte;
		HeapTuple stats;
		AttStatsSlot slot;

		while (value != NULL && IsA(value, RelabelType))
			value = (Node *) ((RelabelType *) value)->arg;
		if (value == NULL || !IsA(value, Var))
			continue;
		var = (Var *) value;
		if (var->varlevelsup != 0 || var->varno <= 0 || var->varno >= root->simple_rel_array_size ||
			var->varno == (int) rel->relid)
			continue;
		rte = root->simple_rte_array[var->varno];
		if (rte == NULL || rte->rtekind != RTE_RELATION)
			continue;
		stats = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(rte->relid),
								Int16GetDatum(var->varattno), BoolGetDatum(false));
		if (!HeapTupleIsValid(stats))
			continue;
		if (get_attstatsslot(&slot, stats, STATISTIC_KIND_CORRELATION, InvalidOid,
							 ATTSTATSSLOT_NUMBERS))
		{
			if (slot.nnumbers == 1)
				near = Max(near, (double) slot.numbers[0] * slot.numbers[0]);
			free_attstatsslot(&slot);
		}
		ReleaseSysCache(stats);
	}
	return near;
}

List *
wt_scan_size_exact_filters(List *filters)
{
	List *out = NIL;
	ListCell *lc;

	foreach(lc, filters)
		if (((WtCellClause *) lfirst(lc))->exact)
			out = lappend(out, ((WtCellClause *) lfirst(lc))->rinfo);
	return out;
}

/* Returns the clauses (RestrictInfos) of all filters. */
static List *
all_filters(List *filters)
{
	List *out = NIL;
	ListCell *lc;

	foreach(lc, filters)
		out = lappend(out, ((WtCellClause *) lfirst(lc))->rinfo);
	return out;
}

/*
 * Estimates what a key filter saves: rows that it leaves out are not read, and where many of them
 * are neighbours, the scan jumps over them.  There are as many jumps as values of the parts in
 * front of the last one that is tested (before).
 */
static void
estimate_filter(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, List *conds, List *filtered,
				int before, WtScanSize *size)
{
	List *columns = NIL;
	double jumps = size->scanned;

	size->passed = 0;
	size->jumps = 0;
	if (filtered == NIL || size->scanned < 1)
		return;
	for (int part = 0; part < before; part++)
	{
		WtColumn *c = wt_key_column(info->t, part);

		if (!wt_key_choice_part_is_single(conds, part))
			columns = lappend(columns,
							  makeVar(rel->relid, c->attno, c->domain ? c->domain : c->typid,
									  c->typmod, c->collation, 0));
	}
	if (columns != NIL)
		jumps = estimate_num_groups(root, columns, size->scanned, NULL, NULL);
	size->passed = size->scanned;
	size->scanned *= clauselist_selectivity(root, filtered, rel->relid, JOIN_INNER, NULL);
	size->jumps = Min(size->passed, jumps * Max(1, info->t->salt_buckets));
	/* a jump goes to one more block at most, and the rows that are left lie behind it */
	size->blocks = Min(size->blocks, size->jumps + size->blocks * size->scanned / size->passed);
}

/* The clauses of a scan, by what they mean to its size: lists of RestrictInfos. */
typedef struct SizeClauses
{
	List *rest;		/* not in the estimate of the ranges: they decide what is returned */
	List *unknown;	/* of these, those that restrict what is read */
	List *filtered; /* those that the key filter tests */
	int last;		/* last part of the key that filtered is on */
} SizeClauses;

/* Sorts the clauses.  stop: the first part whose values the estimate of the ranges does not know.
 */
static void
sort_clauses(WtRelInfo *info, List *conds, List *clauses, List *later, bool sampled, int stop,
			 SizeClauses *out)
{
	ListCell *lc;

	memset(out, 0, sizeof(*out));
	out->rest = list_copy(clauses);
	foreach(lc, conds)
	{
		WtCond *c = lfirst(lc);

		if (c->exact && c->values == NIL && c->kind != WT_COND_OR)
			out->rest = list_delete_ptr(out->rest, c->rinfo);
		else if (c->ranged)
		{
			if ((sampled || !list_member_ptr(later, c)) && c->part < stop)
				out->rest = list_delete_ptr(out->rest, c->rinfo);
			else if (c->part != WT_PART_TS(info->t))
				/* conditions on time leave out whole files only */
				out->unknown = lappend(out->unknown, c->rinfo);
		}
		else if (c->used)
		{
			out->filtered = lappend(out->filtered, c->rinfo);
			out->last = Max(out->last, c->part);
		}
	}
}

/*
 * Returns the number of rows in the ranges of tests whose values are known, and sets the number
 * of ranges and their blocks.
 */
static double
estimate_known(WtRelInfo *info, const KnownTests *k, WtScanSize *size)
{
	WtRanges ranges;
	double rows = info->tuples;

	wt_key_range_make(info->t, k->tests, k->ntests, k->args, &ranges);
	size->ranges = 0;
	for (int b = 0; b < ranges.nbuckets; b++)
		size->ranges += ranges.n[b];
	if (!info->exists)
		return 0;
	if (ranges.points == ranges.total && !info->t->cells_layout)
	{
		rows = Min(info->tuples, ranges.total);
		size->blocks = Min(info->blocks, rows);
	}
	else if (!ranges.full)
		estimate_ranges(info, &ranges, &rows, &size->blocks);
	return rows;
}

/* Bounds the size by the number of keys that the conditions allow. */
static void
limit_to_keys(WtRelInfo *info, List *conds, double keys, WtScanSize *size)
{
	size->ranges = Max(size->ranges, Min(keys, info->tuples));
	/* a row may have any number of cells, but one of a name in each family */
	if (info->t->cells_layout && !wt_key_choice_part_is_single(conds, WT_PART_QUALIFIER(info->t)))
		keys = info->tuples;
	else if (info->t->cells_layout)
		keys = Max(1, keys * (wt_key_choice_part_is_single(conds, WT_PART_FAMILY(info->t))
								  ? 1
								  : info->e.nall));
	size->scanned = Min(size->scanned, keys);
	size->rows = Min(size->rows, keys);
}

void
wt_scan_size_estimate(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, List *conds,
					  List *clauses, WtScanSize *size)
{
	KnownTests known;
	SizeClauses by;
	ListCell *lc;
	int stop = info->t->nkeys;
	double keys = wt_scan_size_keys(info->t, conds);
	double range_rows = info->tuples, exact;
	bool sampled;

	find_known_tests(root, conds, &known);
	size->ranges = Max(1, info->t->salt_buckets);
	size->blocks = info->blocks;
	size->near = outer_order(root, rel, conds);
	sampled = keys < 0 && estimate_by_samples(root, rel, info, &known, &range_rows, &size->blocks);
	foreach(lc, known.later)
		if (!sampled)
			stop = Min(stop, ((WtCond *) lfirst(lc))->part);
	sort_clauses(info, conds, clauses, known.later, sampled, stop, &by);
	if (!sampled && known.ntests > 0 && (keys != 1 || stop != 0))
		range_rows = estimate_known(info, &known, size);
	else if (!sampled && known.ntests > 0 && info->t->cells_layout)
	{
		/* some row, and what the clauses leave of it */
		range_rows = Min(info->tuples, info->per_row);
		size->blocks = ceil(size->blocks * range_rows / Max(1, info->tuples));
		by.unknown = without_keys(info->t, conds, by.unknown);
		by.rest = without_keys(info->t, conds, by.rest);
	}
	size->scanned = range_rows *
					clauselist_selectivity(root, by.unknown, rel->relid, JOIN_INNER, NULL);
	size->rows = range_rows * clauselist_selectivity(root, by.rest, rel->relid, JOIN_INNER, NULL);
	if (keys >= 0)
		limit_to_keys(info, conds, keys, size);
	size->blocks *= range_rows > 0 ? size->scanned / range_rows : 0;
	estimate_filter(root, rel, info, conds, by.filtered, by.last, size);
	size->rows = clamp_row_est(Min(size->rows, size->scanned));
	size->scanned = clamp_row_est(size->scanned);
	exact = clauselist_selectivity(root,
								   info->t->engine == NULL
									   ? wt_scan_size_exact_filters(info->filters)
									   : all_filters(info->filters),
								   rel->relid, JOIN_INNER, NULL);
	size->delivered = Max(clamp_row_est(size->scanned * exact), size->rows);
	size->scanned = Max(size->scanned * info->recent, size->delivered);
	size->blocks *= info->recent;
}

/* As wt_scan_size_cost(), for an engine that is elsewhere. */
static void
remote_cost(RelOptInfo *rel, WtRelInfo *info, const WtScanSize *size, const QualCost *qual,
			bool again, Cost *startup, Cost *total)
{
	bool keys = size->ranges >= size->scanned;
	double calls = keys ? Max(1, size->scanned / WT_REMOTE_BATCH) : 1;

	*startup = rel->reltarget->cost.startup + qual->startup + WT_REMOTE_CALL * cpu_operator_cost;
	if (!again)
		*startup += info->t->startup_cost;
	*total = *startup + (calls - 1) * WT_REMOTE_CALL * cpu_operator_cost;
	*total += size->scanned * (keys ? WT_REMOTE_KEY : WT_REMOTE_ROW) * cpu_operator_cost;
	*total += size->delivered * (WT_REMOTE_SENT * cpu_operator_cost + cpu_tuple_cost +
								 info->t->tuple_cost + qual->per_tuple);
	*total += size->rows * rel->reltarget->cost.per_tuple;
}

void
wt_scan_size_lookup_cost(double lookups, Cost *startup, Cost *total)
{
	double share = Max(1, Min(lookups, WT_REMOTE_BATCH));

	*startup = 0;
	*total = (WT_REMOTE_CALL / share + WT_REMOTE_KEY + WT_REMOTE_SENT) * cpu_operator_cost +
			 cpu_tuple_cost;
}

void
wt_scan_size_cost(RelOptInfo *rel, WtRelInfo *info, const WtScanSize *size, const QualCost *qual,
				  bool again, Cost *startup, Cost *total)
{
	double seek = (info->blocks > 0 ? 0.125 * random_page_cost : 0) +
				  WT_SEEK_COST * cpu_operator_cost;
	double cells = info->cells * info->families / Max(1, info->e.nall);
	double wanted = Min(info->wanted, cells);
	double row = WT_ROW_COST * info->families + WT_CELL_COST * wanted +
				 WT_OTHER_COST * (cells - wanted);
	double seeks = Max(1, size->ranges) * info->families;
	double tested = info->filters == NIL
						? row
						: row * Min(info->filter_families, info->families) / info->families;

	if (info->t->engine != NULL)
	{
		remote_cost(rel, info, size, qual, again, startup, total);
		return;
	}
	if (again)
		seek *= 1 - (1 - WT_NEAR_SEEK) * size->near;
	*startup = rel->reltarget->cost.startup + qual->startup + seek * info->families;
	if (!again)
		*startup += info->t->startup_cost;
	*total = *startup + seek * (seeks - info->families);
	*total += Max(0, ceil(size->blocks) - seeks) * seq_page_cost;
	/* for rows that the engine leaves out: only the families that it tests, and no tuple */
	*total += size->scanned *
			  (cpu_operator_cost * tested + FILTER_SHARE * info->filter_cost.per_tuple);
	*total += size->delivered *
			  (cpu_tuple_cost + info->t->tuple_cost + cpu_operator_cost * (row - tested) +
			   Max(0, qual->per_tuple - info->filter_cost.per_tuple));
	*total += Min(Max(0, size->passed - size->scanned) * PASS_COST, size->jumps * WT_SEEK_COST) *
			  info->families * cpu_operator_cost;
	*total += size->rows * rel->reltarget->cost.per_tuple;
}

/* Finds the clauses that the engine tests, and what they save. */
static void
prepare_filters(PlannerInfo *root, RelOptInfo *rel, WtRelInfo *info, List *rinfos)
{
	Bitmapset *families = NULL;
	ListCell *lc, *l;

	info->filters = wt_cell_clause_find(rel, info->t, rinfos);
	cost_qual_eval(&info->filter_cost, wt_scan_size_exact_filters(info->filters), root);
	info->recent = info->exists
					   ? wt_cell_predicate_recent_share(root, info->t, &info->e, info->filters)
					   : 1;
	foreach(lc, info->filters)
		foreach(l, ((WtCellClause *) lfirst(lc))->leaves)
			families = bms_add_member(
				families, info->t->columns[((WtCellClauseLeaf *) lfirst(l))->attno - 1].family);
	info->filter_families = bms_num_members(families);
}

WtRelInfo *
wt_scan_size_info(PlannerInfo *root, RelOptInfo *baserel, WtTable *t, List *rinfos, int *width)
{
	WtRelInfo *info = palloc0(sizeof(WtRelInfo));
	List *clauses = extract_actual_clauses(rinfos, false);
	WtTableSize table = {0};
	Bitmapset *wanted;
	int strict, i = -1;

	info->t = t;
	info->exists = wt_engine_table_as(info->t, baserel->userid, false, &info->e);
	if (info->exists)
		wt_scan_size_table(info->t, &info->e, &table);
	info->tuples = table.tuples;
	info->blocks = table.blocks;
	info->cells = info->t->cells_layout || table.rows < 1 ? 1 : Max(1, table.cells / table.rows);
	info->per_row = table.rows > 0 ? Max(1, info->tuples / table.rows) : 1;

	wanted = wt_scan_columns_wanted(baserel, info->t, clauses);
	strict = wt_scan_columns_strict(baserel, info->t, clauses, wanted, &wanted);
	info->families = count_families(info, wanted, strict);
	info->conds = wt_key_condition_find(root, baserel, info->t, rinfos);
	(void) wt_key_choice_make(info->t, info->conds);
	prepare_filters(root, baserel, info, rinfos);
	wt_scan_size_estimate(root, baserel, info, info->conds, rinfos, &info->size);

	*width = 0;
	while ((i = bms_next_member(wanted, i)) >= 0)
	{
		const WtColumn *c = &info->t->columns[i - 1];

		if (c->role == WT_DROPPED)
			continue;
		*width += get_typavgwidth(c->typid, c->typmod);
		if (c->role == WT_MAP || info->t->cells_layout)
			info->wanted = info->cells;
		else if (c->role == WT_CELL)
			info->wanted++;
	}
	return info;
}

/*
 * scan_size.c
 *		Sizes, paths and plans of scans.
 *
 * Estimates come from the engine (live counters and block indexes, no data is
 * read): the number of rows in the key ranges that are known at plan time; the
 * rest is left to PostgreSQL's selectivity functions.  No unique index tells
 * the planner that a whole key is one row, so that is said here.
 *
 * Paths: the plain one; ordered ones forward and backward, when somebody wants
 * the key's order; and parameterised ones, when a join gives values to leading
 * parts of the key (nested loops of lookups).
 */
#include "fdw/plan/key_condition.h"

#include <math.h>

#include "access/sysattr.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* The size of one scan */
typedef struct ScanSize
{
	double		rows;			/* returned */
	double		scanned;		/* in the key ranges */
	double		delivered;		/* of them, those that the engine does not leave out */
	double		blocks;
	double		ranges;
	double		near;			/* 0 .. 1: how much a lookup is near the one before */
	double		passed;			/* rows in the ranges, when there is a key filter; else 0 */
	double		jumps;			/* that it makes instead of passing over them */
} ScanSize;

/* What planning knows about one table; baserel->fdw_private. */
typedef struct RelInfo
{
	WtTable    *t;
	WtEngine	e;
	bool		exists;			/* in the engine */
	double		tuples;
	double		per_row;		/* of them for each row of the engine: more than one in the layout 'cells' */
	double		blocks;
	List	   *conds;			/* of the restriction clauses alone */
	ScanSize	size;			/* with these: a list of millions is counted once */
	List	   *filters;		/* of them, those that the engine tests */
	QualCost	filter_cost;	/* of these clauses in PostgreSQL */
	int			filter_families;	/* that are read for them */
	double		recent;			/* the share of the files that they do not leave out by time */
	double		cells;			/* of one row, in all families */
	int			families;		/* that a scan opens */
} RelInfo;

/* Ranges beyond these are assumed to be like the first ones. */
#define ESTIMATE_RANGES 24

/* Values tried for parts of the key that are not known while planning. */
#define SAMPLE_VALUES 8

/*
 * Costs in units of cpu_operator_cost: of a cell that a scan passes over, of the
 * search that begins a range; and the share of the latter that is left for
 * lookups in the order of the key, which find their block under the cursor.
 * Measured against scans and index scans of ordinary tables in memory.
 */
#define CELL_COST 4
#define SEEK_COST 40
#define NEAR_SEEK 0.35

/* The same of a cell of a row that a key filter leaves out. */
#define PASS_COST 2

/* What a clause costs in the engine, of what it costs in PostgreSQL. */
#define FILTER_SHARE 0.5

/*
 * For the number of workers: pages of PostgreSQL that a block of usual size stands
 * for, before it was compressed; and bytes for each cell of an ordinary table that
 * is as much work, which counts where there are few blocks, as in memtables.
 */
#define BLOCK_PAGES 2
#define CELL_BYTES 32

/* A list of which nothing is known. */
#define DEFAULT_ARRAY 10

static WtLock lock_mode(PlannerInfo *root, RelOptInfo *rel);

/* --------------------------------------------------- columns and families */

/*
 * Attributes that the scan must deliver, without those that only clauses need
 * which the ranges answer.
 */
static Bitmapset *
wanted_attributes(RelOptInfo *rel, WtTable *t, List *clauses)
{
	Bitmapset  *attrs = NULL,
			   *out = NULL;
	int			i = -1;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attrs);
	pull_varattnos((Node *) clauses, rel->relid, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		int			attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno == 0)
		{
			for (int a = 1; a <= t->natts; a++)
				out = bms_add_member(out, a);
		}
		else if (attno > 0 && attno <= t->natts)
			out = bms_add_member(out, attno);
	}
	return out;
}

static bool
is_of_family(const WtColumn *c)
{
	return c->role == WT_CELL || c->role == WT_MAP || c->role == WT_TIMESTAMP_OF;
}

/*
 * A family in which every row of the result has a cell: because a clause is
 * not true otherwise, or because a NOT NULL column of a family that is read
 * anyway says so (it is added to the wanted ones then).  -1: none, so that
 * existence has to be asked of the other families.  read: attributes that are
 * wanted, or tested by the engine.
 */
static int
strict_family(RelOptInfo *rel, WtTable *t, List *clauses, Bitmapset *read, Bitmapset **wanted)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Node	   *clause = lfirst(lc);
		Bitmapset  *attrs = NULL;
		int			i = -1;

		if (IsA(clause, NullTest))
		{
			NullTest   *n = (NullTest *) clause;

			if (n->nulltesttype != IS_NOT_NULL || n->argisrow || !IsA(n->arg, Var))
				continue;
		}
		else if (contain_nonstrict_functions(clause))
			continue;
		pull_varattnos(clause, rel->relid, &attrs);
		while ((i = bms_next_member(attrs, i)) >= 0)
		{
			int			attno = i + FirstLowInvalidHeapAttributeNumber;

			if (attno > 0 && attno <= t->natts && is_of_family(&t->columns[attno - 1]))
				return t->columns[attno - 1].family;
		}
	}
	for (int a = 0; a < t->natts; a++)
	{
		const WtColumn *c = &t->columns[a];

		if (c->role != WT_CELL || !c->not_null)
			continue;
		for (int o = 0; o < t->natts; o++)
		{
			const WtColumn *other = &t->columns[o];

			if (bms_is_member(o + 1, read) && is_of_family(other) && other->family == c->family)
			{
				*wanted = bms_add_member(*wanted, a + 1);
				return c->family;
			}
		}
	}
	return -1;
}

int
wt_strict_family(RelOptInfo *rel, WtTable *t, List *clauses, Bitmapset **wanted)
{
	return strict_family(rel, t, clauses, *wanted, wanted);
}

/* How many families a scan opens, for its cost. */
static int
count_families(RelInfo *info, Bitmapset *wanted, int strict)
{
	WtTable    *t = info->t;
	Bitmapset  *families = NULL;

	if (t->cells_layout || (strict < 0 && !t->existence_projected))
		return Max(1, info->e.nall);
	for (int a = 0; a < t->natts; a++)
		if (bms_is_member(a + 1, wanted) && t->columns[a].family >= 0)
			families = bms_add_member(families, t->columns[a].family);
	return Max(1, bms_num_members(families));
}

/* -------------------------------------------------------------- estimates */

static double
array_length(Node *array)
{
	if (IsA(array, Const) && !((Const *) array)->constisnull)
	{
		ArrayType  *a = DatumGetArrayTypeP(((Const *) array)->constvalue);

		return Max(1, ArrayGetNItems(ARR_NDIM(a), ARR_DIMS(a)));
	}
	if (IsA(array, ArrayExpr) && !((ArrayExpr *) array)->multidims)
		return Max(1, list_length(((ArrayExpr *) array)->elements));
	return DEFAULT_ARRAY;
}

/* How many keys at most, when all parts are bound; else -1. */
static double
key_count(WtTable *t, List *conds)
{
	double		n = 1;
	ListCell   *lc;

	for (int part = 0; part < t->nkeys; part++)
	{
		double		least = -1;

		foreach(lc, conds)
		{
			WtCond	   *c = lfirst(lc);
			double		m;

			if (c->part != part)
				continue;
			if (c->kind == WT_COND_EQ)
				m = 1;
			else if (c->kind == WT_COND_LIST)
				m = list_length(c->values);
			else if (c->kind == WT_COND_ANY)
				m = array_length(linitial(c->values));
			else
				continue;
			if (least < 0 || m < least)
				least = m;
		}
		if (least < 0)
			return -1;
		n *= least;
	}
	return n;
}

/*
 * The conditions of the ranges as tests, with those values that are known while
 * planning; unknown: those conditions of which one is not.
 */
static void
plan_values(PlannerInfo *root, List *conds, WtTest **tests, int *ntests, WtArg **args, List **unknown)
{
	List	   *flat = wt_conditions_flat(conds, true);
	int			n = 0;
	ListCell   *lc;

	foreach(lc, flat)
		n += list_length(((WtFlat *) lfirst(lc))->c->values);
	*tests = palloc(sizeof(WtTest) * Max(1, list_length(flat)));
	*args = palloc0(sizeof(WtArg) * Max(1, n));
	*ntests = 0;
	*unknown = NIL;
	n = 0;
	foreach(lc, flat)
	{
		WtFlat	   *f = lfirst(lc);
		WtCond	   *c = f->c;
		WtTest	   *test = &(*tests)[(*ntests)++];
		bool		all = true;
		ListCell   *v,
				   *ty;

		test->part = c->part;
		test->kind = c->kind;
		test->first = n;
		test->n = list_length(c->values);
		test->clause = f->number;
		test->arm = f->arm;
		forboth(v, c->values, ty, c->types)
		{
			Node	   *value = estimate_expression_value(root, lfirst(v));
			WtArg	   *arg = &(*args)[n++];

			arg->type = lfirst_oid(ty);
			if (IsA(value, Const))
			{
				arg->known = true;
				arg->isnull = ((Const *) value)->constisnull;
				arg->value = ((Const *) value)->constvalue;
			}
			all = all && arg->known;
		}
		if (!all)
			*unknown = list_append_unique_ptr(*unknown, f->clause);
	}
}

/* Rows (layout cells: cells) and blocks of the ranges, from the engine. */
static void
estimate_ranges(RelInfo *info, const WtRanges *r, double *rows, double *blocks)
{
	int			asked = 0,
				all = 0;

	*rows = 0;
	*blocks = 0;
	for (int b = 0; b < r->nbuckets; b++)
	{
		all += r->n[b];
		for (int i = 0; i < r->n[b] && asked < ESTIMATE_RANGES; i++, asked++)
		{
			double		most = 0;

			for (int f = 0; f < info->e.nall; f++)
			{
				wide_estimate est = {0};

				wt_check(wide_estimate_range(wt_db(), info->e.all[f], &r->ranges[b][i], &est), "could not estimate");
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

/* Layout cells: is the qualifier bound to one value? */
static bool
cell_is_single(WtTable *t, List *conds)
{
	return wt_part_is_single(conds, WT_PART_QUALIFIER(t));
}

/* The clauses that are no conditions on the key. */
static List *
without_keys(WtTable *t, List *conds, List *clauses)
{
	ListCell   *lc;

	foreach(lc, conds)
	{
		WtCond	   *c = lfirst(lc);

		if (c->used && c->part < t->nkeys)
			clauses = list_delete_ptr(clauses, c->rinfo);
	}
	return clauses;
}

/* Has ANALYZE looked at the column that shows the part? */
static bool
part_has_statistics(PlannerInfo *root, RelOptInfo *rel, WtTable *t, int part)
{
	return SearchSysCacheExists3(STATRELATTINH, ObjectIdGetDatum(planner_rt_fetch(rel->relid, root)->relid),
								 Int16GetDatum(wt_part_column(t, part)->attno), BoolGetDatum(false));
}

static wide_status
keep_sample(void *arg, wide_bytes key)
{
	List	  **keys = arg;
	StringInfo	copy = makeStringInfo();

	appendBinaryStringInfo(copy, (const char *) key.data, key.len);
	*keys = lappend(*keys, copy);
	return WIDE_OK;
}

/*
 * Leading parts of the key are bound to values that come later, from a join or
 * a parameter: tries those of some rows that lie evenly in the table.  These
 * rows favour values with many rows; the harmonic mean takes that back.  false:
 * nothing to try, or the statistics of a single column know better.
 */
static bool
estimate_by_samples(PlannerInfo *root, RelOptInfo *rel, RelInfo *info, const WtTest *tests, int ntests, WtArg *args,
					double *rows, double *blocks)
{
	WtTable    *t = info->t;
	Datum	   *values = palloc(sizeof(Datum) * Max(1, t->nkeys));
	bool	   *nulls = palloc(sizeof(bool) * Max(1, t->nkeys));
	bool	   *later = palloc0(sizeof(bool) * Max(1, ntests));
	List	   *keys = NIL;
	ListCell   *lc;
	double		inverse = 0,
				sum = 0;
	int			n = 0,
				unknown = 0,
				part = -1;

	for (int i = 0; i < ntests; i++)
		for (int v = 0; v < tests[i].n; v++)
			if (!args[tests[i].first + v].known)
			{
				if (tests[i].kind != WT_COND_EQ || tests[i].clause != 0 || tests[i].part >= t->nkeys || wt_part_column(t, tests[i].part) == NULL)
					return false;
				later[i] = true;
				unknown++;
				part = tests[i].part;
			}
	if (unknown == 0 || !info->exists || (unknown == 1 && part == 0 && ntests == 1 && part_has_statistics(root, rel, t, part)))
		return false;
	wt_check(wide_split_keys(wt_db(), info->e.all[0], SAMPLE_VALUES + 1, true, keep_sample, &keys), "could not sample");
	foreach(lc, keys)
	{
		StringInfo	key = lfirst(lc);
		WtRanges	ranges;
		double		some,
					in;
		bool		usable = true;

		if (wt_key_decode_soft(t, (wide_bytes) {(const uint8 *) key->data, key->len}, NULL, values, nulls) != NULL)
			continue;
		for (int i = 0; i < ntests; i++)
			if (later[i])
			{
				int			p = tests[i].part;

				/* a digest does not tell its value */
				usable = usable && !nulls[p];
				args[tests[i].first] = (WtArg) {.type = wt_part_column(t, p)->typid, .known = true, .value = values[p]};
			}
		if (!usable)
			continue;
		wt_ranges(t, tests, ntests, args, &ranges);
		if (ranges.full)
			continue;
		estimate_ranges(info, &ranges, &some, &in);
		inverse += 1 / Max(1, some);
		sum += in;
		n++;
	}
	for (int i = 0; i < ntests; i++)
		if (later[i])
			args[tests[i].first].known = false;
	if (n == 0)
		return false;
	*rows = Min(info->tuples, n / inverse);
	*blocks = Min(info->blocks, sum / n);
	return true;
}

/*
 * How much the values that a join gives to the first part of the key are in the
 * order in which the other table is stored: the square of the correlation, as
 * for index scans.  Other orders are not known here.
 */
static double
outer_order(PlannerInfo *root, RelOptInfo *rel, List *conds)
{
	double		near = 0;
	ListCell   *lc;

	foreach(lc, conds)
	{
		WtCond	   *c = lfirst(lc);
		Node	   *value = c->used && c->part == 0 && c->kind == WT_COND_EQ ? linitial(c->values) : NULL;
		Var		   *var;
		RangeTblEntry *rte;
		HeapTuple	stats;
		AttStatsSlot slot;

		while (value != NULL && IsA(value, RelabelType))
			value = (Node *) ((RelabelType *) value)->arg;
		if (value == NULL || !IsA(value, Var))
			continue;
		var = (Var *) value;
		if (var->varlevelsup != 0 || var->varno <= 0 || var->varno >= root->simple_rel_array_size || var->varno == (int) rel->relid)
			continue;
		rte = root->simple_rte_array[var->varno];
		if (rte == NULL || rte->rtekind != RTE_RELATION)
			continue;
		stats = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(rte->relid), Int16GetDatum(var->varattno), BoolGetDatum(false));
		if (!HeapTupleIsValid(stats))
			continue;
		if (get_attstatsslot(&slot, stats, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS))
		{
			if (slot.nnumbers == 1)
				near = Max(near, (double) slot.numbers[0] * slot.numbers[0]);
			free_attstatsslot(&slot);
		}
		ReleaseSysCache(stats);
	}
	return near;
}

/* The clauses (RestrictInfos) of those filters that PostgreSQL does not test again. */
static List *
exact_filters(List *filters)
{
	List	   *out = NIL;
	ListCell   *lc;

	foreach(lc, filters)
		if (((WtFilter *) lfirst(lc))->exact)
			out = lappend(out, ((WtFilter *) lfirst(lc))->rinfo);
	return out;
}

/*
 * What a key filter saves: rows that it passes over are not read, and where they
 * lie together, not even passed.  There are as many jumps as there are values of
 * the parts up to the last one that is tested (before: that part).
 */
static void
estimate_filter(PlannerInfo *root, RelOptInfo *rel, RelInfo *info, List *conds, List *filtered, int before, ScanSize *size)
{
	List	   *columns = NIL;
	double		jumps = size->scanned;

	size->passed = 0;
	size->jumps = 0;
	if (filtered == NIL || size->scanned < 1)
		return;
	for (int part = 0; part < before; part++)
	{
		WtColumn   *c = wt_key_column(info->t, part);

		if (!wt_part_is_single(conds, part))
			columns = lappend(columns, makeVar(rel->relid, c->attno, c->domain ? c->domain : c->typid, c->typmod, c->collation, 0));
	}
	if (columns != NIL)
		jumps = estimate_num_groups(root, columns, size->scanned, NULL, NULL);
	size->passed = size->scanned;
	size->scanned *= clauselist_selectivity(root, filtered, rel->relid, JOIN_INNER, NULL);
	size->jumps = Min(size->passed, jumps * Max(1, info->t->salt_buckets));
	/* each jump is to another block at most, and what is found lies behind it */
	size->blocks = Min(size->blocks, size->jumps + size->blocks * size->scanned / size->passed);
}

/*
 * The size of a scan with these conditions, chosen from clauses.
 */
static void
estimate_scan(PlannerInfo *root, RelOptInfo *rel, RelInfo *info, List *conds, List *clauses, ScanSize *size)
{
	WtTest	   *tests;
	int			ntests;
	WtArg	   *args;
	WtRanges	ranges;
	List	   *later,			/* conditions whose values are not known yet */
			   *rest = list_copy(clauses),
			   *unknown = NIL,	/* that the scan need not read what they leave out, but the ranges do not tell */
			   *filtered = NIL; /* that the key filter leaves out */
	ListCell   *lc;
	int			stop = info->t->nkeys,
				gap = 0;
	double		keys = key_count(info->t, conds);
	double		range_rows = info->tuples,
				share;
	bool		sampled;

	plan_values(root, conds, &tests, &ntests, &args, &later);
	size->blocks = info->blocks;
	size->near = outer_order(root, rel, conds);
	sampled = keys < 0 && estimate_by_samples(root, rel, info, tests, ntests, args, &range_rows, &size->blocks);
	/* clauses whose effect is in the ranges: up to the first part that is not known */
	foreach(lc, later)
		if (!sampled)
			stop = Min(stop, ((WtCond *) lfirst(lc))->part);
	foreach(lc, conds)
	{
		WtCond	   *c = lfirst(lc);

		if (c->exact && c->values == NIL && c->kind != WT_COND_OR)
			rest = list_delete_ptr(rest, c->rinfo);
		else if (c->ranged)
		{
			if ((sampled || !list_member_ptr(later, c)) && c->part < stop)
				rest = list_delete_ptr(rest, c->rinfo);
			else if (c->part != WT_PART_TS(info->t))
				/* by time only whole files are left out */
				unknown = lappend(unknown, c->rinfo);
		}
		else if (c->used)
		{
			filtered = lappend(filtered, c->rinfo);
			gap = Max(gap, c->part);
		}
	}
	size->ranges = Max(1, info->t->salt_buckets);
	if (sampled)
		;						/* known */
	else if (ntests > 0 && keys == 1 && stop == 0)
	{
		range_rows = info->tuples;
		if (info->t->cells_layout)
		{
			/* some row, and what the clauses leave of it */
			range_rows = Min(info->tuples, info->per_row);
			size->blocks = ceil(size->blocks * range_rows / Max(1, info->tuples));
			unknown = without_keys(info->t, conds, unknown);
			rest = without_keys(info->t, conds, rest);
		}
	}
	else if (ntests > 0)
	{
		wt_ranges(info->t, tests, ntests, args, &ranges);
		size->ranges = 0;
		for (int b = 0; b < ranges.nbuckets; b++)
			size->ranges += ranges.n[b];
		if (!info->exists)
			range_rows = 0;
		else if (ranges.points == ranges.total && !info->t->cells_layout)
		{
			range_rows = Min(info->tuples, ranges.total);
			size->blocks = Min(info->blocks, range_rows);
		}
		else if (!ranges.full)
			estimate_ranges(info, &ranges, &range_rows, &size->blocks);
	}
	size->scanned = range_rows * clauselist_selectivity(root, unknown, rel->relid, JOIN_INNER, NULL);
	size->rows = range_rows * clauselist_selectivity(root, rest, rel->relid, JOIN_INNER, NULL);
	if (keys >= 0)
	{
		size->ranges = Max(size->ranges, Min(keys, info->tuples));
		if (info->t->cells_layout)
			/* a row may have any number of cells, but one of a name */
			keys = !cell_is_single(info->t, conds) ? info->tuples :
				Max(1, keys * (wt_part_is_single(conds, WT_PART_FAMILY(info->t)) ? 1 : info->e.nall));
		size->scanned = Min(size->scanned, keys);
		size->rows = Min(size->rows, keys);
	}
	share = range_rows > 0 ? size->scanned / range_rows : 0;
	size->blocks *= share;
	estimate_filter(root, rel, info, conds, filtered, gap, size);
	size->rows = clamp_row_est(Min(size->rows, size->scanned));
	size->scanned = clamp_row_est(size->scanned);
	size->delivered = clamp_row_est(size->scanned * clauselist_selectivity(root, exact_filters(info->filters), rel->relid, JOIN_INNER, NULL));
	size->delivered = Max(size->delivered, size->rows);
	size->scanned = Max(size->scanned * info->recent, size->delivered);
	size->blocks *= info->recent;
}

/*
 * A range begins with a search in each family, which is cheap while all is in
 * memory and like a btree's descent, first block included, otherwise; then more
 * blocks and rows follow.  The start is paid once also by a scan that a join
 * restarts for each row of its other side (again), where much of it is saved
 * when the lookups come in the order of the key.
 */
static void
cost_scan(RelOptInfo *rel, RelInfo *info, const ScanSize *size, const QualCost *qual, bool again,
		  Cost *startup, Cost *total)
{
	double		seek = (info->blocks > 0 ? 0.125 * random_page_cost : 0) + SEEK_COST * cpu_operator_cost;
	double		cells = info->cells * info->families / Max(1, info->e.nall);
	double		seeks = Max(1, size->ranges) * info->families;
	double		tested = info->filters == NIL ? cells : cells * Min(info->filter_families, info->families) / info->families;

	if (again)
		seek *= 1 - (1 - NEAR_SEEK) * size->near;
	*startup = rel->reltarget->cost.startup + qual->startup + seek * info->families;
	if (!again)
		*startup += info->t->startup_cost;
	*total = *startup + seek * (seeks - info->families);
	*total += Max(0, ceil(size->blocks) - seeks) * seq_page_cost;
	/* rows that the engine leaves out: only the cells that it looks at, and no tuple */
	*total += size->scanned * (CELL_COST * cpu_operator_cost * tested + FILTER_SHARE * info->filter_cost.per_tuple);
	*total += size->delivered * (cpu_tuple_cost + info->t->tuple_cost + CELL_COST * cpu_operator_cost * (cells - tested) +
								 Max(0, qual->per_tuple - info->filter_cost.per_tuple));
	*total += Min(Max(0, size->passed - size->scanned) * PASS_COST * cells, size->jumps * SEEK_COST) * info->families *
		cpu_operator_cost;
	*total += size->rows * rel->reltarget->cost.per_tuple;
}

/* Which clauses the engine tests, and what that is worth. */
static void
prepare_filters(PlannerInfo *root, RelOptInfo *rel, RelInfo *info)
{
	Bitmapset  *families = NULL;
	ListCell   *lc,
			   *l;

	info->filters = wt_filters(rel, info->t, rel->baserestrictinfo);
	cost_qual_eval(&info->filter_cost, exact_filters(info->filters), root);
	info->recent = info->exists ? wt_filters_recent(root, info->t, &info->e, info->filters) : 1;
	foreach(lc, info->filters)
		foreach(l, ((WtFilter *) lfirst(lc))->leaves)
			families = bms_add_member(families, info->t->columns[((WtFilterLeaf *) lfirst(l))->attno - 1].family);
	info->filter_families = bms_num_members(families);
}

void
wtGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	RelInfo    *info = palloc0(sizeof(RelInfo));
	List	   *clauses = extract_actual_clauses(baserel->baserestrictinfo, false);
	Bitmapset  *wanted;
	int			strict,
				width = 0,
				i = -1;
	double		rows = 0,
				cells = 0;

	baserel->fdw_private = info;
	info->t = wt_table(relid);
	info->exists = wt_engine(info->t, false, &info->e);
	for (int f = 0; info->exists && f < info->e.nall; f++)
	{
		wide_range	whole = {{(const uint8 *) "", 0}, {NULL, 0}};
		wide_estimate est = {0};

		wt_check(wide_estimate_range(wt_db(), info->e.all[f], &whole, &est), "could not estimate");
		rows = Max(rows, est.rows);
		info->tuples = info->t->cells_layout ? info->tuples + est.cells : rows;
		info->blocks += est.blocks;
		cells += est.cells;
	}
	info->cells = info->t->cells_layout || rows < 1 ? 1 : Max(1, cells / rows);
	info->per_row = rows > 0 ? Max(1, info->tuples / rows) : 1;
	baserel->tuples = info->tuples;
	baserel->pages = (BlockNumber) Min(info->blocks, (double) MaxBlockNumber);

	wanted = wanted_attributes(baserel, info->t, clauses);
	strict = strict_family(baserel, info->t, clauses, wanted, &wanted);
	info->families = count_families(info, wanted, strict);
	info->conds = wt_conditions(root, baserel, info->t, baserel->baserestrictinfo);
	(void) wt_conditions_choose(info->t, info->conds);
	prepare_filters(root, baserel, info);
	estimate_scan(root, baserel, info, info->conds, baserel->baserestrictinfo, &info->size);
	baserel->rows = info->size.rows;

	while ((i = bms_next_member(wanted, i)) >= 0)
		width += get_typavgwidth(info->t->columns[i - 1].typid, info->t->columns[i - 1].typmod);
	if (baserel->reltarget->width <= 0)
		baserel->reltarget->width = width;
}

/* ------------------------------------------------------------------ order */

/* Does a column of this equivalence class stand for the part? */
static bool
class_has_part(RelOptInfo *rel, WtTable *t, EquivalenceClass *ec, int part)
{
	WtColumn   *c = wt_part_column(t, part);
	ListCell   *lc;

	if (c == NULL || ec->ec_has_volatile)
		return false;
	foreach(lc, ec->ec_members)
	{
		EquivalenceMember *em = lfirst(lc);
		Node	   *node = (Node *) em->em_expr;

		while (node && IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		if (node && IsA(node, Var) && ((Var *) node)->varno == (int) rel->relid &&
			((Var *) node)->varattno == c->attno && ((Var *) node)->varlevelsup == 0)
			return true;
	}
	return false;
}

/* Is the order of this path key the order of the part's bytes? */
bool
wt_part_sorts(WtTable *t, int part, Oid opfamily, Oid collation)
{
	WtColumn   *c = wt_part_column(t, part);

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
 * How many of the query's path keys a scan in key order satisfies, and in which
 * direction.  Parts that are bound to one value are passed over.  NULLS FIRST
 * or LAST does not matter: keys are not null.  In the layout 'cells' the cells
 * of a row go on in the order of family, qualifier and version, which is the
 * same in a scan backwards.
 */
static int
match_pathkeys(PlannerInfo *root, RelOptInfo *rel, WtTable *t, List *conds, bool *reverse)
{
	int			parts = t->cells_layout ? WT_PART_VERSION(t) + 1 : t->nkeys;
	int			part = 0,
				n = 0;
	bool		directed = false;
	ListCell   *lc;

	foreach(lc, root->query_pathkeys)
	{
		PathKey    *pk = lfirst(lc);
		bool		backward;
		int			at;

		while (part < parts && !class_has_part(rel, t, pk->pk_eclass, part) && wt_part_is_single(conds, part))
			part++;
		/* the versions of a cell by number, or by time from the newest, which is the same */
		at = part == WT_PART_VERSION(t) && !class_has_part(rel, t, pk->pk_eclass, part) ? WT_PART_TS(t) : part;
		if (part == parts || !class_has_part(rel, t, pk->pk_eclass, at) ||
			!wt_part_sorts(t, at, pk->pk_opfamily, pk->pk_eclass->ec_collation))
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

/* The path keys of a scan in one direction, as far as anybody has an interest in them. */
static List *
scan_pathkeys(PlannerInfo *root, RelOptInfo *rel, WtTable *t, List *conds, bool reverse)
{
	List	   *out = NIL;
	Oid			relid = planner_rt_fetch(rel->relid, root)->relid;

	for (int part = 0; part < t->nkeys; part++)
	{
		WtColumn   *c = &t->columns[t->keys[part]];
		Oid			sorted = c->typid == VARCHAROID ? TEXTOID : c->typid;
		TypeCacheEntry *tc = lookup_type_cache(sorted, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
		bool		descending = wt_part_is_descending(t, part) != reverse;
		Oid			type,
					collation,
					opr = descending ? tc->gt_opr : tc->lt_opr;
		int32		typmod;
		List	   *one;
		PathKey    *pk;
		bool		known = false;
		ListCell   *lc;

		if (!OidIsValid(opr))
			break;
		get_atttypetypmodcoll(relid, c->attno, &type, &typmod, &collation);
		one = wt_expression_pathkey(root, (Expr *) makeVar(rel->relid, c->attno, type, typmod, collation, 0), opr, rel->relids);
		if (one == NIL)
		{
			if (wt_part_is_single(conds, part))
				continue;
			break;
		}
		pk = linitial(one);
		if (EC_MUST_BE_REDUNDANT(pk->pk_eclass))
			continue;
		if (!wt_part_sorts(t, part, pk->pk_opfamily, pk->pk_eclass->ec_collation))
		{
			if (wt_part_is_single(conds, part))
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

static void
add_scan_path(PlannerInfo *root, RelOptInfo *rel, RelInfo *info, const ScanSize *size, List *pathkeys, bool reverse,
			  Relids outer, const QualCost *qual)
{
	Cost		startup,
				total;

	cost_scan(rel, info, size, qual, !bms_is_empty(outer), &startup, &total);
	if (pathkeys != NIL && info->t->salt_buckets > 1)
	{
		/* the buckets are merged */
		startup += info->t->salt_buckets * cpu_operator_cost;
		total += info->t->salt_buckets * cpu_operator_cost +
			size->scanned * log2(info->t->salt_buckets) * cpu_operator_cost;
	}
	add_path(rel, (Path *) wt_create_foreignscan_path(root, rel, NULL, size->rows, startup, total, pathkeys, outer,
													  list_make2(makeInteger(reverse), makeInteger(pathkeys != NIL))));
}

/*
 * The same scan dealt out between processes.  As a sequential scan's: the work is
 * divided, the reading of blocks is not.  The leader gives the less of its time
 * to the scan the more workers hand it rows.
 */
static void
add_partial_scan_path(PlannerInfo *root, RelOptInfo *rel, RelInfo *info, const ScanSize *size, List *pathkeys,
					  bool reverse, const QualCost *qual)
{
	double		pages = Max(size->blocks * BLOCK_PAGES, size->scanned * info->cells * CELL_BYTES / BLCKSZ);
	int			workers = compute_parallel_worker(rel, pages, -1, max_parallel_workers_per_gather);
	double		divisor = workers + (parallel_leader_participation ? Max(0, 1.0 - 0.3 * workers) : 0);
	Cost		startup,
				total,
				io;
	ForeignPath *path;

	if (workers <= 0)
		return;
	cost_scan(rel, info, size, qual, false, &startup, &total);
	io = Min(total - startup, Max(0, ceil(size->blocks) - Max(1, size->ranges) * info->families) * seq_page_cost);
	path = wt_create_foreignscan_path(root, rel, NULL, clamp_row_est(size->rows / divisor), startup,
									  startup + io + (total - startup - io) / divisor, pathkeys, NULL,
									  list_make2(makeInteger(reverse), makeInteger(pathkeys != NIL)));
	path->path.parallel_aware = true;
	path->path.parallel_workers = workers;
	add_partial_path(rel, (Path *) path);
}

/* A scan, and if possible its partial sister.  Buckets of salt cannot be merged and dealt out at once. */
static void
add_scan_paths(PlannerInfo *root, RelOptInfo *rel, RelInfo *info, const ScanSize *size, List *pathkeys, bool reverse,
			   const QualCost *qual)
{
	add_scan_path(root, rel, info, size, pathkeys, reverse, rel->lateral_relids, qual);
	if (rel->consider_parallel && bms_is_empty(rel->lateral_relids) && (pathkeys == NIL || info->t->salt_buckets <= 1))
		add_partial_scan_path(root, rel, info, size, pathkeys, reverse, qual);
}

static void
add_ordered_paths(PlannerInfo *root, RelOptInfo *rel, RelInfo *info, const ScanSize *size, const QualCost *qual)
{
	bool		reverse = false;
	int			n;

	if (!wt_enable_pushdown)
		return;
	n = match_pathkeys(root, rel, info->t, info->conds, &reverse);
	if (n > 0)
	{
		List	   *keys = list_copy(root->query_pathkeys);

		add_scan_paths(root, rel, info, size, list_truncate(keys, n), reverse, qual);
	}
	if (!has_useful_pathkeys(root, rel))
		return;
	for (int back = 0; back < 2; back++)
	{
		List	   *keys = scan_pathkeys(root, rel, info->t, info->conds, back);

		if (keys != NIL)
			add_scan_paths(root, rel, info, size, keys, back, qual);
	}
}

/* Which column generate_implied_equalities_for_column shall look for. */
typedef struct ColumnArg
{
	AttrNumber	attno;
} ColumnArg;

static bool
member_is_column(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em, void *arg)
{
	Node	   *node = (Node *) em->em_expr;

	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node && IsA(node, Var) && ((Var *) node)->varno == (int) rel->relid &&
		((Var *) node)->varattno == ((ColumnArg *) arg)->attno;
}

static List *
add_outer(List *outers, RelOptInfo *rel, Relids relids)
{
	Relids		outer = bms_del_member(bms_union(relids, rel->lateral_relids), rel->relid);
	ListCell   *lc;

	if (bms_is_empty(outer))
		return outers;
	foreach(lc, outers)
		if (bms_equal(lfirst(lc), outer))
			return outers;
	return lappend(outers, outer);
}

/* The sets of other tables that can give values to parts of the key. */
static List *
useful_outers(PlannerInfo *root, RelOptInfo *rel, WtTable *t)
{
	List	   *clauses = NIL,
			   *outers = NIL;
	Relids		all = NULL;
	ListCell   *lc;

	foreach(lc, rel->joininfo)
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (join_clause_is_movable_to(rinfo, rel))
			clauses = lappend(clauses, rinfo);
	}
	if (rel->has_eclass_joins)
		for (int part = 0; part <= (t->cells_layout ? WT_PART_QUALIFIER(t) : t->nkeys - 1); part++)
		{
			WtColumn   *column = wt_part_column(t, part);
			ColumnArg	arg;

			if (column == NULL)
				continue;
			arg.attno = column->attno;
			clauses = list_concat(clauses, generate_implied_equalities_for_column(root, rel, member_is_column, &arg,
																				 rel->lateral_referencers));
		}
	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (wt_conditions(root, rel, t, list_make1(rinfo)) != NIL)
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
add_parameterized_paths(PlannerInfo *root, RelOptInfo *rel, RelInfo *info)
{
	ListCell   *lc;

	foreach(lc, useful_outers(root, rel, info->t))
	{
		Relids		outer = lfirst(lc);
		ParamPathInfo *ppi = get_baserel_parampathinfo(root, rel, outer);
		List	   *clauses = list_concat_copy(rel->baserestrictinfo, ppi->ppi_clauses);
		List	   *conds = wt_conditions(root, rel, info->t, clauses);
		ListCell   *c;
		bool		useful = false;
		ScanSize	size;
		QualCost	qual;

		(void) wt_conditions_choose(info->t, conds);
		foreach(c, conds)
		{
			WtCond	   *cond = lfirst(c);

			useful |= cond->ranged && list_member_ptr(ppi->ppi_clauses, cond->rinfo);
		}
		if (!useful)
			continue;
		estimate_scan(root, rel, info, conds, clauses, &size);
		cost_qual_eval(&qual, clauses, root);
		ppi->ppi_rows = size.rows;
		add_scan_path(root, rel, info, &size, NIL, false, outer, &qual);
	}
}

void
wtGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	RelInfo    *info = baserel->fdw_private;
	ScanSize	size = info->size;

	size.rows = baserel->rows;
	add_scan_paths(root, baserel, info, &size, NIL, false, &baserel->baserestrictcost);
	add_ordered_paths(root, baserel, info, &size, &baserel->baserestrictcost);
	add_parameterized_paths(root, baserel, info);
}

/* ------------------------------------------------------------- aggregates */

bool
wt_plan_scan(PlannerInfo *root, RelOptInfo *rel, WtScanPlan *out)
{
	RelInfo    *info = rel->fdw_private;
	ScanSize	size;

	if (lock_mode(root, rel) != WT_LOCK_NONE)
		return false;
	memset(out, 0, sizeof(*out));
	estimate_scan(root, rel, info, info->conds, rel->baserestrictinfo, &size);
	cost_scan(rel, info, &size, &rel->baserestrictcost, false, &out->startup, &out->total);
	out->t = info->t;
	out->rows = rel->rows;
	out->scanned = size.scanned;
	out->delivered = size.delivered;
	out->merge = info->t->salt_buckets > 1 ? size.scanned * log2(info->t->salt_buckets) * cpu_operator_cost : 0;
	out->seek = ((info->blocks > 0 ? seq_page_cost : 0) + SEEK_COST * cpu_operator_cost) *
		info->families * Max(1, info->t->salt_buckets);
	out->conds = info->conds;
	out->npathkeys = match_pathkeys(root, rel, info->t, info->conds, &out->reverse);
	return true;
}

/* ------------------------------------------------------------------- plan */

/*
 * Rows are locked by the scan when they are to be changed, or asked for with
 * FOR UPDATE and its relatives.
 */
static WtLock
lock_mode(PlannerInfo *root, RelOptInfo *rel)
{
	PlanRowMark *mark;

	if (bms_is_member(rel->relid, root->all_result_relids))
		return WT_LOCK_WAIT;
	mark = get_plan_rowmark(root->rowMarks, rel->relid);
	if (mark == NULL || mark->strength == LCS_NONE)
		return WT_LOCK_NONE;
	switch (mark->waitPolicy)
	{
		case LockWaitSkip:
			return WT_LOCK_SKIP;
		case LockWaitError:
			return WT_LOCK_NOWAIT;
		default:
			return WT_LOCK_WAIT;
	}
}

/* Rows that the scan is asked for at most, as text; empty when that is not known. */
static char *
limit_text(PlannerInfo *root, RelOptInfo *rel, List *pathkeys)
{
	if (root->limit_tuples <= 0 || !bms_equal(root->all_baserels, rel->relids) ||
		!pathkeys_contained_in(root->query_pathkeys, pathkeys))
		return "";
	return psprintf("%.0f", root->limit_tuples);
}

/* ruleutils.c cannot show these. */
static bool
has_placeholder(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, PlaceHolderVar) || expression_tree_walker(node, has_placeholder, context);
}

static List *
attribute_list(Bitmapset *attrs)
{
	List	   *out = NIL;
	int			i = -1;

	while ((i = bms_next_member(attrs, i)) >= 0)
		out = lappend_int(out, i);
	return out;
}

/*
 * What the scan has to deliver for these clauses and the target list; exact:
 * clauses that the engine answers.  Their columns are not delivered, but they
 * too say which rows exist.  With existence 'projected' a family that is tested
 * counts as read, unless a row must have a cell in another one anyway.
 */
static Bitmapset *
choose_attributes(RelOptInfo *rel, WtTable *t, List *rest, List *exact, int *strict)
{
	List	   *all = list_concat_copy(get_actual_clauses(exact), rest);
	Bitmapset  *read = wanted_attributes(rel, t, all),
			   *wanted = wanted_attributes(rel, t, rest);

	*strict = t->cells_layout ? -1 : strict_family(rel, t, all, read, &wanted);
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
 * Clauses for the engine.  A scan is opened anew when what it tests has changed:
 * for the lookup of a key, as in a subquery that runs for each row of another
 * table, that would cost more than it saves.
 */
static List *
choose_filters(RelOptInfo *rel, WtTable *t, List *conds, List *clauses)
{
	List	   *out = NIL;
	ListCell   *lc;
	bool		lookup = key_count(t, conds) >= 0;

	foreach(lc, wt_filters(rel, t, clauses))
	{
		WtFilter   *filter = lfirst(lc);

		if (!lookup || !has_exec_param((Node *) filter->rinfo->clause, NULL))
			out = lappend(out, filter);
	}
	return out;
}

/*
 * Will EvalPlanQual ask about rows of this plan?  Only of what is changed or
 * locked, and of what is joined to that, which has row marks of its own.  For
 * others the executor need not prepare the clauses each time it starts.
 */
static bool
may_recheck(PlannerInfo *root)
{
	return root->rowMarks != NIL || root->parse->resultRelation != 0;
}

ForeignScan *
wtGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel, Oid relid, ForeignPath *best_path,
				 List *tlist, List *scan_clauses, Plan *outer_plan)
{
	RelInfo    *info = baserel->fdw_private;
	List	   *conds = wt_conditions(root, baserel, info->t, scan_clauses);
	List	   *chosen = NIL,
			   *tests = NIL,
			   *exprs = NIL,
			   *types = NIL,
			   *answered = NIL,
			   *recheck = NIL,
			   *rest = NIL,
			   *filters,
			   *predicates,
			   *exact,
			   *flags,
			   *show,
			   *private;
	ListCell   *lc;
	Bitmapset  *wanted;
	int			strict;
	WtLock		lock;
	WtColumn   *number = info->t->cells_layout ? wt_part_column(info->t, WT_PART_NO(info->t)) : NULL;

	(void) wt_conditions_choose(info->t, conds);
	/* a cell's number in its row counts all of them, also those that other conditions leave out */
	if (number != NULL && !bms_is_member(number->attno, wanted_attributes(baserel, info->t, get_actual_clauses(scan_clauses))))
		number = NULL;
	foreach(lc, conds)
	{
		WtCond	   *c = lfirst(lc);

		if (number != NULL && c->part >= info->t->nkeys && c->part != WT_PART_NO(info->t))
			continue;
		if (c->exact)
			answered = lappend(answered, c->rinfo);
		chosen = lappend(chosen, c);
	}
	foreach(lc, wt_conditions_flat(chosen, false))
	{
		WtFlat	   *f = lfirst(lc);

		tests = lappend(tests, lappend_int(list_make5_int(f->c->part, f->c->kind, list_length(exprs),
														  list_length(f->c->values), f->number), f->arm));
		exprs = list_concat(exprs, list_copy(f->c->values));
		types = list_concat(types, list_copy(f->c->types));
	}
	lock = lock_mode(root, baserel);
	filters = choose_filters(baserel, info->t, conds, scan_clauses);
	predicates = wt_filters_plan(filters, &exprs, &types);
	/* a row that is locked has to pass again in its newest state */
	exact = lock == WT_LOCK_NONE ? exact_filters(filters) : NIL;
	foreach(lc, filters)
		recheck = lappend(recheck, ((WtFilter *) lfirst(lc))->rinfo->clause);
	foreach(lc, scan_clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (rinfo->pseudoconstant)
			continue;
		if (list_member_ptr(answered, rinfo))
		{
			if (may_recheck(root))
				recheck = lappend(recheck, rinfo->clause);
		}
		else if (!list_member_ptr(exact, rinfo))
			rest = lappend(rest, rinfo->clause);
	}
	wanted = choose_attributes(baserel, info->t, rest, exact, &strict);
	flags = list_make5_int(strict,
						   intVal(linitial(best_path->fdw_private)),
						   intVal(lsecond(best_path->fdw_private)),
						   lock,
						   (int) baserel->relid);
	flags = lappend_int(flags, list_length(filters));

	/* with variables of other tables, for EXPLAIN: they become parameters of the join */
	show = contain_var_clause((Node *) exprs) && !has_placeholder((Node *) exprs, NULL) ? copyObject(exprs) : NIL;
	private = list_make5(tests, types, attribute_list(wanted), flags,
						 makeString(limit_text(root, baserel, best_path->path.pathkeys)));
	private = lappend(lappend(private, show), predicates);
	return make_foreignscan(tlist, rest, baserel->relid, exprs, private, NIL, recheck, outer_plan);
}

bool
wtIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	/* the transaction's own writes are private to this process; see also xact.c, begin_parallel */
	return wt_enable_parallel_scan && wt_batch(false) == NULL;
}

WtTest *
wt_plan_tests(List *fdw_private, int *n)
{
	List	   *tests = list_nth(fdw_private, WtPrivateTests);
	WtTest	   *out = palloc(sizeof(WtTest) * Max(1, list_length(tests)));
	ListCell   *lc;

	*n = 0;
	foreach(lc, tests)
	{
		List	   *test = lfirst(lc);
		WtTest	   *t = &out[(*n)++];

		t->part = linitial_int(test);
		t->kind = lsecond_int(test);
		t->first = lthird_int(test);
		t->n = lfourth_int(test);
		t->clause = list_nth_int(test, 4);
		t->arm = list_nth_int(test, 5);
	}
	return out;
}

/*
 * scan.c
 *		A scan of one table.
 *
 * A scan consists of key ranges, a row reader (fdw/row/reader.c) and one engine scan; if the
 * table has salt and order matters, of one engine scan for each bucket, merged by key.  The
 * ranges are computed when the first row is fetched, and again after a rescan unless all
 * conditions are constants.  The engine scans are opened once and restarted with new ranges;
 * they are opened again only if other conditions on cells change what they read.
 *
 * Scans of UPDATE, DELETE and FOR UPDATE lock each row that passes the quals (scan_lock.c).
 *
 * Memory: the values of a row live in rowcxt, reset at the next row; the bytes of the ranges
 * and predicates in range.cxt, reset when they are computed again; the reader and what belongs
 * to it in open.cxt, reset when the scans are closed.
 */
#include "postgres.h"

#include "fdw/scan/scan.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapshot.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/derived/online_build.h"
#include "fdw/key/key_filter.h"
#include "fdw/key/key_range.h"
#include "fdw/key/key_test.h"
#include "fdw/plan/cell_predicate.h"
#include "fdw/plan/plan_private.h"
#include "fdw/row/cell_read.h"
#include "fdw/row/reader.h"
#include "fdw/row/reader_span.h"
#include "fdw/row/scan_set.h"
#include "fdw/scan/chunk.h"
#include "fdw/scan/index_scan.h"
#include "fdw/scan/lookup.h"
#include "fdw/scan/loose_filter.h"
#include "fdw/scan/scan_cache.h"
#include "fdw/scan/scan_state.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/engine.h"
#include "fdw/table/table.h"
#include "fdw/xact/engine_scan.h"

/* Layout cells, with a limit: bounds on the cells that the engine returns at a time. */
#define MIN_ROW_CELLS 64
#define MAX_ROW_CELLS 4096

static void
begin_conditions(WtScanState *st, List *private, List *exprs)
{
	WtScanConditions *c = &st->cond;
	ListCell *e, *type;
	int i = 0;

	c->tests = wt_plan_private_array(list_nth(private, WtPrivateTests), sizeof(WtTest), &c->ntests);
	c->leaves = wt_plan_private_array(list_nth(private, WtPrivatePredicates), sizeof(WtLeaf),
									  &c->nleaves);
	c->nargs = list_length(exprs);
	c->args = palloc0(sizeof(WtArg) * Max(1, c->nargs));
	c->exprs = ExecInitExprList(exprs, st->ps);
	c->constant = true;
	foreach(e, exprs)
		c->constant = c->constant && IsA(lfirst(e), Const);
	/* of a scan by an index the list has the types of the index's values, and these are no args */
	forboth(e, exprs, type, (List *) list_nth(private, WtPrivateTypes))
		c->args[i++].type = lfirst_oid(type);
	for (int k = 0; k < c->ntests; k++)
		c->decide = c->decide || c->tests[k].part >= st->t->nkeys;
	c->key_filter = wt_key_filter_possible(st->t, c->tests, c->ntests);
}

/* Returns: the user whose privileges PostgreSQL has checked for the scan. */
static Oid
checked_user(const PlanState *ps)
{
	Oid user = wt_user_of_scan(castNode(ForeignScan, ps->plan), ps->state);

	return OidIsValid(user) ? user : GetUserId();
}

/* wt_scan_begin() for a table, or an index in its place. */
static WtScanState *
begin_scan(WtTable *t, List *private, List *exprs, PlanState *ps, bool cacheable)
{
	WtScanState *st = palloc0(sizeof(WtScanState));
	ListCell *lc;

	st->cxt = CurrentMemoryContext;
	st->ps = ps;
	st->t = t;
	if (st->t->engine != NULL)
		st->user = checked_user(ps);
	st->exists = wt_engine_table_as(st->t, st->user, false, &st->e);
	begin_conditions(st, private, exprs);
	st->columns = palloc0(sizeof(bool) * Max(1, st->t->natts));
	foreach(lc, (List *) list_nth(private, WtPrivateColumns))
		if (lfirst_int(lc) <= st->t->natts)
			st->columns[lfirst_int(lc) - 1] = true;
	st->strict = wt_plan_private_flag(private, WtFlagStrictFamily);
	st->reverse = wt_plan_private_flag(private, WtFlagReverse);
	st->ordered = wt_plan_private_flag(private, WtFlagOrdered);
	st->limit = DatumGetFloat8(list_nth_node(Const, private, WtPrivateLimit)->constvalue);
	st->lock = wt_plan_private_flag(private, WtFlagLock);
	if (wt_plan_private_flag(private, WtFlagLookups) != 0)
		st->lookup = wt_lookup(ps->state, wt_plan_private_flag(private, WtFlagLookups));
	/* like the snapshot: a cursor uses the setting of the time when it was opened */
	st->as_of = wt_clock_as_of();
	if (st->lock != WT_LOCK_NONE && st->as_of != PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change or lock rows of \"%s\" while widetable.as_of is set",
						get_rel_name(t->relid)),
				 errhint("SET widetable.as_of = ''.")));
	st->cacheable = cacheable && wt_scan_cache_possible(st);
	/* layout cells: wt_scan_start takes one, when the values are known */
	if (st->cacheable && !st->t->cells_layout)
		wt_scan_cache_take(st);
	if (st->exists && st->open.state == WT_OPEN_NONE && wt_engine_can(st->t, WT_CAN_SNAPSHOT))
		st->held = wt_engine_scan_hold_snapshot(ps->state->es_snapshot);
	if (st->open.state == WT_OPEN_NONE)
		st->open.cxt = AllocSetContextCreate(st->cxt, "widetable readers", ALLOCSET_DEFAULT_SIZES);
	st->rowcxt = AllocSetContextCreate(st->cxt, "widetable row", ALLOCSET_DEFAULT_SIZES);
	st->range.cxt = AllocSetContextCreate(st->cxt, "widetable ranges", ALLOCSET_SMALL_SIZES);
	return st;
}

WtScanState *
wt_scan_begin(Oid relid, List *private, List *exprs, PlanState *ps, bool cacheable)
{
	List *by = list_nth(private, WtPrivateIndex);
	WtScanState *st;
	WtIndex *x;

	if (by == NIL)
	{
		WtTable *t = wt_table(relid);

		wt_online_build_check_read(t, ps->state->es_snapshot);
		return begin_scan(t, private, exprs, ps, cacheable);
	}
	x = wt_index_scan_index((Oid) linitial_int(linitial(by)), ps);
	/* its plan was made without; who sets it has plans made anew */
	if (wt_clock_as_of() != PG_INT64_MAX)
		elog(ERROR, "index \"%s\" has no past", get_rel_name(x->relid));
	if (list_length(by) == 1)
		return begin_scan(x->projection, private, exprs, ps, cacheable);
	st = begin_scan(x->base, private, NIL, ps, cacheable);
	st->index = wt_index_scan_make(x, begin_scan(x->projection, lsecond(by), exprs, ps, true),
								   wt_scan_fetch);
	return st;
}

/*
 * Returns true if the scan reads all columns.  In REPEATABLE READ a locked row that another
 * transaction has changed since the snapshot is a conflict, even if the change is in a column
 * that the statement does not read.
 */
static bool
reads_all(WtScanState *st)
{
	return st->lock != WT_LOCK_NONE && IsolationUsesXactSnapshot() && !st->t->cells_layout;
}

/* Changes a reader and its specification so that they read all columns of their families. */
static void
whole_families(WtRowReader *r, wide_scan_spec *spec)
{
	wide_scan_family *fams = (wide_scan_family *) spec->families;
	int n = 0;

	for (int i = 0; i < spec->nfamilies; i++)
	{
		bool again = false;

		if (fams[i].want != WIDE_WANT_ALL)
		{
			fams[i].want = WIDE_WANT_ALL;
			fams[i].max_versions = 1;
		}
		/* a family may have had an entry by columns and one by qualifier; one is enough now */
		for (int j = 0; j < n; j++)
			again = again || fams[j].id == fams[i].id;
		if (again)
			continue;
		fams[n] = fams[i];
		r->families[n++] = r->families[i];
	}
	spec->nfamilies = r->nfamilies = n;
}

WtRowReader *
wt_scan_reader(WtScanState *st, wide_scan_spec *spec)
{
	WtRowReader *r = wt_reader_make(st->t, &st->e, st->columns, reads_all(st) ? -1 : st->strict,
									st->cond.tests, st->cond.ntests, st->cond.args, spec);

	r->track = st->lock != WT_LOCK_NONE;
	r->floors = st->floors;
	r->floor_only = st->bare;
	if (reads_all(st))
		whole_families(r, spec);
	return r;
}

/* Evaluates the expressions, and computes the key ranges and predicates from their values. */
static void
compute_ranges(WtScanState *st, ExprContext *econtext)
{
	MemoryContext old;
	ListCell *lc;
	int i = 0;

	MemoryContextReset(st->range.cxt);
	old = MemoryContextSwitchTo(st->range.cxt);
	foreach(lc, st->cond.exprs)
	{
		WtArg *arg = &st->cond.args[i++];

		arg->value = ExecEvalExpr((ExprState *) lfirst(lc), econtext, &arg->isnull);
		arg->known = true;
	}
	wt_key_range_make(st->t, st->cond.tests, st->cond.ntests, st->cond.args, &st->range.ranges);
	if (st->range.ranges.filter != NULL && !st->cond.key_filter)
		elog(ERROR, "unexpected conditions on later parts of the key");
	st->range.key_filter.filter = st->range.ranges.filter;
	wt_cell_predicate_make(st->t, &st->e, st->cond.leaves, st->cond.nleaves, st->cond.args,
						   &st->range.predicates);
	st->chunk.ranges = NULL;
	MemoryContextSwitchTo(old);
}

/* Puts the ranges of all buckets into one list if one engine scan can read them in turn. */
static void
flatten_ranges(WtScanState *st)
{
	WtRanges *r = &st->range.ranges;
	wide_range *all;
	Size total = 0, n = 0;

	if (r->nbuckets == 1 || st->ordered)
		return;
	for (int b = 0; b < r->nbuckets; b++)
		total += r->n[b];
	all = MemoryContextAllocHuge(st->range.cxt, sizeof(wide_range) * Max(1, total));
	for (int b = 0; b < r->nbuckets; b++)
	{
		wt_bytes_copy(&all[n], r->ranges[b], sizeof(wide_range) * r->n[b]);
		n += r->n[b];
	}
	r->nbuckets = 1;
	r->n[0] = (int) n;
	r->ranges[0] = all;
}

/* Hides cells that are newer than widetable.as_of, if it is set. */
static void
limit_times(WtScanState *st, wide_scan_spec *spec)
{
	if (st->as_of == PG_INT64_MAX)
		return;
	spec->ts_min = PG_INT64_MIN;
	spec->ts_max = st->as_of + 1;
}

const WtRanges *
wt_scan_ranges(WtScanState *st)
{
	compute_ranges(st, st->ps->ps_ExprContext);
	flatten_ranges(st);
	return &st->range.ranges;
}

/* Returns the ranges that engine scan b reads. */
static const wide_range *
ranges_of(const WtScanState *st, int b, int *n)
{
	*n = st->chunk.shared != NULL ? st->chunk.n : st->range.ranges.n[b];
	return st->chunk.shared != NULL ? st->chunk.ranges : st->range.ranges.ranges[b];
}

/* Returns how many rows of the engine are probably read; 0: not known.  In the layout cells each of
 * them gives several. */
static uint64
row_hint(const WtScanState *st)
{
	return st->t->cells_layout && st->t->engine == NULL ? 0 : (uint64) st->limit;
}

/* Makes the reader and the specification, in CurrentMemoryContext. */
static void
make_reader(WtScanState *st)
{
	WtOpenScan *o = &st->open;

	memset(&o->spec, 0, sizeof(o->spec));
	o->reader = wt_scan_reader(st, &o->spec);
	o->spec.reverse = st->reverse;
	/* rows that wait in a merge of buckets may have to be copied */
	o->spec.by_column = st->range.ranges.nbuckets == 1 && wt_reader_span_possible(o->reader);
	if (st->cond.key_filter)
	{
		st->range.key_filter.reverse = st->reverse;
		o->spec.row_filter = wt_key_filter;
		o->spec.filter_arg = &st->range.key_filter;
	}
	if (st->t->cells_layout && st->limit > 0 && st->limit < MAX_ROW_CELLS)
		o->spec.row_cells = (uint32_t) Max(st->limit, MIN_ROW_CELLS);
	o->spec.row_hint = row_hint(st);
	limit_times(st, &o->spec);
	wt_cell_predicate_attach(&st->range.predicates, st->t, &st->e, o->reader, &o->spec);
	if (st->cond.nleaves > 0)
	{
		initStringInfo(&o->predicates);
		wt_cell_predicate_print(&st->range.predicates, &o->predicates);
	}
	if (st->t->cells_layout)
	{
		initStringInfo(&o->cells);
		if (!wt_scan_cache_print_cells(st, &o->cells))
			o->cells.data = NULL;
		st->cacheable = st->cacheable && o->cells.data != NULL;
	}
	if (st->loose != NULL)
	{
		st->loose->inner = o->spec.row_filter;
		st->loose->inner_arg = o->spec.filter_arg;
		o->spec.row_filter = wt_loose_filter;
		o->spec.filter_follows = true;
		o->spec.filter_arg = st->loose;
	}
}

/* Makes the reader and opens the engine scans. */
static void
open_scans(WtScanState *st, Snapshot snapshot)
{
	MemoryContext old = MemoryContextSwitchTo(st->open.cxt);
	WtScanSet *s = &st->open.set;

	st->opens++;
	make_reader(st);
	memset(s, 0, sizeof(*s));
	s->reverse = st->reverse;
	s->n = st->open.spec.nfamilies > 0 ? st->range.ranges.nbuckets : 0;
	s->scans = palloc0(sizeof(WtEngineScan *) * Max(1, s->n));
	if (s->n > 1)
		wt_scan_set_merge(s);
	for (int b = 0; b < s->n; b++)
	{
		st->open.spec.ranges = ranges_of(st, b, &st->open.spec.nranges);
		s->scans[b] = wt_engine_scan_open(snapshot, &st->open.spec);
	}
	st->open.state = WT_OPEN_ALL;
	MemoryContextSwitchTo(old);
}

/* Gives ranges to the engine scan that wt_scan_cache_take has found. */
static void
open_cached(WtScanState *st)
{
	int n;
	const wide_range *ranges = ranges_of(st, 0, &n);

	st->opens++;
	st->open.state = WT_OPEN_ALL;
	wt_engine_scan_reuse_ranges(st->open.set.scans[0], ranges, n, row_hint(st));
}

static void
restart_scans(WtScanState *st)
{
	for (int b = 0; b < st->open.set.n; b++)
	{
		int n;
		const wide_range *ranges = ranges_of(st, b, &n);

		wt_engine_scan_restart(st->open.set.scans[b], ranges, n);
	}
}

void
wt_scan_add_work(WtScanWork *to, const WtScanWork *from)
{
	for (size_t i = 0; i < sizeof(WtScanWork) / sizeof(uint64); i++)
		((uint64 *) to)[i] += ((const uint64 *) from)[i];
}

/* Adds what the open scans have done. */
static void
add_open(const WtOpenScan *o, WtScanWork *work)
{
	/* a cached scan has only worked for another statement */
	if (o->state != WT_OPEN_ALL)
		return;
	work->bad_keys += o->reader->bad_keys;
	for (int b = 0; b < o->set.n; b++)
	{
		WtScanWork one = {0};

		wt_engine_scan_work(o->set.scans[b], &one.stats, &one.other);
		wt_scan_add_work(work, &one);
	}
}

static void
close_scans(WtScanState *st)
{
	WtOpenScan *o = &st->open;

	add_open(o, &st->past);
	for (int b = 0; b < o->set.n; b++)
		wt_engine_scan_close(o->set.scans[b]);
	wt_engine_scan_close(st->newest.scan);
	st->newest.scan = NULL;
	st->newest.reader = NULL;
	st->newest.subid = InvalidSubTransactionId;
	o->reader = NULL;
	o->set.n = 0;
	o->state = WT_OPEN_NONE;
	MemoryContextReset(o->cxt);
}

/* Returns true if the predicates have changed since the scans were opened. */
static bool
predicates_changed(WtScanState *st)
{
	StringInfoData now;
	bool same;

	if (st->cond.nleaves == 0)
		return false;
	initStringInfo(&now);
	wt_cell_predicate_print(&st->range.predicates, &now);
	same = wt_bytes_cmp(wt_bytes_of(&now), wt_bytes_of(&st->open.predicates)) == 0;
	pfree(now.data);
	return !same;
}

bool
wt_scan_start(WtScanState *st)
{
	WtScanSet *s = &st->open.set;
	bool anything = false, next_chunk = st->phase == WT_SCAN_CHUNK;

	if (!st->exists || st->phase == WT_SCAN_OVER)
		return false;
	if (st->index != NULL)
	{
		if (!wt_index_scan_next(st))
			return false;
	}
	else if (!next_chunk && (!st->cond.constant || st->range.ranges.n == NULL))
		(void) wt_scan_ranges(st);
	for (int b = 0; b < st->range.ranges.nbuckets; b++)
		anything = anything || st->range.ranges.n[b] > 0;
	if (!anything || st->range.predicates.never || (st->chunk.shared != NULL && !wt_chunk_next(st)))
		return false;
	/* the new values may ask for other families, or make other predicates */
	if (st->open.state == WT_OPEN_ALL && !st->cond.constant && !next_chunk &&
		((st->cond.decide && !wt_scan_cache_same_cells(st, &st->open.cells)) ||
		 predicates_changed(st)))
		close_scans(st);
	if (st->cacheable && st->open.state == WT_OPEN_NONE && st->t->cells_layout)
		wt_scan_cache_take(st);
	if (st->open.state == WT_OPEN_NONE)
		open_scans(st, st->ps->state->es_snapshot);
	else if (st->open.state == WT_OPEN_CACHED)
		open_cached(st);
	else
		restart_scans(st);
	if (st->lookup != NULL && st->lookup->fresh && s->n == 1)
	{
		wt_engine_scan_prefetch(s->scans[0], st->lookup->keys, st->lookup->n);
		st->lookup->fresh = false;
	}
	s->last = s->merge ? -1 : 0;
	s->started = false;
	st->open.reader->row_scan = NULL;
	st->phase = WT_SCAN_READY;
	return s->n > 0;
}

void
wt_scan_unsure(WtScanState *st, wide_bytes key)
{
	bool *columns = palloc0(sizeof(bool) * Max(1, st->t->natts));
	Datum *values = palloc(sizeof(Datum) * Max(1, st->t->natts));
	bool *nulls = palloc(sizeof(bool) * Max(1, st->t->natts));
	wide_scan_spec spec = {0};
	StringInfoData buf;
	wide_range range;
	WtRowReader *r;
	WtEngineScan *scan;

	for (int i = 0; i < st->cond.nleaves; i++)
		columns[st->cond.leaves[i].attno - 1] = true;
	r = wt_reader_make(st->t, &st->e, columns, -1, NULL, 0, NULL, &spec);
	initStringInfo(&buf);
	range = wt_cell_read_row_range(key, &buf);
	spec.ranges = &range;
	spec.nranges = 1;
	limit_times(st, &spec);
	scan = wt_engine_scan_open(st->ps->state->es_snapshot, &spec);
	(void) wt_reader_next_of_scan(r, scan, values, nulls);
	wt_engine_scan_close(scan);
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a condition on a row of \"%s\" cannot be evaluated",
					get_rel_name(st->t->relid)),
			 errdetail("The width of a cell is not that of its column's encoding.")));
}

bool
wt_scan_fetch(WtScanState *st, Datum *values, bool *nulls)
{
	for (;;)
	{
		MemoryContext old;
		bool found;

		if (st->phase != WT_SCAN_READY && !wt_scan_start(st))
			return false;
		MemoryContextReset(st->rowcxt);
		old = MemoryContextSwitchTo(st->rowcxt);
		found = wt_reader_next(st->open.reader, &st->open.set, values, nulls);
		if (found && st->open.reader->unsure)
			wt_scan_unsure(st, wt_bytes_of(&st->open.reader->key));
		MemoryContextSwitchTo(old);
		if (found || (st->chunk.shared == NULL && st->index == NULL))
			return found;
		st->phase = WT_SCAN_CHUNK;
	}
}

void
wt_scan_again(WtScanState *st)
{
	st->restarted = st->restarted || st->open.state == WT_OPEN_ALL;
	st->newest.subid = InvalidSubTransactionId;
	st->phase = WT_SCAN_START;
	if (st->index != NULL)
	{
		wt_scan_again(wt_index_scan_of(st->index));
		wt_index_scan_again(st->index);
	}
}

void
wt_scan_end(WtScanState *st)
{
	if (!st->cacheable || !wt_scan_cache_leave(st))
		close_scans(st);
	wt_engine_scan_close(st->held);
	if (st->index != NULL)
		wt_scan_end(wt_index_scan_of(st->index));
}

void
wt_scan_work(WtScanState *st, WtScanWork *out)
{
	*out = st->past;
	add_open(&st->open, out);
	if (st->index != NULL)
	{
		WtScanWork keys;

		wt_scan_work(wt_index_scan_of(st->index), &keys);
		wt_scan_add_work(out, &keys);
	}
}

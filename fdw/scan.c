/*
 * scan.c
 *		The executor's scans.
 *
 * A scan is a row reader (reader.c), one engine scan (or one for each salt
 * bucket, merged by key when order is asked for), and the key ranges, which are
 * computed when the first row is asked for and again when parameters change.
 *
 * Locking.  A scan for UPDATE, DELETE or FOR UPDATE finds rows in the
 * statement's snapshot; each one that passes the quals is locked and read again
 * in the newest state, and that version is returned (the executor tests the
 * quals again).  In REPEATABLE READ a row that has changed is an error.
 *
 * Memory: values of a row live in rowcxt, reset at the next row; the bytes of
 * the key ranges in rangecxt, reset when they are computed again.
 */
#include "reader.h"
#include "rmw.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "executor/executor.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* ------------------------------------------------------- executor's scan */

/* Layout cells, with a limit: cells that the engine hands out at a time. */
#define MIN_ROW_CELLS	64
#define MAX_ROW_CELLS	4096

typedef struct WtScanState
{
	WtTable    *t;
	WtEngine	e;
	bool		exists;			/* the engine has the table */
	WtScan	   *held;			/* the statement's snapshot */
	int64		as_of;			/* PG_INT64_MAX: not set */
	WtTest	   *tests;
	int			ntests;
	WtArg	   *args;
	int			nargs;
	List	   *exprs;			/* expression states of args */
	bool		fixed;			/* all arguments are constants */
	bool	   *columns;
	int			strict;
	bool		reverse;
	bool		ordered;
	double		limit;			/* rows that are asked for at most; 0: not known */
	WtLock		lock;
	WtRowReader *reader;
	wide_scan_spec spec;
	WtSource		source;
	wide_scan_stats past;		/* of scans that were closed to read something else */
	uint64		past_bad_keys;	/* of their readers */
	bool		ready;			/* ranges computed, engine scans positioned */
	bool		opened;
	bool		restarted;		/* the scan has been restarted: rows may come twice */
	MemoryContext cxt;			/* of the scan */
	MemoryContext opencxt;		/* of the readers and what belongs to them */
	bool		cell_tests;		/* layout cells: conditions decide what the readers read */
	MemoryContext rowcxt;
	MemoryContext rangecxt;
	WtRanges	ranges;
	/* locking */
	WtRowReader *again;			/* reads the newest state */
	WtScan	   *again_scan;
	wide_scan_spec again_spec;
	StringInfoData again_hi;
	/* layout cells: again_scan goes on from one cell of a row to the next */
	StringInfoData again_key;	/* of that row */
	SubTransactionId again_subid;	/* that has locked it; Invalid: begin anew */
	bool		again_end;		/* no cells left */
	bool		missed;			/* the last cell sought was not there: missed_family, missed_qual */
	int			missed_family;
	StringInfoData missed_qual;
} WtScanState;

void
wtBeginForeignScan(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List	   *private = plan->fdw_private;
	WtScanState  *st;
	ListCell   *lc;
	int			i = 0;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	st = palloc0(sizeof(WtScanState));
	node->fdw_state = st;
	st->cxt = CurrentMemoryContext;
	st->t = wt_table(RelationGetRelid(node->ss.ss_currentRelation));
	st->exists = wt_engine(st->t, false, &st->e);
	if (st->exists)
		st->held = wt_snapshot_hold(node->ss.ps.state->es_snapshot);
	st->tests = wt_plan_tests(private, &st->ntests);
	st->nargs = list_length(plan->fdw_exprs);
	st->args = palloc0(sizeof(WtArg) * Max(1, st->nargs));
	st->exprs = ExecInitExprList(plan->fdw_exprs, &node->ss.ps);
	st->fixed = true;
	foreach(lc, plan->fdw_exprs)
		st->fixed = st->fixed && IsA(lfirst(lc), Const);
	foreach(lc, (List *) list_nth(private, WtPrivateTypes))
		st->args[i++].type = lfirst_oid(lc);
	st->columns = palloc0(sizeof(bool) * Max(1, st->t->natts));
	foreach(lc, (List *) list_nth(private, WtPrivateColumns))
		if (lfirst_int(lc) <= st->t->natts)
			st->columns[lfirst_int(lc) - 1] = true;
	st->strict = wt_flag(private, WtFlagStrictFamily);
	st->reverse = wt_flag(private, WtFlagReverse);
	st->ordered = wt_flag(private, WtFlagOrdered);
	st->limit = atof(strVal(list_nth(private, WtPrivateLimit)));
	st->lock = wt_flag(private, WtFlagLock);
	/* as the snapshot: a cursor keeps what was in force when it was opened */
	st->as_of = wt_as_of_us();
	if (st->lock != WT_LOCK_NONE && st->as_of != PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change or lock rows of \"%s\" while widetable.as_of is set",
						RelationGetRelationName(node->ss.ss_currentRelation)),
				 errhint("RESET widetable.as_of.")));
	for (int k = 0; k < st->ntests; k++)
		st->cell_tests = st->cell_tests || st->tests[k].part >= st->t->nkeys;
	st->opencxt = AllocSetContextCreate(st->cxt, "widetable readers", ALLOCSET_DEFAULT_SIZES);
	st->rowcxt = AllocSetContextCreate(st->cxt, "widetable row", ALLOCSET_DEFAULT_SIZES);
	st->rangecxt = AllocSetContextCreate(st->cxt, "widetable ranges", ALLOCSET_SMALL_SIZES);
}

/*
 * In REPEATABLE READ a row that anybody has changed since is a conflict, also
 * in columns that the statement does not read: all is read then.
 */
static bool
reads_all(WtScanState *st)
{
	return st->lock != WT_LOCK_NONE && IsolationUsesXactSnapshot() && !st->t->cells_layout;
}

static void
whole_families(WtRowReader *r, wide_scan_spec *spec)
{
	wide_scan_family *fams = (wide_scan_family *) spec->families;

	for (int i = 0; i < spec->nfamilies; i++)
	{
		if (fams[i].want == WIDE_WANT_ALL)
			continue;
		fams[i].want = WIDE_WANT_ALL;
		fams[i].max_versions = 1;
	}
	/* by qualifier now, also of families that had a list of columns; each family once */
	for (int i = 0, n = spec->nfamilies; i < n; i++)
		for (int j = i + 1; j < n; j++)
			if (fams[j].id == fams[i].id)
			{
				memmove(&fams[j], &fams[j + 1], sizeof(wide_scan_family) * (n - j - 1));
				memmove(&r->families[j], &r->families[j + 1], sizeof(WtReadFamily) * (n - j - 1));
				spec->nfamilies = r->nfamilies = --n;
				j--;
			}
}

static WtRowReader *
scan_reader(WtScanState *st, wide_scan_spec *spec)
{
	WtRowReader *r = wt_reader_make(st->t, &st->e, st->columns, reads_all(st) ? -1 : st->strict,
								 st->tests, st->ntests, st->args, spec);

	r->track = st->lock != WT_LOCK_NONE;
	if (reads_all(st))
		whole_families(r, spec);
	return r;
}

/* The parameters' values now, and the key ranges that follow. */
static void
compute_ranges(WtScanState *st, ExprContext *econtext)
{
	MemoryContext old;
	ListCell   *lc;
	int			i = 0;

	MemoryContextReset(st->rangecxt);
	old = MemoryContextSwitchTo(st->rangecxt);
	foreach(lc, st->exprs)
	{
		WtArg	   *arg = &st->args[i++];

		arg->value = ExecEvalExpr((ExprState *) lfirst(lc), econtext, &arg->isnull);
		arg->known = true;
	}
	wt_ranges(st->t, st->tests, st->ntests, st->args, &st->ranges);
	MemoryContextSwitchTo(old);
}

/* Without order, or without salt, one engine scan reads all ranges one after the other. */
static void
flatten_ranges(WtScanState *st)
{
	WtRanges   *r = &st->ranges;
	wide_range *all;
	Size		total = 0,
				n = 0;

	if (r->nbuckets == 1 || st->ordered)
		return;
	for (int b = 0; b < r->nbuckets; b++)
		total += r->n[b];
	all = MemoryContextAllocHuge(st->rangecxt, sizeof(wide_range) * Max(1, total));
	for (int b = 0; b < r->nbuckets; b++)
	{
		memcpy(&all[n], r->ranges[b], sizeof(wide_range) * r->n[b]);
		n += r->n[b];
	}
	r->nbuckets = 1;
	r->n[0] = (int) n;
	r->ranges[0] = all;
}

static void
open_scans(WtScanState *st, Snapshot snapshot)
{
	MemoryContext old = MemoryContextSwitchTo(st->opencxt);
	WtSource	   *s = &st->source;

	memset(&st->spec, 0, sizeof(st->spec));
	st->reader = scan_reader(st, &st->spec);
	st->spec.reverse = st->reverse;
	if (st->t->cells_layout && st->limit > 0 && st->limit < MAX_ROW_CELLS)
		st->spec.row_cells = (uint32_t) Max(st->limit, MIN_ROW_CELLS);
	if (st->as_of != PG_INT64_MAX)
	{
		st->spec.ts_min = PG_INT64_MIN;
		st->spec.ts_max = st->as_of + 1;
	}
	s->n = st->ranges.nbuckets;
	s->scans = palloc0(sizeof(WtScan *) * s->n);
	s->reverse = st->reverse;
	if (s->n > 1)
		wt_source_merge(s);
	for (int b = 0; b < s->n && st->spec.nfamilies > 0; b++)
	{
		st->spec.ranges = st->ranges.ranges[b];
		st->spec.nranges = st->ranges.n[b];
		s->scans[b] = wt_scan_open(snapshot, &st->spec);
	}
	if (st->spec.nfamilies == 0)
		s->n = 0, s->merge = false;
	st->opened = true;
	MemoryContextSwitchTo(old);
}

static void
add_statistics(const WtSource *s, wide_scan_stats *out)
{
	for (int b = 0; b < s->n; b++)
	{
		wide_scan_stats one;

		wt_scan_stats(s->scans[b], &one);
		out->files_read += one.files_read;
		out->files_skipped_key += one.files_skipped_key;
		out->files_skipped_time += one.files_skipped_time;
		out->files_skipped_bloom += one.files_skipped_bloom;
		out->blocks_read += one.blocks_read;
		out->blocks_cached += one.blocks_cached;
		out->cells_scanned += one.cells_scanned;
		out->cells_returned += one.cells_returned;
		out->rows_returned += one.rows_returned;
		out->tombstones += one.tombstones;
		out->seeks += one.seeks;
	}
}

static void
close_scans(WtScanState *st)
{
	add_statistics(&st->source, &st->past);
	if (st->reader != NULL)
		st->past_bad_keys += st->reader->bad_keys;
	for (int b = 0; b < st->source.n; b++)
		wt_scan_close(st->source.scans[b]);
	wt_scan_close(st->again_scan);
	st->again_scan = NULL;
	st->again = NULL;
	st->again_subid = InvalidSubTransactionId;
	st->reader = NULL;
	st->source.n = 0;
	st->opened = false;
	MemoryContextReset(st->opencxt);
}

/* Make the scan ready for its first row. false: there are no rows. */
static bool
start_scan(ForeignScanState *node)
{
	WtScanState  *st = node->fdw_state;
	WtSource	   *s = &st->source;
	bool		anything = false;

	if (!st->exists)
		return false;
	if (!st->fixed || st->ranges.n == NULL)
	{
		compute_ranges(st, node->ss.ps.ps_ExprContext);
		flatten_ranges(st);
	}
	for (int b = 0; b < st->ranges.nbuckets; b++)
		anything = anything || st->ranges.n[b] > 0;
	if (!anything)
		return false;
	/* they may ask for other families now */
	if (st->opened && st->cell_tests && !st->fixed)
		close_scans(st);
	if (!st->opened)
		open_scans(st, node->ss.ps.state->es_snapshot);
	else
		for (int b = 0; b < s->n; b++)
			wt_scan_restart(s->scans[b], st->ranges.ranges[b], st->ranges.n[b]);
	s->last = s->merge ? -1 : 0;
	s->started = false;
	st->reader->row_scan = NULL;
	st->ready = true;
	return s->n > 0;
}

/* ---------------------------------------------------------------- locking */

static void
raise_changed(ForeignScanState *node)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update"),
			 errdetail("A row of \"%s\" was changed by another transaction.",
					   RelationGetRelationName(node->ss.ss_currentRelation))));
}

/* Position the reader of the newest state on one row. */
static void
read_again(ForeignScanState *node, wide_bytes key)
{
	WtScanState  *st = node->fdw_state;
	MemoryContext old = MemoryContextSwitchTo(st->opencxt);
	wide_range	range;

	if (st->again == NULL)
	{
		initStringInfo(&st->again_hi);
		memset(&st->again_spec, 0, sizeof(st->again_spec));
		st->again = scan_reader(st, &st->again_spec);
	}
	range = wt_row_range(key, &st->again_hi);
	if (st->again_scan == NULL)
	{
		st->again_spec.ranges = &range;
		st->again_spec.nranges = 1;
		st->again_spec.own_mark = wt_own_mark(node->ss.ps.state->es_snapshot);
		if (st->again_spec.own_mark == 0)
			st->again_spec.own_mark = WT_OWN_NONE;
		st->again_scan = wt_scan_open(NULL, &st->again_spec);
	}
	else
		wt_scan_restart(st->again_scan, &range, 1);
	st->again->row_scan = NULL;
	MemoryContextSwitchTo(old);
}

/* Layout cells: the order of the columns in which two readers of a row are. */
static int
column_cmp(const WtRowReader *a, const WtRowReader *b)
{
	/* by name: the families may be others since the first one was opened */
	int			c = strcmp(a->families[a->cell->family].name, b->families[b->cell->family].name);

	return c != 0 ? c : wt_bytes_cmp(wt_reader_qual(a, a->cell), wt_reader_qual(b, b->cell));
}

/* Layout cells: is the reader at the version of the cell that the scan has shown? */
static bool
same_cell(WtRowReader *a, WtRowReader *b)
{
	const wide_cell *x = a->cell,
			   *y = b->cell;

	/* both see the same of our own writes, also provisional timestamps */
	return column_cmp(a, b) == 0 && x->ts == y->ts;
}

/*
 * Layout cells: the newest state of the cell that the scan has shown.  Nobody
 * else changes a row that we have locked, so the reader of the newest state
 * goes on along the row as the scan does: a row of a million cells is read once
 * more, not once for each of its cells.  It begins anew when the row is another
 * one, when the lock may have been given up in between (with the subtransaction
 * that took it), and for another version of a column it has already gone past.
 */
static bool
cell_again(ForeignScanState *node, Datum *values, bool *nulls)
{
	WtScanState *st = node->fdw_state;
	WtRowReader *r = st->reader;
	wide_bytes	key = wt_bytes_of(&r->key);
	wide_bytes	qual = wt_reader_qual(r, r->cell);
	uint64_t	seq;

	if (st->again_key.data == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(st->cxt);

		initStringInfo(&st->again_key);
		initStringInfo(&st->missed_qual);
		MemoryContextSwitchTo(old);
	}
	if (st->again_subid != GetCurrentSubTransactionId() || wt_bytes_cmp(key, wt_bytes_of(&st->again_key)) != 0 ||
		(st->missed && st->missed_family == r->cell->family && wt_bytes_cmp(wt_bytes_of(&st->missed_qual), qual) == 0))
	{
		read_again(node, key);
		st->again_subid = GetCurrentSubTransactionId();
		st->again_end = false;
		resetStringInfo(&st->again_key);
		appendBinaryStringInfo(&st->again_key, (const char *) key.data, key.len);
	}
	st->missed = false;
	while (!st->again_end)
	{
		int			c;

		if (!wt_row_next(st->again, st->again_scan, values, nulls, &seq))
		{
			st->again_end = true;
			break;
		}
		if (same_cell(r, st->again))
			return true;
		c = column_cmp(r, st->again);
		if (c < 0)
		{
			/* it has gone past; this one will be looked at again */
			st->again->next_cell--;
			break;
		}
	}
	st->missed = true;
	st->missed_family = r->cell->family;
	resetStringInfo(&st->missed_qual);
	appendBinaryStringInfo(&st->missed_qual, (const char *) qual.data, qual.len);
	return false;
}

/*
 * Lock the row that the scan has found and put its newest version into the
 * slot.  false: it is gone, or skipped.
 */
static bool
lock_row(ForeignScanState *node, TupleTableSlot *slot)
{
	WtScanState  *st = node->fdw_state;
	wide_bytes	key = wt_bytes_of(&st->reader->key);
	uint64_t	seq;
	bool		found;

	if (!wt_row_lock(st->e.table, key, st->lock != WT_LOCK_WAIT))
	{
		if (st->lock == WT_LOCK_SKIP)
			return false;
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on row in relation \"%s\"",
						RelationGetRelationName(node->ss.ss_currentRelation))));
	}
	if (st->t->cells_layout)
		found = cell_again(node, slot->tts_values, slot->tts_isnull);
	else
	{
		read_again(node, key);
		found = wt_row_next(st->again, st->again_scan, slot->tts_values, slot->tts_isnull, &seq);
	}
	if (!found)
	{
		/* deleted by another transaction; or by this very command, when the scan runs again */
		if (IsolationUsesXactSnapshot() && !st->restarted)
			raise_changed(node);
		return false;
	}
	if (st->again->print == st->reader->print)
		return true;
	/* a row that this command itself has changed already is not changed twice */
	if (st->again->own > st->reader->own)
		return false;
	if (IsolationUsesXactSnapshot())
		raise_changed(node);
	return true;
}

/* ------------------------------------------------------------------- rows */

TupleTableSlot *
wtIterateForeignScan(ForeignScanState *node)
{
	WtScanState  *st = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	MemoryContext old;
	uint64_t	seq;

	ExecClearTuple(slot);
	if (!st->ready && !start_scan(node))
	{
		st->ready = false;
		return slot;
	}
	for (;;)
	{
		MemoryContextReset(st->rowcxt);
		old = MemoryContextSwitchTo(st->rowcxt);
		if (!wt_reader_next(st->reader, &st->source, slot->tts_values, slot->tts_isnull, &seq))
		{
			MemoryContextSwitchTo(old);
			return ExecClearTuple(slot);
		}
		if (st->lock == WT_LOCK_NONE)
			break;
		/* only rows that the statement is about are locked */
		ExecStoreVirtualTuple(slot);
		econtext->ecxt_scantuple = slot;
		MemoryContextSwitchTo(old);
		ResetExprContext(econtext);
		if (node->ss.ps.qual != NULL && !ExecQual(node->ss.ps.qual, econtext))
		{
			InstrCountFiltered1(node, 1);
			ExecClearTuple(slot);
			continue;
		}
		ExecClearTuple(slot);
		(void) MemoryContextSwitchTo(st->rowcxt);
		if (lock_row(node, slot))
			break;
		MemoryContextSwitchTo(old);
	}
	MemoryContextSwitchTo(old);
	return ExecStoreVirtualTuple(slot);
}

void
wtReScanForeignScan(ForeignScanState *node)
{
	WtScanState  *st = node->fdw_state;

	if (st == NULL)
		return;
	st->restarted = st->restarted || st->opened;
	st->again_subid = InvalidSubTransactionId;
	st->ready = false;
}

void
wtEndForeignScan(ForeignScanState *node)
{
	WtScanState  *st = node->fdw_state;

	if (st == NULL)
		return;
	close_scans(st);
	wt_scan_close(st->held);
}

/*
 * EvalPlanQual: the tuple is a copy; the executor tests fdw_recheck_quals,
 * which are the clauses that the key ranges answered.
 */
bool
wtRecheckForeignScan(ForeignScanState *node, TupleTableSlot *slot)
{
	return true;
}

/* What the engine did for this scan so far; false: it was never run. */
bool
wt_scan_statistics(ForeignScanState *node, wide_scan_stats *out, uint64 *bad_keys)
{
	WtScanState  *st = node->fdw_state;

	*bad_keys = 0;
	if (st == NULL)
		return false;
	*bad_keys = st->past_bad_keys + (st->reader ? st->reader->bad_keys : 0);
	*out = st->past;
	add_statistics(&st->source, out);
	return true;
}

/*
 * engine_scan.c
 *		Scans of the engine, tied to the transaction, its batch and its snapshots.
 *
 * Invariants
 *	- An open scan is in the list.  The end of its resource owner or of the transaction
 *	  closes it at the latest, so an error leaves none open.
 *	- Between two runs of a statement, as of a cursor, its scans rest: they hold no
 *	  memtables and files.
 *	- A kept scan waits in memory for a later statement.  It is not in the list, and has
 *	  no snapshot and no owner.
 *	- A scan merges the batch that the transaction had when it was opened.  It is opened
 *	  again when the transaction has begun a batch since.
 */
#include "postgres.h"

#include "fdw/xact/engine_scan.h"

#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapshot.h"

#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/engine.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/snapshot.h"
#include "fdw/xact/statement.h"

struct WtEngineScan
{
	WtEngineScanHead head;
	const WtEngine *other; /* the engine that it reads; NULL: the embedded one */
	dlist_node node;	   /* in scans, while it is open */
	MemoryContext cxt;	   /* of the struct and its copies; child of TopMemoryContext */

	/* the statement */
	WtSnapshot *snap;	 /* NULL: the engine has none */
	Snapshot pg;		 /* PostgreSQL's snapshot; only its address is used */
	int64 as_of;		 /* widetable.as_of when the scan was opened */
	ResourceOwner owner; /* its release closes the scan */

	/* for opening it again */
	wide_scan_spec spec;	 /* a copy without ranges */
	bool mark_given;		 /* the caller has set spec.own_mark */
	wide_batch *opened_with; /* the batch that it merges, or NULL */

	/* a row that the caller uses while the scan rests */
	wide_row *held;		   /* NULL: none */
	MemoryContext heldcxt; /* of its copy; NULL: not copied */
};

static dlist_head scans = DLIST_STATIC_INIT(scans); /* all that are open */

/* -------------------------------------------------------------- opening */

/* Returns: a copy of a list of byte strings, in two allocations. */
static const wide_bytes *
copy_list(const wide_bytes *from, int n)
{
	wide_bytes *list = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(wide_bytes) * Max(1, n));
	Size total = 1;
	uint8 *data;

	for (int i = 0; i < n; i++)
		total += from[i].len;
	data = MemoryContextAllocHuge(CurrentMemoryContext, total);
	for (int i = 0; i < n; i++)
	{
		list[i] = from[i];
		if (from[i].data == NULL)
			continue; /* no bound */
		wt_bytes_copy(data, from[i].data, from[i].len);
		list[i].data = data;
		data += from[i].len;
	}
	return list;
}

/* Copies the spec with all it points to, but for ranges and the argument of a row filter. */
static void
copy_spec(wide_scan_spec *to, const wide_scan_spec *from)
{
	wide_scan_family *f = palloc(sizeof(wide_scan_family) * Max(1, from->nfamilies));
	wide_predicate *p = palloc(sizeof(wide_predicate) * Max(1, from->npredicates));

	*to = *from;
	wt_bytes_copy(f, from->families, sizeof(wide_scan_family) * from->nfamilies);
	for (int i = 0; i < from->nfamilies; i++)
		f[i].quals = copy_list(f[i].quals, f[i].nquals);
	for (int i = 0; i < from->npredicates; i++)
	{
		p[i] = from->predicates[i];
		p[i].qualifier = *copy_list(&p[i].qualifier, 1);
		p[i].values = copy_list(p[i].values, p[i].nvalues);
	}
	to->families = f;
	to->predicates = p;
	to->ranges = NULL;
	to->nranges = 0;
}

/* Returns: the position in the batch up to which the scan sees the transaction's changes. */
static uint64_t
current_own_mark(const WtEngineScan *s)
{
	if (!s->head.newest || s->mark_given)
		return s->spec.own_mark;
	return wt_batch(false) ? wide_batch_mark(wt_batch(false)) : 0;
}

static void
open_engine_scan(WtEngineScan *s, const wide_range *ranges, int nranges)
{
	wide_scan_spec spec = s->spec;
	wide_status st;

	spec.ranges = ranges;
	spec.nranges = nranges;
	if (s->other != NULL)
	{
		s->head.scan = s->other->open(s->pg, &spec);
		return;
	}
	spec.own = wt_batch(false);
	spec.own_mark = current_own_mark(s);
	s->opened_with = wt_batch(false);
	do
	{
		CHECK_FOR_INTERRUPTS();
		st = wide_scan_open(wt_store_db(), s->snap->ws, &spec, &s->head.scan);
	} while (st == WIDE_INTERRUPTED);
	if (st != WIDE_OK)
	{
		s->head.scan = NULL;
		wt_error_check(st, "could not read");
	}
}

/* Gives the scan a snapshot.  From here on the current resource owner closes it, also after an
 * error. */
static void
begin_scan(WtEngineScan *s, Snapshot snapshot)
{
	s->snap = s->other != NULL ? NULL : wt_snapshot_for(snapshot);
	s->pg = snapshot;
	s->as_of = wt_clock_as_of_unchecked();
	s->owner = CurrentResourceOwner;
	dlist_push_head(&scans, &s->node);
}

/* Makes a scan without one of the engine's yet. */
static WtEngineScan *
new_scan(const WtEngine *other, Snapshot snapshot)
{
	MemoryContext cxt;
	WtEngineScan *s;

	if (other == NULL)
		(void) wt_store_db();
	/* until it is open, an error frees it with the caller's context */
	cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable scan", ALLOCSET_SMALL_SIZES);
	s = MemoryContextAllocZero(cxt, sizeof(WtEngineScan));
	s->cxt = cxt;
	s->other = other;
	s->head.newest = other == NULL && snapshot == NULL;
	begin_scan(s, snapshot);
	MemoryContextSetParent(cxt, TopMemoryContext);
	return s;
}

WtEngineScan *
wt_engine_scan_hold_snapshot(Snapshot snapshot)
{
	return new_scan(NULL, snapshot);
}

WtEngineScan *
wt_engine_scan_open(Snapshot snapshot, wide_scan_spec *spec)
{
	const WtEngine *other = wt_engine_of(spec->families[0].id);
	WtEngineScan *s;
	MemoryContext old;

	if (snapshot != NULL && other != NULL && (other->can & WT_CAN_SNAPSHOT) == 0)
		wt_statement_check(other->name);
	s = new_scan(other, snapshot);
	old = MemoryContextSwitchTo(s->cxt);
	copy_spec(&s->spec, spec);
	MemoryContextSwitchTo(old);
	s->mark_given = snapshot == NULL && spec->own_mark != 0;
	if (spec->own_mark == WT_OWN_NONE)
		s->spec.own_mark = 0;
	if (snapshot != NULL && s->other == NULL)
		s->spec.own_mark = wt_batch_own_mark(snapshot);
	open_engine_scan(s, spec->ranges, spec->nranges);
	return s;
}

/* ------------------------------------------------------------ kept scans */

/* Returns: false if the end of its resource owner has closed the scan: s must not be used. */
static bool
is_open(const WtEngineScan *s)
{
	dlist_iter iter;

	dlist_foreach(iter, &scans)
		if (dlist_container(WtEngineScan, node, iter.cur) == s)
			return true;
	return false;
}

/* Frees the copy of a row that the caller used while the scan rested. */
static void
free_held(WtEngineScan *s)
{
	if (s->heldcxt != NULL)
		MemoryContextDelete(s->heldcxt);
	s->heldcxt = NULL;
}

bool
wt_engine_scan_keep(WtEngineScan *s)
{
	if (!is_open(s) || s->other != NULL || wt_batch(false) != NULL || s->opened_with != NULL ||
		s->head.newest || s->head.scan == NULL || !wide_scan_set_aside(s->head.scan))
		return false;
	dlist_delete(&s->node);
	wt_snapshot_unref(s->snap);
	s->snap = NULL;
	s->owner = NULL;
	s->pg = NULL;
	s->held = NULL;
	free_held(s);
	return true;
}

void
wt_engine_scan_reuse(WtEngineScan *s, Snapshot snapshot)
{
	begin_scan(s, snapshot);
	s->spec.own_mark = wt_batch_own_mark(snapshot);
}

void
wt_engine_scan_reuse_ranges(WtEngineScan *s, const wide_range *ranges, int nranges, uint64 row_hint)
{
	s->spec.row_hint = row_hint;
	wt_error_check(wide_scan_reuse(s->head.scan, s->snap->ws, row_hint), "could not read");
	wt_engine_scan_restart(s, ranges, nranges);
}

void
wt_engine_scan_free_kept(WtEngineScan *s)
{
	wide_scan_close(s->head.scan);
	MemoryContextDelete(s->cxt);
}

/* ---------------------------------------------------------------- reading */

/* The scan, which reads the newest state, has returned the row, or (NULL) has come to its end. */
static void
note_newest(const WtEngineScan *s, const wide_row *row)
{
	uint64 newest = 0;

	if (row == NULL || row->ncells == 0)
		newest = wide_snapshot_lsn(s->snap->ws);
	else
		for (int i = 0; i < row->ncells; i++)
			newest = Max(newest, row->cells[i].seq);
	wt_snapshot_note_read(newest);
}

bool
wt_engine_scan_read(WtEngineScan *s, wide_row *row)
{
	wide_status st;

	s->held = NULL;
	if (s->other != NULL)
		return s->other->next(s->head.scan, row);
	while ((st = wide_scan_next(s->head.scan, row)) == WIDE_INTERRUPTED)
		CHECK_FOR_INTERRUPTS();
	if (st != WIDE_OK && st != WIDE_END)
		wt_error_check(st, "could not read");
	if (s->head.newest)
		note_newest(s, st == WIDE_OK ? row : NULL);
	return st == WIDE_OK;
}

void
wt_engine_scan_restart(WtEngineScan *s, const wide_range *ranges, int nranges)
{
	wide_status st;

	s->held = NULL;
	if (s->other != NULL && s->head.scan != NULL)
	{
		s->other->restart(s->head.scan, ranges, nranges);
		return;
	}
	if (s->head.newest)
		wt_error_check(wide_snapshot_renew(s->snap->ws), "could not take a snapshot");
	if (s->head.scan == NULL || s->opened_with != wt_batch(false))
	{
		/* the transaction has begun a batch since */
		if (s->head.scan != NULL)
			wide_scan_close(s->head.scan);
		s->head.scan = NULL;
		open_engine_scan(s, ranges, nranges);
		return;
	}
	do
	{
		CHECK_FOR_INTERRUPTS();
		st = wide_scan_restart(s->head.scan, ranges, nranges, current_own_mark(s));
	} while (st == WIDE_INTERRUPTED);
	wt_error_check(st, "could not read");
}

void
wt_engine_scan_prefetch(WtEngineScan *s, const wide_range *keys, int n)
{
	if (s->other != NULL && (s->other->can & WT_CAN_BATCH) != 0 && s->head.scan != NULL)
		s->other->prefetch(s->head.scan, keys, n);
}

void
wt_engine_scan_work(WtEngineScan *s, wide_scan_stats *stats, WtEngineWork *other)
{
	memset(stats, 0, sizeof(*stats));
	memset(other, 0, sizeof(*other));
	if (s->head.scan != NULL && s->other != NULL)
		s->other->work(s->head.scan, other);
	else if (s->head.scan != NULL)
		wide_scan_statistics(s->head.scan, stats);
}

bool
wt_engine_scan_is_newest(WtEngineScan *s)
{
	return s == NULL || s->other != NULL || wide_snapshot_is_newest(s->snap->ws);
}

/* ---------------------------------------------------------------- resting */

void
wt_engine_scan_hold_row(WtEngineScan *s, wide_row *row)
{
	s->held = row;
}

/* Makes the row the only one of a copy of its span. */
static void
copy_span(const wide_scan_spec *spec, wide_row *row)
{
	wide_span_column *columns;
	int n = 0;

	for (int f = 0; f < spec->nfamilies; f++)
		if (spec->families[f].want == WIDE_WANT_COLUMNS)
			n += spec->families[f].nquals;
	columns = palloc(sizeof(wide_span_column) * Max(1, n));
	for (int i = 0; i < n; i++)
	{
		const wide_span_column *from = &row->span[i];

		columns[i].there = from->there >> row->span_row & 1;
		if (columns[i].there != 0)
			columns[i].values[0] = *copy_list(&from->values[row->span_row], 1);
	}
	row->span = columns;
	row->span_row = 0;
	row->span_end = true;
}

/* Releases the memtables and files of the scan.  The held row points into them: it is copied. */
static void
rest_scan(WtEngineScan *s)
{
	if (s->head.scan == NULL || s->other != NULL)
		return;
	if (s->held != NULL)
	{
		MemoryContext cxt = AllocSetContextCreate(s->cxt, "widetable row", ALLOCSET_SMALL_SIZES);
		MemoryContext old = MemoryContextSwitchTo(cxt);
		wide_row *row = s->held;
		wide_cell *cells = palloc(sizeof(wide_cell) * Max(1, row->ncells));

		row->key = *copy_list(&row->key, 1);
		for (int i = 0; i < row->ncells; i++)
		{
			cells[i] = row->cells[i];
			cells[i].qualifier = *copy_list(&cells[i].qualifier, 1);
			cells[i].value = *copy_list(&cells[i].value, 1);
		}
		row->cells = cells;
		if (row->span != NULL)
			copy_span(&s->spec, row);
		MemoryContextSwitchTo(old);
		free_held(s);
		s->heldcxt = cxt;
	}
	wide_scan_park(s->head.scan);
}

/* ---------------------------------------------------------------- closing */

static void
close_scan(WtEngineScan *s)
{
	dlist_delete(&s->node);
	if (s->head.scan != NULL && s->other != NULL)
		s->other->close(s->head.scan);
	else if (s->head.scan != NULL)
		wide_scan_close(s->head.scan);
	if (s->snap != NULL)
		wt_snapshot_unref(s->snap);
	MemoryContextDelete(s->cxt);
}

void
wt_engine_scan_close(WtEngineScan *s)
{
	if (is_open(s))
		close_scan(s);
}

void
wt_engine_scan_close_all(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &scans)
		close_scan(dlist_container(WtEngineScan, node, iter.cur));
}

/*
 * Closes the scans that a statement has left open because of an error.  The resource owner
 * decides, not the subtransaction: a cursor of the outer level whose first row was fetched
 * in the subtransaction goes on after ROLLBACK TO, and its scan belongs to the cursor.
 */
static void
release_callback(ResourceReleasePhase phase, bool isCommit, bool isTopLevel, void *arg)
{
	dlist_mutable_iter iter;

	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	dlist_foreach_modify(iter, &scans)
	{
		WtEngineScan *s = dlist_container(WtEngineScan, node, iter.cur);

		if (s->owner == CurrentResourceOwner)
			close_scan(s);
	}
	wt_snapshot_end_owner(CurrentResourceOwner);
}

bool
wt_engine_scan_as_of_changed(Snapshot pg)
{
	dlist_iter iter;

	dlist_foreach(iter, &scans)
	{
		WtEngineScan *s = dlist_container(WtEngineScan, node, iter.cur);

		if (s->pg == pg && s->as_of != wt_clock_as_of_unchecked())
			return true;
	}
	return false;
}

void
wt_engine_scan_rest_all(void)
{
	dlist_iter iter;

	dlist_foreach(iter, &scans)
		rest_scan(dlist_container(WtEngineScan, node, iter.cur));
}

const wide_snapshot *
wt_engine_scan_snapshot(const WtEngineScan *s)
{
	return s->snap->ws;
}

void
wt_engine_scan_init(void)
{
	RegisterResourceReleaseCallback(release_callback, NULL);
}

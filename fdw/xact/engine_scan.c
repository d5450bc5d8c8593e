/*
 * engine_scan.c
 *		Scans of the engine: closed at the end of their transaction or owner at the
 *		latest, at rest while a cursor is, and set aside for later statements.
 */
#include "postgres.h"

#include "fdw/xact/engine_scan.h"

#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapshot.h"

#include "fdw/store/clock.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/snapshot.h"

struct WtEngineScan
{
	WtEngineScanHead head;
	dlist_node node;
	WtSnapshot *snap;
	Snapshot pg;			 /* that it was made for; identity only */
	int64 as_of;			 /* widetable.as_of at that time */
	ResourceOwner owner;	 /* whose release closes a scan that an error has left open */
	wide_scan_spec spec;	 /* own copy for reopening */
	wide_batch *opened_with; /* the batch it merges, NULL when there was none */
	bool mark_given;
	wide_row *kept;		   /* what the caller goes on using while the scan rests; NULL: nothing */
	MemoryContext keptcxt; /* for a copy of it */
	MemoryContext cxt;
};

static dlist_head scans = DLIST_STATIC_INIT(scans);

/* A list of byte strings with all their bytes, in two pieces of memory. */
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
			continue; /* an open bound */
		if (from[i].len > 0)
			memcpy(data, from[i].data, from[i].len);
		list[i].data = data;
		data += from[i].len;
	}
	return list;
}

/*
 * Deep copy of what the caller may let go of.  The argument of a row filter has
 * to last as long as the scan.
 */
static void
copy_spec(wide_scan_spec *to, const wide_scan_spec *from)
{
	wide_scan_family *f = palloc(sizeof(wide_scan_family) * Max(1, from->nfamilies));
	wide_predicate *p = palloc(sizeof(wide_predicate) * Max(1, from->npredicates));

	*to = *from;
	memcpy(f, from->families, sizeof(wide_scan_family) * from->nfamilies);
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

static void
open_engine_scan(WtEngineScan *s, const wide_range *ranges, int nranges)
{
	wide_scan_spec spec = s->spec;
	wide_status st;

	spec.ranges = ranges;
	spec.nranges = nranges;
	spec.own = wt_batch(false);
	if (s->head.newest && !s->mark_given)
		spec.own_mark = wt_batch(false) ? wide_batch_mark(wt_batch(false)) : 0;
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

/* With a snapshot, of the current resource owner, and without an engine's scan. */
static WtEngineScan *
new_scan(Snapshot snapshot)
{
	MemoryContext cxt = AllocSetContextCreate(TopMemoryContext, "widetable scan",
											  ALLOCSET_SMALL_SIZES);
	WtEngineScan *s = MemoryContextAllocZero(cxt, sizeof(WtEngineScan));

	s->cxt = cxt;
	s->head.newest = snapshot == NULL;
	s->pg = snapshot;
	s->as_of = wt_clock_as_of();
	s->owner = CurrentResourceOwner;
	PG_TRY();
	{
		s->snap = wt_snapshot_for(snapshot);
	}
	PG_CATCH();
	{
		MemoryContextDelete(cxt);
		PG_RE_THROW();
	}
	PG_END_TRY();
	dlist_push_head(&scans, &s->node);
	return s;
}

WtEngineScan *
wt_engine_scan_hold_snapshot(Snapshot snapshot)
{
	(void) wt_store_db();
	return new_scan(snapshot);
}

WtEngineScan *
wt_engine_scan_open(Snapshot snapshot, wide_scan_spec *spec)
{
	MemoryContext old;
	WtEngineScan *s;

	(void) wt_store_db();
	s = new_scan(snapshot);
	old = MemoryContextSwitchTo(s->cxt);
	copy_spec(&s->spec, spec);
	MemoryContextSwitchTo(old);
	s->mark_given = snapshot == NULL && spec->own_mark != 0;
	if (spec->own_mark == WT_OWN_NONE)
		s->spec.own_mark = 0;
	if (snapshot != NULL)
		s->spec.own_mark = wt_batch_own_mark(snapshot);
	open_engine_scan(s, spec->ranges, spec->nranges);
	return s;
}

bool
wt_engine_scan_set_aside(WtEngineScan *s)
{
	dlist_iter iter;

	dlist_foreach(iter, &scans)
	{
		/* one that its owner's end has closed is not there any more: see wt_engine_scan_close */
		if (dlist_container(WtEngineScan, node, iter.cur) != s)
			continue;
		if (wt_batch(false) != NULL || s->opened_with != NULL || s->head.newest ||
			s->head.scan == NULL || !wide_scan_set_aside(s->head.scan))
			return false;
		dlist_delete(&s->node);
		wt_snapshot_unref(s->snap);
		s->snap = NULL;
		s->owner = NULL;
		s->pg = NULL;
		s->kept = NULL;
		if (s->keptcxt != NULL)
			MemoryContextDelete(s->keptcxt);
		s->keptcxt = NULL;
		return true;
	}
	return false;
}

void
wt_engine_scan_reuse(WtEngineScan *s, Snapshot snapshot)
{
	s->snap = wt_snapshot_for(snapshot);
	/* from here on it is the statement's, also when there is an error */
	s->pg = snapshot;
	s->as_of = wt_clock_as_of();
	s->owner = CurrentResourceOwner;
	s->spec.own_mark = wt_batch_own_mark(snapshot);
	dlist_push_head(&scans, &s->node);
}

void
wt_engine_scan_reuse_ranges(WtEngineScan *s, const wide_range *ranges, int nranges)
{
	wt_error_check(wide_scan_reuse(s->head.scan, s->snap->ws), "could not read");
	wt_engine_scan_restart(s, ranges, nranges);
}

void
wt_engine_scan_forget(WtEngineScan *s)
{
	wide_scan_close(s->head.scan);
	MemoryContextDelete(s->cxt);
}

/* A read of the newest state has shown the row, or (NULL) that there is none. */
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

	s->kept = NULL;
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

	uint64_t mark = s->spec.own_mark;

	s->kept = NULL;
	if (s->head.newest)
		wt_error_check(wide_snapshot_renew(s->snap->ws), "could not take a snapshot");
	if (s->head.scan == NULL || s->opened_with != wt_batch(false))
	{
		/* our own writes began */
		if (s->head.scan != NULL)
			wide_scan_close(s->head.scan);
		s->head.scan = NULL;
		open_engine_scan(s, ranges, nranges);
		return;
	}
	if (s->head.newest && !s->mark_given)
		mark = wt_batch(false) ? wide_batch_mark(wt_batch(false)) : 0;
	do
	{
		CHECK_FOR_INTERRUPTS();
		st = wide_scan_restart(s->head.scan, ranges, nranges, mark);
	} while (st == WIDE_INTERRUPTED);
	wt_error_check(st, "could not read");
}

void
wt_engine_scan_stats(WtEngineScan *s, wide_scan_stats *out)
{
	memset(out, 0, sizeof(*out));
	if (s->head.scan != NULL)
		wide_scan_statistics(s->head.scan, out);
}

bool
wt_engine_scan_is_newest(WtEngineScan *s)
{
	return wide_snapshot_is_newest(s->snap->ws);
}

static wide_bytes
copy_bytes(wide_bytes b)
{
	uint8 *data = palloc(Max(1, b.len));

	if (b.len > 0)
		memcpy(data, b.data, b.len);
	return (wide_bytes) {data, b.len};
}

void
wt_engine_scan_keep_row(WtEngineScan *s, wide_row *row)
{
	s->kept = row;
}

/* Memtables and files are let go; what the scan has handed out goes with them. */
static void
rest_scan(WtEngineScan *s)
{
	if (s->head.scan == NULL)
		return;
	if (s->kept != NULL)
	{
		MemoryContext cxt = AllocSetContextCreate(s->cxt, "widetable row", ALLOCSET_SMALL_SIZES);
		MemoryContext old = MemoryContextSwitchTo(cxt);
		wide_row *row = s->kept;
		wide_cell *cells = palloc(sizeof(wide_cell) * Max(1, row->ncells));

		row->key = copy_bytes(row->key);
		for (int i = 0; i < row->ncells; i++)
		{
			cells[i] = row->cells[i];
			cells[i].qualifier = copy_bytes(cells[i].qualifier);
			cells[i].value = copy_bytes(cells[i].value);
		}
		row->cells = cells;
		MemoryContextSwitchTo(old);
		if (s->keptcxt != NULL)
			MemoryContextDelete(s->keptcxt);
		s->keptcxt = cxt;
	}
	wide_scan_park(s->head.scan);
}

static void
close_scan(WtEngineScan *s)
{
	dlist_delete(&s->node);
	if (s->head.scan != NULL)
		wide_scan_close(s->head.scan);
	wt_snapshot_unref(s->snap);
	MemoryContextDelete(s->cxt);
}

/* A scan that the end of its transaction or its owner has closed already is ignored. */
void
wt_engine_scan_close(WtEngineScan *s)
{
	dlist_iter iter;

	if (s == NULL)
		return;
	dlist_foreach(iter, &scans)
	{
		if (dlist_container(WtEngineScan, node, iter.cur) == s)
		{
			close_scan(s);
			return;
		}
	}
}

void
wt_engine_scan_close_all(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &scans)
		close_scan(dlist_container(WtEngineScan, node, iter.cur));
}

/*
 * What a rolled back subtransaction has left open.  Not by subtransaction: a
 * cursor of the outer level whose first row was fetched in it goes on after
 * ROLLBACK TO, and its scan belongs to the cursor.
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
}

bool
wt_engine_scan_as_of_changed(Snapshot pg)
{
	dlist_iter iter;

	dlist_foreach(iter, &scans)
	{
		WtEngineScan *s = dlist_container(WtEngineScan, node, iter.cur);

		if (s->pg == pg && s->as_of != wt_clock_as_of())
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

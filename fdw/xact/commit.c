/*
 * commit.c
 *		The engine's part in PostgreSQL's transactions: the batch, savepoints,
 *		commit, snapshots, scans.
 *
 * Commit (see architecture, "Commit"):
 *
 *	PRE_COMMIT	everything that can fail: the batch is prepared.  If the
 *				transaction has an xid its payload goes to WAL now, as
 *				transactional messages, and PostgreSQL's commit record decides.
 *	COMMIT		the finish record is logged and the cells are applied.  Without
 *				an xid, payload and finish are one record and we flush it
 *				ourselves: no commit record, no xid, one flush.  Then publish.
 *
 * Between ProcArrayEndTransaction and COMMIT here other sessions see our heap
 * rows and not yet our cells: their snapshots wait for us (wide_snapshot_take),
 * a matter of microseconds.
 *
 * Statements see the batch as of their command id, as heap rows; read-modify-
 * write under a row lock sees all of it.
 */
#include "fdw/store/store.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/parallel.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "commands/async.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "replication/syncrep.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/* ------------------------------------------------------------------ batch */

typedef struct CommandMark
{
	CommandId	cid;
	const WtWriter *writer;		/* the plan node, to be compared only; NULL: a function, DDL */
	CommandId	of;				/* the command that this node belongs to */
	uint64		mark;			/* of the batch before the first write of this command by this node */
} CommandMark;

typedef struct LevelMark
{
	int			level;			/* nesting level of the subtransaction */
	uint64		mark;			/* of the batch before its first write */
} LevelMark;

static wide_batch *batch = NULL;
static bool prepared = false;
static bool ddl = false;		/* the batch changes the catalog */
static FullTransactionId prepared_xid;

static CommandMark *commands = NULL;	/* ascending, TopMemoryContext */
static int	ncommands = 0,
			commands_max = 0;
static LevelMark *levels = NULL;
static int	nlevels = 0,
			levels_max = 0;

wide_batch *
wt_batch(bool create)
{
	/* workers could not see it, and the statement has begun without */
	if (create && IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot write to wide tables during a parallel operation")));
	if (batch != NULL || !create)
		return batch;
	wt_check(wide_batch_new(wt_db(), &batch), "could not begin writing");
	return batch;
}

void
wt_note_ddl(void)
{
	ddl = true;
}

void
wt_batch_command(void)
{
	wt_batch_command_by(NULL);
}

void
wt_batch_command_by(const WtWriter *writer)
{
	wide_batch *b = wt_batch(true);
	CommandId	cid = GetCurrentCommandId(true);
	int			level = GetCurrentTransactionNestLevel();

	if (ncommands == 0 || commands[ncommands - 1].cid != cid || commands[ncommands - 1].writer != writer)
	{
		if (ncommands == commands_max)
		{
			commands_max = Max(16, commands_max * 2);
			commands = commands ? repalloc(commands, commands_max * sizeof(CommandMark))
				: MemoryContextAlloc(TopMemoryContext, commands_max * sizeof(CommandMark));
		}
		commands[ncommands].cid = cid;
		commands[ncommands].writer = writer;
		commands[ncommands].of = writer ? writer->command : InvalidCommandId;
		commands[ncommands++].mark = wide_batch_mark(b);
		wide_batch_command(b, (size_t) wt_write_memory_kb * 1024);
	}
	if (level > 1 && (nlevels == 0 || levels[nlevels - 1].level < level))
	{
		if (nlevels == levels_max)
		{
			levels_max = Max(16, levels_max * 2);
			levels = levels ? repalloc(levels, levels_max * sizeof(LevelMark))
				: MemoryContextAlloc(TopMemoryContext, levels_max * sizeof(LevelMark));
		}
		levels[nlevels].level = level;
		levels[nlevels++].mark = wide_batch_mark(b);
	}
}

/* The first of commands[] that a snapshot with this command id does not see. */
static int
first_unseen(CommandId curcid)
{
	int			lo = 0,
				hi = ncommands;

	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (commands[mid].cid < curcid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint64_t
wt_own_mark(Snapshot snapshot)
{
	int			i;

	if (batch == NULL)
		return 0;
	i = first_unseen(snapshot->curcid);
	return i < ncommands ? commands[i].mark : wide_batch_mark(batch);
}

void
wt_writer_init(WtWriter *w, EState *estate)
{
	w->command = estate->es_output_cid;
	/* COPY has none, and asks nothing */
	w->unseen = estate->es_snapshot ? estate->es_snapshot->curcid : FirstCommandId;
	w->looked_at = -1;
	w->first = 0;
	w->others = false;
}

/* Has anybody but this node written since its statement began?  Looks at each of commands[] once. */
static bool
others_wrote(WtWriter *w)
{
	if (w->looked_at < 0)
		w->looked_at = w->first = first_unseen(w->unseen);
	while (!w->others && w->looked_at < ncommands)
		w->others = commands[w->looked_at++].writer != w;
	return w->others;
}

typedef struct RowChanges
{
	const WtWriter *w;
	WtChanged	found;
} RowChanges;

/* Who was it?  The command that the batch's position belongs to. */
static bool
note_change(void *arg, uint64_t position)
{
	RowChanges *r = arg;
	int			lo = r->w->first,
				hi = ncommands - 1;

	while (lo < hi)
	{
		int			mid = (lo + hi + 1) / 2;

		if (commands[mid].mark <= position)
			lo = mid;
		else
			hi = mid - 1;
	}
	if (commands[lo].writer == r->w)
		return true;
	r->found = commands[lo].writer != NULL && commands[lo].of == r->w->command ? WT_CHANGED_BY_COMMAND : WT_CHANGED_BY_TRIGGERED;
	return r->found != WT_CHANGED_BY_TRIGGERED;
}

WtChanged
wt_changed_since(WtWriter *w, const wide_family_id *families, int nfamilies, wide_bytes key, const wide_bytes *column)
{
	RowChanges	r = {w, WT_UNCHANGED};

	if (batch == NULL || !others_wrote(w))
		return WT_UNCHANGED;
	for (int i = 0; i < nfamilies && r.found != WT_CHANGED_BY_TRIGGERED; i++)
		wt_check(wide_batch_each(batch, families[i], key, column, commands[w->first].mark, note_change, &r),
				 "could not look at a row's changes");
	return r.found;
}

/* ---------------------------------------------------------------- snapshot */

/*
 * The engine's counterpart of one of PostgreSQL's snapshots.  All scans of a
 * statement share it: it lives as long as one of them holds it; in REPEATABLE
 * READ to the end of the transaction.
 */
typedef struct SnapEntry
{
	dlist_node	node;
	Snapshot	pg;				/* identity only */
	wide_snapshot *ws;
	int			refs;
	bool		shared;			/* the transaction's, and it is offered */
} SnapEntry;

static dlist_head snaps = DLIST_STATIC_INIT(snaps);
static SnapEntry *xact_snap = NULL; /* REPEATABLE READ and up */
static SnapEntry *parallel_snap = NULL;	/* in a worker: the leader's */
static ExecutorStart_hook_type prev_executor_start = NULL;
static ExecutorRun_hook_type prev_executor_run = NULL;
static int	run_depth = 0;		/* of nested ExecutorRun calls */
static bool run_locked = false; /* one of them, SELECT FOR UPDATE, may have shown the newest state */

/*
 * The newest batch that a read of the newest state has shown us.  Rows' locks
 * are given back before their batch is durable and published (finish).  So the
 * lock itself tells which batch it was (wt_locks_after): a reader need not have
 * come across a cell of it, as when that deleted one or is about other columns.
 * What others write without a lock shows itself in cells only.  In both cases:
 *
 *	- a snapshot that we take afterwards must include it: catch_up;
 *	- we end no earlier than it is durable, or else an acknowledged transaction
 *	  would have seen what a crash undoes.  What we write ourselves comes later in
 *	  the log and takes care of that; if we are rolled back it is flushed, too.
 *	- in a transaction block SELECT FOR UPDATE ends no earlier than that, as others
 *	  may hear of its rows.  What the next statement reads would wait for it anyway.
 */
static uint64 newest_read = 0;
static uint64 caught_up = 0;	/* up to here that is done in this transaction */

/* Make durable and visible what we have read already. */
static void
catch_up(void)
{
	uint64		lsn = Max(newest_read, wt_locks_after());

	if (lsn <= caught_up)
		return;
	if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
	{
		XLogFlush(lsn);
		/* as PostgreSQL demands: a cancellation ends the wait, not what comes after it */
		HOLD_INTERRUPTS();
		SyncRepWaitForLSN(lsn, true);
		RESUME_INTERRUPTS();
	}
	wt_check(wide_publish(wt_db(), lsn), "could not read");
	caught_up = lsn;
}

/* The same for a transaction that is rolled back: what it has read it has told its client. */
static void
flush_newest_read(void)
{
	uint64		lsn = Max(newest_read, wt_locks_after());

	if (lsn > caught_up && synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
		wt_wal_flush(lsn);
}

static bool
running_for(void *ctx, uint64_t xid)
{
	return XidInMVCCSnapshot(XidFromFullTransactionId(FullTransactionIdFromU64(xid)), (Snapshot) ctx);
}

/* Does PostgreSQL show the same transactions with both? */
static bool
same_transactions(Snapshot a, Snapshot b)
{
	return a->takenDuringRecovery == b->takenDuringRecovery && a->xmin == b->xmin && a->xmax == b->xmax &&
		a->xcnt == b->xcnt && memcmp(a->xip, b->xip, a->xcnt * sizeof(TransactionId)) == 0;
}

/*
 * How many transactions had ended when PostgreSQL took this snapshot; 0: cannot
 * be told.  PostgreSQL notes it in the memory that it takes its snapshots in, but
 * not in the copies which statements get.  So this looks there for the one that
 * the copy was made of: the same transactions running means that nothing has
 * ended between the two.  Where that memory is shows itself in READ COMMITTED
 * (executor_start).
 */
static Snapshot original = NULL;

static uint64
ended_at(Snapshot pg)
{
	Snapshot	s = original;

	if (IsInParallelMode() || RecoveryInProgress())
		return 0;
	if (s == NULL)
		s = GetLatestSnapshot();
	if (!same_transactions(s, pg))
		return 0;
	return s->snapXactCompletionCount;
}

static wide_status
take_snapshot(Snapshot pg, wide_snapshot **out)
{
	wide_moment at = {.running = running_for, .ctx = pg};

	at.ended = ended_at(pg);
	if (at.ended == 0)
		at.next = wt_full_xid(pg->xmax);
	return wide_snapshot_take_at(wt_db(), &at, out);
}

static SnapEntry *
snap_new(Snapshot pg)
{
	SnapEntry  *e;
	wide_status st;

	if (pg != NULL)
	{
		catch_up();
		wt_stop("snapshot-begin");
	}
	e = MemoryContextAllocZero(TopMemoryContext, sizeof(SnapEntry));
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (pg == NULL)
			st = wide_snapshot_latest(wt_db(), &e->ws);
		else
			st = take_snapshot(pg, &e->ws);
	} while (st == WIDE_INTERRUPTED);
	if (st != WIDE_OK)
	{
		pfree(e);
		wt_check(st, "could not take a snapshot");
	}
	e->pg = pg;
	e->refs = 1;
	dlist_push_head(&snaps, &e->node);
	if (pg != NULL)
		wt_stop("snapshot-taken");
	return e;
}

/*
 * SET TRANSACTION SNAPSHOT.  A transaction that has exported its snapshot offers
 * the engine's under its own virtual transaction id, which is what PostgreSQL
 * makes the snapshot's name of; one that has imported a snapshot by that name asks
 * for it.  Nothing less will do: what PostgreSQL's snapshot shows as running may be
 * the same for hours, while commits to wide tables alone go on.
 */
static uint64 imported_from = 0;	/* the exporter's */
static LocalTransactionId imported_in = InvalidLocalTransactionId;	/* our transaction that did */

void
wt_note_imported(const char *name)
{
	uint32		backend,
				lxid;

	if (sscanf(name, "%8x-%8x-", &backend, &lxid) != 2)
		return;
	imported_from = (uint64) backend << 32 | lxid;
	imported_in = wt_my_lxid;
}

/* After a statement: has the transaction exported its snapshot? */
static void
share_exported(void)
{
	if (xact_snap == NULL || xact_snap->shared || xact_snap->pg == NULL || !XactHasExportedSnapshots())
		return;
	wt_check(wide_snapshot_share(xact_snap->ws, (uint64) wt_my_backend_id << 32 | wt_my_lxid), "could not export the snapshot");
	xact_snap->shared = true;
}

/* The first snapshot of a transaction in REPEATABLE READ.  NULL, unless needed: there is none. */
static SnapEntry *
snap_of_transaction(Snapshot pg, bool needed)
{
	SnapEntry  *e;
	wide_snapshot *ws = NULL;

	if (imported_in == wt_my_lxid)
	{
		wide_status st = wide_snapshot_find(wt_db(), imported_from, &ws);

		if (st == WIDE_NOTFOUND && !needed)
			return NULL;
		if (st == WIDE_NOTFOUND)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot read wide tables with this imported snapshot"),
					 errdetail("The transaction that has exported it had no snapshot of the wide tables, or has ended."),
					 errhint("Let it run in REPEATABLE READ, with session_preload_libraries = 'widetable'.")));
		wt_check(st, "could not take over a snapshot");
	}
	if (ws == NULL)
		e = snap_new(pg);
	else
	{
		e = MemoryContextAllocZero(TopMemoryContext, sizeof(SnapEntry));
		e->pg = pg;
		e->ws = ws;
		e->refs = 1;
		dlist_push_head(&snaps, &e->node);
	}
	return e;
}

static void
snap_unref(SnapEntry *e)
{
	if (--e->refs > 0)
		return;
	dlist_delete(&e->node);
	wide_snapshot_release(e->ws);
	pfree(e);
}

static SnapEntry *
snap_for(Snapshot pg)
{
	dlist_iter	iter;

	if (pg != NULL && wt_parallel_leader_wrote())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot read wide tables in a parallel worker after the transaction has written to some"),
				 errdetail("What it has written is known to the session's own process only."),
				 errhint("Declare functions that read wide tables PARALLEL RESTRICTED.")));
	if (pg != NULL && IsolationUsesXactSnapshot())
	{
		if (xact_snap == NULL)
			xact_snap = snap_of_transaction(pg, true);
		xact_snap->refs++;
		return xact_snap;
	}
	if (pg != NULL)
		dlist_foreach(iter, &snaps)
		{
			SnapEntry  *e = dlist_container(SnapEntry, node, iter.cur);

			if (e->pg == pg)
			{
				e->refs++;
				return e;
			}
		}
	return snap_new(pg);
}

/* ------------------------------------------------------------------- scans */

struct WtScan
{
	WtScanHead	head;
	dlist_node	node;
	SnapEntry  *snap;
	Snapshot	pg;				/* that it was made for; identity only */
	int64		as_of;			/* widetable.as_of at that time */
	ResourceOwner owner;		/* whose release closes a scan that an error has left open */
	wide_scan_spec spec;		/* own copy for reopening */
	wide_batch *opened_with;	/* the batch it merges, NULL when there was none */
	bool		mark_given;
	wide_row   *kept;			/* what the caller goes on using while the scan rests; NULL: nothing */
	MemoryContext keptcxt;		/* for a copy of it */
	MemoryContext cxt;
};

static dlist_head scans = DLIST_STATIC_INIT(scans);

/* A list of byte strings with all their bytes, in two pieces of memory. */
static const wide_bytes *
copy_list(const wide_bytes *from, int n)
{
	wide_bytes *list = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(wide_bytes) * Max(1, n));
	Size		total = 1;
	uint8	   *data;

	for (int i = 0; i < n; i++)
		total += from[i].len;
	data = MemoryContextAllocHuge(CurrentMemoryContext, total);
	for (int i = 0; i < n; i++)
	{
		list[i] = from[i];
		if (from[i].data == NULL)
			continue;			/* an open bound */
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
open_engine_scan(WtScan *s, const wide_range *ranges, int nranges)
{
	wide_scan_spec spec = s->spec;
	wide_status st;

	spec.ranges = ranges;
	spec.nranges = nranges;
	spec.own = batch;
	if (s->head.newest && !s->mark_given)
		spec.own_mark = batch ? wide_batch_mark(batch) : 0;
	s->opened_with = batch;
	do
	{
		CHECK_FOR_INTERRUPTS();
		st = wide_scan_open(wt_db(), s->snap->ws, &spec, &s->head.scan);
	} while (st == WIDE_INTERRUPTED);
	if (st != WIDE_OK)
	{
		s->head.scan = NULL;
		wt_check(st, "could not read");
	}
}

/* With a snapshot, of the current resource owner, and without an engine's scan. */
static WtScan *
new_scan(Snapshot snapshot)
{
	MemoryContext cxt = AllocSetContextCreate(TopMemoryContext, "widetable scan", ALLOCSET_SMALL_SIZES);
	WtScan	   *s = MemoryContextAllocZero(cxt, sizeof(WtScan));

	s->cxt = cxt;
	s->head.newest = snapshot == NULL;
	s->pg = snapshot;
	s->as_of = wt_as_of_us();
	s->owner = CurrentResourceOwner;
	PG_TRY();
	{
		s->snap = snap_for(snapshot);
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

WtScan *
wt_snapshot_hold(Snapshot snapshot)
{
	(void) wt_db();
	return new_scan(snapshot);
}

WtScan *
wt_scan_open(Snapshot snapshot, wide_scan_spec *spec)
{
	MemoryContext old;
	WtScan	   *s;

	(void) wt_db();
	s = new_scan(snapshot);
	old = MemoryContextSwitchTo(s->cxt);
	copy_spec(&s->spec, spec);
	MemoryContextSwitchTo(old);
	s->mark_given = snapshot == NULL && spec->own_mark != 0;
	if (spec->own_mark == WT_OWN_NONE)
		s->spec.own_mark = 0;
	if (snapshot != NULL)
		s->spec.own_mark = wt_own_mark(snapshot);
	open_engine_scan(s, spec->ranges, spec->nranges);
	return s;
}

bool
wt_scan_set_aside(WtScan *s)
{
	dlist_iter	iter;

	dlist_foreach(iter, &scans)
	{
		/* one that its owner's end has closed is not there any more: see wt_scan_close */
		if (dlist_container(WtScan, node, iter.cur) != s)
			continue;
		if (batch != NULL || s->opened_with != NULL || s->head.newest || s->head.scan == NULL ||
			!wide_scan_set_aside(s->head.scan))
			return false;
		dlist_delete(&s->node);
		snap_unref(s->snap);
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
wt_scan_reuse(WtScan *s, Snapshot snapshot)
{
	s->snap = snap_for(snapshot);
	/* from here on it is the statement's, also when there is an error */
	s->pg = snapshot;
	s->as_of = wt_as_of_us();
	s->owner = CurrentResourceOwner;
	s->spec.own_mark = wt_own_mark(snapshot);
	dlist_push_head(&scans, &s->node);
}

void
wt_scan_reuse_ranges(WtScan *s, const wide_range *ranges, int nranges)
{
	wt_check(wide_scan_reuse(s->head.scan, s->snap->ws), "could not read");
	wt_scan_restart(s, ranges, nranges);
}

void
wt_scan_forget(WtScan *s)
{
	wide_scan_close(s->head.scan);
	MemoryContextDelete(s->cxt);
}

/* A read of the newest state has shown the row, or (NULL) that there is none. */
static void
note_newest(const WtScan *s, const wide_row *row)
{
	if (row == NULL || row->ncells == 0)
		newest_read = Max(newest_read, wide_snapshot_lsn(s->snap->ws));
	else
		for (int i = 0; i < row->ncells; i++)
			newest_read = Max(newest_read, row->cells[i].seq);
}

bool
wt_scan_read(WtScan *s, wide_row *row)
{
	wide_status st;

	s->kept = NULL;
	while ((st = wide_scan_next(s->head.scan, row)) == WIDE_INTERRUPTED)
		CHECK_FOR_INTERRUPTS();
	if (st != WIDE_OK && st != WIDE_END)
		wt_check(st, "could not read");
	if (s->head.newest)
		note_newest(s, st == WIDE_OK ? row : NULL);
	return st == WIDE_OK;
}

void
wt_scan_restart(WtScan *s, const wide_range *ranges, int nranges)
{
	wide_status st;

	uint64_t	mark = s->spec.own_mark;

	s->kept = NULL;
	if (s->head.newest)
		wt_check(wide_snapshot_renew(s->snap->ws), "could not take a snapshot");
	if (s->head.scan == NULL || s->opened_with != batch)
	{
		/* our own writes began */
		if (s->head.scan != NULL)
			wide_scan_close(s->head.scan);
		s->head.scan = NULL;
		open_engine_scan(s, ranges, nranges);
		return;
	}
	if (s->head.newest && !s->mark_given)
		mark = batch ? wide_batch_mark(batch) : 0;
	do
	{
		CHECK_FOR_INTERRUPTS();
		st = wide_scan_restart(s->head.scan, ranges, nranges, mark);
	} while (st == WIDE_INTERRUPTED);
	wt_check(st, "could not read");
}

void
wt_scan_stats(WtScan *s, wide_scan_stats *out)
{
	memset(out, 0, sizeof(*out));
	if (s->head.scan != NULL)
		wide_scan_statistics(s->head.scan, out);
}

bool
wt_scan_sees(WtScan *s, uint64_t seq)
{
	return wide_snapshot_sees(s->snap->ws, seq);
}

bool
wt_scan_is_newest(WtScan *s)
{
	return wide_snapshot_is_newest(s->snap->ws);
}

static wide_bytes
copy_bytes(wide_bytes b)
{
	uint8	   *data = palloc(Max(1, b.len));

	if (b.len > 0)
		memcpy(data, b.data, b.len);
	return (wide_bytes) {data, b.len};
}

void
wt_scan_keep(WtScan *s, wide_row *row)
{
	s->kept = row;
}

/* Memtables and files are let go; what the scan has handed out goes with them. */
static void
rest_scan(WtScan *s)
{
	if (s->head.scan == NULL)
		return;
	if (s->kept != NULL)
	{
		MemoryContext cxt = AllocSetContextCreate(s->cxt, "widetable row", ALLOCSET_SMALL_SIZES);
		MemoryContext old = MemoryContextSwitchTo(cxt);
		wide_row   *row = s->kept;
		wide_cell  *cells = palloc(sizeof(wide_cell) * Max(1, row->ncells));

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
close_scan(WtScan *s)
{
	dlist_delete(&s->node);
	if (s->head.scan != NULL)
		wide_scan_close(s->head.scan);
	snap_unref(s->snap);
	MemoryContextDelete(s->cxt);
}

/* A scan that the end of its transaction or its owner has closed already is ignored. */
void
wt_scan_close(WtScan *s)
{
	dlist_iter	iter;

	if (s == NULL)
		return;
	dlist_foreach(iter, &scans)
	{
		if (dlist_container(WtScan, node, iter.cur) == s)
		{
			close_scan(s);
			return;
		}
	}
}

static void
close_scans(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &scans)
		close_scan(dlist_container(WtScan, node, iter.cur));
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
		WtScan	   *s = dlist_container(WtScan, node, iter.cur);

		if (s->owner == CurrentResourceOwner)
			close_scan(s);
	}
}

/* ----------------------------------------------------------- engine tables */

/* What wt_engine found lately; valid while the catalog's generation stays. */
typedef struct EngineCache
{
	Oid			relid;
	uint64		serial;			/* of the parsed definition */
	WtEngine	engine;
} EngineCache;

#define ENGINE_CACHE 64
static EngineCache engine_cache[ENGINE_CACHE];

static void
fill_engine(WtTable *t, wide_batch *b, const wide_table *wt, WtEngine *out)
{
	wide_family *fams = palloc(sizeof(wide_family) * WT_MAX_FAMILIES);
	int			n = wide_table_families(wt_db(), b, wt->id, fams, WT_MAX_FAMILIES);

	memset(out, 0, sizeof(*out));
	out->table = wt->id;
	out->nall = n;
	for (int i = 0; i < n; i++)
	{
		int			f = wt_family_index(t, fams[i].name);

		out->all[i] = fams[i].id;
		if (f >= 0 && f < WT_MAX_FAMILIES)
		{
			out->families[f] = fams[i].id;
			out->versions[f] = fams[i].opt.versions;
		}
	}
	pfree(fams);
}

/* Without the room that is not used, which is most of it: this is done for each statement. */
static void
copy_engine(WtEngine *to, const WtEngine *from, int nfamilies)
{
	to->table = from->table;
	to->generation = from->generation;
	to->nall = from->nall;
	memcpy(to->families, from->families, sizeof(from->families[0]) * nfamilies);
	memcpy(to->versions, from->versions, sizeof(from->versions[0]) * nfamilies);
	memcpy(to->all, from->all, sizeof(from->all[0]) * from->nall);
}

bool
wt_engine(WtTable *t, bool create, WtEngine *out)
{
	EngineCache *c = &engine_cache[t->relid % ENGINE_CACHE];
	wide_db    *db;
	wide_table	wt;
	wide_status st;
	uint64		generation;

	/* nothing was ever stored in this cluster: do not make a store for reading */
	if (!create && !wt_store_exists())
	{
		wt_check_copied(t->relid);
		return false;
	}
	db = wt_db();
	/* before the catalog is read: what changes meanwhile is not taken for what was found */
	generation = wide_catalog_generation(db);
	if (!ddl && c->relid == t->relid && c->serial == t->serial && c->engine.generation == generation)
	{
		copy_engine(out, &c->engine, Min(t->nfamilies, WT_MAX_FAMILIES));
		return true;
	}
	st = wide_table_by_binding(db, batch, MyDatabaseId, t->relid, &wt);
	if (st == WIDE_NOTFOUND)
	{
		wt_check_copied(t->relid);
		if (!create)
			return false;
		wt_sync_table(t->relid);
		st = wide_table_by_binding(db, batch, MyDatabaseId, t->relid, &wt);
	}
	wt_check(st, "could not find the table");
	fill_engine(t, batch, &wt, out);
	if (create)
		for (int i = 0; i < t->nfamilies; i++)
			if (out->families[i] == 0)
			{
				wt_sync_table(t->relid);
				fill_engine(t, batch, &wt, out);
				break;
			}
	out->generation = generation;
	if (!ddl)
	{
		c->relid = t->relid;
		c->serial = t->serial;
		c->engine = *out;
	}
	return true;
}

/* --------------------------------------------------------------- callbacks */

/*
 * NOTIFY gives the transaction a number after this, and listeners hear of it when
 * that has ended; what they read then must wait for our cells.  Whether there is
 * something to tell nobody says but the check of PREPARE TRANSACTION.
 */
static bool
notifies(void)
{
	MemoryContext old = CurrentMemoryContext;
	volatile bool some = false;

	PG_TRY();
	{
		AtPrepare_Notify();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		FlushErrorState();
		some = true;
	}
	PG_END_TRY();
	return some;
}

static void
prepare(void)
{
	wide_status st;

	if (batch == NULL || wide_batch_empty(batch))
	{
		catch_up();
		return;
	}
	wt_process_ensure(&wt_worker);
	wide_batch_log_files(batch, wt_log_bulk);
	wt_process_ensure(&wt_keeper);
	wt_slot_check();
	prepared_xid = GetTopFullTransactionIdIfAny();
	if (!FullTransactionIdIsValid(prepared_xid) && notifies())
		prepared_xid = GetTopFullTransactionId();
	do
	{
		CHECK_FOR_INTERRUPTS();
		st = wide_batch_prepare(batch, FullTransactionIdIsValid(prepared_xid) ? U64FromFullTransactionId(prepared_xid) : 0);
	} while (st == WIDE_INTERRUPTED);
	wt_check(st, "could not commit to wide tables");
	prepared = true;
	wt_stop("commit-prepared");
}

/* Cannot fail: PostgreSQL's part is committed already. */
static void
finish(void)
{
	uint64_t	lsn = 0;

	if (!prepared)
		return;
	wt_stop("commit-recorded");
	/* a commit record is durable already, and what it says outlives a crash without our record */
	if (FullTransactionIdIsValid(prepared_xid))
		wide_batch_decided(batch, XactLastCommitEnd);
	else if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
		wide_batch_await(batch);
	if (wide_batch_finish(batch, &lsn) != WIDE_OK)
		ereport(PANIC, (errmsg("could not finish a commit to wide tables: %s", wide_error_text())));
	if (!FullTransactionIdIsValid(prepared_xid))
	{
		/*
		 * Whoever waits for our rows reads what is applied, and is durable no
		 * earlier than we are.  With a batch before ours still on its way we are
		 * not applied yet: he would overwrite what we have written.
		 */
		if (wide_wait_applied(wt_db(), lsn) != WIDE_OK)
			ereport(PANIC, (errmsg("could not finish a commit to wide tables: %s", wide_error_text())));
		wt_stop("commit-applied");
		wt_lock_release_early(lsn);
		wt_stop("commit-unlocked");
		/* there is no commit record: ours is the record to wait for */
		if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF)
		{
			/*
			 * It makes groups of commits by itself: one flush serves all that
			 * is in the log by then, and wakes who waits.  Waking only those whom
			 * it has served and one of the rest, to flush next, made half as many
			 * flushes, and was slower on a busy machine: there the one who is
			 * called takes long to come.
			 */
			XLogFlush(lsn);
			SyncRepWaitForLSN(lsn, true);
		}
		else
			XLogSetAsyncXactLSN(lsn);
	}
	/* as long as our record is not durable a crash gives the batch another one, with another timestamp */
	else
		XLogSetAsyncXactLSN(lsn);
	/* the next transaction of this session has not written anything yet */
	XactLastRecEnd = 0;
	wt_stop("commit-durable");
	if (wide_publish(wt_db(), lsn) != WIDE_OK)
		ereport(PANIC, (errmsg("could not publish a commit to wide tables: %s", wide_error_text())));
	wt_stop("commit-published");
}

static void
end_of_transaction(void)
{
	close_scans();
	if (xact_snap != NULL)
	{
		SnapEntry  *e = xact_snap;

		xact_snap = NULL;
		snap_unref(e);
	}
	if (parallel_snap != NULL)
		snap_unref(parallel_snap);
	parallel_snap = NULL;
	if (batch != NULL)
		wide_batch_free(batch);
	batch = NULL;
	prepared = false;
	ddl = false;
	ncommands = 0;
	nlevels = 0;
	newest_read = caught_up = 0;
	wt_lock_reset();
}

/*
 * The process ends in the middle of a transaction, and PostgreSQL aborts that
 * only after the store is let go.
 */
void
wt_xact_exit(void)
{
	end_of_transaction();
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			/* row locks and held snapshots are not needed to prepare, but scans read the batch */
			close_scans();
			prepare();
			break;
		case XACT_EVENT_COMMIT:
			finish();
			end_of_transaction();
			break;
		case XACT_EVENT_ABORT:
			flush_newest_read();
			end_of_transaction();
			break;
		case XACT_EVENT_PRE_PREPARE:
			if (batch != NULL && !wide_batch_empty(batch))
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot PREPARE a transaction that has written to wide tables")));
			if (wt_db_if_open() != NULL && wide_row_locks_held(wt_db_if_open()) > 0)
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot PREPARE a transaction that has locked rows of wide tables")));
			break;
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			end_of_transaction();
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			break;
	}
}

static void
subxact_callback(SubXactEvent event, SubTransactionId mySubid, SubTransactionId parentSubid, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();

	if (event == SUBXACT_EVENT_COMMIT_SUB)
	{
		/* its writes belong to the parent now */
		if (nlevels > 0 && levels[nlevels - 1].level == level)
		{
			if (level - 1 <= 1 || (nlevels > 1 && levels[nlevels - 2].level == level - 1))
				nlevels--;
			else
				levels[nlevels - 1].level = level - 1;
		}
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		while (nlevels > 0 && levels[nlevels - 1].level >= level)
		{
			nlevels--;
			if (batch != NULL)
				wide_batch_rewind(batch, levels[nlevels].mark);
		}
	}
}

/*
 * A worker's first query is the one that it was started for: its snapshot is a
 * copy of the leader's, and so is the engine's from now on.
 */
static void
adopt_snapshot(Snapshot pg)
{
	wide_snapshot *ws;
	SnapEntry  *e;

	wt_stop("parallel-adopt");
	ws = wt_parallel_snapshot();

	if (ws == NULL)
		return;
	e = MemoryContextAllocZero(TopMemoryContext, sizeof(SnapEntry));
	e->pg = pg;
	e->ws = ws;
	e->refs = 1;
	dlist_push_head(&snaps, &e->node);
	parallel_snap = e;
	if (IsolationUsesXactSnapshot())
	{
		e->refs++;
		xact_snap = e;
	}
}

/*
 * REPEATABLE READ: the engine's snapshot belongs to the transaction's first
 * statement, also when that reads no wide table; taken later it would show
 * commits that PostgreSQL's snapshot does not.
 */
static void
executor_start(QueryDesc *queryDesc, int eflags)
{
	char	   *why;

	/* see ended_at */
	if (unlikely(original == NULL) && !IsolationUsesXactSnapshot() && !IsInParallelMode() && !RecoveryInProgress() &&
		!HistoricSnapshotActive() && queryDesc->snapshot != NULL && IsMVCCSnapshot(queryDesc->snapshot))
		original = GetTransactionSnapshot();
	/* a store that cannot be opened is no reason to fail a query on something else */
	if (IsolationUsesXactSnapshot() && xact_snap == NULL && queryDesc->snapshot != NULL &&
		IsMVCCSnapshot(queryDesc->snapshot) && !IsInParallelMode() && !RecoveryInProgress() &&
		wt_store_exists() && wt_db_try(&why) != NULL)
		xact_snap = snap_of_transaction(queryDesc->snapshot, false);
	if (IsParallelWorker() && parallel_snap == NULL && queryDesc->snapshot != NULL)
		adopt_snapshot(queryDesc->snapshot);
	if (prev_executor_start)
		prev_executor_start(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);
}

static bool
reads_wide_tables(PlannedStmt *plan)
{
	ListCell   *lc;

	foreach(lc, plan->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_FOREIGN_TABLE && wt_is_ours(rte->relid))
			return true;
	}
	return false;
}

/* Has widetable.as_of changed between the executor's start and its run? */
static bool
as_of_changed(Snapshot pg)
{
	dlist_iter	iter;

	dlist_foreach(iter, &scans)
	{
		WtScan	   *s = dlist_container(WtScan, node, iter.cur);

		if (s->pg == pg && s->as_of != wt_as_of_us())
			return true;
	}
	return false;
}

/* What a statement that may have workers holds while it runs. */
typedef struct ParallelRun
{
	WtScan	   *held;			/* keeps its snapshot */
	int			level;			/* of the announcement; 0: none */
} ParallelRun;

/*
 * Tell the workers what to read, see parallel.c.  false: the statement has to do
 * without them.
 */
static bool
begin_parallel(QueryDesc *queryDesc, ParallelRun *run)
{
	Snapshot	pg = queryDesc->estate->es_snapshot;
	char	   *why;

	if (IsParallelWorker() || pg == NULL || !IsMVCCSnapshot(pg))
		return true;
	if (batch != NULL)
	{
		if (reads_wide_tables(queryDesc->plannedstmt))
			return false;
		run->level = wt_parallel_announce(NULL);
		return true;
	}
	/* where the leader finds no store, workers must not find one that was made since */
	if (RecoveryInProgress() || !wt_store_exists() || wt_db_try(&why) == NULL)
		return !reads_wide_tables(queryDesc->plannedstmt);
	if (as_of_changed(pg))
		return false;
	run->held = wt_snapshot_hold(pg);
	run->level = wt_parallel_announce(run->held->snap->ws);
	wt_stop("parallel-announced");
	return true;
}

static void
end_parallel(ParallelRun *run)
{
	if (run->level > 0)
		wt_parallel_withdraw(run->level);
	wt_scan_close(run->held);
}

/*
 * When the outermost query comes back with its rows the scans of open cursors
 * rest, perhaps for long, and must not keep memtables and files meanwhile.
 */
static void
executor_run(QueryDesc *queryDesc, ScanDirection direction, uint64 count WT_RUN_ONCE_PARAM)
{
	dlist_iter	iter;
	ParallelRun run = {0};

	run_depth++;
	PG_TRY();
	{
		if (queryDesc->plannedstmt->parallelModeNeeded && !begin_parallel(queryDesc, &run))
			wt_run_without_workers(queryDesc);
		if (prev_executor_run)
			prev_executor_run(queryDesc, direction, count WT_RUN_ONCE_ARG);
		else
			standard_ExecutorRun(queryDesc, direction, count WT_RUN_ONCE_ARG);
		end_parallel(&run);
	}
	PG_FINALLY();
	{
		run_depth--;
	}
	PG_END_TRY();
	run_locked |= queryDesc->operation == CMD_SELECT && queryDesc->plannedstmt->rowMarks != NIL;
	if (run_depth > 0)
		return;
	/* first: what comes then may wait for a standby */
	dlist_foreach(iter, &scans)
		rest_scan(dlist_container(WtScan, node, iter.cur));
	if (run_locked && IsTransactionBlock())
		catch_up();
	run_locked = false;
	share_exported();
}

void
wt_xact_init(void)
{
	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
	RegisterResourceReleaseCallback(release_callback, NULL);
	prev_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	prev_executor_run = ExecutorRun_hook;
	ExecutorRun_hook = executor_run;
}

void
wt_lock_release_all(void)
{
	wt_lock_reset();
}

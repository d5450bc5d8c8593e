/*
 * time_mark.c
 *		Time marks: commit records of PostgreSQL between commits to wide tables alone.
 *
 * Invariant: every commit to wide tables alone is followed in WAL by a commit record
 * with a later time, as soon as the worker gets to it, and at the latest when the
 * server shuts down in order; after a crash, by the worker of the next start.  If
 * neither the worker nor the keeper runs, the next commit MARK_MS later does it.
 *
 * Locking: none; the anchor's members are atomic.
 */
#include "postgres.h"

#include "fdw/store/time_mark.h"

#include "access/xact.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"
#include "fdw/store/error.h"

/* A commit without a mark for that long has sessions write one: the worker, which looks each
 * second, is busy or absent. */
#define MARK_MS 2000

bool
wt_time_mark_is_due(void)
{
	WtAnchor *a = wt_anchor();
	uint64 since = pg_atomic_read_u64(&a->unmarked);
	TimestampTz now = GetCurrentTimestamp();

	if (since == 0)
	{
		(void) pg_atomic_compare_exchange_u64(&a->unmarked, &since, (uint64) now);
		return false;
	}
	/* also when the clock was set back */
	if (now >= (TimestampTz) since && now - (TimestampTz) since < MARK_MS * INT64CONST(1000))
		return false;
	return pg_atomic_compare_exchange_u64(&a->unmarked, &since, 0);
}

/* Commits a transaction that does nothing but take an xid.  Its record need not be flushed. */
static void
commit_with_xid(void)
{
	int synchronous = synchronous_commit;

	StartTransactionCommand();
	(void) GetTopTransactionId();
	synchronous_commit = SYNCHRONOUS_COMMIT_OFF;
	PG_TRY();
	{
		CommitTransactionCommand();
	}
	PG_FINALLY();
	{
		synchronous_commit = synchronous;
	}
	PG_END_TRY();
}

void
wt_time_mark_write(wide_db *db)
{
	WtAnchor *a = wt_anchor();
	MemoryContext caller = CurrentMemoryContext;
	wide_stats s;

	wide_statistics(db, &s);
	if (s.visible_lsn == pg_atomic_read_u64(&a->marked_lsn))
		return;
	PG_TRY();
	{
		pg_atomic_write_u64(&a->unmarked, 0);
		commit_with_xid();
		pg_atomic_write_u64(&a->marked_lsn, s.visible_lsn);
	}
	PG_CATCH();
	{
		/* no xid can be had, for example; PostgreSQL has said why */
		MemoryContextSwitchTo(caller);
		EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
}

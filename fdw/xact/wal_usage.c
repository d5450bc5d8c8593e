/*
 * wal_usage.c
 *		WAL of wide writes, counted in the statements that cause it.
 *
 * PostgreSQL counts WAL where it is inserted, in pgWalUsage, and a statement has what was
 * counted while it ran.  The log record of wide writes is inserted at commit, when no
 * statement runs.  So each write counts the bytes that it adds to the record (an estimate: the
 * record leaves out what the transaction has overwritten itself, and shared beginnings of
 * keys).  The end of the transaction, which the record is counted at as well, takes them out
 * again.  So the sums of the server (pg_stat_wal) are exact.
 *
 * A COMMIT in a procedure is inside of statements, whose difference must not become
 * negative.  There no more is taken out than the commit has added; the rest is taken out at
 * the next end of a transaction that no statement surrounds.
 */
#include "postgres.h"

#include "fdw/xact/wal_usage.h"

#include "executor/instrument.h"
#include "tcop/pquery.h"

#include "engine/wide.h"
#include "fdw/xact/batch.h"

static uint64 charged = 0;	   /* of this transaction's batch, in pgWalUsage */
static uint64 owed = 0;		   /* charged and not yet taken out */
static uint64 commit_from = 0; /* pgWalUsage.wal_bytes before the commit's WAL; 0: no commit */

void
wt_wal_usage_charge(void)
{
	uint64 bytes = wide_batch_log_bytes(wt_batch(true));

	/* a batch that was begun since the last charge has fewer */
	if (bytes <= charged)
		return;
	pgWalUsage.wal_bytes += bytes - charged;
	owed += bytes - charged;
	charged = bytes;
}

void
wt_wal_usage_commit_begins(void)
{
	commit_from = pgWalUsage.wal_bytes;
}

void
wt_wal_usage_settle(void)
{
	uint64 most = ActivePortal == NULL ? pgWalUsage.wal_bytes
				  : commit_from != 0   ? pgWalUsage.wal_bytes - commit_from
									   : 0;
	uint64 out = Min(owed, most);

	pgWalUsage.wal_bytes -= out;
	owed -= out;
	charged = commit_from = 0;
}

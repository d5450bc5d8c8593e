/*
 * prepared.c
 *		Prepared transactions that PostgreSQL has ended: their end in the engine
 *		(doc/internals/prepared.md).
 *
 * COMMIT PREPARED and ROLLBACK PREPARED are PostgreSQL's, and may be executed by a session
 * that has not loaded this library.  So nothing here depends on these statements: any
 * process that finds a prepared transaction of the engine which PostgreSQL regards as ended
 * ends it, by what PostgreSQL says about its xid.  That is the session itself behind the
 * statement, one that takes a snapshot which sees the end, one that waits for a row lock of
 * the transaction, one that commits, and the keeper.  Several are ended in the order of
 * PostgreSQL's commit records.
 */
#include "postgres.h"

#include "fdw/store/prepared.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/memutils.h"

#include "engine/wide.h"
#include "fdw/store/anchor.h"
#include "fdw/store/error.h"
#include "fdw/store/host.h"
#include "fdw/store/store.h"
#include "fdw/store/wal_failure.h"
#include "fdw/store/wal_reader.h"

#define AT_ONCE 64

/* A transaction that PostgreSQL has ended. */
typedef struct Ended
{
	uint64 full;
	bool committed;
	XLogRecPtr at; /* end of its commit record; 0: none was looked for, or it is an old one */
} Ended;

static Ended *ended = NULL; /* in TopMemoryContext */
static int nended = 0, ended_max = 0;

/* ------------------------------------------------------------------ finding */

/* Adds the transaction to ended[], if PostgreSQL has ended it and it is not there yet. */
static void
add_if_ended(uint64 full)
{
	TransactionId xid = XidFromFullTransactionId(FullTransactionIdFromU64(full));

	for (int i = 0; i < nended; i++)
		if (ended[i].full == full)
			return;
	/* PostgreSQL writes its record, then the commit log, then removes it from those in progress */
	if (TransactionIdIsInProgress(xid))
		return;
	if (nended == ended_max)
	{
		int max = Max(AT_ONCE, ended_max * 2);

		ended = ended != NULL ? repalloc(ended, max * sizeof(Ended))
							  : MemoryContextAlloc(TopMemoryContext, max * sizeof(Ended));
		ended_max = max;
	}
	ended[nended] = (Ended) {.full = full, .committed = TransactionIdDidCommit(xid)};
	nended++;
}

/*
 * Finds the transactions that PostgreSQL has ended.  Looks until there are no more: then ended[]
 * has all that were ended before any of them.
 */
static void
find_ended(wide_db *db)
{
	int before;

	nended = 0;
	do
	{
		uint64_t xids[AT_ONCE];
		uint32_t at = 0;
		int n;

		before = nended;
		while ((n = wide_prepared_list(db, &at, xids, AT_ONCE)) > 0)
			for (int i = 0; i < n; i++)
				add_if_ended(xids[i]);
	} while (nended > before);
}

/* ----------------------------------------------------------------- ordering */

/* Takes the record, if it commits one of ended[]. */
static void
note_record(XLogReaderState *record)
{
	uint8 info = XLogRecGetInfo(record);
	xl_xact_parsed_commit parsed;
	uint64 full;

	if (XLogRecGetRmid(record) != RM_XACT_ID ||
		(info & XLOG_XACT_OPMASK) != XLOG_XACT_COMMIT_PREPARED)
		return;
	ParseCommitRecord(info, (xl_xact_commit *) XLogRecGetData(record), &parsed);
	full = wt_host_full_xid(parsed.twophase_xid);
	for (int i = 0; i < nended; i++)
		if (ended[i].full == full)
			ended[i].at = record->EndRecPtr;
}

/* Finds the commit records of ended[] in WAL from there on.  Raises an error if that cannot be
 * read. */
static void
find_records(XLogRecPtr from)
{
	XLogRecPtr end = wt_wal_reader_limit();
	WtWalReader *reader = wt_wal_reader_new(from);

	PG_TRY();
	{
		XLogReaderState *record;

		do
		{
			CHECK_FOR_INTERRUPTS();
			if (wt_wal_reader_next(reader, end, &record) != WIDE_OK)
				ereport(ERROR,
						(errcode(ERRCODE_IO_ERROR), errmsg_internal("%s", wt_wal_failure_text())));
			if (record != NULL)
				note_record(record);
		} while (record != NULL);
	}
	PG_FINALLY();
	{
		wt_wal_reader_free(reader);
	}
	PG_END_TRY();
}

static int
compare_ended(const void *a, const void *b)
{
	const Ended *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->full < y->full ? -1 : x->full > y->full;
}

/*
 * Brings ended[] into the order of the commit records, which is that of the statements: two of the
 * transactions may have put the same cell.  A session that has the store open ends what was ended
 * before its own statement, so no more than one of each such session need to be in order; those of
 * others do.  A record that is not found is from before what is read, and before all others:
 * what is ended is not logged anew, unless its end has failed.
 */
static void
order_ended(wide_db *db)
{
	XLogRecPtr from = InvalidXLogRecPtr;
	uint32 n = 0;

	for (int i = 0; i < nended; i++)
		n += ended[i].committed;
	if (n <= 1 || n <= pg_atomic_read_u32(&wt_anchor()->ending))
		return;
	for (int i = 0; i < nended; i++)
	{
		XLogRecPtr start = ended[i].committed ? wide_prepared_start(db, ended[i].full) : 0;

		/* 0: another process has ended it meanwhile */
		if (start != 0 && (from == 0 || start < from))
			from = start;
	}
	if (from != 0)
		find_records(from);
	qsort(ended, nended, sizeof(Ended), compare_ended);
}

/* ------------------------------------------------------------------- ending */

static void
settle(wide_db *db, const Ended *e)
{
	wide_status st;

	do
	{
		CHECK_FOR_INTERRUPTS();
		st = wide_prepared_end(db, e->full, e->committed);
	} while (st == WIDE_INTERRUPTED);
	wt_error_check(st, "could not finish a prepared transaction in wide tables");
}

void
wt_prepared_settle(void)
{
	wide_db *db = wt_store_db_if_open();

	if (db == NULL || !wide_prepared_any(db) || RecoveryInProgress())
		return;
	/* a promotion makes the entries before the store can be written */
	if (!wt_store_runs())
		return;
	find_ended(db);
	order_ended(db);
	for (int i = 0; i < nended; i++)
		settle(db, &ended[i]);
}

void
wt_prepared_settle_quietly(void)
{
	WtErrorPoint before = wt_error_point();

	PG_TRY();
	{
		wt_prepared_settle();
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		ereport(LOG, (errmsg("widetable: %s", e->message),
					  e->detail ? errdetail("%s", e->detail) : 0));
		FreeErrorData(e);
	}
	PG_END_TRY();
}

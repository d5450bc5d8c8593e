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
 * the transaction, one that commits, and the keeper.
 */
#include "postgres.h"

#include "fdw/store/prepared.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/procarray.h"

#include "engine/wide.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"

#define AT_ONCE 64

static void
settle(wide_db *db, uint64 full)
{
	TransactionId xid = XidFromFullTransactionId(FullTransactionIdFromU64(full));
	bool committed;
	wide_status st;

	/* PostgreSQL writes its record, then the commit log, then removes it from those in progress */
	if (TransactionIdIsInProgress(xid))
		return;
	committed = TransactionIdDidCommit(xid);
	do
	{
		CHECK_FOR_INTERRUPTS();
		st = wide_prepared_end(db, full, committed);
	} while (st == WIDE_INTERRUPTED);
	wt_error_check(st, "could not finish a prepared transaction in wide tables");
}

void
wt_prepared_settle(void)
{
	wide_db *db = wt_store_db_if_open();
	uint64_t xids[AT_ONCE];
	uint32_t at = 0;
	int n;

	if (db == NULL || !wide_prepared_any(db) || RecoveryInProgress())
		return;
	while ((n = wide_prepared_list(db, &at, xids, AT_ONCE)) > 0)
		for (int i = 0; i < n; i++)
			settle(db, xids[i]);
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

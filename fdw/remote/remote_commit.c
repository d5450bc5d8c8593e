/*
 * remote_commit.c
 *		Sends the changes of a transaction to HBase.
 *
 * A row's changes go as one list, which HBase makes at one moment, or as few (mutation.c).
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/remote/remote_commit.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "fdw/remote/connection.h"
#include "fdw/remote/mutation.h"
#include "fdw/remote/remote_change.h"
#include "fdw/remote/remote_define.h"

/* Rows that go in one call of the client, which divides them among servers. */
#define BATCH_ROWS 20000

/* Sends rows of one table, as the user who has changed them.  Of most rows there is one list; the
 * second ones are sent after the first ones of all. */
static void
send_rows(WtRemoteTable *r, WtRemoteRow *const *rows, int n, int64 *sent, int64 all)
{
	hb_client *client = wt_connection_to(r->server, rows[0]->user, &r->place);
	hb_mutation **lists = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(hb_mutation *) * n);
	hb_mutation *batch = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(hb_mutation) * n);
	int *counts = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int) * n);
	int most = 0;

	for (int i = 0; i < n; i++)
	{
		counts[i] = wt_mutation_make(rows[i], &lists[i]);
		most = Max(most, counts[i]);
	}
	for (int pass = 0; pass < most; pass++)
	{
		hb_mutate_result result = {0};
		int count = 0;
		hb_status status;

		for (int i = 0; i < n; i++)
			if (counts[i] > pass)
				batch[count++] = lists[i][pass];
		status = hb_mutate(client, r->name, batch, count, &result);
		*sent += pass == 0 ? result.written : 0;
		if (status != HB_OK)
			wt_remote_table_fail(r, client, status, "could not write to",
								 psprintf(INT64_FORMAT " of " INT64_FORMAT
													   " rows had been written, and stay.",
										  *sent, all));
	}
}

/* Sends the changes of all rows, by table and key; those without changes are left out. */
static void
send_all(WtRemoteRow *const *rows, int n)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable rows to HBase",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	int64 sent = 0, all = 0;

	for (int i = 0; i < n; i++)
		all += rows[i]->last >= 0;
	for (int from = 0, to; from < n; from = to)
	{
		for (to = from; to < n && to - from < BATCH_ROWS && rows[to]->table == rows[from]->table &&
						rows[to]->user == rows[from]->user;)
			to++;
		CHECK_FOR_INTERRUPTS();
		if (!rows[from]->table->undone)
			send_rows(rows[from]->table, rows + from, to - from, &sent, all);
		MemoryContextReset(cxt);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}

static void
xact_callback(XactEvent event, void *arg)
{
	WtRemoteRow *const *rows;
	int n;

	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			wt_remote_define_apply();
			if ((n = wt_remote_change_rows(&rows)) > 0)
				send_all(rows, n);
			break;
		case XACT_EVENT_PRE_PREPARE:
			if (wt_remote_change_rows(&rows) > 0 || wt_remote_define_any())
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot PREPARE a transaction that has changed tables of HBase"),
						 errdetail("HBase has no transactions over rows that could wait.")));
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			wt_remote_define_forget();
			wt_remote_change_forget();
			break;
		default:
			break;
	}
}

void
wt_remote_commit_init(void)
{
	RegisterXactCallback(xact_callback, NULL);
}

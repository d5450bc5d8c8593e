/*
 * remote_commit.c
 *		Sends the changes of a transaction to HBase.
 *
 * A row's changes go as one list, which HBase makes in any order at one moment.  A delete wins
 * there over a put of the same cell.  So where a put follows a delete that would hide it, the
 * put gets this machine's time as timestamp and the delete the millisecond before; where the
 * put replaces all that the delete is for, the delete is left out.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/remote/remote_commit.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "fdw/remote/connection.h"
#include "fdw/remote/remote_change.h"
#include "fdw/remote/remote_define.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"

/* Rows that go in one call of the client, which divides them among servers. */
#define BATCH_ROWS 20000

static const hb_change_kind kinds[] = {
	HB_PUT,
	[1 + WIDE_DELETE_VERSION] = HB_DELETE_VERSION,
	[1 + WIDE_DELETE_COLUMN] = HB_DELETE_COLUMN,
	[1 + WIDE_DELETE_FAMILY] = HB_DELETE_FAMILY,
	[1 + WIDE_DELETE_FAMILY_VERSION] = HB_DELETE_FAMILY_VERSION,
};

static hb_bytes
to_hbase(wide_bytes b)
{
	return (hb_bytes) {b.data, b.len};
}

static bool
same_column(const WtRemoteChange *a, const WtRemoteChange *b)
{
	return a->family == b->family && wt_bytes_cmp(a->qual, b->qual) == 0;
}

/* Returns: true if a later change of the row makes this one needless: a put of the same version,
 * or a delete of what it puts. */
static bool
is_replaced(const WtRemoteChange *c, const WtRemoteChange *const *later, int n)
{
	for (int i = 0; i < n; i++)
	{
		const WtRemoteChange *d = later[i];
		bool all = d->ts == WIDE_TS_MAX;

		if (d->family != c->family)
			continue;
		if (d->kind == 1 + WIDE_DELETE_FAMILY && all)
			return true;
		if (d->kind == 1 + WIDE_DELETE_COLUMN && all && same_column(c, d) &&
			c->kind != 1 + WIDE_DELETE_FAMILY && c->kind != 1 + WIDE_DELETE_FAMILY_VERSION)
			return true;
		if (c->kind == 0 && d->kind == 0 && c->ts == d->ts && same_column(c, d))
			return true;
	}
	return false;
}

/* Returns: true if the delete, which hides all that was written before it, would hide a put that
 * follows it. */
static bool
hides_later(const WtRemoteChange *c, const WtRemoteChange *const *later, int n)
{
	for (int i = 0; i < n; i++)
	{
		const WtRemoteChange *d = later[i];

		if (d->kind == 0 && d->family == c->family &&
			(c->kind == 1 + WIDE_DELETE_FAMILY ||
			 (c->kind == 1 + WIDE_DELETE_COLUMN && same_column(c, d))))
			return true;
	}
	return false;
}

/* Makes the list of one row.  Returns: the number of its changes; *m is set if there are any. */
static int
make_mutation(const WtRemoteRow *row, hb_mutation *m)
{
	const WtRemoteChange **list;
	int n = wt_remote_change_list(row, NULL, &list), count = 0;
	hb_change *out = palloc(sizeof(hb_change) * Max(1, n));
	int64 now = wt_clock_now() / 1000;
	bool conflict = false;

	for (int i = 0; i < n; i++)
		conflict = conflict || (list[i]->kind != 0 && list[i]->ts == WIDE_TS_MAX &&
								hides_later(list[i], list + i + 1, n - i - 1));
	for (int i = 0; i < n; i++)
	{
		const WtRemoteChange *c = list[i];
		int64 ts = HB_TS_LATEST;

		if (is_replaced(c, list + i + 1, n - i - 1))
			continue;
		if (c->ts != WIDE_TS_AUTO && c->ts != WIDE_TS_MAX)
			ts = c->ts / 1000;
		else if (conflict)
			ts = c->kind == 0 ? now : now - 1;
		out[count++] = (hb_change) {
			.kind = kinds[c->kind],
			.family = {(const uint8_t *) row->table->families[c->family].name,
					   strlen(row->table->families[c->family].name)},
			.qualifier = to_hbase(c->qual),
			.value = to_hbase(c->value),
			.timestamp = ts,
			.ttl_ms = c->ttl_us / 1000};
	}
	*m = (hb_mutation) {.key = to_hbase(row->key), .changes = out, .n_changes = count};
	return count;
}

/* Sends rows of one table, as the user who has changed them. */
static void
send_rows(WtRemoteTable *r, WtRemoteRow *const *rows, int n, int64 *sent, int64 all)
{
	hb_client *client = wt_connection_to(r->server, rows[0]->user, &r->place);
	hb_mutation *list = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(hb_mutation) * n);
	int count = 0;
	hb_mutate_result result = {0};
	hb_status status;

	for (int i = 0; i < n; i++)
		count += make_mutation(rows[i], &list[count]) > 0;
	if (count == 0)
		return;
	status = hb_mutate(client, r->name, list, count, &result);
	*sent += result.written;
	if (status != HB_OK)
		wt_remote_table_fail(r, client, status, "could not write to",
							 psprintf(INT64_FORMAT " of " INT64_FORMAT
												   " rows had been written, and stay.",
									  *sent, all));
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

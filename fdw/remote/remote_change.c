/*
 * remote_change.c
 *		What the transaction has changed in tables of HBase and has not sent yet.
 *
 * HBase is atomic for one row.  Changes wait here until PRE_COMMIT, so that ROLLBACK and
 * savepoints are exact, and are sent then.
 *
 * changes[] has all of them in their order.  A subtransaction that is rolled back cuts it to
 * the length that it had.  A row is found by a hash of table and key, and for scans in a
 * sorted array that is made when it is needed.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/remote/remote_change.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/level_marks.h"
#include "fdw/table/key_text.h"

static MemoryContext context = NULL; /* of the lists below; NULL: there are no changes */
static WtRemoteChange *changes = NULL;
static int nchanges = 0, changes_max = 0;
static WtRemoteRow **buckets = NULL; /* hash chains */
static uint32 nbuckets = 0;
static int nrows = 0;
static WtRemoteRow **sorted = NULL; /* nsorted rows by table and key; older than nrows: stale */
static int nsorted = 0;
static WtLevelMarks levels;		  /* in changes */
static const void *writer = NULL; /* of the changes that follow */
static CommandId writer_command;
static int64 provisional = 0; /* 0: not needed yet */

/* -------------------------------------------------------------------- rows */

static uint32
bucket_of(const WtRemoteTable *r, wide_bytes key)
{
	return (hash_bytes(key.data, (int) key.len) ^ r->id * 2654435761u) & (nbuckets - 1);
}

static int
compare_rows(const void *a, const void *b)
{
	const WtRemoteRow *x = *(WtRemoteRow *const *) a, *y = *(WtRemoteRow *const *) b;

	if (x->table != y->table)
		return x->table->id < y->table->id ? -1 : 1;
	return wt_bytes_cmp(x->key, y->key);
}

static void
grow_buckets(void)
{
	WtRemoteRow **old = buckets;
	uint32 n = nbuckets;

	nbuckets = n == 0 ? 256 : n * 4;
	buckets = MemoryContextAllocExtended(context, sizeof(WtRemoteRow *) * nbuckets,
										 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 0; i < n; i++)
		while (old[i] != NULL)
		{
			WtRemoteRow *row = old[i];
			uint32 to = bucket_of(row->table, row->key);

			old[i] = row->next;
			row->next = buckets[to];
			buckets[to] = row;
		}
	if (old != NULL)
		pfree(old);
}

static wide_bytes
copy_bytes(wide_bytes b)
{
	uint8 *to = MemoryContextAllocHuge(context, Max(1, b.len));

	wt_bytes_copy(to, b.data, b.len);
	return (wide_bytes) {to, b.len};
}

static WtRemoteRow *
find_row(const WtRemoteTable *r, wide_bytes key)
{
	if (nrows == 0)
		return NULL;
	for (WtRemoteRow *row = buckets[bucket_of(r, key)]; row != NULL; row = row->next)
	{
		if (row->table == r && wt_bytes_cmp(row->key, key) == 0)
			return row;
	}
	return NULL;
}

WtRemoteRow *
wt_remote_change_make_row(WtRemoteTable *r, wide_bytes key)
{
	WtRemoteRow *row = find_row(r, key);
	uint32 b;

	if (row != NULL)
		return row;
	if ((uint32) nrows >= nbuckets)
		grow_buckets();
	b = bucket_of(r, key);
	row = MemoryContextAlloc(context, sizeof(WtRemoteRow));
	*row = (WtRemoteRow) {
		.table = r, .user = GetUserId(), .key = copy_bytes(key), .last = -1, .next = buckets[b]};
	buckets[b] = row;
	nrows++;
	return row;
}

static void
sort_rows(void)
{
	if (nsorted == nrows)
		return;
	if (sorted != NULL)
		pfree(sorted);
	sorted = MemoryContextAllocHuge(context, sizeof(WtRemoteRow *) * nrows);
	nsorted = 0;
	for (uint32 i = 0; i < nbuckets; i++)
		for (WtRemoteRow *row = buckets[i]; row != NULL; row = row->next)
			sorted[nsorted++] = row;
	qsort(sorted, nsorted, sizeof(WtRemoteRow *), compare_rows);
}

WtRemoteRow *
wt_remote_change_row_from(const WtRemoteTable *r, wide_bytes key, bool reverse)
{
	WtRemoteRow probe = {.table = (WtRemoteTable *) r, .key = key}, *p = &probe;
	int lo = 0, hi;

	if (nrows == 0)
		return NULL;
	sort_rows();
	hi = nsorted;
	/* the first one at or behind the key; without a key behind all of the table */
	while (lo < hi)
	{
		int mid = (lo + hi) / 2;
		bool before = key.data == NULL ? sorted[mid]->table->id <= r->id
									   : compare_rows(&sorted[mid], &p) < 0;

		if (before)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (int i = reverse ? lo - 1 : lo; i >= 0 && i < nsorted && sorted[i]->table == r;
		 i += reverse ? -1 : 1)
	{
		if (sorted[i]->last >= 0)
			return sorted[i];
	}
	return NULL;
}

WtRemoteRow *
wt_remote_change_row(const WtRemoteTable *r, wide_bytes key)
{
	WtRemoteRow *row = find_row(r, key);

	return row != NULL && row->last >= 0 ? row : NULL;
}

/* ----------------------------------------------------------------- changes */

void
wt_remote_change_begin(WtTable *t, const void *by, CommandId command)
{
	PreventCommandIfParallelMode("a change of a table of HBase");
	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "widetable changes of HBase",
										ALLOCSET_DEFAULT_SIZES);
	if (nbuckets == 0)
		grow_buckets();
	writer = by;
	writer_command = command;
	wt_level_marks_note(&levels, (uint64) nchanges);
}

/* Errors: 53400 if the changes that wait for the commit take more than the server allows. */
static void
check_memory(const WtRemoteTable *r)
{
	if (MemoryContextMemAllocated(context, false) / 1024 <= (Size) r->place.write_buffer_kb)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("the transaction has too many changes of tables of HBase"),
			 errdetail("%d rows wait in memory for the commit; option \"write_buffer\" of the "
					   "server is %d kB.",
					   nrows, r->place.write_buffer_kb),
			 errhint("Write in several transactions, or raise the option: ALTER SERVER ... OPTIONS "
					 "(SET write_buffer '1GB').")));
}

/* Returns a new change of the row. */
static WtRemoteChange *
add_change(wide_family_id family, wide_bytes key, int kind, wide_bytes qual)
{
	int at;
	WtRemoteTable *r = wt_remote_table_of(family, &at);
	WtRemoteRow *row = wt_remote_change_make_row(r, key);
	WtRemoteChange *c;

	if (nchanges == changes_max)
	{
		changes_max = Max(256, changes_max * 2);
		changes = changes == NULL
					  ? MemoryContextAllocHuge(context, sizeof(WtRemoteChange) * changes_max)
					  : repalloc_huge(changes, sizeof(WtRemoteChange) * changes_max);
	}
	c = &changes[nchanges];
	*c = (WtRemoteChange) {.kind = kind,
						   .family = at,
						   .cid = GetCurrentCommandId(true),
						   .user = wt_remote_table_user(family),
						   .writer = writer,
						   .writer_command = writer_command,
						   .before = row->last,
						   .row = row,
						   .qual = copy_bytes(qual)};
	row->last = nchanges++;
	row->user = c->user;
	check_memory(r);
	return c;
}

/* HBase's timestamps are milliseconds. */
static void
check_timestamp(WtTable *t, int64 ts, wide_bytes key)
{
	if (ts != WIDE_TS_AUTO && ts != WIDE_TS_MAX && (ts < 0 || ts % 1000 != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timestamp of a cell of table \"%s\" must be whole milliseconds since 1970",
						t->table_name),
				 errdetail("Key %s.", wt_key_text(t, key)),
				 errhint("HBase has no finer timestamps: date_trunc('milliseconds', ...).")));
}

void
wt_remote_change_put(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts,
					 int64 ttl_us, wide_bytes value)
{
	WtRemoteChange *c;

	if (provisional != 0 && ts == provisional)
		ts = WIDE_TS_AUTO;
	check_timestamp(t, ts, key);
	c = add_change(family, key, 0, qual);
	c->ts = ts;
	c->ttl_us = ttl_us;
	c->value = copy_bytes(value);
}

/*
 * Deletes of a column without a qualifier, in a family with NEW_VERSION_BEHAVIOR.  HBase
 * (HBASE-26901) cannot read the row any more if a newer put comes before such a delete in the order
 * of timestamps, and the delete of a family does not hide the column.  So there are only deletes of
 * all versions, with the highest timestamp, and each delete of the family has one with it.
 */
static void
check_bare(WtTable *t, const WtRemoteFamily *f, wide_delete *kind, wide_bytes key, int64 *ts)
{
	/* where there is one version */
	if (*kind == WIDE_DELETE_VERSION && f->opt.versions == 1)
	{
		*kind = WIDE_DELETE_COLUMN;
		*ts = WIDE_TS_MAX;
	}
	if (*kind == WIDE_DELETE_VERSION || (*kind == WIDE_DELETE_COLUMN && *ts != WIDE_TS_MAX))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot delete single versions of a cell without a qualifier in HBase"),
				 errdetail("Table \"%s\", key %s, family \"%s\".", t->table_name,
						   wt_key_text(t, key), f->name),
				 errhint("Delete all versions of the cell, or the row.")));
}

void
wt_remote_change_remove(WtTable *t, wide_delete kind, wide_family_id family, wide_bytes key,
						wide_bytes qual, int64 ts)
{
	/* the version of this transaction */
	if (provisional != 0 && ts == provisional && kind == WIDE_DELETE_VERSION)
	{
		add_change(family, key, 1 + (int) kind, qual)->ts = WIDE_TS_AUTO;
		return;
	}
	check_timestamp(t, ts, key);
	if (kind == WIDE_DELETE_FAMILY || kind == WIDE_DELETE_FAMILY_VERSION)
		qual.len = 0;
	else if (qual.len == 0)
	{
		int at;
		const WtRemoteTable *r = wt_remote_table_of(family, &at);

		if (r->families[at].exact)
			check_bare(t, &r->families[at], &kind, key, &ts);
	}
	add_change(family, key, 1 + (int) kind, qual)->ts = ts;
}

WtEngineChanged
wt_remote_change_changed(const wide_family_id *families, int nfamilies, wide_bytes key,
						 const wide_bytes *column, const void *by, CommandId command,
						 CommandId unseen)
{
	WtEngineChanged found = WT_UNCHANGED;
	const WtRemoteRow *row;

	if (nfamilies == 0 || (row = find_row(wt_remote_table_of(families[0], NULL), key)) == NULL)
		return found;
	for (int i = row->last; i >= 0; i = changes[i].before)
	{
		const WtRemoteChange *c = &changes[i];
		int at;

		if (c->cid < unseen || c->writer == by)
			continue;
		(void) wt_remote_table_of(families[0], &at);
		if (column != NULL && (c->family != at || (c->kind != 1 + WIDE_DELETE_FAMILY &&
												   c->kind != 1 + WIDE_DELETE_FAMILY_VERSION &&
												   wt_bytes_cmp(c->qual, *column) != 0)))
			continue;
		if (c->writer == NULL || c->writer_command != command)
			return WT_CHANGED_BY_TRIGGERED;
		found = WT_CHANGED_BY_COMMAND;
	}
	return found;
}

int64
wt_remote_change_provisional(void)
{
	/* not a whole millisecond: no stored version has it */
	if (provisional == 0)
		provisional = (GetCurrentTimestamp() + WT_EPOCH_DIFF) / 1000 * 1000 + 1;
	return provisional;
}

bool
wt_remote_change_any(const WtRemoteTable *r)
{
	return wt_remote_change_row_from(r, (wide_bytes) {(const uint8 *) "", 0}, false) != NULL;
}

bool
wt_remote_change_of_versions(const WtRemoteTable *r)
{
	for (int i = 0; i < nchanges; i++)
	{
		const WtRemoteChange *c = &changes[i];

		if (c->row->table == r && !c->taken &&
			(c->kind == 0 ? c->ts != WIDE_TS_AUTO
						  : c->ts != WIDE_TS_MAX || c->kind == 1 + WIDE_DELETE_VERSION))
			return true;
	}
	return false;
}

int
wt_remote_change_list(const WtRemoteRow *row, Snapshot pg, const WtRemoteChange ***list)
{
	int n = 0, at;

	for (int i = row->last; i >= 0; i = changes[i].before)
		n += pg == NULL || changes[i].cid < pg->curcid;
	*list = palloc(sizeof(**list) * Max(1, n));
	at = n;
	for (int i = row->last; i >= 0; i = changes[i].before)
		if (pg == NULL || changes[i].cid < pg->curcid)
			(*list)[--at] = &changes[i];
	return n;
}

void
wt_remote_change_take_back(WtRemoteRow *row)
{
	for (int i = row->last, before; i >= 0; i = before)
	{
		before = changes[i].before;
		changes[i].before = -1;
		changes[i].taken = true;
	}
	row->last = -1;
	while (nchanges > 0 && changes[nchanges - 1].taken && changes[nchanges - 1].row == row &&
		   (levels.n == 0 || levels.list[levels.n - 1].mark < (uint64) nchanges))
		nchanges--;
}

/* ------------------------------------------------------------- transaction */

void
wt_remote_change_forget(void)
{
	if (context != NULL)
		MemoryContextDelete(context);
	context = NULL;
	changes = NULL;
	buckets = NULL;
	sorted = NULL;
	nchanges = changes_max = nrows = nsorted = 0;
	wt_level_marks_clear(&levels);
	nbuckets = 0;
	provisional = 0;
}

int
wt_remote_change_rows(WtRemoteRow *const **rows)
{
	if (nchanges == 0)
		return 0;
	sort_rows();
	*rows = sorted;
	return nsorted;
}

static void
subxact_callback(SubXactEvent event, SubTransactionId mySubid, SubTransactionId parentSubid,
				 void *arg)
{
	uint64 mark;

	if (!wt_level_marks_end(&levels, event, &mark))
		return;
	for (; (uint64) nchanges > mark; nchanges--)
	{
		WtRemoteRow *row = changes[nchanges - 1].row;

		row->last = changes[nchanges - 1].before;
		if (row->last >= 0)
			row->user = changes[row->last].user;
	}
}

void
wt_remote_change_init(void)
{
	RegisterSubXactCallback(subxact_callback, NULL);
}

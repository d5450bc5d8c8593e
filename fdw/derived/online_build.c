/*
 * online_build.c
 *		Builds indexes while readers and writers go on (option build 'online').
 */
#include "postgres.h"

#include "fdw/derived/online_build.h"

#include "access/xact.h"
#include "catalog/pg_foreign_table.h"
#include "lib/stringinfo.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "engine/wide.h"
#include "fdw/ddl/catalog_option.h"
#include "fdw/derived/as_owner.h"
#include "fdw/derived/base_reader.h"
#include "fdw/derived/entry.h"
#include "fdw/derived/index_build.h"
#include "fdw/row/cell_read.h"
#include "fdw/store/row_lock.h"
#include "fdw/store/stop_point.h"
#include "fdw/store/store.h"
#include "fdw/table/table.h"
#include "fdw/xact/batch.h"

#define CHUNK_ROWS	 2000 /* in a transaction: so many row locks at a time */
#define ASK_AGAIN_MS 5000 /* of one session */

PGDLLEXPORT void wt_online_build_main(Datum arg);

/* ------------------------------------------------------------------ starting */

static List *at_commit = NIL; /* oids, in TopTransactionContext */

/* Where the builder works; in bgw_extra. */
typedef struct BuilderPlace
{
	Oid database;
} BuilderPlace;

/* Returns false if there is no free slot for a process. */
static bool
start(Oid relid)
{
	BuilderPlace place = {MyDatabaseId};
	BackgroundWorker w = {.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
						  .bgw_start_time = BgWorkerStart_RecoveryFinished,
						  .bgw_restart_time = BGW_NEVER_RESTART,
						  .bgw_main_arg = ObjectIdGetDatum(relid)};

	strlcpy(w.bgw_library_name, "widetable", sizeof(w.bgw_library_name));
	strlcpy(w.bgw_function_name, "wt_online_build_main", sizeof(w.bgw_function_name));
	strlcpy(w.bgw_name, "widetable index builder", sizeof(w.bgw_name));
	strlcpy(w.bgw_type, "widetable index builder", sizeof(w.bgw_type));
	memcpy(w.bgw_extra, &place, sizeof(place));
	return RegisterDynamicBackgroundWorker(&w, NULL);
}

/* The lock of the builder.  It is not that of the table, so that commands need not wait for it. */
static LOCKTAG
lock_tag(Oid relid)
{
	LOCKTAG tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, ForeignTableRelationId, relid, 0);
	return tag;
}

static bool
try_lock(Oid relid, bool session)
{
	LOCKTAG tag = lock_tag(relid);

	return LockAcquire(&tag, ExclusiveLock, session, true) != LOCKACQUIRE_NOT_AVAIL;
}

static void
unlock(Oid relid, bool session)
{
	LOCKTAG tag = lock_tag(relid);

	(void) LockRelease(&tag, ExclusiveLock, session);
}

void
wt_online_build_at_commit(Oid relid)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	at_commit = lappend_oid(at_commit, relid);
	MemoryContextSwitchTo(old);
}

void
wt_online_build_ensure(const WtIndex *x)
{
	static Oid asked = InvalidOid;
	static TimestampTz when = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (RecoveryInProgress() || IsBinaryUpgrade ||
		(asked == x->relid && !TimestampDifferenceExceeds(when, now, ASK_AGAIN_MS)) ||
		!try_lock(x->relid, false))
		return;
	/* nobody builds it: the lock was free */
	unlock(x->relid, false);
	asked = x->relid;
	when = now;
	(void) start(x->relid);
}

static void
end_of_transaction(XactEvent event, void *arg)
{
	ListCell *lc;

	if (event == XACT_EVENT_COMMIT)
		foreach(lc, at_commit)
			if (!start(lfirst_oid(lc)))
				ereport(WARNING,
						(errmsg("could not start the process that builds an index"),
						 errdetail("All %d background processes are in use.", max_worker_processes),
						 errhint("A query of the table tries again. Raise max_worker_processes.")));
	if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE)
		at_commit = NIL;
}

void
wt_online_build_init(void)
{
	RegisterXactCallback(end_of_transaction, NULL);
}

/* ------------------------------------------------------------------ building */

/* Returns: the key that option progress has, the last one whose entries are there; no bytes: none.
 */
static wide_bytes
position_of(const WtIndex *x)
{
	const char *hex = x->table->progress;
	size_t n = strlen(hex) / 2;
	uint8 *p = palloc(n + 1);

	(void) hex_decode(hex, n * 2, (char *) p);
	return (wide_bytes) {p, n};
}

static char *
hex_of(wide_bytes b)
{
	char *out = palloc(b.len * 2 + 1);

	out[hex_encode((const char *) b.data, b.len, out)] = '\0';
	return out;
}

/* Returns the keys of the next rows behind the position, at most CHUNK_ROWS, palloc'd. */
static wide_bytes *
next_keys(const WtIndex *x, const WtEngineTable *e, int *n)
{
	wide_scan_family fams[WT_MAX_FAMILIES];
	wide_bytes at = position_of(x), *keys = palloc(sizeof(wide_bytes) * CHUNK_ROWS);
	/* the least key behind it ends with a zero byte more */
	wide_range range = {.lo = {at.data, at.len > 0 ? at.len + 1 : 0}};
	wide_scan_spec spec = {.families = fams,
						   .nfamilies = e->nall,
						   .ranges = &range,
						   .nranges = 1,
						   .row_hint = CHUNK_ROWS};
	WtEngineScan *scan;
	wide_row row;

	((uint8 *) at.data)[at.len] = 0;
	for (int i = 0; i < e->nall; i++)
		fams[i] = (wide_scan_family) {.id = e->all[i], .want = WIDE_WANT_EXISTS};
	*n = 0;
	scan = wt_engine_scan_open(NULL, &spec);
	while (*n < CHUNK_ROWS && wt_engine_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		keys[(*n)++] = wt_cell_read_copy_bytes(CurrentMemoryContext, row.key);
	}
	wt_engine_scan_close(scan);
	return keys;
}

/* Puts the entries of a row, as it is under its lock. */
static void
add_row(const WtIndex *x, const WtEngineTable *own, WtBaseReader *r, wide_bytes key)
{
	(void) wt_row_lock(r->e.table, key, false);
	if (wt_base_reader_get(r, key))
	{
		WtEntries all = wt_entry_make(x, r->values, r->nulls, r->stamps);

		wt_base_reader_check_ttl(r);
		for (int i = 0; i < all.n; i++)
			wt_entry_put(x, own, &all.list[i]);
	}
}

/* Adds the entries of some rows.  Returns their number; 0: all rows have theirs. */
static int
add_rows(const WtIndex *x)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable index row",
											  ALLOCSET_DEFAULT_SIZES),
				  old;
	WtEngineTable own, base;
	WtBaseReader *r;
	wide_bytes *keys;
	int n;

	if (!wt_engine_table(x->base, false, &base) || !wt_engine_table(x->table, false, &own))
		return 0;
	keys = next_keys(x, &base, &n);
	wt_batch_command();
	r = wt_base_reader_open(x->base, x->read, NULL);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(cxt);
		old = MemoryContextSwitchTo(cxt);
		add_row(x, &own, r, keys[i]);
		MemoryContextSwitchTo(old);
	}
	wt_base_reader_close(r);
	if (n > 0)
		wt_catalog_option_set_table(x->relid, "progress", hex_of(keys[n - 1]));
	MemoryContextDelete(cxt);
	return n;
}

/* All entries are there: from here on the planner uses the index. */
static void
finish(const WtIndex *x)
{
	wt_catalog_option_drop_table(x->relid, "progress");
	CacheInvalidateRelcacheByRelid(x->base->relid);
}

/* Locks the indexed table, and then the index, as writers and commands do that drop or empty both.
 * Returns NULL if the index is gone. */
static WtIndex *
lock_tables(Oid relid)
{
	WtTable *t = wt_table_is_ours(relid) ? wt_table_unlocked(relid) : NULL;

	if (t == NULL || t->index_of == NULL)
		return NULL;
	LockRelationOid(t->source, RowExclusiveLock);
	LockRelationOid(relid, RowExclusiveLock);
	return wt_table_is_ours(relid) ? wt_index(relid) : NULL;
}

/* One transaction of the builder; *done: number of rows whose entries are there.  Returns false if
 * nothing is left to do. */
static bool
build_chunk(Oid relid, uint64 *done)
{
	int n = 0;
	WtIndex *x;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	x = lock_tables(relid);
	if (x != NULL && x->building)
	{
		WtAsOwner saved = wt_as_owner_begin(x->base->owner, true);

		/* the end of a transaction ends what it shows */
		wt_index_build_progress(x);
		wide_progress_add(wt_store_db(), *done);
		n = add_rows(x);
		if (n == 0)
			finish(x);
		wt_as_owner_end(&saved);
		*done += (uint64) n;
	}
	PopActiveSnapshot();
	wt_stop_point("index-chunk");
	CommitTransactionCommand();
	return n > 0;
}

/* At the end of the process, which would leave the lock in shared memory. */
static void
unclaim(int code, Datum relid)
{
	unlock(DatumGetObjectId(relid), true);
}

/* Returns false if another process builds the index, or it is gone. */
static bool
claim(Oid relid)
{
	bool ours;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	/* of the session, so that it lasts from one transaction to the next */
	ours = wt_table_is_ours(relid) && try_lock(relid, true);
	if (ours)
		before_shmem_exit(unclaim, ObjectIdGetDatum(relid));
	PopActiveSnapshot();
	CommitTransactionCommand();
	return ours;
}

void
wt_online_build_main(Datum arg)
{
	Oid relid = DatumGetObjectId(arg);
	BuilderPlace place;
	uint64 done = 0;

	memcpy(&place, MyBgworkerEntry->bgw_extra, sizeof(place));
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(place.database, InvalidOid, 0);
	if (!claim(relid))
		proc_exit(0);
	while (build_chunk(relid, &done))
		CHECK_FOR_INTERRUPTS();
	proc_exit(0);
}

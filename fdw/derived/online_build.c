/*
 * online_build.c
 *		Builds indexes and roll-ups while readers and writers go on (option build 'online').
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
#include "fdw/derived/rollup_build.h"
#include "fdw/derived/unique.h"
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
	strlcpy(w.bgw_name, "widetable builder", sizeof(w.bgw_name));
	strlcpy(w.bgw_type, "widetable builder", sizeof(w.bgw_type));
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
wt_online_build_ensure(const WtTable *derived)
{
	static Oid asked = InvalidOid;
	static TimestampTz when = 0;
	TimestampTz now = GetCurrentTimestamp();
	Oid relid = derived->relid;

	if (RecoveryInProgress() || IsBinaryUpgrade || derived->failed != NULL ||
		(asked == relid && !TimestampDifferenceExceeds(when, now, ASK_AGAIN_MS)) ||
		!try_lock(relid, false))
		return;
	/* nobody builds it: the lock was free */
	unlock(relid, false);
	asked = relid;
	when = now;
	(void) start(relid);
}

void
wt_online_build_check_read(const WtTable *t, Snapshot snapshot)
{
	const char *kind = t->rollup_of != NULL ? "roll-up" : "index";

	if (!wt_is_derived(t))
		return;
	if (t->progress != NULL)
	{
		wt_online_build_ensure(t);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s \"%s\" is being built", kind, get_rel_name(t->relid)),
				 t->failed != NULL
					 ? errdetail("The build has failed with SQLSTATE %s.", t->failed)
					 : errdetail("It is complete when it has no option \"progress\" any more."),
				 t->failed != NULL
					 ? errhint("The server's log has the error. When its reason is gone, "
							   "ALTER FOREIGN TABLE %s OPTIONS (DROP failed) goes on with it.",
							   quote_identifier(get_rel_name(t->relid)))
					 : errhint("widetable.pg_stat_widetable_progress shows how far it is.")));
	}
	if (snapshot != NULL && !wt_index_is_visible(wt_index_made(t->relid), snapshot))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("%s \"%s\" is newer than what the transaction reads", kind,
						get_rel_name(t->relid)),
				 errhint("Run the transaction again.")));
}

static void
end_of_transaction(XactEvent event, void *arg)
{
	ListCell *lc;

	if (event == XACT_EVENT_COMMIT)
		foreach(lc, at_commit)
			if (!start(lfirst_oid(lc)))
				ereport(WARNING,
						(errmsg("could not start the process that builds an index or a roll-up"),
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

/* Puts the entries of a row, as it is under its lock.  Returns false if somebody has the lock, and
 * this should not be waited for. */
static bool
add_entries(const WtIndex *x, const WtEngineTable *own, WtBaseReader *r, wide_bytes key, bool wait)
{
	WtEntries all;

	if (!wt_row_lock(r->e.table, key, !wait))
		return false;
	if (!wt_base_reader_get(r, key))
		return true;
	wt_base_reader_check_ttl(r, x->read, x->table->cell_ttl);
	all = wt_entry_make(x, r->values, r->nulls, r->stamps, r->ttls);
	for (int i = 0; i < all.n; i++)
	{
		if (all.list[i].distinct)
		{
			wt_unique_lock(x, own, all.list[i].key);
			wt_unique_check(x, own, all.list[i].key);
		}
		wt_entry_put(x, own, &all.list[i]);
	}
	return true;
}

/*
 * Adds the entries of some rows, and records the last one.  Only the first row may be one that
 * somebody has locked: whoever waits for a row of this transaction may have others that it wants.
 * Returns: their number; 0: all rows have theirs.
 */
static int
add_rows(const WtIndex *x)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable index row",
											  ALLOCSET_DEFAULT_SIZES),
				  old;
	WtEngineTable own, base;
	WtBaseReader *r;
	wide_bytes *keys;
	bool more = true;
	int n, done = 0;

	if (!wt_engine_table(x->base, false, &base) || !wt_engine_table(x->table, false, &own))
		return 0;
	keys = next_keys(x, &base, &n);
	wt_batch_command();
	r = wt_base_reader_open(x->base, x->read, NULL);
	while (done < n && more)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(cxt);
		old = MemoryContextSwitchTo(cxt);
		more = add_entries(x, &own, r, keys[done], done == 0);
		done += more;
		MemoryContextSwitchTo(old);
	}
	wt_base_reader_close(r);
	if (done > 0)
		wt_catalog_option_set_table(x->relid, "progress", hex_of(keys[done - 1]));
	MemoryContextDelete(cxt);
	return done;
}

/* All is there: from here on it is used. */
static void
finish(const WtTable *derived)
{
	wt_catalog_option_drop_table(derived->relid, "progress");
	CacheInvalidateRelcacheByRelid(derived->source);
}

/* Locks the table, and then what is derived from it, as statements do that change both.  It waits
 * for either without the other: ALTER of what is derived has that, and wants the table. */
static void
lock_both(Oid source, Oid relid)
{
	LockRelationOid(source, RowExclusiveLock);
	while (!ConditionalLockRelationOid(relid, RowExclusiveLock))
	{
		UnlockRelationOid(source, RowExclusiveLock);
		LockRelationOid(relid, RowExclusiveLock);
		UnlockRelationOid(relid, RowExclusiveLock);
		LockRelationOid(source, RowExclusiveLock);
	}
}

/* Locks the tables.  Returns what is derived; NULL: it is gone, or nothing is to be built. */
static WtTable *
lock_tables(Oid relid)
{
	WtTable *t = wt_table_is_ours(relid) ? wt_table_unlocked(relid) : NULL;

	if (t == NULL || !wt_is_derived(t))
		return NULL;
	lock_both(t->source, relid);
	t = wt_table_is_ours(relid) ? wt_table(relid) : NULL;
	return t != NULL && t->progress != NULL && t->failed == NULL ? t : NULL;
}

/* What one transaction of the builder has come to. */
typedef enum Step
{
	STEP_DONE,	/* nothing is left to do */
	STEP_MORE,	/* there may be more */
	STEP_AGAIN, /* the transaction must be rolled back */
} Step;

/* Callback: returns true if a command waits for a lock of this transaction, which has
 * AccessShareLock alone. */
static bool
is_waited_for(const WtRollup *r)
{
	WtEngineTable base = {0};
	Oid relids[] = {r->base->relid, r->relid, InvalidOid};

	/* its lock is that of the stored table (ddl_lock.h) */
	if (wt_engine_table(r->base, false, &base))
		relids[2] = base.head;
	for (int i = 0; i < (int) lengthof(relids) && OidIsValid(relids[i]); i++)
	{
		/* not granted either while somebody waits for a lock that conflicts with it */
		if (!ConditionalLockRelationOid(relids[i], RowShareLock))
			return true;
		UnlockRelationOid(relids[i], RowShareLock);
	}
	return false;
}

/* Builds a roll-up in one transaction. */
static Step
build_rollup(const WtRollup *r)
{
	Oid base = r->base->relid, relid = r->relid;
	WtRollupLack *lack;

	/* to read, so that fewer commands have to wait */
	LockRelationOid(base, AccessShareLock);
	LockRelationOid(relid, AccessShareLock);
	UnlockRelationOid(relid, RowExclusiveLock);
	UnlockRelationOid(base, RowExclusiveLock);
	lack = wt_rollup_build_read(r, is_waited_for);
	if (lack == NULL)
		return STEP_AGAIN;
	wt_stop_point("rollup-read");
	/* a command that has such locks might wait for this transaction */
	if (!ConditionalLockRelationOid(base, RowExclusiveLock) ||
		!ConditionalLockRelationOid(relid, RowExclusiveLock))
		return STEP_AGAIN;
	/* a command on another foreign table with the same rows may have built it anew */
	r = wt_index_rollup(relid);
	if (r == NULL || !r->building || !wt_rollup_build_add(lack, r))
		return STEP_AGAIN;
	finish(r->table);
	return STEP_DONE;
}

/* Adds the entries of some rows to an index. */
static Step
build_index(const WtIndex *x, uint64 *done)
{
	int n = add_rows(x);

	if (n == 0)
		finish(x->table);
	*done += (uint64) n;
	return n > 0 ? STEP_MORE : STEP_DONE;
}

static bool claimed = false; /* this process has the builder's lock */

/* At the end of the process, which would leave the lock in shared memory. */
static void
unclaim(int code, Datum relid)
{
	if (claimed)
		unlock(DatumGetObjectId(relid), true);
}

/* Returns false if another process builds it, or it is gone. */
static bool
claim(Oid relid)
{
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	/* of the session, so that it lasts from one transaction to the next */
	claimed = wt_table_is_ours(relid) && try_lock(relid, true);
	PopActiveSnapshot();
	CommitTransactionCommand();
	return claimed;
}

/* Rolls back, which releases the locks of the session, too.  Returns false if another process has
 * taken the builder's lock. */
static bool
roll_back(Oid relid)
{
	claimed = false;
	AbortCurrentTransaction();
	return claim(relid);
}

/* What a transaction does; it ends as owner of the tables. */
static Step
build(Oid relid, uint64 *done)
{
	WtTable *t = lock_tables(relid);
	WtIndex *x = t != NULL ? wt_index(relid) : NULL;
	WtRollup *r = t != NULL ? wt_index_rollup(relid) : NULL;
	WtAsOwner saved;
	Step step;

	if (x == NULL && r == NULL)
		return STEP_DONE;
	/* the end of a transaction ends what it shows */
	wt_base_reader_begin_progress(t, x != NULL ? x->base : r->base);
	wide_progress_add(wt_store_db(), *done);
	PushActiveSnapshot(GetTransactionSnapshot());
	saved = wt_as_owner_begin(t->owner, true);
	step = x != NULL ? build_index(x, done) : build_rollup(r);
	wt_as_owner_end(&saved);
	PopActiveSnapshot();
	return step;
}

/* One transaction of the builder; *done: number of rows whose entries are there.  Returns false if
 * nothing is left to do. */
static bool
build_step(Oid relid, uint64 *done)
{
	Step step;

	StartTransactionCommand();
	/* a roll-up and its table are read as one snapshot sees them */
	XactIsoLevel = XACT_REPEATABLE_READ;
	step = build(relid, done);
	wt_stop_point("index-chunk");
	if (step == STEP_AGAIN)
		return roll_back(relid);
	CommitTransactionCommand();
	return step != STEP_DONE;
}

/* Returns true if the error may not come again. */
static bool
is_passing(int sqlstate)
{
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
			return true;
		default:
			return sqlstate == ERRCODE_LOCK_NOT_AVAILABLE;
	}
}

/* Records that the build has failed.  Not the message: everybody can read options, and it may have
 * values of rows. */
static void
record_failure(Oid relid, int sqlstate)
{
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (lock_tables(relid) != NULL)
		wt_catalog_option_set_table(relid, "failed", unpack_sql_state(sqlstate));
	PopActiveSnapshot();
	CommitTransactionCommand();
}

/* The same, but an error that would come again ends the build. */
static bool
try_build_step(Oid relid, uint64 *done)
{
	MemoryContext cxt = CurrentMemoryContext;
	volatile bool more = false;
	int sqlstate;

	PG_TRY();
	{
		more = build_step(relid, done);
	}
	PG_CATCH();
	{
		sqlstate = geterrcode();
		if (is_passing(sqlstate))
			PG_RE_THROW();
		MemoryContextSwitchTo(cxt);
		EmitErrorReport();
		FlushErrorState();
		/* another builder will find the error itself */
		if (roll_back(relid))
			record_failure(relid, sqlstate);
	}
	PG_END_TRY();
	return more;
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
	before_shmem_exit(unclaim, ObjectIdGetDatum(relid));
	if (!claim(relid))
		proc_exit(0);
	while (try_build_step(relid, &done))
		CHECK_FOR_INTERRUPTS();
	proc_exit(0);
}

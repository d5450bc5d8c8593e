/*
 * statistics.c
 *		The functions behind the statistics views.
 *
 * pg_stat_widetable counts the tables of all databases; the other views show
 * those of this database.  A store that was never used shows as "none".
 *
 * The functions may be called by everybody.  Row keys are data: as in pg_stats,
 * only roles that may read the table see them.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "engine/wide.h"
#include "fdw/ddl/binding.h"
#include "fdw/func/result.h"
#include "fdw/store/anchor.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/follower.h"
#include "fdw/store/store.h"
#include "fdw/table/engine.h"
#include "fdw/table/family_option.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"

static void
add_int(WtResultRow *row, int32 v)
{
	wt_result_add(row, Int32GetDatum(v));
}

static void
add_bigint(WtResultRow *row, int64 v)
{
	wt_result_add(row, Int64GetDatum(v));
}

static void
add_lsn(WtResultRow *row, XLogRecPtr v)
{
	wt_result_add(row, LSNGetDatum(v));
}

/* A process; 0: a null. */
static void
add_pid(WtResultRow *row, int pid)
{
	wt_result_add_unless(row, pid == 0, Int32GetDatum(pid));
}

static Datum
interval_of(int64 us)
{
	Interval *i = palloc0(sizeof(Interval));

	i->time = us;
	return IntervalPGetDatum(i);
}

/* An oid; InvalidOid: a null. */
static void
add_oid(WtResultRow *row, Oid v)
{
	wt_result_add_unless(row, !OidIsValid(v), ObjectIdGetDatum(v));
}

/* ------------------------------------------------------------------ store */

/* Columns about state, memory and files. */
static void
add_store_sizes(WtResultRow *row, const wide_stats *s)
{
	add_bigint(row, s->segment_bytes);
	add_int(row, s->processes);
	add_lsn(row, s->visible_lsn);
	add_lsn(row, s->flushed_lsn);
	add_lsn(row, s->restart_lsn);
	add_bigint(row, s->memtable_bytes);
	add_bigint(row, s->memtable_limit);
	add_bigint(row, s->memtables_waiting);
	add_bigint(row, s->cache_bytes);
	add_bigint(row, s->cache_limit);
	add_bigint(row, s->cache_hits);
	add_bigint(row, s->cache_misses);
	add_int(row, s->tables);
	add_int(row, s->families);
	add_bigint(row, s->files);
	add_bigint(row, s->file_bytes);
}

/* Columns about what has been read and written since the start. */
static void
add_store_work(WtResultRow *row, const wide_stats *s)
{
	add_bigint(row, s->commits);
	add_bigint(row, s->cells_written);
	add_bigint(row, s->log_bytes);
	add_bigint(row, s->gets);
	add_bigint(row, s->scans);
	add_bigint(row, s->rows_read);
	add_bigint(row, s->cells_read);
	add_bigint(row, s->bloom_checks);
	add_bigint(row, s->bloom_skips);
	add_bigint(row, s->flushes);
	add_bigint(row, s->flush_bytes);
	add_bigint(row, s->compactions);
	add_bigint(row, s->compact_read_bytes);
	add_bigint(row, s->compact_write_bytes);
	add_bigint(row, s->files_deleted);
	add_bigint(row, s->stalls);
	wt_result_add(row, Float8GetDatum(s->stall_us / 1000.0)); /* milliseconds */
}

PG_FUNCTION_INFO_V1(wt_sql_stat_store);

Datum
wt_sql_stat_store(PG_FUNCTION_ARGS)
{
	WtResultRow row = {0};
	wide_stats s = {0};
	wide_db *db = wt_store_exists() ? wt_store_db() : NULL;
	int worker = 0;

	if (db != NULL)
	{
		wide_statistics(db, &s);
		worker = wt_anchor()->worker.pid;
	}

	wt_result_add_text(&row, db != NULL ? "running" : "none");
	add_store_sizes(&row, &s);
	add_store_work(&row, &s);
	add_bigint(&row, db ? wide_row_locks_total(db) : 0);
	add_bigint(&row, s.row_lock_waits);
	add_bigint(&row, s.spills);
	add_bigint(&row, s.spilled_bytes);
	add_int(&row, s.snapshots);
	wt_result_add_unless(&row, s.oldest_snapshot == 0, LSNGetDatum(s.oldest_snapshot));
	add_int(&row, s.pins);
	add_bigint(&row, s.reserved_bytes);
	add_bigint(&row, s.reserved_files);
	wt_result_add_unless(&row, worker == 0, Int32GetDatum(worker));
	/* from version 1.1 on */
	wt_result_add(&row, interval_of(db ? wt_clock_ahead(s.newest_ts) : 0));
	add_pid(&row, s.oldest_snapshot_pid);
	add_pid(&row, s.memtable_holder_pid);
	add_pid(&row, db ? wt_anchor()->keeper.pid : 0);
	wt_result_add_unless(&row, s.counters_reset == 0,
						 TimestampTzGetDatum(s.counters_reset - WT_EPOCH_DIFF));
	add_bigint(&row, s.max_files);
	add_bigint(&row, s.dead_files);
	add_bigint(&row, s.containers);
	add_bigint(&row, s.row_lock_bytes);
	add_int(&row, (int) s.row_lock_waiters);
	return wt_result_one(&row, fcinfo);
}

/* ------------------------------------------------- tables of this database */

/* A family of a foreign table of this database */
typedef struct FamilyItem
{
	Oid relid;
	wide_table table;
	wide_family family;
} FamilyItem;

/* Returns: a List of FamilyItem, with the changes of this transaction. */
static List *
all_families(void)
{
	List *out = NIL;
	uint32 cursor = 0;
	wide_table t;
	wide_family fams[WT_MAX_FAMILIES];

	while (wt_store_exists() &&
		   wide_table_next(wt_follower_db(), wt_batch(false), &cursor, &t) == WIDE_OK)
	{
		ListCell *lc;
		int nfam;

		if (t.space != MyDatabaseId)
			continue;
		nfam = wide_table_families(wt_store_db(), wt_batch(false), t.id, fams, WT_MAX_FAMILIES);
		foreach(lc, wt_binding_tables(wt_batch(false), t.id))
			for (int i = 0; i < nfam; i++)
			{
				FamilyItem *item = palloc(sizeof(FamilyItem));

				*item = (FamilyItem) {lfirst_oid(lc), t, fams[i]};
				out = lappend(out, item);
			}
	}
	return out;
}

static bool
is_monitor(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
}

/* Returns true if the user may read the table, and so see its keys. */
static bool
may_read(Oid relid)
{
	bool missing = false;

	return pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK &&
		   !missing;
}

/* Appends the columns that identify a family; f NULL: nulls. */
static void
add_family(WtResultRow *row, const FamilyItem *f)
{
	add_oid(row, f ? f->relid : InvalidOid);
	wt_result_add_text(row, f ? f->table.name : NULL);
	wt_result_add_text(row, f ? f->family.name : NULL);
}

static void
put_family(ReturnSetInfo *rsinfo, const FamilyItem *f)
{
	WtResultRow row = {0};
	Datum levels[8];
	wide_family_info info;

	if (!is_monitor() && !may_read(f->relid))
		return;
	/* zeros for a family that this transaction has made */
	if (wide_family_statistics(wt_store_db(), f->family.id, &info) != WIDE_OK &&
		!wt_batch_has_ddl())
		return; /* dropped meanwhile */
	for (int i = 0; i < 8; i++)
		levels[i] = Int32GetDatum(info.files_per_level[i]);
	add_family(&row, f);
	wt_result_add(&row,
				  DirectFunctionCall1(jsonb_in,
									  CStringGetDatum(wt_family_option_json(&f->family.opt))));
	add_bigint(&row, info.files);
	wt_result_add(&row, PointerGetDatum(construct_array(levels, 8, INT4OID, sizeof(int32), true,
														TYPALIGN_INT)));
	add_bigint(&row, info.bytes);
	add_bigint(&row, info.raw_bytes);
	add_bigint(&row, info.cells);
	add_bigint(&row, info.rows);
	add_bigint(&row, info.tombstones);
	add_bigint(&row, info.memtable_cells);
	add_bigint(&row, info.memtable_bytes);
	wt_result_put(&row, rsinfo);
}

PG_FUNCTION_INFO_V1(wt_sql_stat_families);

Datum
wt_sql_stat_families(PG_FUNCTION_ARGS)
{
	ListCell *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, all_families())
		put_family((ReturnSetInfo *) fcinfo->resultinfo, lfirst(lc));
	return (Datum) 0;
}

/* ------------------------------------------------------------------ files */

/* Called by the engine: must not raise errors. */
static wide_status
gather_file(void *arg, const wide_file_info *f)
{
	return wt_result_gather(arg, f, sizeof(*f), f->min_row, f->max_row);
}

static void
put_files(ReturnSetInfo *rsinfo, const FamilyItem *f)
{
	dlist_head files = DLIST_STATIC_INIT(files);
	dlist_mutable_iter iter;
	bool hide_keys = !may_read(f->relid);

	wt_error_check(wide_file_each(wt_store_db(), f->family.id, gather_file, &files),
				   "could not list files");
	dlist_foreach_modify(iter, &files)
	{
		WtResultItem *item = dlist_container(WtResultItem, node, iter.cur);
		const wide_file_info *w = item->info;
		wide_bytes min = item->bytes[0], max = item->bytes[1];
		WtResultRow row = {0};

		add_family(&row, f);
		add_bigint(&row, w->number);
		add_int(&row, w->level);
		add_bigint(&row, w->bytes);
		add_bigint(&row, w->raw_bytes);
		add_bigint(&row, w->cells);
		add_bigint(&row, w->rows);
		add_bigint(&row, w->tombstones);
		wt_result_add_unless(&row, hide_keys, wt_result_bytea(min.data, min.len));
		wt_result_add_unless(&row, hide_keys, wt_result_bytea(max.data, max.len));
		add_bigint(&row, w->ts_min);
		add_bigint(&row, w->ts_max);
		add_lsn(&row, w->seq_min);
		add_lsn(&row, w->seq_max);
		add_bigint(&row, w->container);
		add_bigint(&row, w->offset);
		wt_result_put(&row, rsinfo);
		pfree(item);
	}
}

PG_FUNCTION_INFO_V1(wt_sql_stat_files);

Datum
wt_sql_stat_files(PG_FUNCTION_ARGS)
{
	ListCell *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, all_families())
		put_files((ReturnSetInfo *) fcinfo->resultinfo, lfirst(lc));
	return (Datum) 0;
}

/* ------------------------------------------------------------------- jobs */

/* f NULL: a flush, which writes the memtable of all families. */
static void
put_job(ReturnSetInfo *rsinfo, const FamilyItem *f, const wide_job_info *j)
{
	const char *states[] = {"running", "done", "failed"};
	WtResultRow row = {0};

	add_family(&row, f);
	wt_result_add_text(&row, j->kind == 0 ? "flush" : "compaction");
	wt_result_add_text(&row, j->state >= 0 && j->state < 3 ? states[j->state] : "?");
	add_int(&row, j->from_level);
	add_int(&row, j->to_level);
	add_bigint(&row, j->total_bytes);
	add_bigint(&row, j->done_bytes);
	add_bigint(&row, j->out_bytes);
	wt_result_add(&row, TimestampTzGetDatum(j->started - WT_EPOCH_DIFF));
	wt_result_add_unless(&row, j->ended == 0, TimestampTzGetDatum(j->ended - WT_EPOCH_DIFF));
	add_pid(&row, j->pid);
	wt_result_put(&row, rsinfo);
}

PG_FUNCTION_INFO_V1(wt_sql_stat_compactions);

Datum
wt_sql_stat_compactions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	wide_job_info jobs[64];
	int n;
	ListCell *lc;

	InitMaterializedSRF(fcinfo, 0);
	if (!wt_store_exists())
		return (Datum) 0;
	n = wide_jobs(wt_store_db(), jobs, lengthof(jobs));
	for (int i = 0; i < n; i++)
		if (jobs[i].family == 0)
			put_job(rsinfo, NULL, &jobs[i]);
	foreach(lc, all_families())
		for (int i = 0; i < n; i++)
			if (jobs[i].family == ((FamilyItem *) lfirst(lc))->family.id)
				put_job(rsinfo, lfirst(lc), &jobs[i]);
	return (Datum) 0;
}

/* --------------------------------------------------------------- progress */

/* What a work of progress_rows is about. */
typedef struct Subject
{
	wide_table table; /* id 0: the whole store */
	wide_family family;
} Subject;

static Subject
subject_of(const wide_progress *p)
{
	Subject s = {0};
	uint32 cursor = 0;
	wide_table t;

	if (p->object == 0)
		return s;
	if (p->kind == WIDE_PROGRESS_COPY || p->kind == WIDE_PROGRESS_INDEX)
	{
		if (wide_table_by_id(wt_store_db(), wt_batch(false), p->object, &s.table) != WIDE_OK)
			s.table.id = 0;
		return s;
	}
	while (wide_table_next(wt_follower_db(), NULL, &cursor, &t) == WIDE_OK)
	{
		wide_family fams[WT_MAX_FAMILIES];
		int n = wide_table_families(wt_store_db(), NULL, t.id, fams, WT_MAX_FAMILIES);

		for (int i = 0; i < Min(n, WT_MAX_FAMILIES); i++)
			if (fams[i].id == p->object)
				return (Subject) {t, fams[i]};
	}
	return s;
}

static void
put_progress(ReturnSetInfo *rsinfo, const wide_progress *p, const char *kind, const char *unit)
{
	Subject s = subject_of(p);
	WtResultRow row = {0};

	add_int(&row, p->pid);
	wt_result_add_text(&row, kind);
	add_oid(&row, s.table.id != 0 ? s.table.space : InvalidOid);
	wt_result_add_text(&row, s.table.id != 0 ? s.table.name : NULL);
	wt_result_add_text(&row, s.family.id != 0 ? s.family.name : NULL);
	wt_result_add_text(&row, unit);
	add_bigint(&row, p->total);
	add_bigint(&row, p->done);
	wt_result_add(&row, TimestampTzGetDatum(p->started - WT_EPOCH_DIFF));
	wt_result_put(&row, rsinfo);
}

#define PROGRESS_MAX 256 /* works that the view shows */

PG_FUNCTION_INFO_V1(wt_sql_stat_progress);

/* Work that runs now: jobs of the engine, and what single processes do. */
Datum
wt_sql_stat_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *kinds[] = {NULL, "verify", "salvage", "copy", "index"};
	wide_job_info jobs[64];
	wide_progress *works = palloc(PROGRESS_MAX * sizeof(wide_progress));
	int n;

	InitMaterializedSRF(fcinfo, 0);
	if (!wt_store_exists())
		return (Datum) 0;
	n = wide_jobs(wt_store_db(), jobs, lengthof(jobs));
	for (int i = 0; i < n; i++)
		if (jobs[i].state == 0)
			put_progress(rsinfo,
						 &(wide_progress) {.pid = jobs[i].pid,
										   .object = jobs[i].family,
										   .total = jobs[i].total_bytes,
										   .done = jobs[i].done_bytes,
										   .started = jobs[i].started},
						 jobs[i].kind == 0 ? "flush" : "compaction", "bytes");
	n = wide_progress_list(wt_store_db(), works, PROGRESS_MAX);
	for (int i = 0; i < n; i++)
		if (works[i].kind < lengthof(kinds))
			put_progress(rsinfo, &works[i], kinds[works[i].kind],
						 works[i].kind == WIDE_PROGRESS_COPY	? "cells"
						 : works[i].kind == WIDE_PROGRESS_INDEX ? "rows"
																: "bytes");
	return (Datum) 0;
}

/* ------------------------------------------- connections to other engines */

/* Callback of an engine: adds a row. */
static void
put_connection(void *ctx, const WtEngineConnection *c)
{
	WtResultRow row = {0};

	wt_result_add_text(&row, c->engine);
	add_oid(&row, c->server);
	add_oid(&row, c->user);
	wt_result_add_text(&row, c->remote_user);
	wt_result_add(&row, TimestampTzGetDatum(c->since));
	add_bigint(&row, c->waits);
	wt_result_add(&row, Float8GetDatum(c->wait_us / 1000.0));
	add_bigint(&row, c->retries);
	add_bigint(&row, c->errors);
	wt_result_add_text(&row, c->last_error_at != 0 ? c->last_error : NULL);
	wt_result_add_unless(&row, c->last_error_at == 0, TimestampTzGetDatum(c->last_error_at));
	wt_result_put(&row, ctx);
}

PG_FUNCTION_INFO_V1(wt_sql_stat_remote);

/* Those of this session. */
Datum
wt_sql_stat_remote(PG_FUNCTION_ARGS)
{
	const WtEngine *engine;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; (engine = wt_engine_at(i)) != NULL; i++)
		engine->connections(put_connection, fcinfo->resultinfo);
	return (Datum) 0;
}

/* -------------------------------------------------------------- databases */

/* The stored tables of a database, together. */
typedef struct DatabaseTotal
{
	Oid datid; /* hash key */
	int tables, families;
	wide_family_info sum;
} DatabaseTotal;

static void
add_families_of(DatabaseTotal *d, wide_table_id table)
{
	wide_family fams[WT_MAX_FAMILIES];
	int n = wide_table_families(wt_store_db(), NULL, table, fams, WT_MAX_FAMILIES);

	d->tables++;
	for (int i = 0; i < Min(n, WT_MAX_FAMILIES); i++)
	{
		wide_family_info info;

		CHECK_FOR_INTERRUPTS();
		if (wide_family_statistics(wt_store_db(), fams[i].id, &info) != WIDE_OK)
			continue; /* dropped meanwhile */
		d->families++;
		d->sum.files += info.files;
		d->sum.bytes += info.bytes;
		d->sum.memtable_bytes += info.memtable_bytes;
	}
}

PG_FUNCTION_INFO_V1(wt_sql_stat_databases);

/* All databases, of the committed state. */
Datum
wt_sql_stat_databases(PG_FUNCTION_ARGS)
{
	HASHCTL ctl = {
		.keysize = sizeof(Oid), .entrysize = sizeof(DatabaseTotal), .hcxt = CurrentMemoryContext};
	HTAB *totals = hash_create("widetable databases", 16, &ctl,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	HASH_SEQ_STATUS seq;
	DatabaseTotal *d;
	wide_table t;
	uint32 cursor = 0;

	InitMaterializedSRF(fcinfo, 0);
	while (wt_store_exists() && wide_table_next(wt_follower_db(), NULL, &cursor, &t) == WIDE_OK)
	{
		bool found;

		d = hash_search(totals, &t.space, HASH_ENTER, &found);
		if (!found)
			*d = (DatabaseTotal) {.datid = t.space};
		add_families_of(d, t.id);
	}
	hash_seq_init(&seq, totals);
	while ((d = hash_seq_search(&seq)) != NULL)
	{
		WtResultRow row = {0};

		add_oid(&row, d->datid);
		add_int(&row, d->tables);
		add_int(&row, d->families);
		add_bigint(&row, d->sum.files);
		add_bigint(&row, d->sum.bytes);
		add_bigint(&row, d->sum.memtable_bytes);
		wt_result_put(&row, (ReturnSetInfo *) fcinfo->resultinfo);
	}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(wt_sql_reset_statistics);

Datum
wt_sql_reset_statistics(PG_FUNCTION_ARGS)
{
	if (wt_store_exists())
		wide_counters_reset(wt_store_db(), GetCurrentTimestamp() + WT_EPOCH_DIFF);
	PG_RETURN_VOID();
}

/* -------------------------------------------------------------- row locks */

typedef struct LockList
{
	dlist_head items;
	bool failed; /* out of memory */
} LockList;

/* Called by the engine: must not raise errors. */
static void
gather_lock(void *arg, const wide_lock_info *lock)
{
	LockList *list = arg;

	if (wt_result_gather(&list->items, lock, sizeof(*lock), lock->row, (wide_bytes) {0}) != WIDE_OK)
		list->failed = true;
}

/*
 * The table of the last lock, and what the user may see of it; most locks are
 * of the same table as the lock before.
 */
typedef struct LockedTable
{
	bool known;
	wide_table t;
	Oid relid;	   /* a foreign table of this database, or InvalidOid */
	bool readable; /* the user may read it */
} LockedTable;

static void
look_up_table(LockedTable *c, wide_table_id id)
{
	uint32 object;

	if (c->t.id == id && id != 0)
		return;
	memset(c, 0, sizeof(*c));
	c->known = id != 0 && wide_table_by_id(wt_store_db(), wt_batch(false), id, &c->t) == WIDE_OK;
	c->t.id = id;
	if (c->known && c->t.space == MyDatabaseId &&
		wide_table_bindings(wt_store_db(), wt_batch(false), id, &object, 1) > 0)
	{
		c->relid = object;
		c->readable = may_read(object);
	}
}

static void
put_lock(ReturnSetInfo *rsinfo, const WtResultItem *item, LockedTable *t)
{
	const wide_lock_info *w = item->info;
	WtResultRow row = {0};
	bool hide_row;

	look_up_table(t, w->table);
	if (!is_monitor() && !t->readable)
		return;
	hide_row = w->granted || !t->readable;
	wt_result_add_unless(&row, w->pid == 0, Int32GetDatum(w->pid));
	wt_result_add_unless(&row, !t->known, ObjectIdGetDatum(t->t.space));
	add_oid(&row, t->relid);
	wt_result_add_text(&row, t->known ? t->t.name : NULL);
	wt_result_add_unless(&row, hide_row, wt_result_bytea(item->bytes[0].data, w->row.len));
	wt_result_add_unless(&row, hide_row, Int32GetDatum(w->row_len));
	add_int(&row, w->bucket);
	add_bigint(&row, w->tag);
	wt_result_add(&row, BoolGetDatum(w->granted));
	wt_result_add_unless(&row, w->holder == 0, Int32GetDatum(w->holder));
	wt_result_put(&row, rsinfo);
}

PG_FUNCTION_INFO_V1(wt_sql_stat_locks);

/* There may be millions: they are fetched and put into the result part by part. */
Datum
wt_sql_stat_locks(PG_FUNCTION_ARGS)
{
	LockedTable t = {0};
	uint32 part = 0;
	wide_status st = WIDE_OK;
	MemoryContext part_context, caller;

	InitMaterializedSRF(fcinfo, 0);
	if (!wt_store_exists())
		return (Datum) 0;
	part_context = AllocSetContextCreate(CurrentMemoryContext, "widetable row locks",
										 ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(part_context);
	while (st != WIDE_END)
	{
		LockList list = {.items = DLIST_STATIC_INIT(list.items)};
		dlist_iter iter;

		CHECK_FOR_INTERRUPTS();
		st = wide_row_locks_each(wt_store_db(), &part, gather_lock, &list);
		if (st != WIDE_END)
			wt_error_check(st, "could not list row locks");
		if (list.failed)
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
		dlist_foreach(iter, &list.items)
			put_lock((ReturnSetInfo *) fcinfo->resultinfo,
					 dlist_container(WtResultItem, node, iter.cur), &t);
		MemoryContextReset(part_context);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(part_context);
	return (Datum) 0;
}

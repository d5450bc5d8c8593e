/*
 * statistics.c
 *		The functions behind the statistics views.
 *
 * Tables of other databases are counted in pg_stat_widetable only; the other
 * views show this database.  A store that was never used shows as "none".
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "engine/wide.h"
#include "fdw/store/anchor.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/types.h"

#define OUT(v)              \
	do                      \
	{                       \
		values[n] = (v);    \
		nulls[n++] = false; \
	} while (0)
#define OUT_NULL()         \
	do                     \
	{                      \
		nulls[n++] = true; \
	} while (0)

PG_FUNCTION_INFO_V1(wt_sql_stat_store);

Datum
wt_sql_stat_store(PG_FUNCTION_ARGS)
{
	TupleDesc desc;
	Datum values[44];
	bool nulls[44];
	wide_stats s = {0};
	wide_db *db = NULL;
	int n = 0;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (wt_store_exists())
		db = wt_store_db();
	if (db != NULL)
		wide_statistics(db, &s);

	OUT(CStringGetTextDatum(db != NULL ? "running" : "none"));
	OUT(Int64GetDatum(s.segment_bytes));
	OUT(Int32GetDatum(s.processes));
	OUT(LSNGetDatum(s.visible_lsn));
	OUT(LSNGetDatum(s.flushed_lsn));
	OUT(LSNGetDatum(s.restart_lsn));
	OUT(Int64GetDatum(s.memtable_bytes));
	OUT(Int64GetDatum(s.memtable_limit));
	OUT(Int64GetDatum(s.memtables_waiting));
	OUT(Int64GetDatum(s.cache_bytes));
	OUT(Int64GetDatum(s.cache_limit));
	OUT(Int64GetDatum(s.cache_hits));
	OUT(Int64GetDatum(s.cache_misses));
	OUT(Int32GetDatum(s.tables));
	OUT(Int32GetDatum(s.families));
	OUT(Int64GetDatum(s.files));
	OUT(Int64GetDatum(s.file_bytes));
	OUT(Int64GetDatum(s.commits));
	OUT(Int64GetDatum(s.cells_written));
	OUT(Int64GetDatum(s.log_bytes));
	OUT(Int64GetDatum(s.gets));
	OUT(Int64GetDatum(s.scans));
	OUT(Int64GetDatum(s.rows_read));
	OUT(Int64GetDatum(s.cells_read));
	OUT(Int64GetDatum(s.bloom_checks));
	OUT(Int64GetDatum(s.bloom_skips));
	OUT(Int64GetDatum(s.flushes));
	OUT(Int64GetDatum(s.flush_bytes));
	OUT(Int64GetDatum(s.compactions));
	OUT(Int64GetDatum(s.compact_read_bytes));
	OUT(Int64GetDatum(s.compact_write_bytes));
	OUT(Int64GetDatum(s.files_deleted));
	OUT(Int64GetDatum(s.stalls));
	OUT(Float8GetDatum(s.stall_us / 1000.0));
	OUT(Int64GetDatum(db ? wide_row_locks_total(db) : 0));
	OUT(Int64GetDatum(s.row_lock_waits));
	OUT(Int64GetDatum(s.spills));
	OUT(Int64GetDatum(s.spilled_bytes));
	OUT(Int32GetDatum(s.snapshots));
	OUT(LSNGetDatum(s.oldest_snapshot));
	if (s.oldest_snapshot == 0)
		nulls[n - 1] = true;
	OUT(Int32GetDatum(s.pins));
	OUT(Int64GetDatum(s.reserved_bytes));
	OUT(Int64GetDatum(s.reserved_files));
	if (db != NULL && wt_anchor()->worker.pid != 0)
		OUT(Int32GetDatum(wt_anchor()->worker.pid));
	else
		OUT_NULL();
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* ------------------------------------------------- tables of this database */

/* Calls fn for every family of every foreign table of this database. */
typedef void (*family_fn)(void *arg, Oid relid, const wide_table *t, const wide_family *f);

static void
each_family(family_fn fn, void *arg)
{
	wide_db *db;
	uint32 cursor = 0;
	wide_table t;
	wide_family *fams;

	if (!wt_store_exists())
		return;
	db = wt_store_db();
	fams = palloc(sizeof(wide_family) * WT_MAX_FAMILIES);
	while (wide_table_next(db, &cursor, &t) == WIDE_OK)
	{
		uint32 objects[256];
		int nobj, nfam;

		if (t.space != MyDatabaseId)
			continue;
		nfam = wide_table_families(db, NULL, t.id, fams, WT_MAX_FAMILIES);
		nobj = wide_table_bindings(db, NULL, t.id, objects, lengthof(objects));
		for (int o = 0; o < nobj; o++)
			for (int i = 0; i < nfam; i++)
				fn(arg, objects[o], &t, &fams[i]);
	}
	pfree(fams);
}

static bool
is_monitor(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
}

/* Keys are data, as in pg_stats: to be seen only by those who may read the table. */
static bool
may_read(Oid relid)
{
	bool missing = false;

	return pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK &&
		   !missing;
}

static char *
options_json(const wide_family_options *o)
{
	StringInfoData s;
	const char *blooms[] = {"none", "row", "rowcol", "prefix"};

	initStringInfo(&s);
	appendStringInfo(&s, "{\"versions\": %d, \"min_versions\": %d, ", o->versions, o->min_versions);
	if (o->ttl_us > 0)
	{
		char fraction[8] = "";

		if (o->ttl_us % USECS_PER_SEC != 0)
			snprintf(fraction, sizeof(fraction), ".%06d", (int) (o->ttl_us % USECS_PER_SEC));
		appendStringInfo(&s, "\"ttl\": \"" INT64_FORMAT "%s seconds\", ",
						 (int64) (o->ttl_us / USECS_PER_SEC), fraction);
	}
	else
		appendStringInfoString(&s, "\"ttl\": null, ");
	appendStringInfo(&s, "\"keep_deleted\": %s, ", o->keep_deleted ? "true" : "false");
	if (o->bloom == WIDE_BLOOM_PREFIX)
		appendStringInfo(&s, "\"bloom\": \"prefix:%d\", ", o->bloom_prefix);
	else
		appendStringInfo(&s, "\"bloom\": \"%s\", ",
						 o->bloom < lengthof(blooms) ? blooms[o->bloom] : "?");
	appendStringInfo(&s, "\"block_size\": %u, ", o->block_size);
	if (o->compression == WIDE_COMPRESS_NONE)
		appendStringInfoString(&s, "\"compression\": \"none\", ");
	else
		appendStringInfo(&s, "\"compression\": \"zstd:%d\", ", o->compression_level);
	appendStringInfo(&s, "\"in_memory\": %s, ", o->in_memory ? "true" : "false");
	if (o->compaction == WIDE_COMPACT_WINDOW)
		appendStringInfo(&s, "\"compaction\": \"window:%.6g seconds\"}", o->window_us / 1e6);
	else
		appendStringInfoString(&s, "\"compaction\": \"leveled\"}");
	return s.data;
}

static void
put_family(void *arg, Oid relid, const wide_table *t, const wide_family *f)
{
	ReturnSetInfo *rsinfo = arg;
	Datum values[12];
	bool nulls[12];
	Datum levels[8];
	wide_family_info info;
	int n = 0;

	/* everybody may call this */
	if (!is_monitor() && !may_read(relid))
		return;
	if (wide_family_statistics(wt_store_db(), f->id, &info) != WIDE_OK)
		return; /* dropped meanwhile */
	for (int i = 0; i < 8; i++)
		levels[i] = Int32GetDatum(info.files_per_level[i]);
	OUT(ObjectIdGetDatum(relid));
	OUT(CStringGetTextDatum(t->name));
	OUT(CStringGetTextDatum(f->name));
	OUT(DirectFunctionCall1(jsonb_in, CStringGetDatum(options_json(&f->opt))));
	OUT(Int64GetDatum(info.files));
	OUT(PointerGetDatum(construct_array(levels, 8, INT4OID, sizeof(int32), true, TYPALIGN_INT)));
	OUT(Int64GetDatum(info.bytes));
	OUT(Int64GetDatum(info.raw_bytes));
	OUT(Int64GetDatum(info.cells));
	OUT(Int64GetDatum(info.rows));
	OUT(Int64GetDatum(info.tombstones));
	OUT(Int64GetDatum(info.memtable_cells));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(wt_sql_stat_families);

Datum
wt_sql_stat_families(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	each_family(put_family, fcinfo->resultinfo);
	return (Datum) 0;
}

/* ------------------------------------------------------------------ files */

typedef struct FileCopy
{
	wide_file_info info;
	uint8 *min_row, *max_row;
} FileCopy;

static uint8 *
copy_bytes(wide_bytes b)
{
	uint8 *p = malloc(b.len > 0 ? b.len : 1);

	if (p != NULL && b.len > 0)
		memcpy(p, b.data, b.len);
	return p;
}

typedef struct FileList
{
	FileCopy *files;
	int n, max;
} FileList;

static wide_status
remember_file(void *arg, const wide_file_info *f)
{
	FileList *l = arg;

	if (l->n == l->max)
	{
		int max = l->max ? l->max * 2 : 64;
		FileCopy *files = realloc(l->files, max * sizeof(FileCopy));

		if (files == NULL)
			return WIDE_NOMEM;
		l->files = files;
		l->max = max;
	}
	l->files[l->n].info = *f;
	l->files[l->n].min_row = copy_bytes(f->min_row);
	l->files[l->n].max_row = copy_bytes(f->max_row);
	l->n++;
	return WIDE_OK;
}

static Datum
bytes_datum(const uint8 *p, size_t len)
{
	bytea *b = palloc(VARHDRSZ + len);

	SET_VARSIZE(b, VARHDRSZ + len);
	if (len > 0 && p != NULL)
		memcpy(VARDATA(b), p, len);
	return PointerGetDatum(b);
}

static void
put_files(void *arg, Oid relid, const wide_table *t, const wide_family *f)
{
	ReturnSetInfo *rsinfo = arg;
	FileList list = {0};
	wide_status st = wide_file_each(wt_store_db(), f->id, remember_file, &list);

	for (int i = 0; i < list.n && st == WIDE_OK; i++)
	{
		wide_file_info *w = &list.files[i].info;
		Datum values[16];
		bool nulls[16];
		int n = 0;

		OUT(ObjectIdGetDatum(relid));
		OUT(CStringGetTextDatum(t->name));
		OUT(CStringGetTextDatum(f->name));
		OUT(Int64GetDatum(w->number));
		OUT(Int32GetDatum(w->level));
		OUT(Int64GetDatum(w->bytes));
		OUT(Int64GetDatum(w->raw_bytes));
		OUT(Int64GetDatum(w->cells));
		OUT(Int64GetDatum(w->rows));
		OUT(Int64GetDatum(w->tombstones));
		if (may_read(relid))
		{
			OUT(bytes_datum(list.files[i].min_row, w->min_row.len));
			OUT(bytes_datum(list.files[i].max_row, w->max_row.len));
		}
		else
		{
			OUT_NULL();
			OUT_NULL();
		}
		OUT(Int64GetDatum(w->ts_min));
		OUT(Int64GetDatum(w->ts_max));
		OUT(LSNGetDatum(w->seq_min));
		OUT(LSNGetDatum(w->seq_max));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	for (int i = 0; i < list.n; i++)
	{
		free(list.files[i].min_row);
		free(list.files[i].max_row);
	}
	free(list.files);
	wt_error_check(st, "could not list files");
}

PG_FUNCTION_INFO_V1(wt_sql_stat_files);

Datum
wt_sql_stat_files(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	each_family(put_files, fcinfo->resultinfo);
	return (Datum) 0;
}

/* ------------------------------------------------------------------- jobs */

typedef struct JobContext
{
	ReturnSetInfo *rsinfo;
	const wide_job_info *jobs;
	int njobs;
} JobContext;

static void
put_job(ReturnSetInfo *rsinfo, Oid relid, const char *table, const char *family,
		const wide_job_info *j)
{
	const char *states[] = {"running", "done", "failed"};
	Datum values[12];
	bool nulls[12];
	int n = 0;

	if (relid != InvalidOid)
		OUT(ObjectIdGetDatum(relid));
	else
		OUT_NULL();
	if (table != NULL)
		OUT(CStringGetTextDatum(table));
	else
		OUT_NULL();
	if (family != NULL)
		OUT(CStringGetTextDatum(family));
	else
		OUT_NULL();
	OUT(CStringGetTextDatum(j->kind == 0 ? "flush" : "compaction"));
	OUT(CStringGetTextDatum(j->state >= 0 && j->state < 3 ? states[j->state] : "?"));
	OUT(Int32GetDatum(j->from_level));
	OUT(Int32GetDatum(j->to_level));
	OUT(Int64GetDatum(j->total_bytes));
	OUT(Int64GetDatum(j->done_bytes));
	OUT(Int64GetDatum(j->out_bytes));
	OUT(TimestampTzGetDatum(j->started - WT_EPOCH_DIFF));
	if (j->ended != 0)
		OUT(TimestampTzGetDatum(j->ended - WT_EPOCH_DIFF));
	else
		OUT_NULL();
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
put_jobs_of_family(void *arg, Oid relid, const wide_table *t, const wide_family *f)
{
	JobContext *c = arg;

	for (int i = 0; i < c->njobs; i++)
		if (c->jobs[i].family == f->id)
			put_job(c->rsinfo, relid, t->name, f->name, &c->jobs[i]);
}

PG_FUNCTION_INFO_V1(wt_sql_stat_compactions);

Datum
wt_sql_stat_compactions(PG_FUNCTION_ARGS)
{
	wide_job_info jobs[64];
	JobContext c;

	InitMaterializedSRF(fcinfo, 0);
	if (!wt_store_exists())
		return (Datum) 0;
	c.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	c.jobs = jobs;
	c.njobs = wide_jobs(wt_store_db(), jobs, lengthof(jobs));
	/* a flush is of all families together */
	for (int i = 0; i < c.njobs; i++)
		if (jobs[i].family == 0)
			put_job(c.rsinfo, InvalidOid, NULL, NULL, &jobs[i]);
	each_family(put_jobs_of_family, &c);
	return (Datum) 0;
}

/* -------------------------------------------------------------- row locks */

typedef struct LockList
{
	wide_lock_info *locks;
	uint8_t (*rows)[WIDE_LOCK_ROW];
	int n, max;
	bool failed;
} LockList;

/* Called by the engine: nothing may be raised. */
static void
remember_lock(void *arg, const wide_lock_info *lock)
{
	LockList *l = arg;

	if (l->n == l->max)
	{
		int max = l->max ? l->max * 2 : 256;
		void *locks = realloc(l->locks, max * sizeof(*l->locks)), *rows;

		if (locks != NULL)
			l->locks = locks;
		rows = locks != NULL ? realloc(l->rows, max * sizeof(*l->rows)) : NULL;
		if (rows == NULL)
		{
			l->failed = true;
			return;
		}
		l->rows = rows;
		l->max = max;
	}
	l->locks[l->n] = *lock;
	memcpy(l->rows[l->n], lock->row.data, lock->row.len);
	l->n++;
}

/* The table of the last lock, with what may be told about it; most locks are of the table
 * before. */
typedef struct LockedTable
{
	bool known;
	wide_table t;
	Oid relid; /* of this database */
	bool readable;
} LockedTable;

static void
look_up_table(LockedTable *c, wide_table_id id)
{
	uint32 object;

	if (c->t.id == id && id != 0)
		return;
	memset(c, 0, sizeof(*c));
	c->known = id != 0 && wide_table_by_id(wt_store_db(), NULL, id, &c->t) == WIDE_OK;
	c->t.id = id;
	if (c->known && c->t.space == MyDatabaseId &&
		wide_table_bindings(wt_store_db(), NULL, id, &object, 1) > 0)
	{
		c->relid = object;
		c->readable = may_read(object);
	}
}

static void
put_lock(ReturnSetInfo *rsinfo, const wide_lock_info *w, const uint8 *row, LockedTable *t)
{
	Datum values[10];
	bool nulls[10];
	int n = 0;

	look_up_table(t, w->table);
	/* whole buckets are of any table */
	if (!is_monitor() && !t->readable)
		return;
	OUT(Int32GetDatum(w->pid));
	if (t->known)
		OUT(ObjectIdGetDatum(t->t.space));
	else
		OUT_NULL();
	if (OidIsValid(t->relid))
		OUT(ObjectIdGetDatum(t->relid));
	else
		OUT_NULL();
	if (t->known)
		OUT(CStringGetTextDatum(t->t.name));
	else
		OUT_NULL();
	if (!w->granted && t->readable)
	{
		OUT(bytes_datum(row, w->row.len));
		OUT(Int32GetDatum(w->row_len));
	}
	else
	{
		OUT_NULL();
		OUT_NULL();
	}
	OUT(Int32GetDatum(w->bucket));
	if (!w->whole)
		OUT(Int64GetDatum(w->tag));
	else
		OUT_NULL();
	OUT(BoolGetDatum(w->granted));
	if (w->holder != 0)
		OUT(Int32GetDatum(w->holder));
	else
		OUT_NULL();
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(wt_sql_stat_locks);

Datum
wt_sql_stat_locks(PG_FUNCTION_ARGS)
{
	LockList list = {0};
	LockedTable t = {0};
	wide_status st;

	InitMaterializedSRF(fcinfo, 0);
	if (!wt_store_exists())
		return (Datum) 0;
	st = wide_row_locks_each(wt_store_db(), remember_lock, &list);
	PG_TRY();
	{
		wt_error_check(st, "could not list row locks");
		if (list.failed)
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
		for (int i = 0; i < list.n; i++)
			put_lock((ReturnSetInfo *) fcinfo->resultinfo, &list.locks[i], list.rows[i], &t);
	}
	PG_FINALLY();
	{
		free(list.locks);
		free(list.rows);
	}
	PG_END_TRY();
	return (Datum) 0;
}

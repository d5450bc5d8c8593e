/*
 * change.c
 *		Changes of rows: each goes to the engine that has the table.
 */
#include "postgres.h"

#include "fdw/xact/change.h"

#include "utils/lsyscache.h"

#include "fdw/store/error.h"
#include "fdw/store/row_lock.h"
#include "fdw/table/engine.h"
#include "fdw/table/key_text.h"
#include "fdw/table/write_error.h"
#include "fdw/xact/derive.h"
#include "fdw/xact/wal_usage.h"

void
wt_change_refuse_derived(WtTable *t)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("cannot change %s \"%s\"", t->index_of != NULL ? "index" : "roll-up",
					get_rel_name(t->relid)),
			 errdetail("Its rows follow from those of table %s.",
					   t->index_of != NULL ? t->index_of : t->rollup_of)));
}

void
wt_change_begin(WtTable *t, const WtWriter *writer)
{
	if (wt_is_derived(t))
		wt_change_refuse_derived(t);
	if (t->engine != NULL)
		t->engine->begin(t, writer, writer != NULL ? writer->command : InvalidCommandId);
	else
		wt_batch_command_by(writer);
}

bool
wt_change_lock_row(wide_table_id table, wide_bytes key, bool nowait)
{
	return wt_engine_of(table) != NULL || wt_row_lock(table, key, nowait);
}

bool
wt_change_leave_out(WtTable *t, WtWriter *w, CmdType op, const wide_family_id *families,
					int nfamilies, wide_bytes key, const wide_bytes *column)
{
	WtEngineChanged changed;

	if (t->engine == NULL)
		return wt_batch_leave_out(w, op, families, nfamilies, key, column);
	changed = t->engine->row_changed(families, nfamilies, key, column, w, w->command, w->unseen);
	if (changed == WT_CHANGED_BY_TRIGGERED)
		wt_batch_refuse_changed(op);
	return changed == WT_CHANGED_BY_COMMAND;
}

uint8
wt_change_merge_of(wide_family_id family)
{
	uint8 merge = WIDE_MERGE_NONE;

	if (wt_engine_of(family) == NULL)
		wt_error_check(wide_batch_merge_of(wt_batch(true), family, &merge),
					   "could not find a family");
	return merge;
}

/* The engine has refused a put: raises 42804 or 0A000 if that was because it cannot be added. */
static void
raise_operand(WtTable *t, wide_family_id family, wide_bytes key, int64 ttl_us, wide_bytes value)
{
	if (wt_change_merge_of(family) == WIDE_MERGE_NONE)
		return;
	if (ttl_us > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a cell of a family with a merge operator has no time to live of its own"),
				 errdetail("Table \"%s\", key %s.", t->table_name, wt_key_text(t, key)),
				 errhint("Option \"ttl\" of the family expires each value that was added.")));
	if (wt_change_merge_of(family) == WIDE_MERGE_HLL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%zu bytes cannot be added to a count of distinct values", value.len),
				 errdetail("Table \"%s\", key %s.", t->table_name, wt_key_text(t, key)),
				 errhint("widetable.add() counts a value of any type.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("a value of %zu bytes cannot be added to a cell of a family with a merge "
					"operator",
					value.len),
			 errdetail("Table \"%s\", key %s: the family's values have 8 bytes.", t->table_name,
					   wt_key_text(t, key)),
			 errhint("Give the value as bigint or double precision, or use widetable.add().")));
}

/* The engine has refused a delete: raises 0A000 if that was because it would tell apart what was
 * added. */
static void
raise_partial_delete(WtTable *t, wide_family_id family, wide_bytes key)
{
	if (wt_change_merge_of(family) == WIDE_MERGE_NONE)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cells of a family with a merge operator are deleted as a whole"),
			 errdetail("Table \"%s\", key %s: what was added may be kept as one sum.",
					   t->table_name, wt_key_text(t, key)),
			 errhint("Delete the column, the family or the row, without a timestamp.")));
}

void
wt_change_set(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts,
			  int64 floor_ts, int64 ttl_us, wide_bytes value)
{
	uint8 merge = wt_change_merge_of(family);

	if (merge == WIDE_MERGE_HLL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a count of distinct values cannot be set"),
				 errdetail("Table \"%s\", key %s.", t->table_name, wt_key_text(t, key)),
				 errhint("Set it to NULL to begin anew, and add values.")));
	if (merge != WIDE_MERGE_NONE)
		wt_change_delete(t, WIDE_DELETE_COLUMN, family, key, qual, WIDE_TS_MAX);
	wt_change_put(t, family, key, qual, ts, floor_ts, ttl_us, value);
}

void
wt_change_put(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts,
			  int64 floor_ts, int64 ttl_us, wide_bytes value)
{
	const WtEngine *other = wt_engine_of(family);
	wide_status st;

	if (unlikely(other != NULL))
	{
		other->put(t, family, key, qual, ts, ttl_us, value);
		return;
	}
	if (!wt_is_derived(t))
		ts = wt_derive_before_put(t, family, key, qual, ts, floor_ts, ttl_us);
	st = wide_batch_put(wt_batch(true), family, key, qual, ts, floor_ts, ttl_us, value);
	if (unlikely(st == WIDE_INVALID))
		raise_operand(t, family, key, ttl_us, value);
	if (unlikely(st != WIDE_OK))
		wt_write_error_check(st, t, key);
	wt_wal_usage_charge();
}

void
wt_change_delete(WtTable *t, wide_delete kind, wide_family_id family, wide_bytes key,
				 wide_bytes qual, int64 ts)
{
	const WtEngine *other = wt_engine_of(family);
	wide_status st;

	if (unlikely(other != NULL))
	{
		other->remove(t, kind, family, key, qual, ts);
		return;
	}
	if (!wt_is_derived(t))
		wt_derive_before(t, key);
	st = wide_batch_delete(wt_batch(true), kind, family, key, qual, ts);
	if (unlikely(st == WIDE_INVALID))
		raise_partial_delete(t, family, key);
	if (unlikely(st != WIDE_OK))
		wt_write_error_check(st, t, key);
	wt_wal_usage_charge();
}

bool
wt_change_any(void)
{
	return wt_batch(false) != NULL && !wide_batch_empty(wt_batch(false));
}

/*
 * change.c
 *		Changes of rows: each goes to the engine that has the table.
 */
#include "postgres.h"

#include "fdw/xact/change.h"

#include "fdw/store/row_lock.h"
#include "fdw/table/engine.h"
#include "fdw/table/write_error.h"
#include "fdw/xact/wal_usage.h"

void
wt_change_begin(WtTable *t, const WtWriter *writer)
{
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
	st = wide_batch_put(wt_batch(true), family, key, qual, ts, floor_ts, ttl_us, value);
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
	st = wide_batch_delete(wt_batch(true), kind, family, key, qual, ts);
	if (unlikely(st != WIDE_OK))
		wt_write_error_check(st, t, key);
	wt_wal_usage_charge();
}

bool
wt_change_any(void)
{
	return wt_batch(false) != NULL && !wide_batch_empty(wt_batch(false));
}

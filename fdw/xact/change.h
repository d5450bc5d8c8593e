/*
 * change.h
 *		Changes of rows: each goes to the engine that has the table.
 */
#ifndef WT_CHANGE_H
#define WT_CHANGE_H

#include "nodes/nodes.h"

#include "engine/wide.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"

/* Before the changes of a command, or of a plan node of it: wt_batch_command_by(). */
extern void wt_change_begin(WtTable *t, const WtWriter *writer);

/* Locks the row if its engine has row locks: wt_row_lock().  Returns: false only with nowait. */
extern bool wt_change_lock_row(wide_table_id table, wide_bytes key, bool nowait);

/* wt_batch_leave_out(), which is false where the engine does not know. */
extern bool wt_change_leave_out(WtTable *t, WtWriter *w, CmdType op, const wide_family_id *families,
								int nfamilies, wide_bytes key, const wide_bytes *column);

/* Adds a put; arguments as wide_batch_put().  Errors name the table and the row. */
extern void wt_change_put(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual,
						  int64 ts, int64 floor_ts, int64 ttl_us, wide_bytes value);

/*
 * The same, but the cell then has this value also in a family with a merge operator, where a put is
 * added to what is there.
 */
extern void wt_change_set(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual,
						  int64 ts, int64 floor_ts, int64 ttl_us, wide_bytes value);

/* Returns: the family's merge operator (wide_merge). */
extern uint8 wt_change_merge_of(wide_family_id family);

/* Adds a delete; arguments as wide_batch_delete(). */
extern void wt_change_delete(WtTable *t, wide_delete kind, wide_family_id family, wide_bytes key,
							 wide_bytes qual, int64 ts);

/* Errors: 42809: the table is an index or a roll-up. */
extern _Noreturn void wt_change_refuse_derived(WtTable *t);

/* Returns: true if the transaction has changed tables of the embedded engine. */
extern bool wt_change_any(void);

#endif /* WT_CHANGE_H */

/*
 * binding.h
 *		The foreign tables that are bound to a stored table.
 */
#ifndef WT_BINDING_H
#define WT_BINDING_H

#include "nodes/pg_list.h"

#include "engine/wide.h"

/*
 * Returns: a List of the oids of all foreign tables that are bound to the stored table, as
 * the batch sees it; NULL: as committed.  Some may be dropped already.
 */
extern List *wt_binding_tables(wide_batch *b, wide_table_id id);

/* Returns: those that exist, as this transaction sees them, without relid. */
extern List *wt_binding_others(wide_table_id id, Oid relid);

#endif /* WT_BINDING_H */

/*
 * binding.h
 *		Stored tables of the engine, and the foreign tables that are bound to them.
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

/*
 * Find, as this transaction sees it, the stored table that a foreign table of this database is
 * bound to; the stored table of this database that has the name, which is canonical.
 * Returns: WIDE_OK and *wt, WIDE_NOTFOUND, or a failure.
 */
extern wide_status wt_binding_find(Oid relid, wide_table *wt);
extern wide_status wt_binding_find_name(const char *name, wide_table *wt);

/* Returns: a List of wide_table, the stored tables of a database that this transaction has not
 * dropped. */
extern List *wt_binding_stored_tables(Oid database);

/* Returns: all *n families of the stored table, as the batch sees them, palloc'd; NULL: as
 * committed. */
extern wide_family *wt_binding_families(wide_batch *b, wide_table_id id, int *n);

#endif /* WT_BINDING_H */

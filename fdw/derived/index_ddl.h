/*
 * index_ddl.h
 *		What commands that define tables mean to indexes.
 */
#ifndef WT_INDEX_DDL_H
#define WT_INDEX_DDL_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/* The table was emptied: empties its indexes.  id: the stored table. */
extern void wt_index_ddl_truncated(wide_table_id id);

/* Installs what event_trigger.h calls. */
extern void wt_index_ddl_init(void);

#endif /* WT_INDEX_DDL_H */

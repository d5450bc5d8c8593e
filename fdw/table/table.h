/*
 * table.h
 *		Foreign tables of this wrapper, and the cache of their definitions.
 */
#ifndef WT_TABLE_H
#define WT_TABLE_H

#include "utils/relcache.h"

#include "fdw/table/types.h"

/*
 * The parsed, checked definition of a foreign table; cached until
 * the relation or its server changes.  The result lives in the cache: use it
 * within the statement and do not keep it.
 */
extern WtTable *wt_table(Oid relid);

/* Freshly parsed from the catalog in CurrentMemoryContext, with all checks */
extern WtTable *wt_table_parse(Relation rel);

extern bool wt_table_is_ours(Oid relid); /* a foreign table of a server of this wrapper? */

#endif /* WT_TABLE_H */

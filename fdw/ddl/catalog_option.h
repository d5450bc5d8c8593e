/*
 * catalog_option.h
 *		Writes options into PostgreSQL's catalogs, as ALTER ... OPTIONS does.
 */
#ifndef WT_CATALOG_OPTION_H
#define WT_CATALOG_OPTION_H

#include "access/attnum.h"
#include "nodes/parsenodes.h"

/*
 * Set or add an option of a foreign table, of one of its columns, of a foreign-data
 * wrapper.  Visible to the rest of the command.
 * Locks: that of a foreign table takes its ShareUpdateExclusiveLock.
 * Errors: XX000 if the object does not exist.
 */
extern void wt_catalog_option_set_table(Oid relid, const char *name, const char *value);
extern void wt_catalog_option_set_column(Oid relid, AttrNumber attno, const char *name,
										 const char *value);
/* Removes an option of a foreign table, which has it. */
extern void wt_catalog_option_drop_table(Oid relid, const char *name);
extern void wt_catalog_option_set_wrapper(Oid fdwid, const char *name, const char *value);

/* Returns: the option of that name in a List of DefElem, NULL if there is none. */
extern DefElem *wt_catalog_option_find(List *options, const char *name);

#endif /* WT_CATALOG_OPTION_H */

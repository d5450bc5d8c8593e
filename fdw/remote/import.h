/*
 * import.h
 *		Definitions of foreign tables that are kept with tables of HBase, and IMPORT FOREIGN SCHEMA.
 */
#ifndef WT_IMPORT_H
#define WT_IMPORT_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

#include "fdw/table/types.h"

/* Attributes of a table of HBase that have the definition of the foreign table that has made it. */
#define WT_IMPORT_COLUMNS "WIDETABLE_COLUMNS"
#define WT_IMPORT_OPTIONS "WIDETABLE_OPTIONS"

/* Return: the columns, and the options, of a foreign table as CREATE FOREIGN TABLE has them;
 * palloc'd. */
extern char *wt_import_columns(Oid relid);
extern char *wt_import_options(Oid relid);

/*
 * IMPORT FOREIGN SCHEMA: the remote schema is a namespace.  Returns: a list of commands.
 * Option "layout": rows (the default) or cells.
 */
extern List *wt_import_commands(ImportForeignSchemaStmt *stmt, Oid server);

#endif /* WT_IMPORT_H */

/*
 * dependency.h
 *		Which indexes and roll-ups a table has: in PostgreSQL's catalogs.
 *
 * A dependency on the table, and on its columns, is recorded with the index.  So PostgreSQL drops
 * it with them, and pg_dump writes it behind its table.  pg_upgrade does not carry these over: the
 * option that names the table tells then which indexes it has, and the dependencies are recorded
 * again before the first command that needs them.
 */
#ifndef WT_DEPENDENCY_H
#define WT_DEPENDENCY_H

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

#include "fdw/derived/rollup.h"
#include "fdw/table/types.h"

/* Returns: the oids of the indexes and roll-ups of the foreign table. */
extern List *wt_dependency_find(Oid base);

/* Returns true if the index or roll-up was recorded. */
extern bool wt_dependency_is_recorded(const WtTable *t);

/* Forgets what was recorded of it, and records the table alone; then also what an index has of it,
 * or what the expressions of a roll-up name. */
extern void wt_dependency_record_table(const WtTable *t);
extern void wt_dependency_record_index(const WtTable *index, WtTable *base);
extern void wt_dependency_record_rollup(const WtRollup *r);

/* Returns true if expressions of the roll-up name more than columns and what is built in. */
extern bool wt_dependency_names_others(Oid rollup);

/* Records all indexes and roll-ups of the database that are not recorded, but for those that cannot
 * be parsed.  Before a command that drops tables, columns or functions, or changes the names in
 * options. */
extern void wt_dependency_restore(void);

/* Returns: option index_of or rollup_of of a foreign table; NULL: it has neither.  Parses nothing.
 */
extern DefElem *wt_dependency_option(Oid relid);

/* Returns: the oids of all indexes and roll-ups of the database, by their options. */
extern List *wt_dependency_all(void);

/* Before ALTER TABLE or ALTER FOREIGN TABLE.  Errors: 0A000 if it changes the type of a column that
 * an index or a roll-up has. */
extern void wt_dependency_check_alter(const AlterTableStmt *stmt);

#endif /* WT_DEPENDENCY_H */

/*
 * table.h
 *		Foreign tables of this wrapper, and the cache of their definitions.
 */
#ifndef WT_TABLE_H
#define WT_TABLE_H

#include "foreign/foreign.h"
#include "utils/relcache.h"

#include "fdw/table/types.h"

/*
 * Returns the parsed definition of a foreign table, from the cache if neither the table nor its
 * server has changed; locks the table in AccessShareLock mode if it is parsed.  The cache owns the
 * result, which is valid to the end of the statement.
 * Errors: UNDEFINED_TABLE, WRONG_OBJECT_TYPE; those of wt_definition_parse.
 */
extern WtTable *wt_table(Oid relid);

/*
 * The same without a lock.
 * Requires: something else keeps the definition from being changed (fdw/ddl/ddl_lock.h).
 * Returns: NULL if it does not exist, or is no foreign table of widetable.
 */
extern WtTable *wt_table_unlocked(Oid relid);

/*
 * Returns a number that grows whenever a definition may have changed.  What was made of definitions
 * is still true as long as it is the same.
 */
extern uint64 wt_table_invalidations(void);

/* Returns true if it is known that no other table follows from the rows of this one. */
extern bool wt_table_is_followed_by_none(const WtTable *t);

/* Frees the context at the end of the transaction: running statements may use what it has. */
extern void wt_table_retire(MemoryContext cxt);

/* Returns the engine of a foreign table's server; NULL: the embedded one.  Parses nothing else. */
extern const struct WtEngine *wt_table_engine(Oid relid);

/* IMPORT FOREIGN SCHEMA: the callback of the wrapper. */
extern List *wt_table_import(ImportForeignSchemaStmt *stmt, Oid server);

/* Returns: the relation that option index_of or rollup_of names, also where the present role has no
 * privileges on its schema; InvalidOid: there is none. */
extern Oid wt_table_named(const char *name);

/*
 * Sets the table that the definition is derived from, if one of these options names one.  Takes no
 * lock: who uses an index or a roll-up uses its table, too.
 * Errors: 42P01, 42809.
 */
extern void wt_table_find_source(WtDefinition *def, List *options);

/* Parses the definition in the catalogs; palloc'd.  Errors: those of wt_definition_parse. */
extern WtTable *wt_table_parse(Relation rel);

/* Returns the server of a foreign table, NULL if either is gone: the caller may hold no lock. */
extern ForeignServer *wt_table_server(Oid relid);

/* Returns true if it is a foreign table of a server of this wrapper.  Needs no lock: a table that
 * is gone is not. */
extern bool wt_table_is_ours(Oid relid);

/* The error for a relation that is not: 42P01 when there is none of this OID, else 42809. */
extern _Noreturn void wt_table_not_ours(Oid relid);

/* Returns true if it is a server of this wrapper. */
extern bool wt_table_is_server_ours(const ForeignServer *server);

#endif /* WT_TABLE_H */

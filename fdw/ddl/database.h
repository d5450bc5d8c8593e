/*
 * database.h
 *		Wide tables and CREATE DATABASE ... TEMPLATE.
 */
#ifndef WT_DATABASE_H
#define WT_DATABASE_H

/* Option of the wrapper: the database where its foreign tables were created. */
#define WT_OPTION_ORIGIN "origin"

/* Installs the hook on utility commands. */
extern void wt_database_init(void);

/*
 * The foreign table gets its stored table in this database: makes this database the
 * origin, unless foreign tables of another origin still lack their rows.
 */
extern void wt_database_note_origin(Oid relid);

/*
 * For a foreign table without a stored table.
 * Returns: true if CREATE DATABASE has copied its definition but not its rows.
 */
extern bool wt_database_is_uncopied(Oid relid);

/* Errors: 55000 if wt_database_is_uncopied(). */
extern void wt_database_check_copied(Oid relid);

/*
 * Where the cluster has no store.  Errors: 55000 if the rows were not copied, or had a store; 25006
 * on a standby, where the store may be in the log that is not replayed yet.
 */
extern void wt_database_check_stored(Oid relid);

/* For begin_empty(): foreign tables of this database without a stored table have no rows. */
extern void wt_database_begin_empty(void);

#endif /* WT_DATABASE_H */

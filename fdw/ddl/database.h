/*
 * database.h
 *		Wide tables and CREATE DATABASE ... TEMPLATE.
 */
#ifndef WT_DATABASE_H
#define WT_DATABASE_H

/*
 * The wrapper's option "origin" names the database where its foreign
 * tables were made: see there.
 */
#define WT_OPTION_ORIGIN "origin"

/* Installs the hook on utility commands. */
extern void wt_database_init(void);
extern void wt_database_note_origin(Oid relid); /* the foreign table gets its stored table here */

/* Of a foreign table that no stored table is bound to: its definition was copied, its rows were
 * not. */
extern bool wt_database_is_uncopied(Oid relid);
extern void wt_database_check_copied(Oid relid); /* an error when that is so */

#endif /* WT_DATABASE_H */

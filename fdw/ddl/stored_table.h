/*
 * stored_table.h
 *		The engine's table is made to agree with the foreign table's definition.
 */
#ifndef WT_STORED_TABLE_H
#define WT_STORED_TABLE_H

/* make the engine's table agree with the foreign table's definition */
extern void wt_stored_table_sync(Oid relid);

/*
 * A foreign table whose rows CREATE DATABASE has not copied gets an empty stored
 * table; false: it is none of that kind.
 */
extern bool wt_stored_table_begin_empty(Oid relid);

/* Adds to the batch the removal of all tables of databases that are no more. */
extern void wt_stored_table_drop_lost(bool report);

/* defining: a command that defines the table has come to its end. */
extern void wt_stored_table_define(Oid relid, bool defining);

#endif /* WT_STORED_TABLE_H */

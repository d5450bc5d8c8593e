/*
 * stored_table.h
 *		Makes the engine's table, the stored table, agree with the definition of the
 *		foreign table.  All changes are operations of the transaction's batch.
 */
#ifndef WT_STORED_TABLE_H
#define WT_STORED_TABLE_H

/*
 * At the end of a command that defines the foreign table: creates or changes the stored
 * table, its families and their options, and writes options that keep renamed columns
 * on their cells.
 * defining: false if no such command runs; the catalogs are not written then.
 * Errors: if the change would misread stored bytes or contradicts another foreign table.
 */
extern void wt_stored_table_define(Oid relid, bool defining);

/*
 * Gives a foreign table whose rows CREATE DATABASE has not copied a stored table: a new one, or
 * that which has its name already.  Does nothing to other foreign tables.
 */
extern void wt_stored_table_begin_empty(Oid relid);

/* Drops the stored tables of databases that do not exist any more.  report: log each. */
extern void wt_stored_table_drop_lost(bool report);

#endif /* WT_STORED_TABLE_H */

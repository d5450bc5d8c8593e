/*
 * ddl_lock.h
 *		Locks of commands that define foreign tables: of names, and of stored tables.
 *
 * All are PostgreSQL's heavyweight locks, held to the end of the transaction.  Order:
 *
 *	1. the foreign table that the command is about; PostgreSQL takes it
 *	2. the name of a stored table
 *	3. the stored table
 *
 * A command takes no lock of another foreign table after one of these, so that two commands
 * on two foreign tables of one stored table wait for each other but never deadlock.
 *
 * The lock of a stored table is that of its head, the foreign table with the least oid of
 * those that are bound to it.  Readers and writers hold AccessShareLock of the head
 * (wt_engine_table); with one foreign table on the stored table that is the lock which
 * PostgreSQL takes anyway.  The head changes only under AccessExclusiveLock of the old one:
 * who has waited for a head looks again which one it is.
 */
#ifndef WT_DDL_LOCK_H
#define WT_DDL_LOCK_H

#include "nodes/pg_list.h"
#include "storage/lockdefs.h"

#include "engine/wide.h"

/* Locks a name of a stored table of this database, canonical, against other transactions
 * that give it, take it away or look for it to share the table. */
extern void wt_ddl_lock_name(const char *name);

/*
 * Locks the stored table of a foreign table.  mode: AccessShareLock to read or write;
 * ShareUpdateExclusiveLock to compare and change definitions; AccessExclusiveLock to change
 * what others read.
 * Requires: the transaction has locked the foreign table.
 */
extern void wt_ddl_lock_stored_table(Oid relid, LOCKMODE mode);

/* Returns: the head of a stored table as this transaction sees it; InvalidOid: nothing is
 * bound. */
extern Oid wt_ddl_lock_head(wide_table_id id);

#endif /* WT_DDL_LOCK_H */

/*
 * ddl_lock.h
 *		Locks of commands that define foreign tables: of names, and of stored tables.
 *
 * All are PostgreSQL's heavyweight locks, held to the end of the transaction.  Order:
 *
 *	1. the foreign table that the command or statement is about; PostgreSQL takes it
 *	2. names of stored tables
 *	3. the stored table: AccessShareLock to read and write, ShareUpdateExclusiveLock to compare
 *	   and change definitions, AccessExclusiveLock to change what others read
 *
 * A command takes no lock of another foreign table after these: it reads the definitions of
 * those on its stored table without (wt_table_unlocked), which the third lock keeps from
 * changing.  So commands on two foreign tables of one stored table wait for each other and do
 * not deadlock.  As with all tables, those that have read through both may.
 *
 * The lock of a stored table is that of its head, the foreign table with the least oid of
 * those that are bound to it.  With one foreign table on the stored table, readers have it
 * already, so that they pay nothing.  Invariant: the head changes only under
 * AccessExclusiveLock of the old one (DROP has it), and who has waited for a head looks again
 * which one it is.  Then who holds the lock of a head excludes all others that do.
 */
#ifndef WT_DDL_LOCK_H
#define WT_DDL_LOCK_H

#include "storage/lockdefs.h"

#include "engine/wide.h"

/* Locks a name of a stored table of this database, canonical, against other transactions
 * that give it, take it away or look for it to share the table. */
extern void wt_ddl_lock_name(const char *name);

/* Locks the stored table.  Requires: it is not dropped meanwhile, because a foreign table that is
 * bound to it, or its name, is locked. */
extern void wt_ddl_lock_stored_table(wide_table_id id, LOCKMODE mode);

/* Returns: the head of a stored table as this transaction sees it; InvalidOid: nothing is
 * bound. */
extern Oid wt_ddl_lock_head(wide_table_id id);

#endif /* WT_DDL_LOCK_H */

/*
 * online_build.h
 *		Builds indexes and roll-ups while readers and writers go on (option build 'online').
 *
 * CREATE makes the table empty, in the state "building": from its commit on, all changes of rows
 * change it, too.  A process adds what follows from the rows that are there.
 *
 * To an index it adds the entries of some rows at a time, each under its row's lock, in a
 * transaction of its own, which also records how far it has come (option progress).
 *
 * To a roll-up it adds, in one transaction, the difference between the rows and what changes have
 * added to the roll-up so far, both as one snapshot sees them.  Whatever is changed after that
 * snapshot adds to it by itself.
 *
 * The planner uses the index, and queries read the roll-up, when that is done.
 *
 * Invariants
 *	- CREATE waits for open transactions that write to the table, so that each row is either there
 *	  for the builder or put by a session that knows the index or roll-up.
 *	- One process builds it at a time: it holds a lock of its own from one transaction to the next.
 *	  When it has gone, any session that plans a query of the table, or reads the roll-up, asks for
 *	  another one.
 *	- Commands that drop, empty or alter one of the tables do not wait for the whole build: between
 *	  two transactions the builder of an index has no lock on them, and that of a roll-up gives way
 *	  and begins anew.
 *	- An error that would come again ends the build (option failed).
 */
#ifndef WT_ONLINE_BUILD_H
#define WT_ONLINE_BUILD_H

#include "fdw/derived/index.h"

/* The index or roll-up was made in this transaction: its builder starts at the commit. */
extern void wt_online_build_at_commit(Oid relid);

/* Asks for a builder unless the build has failed, or this session has done so a moment ago.  Raises
 * no error. */
extern void wt_online_build_ensure(const WtTable *derived);

/*
 * Before a table is read: if it is an index or a roll-up, raises 55000 if it is being built, and
 * 40001 if it is newer than the snapshot.  NULL: it is not known yet which one reads; the one that
 * plans a statement may be older, from before the statement waited for a lock.
 */
extern void wt_online_build_check_read(const WtTable *t, Snapshot snapshot);

extern void wt_online_build_init(void);

#endif /* WT_ONLINE_BUILD_H */

/*
 * online_build.h
 *		Builds indexes while readers and writers go on (option build 'online').
 *
 * CREATE makes the index empty, in the state "building": from its commit on, all changes of rows
 * change the index, too.  A process adds the entries of the rows that are there: some at a time,
 * each under its row's lock, in a transaction of its own, which also records how far it has come
 * (option progress).  The planner uses the index when that is done.
 *
 * Invariants
 *	- CREATE waits for open transactions that write to the table, so that each row is either there
 *	  for the builder or put by a session that knows the index.
 *	- An index is built by one process at a time: it holds a lock of its own from one transaction
 *	  to the next.  When it has gone, any session that plans a query of the table asks for another
 *	  one.
 *	- Between two transactions the builder has no lock on a table: commands that drop, empty or
 *	  alter one go on, and it finds what they have done.
 */
#ifndef WT_ONLINE_BUILD_H
#define WT_ONLINE_BUILD_H

#include "fdw/derived/index.h"

/* The index was made in this transaction: its builder starts at the commit. */
extern void wt_online_build_at_commit(Oid relid);

/* Asks for a builder unless this session has done so a moment ago.  Raises no error. */
extern void wt_online_build_ensure(const WtIndex *x);

extern void wt_online_build_init(void);

#endif /* WT_ONLINE_BUILD_H */

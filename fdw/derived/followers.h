/*
 * followers.h
 *		What follows from the rows of a stored table, as a transaction keeps it: indexes, roll-ups.
 */
#ifndef WT_FOLLOWERS_H
#define WT_FOLLOWERS_H

#include "utils/snapshot.h"

#include "engine/wide.h"
#include "fdw/derived/base_reader.h"
#include "fdw/derived/entry.h"
#include "fdw/derived/index.h"
#include "fdw/derived/portion.h"
#include "fdw/table/types.h"

/* A foreign table that has indexes or roll-ups. */
typedef struct WtFollowedTable
{
	WtTable *t;
	int n; /* indexes */
	WtIndex **x;
	WtEngineTable *xe; /* of each */
	WtEntries *before; /* of the row under change, by index */
	int nrollups;
	WtRollup **r;
	WtEngineTable *re;	/* of each */
	WtPortion *portion; /* what the row under change has added, by roll-up */

	bool *read;		/* by column: an index or a roll-up has it */
	bool *no_ttl;	/* by column: of one that does not allow cells to expire by themselves */
	bool *cell_ttl; /* by column: of an index that does */
	bool row_no_ttl, row_cell_ttl; /* the same, of one that has all rows */
	WtBaseReader *row;			   /* reads the newest state of a row */

	int stored; /* of the row under change: the store has something; -1: not known yet */

	/* REPEATABLE READ: what the transaction itself sees of it; else NULL */
	WtBaseReader *seen;
	SnapshotData snapshot;
} WtFollowedTable;

/* What follows from the rows of a stored table. */
typedef struct WtFollowers
{
	wide_table_id id;
	uint64 invalidations; /* when this was made */
	int n;
	WtFollowedTable *bases;
	bool all_locked; /* the transaction has locked all rows that it has changed */
	int level;		 /* of the subtransaction that has made this, or has used it since */
	MemoryContext cxt;
	struct WtFollowers *next;
} WtFollowers;

/* Sets t->derived, whether something follows from the rows of a table.  A command that has dropped
 * an index may have been rolled back since.  Returns: the stored table; 0: there is none. */
extern wide_table_id wt_followers_find(WtTable *t);

/* Returns: what follows from the rows of the stored table, of which one is about to change.  Locks
 * the indexes and roll-ups. */
extern WtFollowers *wt_followers_of(wide_table_id id);

/* Closes the scans of all readers; they are opened again when needed. */
extern void wt_followers_rest(void);

/*
 * What subtransactions of this level or deeper have found out is void: of a subtransaction that is
 * rolled back, which may have changed definitions and loses its locks; of all at the end of the
 * transaction.  The scans are closed, by wt_followers_rest() or by the end of the transaction.
 */
extern void wt_followers_forget(int level);

#endif /* WT_FOLLOWERS_H */

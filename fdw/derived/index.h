/*
 * index.h
 *		Indexes of a wide table.
 *
 * An index is a foreign table with a stored table of its own (option index_of).  Each row of the
 * indexed table has an entry in it, a row whose key begins with the indexed columns and ends with
 * the key of the row; of an index on a map it has one for each entry of the map.  Invariant: what a
 * snapshot sees in the index are the entries of the rows that it sees in the indexed table.  A row
 * without a value for the first indexed column has no entry.
 *
 * A timed index has more entries: a value that has expired leaves its entry.  So each row that a
 * timed index finds is tested again.
 */
#ifndef WT_INDEX_H
#define WT_INDEX_H

#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/snapshot.h"

#include "engine/wide.h"
#include "fdw/derived/rollup.h"
#include "fdw/table/types.h"

typedef struct WtIndex
{
	Oid relid;
	WtTable *table; /* the index */
	WtTable *base;	/* the indexed table */
	int *source;	/* by column of the index: index of the column in base; -1: dropped */
	bool *read;		/* by column of base: an entry is made of its value */
	int map;		/* index in base of the map whose entries are indexed; -1: none */
	bool timed;
	bool building;	/* entries of some rows are missing (online_build.h) */
	bool exact;		/* the columns show exactly what INSERT and COPY write */
	bool immutable; /* rows are written once, and exact: INSERT and COPY read nothing */

	/*
	 * The index as if it were the indexed table: the columns that it has are where base has them,
	 * the others are dropped.  Behind them are, of an index on a map, the name and the value of the
	 * map's entry.  So whatever plans and reads a table by its key can do so with the index.
	 */
	WtTable *projection;
	int entry_name, entry_value; /* indexes into projection->columns; -1: the index has none */

	TransactionId made; /* wt_index_made() */
} WtIndex;

/*
 * Returns: the indexes of a foreign table, a list of WtIndex, valid to the end of the transaction;
 * NIL: there are none.
 * Requires: a lock on the foreign table.
 * Errors: those of wt_definition_parse, for the index.
 */
extern List *wt_index_list(WtTable *t);

/* Returns: the same of all foreign tables on the stored table. */
extern List *wt_index_list_stored(wide_table_id id);
extern List *wt_index_rollups_stored(wide_table_id id);

/* Returns: the index with this oid; NULL: it is none. */
extern WtIndex *wt_index(Oid relid);

/* Locks the index to the end of the transaction, which waits for commands that define or drop it.
 * Returns: false if it is gone. */
extern bool wt_index_lock(const WtIndex *x, LOCKMODE mode);

/* The same for roll-ups, lists of WtRollup. */
extern List *wt_index_rollups(WtTable *t);
extern WtRollup *wt_index_rollup(Oid relid);

/* Returns: the transaction that has made or rebuilt an index or a roll-up. */
extern TransactionId wt_index_made(Oid relid);

/*
 * Returns true if the snapshot sees what an index or a roll-up had when it was made, and all
 * changes since: an older one would miss entries.
 */
extern bool wt_index_is_visible(TransactionId made, Snapshot snapshot);

/*
 * Returns false if columns of the index have no column of the table, or one of another type: more
 * commands complete its definition.  pg_dump writes CREATE FOREIGN TABLE without the options of
 * columns, and an ALTER FOREIGN TABLE for each of them.  Until then it is no index: nothing is put
 * into it, and nothing reads it.
 */
extern bool wt_index_is_complete(const WtTable *index, WtTable *base);

/* Errors: 42804, 0A000, 42703 if the index does not fit the table that it is of. */
extern void wt_index_check(WtTable *index, WtTable *base);

#endif /* WT_INDEX_H */

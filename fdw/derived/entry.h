/*
 * entry.h
 *		The entries that a row of the indexed table has in an index.
 */
#ifndef WT_ENTRY_H
#define WT_ENTRY_H

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/derived/index.h"

/* A cell of an entry. */
typedef struct WtEntryCell
{
	const WtColumn *column; /* of the index */
	wide_bytes value;
} WtEntryCell;

typedef struct WtEntry
{
	wide_bytes key; /* of the entry, a row of the index */
	/*
	 * Microseconds since 1970; WIDE_TS_AUTO: that of the commit.  An entry of a timed index expires
	 * with the value of the first column, or later, but not before.
	 */
	int64 ts;
	int64 ttl_us;  /* likewise: that of the value's own; 0: none */
	bool distinct; /* unique index: no other row may have the declared columns' values */
	int ncells;
	WtEntryCell *cells;
} WtEntry;

/* Entries of one row, in the order of their keys. */
typedef struct WtEntries
{
	int n;
	WtEntry *list;
} WtEntries;

/*
 * Makes the entries of a row; values and nulls are by column of the indexed table, stamps the
 * timestamps of its cells if they lie ahead of the clock, PG_INT64_MIN otherwise; ttls their own
 * times to live, 0: none; both NULL: none do or have.  Everything is palloc'd. Errors:
 * PROGRAM_LIMIT_EXCEEDED if an entry's key would be too long.
 */
extern WtEntries wt_entry_make(const WtIndex *x, const Datum *values, const bool *nulls,
							   const int64 *stamps, const int64 *ttls);

/* Returns true if the entries are the same, apart from their keys. */
extern bool wt_entry_same_cells(const WtEntry *a, const WtEntry *b);

/* Adds the entry to the transaction's batch; deletes it.  e: the index's table. */
extern void wt_entry_put(const WtIndex *x, const WtEngineTable *e, const WtEntry *entry);
extern void wt_entry_delete(const WtIndex *x, const WtEngineTable *e, wide_bytes key);

#endif /* WT_ENTRY_H */

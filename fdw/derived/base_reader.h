/*
 * base_reader.h
 *		Reads rows of an indexed table to make entries of them.
 */
#ifndef WT_BASE_READER_H
#define WT_BASE_READER_H

#include "utils/snapshot.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/row/reader.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

typedef struct WtBaseReader
{
	WtTable *t;
	WtEngineTable e;
	Snapshot snapshot; /* NULL: the newest state */

	/* the row last read, by column */
	Datum *values;
	bool *nulls;
	int64
		*stamps; /* of cells whose timestamp is above wt_base_reader_present(); else PG_INT64_MIN */
	int64 *ttls; /* of cells that have a time to live of their own; 0: none, or there is no row */

	/* private */
	MemoryContext cxt; /* of all that belongs to it */
	const bool *read;
	bool found;
	WtRowReader *reader; /* NULL: nothing was read yet, and values, nulls and stamps are NULL */
	wide_scan_spec spec;
	WtEngineScan *scan; /* NULL: not open */
	StringInfoData range;
	wide_scan_spec all;		 /* of the newest version of each cell, whatever the columns are */
	WtEngineScan *all_cells; /* NULL: not open */
} WtBaseReader;

/* Returns a time that all timestamps which commits assign from now on are above: the present one,
 * or the newest that was assigned, after a clock that was ahead. */
extern int64 wt_base_reader_present(void);

/*
 * Makes a reader of these columns; read: by column, must live as long.  It lives in
 * CurrentMemoryContext; what is open belongs to the present (sub)transaction, and not to the
 * statement, up to wt_base_reader_close(). Errors: XX000 if the table is not stored.
 */
extern WtBaseReader *wt_base_reader_open(WtTable *t, const bool *read, Snapshot snapshot);

/* Reads the row with this key.  Returns false if there is none.  By-reference values are palloc'd,
 * or valid until the next call. */
extern bool wt_base_reader_get(WtBaseReader *r, wide_bytes key);

/*
 * Returns true if the store has nothing of the row: neither values, nor deleted ones, nor deletes.
 * What the transaction itself has changed does not count.
 */
extern bool wt_base_reader_is_untouched(const WtBaseReader *r, wide_bytes key);

/*
 * Sets *ts to the timestamp that all cells of the row last read have, in families that the table
 * does not show, too; WIDE_TS_AUTO: the commit of this transaction will give it to them.
 * Returns: false if they have expired since the row was read.
 * Errors: 0A000 if they have different ones, or one a time to live of its own, so that they do not
 * expire together.
 */
extern bool wt_base_reader_timestamp(WtBaseReader *r, int64 *ts);

/*
 * Returns true if both have last read the same versions of all cells, or have found no row.
 * Requires: a call of wt_base_reader_get() of each, with the same key.
 */
extern bool wt_base_reader_same(const WtBaseReader *a, const WtBaseReader *b);

/*
 * Raises 0A000 if one of these columns, which are by column, shows a cell of the row last read that
 * has a time to live of its own: it expires by itself, and nobody would delete what follows from
 * it. allowed: only if it lies ahead of the clock (wt_base_reader_present), too.
 */
extern void wt_base_reader_check_ttl(const WtBaseReader *r, const bool *columns, bool allowed);

/* Raises that error.  c: the column, or NULL for any that makes the row exist. */
extern _Noreturn void wt_base_reader_refuse_ttl(WtTable *t, const WtColumn *c, wide_bytes key);

/* Starts with the first row of the table; reads the next one, or returns false at the end. */
extern void wt_base_reader_start(WtBaseReader *r);
extern bool wt_base_reader_next(WtBaseReader *r);

/* Begins to show in pg_stat_widetable_progress, up to wide_progress_end(), that the rows of a table
 * are read to build an index or a roll-up of it. */
extern void wt_base_reader_begin_progress(WtTable *derived, WtTable *base);

/* Closes what is open; it opens again with the next call. */
extern void wt_base_reader_close(WtBaseReader *r);

#endif /* WT_BASE_READER_H */

/*
 * cell_read.h
 *		Single cells and rows that are read before they are written.
 *
 * "The newest state" is all committed changes and all changes of this transaction.  A caller
 * that reads it to write a row holds the row's lock.
 */
#ifndef WT_CELL_READ_H
#define WT_CELL_READ_H

#include "lib/stringinfo.h"
#include "utils/snapshot.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

/* A cell of a row, and its newest version */
typedef struct WtCellRef
{
	wide_family_id family;
	wide_bytes qual;
	WtColumn *column; /* the column that maps it, or NULL */

	/* set by reading */
	bool found;
	bool provisional; /* this transaction has written it without a timestamp */
	int64 ts;		  /* microseconds since 1970; PG_INT64_MIN: not found */
	int64 floor_ts;	  /* for a put over it (wide_batch_put); PG_INT64_MIN: not found */
	uint64 seq;		  /* 0: written by this transaction */
	wide_bytes value; /* palloc'd */
} WtCellRef;

/*
 * Reads the newest version of each cell of a row, as the snapshot sees it (NULL: the newest
 * state).  Several refs may name the same cell.
 */
extern void wt_cell_read_newest(Snapshot snapshot, wide_bytes key, WtCellRef *refs, int nrefs);

/* Returns a cell that is not read, for a blind put. */
static inline WtCellRef
wt_cell_read_ref(wide_family_id family, wide_bytes qual)
{
	return (WtCellRef) {
		.family = family, .qual = qual, .ts = PG_INT64_MIN, .floor_ts = PG_INT64_MIN};
}

/* Reads timestamps for many rows. */
typedef struct WtFloorReader WtFloorReader;

/*
 * Reads the newest version of each cell without its value, in the newest state.  *reader, NULL at
 * first, keeps what the next call needs if it is for the same cells of another row; it lives in
 * cxt.
 */
extern void wt_cell_read_floors(WtFloorReader **reader, MemoryContext cxt, wide_bytes key,
								WtCellRef *refs, int nrefs);

/* Closes a reader, which may be NULL. */
extern void wt_cell_read_floors_close(WtFloorReader *reader);

/* Returns true if the row has a live cell in any family, in the newest state. */
extern bool wt_cell_read_row_exists(WtEngineTable *e, wide_bytes key);

/* The same for many rows: *scan, NULL at first, is reused by the next call.  The caller closes it
 * (wt_engine_scan_close).  buf is room for the key. */
extern bool wt_cell_read_row_exists_again(WtEngineScan **scan, WtEngineTable *e, wide_bytes key,
										  StringInfo buf);

/*
 * Returns true if the version with this timestamp is one of this transaction that gets its
 * timestamp at commit; *floor_ts is set then, for a put over it.
 */
extern bool wt_cell_read_is_provisional(wide_family_id family, wide_bytes key, wide_bytes qual,
										int64 ts, int64 *floor_ts);

/* Returns the newest of the timestamps below ts that versions of the cell have in the newest state;
 * PG_INT64_MIN: there are none. */
extern int64 wt_cell_read_next_newest(wide_family_id family, wide_bytes key, wide_bytes qual,
									  int64 ts);

/*
 * Appends the timestamps (int64) of a cell's versions in the newest state, newest first.  Leaves
 * out a version that gets its timestamp at commit; returns true if there is one.
 */
extern bool wt_cell_read_versions(wide_family_id family, wide_bytes key, wide_bytes qual,
								  StringInfo ts);

/* Returns the range of exactly this row; its bytes are in buf. */
extern wide_range wt_cell_read_row_range(wide_bytes key, StringInfo buf);

/* Returns the first column of this role that shows the cell, NULL if there is none. */
extern WtColumn *wt_cell_read_column(WtTable *t, WtRole role, int family, wide_bytes qual);

/* Returns a copy in cxt. */
extern wide_bytes wt_cell_read_copy_bytes(MemoryContext cxt, wide_bytes b);

#endif /* WT_CELL_READ_H */

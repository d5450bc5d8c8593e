/*
 * cell_read.h
 *		Single cells that are read before they are written.
 */
#ifndef WT_CELL_READ_H
#define WT_CELL_READ_H

#include "lib/stringinfo.h"
#include "utils/snapshot.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

/* One cell of a row that is read before it is written. */
typedef struct WtCellRef
{
	wide_family_id family;
	wide_bytes qual;
	WtColumn *column; /* the column that maps it, or NULL */
	/* filled in by wt_cell_read_newest */
	bool found;
	int64 ts;
	uint64 seq;		  /* 0: written by this transaction */
	wide_bytes value; /* palloc'd */
} WtCellRef;

/*
 * The newest version of each cell, as the snapshot sees it (NULL: newest
 * state, own writes included; call it under the row lock then).  Several refs
 * may name the same cell.
 */
extern void wt_cell_read_newest(Snapshot snapshot, wide_bytes key, WtCellRef *refs, int nrefs);

/*
 * The timestamps of the newest versions of the cells, in the newest state with
 * all own writes (found and ts are filled in; no values), for one row after the
 * other under their locks: *reader keeps what the next row needs when it asks
 * for the same cells.  NULL at first; it lives in cxt.
 */
typedef struct WtFloorReader WtFloorReader;

extern void wt_cell_read_floors(WtFloorReader **reader, MemoryContext cxt, wide_bytes key,
								WtCellRef *refs, int nrefs);
extern void wt_cell_read_floors_close(WtFloorReader *reader);

/* Does the row exist (any live cell), in the newest state with own writes? Call under the row
 * lock. */
extern bool wt_cell_read_row_exists(WtTable *t, WtEngineTable *e, wide_bytes key);
/* Does the row have a live cell in any family, in the same state?  *scan is kept for the next
 * row, and closed by wt_engine_scan_close. */
extern bool wt_cell_read_row_exists_again(WtEngineScan **scan, WtEngineTable *e, wide_bytes key,
										  StringInfo buf);

/*
 * Is this version one of our transaction that gets its timestamp at commit
 * (ts is the provisional one)?  *floor: the newest older version of the cell,
 * PG_INT64_MIN when there is none.
 */
extern bool wt_cell_read_is_provisional(wide_family_id family, wide_bytes key, wide_bytes qual,
										int64 ts, int64 *floor);

/*
 * The timestamps of a cell's visible versions, newest first, appended to *ts
 * (int64 each; newest state).  true: one of them is ours and gets its timestamp
 * at commit; it is not among them.
 */
extern bool wt_cell_read_versions(wide_family_id family, wide_bytes key, wide_bytes qual,
								  StringInfo ts);

/* The range that holds exactly this row; the bytes live in buf. */
extern wide_range wt_cell_read_row_range(wide_bytes key, StringInfo buf);

#endif /* WT_CELL_READ_H */

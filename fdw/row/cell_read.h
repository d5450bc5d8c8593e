/*
 * cell_read.h
 *		Small things that modify.c and func.c share: reading single cells for a
 *		read-modify-write, families by name, jsonb values as bytes.
 */
#ifndef WT_RMW_H
#define WT_RMW_H

#include "fdw/widetable.h"
#include "utils/jsonb.h"

/* One cell of a row that is read before it is written. */
typedef struct WtCellRef
{
	wide_family_id family;
	wide_bytes	qual;
	WtColumn   *column;			/* the column that maps it, or NULL */
	/* filled in by wt_read_cells */
	bool		found;
	int64		ts;
	uint64		seq;			/* 0: written by this transaction */
	wide_bytes	value;			/* palloc'd */
} WtCellRef;

/*
 * The newest version of each cell, as the snapshot sees it (NULL: newest
 * state, own writes included; call it under the row lock then).  Several refs
 * may name the same cell.
 */
extern void wt_read_cells(Snapshot snapshot, wide_bytes key, WtCellRef *refs, int nrefs);

/*
 * The timestamps of the newest versions of the cells, in the newest state with
 * all own writes (found and ts are filled in; no values), for one row after the
 * other under their locks: *reader keeps what the next row needs when it asks
 * for the same cells.  NULL at first; it lives in cxt.
 */
typedef struct WtFloorReader WtFloorReader;
extern void wt_read_floors(WtFloorReader **reader, MemoryContext cxt, wide_bytes key, WtCellRef *refs, int nrefs);
/* Does the row have a live cell in any family, in the same state?  *scan is kept for the next row, and closed by wt_scan_close. */
extern bool wt_row_exists_again(WtScan **scan, WtEngine *e, wide_bytes key, StringInfo buf);
extern void wt_floors_close(WtFloorReader *reader);

/*
 * Is this version one of our transaction that gets its timestamp at commit
 * (ts is the provisional one)?  *floor: the newest older version of the cell,
 * PG_INT64_MIN when there is none.
 */
extern bool wt_is_provisional(wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts, int64 *floor);

/*
 * The timestamps of a cell's visible versions, newest first, appended to *ts
 * (int64 each; newest state).  true: one of them is ours and gets its timestamp
 * at commit; it is not among them.
 */
extern bool wt_cell_versions(wide_family_id family, wide_bytes key, wide_bytes qual, StringInfo ts);

/* direct.c: can this plan deliver a row of the target only once?  Joins can repeat it. */
extern bool wt_delivers_once(Plan *plan);

/* The range that holds exactly this row; the bytes live in buf. */
extern wide_range wt_row_range(wide_bytes key, StringInfo buf);

/* A family of the engine's table by name, also one that t does not mention; 0 when there is none. */
extern wide_family_id wt_family_by_name(WtTable *t, WtEngine *e, const char *name);
/* All families of the engine's table, in the order of e->all; palloc'd. */
extern wide_family *wt_families(WtEngine *e, int *n);

/* Valid text of the database's encoding without NUL? */
extern bool wt_bytes_are_text(const uint8 *data, size_t len);
/* What people see of a value: the text it is, or \x and hexadecimal digits. */
extern char *wt_bytes_show(wide_bytes b);
/* Appends the bytes that wt_bytes_show would show as this text. */
extern void wt_bytes_unshow(const char *text, size_t len, StringInfo out);
/* The same for qualifiers: the text it is, or each byte as \xHH, as option "column" and arguments of functions have it. */
extern char *wt_qualifier_show(wide_bytes b);
extern void wt_qualifier_unshow(const char *text, size_t len, StringInfo out);
/* As wt_qualifier_show; text that would not be read as itself by functions has its backslashes doubled. */
extern char *wt_qualifier_argument(wide_bytes b);

/* The text of a JSON value (of a string: its characters); false for JSON null. */
extern bool wt_json_text(const JsonbValue *v, StringInfo out);

/* Microseconds since 1970 of a timestamp column's value; 22023 when negative. */
extern int64 wt_timestamp_arg(Oid typid, Datum value, const char *column);

static inline bool
wt_bytes_equal(const void *a, size_t alen, const void *b, size_t blen)
{
	return alen == blen && (alen == 0 || memcmp(a, b, alen) == 0);
}

static inline wide_bytes
wt_bytes_of(StringInfo s)
{
	return (wide_bytes) {(const uint8 *) s->data, (size_t) s->len};
}

#endif							/* WT_RMW_H */

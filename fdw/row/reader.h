/*
 * reader.h
 *		Row readers: assemble SQL rows from the engine's cells.
 */
#ifndef WT_READER_H
#define WT_READER_H

#include "lib/stringinfo.h"
#include "port/pg_bswap.h"
#include "utils/jsonb.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/key/key_test.h"
#include "fdw/row/scan_set.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

/* How a cell's bytes become an integer without wt_cell_value_decode */
typedef struct WtWidth
{
	int bytes;	 /* 0: they need decoding */
	uint64 flip; /* the sign bit, in the ordered encoding */
} WtWidth;

/* A column that a cell fills; several may share a cell. */
typedef struct WtTarget
{
	int att; /* index into columns */
	WtWidth width;
	bool text;				/* ASCII bytes need no decoding */
	bool bytes;				/* nor do any bytes */
	bool fixed;				/* wt_decode_fixed decodes it */
	const WtColumn *column; /* how to decode the value */
	struct WtTarget *next;
} WtTarget;

/* A qualifier that columns of the table map */
typedef struct WtMappedCell
{
	wide_bytes qual;
	WtTarget *targets; /* of wanted columns; NULL: none, but maps leave the qualifier out */
} WtMappedCell;

/* What the reader does with a family of the scan specification */
typedef struct WtReadFamily
{
	int family; /* index into the table's families; -1: the table does not state it */
	char *name; /* layout cells */
	int nmapped;
	WtMappedCell *mapped; /* sorted by qualifier; WIDE_WANT_COLUMNS: in step with quals */
	int nmaps;
	int *maps; /* indexes of the wanted map columns of this family */
} WtReadFamily;

typedef struct WtRowReader WtRowReader;

struct WtRowReader
{
	WtTable *t;

	/* what is read */
	bool *wanted;	 /* by attribute */
	bool *need_part; /* by key part */
	int nfamilies;
	int families_cap;		/* allocated entries, here and in the specification */
	WtReadFamily *families; /* in step with the specification's */

	/* the row that is assembled */
	Datum *part_values; /* by key part */
	bool *part_nulls;
	JsonbParseState **maps; /* by attribute */
	char *room;				/* memory for its texts */
	size_t room_left;		/* bytes */

	/* the row last returned */
	wide_bytes at; /* its key, valid until the next call */
	bool unsure;   /* the engine could not evaluate its predicates; key is set */

	/* of the row last returned, for scans that lock rows */
	bool track;			/* the members of this group are filled in */
	StringInfoData key; /* a copy of its key */
	uint32 fingerprint; /* a hash of its cells, to tell versions of the row apart */
	int own_cells;		/* number of its cells that this transaction has written */

	/* of the row last returned, for UPDATE and DELETE in the scan */
	int64 *floors;			/* for puts over the cells, by attribute; NULL: not wanted */
	const bool *floor_only; /* by attribute: only the timestamp is wanted */

	/* layout cells */
	WtEngineScan *row_scan; /* has the row's other parts; NULL: no row */
	wide_row row;			/* the part of the row whose cells are returned */
	int next_cell;			/* index into its cells */
	int64 row_before;		/* number of cells in the row's earlier parts */
	const wide_cell *cell;	/* the cell last returned */

	uint64 bad_keys; /* number of rows that on_bad_key 'skip' has left out */
};

/*
 * Makes a reader and fills in the families of a scan specification: which families, which
 * qualifiers, where existence is asked for.
 * columns: the wanted columns, by attno - 1; NULL: all.
 * strict_family: index of a family in which every row of the result has a cell; -1: none.
 * tests, args: layout cells: they limit what is read, also versions and timestamps in the
 * specification; there may be none.
 * Everything is palloc'd in CurrentMemoryContext, and points to t.
 */
extern WtRowReader *wt_reader_make(WtTable *t, WtEngineTable *e, const bool *columns,
								   int strict_family, const WtTest *tests, int ntests,
								   const WtArg *args, wide_scan_spec *spec);

/* Returns the index of a family in the specification, and adds it for predicates if it is not
 * there. */
extern int wt_reader_family(WtRowReader *r, wide_scan_spec *spec, wide_family_id id);

/* Adds a family for predicates alone, whether or not it is there.  Returns its index. */
extern int wt_reader_add(WtRowReader *r, wide_scan_spec *spec, wide_family_id id);

/*
 * Assembles the next SQL row; values and nulls are by attno - 1.  By-reference values live in
 * CurrentMemoryContext or, until the next call, in the scan's memory.
 * Returns: false at the end.
 * Errors: those of the scan, of wt_rowkey_decode and wt_cell_value_decode.
 */
extern bool wt_reader_next(WtRowReader *r, WtScanSet *s, Datum *values, bool *nulls);

/* The same from one scan. */
extern bool wt_reader_next_of_scan(WtRowReader *r, WtEngineScan *scan, Datum *values, bool *nulls);

/* Returns the qualifier of a cell of the row last returned. */
extern wide_bytes wt_reader_qual(const WtRowReader *r, const wide_cell *cell);

/* Returns how an integer column is stored; bytes is 0 if its values need decoding. */
extern WtWidth wt_reader_integer_width(const WtColumn *c);

/* Reads a cell's value.  Returns false if it needs decoding. */
static inline bool
wt_reader_read_integer(const WtWidth *w, wide_bytes value, int64 *out)
{
	if (value.len != (size_t) w->bytes)
		return false;
	if (w->bytes == 4)
	{
		uint32 v;

		memcpy(&v, value.data, 4);
		*out = (int32) (pg_ntoh32(v) ^ (uint32) w->flip);
	}
	else if (w->bytes == 8)
	{
		uint64 v;

		memcpy(&v, value.data, 8);
		*out = (int64) (pg_ntoh64(v) ^ w->flip);
	}
	else if (w->bytes == 2)
	{
		uint16 v;

		memcpy(&v, value.data, 2);
		*out = (int16) (pg_ntoh16(v) ^ (uint16) w->flip);
	}
	else
		return false;
	return true;
}

#endif /* WT_READER_H */

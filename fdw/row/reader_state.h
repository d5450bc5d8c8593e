/*
 * reader_state.h
 *		The state of a row reader, for the files of this room and those that know what it reads.
 */
#ifndef WT_READER_STATE_H
#define WT_READER_STATE_H

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#include "engine/wide.h"
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

/* A part of the key whose bytes are a number */
typedef struct WtKeyNumber
{
	const WtColumn *column;
	int att;	  /* index into columns; -1: not wanted */
	int bytes;	  /* 1, 2, 4 or 8 */
	uint64 flip;  /* the bits that differ from those of the value */
	bool integer; /* then it is the value; else wt_decode_number decodes it */
} WtKeyNumber;

/* A column of a span, and the columns that it fills */
typedef struct WtSpanTarget
{
	int column; /* its number in the span */
	WtTarget *targets;
} WtSpanTarget;

typedef struct WtRowReader WtRowReader;

struct WtRowReader
{
	WtTable *t;

	/* what is read */
	bool *wanted;		  /* by attribute */
	bool *need_part;	  /* by key part */
	WtKeyNumber *numbers; /* the parts of the key, if all are numbers */
	int numbers_len;	  /* bytes of such a key; 0: others are in it, too */
	int nfamilies;
	int families_cap;		/* allocated entries, here and in the specification */
	WtReadFamily *families; /* in step with the specification's */
	bool by_column;			/* cells are read for nothing but their values, and none by qualifier */
	int nspan;
	WtSpanTarget *span; /* the cells that columns map */

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
	int64 *own_ttl;		/* by attribute, of a map the longest: of cells that have one of their own;
						 * NULL: not wanted */

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

#endif /* WT_READER_STATE_H */

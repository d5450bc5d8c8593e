/*
 * reader.h
 *		The engine's cells become SQL rows.
 */
#ifndef WT_READER_H
#define WT_READER_H

#include "catalog/pg_type.h"
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
	int bytes;	 /* 0: they do not */
	uint64 flip; /* the sign bit of the ordered encoding */
} WtWidth;

/* An attribute that a cell fills; several may share a cell. */
typedef struct WtTarget
{
	int att; /* index into columns */
	WtWidth width;
	bool text;				/* bytes that are ASCII need no decoding */
	const WtColumn *column; /* how to decode */
	struct WtTarget *next;
} WtTarget;

/* A qualifier that columns of the table map. */
typedef struct WtMappedCell
{
	wide_bytes qual;
	WtTarget *targets; /* of the attributes wanted; NULL: only left out of maps */
} WtMappedCell;

/* One entry of the scan specification's families. */
typedef struct WtReadFamily
{
	int family; /* index into the table's families, -1: not stated there */
	char *name; /* layout cells */
	int nmapped;
	WtMappedCell *mapped; /* sorted by qualifier; WANT_COLUMNS: in step with quals */
	int nmaps;
	int *maps; /* attributes: maps of this family */
} WtReadFamily;

typedef struct WtRowReader WtRowReader;

struct WtRowReader
{
	WtTable *t;
	bool *wanted;	 /* by attribute */
	bool *need_part; /* by key part */
	Datum *part_values;
	bool *part_nulls;
	uint64 bad_keys; /* rows left out by on_bad_key 'skip' */
	int nfamilies;
	int families_cap;		/* entries that there is room for */
	WtReadFamily *families; /* in step with the specification's */
	JsonbParseState **maps; /* by attribute, while a row is put together */
	MemoryContext cxt;		/* where copies of keys live */
	char *room;				/* for texts of the row */
	size_t room_left;
	wide_bytes at; /* key of the row last returned, until the next call */
	bool unsure; /* of the row last returned the engine could not tell its predicates; key is set */
	bool track;	 /* for locking: fill in the next three */
	StringInfoData key; /* of the row last returned */
	uint32 print;		/* a hash of its cells */
	int own;			/* of them, cells of this transaction */
	int64 *floors;		/* see WtScanState; NULL: not wanted */
	const bool *bare;
	/* layout cells: the part of the row that is being shown */
	wide_row row;
	int next_cell;
	int64 row_before;		/* cells of the row before this part */
	WtEngineScan *row_scan; /* NULL: none */
	const wide_cell *cell;	/* last returned */
};

/* columns: which attributes are wanted (bool per attno - 1; NULL all). Decides families,
 * qualifiers, existence. strict_family: rows are known to exist when this family (index) gives a
 * cell; -1. */
extern WtRowReader *wt_reader_for_columns(WtTable *t, WtEngineTable *e, const bool *columns,
										  int strict_family, wide_scan_spec *spec);

/* Layout cells: the tests and their arguments decide what is read; else none. */
extern WtRowReader *wt_reader_make(WtTable *t, WtEngineTable *e, const bool *columns,
								   int strict_family, const WtTest *tests, int ntests,
								   const WtArg *args, wide_scan_spec *spec);

/* The entry of a family in the specification, which is made when there is none. */
extern int wt_reader_family(WtRowReader *r, wide_scan_spec *spec, wide_family_id id);
/* One more, for predicates alone, whether or not there is one. */
extern int wt_reader_add(WtRowReader *r, wide_scan_spec *spec, wide_family_id id);

/* Assembles the next SQL row from the scan (several wide_row parts if need be); false at the
 * end. Datums live in CurrentMemoryContext or the scan's memory. */
extern bool wt_reader_next_of_scan(WtRowReader *r, WtEngineScan *scan, Datum *values, bool *nulls,
								   uint64_t *max_seq);
/* As wt_reader_next_of_scan, from several engine scans. */
extern bool wt_reader_next(WtRowReader *r, WtScanSet *s, Datum *values, bool *nulls,
						   uint64_t *max_seq);

/* The qualifier of a cell that the reader has returned. */
extern wide_bytes wt_reader_qual(const WtRowReader *r, const wide_cell *cell);

/* How an integer column is stored; bytes is 0 when it takes decoding. */
extern WtWidth wt_reader_integer_width(const WtColumn *c);

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

static inline Datum
wt_reader_integer_datum(Oid type, int64 v)
{
	switch (type)
	{
		case INT2OID:
			return Int16GetDatum((int16) v);
		case INT4OID:
		case DATEOID:
			return Int32GetDatum((int32) v);
		default:
			return Int64GetDatum(v);
	}
}

#endif /* WT_READER_H */

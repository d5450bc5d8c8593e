/*
 * reader.h
 *		Row readers: assemble SQL rows from the engine's cells.
 */
#ifndef WT_READER_H
#define WT_READER_H


#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/key/key_test.h"
#include "fdw/row/reader_state.h"
#include "fdw/row/scan_set.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

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

#endif /* WT_READER_H */

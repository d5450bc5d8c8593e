/*
 * reader_span.h
 *		Rows whose values a scan returns by column (engine/wide.h, spans).
 */
#ifndef WT_READER_SPAN_H
#define WT_READER_SPAN_H

#include "postgres.h"

#include "engine/wide.h"
#include "fdw/row/reader_state.h"

/* Layout rows: finds out whether values can be read by column, and numbers the columns. */
extern void wt_reader_span_number(WtRowReader *r);

/* Returns true if the reader can take spans; to be asked when r->floors and r->track are set. */
extern bool wt_reader_span_possible(const WtRowReader *r);

/*
 * Returns what the reader does with a column, and the number that this has in a span; NULL if it
 * does not read the column by its qualifier.
 */
extern const WtTarget *wt_reader_span_find(const WtRowReader *r, int att, int *column);

/* Sets the columns from the row's values in its span; others stay as they are. */
extern void wt_reader_span_take(WtRowReader *r, const wide_row *row, Datum *values, bool *nulls);

#endif /* WT_READER_SPAN_H */

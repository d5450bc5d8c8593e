/*
 * loose_filter.h
 *		The row filter of loose scans, which read one row of each group.
 */
#ifndef WT_LOOSE_FILTER_H
#define WT_LOOSE_FILTER_H

#include "lib/stringinfo.h"

#include "engine/wide.h"
#include "fdw/table/types.h"

/* The filter's state.  The caller sets prefix to the group that it has read. */
typedef struct WtLoose
{
	WtTable *t;
	bool reverse;
	bool whole;			   /* the prefix of a group is the whole key */
	StringInfoData prefix; /* of the group last read, without salt; empty: none */
	StringInfoData seek; /* buffer of the key to go on at; has room for prefix, salt and one byte */
	wide_row_filter inner; /* the scan's filter, for rows of other groups; NULL: none */
	void *inner_arg;
} WtLoose;

/*
 * Leaves out the rows of the group last read and tells the engine to go on behind them.  A
 * row filter of the engine; arg is a WtLoose.  Raises no errors, as the engine requires.
 */
extern wide_row_verdict wt_loose_filter(void *arg, wide_bytes key, wide_bytes *seek);

#endif /* WT_LOOSE_FILTER_H */

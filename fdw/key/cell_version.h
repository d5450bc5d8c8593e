/*
 * cell_version.h
 *		Layout 'cells': tests on versions -> limits that a scan passes to the engine.
 */
#ifndef WT_CELL_VERSION_H
#define WT_CELL_VERSION_H

#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

typedef enum WtTimes
{
	WT_TIMES_ALL,
	WT_TIMES_NONE,
	WT_TIMES_SOME
} WtTimes;

/* Returns a number above which no version passes the tests of part, WT_PART_VERSION or
 * WT_PART_NO; at least 1. */
extern int wt_cell_version_limit(const WtTest *tests, int ntests, const WtArg *args, int part);

/* Returns which timestamps can pass the tests.  Unless none does: those from *lo on that are less
 * than *hi (PG_INT64_MAX: without an upper end), in microseconds since 1970. */
extern WtTimes wt_cell_version_times(WtTable *t, const WtTest *tests, int ntests, const WtArg *args,
									 int64 *lo, int64 *hi);

#endif /* WT_CELL_VERSION_H */

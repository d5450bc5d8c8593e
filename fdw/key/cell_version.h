/*
 * cell_version.h
 *		Layout 'cells': what conditions on the version and its timestamp leave.
 */
#ifndef WT_CELL_VERSION_H
#define WT_CELL_VERSION_H

#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

/* Layout cells: no version (WT_PART_VERSION, WT_PART_NO) above this passes the tests. */
extern int wt_cell_version_limit(const WtTest *tests, int ntests, const WtArg *args, int part);

typedef enum WtTimes
{
	WT_TIMES_ALL,
	WT_TIMES_NONE,
	WT_TIMES_SOME
} WtTimes;

/* Layout cells: no version passes the tests unless *lo <= its timestamp < *hi (PG_INT64_MAX:
 * open). */
extern WtTimes wt_cell_version_times(WtTable *t, const WtTest *tests, int ntests, const WtArg *args,
									 int64 *lo, int64 *hi);

#endif /* WT_CELL_VERSION_H */

/*
 * clock.h
 *		Times: widetable.clock, widetable.as_of, and SQL's times in microseconds since 1970.
 */
#ifndef WT_CLOCK_H
#define WT_CLOCK_H

#include "datatype/timestamp.h"

#define WT_EPOCH_DIFF ((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

extern void wt_clock_define(void); /* the two settings */
extern int64 wt_clock_now(void);   /* microseconds since 1970, honours widetable.clock */
/* as_of in force: microseconds since 1970, or INT64_MAX when none */
extern int64 wt_clock_as_of(void);

/*
 * Microseconds of an interval, as extract(epoch) counts them: a year of 365.25
 * days, a month of 30.  false: not greater than zero, or out of range.
 */
extern bool wt_clock_interval_us(const Interval *i, int64 *us);

/* Microseconds since 1970 of a timestamp column's value; 22023 when negative. */
extern int64 wt_clock_from_datum(Oid typid, Datum value, const char *column);

#endif /* WT_CLOCK_H */

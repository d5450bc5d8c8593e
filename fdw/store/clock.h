/*
 * clock.h
 *		Times in microseconds since 1970, and the settings widetable.clock and
 *		widetable.as_of.
 */
#ifndef WT_CLOCK_H
#define WT_CLOCK_H

#include "datatype/timestamp.h"

/* Microseconds from 1970 to PostgreSQL's epoch. */
#define WT_EPOCH_DIFF ((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/* Defines the two settings. */
extern void wt_clock_define(void);

/* Returns: widetable.clock if it is set, else the time.  Raises no error. */
extern int64 wt_clock_now(void);

/* For the process that replays WAL: a record was written at that time; 0: not known. */
extern void wt_clock_replayed(TimestampTz time);

/*
 * newest: the newest timestamp that the store has assigned.
 * Returns: by how much it is ahead of the real clock, in microseconds; 0: it is not.
 */
extern int64 wt_clock_ahead(int64 newest);

/* Before a commit: warns if its timestamps will be more than a minute ahead of the clock, once an
 * hour in each session.  Not if widetable.clock is set. */
extern void wt_clock_warn_ahead(int64 newest);

/* Errors: 22023 if widetable.clock has a value that is no time (see clock.c).  Requires: called
 * before a statement writes to a wide table. */
extern void wt_clock_check(void);

/*
 * Returns: widetable.as_of, or INT64_MAX if it is not set.
 * Requires: called before a statement reads a wide table.
 * Errors: 22023 if widetable.as_of or widetable.clock has a value that is no time.
 */
extern int64 wt_clock_as_of(void);

/* The same, to compare it; raises no error: a value that is no time is INT64_MAX. */
extern int64 wt_clock_as_of_unchecked(void);

/*
 * *us becomes the interval in microseconds, as extract(epoch) counts them: a year
 * has 365.25 days, a month 30.
 * Returns: false if that is not above zero or is out of range.
 */
extern bool wt_clock_interval_us(const Interval *i, int64 *us);

/*
 * The timestamp of a cell from an SQL value: timestamp, timestamptz or int8.
 * column: its name for the error, or NULL.
 * Errors: 22008 if it is infinite or out of range, 22023 if it is negative.
 */
extern int64 wt_clock_from_datum(Oid typid, Datum value, const char *column);

#endif /* WT_CLOCK_H */

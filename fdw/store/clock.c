/*
 * clock.c
 *		The settings widetable.clock and widetable.as_of, and SQL's times in
 *		microseconds since 1970, the engine's unit.
 *
 * A setting's text is parsed when it is set: the check hook passes the result to
 * the assign hook as the setting's "extra", which lives as long as the value.  So
 * wt_clock_now(), which the engine calls where no error may be raised, parses nothing.
 */
#include "postgres.h"

#include "fdw/store/clock.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "fdw/store/compat.h"

/* texts of the settings */
static char *as_of_text = NULL;
static char *clock_text = NULL;

/* microseconds since 1970; NULL: not set */
static const int64 *as_of_us = NULL;
static const int64 *clock_us = NULL;

int64
wt_clock_now(void)
{
	return clock_us != NULL ? *clock_us : GetCurrentTimestamp() + WT_EPOCH_DIFF;
}

int64
wt_clock_as_of(void)
{
	return as_of_us != NULL ? *as_of_us : PG_INT64_MAX;
}

/* The text is a timestamp, or a number of microseconds since 1970. */
static bool
check_time(char **newval, void **extra, GucSource source)
{
	char *end;
	int64 us;

	if (*newval == NULL || (*newval)[0] == '\0')
		return true;
	errno = 0;
	us = strtoll(*newval, &end, 10);
	if (errno != 0 || *end != '\0')
	{
		TimestampTz t = DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in,
																CStringGetDatum(*newval),
																ObjectIdGetDatum(InvalidOid),
																Int32GetDatum(-1)));

		if (TIMESTAMP_NOT_FINITE(t))
		{
			GUC_check_errdetail("The time must be finite.");
			return false;
		}
		/* the last years of the type exceed int64 */
		if (pg_add_s64_overflow(t, WT_EPOCH_DIFF, &us))
			us = PG_INT64_MAX;
	}
	*extra = wt_guc_malloc(sizeof(us));
	if (*extra == NULL)
		return false;
	*(int64 *) *extra = us;
	return true;
}

static void
assign_clock(const char *newval, void *extra)
{
	clock_us = extra;
}

static void
assign_as_of(const char *newval, void *extra)
{
	as_of_us = extra;
}

void
wt_clock_define(void)
{
	DefineCustomStringVariable("widetable.as_of",
							   "Reads show the newest versions at or before this time.",
							   "A timestamp or microseconds since 1970; empty: now.", &as_of_text,
							   "", PGC_USERSET, 0, check_time, assign_as_of, NULL);
	DefineCustomStringVariable("widetable.clock", "A fixed time for timestamps and TTL, for tests.",
							   "A timestamp or microseconds since 1970; empty: the real clock.",
							   &clock_text, "", PGC_SUSET, 0, check_time, assign_clock, NULL);
}

bool
wt_clock_interval_us(const Interval *i, int64 *us)
{
	int64 part;

	/* a year has 365.25 days: 1461 quarters of a day */
	return !pg_mul_s64_overflow(i->month / MONTHS_PER_YEAR, USECS_PER_DAY / 4 * 1461, us) &&
		   !pg_mul_s64_overflow((int64) (i->month % MONTHS_PER_YEAR) * DAYS_PER_MONTH + i->day,
								USECS_PER_DAY, &part) &&
		   !pg_add_s64_overflow(*us, part, us) && !pg_add_s64_overflow(*us, i->time, us) && *us > 0;
}

int64
wt_clock_from_datum(Oid typid, Datum value, const char *column)
{
	int64 ts = DatumGetInt64(value);

	if (typid == TIMESTAMPTZOID || typid == TIMESTAMPOID)
	{
		if (TIMESTAMP_NOT_FINITE(ts) || pg_add_s64_overflow(ts, WT_EPOCH_DIFF, &ts))
			ereport(ERROR,
					(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
					 errmsg("timestamp of a cell out of range"),
					 column ? errdetail("Column \"%s\".", column) : 0));
	}
	if (ts < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timestamp of a cell must not be negative: " INT64_FORMAT, ts),
				 column ? errdetail("Column \"%s\".", column) : 0,
				 errhint("Timestamps count microseconds since 1970.")));
	return ts;
}

/*
 * clock.c
 *		Times: the settings widetable.clock and widetable.as_of, and SQL's times in
 *		microseconds since 1970, which is how the engine has them.
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

static char *as_of = NULL; /* the settings' texts; empty: none */
static char *clock_text = NULL;

/* What a time setting means; parsed anew only when its text changes. */
typedef struct TimeSetting
{
	char text[64];
	int64 us;
} TimeSetting;

/* microseconds since 1970 of a timestamp or a plain number of microseconds */
static int64
parse_time(const char *name, const char *text, TimeSetting *cache)
{
	char *end;
	int64 us;

	if (cache->text[0] != '\0' && strcmp(text, cache->text) == 0)
		return cache->us;
	errno = 0;
	us = strtoll(text, &end, 10);
	if (errno != 0 || *end != '\0' || end == text)
	{
		TimestampTz t = DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in,
																CStringGetDatum(text),
																ObjectIdGetDatum(InvalidOid),
																Int32GetDatum(-1)));

		if (TIMESTAMP_NOT_FINITE(t))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must be a finite time, not \"%s\"", name, text)));
		/* the last years of the type do not fit */
		if (pg_add_s64_overflow(t, WT_EPOCH_DIFF, &us))
			us = PG_INT64_MAX;
	}
	strlcpy(cache->text, text, sizeof(cache->text));
	cache->us = us;
	return us;
}

static TimeSetting clock_cache;
static TimeSetting as_of_cache;

/*
 * The clock of the engine.  A bad text in widetable.clock cannot raise an
 * error here (the engine calls this in places that must not longjmp): it was
 * checked when it was set.
 */
int64
wt_clock_now(void)
{
	if (clock_text != NULL && clock_text[0] != '\0')
		return clock_cache.us;
	return GetCurrentTimestamp() + WT_EPOCH_DIFF;
}

int64
wt_clock_as_of(void)
{
	if (as_of == NULL || as_of[0] == '\0')
		return PG_INT64_MAX;
	return as_of_cache.us;
}

static bool
check_time(const char *name, char **newval, void **extra, TimeSetting *cache)
{
	TimeSetting *parsed;
	TimeSetting scratch = {0};

	if (*newval == NULL || (*newval)[0] == '\0')
		return true;
	if (strlen(*newval) >= sizeof(scratch.text))
	{
		GUC_check_errdetail("The value is too long for a time.");
		return false;
	}
	parse_time(name, *newval, &scratch);
	parsed = wt_guc_malloc(sizeof(TimeSetting));
	if (parsed == NULL)
		return false;
	*parsed = scratch;
	*extra = parsed;
	return true;
}

static bool
check_clock(char **newval, void **extra, GucSource source)
{
	return check_time("widetable.clock", newval, extra, &clock_cache);
}

static void
assign_clock(const char *newval, void *extra)
{
	if (extra != NULL)
		clock_cache = *(TimeSetting *) extra;
}

static bool
check_as_of(char **newval, void **extra, GucSource source)
{
	return check_time("widetable.as_of", newval, extra, &as_of_cache);
}

static void
assign_as_of(const char *newval, void *extra)
{
	if (extra != NULL)
		as_of_cache = *(TimeSetting *) extra;
}

void
wt_clock_define(void)
{
	DefineCustomStringVariable("widetable.as_of",
							   "Reads show the newest versions at or before this time.",
							   "A timestamp or microseconds since 1970; empty: now.", &as_of, "",
							   PGC_USERSET, 0, check_as_of, assign_as_of, NULL);
	DefineCustomStringVariable("widetable.clock", "A fixed time for timestamps and TTL, for tests.",
							   "A timestamp or microseconds since 1970; empty: the real clock.",
							   &clock_text, "", PGC_SUSET, 0, check_clock, assign_clock, NULL);
}

bool
wt_clock_interval_us(const Interval *i, int64 *us)
{
	int64 part;

	/* a year is 365.25 days of 24 hours: times four, so that it stays a whole number */
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

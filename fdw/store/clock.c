/*
 * clock.c
 *		The settings widetable.clock and widetable.as_of, and SQL's times in
 *		microseconds since 1970, the engine's unit.
 *
 * A setting's text is parsed when it is set: the check hook passes the result to
 * the assign hook as the setting's "extra", which lives as long as the value.  So
 * wt_clock_now(), which the engine calls where no error may be raised, parses nothing.
 *
 * Invariants
 *	- The check hook raises no error: the postmaster calls it when it reads the
 *	  configuration, and an error there shuts the server down.
 *	- A value means the same moment in every process.  The hook replaces a timestamp
 *	  by its form in UTC, because parallel workers parse the setting again, when "now"
 *	  and the session's time zone may be others.
 *	- No statement uses another time than the one that was asked for.  Where PostgreSQL
 *	  would replace a refused value by the default (is_kept), the hook keeps it as one
 *	  without a time, and statements on wide tables fail until the setting has another.
 */
#include "postgres.h"

#include "fdw/store/clock.h"

#include "access/parallel.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/datetime.h"
#include "utils/guc.h"
#include "utils/plancache.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"

#define AS_OF "widetable.as_of"
#define CLOCK "widetable.clock"

#define AHEAD_US (60 * USECS_PER_SEC) /* ahead of the clock, from where on sessions warn */
#define WARN_MS	 (60 * 60 * 1000)	  /* between warnings of a session */

/* The value of one of the settings. */
typedef struct Moment
{
	int64 us;		 /* microseconds since 1970 */
	const char *bad; /* why the text is no time, for errdetail; NULL: it is one */
} Moment;

/* texts of the settings */
static char *as_of_text = NULL;
static char *clock_text = NULL;

/* NULL: not set */
static const Moment *as_of = NULL;
static const Moment *fixed_clock = NULL;

static bool defining = false; /* PostgreSQL applies the values from before the library was loaded */

/*
 * On a standby the time is that of the primary server, as far as the log tells: the time of the
 * newest record that was replayed, and what has passed since.  So cells expire there when they do
 * on the primary, also if the two clocks differ.  It never goes back: WtAnchor.clock_behind, by how
 * much it is behind the clock of this server, only falls.  (1 is added, because 0 means that it is
 * unknown.)
 */
void
wt_clock_replayed(TimestampTz time)
{
	WtAnchor *a = wt_anchor();
	int64 behind = GetCurrentTimestamp() - time;
	uint64 was = pg_atomic_read_u64(&a->clock_behind);

	if (time != 0 && (was == 0 || behind < (int64) (was - 1)))
		pg_atomic_write_u64(&a->clock_behind, (uint64) behind + 1);
}

/* Returns: by how many microseconds the time of wide tables is behind this server's clock. */
static int64
clock_behind(void)
{
	WtAnchor *a = wt_anchor_if_known();
	uint64 behind = a != NULL ? pg_atomic_read_u64(&a->clock_behind) : 0;

	return behind == 0 || !RecoveryInProgress() ? 0 : (int64) (behind - 1);
}

int64
wt_clock_now(void)
{
	return fixed_clock != NULL && fixed_clock->bad == NULL
			   ? fixed_clock->us
			   : GetCurrentTimestamp() - clock_behind() + WT_EPOCH_DIFF;
}

int64
wt_clock_ahead(int64 newest)
{
	int64 ahead;

	if (pg_sub_s64_overflow(newest, GetCurrentTimestamp() + WT_EPOCH_DIFF, &ahead))
		return 0; /* nothing was assigned yet */
	return Max(ahead, 0);
}

void
wt_clock_warn_ahead(int64 newest)
{
	static TimestampTz warned = 0; /* last warning of this session */
	int64 ahead = wt_clock_ahead(newest);

	if (likely(ahead <= AHEAD_US) || fixed_clock != NULL ||
		(warned != 0 && !TimestampDifferenceExceeds(warned, GetCurrentTimestamp(), WARN_MS)))
		return;
	warned = GetCurrentTimestamp();
	ereport(WARNING,
			(errmsg("timestamps of wide tables are " INT64_FORMAT " seconds ahead of the clock",
					ahead / USECS_PER_SEC),
			 errdetail("The clock, or widetable.clock, was ahead once. Each commit gets a later "
					   "timestamp than all before, this one after %s.",
					   timestamptz_to_str(newest - WT_EPOCH_DIFF)),
			 errhint("Column clock_ahead of widetable.pg_stat_widetable shows when the clock has "
					 "caught up. If that takes too long, see widetable.reset_clock().")));
}

/* Reports a value without a time.  what: what an empty value does. */
static void
report_bad(int level, const char *name, const char *text, const char *bad, const char *what)
{
	ereport(level,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for parameter \"%s\": \"%s\"", name, text),
			 errdetail("%s", bad),
			 errhint("SET %s = \'\' %s.", name, what)));
}

static void
report_bad_as_of(int level, const char *text, const char *bad)
{
	report_bad(level, AS_OF, text, bad, "reads the newest versions");
}

static void
report_bad_clock(int level, const char *text, const char *bad)
{
	report_bad(level, CLOCK, text, bad, "uses the real clock");
}

void
wt_clock_check(void)
{
	if (unlikely(fixed_clock != NULL && fixed_clock->bad != NULL))
		report_bad_clock(ERROR, clock_text, fixed_clock->bad);
}

int64
wt_clock_as_of_unchecked(void)
{
	return as_of != NULL && as_of->bad == NULL ? as_of->us : PG_INT64_MAX;
}

int64
wt_clock_as_of(void)
{
	wt_clock_check();
	if (unlikely(as_of != NULL && as_of->bad != NULL))
		report_bad_as_of(ERROR, as_of_text, as_of->bad);
	return wt_clock_as_of_unchecked();
}

/* ---------------------------------------------------------------- settings */

/* As DecodeDateTime(), with the error code DTERR_BAD_FORMAT for the errors that it raises, as
 * PostgreSQL 15 does for unknown time zones. */
static int
decode_fields(char **fields, int *types, int n, int *kind, struct pg_tm *tm, fsec_t *fsec, int *tz)
{
	WtErrorPoint before = wt_error_point();
	bool exit_on_error = ExitOnAnyError;
	volatile int e = DTERR_BAD_FORMAT;

	ExitOnAnyError = false;
	PG_TRY();
	{
		e = wt_decode_datetime(fields, types, n, kind, tm, fsec, tz);
	}
	PG_CATCH();
	{
		FreeErrorData(wt_error_take(&before));
	}
	PG_END_TRY();
	ExitOnAnyError = exit_on_error;
	return e;
}

/* Parses a timestamp as timestamptz_in does.  Returns: NULL, or why it is none. */
static const char *
parse_timestamp(const char *text, TimestampTz *t)
{
	struct pg_tm tm = {0};
	fsec_t fsec = 0;
	int tz = 0, kind, nfields, e;
	char *fields[MAXDATEFIELDS];
	int types[MAXDATEFIELDS];
	char work[MAXDATELEN + MAXDATEFIELDS];

	e = ParseDateTime(text, work, sizeof(work), fields, types, MAXDATEFIELDS, &nfields);
	if (e == 0)
		e = decode_fields(fields, types, nfields, &kind, &tm, &fsec, &tz);
	if (e == DTERR_FIELD_OVERFLOW || e == DTERR_MD_FIELD_OVERFLOW || e == DTERR_TZDISP_OVERFLOW)
		return "The time is out of range.";
	if (e != 0)
		return "It is neither a timestamp nor a number of microseconds since 1970.";
	if (kind == DTK_LATE || kind == DTK_EARLY)
		return "The time must be finite.";
	if (kind == DTK_EPOCH)
		*t = SetEpochTimestamp();
	else if (kind != DTK_DATE || tm2timestamp(&tm, fsec, &tz, t) != 0)
		return "The time is out of range.";
	return NULL;
}

/* Writes the timestamp in UTC; out has MAXDATELEN + 1 bytes. */
static void
timestamp_text(TimestampTz t, char *out)
{
	struct pg_tm tm;
	fsec_t fsec;

	if (timestamp2tm(t, NULL, &tm, &fsec, NULL, NULL) != 0)
		return;
	tm.tm_isdst = 0; /* the zone is known */
	EncodeDateTime(&tm, fsec, true, 0, NULL, USE_ISO_DATES, out);
}

/*
 * Parses a setting, not empty.  A timestamp's text in UTC goes to utc, of MAXDATELEN + 1
 * bytes, which is left alone if the text is a number.
 */
static Moment
parse_moment(const char *text, char *utc)
{
	Moment m = {0};
	TimestampTz t;
	char *end;

	errno = 0;
	m.us = strtoll(text, &end, 10);
	if (*end == '\0')
	{
		m.bad = errno != 0 ? "The time is out of range." : NULL;
		return m;
	}
	m.bad = parse_timestamp(text, &t);
	if (m.bad != NULL)
		return m;
	/* the last years of the type exceed int64 */
	if (pg_add_s64_overflow(t, WT_EPOCH_DIFF, &m.us))
		m.us = PG_INT64_MAX;
	timestamp_text(t, utc);
	return m;
}

/*
 * Returns true if PostgreSQL would go on without a value that is refused: one from
 * before the library was loaded, the default of a role or database, and those of the
 * leader in a parallel worker (which may not even read a wide table).
 */
static bool
is_kept(GucSource source)
{
	return defining || InitializingParallelWorker ||
		   (source >= PGC_S_GLOBAL && source <= PGC_S_DATABASE_USER);
}

/* The text is a timestamp, or a number of microseconds since 1970.  least: the first moment. */
static bool
check_time(char **newval, void **extra, GucSource source, int64 least,
		   void (*report)(int level, const char *text, const char *bad))
{
	char utc[MAXDATELEN + 1] = "";
	Moment m;

	if (*newval == NULL || (*newval)[0] == '\0')
		return true;
	m = parse_moment(*newval, utc);
	if (m.bad == NULL && m.us < least)
		m.bad = "The time must not be before 1970.";
	if (m.bad != NULL)
	{
		if (!is_kept(source))
		{
			GUC_check_errdetail("%s", m.bad);
			return false;
		}
		if (!InitializingParallelWorker)
			report(WARNING, *newval, m.bad);
	}
	else if (utc[0] != '\0')
	{
		char *text = wt_guc_malloc(strlen(utc) + 1);

		if (text == NULL)
			return false;
		strcpy(text, utc);
		wt_guc_free(*newval);
		*newval = text;
	}
	*extra = wt_guc_malloc(sizeof(m));
	if (*extra == NULL)
		return false;
	*(Moment *) *extra = m;
	return true;
}

static bool
check_as_of(char **newval, void **extra, GucSource source)
{
	return check_time(newval, extra, source, PG_INT64_MIN, report_bad_as_of);
}

/* Timestamps of cells are not negative. */
static bool
check_clock(char **newval, void **extra, GucSource source)
{
	return check_time(newval, extra, source, 0, report_bad_clock);
}

static void
assign_clock(const char *newval, void *extra)
{
	fixed_clock = extra;
}

static void
assign_as_of(const char *newval, void *extra)
{
	/* indexes have no past: plans with them are made for the present */
	if ((as_of != NULL) != (extra != NULL))
		ResetPlanCache();
	as_of = extra;
}

void
wt_clock_define(void)
{
	defining = true;
	DefineCustomStringVariable(AS_OF, "Reads show the newest versions at or before this time.",
							   "A timestamp or microseconds since 1970; empty: now.", &as_of_text,
							   "", PGC_USERSET, 0, check_as_of, assign_as_of, NULL);
	DefineCustomStringVariable(CLOCK, "A fixed time for timestamps and TTL, for tests.",
							   "A timestamp or microseconds since 1970; empty: the real clock.",
							   &clock_text, "", PGC_SUSET, 0, check_clock, assign_clock, NULL);
	defining = false;
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

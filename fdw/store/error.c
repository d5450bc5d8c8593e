/*
 * error.c
 *		The engine's statuses as errors of PostgreSQL: the one place that maps a status
 *		to an SQLSTATE.
 */
#include "postgres.h"

#include "fdw/store/error.h"

#include "access/xloginsert.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/wait_event.h"

#include "fdw/store/anchor.h"

/* By wide_status; 0: ERRCODE_INTERNAL_ERROR */
static const int sqlstates[] = {
	[WIDE_NOTFOUND] = ERRCODE_UNDEFINED_OBJECT,
	[WIDE_EXISTS] = ERRCODE_DUPLICATE_OBJECT,
	[WIDE_INVALID] = ERRCODE_INVALID_PARAMETER_VALUE,
	[WIDE_LIMIT] = ERRCODE_PROGRAM_LIMIT_EXCEEDED,
	[WIDE_NOMEM] = ERRCODE_OUT_OF_MEMORY,
	[WIDE_FULL] = ERRCODE_INSUFFICIENT_RESOURCES,
	[WIDE_NOSPACE] = ERRCODE_DISK_FULL,
	[WIDE_TEMP_LIMIT] = ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
	[WIDE_BUSY] = ERRCODE_OBJECT_IN_USE,
	[WIDE_CONFLICT] = ERRCODE_T_R_SERIALIZATION_FAILURE,
	[WIDE_IO] = ERRCODE_IO_ERROR,
	[WIDE_CORRUPT] = ERRCODE_DATA_CORRUPTED,
};

int
wt_error_sqlstate(wide_status st)
{
	int state = (size_t) st < lengthof(sqlstates) ? sqlstates[st] : 0;

	return state != 0 ? state : ERRCODE_INTERNAL_ERROR;
}

int
wt_error_hint(wide_status st)
{
	switch (st)
	{
		case WIDE_CONFLICT:
			return errhint("The transaction might succeed if retried.");
		case WIDE_FULL:
			/* the text of the status says what is full */
			return errhint("The table of files and that of tables grow with widetable.max_tables, "
						   "the memory of commits with widetable.memtable_size; both need a "
						   "restart.");
		case WIDE_NOSPACE:
			/* the text of the status names the file */
			return errhint("Make room on the file system of that file; nothing else needs to be "
						   "done.");
		case WIDE_TEMP_LIMIT:
			return errhint("Write less in one transaction, or set widetable.write_memory or "
						   "temp_file_limit higher.");
		case WIDE_CORRUPT:
			return errhint("All else can be read. widetable.verify() lists what is damaged; "
						   "restore it from a backup, or give it up with widetable.salvage().");
		default:
			return 0;
	}
}

static bool (*family_names)(wide_family_id id, wide_family *family, wide_table *table) = NULL;

void
wt_error_set_names(bool (*names)(wide_family_id id, wide_family *family, wide_table *table))
{
	family_names = names;
}

/* Appends the beginning of a row key: as text if it is printable, else as bytea. */
static void
append_key(StringInfo s, const uint8_t *p, uint32_t len)
{
	bool text = len > 0;

	for (uint32_t i = 0; i < len; i++)
		text = text && p[i] >= ' ' && p[i] <= '~' && p[i] != '\\';
	appendStringInfoString(s, text ? "\"" : "\\x");
	for (uint32_t i = 0; i < len; i++)
		appendStringInfo(s, text ? "%c" : "%02x", p[i]);
	if (text)
		appendStringInfoChar(s, '"');
}

/* Returns: what is damaged, for errdetail; NULL if the status is about something else.  Palloc'd.
 */
static char *
describe_damage(wide_status st)
{
	const wide_damage *last = wide_error_damage();
	wide_damage d;
	wide_family family;
	wide_table table;
	StringInfoData s;

	if ((st != WIDE_CORRUPT && st != WIDE_IO) || last == NULL)
		return NULL;
	/* asking for the names may fail, too */
	d = *last;
	initStringInfo(&s);
	if (d.family != 0 && family_names != NULL && family_names(d.family, &family, &table))
		appendStringInfo(&s, "Table \"%s\", family \"%s\", ", table.name, family.name);
	appendStringInfo(&s, "file %08llx.sst, offset %llu", (unsigned long long) d.container,
					 (unsigned long long) d.offset);
	if (d.family != 0)
	{
		appendStringInfoString(&s, ", rows with keys from ");
		append_key(&s, d.lo, d.lo_len);
		appendStringInfoString(&s, " to ");
		append_key(&s, d.hi, d.hi_len);
	}
	appendStringInfoChar(&s, '.');
	return s.data;
}

void
wt_error_check(wide_status st, const char *what)
{
	char *text, *damage;

	if (st == WIDE_OK)
		return;
	if (st == WIDE_INTERRUPTED)
	{
		CHECK_FOR_INTERRUPTS();
		ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg("canceling statement")));
	}
	if (st == WIDE_POISONED)
		ereport(PANIC,
				(errmsg("the shared memory of widetable is damaged"),
				 errdetail("%s", wide_error_text())));
	text = pstrdup(wide_error_text());
	damage = describe_damage(st);
	ereport(ERROR,
			(errcode(wt_error_sqlstate(st)),
			 what ? errmsg("%s: %s", what, text) : errmsg("widetable: %s", text),
			 damage != NULL ? errdetail("%s", damage) : 0, wt_error_hint(st)));
}

WtErrorPoint
wt_error_point(void)
{
	return (WtErrorPoint) {CurrentMemoryContext, InterruptHoldoffCount, QueryCancelHoldoffCount};
}

ErrorData *
wt_error_take(const WtErrorPoint *before)
{
	ErrorData *e;

	/* first, so that nothing below accepts an interrupt if the caller must not */
	InterruptHoldoffCount = before->interrupts;
	QueryCancelHoldoffCount = before->cancels;
	LWLockReleaseAll();
	pgstat_report_wait_end();
	ConditionVariableCancelSleep();
	XLogResetInsertion();
	LockErrorCleanup();
	MemoryContextSwitchTo(before->context);
	e = CopyErrorData();
	FlushErrorState();
	return e;
}

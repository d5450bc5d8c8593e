/*
 * error.c
 *		The engine's statuses as errors of PostgreSQL: the one place that maps a status
 *		to an SQLSTATE.
 */
#include "postgres.h"

#include "fdw/store/error.h"

#include "miscadmin.h"
#include "storage/lwlock.h"

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

void
wt_error_check(wide_status st, const char *what)
{
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
	ereport(ERROR,
			(errcode(wt_error_sqlstate(st)),
			 what ? errmsg("%s: %s", what, wide_error_text())
				  : errmsg("widetable: %s", wide_error_text()),
			 st == WIDE_CONFLICT ? errhint("The transaction might succeed if retried.") : 0,
			 st == WIDE_FULL ? errhint("See widetable.memtable_size and widetable.max_tables.") : 0,
			 st == WIDE_NOSPACE ? errhint("Make room on the file system of directory \"%s\" in "
										  "the data directory; nothing else needs to be done.",
										  WT_DIRECTORY)
								: 0));
}

ErrorData *
wt_error_take(MemoryContext caller)
{
	ErrorData *e;

	LWLockReleaseAll();
	MemoryContextSwitchTo(caller);
	e = CopyErrorData();
	FlushErrorState();
	return e;
}

/*
 * error.c
 *		The engine's statuses as errors of PostgreSQL: the one place that maps a status
 *		to an SQLSTATE.
 */
#include "postgres.h"

#include "fdw/store/error.h"

#include "access/xloginsert.h"
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
		default:
			return 0;
	}
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
			 wt_error_hint(st)));
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

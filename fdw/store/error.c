/*
 * error.c
 *		The engine's statuses as errors of PostgreSQL: the one place that maps a status
 *		to an SQLSTATE.
 */
#include "postgres.h"

#include "fdw/store/error.h"

#include "miscadmin.h"

#include "fdw/store/anchor.h"

int
wt_error_sqlstate(wide_status st)
{
	switch (st)
	{
		case WIDE_NOTFOUND:
			return ERRCODE_UNDEFINED_OBJECT;
		case WIDE_EXISTS:
			return ERRCODE_DUPLICATE_OBJECT;
		case WIDE_INVALID:
			return ERRCODE_INVALID_PARAMETER_VALUE;
		case WIDE_LIMIT:
			return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		case WIDE_NOMEM:
			return ERRCODE_OUT_OF_MEMORY;
		case WIDE_FULL:
			return ERRCODE_INSUFFICIENT_RESOURCES;
		case WIDE_NOSPACE:
			return ERRCODE_DISK_FULL;
		case WIDE_BUSY:
			return ERRCODE_OBJECT_IN_USE;
		case WIDE_CONFLICT:
			return ERRCODE_T_R_SERIALIZATION_FAILURE;
		case WIDE_IO:
			return ERRCODE_IO_ERROR;
		case WIDE_CORRUPT:
			return ERRCODE_DATA_CORRUPTED;
		default:
			return ERRCODE_INTERNAL_ERROR;
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

	MemoryContextSwitchTo(caller);
	e = CopyErrorData();
	FlushErrorState();
	return e;
}

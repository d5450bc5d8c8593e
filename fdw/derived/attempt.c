/*
 * attempt.c
 *		Work of a command that has not been asked for, and that may not be possible.
 */
#include "postgres.h"

#include "fdw/derived/attempt.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* Returns true if the error says nothing about definitions: without it the work were possible. */
static bool
is_passing(int code)
{
	int category = ERRCODE_TO_CATEGORY(code);

	return category == ERRCODE_OPERATOR_INTERVENTION ||
		   category == ERRCODE_INSUFFICIENT_RESOURCES || category == ERRCODE_TRANSACTION_ROLLBACK ||
		   category == ERRCODE_SYSTEM_ERROR || code == ERRCODE_LOCK_NOT_AVAILABLE;
}

bool
wt_attempt(void (*work)(void *arg), void *arg)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(cxt);
	PG_TRY();
	{
		work(arg);
		ReleaseCurrentSubTransaction();
		done = true;
	}
	PG_CATCH();
	{
		if (is_passing(geterrcode()))
			PG_RE_THROW();
		MemoryContextSwitchTo(cxt);
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(cxt);
	CurrentResourceOwner = owner;
	return done;
}

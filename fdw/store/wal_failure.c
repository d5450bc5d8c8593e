/*
 * wal_failure.c
 *		The text of the last failure of the log, for errors that the engine passes on.
 *
 * Locking: none; the text belongs to the process.
 */
#include "postgres.h"

#include "fdw/store/wal_failure.h"

#include "miscadmin.h"

static char failure[512];

void
wt_wal_failure_set(const char *format, ...)
{
	char text[sizeof(failure)];
	va_list args;

	/* an argument may be the text of before */
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	strlcpy(failure, text, sizeof(failure));
}

const char *
wt_wal_failure_text(void)
{
	return failure;
}

void
wt_wal_failure_clear(void)
{
	failure[0] = '\0';
}

wide_status
wt_wal_failure_swallow(const WtErrorPoint *before)
{
	ErrorData *e = wt_error_take(before);
	bool cancelled = e->sqlerrcode == ERRCODE_QUERY_CANCELED;

	strlcpy(failure, e->message ? e->message : "unknown error", sizeof(failure));
	FreeErrorData(e);
	if (cancelled)
		InterruptPending = QueryCancelPending = true;
	return cancelled ? WIDE_INTERRUPTED : WIDE_IO;
}

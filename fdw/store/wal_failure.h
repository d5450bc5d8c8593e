/*
 * wal_failure.h
 *		The text of the last failure of the log, for errors that the engine passes on.
 */
#ifndef WT_WAL_FAILURE_H
#define WT_WAL_FAILURE_H

#include "engine/wide.h"
#include "fdw/store/error.h"

/* Sets the text. */
extern void wt_wal_failure_set(const char *format, ...) pg_attribute_printf(1, 2);

/* Returns: the text; "": there was no failure since the last wt_wal_failure_clear(). */
extern const char *wt_wal_failure_text(void);
extern void wt_wal_failure_clear(void);

/*
 * In PG_CATCH: keeps the error's message as the text and ends its handling.  Returns: WIDE_IO; or
 * WIDE_INTERRUPTED for a cancellation, which the next check that may raise errors reports.
 */
extern wide_status wt_wal_failure_swallow(const WtErrorPoint *before);

#endif /* WT_WAL_FAILURE_H */

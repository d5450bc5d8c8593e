/* status.h - a status together with its error text */
#ifndef WIDE_STATUS_H
#define WIDE_STATUS_H

#include "engine/wide.h"

/*
 * Sets the text of wide_error_text and returns st, as in
 * "return status_fail(WIDE_IO, ...)".
 */
extern wide_status status_fail(wide_status st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));

/* Returns from the function if expr fails.  Failures are rare: their code is moved out of the hot
 * path. */
#define TRY(expr)                                    \
	do                                               \
	{                                                \
		wide_status try_st_ = (expr);                \
		if (__builtin_expect(try_st_ != WIDE_OK, 0)) \
			return try_st_;                          \
	} while (0)

/* The same for a function with one exit: "wide_status st; ... done: free(); return st;". */
#define TRY_GOTO(expr)                                     \
	do                                                     \
	{                                                      \
		if (__builtin_expect((st = (expr)) != WIDE_OK, 0)) \
			goto done;                                     \
	} while (0)

#endif /* WIDE_STATUS_H */

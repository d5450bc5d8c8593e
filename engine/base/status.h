/* status.h - a status together with its error text */
#ifndef WIDE_STATUS_H
#define WIDE_STATUS_H

#include "engine/wide.h"

/* Records the text for wide_error_text() and returns st: "return status_fail(WIDE_IO, ...)". */
extern wide_status status_fail(wide_status st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));

/* Failures are rare: their code lies apart (cold), so that what a statement runs through stays
 * short. */
#define TRY(expr)                                    \
	do                                               \
	{                                                \
		wide_status try_st_ = (expr);                \
		if (__builtin_expect(try_st_ != WIDE_OK, 0)) \
			return try_st_;                          \
	} while (0)

/* in functions with one exit: "wide_status st; ... done: free(); return st;" */
#define TRY_GOTO(expr)                                     \
	do                                                     \
	{                                                      \
		if (__builtin_expect((st = (expr)) != WIDE_OK, 0)) \
			goto done;                                     \
	} while (0)

#endif /* WIDE_STATUS_H */

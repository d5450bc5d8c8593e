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

/*
 * Adds to the last failure which sorted file is damaged or cannot be read, and where in which file
 * of the directory; a new failure clears it.  See wide_error_damage().
 */
extern void status_damage(uint64_t file, uint64_t container, uint64_t offset) __attribute__((cold));

/* Adds the family and the range of rows that the damage hits, unless a narrower one was added
 * before.  lo, hi: encoded rows or ukeys, which may be cut.  file: the damage must be in this
 * file. */
extern void status_damage_range(uint64_t file, wide_family_id family, const uint8_t *lo,
								uint32_t lolen, const uint8_t *hi, uint32_t hilen)
	__attribute__((cold));

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

/*
 * key_value.h
 *		Values of a condition -> bytes of a part of the key.
 */
#ifndef WT_KEY_VALUE_H
#define WT_KEY_VALUE_H

#include "lib/stringinfo.h"

#include "engine/wide.h"
#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

typedef enum WtValueFate
{
	WT_VALUE_OK,
	WT_VALUE_BELOW, /* less than all values of the key */
	WT_VALUE_ABOVE,
	WT_VALUE_BEHIND, /* no key has it; in the order it is right behind the value encoded */
	WT_VALUE_NONE,	 /* no key has it */
	WT_VALUE_UNKNOWN /* nothing can be said */
} WtValueFate;

/* An interval of byte strings; hi is unused when inf. */
typedef struct WtInterval
{
	wide_bytes lo;
	wide_bytes hi;
	bool inf;
	bool point; /* exactly the value whose bytes are lo */
} WtInterval;

/* LIKE: the fixed beginning of the pattern; true when there is nothing else in it */
extern bool wt_key_value_like_prefix(const char *pattern, int len, StringInfo out);

/*
 * A point in time against local time.  Where clocks are set back or forward the
 * two are in different orders, by an hour as a rule and a day at the most: the
 * bound is moved that far, and the clause is tested again.
 */
extern bool wt_key_value_move_local_bound(const WtColumn *c, bool less, WtArg *arg);
/* Append the bytes of a value as they stand in the key. */
extern WtValueFate wt_key_value_encode(WtTable *t, int part, const WtArg *arg, StringInfo out);
/* The part's bytes end with the key: nothing marks the end of the value. */
extern bool wt_key_value_is_raw(WtTable *t, int part);
extern wide_bytes wt_key_value_take(StringInfo s);
/* The first byte string behind all that begin with b (raw: behind b itself). */
extern bool wt_key_value_after(wide_bytes b, bool raw, wide_bytes *out);
/*
 * Copies b, with both ends in one piece: a list may have millions of points.
 * There is a zero behind lo, so that with it lo is the key right behind.
 */
extern void wt_key_value_point(wide_bytes b, bool raw, WtInterval *out);

#endif /* WT_KEY_VALUE_H */

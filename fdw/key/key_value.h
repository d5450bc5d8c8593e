/*
 * key_value.h
 *		Values of a test -> bytes of a part of the key, and intervals of bytes.
 */
#ifndef WT_KEY_VALUE_H
#define WT_KEY_VALUE_H

#include "lib/stringinfo.h"
#include "nodes/nodes.h"

#include "engine/wide.h"
#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

/* Where a value lies among those that a column, with its encoding, can hold */
typedef enum WtValueFate
{
	WT_VALUE_OK,	 /* it is one of them */
	WT_VALUE_BELOW,	 /* less than all of them */
	WT_VALUE_ABOVE,	 /* greater than all */
	WT_VALUE_BEHIND, /* right behind the value that it was changed to */
	WT_VALUE_NONE	 /* it is none of them; its place in the order is not known */
} WtValueFate;

/* An interval of byte strings: lo <= x < hi */
typedef struct WtInterval
{
	wide_bytes lo;
	wide_bytes hi; /* not set if inf */
	bool inf;	   /* without an upper end */
	bool point;	   /* exactly the value whose bytes are lo */
} WtInterval;

/* Returns the value of an expression, which is known if it is a constant. */
extern WtArg wt_key_value_arg(Node *expr, Oid type);

/* What a LIKE pattern has besides its fixed beginning */
typedef enum WtLike
{
	WT_LIKE_VALUE,	/* nothing: it is a value */
	WT_LIKE_PREFIX, /* only % */
	WT_LIKE_MORE
} WtLike;

/* Appends the fixed beginning of a LIKE pattern, unescaped. */
extern WtLike wt_key_value_like_prefix(const char *pattern, int len, StringInfo out);

/* Returns true if the column has local times or dates, and the type has points in time that are
 * compared with them only roughly in the same order. */
extern bool wt_key_value_is_local(const WtColumn *c, Oid type);

/*
 * Prepares the value of <, <=, >, >= for a part for which wt_key_value_is_local.  Where clocks are
 * set back or forward, the orders of the two differ, by an hour as a rule and by a day at most.  So
 * the bound is moved by more than that (less: up, else down) and becomes a value of the part's
 * type; the clause must be tested again.
 * Returns: false if nothing can be said.
 */
extern bool wt_key_value_move_local_bound(const WtColumn *c, bool less, WtArg *arg);

/* Changes *value of the given type into a value of the column's type if it is WT_VALUE_OK or
 * WT_VALUE_BEHIND; otherwise *value is undefined. */
extern WtValueFate wt_key_value_adapt(const WtColumn *c, Oid type, Datum *value);

/* Appends the bytes of a value as they are in the key: of the value if WT_VALUE_OK, of the one
 * before it if WT_VALUE_BEHIND, else nothing.  Requires: the value is known and not null. */
extern WtValueFate wt_key_value_encode(WtTable *t, int part, const WtArg *arg, StringInfo out);

/* Returns the number of elements of an array, and the elements in palloc'd arrays. */
extern int wt_key_value_elements(Datum array, Datum **values, bool **nulls);

/* Sets *out to the *n values of a test that are not null, those of an array one by one; palloc'd.
 * Returns false if they are not known yet. */
extern bool wt_key_value_list(const WtTest *test, const WtArg *args, WtArg **out, int *n);

/* Returns true if nothing marks the end of the part's bytes: the key ends there. */
extern bool wt_key_value_is_raw(WtTable *t, int part);

/* Sets *out to the first byte string above all that begin with b (raw: above b itself); palloc'd.
 * Returns false if there is none. */
extern bool wt_key_value_after(wide_bytes b, bool raw, wide_bytes *out);

/*
 * Makes an interval of one value.  Copies b; both ends are in one allocation, because a list may
 * have millions of values.  A zero byte follows lo, so that lo and this byte are the next key.
 */
extern void wt_key_value_point(wide_bytes b, bool raw, WtInterval *out);

#endif /* WT_KEY_VALUE_H */

/*
 * bytes.h
 *		Order, equality and copies of byte strings.  Those of length 0 may be NULL.
 */
#ifndef WT_BYTES_H
#define WT_BYTES_H

#include "lib/stringinfo.h"

#include "engine/wide.h"

/* Returns: < 0, 0 or > 0.  Order of memcmp; a proper prefix comes first. */
static inline int
wt_bytes_cmp(wide_bytes a, wide_bytes b)
{
	int c = a.len && b.len ? memcmp(a.data, b.data, Min(a.len, b.len)) : 0;

	if (c != 0)
		return c;
	return a.len < b.len ? -1 : a.len > b.len;
}

static inline bool
wt_bytes_equal(const void *a, size_t alen, const void *b, size_t blen)
{
	return alen == blen && (alen == 0 || memcmp(a, b, alen) == 0);
}

/* Copies n bytes.  from may be NULL if n is 0, which memcpy() does not allow. */
static inline void
wt_bytes_copy(void *to, const void *from, size_t n)
{
	if (n > 0)
		memcpy(to, from, n);
}

/* Returns: the contents of s, which s goes on to own. */
static inline wide_bytes
wt_bytes_of(StringInfo s)
{
	return (wide_bytes) {(const uint8 *) s->data, (size_t) s->len};
}

#endif /* WT_BYTES_H */

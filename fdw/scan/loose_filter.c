/*
 * loose_filter.c
 *		The row filter of loose scans, which read one row of each group.
 */
#include "postgres.h"

#include "fdw/scan/loose_filter.h"

wide_row_verdict
wt_loose_filter(void *arg, wide_bytes key, wide_bytes *seek)
{
	WtLoose *l = arg;
	size_t salt = l->t->salt_buckets > 0 ? 1 : 0;
	size_t n = (size_t) l->prefix.len;
	bool there;

	if (n == 0 || key.len < salt + n || memcmp(key.data + salt, l->prefix.data, n) != 0 ||
		(l->whole && key.len != salt + n))
		return l->inner ? l->inner(l->inner_arg, key, seek) : WIDE_ROW_ACCEPT;
	if (salt)
		l->seek.data[0] = (char) key.data[0];
	memcpy(l->seek.data + salt, l->prefix.data, n);
	if (l->reverse)
		there = true;
	else if (l->whole)
	{
		l->seek.data[salt + n++] = '\0';
		there = true;
	}
	else
	{
		while (n > 0 && (uint8) l->seek.data[salt + n - 1] == 0xFF)
			n--;
		there = n > 0;
		if (there)
			l->seek.data[salt + n - 1]++;
	}
	if (!there)
		return WIDE_ROW_SKIP;
	*seek = (wide_bytes) {(uint8 *) l->seek.data, salt + n};
	return WIDE_ROW_SEEK;
}

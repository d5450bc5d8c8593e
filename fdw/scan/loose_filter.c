/*
 * loose_filter.c
 *		The row filter of loose scans, which read one row of each group.
 */
#include "postgres.h"

#include "fdw/scan/loose_filter.h"

#include "fdw/store/bytes.h"
#include "fdw/table/rowkey.h"

wide_row_verdict
wt_loose_filter(void *arg, wide_bytes key, wide_bytes *seek)
{
	WtLoose *l = arg;
	size_t salt = l->t->salt_buckets > 0 ? 1 : 0;
	size_t n = (size_t) l->prefix.len;

	if (n == 0 || key.len < salt + n || memcmp(key.data + salt, l->prefix.data, n) != 0 ||
		(l->whole && key.len != salt + n))
		return l->inner ? l->inner(l->inner_arg, key, seek) : WIDE_ROW_ACCEPT;
	resetStringInfo(&l->seek);
	appendBinaryStringInfo(&l->seek, (const char *) key.data, (int) salt);
	/* behind a whole key: with the zero byte behind the prefix */
	if (l->reverse || l->whole)
		appendBinaryStringInfo(&l->seek, l->prefix.data, (int) n + !l->reverse);
	else if (!wt_rowkey_prefix_end((const uint8 *) l->prefix.data, n, &l->seek))
		return WIDE_ROW_SKIP;
	*seek = wt_bytes_of(&l->seek);
	return WIDE_ROW_SEEK;
}

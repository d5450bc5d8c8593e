/*
 * sst_read_ahead.c - reads a sorted file from one end to the other, past the block cache.
 *
 * Compaction and verification fetch PRIVATE_BYTES at a time and ask the system for as much again,
 * twice.  Reads into the block cache ask for nothing: the system recognises scans by itself, and
 * reading around look-ups gained nothing (doc/decisions.md).
 *
 * Locking: none, all of it is private to the process.
 */
#include <stdlib.h>
#include "engine/sst/sst_read_ahead.h"
#include "engine/base/os.h"
#include "engine/base/status.h"

#define PRIVATE_BYTES (256 * 1024)
#define PRIVATE_KEEP  (4 * 1024 * 1024) /* a larger buffer is freed once it is not needed */

wide_status
sst_read_ahead_get(const sst_input *f, sst_read_ahead *a, size_t n, uint64_t off, const uint8_t **p,
				   int64_t *got)
{
	size_t want = n < PRIVATE_BYTES ? PRIVATE_BYTES : n;

	if (off >= a->off && off - a->off <= a->len && n <= a->len - (off - a->off))
	{
		*p = a->data + (off - a->off);
		*got = (int64_t) n;
		return WIDE_OK;
	}
	if (want > f->size - off)
		want = (size_t) (f->size - off);
	a->len = 0;
	if (a->cap < want || (a->cap > PRIVATE_KEEP && want <= PRIVATE_KEEP))
	{
		free(a->data);
		a->cap = 0;
		a->data = malloc(want);
		if (a->data == NULL)
			return status_fail(WIDE_NOMEM, "out of memory: %zu bytes", want);
		a->cap = want;
	}
	/* what comes next is read while the caller works through this */
	if (off + want < f->size)
		f->os->will_read(f->os, f->fd, f->base + off + want, 2 * PRIVATE_BYTES);
	*p = a->data;
	*got = f->os->pread(f->os, f->fd, a->data, want, f->base + off);
	a->off = off;
	a->len = *got < 0 ? 0 : (size_t) *got;
	return WIDE_OK;
}

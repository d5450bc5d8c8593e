/*
 * sst_read_ahead.c - reads a sorted file ahead of what is needed.
 *
 * Reads past the cache (compaction, verification) go one way through the file, so they fetch
 * PRIVATE_BYTES at a time and ask the system for as much again, twice.
 *
 * Reads into the shared cache follow one of two patterns:
 *
 * A scan.  The third block that follows the one before it makes a stream.  From then on the
 * system is asked to read what comes next, while the process uncompresses blocks: STEP_MIN bytes
 * at first, up to STEP_MAX at a time.  Filter and index blocks lie between partitions, so a small
 * gap does not end a stream.  Reads of those blocks, and look-ups in the same file, are streams
 * of their own; two streams are remembered.
 *
 * Look-ups all over a file that fits into the system's cache but is not there yet.  Each would
 * wait for the disk for one block.  The second look-up that has to wait in the same extent of
 * EXTENT bytes has all of it read.  This would be in vain with files larger than memory, so it
 * is limited by a credit: an extent costs EXTENT_PRICE; a look-up that finds its block in the
 * system's cache, in an extent that was read, pays back one; each process starts with CREDIT.
 *
 * Locking: none, all of it is private to the process.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine/sst/sst_read_ahead.h"
#include "engine/base/os.h"
#include "engine/base/status.h"

#define STREAM_BLOCKS 3			  /* that make a stream */
#define STREAM_GAP	  (96 * 1024) /* bytes that may lie between two blocks of a stream */
#define STEP_MIN	  (128 * 1024)
#define STEP_MAX	  (1024 * 1024)
#define EXTENT		  (128 * 1024)
#define EXTENT_PRICE  8
#define CREDIT		  (512 * EXTENT_PRICE)
#define PRIVATE_BYTES (256 * 1024)
#define PRIVATE_KEEP  (4 * 1024 * 1024) /* a larger buffer is freed once it is not needed */

enum extent_state
{
	EXTENT_NEW,
	EXTENT_WAITED, /* a look-up had to wait for the disk */
	EXTENT_READ	   /* the system was asked to read all of it */
};

/* Returns the stream that the block at off continues, or a new one that begins with it. */
static sst_stream *
stream_of(sst_input *f, uint64_t off)
{
	sst_stream *s = &f->streams[f->last_stream];

	if (off >= s->end && off - s->end <= STREAM_GAP)
		return s;
	/* it is the other stream or replaces it */
	f->last_stream ^= 1;
	s = &f->streams[f->last_stream];
	if (off < s->end || off - s->end > STREAM_GAP)
		*s = (sst_stream) {0};
	return s;
}

/* Asks the system to read what comes next in a stream.  Returns false if this is not a scan. */
static bool
ahead_of_scan(sst_input *f, size_t n, uint64_t off)
{
	sst_stream *s = stream_of(f, off);

	s->end = off + n;
	if (s->blocks == 0)
		s->step = STEP_MIN;
	if (s->blocks < STREAM_BLOCKS && ++s->blocks < STREAM_BLOCKS)
		return false;
	if (s->advised < s->end)
		s->advised = s->end;
	/* ask for the next step when half a step is left */
	if (s->advised - s->end <= s->step / 2 && s->advised < f->size)
	{
		f->os->will_read(f->os, f->fd, s->advised, s->step);
		s->advised += s->step;
		if (s->step < STEP_MAX)
			s->step *= 2;
	}
	return true;
}

/* After a look-up.  cached: the block was in the system's cache. */
static void
around_lookup(sst_input *f, uint64_t off, bool cached, int *spent)
{
	uint64_t i = off / EXTENT;

	if (f->extents == NULL)
	{
		if (cached)
			return;
		f->extents = calloc(f->size / EXTENT + 1, 1);
		/* without memory, nothing is read ahead */
		if (f->extents == NULL)
			return;
	}
	if (cached)
	{
		if (f->extents[i] == EXTENT_READ && *spent > 0)
			--*spent;
	}
	else if (f->extents[i] == EXTENT_WAITED && *spent + EXTENT_PRICE <= CREDIT)
	{
		*spent += EXTENT_PRICE;
		f->os->will_read(f->os, f->fd, i * EXTENT, EXTENT);
		f->extents[i] = EXTENT_READ;
	}
	else
		f->extents[i] = EXTENT_WAITED;
}

int64_t
sst_read_ahead_shared(sst_input *f, void *to, size_t n, uint64_t off, int *spent)
{
	bool scan = ahead_of_scan(f, n, off);
	int64_t got = f->os->pread_now(f->os, f->fd, to, n, off);

	if (!scan)
		around_lookup(f, off, got != -EAGAIN, spent);
	return got != -EAGAIN ? got : f->os->pread(f->os, f->fd, to, n, off);
}

wide_status
sst_read_ahead_private(const sst_input *f, sst_read_ahead *a, size_t n, uint64_t off,
					   const uint8_t **p, int64_t *got)
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
		f->os->will_read(f->os, f->fd, off + want, 2 * PRIVATE_BYTES);
	*p = a->data;
	*got = f->os->pread(f->os, f->fd, a->data, want, off);
	a->off = off;
	a->len = *got < 0 ? 0 : (size_t) *got;
	return WIDE_OK;
}

/*
 * sst_read_ahead.c - which parts of a sorted file are asked for before they are needed.
 *
 * What is read through the shared cache goes past this on its way to the file.
 * Two patterns are known:
 *
 * A scan.  The third block that follows the one before begins a stream: from
 * then on the system is told of the next bytes while the blocks before them are
 * uncompressed, WINDOW_MIN at first and up to WINDOW_MAX at a time.  Between
 * partitions lie their filter and index, so that a small gap belongs to it; those
 * and look-ups in the same file are streams of their own, of which two are
 * remembered.
 *
 * Look-ups all over a file that fits into the system's cache but is not there
 * yet.  Each would wait for the disk for one block.  The second one that has to
 * wait in the same EXTENT has all of it read.  Where files are larger than
 * memory that would be in vain, so it is paid for: an extent costs EXTENT_PRICE, of
 * which each look-up that finds its block in the system's cache, where an extent was
 * read, earns one; CREDIT is given in advance, for each process.
 *
 * Locking: none, all of it is private to the process.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine/sst/sst_read_ahead.h"
#include "engine/base/os.h"
#include "engine/sst/sst_reader.h"

#define STREAM_BLOCKS 3
#define STREAM_GAP	  (96 * 1024)
#define WINDOW_MIN	  (128 * 1024)
#define WINDOW_MAX	  (1024 * 1024)
#define EXTENT		  (128 * 1024)
#define EXTENT_PRICE  8
#define CREDIT		  (512 * EXTENT_PRICE)

enum extent_state
{
	EXTENT_NEW,
	EXTENT_WAITED,
	EXTENT_READ
};

/* The stream that the bytes go on, or one that begins with them. */
static sst_stream *
stream_of(sst_reader *r, uint64_t off)
{
	sst_stream *s = &r->streams[r->stream];

	if (off >= s->end && off - s->end <= STREAM_GAP)
		return s;
	/* the other one, or in its place */
	r->stream ^= 1;
	s = &r->streams[r->stream];
	if (off < s->end || off - s->end > STREAM_GAP)
		*s = (sst_stream) {0};
	return s;
}

/* Tell the system of what comes.  false: it is no scan. */
static bool
ahead_of_scan(sst_reader *r, size_t n, uint64_t off)
{
	sst_stream *s = stream_of(r, off);

	s->end = off + n;
	if (s->blocks == 0)
		s->window = WINDOW_MIN;
	if (s->blocks < STREAM_BLOCKS && ++s->blocks < STREAM_BLOCKS)
		return false;
	if (s->told < s->end)
		s->told = s->end;
	/* half a window is left: time for the next */
	if (s->told - s->end <= s->window / 2 && s->told < r->size)
	{
		r->db->os->will_read(r->db->os, r->fd, s->told, s->window);
		s->told += s->window;
		if (s->window < WINDOW_MAX)
			s->window *= 2;
	}
	return true;
}

/* A look-up of a block that is in the system's cache, or is not. */
static void
around_lookup(sst_reader *r, uint64_t off, bool there, int *spent)
{
	uint64_t i = off / EXTENT;

	if (r->extents == NULL)
	{
		if (there)
			return;
		r->extents = calloc(r->size / EXTENT + 1, 1);
		/* it can do without */
		if (r->extents == NULL)
			return;
	}
	if (there)
	{
		if (r->extents[i] == EXTENT_READ && *spent > 0)
			--*spent;
	}
	else if (r->extents[i] == EXTENT_WAITED && *spent + EXTENT_PRICE <= CREDIT)
	{
		*spent += EXTENT_PRICE;
		r->db->os->will_read(r->db->os, r->fd, i * EXTENT, EXTENT);
		r->extents[i] = EXTENT_READ;
	}
	else
		r->extents[i] = EXTENT_WAITED;
}

int64_t
sst_read_ahead_pread(sst_reader *r, void *to, size_t n, uint64_t off, int *spent)
{
	wide_os *os = r->db->os;
	bool scan = ahead_of_scan(r, n, off);
	int64_t got = os->pread_now(os, r->fd, to, n, off);

	if (!scan)
		around_lookup(r, off, got != -EAGAIN, spent);
	return got != -EAGAIN ? got : os->pread(os, r->fd, to, n, off);
}

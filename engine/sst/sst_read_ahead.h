/* sst_read_ahead.h - reads a sorted file ahead of what is needed */
#ifndef WIDE_SST_READ_AHEAD_H
#define WIDE_SST_READ_AHEAD_H

#include "engine/wide.h"
#include "engine/base/os.h"

/* A sequence of blocks that were read one after the other. */
typedef struct sst_stream
{
	uint64_t end;	  /* of the last block */
	uint64_t advised; /* the system was asked to read up to here */
	uint32_t step;	  /* bytes of the next request to the system */
	uint32_t blocks;  /* how many; counted up to STREAM_BLOCKS */
} sst_stream;

/* An open file, and the patterns in which this process reads it. */
typedef struct sst_input
{
	wide_os *os;
	int fd;
	uint64_t size; /* bytes */
	sst_stream streams[2];
	uint8_t last_stream; /* index of the stream used last */
	uint8_t *extents;	 /* enum extent_state, one per extent; NULL until a look-up waits */
} sst_input;

/* Private memory with bytes of a file, for reading past the block cache.  Zero-filled is empty;
 * the owner frees data. */
typedef struct sst_read_ahead
{
	uint8_t *data;
	size_t cap;
	uint64_t off; /* of data in the file */
	size_t len;
} sst_read_ahead;

/*
 * Reads n bytes at off that go into the block cache, and asks the system to read ahead.
 * *spent: the process's credit in use, 0 at first; see sst_read_ahead.c.
 * Returns: the number of bytes read, or -errno.
 */
extern int64_t sst_read_ahead_shared(sst_input *f, void *to, size_t n, uint64_t off, int *spent);

/*
 * Reads n bytes at off that do not go into the block cache, and more behind them for the next
 * calls.  Sets *p to them; they are valid until the next call with `a`.
 * *got: the number of bytes at *p, or -errno.
 * Requires: off + n <= f->size.  Errors: WIDE_NOMEM.
 */
extern wide_status sst_read_ahead_private(const sst_input *f, sst_read_ahead *a, size_t n,
										  uint64_t off, const uint8_t **p, int64_t *got);

#endif /* WIDE_SST_READ_AHEAD_H */

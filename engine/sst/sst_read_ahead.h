/* sst_read_ahead.h - reads a sorted file from one end to the other, past the block cache */
#ifndef WIDE_SST_READ_AHEAD_H
#define WIDE_SST_READ_AHEAD_H

#include "engine/wide.h"
#include "engine/base/os.h"

/* An open sorted file. */
typedef struct sst_input
{
	wide_os *os;
	int fd;
	uint64_t base; /* where it begins in the file of the directory; offsets count from here */
	uint64_t size; /* bytes */
} sst_input;

/* Private memory with bytes of a file.  Zero-filled is empty; the owner frees data. */
typedef struct sst_read_ahead
{
	uint8_t *data;
	size_t cap;
	uint64_t off; /* of data in the file */
	size_t len;
} sst_read_ahead;

/*
 * Reads n bytes at off, and more behind them for the next calls.  Sets *p to them; they are
 * valid until the next call with `a`.
 * *got: the number of bytes at *p, or -errno.
 * Requires: off + n <= f->size.  Errors: WIDE_NOMEM.
 */
extern wide_status sst_read_ahead_get(const sst_input *f, sst_read_ahead *a, size_t n, uint64_t off,
									  const uint8_t **p, int64_t *got);

#endif /* WIDE_SST_READ_AHEAD_H */

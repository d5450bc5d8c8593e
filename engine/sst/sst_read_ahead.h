/* sst_read_ahead.h - read-ahead in sorted files */
#ifndef WIDE_SST_READ_AHEAD_H
#define WIDE_SST_READ_AHEAD_H

#include "engine/wide.h"

typedef struct sst_reader sst_reader;
#define SST_READ_AHEAD (256 * 1024)

/* Blocks that were read one after the other. */
typedef struct sst_stream
{
	uint64_t end;	 /* of the last one */
	uint64_t told;	 /* so far the system has been told that they will be read */
	uint32_t window; /* bytes to tell next */
	uint32_t blocks; /* how many, up to what it takes to believe it */
} sst_stream;

typedef struct sst_read_ahead
{
	uint8_t *data;
	size_t cap;
	uint64_t off;
	size_t len;
} sst_read_ahead;

/* Like pread, for blocks on their way into the cache.  *spent is the process's, 0 at first: see
 * sst_read_ahead.c. */
extern int64_t sst_read_ahead_pread(sst_reader *r, void *to, size_t n, uint64_t off, int *spent);

#endif /* WIDE_SST_READ_AHEAD_H */

/*
 * chunk.h
 *		Chunks of a parallel scan, dealt out between its processes.
 */
#ifndef WT_CHUNK_H
#define WT_CHUNK_H

#include "storage/s_lock.h"

#include "engine/wide.h"
#include "fdw/scan/scan_state.h"

/*
 * In the parallel context's memory.  Between nchunks chunks are nchunks - 1
 * keys, ascending; key i is at ends[i - 1] .. ends[i] of the bytes that follow
 * ends, with ends[-1] taken as 0.
 */
struct WtShared
{
	pg_atomic_uint32 next; /* chunks dealt out; may rise beyond nchunks */
	uint32 nchunks;
	slock_t mutex; /* protects what the workers did: */
	WtScanWork work;
	uint32 ends[FLEXIBLE_ARRAY_MEMBER];
};

/* Get a chunk with some of the ranges in it, which are in part then.  false: there is none left. */
extern bool wt_chunk_next(WtScanState *st);

#endif /* WT_CHUNK_H */

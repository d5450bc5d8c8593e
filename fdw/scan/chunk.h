/*
 * chunk.h
 *		Chunks of a parallel scan, handed out to its processes.
 */
#ifndef WT_CHUNK_H
#define WT_CHUNK_H

#include "storage/s_lock.h"

#include "engine/wide.h"
#include "fdw/scan/scan_state.h"

/*
 * Lives in the parallel context's memory.  parallel.c fills it in the leader.  nchunks - 1
 * ascending keys separate nchunks chunks; key i is at ends[i - 1] .. ends[i] of the bytes
 * behind the array, with ends[-1] taken as 0.
 */
struct WtShared
{
	pg_atomic_uint32 next; /* number of chunks handed out */
	uint32 nchunks;
	slock_t mutex;	 /* protects work */
	WtScanWork work; /* of the workers that have ended */
	uint32 ends[FLEXIBLE_ARRAY_MEMBER];
};

/*
 * Takes the next chunk that has a part of the scan's ranges, and sets st->chunk.ranges and n to
 * these parts.  Returns false if no chunk is left.
 * Requires: one list of ranges (no merge of salt buckets).
 */
extern bool wt_chunk_next(WtScanState *st);

#endif /* WT_CHUNK_H */

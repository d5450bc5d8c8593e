/*
 * parallel.c
 *		Parallel scans: the keys of a table are cut into chunks, which are dealt out
 *		between the processes of a parallel plan.
 *
 * All of them read with the leader's snapshot: xact/parallel_snapshot.c.
 *
 * Invariants
 *	- The chunks of a parallel scan cover the space of all keys (chunk.c).  Where
 *	  the cuts are matters for balance only, not for the result.
 *
 * Locking: a spinlock protects the sums for EXPLAIN.
 */
#include "postgres.h"

#include "fdw/scan/parallel.h"

#include <math.h>

#include "access/parallel.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/spin.h"
#include "utils/memutils.h"

#include "engine/wide.h"
#include "fdw/key/key_range.h"
#include "fdw/plan/aggregate_plan.h"
#include "fdw/plan/scan_size.h"
#include "fdw/scan/chunk.h"
#include "fdw/scan/scan.h"
#include "fdw/scan/scan_state.h"
#include "fdw/store/bytes.h"

/* Chunks for each process; several, because estimates of their sizes are rough. */
#define CHUNKS_PER_PROCESS 12
/* Cells that a chunk should have at least, because starting one has a cost. */
#define CHUNK_CELLS		   1000
/* The most parts that the engine is asked to cut the family in. */
#define MAX_PARTS		   2048

/* The keys to cut at, while the parallel context is made. */
struct WtCuts
{
	MemoryContext cxt; /* of the struct and the keys */
	wide_bytes *keys;
	int n;
};

/* Returns true if a column of the family is read. */
static bool
is_read(WtScanState *st, wide_family_id family)
{
	for (int a = 0; a < st->t->natts; a++)
		if (st->columns[a] && st->t->columns[a].family >= 0 &&
			st->e.families[st->t->columns[a].family] == family)
			return true;
	return st->t->cells_layout;
}

/*
 * Returns the family with the most cells of those whose columns are read (layout 'cells': of all);
 * if none is read, the table's first one; 0 if there is none.  Sets *cells to its cells.
 */
static wide_family_id
main_family(WtScanState *st, double *cells)
{
	wide_family_id found = 0;

	for (int i = 0; i < st->e.nall; i++)
		if (is_read(st, st->e.all[i]))
		{
			double has = wt_scan_size_range(st->e.all[i], NULL).cells;

			if (found == 0 || has > *cells)
			{
				*cells = has;
				found = st->e.all[i];
			}
		}
	if (found != 0 || st->e.nall == 0)
		return found;
	*cells = wt_scan_size_range(st->e.all[0], NULL).cells;
	return st->e.all[0];
}

/* Finds keys that cut what the scan reads into equal chunks for so many processes. */
static void
find_cuts(WtScanState *st, int processes, WtCuts *c)
{
	const WtRanges *r;
	wide_range within; /* from the first range's beginning to the last one's end */
	wide_family_id family;
	double all, cells;
	int want, n;

	if (!st->exists)
		return;
	r = wt_scan_ranges(st);
	Assert(r->nbuckets == 1);
	if (r->n[0] == 0)
		return;
	family = main_family(st, &all);
	if (family == 0)
		return;
	within = (wide_range) {r->ranges[0][0].lo, r->ranges[0][r->n[0] - 1].hi};
	cells = wt_scan_size_range(family, &within).cells;
	want = (int) Max(processes, Min(cells / CHUNK_CELLS, (double) processes * CHUNKS_PER_PROCESS));
	c->keys = wt_scan_size_split_keys(
		family, (int) Min(MAX_PARTS, ceil(want * Max(1, all) / Max(1, Min(cells, all)))), true, &n);
	for (int i = 0; i < n; i++)
		if (wt_bytes_cmp(c->keys[i], within.lo) > 0 &&
			(within.hi.data == NULL || wt_bytes_cmp(c->keys[i], within.hi) < 0))
			c->keys[c->n++] = c->keys[i];
	if (c->n < want)
		return;
	/* the engine has returned more than wanted: take them at equal distances */
	for (int i = 1; i < want; i++)
		c->keys[i - 1] = c->keys[(int) ((double) c->n * i / want)];
	c->n = want - 1;
}

Size
wt_parallel_estimate_dsm(ForeignScanState *node, ParallelContext *pcxt)
{
	WtScanState *st = node->fdw_state;
	MemoryContext cxt = AllocSetContextCreate(st->cxt, "widetable parallel scan",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	WtCuts *c = palloc0(sizeof(WtCuts));
	Size size;

	c->cxt = cxt;
	find_cuts(st, pcxt->nworkers + 1, c);
	MemoryContextSwitchTo(old);
	st->chunk.cuts = c;
	size = offsetof(WtShared, ends) + sizeof(uint32) * c->n;
	for (int i = 0; i < c->n; i++)
		size += c->keys[i].len;
	return size;
}

void
wt_parallel_initialize_dsm(ForeignScanState *node, ParallelContext *pcxt, void *coordinate)
{
	WtScanState *st = node->fdw_state;
	WtShared *shared = coordinate;
	WtCuts *c = st->chunk.cuts;
	uint8 *bytes = (uint8 *) &shared->ends[c->n];
	uint32 at = 0; /* wide enough for MAX_PARTS keys of the greatest length */

	pg_atomic_init_u32(&shared->next, 0);
	SpinLockInit(&shared->mutex);
	memset(&shared->work, 0, sizeof(shared->work));
	shared->nchunks = c->n + 1;
	for (int i = 0; i < c->n; i++)
	{
		wt_bytes_copy(bytes + at, c->keys[i].data, c->keys[i].len);
		at += c->keys[i].len;
		shared->ends[i] = at;
	}
	MemoryContextDelete(c->cxt);
	st->chunk.cuts = NULL;
	st->chunk.shared = shared;
}

/* Starts again with the same cuts: they are good for any parameters. */
void
wt_parallel_reinitialize_dsm(ForeignScanState *node, ParallelContext *pcxt, void *coordinate)
{
	WtShared *shared = coordinate;

	pg_atomic_write_u32(&shared->next, 0);
	((WtScanState *) node->fdw_state)->chunk.shared = shared;
}

void
wt_parallel_initialize_worker(ForeignScanState *node, shm_toc *toc, void *coordinate)
{
	((WtScanState *) node->fdw_state)->chunk.shared = coordinate;
}

/*
 * Called before the parallel context is destroyed: a worker adds its work to the shared sums,
 * the leader takes the sums.  If the leader stops before the end (LIMIT), it comes here before
 * its workers, and their last work is not counted.
 */
void
wt_parallel_shutdown(ForeignScanState *node)
{
	bool plain = ((ForeignScan *) node->ss.ps.plan)->operation == CMD_SELECT &&
				 !wt_is_aggregate(node);
	WtScanState *st = plain ? node->fdw_state : NULL;
	WtShared *shared = st != NULL ? st->chunk.shared : NULL;
	WtScanWork mine;

	/* the executor calls this for all scans, parallel or not */
	if (shared == NULL)
		return;
	st->chunk.shared = NULL;
	st->chunk.ranges = NULL;
	/* the rest of the table belongs to other processes, until a rescan */
	st->phase = WT_SCAN_OVER;
	if (IsParallelWorker())
		wt_scan_work(st, &mine);
	SpinLockAcquire(&shared->mutex);
	if (IsParallelWorker())
		wt_scan_add_work(&shared->work, &mine);
	else
		wt_scan_add_work(&st->past, &shared->work);
	SpinLockRelease(&shared->mutex);
}

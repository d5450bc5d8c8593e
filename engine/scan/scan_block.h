/* scan_block.h - rows that a scan takes straight from a block */
#ifndef WIDE_SCAN_BLOCK_H
#define WIDE_SCAN_BLOCK_H

#include "engine/wide.h"
#include "engine/base/tunable.h"
#include "engine/scan/scan_state.h"

/* All rows are read entry by entry instead, with the same result. */
TUNABLE(bool, scan_block_off, false);

extern void scan_block_free(scan_state *s);

/*
 * Reads ahead rows that can be taken as they are, if such rows come next.  Opens ranges as needed.
 * Returns: WIDE_OK: rows were read ahead (door.nahead), or the next row has to be read entry by
 * entry; WIDE_END: no range has more rows; WIDE_INTERRUPTED: the call can be repeated.
 * Requires: scan_block_given was called.
 */
extern wide_status scan_block_next(scan_state *s);

/*
 * Takes note of the rows that were read ahead and handed out, and drops the others: the scan stands
 * behind the last one.  To be called while these rows are still valid.
 */
extern wide_status scan_block_given(scan_state *s);

/*
 * Leaves the runs, and drops what was read ahead: the scan stands behind the row that was handed
 * out last.
 */
extern wide_status scan_block_drop(scan_state *s);

/* Drops the runs and what was read ahead; the position is lost. */
extern void scan_block_restart(scan_state *s);

/*
 * Makes runs of the sources of all families, up to the key `end` (len 0: open), if the next row can
 * be taken from them (scan_block.open).  first: the entry at which the leading families stand.
 */
extern wide_status scan_block_runs_open(scan_state *s, const entry *first, wide_bytes end);

/* Reads ahead the next rows of the runs, `limit` at most, until they have to move on.  expected:
 * how many there probably are. */
extern wide_status scan_block_read(scan_state *s, int expected, int limit);

/* Returns limit, or how many rows may be read ahead if the last ones had many cells. */
extern int scan_block_rows(const scan_state *s, int limit);

/* More rows are read ahead the next time. */
static inline void
scan_block_more(scan_block *sb)
{
	if (sb->ahead.limit < SCAN_BLOCK_ROWS)
		sb->ahead.limit *= 2;
}

/* Drops rows that were read ahead, none of which was handed out. */
extern void scan_block_forget(scan_state *s);

/* Adds the rows that were handed out to s->stats. */
extern void scan_block_count(scan_state *s);

#endif /* WIDE_SCAN_BLOCK_H */

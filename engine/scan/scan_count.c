/*
 * scan_count.c - the statistics of a scan, and the store's counters that they are added to.
 *
 * The merges and the runs count while they work and add to scan_state.stats when they
 * are asked.  A scan adds to the counters in shared memory only when it restarts or ends.
 *
 * Locking: none.
 */
#include "engine/scan/scan_count.h"
#include "engine/shared/counter.h"
#include "engine/read/merge.h"
#include "engine/scan/scan_block.h"
#include "engine/scan/scan_state.h"

void
scan_count(scan_state *s)
{
	for (int i = 0; i < s->nfamilies; i++)
		if (s->families[i].m != NULL)
			merge_restart(s->families[i].m);
	scan_block_count(s);
	counter_add(s->db, COUNTER_ROWS_READ, s->stats.rows_returned - s->reported.rows);
	counter_add(s->db, COUNTER_CELLS_READ, s->stats.cells_returned - s->reported.cells);
	s->reported.rows = s->stats.rows_returned;
	s->reported.cells = s->stats.cells_returned;
}

void
wide_scan_statistics(const wide_scan *scan, wide_scan_stats *out)
{
	scan_state *s = scan_state_of((wide_scan *) scan);

	for (int i = 0; i < s->nfamilies; i++)
		if (s->families[i].m != NULL)
			merge_statistics(s->families[i].m);
	scan_block_count(s);
	*out = s->stats;
}

/* scan_count.c - what scans have done, for the statistics of the store */
#include "engine/scan/scan_count.h"
#include "engine/shared/counter.h"
#include "engine/read/merge.h"
#include "engine/scan/scan_block.h"
#include "engine/scan/scan_state.h"

/* Bring the store's statistics up to date. */
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

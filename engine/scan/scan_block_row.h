/* scan_block_row.h - one row that is taken from runs as it is */
#ifndef WIDE_SCAN_BLOCK_ROW_H
#define WIDE_SCAN_BLOCK_ROW_H

#include "engine/wide.h"
#include "engine/scan/scan_state.h"

/* Sets *key to the decoded key of the run's row, in the arena. */
extern wide_status scan_block_row_key(scan_state *s, scan_run *run, wide_bytes *key);

/*
 * Reads the row of the first `same` runs in order: its cells go to s->out.cells[at] and up, or
 * where it is is noted as row number `at` of the span.  *in: the row exists and meets the
 * predicates; *lost: it has to be read entry by entry.
 */
extern wide_status scan_block_row_take(scan_state *s, int same, int at, int *ncells, bool *in,
									   bool *lost);

/* The same where one run of the only family has the row. */
extern wide_status scan_block_row_take_single(scan_state *s, scan_run *run, int at, int *ncells,
											  bool *in);

#endif /* WIDE_SCAN_BLOCK_ROW_H */

/* scan_row.h - the cells of one row of a scan, and the memory of what is handed out */
#ifndef WIDE_SCAN_ROW_H
#define WIDE_SCAN_ROW_H

#include "engine/wide.h"
#include "engine/shared/cache.h"
#include "engine/scan/scan_state.h"

/*
 * Reads the current row in a family, from where the family stands: appends the cells to show to
 * out.cells, reports columns to the predicates, and sets row.verdict.
 * Returns: *full: the wide_row has no room for the current entry; the next call continues with it.
 */
extern wide_status scan_row_family(scan_state *s, scan_family *f, bool *full);

/* Moves the merge towards a key that lies ahead: by one step, or by a seek after SCAN_STEPS steps.
 */
extern wide_status scan_row_move(scan_family *f, const uint8_t *ukey, uint32_t klen, int64_t ts);

/* Room for n cells in out.cells.  WIDE_NOMEM. */
extern wide_status scan_row_reserve(scan_state *s, uint32_t n);

/* Returns: n bytes that live until the next call; NULL: out of memory. */
extern void *scan_row_arena(scan_state *s, size_t n);

/* A source leaves a block in which out.cells has values (source_limits.keep; arg is the scan). */
extern void scan_row_keep_block(void *arg, block_ref *ref);

/* Ends the life of everything that was handed out: pins, cells, arena.  At most one chunk of the
 * arena is left. */
extern void scan_row_release(scan_state *s);

#endif /* WIDE_SCAN_ROW_H */

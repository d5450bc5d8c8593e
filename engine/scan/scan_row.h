/* scan_row.h - the cells of one row of a scan */
#ifndef WIDE_SCAN_ROW_H
#define WIDE_SCAN_ROW_H

#include "engine/wide.h"
#include "engine/shared/cache.h"
#include "engine/scan/scan_state.h"

/* scan_row.c */
/* memory until the next call; NULL: there is none */
extern void *scan_row_arena(scan_state *s, size_t n);
/* source_limits.keep; arg is the scan */
extern void scan_row_keep_block(void *arg, block_ref *ref);
extern void scan_row_let_go(scan_state *s); /* nothing that was handed out is in use any more */
extern void scan_row_free_memory(scan_state *s);

/* Move on towards a key in this row: a few steps, then a seek. */
extern wide_status scan_row_move(scan_family *f, const uint8_t *ukey, uint32_t klen, int64_t ts);

/* All that the row has in this family.  *full: the wide_row is full, call again for the rest. */
extern wide_status scan_row_family(scan_state *s, scan_family *f, bool *full);

#endif /* WIDE_SCAN_ROW_H */

/* batch.h - what the batch offers to the catalog changes and to the commit */
#ifndef WIDE_BATCH_H
#define WIDE_BATCH_H

#include "engine/wide.h"
#include "engine/set/catalog_delta.h"

/* The batch's catalog changes, which are made on first use; NULL: out of memory. */
extern catalog_delta *batch_catalog(wide_batch *b);

/* Returns true if the batch has live catalog changes. */
extern bool batch_changes_catalog(const wide_batch *b);

/* Finds a family as the batch sees it.  WIDE_NOTFOUND. */
extern wide_status batch_family(wide_batch *b, wide_family_id id, wide_family *f);

/* Takes the number of the next operation. */
extern uint64_t batch_next_op(wide_batch *b);

/* Removes the sorted files that prepare has written, with their reservation, and logs that they
 * will not be linked. */
extern void batch_discard_files(wide_batch *b);

#endif /* WIDE_BATCH_H */

/* batch_source.h - a write batch as a source of entries, for reads of its own transaction */
#ifndef WIDE_BATCH_SOURCE_H
#define WIDE_BATCH_SOURCE_H

#include "engine/wide.h"
#include "engine/read/source.h"

/*
 * Makes a source of the live operations of a family below the mark.  Waits for lists
 * that are being spilled.  The batch must outlive the source.
 * Returns: WIDE_NOMEM; the failure of a list to be spilled.
 */
extern wide_status batch_source_new(wide_batch *batch, wide_family_id family, uint64_t mark,
									source **out);

/* Sets another mark, which holds from the next seek on.  Returns false if the batch has been
 * spilled since the source was made, or the source does not read its list: make another source. */
extern bool batch_source_set_mark(source *s, uint64_t mark);

#endif /* WIDE_BATCH_SOURCE_H */

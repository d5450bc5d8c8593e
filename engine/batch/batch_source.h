/* batch_source.h - a write batch as a source of entries, for reads of its own transaction */
#ifndef WIDE_BATCH_SOURCE_H
#define WIDE_BATCH_SOURCE_H

#include "engine/wide.h"
#include "engine/read/source.h"

/* the private batch: entries of operations < mark that are not rewound; see batch.c */
extern wide_status batch_source_new(wide_batch *batch, wide_family_id family, uint64_t mark,
									source **out);
/* Read up to another mark from the next seek on; false: it is not good for that, make another
 * one. */
extern bool batch_source_set_mark(source *s, uint64_t mark);

#endif /* WIDE_BATCH_SOURCE_H */

/* batch_source.h - a batch as a source of entries */
#ifndef WIDE_BATCH_SOURCE_H
#define WIDE_BATCH_SOURCE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/read/source.h"

/* the private batch: entries of operations < mark that are not rewound; see batch.c */
extern wide_status source_batch(wide_batch *b, wide_family_id family, uint64_t mark, source **out);
extern wide_status source_batch_seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq);
extern wide_status source_batch_next(source *s);
extern wide_status source_batch_row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row);
extern void source_batch_free(source *s);

/* Read up to another mark from the next seek on; false: it is not good for that, make another one. */
extern bool source_batch_mark(source *s, uint64_t mark);

#endif							/* WIDE_BATCH_SOURCE_H */

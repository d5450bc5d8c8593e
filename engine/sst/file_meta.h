/* file_meta.h - facts about a sorted file: their encoding, and whether key ranges overlap */
#ifndef WIDE_FILE_META_H
#define WIDE_FILE_META_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/shared/layout.h"

/* false: no row in [lo, hi) of the file (encoded rows; hi NULL = open) */
extern bool file_meta_overlaps_range(const file_meta *f, const uint8_t *lo, uint32_t lolen,
									 const uint8_t *hi, uint32_t hilen);

/* Manifest encoding of a file's meta, also used in log records of bulk batches. */
extern wide_status file_meta_put(buffer *b, const file_meta *f);
extern const uint8_t *file_meta_get(const uint8_t *p, const uint8_t *end, file_meta *f);

/* Bytes a < b in the order of rows where a is an upper bound of f; bounds may be cut. */
extern bool file_meta_overlap(const file_meta *a, const file_meta *b);

#endif /* WIDE_FILE_META_H */

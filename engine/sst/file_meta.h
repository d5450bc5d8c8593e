/* file_meta.h - facts about a sorted file: their encoding, and overlaps of key ranges */
#ifndef WIDE_FILE_META_H
#define WIDE_FILE_META_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/shared/layout.h"

/* Appends the encoding of a file's facts, as it is in the manifest and in log records that link
 * files.  Errors: WIDE_NOMEM. */
extern wide_status file_meta_put(buffer *b, const file_meta *f);

/* Decodes what file_meta_put() has written.  Returns the byte behind it, or NULL if the bytes are
 * malformed. */
extern const uint8_t *file_meta_get(const uint8_t *p, const uint8_t *end, file_meta *f);

/* Sets *f from numbers of an encoding: head has number, family, level and flags, facts has what
 * follows from raw_bytes to seq_max.  Clears the rest.  Returns false if they are malformed. */
extern bool file_meta_set(file_meta *f, const uint64_t *head, const uint64_t *facts);

/* Returns true if all rows of the file are below the row, which may lack its terminator or be
 * cut. */
extern bool file_meta_below(const file_meta *f, const uint8_t *row, uint32_t len);

/* Returns false if the file has no row in [lo, hi), which are encoded rows or bounds; NULL: no
 * bound. */
extern bool file_meta_overlaps_range(const file_meta *f, const uint8_t *lo, uint32_t lolen,
									 const uint8_t *hi, uint32_t hilen);

/* Returns false if the ranges of rows of two files have no row in common. */
extern bool file_meta_overlap(const file_meta *a, const file_meta *b);

#endif /* WIDE_FILE_META_H */

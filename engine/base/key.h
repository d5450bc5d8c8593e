/* key.h - the encoded form of row keys and qualifiers */
#ifndef WIDE_KEY_H
#define WIDE_KEY_H

#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"

/* Returns < 0, 0 or > 0.  A string that is a proper prefix of another one sorts before it. */
static inline int
ukey_compare(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	size_t n = alen < blen ? alen : blen;
	int c = memcmp(a, b, n);

	return c != 0 ? c : (alen > blen) - (alen < blen);
}

/* Most bytes of the encoded forms. */
#define KEY_ROW_MAX(n) (2 * (size_t) (n) + 2)
#define KEY_UKEY_MAX   (2 * (size_t) WIDE_MAX_ROW + 2 * (size_t) WIDE_MAX_QUALIFIER + 4)

/* Writes a part to p, which has room for KEY_ROW_MAX(n) bytes; returns the end. */
extern uint8_t *key_put_part(uint8_t *p, const uint8_t *raw, size_t n);

/* Sets the buffer to row + qualifier.  Errors: WIDE_NOMEM, here and below. */
extern wide_status key_make(buffer *b, wide_bytes row, wide_bytes qualifier);

/* Sets the buffer to row + 00 00, the key of family-wide deletes. */
extern wide_status key_make_family(buffer *b, wide_bytes row);

/* Sets the buffer to the row with its terminator: sorts before every key of the row. */
extern wide_status key_make_row(buffer *b, wide_bytes row);

/* Returns the length of the first part with its terminator, or 0 if the bytes are not a key. */
extern uint32_t key_row_length(const uint8_t *ukey, size_t klen);

/* Returns true if ukey is exactly a row part and then a qualifier part or 00 00. */
extern bool key_valid(const uint8_t *ukey, size_t klen);

/*
 * Decodes one part of n bytes, terminator included.  *out points into p if the part
 * has no escape, otherwise to bytes appended to b.  Appending may move b->data:
 * reserve room before decoding several parts, so that earlier results stay valid.
 * Errors: WIDE_CORRUPT if the bytes are not one part, WIDE_NOMEM.
 */
extern wide_status key_decode_part(const uint8_t *p, size_t n, buffer *b, wide_bytes *out);

/* Most bytes of the decoded form of a part of n bytes. */
#define KEY_DECODED_MAX(n) (n)

#endif /* WIDE_KEY_H */

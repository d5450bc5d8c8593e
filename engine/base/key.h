/* key.h - the encoded form of row keys and qualifiers */
#ifndef WIDE_KEY_H
#define WIDE_KEY_H

#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"

/* <0, 0, >0.  A ukey that is a proper prefix of another sorts before it. */
static inline int
ukey_compare(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	size_t n = alen < blen ? alen : blen;
	int c = memcmp(a, b, n);

	return c != 0 ? c : (alen > blen) - (alen < blen);
}

/* Worst-case bytes of the encoded forms. */
#define KEY_ROW_MAX(n) (2 * (size_t) (n) + 2)
#define KEY_UKEY_MAX   (2 * (size_t) WIDE_MAX_ROW + 2 * (size_t) WIDE_MAX_QUALIFIER + 4)

/* Write the escaped bytes and the terminator; return the byte after. */
extern uint8_t *key_put_part(uint8_t *p, const uint8_t *raw, size_t n);

/* Append row + qualifier to a buffer (set to it: b->len is reset first). */
extern wide_status key_make(buffer *b, wide_bytes row, wide_bytes qualifier);

/* Append row + 00 00. */
extern wide_status key_make_family(buffer *b, wide_bytes row);

/* Row only, with terminator: sorts before every key of the row. */
extern wide_status key_make_row(buffer *b, wide_bytes row);

/* Length of the first part with its terminator, 0 when the bytes are not a key. */
extern uint32_t key_row_length(const uint8_t *ukey, size_t klen);

/* true when ukey is exactly row part + (qualifier part or 00 00); for verify and fuzz */
extern bool key_valid(const uint8_t *ukey, size_t klen);

/*
 * Decode one encoded part (with its terminator) of n bytes.  When it holds no
 * escape the result points into p (zero copy), else into b (appended at
 * b->len, which moves on; reserve before so that earlier results stay).
 */
extern wide_status key_decode_part(const uint8_t *p, size_t n, buffer *b, wide_bytes *out);

/* Bytes the decoded form of an encoded part of n bytes has at most. */
#define KEY_DECODED_MAX(n) (n)

#endif /* WIDE_KEY_H */

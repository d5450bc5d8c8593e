/* buffer.h - a growing byte buffer in private memory */
#ifndef WIDE_BUFFER_H
#define WIDE_BUFFER_H

#include <string.h>
#include "engine/wide.h"
#include "engine/base/status.h"

/* Zero-filled is empty.  The owner frees it with buffer_free. */
typedef struct buffer
{
	uint8_t *data;
	size_t len;
	size_t cap;
} buffer;

/* Allocates room for `more` bytes after len; use buffer_reserve. */
extern wide_status buffer_grow(buffer *b, size_t more);
/* Frees the memory; the buffer is empty then. */
extern void buffer_free(buffer *b);

/* Makes sure that there is room for `more` bytes after len, and that data is not NULL.  Errors:
 * WIDE_NOMEM, here and below. */
static inline wide_status
buffer_reserve(buffer *b, size_t more)
{
	return b->cap - b->len >= more && b->data != NULL ? WIDE_OK : buffer_grow(b, more);
}

static inline wide_status
buffer_append(buffer *b, const void *p, size_t n)
{
	TRY(buffer_reserve(b, n));
	if (n > 0)
		memcpy(b->data + b->len, p, n);
	b->len += n;
	return WIDE_OK;
}

/* Replaces the content. */
static inline wide_status
buffer_set(buffer *b, const void *p, size_t n)
{
	b->len = 0;
	return buffer_append(b, p, n);
}

/* Appends the number as varint_put writes it. */
extern wide_status buffer_append_varint(buffer *b, uint64_t v);

#endif /* WIDE_BUFFER_H */

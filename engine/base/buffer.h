/* buffer.h - a growing byte buffer in private memory */
#ifndef WIDE_BUFFER_H
#define WIDE_BUFFER_H

#include <string.h>
#include "engine/wide.h"
#include "engine/base/status.h"

/* A growing byte buffer in private memory.  Zero-filled is empty. */
typedef struct buffer
{
	uint8_t *data;
	size_t len;
	size_t cap;
} buffer;

extern wide_status buffer_grow(buffer *b, size_t more);
extern void buffer_free(buffer *b);

/* room for more bytes after len; WIDE_NOMEM */
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

static inline wide_status
buffer_set(buffer *b, const void *p, size_t n)
{
	b->len = 0;
	return buffer_append(b, p, n);
}

extern wide_status buffer_append_varint(buffer *b, uint64_t v);

#endif /* WIDE_BUFFER_H */

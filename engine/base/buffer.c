/* buffer.c - a growing byte buffer in private memory */
#include <stdlib.h>
#include <string.h>
#include "engine/base/buffer.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"

wide_status
buffer_grow(buffer *b, size_t more)
{
	size_t need;
	size_t cap;
	uint8_t *p;

	if (more > SIZE_MAX / 4 - b->len)
		return status_fail(WIDE_NOMEM, "a buffer of %zu bytes is too large", more);
	need = b->len + more;
	cap = b->cap + b->cap / 2;
	if (cap < need)
		cap = need;
	if (cap < 64)
		cap = 64;
	p = realloc(b->data, cap);
	if (p == NULL)
		return status_fail(WIDE_NOMEM, "out of memory: %zu bytes", cap);
	b->data = p;
	b->cap = cap;
	return WIDE_OK;
}

void
buffer_free(buffer *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

wide_status
buffer_append_varint(buffer *b, uint64_t v)
{
	TRY(buffer_reserve(b, VARINT_MAX));
	b->len = (size_t) (varint_put(b->data + b->len, v) - b->data);
	return WIDE_OK;
}

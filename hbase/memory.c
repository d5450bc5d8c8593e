/* memory.c - growing buffers in memory of the host, and comparisons of bytes */
#include "hbase/memory.h"

hb_status
hb_memory_reserve(const hb_host *host, hb_buffer *b, size_t more)
{
	size_t need;
	size_t cap;
	uint8_t *p;

	if (b->data != NULL && b->cap - b->len >= more)
		return HB_OK;
	if (more > SIZE_MAX / 4 - b->len)
		return HB_NOMEM;
	need = b->len + more;
	cap = b->cap + b->cap / 2;
	if (cap < need)
		cap = need;
	if (cap < 64)
		cap = 64;
	p = host->realloc(host->ctx, b->data, cap);
	if (p == NULL)
		return HB_NOMEM;
	b->data = p;
	b->cap = cap;
	return HB_OK;
}

hb_status
hb_memory_append(const hb_host *host, hb_buffer *b, const void *p, size_t n)
{
	HB_TRY(hb_memory_reserve(host, b, n));
	if (n > 0)
		memcpy(b->data + b->len, p, n);
	b->len += n;
	return HB_OK;
}

hb_status
hb_memory_set(const hb_host *host, hb_buffer *b, hb_bytes bytes)
{
	b->len = 0;
	return hb_memory_append(host, b, bytes.data, bytes.len);
}

void
hb_memory_free(const hb_host *host, hb_buffer *b)
{
	host->free(host->ctx, b->data);
	memset(b, 0, sizeof *b);
}

hb_status
hb_memory_array(const hb_host *host, void **array, int n, int *cap, size_t size)
{
	int more;
	void *p;

	if (n < *cap)
		return HB_OK;
	more = *cap < 16 ? 16 : *cap > INT32_MAX / 2 ? 0 : *cap * 2;
	if (more == 0 || (size_t) more > SIZE_MAX / size)
		return HB_NOMEM;
	p = host->realloc(host->ctx, *array, (size_t) more * size);
	if (p == NULL)
		return HB_NOMEM;
	*array = p;
	*cap = more;
	return HB_OK;
}

int
hb_memory_compare(hb_bytes a, hb_bytes b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n > 0 ? memcmp(a.data, b.data, n) : 0;

	return c != 0 ? c : (a.len > b.len) - (a.len < b.len);
}

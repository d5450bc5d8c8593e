/* memory.h - growing buffers in memory of the host, and comparisons of bytes */
#ifndef HB_MEMORY_H
#define HB_MEMORY_H

#include <string.h>
#include <protobuf-c/protobuf-c.h>
#include "hbase/hbase.h"

/* Returns from the function if expr fails. */
#define HB_TRY(expr)                               \
	do                                             \
	{                                              \
		hb_status try_st_ = (expr);                \
		if (__builtin_expect(try_st_ != HB_OK, 0)) \
			return try_st_;                        \
	} while (0)

/* ---- buffers: zero-filled is empty ---- */

typedef struct hb_buffer
{
	uint8_t *data;
	size_t len;
	size_t cap;
} hb_buffer;

/* Makes sure that there is room for `more` bytes after len.  Errors: HB_NOMEM, here and below. */
extern hb_status hb_memory_reserve(const hb_host *host, hb_buffer *b, size_t more);
extern hb_status hb_memory_append(const hb_host *host, hb_buffer *b, const void *p, size_t n);
/* Replaces the content. */
extern hb_status hb_memory_set(const hb_host *host, hb_buffer *b, hb_bytes bytes);
/* Frees the memory; the buffer is empty then. */
extern void hb_memory_free(const hb_host *host, hb_buffer *b);
/* Makes room for one more element in an array of n elements; see engine/base/array.h. */
extern hb_status hb_memory_array(const hb_host *host, void **array, int n, int *cap, size_t size);

static inline hb_bytes
hb_memory_bytes(const hb_buffer *b)
{
	return (hb_bytes) {b->data, b->len};
}

/* ---- small things ---- */

static inline hb_bytes
hb_text(const char *s)
{
	return (hb_bytes) {(const uint8_t *) s, strlen(s)};
}

/* The same bytes as protobuf-c has them, which does not change what it packs. */
static inline ProtobufCBinaryData
hb_pb(hb_bytes b)
{
	return (ProtobufCBinaryData) {b.len, (uint8_t *) b.data};
}

static inline hb_bytes
hb_from_pb(ProtobufCBinaryData b)
{
	return (hb_bytes) {b.data, b.len};
}

/* Compares unsigned bytes: < 0, 0, > 0. */
extern int hb_memory_compare(hb_bytes a, hb_bytes b);

static inline bool
hb_memory_equal(hb_bytes a, hb_bytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

#endif /* HB_MEMORY_H */

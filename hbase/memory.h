/* memory.h - memory of the host: growing buffers, and arenas that are released as a whole */
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

/* ---- arenas ---- */

struct hb_chunk;

typedef struct hb_arena
{
	const hb_host *host;
	struct hb_chunk *chunks;	  /* the newest first */
	size_t used;				  /* of the newest */
	size_t total;				  /* bytes allocated */
	size_t limit;				  /* of total; 0: none */
	bool failed;				  /* an allocation returned NULL since the last reset */
	ProtobufCAllocator allocator; /* of this arena, for protobuf-c; its free does nothing */
} hb_arena;

extern void hb_arena_init(hb_arena *a, const hb_host *host);
/* Returns size bytes, aligned for any type and filled with zeros, or NULL: a->failed is set. */
extern void *hb_arena_alloc(hb_arena *a, size_t size);
/* Returns a copy followed by a zero byte, or NULL. */
extern uint8_t *hb_arena_copy(hb_arena *a, hb_bytes bytes);
extern char *hb_arena_string(hb_arena *a, const char *s);
/* Releases everything but one chunk. */
extern void hb_arena_reset(hb_arena *a);
extern void hb_arena_free(hb_arena *a);

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
extern int hb_bytes_compare(hb_bytes a, hb_bytes b);

static inline bool
hb_bytes_equal(hb_bytes a, hb_bytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

#endif /* HB_MEMORY_H */

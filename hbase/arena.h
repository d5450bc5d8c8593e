/* arena.h - memory of the host that is released as a whole */
#ifndef HB_ARENA_H
#define HB_ARENA_H

#include <protobuf-c/protobuf-c.h>
#include "hbase/hbase.h"
#include "hbase/memory.h"

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

#endif /* HB_ARENA_H */

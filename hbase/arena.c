/* arena.c - memory of the host that is released as a whole */
#include "hbase/arena.h"

#define CHUNK_MIN ((size_t) 16 * 1024)
#define CHUNK_MAX ((size_t) 1024 * 1024)
#define ALIGNMENT ((size_t) 16)

typedef struct hb_chunk
{
	struct hb_chunk *next;
	size_t size; /* of data */
	_Alignas(16) uint8_t data[];
} hb_chunk;

static void *
pb_alloc(void *arena, size_t size)
{
	return hb_arena_alloc(arena, size);
}

static void
pb_free(void *arena, void *p)
{
	(void) arena;
	(void) p;
}

void
hb_arena_init(hb_arena *a, const hb_host *host)
{
	memset(a, 0, sizeof *a);
	a->host = host;
	a->allocator = (ProtobufCAllocator) {pb_alloc, pb_free, a};
}

void *
hb_arena_alloc(hb_arena *a, size_t size)
{
	size_t n = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	size_t room;
	hb_chunk *c = a->chunks;

	if (n < size || (a->limit > 0 && (n > a->limit || a->total > a->limit - n)))
	{
		a->failed = true;
		return NULL;
	}
	if (c == NULL || c->size - a->used < n)
	{
		room = c == NULL ? CHUNK_MIN : c->size >= CHUNK_MAX / 2 ? CHUNK_MAX : c->size * 2;
		if (room < n)
			room = n;
		c = a->host->alloc(a->host->ctx, sizeof *c + room);
		if (c == NULL)
		{
			a->failed = true;
			return NULL;
		}
		c->next = a->chunks;
		c->size = room;
		a->chunks = c;
		a->used = 0;
	}
	a->used += n;
	a->total += n;
	return memset(c->data + a->used - n, 0, n);
}

uint8_t *
hb_arena_copy(hb_arena *a, hb_bytes bytes)
{
	uint8_t *p = hb_arena_alloc(a, bytes.len + 1);

	if (p != NULL && bytes.len > 0)
		memcpy(p, bytes.data, bytes.len);
	return p;
}

char *
hb_arena_string(hb_arena *a, const char *s)
{
	return (char *) hb_arena_copy(a, hb_text(s));
}

void
hb_arena_reset(hb_arena *a)
{
	hb_chunk *c = a->chunks;

	while (c != NULL && c->next != NULL)
	{
		hb_chunk *next = c->next;

		a->host->free(a->host->ctx, c);
		c = next;
	}
	a->chunks = c;
	a->used = 0;
	a->total = 0;
	a->failed = false;
}

void
hb_arena_free(hb_arena *a)
{
	hb_arena_reset(a);
	if (a->chunks != NULL)
		a->host->free(a->host->ctx, a->chunks);
	a->chunks = NULL;
}

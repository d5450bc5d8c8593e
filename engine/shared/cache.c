/*
 * cache.c - the shared cache of uncompressed blocks.
 *
 * LONG: file: the look-up without a lock and the eviction rely on each other step by step
 *
 * Layout:
 *
 *     head
 *     cache_segment [segments]
 *     ghost[ghosts]       blocks that were dropped lately
 *     bucket[buckets]     4 entries of 32 bytes: where the block of (file, offset) is
 *     arena               segments of equal size (a power of two)
 *
 * The arena is written like a log.  Blocks are appended to a segment, each behind
 * a header with its file and offset.  When the segment is full, the oldest one
 * that is not pinned is emptied and takes its place.  So there is no free list
 * and no fragmentation, a pin is on a whole segment, and an insertion costs a
 * copy.  Frames of one size would not do: blocks have any size from a few hundred
 * bytes to a megabyte.
 *
 * Segments are of two kinds, so that a scan of more than the cache holds does not
 * empty the cache.  Blocks go into a new segment.  When that is emptied, its
 * blocks that were looked up since move to a kept segment, the others are dropped:
 * blocks that a scan reads once replace one another.  A block that comes again
 * soon after it was dropped (the ghosts remember it) goes to a kept segment at
 * once: with more new segments it would have been looked up.
 *
 * Kept segments are emptied only when they are more than KEPT_PART of all, or when
 * half of the bytes of one belong to files that are gone.  Blocks that were looked
 * up since move to the youngest kept segment, but only so many that each emptied
 * segment gives room.  Blocks of high priority (indexes, filters, families in
 * memory) go to kept segments at once, and survive LIVES evictions without a
 * look-up.  If a block to be moved finds no room in the youngest kept segment, the
 * segment that is being emptied becomes the youngest: it keeps what stays at its
 * beginning.
 *
 * Pins: every process has a row of counters, one per segment, which only it
 * writes.  A counter shared by all would bounce between processors.
 *
 * Locking: head, segments and entries change under LOCK_CACHE.  Blocks are written
 * without it, behind a pin, before their entry is written.  A look-up takes no
 * lock.  It is correct because
 *
 *  1. every field of an entry is an atomic of its own, and `version` is odd
 *     while the entry is changed and different afterwards.  A reader that mixes
 *     fields of two states finds out in step 3; until then it uses them only for
 *     the number of a segment, and any value ever stored there is in range.
 *  2. the reader raises its pin, then loads the segment's state (both seq_cst).
 *     The evicter stores EVICTING, then loads the pins (both seq_cst).  In the
 *     single order of the four either the reader sees EVICTING and retreats, or
 *     the evicter sees the pin and leaves the segment alone.
 *  3. when the reader sees USED from after an eviction, its acquire load of the
 *     state makes the versions of all entries that the eviction changed visible;
 *     the reader's last look at the version fails and it retreats.  With the
 *     version unchanged the entry still describes the block, and with the pin
 *     the block stays.  (A version repeats after 2^31 changes; so many do not
 *     happen within one look-up.)
 *
 * A look-up that retreats reports a miss; cache_reserve then looks again under the
 * lock.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/shared/cache.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"

#define WAYS			4
#define SEGMENT_MIN		((uint64_t) 64 * 1024)
#define SEGMENT_MAX		((uint64_t) 4 * 1024 * 1024)
#define SEGMENTS		64	 /* number of segments aimed at */
#define BYTES_PER_ENTRY 2048 /* bytes of the cache per entry; most blocks are larger */
#define KEPT_PART(n)	(3 * (n) / 4)
#define SEGMENTS_MIN	4 /* with fewer no block is cached */
#define NONE			UINT32_MAX
#define LIVES			3  /* evictions that a block of high priority survives without a hit */
#define VICTIM_TRIES	16 /* pinned segments passed over before a block goes to private memory */
#define UNIT			64

/* Between reading an entry and pinning: a test that includes this file runs code here. */
#ifndef CACHE_PAUSE
#define CACHE_PAUSE() ((void) 0)
#endif

enum segment_state
{
	SEG_FREE,
	SEG_USED,
	SEG_EVICTING
};

typedef struct cache_segment
{
	_Atomic uint32_t state; /* enum segment_state */
	uint32_t used;			/* bytes */
	uint32_t live;			/* bytes of blocks that have an entry */
	uint32_t kept;			/* kind: 1 = kept, 0 = new */
	uint64_t born;			/* head's clock when it became current; 0 = empty, taken first */
} cache_segment;

#define FLAG_HIT	1u /* looked up; set without the lock */
#define FLAG_HIGH	2u /* high priority */
#define LIVES_SHIFT 8
#define LIVES_ONE	(1u << LIVES_SHIFT)

typedef struct cache_entry
{
	_Atomic uint64_t file;
	_Atomic uint64_t offset;
	_Atomic uint32_t place; /* of the block's header: units from the beginning of the arena */
	_Atomic uint32_t len;	/* 0 = empty */
	_Atomic uint32_t version;
	_Atomic uint32_t flags;
} cache_entry;

/* A block that was dropped.  Two blocks with the same place in the table and the same hash count
 * as one. */
typedef struct cache_ghost
{
	uint32_t hash;
	uint32_t when; /* lower bits of the head's clock; 0 = free */
} cache_ghost;

typedef struct block_head
{
	uint64_t file;
	uint64_t offset;
	uint32_t len;
	uint32_t reserved[3];
} block_head;

_Static_assert(sizeof(cache_entry) == 32 && sizeof(block_head) == 32,
			   "sizes are part of the layout");

typedef struct cache_head
{
	uint64_t segments_at, ghosts_at, entries_at, arena_at; /* offsets from the head */
	uint64_t segment_bytes;
	uint32_t shift; /* segment_bytes = UNIT << shift */
	uint32_t nsegments;
	uint32_t nbuckets;
	uint32_t nghosts;
	uint32_t current;	   /* new segment that is being filled; NONE at first */
	uint32_t current_kept; /* kept segment that is being filled: the youngest; NONE at first */
	uint32_t nkept;		   /* kept segments */
	uint64_t clock;		   /* rises when a segment becomes current */
	_Atomic uint64_t live; /* bytes of blocks that have an entry */
} cache_head;

struct cache_local
{
	cache_head *head;
	cache_segment *segment;
	cache_ghost *ghost;
	cache_entry *entry;
	uint8_t *arena;
	_Atomic uint32_t *pins; /* the row of this process */
	uint64_t pinned;		/* sum of the row */
};

/* ---------------------------------------------------------------- layout */

static uint64_t
round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* Computes all sizes and offsets in the head from the size of the memory. */
static void
geometry(uint64_t bytes, cache_head *h)
{
	uint64_t size = SEGMENT_MIN;
	uint64_t rest;

	memset(h, 0, sizeof(*h));
	while (size < SEGMENT_MAX && size * 2 * SEGMENTS <= bytes)
		size *= 2;
	h->segment_bytes = size;
	while ((uint64_t) UNIT << h->shift < size)
		h->shift++;
	h->nbuckets = (uint32_t) (bytes / BYTES_PER_ENTRY / WAYS) + 1;
	h->segments_at = round_up(sizeof(cache_head), 64);
	h->nghosts = h->nbuckets * WAYS / 2;
	h->ghosts_at = h->segments_at + round_up(bytes / size * sizeof(cache_segment), 64);
	h->entries_at = h->ghosts_at + round_up(h->nghosts * sizeof(cache_ghost), 64);
	h->arena_at = h->entries_at + (uint64_t) h->nbuckets * WAYS * sizeof(cache_entry);
	rest = bytes > h->arena_at ? bytes - h->arena_at : 0;
	h->nsegments = (uint32_t) (rest / size);
	h->current = h->current_kept = NONE;
}

size_t
cache_bytes_needed(size_t cache_size)
{
	/* entries take 1/64, ghosts 1/512, segments a little */
	return round_up(cache_size + cache_size / 55 + 4096, 64);
}

size_t
cache_pins_bytes(size_t cache_size)
{
	cache_head h;

	geometry(cache_bytes_needed(cache_size), &h);
	return round_up((h.nsegments + 1) * sizeof(uint32_t), 64);
}

void
cache_format(void *mem, size_t bytes)
{
	cache_head *h = mem;

	geometry(bytes, h);
	if (h->nsegments > 0)
		memset((uint8_t *) mem + h->segments_at, 0, h->arena_at - h->segments_at);
}

static _Atomic uint32_t *
pin_row(wide_db *db, uint32_t slot_index)
{
	return LAYOUT_AT(db, db->seg->cache_pins +
							 (uint64_t) slot_index * cache_pins_bytes(db->seg->config.cache_size));
}

wide_status
cache_attach(wide_db *db)
{
	struct cache_local *l = calloc(1, sizeof(*l));
	uint8_t *base = LAYOUT_AT(db, db->seg->cache);

	if (l == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	l->head = (cache_head *) base;
	l->segment = (cache_segment *) (base + l->head->segments_at);
	l->ghost = (cache_ghost *) (base + l->head->ghosts_at);
	l->entry = (cache_entry *) (base + l->head->entries_at);
	l->arena = base + l->head->arena_at;
	l->pins = pin_row(db, db->slot_index);
	db->cache = l;
	return WIDE_OK;
}

void
cache_detach(wide_db *db)
{
	if (db->cache == NULL)
		return;
	if (db->cache->pinned != 0)
	{
		char text[80];

		snprintf(text, sizeof(text), "%llu cache blocks were still pinned at detach",
				 (unsigned long long) db->cache->pinned);
		if (db->host.report != NULL)
			db->host.report(db->host.ctx, 2, text);
		for (uint32_t i = 0; i < db->cache->head->nsegments; i++)
			atomic_store(&db->cache->pins[i], 0);
	}
	free(db->cache);
	db->cache = NULL;
}

/* ------------------------------------------------------------------ pins */

static inline void
pin(struct cache_local *l, uint32_t segment)
{
	/* one writer: no read-modify-write needed, but the order of step 2 */
	atomic_store_explicit(&l->pins[segment],
						  atomic_load_explicit(&l->pins[segment], memory_order_relaxed) + 1,
						  memory_order_seq_cst);
	l->pinned++;
}

static inline void
unpin(struct cache_local *l, uint32_t segment)
{
	/* release: reads of the block come before the evicter sees this */
	atomic_store_explicit(&l->pins[segment],
						  atomic_load_explicit(&l->pins[segment], memory_order_relaxed) - 1,
						  memory_order_release);
	l->pinned--;
}

static bool
segment_pinned(wide_db *db, uint32_t segment)
{
	uint32_t n = layout_processes_used(db);
	size_t stride = cache_pins_bytes(db->seg->config.cache_size) / sizeof(uint32_t);
	_Atomic uint32_t *p = pin_row(db, 0) + segment;

	for (uint32_t i = 0; i < n; i++, p += stride)
		if (atomic_load_explicit(p, memory_order_seq_cst) != 0)
			return true;
	return false;
}

static inline uint32_t
place_segment(const struct cache_local *l, uint32_t place)
{
	return place >> l->head->shift;
}

static inline block_head *
place_block(const struct cache_local *l, uint32_t place)
{
	return (block_head *) (l->arena + (uint64_t) place * UNIT);
}

static inline uint64_t
block_bytes(uint32_t len)
{
	return round_up(sizeof(block_head) + (uint64_t) len, UNIT);
}

static inline void
set_ref(const struct cache_local *l, uint32_t place, uint32_t len, block_ref *out)
{
	out->data = (const uint8_t *) (place_block(l, place) + 1);
	out->len = len;
	out->segment = place_segment(l, place);
}

/* --------------------------------------------------------------- entries */

static inline uint64_t
hash_of(uint64_t file, uint64_t offset)
{
	uint64_t x = (file * 0x9e3779b97f4a7c15ull) ^ (offset * 0xd6e8feb86659fd93ull);

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

static inline cache_entry *
bucket_of(const struct cache_local *l, uint64_t file, uint64_t offset)
{
	return l->entry + ((hash_of(file, offset) & 0xffffffff) * l->head->nbuckets >> 32) * WAYS;
}

/* Remembers a block that is dropped.  Under LOCK_CACHE. */
static void
ghost_add(struct cache_local *l, uint64_t file, uint64_t offset)
{
	uint64_t x = hash_of(file, offset);

	l->ghost[(x & 0xffffffff) * l->head->nghosts >> 32] = (cache_ghost) {
		.hash = (uint32_t) (x >> 32), .when = (uint32_t) l->head->clock};
}

/* Returns true if the block was dropped so lately that it would be there still if KEPT_PART more
 * segments were new ones, and forgets it.  Under LOCK_CACHE. */
static bool
ghost_take(struct cache_local *l, uint64_t file, uint64_t offset)
{
	uint64_t x = hash_of(file, offset);
	cache_ghost *g = &l->ghost[(x & 0xffffffff) * l->head->nghosts >> 32];

	if (g->when == 0 || g->hash != (uint32_t) (x >> 32))
		return false;
	x = (uint32_t) l->head->clock - g->when;
	*g = (cache_ghost) {0};
	return x < KEPT_PART(l->head->nsegments);
}

static inline bool
entry_of_file(const cache_entry *e, uint64_t file)
{
	return atomic_load_explicit(&e->file, memory_order_relaxed) == file &&
		   atomic_load_explicit(&e->len, memory_order_relaxed) != 0;
}

/* Returns the entry of a block or NULL.  Under LOCK_CACHE. */
static cache_entry *
entry_find(const struct cache_local *l, uint64_t file, uint64_t offset)
{
	cache_entry *e = bucket_of(l, file, offset);

	for (int i = 0; i < WAYS; i++, e++)
		if (entry_of_file(e, file) &&
			atomic_load_explicit(&e->offset, memory_order_relaxed) == offset)
			return e;
	return NULL;
}

/* Counts the bytes of a block that gets (more) or loses its entry.  Under LOCK_CACHE. */
static inline void
count_live(struct cache_local *l, uint32_t place, uint32_t len, bool more)
{
	uint64_t n = more ? block_bytes(len) : -block_bytes(len);

	if (len == 0)
		return;
	l->segment[place_segment(l, place)].live += (uint32_t) n;
	atomic_fetch_add_explicit(&l->head->live, n, memory_order_relaxed);
}

/* Writes an entry; len = 0 empties it.  Under LOCK_CACHE. */
static void
entry_write(struct cache_local *l, cache_entry *e, uint64_t file, uint64_t offset, uint32_t place,
			uint32_t len, uint32_t flags)
{
	uint32_t v = atomic_load_explicit(&e->version, memory_order_relaxed);

	count_live(l, atomic_load_explicit(&e->place, memory_order_relaxed),
			   atomic_load_explicit(&e->len, memory_order_relaxed), false);
	count_live(l, place, len, true);
	atomic_store_explicit(&e->version, v + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release); /* odd before any field changes */
	atomic_store_explicit(&e->file, file, memory_order_relaxed);
	atomic_store_explicit(&e->offset, offset, memory_order_relaxed);
	atomic_store_explicit(&e->place, place, memory_order_relaxed);
	atomic_store_explicit(&e->len, len, memory_order_relaxed);
	atomic_store_explicit(&e->flags, flags, memory_order_relaxed);
	atomic_store_explicit(&e->version, v + 2, memory_order_release);
}

static inline uint32_t
entry_flags(const cache_entry *e)
{
	return atomic_load_explicit(&e->flags, memory_order_relaxed);
}

static inline void
entry_hit(cache_entry *e)
{
	uint32_t f = entry_flags(e);

	/* only if not set yet, so that the cache line of a hot entry stays shared */
	if (!(f & FLAG_HIT))
		atomic_fetch_or_explicit(&e->flags, FLAG_HIT, memory_order_relaxed);
}

/* Returns an empty entry of the bucket, or the one that seems least useful.  Under LOCK_CACHE. */
static cache_entry *
entry_place(struct cache_local *l, uint64_t file, uint64_t offset)
{
	cache_entry *b = bucket_of(l, file, offset);
	cache_entry *victim = &b[offset / UNIT % WAYS];
	uint32_t worst = UINT32_MAX;

	for (int i = 0; i < WAYS; i++)
	{
		uint32_t f = entry_flags(&b[i]);

		if (atomic_load_explicit(&b[i].len, memory_order_relaxed) == 0)
			return &b[i];
		f = (f & FLAG_HIT ? 8 * LIVES : 0) + (f >> LIVES_SHIFT) * 2 +
			(l->segment[place_segment(l, atomic_load_explicit(&b[i].place, memory_order_relaxed))]
				 .kept != 0);
		if (f < worst)
		{
			worst = f;
			victim = &b[i];
		}
	}
	/* as in the clock algorithm: the others have used their second chance */
	for (int i = 0; i < WAYS; i++)
		atomic_fetch_and_explicit(&b[i].flags, ~FLAG_HIT, memory_order_relaxed);
	return victim;
}

/* ---------------------------------------------------------------- look up */

bool
cache_get(wide_db *db, uint64_t file, uint64_t offset, block_ref *out)
{
	struct cache_local *l = db->cache;
	cache_entry *e;

	memset(out, 0, sizeof(*out));
	e = bucket_of(l, file, offset);
	for (int i = 0; i < WAYS; i++, e++)
	{
		uint32_t version = atomic_load_explicit(&e->version, memory_order_acquire);
		uint32_t place, len, segment;

		if ((version & 1) != 0 || atomic_load_explicit(&e->file, memory_order_relaxed) != file ||
			atomic_load_explicit(&e->offset, memory_order_relaxed) != offset)
			continue;
		place = atomic_load_explicit(&e->place, memory_order_relaxed);
		len = atomic_load_explicit(&e->len, memory_order_relaxed);
		if (len == 0)
			continue;
		segment = place_segment(l, place);
		/* load the block's memory while the pin is set; harmless if the block is gone */
		__builtin_prefetch(place_block(l, place) + 1);
		CACHE_PAUSE();
		pin(l, segment);
		if (atomic_load_explicit(&l->segment[segment].state, memory_order_seq_cst) == SEG_USED)
		{
			atomic_thread_fence(memory_order_acquire);
			if (atomic_load_explicit(&e->version, memory_order_relaxed) == version)
			{
				entry_hit(e);
				set_ref(l, place, len, out);
				counter_add(db, COUNTER_CACHE_HITS, 1);
				return true;
			}
		}
		unpin(l, segment);
	}
	counter_add(db, COUNTER_CACHE_MISSES, 1);
	return false;
}

/* -------------------------------------------------------------- eviction */

/*
 * Returns true if a block stays when its segment is emptied.  kept: the segment's
 * kind.  moved: bytes of blocks of the segment that stay already.  *flags: the
 * block's flags, replaced by those that it has afterwards.
 */
static bool
stays(const cache_head *h, bool kept, uint64_t moved, uint64_t size, uint32_t *flags)
{
	uint32_t f = *flags;
	uint64_t most = f & FLAG_HIGH ? h->segment_bytes / 4 * 3 : h->segment_bytes / 2;

	*flags = f & FLAG_HIGH ? FLAG_HIGH | LIVES * LIVES_ONE : 0;
	if ((f & FLAG_HIT) == 0)
	{
		if (f >> LIVES_SHIFT == 0)
			return false;
		*flags = f - LIVES_ONE;
	}
	return !kept || moved + size <= most;
}

/* Moves a block of segment `number`, which is being emptied, to the youngest kept segment.
 * Requires: the bytes before the block in its segment are free.  Under LOCK_CACHE. */
static void
move_block(struct cache_local *l, uint32_t number, cache_entry *e, const block_head *b,
		   uint32_t flags)
{
	cache_head *h = l->head;
	uint64_t size = block_bytes(b->len);
	cache_segment *to;
	uint32_t place;

	if (h->current_kept == NONE || l->segment[h->current_kept].used + size > h->segment_bytes)
		h->current_kept = number;
	to = &l->segment[h->current_kept];
	place = (h->current_kept << h->shift) + to->used / UNIT;
	/* within a segment blocks move down, so the header of the next block stays intact */
	if (place_block(l, place) != b)
		memmove(place_block(l, place), b, size);
	to->used += (uint32_t) size;
	b = place_block(l, place);
	entry_write(l, e, b->file, b->offset, place, b->len, flags);
}

/*
 * Moves the blocks that stay out of a segment and drops the others.  Afterwards the
 * segment is empty, or has become the youngest kept one.  Returns false if the
 * segment is pinned.  Under LOCK_CACHE.
 */
static bool
segment_evict(wide_db *db, uint32_t number)
{
	struct cache_local *l = db->cache;
	cache_head *h = l->head;
	cache_segment *s = &l->segment[number];
	uint32_t start = number << h->shift;
	uint64_t end = s->used;
	uint64_t moved = 0;

	if (segment_pinned(db, number))
		return false;
	atomic_store_explicit(&s->state, SEG_EVICTING, memory_order_seq_cst);
	if (segment_pinned(db, number))
	{
		atomic_store_explicit(&s->state, SEG_USED, memory_order_seq_cst);
		return false;
	}
	s->used = 0;
	for (uint64_t at = 0; at < end;)
	{
		uint32_t place = start + (uint32_t) (at / UNIT);
		block_head *b = place_block(l, place);
		uint64_t size = block_bytes(b->len);
		cache_entry *e = entry_find(l, b->file, b->offset);
		uint32_t flags;

		at += size;
		if (e == NULL || atomic_load_explicit(&e->place, memory_order_relaxed) != place)
			continue; /* the file is gone, or the block was never published */
		flags = entry_flags(e);
		if (stays(h, s->kept, moved, size, &flags))
		{
			move_block(l, number, e, b, flags);
			moved += size;
		}
		else
		{
			if (!s->kept)
				ghost_add(l, b->file, b->offset);
			entry_write(l, e, 0, 0, start, 0, 0);
		}
	}
	h->nkept += (uint32_t) (h->current_kept == number) - s->kept;
	s->kept = h->current_kept == number;
	s->born = s->kept ? ++h->clock : 0;
	atomic_store_explicit(&s->state, SEG_USED, memory_order_seq_cst);
	return true;
}

/* Returns the segment to be emptied next among those born until `until`, or NONE.  Under
 * LOCK_CACHE. */
static uint32_t
victim(const struct cache_local *l, uint64_t until)
{
	const cache_head *h = l->head;
	uint32_t best[2] = {NONE, NONE};
	bool first = h->nkept > KEPT_PART(h->nsegments);

	for (uint32_t i = 0; i < h->nsegments; i++)
	{
		const cache_segment *s = &l->segment[i];

		if (i == h->current || i == h->current_kept || s->born > until)
			continue;
		if (s->kept && s->live <= s->used / 2)
			return i;
		if (best[s->kept] == NONE || s->born < l->segment[best[s->kept]].born)
			best[s->kept] = i;
	}
	return best[first] != NONE ? best[first] : best[!first];
}

/* Makes a segment with room for size bytes the current one of its kind.  Returns false if too many
 * segments are pinned.  Under LOCK_CACHE. */
static bool
next_segment(wide_db *db, bool kept, uint64_t size)
{
	struct cache_local *l = db->cache;
	cache_head *h = l->head;
	uint64_t until = h->clock;

	for (int tries = 0; tries < VICTIM_TRIES; tries++)
	{
		uint32_t n = victim(l, until);

		if (n == NONE)
			return false;
		if (!segment_evict(db, n))
			l->segment[n].born = ++h->clock; /* pinned: passed over, as if it were young */
		else if (n != h->current_kept)
		{
			l->segment[n].born = ++h->clock;
			l->segment[n].kept = kept;
			h->nkept += kept;
			*(kept ? &h->current_kept : &h->current) = n;
			return true;
		}
		else if (kept && l->segment[n].used + size <= h->segment_bytes)
			return true;
	}
	return false;
}

/* Allocates room for a block and writes its header.  Returns false if too many segments are pinned.
 * Under LOCK_CACHE. */
static bool
reserve(wide_db *db, uint64_t file, uint64_t offset, uint32_t len, bool kept, uint32_t *place)
{
	struct cache_local *l = db->cache;
	cache_head *h = l->head;
	const uint32_t *current = kept ? &h->current_kept : &h->current;
	uint64_t size = block_bytes(len);
	cache_segment *s;
	block_head *b;

	if ((*current == NONE || l->segment[*current].used + size > h->segment_bytes) &&
		!next_segment(db, kept, size))
		return false;
	s = &l->segment[*current];
	*place = (*current << h->shift) + s->used / UNIT;
	s->used += (uint32_t) size;
	b = place_block(l, *place);
	b->file = file;
	b->offset = offset;
	b->len = len;
	return true;
}

/* ---------------------------------------------------------------- insert */

/* Pins the block if it is in the cache; otherwise returns false.  Under LOCK_CACHE. */
static bool
pin_present(struct cache_local *l, uint64_t file, uint64_t offset, block_ref *out)
{
	cache_entry *e = entry_find(l, file, offset);
	uint32_t place;

	if (e == NULL)
		return false;
	place = atomic_load_explicit(&e->place, memory_order_relaxed);
	pin(l, place_segment(l, place));
	entry_hit(e);
	set_ref(l, place, atomic_load_explicit(&e->len, memory_order_relaxed), out);
	return true;
}

wide_status
cache_reserve(wide_db *db, uint64_t file, uint64_t offset, uint32_t len, bool high, cache_place *p,
			  block_ref *out)
{
	struct cache_local *l = db->cache;

	memset(out, 0, sizeof(*out));
	*p = (cache_place) {.file = file, .offset = offset, .len = len, .place = NONE, .high = high};
	if (len != 0 && block_bytes(len) <= l->head->segment_bytes / 4 * 3 &&
		l->head->nsegments >= SEGMENTS_MIN)
	{
		TRY(segment_lock(db, LOCK_CACHE));
		if (!pin_present(l, file, offset, out) &&
			reserve(db, file, offset, len, ghost_take(l, file, offset) || high, &p->place))
		{
			/* no process can find it yet, and the pin keeps the segment */
			pin(l, place_segment(l, p->place));
			p->to = (uint8_t *) (place_block(l, p->place) + 1);
		}
		segment_unlock(db, LOCK_CACHE);
	}
	if (out->data == NULL && p->to == NULL && (p->to = malloc(len != 0 ? len : 1)) == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a block of %u bytes", len);
	return WIDE_OK;
}

wide_status
cache_publish(wide_db *db, const cache_place *p, block_ref *out)
{
	struct cache_local *l = db->cache;
	wide_status st;

	if (p->place == NONE)
	{
		cache_private(p->to, p->len, out);
		return WIDE_OK;
	}
	st = segment_lock(db, LOCK_CACHE);
	if (st != WIDE_OK)
	{
		cache_abandon(db, p);
		return st;
	}
	if (pin_present(l, p->file, p->offset, out))
		cache_abandon(db, p); /* another process was faster */
	else
	{
		entry_write(l, entry_place(l, p->file, p->offset), p->file, p->offset, p->place, p->len,
					p->high ? FLAG_HIGH | LIVES * LIVES_ONE : 0);
		set_ref(l, p->place, p->len, out);
	}
	segment_unlock(db, LOCK_CACHE);
	return WIDE_OK;
}

void
cache_abandon(wide_db *db, const cache_place *p)
{
	if (p->place == NONE)
		free(p->to);
	else
		unpin(db->cache, place_segment(db->cache, p->place)); /* the next eviction drops it */
}

void
cache_private(void *malloced, uint32_t len, block_ref *out)
{
	out->data = malloced;
	out->len = len;
	out->segment = UINT32_MAX;
}

void
cache_unpin(wide_db *db, block_ref *ref)
{
	if (ref->data == NULL)
		return;
	if (ref->segment == UINT32_MAX)
		free((void *) ref->data);
	else
		unpin(db->cache, ref->segment);
	memset(ref, 0, sizeof(*ref));
}

/* Returns true if the block is of one of the n files, which ascend. */
static bool
entry_of_files(const cache_entry *e, const uint64_t *files, int n)
{
	uint64_t file = atomic_load_explicit(&e->file, memory_order_relaxed);
	int lo = 0;

	if (atomic_load_explicit(&e->len, memory_order_relaxed) == 0)
		return false;
	while (n > 1)
	{
		int half = n / 2;

		lo += files[lo + half] <= file ? half : 0;
		n -= half;
	}
	return files[lo] == file;
}

void
cache_forget_files(wide_db *db, const uint64_t *files, int n)
{
	struct cache_local *l = db->cache;
	uint64_t entries = (uint64_t) l->head->nbuckets * WAYS;

	if (l->head->nsegments < SEGMENTS_MIN || n == 0)
		return;
	/* the search needs no lock: no process adds blocks of a file that is gone */
	for (cache_entry *e = l->entry; e < l->entry + entries; e++)
	{
		if (!entry_of_files(e, files, n))
			continue;
		if (segment_lock(db, LOCK_CACHE) != WIDE_OK)
			return;
		if (entry_of_files(e, files, n))
			entry_write(l, e, 0, 0, 0, 0, 0);
		segment_unlock(db, LOCK_CACHE);
	}
}

uint64_t
cache_used(wide_db *db)
{
	return atomic_load_explicit(&db->cache->head->live, memory_order_relaxed);
}

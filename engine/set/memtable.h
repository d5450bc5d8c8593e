/* memtable.h - memtables: skip lists of entries in shared or private memory */
#ifndef WIDE_MEMTABLE_H
#define WIDE_MEMTABLE_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"

/* memtable.c: an empty list; leaves state, number and region alone */
extern void memtable_format(memtable *t, uint8_t *base, uint64_t capacity);

/*
 * A skip list of entries ordered by (family, key), lock-free for readers and
 * for concurrent inserters.  It never moves or frees a node; memory goes as a
 * whole.  The same code serves shared memtables (memory = region in the
 * segment) and the private batch (memory = reserved address space).
 */
typedef struct memtable_handle
{
	uint8_t *base; /* in this process; links are offsets / 8 from here */
	memtable *t;
} memtable_handle;

/* Empty list in t over capacity bytes at base. */
extern void memtable_init(memtable_handle *m, memtable *t, uint8_t *base, uint64_t capacity);

/* Bytes that inserting this entry can take at most. */
extern size_t memtable_node_bytes(uint32_t klen, uint32_t vlen);

/* Bytes that it takes at this offset (a node's height is a function of it): at most
 * memtable_node_bytes(), about 40 fewer on average. */
extern size_t memtable_node_bytes_at(uint64_t at, uint32_t klen, uint32_t vlen);

#define MEMTABLE_HEIGHT 12

/*
 * Where the caller's last insertion into a memtable was: ascending (or nearly
 * ascending) insertions start there.  Zero-filled before the first one.
 */
typedef struct memtable_hint
{
	/* the last nodes before the last insertion, by level; 0 = none */
	uint32_t before[MEMTABLE_HEIGHT];
} memtable_hint;

/*
 * Insert at the given memory (memtable_node_bytes() bytes, 8-aligned offset `at`
 * from base, reserved by the caller through t->used).  Equal keys: the first
 * stays, the second is dropped (replay).  Never fails.  hint may be NULL.
 */
extern void memtable_insert_hint(memtable_handle *m, uint64_t at, wide_family_id family,
								 const entry *e, memtable_hint *hint);

/*
 * So many bytes at the offset will be written: have the pages mapped.  Reading does
 * it cheaper, as long as they exist, which they do once some process has written
 * there: a fault on reading maps their neighbours, too, one on writing only the one.
 */
extern void memtable_touch(const memtable_handle *m, uint64_t at, uint64_t bytes);

/* The memtable gets an entry whose timestamp is newer than the commit timestamp of its batch;
 * before it is inserted. */
extern void memtable_note_ahead(memtable *t, int64_t ts);

/*
 * The same in two steps, for one process: write a node, and link it, perhaps
 * never.  A value of NULL is left to the caller to fill in.  memtable_write returns the node's
 * reference, as memtable_written does for the offset; memtable_node_end is where the next node may
 * be written (or was: `at` of the next).
 */
extern uint32_t memtable_write(memtable_handle *m, uint64_t at, wide_family_id family,
							   const entry *e);
extern uint32_t memtable_written(uint64_t at);
extern void memtable_link(memtable_handle *m, uint64_t at, memtable_hint *hint);

typedef struct memtable_cursor
{
	memtable_handle m;
	uint32_t node;		   /* 0 = not valid */
	wide_family_id family; /* of the current node */
	entry e;			   /* points into the memory; stable as long as the memtable */
} memtable_cursor;

extern void memtable_cursor_open(memtable_cursor *c, const memtable_handle *m);
extern void memtable_first(memtable_cursor *c);

/* first node >= (family, ukey, ts, seq) */
extern void memtable_seek(memtable_cursor *c, wide_family_id family, const uint8_t *ukey,
						  uint32_t klen, int64_t ts, uint64_t seq);

/* last node < (family, ukey) — may be of a lower family: check c->family */
extern void memtable_seek_before(memtable_cursor *c, wide_family_id family, const uint8_t *ukey,
								 uint32_t klen);
extern void memtable_next(memtable_cursor *c);

static inline bool
memtable_valid(const memtable_cursor *c)
{
	return c->node != 0;
}

/*
 * Entries of a family in [lo, hi) (hi NULL: to the family's end), evenly
 * spread, at most MEMTABLE_SAMPLE: all of them (*each 1), or every one that is on
 * some level of the list, standing for *each entries.  Returns how many.
 */
#define MEMTABLE_SAMPLE 256
extern int memtable_sample(const memtable_handle *m, wide_family_id family, const uint8_t *lo,
						   uint32_t lolen, const uint8_t *hi, uint32_t hilen, uint32_t *nodes,
						   double *each);
extern void memtable_cursor_at(memtable_cursor *c, uint32_t node);
extern uint64_t memtable_node_end(const memtable_cursor *c);
extern void memtable_at(wide_db *db, uint32_t index,
						memtable_handle *m); /* the shared memtable index */

/* Problems of structure: order on every level, counts. For tests and verify. */
extern wide_status memtable_check(memtable_handle *m);

/* Make the active memtable immutable and start another; under LOCK_COMMIT. WIDE_FULL when none
 * is free. (mem space: batch.c) */
extern wide_status memtable_switch(wide_db *db);

#endif /* WIDE_MEMTABLE_H */

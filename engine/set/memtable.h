/*
 * memtable.h - memtables: skip lists of entries in memory that only grow.
 *
 * A list holds the entries of all families, ordered by (family, key).  Readers and
 * concurrent inserters take no lock.  A node is never moved or freed; the memory is
 * released as a whole.  The shared memtables (their memory is a region of the
 * segment) and the list of a batch (reserved address space) are the same.
 */
#ifndef WIDE_MEMTABLE_H
#define WIDE_MEMTABLE_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"

#define MEMTABLE_HEIGHT 12
#define MEMTABLE_SAMPLE 256

/* A process's handle of a memtable. */
typedef struct memtable_handle
{
	uint8_t *base; /* of its memory in this process; offsets count from here */
	memtable *t;
} memtable_handle;

/* Makes t an empty list in capacity bytes at base.  Leaves t's state, number and region alone. */
extern void memtable_format(memtable *t, uint8_t *base, uint64_t capacity);

/* memtable_format, and sets the handle. */
extern void memtable_init(memtable_handle *m, memtable *t, uint8_t *base, uint64_t capacity);

/* Sets the handle to the shared memtable with this index. */
extern void memtable_at(wide_db *db, uint32_t index, memtable_handle *m);

/* ------------------------------------------------------------- insertion */

/* Returns the bytes that inserting such an entry takes at most. */
extern size_t memtable_node_bytes(uint32_t klen, uint32_t vlen);

/* Returns the bytes that it takes at this offset: on average about 40 fewer than
 * memtable_node_bytes, because the offset determines the height of the node. */
extern size_t memtable_node_bytes_at(uint64_t at, uint32_t klen, uint32_t vlen);

/* Where the last insertion of a caller was: the last node before it on each level, 0 = none. */
typedef struct memtable_hint
{
	uint32_t before[MEMTABLE_HEIGHT];
} memtable_hint;

/*
 * Has the pages of these bytes mapped, which will be written.  This reads them: a
 * fault on reading also maps the neighbouring pages that some process has written
 * before, a fault on writing maps only one page.
 */
extern void memtable_touch(const memtable_handle *m, uint64_t at, uint64_t bytes);

/* Records that the memtable gets an entry whose timestamp is newer than the commit timestamp of
 * its batch.  Requires: called before the insertion. */
extern void memtable_note_ahead(memtable *t, int64_t ts);

/*
 * Writes a node with the entry at offset `at` from base.  Returns its reference.  It is not in the
 * list before memtable_link, which may never come.  If e->value is NULL the caller fills in vlen
 * bytes before.
 * Requires: `at` is a multiple of 8; the caller has reserved memtable_node_bytes_at() bytes there
 * through t->used.
 */
extern uint32_t memtable_write(memtable_handle *m, uint64_t at, wide_family_id family,
							   const entry *e);

/*
 * Inserts the node that was written at the offset.  Of entries with equal keys the first stays,
 * the second is dropped (replay).  Never fails.  With a hint (may be NULL) it starts at the hint
 * and updates it: fast if a caller's keys (mostly) ascend.
 * Requires: *hint is zero-filled before the first insertion.
 */
extern void memtable_link(memtable_handle *m, uint64_t at, memtable_hint *hint);

/*
 * memtable_link for n nodes, written at these offsets, with the keys of several rows: their places
 * are searched together, which takes a fraction of the time in a list that is larger than the
 * processor's cache.  Fast if the keys ascend within a row.
 */
extern void memtable_link_all(memtable_handle *m, const uint64_t *at, int n, memtable_hint *hint);

/* Returns the reference of the node that memtable_write has written at the offset. */
extern uint32_t memtable_written(uint64_t at);

/* --------------------------------------------------------------- reading */

typedef struct memtable_cursor
{
	memtable_handle m;
	uint32_t node;		   /* reference of the current node; 0: none */
	wide_family_id family; /* of the current node */
	entry e;			   /* its entry; points into the memory, which stays as it is */
} memtable_cursor;

extern void memtable_cursor_open(memtable_cursor *c, const memtable_handle *m);

/* Moves to the first entry of all families. */
extern void memtable_first(memtable_cursor *c);

/* Moves to the first entry at or after the key, which may be one of a higher family. */
extern void memtable_seek(memtable_cursor *c, wide_family_id family, const uint8_t *ukey,
						  uint32_t klen, int64_t ts, uint64_t seq);

/* Moves to the last entry below (family, ukey), which may be one of a lower family. */
extern void memtable_seek_before(memtable_cursor *c, wide_family_id family, const uint8_t *ukey,
								 uint32_t klen);

/* Moves to the next entry.  Requires: memtable_valid. */
extern void memtable_next(memtable_cursor *c);

/* Moves to a node that memtable_write, memtable_written or memtable_sample returned; 0: none. */
extern void memtable_cursor_at(memtable_cursor *c, uint32_t node);

/* Returns true if the cursor is at an entry. */
static inline bool
memtable_valid(const memtable_cursor *c)
{
	return c->node != 0;
}

/* Returns the offset behind the current node, where memtable_write puts the next one. */
extern uint64_t memtable_node_end(const memtable_cursor *c);

/*
 * Samples the family's entries in [lo, hi) (hi NULL: to the end of the family):
 * references of all entries, or of evenly spread ones, each of which stands for
 * *each entries.
 * Requires: nodes has room for MEMTABLE_SAMPLE.  Returns: the number of references.
 */
extern int memtable_sample(const memtable_handle *m, wide_family_id family, const uint8_t *lo,
						   uint32_t lolen, const uint8_t *hi, uint32_t hilen, uint32_t *nodes,
						   double *each);

/* Checks the structure, for tests and verify: links, the order on each level, counts.
 * Returns: WIDE_OK or WIDE_CORRUPT. */
extern wide_status memtable_check(memtable_handle *m);

/* ------------------------------------------------------ shared memtables */

/* Makes the active memtable immutable and another one active.
 * Requires: LOCK_COMMIT.  Takes LOCK_SET.  Returns: WIDE_FULL, without a text, if none is free. */
extern wide_status memtable_switch(wide_db *db);

#endif /* WIDE_MEMTABLE_H */

/* entry.h - entries (versions of cells and deletes) and their sort order */
#ifndef WIDE_ENTRY_H
#define WIDE_ENTRY_H

#include <string.h>
#include "engine/wide.h"
#include "engine/base/key.h"

/* Sequence numbers from first to last, both inclusive. */
typedef struct seq_range
{
	uint64_t first, last;
} seq_range;

/*
 * The internal key.  Its order is that of one memcmp over
 *
 *     row        00 -> 00 FF, then 00 01
 *     qualifier  00 -> 00 FF, then 00 01       (family-wide deletes: 00 00
 *                                               instead: sorts first in the row)
 *     ~ts        8 bytes, big-endian, of ~(ts ^ 1<<63): newest first
 *     ~(seq<<8 | type)  8 bytes, big-endian: newest first
 *
 * In memory and in blocks the first two (the "ukey", prefix-free) are bytes and the
 * last two are integers.  key_compare gives the same order, and blocks can store
 * timestamps and sequence numbers as small deltas.
 */
enum entry_type
{
	ENTRY_PUT = 0,
	ENTRY_DELETE_VERSION = 1,
	ENTRY_DELETE_COLUMN = 2,
	ENTRY_DELETE_FAMILY = 3,		/* ukey = row + 00 00 */
	ENTRY_DELETE_FAMILY_VERSION = 4 /* ukey = row + 00 00 */
};

#define SEQ_MAX		(((uint64_t) 1 << 56) - 1)
/* Batches whose FINISH record is still to come: these and the place of their commit record. */
#define SEQ_PENDING ((uint64_t) 1 << 54)
/* Operations of the reader's own batch have sequence numbers from here on. */
#define SEQ_BATCH	((uint64_t) 1 << 55)

typedef struct entry
{
	const uint8_t *ukey;
	uint32_t klen;	 /* bytes of ukey */
	uint32_t rowlen; /* bytes of the encoded row at its beginning, with terminator */
	int64_t ts;
	uint64_t seq;
	uint8_t type;	/* enum entry_type */
	uint32_t vlen;	/* bytes of value */
	int64_t ttl_us; /* time to live, 0 = none; of a delete without timestamp: time of its commit */
	const uint8_t *value;
} entry;

/* What the host is shown as the number of a cell's batch: 0 for the reader's own. */
static inline uint64_t
entry_shown_seq(uint64_t seq)
{
	if (seq >= SEQ_BATCH)
		return 0;
	return seq >= SEQ_PENDING ? seq - SEQ_PENDING : seq;
}

static inline bool
entry_is_put(const entry *e)
{
	return e->type == ENTRY_PUT;
}

static inline bool
entry_is_family_delete(const entry *e)
{
	return e->type >= ENTRY_DELETE_FAMILY;
}

/* Returns true for a delete without a timestamp.  Its ttl_us is the engine's timestamp of its
 * commit (provisional in a batch). */
static inline bool
entry_is_untimed(const entry *e)
{
	return e->type != ENTRY_PUT && e->ts == WIDE_TS_MAX;
}

/* Returns the time of a delete: with keep_deleted, readers as of an earlier time do not see it. */
static inline int64_t
entry_delete_time(const entry *e)
{
	return entry_is_untimed(e) && e->ttl_us > 0 ? e->ttl_us : e->ts;
}

/* Compares by ukey ascending, then ts, seq and type descending. */
static inline int
key_compare(const entry *a, const entry *b)
{
	int c = ukey_compare(a->ukey, a->klen, b->ukey, b->klen);

	if (c != 0)
		return c;
	if (a->ts != b->ts)
		return a->ts > b->ts ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq > b->seq ? -1 : 1;
	return (int) b->type - (int) a->type;
}

#endif /* WIDE_ENTRY_H */

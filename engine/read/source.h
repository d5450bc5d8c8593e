/*
 * source.h - one sorted stream of a family's entries, whatever holds them.
 *
 * Three kinds: a memtable (source_memtable.h), files (source_file.h) and the
 * transaction's own batch (engine/batch/batch_source.h).  Each embeds a source as
 * its first member and fills in source.ops.
 */
#ifndef WIDE_SOURCE_H
#define WIDE_SOURCE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/shared/cache.h"

/*
 * What the user of a merge does not need.  Owned by the user; sources look at
 * it when they seek or go on to another file.  All keys are encoded.
 */
typedef struct source_limits
{
	const uint8_t *hi; /* no row at or above this; NULL = open */
	uint32_t hilen;
	const uint8_t *row; /* this row only; filters of files are asked. NULL = no such limit */
	uint32_t rowlen;
	const uint8_t *column; /* with row: of its cells only this ukey (and family deletes) */
	uint32_t columnlen;
	/* what is newer is invisible, 0: nothing is known; with seen_ts, see mem_next_seen */
	uint64_t seen_seq;
	int64_t seen_ts; /* no batch up to seen_seq has a newer commit timestamp */
	/*
	 * Without row: all rows looked for begin with these bytes, encoded without terminator; filters
	 * of files are asked, once for each file and `range`, which is another number for each range of
	 * keys.
	 */
	const uint8_t *prefix;
	uint32_t prefixlen;
	uint64_t range;
	bool by_time; /* memtables and files whose newest timestamp is below ts_min are not needed */
	int64_t ts_min;
	bool pass_old; /* nor are entries below it, and what follows up to hi is read */
	wide_scan_stats *stats;
	/*
	 * A source leaves a block of which entries were used (source_used since it
	 * came there): takes over the pin.
	 */
	void (*keep)(void *arg, block_ref *ref);
	void *keep_arg;
} source_limits;

typedef struct source source;

/* What each kind of source does.  Positions are in e; keys are encoded. */
typedef struct source_ops
{
	wide_status (*seek)(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq);
	wide_status (*next)(source *s);
	/* as source_pass; NULL: a few steps, then a seek */
	wide_status (*pass)(source *s, const uint8_t *ukey, uint32_t klen);
	/* appends the largest row below the bytes; WIDE_END if there is none */
	wide_status (*row_before)(source *s, const uint8_t *ukey, uint32_t klen, buffer *row);
	/* as source_can_wait; NULL: never */
	bool (*can_wait)(const source *s, const entry *first);
	/* adds to limits->stats what has happened since the last call; NULL: nothing to add */
	void (*statistics)(source *s);
	/* releases what it holds and its own memory */
	void (*free)(source *s);
} source_ops;

struct source
{
	const entry *e; /* current, NULL = none */
	const source_ops *ops;
	wide_db *db;
	const source_limits *limits;
	uint32_t order;	   /* of equal entries the source with the lower one comes first */
	bool used;		   /* bytes of the current block have been given out */
	bool before_valid; /* before holds the answer of the last source_row_before, for falling keys */
	bool before_none;
	wide_family_id family;
	buffer before;
};

/* The first entry at or after the key. */
static inline wide_status
source_seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	return s->ops->seek(s, ukey, klen, ts, seq);
}

/* The entry after the current one. */
static inline wide_status
source_next(source *s)
{
	return s->ops->next(s);
}

/*
 * Of one column of one row (limits->column): is all that the source can have of
 * it behind the entry, which another source has?  Then it need not be sought for
 * now.  True for files without deletes whose timestamps are all older.
 */
static inline bool
source_can_wait(const source *s, const entry *first)
{
	return s->ops->can_wait != NULL && s->ops->can_wait(s, first);
}

extern void source_free(source *s); /* harmless on NULL */

/* From an entry below the bytes to the first that is not: a seek that expects to end near by. */
extern wide_status source_pass(source *s, const uint8_t *ukey, uint32_t klen);

/* Largest row below the bytes; WIDE_END when none.  The position is lost. */
extern wide_status source_row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row);

/* Other ranges follow: forget what is remembered for falling keys. */
extern void source_restart(source *s);
extern void source_statistics(source *s);

#endif /* WIDE_SOURCE_H */

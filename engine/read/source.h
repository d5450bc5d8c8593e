/* source.h - one sorted stream of entries: a memtable, a batch, or files */
#ifndef WIDE_SOURCE_H
#define WIDE_SOURCE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_reader.h"
#include "engine/set/memtable.h"

/*
 * One sorted stream of entries of one family: a memtable, the private batch, a
 * file, or a run of disjoint files.
 */
typedef struct source source;
extern wide_status source_mem(wide_db *db, const mem *m, wide_family_id family, source **out);

/* files[0..n) sorted by key and disjoint (n = 1: any file); opened lazily; flags: enum sst_cursor_flags */
extern wide_status source_files(wide_db *db, const file_meta *files, int n, int flags, source **out);
extern void source_free(source *s);

/*
 * What the user of a merge does not need.  Owned by the user; sources look at
 * it when they seek or go on to another file.  All keys are encoded.
 */
typedef struct source_limits
{
	const uint8_t *hi;			/* no row at or above this; NULL = open */
	uint32_t	hilen;
	const uint8_t *row;			/* this row only; filters of files are asked. NULL = no such limit */
	uint32_t	rowlen;
	const uint8_t *column;		/* with row: of its cells only this ukey (and family deletes) */
	uint32_t	columnlen;
	uint64_t	seen_seq;		/* what is newer is invisible, 0: nothing is known; with seen_ts, see mem_next_seen */
	int64_t		seen_ts;		/* no batch up to seen_seq has a newer commit timestamp */
	/*
	 * Without row: all rows looked for begin with these bytes, encoded without terminator; filters of files are
	 * asked, once for each file and `range`, which is another number for each range of keys.
	 */
	const uint8_t *prefix;
	uint32_t	prefixlen;
	uint64_t	range;
	bool		by_time;		/* memtables and files whose newest timestamp is below ts_min are not needed */
	int64_t		ts_min;
	bool		pass_old;		/* nor are entries below it, and what follows up to hi is read */
	wide_scan_stats *stats;
	/*
	 * A source leaves a block of which entries were used (source_used since it
	 * came there): takes over the pin.
	 */
	void		(*keep) (void *arg, block_ref *ref);
	void	   *keep_arg;
} source_limits;

enum source_kind
{
	SOURCE_MEM,
	SOURCE_BATCH,
	SOURCE_FILES
};

struct source
{
	const entry *e;				/* current, NULL = none */
	wide_db    *db;
	const source_limits *limits;
	uint32_t	order;			/* of equal entries the source with the lower one comes first */
	uint8_t		kind;
	bool		used;			/* bytes of the current block have been given out */
	bool		before_valid;	/* before holds the answer of the last source_row_before, for falling keys */
	bool		before_none;
	wide_family_id family;
	buffer		before;
	/* memtable, private batch */
	mem_cursor	mem;
	wide_batch *batch;
	struct own_list *list;		/* that mem is in; NULL: nothing of it is below the mark */
	struct own_reader *own;		/* when there are runs, too */
	uint64_t	spills;			/* of the batch when the source was made */
	uint64_t	mark;
	uint32_t	unseen;			/* entries that were invisible, in a row */
	const uint8_t *auto_ukey;	/* column for which auto_op is known */
	uint32_t	auto_klen;
	uint64_t	auto_op;		/* newest operation with an automatic timestamp in it */
	/* files */
	const file_meta *files;
	int			nfiles;
	int			at;				/* the file that is open, -1 = none */
	int			flags;
	sst_reader *reader;
	sst_cursor	cursor;
	int			asked;			/* its filter has let pass limits->range = asked_range */
	uint64_t	asked_range;
	uint64_t	blocks_read, blocks_cached, seeks;	/* already in the statistics */
};
extern wide_status source_seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq);
extern wide_status source_next(source *s);

/*
 * Of one column of one row (limits->column): is all that the source can have of
 * it behind the entry, which another source has?  Then it need not be sought for
 * now.  True for files without deletes whose timestamps are all older.
 */
extern bool source_can_wait(const source *s, const entry *first);

/* From an entry below the bytes to the first that is not: a seek that expects to end near by. */
extern wide_status source_pass(source *s, const uint8_t *ukey, uint32_t klen);

/* To the first entry of a row of the block that a source of files is on, or behind it: sst_cursor_row. */
extern wide_status source_row(source *s, uint32_t row);

/* Largest row below the bytes; WIDE_END when none.  The position is lost. */
extern wide_status source_row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row);

/* Other ranges follow: forget what is remembered for falling keys. */
extern void source_restart(source *s);
extern void source_statistics(source *s);

/* An empty source for batch.c, and what batch.c does for such sources. */
extern wide_status source_own(wide_db *db, wide_family_id family, source **out);

#endif							/* WIDE_SOURCE_H */

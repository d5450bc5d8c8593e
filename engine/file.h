/*
 * file.h - sorted files: filters, the writer, the reader, the cursor.
 * The bytes are described in sst_write.c, block.h, filter.c and doc/format.md.
 */
#ifndef WIDE_FILE_H
#define WIDE_FILE_H

#include "aside.h"
#include "block.h"

/* ---------------------------------------------------------------- filter */

/* Blocked bloom filter, 64-byte blocks.  hash: wide_hash of the filtered bytes. */
typedef struct filter_builder filter_builder;
extern filter_builder *filter_builder_new(int bits_per_key);
extern void filter_builder_free(filter_builder *f);
extern void filter_builder_reset(filter_builder *f);
extern wide_status filter_builder_add(filter_builder *f, uint64_t hash);
extern wide_status filter_builder_finish(filter_builder *f, wide_bytes *out);	/* len 0 when nothing was added */
extern bool filter_may_contain(const uint8_t *data, uint32_t len, uint64_t hash);	/* true on malformed bytes */

#define FILTER_SEED_ROW		0x726f77ull
#define FILTER_SEED_ROWCOL	0x636f6cull
#define FILTER_SEED_PREFIX	0x707265ull

/* ------------------------------------------------------------------- sst */

extern void sst_path(wide_db *db, uint64_t number, char *path, size_t size);	/* dir/%08llx.sst */

typedef struct sst_writer sst_writer;
/*
 * Write dir/NNNNNNNN.sst.tmp; finish syncs it and renames it; the directory is
 * synced by the caller (sst_sync_dir, once for many files) before the file is
 * listed anywhere.  global: entries carry seq 0 and the file gets its seq at
 * commit (meta.global_seq is set by the caller later).
 */
extern wide_status sst_writer_open(wide_db *db, uint64_t number, wide_family_id family, int level,
								   const wide_family_options *opt, bool global, sst_writer **out);
/* finish does not sync: whoever lists the file does that before. */
extern void sst_writer_unsynced(sst_writer *w);
/* Before the first entry: compress in this thread, once the file is larger than a few blocks.  It has to outlive the writer. */
extern void sst_writer_aside(sst_writer *w, aside *a);
extern uint64_t sst_aside_after;	/* so many blocks; tests */
extern wide_status sst_writer_add(sst_writer *w, const entry *e);
extern uint64_t sst_writer_bytes(const sst_writer *w);	/* written so far */
/* The entry that would come next begins another row; *column: another column. */
extern bool sst_writer_may_end(sst_writer *w, const entry *e, bool *column);
extern wide_status sst_writer_finish(sst_writer *w, file_meta *meta);	/* frees w, also on failure */
extern void sst_writer_abandon(sst_writer *w);	/* removes the file, frees w */
extern wide_status sst_sync_dir(wide_db *db);

/*
 * An open file in this process: descriptor, footer, top index.  Kept in a
 * small LRU; get pins, put unpins.  WIDE_CORRUPT names the file and offset.
 */
typedef struct sst_reader sst_reader;
extern wide_status sst_get(wide_db *db, const file_meta *meta, sst_reader **out);
extern void sst_put(wide_db *db, sst_reader *r);
extern void sst_forget(wide_db *db, uint64_t number);	/* close it when unpinned: the file is gone */
extern void sst_readers_free(wide_db *db);

/* false: the file surely has no entry of the row (encoded, with terminator).  May read a filter block through the cache. */
extern wide_status sst_may_have_row(sst_reader *r, const uint8_t *row, uint32_t rowlen, bool *may);
/* same for one column, when the family has a rowcol bloom (else like the row) ; family deletes of the row count as present */
extern wide_status sst_may_have_column(sst_reader *r, const uint8_t *ukey, uint32_t klen, uint32_t rowlen, bool *may);
/* same for all rows with this prefix (encoded, no terminator), when the file has a filter of prefixes no longer than it (else true) */
extern wide_status sst_may_have_prefix(sst_reader *r, const uint8_t *prefix, uint32_t len, bool *may);

/* Is it worth to ask that?  Not each time, when the answer has been "perhaps" for long. */
extern bool sst_filter_pays(sst_reader *r);

enum sst_cursor_flags
{
	SST_NO_CACHE = 1,			/* compaction: read ahead into private memory, take what the cache has, add nothing */
	SST_DISK = 2				/* with SST_NO_CACHE, verify: not even look into the cache */
};

typedef struct sst_cursor
{
	wide_db    *db;
	sst_reader *r;
	int			flags;
	bool		valid;
	block_cursor index;			/* of the current index partition */
	block_ref	index_ref;
	uint32_t	partition;
	block_cursor block;
	block_ref	block_ref;		/* data block under the cursor */
	uint64_t	block_off;
	uint64_t	blocks_read, blocks_cached, seeks;
	/*
	 * When not NULL: called instead of unpinning when the cursor leaves a data
	 * block, so that a row that spans blocks can keep its bytes; the callee
	 * takes over the pin.  sst_cursor_close leaves the block too.
	 */
	void		(*leave) (void *arg, block_ref *ref);
	void	   *leave_arg;
	struct sst_ahead *ahead;	/* SST_NO_CACHE: bytes of the file read ahead; see sst_read.c */
} sst_cursor;

extern wide_status sst_cursor_open(wide_db *db, sst_reader *r, int flags, sst_cursor *c);	/* takes a pin of its own on r */
extern void sst_cursor_close(sst_cursor *c);
/* The current entry is c->block.e, with seq already set from global_seq; valid until the next move. */
static inline const entry *sst_cursor_entry(const sst_cursor *c) { return &c->block.e; }
extern wide_status sst_cursor_seek(sst_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq);
extern wide_status sst_cursor_seek_before(sst_cursor *c, const uint8_t *ukey, uint32_t klen);
extern wide_status sst_cursor_first(sst_cursor *c);
extern wide_status sst_cursor_next(sst_cursor *c);
/* To the first entry of a row of the block that it is on; behind its last row: of the next block. */
extern wide_status sst_cursor_row(sst_cursor *c, uint32_t row);
/* The sequence number of all entries, 0: each has its own. */
extern uint64_t sst_cursor_seq(const sst_cursor *c);
/* From the current entry to the first with a timestamp >= ts, or to some entry at or above hi (NULL: none). */
extern wide_status sst_cursor_since(sst_cursor *c, int64_t ts, const uint8_t *hi, uint32_t hilen);
/* No block of the file follows (or it may be so). */
extern bool sst_cursor_last_block(const sst_cursor *c);
/* From an entry below the bytes to the first that is not: a seek that expects to end near by. */
extern wide_status sst_cursor_pass(sst_cursor *c, const uint8_t *ukey, uint32_t klen);

/*
 * sst_estimate.c: from the index, the filters, and those data blocks that are
 * in the cache; no data block is read from the file.
 */
/* Fraction [0,1] of the file's data blocks before the first key >= ukey; reads at most one index partition. */
extern wide_status sst_position(sst_reader *r, const uint8_t *ukey, uint32_t klen, double *fraction);
typedef struct sst_extent
{
	double		rows;			/* with an entry in the range */
	double		dead;			/* of these, with nothing but deletes */
	double		cells, blocks;
} sst_extent;
/* What lies in [lo, hi), encoded; NULL: open. */
extern wide_status sst_extent_of(sst_reader *r, const uint8_t *lo, uint32_t lolen, const uint8_t *hi, uint32_t hilen, sst_extent *out);
/* How likely the file has the row (encoded), and how likely it has more than deletes of it if it has. */
extern wide_status sst_row_likely(sst_reader *r, const uint8_t *row, uint32_t rowlen, double *present, double *alive);
typedef wide_status (*sst_key_fn) (void *arg, const uint8_t *ukey, uint32_t klen);
/*
 * Calls fn with an ukey at about every n-th data block (n >= 1), the last one
 * of the block in front: read from the index alone.
 */
extern wide_status sst_sample_keys(sst_reader *r, uint32_t n, sst_key_fn fn, void *arg);
/* The same for n data blocks evenly spread over [lo, hi), or one near it; some may come twice. */
extern wide_status sst_sample_range(sst_reader *r, const uint8_t *lo, uint32_t lolen, const uint8_t *hi, uint32_t hilen,
									uint32_t n, sst_key_fn fn, void *arg);
/* Reads every byte; fn for each problem. */
extern wide_status sst_verify(wide_db *db, const file_meta *meta, wide_problem_fn fn, void *arg);

#endif							/* WIDE_FILE_H */

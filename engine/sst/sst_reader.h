/*
 * sst_reader.h - open sorted files: their blocks, partitions and filters.
 *
 * WIDE_CORRUPT names the file and the offset.
 */
#ifndef WIDE_SST_READER_H
#define WIDE_SST_READER_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_properties.h"
#include "engine/sst/sst_read_ahead.h"

/* How blocks are read. */
enum sst_read_flags
{
	SST_NO_CACHE = 1, /* use a block that is in the block cache, add none: compaction */
	SST_DISK = 2,	  /* with SST_NO_CACHE: do not use the block cache at all: verification */
	SST_CACHED = 4	  /* do not read blocks that are not in the block cache: estimates */
};

/* A partition, from its entry in the top index. */
typedef struct sst_partition
{
	entry last; /* only its key counts; ukey is in the reader's keys */
	sst_handle index;
	sst_handle filter; /* len 0: none */
	uint64_t blocks;   /* data blocks of the file up to the end of the partition */
	uint64_t rows;	   /* rows of the file that begin up to there */
} sst_partition;

struct open_container;

/* A sorted file that this process has open. */
typedef struct sst_reader
{
	wide_db *db;
	uint64_t number;
	uint64_t container;			 /* see file_container */
	struct open_container *open; /* whose descriptor it shares; NULL: it has its own */
	uint64_t global_seq;		 /* sequence number of all entries; 0: each has its own */
	sst_properties prop;
	sst_input file;
	uint64_t body; /* offset where the partitions end and the top index begins */
	/* top index */
	sst_partition *parts;
	uint32_t nparts;
	buffer keys; /* of parts */
	/* does the filter pay? */
	uint32_t perhaps; /* answers "perhaps" since the last "no" */
	uint32_t unasked; /* times that it was not asked, since the last answer */
	/* the process's list of readers */
	int pins;
	bool listed;
	struct sst_reader *hash_next;
	uint64_t last_use;
} sst_reader;

/*
 * Returns a pinned reader of a file in *out, from the process's list if it has one.
 * meta: what the set says of the file; number, family, bytes, cells and global_seq are compared.
 * Errors: WIDE_CORRUPT if the file is missing, damaged or another one; WIDE_NOMEM; others of
 * os_fail().
 */
extern wide_status sst_reader_get(wide_db *db, const file_meta *meta, sst_reader **out);

/* Gives up a pin. */
extern void sst_reader_put(wide_db *db, sst_reader *r);

/* Closes the reader of a file that was removed, now or with its last pin. */
extern void sst_reader_forget(wide_db *db, uint64_t number);

/* Closes all readers, when the process detaches. */
extern void sst_reader_detach(wide_db *db);

/* Opens a reader that is not in the list and not pinned.  Errors: as of sst_reader_get. */
extern wide_status sst_reader_open(wide_db *db, const file_meta *meta, sst_reader **out);

/* Closes a reader that sst_reader_open has opened. */
extern void sst_reader_close(sst_reader *r);

/*
 * Questions to the filter.  They set *may to false if the file has no such entry; a filter block is
 * read through the block cache.  If the file has no fitting filter *may is true.
 */

/* An entry of the row?  row: encoded, with terminator. */
extern wide_status sst_reader_may_have_row(sst_reader *r, const uint8_t *row, uint32_t rowlen,
										   bool *may);

/* An entry of the column, or a family-wide delete of its row?  Asks about the row if the filter
 * does not have columns. */
extern wide_status sst_reader_may_have_column(sst_reader *r, const uint8_t *ukey, uint32_t klen,
											  uint32_t rowlen, bool *may);

/* An entry of a row with the prefix?  prefix: encoded, without terminator.  A filter fits if its
 * prefixes are not longer. */
extern wide_status sst_reader_may_have_prefix(sst_reader *r, const uint8_t *prefix, uint32_t len,
											  bool *may);

/* Returns false if the question is not worth its cost this time. */
extern bool sst_reader_bloom_pays(sst_reader *r);

/*
 * Returns a block, uncompressed and pinned, in *out: from the block cache or from the file.
 * flags: enum sst_read_flags.  high: the block has high priority in the cache.
 * ahead: with SST_NO_CACHE, bytes read ahead; NULL: none.
 * *cached: the block was in the cache; cached may be NULL.
 * Returns: WIDE_END if the block is not in the cache and flags has SST_CACHED.
 */
extern wide_status sst_reader_block(sst_reader *r, sst_handle h, int flags, bool high,
									sst_read_ahead *ahead, block_ref *out, bool *cached);

/* Returns the first partition that ends at or after (ukey, ts, seq); nparts if there is none. */
extern uint32_t sst_reader_find_partition(const sst_reader *r, const uint8_t *ukey, uint32_t klen,
										  int64_t ts, uint64_t seq);

/* Sets *h to the handle in an entry of an index block.  Errors: WIDE_CORRUPT if it is malformed or
 * does not lie inside the file's body. */
extern wide_status sst_reader_handle(const sst_reader *r, const entry *e, sst_handle *h);

/* Returns WIDE_CORRUPT with a text that names the file and the offset. */
extern wide_status sst_reader_corrupt(const sst_reader *r, uint64_t off, const char *what)
	__attribute__((cold));

#endif /* WIDE_SST_READER_H */

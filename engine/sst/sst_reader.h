/* sst_reader.h - opens sorted files and reads their blocks and filters */
#ifndef WIDE_SST_READER_H
#define WIDE_SST_READER_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_properties.h"
#include "engine/sst/sst_read_ahead.h"

/* How blocks are read. */
enum sst_read_flags
{
	SST_NO_CACHE = 1, /* use a block that is in the block cache, add none: compaction */
	SST_DISK = 2	  /* with SST_NO_CACHE: do not use the block cache at all: verification */
};

extern void sst_reader_detach(wide_db *db);

/*
 * An open file in this process: descriptor, footer, top index.  Kept in a
 * small LRU; get pins, put unpins.  WIDE_CORRUPT names the file and offset.
 */
typedef struct sst_reader sst_reader;
extern wide_status sst_reader_get(wide_db *db, const file_meta *meta, sst_reader **out);
extern void sst_reader_put(wide_db *db, sst_reader *r);
/* close it when unpinned: the file is gone */
extern void sst_reader_forget(wide_db *db, uint64_t number);

/* false: the file surely has no entry of the row (encoded, with terminator).  May read a filter
 * block through the cache. */
extern wide_status sst_reader_may_have_row(sst_reader *r, const uint8_t *row, uint32_t rowlen,
										   bool *may);

/* same for one column, when the family has a rowcol bloom (else like the row) ; family deletes
 * of the row count as present */
extern wide_status sst_reader_may_have_column(sst_reader *r, const uint8_t *ukey, uint32_t klen,
											  uint32_t rowlen, bool *may);

/* same for all rows with this prefix (encoded, no terminator), when the file has a filter of
 * prefixes no longer than it (else true) */
extern wide_status sst_reader_may_have_prefix(sst_reader *r, const uint8_t *prefix, uint32_t len,
											  bool *may);

/* Is it worth to ask that?  Not each time, when the answer has been "perhaps" for long. */
extern bool sst_reader_filter_pays(sst_reader *r);

typedef struct sst_partition
{
	const uint8_t *key; /* last ukey, in the reader's keys */
	uint32_t klen;
	int64_t ts; /* of the last entry */
	uint64_t seq;
	sst_handle index;
	sst_handle filter; /* len 0: none */
	uint64_t blocks;   /* data blocks up to the end of this partition */
	uint64_t rows;	   /* and rows */
} sst_partition;

struct sst_reader
{
	wide_db *db;
	uint64_t number;
	uint64_t global_seq;
	sst_input file;
	int pins;
	bool listed; /* in db->readers */
	sst_properties prop;
	uint64_t body; /* where partitions end: offset of the top index */
	sst_partition *parts;
	uint32_t nparts;
	buffer keys;
	uint32_t perhaps; /* answers of the filter since it last left something out */
	uint32_t unasked; /* times that it was not worth to ask it, since the last answer */
	sst_reader *hash_next;
	sst_reader *newer, *older; /* by last use */
};

extern wide_status sst_reader_corrupt(uint64_t number, uint64_t off, const char *what)
	__attribute__((cold));

/* A reader of its own, not in the list; close it with sst_reader_close. */
extern wide_status sst_reader_open(wide_db *db, const file_meta *meta, sst_reader **out);
extern void sst_reader_close(sst_reader *r);

/* A block by its handle: from the cache or the file.  ahead may be NULL. */
extern wide_status sst_reader_block(sst_reader *r, sst_handle h, int flags, bool high,
									sst_read_ahead *ahead, block_ref *out, bool *cached);

/* First partition that ends at or after (ukey, ts, seq); nparts when none does. */
extern uint32_t sst_reader_find_partition(const sst_reader *r, const uint8_t *ukey, uint32_t klen,
										  int64_t ts, uint64_t seq);

/* Parse a handle in an index entry; the block lies inside the file's body. */
extern wide_status sst_reader_handle(const sst_reader *r, const entry *e, sst_handle *h);

#endif /* WIDE_SST_READER_H */

/*
 * sst.h - what the files that write and read sorted files share; private to
 * sst_write.c, sst_read.c, sst_ahead.c, sst_cursor.c, sst_estimate.c and sst_verify.c.
 */
#ifndef WIDE_SST_H
#define WIDE_SST_H

#include "file.h"

#define SST_MAGIC			0x3174737365646977ull	/* "widesst1" */
#define SST_VERSION			2
#define SST_FOOTER			64	/* bytes */
#define SST_TRAILER			13	/* bytes after the payload of every block */
#define SST_PATH			(sizeof(((wide_db *) 0)->dir) + 32)
/* The largest uncompressed block: one entry, and what the block needs around it. */
#define SST_BLOCK_MAX		((uint64_t) WIDE_MAX_VALUE + KEY_UKEY_MAX + 4096)
#define SST_CACHE_MAX		(1024 * 1024)	/* larger blocks do not go through the shared cache */
#define SST_AHEAD			(256 * 1024)

/* In a rowcol filter, of the encoded row: the row has family-wide deletes. */
#define FILTER_SEED_DELETES	0x64656cull

typedef struct sst_handle
{
	uint64_t	off;
	uint32_t	len;			/* of the payload, without trailer */
	uint64_t	rows;			/* index entries: of the partition that begin up to the end of the block */
} sst_handle;

/* Equal bytes at another place or in another file have another checksum. */
static inline uint64_t
sst_seed(uint64_t number, uint64_t off)
{
	return number * 0x9e3779b97f4a7c15ull ^ off;
}

/* The meta block. */
typedef struct sst_properties
{
	file_meta	meta;			/* bytes and global_seq are 0 */
	bool		global;
	bool		in_memory;
	bool		family_deletes;	/* there are some */
	uint8_t		bloom;			/* wide_bloom */
	uint16_t	bloom_prefix;
	uint32_t	block_size;
} sst_properties;

extern wide_status sst_properties_put(buffer *b, const sst_properties *p);
extern bool sst_properties_get(const uint8_t *data, size_t len, sst_properties *p);

/*
 * Counts entries in file order: the writer to describe its file, verify to
 * find that the description is true.  WIDE_INVALID when e is not above the
 * entry before.
 */
typedef struct sst_tally
{
	file_meta	meta;
	buffer		last;			/* ukey of the entry before */
	entry		e;				/* the entry before (ukey is stale, value unset) */
	bool		family_deletes;
	bool		new_row, new_column;	/* of the entry looked at last */
	uint32_t	shared;			/* bytes of its ukey that are those of the entry before */
} sst_tally;

/* In two steps: what the entry begins, and counting it. */
extern wide_status sst_tally_look(sst_tally *t, const entry *e);
extern wide_status sst_tally_count(sst_tally *t, const entry *e);
static inline wide_status
sst_tally_add(sst_tally *t, const entry *e)
{
	TRY(sst_tally_look(t, e));
	return sst_tally_count(t, e);
}
extern void sst_tally_end(sst_tally *t);	/* sets max_row */

/* Hash of the first n raw bytes of an encoded row for the prefix filter; false when it has fewer. */
extern bool sst_prefix_hash(const uint8_t *row, uint32_t rowlen, uint32_t n, uint64_t *hash);

/* ---------------------------------------------------------------- reader */

typedef struct sst_partition
{
	const uint8_t *key;			/* last ukey, in the reader's keys */
	uint32_t	klen;
	int64_t		ts;				/* of the last entry */
	uint64_t	seq;
	sst_handle	index;
	sst_handle	filter;			/* len 0: none */
	uint64_t	blocks;			/* data blocks up to the end of this partition */
	uint64_t	rows;			/* and rows */
} sst_partition;

/* Blocks that were read one after the other. */
typedef struct sst_stream
{
	uint64_t	end;			/* of the last one */
	uint64_t	told;			/* so far the system has been told that they will be read */
	uint32_t	window;			/* bytes to tell next */
	uint32_t	blocks;			/* how many, up to what it takes to believe it */
} sst_stream;

struct sst_reader
{
	wide_db    *db;
	uint64_t	number;
	uint64_t	global_seq;
	uint64_t	size;
	int			fd;
	int			pins;
	bool		listed;			/* in db->readers */
	sst_properties prop;
	uint64_t	body;			/* where partitions end: offset of the top index */
	sst_partition *parts;
	uint32_t	nparts;
	buffer		keys;
	uint32_t	perhaps;		/* answers of the filter since it last left something out */
	uint32_t	unasked;		/* times that it was not worth to ask it, since the last answer */
	sst_stream	streams[2];
	uint8_t		stream;			/* the one that was used last */
	uint8_t    *extents;		/* sst_ahead.c; NULL: not needed yet */
	sst_reader *hash_next;
	sst_reader *newer, *older;	/* by last use */
};

typedef struct sst_ahead
{
	uint8_t    *data;
	size_t		cap;
	uint64_t	off;
	size_t		len;
} sst_ahead;

extern wide_status sst_corrupt(uint64_t number, uint64_t off, const char *what) __attribute__((cold));
/* A reader of its own, not in the list; close it with sst_reader_close. */
extern wide_status sst_reader_open(wide_db *db, const file_meta *meta, sst_reader **out);
extern void sst_reader_close(sst_reader *r);
/* A block by its handle: from the cache or the file.  ahead may be NULL. */
extern wide_status sst_read_block(sst_reader *r, sst_handle h, int flags, bool high, sst_ahead *ahead,
								  block_ref *out, bool *cached);
/* Like pread, for blocks on their way into the cache.  *spent is the process's, 0 at first: see sst_ahead.c. */
extern int64_t sst_pread(sst_reader *r, void *to, size_t n, uint64_t off, int *spent);
/* First partition that ends at or after (ukey, ts, seq); nparts when none does. */
extern uint32_t sst_find_partition(const sst_reader *r, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq);
/* Parse a handle in an index entry; the block lies inside the file's body. */
extern wide_status sst_handle_get(const sst_reader *r, const entry *e, sst_handle *h);

#endif							/* WIDE_SST_H */

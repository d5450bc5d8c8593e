/*
 * block.h - a block of entries in its uncompressed form: what is where.
 *
 * A block is a small table.  Its rows are the different row keys, its columns
 * the different qualifiers, both sorted and kept once; what the entries have
 * besides is in arrays, and the values lie together by column when most rows
 * have most columns.  So each row and each cell is reached without looking at
 * the ones before it, and nothing is read but what is asked for.  Every byte is
 * in doc/format.md; in order:
 *
 *     head             128 bytes
 *     rows             a list of keys
 *     columns          a list of keys
 *     numbers          of entries or rows: timestamps, sequence numbers, types, ttls
 *     list or grid     which cells there are, and their values
 *     8 zero bytes     so that a number is read by one load of 8 bytes
 *
 * block_builder.c makes blocks; block.c reads them entry by entry (a cursor), and
 * gives out rows and columns whole, for scans of many rows (block_column_open,
 * ...).
 *
 * Invariants: no read outside data[0 .. len); lengths that cannot be are
 * WIDE_CORRUPT.  Order is not checked (sst_verify does): wrong order gives wrong
 * answers but no crash and no endless loop.
 */
#ifndef WIDE_BLOCK_H
#define WIDE_BLOCK_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/sst/block_key.h"

#define BLOCK_HEAD		   128
#define BLOCK_SLACK		   8
#define BLOCK_GRID_COLUMNS 64 /* a grid has no more */
#define BLOCK_DIRECTORY	   20 /* bytes for a column of a grid */

enum block_flags
{
	BLOCK_GRID = 1,		  /* no ukey comes twice; values by column */
	BLOCK_DISTINCT = 2,	  /* no ukey comes twice */
	BLOCK_ROW_GOES_ON = 4 /* the next block of the file begins with the same row */
};

/* One column of a grid. */
typedef struct block_column
{
	block_strings values; /* of the rows that have it */
	const uint8_t *bits;  /* which these are; NULL: all */
	const uint8_t *ranks; /* how many before each 64th row */
	uint32_t first;		  /* number of its first value among the entries' numbers */
} block_column;

/* A block, and a position in it. */
typedef struct block_cursor
{
	const uint8_t *data;
	uint32_t len;
	uint32_t entries, rows, columns;
	uint8_t flags;
	block_keys row_keys, column_keys;
	block_numbers ts, seq, type, ttl;
	/* list */
	block_numbers first;  /* entry of each row, and the number of all */
	block_numbers column; /* of each entry */
	block_strings values;
	/* grid */
	const uint8_t *directory;
	block_column *grid; /* as far as parsed */
	uint32_t grid_cap;
	uint64_t parsed; /* which these are */
	/* position */
	bool valid;
	uint32_t row;
	uint32_t at;	  /* list: entry; grid: column */
	uint32_t row_end; /* list: entry behind the row */
	uint32_t key_row; /* whose key is in key; rows: none */
	uint32_t key_rowlen;
	uint32_t next_value; /* list: entry that begins at next_off */
	uint32_t next_off;
	buffer key; /* the reconstructed ukey */
	entry e;	/* current; e.ukey = key.data, e.value points into the block */
} block_cursor;

/* WIDE_CORRUPT when the block is not well-formed; never reads outside data[0..len). */
extern wide_status block_open(block_cursor *c, const uint8_t *data, uint32_t len);
extern wide_status block_first(block_cursor *c);
extern wide_status block_next(block_cursor *c); /* c->valid false after the last */
extern wide_status block_last(block_cursor *c);

/* first entry >= (ukey, ts, seq) in key order; ts = INT64_MAX, seq = SEQ_MAX: first of the ukey */
extern wide_status block_seek(block_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts,
							  uint64_t seq);

/* last entry with ukey < the given bytes */
extern wide_status block_seek_before(block_cursor *c, const uint8_t *ukey, uint32_t klen);

/* From the current entry to the first with a timestamp >= ts, which may be this one; not valid:
 * there is none. */
extern wide_status block_since(block_cursor *c, int64_t ts);

/* the first entry of a row; rows: not valid */
extern wide_status block_seek_row(block_cursor *c, uint32_t row);

/* How many entries lie before the current one (not valid: all). */
extern wide_status block_entries_before(block_cursor *c, uint32_t *n);

/* The n-th entry, counted from 0; the last one when there are not so many. */
extern wide_status block_seek_entry(block_cursor *c, uint32_t n);
/* frees memory; the struct may be reused by block_open without it */
extern void block_close(block_cursor *c);

/* What the head says of all entries is true; WIDE_CORRUPT.  The position is lost. */
extern wide_status block_check(block_cursor *c);

/*
 * The first row whose key is not below the bytes (a key or bound of any kind): it
 * begins with it, or is above.  from: a row that it is likely not far behind; 0:
 * nothing is known.  The answer does not depend on it.
 */
extern wide_status block_row_at(const block_cursor *c, uint32_t from, const uint8_t *ukey,
								uint32_t klen, uint32_t *row);

/* The place of the qualifier among the columns, or of the next one; *exact: it is there. */
extern wide_status block_find_column(const block_cursor *c, const uint8_t *qual, uint32_t n,
									 uint32_t *column, bool *exact);

/* A column of a grid; stays until the block is left. */
extern wide_status block_column_open(block_cursor *c, uint32_t column, const block_column **out);

/* Where string i begins; i may be their number. */
extern wide_status block_string_start(const block_strings *s, uint32_t i, uint32_t *off);
extern wide_status block_malformed(const block_cursor *c, const char *what);

/* A list's first entry of a row (rows: the number of all entries). */
static inline uint32_t
block_first_entry(const block_cursor *c, uint32_t row)
{
	if (c->first.width == 0)
		return row * (c->rows > 0 ? c->entries / c->rows : 0);
	return (uint32_t) block_number(&c->first, row);
}

/* The column of a list's entry. */
static inline uint32_t
block_column_of(const block_cursor *c, uint32_t at)
{
	if (c->column.width == 0)
		return c->columns > 1 ? at : 0;
	return (uint32_t) block_number(&c->column, at);
}

/* Has the row the column?  *i: its number among those that have it, or of those before. */
static inline bool
block_column_has(const block_column *k, uint32_t row, uint32_t *i)
{
	uint64_t word;
	uint64_t bit = UINT64_C(1) << (row & 63);

	if (k->bits == NULL)
	{
		*i = row;
		return true;
	}
	word = get_u64le(k->bits + (row / 64) * 8);
	*i = get_u32le(k->ranks + (row / 64) * 4) + (uint32_t) __builtin_popcountll(word & (bit - 1));
	return (word & bit) != 0;
}

#endif /* WIDE_BLOCK_H */

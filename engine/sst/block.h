/*
 * block.h - a block of entries in its uncompressed form, and a cursor in it.
 *
 * A block is a small table.  Its rows are the different row keys, its columns the different
 * qualifiers; both are sorted and stored once.  The timestamps, sequence numbers, types and ttls of
 * the entries are in arrays (block_key.h).  If most rows have most columns the values are stored by
 * column (grid), otherwise in key order (list).  So each row and each cell is reached without
 * looking at the ones before it.  In order (doc/format.md has every byte):
 *
 *     head             128 bytes
 *     rows             a list of keys
 *     columns          a list of keys
 *     numbers          of entries or rows: timestamps, sequence numbers, types, ttls
 *     list or grid     which cells there are, and their values
 *     8 zero bytes     so that one load of 8 bytes reads any number
 *
 * block_builder.c makes blocks.  Scans of many rows read rows and columns as a whole
 * (block_row_at, block_column_open, ...), others go from entry to entry.
 *
 * Invariants: nothing outside data[0 .. len) is read; impossible lengths give WIDE_CORRUPT.  The
 * order of the entries is not checked (sst_verify does): a wrong order gives wrong answers, but no
 * crash and no endless loop.
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
#define BLOCK_GRID_COLUMNS 64 /* the most columns of a grid */
#define BLOCK_DIRECTORY	   20 /* bytes per column in a grid's directory */

/* The flags of a block, as stored. */
enum block_flags
{
	BLOCK_GRID = 1,		  /* a grid; no ukey occurs twice */
	BLOCK_DISTINCT = 2,	  /* no ukey occurs twice */
	BLOCK_ROW_GOES_ON = 4 /* the next block of the file begins with the last row of this one */
};

/* One column of a grid. */
typedef struct block_column
{
	block_strings values; /* of the rows that have the column, in order */
	const uint8_t *bits;  /* bit map of these rows; NULL: all rows */
	const uint8_t *ranks; /* u32 per 64 rows: number of bits before them */
	uint32_t first;		  /* index of the first value's numbers among those of all entries */
} block_column;

/* A block, and a position in it.  Zero-filled is closed. */
typedef struct block_cursor
{
	const uint8_t *data; /* the caller's; must stay while the block is open */
	uint32_t len;
	uint32_t entries, rows, columns;
	uint8_t flags; /* enum block_flags */
	block_keys row_keys, column_keys;
	block_numbers ts, seq, type, ttl;
	/* list */
	block_numbers first;  /* number of the first entry of each row; one more: of all entries */
	block_numbers column; /* of each entry */
	block_strings values;
	/* grid */
	const uint8_t *directory;
	block_column *grid; /* parsed columns */
	uint32_t grid_cap;
	uint64_t parsed; /* bit map of the columns in grid that are parsed */
	/* position */
	bool valid; /* on an entry */
	uint32_t row;
	uint32_t at;	  /* list: number of the entry; grid: column */
	uint32_t row_end; /* list: number of the first entry behind the row */
	entry e;		  /* the current entry; ukey is key.data, value points into the block */
	/* what is left of the position before */
	buffer key;		  /* the reconstructed ukey */
	uint32_t key_row; /* the row whose key is in it; rows: none */
	uint32_t key_rowlen;
	uint32_t next_value; /* list: number of the entry whose value begins at next_off */
	uint32_t next_off;
} block_cursor;

/*
 * Opens the block of len bytes at data; the position is not valid.  c must be zero-filled or have
 * been used with another block.  Errors: WIDE_CORRUPT if the block is not well-formed, WIDE_NOMEM.
 */
extern wide_status block_open(block_cursor *c, const uint8_t *data, uint32_t len);

/* Frees the cursor's memory, not the block. */
extern void block_close(block_cursor *c);

/*
 * Moves.  c->valid is false afterwards if there is no such entry.
 * Errors: WIDE_CORRUPT, WIDE_NOMEM; the position is then not valid.
 */
extern wide_status block_first(block_cursor *c);
extern wide_status block_next(block_cursor *c);
extern wide_status block_last(block_cursor *c);

/* Moves to the first entry >= (ukey, ts, seq) in key order.  With ts = INT64_MAX and seq = SEQ_MAX
 * this is the first entry of the ukey. */
extern wide_status block_seek(block_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts,
							  uint64_t seq);

/* Moves to the last entry with a smaller ukey. */
extern wide_status block_seek_before(block_cursor *c, const uint8_t *ukey, uint32_t klen);

/* Moves from the current entry to the first with a timestamp >= ts, which may be the current
 * one. */
extern wide_status block_since(block_cursor *c, int64_t ts);

/*
 * Moves over entries behind the current one and puts their sequence numbers, as stored, into seqs,
 * `most` of them at most; *n: how many.  The position is then on the last of them.  All are puts of
 * the current entry's ukey without a ttl, with timestamps >= since that fall from one to the next.
 * It may stop before any entry.  Errors: WIDE_CORRUPT, WIDE_NOMEM.
 */
extern wide_status block_pass_versions(block_cursor *c, int64_t since, uint64_t *seqs, int most,
									   int *n);

/* Moves to the first entry of a row; row = c->rows: not valid. */
extern wide_status block_seek_row(block_cursor *c, uint32_t row);

/* Moves to the n-th entry, counted from 0, or to the last one if there are fewer. */
extern wide_status block_seek_entry(block_cursor *c, uint32_t n);

/* Sets *n to the number of entries before the current one (not valid: to that of all). */
extern wide_status block_entries_before(block_cursor *c, uint32_t *n);

/* Compares all entries with what the head says of them; the position is lost afterwards.
 * Errors: WIDE_CORRUPT. */
extern wide_status block_check(block_cursor *c);

/*
 * Sets *row to the first row whose key is not below the bytes, which are a key or a bound of any
 * kind.  A row's key that the bytes begin with is not below them.
 * from: a row that is likely to be a little before the result, or 0; it affects only the speed.
 */
extern wide_status block_row_at(const block_cursor *c, uint32_t from, const uint8_t *ukey,
								uint32_t klen, uint32_t *row);

/* Sets *column to the first column whose qualifier is not below the given one; *exact: it is
 * equal. */
extern wide_status block_find_column(const block_cursor *c, const uint8_t *qual, uint32_t n,
									 uint32_t *column, bool *exact);

/* Puts the stored form of the block's columns into *out, or nothing if that is long.  Errors:
 * WIDE_NOMEM. */
extern wide_status block_columns_note(const block_cursor *c, buffer *out);

/* Returns true if the block has the columns that were noted, with the same numbers. */
extern bool block_columns_are(const block_cursor *c, const buffer *noted);

/* Returns a column of a grid in *out; valid until block_open or block_close. */
extern wide_status block_column_open(block_cursor *c, uint32_t column, const block_column **out);

/* Sets *off to where string i begins; i may be the number of strings.  Errors: WIDE_CORRUPT. */
extern wide_status block_string_start(const block_strings *s, uint32_t i, uint32_t *off);

/* Returns WIDE_CORRUPT with a text; what: the part of the block that is wrong. */
extern wide_status block_malformed(const block_cursor *c, const char *what);

/* Returns the number of a list row's first entry; row = c->rows: the number of all entries. */
static inline uint32_t
block_first_entry(const block_cursor *c, uint32_t row)
{
	if (c->first.width == 0)
		return row * (c->rows > 0 ? c->entries / c->rows : 0);
	return (uint32_t) block_number(&c->first, row);
}

/* Returns the column of entry `at` of a list. */
static inline uint32_t
block_column_of(const block_cursor *c, uint32_t at)
{
	if (c->column.width == 0)
		return c->columns > 1 ? at : 0;
	return (uint32_t) block_number(&c->column, at);
}

/* Returns true if the block is a list of one column that each row has once.  *k is then this column
 * as that of a grid would be; valid until block_open or block_close. */
static inline bool
block_is_column(const block_cursor *c, block_column *k)
{
	if ((c->flags & BLOCK_GRID) != 0 || c->columns != 1 || c->entries != c->rows ||
		c->first.width != 0)
		return false;
	*k = (block_column) {.values = c->values};
	return true;
}

/* Returns true if the row has the column.  *i: how many rows before it have the column. */
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

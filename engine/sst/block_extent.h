/*
 * block_extent.h - what the size of a block depends on, kept up to date entry by entry.
 *
 * The writer must know how large a block would be before it is built.  A block_extent holds the
 * counts and the ranges of numbers that decide the widths of a block's arrays (block.h).  It is
 * a plain value: a copy answers "how large with this entry, too?".
 */
#ifndef WIDE_BLOCK_EXTENT_H
#define WIDE_BLOCK_EXTENT_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/sst/block.h"

typedef struct block_range
{
	uint64_t least, most;
} block_range;

/* The arrays of the entries' numbers, in the order of the block. */
enum block_array
{
	BLOCK_TS,
	BLOCK_SEQ,
	BLOCK_TYPE,
	BLOCK_TTL,
	BLOCK_ARRAYS
};

typedef struct block_extent
{
	uint32_t entries, rows, columns;
	uint32_t in_row; /* entries of the last row */
	bool distinct;	 /* no ukey comes twice */
	/* keys and values */
	uint64_t row_bytes;	   /* of the row keys as they are stored, without shared prefixes */
	uint64_t column_bytes; /* of whole qualifiers */
	uint64_t value_bytes;
	uint32_t column_most;	/* length of the longest qualifier */
	block_range key_length; /* of row keys as they are stored */
	block_range value_length;
	block_range row_entries; /* entries per row, the last row excepted */
	/* of the arrays of numbers; signed ones in the form of block_signed() */
	block_range number[BLOCK_ARRAYS];
	bool by_row[BLOCK_ARRAYS]; /* all entries of a row have the same */
} block_extent;

/* Maps signed numbers to unsigned ones in the same order, and back. */
static inline uint64_t
block_signed(uint64_t v)
{
	return v ^ (uint64_t) 1 << 63;
}

/* Returns how many bytes numbers up to n need; 0 for n = 0. */
static inline uint32_t
block_width(uint64_t n)
{
	return n == 0 ? 0 : (71 - (uint32_t) __builtin_clzll(n)) / 8;
}

static inline uint32_t
block_range_width(const block_range *r)
{
	return block_width(r->most - r->least);
}

/* Width of the stored offsets of strings with nbytes in all. */
static inline uint32_t
block_start_width(uint64_t nbytes)
{
	return nbytes <= UINT16_MAX ? 2 : 4;
}

static inline uint64_t
block_groups(uint64_t n)
{
	return (n + BLOCK_GROUP - 1) / BLOCK_GROUP;
}

/* Width of the entry numbers at which rows begin; 0: all rows have equally many entries. */
static inline uint32_t
block_extent_first_width(const block_extent *x)
{
	bool even = x->rows < 2 ||
				(x->row_entries.least == x->row_entries.most && x->in_row == x->row_entries.most);

	return even ? 0 : block_width(x->entries);
}

/* Width of the column numbers of entries; 0: there is one column, or entry i is of column i. */
static inline uint32_t
block_extent_column_width(const block_extent *x)
{
	if (x->columns < 2 || (x->rows == 1 && x->columns == x->entries))
		return 0;
	return block_width(x->columns - 1);
}

static inline void
block_range_add(block_range *r, uint64_t v, bool first)
{
	if (first || v < r->least)
		r->least = v;
	if (first || v > r->most)
		r->most = v;
}

/*
 * Adds an entry.
 * new_row: it begins a row, and `rest` bytes of the row's key are stored.
 * new_column: its column is new to the block; same_column: it has the ukey of the entry before.
 * ts, seq: of the entry before; not used with new_row.
 */
static inline void
block_extent_add(block_extent *x, const entry *e, bool new_row, uint32_t rest, bool new_column,
				 bool same_column, uint64_t ts, uint64_t seq)
{
	bool first = x->entries == 0;

	block_range_add(&x->number[BLOCK_TS], block_signed((uint64_t) e->ts), first);
	block_range_add(&x->number[BLOCK_SEQ], e->seq, first);
	block_range_add(&x->number[BLOCK_TYPE], e->type, first);
	block_range_add(&x->number[BLOCK_TTL], block_signed((uint64_t) e->ttl_us), first);
	block_range_add(&x->value_length, e->vlen, first);
	if (first)
		x->by_row[BLOCK_TS] = x->by_row[BLOCK_SEQ] = x->distinct = true;
	else if (!new_row)
	{
		x->by_row[BLOCK_TS] = x->by_row[BLOCK_TS] && ts == (uint64_t) e->ts;
		x->by_row[BLOCK_SEQ] = x->by_row[BLOCK_SEQ] && seq == e->seq;
	}
	if (new_row)
	{
		block_range_add(&x->key_length, rest, first);
		x->row_bytes += rest;
		if (x->rows > 0)
			block_range_add(&x->row_entries, x->in_row, x->rows == 1);
		x->rows++;
		x->in_row = 0;
	}
	if (new_column)
	{
		uint32_t n = e->klen - e->rowlen;

		x->column_most = n > x->column_most ? n : x->column_most;
		x->column_bytes += n;
		x->columns++;
	}
	x->distinct = x->distinct && !same_column;
	x->in_row++;
	x->entries++;
	x->value_bytes += e->vlen;
}

/* Returns an upper bound of the block's bytes in the list form. */
extern size_t block_extent_list_size(const block_extent *x);

/* Returns true if the grid form is possible and smaller than the list form. */
extern bool block_extent_grid_pays(const block_extent *x);

#endif /* WIDE_BLOCK_EXTENT_H */

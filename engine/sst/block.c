/*
 * block.c - reading a block: searching, and moving through its entries.  block.h describes the
 * form.
 *
 * The parts behind the head are found by adding up their sizes; block_open() checks each size
 * against the block's length.  Offsets and counts inside a part (starts of strings, ranks, first
 * entries of rows) are checked when they are used.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/sst/block.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/sst/block_key.h"

#define PREFETCH_BYTES 1024

__attribute__((noinline)) wide_status
block_malformed(const block_cursor *c, const char *what)
{
	return status_fail(WIDE_CORRUPT, "malformed block of %u bytes: %s", c->len, what);
}

static __attribute__((noinline)) wide_status
malformed(block_cursor *c, const char *what)
{
	c->valid = false;
	return block_malformed(c, what);
}

/* ---------------------------------------------------------------- opening */

/* Returns the next n * width bytes from *at, which it moves behind them; NULL: there are fewer. */
static const uint8_t *
section(const block_cursor *c, uint64_t *at, uint64_t n, uint64_t width)
{
	const uint8_t *p = c->data + *at;
	uint64_t room = c->len - BLOCK_SLACK - *at;

	if (width != 0 && n > room / width)
		return NULL;
	*at += n * width;
	return p;
}

static inline uint64_t
mask_of(uint32_t width)
{
	return width == 0 ? 0 : UINT64_MAX >> (64 - 8 * width);
}

/* Opens n strings at *at: lengths, starts and bytes.  how: their description in the head. */
static bool
open_strings(const block_cursor *c, const uint8_t *how, uint32_t n, uint64_t *at, block_strings *s)
{
	s->n = n;
	s->nbytes = get_u32le(how);
	s->base = get_u32le(how + 4);
	s->width = how[8];
	if (s->width > 4)
		return false;
	s->mask = (uint32_t) mask_of(s->width);
	if ((s->lengths = section(c, at, n, s->width)) == NULL)
		return false;
	s->starts = section(c, at, s->width == 0 ? 0 : ((uint64_t) n + BLOCK_GROUP - 1) / BLOCK_GROUP,
						s->nbytes <= UINT16_MAX ? 2 : 4);
	if (s->starts == NULL || (s->bytes = section(c, at, s->nbytes, 1)) == NULL)
		return false;
	return s->width > 0 || (uint64_t) n * s->base == s->nbytes;
}

static bool
open_keys(const block_cursor *c, const uint8_t *how, uint32_t n, uint64_t *at, block_keys *k)
{
	uint32_t w = how[9];

	if (w > 2 || get_u16le(how + 10) != 0)
		return false;
	k->shared = (block_numbers) {.mask = mask_of(w), .width = w};
	if ((k->shared.p = section(c, at, n, w)) == NULL)
		return false;
	return open_strings(c, how, n, at, &k->rest);
}

static bool
open_numbers(const block_cursor *c, const uint8_t *how, uint64_t *at, block_numbers *a)
{
	a->base = get_u64le(how);
	a->most = get_u64le(how + 8);
	a->width = how[16];
	a->by_row = how[17] == 1;
	if (a->width > 8 || how[17] > 1)
		return false;
	a->mask = mask_of(a->width);
	a->p = section(c, at, a->by_row ? c->rows : c->entries, a->width);
	return a->p != NULL && (a->width > 0 || a->base == a->most);
}

static bool
open_list(block_cursor *c, uint64_t *at)
{
	uint32_t fw = c->data[13], cw = c->data[14];

	if (fw > 4 || cw > 4 || (fw == 0 && c->rows > 0 && c->entries % c->rows != 0) ||
		(cw == 0 && c->columns > 1 && (c->rows != 1 || c->columns != c->entries)))
		return false;
	c->first = (block_numbers) {.mask = mask_of(fw), .width = fw};
	c->column = (block_numbers) {.mask = mask_of(cw), .width = cw};
	return (c->first.p = section(c, at, (uint64_t) c->rows + 1, fw)) != NULL &&
		   (c->column.p = section(c, at, c->entries, cw)) != NULL &&
		   open_strings(c, c->data + 112, c->entries, at, &c->values);
}

static bool
open_parts(block_cursor *c)
{
	uint64_t at = BLOCK_HEAD;

	if (!open_keys(c, c->data + 88, c->rows, &at, &c->row_keys) ||
		!open_keys(c, c->data + 100, c->columns, &at, &c->column_keys) ||
		!open_numbers(c, c->data + 16, &at, &c->ts) ||
		!open_numbers(c, c->data + 34, &at, &c->seq) ||
		!open_numbers(c, c->data + 52, &at, &c->type) ||
		!open_numbers(c, c->data + 70, &at, &c->ttl))
		return false;
	if (c->seq.most > SEQ_MAX || c->type.most > ENTRY_DELETE_FAMILY_VERSION || c->type.width > 1)
		return false;
	if ((c->flags & BLOCK_GRID) == 0)
		return open_list(c, &at) && at == c->len - BLOCK_SLACK;
	if (c->columns > BLOCK_GRID_COLUMNS)
		return false;
	c->directory = section(c, &at, c->columns, BLOCK_DIRECTORY);
	return c->directory != NULL;
}

/* Makes the block one without entries. */
static void
set_empty(block_cursor *c)
{
	c->entries = c->rows = c->columns = 0;
	c->valid = false;
}

/*
 * A search jumps between parts of the row keys and would wait for memory at each of them.  So they
 * are prefetched while the head is read; they follow it and mostly fit into PREFETCH_BYTES.
 */
static inline void
prefetch_keys(const uint8_t *data, uint32_t len)
{
	uint32_t end = len < PREFETCH_BYTES ? len : PREFETCH_BYTES;

	for (uint32_t i = BLOCK_HEAD; i < end; i += 64)
		__builtin_prefetch(data + i);
}

wide_status
block_open(block_cursor *c, const uint8_t *data, uint32_t len)
{
	c->data = data;
	c->len = len;
	c->parsed = 0;
	c->next_value = UINT32_MAX;
	set_empty(c);
	if (len < BLOCK_HEAD + BLOCK_SLACK)
		return block_malformed(c, "too short");
	prefetch_keys(data, len);
	c->entries = get_u32le(data);
	c->rows = get_u32le(data + 4);
	c->columns = get_u32le(data + 8);
	c->flags = data[12];
	/* these bounds guarantee everywhere that loops over rows, columns and entries end */
	if (c->rows > len || c->columns > len || c->rows > c->entries || c->columns > c->entries ||
		c->entries > (uint64_t) len * BLOCK_GRID_COLUMNS ||
		(c->entries > 0 && (c->rows == 0 || c->columns == 0)) ||
		(c->flags & ~(BLOCK_GRID | BLOCK_DISTINCT | BLOCK_ROW_GOES_ON)) != 0 || !open_parts(c))
	{
		set_empty(c);
		return block_malformed(c, "the head does not match the length");
	}
	c->key_row = c->rows;
	if ((c->flags & BLOCK_GRID) != 0 && c->grid_cap < c->columns)
	{
		block_column *grid = realloc(c->grid, c->columns * sizeof(*grid));

		if (grid == NULL)
		{
			set_empty(c);
			return status_fail(WIDE_NOMEM, "out of memory for a block");
		}
		c->grid = grid;
		c->grid_cap = c->columns;
	}
	return WIDE_OK;
}

void
block_close(block_cursor *c)
{
	buffer_free(&c->key);
	free(c->grid);
	c->grid = NULL;
	c->grid_cap = 0;
	set_empty(c);
}

/* --------------------------------------------------------------- searching */

wide_status
block_string_start(const block_strings *s, uint32_t i, uint32_t *off)
{
	if (!block_string_offset(s, i, off))
		return status_fail(WIDE_CORRUPT, "malformed block: a string begins behind the last");
	return WIDE_OK;
}

wide_status
block_row_at(const block_cursor *c, uint32_t from, const uint8_t *ukey, uint32_t klen,
			 uint32_t *row)
{
	int cmp;
	uint32_t n;

	if (!block_key_find(&c->row_keys, c->rows, from, ukey, klen, row, &cmp, &n))
		return block_malformed(c, "a row's key");
	return WIDE_OK;
}

wide_status
block_find_column(const block_cursor *c, const uint8_t *qual, uint32_t n, uint32_t *column,
				  bool *exact)
{
	int cmp;
	uint32_t length;

	if (!block_key_find(&c->column_keys, c->columns, 0, qual, n, column, &cmp, &length))
		return block_malformed(c, "a column's qualifier");
	*exact = *column < c->columns && cmp == 0 && length == n;
	/* unlike with rows, a qualifier that is a proper prefix of the bytes is below them */
	if (*column < c->columns && cmp == 0 && length < n)
		++*column;
	return WIDE_OK;
}

/* ---------------------------------------------------------------- columns */

#define NOTED_COLUMNS 1024 /* bytes of a stored form, at most */

/* The stored form: what the head says of the qualifiers, and their bytes. */
static inline void
stored_columns(const block_cursor *c, wide_bytes part[3])
{
	const block_keys *k = &c->column_keys;

	part[0] = (wide_bytes) {c->data + 8, 4};
	part[1] = (wide_bytes) {c->data + 100, 12};
	part[2] = (wide_bytes) {k->shared.p, (size_t) (k->rest.bytes + k->rest.nbytes - k->shared.p)};
}

wide_status
block_columns_note(const block_cursor *c, buffer *out)
{
	wide_bytes part[3];

	stored_columns(c, part);
	out->len = 0;
	for (int i = 0; i < 3 && part[2].len <= NOTED_COLUMNS; i++)
		TRY(buffer_append(out, part[i].data, part[i].len));
	return WIDE_OK;
}

bool
block_columns_are(const block_cursor *c, const buffer *noted)
{
	wide_bytes part[3];
	const uint8_t *p = noted->data;

	stored_columns(c, part);
	return noted->len == part[0].len + part[1].len + part[2].len &&
		   memcmp(p, part[0].data, part[0].len) == 0 &&
		   memcmp(p + part[0].len, part[1].data, part[1].len) == 0 &&
		   memcmp(p + part[0].len + part[1].len, part[2].data, part[2].len) == 0;
}

static __attribute__((noinline)) wide_status
parse_column(block_cursor *c, uint32_t column)
{
	const uint8_t *how = c->directory + (size_t) column * BLOCK_DIRECTORY;
	block_column *k = &c->grid[column];
	uint64_t at = get_u32le(how + 16);
	uint32_t next = column + 1 < c->columns ? get_u32le(how + BLOCK_DIRECTORY + 12) : c->entries;
	uint32_t n;

	k->first = get_u32le(how + 12);
	n = next - k->first;
	if (next < k->first || next > c->entries || n > c->rows || how[9] > 1 ||
		(how[9] == 1 && n != c->rows) || at < (uint64_t) (c->directory - c->data) ||
		at > c->len - BLOCK_SLACK)
		return block_malformed(c, "a column");
	k->bits = k->ranks = NULL;
	if (how[9] == 0)
	{
		k->bits = section(c, &at, ((uint64_t) c->rows + 63) / 64, 8);
		k->ranks = k->bits == NULL ? NULL : section(c, &at, ((uint64_t) c->rows + 63) / 64, 4);
		if (k->ranks == NULL)
			return block_malformed(c, "a column's rows");
	}
	if (!open_strings(c, how, n, &at, &k->values))
		return block_malformed(c, "a column's values");
	c->parsed |= UINT64_C(1) << column;
	return WIDE_OK;
}

wide_status
block_column_open(block_cursor *c, uint32_t column, const block_column **out)
{
	if (unlikely((c->parsed >> column & 1) == 0))
		TRY(parse_column(c, column));
	*out = &c->grid[column];
	return WIDE_OK;
}

/* ---------------------------------------------------------------- entries */

/* Makes the entry of c->row and the column current.  slot: index of its numbers. */
static inline wide_status
fill(block_cursor *c, uint32_t column, uint32_t slot, const uint8_t *value, uint32_t vlen)
{
	entry *e = &c->e;
	const uint8_t *head, *rest;
	uint32_t shared, n;

	if (c->key_row != c->row)
	{
		c->key.len = c->key_row != c->rows ? c->key_rowlen : 0;
		TRY(block_key(&c->row_keys, c->row, c->key_row + 1 == c->row, &c->key));
		c->key_row = c->row;
		c->key_rowlen = (uint32_t) c->key.len;
	}
	if (unlikely(!block_key_parts(&c->column_keys, column, &head, &shared, &rest, &n) ||
				 c->key_rowlen + (uint64_t) shared + n > KEY_UKEY_MAX))
		return malformed(c, "a key");
	TRY(block_key_room(&c->key, c->key_rowlen, shared + n));
	if (shared > 0)
		memcpy(c->key.data + c->key_rowlen, head, shared);
	if (likely(n <= BLOCK_KEY_SLACK && rest + BLOCK_KEY_SLACK <= c->data + c->len))
		memcpy(c->key.data + c->key_rowlen + shared, rest, BLOCK_KEY_SLACK);
	else
		memcpy(c->key.data + c->key_rowlen + shared, rest, n);
	e->ukey = c->key.data;
	e->klen = c->key_rowlen + shared + n;
	c->key.len = e->klen;
	e->rowlen = c->key_rowlen;
	e->ts = (int64_t) block_number(&c->ts, c->ts.by_row ? c->row : slot);
	e->seq = block_number(&c->seq, c->seq.by_row ? c->row : slot);
	e->type = (uint8_t) block_number(&c->type, c->type.by_row ? c->row : slot);
	e->ttl_us = (int64_t) block_number(&c->ttl, c->ttl.by_row ? c->row : slot);
	if (unlikely(e->seq > SEQ_MAX || e->type > ENTRY_DELETE_FAMILY_VERSION))
		return malformed(c, "a number");
	e->vlen = vlen;
	e->value = value;
	c->valid = true;
	return WIDE_OK;
}

static inline wide_status
fill_list(block_cursor *c)
{
	uint32_t column = block_column_of(c, c->at), off = c->next_off, len;

	if (unlikely(column >= c->columns))
		return malformed(c, "a column's number");
	if (c->next_value != c->at && !block_string_offset(&c->values, c->at, &off))
		return malformed(c, "a value");
	len = block_string_length(&c->values, c->at);
	if (unlikely(len > c->values.nbytes - off))
		return malformed(c, "a value");
	c->next_value = c->at + 1;
	c->next_off = off + len;
	return fill(c, column, c->at, c->values.bytes + off, len);
}

/* Makes the row's first entry from column c->at on current.  *found: there is one. */
static inline wide_status
fill_grid(block_cursor *c, bool *found)
{
	for (; c->at < c->columns; c->at++)
	{
		const block_column *k;
		const uint8_t *value;
		uint32_t i, len;

		TRY(block_column_open(c, c->at, &k));
		if (!block_column_has(k, c->row, &i))
			continue;
		if (unlikely(i >= k->values.n || !block_string(&k->values, i, &value, &len)))
			return malformed(c, "a value");
		*found = true;
		return fill(c, c->at, k->first + i, value, len);
	}
	*found = false;
	return WIDE_OK;
}

/* Sets *first and c->row_end to the bounds of a list row's entries. */
static inline wide_status
enter_row(block_cursor *c, uint32_t row, uint32_t *first)
{
	c->row = row;
	*first = block_first_entry(c, row);
	c->row_end = block_first_entry(c, row + 1);
	if (unlikely(c->row_end > c->entries || *first > c->row_end))
		return malformed(c, "a row's entries");
	return WIDE_OK;
}

wide_status
block_seek_row(block_cursor *c, uint32_t row)
{
	c->valid = false;
	for (; row < c->rows; row++)
	{
		if ((c->flags & BLOCK_GRID) != 0)
		{
			bool found;

			c->row = row;
			c->at = 0;
			TRY(fill_grid(c, &found));
			if (found)
				return WIDE_OK;
			continue;
		}
		TRY(enter_row(c, row, &c->at));
		if (c->at < c->row_end)
			return fill_list(c);
	}
	return WIDE_OK;
}

wide_status
block_first(block_cursor *c)
{
	return block_seek_row(c, 0);
}

wide_status
block_next(block_cursor *c)
{
	if (unlikely(!c->valid))
		return WIDE_OK;
	c->at++;
	c->valid = false;
	if ((c->flags & BLOCK_GRID) != 0)
	{
		bool found;

		TRY(fill_grid(c, &found));
		return found ? WIDE_OK : block_seek_row(c, c->row + 1);
	}
	if (c->at < c->row_end)
		return fill_list(c);
	return block_seek_row(c, c->row + 1);
}

wide_status
block_since(block_cursor *c, int64_t ts)
{
	while (c->valid && c->e.ts < ts)
	{
		uint32_t row = c->row + 1;

		if ((int64_t) c->ts.most < ts)
			c->valid = false;
		else if (!c->ts.by_row)
			TRY(block_next(c));
		else
		{
			while (row < c->rows && (int64_t) block_number(&c->ts, row) < ts)
				row++;
			TRY(block_seek_row(c, row));
		}
	}
	return WIDE_OK;
}

wide_status
block_pass_versions(block_cursor *c, int64_t since, uint64_t *seqs, int most, int *n)
{
	uint32_t at = c->at, column = 0, end = 0;
	int64_t ts = c->e.ts;

	*n = 0;
	if ((c->flags & BLOCK_GRID) == 0 && !c->ts.by_row && c->type.width == 0 &&
		c->type.base == ENTRY_PUT && c->ttl.width == 0 && c->ttl.base == 0)
	{
		column = block_column_of(c, at);
		end = c->row_end;
	}
	for (; *n < most && at + 1 < end && block_column_of(c, at + 1) == column; at++)
	{
		int64_t older = (int64_t) block_number(&c->ts, at + 1);

		if (older < since || older >= ts)
			break;
		ts = older;
		seqs[(*n)++] = block_number(&c->seq, c->seq.by_row ? c->row : at + 1);
	}
	if (*n == 0)
		return WIDE_OK;
	c->at = at;
	c->valid = false;
	return fill_list(c);
}

/* Moves to the last entry before (row, at); at is compared with c->at. */
static wide_status
step_back(block_cursor *c, uint32_t row, uint32_t at)
{
	c->valid = false;
	for (;; row--, at = UINT32_MAX)
	{
		if ((c->flags & BLOCK_GRID) != 0)
		{
			const block_column *k;
			uint32_t i;
			bool found;

			c->row = row;
			for (c->at = at < c->columns ? at : c->columns; c->at > 0;)
			{
				TRY(block_column_open(c, --c->at, &k));
				if (block_column_has(k, row, &i))
					return fill_grid(c, &found);
			}
		}
		else
		{
			uint32_t first;

			TRY(enter_row(c, row, &first));
			c->at = at < c->row_end ? at : c->row_end;
			if (c->at-- > first)
				return fill_list(c);
		}
		if (row == 0)
			return WIDE_OK;
	}
}

wide_status
block_last(block_cursor *c)
{
	c->valid = false;
	if (c->rows == 0)
		return WIDE_OK;
	return step_back(c, c->rows - 1, UINT32_MAX);
}

/* Returns true if the entry's timestamp and sequence number sort before (ts, seq). */
static inline bool
version_before(const block_cursor *c, uint32_t row, uint32_t slot, int64_t ts, uint64_t seq)
{
	int64_t t = (int64_t) block_number(&c->ts, c->ts.by_row ? row : slot);

	if (t != ts)
		return t > ts;
	return block_number(&c->seq, c->seq.by_row ? row : slot) > seq;
}

/* Moves to the first entry of a list's row that is not before (column, ts, seq), or to the next
 * row.  exact: the column is the one looked for, so that its versions are compared, too. */
static wide_status
seek_in_list(block_cursor *c, uint32_t row, uint32_t column, bool exact, int64_t ts, uint64_t seq)
{
	uint32_t lo, hi;

	TRY(enter_row(c, row, &lo));
	hi = c->row_end;
	while (lo < hi)
	{
		uint32_t mid = lo + (hi - lo) / 2, col = block_column_of(c, mid);

		if (col < column || (col == column && exact && version_before(c, row, mid, ts, seq)))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == c->row_end)
		return block_seek_row(c, row + 1);
	c->at = lo;
	return fill_list(c);
}

/* The same in a grid. */
static wide_status
seek_in_grid(block_cursor *c, uint32_t row, uint32_t column, bool exact, int64_t ts, uint64_t seq)
{
	const block_column *k;
	uint32_t i;
	bool found;

	c->row = row;
	if (exact)
	{
		TRY(block_column_open(c, column, &k));
		if (block_column_has(k, row, &i) && i < k->values.n &&
			version_before(c, row, k->first + i, ts, seq))
			column++;
	}
	c->at = column;
	TRY(fill_grid(c, &found));
	return found ? WIDE_OK : block_seek_row(c, row + 1);
}

wide_status
block_seek(block_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	uint32_t row, n, column;
	int cmp;
	bool exact;

	c->valid = false;
	if (c->rows == 0)
		return WIDE_OK;
	if (!block_key_find(&c->row_keys, c->rows, 0, ukey, klen, &row, &cmp, &n))
		return malformed(c, "a row's key");
	/* the result is the beginning of the row */
	if (row == c->rows || cmp != 0 || n == klen)
		return block_seek_row(c, row);
	TRY(block_find_column(c, ukey + n, klen - n, &column, &exact));
	if ((c->flags & BLOCK_GRID) != 0)
		return seek_in_grid(c, row, column, exact, ts, seq);
	return seek_in_list(c, row, column, exact, ts, seq);
}

wide_status
block_seek_before(block_cursor *c, const uint8_t *ukey, uint32_t klen)
{
	/* no entry of the ukey is below (ukey, INT64_MAX, SEQ_MAX) */
	TRY(block_seek(c, ukey, klen, INT64_MAX, SEQ_MAX));
	return c->valid ? step_back(c, c->row, c->at) : block_last(c);
}

/* ---------------------------------------------------------------- counting */

/* Sets *n to the number of entries before a row. */
static wide_status
entries_before_row(block_cursor *c, uint32_t row, uint32_t *n)
{
	*n = 0;
	if ((c->flags & BLOCK_GRID) == 0)
	{
		*n = block_first_entry(c, row);
		return WIDE_OK;
	}
	for (uint32_t k = 0; k < c->columns; k++)
	{
		const block_column *column;
		uint32_t i;

		TRY(block_column_open(c, k, &column));
		if (row == c->rows)
			i = column->values.n;
		else
			(void) block_column_has(column, row, &i);
		*n += i;
	}
	return WIDE_OK;
}

wide_status
block_entries_before(block_cursor *c, uint32_t *n)
{
	uint32_t i;

	if (!c->valid)
	{
		*n = c->entries;
		return WIDE_OK;
	}
	if ((c->flags & BLOCK_GRID) == 0)
	{
		*n = c->at;
		return WIDE_OK;
	}
	TRY(entries_before_row(c, c->row, n));
	for (uint32_t k = 0; k < c->at; k++)
		*n += block_column_has(&c->grid[k], c->row, &i);
	return WIDE_OK;
}

wide_status
block_seek_entry(block_cursor *c, uint32_t n)
{
	uint32_t lo = 0, hi = c->rows, before = 0;

	c->valid = false;
	if (n >= c->entries)
		return block_last(c);
	/* find the last row that does not begin behind entry n */
	while (lo + 1 < hi)
	{
		uint32_t mid = lo + (hi - lo) / 2;

		TRY(entries_before_row(c, mid, &before));
		if (before <= n)
			lo = mid;
		else
			hi = mid;
	}
	if ((c->flags & BLOCK_GRID) == 0)
	{
		/* a list numbers its entries through all rows */
		TRY(enter_row(c, lo, &before));
		c->at = n;
		return n >= before && n < c->row_end ? fill_list(c) : malformed(c, "a row's entries");
	}
	TRY(entries_before_row(c, lo, &before));
	TRY(block_seek_row(c, lo));
	for (; before < n && c->valid; before++)
		TRY(block_next(c));
	return WIDE_OK;
}

/* ---------------------------------------------------------------- checking */

wide_status
block_check(block_cursor *c)
{
	uint32_t n = 0, next_row = 0;
	buffer last = {0};
	wide_status st;

	TRY_GOTO(block_first(c));
	for (; c->valid; n++)
	{
		const entry *e = &c->e;

		if (c->row > next_row)
			TRY_GOTO(malformed(c, "a row has no entry"));
		next_row = c->row + 1;
		if (e->ts < (int64_t) c->ts.base || e->ts > (int64_t) c->ts.most || e->seq < c->seq.base ||
			e->seq > c->seq.most || e->type < c->type.base || e->type > c->type.most ||
			e->ttl_us < (int64_t) c->ttl.base || e->ttl_us > (int64_t) c->ttl.most)
			TRY_GOTO(malformed(c, "a number is not between its bounds"));
		if ((c->flags & BLOCK_DISTINCT) != 0 && e->klen == last.len &&
			memcmp(e->ukey, last.data, last.len) == 0)
			TRY_GOTO(malformed(c, "a column comes twice"));
		last.len = 0;
		TRY_GOTO(buffer_append(&last, e->ukey, e->klen));
		TRY_GOTO(block_next(c));
	}
	if (n != c->entries || next_row != c->rows)
		st = malformed(c, "the number of entries");
	else if (c->entries > 0 && (c->flags & (BLOCK_GRID | BLOCK_DISTINCT)) == BLOCK_GRID)
		st = malformed(c, "a grid that is not marked as having each column once");
done:
	buffer_free(&last);
	return st;
}

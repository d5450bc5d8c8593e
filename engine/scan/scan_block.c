/*
 * scan_block.c - rows that are taken from a block as they are.
 *
 * Most of what a scan passes lies in one file only, was put once, and is
 * visible.  Where that is known of all rows up to some place in a block, they
 * are handed out from its arrays, without the merge, the view, and without a
 * key for each cell.  A run is such a part of a block.
 *
 * Why this gives the answer of the other way.  The merge stands at the first
 * entry of a row.  Rows [row, end) of the block under its first source
 * (merge_span_rows) end before the least entry of any other source, before
 * the end of the range, and before a row that goes on elsewhere: so the merge
 * would give exactly the block's entries of these rows.  All entries of the
 * block are puts without a ttl; each is the only one of its column in its row,
 * or only the newest one is asked for; and their bounds say that the snapshot
 * has them all and neither family ttl nor a limit of time hides one
 * (visibility_all).  So visibility_cell would say of each VISIBILITY_LAST (VISIBILITY_SHOW if
 * more versions are asked for), and of what follows in a column with one
 * version asked for, nothing.  A row of the block has an entry, so it exists
 * whenever existence is not that of the wanted columns.
 *
 * What is not so is left to the other way row by row: blocks with deletes, with
 * ttls, of an excluded or a later transaction, rows that are also in a memtable.
 * So are scans of several families, and backwards.
 *
 * The row filter is asked as it is otherwise; where it leads to is searched in
 * the block first.  Predicates are told of a row before anything else of it is
 * looked at.
 *
 * A few rows are read ahead, one at first and up to SCAN_BLOCK_ROWS; they are given out
 * one by one.  Their values lie in the pinned block, keys in the arena.  The
 * merge is moved only when the run is left.
 *
 * Locking: none; the scan's pin protects what is read.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/scan/scan_block.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/sst/block.h"
#include "engine/read/merge.h"
#include "engine/read/visibility.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_block_columns.h"
#include "engine/scan/scan_range.h"
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_state.h"

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define KEY_COPY	16	/* bytes of keys that are copied without looking */
#define KEY_ROOM	512 /* bytes for keys that are taken from the arena at a time */

void
scan_block_init(scan_state *s)
{
	s->block.possible = s->nfamilies == 1 && s->families[0].leads && !scan_block_off;
	s->block.ahead.limit = 1;
}

void
scan_block_restart(scan_state *s)
{
	s->block.state = SPAN_NONE;
	s->block.ahead.limit = 1;
	s->block.refused = NULL;
	s->block.ahead.counted = 0;
	s->door.nahead = s->door.given = 0;
}

void
scan_block_count(scan_state *s)
{
	scan_block *r = &s->block;

	for (; r->ahead.counted < s->door.given; r->ahead.counted++)
	{
		uint64_t n = (uint64_t) s->door.ahead[r->ahead.counted].ncells;

		s->stats.rows_returned++;
		s->stats.cells_returned += n;
		s->stats.cells_scanned += n > 0 ? n : 1;
	}
}

/* What was read ahead is done with. */
static void
forget_rows(scan_state *s)
{
	scan_block_count(s);
	s->block.ahead.counted = 0;
	s->door.nahead = s->door.given = 0;
}

void
scan_block_free(scan_state *s)
{
	free(s->block.columns.list);
	free(s->block.columns.by_number);
	free(s->block.ahead.rows);
	buffer_free(&s->block.key.encoded);
	buffer_free(&s->block.columns.quals);
}

static wide_status
no_memory(void)
{
	return status_fail(WIDE_NOMEM, "out of memory for a scan");
}

/* -------------------------------------------------------------- beginning */

/* Is all of the block visible, each column once? */
static bool
block_is_plain(const scan_family *f, const merge_span *w)
{
	const block_cursor *b = w->block;

	if (b->type.most != ENTRY_PUT || b->ttl.base != 0 || b->ttl.most != 0)
		return false;
	if ((b->flags & BLOCK_DISTINCT) == 0 && f->view.max_out > 1)
		return false;
	return visibility_all(&f->view, (int64_t) b->ts.base, (int64_t) b->ts.most,
						  w->seq != 0 ? w->seq : b->seq.base, w->seq != 0 ? w->seq : b->seq.most);
}

/* Begin a run where the merge stands, if there is one: r->open. */
static wide_status
run_open(scan_state *s, scan_family *f)
{
	scan_block *r = &s->block;
	const uint8_t *hi = s->ranges.cur->hi_len > 0 ? s->ranges.bounds.data + s->ranges.cur->hi
												  : NULL;

	merge_span_block(f->m, &r->span);
	if (r->span.block == NULL || r->span.block->data == r->refused)
		return WIDE_OK;
	if (!block_is_plain(f, &r->span))
	{
		r->refused = r->span.block->data;
		return WIDE_OK;
	}
	TRY(merge_span_rows(f->m, hi, (uint32_t) s->ranges.cur->hi_len, &r->span));
	if (s->ranges.cur->point && r->span.end > r->span.row)
		r->span.end = r->span.row + 1;
	if (r->span.row >= r->span.end)
		return WIDE_OK;
	TRY(scan_block_columns_choose(r, f));
	if (r->columns.nwanted > SCAN_BLOCK_CELLS || (uint32_t) r->columns.nwanted > s->row_cells)
	{
		r->refused = r->span.block->data;
		return WIDE_OK;
	}
	TRY(scan_block_columns_find(r));
	r->key.row = UINT32_MAX;
	r->state = SPAN_OPEN;
	r->first = r->span.row;
	return WIDE_OK;
}

/* ------------------------------------------------------------------- rows */

/* The encoded key of a row, in r->key.encoded, most often the next one. */
static inline wide_status
row_key(scan_block *r, uint32_t row)
{
	const block_keys *k = &r->span.block->row_keys;
	uint32_t shared, n;

	if (likely(r->key.row + 1 == row && row > 0))
	{
		shared = (uint32_t) block_number(&k->shared, row);
		n = block_string_length(&k->rest, row);
		if (likely(n <= k->rest.nbytes - r->key.rest && shared <= r->key.encoded.len &&
				   shared + (size_t) n + KEY_COPY <= r->key.encoded.cap && n <= KEY_COPY &&
				   k->rest.nbytes - r->key.rest >= KEY_COPY))
		{
			memcpy(r->key.encoded.data + shared, k->rest.bytes + r->key.rest, KEY_COPY);
			r->key.encoded.len = shared + n;
			r->key.rest += n;
			r->key.row = row;
			return WIDE_OK;
		}
	}
	TRY(block_key(k, row, r->key.row + 1 == row, &r->key.encoded));
	TRY(block_string_start(&k->rest, row + 1, &r->key.rest));
	r->key.row = row;
	return WIDE_OK;
}

/* What a column of a grid has in the row: k->there, k->off, k->len. */
static inline wide_status
grid_value(const scan_block *r, scan_block_column *k, uint32_t row)
{
	const block_column *g = k->grid;

	if (k->row == row)
		return WIDE_OK;
	if (likely(k->row + 1 == row && row > 0))
	{
		k->i += k->there;
		k->off += k->there ? k->len : 0;
		k->there = g->bits == NULL || (g->bits[row / 8] >> (row & 7) & 1) != 0;
	}
	else
	{
		k->there = block_column_has(g, row, &k->i);
		if (unlikely(k->i > g->values.n))
			return block_malformed(r->span.block, "a column's rows");
		TRY(block_string_start(&g->values, k->i, &k->off));
	}
	k->row = row;
	if (!k->there)
		return WIDE_OK;
	if (unlikely(k->i >= g->values.n))
		return block_malformed(r->span.block, "a value");
	k->len = block_string_length(&g->values, k->i);
	if (unlikely(k->len > g->values.nbytes - k->off))
		return block_malformed(r->span.block, "a value");
	return WIDE_OK;
}

/*
 * At the beginning of a run nothing of its columns is in the processor's cache,
 * and each of them lies elsewhere: fetch them all at the same time.
 */
static void
prefetch_row(const scan_block *r, uint32_t row)
{
	const block_cursor *b = r->span.block;

	if (b->ts.by_row)
		__builtin_prefetch(b->ts.p + (size_t) row * b->ts.width);
	if (b->seq.by_row && r->span.seq == 0)
		__builtin_prefetch(b->seq.p + (size_t) row * b->seq.width);
	for (int i = 0; i < r->columns.n; i++)
	{
		const block_strings *v;
		uint32_t group = row / BLOCK_GROUP;

		if (r->columns.list[i].column == NO_COLUMN)
			continue;
		v = &r->columns.list[i].grid->values;
		if (r->columns.list[i].grid->bits != NULL)
			__builtin_prefetch(r->columns.list[i].grid->bits + row / 8);
		if (v->width == 0)
			__builtin_prefetch(v->bytes + (size_t) row * v->base);
		else
		{
			__builtin_prefetch(v->lengths + (size_t) group * BLOCK_GROUP * v->width);
			__builtin_prefetch(v->starts + (size_t) group * 2);
			/* where it would be if all were of one length */
			__builtin_prefetch(v->bytes + (uint64_t) row * v->nbytes / (r->span.block->rows + 1));
		}
	}
}

static inline void
put_cell(const scan_block *r, wide_cell *c, const scan_block_column *k, uint32_t row, uint32_t slot,
		 const uint8_t *value, uint32_t len)
{
	const block_cursor *b = r->span.block;

	c->family = 0;
	c->column = k->want;
	c->version = 0;
	c->ts = (int64_t) block_number(&b->ts, b->ts.by_row ? row : slot);
	c->ttl_us = 0;
	c->seq = r->span.seq != 0 ? r->span.seq : block_number(&b->seq, b->seq.by_row ? row : slot);
	c->provisional = false;
	c->qualifier = (wide_bytes) {k->want < 0 ? r->columns.quals.data + k->qual : NULL,
								 k->want < 0 ? k->quallen : 0};
	c->value = (wide_bytes) {value, len};
}

static inline bool
test(scan_state *s, const scan_block_column *k, uint32_t row, uint32_t slot, const uint8_t *value,
	 uint32_t len)
{
	const block_cursor *b = s->block.span.block;
	wide_bytes v = {value, len};

	return predicate_test(&s->pred, k->test, &v,
						  (int64_t) block_number(&b->ts, b->ts.by_row ? row : slot));
}

/* A row of a grid: its cells from s->out.cells[at] on; *in: it exists and meets the predicates. */
static wide_status
grid_row(scan_state *s, uint32_t row, int at, int *ncells, bool *in)
{
	scan_block *r = &s->block;
	wide_cell *c = &s->out.cells[at];
	uint32_t left = s->row_limit;

	*in = r->all_exist;
	*ncells = 0;
	if (r->columns.ntests > 0)
	{
		predicate_row(&s->pred);
		for (int i = 0; i < r->columns.n; i++)
		{
			scan_block_column *k = &r->columns.list[i];

			if (k->test == NULL)
				continue;
			if (k->column != NO_COLUMN)
				TRY(grid_value(r, k, row));
			if (k->column != NO_COLUMN && k->there ? !test(s, k, row, k->grid->first + k->i,
														   k->grid->values.bytes + k->off, k->len)
												   : !predicate_test(&s->pred, k->test, NULL, 0))
			{
				*in = false;
				s->stats.rows_rejected++;
				return WIDE_OK;
			}
			*in = *in || (k->column != NO_COLUMN && k->there);
		}
	}
	for (int i = 0; i < r->columns.n && left > 0; i++)
	{
		scan_block_column *k = &r->columns.list[i];

		if (!k->wanted)
			continue;
		TRY(grid_value(r, k, row));
		if (!k->there)
			continue;
		put_cell(r, c++, k, row, k->grid->first + k->i, k->grid->values.bytes + k->off, k->len);
		left--;
	}
	*ncells = (int) (c - &s->out.cells[at]);
	*in = *in || *ncells > 0;
	return WIDE_OK;
}

/* The entries of a list's row: [*from, *to), and where the first one's value is. */
static inline wide_status
list_bounds(scan_block *r, uint32_t row, uint32_t *from, uint32_t *to, uint32_t *off)
{
	const block_cursor *b = r->span.block;

	*from = block_first_entry(b, row);
	*to = block_first_entry(b, row + 1);
	if (unlikely(*to > b->entries || *from > *to))
		return block_malformed(b, "a row's entries");
	*off = r->columns.next_off;
	return r->columns.next_value == *from ? WIDE_OK : block_string_start(&b->values, *from, off);
}

/* Goes through a list's row: tells the predicates, or puts the cells. */
static wide_status
list_pass(scan_state *s, uint32_t row, bool testing, wide_cell **c, bool *in)
{
	scan_block *r = &s->block;
	const block_cursor *b = r->span.block;
	uint32_t left = s->row_limit, last = NO_COLUMN, from, to, off;

	TRY(list_bounds(r, row, &from, &to, &off));
	for (uint32_t at = from; at < to; at++)
	{
		uint32_t column = block_column_of(b, at), len = block_string_length(&b->values, at);
		const uint8_t *value = b->values.bytes + off;
		scan_block_column *k;

		if (unlikely(column >= b->columns || len > b->values.nbytes - off))
			return block_malformed(b, "an entry");
		off += len;
		k = r->columns.by_number[column] >= 0 && column != last
				? &r->columns.list[r->columns.by_number[column]]
				: NULL;
		last = column;
		if (k == NULL)
			continue;
		if (!testing && k->wanted && left > 0)
		{
			put_cell(r, (*c)++, k, row, at, value, len);
			left--;
		}
		if (!testing || k->test == NULL)
			continue;
		k->row = row;
		if (!test(s, k, row, at, value, len))
		{
			*in = false;
			return WIDE_OK;
		}
	}
	if (testing)
		return WIDE_OK;
	r->columns.next_value = to;
	r->columns.next_off = off;
	return WIDE_OK;
}

static wide_status
list_row(scan_state *s, uint32_t row, int at, int *ncells, bool *in)
{
	scan_block *r = &s->block;
	wide_cell *c = &s->out.cells[at];
	bool some = r->all_exist;

	*in = true;
	*ncells = 0;
	if (r->columns.ntests > 0)
	{
		predicate_row(&s->pred);
		TRY(list_pass(s, row, true, NULL, in));
		for (int i = 0; i < r->columns.n && *in; i++)
			if (r->columns.list[i].test != NULL)
			{
				if (r->columns.list[i].row == row)
					some = true;
				else
					*in = predicate_test(&s->pred, r->columns.list[i].test, NULL, 0);
			}
		s->stats.rows_rejected += !*in;
		if (!*in)
			return WIDE_OK;
	}
	if (r->columns.nwanted > 0)
		TRY(list_pass(s, row, false, &c, in));
	*ncells = (int) (c - &s->out.cells[at]);
	*in = some || *ncells > 0;
	return WIDE_OK;
}

#define KEY_SLACK 8 /* bytes that are read and written behind a key */

/*
 * Eight bytes at a time, of the n of an encoded key, its terminator included.
 * Returns the length, -1 if it is malformed.
 */
static inline ssize_t
decode(const uint8_t *p, uint32_t n, uint8_t *out)
{
	const uint8_t *end = p + n - 2;
	uint8_t *to = out;

	if (unlikely(n < 2 || end[0] != 0 || end[1] != 1))
		return -1;
	while (p < end)
	{
		uint64_t x = get_u64le(p);
		uint64_t zero = (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);

		put_u64le(to, x);
		if (zero == 0)
		{
			p += 8;
			to += 8;
			continue;
		}
		n = (uint32_t) __builtin_ctzll(zero) / 8 + 1;
		p += n;
		to += n;
		/* of the terminator, or of an escape */
		if (p > end)
			return to - out - 1;
		if (unlikely(*p++ != 0xff))
			return -1;
	}
	return (to - out) - (p - end);
}

/* The row's key, decoded, in memory of this call. */
static inline wide_status
give_key(scan_state *s, uint32_t row, wide_bytes *key)
{
	scan_block *r = &s->block;
	size_t n;
	ssize_t len;

	TRY(row_key(r, row));
	TRY(buffer_reserve(&r->key.encoded, KEY_SLACK));
	n = r->key.encoded.len + KEY_SLACK;
	if (unlikely(r->memory.left < n))
	{
		r->memory.left = n > KEY_ROOM ? n : KEY_ROOM;
		r->memory.at = scan_row_arena(s, r->memory.left);
		if (r->memory.at == NULL)
			return no_memory();
	}
	len = decode(r->key.encoded.data, (uint32_t) r->key.encoded.len, r->memory.at);
	if (unlikely(len < 0))
		return block_malformed(r->span.block, "a row's key");
	*key = (wide_bytes) {r->memory.at, (size_t) len};
	r->memory.at += len;
	r->memory.left -= (size_t) len;
	return WIDE_OK;
}

/* Room for n rows of r->columns.nwanted cells. */
static wide_status
reserve_rows(scan_state *s, int n)
{
	scan_block *r = &s->block;

	if (r->ahead.cap < n)
	{
		int cap = n < SCAN_BLOCK_ROWS / 8 ? SCAN_BLOCK_ROWS / 8 : SCAN_BLOCK_ROWS;
		wide_row *rows = malloc((size_t) cap * (sizeof(*rows) + sizeof(*r->ahead.numbers)));

		if (rows == NULL)
			return no_memory();
		free(r->ahead.rows);
		r->ahead.rows = rows;
		r->ahead.numbers = (uint32_t *) (rows + cap);
		r->ahead.cap = cap;
	}
	return scan_row_reserve(s, (uint32_t) n * (uint32_t) r->columns.nwanted);
}

/* Asks the filter about the row just passed, whose key is in r->key.encoded. */
static wide_status
run_filter(scan_state *s, wide_bytes key, bool *in)
{
	scan_block *r = &s->block;
	wide_row_verdict verdict;
	uint32_t row;

	TRY(scan_range_ask_filter(s, &r->key.encoded, key, &verdict));
	*in = verdict == WIDE_ROW_ACCEPT;
	if (verdict == WIDE_ROW_END || (verdict == WIDE_ROW_SEEK && scan_range_passed(s)))
	{
		/* rows that were read ahead come first */
		r->state = verdict == WIDE_ROW_END ? SPAN_ENDS_SCAN : SPAN_ENDS_RANGE;
		r->span.end = r->span.row;
	}
	else if (verdict == WIDE_ROW_SEEK)
	{
		TRY(block_row_at(r->span.block, r->span.row, s->filter.seek.data,
						 (uint32_t) s->filter.seek.len, &row));
		/* order is not checked in blocks, and there must be an end */
		r->span.row = row > r->span.row ? row : r->span.row;
		if (r->span.row >= r->span.end)
		{
			r->span.row = r->span.end;
			r->state = SPAN_SEEKS;
		}
	}
	return WIDE_OK;
}

/* Reads the next rows of the run, into s->ahead. */
static wide_status
run_read(scan_state *s, scan_family *f)
{
	scan_block *r = &s->block;
	int limit = r->ahead.limit, count = 0, at = 0;
	bool grid = (r->span.block->flags & BLOCK_GRID) != 0;

	if (s->filter.follows)
		limit = 1;
	if (r->columns.nwanted > 0 && limit > SCAN_BLOCK_CELLS / r->columns.nwanted)
		limit = SCAN_BLOCK_CELLS / r->columns.nwanted;
	TRY(reserve_rows(s, limit));
	if (host_interrupted(s->db))
		return status_fail(WIDE_INTERRUPTED, "interrupted");
	r->memory.left = 0;
	if (grid && r->span.row == r->first)
		prefetch_row(r, r->first);
	while (r->span.row < r->span.end && count < limit)
	{
		wide_row *row = &r->ahead.rows[count];
		uint32_t i = r->span.row++;
		int n = 0;
		bool in = true;

		if (s->filter.fn != NULL)
		{
			TRY(give_key(s, i, &row->key));
			TRY(run_filter(s, row->key, &in));
			if (!in)
				continue;
		}
		in = r->all_exist;
		if (r->columns.n > 0)
			TRY(grid ? grid_row(s, i, at, &n, &in) : list_row(s, i, at, &n, &in));
		if (!in)
			continue;
		if (s->filter.fn == NULL)
			TRY(give_key(s, i, &row->key));
		row->cells = &s->out.cells[at];
		row->ncells = n;
		row->more = false;
		row->unsure = r->columns.ntests > 0 && s->pred.unsure;
		r->ahead.numbers[count++] = i;
		at += n;
	}
	s->out.n = at;
	if (at > 0)
		merge_used(f->m);
	if (count == limit && r->ahead.limit < SCAN_BLOCK_ROWS)
		r->ahead.limit *= 2;
	s->door.ahead = r->ahead.rows;
	s->door.nahead = count;
	return WIDE_OK;
}

/* As if the row were the last that was read: what follows begins behind it. */
static wide_status
stand_behind(scan_state *s, uint32_t row)
{
	scan_block *r = &s->block;

	TRY(row_key(r, row));
	TRY(buffer_set(&s->row.key, r->key.encoded.data, r->key.encoded.len));
	TRY(buffer_set(&s->row.after, r->key.encoded.data, r->key.encoded.len));
	if (s->row.after.len == 0)
		return block_malformed(r->span.block, "a row's key");
	s->row.after.data[s->row.after.len - 1]++;
	s->ranges.state = RANGE_ENTERED;
	return WIDE_OK;
}

/* It was of one row, or the filter has said so, of this or of all. */
static void
close_range(scan_state *s, span_state state)
{
	s->ranges.state = RANGE_CLOSED;
	if (state == SPAN_ENDS_SCAN)
		s->ranges.next = s->ranges.n;
}

wide_status
scan_block_drop(scan_state *s)
{
	scan_block *r = &s->block;
	span_state state = r->state;
	bool some = s->door.given < s->door.nahead;
	uint32_t next = some ? r->ahead.numbers[s->door.given] : r->span.row;

	r->state = SPAN_NONE;
	forget_rows(s);
	r->refused = NULL;
	/* a cursor from which rows are fetched one by one rests after each */
	r->ahead.limit = 1;
	if (state == SPAN_NONE)
		return WIDE_OK;
	if ((state == SPAN_ENDS_RANGE || state == SPAN_ENDS_SCAN) && !some)
		close_range(s, state);
	else if (s->ranges.cur->point)
		s->ranges.state = next > r->first ? RANGE_ENTERED : RANGE_AT_START;
	else if (state == SPAN_SEEKS && !some)
	{
		TRY(buffer_set(&s->row.after, s->filter.seek.data, s->filter.seek.len));
		s->ranges.state = RANGE_ENTERED;
	}
	else if (next > r->first)
		return stand_behind(s, next - 1);
	return WIDE_OK;
}

/* All rows of the run are done: the merge goes on behind it. */
static wide_status
run_leave(scan_state *s, scan_family *f)
{
	scan_block *r = &s->block;
	span_state state = r->state;

	r->state = SPAN_NONE;
	if (state == SPAN_ENDS_RANGE || state == SPAN_ENDS_SCAN || s->ranges.cur->point)
	{
		close_range(s, state);
		return WIDE_OK;
	}
	TRY(stand_behind(s, r->span.end - 1));
	TRY(merge_span_leave(f->m, r->span.end));
	return state == SPAN_SEEKS ? scan_range_follow_filter(s) : WIDE_OK;
}

/* Is the merge at the end of the range?  A range of one row: is it not at the row? */
static bool
range_over(const scan_state *s, const scan_family *f)
{
	const entry *e = merge_entry(f->m);
	const uint8_t *bounds = s->ranges.bounds.data;

	if (e == NULL)
		return true;
	if (s->ranges.cur->point)
		return e->rowlen != s->ranges.cur->lo_len ||
			   memcmp(e->ukey, bounds + s->ranges.cur->lo, e->rowlen) != 0;
	return s->ranges.cur->hi_len > 0 &&
		   ukey_compare(e->ukey, e->rowlen, bounds + s->ranges.cur->hi, s->ranges.cur->hi_len) >= 0;
}

wide_status
scan_block_next(scan_state *s)
{
	scan_block *r = &s->block;
	scan_family *f = &s->families[0];

	forget_rows(s);
	for (;;)
	{
		if (r->state != SPAN_NONE)
		{
			wide_status st = r->span.row < r->span.end ? run_read(s, f) : WIDE_OK;

			if (st == WIDE_INTERRUPTED)
				TRY(scan_block_drop(s));
			if (st != WIDE_OK || s->door.nahead > 0)
				return st;
			if (r->span.row < r->span.end)
				continue;
			TRY(run_leave(s, f));
		}
		if (!scan_range_is_open(s))
		{
			if (s->ranges.next >= s->ranges.n)
				return WIDE_END;
			TRY(scan_range_open(s));
			if (!scan_range_is_open(s))
				continue;
		}
		if (s->reverse && !s->ranges.cur->point)
			return WIDE_OK;
		if ((s->ranges.cur->point && s->ranges.state == RANGE_ENTERED) || range_over(s, f))
		{
			s->ranges.state = RANGE_CLOSED;
			continue;
		}
		TRY(run_open(s, f));
		if (r->state == SPAN_NONE)
			return WIDE_OK;
		if (s->ranges.cur->point)
			s->ranges.state = RANGE_ENTERED;
	}
}

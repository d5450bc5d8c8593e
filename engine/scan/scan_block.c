/*
 * scan_block.c - rows that are taken from a block as they are.
 *
 * Most of what a scan passes lies in one file only, was put once, and is visible.  Where that is
 * known of all rows up to some place in a block, they are handed out from the block's arrays:
 * without the merge, without the visibility, and without a key for each cell.  Such a part of a
 * block is a span here; merge.h says what it is for the merge.
 *
 * Why the answer is the same as that of scan_row.c.  The merge stands at the first entry of a row.
 * Rows [row, end) of the block under its first source (merge_span_rows) end before the least entry
 * of any other source, before the end of the range, and before a row that goes on elsewhere: so the
 * merge would give exactly the block's entries of these rows.  All entries of the block are puts
 * without a time to live of their own; each is the only one of its column in its row, or only the
 * newest version is asked for.  The bounds in the block's head say that the snapshot has them all
 * and that neither the family's time to live nor a limit of time hides one (visibility_all).  So
 * visibility_cell would answer VISIBILITY_LAST for the first entry of each column
 * (VISIBILITY_SHOW if more versions are asked for), and hide what follows in a column of which one
 * version is asked for.  A row of the block has an entry, so it exists, except where existence is
 * that of the wanted columns.
 *
 * Everything else goes entry by entry, row by row: blocks with deletes, with times to live, of an
 * excluded or a later transaction, rows that are also in a memtable, scans of several families, and
 * reverse scans.
 *
 * The row filter is asked about each row, as it is otherwise; the key to which it leads is searched
 * in the block first.  Predicates are evaluated before anything else of a row is looked at.
 *
 * Some rows are read ahead, one at first and up to SCAN_BLOCK_ROWS, and handed out one by one.
 * Their values lie in the pinned block, their keys in the arena.  The merge moves only when the
 * span is left.
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
#include "engine/sst/block_key.h"
#include "engine/read/merge.h"
#include "engine/read/visibility.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_block_columns.h"
#include "engine/scan/scan_range.h"
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_state.h"

#define KEY_COPY 16	 /* bytes that are copied of any shorter key */
#define KEY_ROOM 512 /* bytes taken from the arena for keys at a time */

void
scan_block_count(scan_state *s)
{
	scan_block *sb = &s->block;

	for (; sb->ahead.counted < s->door.given; sb->ahead.counted++)
	{
		uint64_t n = (uint64_t) s->door.ahead[sb->ahead.counted].ncells;

		s->stats.rows_returned++;
		s->stats.cells_returned += n;
		s->stats.cells_scanned += n > 0 ? n : 1;
	}
}

/* Drops the rows that were read ahead. */
static void
forget_rows(scan_state *s)
{
	scan_block_count(s);
	s->block.ahead.counted = 0;
	s->door.nahead = s->door.given = 0;
}

void
scan_block_restart(scan_state *s)
{
	forget_rows(s);
	s->block.state = SPAN_NONE;
	s->block.refused = NULL;
	/* a cursor from which rows are fetched one by one rests after each */
	s->block.ahead.limit = 1;
}

void
scan_block_free(scan_state *s)
{
	free(s->block.columns.list);
	buffer_free(&s->block.columns.numbers);
	free(s->block.ahead.rows);
	buffer_free(&s->block.key.encoded);
	buffer_free(&s->block.columns.quals);
}

/* ------------------------------------------------------------- the span */

/* Returns true if all entries of the block are shown, as the comment at the top requires. */
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

/* Opens the span of plain rows at which the merge stands, if there is one (state SPAN_OPEN). */
static wide_status
span_open(scan_state *s, scan_family *f)
{
	scan_block *sb = &s->block;
	const scan_range *r = s->ranges.cur;

	merge_span_block(f->m, &sb->span);
	if (sb->span.block == NULL || sb->span.block->data == sb->refused)
		return WIDE_OK;
	if (!block_is_plain(f, &sb->span))
	{
		sb->refused = sb->span.block->data;
		return WIDE_OK;
	}
	TRY(merge_span_rows(f->m, r->hi.data, (uint32_t) r->hi.len, &sb->span));
	if (r->point && sb->span.end > sb->span.row)
		sb->span.end = sb->span.row + 1;
	if (sb->span.row >= sb->span.end)
		return WIDE_OK;
	TRY(scan_block_columns_choose(sb, f));
	if (sb->columns.nwanted > SCAN_BLOCK_CELLS || (uint32_t) sb->columns.nwanted > s->row_cells)
	{
		sb->refused = sb->span.block->data;
		return WIDE_OK;
	}
	TRY(scan_block_columns_find(sb));
	sb->key.row = UINT32_MAX;
	sb->state = SPAN_OPEN;
	sb->first = sb->span.row;
	return WIDE_OK;
}

/* ------------------------------------------------------------------- rows */

/* Puts the encoded key of a row into sb->key; fast for the row after the last one. */
static inline wide_status
row_key(scan_block *sb, uint32_t row)
{
	const block_keys *k = &sb->span.block->row_keys;
	uint32_t shared, n;

	if (likely(sb->key.row + 1 == row && row > 0))
	{
		shared = (uint32_t) block_number(&k->shared, row);
		n = block_string_length(&k->rest, row);
		if (likely(n <= k->rest.nbytes - sb->key.rest && shared <= sb->key.encoded.len &&
				   shared + (size_t) n + KEY_COPY <= sb->key.encoded.cap && n <= KEY_COPY &&
				   k->rest.nbytes - sb->key.rest >= KEY_COPY))
		{
			memcpy(sb->key.encoded.data + shared, k->rest.bytes + sb->key.rest, KEY_COPY);
			sb->key.encoded.len = shared + n;
			sb->key.rest += n;
			sb->key.row = row;
			return WIDE_OK;
		}
	}
	TRY(block_key(k, row, sb->key.row + 1 == row, &sb->key.encoded));
	TRY(block_string_start(&k->rest, row + 1, &sb->key.rest));
	sb->key.row = row;
	return WIDE_OK;
}

/* Finds what a column of a grid has in the row: k->there, k->off, k->len. */
static inline wide_status
grid_value(const scan_block *sb, scan_block_column *k, uint32_t row)
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
			return block_malformed(sb->span.block, "a column's rows");
		TRY(block_string_start(&g->values, k->i, &k->off));
	}
	k->row = row;
	if (!k->there)
		return WIDE_OK;
	if (unlikely(k->i >= g->values.n))
		return block_malformed(sb->span.block, "a value");
	k->len = block_string_length(&g->values, k->i);
	if (unlikely(k->len > g->values.nbytes - k->off))
		return block_malformed(sb->span.block, "a value");
	return WIDE_OK;
}

/*
 * At the beginning of a span nothing of its columns is in the processor's cache, and each of them
 * lies elsewhere: fetches them all at the same time.
 */
static void
prefetch_row(const scan_block *sb, uint32_t row)
{
	const block_cursor *b = sb->span.block;

	if (b->ts.by_row)
		__builtin_prefetch(b->ts.p + (size_t) row * b->ts.width);
	if (b->seq.by_row && sb->span.seq == 0)
		__builtin_prefetch(b->seq.p + (size_t) row * b->seq.width);
	for (int i = 0; i < sb->columns.n; i++)
	{
		const block_strings *v;
		uint32_t group = row / BLOCK_GROUP;

		if (sb->columns.list[i].column == NO_COLUMN)
			continue;
		v = &sb->columns.list[i].grid->values;
		if (sb->columns.list[i].grid->bits != NULL)
			__builtin_prefetch(sb->columns.list[i].grid->bits + row / 8);
		if (v->width == 0)
			__builtin_prefetch(v->bytes + (size_t) row * v->base);
		else
		{
			__builtin_prefetch(v->lengths + (size_t) group * BLOCK_GROUP * v->width);
			__builtin_prefetch(v->starts + (size_t) group * 2);
			/* where the value would be if all had the same length */
			__builtin_prefetch(v->bytes + (uint64_t) row * v->nbytes / (sb->span.block->rows + 1));
		}
	}
}

static inline void
put_cell(const scan_block *sb, wide_cell *c, const scan_block_column *k, uint32_t row,
		 uint32_t slot, const uint8_t *value, uint32_t len)
{
	const block_cursor *b = sb->span.block;

	c->family = 0;
	c->column = k->want;
	c->version = 0;
	c->ts = (int64_t) block_number(&b->ts, b->ts.by_row ? row : slot);
	c->ttl_us = 0;
	c->seq = sb->span.seq != 0 ? entry_shown_seq(sb->span.seq)
							   : block_number(&b->seq, b->seq.by_row ? row : slot);
	c->provisional = false;
	c->floor_ts = c->ts;
	c->qualifier = (wide_bytes) {k->want < 0 ? sb->columns.quals.data + k->qual : NULL,
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

/* Reads a row of a grid: its cells go to s->out.cells[at] and up.  *in: the row exists and meets
 * the predicates. */
static wide_status
grid_row(scan_state *s, uint32_t row, int at, int *ncells, bool *in)
{
	scan_block *sb = &s->block;
	wide_cell *c = &s->out.cells[at];
	uint32_t left = s->row_limit;

	*in = sb->all_exist;
	*ncells = 0;
	if (sb->columns.ntests > 0)
	{
		predicate_row(&s->pred);
		for (int i = 0; i < sb->columns.n; i++)
		{
			scan_block_column *k = &sb->columns.list[i];

			if (k->test == NULL)
				continue;
			if (k->column != NO_COLUMN)
				TRY(grid_value(sb, k, row));
			if (k->there ? !test(s, k, row, k->grid->first + k->i, k->grid->values.bytes + k->off,
								 k->len)
						 : !predicate_test(&s->pred, k->test, NULL, 0))
			{
				*in = false;
				s->stats.rows_rejected++;
				return WIDE_OK;
			}
			*in = *in || k->there;
		}
	}
	for (int i = 0; i < sb->columns.n && left > 0; i++)
	{
		scan_block_column *k = &sb->columns.list[i];

		if (!k->wanted)
			continue;
		TRY(grid_value(sb, k, row));
		if (!k->there)
			continue;
		put_cell(sb, c++, k, row, k->grid->first + k->i, k->grid->values.bytes + k->off, k->len);
		left--;
	}
	*ncells = (int) (c - &s->out.cells[at]);
	*in = *in || *ncells > 0;
	return WIDE_OK;
}

/* Goes through a row of a list: either evaluates the predicates (testing) or puts the cells. */
static wide_status
list_pass(scan_state *s, uint32_t row, bool testing, wide_cell **c, bool *in)
{
	scan_block *sb = &s->block;
	const block_cursor *b = sb->span.block;
	uint32_t left = s->row_limit, last = NO_COLUMN, off = sb->columns.next_off;
	uint32_t from = block_first_entry(b, row), to = block_first_entry(b, row + 1);

	if (unlikely(to > b->entries || from > to))
		return block_malformed(b, "a row's entries");
	if (sb->columns.next_value != from)
		TRY(block_string_start(&b->values, from, &off));
	for (uint32_t at = from; at < to; at++)
	{
		uint32_t column = block_column_of(b, at), len = block_string_length(&b->values, at);
		const uint8_t *value = b->values.bytes + off;
		scan_block_column *k;

		if (unlikely(column >= b->columns || len > b->values.nbytes - off))
			return block_malformed(b, "an entry");
		off += len;
		k = sb->columns.by_number[column] >= 0 && column != last
				? &sb->columns.list[sb->columns.by_number[column]]
				: NULL;
		last = column;
		if (k == NULL)
			continue;
		if (!testing && k->wanted && left > 0)
		{
			put_cell(sb, (*c)++, k, row, at, value, len);
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
	sb->columns.next_value = to;
	sb->columns.next_off = off;
	return WIDE_OK;
}

static wide_status
list_row(scan_state *s, uint32_t row, int at, int *ncells, bool *in)
{
	scan_block *sb = &s->block;
	wide_cell *c = &s->out.cells[at];
	bool some = sb->all_exist;

	*in = true;
	*ncells = 0;
	if (sb->columns.ntests > 0)
	{
		predicate_row(&s->pred);
		TRY(list_pass(s, row, true, NULL, in));
		for (int i = 0; i < sb->columns.n && *in; i++)
			if (sb->columns.list[i].test != NULL)
			{
				if (sb->columns.list[i].row == row)
					some = true;
				else
					*in = predicate_test(&s->pred, sb->columns.list[i].test, NULL, 0);
			}
		s->stats.rows_rejected += !*in;
		if (!*in)
			return WIDE_OK;
	}
	if (sb->columns.nwanted > 0)
		TRY(list_pass(s, row, false, &c, in));
	*ncells = (int) (c - &s->out.cells[at]);
	*in = some || *ncells > 0;
	return WIDE_OK;
}

#define KEY_SLACK 8 /* bytes that decode reads and writes behind a key */

/*
 * Decodes an encoded key of n bytes, terminator included, eight bytes at a time.
 * Requires: KEY_SLACK more bytes behind p and out.
 * Returns: the decoded length; -1 if the key is malformed.
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

/* The decoded key of a row, in the arena. */
static inline wide_status
give_key(scan_state *s, uint32_t row, wide_bytes *key)
{
	scan_block *sb = &s->block;
	size_t n;
	ssize_t len;

	TRY(row_key(sb, row));
	TRY(buffer_reserve(&sb->key.encoded, KEY_SLACK));
	n = sb->key.encoded.len + KEY_SLACK;
	if (unlikely(sb->memory.left < n))
	{
		sb->memory.left = n > KEY_ROOM ? n : KEY_ROOM;
		sb->memory.at = scan_row_arena(s, sb->memory.left);
		if (sb->memory.at == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
	}
	len = decode(sb->key.encoded.data, (uint32_t) sb->key.encoded.len, sb->memory.at);
	if (unlikely(len < 0))
		return block_malformed(sb->span.block, "a row's key");
	*key = (wide_bytes) {sb->memory.at, (size_t) len};
	sb->memory.at += len;
	sb->memory.left -= (size_t) len;
	return WIDE_OK;
}

/* Room for n rows with all wanted columns. */
static wide_status
reserve_rows(scan_state *s, int n)
{
	scan_block *sb = &s->block;

	if (sb->ahead.cap < n)
	{
		int cap = n < SCAN_BLOCK_ROWS / 8 ? SCAN_BLOCK_ROWS / 8 : SCAN_BLOCK_ROWS;
		wide_row *rows = malloc((size_t) cap * (sizeof(*rows) + sizeof(*sb->ahead.numbers)));

		if (rows == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
		free(sb->ahead.rows);
		sb->ahead.rows = rows;
		sb->ahead.numbers = (uint32_t *) (rows + cap);
		sb->ahead.cap = cap;
	}
	return scan_row_reserve(s, (uint32_t) n * (uint32_t) sb->columns.nwanted);
}

/* Asks the filter about the row before span.row, whose key is in sb->key. */
static wide_status
span_filter(scan_state *s, wide_bytes key, bool *in)
{
	scan_block *sb = &s->block;
	wide_row_verdict verdict;
	uint32_t row;

	TRY(scan_range_ask_row_filter(s, &sb->key.encoded, key, &verdict));
	*in = verdict == WIDE_ROW_ACCEPT;
	if (verdict == WIDE_ROW_END || (verdict == WIDE_ROW_SEEK && scan_range_passed(s)))
	{
		/* only when the rows that were read ahead are handed out */
		sb->state = verdict == WIDE_ROW_END ? SPAN_ENDS_SCAN : SPAN_ENDS_RANGE;
		sb->span.end = sb->span.row;
	}
	else if (verdict == WIDE_ROW_SEEK)
	{
		TRY(block_row_at(sb->span.block, sb->span.row, s->filter.seek.data,
						 (uint32_t) s->filter.seek.len, &row));
		/* the order of keys in a block is not checked: never go back, so that there is an end */
		sb->span.row = row > sb->span.row ? row : sb->span.row;
		if (sb->span.row >= sb->span.end)
		{
			sb->span.row = sb->span.end;
			sb->state = SPAN_SEEKS;
		}
	}
	return WIDE_OK;
}

/* Reads ahead the next rows of the span. */
static wide_status
span_read(scan_state *s, scan_family *f)
{
	scan_block *sb = &s->block;
	int limit = sb->ahead.limit, count = 0, at = 0;
	bool grid = (sb->span.block->flags & BLOCK_GRID) != 0;

	if (s->filter.follows)
		limit = 1;
	if (sb->columns.nwanted > 0 && limit > SCAN_BLOCK_CELLS / sb->columns.nwanted)
		limit = SCAN_BLOCK_CELLS / sb->columns.nwanted;
	TRY(reserve_rows(s, limit));
	if (host_interrupted(s->db))
		return status_fail(WIDE_INTERRUPTED, "interrupted");
	sb->memory.left = 0;
	if (grid && sb->span.row == sb->first)
		prefetch_row(sb, sb->first);
	while (sb->span.row < sb->span.end && count < limit)
	{
		wide_row *row = &sb->ahead.rows[count];
		uint32_t i = sb->span.row++;
		int n = 0;
		bool in = true;

		if (s->filter.fn != NULL)
		{
			TRY(give_key(s, i, &row->key));
			TRY(span_filter(s, row->key, &in));
			if (!in)
				continue;
		}
		in = sb->all_exist;
		if (sb->columns.n > 0)
			TRY(grid ? grid_row(s, i, at, &n, &in) : list_row(s, i, at, &n, &in));
		if (!in)
			continue;
		if (s->filter.fn == NULL)
			TRY(give_key(s, i, &row->key));
		row->cells = &s->out.cells[at];
		row->ncells = n;
		row->more = false;
		row->unsure = sb->columns.ntests > 0 && s->pred.unsure;
		sb->ahead.numbers[count++] = i;
		at += n;
	}
	s->out.n = at;
	if (at > 0)
		merge_used(f->m);
	if (count == limit && sb->ahead.limit < SCAN_BLOCK_ROWS)
		sb->ahead.limit *= 2;
	s->door.ahead = sb->ahead.rows;
	s->door.nahead = count;
	return WIDE_OK;
}

/* Makes the row the last one that was read: the scan goes on behind it. */
static wide_status
stand_behind(scan_state *s, uint32_t row)
{
	scan_block *sb = &s->block;

	TRY(row_key(sb, row));
	TRY(buffer_set(&s->row.key, sb->key.encoded.data, sb->key.encoded.len));
	TRY(buffer_set(&s->row.after, sb->key.encoded.data, sb->key.encoded.len));
	if (s->row.after.len == 0)
		return block_malformed(sb->span.block, "a row's key");
	s->row.after.data[s->row.after.len - 1]++;
	s->ranges.state = RANGE_ENTERED;
	return WIDE_OK;
}

/* The range is read, or the filter wants nothing more of it, or (state) of any range. */
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
	scan_block *sb = &s->block;
	span_state state = sb->state;
	bool some = s->door.given < s->door.nahead;
	uint32_t next = some ? sb->ahead.numbers[s->door.given] : sb->span.row;

	scan_block_restart(s);
	if (state == SPAN_NONE)
		return WIDE_OK;
	if ((state == SPAN_ENDS_RANGE || state == SPAN_ENDS_SCAN) && !some)
		close_range(s, state);
	else if (s->ranges.cur->point)
		s->ranges.state = next > sb->first ? RANGE_ENTERED : RANGE_AT_START;
	else if (state == SPAN_SEEKS && !some)
	{
		TRY(buffer_set(&s->row.after, s->filter.seek.data, s->filter.seek.len));
		s->ranges.state = RANGE_ENTERED;
	}
	else if (next > sb->first)
		return stand_behind(s, next - 1);
	return WIDE_OK;
}

/* All rows of the span are done: moves the merge behind it. */
static wide_status
span_leave(scan_state *s, scan_family *f)
{
	scan_block *sb = &s->block;
	span_state state = sb->state;

	sb->state = SPAN_NONE;
	if (state == SPAN_ENDS_RANGE || state == SPAN_ENDS_SCAN || s->ranges.cur->point)
	{
		close_range(s, state);
		return WIDE_OK;
	}
	TRY(stand_behind(s, sb->span.end - 1));
	TRY(merge_span_leave(f->m, sb->span.end));
	return state == SPAN_SEEKS ? scan_range_follow_filter(s) : WIDE_OK;
}

wide_status
scan_block_next(scan_state *s)
{
	scan_block *sb = &s->block;
	scan_family *f = &s->families[0];

	forget_rows(s);
	for (;;)
	{
		if (sb->state != SPAN_NONE)
		{
			wide_status st = sb->span.row < sb->span.end ? span_read(s, f) : WIDE_OK;

			if (st == WIDE_INTERRUPTED)
				TRY(scan_block_drop(s));
			if (st != WIDE_OK || s->door.nahead > 0)
				return st;
			if (sb->span.row < sb->span.end)
				continue;
			TRY(span_leave(s, f));
		}
		if (!scan_range_is_open(s))
			TRY(scan_range_open(s));
		if (s->reverse && !s->ranges.cur->point)
			return WIDE_OK;
		if (scan_range_over(s, merge_entry(f->m)))
		{
			s->ranges.state = RANGE_CLOSED;
			continue;
		}
		TRY(span_open(s, f));
		if (sb->state == SPAN_NONE)
			return WIDE_OK;
		if (s->ranges.cur->point)
			s->ranges.state = RANGE_ENTERED;
	}
}

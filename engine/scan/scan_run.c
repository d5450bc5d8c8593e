/*
 * scan_run.c - rows of a block that are taken as they are.
 *
 * Most of what a scan passes lies in one file only, was put once, and is visible.  A run is a part
 * of the block on which a source of files stands, of which that is known beforehand.  Its rows are
 * handed out from the block's arrays: without the merge, without the visibility, and without a key
 * for each cell.  scan_block.c puts the runs of all sources together.
 *
 * A block is plain if all of its entries are puts without a time to live of their own; if each is
 * the only one of its column in its row, or only the newest version is asked for and the family has
 * no merge operator; and if the bounds
 * in its head say that the snapshot has them all and that neither the family's time to live nor a
 * limit of time hides one (visibility_all).  Then visibility_cell would answer VISIBILITY_LAST for
 * the first entry of each column (VISIBILITY_SHOW if more versions are asked for), and hide what
 * follows in a column of which one version is asked for, provided that no other source has entries
 * of the row.  A row that goes on in another block is in no run.
 *
 * Locking: none; the scan's pin protects what is read.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/scan/scan_run.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/sst/block.h"
#include "engine/sst/block_key.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/read/source_file.h"
#include "engine/read/visibility.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_block_columns.h"
#include "engine/scan/scan_state.h"

/* -------------------------------------------------------- opening, leaving */

void
scan_run_forget(scan_family *f)
{
	for (int i = 0; i < f->runs_cap; i++)
		f->runs[i].src = NULL;
	f->nruns = 0;
}

void
scan_run_free(scan_family *f)
{
	for (int i = 0; i < f->runs_cap; i++)
	{
		scan_run *run = &f->runs[i];

		free(run->columns.list);
		buffer_free(&run->columns.noted);
		buffer_free(&run->columns.numbers);
		buffer_free(&run->columns.quals);
		buffer_free(&run->key.encoded);
		buffer_free(&run->key.decoded);
	}
	free(f->runs);
	f->runs = NULL;
	f->nruns = f->runs_cap = 0;
}

/* Returns true if all entries of the block are shown, as the comment at the top requires. */
static bool
block_is_plain(const scan_family *f, const block_cursor *b, uint64_t seq)
{
	if (b->type.most != ENTRY_PUT || b->ttl.base != 0 || b->ttl.most != 0)
		return false;
	if ((b->flags & BLOCK_DISTINCT) == 0 &&
		(f->view.max_out > 1 || f->view.opt.merge != WIDE_MERGE_NONE))
		return false;
	/* all columns of the block would be looked up for the few of one row */
	if (f->limits.row != NULL && f->want != WIDE_WANT_COLUMNS && b->columns > BLOCK_GRID_COLUMNS)
		return false;
	return visibility_all(&f->view, (int64_t) b->ts.base, (int64_t) b->ts.most,
						  seq != 0 ? seq : b->seq.base, seq != 0 ? seq : b->seq.most);
}

wide_status
scan_run_renew(scan_run *run)
{
	const file_source *f = source_file_of(run->src);

	run->why = RUN_ENDS_BLOCK;
	if (f == NULL || run->src->e == NULL)
	{
		run->loads = 0;
		run->plain = false;
		return WIDE_OK;
	}
	if (run->loads != f->cursor.loads)
	{
		run->block = (block_cursor *) &f->cursor.block;
		run->seq = f->reader->global_seq;
		run->plain = block_is_plain(run->family, run->block, run->seq);
		run->chosen = false;
		run->key.row = run->key.decoded_row = UINT32_MAX;
		run->match = (scan_block_match) {.group = UINT32_MAX};
		run->loads = f->cursor.loads;
	}
	if (!run->plain)
		return WIDE_OK;
	run->row = run->block->row;
	run->end = source_file_whole_rows(f);
	/* a large row; later in the block there may be whole ones, in another range */
	if (run->row >= run->end)
	{
		run->plain = false;
		run->loads = 0;
		return WIDE_OK;
	}
	if (run->chosen)
		return WIDE_OK;
	TRY(scan_block_columns_choose(run));
	TRY(scan_block_columns_find(run));
	run->chosen = true;
	return WIDE_OK;
}

wide_status
scan_run_open(scan_family *f)
{
	f->nruns = 0;
	if (f->runs_cap < f->m->n)
	{
		scan_run *p = realloc(f->runs, (size_t) f->m->n * sizeof(*p));

		if (p == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
		memset(p + f->runs_cap, 0, (size_t) (f->m->n - f->runs_cap) * sizeof(*p));
		f->runs = p;
		f->runs_cap = f->m->n;
	}
	for (int i = 0; i < f->m->n; i++)
	{
		scan_run *run = &f->runs[f->nruns];
		source *src = f->m->sources[i];

		if (src->e == NULL)
			continue;
		if (run->src != src)
			run->loads = 0;
		run->src = src;
		run->family = f;
		f->nruns++;
		TRY(scan_run_renew(run));
	}
	return WIDE_OK;
}

wide_status
scan_run_cut(scan_run *run, wide_bytes key, run_end why)
{
	uint32_t row;

	if (key.len == 0 || run->row >= run->end)
		return WIDE_OK;
	TRY(block_row_at(run->block, run->row, key.data, (uint32_t) key.len, &row));
	if (row < run->row)
		row = run->row;
	if (row >= run->end)
		return WIDE_OK;
	run->end = row;
	run->why = why;
	return WIDE_OK;
}

wide_status
scan_run_leave(scan_run *run)
{
	if (run->block->valid && run->block->row == run->row)
		return WIDE_OK;
	return source_file_row(run->src, run->row);
}

wide_status
scan_run_find_key(scan_run *run, uint32_t row)
{
	const block_keys *k = &run->block->row_keys;

	TRY(block_key(k, row, run->key.row + 1 == row && row > 0, &run->key.encoded));
	TRY(block_string_start(&k->rest, row + 1, &run->key.rest));
	run->key.row = row;
	return WIDE_OK;
}

/* ------------------------------------------------------------------- cells */

/* Finds what a column of a grid has in the row: k->there, k->off, k->len. */
static inline wide_status
grid_value(const scan_run *run, scan_block_column *k, uint32_t row)
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
			return block_malformed(run->block, "a column's rows");
		TRY(block_string_start(&g->values, k->i, &k->off));
	}
	k->row = row;
	if (!k->there)
		return WIDE_OK;
	if (unlikely(k->i >= g->values.n))
		return block_malformed(run->block, "a value");
	k->len = block_string_length(&g->values, k->i);
	if (unlikely(k->len > g->values.nbytes - k->off))
		return block_malformed(run->block, "a value");
	return WIDE_OK;
}

/*
 * At the beginning of a run nothing of its columns is in the processor's cache, and each of them
 * lies elsewhere: fetches them all at the same time.
 */
void
scan_run_prefetch(const scan_run *run)
{
	const block_cursor *b = run->block;
	uint32_t row = run->row, group = row / BLOCK_GROUP;

	if (!run->grid)
		return;
	if (b->ts.by_row)
		__builtin_prefetch(b->ts.p + (size_t) row * b->ts.width);
	if (b->seq.by_row && run->seq == 0)
		__builtin_prefetch(b->seq.p + (size_t) row * b->seq.width);
	for (int i = 0; i < run->columns.n; i++)
	{
		const block_strings *v;

		if (run->columns.list[i].column == NO_COLUMN)
			continue;
		v = &run->columns.list[i].grid->values;
		if (run->columns.list[i].grid->bits != NULL)
			__builtin_prefetch(run->columns.list[i].grid->bits + row / 8);
		if (v->width == 0)
			__builtin_prefetch(v->bytes + (size_t) row * v->base);
		else
		{
			__builtin_prefetch(v->lengths + (size_t) group * BLOCK_GROUP * v->width);
			__builtin_prefetch(v->starts + (size_t) group * 2);
			/* where the value would be if all had the same length */
			__builtin_prefetch(v->bytes + (uint64_t) row * v->nbytes / (b->rows + 1));
		}
	}
}

static inline int64_t
cell_ts(const block_cursor *b, uint32_t row, uint32_t slot)
{
	return (int64_t) block_number(&b->ts, b->ts.by_row ? row : slot);
}

/* slot: number of the cell among all entries of the block. */
static inline void
put_cell(const scan_run *run, int family, wide_cell *c, const scan_block_column *k, uint32_t slot,
		 const uint8_t *value, uint32_t len)
{
	const block_cursor *b = run->block;

	c->family = family;
	c->column = k->want;
	c->version = 0;
	c->ts = cell_ts(b, run->row, slot);
	c->ttl_us = 0;
	c->seq = run->seq != 0 ? entry_shown_seq(run->seq)
						   : block_number(&b->seq, b->seq.by_row ? run->row : slot);
	c->provisional = false;
	c->floor_ts = c->ts;
	c->qualifier = (wide_bytes) {k->want < 0 ? run->columns.quals.data + k->qual : NULL,
								 k->want < 0 ? k->quallen : 0};
	c->value = (wide_bytes) {value, len};
}

static wide_status
grid_test(scan_state *s, scan_run *run, bool *pass, bool *there)
{
	for (int i = 0; i < run->columns.n; i++)
	{
		scan_block_column *k = &run->columns.list[i];
		wide_bytes value;

		if (k->test == NULL)
			continue;
		if (k->column != NO_COLUMN)
			TRY(grid_value(run, k, run->row));
		if (k->there)
			value = (wide_bytes) {k->grid->values.bytes + k->off, k->len};
		if (!predicate_test(&s->pred, k->test, k->there ? &value : NULL,
							k->there ? cell_ts(run->block, run->row, k->grid->first + k->i) : 0))
		{
			*pass = false;
			return WIDE_OK;
		}
		*there = *there || k->there;
	}
	return WIDE_OK;
}

static wide_status
grid_cells(scan_run *run, int family, wide_cell *c, uint32_t left, uint32_t *n)
{
	uint32_t count = 0;

	for (int i = 0; i < run->columns.n && count < left; i++)
	{
		scan_block_column *k = &run->columns.list[i];

		if (!k->wanted)
			continue;
		TRY(grid_value(run, k, run->row));
		if (k->there)
			put_cell(run, family, &c[count++], k, k->grid->first + k->i,
					 k->grid->values.bytes + k->off, k->len);
	}
	*n = count;
	return WIDE_OK;
}

/* A pass over the entries of a list's row. */
typedef struct list_pass
{
	uint32_t at, to, last, off, len;
	const uint8_t *value;
} list_pass;

static inline wide_status
list_begin(const scan_run *run, uint32_t row, list_pass *p)
{
	const block_cursor *b = run->block;

	p->at = block_first_entry(b, row);
	p->to = block_first_entry(b, row + 1);
	p->last = NO_COLUMN;
	p->off = run->columns.next_off;
	p->len = 0;
	if (unlikely(p->to > b->entries || p->at > p->to))
		return block_malformed(b, "a row's entries");
	if (run->columns.next_value != p->at)
		TRY(block_string_start(&b->values, p->at, &p->off));
	return WIDE_OK;
}

/* Moves on to the next entry: *k is its column if that was chosen and this is its newest version,
 * else NULL. */
static inline wide_status
list_next(const scan_run *run, list_pass *p, scan_block_column **k)
{
	const block_cursor *b = run->block;
	uint32_t column = block_column_of(b, p->at), i = p->at++;

	p->off += p->len;
	p->len = block_string_length(&b->values, i);
	if (unlikely(column >= b->columns || p->len > b->values.nbytes - p->off))
		return block_malformed(b, "an entry");
	p->value = b->values.bytes + p->off;
	*k = run->columns.by_number[column] >= 0 && column != p->last
			 ? &run->columns.list[run->columns.by_number[column]]
			 : NULL;
	p->last = column;
	return WIDE_OK;
}

static wide_status
list_test(scan_state *s, scan_run *run, bool *pass, bool *there)
{
	list_pass p;
	scan_block_column *k = NULL;

	TRY(list_begin(run, run->row, &p));
	while (p.at < p.to)
	{
		wide_bytes value;

		TRY(list_next(run, &p, &k));
		if (k == NULL || k->test == NULL)
			continue;
		k->row = run->row;
		value = (wide_bytes) {p.value, p.len};
		if (!predicate_test(&s->pred, k->test, &value, cell_ts(run->block, run->row, p.at - 1)))
		{
			*pass = false;
			return WIDE_OK;
		}
		*there = true;
	}
	for (int i = 0; i < run->columns.n && *pass; i++)
	{
		k = &run->columns.list[i];
		if (k->test != NULL && k->row != run->row)
			*pass = predicate_test(&s->pred, k->test, NULL, 0);
	}
	return WIDE_OK;
}

static wide_status
list_cells(scan_run *run, int family, wide_cell *c, uint32_t left, uint32_t *n)
{
	list_pass p;
	uint32_t count = 0;

	TRY(list_begin(run, run->row, &p));
	while (p.at < p.to)
	{
		scan_block_column *k = NULL;

		TRY(list_next(run, &p, &k));
		if (k != NULL && k->wanted && count < left)
			put_cell(run, family, &c[count++], k, p.at - 1, p.value, p.len);
	}
	*n = count;
	run->columns.next_value = p.to;
	run->columns.next_off = p.off + p.len;
	return WIDE_OK;
}

wide_status
scan_run_test(scan_state *s, scan_run *run, bool *pass, bool *there)
{
	if (run->grid)
		return grid_test(s, run, pass, there);
	return list_test(s, run, pass, there);
}

wide_status
scan_run_cells(scan_run *run, int family, wide_cell *c, uint32_t left, uint32_t *n)
{
	*n = 0;
	if (run->columns.nwanted == 0 || left == 0)
		return WIDE_OK;
	/* a damaged list may have a column several times in a row */
	if (left > (uint32_t) run->columns.nwanted)
		left = (uint32_t) run->columns.nwanted;
	if (run->grid)
		return grid_cells(run, family, c, left, n);
	return list_cells(run, family, c, left, n);
}

/* -------------------------------------------------------- values by column */

static wide_status
list_has(const scan_run *run, bool *there)
{
	list_pass p;
	scan_block_column *k = NULL;

	TRY(list_begin(run, run->row, &p));
	while (p.at < p.to && !*there)
	{
		TRY(list_next(run, &p, &k));
		*there = k != NULL && k->wanted;
	}
	return WIDE_OK;
}

wide_status
scan_run_has(const scan_run *run, bool *there)
{
	if (run->columns.nwanted == 0)
		return WIDE_OK;
	if (!run->grid)
		return list_has(run, there);
	for (int i = 0; i < run->columns.n && !*there; i++)
	{
		const scan_block_column *k = &run->columns.list[i];
		uint32_t before;

		*there = k->wanted && block_column_has(k->grid, run->row, &before);
	}
	return WIDE_OK;
}

/* Takes the next value of a column, which is number i and begins at off. */
static inline wide_status
next_value(const scan_run *run, const block_strings *v, uint32_t i, uint32_t *off,
		   wide_bytes *value)
{
	uint32_t len = block_string_length(v, i);

	if (unlikely(len > v->nbytes - *off))
		return block_malformed(run->block, "a value");
	*value = (wide_bytes) {v->bytes + *off, len};
	*off += len;
	return WIDE_OK;
}

/* n bits, n > 0, from number `at` on. */
static inline uint64_t
span_bits(int n, int at)
{
	return (UINT64_MAX >> (WIDE_SPAN_ROWS - n)) << at;
}

static wide_status
grid_fill(const scan_run *run, const block_column *g, uint32_t row, int n, wide_span_column *out,
		  int at)
{
	const block_strings *v = &g->values;
	const uint32_t end = row + (uint32_t) n;
	uint32_t i, off, left;

	(void) block_column_has(g, row, &i);
	if (unlikely(i > v->n))
		return block_malformed(run->block, "a column's rows");
	left = v->n - i;
	TRY(block_string_start(v, i, &off));
	if (g->bits == NULL)
	{
		if (unlikely(left < (uint32_t) n))
			return block_malformed(run->block, "a column's rows");
		out->there |= span_bits(n, at);
		for (; row < end; row++)
			TRY(next_value(run, v, i++, &off, &out->values[at++]));
		return WIDE_OK;
	}
	for (; row < end; row++, at++)
	{
		if ((g->bits[row / 8] >> (row & 7) & 1) == 0)
			continue;
		if (unlikely(left-- == 0))
			return block_malformed(run->block, "a column's rows");
		out->there |= UINT64_C(1) << at;
		TRY(next_value(run, v, i++, &off, &out->values[at]));
	}
	return WIDE_OK;
}

static wide_status
list_fill(scan_run *run, uint32_t row, wide_span_column *columns, int at)
{
	list_pass p;
	scan_block_column *k = NULL;

	TRY(list_begin(run, row, &p));
	while (p.at < p.to)
	{
		TRY(list_next(run, &p, &k));
		if (k == NULL || !k->wanted)
			continue;
		columns[k->want].there |= UINT64_C(1) << at;
		columns[k->want].values[at] = (wide_bytes) {p.value, p.len};
	}
	run->columns.next_value = p.to;
	run->columns.next_off = p.off + p.len;
	return WIDE_OK;
}

wide_status
scan_run_fill(scan_run *run, uint32_t row, int n, wide_span_column *columns, int at)
{
	if (run->columns.nwanted == 0)
		return WIDE_OK;
	if (!run->grid)
	{
		for (int i = 0; i < n; i++)
			TRY(list_fill(run, row + (uint32_t) i, columns, at + i));
		return WIDE_OK;
	}
	for (int i = 0; i < run->columns.n; i++)
	{
		const scan_block_column *k = &run->columns.list[i];

		if (k->wanted)
			TRY(grid_fill(run, k->grid, row, n, &columns[k->want], at));
	}
	return WIDE_OK;
}

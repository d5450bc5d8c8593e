/*
 * scan_block_columns.c - the columns of a block that a scan reads.
 *
 * Done once for each block, so that the loop over its rows looks at nothing but the columns that
 * are wanted or tested.  In a grid these are found by their own arrays, in a list by their number
 * (by_number).  A list of one column that each row has once is a grid but for its name.
 *
 * A run keeps its list for the next block with the same columns, also in a scan that is used again:
 * what a scan asks of a family never changes.
 *
 * Locking: none; the scan's pin protects the block.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/scan/scan_block_columns.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/sst/block.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_state.h"

static wide_status
add_column(scan_run *run, uint32_t column, int want, bool wanted, const predicate_column *test)
{
	TRY(array_grow((void **) &run->columns.list, run->columns.n, &run->columns.cap,
				   sizeof(*run->columns.list)));
	run->columns.list[run->columns.n++] = (scan_block_column) {
		.column = column, .want = want, .wanted = wanted, .test = test, .row = UINT32_MAX};
	run->columns.nwanted += wanted;
	run->columns.ntests += test != NULL;
	return WIDE_OK;
}

/* Adds the columns of f->columns.  A column that the block does not have is added if it is tested.
 */
static wide_status
listed_columns(scan_run *run, const scan_family *f)
{
	for (int i = 0; i < f->columns.n; i++)
	{
		const scan_column *col = &f->columns.list[i];
		uint32_t column;
		bool exact;

		TRY(block_find_column(run->block, f->columns.encoded.data + col->at, (uint32_t) col->len,
							  &column, &exact));
		if (exact || col->test != NULL)
			TRY(add_column(run, exact ? column : NO_COLUMN, col->want, exact && col->want >= 0,
						   col->test));
	}
	return WIDE_OK;
}

/* Adds all columns, or those of the range, and the listed ones, which have predicates. */
static wide_status
columns_between(scan_run *run, const scan_family *f)
{
	uint32_t from = 0, to = run->block->columns;
	bool exact;
	int n;

	if (f->want == WIDE_WANT_RANGE)
	{
		TRY(block_find_column(run->block, f->columns.encoded.data, (uint32_t) f->columns.lo_len,
							  &from, &exact));
		if (f->columns.hi_len > 0)
			TRY(block_find_column(run->block, f->columns.encoded.data + f->columns.lo_len,
								  (uint32_t) f->columns.hi_len, &to, &exact));
	}
	TRY(listed_columns(run, f));
	n = run->columns.n;
	for (uint32_t c = from; c < to; c++)
	{
		int i = 0;

		while (i < n && run->columns.list[i].column != c)
			i++;
		if (i == n)
			TRY(add_column(run, c, -1, true, NULL));
		else
		{
			run->columns.list[i].wanted = true;
			run->columns.nwanted++;
		}
	}
	return WIDE_OK;
}

static int
compare_columns(const void *a, const void *b)
{
	const scan_block_column *x = a, *y = b;

	return (x->column > y->column) - (x->column < y->column);
}

/* Cells have their qualifiers with them where columns are not listed in the spec: decodes these. */
static wide_status
decode_qualifiers(scan_run *run)
{
	buffer key = {0};
	wide_status st = WIDE_OK;

	run->columns.quals.len = 0;
	for (int i = 0; i < run->columns.n; i++)
	{
		scan_block_column *k = &run->columns.list[i];
		wide_bytes raw;

		if (!k->wanted)
			continue;
		key.len = 0;
		TRY_GOTO(block_key(&run->block->column_keys, k->column, false, &key));
		k->qual = run->columns.quals.len;
		TRY_GOTO(key_decode_part(key.data, key.len, &run->columns.quals, &raw));
		k->quallen = raw.len;
		/* without an escape it is still in the key */
		if (raw.data == key.data)
			TRY_GOTO(buffer_append(&run->columns.quals, raw.data, raw.len));
	}
done:
	buffer_free(&key);
	return st;
}

/* Makes the list for the columns of the run's block. */
static wide_status
make_list(scan_run *run, const scan_family *f)
{
	run->columns.n = run->columns.nwanted = run->columns.ntests = 0;
	if (f->want == WIDE_WANT_ALL || f->want == WIDE_WANT_RANGE)
	{
		TRY(columns_between(run, f));
		if (run->columns.ntests > 0)
			qsort(run->columns.list, (size_t) run->columns.n, sizeof(*run->columns.list),
				  compare_columns);
		return decode_qualifiers(run);
	}
	if (f->want == WIDE_WANT_COLUMNS)
		return listed_columns(run, f);
	return WIDE_OK;
}

wide_status
scan_block_columns_choose(scan_run *run)
{
	const scan_family *f = run->family;

	run->all_exist = f->any_exists || f->want == WIDE_WANT_ALL || f->want == WIDE_WANT_EXISTS;
	/* most blocks of a family have the same columns */
	if (block_columns_are(run->block, &run->columns.noted))
	{
		for (int i = 0; i < run->columns.n; i++)
			run->columns.list[i].row = UINT32_MAX;
		return WIDE_OK;
	}
	run->columns.noted.len = 0;
	TRY(make_list(run, f));
	return block_columns_note(run->block, &run->columns.noted);
}

wide_status
scan_block_columns_find(scan_run *run)
{
	block_cursor *b = run->block;

	run->one_full = false;
	run->grid = (b->flags & BLOCK_GRID) != 0 || block_is_column(b, &run->only);
	if (run->grid)
	{
		for (int i = 0; i < run->columns.n; i++)
		{
			scan_block_column *k = &run->columns.list[i];

			if (k->column == NO_COLUMN)
				continue;
			k->grid = &run->only;
			if ((b->flags & BLOCK_GRID) != 0)
				TRY(block_column_open(b, k->column, &k->grid));
			run->one_full = run->one_full || (k->wanted && k->grid->bits == NULL);
		}
		return WIDE_OK;
	}
	TRY(buffer_reserve(&run->columns.numbers, b->columns * sizeof(*run->columns.by_number)));
	run->columns.by_number = (int *) run->columns.numbers.data;
	memset(run->columns.by_number, 0xff, b->columns * sizeof(*run->columns.by_number));
	for (int i = 0; i < run->columns.n; i++)
		if (run->columns.list[i].column != NO_COLUMN)
			run->columns.by_number[run->columns.list[i].column] = i;
	run->columns.next_value = UINT32_MAX;
	return WIDE_OK;
}

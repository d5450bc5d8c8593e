/*
 * scan_block_columns.c - the columns of a block that a scan reads.
 *
 * Done once for each span, so that the loop over its rows looks at nothing but the columns that are
 * wanted or tested.  In a grid these are found by their own arrays, in a list by their number
 * (by_number).
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
add_column(scan_block *sb, uint32_t column, int want, bool wanted, const predicate_column *test)
{
	TRY(array_grow((void **) &sb->columns.list, sb->columns.n, &sb->columns.cap,
				   sizeof(*sb->columns.list)));
	sb->columns.list[sb->columns.n++] = (scan_block_column) {
		.column = column, .want = want, .wanted = wanted, .test = test, .row = UINT32_MAX};
	sb->columns.nwanted += wanted;
	sb->columns.ntests += test != NULL;
	return WIDE_OK;
}

/* Adds the columns of f->columns.  A column that the block does not have is added if it is tested.
 */
static wide_status
listed_columns(scan_block *sb, const scan_family *f)
{
	for (int i = 0; i < f->columns.n; i++)
	{
		const scan_column *col = &f->columns.list[i];
		uint32_t column;
		bool exact;

		TRY(block_find_column(sb->span.block, f->columns.encoded.data + col->at,
							  (uint32_t) col->len, &column, &exact));
		if (exact || col->test != NULL)
			TRY(add_column(sb, exact ? column : NO_COLUMN, col->want, exact && col->want >= 0,
						   col->test));
	}
	return WIDE_OK;
}

/* Adds all columns, or those of the range, and the listed ones, which have predicates. */
static wide_status
columns_between(scan_block *sb, const scan_family *f)
{
	uint32_t from = 0, to = sb->span.block->columns;
	bool exact;
	int n;

	if (f->want == WIDE_WANT_RANGE)
	{
		TRY(block_find_column(sb->span.block, f->columns.encoded.data, (uint32_t) f->columns.lo_len,
							  &from, &exact));
		if (f->columns.hi_len > 0)
			TRY(block_find_column(sb->span.block, f->columns.encoded.data + f->columns.lo_len,
								  (uint32_t) f->columns.hi_len, &to, &exact));
	}
	TRY(listed_columns(sb, f));
	n = sb->columns.n;
	for (uint32_t c = from; c < to; c++)
	{
		int i = 0;

		while (i < n && sb->columns.list[i].column != c)
			i++;
		if (i == n)
			TRY(add_column(sb, c, -1, true, NULL));
		else
		{
			sb->columns.list[i].wanted = true;
			sb->columns.nwanted++;
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
decode_qualifiers(scan_block *sb)
{
	buffer key = {0};
	wide_status st = WIDE_OK;

	sb->columns.quals.len = 0;
	for (int i = 0; i < sb->columns.n; i++)
	{
		scan_block_column *k = &sb->columns.list[i];
		wide_bytes raw;

		if (!k->wanted)
			continue;
		key.len = 0;
		TRY_GOTO(block_key(&sb->span.block->column_keys, k->column, false, &key));
		k->qual = sb->columns.quals.len;
		TRY_GOTO(key_decode_part(key.data, key.len, &sb->columns.quals, &raw));
		k->quallen = raw.len;
		/* without an escape it is still in the key */
		if (raw.data == key.data)
			TRY_GOTO(buffer_append(&sb->columns.quals, raw.data, raw.len));
	}
done:
	buffer_free(&key);
	return st;
}

wide_status
scan_block_columns_choose(scan_block *sb, const scan_family *f)
{
	sb->columns.n = sb->columns.nwanted = sb->columns.ntests = 0;
	sb->all_exist = f->any_exists || f->want == WIDE_WANT_ALL || f->want == WIDE_WANT_EXISTS;
	if (f->want == WIDE_WANT_ALL || f->want == WIDE_WANT_RANGE)
	{
		TRY(columns_between(sb, f));
		if (sb->columns.ntests > 0)
			qsort(sb->columns.list, (size_t) sb->columns.n, sizeof(*sb->columns.list),
				  compare_columns);
		return decode_qualifiers(sb);
	}
	if (f->want == WIDE_WANT_COLUMNS)
		return listed_columns(sb, f);
	return WIDE_OK;
}

wide_status
scan_block_columns_find(scan_block *sb)
{
	block_cursor *b = sb->span.block;

	if ((b->flags & BLOCK_GRID) != 0)
	{
		for (int i = 0; i < sb->columns.n; i++)
			if (sb->columns.list[i].column != NO_COLUMN)
				TRY(block_column_open(b, sb->columns.list[i].column, &sb->columns.list[i].grid));
		return WIDE_OK;
	}
	TRY(buffer_reserve(&sb->columns.numbers, b->columns * sizeof(*sb->columns.by_number)));
	sb->columns.by_number = (int *) sb->columns.numbers.data;
	memset(sb->columns.by_number, 0xff, b->columns * sizeof(*sb->columns.by_number));
	for (int i = 0; i < sb->columns.n; i++)
		if (sb->columns.list[i].column != NO_COLUMN)
			sb->columns.by_number[sb->columns.list[i].column] = i;
	sb->columns.next_value = UINT32_MAX;
	return WIDE_OK;
}

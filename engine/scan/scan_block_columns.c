/* scan_block_columns.c - the columns of a block that a scan reads */
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
add_column(scan_block *r, uint32_t column, int want, bool wanted, const predicate_column *test)
{
	TRY(array_grow((void **) &r->columns.list, r->columns.n, &r->columns.cap,
				   sizeof(*r->columns.list)));
	r->columns.list[r->columns.n++] = (scan_block_column) {
		.column = column, .want = want, .wanted = wanted, .test = test, .row = UINT32_MAX};
	r->columns.nwanted += wanted;
	r->columns.ntests += test != NULL;
	return WIDE_OK;
}

/* The columns that are listed: wanted ones and those with predicates. */
static wide_status
listed_columns(scan_block *r, const scan_family *f)
{
	for (int i = 0; i < f->columns.n; i++)
	{
		const scan_column *col = &f->columns.list[i];
		uint32_t column;
		bool exact;

		TRY(block_find_column(r->span.block, f->columns.encoded.data + col->at, (uint32_t) col->len,
							  &column, &exact));
		if (exact || col->test != NULL)
			TRY(add_column(r, exact ? column : NO_COLUMN, col->want, exact && col->want >= 0,
						   col->test));
	}
	return WIDE_OK;
}

/* All columns or those of a range, and the listed ones, which have predicates. */
static wide_status
columns_between(scan_block *r, const scan_family *f)
{
	uint32_t from = 0, to = r->span.block->columns;
	bool exact;
	int n;

	if (f->want == WIDE_WANT_RANGE)
	{
		TRY(block_find_column(r->span.block, f->columns.encoded.data, (uint32_t) f->columns.lo_len,
							  &from, &exact));
		if (f->columns.hi_len > 0)
			TRY(block_find_column(r->span.block, f->columns.encoded.data + f->columns.lo_len,
								  (uint32_t) f->columns.hi_len, &to, &exact));
	}
	TRY(listed_columns(r, f));
	n = r->columns.n;
	for (uint32_t c = from; c < to; c++)
	{
		int i = 0;

		while (i < n && r->columns.list[i].column != c)
			i++;
		if (i == n)
			TRY(add_column(r, c, -1, true, NULL));
		else
		{
			r->columns.list[i].wanted = true;
			r->columns.nwanted++;
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

/* Cells of families that are not read by a list have their qualifiers with them. */
static wide_status
decode_qualifiers(scan_block *r)
{
	buffer key = {0};
	wide_status st = WIDE_OK;

	r->columns.quals.len = 0;
	for (int i = 0; i < r->columns.n; i++)
	{
		scan_block_column *k = &r->columns.list[i];
		wide_bytes raw;

		if (!k->wanted)
			continue;
		key.len = 0;
		TRY_GOTO(block_key(&r->span.block->column_keys, k->column, false, &key));
		k->qual = r->columns.quals.len;
		TRY_GOTO(buffer_reserve(&r->columns.quals, key.len));
		TRY_GOTO(key_decode_part(key.data, key.len, &r->columns.quals, &raw));
		k->quallen = raw.len;
		if (raw.data != r->columns.quals.data + k->qual)
			TRY_GOTO(buffer_append(&r->columns.quals, raw.data, raw.len));
	}
done:
	buffer_free(&key);
	return st;
}

wide_status
scan_block_columns_choose(scan_block *r, const scan_family *f)
{
	r->columns.n = r->columns.nwanted = r->columns.ntests = 0;
	r->all_exist = f->any_exists || f->want == WIDE_WANT_ALL || f->want == WIDE_WANT_EXISTS;
	if (f->want == WIDE_WANT_ALL || f->want == WIDE_WANT_RANGE)
	{
		TRY(columns_between(r, f));
		if (r->columns.ntests > 0)
			qsort(r->columns.list, (size_t) r->columns.n, sizeof(*r->columns.list),
				  compare_columns);
		return decode_qualifiers(r);
	}
	if (f->want == WIDE_WANT_COLUMNS)
		return listed_columns(r, f);
	return WIDE_OK;
}

wide_status
scan_block_columns_find(scan_block *r)
{
	block_cursor *b = r->span.block;

	if ((b->flags & BLOCK_GRID) != 0)
	{
		for (int i = 0; i < r->columns.n; i++)
			if (r->columns.list[i].column != NO_COLUMN)
				TRY(block_column_open(b, r->columns.list[i].column, &r->columns.list[i].grid));
		return WIDE_OK;
	}
	if (r->columns.by_number_cap < b->columns)
	{
		free(r->columns.by_number);
		r->columns.by_number_cap = 0;
		r->columns.by_number = malloc(b->columns * sizeof(*r->columns.by_number));
		if (r->columns.by_number == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
		r->columns.by_number_cap = b->columns;
	}
	memset(r->columns.by_number, 0xff, b->columns * sizeof(*r->columns.by_number));
	for (int i = 0; i < r->columns.n; i++)
		if (r->columns.list[i].column != NO_COLUMN)
			r->columns.by_number[r->columns.list[i].column] = i;
	r->columns.next_value = UINT32_MAX;
	return WIDE_OK;
}

/* block_extent.c - the size of a block in its two forms (block_extent.h). */
#include "engine/sst/block_extent.h"
#include "engine/sst/block.h"

/* Bytes of the lengths and starts of n strings. */
static inline uint64_t
lengths_size(uint64_t n, uint32_t width, uint64_t nbytes)
{
	return width == 0 ? 0 : n * width + block_groups(n) * block_start_width(nbytes);
}

size_t
block_extent_list_size(const block_extent *x)
{
	uint64_t n = BLOCK_HEAD + BLOCK_SLACK;
	uint32_t fw = block_extent_first_width(x);

	n += x->row_bytes + lengths_size(x->rows, block_range_width(&x->key_length), x->row_bytes) +
		 (uint64_t) x->rows * 2;
	n += x->column_bytes + lengths_size(x->columns, block_width(x->column_most), x->column_bytes) +
		 (uint64_t) x->columns * 2;
	for (int k = 0; k < BLOCK_ARRAYS; k++)
		n += (uint64_t) block_range_width(&x->number[k]) * (x->by_row[k] ? x->rows : x->entries);
	n += fw == 0 ? 0 : (uint64_t) fw * (x->rows + 1);
	n += (uint64_t) block_extent_column_width(x) * x->entries;
	n += x->value_bytes +
		 lengths_size(x->entries, block_range_width(&x->value_length), x->value_bytes);
	return n;
}

bool
block_extent_grid_pays(const block_extent *x)
{
	/* a grid has a directory and bit maps for absent cells, a list a column number per entry */
	uint64_t grid = (uint64_t) x->columns * (BLOCK_DIRECTORY + BLOCK_GROUP);
	uint64_t list = (uint64_t) x->entries * block_extent_column_width(x) +
					(uint64_t) x->rows * block_extent_first_width(x);

	if (!x->distinct || x->columns > BLOCK_GRID_COLUMNS)
		return false;
	if (x->entries < (uint64_t) x->rows * x->columns)
		grid += (uint64_t) x->columns * ((x->rows + 63) / 64) * 12;
	return grid < list;
}

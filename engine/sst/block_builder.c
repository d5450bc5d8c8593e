/*
 * block_builder.c - making a block (block.h).
 *
 * Entries are collected in an array, their values and the different row keys and qualifiers in
 * buffers.  block_builder_finish() writes the block, when the widths of all numbers are known.
 * It chooses the grid form only if that is smaller than the list form, so the size of the list
 * form (block_extent.h) is an upper bound of the block's size at any time.
 *
 * Columns are numbered in the order of their first entries; block_builder_finish() sorts them.
 * Most rows have the columns of the row before.  So the first guess for an entry's column is the
 * one that followed the last entry's column last time; a hash table is used if that fails.
 *
 * Locking: none, the memory is private.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/sst/block_builder.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/sst/block.h"
#include "engine/sst/block_extent.h"

#define VALUE_KEEP	((size_t) 4 * 1024 * 1024) /* larger buffers are freed after each block */
#define ENTRY_BYTES 64						   /* more than an entry adds besides its bytes */

typedef struct built_entry
{
	uint64_t number[BLOCK_ARRAYS];
	uint32_t value; /* offset in values */
	uint32_t vlen;
	uint32_t row;
	uint32_t column; /* number by first entry */
} built_entry;

/* A different row key or qualifier. */
typedef struct built_key
{
	uint32_t off, len; /* in the list's bytes */
	/* of a column */
	uint32_t next;	/* column that followed last time; after sort_columns() this one's number */
	uint32_t chain; /* next column with the same hash, + 1; 0: none */
} built_key;

typedef struct key_list
{
	buffer bytes;
	built_key *keys;
	uint32_t n;
	int cap;
} key_list;

struct block_builder
{
	/* entries */
	built_entry *list;
	int cap;
	buffer values;
	key_list rows, columns;
	uint32_t *hash; /* buckets: number of a column + 1 */
	uint32_t nhash; /* a power of two, or 0 */
	/* size */
	block_extent x;
	size_t size;	  /* list form, as of the last computation */
	size_t since;	  /* upper bound of what was added after it; 0: nothing */
	size_t row_began; /* size at the beginning of the last row */
	/* finishing */
	buffer scratch; /* numbers, uint32_t */
	buffer out;
};

block_builder *
block_builder_new(void)
{
	block_builder *b = calloc(1, sizeof(block_builder));

	if (b != NULL)
		block_builder_reset(b);
	return b;
}

static void
key_list_free(key_list *k)
{
	buffer_free(&k->bytes);
	free(k->keys);
}

void
block_builder_free(block_builder *b)
{
	if (b == NULL)
		return;
	key_list_free(&b->rows);
	key_list_free(&b->columns);
	buffer_free(&b->values);
	buffer_free(&b->out);
	free(b->list);
	free(b->hash);
	buffer_free(&b->scratch);
	free(b);
}

void
block_builder_reset(block_builder *b)
{
	/* do not keep the memory of a giant value for the rest of the file */
	if (b->values.cap > VALUE_KEEP)
		buffer_free(&b->values);
	if (b->out.cap > VALUE_KEEP)
		buffer_free(&b->out);
	b->values.len = 0;
	b->rows.bytes.len = b->columns.bytes.len = 0;
	b->rows.n = b->columns.n = 0;
	if (b->hash != NULL)
		memset(b->hash, 0, b->nhash * sizeof(*b->hash));
	memset(&b->x, 0, sizeof(b->x));
	b->size = BLOCK_HEAD + BLOCK_SLACK;
	b->since = b->row_began = 0;
}

/* ------------------------------------------------------------------ sizes */

size_t
block_builder_size(block_builder *b)
{
	if (b->since > 0)
	{
		b->size = block_extent_list_size(&b->x);
		b->since = 0;
	}
	return b->size;
}

size_t
block_builder_bound(const block_builder *b)
{
	return b->size + b->since;
}

size_t
block_builder_row_size(block_builder *b)
{
	return block_builder_size(b) - b->row_began;
}

uint32_t
block_builder_count(const block_builder *b)
{
	return b->x.entries;
}

/* ----------------------------------------------------------------- adding */

static inline const uint8_t *
key_at(const key_list *k, uint32_t i)
{
	return k->bytes.data + k->keys[i].off;
}

static inline bool
key_is(const key_list *k, uint32_t i, const uint8_t *p, uint32_t len)
{
	return k->keys[i].len == len && memcmp(key_at(k, i), p, len) == 0;
}

static wide_status
key_list_add(key_list *k, const uint8_t *p, uint32_t len)
{
	TRY(array_grow((void **) &k->keys, (int) k->n, &k->cap, sizeof(*k->keys)));
	k->keys[k->n] = (built_key) {.off = (uint32_t) k->bytes.len, .len = len};
	TRY(buffer_append(&k->bytes, p, len));
	k->n++;
	return WIDE_OK;
}

/* Returns how many bytes p, as key i of the list, shares with the whole key of its group; 0 if it
 * is that key. */
static inline uint32_t
shared_with_head(const key_list *k, uint32_t i, const uint8_t *p, uint32_t len)
{
	uint32_t head = i - i % BLOCK_GROUP;
	uint32_t n;

	if (head == i)
		return 0;
	n = k->keys[head].len < len ? k->keys[head].len : len;
	return bytes_shared(key_at(k, head), p, n < UINT16_MAX ? n : UINT16_MAX);
}

static inline bool
is_new_row(const block_builder *b, const entry *e)
{
	return b->rows.n == 0 || !key_is(&b->rows, b->rows.n - 1, e->ukey, e->rowlen);
}

static inline uint32_t *
hash_bucket(const block_builder *b, const uint8_t *p, uint32_t n)
{
	return &b->hash[(uint32_t) hash_xxh3(p, n, 0) & (b->nhash - 1)];
}

/* Returns the number of the entry's column, columns.n if the block does not have it yet. */
static uint32_t
find_column(const block_builder *b, const entry *e)
{
	const uint8_t *q = e->ukey + e->rowlen;
	uint32_t n = e->klen - e->rowlen;

	if (b->x.entries > 0)
	{
		uint32_t last = b->list[b->x.entries - 1].column;
		uint32_t guess = b->columns.keys[last].next;

		if (key_is(&b->columns, guess, q, n))
			return guess;
		if (key_is(&b->columns, last, q, n))
			return last;
	}
	if (b->nhash == 0)
		return b->columns.n;
	for (uint32_t i = *hash_bucket(b, q, n); i > 0; i = b->columns.keys[i - 1].chain)
		if (key_is(&b->columns, i - 1, q, n))
			return i - 1;
	return b->columns.n;
}

static wide_status
hash_grow(block_builder *b)
{
	uint32_t n = b->nhash == 0 ? 64 : 2 * b->nhash;
	uint32_t *h = calloc(n, sizeof(*h));

	if (h == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a block");
	free(b->hash);
	b->hash = h;
	b->nhash = n;
	for (uint32_t i = 0; i < b->columns.n; i++)
	{
		built_key *k = &b->columns.keys[i];
		uint32_t *bucket = hash_bucket(b, b->columns.bytes.data + k->off, k->len);

		k->chain = *bucket;
		*bucket = i + 1;
	}
	return WIDE_OK;
}

static wide_status
add_column(block_builder *b, const entry *e)
{
	const uint8_t *q = e->ukey + e->rowlen;
	uint32_t n = e->klen - e->rowlen, *bucket;

	if (b->columns.n >= b->nhash)
		TRY(hash_grow(b));
	TRY(key_list_add(&b->columns, q, n));
	bucket = hash_bucket(b, q, n);
	b->columns.keys[b->columns.n - 1].chain = *bucket;
	*bucket = b->columns.n;
	return WIDE_OK;
}

/* Adds an entry of a known column to an extent, which is the builder's or a copy of it. */
static inline void
add_to_extent(const block_builder *b, block_extent *x, const entry *e, bool new_row, uint32_t rest,
			  uint32_t column, bool new_column)
{
	const built_entry *last = x->entries > 0 ? &b->list[x->entries - 1] : NULL;

	block_extent_add(x, e, new_row, rest, new_column, !new_row && column == last->column,
					 last != NULL ? last->number[BLOCK_TS] : 0,
					 last != NULL ? last->number[BLOCK_SEQ] : 0);
}

size_t
block_builder_size_with(const block_builder *b, const entry *e)
{
	block_extent x = b->x;
	bool new_row = is_new_row(b, e);
	uint32_t rest = 0, column = find_column(b, e);

	if (new_row)
		rest = e->rowlen - shared_with_head(&b->rows, b->rows.n, e->ukey, e->rowlen);
	add_to_extent(b, &x, e, new_row, rest, column, column == b->columns.n);
	return block_extent_list_size(&x);
}

wide_status
block_builder_add(block_builder *b, const entry *e)
{
	return block_builder_add_row(b, e, is_new_row(b, e));
}

wide_status
block_builder_add_row(block_builder *b, const entry *e, bool new_row)
{
	bool first = b->x.entries == 0, new_column;
	uint32_t rest = 0, column;

	if (e->klen > KEY_UKEY_MAX || e->vlen > WIDE_MAX_VALUE || e->rowlen > e->klen ||
		e->seq > SEQ_MAX)
		return status_fail(WIDE_LIMIT,
						   "an entry with a key of %u and a value of %u bytes is too large",
						   e->klen, e->vlen);
	if (b->size + b->since > UINT32_MAX / 2 && block_builder_size(b) > UINT32_MAX / 2)
		return status_fail(WIDE_LIMIT, "a block cannot have more than 2 GiB");
	new_row = new_row || first;
	if (new_row)
	{
		b->row_began = first ? 0 : block_builder_size(b);
		rest = e->rowlen - shared_with_head(&b->rows, b->rows.n, e->ukey, e->rowlen);
		TRY(key_list_add(&b->rows, e->ukey, e->rowlen));
	}
	column = find_column(b, e);
	new_column = column == b->columns.n;
	if (new_column)
		TRY(add_column(b, e));
	if (!first)
		b->columns.keys[b->list[b->x.entries - 1].column].next = column;
	TRY(array_grow((void **) &b->list, (int) b->x.entries, &b->cap, sizeof(*b->list)));
	add_to_extent(b, &b->x, e, new_row, rest, column, new_column);
	b->list[b->x.entries - 1] = (built_entry) {.number[BLOCK_TS] = (uint64_t) e->ts,
											   .number[BLOCK_SEQ] = e->seq,
											   .number[BLOCK_TYPE] = e->type,
											   .number[BLOCK_TTL] = (uint64_t) e->ttl_us,
											   .value = (uint32_t) b->values.len,
											   .vlen = e->vlen,
											   .row = b->rows.n - 1,
											   .column = column};
	b->since += (size_t) e->klen + e->vlen + ENTRY_BYTES;
	return buffer_append(&b->values, e->value, e->vlen);
}

/* --------------------------------------------------------------- finishing */

/* Appends n zero bytes to the block and sets *p to them; b->out may move. */
static wide_status
take(block_builder *b, size_t n, uint8_t **p)
{
	TRY(buffer_reserve(&b->out, n + BLOCK_SLACK));
	*p = b->out.data + b->out.len;
	memset(*p, 0, n + BLOCK_SLACK);
	b->out.len += n;
	return WIDE_OK;
}

static inline void
put_number(uint8_t *p, uint64_t v, uint32_t width)
{
	memcpy(p, &v, width);
}

static wide_status
put_starts(block_builder *b, const uint32_t *lengths, uint32_t n, uint64_t nbytes)
{
	uint32_t w = block_start_width(nbytes);
	uint64_t off = 0;
	uint8_t *p;

	TRY(take(b, block_groups(n) * w, &p));
	for (uint32_t i = 0; i < n; i++)
	{
		if (i % BLOCK_GROUP == 0)
		{
			put_number(p, off, w);
			p += w;
		}
		off += lengths[i];
	}
	return WIDE_OK;
}

/* Appends lengths and starts of n strings.  where: offset of their description, which is u32 bytes,
 * u32 base, u8 width. */
static wide_status
put_lengths(block_builder *b, const uint32_t *lengths, uint32_t n, size_t where)
{
	uint32_t least = n > 0 ? lengths[0] : 0, most = least, w;
	uint64_t nbytes = 0;
	uint8_t *p;

	for (uint32_t i = 0; i < n; i++)
	{
		least = lengths[i] < least ? lengths[i] : least;
		most = lengths[i] > most ? lengths[i] : most;
		nbytes += lengths[i];
	}
	w = block_width(most - least);
	put_u32le(b->out.data + where, (uint32_t) nbytes);
	put_u32le(b->out.data + where + 4, least);
	b->out.data[where + 8] = (uint8_t) w;
	if (w == 0)
		return WIDE_OK;
	TRY(take(b, (size_t) n * w, &p));
	for (uint32_t i = 0; i < n; i++, p += w)
		put_number(p, lengths[i] - least, w);
	return put_starts(b, lengths, n, nbytes);
}

/* Appends a list of keys.  Requires: scratch has room for all keys. */
static wide_status
put_keys(block_builder *b, const key_list *k, uint32_t *scratch, size_t where)
{
	uint32_t most = 0, w;
	uint8_t *p;

	for (uint32_t i = 0; i < k->n; i++)
	{
		scratch[i] = shared_with_head(k, i, key_at(k, i), k->keys[i].len);
		most = scratch[i] > most ? scratch[i] : most;
	}
	w = block_width(most);
	b->out.data[where + 9] = (uint8_t) w;
	TRY(take(b, (size_t) k->n * w, &p));
	for (uint32_t i = 0; i < k->n; i++, p += w)
		put_number(p, scratch[i], w);
	for (uint32_t i = 0; i < k->n; i++)
		scratch[i] = k->keys[i].len - scratch[i];
	TRY(put_lengths(b, scratch, k->n, where));
	TRY(take(b, get_u32le(b->out.data + where), &p));
	for (uint32_t i = 0; i < k->n; i++)
	{
		memcpy(p, key_at(k, i) + (k->keys[i].len - scratch[i]), scratch[i]);
		p += scratch[i];
	}
	return WIDE_OK;
}

/*
 * Writes the description of an array of numbers, and appends the array: the numbers of the entries
 * in the order of their values (list[slots[i]]; NULL: list[i]), or those of each row's first entry.
 */
static wide_status
put_numbers(block_builder *b, enum block_array which, const uint32_t *slots)
{
	const block_range *r = &b->x.number[which];
	bool by_row = b->x.by_row[which], is_signed = which == BLOCK_TS || which == BLOCK_TTL;
	uint64_t base = is_signed ? block_signed(r->least) : r->least;
	uint32_t w = block_range_width(r);
	uint8_t *p = b->out.data + 16 + 18 * which;

	put_u64le(p, base);
	put_u64le(p + 8, is_signed ? block_signed(r->most) : r->most);
	p[16] = (uint8_t) w;
	p[17] = by_row;
	if (w == 0)
		return WIDE_OK;
	TRY(take(b, (size_t) (by_row ? b->x.rows : b->x.entries) * w, &p));
	for (uint32_t i = 0; i < b->x.entries; i++)
	{
		const built_entry *it = &b->list[slots == NULL || by_row ? i : slots[i]];

		if (by_row && i > 0 && it->row == it[-1].row)
			continue;
		put_number(p, it->number[which] - base, w);
		p += w;
	}
	return WIDE_OK;
}

static wide_status
put_list(block_builder *b, const uint32_t *place, uint32_t *scratch)
{
	const block_extent *x = &b->x;
	uint32_t fw = block_extent_first_width(x), cw = block_extent_column_width(x);
	uint8_t *p;

	b->out.data[13] = (uint8_t) fw;
	b->out.data[14] = (uint8_t) cw;
	if (fw > 0)
	{
		TRY(take(b, ((size_t) x->rows + 1) * fw, &p));
		for (uint32_t i = 0; i < x->entries; i++)
			if (i == 0 || b->list[i].row != b->list[i - 1].row)
				put_number(p + (size_t) b->list[i].row * fw, i, fw);
		put_number(p + (size_t) x->rows * fw, x->entries, fw);
	}
	if (cw > 0)
	{
		TRY(take(b, (size_t) x->entries * cw, &p));
		for (uint32_t i = 0; i < x->entries; i++, p += cw)
			put_number(p, place[b->list[i].column], cw);
	}
	for (uint32_t i = 0; i < x->entries; i++)
		scratch[i] = b->list[i].vlen;
	TRY(put_lengths(b, scratch, x->entries, 112));
	TRY(take(b, b->values.len, &p));
	if (b->values.len > 0)
		memcpy(p, b->values.data, b->values.len);
	return WIDE_OK;
}

/* Appends the bit map of the rows that have a column, and the count of bits before each word. */
static wide_status
put_bits(block_builder *b, const uint32_t *slots, uint32_t n)
{
	uint32_t words = (b->x.rows + 63) / 64, k = 0;
	uint8_t *p;

	TRY(take(b, (size_t) words * 12, &p));
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t row = b->list[slots[i]].row;

		p[row / 8] |= (uint8_t) (1 << row % 8);
	}
	for (uint32_t w = 0; w < words; w++)
	{
		put_u32le(p + (size_t) words * 8 + (size_t) w * 4, k);
		k += (uint32_t) __builtin_popcountll(get_u64le(p + (size_t) w * 8));
	}
	return WIDE_OK;
}

/* Appends the grid's directory and values.  slots: entries by column; those of column c are
 * slots[first[c]] to slots[first[c + 1] - 1]. */
static wide_status
put_grid(block_builder *b, const uint32_t *slots, const uint32_t *first, uint32_t *scratch)
{
	const block_extent *x = &b->x;
	size_t directory = b->out.len;
	uint8_t *p;

	TRY(take(b, (size_t) x->columns * BLOCK_DIRECTORY, &p));
	for (uint32_t c = 0; c < x->columns; c++)
	{
		uint32_t n = first[c + 1] - first[c];
		size_t where = directory + (size_t) c * BLOCK_DIRECTORY;

		put_u32le(b->out.data + where + 12, first[c]);
		put_u32le(b->out.data + where + 16, (uint32_t) b->out.len);
		b->out.data[where + 9] = n == x->rows;
		if (n < x->rows)
			TRY(put_bits(b, slots + first[c], n));
		for (uint32_t i = 0; i < n; i++)
			scratch[i] = b->list[slots[first[c] + i]].vlen;
		TRY(put_lengths(b, scratch, n, where));
		TRY(take(b, get_u32le(b->out.data + where), &p));
		for (uint32_t i = 0; i < n; i++)
		{
			const built_entry *it = &b->list[slots[first[c] + i]];

			if (it->vlen > 0)
				memcpy(p, b->values.data + it->value, it->vlen);
			p += it->vlen;
		}
	}
	return WIDE_OK;
}

static int
compare_keys(const void *a, const void *b, void *arg)
{
	const key_list *k = arg;
	const built_key *x = a, *y = b;

	return ukey_compare(k->bytes.data + x->off, x->len, k->bytes.data + y->off, y->len);
}

/* Sorts the columns by qualifier.  place[number]: the column's index then. */
static void
sort_columns(block_builder *b, uint32_t *place)
{
	built_key *keys = b->columns.keys;
	uint32_t n = b->columns.n;
	bool sorted = true;

	for (uint32_t i = 0; i < n; i++)
	{
		keys[i].next = i;
		sorted = sorted && (i == 0 || compare_keys(&keys[i - 1], &keys[i], &b->columns) < 0);
	}
	if (!sorted)
		qsort_r(keys, n, sizeof(*keys), compare_keys, &b->columns);
	for (uint32_t i = 0; i < n; i++)
		place[keys[i].next] = i;
}

/* A counting sort of the entries by column; for slots and first see put_grid(). */
static void
entries_by_column(const block_builder *b, const uint32_t *place, uint32_t *first, uint32_t *slots)
{
	const block_extent *x = &b->x;

	memset(first, 0, ((size_t) x->columns + 1) * sizeof(*first));
	for (uint32_t i = 0; i < x->entries; i++)
		first[place[b->list[i].column] + 1]++;
	for (uint32_t c = 0; c < x->columns; c++)
		first[c + 1] += first[c];
	for (uint32_t i = 0; i < x->entries; i++)
		slots[first[place[b->list[i].column]]++] = i;
	/* each first[c] is now the one of c + 1 */
	memmove(first + 1, first, x->columns * sizeof(*first));
	first[0] = 0;
}

wide_status
block_builder_finish(block_builder *b, bool goes_on, wide_bytes *out)
{
	const block_extent *x = &b->x;
	uint32_t need = 2 * x->columns + 1 + 2 * x->entries;
	uint32_t *place, *first, *slots, *scratch;
	bool grid = block_extent_grid_pays(x);
	uint8_t *p;

	TRY(buffer_reserve(&b->scratch, (size_t) need * sizeof(*place)));
	place = (uint32_t *) b->scratch.data;
	first = place + x->columns;
	slots = first + x->columns + 1;
	scratch = slots + x->entries; /* one per entry; there are no more rows or columns */
	sort_columns(b, place);
	if (grid)
		entries_by_column(b, place, first, slots);
	b->out.len = 0;
	TRY(take(b, BLOCK_HEAD, &p));
	put_u32le(p, x->entries);
	put_u32le(p + 4, x->rows);
	put_u32le(p + 8, x->columns);
	p[12] = (uint8_t) ((grid ? BLOCK_GRID : 0) |
					   (x->distinct || x->entries == 0 ? BLOCK_DISTINCT : 0) |
					   (goes_on ? BLOCK_ROW_GOES_ON : 0));
	TRY(put_keys(b, &b->rows, scratch, 88));
	TRY(put_keys(b, &b->columns, scratch, 100));
	for (int k = 0; k < BLOCK_ARRAYS; k++)
		TRY(put_numbers(b, k, grid ? slots : NULL));
	TRY(grid ? put_grid(b, slots, first, scratch) : put_list(b, place, scratch));
	TRY(take(b, BLOCK_SLACK, &p));
	out->data = b->out.data;
	out->len = b->out.len;
	return WIDE_OK;
}

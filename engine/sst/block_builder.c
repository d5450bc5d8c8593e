/*
 * block_builder.c - making a block (block.h).
 *
 * Entries are collected in an array, their values and the different row keys
 * and qualifiers in buffers.  When the block is finished it is known which
 * widths the numbers need and whether a grid is the smaller form.  The size
 * that is told before is that of the list, with all widths as they would be
 * then; a grid is chosen only if it is smaller.
 *
 * Qualifiers are numbered as they come first and sorted in the end.  Most rows
 * have the columns of the row before, so that the qualifier that followed last
 * time is the first guess, and a hash table the second.
 *
 * Locking: none, private memory.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/sst/block_builder.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/sst/block.h"

#define VALUE_KEEP ((size_t) 4 * 1024 * 1024)

typedef struct built
{
	int64_t ts;
	uint64_t seq;
	int64_t ttl_us;
	uint32_t value; /* offset in values */
	uint32_t vlen;
	uint32_t row;
	uint32_t column; /* as it came */
	uint8_t type;
} built;

/* A key that is kept once. */
typedef struct kept_key
{
	uint32_t off, len; /* in the buffer */
	uint32_t next;	   /* columns: the one that followed last; same hash */
	uint32_t chain;
} kept_key;

typedef struct key_list
{
	buffer bytes;
	kept_key *keys;
	uint32_t n, cap;
} key_list;

/* What the size depends on. */
typedef struct extent
{
	uint32_t entries, rows, columns;
	uint64_t row_bytes;	   /* as they are stored */
	uint64_t column_bytes; /* whole */
	uint64_t value_bytes;
	uint32_t key_least, key_most; /* lengths of the stored rests of rows */
	uint32_t column_most;
	uint32_t value_least, value_most;
	uint64_t ts_least, ts_most; /* shifted so that they are in order */
	uint64_t seq_least, seq_most;
	uint64_t ttl_least, ttl_most;
	uint8_t type_least, type_most;
	uint32_t row_least, row_most; /* entries of rows but the last */
	uint32_t in_row;
	bool ts_by_row, seq_by_row;
	bool distinct;
} extent;

struct block_builder
{
	built *list;
	uint32_t cap;
	buffer values;
	key_list rows, columns;
	uint32_t *hash; /* number of a column + 1 */
	uint32_t nhash;
	uint32_t *order; /* of columns: by number as they came, their place */
	uint32_t order_cap;
	extent x;
	size_t size;	  /* without the last entries */
	size_t since;	  /* bytes of these, about; 0: there are none */
	size_t row_began; /* size at the beginning of the last row */
	buffer out;
};

#define TS_ORDER ((uint64_t) 1 << 63)

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
	free(b->order);
	free(b);
}

void
block_builder_reset(block_builder *b)
{
	/* a giant value should not stay for the rest of the file */
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

/* Bytes that numbers up to n need. */
static inline uint32_t
width_of(uint64_t n)
{
	return n == 0 ? 0 : (71 - (uint32_t) __builtin_clzll(n)) / 8;
}

static inline uint32_t
start_width(uint64_t nbytes)
{
	return nbytes <= UINT16_MAX ? 2 : 4;
}

static inline uint64_t
groups(uint64_t n)
{
	return (n + BLOCK_GROUP - 1) / BLOCK_GROUP;
}

/* Lengths and starts of n strings. */
static inline uint64_t
lengths_size(uint64_t n, uint32_t least, uint32_t most, uint64_t nbytes)
{
	uint32_t w = width_of(most - least);

	return w == 0 ? 0 : n * w + groups(n) * start_width(nbytes);
}

/* Width of the entry numbers at which rows begin; 0: all rows have as many. */
static inline uint32_t
first_width(const extent *x)
{
	bool even = x->rows < 2 || (x->row_least == x->row_most && x->in_row == x->row_most);

	return even ? 0 : width_of(x->entries);
}

/* Width of the column numbers of entries; 0: there is one, or entry i is of column i. */
static inline uint32_t
column_width(const extent *x)
{
	return x->columns < 2 || (x->rows == 1 && x->columns == x->entries) ? 0
																		: width_of(x->columns - 1);
}

/* The list form has at most so many bytes. */
static size_t
list_size(const extent *x)
{
	uint64_t n = BLOCK_HEAD + BLOCK_SLACK;
	uint32_t fw = first_width(x);

	n += x->row_bytes + lengths_size(x->rows, x->key_least, x->key_most, x->row_bytes) +
		 (uint64_t) x->rows * 2;
	n += x->column_bytes + lengths_size(x->columns, 0, x->column_most, x->column_bytes) +
		 (uint64_t) x->columns * 2;
	n += (uint64_t) width_of(x->ts_most - x->ts_least) * (x->ts_by_row ? x->rows : x->entries);
	n += (uint64_t) width_of(x->seq_most - x->seq_least) * (x->seq_by_row ? x->rows : x->entries);
	n += (uint64_t) width_of(x->ttl_most - x->ttl_least) * x->entries;
	n += (uint64_t) width_of((uint64_t) (x->type_most - x->type_least)) * x->entries;
	n += fw == 0 ? 0 : (uint64_t) fw * (x->rows + 1);
	n += (uint64_t) column_width(x) * x->entries;
	n += x->value_bytes + lengths_size(x->entries, x->value_least, x->value_most, x->value_bytes);
	return n;
}

static inline void
widen(uint64_t *least, uint64_t *most, uint64_t v, bool first)
{
	if (first || v < *least)
		*least = v;
	if (first || v > *most)
		*most = v;
}

static inline void
widen_u32(uint32_t *least, uint32_t *most, uint32_t v, bool first)
{
	if (first || v < *least)
		*least = v;
	if (first || v > *most)
		*most = v;
}

/* What an entry adds: of a new row `rest` bytes of its key, of a new column its qualifier. */
static inline void
extent_add(extent *x, const entry *e, bool new_row, uint32_t rest, bool new_column,
		   bool same_column, const built *before)
{
	bool first = x->entries == 0;

	widen(&x->ts_least, &x->ts_most, (uint64_t) e->ts ^ TS_ORDER, first);
	widen(&x->seq_least, &x->seq_most, e->seq, first);
	widen(&x->ttl_least, &x->ttl_most, (uint64_t) e->ttl_us ^ TS_ORDER, first);
	if (first || e->type < x->type_least)
		x->type_least = e->type;
	if (first || e->type > x->type_most)
		x->type_most = e->type;
	widen_u32(&x->value_least, &x->value_most, e->vlen, first);
	if (first)
		x->ts_by_row = x->seq_by_row = x->distinct = true;
	else if (!new_row)
	{
		x->ts_by_row = x->ts_by_row && before->ts == e->ts;
		x->seq_by_row = x->seq_by_row && before->seq == e->seq;
	}
	if (new_row)
	{
		widen_u32(&x->key_least, &x->key_most, rest, first);
		x->row_bytes += rest;
		if (x->rows > 0)
			widen_u32(&x->row_least, &x->row_most, x->in_row, x->rows == 1);
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

/* Computed once for many entries. */
size_t
block_builder_size(block_builder *b)
{
	if (b->since > 0)
	{
		b->size = list_size(&b->x);
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
	if (k->n == k->cap)
	{
		uint32_t cap = k->cap == 0 ? 64 : 2 * k->cap;
		kept_key *keys = realloc(k->keys, cap * sizeof(*keys));

		if (keys == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a block");
		k->keys = keys;
		k->cap = cap;
	}
	k->keys[k->n] = (kept_key) {.off = (uint32_t) k->bytes.len, .len = len};
	TRY(buffer_append(&k->bytes, p, len));
	k->n++;
	return WIDE_OK;
}

/* How many bytes key i of the list, which is p, shares with the whole one of its group. */
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

/* The number of the entry's column, columns.n if it is a new one. */
static uint32_t
find_column(const block_builder *b, const entry *e, uint32_t *slot)
{
	const uint8_t *q = e->ukey + e->rowlen;
	uint32_t n = e->klen - e->rowlen;

	*slot = UINT32_MAX;
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
	*slot = (uint32_t) hash_xxh3(q, n, 0) & (b->nhash - 1);
	for (uint32_t i = b->hash[*slot]; i > 0; i = b->columns.keys[i - 1].chain)
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
		uint32_t slot = (uint32_t) hash_xxh3(key_at(&b->columns, i), b->columns.keys[i].len, 0) &
						(n - 1);

		b->columns.keys[i].chain = h[slot];
		h[slot] = i + 1;
	}
	return WIDE_OK;
}

static wide_status
add_column(block_builder *b, const entry *e)
{
	uint32_t n = e->klen - e->rowlen, slot;

	if (b->columns.n >= b->nhash)
		TRY(hash_grow(b));
	slot = (uint32_t) hash_xxh3(e->ukey + e->rowlen, n, 0) & (b->nhash - 1);
	TRY(key_list_add(&b->columns, e->ukey + e->rowlen, n));
	b->columns.keys[b->columns.n - 1].chain = b->hash[slot];
	b->hash[slot] = b->columns.n;
	return WIDE_OK;
}

size_t
block_builder_size_with(const block_builder *b, const entry *e)
{
	extent x = b->x;
	const built *last = x.entries > 0 ? &b->list[x.entries - 1] : NULL;
	bool new_row = is_new_row(b, e);
	uint32_t rest = 0, slot, column;

	if (new_row)
		rest = e->rowlen - shared_with_head(&b->rows, b->rows.n, e->ukey, e->rowlen);
	column = find_column(b, e, &slot);
	extent_add(&x, e, new_row, rest, column == b->columns.n, !new_row && column == last->column,
			   last);
	return list_size(&x);
}

wide_status
block_builder_add(block_builder *b, const entry *e)
{
	return block_builder_add_row(b, e, is_new_row(b, e));
}

wide_status
block_builder_add_row(block_builder *b, const entry *e, bool new_row)
{
	built *last = b->x.entries > 0 ? &b->list[b->x.entries - 1] : NULL;
	uint32_t rest = 0, slot, column;
	bool new_column;
	built *it;

	if (e->klen > KEY_UKEY_MAX || e->vlen > WIDE_MAX_VALUE || e->rowlen > e->klen ||
		e->seq > SEQ_MAX)
		return status_fail(WIDE_LIMIT,
						   "an entry with a key of %u and a value of %u bytes is too large",
						   e->klen, e->vlen);
	if (b->size + b->since > UINT32_MAX / 2 && block_builder_size(b) > UINT32_MAX / 2)
		return status_fail(WIDE_LIMIT, "a block cannot have more than 2 GiB");
	new_row = new_row || last == NULL;
	if (new_row)
	{
		b->row_began = last != NULL ? block_builder_size(b) : 0;
		rest = e->rowlen - shared_with_head(&b->rows, b->rows.n, e->ukey, e->rowlen);
		TRY(key_list_add(&b->rows, e->ukey, e->rowlen));
	}
	column = find_column(b, e, &slot);
	new_column = column == b->columns.n;
	if (new_column)
		TRY(add_column(b, e));
	if (last != NULL)
		b->columns.keys[last->column].next = column;
	if (b->x.entries == b->cap)
	{
		uint32_t cap = b->cap == 0 ? 256 : 2 * b->cap;
		built *p = realloc(b->list, cap * sizeof(*p));

		if (p == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a block");
		b->list = p;
		b->cap = cap;
		last = b->x.entries > 0 ? &p[b->x.entries - 1] : NULL;
	}
	extent_add(&b->x, e, new_row, rest, new_column, !new_row && column == last->column, last);
	it = &b->list[b->x.entries - 1];
	*it = (built) {.ts = e->ts,
				   .seq = e->seq,
				   .ttl_us = e->ttl_us,
				   .value = (uint32_t) b->values.len,
				   .vlen = e->vlen,
				   .row = b->rows.n - 1,
				   .column = column,
				   .type = e->type};
	b->since += (size_t) e->klen + e->vlen + 64;
	return buffer_append(&b->values, e->value, e->vlen);
}

/* --------------------------------------------------------------- finishing */

/* Room for n more bytes, which are zero. */
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
	uint32_t w = start_width(nbytes);
	uint64_t off = 0;
	uint8_t *p;

	TRY(take(b, groups(n) * w, &p));
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

/* Lengths and starts of strings; where = offset of the description: u32 bytes, u32 base, u8
 * width. */
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
	w = width_of(most - least);
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

/* A list of keys in the given order (NULL: as they are); scratch has room for n. */
static wide_status
put_keys(block_builder *b, const key_list *k, const uint32_t *order, uint32_t *scratch,
		 size_t where)
{
	uint32_t most = 0, w;
	const uint8_t *head = NULL;
	uint32_t headlen = 0;
	uint8_t *p;

	for (uint32_t i = 0; i < k->n; i++)
	{
		uint32_t j = order == NULL ? i : order[i];
		uint32_t n = k->keys[j].len;
		uint32_t s = 0;

		if (i % BLOCK_GROUP == 0)
		{
			head = key_at(k, j);
			headlen = n;
		}
		else
		{
			s = n < headlen ? n : headlen;
			s = bytes_shared(head, key_at(k, j), s < UINT16_MAX ? s : UINT16_MAX);
		}
		most = s > most ? s : most;
		scratch[i] = s;
	}
	w = width_of(most);
	b->out.data[where + 9] = (uint8_t) w;
	TRY(take(b, (size_t) k->n * w, &p));
	for (uint32_t i = 0; i < k->n; i++, p += w)
		put_number(p, scratch[i], w);
	for (uint32_t i = 0; i < k->n; i++)
		scratch[i] = k->keys[order == NULL ? i : order[i]].len - scratch[i];
	TRY(put_lengths(b, scratch, k->n, where));
	TRY(take(b, get_u32le(b->out.data + where), &p));
	for (uint32_t i = 0; i < k->n; i++)
	{
		uint32_t j = order == NULL ? i : order[i];

		memcpy(p, key_at(k, j) + (k->keys[j].len - scratch[i]), scratch[i]);
		p += scratch[i];
	}
	return WIDE_OK;
}

/* The description of an array of numbers: u64 base, u64 greatest, u8 width, u8 by row. */
static void
describe(block_builder *b, size_t where, uint64_t least, uint64_t most, bool by_row)
{
	put_u64le(b->out.data + where, least);
	put_u64le(b->out.data + where + 8, most);
	b->out.data[where + 16] = (uint8_t) width_of(most - least);
	b->out.data[where + 17] = by_row;
}

static inline uint64_t
number_of(const built *it, int which)
{
	return which == 0	? (uint64_t) it->ts
		   : which == 1 ? it->seq
		   : which == 2 ? it->type
						: (uint64_t) it->ttl_us;
}

/* Entries' numbers, in the order of their values (list[slot[i]]), or those of each row's first
 * entry. */
static wide_status
put_numbers(block_builder *b, int which, const uint32_t *slots, size_t where)
{
	uint64_t base = get_u64le(b->out.data + where);
	uint32_t w = b->out.data[where + 16];
	uint8_t *p;

	if (w == 0)
		return WIDE_OK;
	if (b->out.data[where + 17])
	{
		TRY(take(b, (size_t) b->x.rows * w, &p));
		for (uint32_t i = 0, row = UINT32_MAX; i < b->x.entries; i++)
			if (b->list[i].row != row)
			{
				row = b->list[i].row;
				put_number(p + (size_t) row * w, number_of(&b->list[i], which) - base, w);
			}
		return WIDE_OK;
	}
	TRY(take(b, (size_t) b->x.entries * w, &p));
	for (uint32_t i = 0; i < b->x.entries; i++, p += w)
		put_number(p, number_of(&b->list[slots == NULL ? i : slots[i]], which) - base, w);
	return WIDE_OK;
}

static wide_status
put_all_numbers(block_builder *b, const uint32_t *slots)
{
	const extent *x = &b->x;

	describe(b, 16, x->ts_least ^ TS_ORDER, x->ts_most ^ TS_ORDER, x->ts_by_row);
	describe(b, 34, x->seq_least, x->seq_most, x->seq_by_row);
	describe(b, 52, x->type_least, x->type_most, false);
	describe(b, 70, x->ttl_least ^ TS_ORDER, x->ttl_most ^ TS_ORDER, false);
	for (int i = 0; i < 4; i++)
		TRY(put_numbers(b, i, slots, 16 + 18 * (size_t) i));
	return WIDE_OK;
}

static wide_status
put_list(block_builder *b, const uint32_t *place, uint32_t *scratch)
{
	const extent *x = &b->x;
	uint32_t fw = first_width(x), cw = column_width(x);
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

/* Which rows have the column: bits, and how many before each 64th. */
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

/* slots: entries by column; first[c]: the first of a column, [columns] their number. */
static wide_status
put_grid(block_builder *b, const uint32_t *slots, const uint32_t *first, uint32_t *scratch)
{
	const extent *x = &b->x;
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
			const built *it = &b->list[slots[first[c] + i]];

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
	const kept_key *x = &k->keys[*(const uint32_t *) a], *y = &k->keys[*(const uint32_t *) b];

	return ukey_compare(k->bytes.data + x->off, x->len, k->bytes.data + y->off, y->len);
}

/* Is the grid smaller?  Its head and marks for absent cells against a column number for each
 * entry. */
static bool
grid_pays(const extent *x)
{
	uint64_t grid = (uint64_t) x->columns * (BLOCK_DIRECTORY + BLOCK_GROUP),
			 list = (uint64_t) x->entries * column_width(x) + (uint64_t) x->rows * first_width(x);

	if (!x->distinct || x->columns > BLOCK_GRID_COLUMNS)
		return false;
	if (x->entries < (uint64_t) x->rows * x->columns)
		grid += (uint64_t) x->columns * ((x->rows + 63) / 64) * 12;
	return grid < list;
}

wide_status
block_builder_finish(block_builder *b, bool goes_on, wide_bytes *out)
{
	const extent *x = &b->x;
	uint32_t need = 3 * x->columns + 1 + 2 * x->entries;
	uint32_t *order, *place, *first, *slots, *scratch;
	bool sorted = true, grid = grid_pays(x);
	uint8_t *p;

	if (need > b->order_cap)
	{
		uint32_t *q = realloc(b->order, (size_t) need * sizeof(*q));

		if (q == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a block");
		b->order = q;
		b->order_cap = need;
	}
	order = b->order;
	place = order + x->columns;
	first = place + x->columns;
	slots = first + x->columns + 1;
	/* for as many as there are entries, and rows and columns are no more */
	scratch = slots + x->entries;
	for (uint32_t i = 0; i < x->columns; i++)
	{
		order[i] = i;
		sorted = sorted && (i == 0 || compare_keys(&order[i - 1], &order[i], &b->columns) < 0);
	}
	if (!sorted)
		qsort_r(order, x->columns, sizeof(*order), compare_keys, &b->columns);
	for (uint32_t i = 0; i < x->columns; i++)
		place[order[i]] = i;
	if (grid)
	{
		memset(first, 0, ((size_t) x->columns + 1) * sizeof(*first));
		for (uint32_t i = 0; i < x->entries; i++)
			first[place[b->list[i].column] + 1]++;
		for (uint32_t c = 0; c < x->columns; c++)
			first[c + 1] += first[c];
		for (uint32_t i = 0; i < x->entries; i++)
			slots[first[place[b->list[i].column]]++] = i;
		for (uint32_t c = x->columns; c > 0; c--)
			first[c] = first[c - 1];
		first[0] = 0;
	}
	b->out.len = 0;
	TRY(take(b, BLOCK_HEAD, &p));
	put_u32le(p, x->entries);
	put_u32le(p + 4, x->rows);
	put_u32le(p + 8, x->columns);
	p[12] = (uint8_t) ((grid ? BLOCK_GRID : 0) |
					   (x->distinct || x->entries == 0 ? BLOCK_DISTINCT : 0) |
					   (goes_on ? BLOCK_ROW_GOES_ON : 0));
	TRY(put_keys(b, &b->rows, NULL, scratch, 88));
	TRY(put_keys(b, &b->columns, order, scratch, 100));
	TRY(put_all_numbers(b, grid ? slots : NULL));
	TRY(grid ? put_grid(b, slots, first, scratch) : put_list(b, place, scratch));
	TRY(take(b, BLOCK_SLACK, &p));
	out->data = b->out.data;
	out->len = b->out.len;
	return WIDE_OK;
}

/*
 * sst_estimate.c - how much of a sorted file lies where, without reading its data blocks.
 *
 * The index says in which data block a key lies.  Where in the block is looked up in the block
 * itself if the block cache has it.  Otherwise the key is placed by interpolation between the last
 * keys of the block before and of the block.  A range of few blocks that are all in the cache is
 * counted.
 *
 * Invariants: data blocks are looked at in the block cache only; index and filter blocks are read
 * through it.  No block stays pinned after a call.
 */
#include <math.h>
#include <string.h>
#include "engine/sst/sst_estimate.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"
#include "engine/sst/block.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_reader.h"

#define LOOK_BLOCKS	 4	/* a range of so many cached blocks is counted */
#define LOOK_SAMPLES 12 /* blocks of a larger range that are counted */
#define DIGITS		 16 /* bytes of a key that interpolation uses, behind the common prefix */
#define JUMP		 4	/* a block this many times wider than its neighbours has a jump in it */
#define ROW_ENTRIES	 64 /* entries of a row that are looked at to see whether it is alive */

/* Opens the index block of a partition. */
static wide_status
open_index(sst_reader *r, uint32_t part, block_ref *ref, block_cursor *c)
{
	bool cached;

	TRY(sst_reader_block(r, r->parts[part].index, 0, true, NULL, ref, &cached));
	return block_open(c, ref->data, ref->len);
}

/* --------------------------------------------------------- interpolation */

/* Sets out to the bytes of a row behind the first `skip` of its encoded form, unescaped and filled
 * up with zeros.  Requires: skip is not in the middle of an escape. */
static void
row_digits(const uint8_t *p, uint32_t n, uint32_t skip, uint8_t *out)
{
	uint32_t i = skip;

	memset(out, 0, DIGITS);
	for (int k = 0; k < DIGITS && i < n; k++)
	{
		out[k] = p[i];
		if (p[i] != 0)
			i++;
		else if (i + 1 < n && p[i + 1] == 0xff)
			i += 2;
		else
			return; /* the terminator */
	}
}

/* Returns how many different bytes there may be at position i of keys, judging by n of them: text
 * has digits or letters there, or always the same separator. */
static double
digit_size(const uint8_t (*k)[DIGITS], int n, int i)
{
	static const uint8_t ranges[][2] = {{'0', '9'}, {'a', 'z'}, {'A', 'Z'}, {' ', '~'}};
	uint8_t least = 255, most = 0;

	for (int j = 0; j < n; j++)
	{
		least = k[j][i] < least ? k[j][i] : least;
		most = k[j][i] > most ? k[j][i] : most;
	}
	for (int r = 0; r < 3; r++)
		if (least >= ranges[r][0] && most <= ranges[r][1])
			return ranges[r][1] - ranges[r][0] + 1;
	if (least < ranges[3][0] || most > ranges[3][1])
		return 256;
	return least == most ? 1 : ranges[3][1] - ranges[3][0] + 1;
}

/* Returns b - a as numbers, at least 0.  The difference is formed digit by digit, so it is exact
 * for keys that are nearly equal. */
static double
digits_between(const uint8_t *a, const uint8_t *b, const double *unit)
{
	double d = 0;

	for (int i = 0; i < DIGITS; i++)
		d += unit[i] * ((double) b[i] - a[i]);
	return d > 0 ? d : 0;
}

/* The last keys of four successive blocks around a place in the third of them.  The outer two are
 * empty if there is no such block. */
typedef struct around
{
	buffer key[4];
} around;

/*
 * Returns where the key lies in its block, 0 .. 1.  Normally this is linear interpolation between
 * the block's ends, as numbers.  But if the block is much wider than those on both sides, there is
 * a jump in it (another first part of a key, the next day); then the width of the neighbour on the
 * nearer side is the better measure.
 */
static double
interpolate(const around *a, const uint8_t *ukey, uint32_t klen)
{
	const buffer *low = &a->key[1], *high = &a->key[2];
	uint8_t k[5][DIGITS];
	double unit[DIGITS], width[3], above, below, size = 1;
	uint32_t same = 0;
	int first = a->key[0].len > 0 ? 0 : 1, last = a->key[3].len > 0 ? 3 : 2;

	while (same < a->key[first].len && same < a->key[last].len && same < klen &&
		   a->key[first].data[same] == a->key[last].data[same] &&
		   a->key[first].data[same] == ukey[same])
		same++;
	if (same > 0 && ukey[same - 1] == 0)
		same--;
	for (int i = 0; i < 4; i++)
	{
		const buffer *b = i < first ? low : i > last ? high : &a->key[i];

		row_digits(b->data, (uint32_t) b->len, same, k[i]);
	}
	row_digits(ukey, klen, same, k[4]);
	for (int i = 0; i < DIGITS; i++)
		unit[i] = size /= digit_size((const uint8_t(*)[DIGITS]) k, 5, i);
	for (int i = 0; i < 3; i++)
		width[i] = digits_between(k[i], k[i + 1], unit);
	above = digits_between(k[1], k[4], unit);
	below = digits_between(k[4], k[2], unit);
	if (width[1] <= 0 || above <= 0)
		return 0;
	if (width[0] <= 0)
		width[0] = width[2];
	if (width[2] <= 0)
		width[2] = width[0];
	if (width[2] > 0 && width[1] > JUMP * (width[0] > width[2] ? width[0] : width[2]))
	{
		/* The position of the jump is unknown: assume the middle.  The result approaches it more
		 * and more slowly, so that the order of keys is preserved. */
		above /= width[0];
		below /= width[2];
		if (above >= 1 && below >= 1)
			return 0.5;
		return above < below ? above / (1 + above) : 1 - below / (1 + below);
	}
	return above < width[1] ? above / width[1] : 1;
}

/* ----------------------------------------------------------------- places */

/* Opens the data block of an index entry.  Returns false if the block cache does not have it. */
static bool
cached_block(sst_reader *r, const entry *index, block_ref *ref, block_cursor *c)
{
	sst_handle h;

	if (sst_reader_handle(r, index, &h) != WIDE_OK || !cache_get(r->db, r->number, h.off, ref))
		return false;
	if (block_open(c, ref->data, ref->len) == WIDE_OK)
		return true;
	cache_unpin(r->db, ref);
	memset(ref, 0, sizeof *ref);
	return false;
}

/* Appends the last key of a block of a partition; blocks are counted from 1, and 0 is what lies
 * before the partition.  Moves the index cursor. */
static wide_status
append_last_key(sst_reader *r, uint32_t part, uint32_t block, block_cursor *index, buffer *out)
{
	const file_meta *m = &r->prop.meta;

	if (block == 0)
		return part > 0 ? buffer_append(out, r->parts[part - 1].key, r->parts[part - 1].klen)
						: buffer_append(out, m->min_row, m->min_len);
	TRY(block_seek_entry(index, block - 1));
	return index->valid ? buffer_append(out, index->e.ukey, index->e.klen) : WIDE_OK;
}

/* Sets *a to the keys around a block that has `before` blocks of its partition before it. */
static wide_status
keys_around(sst_reader *r, uint32_t part, uint32_t before, block_cursor *index, around *a)
{
	for (uint32_t i = 0; i < 4; i++)
		if (before + i > 0 && before + i <= (uint64_t) index->entries + 1)
			TRY(append_last_key(r, part, before + i - 1, index, &a->key[i]));
	return WIDE_OK;
}

/* Sets *part to the fraction of a block's entries that lie before ukey. */
static wide_status
place_in_block(block_cursor *c, const uint8_t *ukey, uint32_t klen, double *part)
{
	uint32_t before;

	*part = 1;
	TRY(block_seek(c, ukey, klen, INT64_MAX, SEQ_MAX));
	if (c->valid)
	{
		TRY(block_entries_before(c, &before));
		*part = (double) before / c->entries;
	}
	return WIDE_OK;
}

/* How much lies before a key. */
typedef struct place
{
	double blocks, rows;
} place;

/* Sets *rows to the rows of the partition up to the end of a block; blocks are counted from 1. */
static wide_status
rows_up_to(sst_reader *r, block_cursor *index, uint32_t block, double *rows)
{
	sst_handle h = {0};

	if (block > 0)
	{
		TRY(block_seek_entry(index, block - 1));
		if (index->valid)
			TRY(sst_reader_handle(r, &index->e, &h));
	}
	*rows = (double) h.rows;
	return WIDE_OK;
}

/* Estimates how much of a partition lies before ukey. */
static wide_status
place_in_partition(sst_reader *r, uint32_t part, const uint8_t *ukey, uint32_t klen, place *out)
{
	block_cursor index = {0}, c = {0};
	block_ref index_ref = {0}, ref = {0};
	around a = {0};
	uint32_t before = 0;
	double in = 0, rows_before, rows;
	wide_status st;

	TRY_GOTO(open_index(r, part, &index_ref, &index));
	TRY_GOTO(block_seek(&index, ukey, klen, INT64_MAX, SEQ_MAX));
	TRY_GOTO(block_entries_before(&index, &before));
	if (index.valid && cached_block(r, &index.e, &ref, &c))
		TRY_GOTO(place_in_block(&c, ukey, klen, &in));
	else if (index.valid)
	{
		TRY_GOTO(keys_around(r, part, before, &index, &a));
		in = interpolate(&a, ukey, klen);
	}
	TRY_GOTO(rows_up_to(r, &index, before, &rows_before));
	TRY_GOTO(rows_up_to(r, &index, before + 1, &rows));
	out->blocks = before + in;
	out->rows = rows_before + in * (rows - rows_before);
done:
	for (int i = 0; i < 4; i++)
		buffer_free(&a.key[i]);
	block_close(&index);
	block_close(&c);
	cache_unpin(r->db, &ref);
	cache_unpin(r->db, &index_ref);
	return st;
}

/* Estimates how much of the file lies before ukey. */
static wide_status
find_place(sst_reader *r, const uint8_t *ukey, uint32_t klen, place *out)
{
	uint32_t part = sst_reader_find_partition(r, ukey, klen, INT64_MAX, SEQ_MAX);
	place in;
	const sst_partition *p = &r->parts[part];

	out->blocks = (double) r->prop.meta.blocks;
	out->rows = (double) r->prop.meta.rows;
	if (part == r->nparts || r->prop.meta.blocks == 0)
		return WIDE_OK;
	TRY(place_in_partition(r, part, ukey, klen, &in));
	*out = (place) {part > 0 ? (double) p[-1].blocks : 0, part > 0 ? (double) p[-1].rows : 0};
	out->blocks = fmin(out->blocks + in.blocks, (double) p->blocks);
	out->rows = fmin(out->rows + in.rows, (double) p->rows);
	return WIDE_OK;
}

/* ---------------------------------------------------------------- extents */

/* Whether a row has only deletes, or a cell that they do not mask. */
typedef struct row_life
{
	uint64_t dead; /* sequence number of the newest delete of the whole row */
	bool deletes;
	bool alive;
} row_life;

static void
life_add(row_life *l, const entry *e)
{
	if (e->type == ENTRY_DELETE_FAMILY)
	{
		l->deletes = true;
		l->dead = e->seq > l->dead ? e->seq : l->dead;
	}
	else if (!entry_is_family_delete(e))
		l->alive = l->alive || !l->deletes || (entry_is_put(e) && e->seq >= l->dead);
}

/* Counts the entries of a range. */
typedef struct extent_counter
{
	sst_extent *out;
	buffer row; /* key of the current row; empty: none */
	row_life life;
} extent_counter;

/* The row ends: counts it if it is dead. */
static void
count_row_end(extent_counter *k)
{
	if (k->row.len > 0 && !k->life.alive)
		k->out->dead++;
}

static wide_status
count_entry(extent_counter *k, const entry *e)
{
	bool same = k->row.len == e->rowlen && memcmp(k->row.data, e->ukey, e->rowlen) == 0;

	if (!same)
	{
		count_row_end(k);
		memset(&k->life, 0, sizeof k->life);
		k->row.len = 0;
		TRY(buffer_append(&k->row, e->ukey, e->rowlen));
		k->out->rows++;
	}
	life_add(&k->life, e);
	k->out->cells++;
	return WIDE_OK;
}

/* Counts the entries of a data block that are in the range.  *more: the range goes on behind it. */
static wide_status
count_block(extent_counter *k, block_cursor *c, const uint8_t *lo, uint32_t lolen,
			const uint8_t *hi, uint32_t hilen, bool *more)
{
	*more = true;
	TRY(lo != NULL ? block_seek(c, lo, lolen, INT64_MAX, SEQ_MAX) : block_first(c));
	while (c->valid)
	{
		if (hi != NULL && ukey_compare(c->e.ukey, c->e.klen, hi, hilen) >= 0)
		{
			*more = false;
			return WIDE_OK;
		}
		TRY(count_entry(k, &c->e));
		TRY(block_next(c));
	}
	return WIDE_OK;
}

/* Counts the range.  *done: it was counted, because all its blocks are in the block cache. */
static wide_status
count_cached(sst_reader *r, const uint8_t *lo, uint32_t lolen, const uint8_t *hi, uint32_t hilen,
			 sst_extent *out, bool *done)
{
	uint32_t part = lo != NULL ? sst_reader_find_partition(r, lo, lolen, INT64_MAX, SEQ_MAX) : 0;
	block_cursor index = {0}, c = {0};
	block_ref index_ref = {0}, ref = {0};
	extent_counter k = {.out = out};
	bool more = part < r->nparts;
	wide_status st = WIDE_OK;

	memset(out, 0, sizeof *out);
	*done = false;
	for (bool first = true; more; first = false)
	{
		if (first || !index.valid)
		{
			if (!first && ++part >= r->nparts)
				break;
			cache_unpin(r->db, &index_ref);
			memset(&index_ref, 0, sizeof index_ref);
			TRY_GOTO(open_index(r, part, &index_ref, &index));
			TRY_GOTO(first && lo != NULL ? block_seek(&index, lo, lolen, INT64_MAX, SEQ_MAX)
										 : block_first(&index));
			if (!index.valid)
				goto done;
		}
		if (!cached_block(r, &index.e, &ref, &c))
			goto done;
		TRY_GOTO(count_block(&k, &c, first ? lo : NULL, lolen, hi, hilen, &more));
		cache_unpin(r->db, &ref);
		memset(&ref, 0, sizeof ref);
		TRY_GOTO(block_next(&index));
	}
	count_row_end(&k);
	*done = true;
done:
	block_close(&index);
	block_close(&c);
	buffer_free(&k.row);
	cache_unpin(r->db, &ref);
	cache_unpin(r->db, &index_ref);
	return st;
}

/* Opens the index block that has the entry of data block number `block` of the file, and moves the
 * cursor to it; not valid if there is none. */
static wide_status
index_entry(sst_reader *r, uint64_t block, block_ref *ref, block_cursor *c)
{
	uint32_t part = 0, high = r->nparts;

	/* find the first partition that ends behind the block */
	while (part < high)
	{
		uint32_t mid = part + (high - part) / 2;

		if (r->parts[mid].blocks <= block)
			part = mid + 1;
		else
			high = mid;
	}
	if (part == r->nparts)
		return WIDE_OK;
	TRY(open_index(r, part, ref, c));
	return block_seek_entry(c, (uint32_t) (block - (part > 0 ? r->parts[part - 1].blocks : 0)));
}

/* Counts the rows that begin in a data block, if it is in the block cache; then increments *found.
 */
static wide_status
count_sample(sst_reader *r, uint64_t block, extent_counter *k, int *found)
{
	block_cursor index = {0}, c = {0};
	block_ref index_ref = {0}, ref = {0};
	double rows = k->out->rows, dead = k->out->dead;
	bool more;
	wide_status st;

	k->row.len = 0;
	TRY_GOTO(index_entry(r, block > 0 ? block - 1 : 0, &index_ref, &index));
	if (block > 0 && index.valid)
	{
		/* the last row of the block before does not begin here */
		TRY_GOTO(buffer_append(&k->row, index.e.ukey, key_row_length(index.e.ukey, index.e.klen)));
		memset(&k->life, 0, sizeof k->life);
		k->life.alive = true;
		TRY_GOTO(block_next(&index));
	}
	if (!index.valid || !cached_block(r, &index.e, &ref, &c))
		goto done;
	++*found;
	TRY_GOTO(count_block(k, &c, NULL, 0, NULL, 0, &more));
	count_row_end(k);
	if (k->out->dead - dead > k->out->rows - rows)
		k->out->dead = dead + k->out->rows - rows;
done:
	block_close(&index);
	block_close(&c);
	cache_unpin(r->db, &ref);
	cache_unpin(r->db, &index_ref);
	return st;
}

/* Estimates the fraction of rows that have nothing but deletes: it assumes that every delete is of
 * such a row, if there are family-wide ones. */
static double
dead_share(const sst_reader *r)
{
	const file_meta *m = &r->prop.meta;

	if (!r->prop.family_deletes || m->rows == 0)
		return 0;
	return m->tombstones >= m->rows ? 1 : (double) m->tombstones / (double) m->rows;
}

/* Estimates what lies between two places.  Rows and cells per block are those of samples if at
 * least half of these are in the cache and have enough rows; otherwise, and in a range of more than
 * half the file, those of the whole file. */
static wide_status
extent_between(sst_reader *r, const place *from, const place *to, sst_extent *out)
{
	const file_meta *m = &r->prop.meta;
	double blocks = to->blocks - from->blocks;
	sst_extent e = {0};
	extent_counter k = {.out = &e};
	int found = 0;
	wide_status st = WIDE_OK;

	out->rows = to->rows > from->rows ? to->rows - from->rows : 0;
	out->cells = (double) m->cells * blocks / (double) m->blocks;
	out->dead = out->rows * dead_share(r);
	if (blocks <= LOOK_BLOCKS || blocks > (double) m->blocks / 2)
		return WIDE_OK;
	for (int i = 0; i < LOOK_SAMPLES; i++)
		TRY_GOTO(count_sample(r, (uint64_t) (from->blocks + blocks * (i + 0.5) / LOOK_SAMPLES), &k,
							  &found));
	if (found * 2 < LOOK_SAMPLES || e.rows < found)
		goto done;
	out->rows = e.rows * blocks / found;
	out->cells = e.cells * blocks / found;
	out->dead = e.dead * blocks / found;
done:
	buffer_free(&k.row);
	return st;
}

wide_status
sst_estimate_extent(sst_reader *r, const uint8_t *lo, uint32_t lolen, const uint8_t *hi,
					uint32_t hilen, sst_extent *out)
{
	const file_meta *m = &r->prop.meta;
	const place begin = {0, 0}, end = {(double) m->blocks, (double) m->rows};
	place from = begin, to = end;
	bool counted = false;

	memset(out, 0, sizeof *out);
	if (m->blocks == 0)
		return WIDE_OK;
	if (lo != NULL)
		TRY(find_place(r, lo, lolen, &from));
	if (hi != NULL)
		TRY(find_place(r, hi, hilen, &to));
	if (to.blocks < from.blocks)
		to = from;
	if ((lo != NULL || hi != NULL) && to.blocks - from.blocks <= LOOK_BLOCKS)
		TRY(count_cached(r, lo, lolen, hi, hilen, out, &counted));
	if (!counted)
	{
		if (to.blocks - from.blocks > (double) m->blocks / 2 && (lo != NULL || hi != NULL))
		{
			/* estimate the smaller rest instead: the sum is known */
			sst_extent before, after;

			TRY(extent_between(r, &begin, &from, &before));
			TRY(extent_between(r, &to, &end, &after));
			out->rows = (double) m->rows - before.rows - after.rows;
			out->cells = (double) m->cells - before.cells - after.cells;
			out->dead = (double) m->rows * dead_share(r) - before.dead - after.dead;
		}
		else
			TRY(extent_between(r, &from, &to, out));
		/* Queries do not ask for ranges that are nearly empty: the keys are in clusters that
		 * interpolation does not see. */
		if (out->rows < 0.02)
			out->rows = sqrt((double) m->rows / (double) m->blocks) / 2;
		out->cells = out->cells > out->rows ? out->cells : out->rows;
		out->dead = out->dead < 0 ? 0 : out->dead > out->rows ? out->rows : out->dead;
	}
	out->blocks = to.blocks - from.blocks;
	return WIDE_OK;
}

/* ------------------------------------------------------------------- rows */

/* Looks up the row in the data block of the index cursor's entry.  *done: the block cache has the
 * block. */
static wide_status
row_in_block(sst_reader *r, const block_cursor *index, const uint8_t *row, uint32_t rowlen,
			 double *present, double *alive, bool *done)
{
	block_cursor c = {0};
	block_ref ref = {0};
	row_life life = {0};
	wide_status st = WIDE_OK;

	*done = cached_block(r, &index->e, &ref, &c);
	if (!*done)
		return WIDE_OK;
	*present = 0;
	TRY_GOTO(block_seek(&c, row, rowlen, INT64_MAX, SEQ_MAX));
	for (int i = 0;
		 c.valid && i < ROW_ENTRIES && c.e.rowlen == rowlen && memcmp(c.e.ukey, row, rowlen) == 0;
		 i++)
	{
		*present = 1;
		life_add(&life, &c.e);
		TRY_GOTO(block_next(&c));
	}
	*alive = life.alive;
done:
	block_close(&c);
	cache_unpin(r->db, &ref);
	return st;
}

wide_status
sst_estimate_row_likely(sst_reader *r, const uint8_t *row, uint32_t rowlen, double *present,
						double *alive)
{
	uint32_t part = sst_reader_find_partition(r, row, rowlen, INT64_MAX, SEQ_MAX);
	block_cursor c = {0};
	block_ref ref = {0};
	bool done = false, may = true;
	wide_status st;

	*present = 0;
	*alive = 1 - dead_share(r);
	if (part == r->nparts)
		return WIDE_OK;
	TRY_GOTO(open_index(r, part, &ref, &c));
	TRY_GOTO(block_seek(&c, row, rowlen, INT64_MAX, SEQ_MAX));
	if (c.valid)
		TRY_GOTO(row_in_block(r, &c, row, rowlen, present, alive, &done));
	if (done)
		goto done;
	/* without a filter nothing is known: 0.5 */
	TRY_GOTO(sst_reader_may_have_row(r, row, rowlen, &may));
	*present = !may ? 0 : r->prop.bloom == WIDE_BLOOM_NONE ? 0.5 : 1;
done:
	block_close(&c);
	cache_unpin(r->db, &ref);
	return st;
}

/* ---------------------------------------------------------------- samples */

wide_status
sst_estimate_sample_keys(sst_reader *r, uint32_t n, sst_key_fn fn, void *arg)
{
	block_cursor c = {0};
	block_ref ref = {0};
	uint64_t block = 0;
	wide_status st = WIDE_OK;

	for (uint32_t part = 0; part < r->nparts; part++)
	{
		TRY_GOTO(open_index(r, part, &ref, &c));
		TRY_GOTO(block_first(&c));
		while (c.valid)
		{
			if (block++ % (n > 0 ? n : 1) == 0)
				TRY_GOTO(fn(arg, c.e.ukey, c.e.klen));
			TRY_GOTO(block_next(&c));
		}
		cache_unpin(r->db, &ref);
		memset(&ref, 0, sizeof(ref));
	}
done:
	block_close(&c);
	cache_unpin(r->db, &ref);
	return st;
}

/* Calls fn with the last ukey of a data block. */
static wide_status
sample_block(sst_reader *r, uint64_t block, sst_key_fn fn, void *arg)
{
	block_cursor c = {0};
	block_ref ref = {0};
	wide_status st;

	TRY_GOTO(index_entry(r, block, &ref, &c));
	if (c.valid)
		st = fn(arg, c.e.ukey, c.e.klen);
done:
	block_close(&c);
	cache_unpin(r->db, &ref);
	return st;
}

wide_status
sst_estimate_sample_range(sst_reader *r, const uint8_t *lo, uint32_t lolen, const uint8_t *hi,
						  uint32_t hilen, uint32_t n, sst_key_fn fn, void *arg)
{
	place from = {0, 0}, to = {(double) r->prop.meta.blocks, 0};
	uint64_t last = UINT64_MAX;

	if (lo != NULL)
		TRY(find_place(r, lo, lolen, &from));
	if (hi != NULL)
		TRY(find_place(r, hi, hilen, &to));
	/* widen a range of fewer than n blocks */
	if (to.blocks - from.blocks < n)
	{
		from.blocks = (from.blocks + to.blocks - n) / 2;
		from.blocks = from.blocks > 0 ? from.blocks : 0;
		to.blocks = from.blocks + n < (double) r->prop.meta.blocks ? from.blocks + n
																   : (double) r->prop.meta.blocks;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		double at = from.blocks + (to.blocks - from.blocks) * (i + 0.5) / n;
		uint64_t block = at > 0 ? (uint64_t) at : 0;

		if (block != last)
			TRY(sample_block(r, block, fn, arg));
		last = block;
	}
	return WIDE_OK;
}

/*
 * sst_estimate.c - how much of a sorted file lies where, without reading its data blocks.
 *
 * The index says in which data block a key lies.  Where in the block is looked up in the block
 * itself if the block cache has it.  Otherwise the key is placed by interpolation between the last
 * keys of the block before and of the block.  A range of few blocks that are all in the cache is
 * counted.
 *
 * Invariants: data blocks are looked at in the block cache only (SST_CACHED); index and filter
 * blocks are read through it.  No block stays pinned after a call.
 */
#include <math.h>
#include <string.h>
#include "engine/sst/sst_estimate.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/sst/block.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_reader.h"

#define LOOK_BLOCKS	 4	/* a range of so many cached blocks is counted */
#define LOOK_SAMPLES 12 /* blocks of a larger range that are counted */
#define DIGITS		 16 /* bytes of a key that interpolation uses, behind the common prefix */
#define JUMP		 4	/* a block this many times wider than its neighbours has a jump in it */
#define ROW_ENTRIES	 64 /* entries of a row that are looked at to see whether it is alive */

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

/* How much lies before a key. */
typedef struct place
{
	double blocks, rows;
} place;

/* Sets *a to the keys around a block that has `before` blocks of its partition before it.  The
 * first one may be the last key of the partition before, or the beginning of the file. */
static wide_status
keys_around(sst_cursor *c, uint32_t before, around *a)
{
	const sst_reader *r = c->r;
	const file_meta *m = &r->prop.meta;
	const entry *last = c->partition > 0 ? &r->parts[c->partition - 1].last : NULL;

	for (uint32_t i = 0; i < 4; i++)
	{
		uint64_t block = (uint64_t) before + i; /* of the partition, counted from 2 */

		if (block == 1)
			TRY(last != NULL ? buffer_append(&a->key[i], last->ukey, last->klen)
							 : buffer_append(&a->key[i], m->min_row, m->min_len));
		if (block < 2 || block > (uint64_t) c->index.entries + 1)
			continue;
		TRY(block_seek_entry(&c->index, (uint32_t) (block - 2)));
		TRY(buffer_append(&a->key[i], c->index.e.ukey, c->index.e.klen));
	}
	return WIDE_OK;
}

/* Sets *in to the fraction of the block of the index cursor's entry that lies before ukey. */
static wide_status
place_in_block(sst_cursor *c, const uint8_t *ukey, uint32_t klen, uint32_t before, double *in)
{
	around a = {0};
	uint32_t n;
	wide_status st;

	if (c->valid)
	{
		TRY(block_entries_before(&c->block, &n));
		*in = (double) n / c->block.entries;
		return WIDE_OK;
	}
	TRY_GOTO(keys_around(c, before, &a));
	*in = interpolate(&a, ukey, klen);
done:
	for (int i = 0; i < 4; i++)
		buffer_free(&a.key[i]);
	return st;
}

/* Estimates how much of the file lies before ukey.  The cursor loses its position. */
static wide_status
find_place(sst_cursor *c, const uint8_t *ukey, uint32_t klen, place *out)
{
	const sst_reader *r = c->r;
	const sst_partition *p;
	sst_handle h, last = {0};
	place base = {0, 0};
	uint32_t before;
	double in = 0;
	wide_status st = sst_cursor_seek(c, ukey, klen, INT64_MAX, SEQ_MAX);

	*out = (place) {(double) r->prop.meta.blocks, (double) r->prop.meta.rows};
	if (st == WIDE_OK && !c->valid)
		return WIDE_OK; /* the end of the file */
	if (st != WIDE_OK && st != WIDE_END)
		return st;
	p = &r->parts[c->partition];
	if (c->partition > 0)
		base = (place) {(double) p[-1].blocks, (double) p[-1].rows};
	TRY(sst_reader_handle(r, &c->index.e, &h));
	TRY(block_entries_before(&c->index, &before));
	TRY(place_in_block(c, ukey, klen, before, &in));
	c->valid = false;
	if (before > 0)
	{
		TRY(block_seek_entry(&c->index, before - 1));
		TRY(sst_reader_handle(r, &c->index.e, &last));
	}
	out->blocks = fmin(base.blocks + before + in, (double) p->blocks);
	out->rows = fmin(base.rows + (double) last.rows + in * ((double) h.rows - (double) last.rows),
					 (double) p->rows);
	return WIDE_OK;
}

/* Moves *from and *to, the ends of the file, to the bounds.  The cursor loses its position. */
static wide_status
find_range(sst_cursor *c, const uint8_t *lo, uint32_t lolen, const uint8_t *hi, uint32_t hilen,
		   place *from, place *to)
{
	if (lo != NULL)
		TRY(find_place(c, lo, lolen, from));
	return hi != NULL ? find_place(c, hi, hilen, to) : WIDE_OK;
}

/* ---------------------------------------------------------------- extents */

/* Counts the entries of a range. */
typedef struct extent_counter
{
	sst_extent *out;
	buffer row; /* key of the current row; empty: none */
	sst_row_life life;
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
	sst_estimate_life(&k->life, e);
	k->out->cells++;
	return WIDE_OK;
}

/* Counts the range.  *done: it was counted, because all its blocks are in the block cache. */
static wide_status
count_cached(sst_cursor *c, const uint8_t *lo, uint32_t lolen, const uint8_t *hi, uint32_t hilen,
			 sst_extent *out, bool *done)
{
	extent_counter k = {.out = out};
	wide_status st;

	TRY_GOTO(lo != NULL ? sst_cursor_seek(c, lo, lolen, INT64_MAX, SEQ_MAX) : sst_cursor_first(c));
	while (c->valid &&
		   (hi == NULL || ukey_compare(c->block.e.ukey, c->block.e.klen, hi, hilen) < 0))
	{
		TRY_GOTO(count_entry(&k, &c->block.e));
		TRY_GOTO(sst_cursor_next(c));
	}
	count_row_end(&k);
done:
	buffer_free(&k.row);
	*done = st == WIDE_OK;
	return st == WIDE_END ? WIDE_OK : st;
}

/* Counts the rows that begin in a data block, if it is in the block cache; then increments *found.
 */
static wide_status
count_sample(sst_cursor *c, uint64_t block, extent_counter *k, int *found)
{
	double rows = k->out->rows, dead = k->out->dead;
	wide_status st;

	k->row.len = 0;
	if (block > 0)
	{
		const entry *last = &c->index.e;

		/* the last row of the block before does not begin here */
		TRY(sst_cursor_index(c, block - 1));
		TRY(buffer_append(&k->row, last->ukey, key_row_length(last->ukey, last->klen)));
		k->life = (sst_row_life) {.alive = true};
	}
	st = sst_cursor_block(c, block);
	if (st != WIDE_OK)
		return st == WIDE_END ? WIDE_OK : st;
	++*found;
	/* once more: all entries with their stored sequence numbers */
	c->valid = false;
	TRY(block_first(&c->block));
	while (c->block.valid)
	{
		TRY(count_entry(k, &c->block.e));
		TRY(block_next(&c->block));
	}
	count_row_end(k);
	if (k->out->dead - dead > k->out->rows - rows)
		k->out->dead = dead + k->out->rows - rows;
	return WIDE_OK;
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
extent_between(sst_cursor *c, const place *from, const place *to, sst_extent *out)
{
	const file_meta *m = &c->r->prop.meta;
	double blocks = to->blocks - from->blocks;
	sst_extent e = {0};
	extent_counter k = {.out = &e};
	int found = 0;
	wide_status st = WIDE_OK;

	out->rows = to->rows > from->rows ? to->rows - from->rows : 0;
	out->cells = (double) m->cells * blocks / (double) m->blocks;
	out->dead = out->rows * dead_share(c->r);
	if (blocks <= LOOK_BLOCKS || blocks > (double) m->blocks / 2)
		return WIDE_OK;
	for (int i = 0; i < LOOK_SAMPLES; i++)
		TRY_GOTO(count_sample(c, (uint64_t) (from->blocks + blocks * (i + 0.5) / LOOK_SAMPLES), &k,
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
	sst_cursor c;
	wide_status st;

	memset(out, 0, sizeof *out);
	if (m->blocks == 0)
		return WIDE_OK;
	TRY(sst_cursor_open(r->db, r, SST_CACHED, &c));
	TRY_GOTO(find_range(&c, lo, lolen, hi, hilen, &from, &to));
	if (to.blocks < from.blocks)
		to = from;
	if ((lo != NULL || hi != NULL) && to.blocks - from.blocks <= LOOK_BLOCKS)
		TRY_GOTO(count_cached(&c, lo, lolen, hi, hilen, out, &counted));
	if (!counted)
	{
		if (to.blocks - from.blocks > (double) m->blocks / 2 && (lo != NULL || hi != NULL))
		{
			/* estimate the smaller rest instead: the sum is known */
			sst_extent before, after;

			TRY_GOTO(extent_between(&c, &begin, &from, &before));
			TRY_GOTO(extent_between(&c, &to, &end, &after));
			out->rows = (double) m->rows - before.rows - after.rows;
			out->cells = (double) m->cells - before.cells - after.cells;
			out->dead = (double) m->rows * dead_share(r) - before.dead - after.dead;
		}
		else
			TRY_GOTO(extent_between(&c, &from, &to, out));
		/* Queries do not ask for ranges that are nearly empty: the keys are in clusters that
		 * interpolation does not see. */
		if (out->rows < 0.02)
			out->rows = sqrt((double) m->rows / (double) m->blocks) / 2;
		out->cells = out->cells > out->rows ? out->cells : out->rows;
		out->dead = out->dead < 0 ? 0 : out->dead > out->rows ? out->rows : out->dead;
	}
	out->blocks = to.blocks - from.blocks;
done:
	sst_cursor_close(&c);
	return st;
}

/* ------------------------------------------------------------------- rows */

wide_status
sst_estimate_row_likely(sst_reader *r, const uint8_t *row, uint32_t rowlen, double *present,
						double *alive)
{
	sst_row_life life = {0};
	bool may;
	sst_cursor c;
	wide_status st;

	*present = 0;
	TRY(sst_cursor_open(r->db, r, SST_CACHED, &c));
	st = sst_cursor_seek(&c, row, rowlen, INT64_MAX, SEQ_MAX);
	if (st == WIDE_END)
	{
		/* without a filter nothing is known: 0.5 */
		*alive = 1 - dead_share(r);
		TRY_GOTO(sst_reader_may_have_row(r, row, rowlen, &may));
		*present = !may ? 0 : r->prop.bloom == WIDE_BLOOM_NONE ? 0.5 : 1;
		goto done;
	}
	for (int i = 0; st == WIDE_OK && c.valid && i < ROW_ENTRIES && c.block.e.rowlen == rowlen &&
					memcmp(c.block.e.ukey, row, rowlen) == 0;
		 i++)
	{
		*present = 1;
		sst_estimate_life(&life, &c.block.e);
		st = sst_cursor_next(&c);
	}
	*alive = life.alive;
	if (st == WIDE_END)
		st = WIDE_OK; /* the row goes on in a block that is not in the block cache */
done:
	sst_cursor_close(&c);
	return st;
}

/* ---------------------------------------------------------------- samples */

/* Calls fn with the last ukey of a data block. */
static wide_status
sample_block(sst_cursor *c, uint64_t block, sst_key_fn fn, void *arg)
{
	TRY(sst_cursor_index(c, block));
	return fn(arg, c->index.e.ukey, c->index.e.klen);
}

wide_status
sst_estimate_sample_keys(sst_reader *r, uint32_t n, sst_key_fn fn, void *arg)
{
	sst_cursor c;
	wide_status st = WIDE_OK;

	TRY(sst_cursor_open(r->db, r, SST_CACHED, &c));
	for (uint64_t block = 0; block < r->prop.meta.blocks; block += (n > 0 ? n : 1))
		TRY_GOTO(sample_block(&c, block, fn, arg));
done:
	sst_cursor_close(&c);
	return st;
}

wide_status
sst_estimate_sample_range(sst_reader *r, const uint8_t *lo, uint32_t lolen, const uint8_t *hi,
						  uint32_t hilen, uint32_t n, sst_key_fn fn, void *arg)
{
	double blocks = (double) r->prop.meta.blocks;
	place from = {0, 0}, to = {blocks, 0};
	uint64_t last = UINT64_MAX;
	sst_cursor c;
	wide_status st;

	TRY(sst_cursor_open(r->db, r, SST_CACHED, &c));
	TRY_GOTO(find_range(&c, lo, lolen, hi, hilen, &from, &to));
	/* widen a range of fewer than n blocks */
	if (to.blocks - from.blocks < n)
	{
		from.blocks = fmax((from.blocks + to.blocks - n) / 2, 0);
		to.blocks = fmin(from.blocks + n, blocks);
	}
	for (uint32_t i = 0; i < n; i++)
	{
		double at = from.blocks + (to.blocks - from.blocks) * (i + 0.5) / n;
		uint64_t block = at > 0 ? (uint64_t) at : 0;

		if (block != last)
			TRY_GOTO(sample_block(&c, block, fn, arg));
		last = block;
	}
done:
	sst_cursor_close(&c);
	return st;
}

/*
 * estimate.c - how much lies in a range, and where to cut a family in parts of
 * equal size; from file metadata and index blocks, no data block is read.
 *
 * Of a file, the part of its data blocks that the range covers is taken as the
 * part of its rows, cells and bytes.  A memtable is walked from the range's
 * start; what the walk does not reach is assumed to be as dense as the files
 * suggest, at most the memtable's total.  Rows that lie in several files count
 * several times: an upper estimate, as the planner needs it.
 *
 * Locking: a pin.
 */
#include <stdlib.h>
#include "db.h"

#define WALK_MAX	2000		/* memtable entries looked at */
#define SAMPLES		64			/* keys per part and file, at least */

/* -------------------------------------------------------------- estimates */

static wide_status
estimate_file(wide_db *db, const file_meta *f, const buffer *lo, const buffer *hi, wide_estimate *out)
{
	sst_reader *r = NULL;
	double		from = 0,
				to = 1,
				least,
				part;
	wide_status st = WIDE_OK;

	TRY(sst_get(db, f, &r));
	if (lo != NULL)
		TRY_GOTO(sst_position(r, lo->data, (uint32_t) lo->len, &from));
	if (hi != NULL)
		TRY_GOTO(sst_position(r, hi->data, (uint32_t) hi->len, &to));
	/* a range within one block still is something: a row of it, or its share */
	least = f->rows > 0 ? 1.0 / (double) f->rows : 0;
	part = to - from;
	if (part <= 0 && f->blocks > 0)
		part = 0.5 / (double) f->blocks < least * 8 ? 0.5 / (double) f->blocks : least * 8;
	if (part < least)
		part = least;
	if (part > 1)
		part = 1;
	out->rows += part * (double) f->rows;
	out->cells += part * (double) f->cells;
	out->bytes += part * (double) f->bytes;
	out->blocks += part * (double) f->blocks < 1 ? 1 : part * (double) f->blocks;
done:
	sst_put(db, r);
	return st;
}

static void
estimate_memtable(wide_db *db, uint32_t index, wide_family_id family, const buffer *lo, const buffer *hi, wide_estimate *out)
{
	mem			m;
	mem_cursor	c;
	const uint8_t *row = NULL;
	uint32_t	rowlen = 0;
	double		cells = 0,
				rows = 0,
				bytes = 0,
				factor = 1;

	mem_at(db, index, &m);
	mem_cursor_open(&c, &m);
	mem_seek(&c, family, lo != NULL ? lo->data : (const uint8_t *) "", lo != NULL ? (uint32_t) lo->len : 0, INT64_MAX, SEQ_MAX);
	for (; mem_valid(&c) && c.family == family && cells < WALK_MAX; mem_next(&c))
	{
		if (hi != NULL && ukey_compare(c.e.ukey, c.e.klen, hi->data, hi->len) >= 0)
			break;
		if (row == NULL || rowlen != c.e.rowlen || memcmp(row, c.e.ukey, rowlen) != 0)
			rows++;
		row = c.e.ukey;
		rowlen = c.e.rowlen;
		cells++;
		bytes += c.e.klen + c.e.vlen;
	}
	/* not the end: a range with an end is guessed at half of the rest, one without at all of it */
	if (cells >= WALK_MAX)
	{
		double		total = (double) atomic_load(&m.t->cells);

		factor = total > cells ? (hi == NULL ? total : (total + cells) / 2) / cells : 1;
	}
	out->rows += rows * factor;
	out->cells += cells * factor;
	out->bytes += bytes * factor;
}

wide_status
wide_estimate_range(wide_db *db, wide_family_id family, const wide_range *range, wide_estimate *out)
{
	buffer		lo = {0},
				hi = {0};
	set_pin		pin = {0};
	set_files	files;
	bool		open_lo = range == NULL || range->lo.len == 0,
				open_hi = range == NULL || range->hi.data == NULL;
	wide_status st;

	memset(out, 0, sizeof *out);
	TRY(shm_check(db));
	if (!open_lo)
		TRY_GOTO(key_make_row(&lo, range->lo));
	if (!open_hi)
		TRY_GOTO(key_make_row(&hi, range->hi));
	TRY_GOTO(set_pin_take(db, &pin));
	TRY_GOTO(set_pin_files(db, &pin, family, &files));
	for (int i = 0; i < files.n; i++)
		if (file_overlaps(&files.files[i], open_lo ? NULL : lo.data, (uint32_t) lo.len,
						  open_hi ? NULL : hi.data, (uint32_t) hi.len))
			TRY_GOTO(estimate_file(db, &files.files[i], open_lo ? NULL : &lo, open_hi ? NULL : &hi, out));
	for (int i = 0; i < pin.nmem; i++)
		estimate_memtable(db, pin.mem[i], family, open_lo ? NULL : &lo, open_hi ? NULL : &hi, out);
done:
	set_pin_drop(db, &pin);
	buffer_free(&lo);
	buffer_free(&hi);
	return st;
}

/* -------------------------------------------------------------- split keys */

typedef struct sample
{
	uint8_t    *row;			/* raw */
	size_t		len;
	double		weight;			/* bytes it stands for */
} sample;

typedef struct samples
{
	sample	   *s;
	int			n;
	int			cap;
	double		weight;			/* of the next ones */
} samples;

static wide_status
add_sample(void *arg, const uint8_t *ukey, uint32_t klen)
{
	samples    *a = arg;
	uint32_t	rowlen = key_row_length(ukey, klen);
	buffer		raw = {0};
	wide_bytes	row;
	sample	   *s;

	if (rowlen == 0)
		return wide_fail(WIDE_CORRUPT, "a key of an index is malformed");
	if (a->n == a->cap)
	{
		int			cap = a->cap == 0 ? 256 : 2 * a->cap;

		s = realloc(a->s, (size_t) cap * sizeof *s);
		if (s == NULL)
			return wide_fail(WIDE_NOMEM, "out of memory");
		a->s = s;
		a->cap = cap;
	}
	TRY(buffer_reserve(&raw, KEY_DECODED_MAX(rowlen)));
	if (key_decode_part(ukey, rowlen, &raw, &row) != WIDE_OK)
	{
		buffer_free(&raw);
		return wide_fail(WIDE_CORRUPT, "a key of an index is malformed");
	}
	s = &a->s[a->n];
	s->row = malloc(row.len + 1);
	if (s->row != NULL)
		memcpy(s->row, row.data, row.len);
	s->len = row.len;
	s->weight = a->weight;
	a->n += s->row != NULL;
	buffer_free(&raw);
	return s->row != NULL ? WIDE_OK : wide_fail(WIDE_NOMEM, "out of memory");
}

static int
compare_samples(const void *a, const void *b)
{
	const sample *x = a,
			   *y = b;

	return ukey_compare(x->row, x->len, y->row, y->len);
}

static wide_status
sample_file(wide_db *db, const file_meta *f, int n, samples *a)
{
	sst_reader *r;
	uint64_t	every = f->blocks / ((uint64_t) n * SAMPLES) + 1;
	wide_status st;

	TRY(sst_get(db, f, &r));
	a->weight = f->blocks > 0 ? (double) f->bytes * (double) every / (double) f->blocks : 0;
	st = sst_sample_keys(r, (uint32_t) every, add_sample, a);
	sst_put(db, r);
	return st;
}

/* Every so-manieth entry of the family; all are visited, which for a memtable is milliseconds. */
static wide_status
sample_memtable(wide_db *db, uint32_t index, wide_family_id family, int n, samples *a)
{
	mem			m;
	mem_cursor	c;
	uint64_t	total,
				every,
				i = 0;

	mem_at(db, index, &m);
	total = atomic_load(&m.t->cells);
	if (total == 0)
		return WIDE_OK;
	every = total / ((uint64_t) n * SAMPLES) + 1;
	a->weight = (double) atomic_load(&m.t->used) / 2 * (double) every / (double) total;
	mem_cursor_open(&c, &m);
	for (mem_seek(&c, family, (const uint8_t *) "", 0, INT64_MAX, SEQ_MAX); mem_valid(&c) && c.family == family; mem_next(&c))
		if (i++ % every == 0)
			TRY(add_sample(a, c.e.ukey, c.e.klen));
	return WIDE_OK;
}

/* Where the running weight passes k/n of the total. */
static wide_status
emit_splits(const samples *a, int n, wide_status (*fn) (void *arg, wide_bytes key), void *arg)
{
	double		total = 0,
				sum = 0;
	const sample *last = NULL;
	int			k = 1;

	for (int i = 0; i < a->n; i++)
		total += a->s[i].weight;
	for (int i = 0; i < a->n && k < n; i++)
	{
		const sample *s = &a->s[i];

		/* the smallest key would cut off nothing */
		if (sum >= total * k / n && compare_samples(s, &a->s[0]) != 0 &&
			(last == NULL || compare_samples(s, last) != 0))
		{
			TRY(fn(arg, (wide_bytes) {s->row, s->len}));
			last = s;
			while (k < n && sum >= total * k / n)
				k++;
		}
		sum += s->weight;
	}
	return WIDE_OK;
}

wide_status
wide_split_keys(wide_db *db, wide_family_id family, int n,
				wide_status (*fn) (void *arg, wide_bytes key), void *arg)
{
	samples		a = {0};
	set_pin		pin = {0};
	set_files	files;
	wide_status st;

	TRY(shm_check(db));
	if (n < 2)
		return WIDE_OK;
	TRY_GOTO(set_pin_take(db, &pin));
	TRY_GOTO(set_pin_files(db, &pin, family, &files));
	for (int i = 0; i < files.n; i++)
		TRY_GOTO(sample_file(db, &files.files[i], n, &a));
	for (int i = 0; i < pin.nmem; i++)
		TRY_GOTO(sample_memtable(db, pin.mem[i], family, n, &a));
	if (a.n > 0)
	{
		qsort(a.s, (size_t) a.n, sizeof *a.s, compare_samples);
		st = emit_splits(&a, n, fn, arg);
	}
done:
	set_pin_drop(db, &pin);
	for (int i = 0; i < a.n; i++)
		free(a.s[i].row);
	free(a.s);
	return st;
}

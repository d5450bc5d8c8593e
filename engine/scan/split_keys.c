/*
 * split_keys.c - keys that cut a family into parts of about equal size, for parallel scans.
 *
 * Keys are sampled from the indexes of files and from memtables.  Each sample stands for some
 * stored bytes; a part ends where the sum of these passes its share of the total.  No data block is
 * read.
 *
 * Locking: a pin protects memtables and files.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_estimate.h"
#include "engine/sst/sst_reader.h"
#include "engine/set/memtable.h"
#include "engine/set/pin.h"

#define SAMPLES 64 /* keys per part and file, at least */

typedef struct sample
{
	size_t at, len; /* the encoded row, in samples.keys */
	double weight;	/* stored bytes that it stands for */
} sample;

typedef struct samples
{
	sample *s;
	int n, cap;
	buffer keys;
	double weight; /* of the samples added next */
} samples;

static wide_status
add_sample(void *arg, const uint8_t *ukey, uint32_t klen)
{
	samples *a = arg;
	uint32_t rowlen = key_row_length(ukey, klen);

	if (rowlen == 0)
		return status_fail(WIDE_CORRUPT, "a key of an index is malformed");
	TRY(array_grow((void **) &a->s, a->n, &a->cap, sizeof *a->s));
	a->s[a->n++] = (sample) {.at = a->keys.len, .len = rowlen, .weight = a->weight};
	return buffer_append(&a->keys, ukey, rowlen);
}

static int
compare_samples(const void *a, const void *b, void *keys)
{
	const sample *x = a, *y = b;
	const uint8_t *k = keys;

	return ukey_compare(k + x->at, x->len, k + y->at, y->len);
}

static wide_status
sample_file(wide_db *db, const file_meta *f, int n, samples *a)
{
	sst_reader *r;
	uint64_t every = f->blocks / ((uint64_t) n * SAMPLES) + 1;
	wide_status st;

	st = sst_reader_get(db, f, &r);
	/* a damaged file is an error of those who read it */
	if (st == WIDE_CORRUPT || st == WIDE_IO)
		return WIDE_OK;
	TRY(st);
	a->weight = f->blocks > 0 ? (double) f->bytes * (double) every / (double) f->blocks : 0;
	st = sst_estimate_sample_keys(r, (uint32_t) every, add_sample, a);
	sst_reader_put(db, r);
	return st == WIDE_CORRUPT || st == WIDE_IO ? WIDE_OK : st;
}

/* Samples the family's entries: those of some level of the skip list (rough), else one in `every`.
 */
static wide_status
sample_memtable(wide_db *db, uint32_t index, wide_family_id family, int n, bool rough, samples *a)
{
	memtable_handle m;
	memtable_cursor c;
	uint32_t nodes[MEMTABLE_SAMPLE];
	double each;
	uint64_t total, every, i = 0;
	int sampled;

	memtable_at(db, index, &m);
	total = atomic_load(&m.t->cells);
	if (total == 0)
		return WIDE_OK;
	memtable_cursor_open(&c, &m);
	sampled = memtable_sample(&m, family, (const uint8_t *) "", 0, NULL, 0, nodes, &each);
	if (each == 1 || rough)
	{
		a->weight = (double) atomic_load(&m.t->used) / 2 * each / (double) total;
		for (int k = 0; k < sampled; k++)
		{
			memtable_cursor_at(&c, nodes[k]);
			TRY(add_sample(a, c.e.ukey, c.e.klen));
		}
		return WIDE_OK;
	}
	every = total / ((uint64_t) n * SAMPLES) + 1;
	a->weight = (double) atomic_load(&m.t->used) / 2 * (double) every / (double) total;
	for (memtable_seek(&c, family, (const uint8_t *) "", 0, INT64_MAX, SEQ_MAX);
		 memtable_valid(&c) && c.family == family; memtable_next(&c))
		if (i++ % every == 0)
			TRY(add_sample(a, c.e.ukey, c.e.klen));
	return WIDE_OK;
}

/* Calls fn for the keys where the running weight passes k/n of the total. */
static wide_status
emit_splits(const samples *a, int n, buffer *raw, wide_status (*fn)(void *arg, wide_bytes key),
			void *arg)
{
	double total = 0, sum = 0;
	const sample *last = &a->s[0]; /* the smallest key would cut off nothing */
	int k = 1;

	for (int i = 0; i < a->n; i++)
		total += a->s[i].weight;
	for (int i = 0; i < a->n && k < n; i++)
	{
		const sample *s = &a->s[i];

		if (sum >= total * k / n && compare_samples(s, last, a->keys.data) != 0)
		{
			wide_bytes row;

			raw->len = 0;
			TRY(key_decode_part(a->keys.data + s->at, s->len, raw, &row));
			TRY(fn(arg, row));
			last = s;
			while (k < n && sum >= total * k / n)
				k++;
		}
		sum += s->weight;
	}
	return WIDE_OK;
}

wide_status
wide_split_keys(wide_db *db, wide_family_id family, int n, bool rough,
				wide_status (*fn)(void *arg, wide_bytes key), void *arg)
{
	samples a = {0};
	version_pin pin = {0};
	family_files files;
	buffer raw = {0};
	wide_status st;

	TRY(segment_check(db));
	if (n < 2)
		return WIDE_OK;
	TRY_GOTO(pin_take(db, &pin));
	TRY_GOTO(pin_files(db, &pin, family, &files));
	for (int i = 0; i < files.n; i++)
		TRY_GOTO(sample_file(db, &files.files[i], n, &a));
	for (int i = 0; i < pin.nmemtables; i++)
		TRY_GOTO(sample_memtable(db, pin.memtables[i], family, n, rough, &a));
	if (a.n > 0)
	{
		qsort_r(a.s, (size_t) a.n, sizeof *a.s, compare_samples, a.keys.data);
		st = emit_splits(&a, n, &raw, fn, arg);
	}
done:
	pin_drop(db, &pin);
	buffer_free(&a.keys);
	buffer_free(&raw);
	free(a.s);
	return st;
}

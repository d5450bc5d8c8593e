/*
 * estimate.c - how much lies in a range of keys, and where to cut a family into parts of equal
 * size. No data block is read; those in the cache are looked at.
 *
 * A range is estimated for each origin: a memtable (the levels of its skip list are samples), a
 * file of level 0, or the files of another level as one.  An older origin may have the same rows as
 * a newer one, which then overwrites or deletes them.  So a few rows of each origin but the oldest
 * are looked up in the older ones: exactly in memtables and in cached blocks, by filters in files.
 * A new row counts, one that is there already does not, and a deleted row that is there is taken
 * off.
 *
 * A windowed family may have hundreds of origins.  Then a few of its files, evenly by age, are
 * opened (the first time that takes a process a tenth of a millisecond each), compared with each
 * other, and stand for the rest.
 *
 * Cells that are overwritten count several times: an update of a cell cannot be told from the
 * addition of one.
 *
 * Locking: a pin protects memtables and files.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/file_meta.h"
#include "engine/sst/sst_estimate.h"
#include "engine/sst/sst_reader.h"
#include "engine/set/memtable.h"
#include "engine/set/pin.h"

#define PROBES		12	 /* rows of an origin that are looked up in the older ones, at most */
#define LOOKUPS		256	 /* of these rows in all origins, about; each takes 1 or 2 microseconds */
#define MANY		16	 /* of more origins than that, some stand for the rest */
#define OPENED		4	 /* files of these that are opened, about */
#define FEW			0.01 /* an origin with a smaller share of the rows is not compared */
#define PROBE_FILES 4	 /* files of a level that give probes */
#define MEM_ROWS	64	 /* entries of a memtable whose rows are looked at */
#define ROW_ENTRIES 64	 /* entries of a row looked at to find out whether it is alive */

/* ---------------------------------------------------------------- origins */

/* A row of an origin, to be looked up in the older ones. */
typedef struct probe
{
	size_t at; /* the encoded row, in the origin's keys */
	uint32_t len;
	double weight; /* relative to the other probes of the origin */
	double alive;  /* likelihood that it is more than deletes in this origin */
} probe;

typedef struct origin
{
	bool in_memory;
	bool spared; /* a file for which others stand: it is not opened */
	memtable_handle m;
	const file_meta *files; /* sorted and disjoint */
	int nfiles;
	double rows, dead, cells, bytes, blocks; /* in the range; dead: rows with nothing but deletes */
	probe probes[PROBES + PROBE_FILES];
	int n;		 /* probes */
	buffer keys; /* of the probes */
} origin;

typedef struct question
{
	wide_db *db;
	wide_family_id family;
	buffer lo, hi;	 /* encoded; data NULL: open */
	origin *origins; /* oldest first */
	int n;
	int probes;	 /* of each origin */
	bool spares; /* some files are spared */
} question;

static wide_status
add_probe(origin *o, const uint8_t *row, uint32_t rowlen, double weight, double alive)
{
	probe *p = &o->probes[o->n];

	if (o->n == PROBES + PROBE_FILES)
		return WIDE_OK;
	p->at = o->keys.len;
	p->len = rowlen;
	p->weight = weight;
	p->alive = alive;
	TRY(buffer_append(&o->keys, row, rowlen));
	o->n++;
	return WIDE_OK;
}

/* -------------------------------------------------------------- memtables */

/* Looks a row up: *present 1 if the memtable has it, *alive 1 if it has more than deletes. */
static void
mem_row(const memtable_handle *m, wide_family_id family, const uint8_t *row, uint32_t rowlen,
		double *present, double *alive)
{
	memtable_cursor c;
	sst_row_life life = {0};

	*present = 0;
	memtable_cursor_open(&c, m);
	memtable_seek(&c, family, row, rowlen, INT64_MAX, SEQ_MAX);
	for (int i = 0; i < ROW_ENTRIES && !life.alive && memtable_valid(&c) && c.family == family &&
					c.e.rowlen == rowlen && memcmp(c.e.ukey, row, rowlen) == 0;
		 i++, memtable_next(&c))
	{
		*present = 1;
		sst_estimate_life(&life, &c.e);
	}
	*alive = life.alive;
}

/* Estimates how many entries the row has; at least 1. */
static wide_status
mem_row_entries(const memtable_handle *m, wide_family_id family, const uint8_t *row,
				uint32_t rowlen, double *entries)
{
	uint32_t nodes[MEMTABLE_SAMPLE];
	buffer end = {0};
	double each;

	TRY(buffer_append(&end, row, rowlen));
	end.data[rowlen - 1] = 0x02;
	*entries = memtable_sample(m, family, row, rowlen, end.data, rowlen, nodes, &each);
	*entries = *entries < 1 ? 1 : *entries * each;
	buffer_free(&end);
	return WIDE_OK;
}

/*
 * Estimates a memtable.  A sampled entry stands for `each` entries, and as one of a row of n
 * entries for each / n rows.  If the sample has all entries (each == 1), rows are counted.
 */
static wide_status
ask_memtable(question *q, origin *o)
{
	uint32_t nodes[MEMTABLE_SAMPLE];
	double each;
	int n = memtable_sample(&o->m, q->family,
							q->lo.data != NULL ? q->lo.data : (const uint8_t *) "",
							(uint32_t) q->lo.len, q->hi.data, (uint32_t) q->hi.len, nodes, &each);
	int most = each > 1 && n > MEM_ROWS ? MEM_ROWS : n;
	const uint8_t *row = NULL;
	uint32_t rowlen = 0;
	double seen = 0, dead = 0;
	memtable_cursor c;

	memtable_cursor_open(&c, &o->m);
	for (int i = 0; i < most; i++)
	{
		double entries = 1, present, alive;

		memtable_cursor_at(&c, nodes[(int64_t) i * n / most]);
		o->bytes += (c.e.klen + c.e.vlen) * each * n / most;
		if (each == 1 && row != NULL && rowlen == c.e.rowlen && memcmp(row, c.e.ukey, rowlen) == 0)
			continue;
		row = c.e.ukey;
		rowlen = c.e.rowlen;
		if (each > 1)
			TRY(mem_row_entries(&o->m, q->family, row, rowlen, &entries));
		mem_row(&o->m, q->family, row, rowlen, &present, &alive);
		seen += 1 / entries;
		dead += (1 - alive) / entries;
		/* PROBES of them, evenly */
		if ((int64_t) i * PROBES / most != (int64_t) (i - 1) * PROBES / most || i == 0)
			TRY(add_probe(o, row, rowlen, 1 / entries, alive));
	}
	o->cells = n * each;
	o->rows = most > 0 ? seen * each * n / most : 0;
	o->dead = most > 0 ? dead * each * n / most : 0;
	return WIDE_OK;
}

/* ------------------------------------------------------------------ files */

/* Returns true if all rows of the file lie in the range. */
static bool
file_inside(const question *q, const file_meta *f)
{
	if (q->lo.data != NULL && ukey_compare(f->min_row, f->min_len, q->lo.data, q->lo.len) < 0)
		return false;
	return q->hi.data == NULL || file_meta_below(f, q->hi.data, (uint32_t) q->hi.len);
}

static bool
overlaps(const question *q, const file_meta *f)
{
	return file_meta_overlaps_range(f, q->lo.data, (uint32_t) q->lo.len, q->hi.data,
									(uint32_t) q->hi.len);
}

/* A file that is damaged is an error of those who read it, not of those who plan to. */
static bool
unreadable(wide_status st)
{
	return st == WIDE_CORRUPT || st == WIDE_IO;
}

static wide_status
ask_file(question *q, origin *o, const file_meta *f)
{
	sst_reader *r;
	sst_extent e = {0};
	bool inside = file_inside(q, f);
	wide_status st = WIDE_OK;

	if (!inside || f->tombstones > 0)
	{
		st = sst_reader_get(q->db, f, &r);
		if (st == WIDE_OK)
		{
			st = sst_estimate_extent(r, inside ? NULL : q->lo.data, (uint32_t) q->lo.len,
									 inside ? NULL : q->hi.data, (uint32_t) q->hi.len, &e);
			sst_reader_put(q->db, r);
		}
	}
	if ((inside && f->tombstones == 0) || unreadable(st))
	{
		e = (sst_extent) {
			.rows = (double) f->rows, .cells = (double) f->cells, .blocks = (double) f->blocks};
		st = WIDE_OK;
	}
	o->rows += e.rows;
	o->dead += e.dead;
	o->cells += e.cells;
	o->blocks += e.blocks < 1 ? 1 : e.blocks;
	o->bytes += f->blocks > 0 ? e.blocks * (double) f->bytes / (double) f->blocks : 0;
	return st;
}

typedef struct probe_arg
{
	origin *o;
	sst_reader *r;
} probe_arg;

static wide_status
add_file_probe(void *arg, const uint8_t *ukey, uint32_t klen)
{
	probe_arg *a = arg;
	uint32_t rowlen = key_row_length(ukey, klen);
	double present, alive;

	if (rowlen == 0)
		return status_fail(WIDE_CORRUPT, "a key of an index is malformed");
	TRY(sst_estimate_row_likely(a->r, ukey, rowlen, &present, &alive));
	return add_probe(a->o, ukey, rowlen, 1, alive);
}

/* Takes probes from the indexes of the origin's files in the range. */
static wide_status
probe_files(question *q, origin *o)
{
	int in = 0, i = 0, files;

	for (int f = 0; f < o->nfiles; f++)
		in += overlaps(q, &o->files[f]);
	files = in < PROBE_FILES ? in : PROBE_FILES;
	for (int f = 0; f < o->nfiles; f++)
	{
		probe_arg a = {.o = o};
		wide_status st;

		if (!overlaps(q, &o->files[f]))
			continue;
		/* `files` of them, evenly */
		i++;
		if ((int64_t) (i - 1) * files / in == (int64_t) i * files / in)
			continue;
		st = sst_reader_get(q->db, &o->files[f], &a.r);
		if (unreadable(st))
			continue;
		TRY(st);
		st = sst_estimate_sample_range(a.r, q->lo.data, (uint32_t) q->lo.len, q->hi.data,
									   (uint32_t) q->hi.len,
									   (uint32_t) (q->probes > files ? q->probes / files : 1),
									   add_file_probe, &a);
		sst_reader_put(q->db, a.r);
		TRY(unreadable(st) ? WIDE_OK : st);
	}
	return WIDE_OK;
}

static wide_status
files_row(question *q, const origin *o, const uint8_t *row, uint32_t rowlen, double *present,
		  double *alive)
{
	int lo = 0, hi = o->nfiles;
	sst_reader *r;
	wide_status st;

	*present = *alive = 0;
	/* the last file that begins at or before the row */
	while (lo < hi)
	{
		int mid = lo + (hi - lo) / 2;

		if (ukey_compare(o->files[mid].min_row, o->files[mid].min_len, row, rowlen) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || !file_meta_overlaps_range(&o->files[lo - 1], row, rowlen, NULL, 0))
		return WIDE_OK;
	st = sst_reader_get(q->db, &o->files[lo - 1], &r);
	if (st == WIDE_OK)
	{
		st = sst_estimate_row_likely(r, row, rowlen, present, alive);
		sst_reader_put(q->db, r);
	}
	return unreadable(st) ? WIDE_OK : st;
}

/* ---------------------------------------------------------------- overlap */

/* How likely a row is alive in the first origins together. */
typedef struct row_below
{
	double alive;  /* in one that is not spared */
	double always; /* in all of these */
	double times;  /* in how many it is, if each stands for the spared ones beside it */
} row_below;

static wide_status
look_below(question *q, int n, const uint8_t *row, uint32_t rowlen, row_below *out)
{
	double unseen = 1; /* that no newer one has it */
	int stands = 1;	   /* for so many origins, itself included */

	*out = (row_below) {.always = 1};
	/* where some are spared all the others are looked at, for `always` */
	for (int i = n - 1; i >= 0 && (unseen > 0.01 || q->spares); i--)
	{
		const origin *o = &q->origins[i];
		double present, alive;

		if (o->rows <= 0)
			continue;
		if (o->spared)
		{
			stands++;
			continue;
		}
		if (o->in_memory)
			mem_row(&o->m, q->family, row, rowlen, &present, &alive);
		else
			TRY(files_row(q, o, row, rowlen, &present, &alive));
		out->alive += unseen * present * alive;
		unseen *= 1 - present;
		if (o->in_memory)
			continue;
		out->always *= present * alive;
		out->times += present * alive * stands;
		stands = 1;
	}
	return WIDE_OK;
}

/*
 * Estimates shares of an origin's rows: *added of them were not there before, *removed are deletes
 * of rows that were.
 *
 * Where some files stand for others: a row that all of them have is taken to be there.  Of the
 * other rows those that one of them has are a sample of what the spared ones have.
 */
static wide_status
compare_origin(question *q, int i, double *added, double *removed)
{
	origin *o = &q->origins[i];
	row_below below[PROBES + PROBE_FILES];
	double weight = 0, others = 0, times = 0;

	*added = *removed = 0;
	if (!o->in_memory)
		TRY(probe_files(q, o));
	for (int k = 0; k < o->n; k++)
	{
		const probe *p = &o->probes[k];

		TRY(look_below(q, i, o->keys.data + p->at, p->len, &below[k]));
		others += p->weight * (1 - below[k].always);
		times += p->weight * (1 - below[k].always) * below[k].times;
	}
	times = others > 0 ? times / others : 0;
	for (int k = 0; k < o->n; k++)
	{
		const probe *p = &o->probes[k];
		double there = below[k].alive;

		if (q->spares)
			there = below[k].always + (1 - below[k].always) * (times < 1 ? times : 1);
		weight += p->weight;
		*added += p->weight * p->alive * (1 - there);
		*removed += p->weight * (1 - p->alive) * there;
	}
	if (weight > 0)
	{
		*added = *added / weight;
		*removed = *removed / weight;
	}
	else
		*added = 1;
	return WIDE_OK;
}

/*
 * Estimates which share of the rows that are alive below origin i it leaves, from the rows of the
 * largest older origin.  In ranges so small that the number of deletes is a guess this is better
 * than a difference of two guesses.
 */
static wide_status
survivors(question *q, int i, double *share)
{
	origin *base = &q->origins[0];
	double before = 0, after = 0;
	row_below below;

	for (int j = 1; j < i; j++)
		if (q->origins[j].rows > base->rows)
			base = &q->origins[j];
	if (!base->in_memory && base->n == 0)
		TRY(probe_files(q, base));
	for (int k = 0; k < base->n; k++)
	{
		const probe *p = &base->probes[k];

		TRY(look_below(q, i, base->keys.data + p->at, p->len, &below));
		before += p->weight * below.alive;
		TRY(look_below(q, i + 1, base->keys.data + p->at, p->len, &below));
		after += p->weight * below.alive;
	}
	*share = before <= 0 ? 0 : after < before ? after / before : 1;
	return WIDE_OK;
}

/* Decides by how many rows origins are compared: no more than a plan is worth. */
static void
choose_probes(question *q, double least)
{
	int worth = 0;

	for (int i = 0; i < q->n; i++)
		worth += q->origins[i].rows > least && !q->origins[i].spared;
	/* each has half of them below it, on average */
	q->probes = LOOKUPS * 2 / (worth * worth + 1);
	q->probes = q->probes < PROBES ? q->probes : PROBES;
	q->probes = q->probes > 1 ? q->probes : 1;
}

/* What an origin does to the rows that the older ones leave. */
typedef struct effect
{
	double added, removed;
	bool compared;
} effect;

/* Returns the file that was compared next after origin i, or, if there is none, the last one; -1:
 * none was. */
static int
compared_near(const question *q, const effect *effects, int i)
{
	for (int k = i + 1; k < q->n; k++)
		if (effects[k].compared && !q->origins[k].in_memory)
			return k;
	while (--i >= 0)
		if (effects[i].compared && !q->origins[i].in_memory)
			return i;
	return -1;
}

/* The effect of each origin, in order.  A spared one has that of a file near it. */
static wide_status
find_effects(question *q, double least, effect *effects)
{
	double below = 0;

	for (int i = 0; i < q->n; i++)
	{
		const origin *o = &q->origins[i];

		effects[i] = (effect) {.added = o->rows > 0 ? 1 - o->dead / o->rows : 0};
		/* one that stands for others is worth more than its rows */
		effects[i].compared = below > 0 && !o->spared && (q->spares || o->rows > least);
		if (effects[i].compared)
			TRY(compare_origin(q, i, &effects[i].added, &effects[i].removed));
		below += o->rows;
	}
	for (int i = 0; i < q->n && q->spares; i++)
	{
		int near = q->origins[i].spared ? compared_near(q, effects, i) : -1;

		if (near < 0)
			continue;
		effects[i].added = effects[near].added;
		effects[i].removed = effects[near].removed;
	}
	return WIDE_OK;
}

static wide_status
add_up(question *q, wide_estimate *out)
{
	effect *effects = calloc((size_t) q->n + 1, sizeof *effects);
	double all = 0, share = 0;
	wide_status st = WIDE_OK;

	if (effects == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for an estimate");
	for (int i = 0; i < q->n; i++)
		all += q->origins[i].rows;
	choose_probes(q, FEW * all);
	TRY_GOTO(find_effects(q, FEW * all, effects));
	for (int i = 0; i < q->n; i++)
	{
		const origin *o = &q->origins[i];
		double left = out->rows > 0 ? 1 - o->rows * effects[i].removed / out->rows : 1;

		out->bytes += o->bytes;
		out->blocks += o->blocks;
		if (left < 0.5)
		{
			if (effects[i].compared)
				TRY_GOTO(survivors(q, i, &share));
			left = left > share ? left : share;
		}
		out->cells = left * out->cells + o->cells - o->dead;
		out->rows = left * out->rows + o->rows * effects[i].added;
		if (out->cells < out->rows)
			out->cells = out->rows;
	}
done:
	free(effects);
	return st;
}

/* ---------------------------------------------------------------- the call */

/* Of many files that overlap the range, chooses those that are not opened. */
static void
spare_files(question *q)
{
	int n = 0, nth = 0;

	for (int i = 0; i < q->n; i++)
		n += q->origins[i].nfiles == 1 && overlaps(q, q->origins[i].files);
	for (int i = 0; i < q->n && n > MANY; i++)
	{
		origin *o = &q->origins[i];

		if (o->nfiles != 1 || !overlaps(q, o->files))
			continue;
		/* not the oldest one: others are compared with it */
		o->spared = nth > 0 && (int64_t) (nth - 1) * OPENED / n == (int64_t) nth * OPENED / n;
		q->spares = q->spares || o->spared;
		nth++;
	}
}

/* Estimates the files that are not opened: the range has the same share of each of them as of those
 * that are. */
static void
fill_spared(question *q)
{
	double rows = 0, file_rows = 0, dead = 0;

	for (int i = 0; i < q->n; i++)
	{
		const origin *o = &q->origins[i];

		if (o->nfiles != 1 || o->spared || !overlaps(q, o->files))
			continue;
		rows += o->rows;
		dead += o->dead;
		file_rows += (double) o->files->rows;
	}
	for (int i = 0; i < q->n; i++)
	{
		origin *o = &q->origins[i];
		double share = file_rows > 0 ? rows / file_rows : 1;

		if (!o->spared)
			continue;
		o->rows = (double) o->files->rows * share;
		o->dead = rows > 0 ? o->rows * dead / rows : 0;
		o->cells = (double) o->files->cells * share;
		o->bytes = (double) o->files->bytes * share;
		o->blocks = (double) o->files->blocks * share;
		o->blocks = o->blocks < 1 ? 1 : o->blocks;
	}
}

static wide_status
find_origins(question *q, const version_pin *pin, const family_files *files)
{
	int level0 = files->level_start[1];

	q->origins = calloc((size_t) (SET_LEVELS + level0 + pin->nmemtables), sizeof *q->origins);
	if (q->origins == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for an estimate");
	for (int level = SET_LEVELS - 1; level > 0; level--)
	{
		origin *o = &q->origins[q->n];

		o->files = files->files + files->level_start[level];
		o->nfiles = files->level_start[level + 1] - files->level_start[level];
		q->n += o->nfiles > 0;
	}
	for (int i = level0 - 1; i >= 0; i--)
	{
		q->origins[q->n].files = &files->files[i];
		q->origins[q->n++].nfiles = 1;
	}
	for (int i = pin->nmemtables - 1; i >= 0; i--)
	{
		q->origins[q->n].in_memory = true;
		memtable_at(q->db, pin->memtables[i], &q->origins[q->n++].m);
	}
	return WIDE_OK;
}

wide_status
wide_estimate_range(wide_db *db, wide_family_id family, const wide_range *range, wide_estimate *out)
{
	version_pin pin = {0};
	family_files files;
	question q = {.db = db, .family = family};
	wide_status st;

	memset(out, 0, sizeof *out);
	TRY(segment_check(db));
	if (range != NULL && range->lo.len > 0)
		TRY_GOTO(key_make_row(&q.lo, range->lo));
	if (range != NULL && range->hi.data != NULL)
		TRY_GOTO(key_make_row(&q.hi, range->hi));
	st = WIDE_OK;
	if (q.hi.data != NULL && q.lo.data != NULL &&
		ukey_compare(q.lo.data, q.lo.len, q.hi.data, q.hi.len) >= 0)
		goto done;
	TRY_GOTO(pin_take(db, &pin));
	TRY_GOTO(pin_files(db, &pin, family, &files));
	TRY_GOTO(find_origins(&q, &pin, &files));
	spare_files(&q);
	for (int i = 0; i < q.n; i++)
	{
		origin *o = &q.origins[i];

		if (o->in_memory)
			TRY_GOTO(ask_memtable(&q, o));
		for (int f = 0; f < o->nfiles && !o->spared; f++)
			if (overlaps(&q, &o->files[f]))
				TRY_GOTO(ask_file(&q, o, &o->files[f]));
	}
	fill_spared(&q);
	TRY_GOTO(add_up(&q, out));
done:
	pin_drop(db, &pin);
	for (int i = 0; i < q.n; i++)
		buffer_free(&q.origins[i].keys);
	free(q.origins);
	buffer_free(&q.lo);
	buffer_free(&q.hi);
	return st;
}

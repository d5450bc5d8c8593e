/*
 * sst_verify.c - reads every byte of a sorted file and compares it with what the file says of
 * itself, and with what the manifest says of the file.
 *
 * Data are read from the disk, not from the block cache.  Blocks must follow each other without a
 * gap in the order in which the writer writes them, so that every byte is covered by a checksum.
 * Verification goes on behind a damaged block.
 *
 * Locking: none, everything is private to the process.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/sst/sst_verify.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/sst/block.h"
#include "engine/sst/bloom.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_properties.h"
#include "engine/sst/sst_read_ahead.h"
#include "engine/sst/sst_reader.h"
#include "engine/sst/sst_tally.h"

typedef struct verify
{
	wide_db *db;
	const file_meta *listed; /* what the manifest says */
	sst_reader *r;
	sst_read_ahead ahead;
	/* result */
	wide_problem_fn fn;
	void *arg;
	bool ended; /* by fn */
	bool gap;	/* a block was damaged, so that totals cannot be compared */
	/* position */
	uint64_t pos;		  /* offset where the next block must begin */
	uint64_t rows_before; /* the partition */
	bool row_goes_on;	  /* according to the block before */
	bool mid_row;		  /* the partition's filter was not yet asked about the current row */
	sst_tally tally;	  /* of the entries so far */
} verify;

static wide_status problem(verify *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reports a problem.  Returns what ends the verification, or WIDE_OK. */
static wide_status
problem(verify *v, const char *fmt, ...)
{
	char text[600];
	char name[32];
	va_list ap;
	wide_status st;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(name, sizeof(name), "%08llx.sst", (unsigned long long) file_container(v->listed));
	st = v->fn != NULL ? v->fn(v->arg, name, text)
					   : status_fail(WIDE_CORRUPT, "file %s: %s", name, text);
	v->ended = st != WIDE_OK;
	return st;
}

/* Reports a failure to read as a problem; returns any other failure, and what ends the
 * verification. */
static wide_status
failure(verify *v, wide_status st)
{
	if (v->ended || (st != WIDE_CORRUPT && st != WIDE_IO))
		return st;
	v->gap = true;
	return problem(v, "%s", wide_error_text());
}

/* Checks that the partition's filter has the entry, which was counted last. */
static wide_status
check_filter(verify *v, const entry *e, const block_ref *filter)
{
	const sst_properties *pr = &v->r->prop;
	bool row = v->tally.new_row || v->mid_row;
	bool ok = true;
	uint64_t hash;

	v->mid_row = false;
	if (pr->bloom == WIDE_BLOOM_NONE)
		return WIDE_OK;
	if (row)
		ok = bloom_may_contain(filter->data, filter->len,
							   hash_xxh3(e->ukey, e->rowlen, BLOOM_SEED_ROW));
	if (row && pr->bloom == WIDE_BLOOM_PREFIX &&
		bloom_prefix_hash(e->ukey, e->rowlen, pr->bloom_prefix, &hash))
		ok = ok && bloom_may_contain(filter->data, filter->len, hash);
	if (pr->bloom == WIDE_BLOOM_ROWCOL)
	{
		ok = ok && bloom_may_contain(filter->data, filter->len,
									 hash_xxh3(e->ukey, e->klen, BLOOM_SEED_ROWCOL));
		if (entry_is_family_delete(e))
			ok = ok && bloom_may_contain(filter->data, filter->len,
										 hash_xxh3(e->ukey, e->rowlen, BLOOM_SEED_DELETES));
	}
	return ok ? WIDE_OK : problem(v, "a key of %u bytes is missing from the filter", e->klen);
}

static wide_status
check_entry(verify *v, const entry *e, const block_ref *filter)
{
	wide_status st;

	if (!key_valid(e->ukey, e->klen) || e->rowlen != key_row_length(e->ukey, e->klen) ||
		entry_is_family_delete(e) != (e->klen == e->rowlen + 2 && e->ukey[e->klen - 1] == 0))
		TRY(problem(v, "a key of %u bytes is malformed", e->klen));
	if (v->r->prop.global && e->seq != 0)
		TRY(problem(v, "an entry has a sequence number of its own"));
	st = sst_tally_add(&v->tally, e);
	if (st == WIDE_INVALID)
	{
		v->gap = true;
		return problem(v, "%s", wide_error_text());
	}
	TRY(st);
	return check_filter(v, e, filter);
}

/* Returns true if the entry is of the same row as the one counted last. */
static bool
same_row(const verify *v, const entry *e)
{
	return v->tally.e.rowlen == e->rowlen && v->tally.last.len >= e->rowlen &&
		   memcmp(v->tally.last.data, e->ukey, e->rowlen) == 0;
}

static bool
same_place(const entry *a, const entry *b)
{
	return ukey_compare(a->ukey, a->klen, b->ukey, b->klen) == 0 && a->ts == b->ts &&
		   a->seq == b->seq;
}

/* Checks a data block.  last: its index entry. */
static wide_status
check_block(verify *v, const entry *last, const block_ref *filter)
{
	block_cursor c = {0};
	block_ref ref = {0};
	sst_handle h;
	bool at_last = false;
	wide_status st;

	TRY_GOTO(sst_reader_handle(v->r, last, &h));
	if (h.off != v->pos)
		TRY_GOTO(problem(v, "a block begins at offset %llu, expected at %llu",
						 (unsigned long long) h.off, (unsigned long long) v->pos));
	v->pos = h.off + h.len + SST_TRAILER;
	TRY_GOTO(sst_reader_block(v->r, h, SST_NO_CACHE | SST_DISK, false, &v->ahead, &ref, NULL));
	TRY_GOTO(block_open(&c, ref.data, ref.len));
	TRY_GOTO(block_check(&c));
	TRY_GOTO(block_first(&c));
	if (c.valid && !v->gap && v->tally.meta.cells > 0 && same_row(v, &c.e) != v->row_goes_on)
		TRY_GOTO(problem(v, "the block at offset %llu has a wrong mark for a row that goes on",
						 (unsigned long long) h.off));
	v->row_goes_on = (c.flags & BLOCK_ROW_GOES_ON) != 0;
	while (c.valid)
	{
		at_last = same_place(&c.e, last);
		TRY_GOTO(check_entry(v, &c.e, filter));
		TRY_GOTO(block_next(&c));
	}
	v->tally.meta.blocks++;
	if (!v->gap && v->tally.meta.rows != v->rows_before + h.rows)
		TRY_GOTO(problem(v, "an index entry's count of rows is wrong"));
	if (!at_last)
		st = problem(v, "the block at offset %llu does not end with its index entry's key",
					 (unsigned long long) h.off);
done:
	block_close(&c);
	cache_unpin(v->db, &ref);
	return failure(v, st);
}

/* Checks the counts of a partition whose blocks were read, and the places of its filter and index.
 */
static wide_status
check_partition_end(verify *v, const sst_partition *part)
{
	if (!v->gap && (v->tally.meta.blocks != part->blocks || v->tally.meta.rows != part->rows))
		TRY(problem(v, "a partition's count of data blocks or rows is wrong"));
	if (part->filter.len > 0)
	{
		if (part->filter.off != v->pos)
			TRY(problem(v, "a filter block is not in its place"));
		v->pos = part->filter.off + part->filter.len + SST_TRAILER;
	}
	else if (v->r->prop.bloom != WIDE_BLOOM_NONE)
		TRY(problem(v, "a partition has no filter"));
	if (part->index.off != v->pos)
		TRY(problem(v, "an index block is not in its place"));
	v->pos = part->index.off + part->index.len + SST_TRAILER;
	return WIDE_OK;
}

static wide_status
check_partition(verify *v, const sst_partition *part)
{
	block_cursor c = {0};
	block_ref index = {0};
	block_ref filter = {0};
	bool at_last = false;
	wide_status st;

	TRY_GOTO(sst_reader_block(v->r, part->index, SST_NO_CACHE | SST_DISK, false, NULL, &index,
							  NULL));
	if (part->filter.len > 0)
	{
		st = sst_reader_block(v->r, part->filter, SST_NO_CACHE | SST_DISK, false, NULL, &filter,
							  NULL);
		TRY_GOTO(failure(v, st));
	}
	v->mid_row = true;
	v->rows_before = v->tally.meta.rows;
	TRY_GOTO(block_open(&c, index.data, index.len));
	TRY_GOTO(block_first(&c));
	while (c.valid)
	{
		at_last = same_place(&c.e, &part->last);
		if (host_interrupted(v->db))
			TRY_GOTO(status_fail(WIDE_INTERRUPTED, "interrupted"));
		TRY_GOTO(check_block(v, &c.e, &filter));
		TRY_GOTO(block_next(&c));
	}
	if (!at_last)
		TRY_GOTO(problem(v, "a partition does not end with its key in the top index"));
	st = check_partition_end(v, part);
done:
	block_close(&c);
	cache_unpin(v->db, &index);
	cache_unpin(v->db, &filter);
	return failure(v, st);
}

static bool
same_bound(const uint8_t *a, uint8_t alen, const uint8_t *b, uint8_t blen)
{
	return alen == blen && memcmp(a, b, alen) == 0;
}

/* Compares a description, the file's or the listed one, with the tally. */
static wide_status
check_meta(verify *v, const file_meta *m, bool listed, const char *whose)
{
	const file_meta *t = &v->tally.meta;
	uint64_t seq_min = listed && m->global_seq != 0 ? m->global_seq : t->seq_min;
	uint64_t seq_max = listed && m->global_seq != 0 ? m->global_seq : t->seq_max;
	uint8_t flags = FILE_MIN_CUT | FILE_MAX_CUT | FILE_TS_ORDERED;

	if (m->cells != t->cells || m->rows != t->rows || m->tombstones != t->tombstones ||
		m->blocks != t->blocks || m->raw_bytes != t->raw_bytes)
		TRY(problem(v, "%s counts are wrong: %llu cells of %llu rows, found %llu of %llu", whose,
					(unsigned long long) m->cells, (unsigned long long) m->rows,
					(unsigned long long) t->cells, (unsigned long long) t->rows));
	if (m->ts_min != t->ts_min || m->ts_max != t->ts_max)
		TRY(problem(v, "%s bounds of timestamps are wrong", whose));
	/* of a file with one sequence number for all, the listed numbers may be 0 */
	if ((m->seq_min != seq_min || m->seq_max != seq_max) &&
		!(listed && v->r->prop.global && m->seq_min == 0 && m->seq_max == 0))
		TRY(problem(v, "%s bounds of sequence numbers are wrong", whose));
	if (!same_bound(m->min_row, m->min_len, t->min_row, t->min_len) ||
		!same_bound(m->max_row, m->max_len, t->max_row, t->max_len) ||
		((m->flags ^ t->flags) & flags) != 0)
		TRY(problem(v, "%s bounds of rows or flags are wrong", whose));
	return WIDE_OK;
}

static wide_status
check_all(verify *v)
{
	for (uint32_t i = 0; i < v->r->nparts; i++)
		TRY(check_partition(v, &v->r->parts[i]));
	if (v->pos != v->r->body)
		TRY(problem(v, "the top index begins at offset %llu, expected at %llu",
					(unsigned long long) v->r->body, (unsigned long long) v->pos));
	/* totals are wrong if a block is missing */
	if (v->gap)
		return WIDE_OK;
	if (v->row_goes_on)
		TRY(problem(v, "the last block says that its row goes on"));
	sst_tally_end(&v->tally);
	TRY(check_meta(v, &v->r->prop.meta, false, "the file's"));
	if (v->tally.family_deletes != v->r->prop.family_deletes)
		TRY(problem(v, "the mark for family-wide deletes is wrong"));
	if (v->listed->cells != 0)
		TRY(check_meta(v, v->listed, true, "the listed"));
	return WIDE_OK;
}

wide_status
sst_verify(wide_db *db, const file_meta *meta, wide_problem_fn fn, void *arg)
{
	verify v = {.db = db, .listed = meta, .fn = fn, .arg = arg};
	wide_status st;

	/* opening the file checks the footer, the meta block and the top index */
	st = sst_reader_open(db, meta, &v.r);
	if (st != WIDE_OK)
		return failure(&v, st);
	st = check_all(&v);
	sst_reader_close(v.r);
	free(v.ahead.data);
	buffer_free(&v.tally.last);
	return st;
}

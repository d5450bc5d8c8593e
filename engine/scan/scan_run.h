/* scan_run.h - rows of a block that a scan takes as they are */
#ifndef WIDE_SCAN_RUN_H
#define WIDE_SCAN_RUN_H

#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/sst/block.h"
#include "engine/sst/block_key.h"
#include "engine/read/source.h"
#include "engine/scan/scan_state.h"

/* Forgets all runs of the family: its sources were made anew, or its snapshot was. */
extern void scan_run_forget(scan_family *f);
/* The same, and frees their memory. */
extern void scan_run_free(scan_family *f);

/*
 * Makes a run of each source of the family that stands on an entry, with all rows of its block from
 * that entry's on, and sets run->plain where they can be taken as they are.  What the runs knew of
 * blocks on which the sources still stand is kept.
 * Requires: the merge has a position, at the first entry of a row.
 */
extern wide_status scan_run_open(scan_family *f);

/* The source has moved: the same for one run, whose block may be another one now.  run->plain: it
 * has rows. */
extern wide_status scan_run_renew(scan_run *run);

/* Takes rows from key on out of the run, for the given reason; key.len 0: none. */
extern wide_status scan_run_cut(scan_run *run, wide_bytes key, run_end why);

/* Moves the source to the row at which the run stands: with the number of the block's rows, behind
 * the block. */
extern wide_status scan_run_leave(scan_run *run);

/* The run is about to be read from its row on: fetches what is needed of it into the processor's
 * cache. */
extern void scan_run_prefetch(const scan_run *run);

/* Evaluates the predicates of the run's columns.  *pass: they are met; *there: a tested column is
 * in the row. */
extern wide_status scan_run_test(scan_state *s, scan_run *run, bool *pass, bool *there);

/* Puts the row's wanted cells, `left` of them at most, at c.  family: for the cells; *n: their
 * number. */
extern wide_status scan_run_cells(scan_run *run, int family, wide_cell *c, uint32_t left,
								  uint32_t *n);

/* Sets *there if the run's row has one of the wanted columns. */
extern wide_status scan_run_has(const scan_run *run, bool *there);

/*
 * Puts the wanted values of n rows, from `row` on, into the columns of a span, as rows number `at`
 * and up; columns is the family's first one.
 */
extern wide_status scan_run_fill(scan_run *run, uint32_t row, int n, wide_span_column *columns,
								 int at);

/* scan_run_key in the general case. */
extern wide_status scan_run_find_key(scan_run *run, uint32_t row);

#define SCAN_KEY_COPY 32 /* bytes that are copied of any shorter key */

/* Puts the encoded key of a row into run->key; fast for the row after the last one. */
static inline wide_status
scan_run_key(scan_run *run, uint32_t row)
{
	const block_keys *k = &run->block->row_keys;
	scan_block_key *key = &run->key;
	uint32_t shared, n;

	if (key->row == row)
		return WIDE_OK;
	if (likely(key->row + 1 == row && row > 0))
	{
		shared = (uint32_t) block_number(&k->shared, row);
		n = block_string_length(&k->rest, row);
		if (likely(n <= k->rest.nbytes - key->rest && shared <= key->encoded.len &&
				   shared + (size_t) n + SCAN_KEY_COPY <= key->encoded.cap && n <= SCAN_KEY_COPY &&
				   k->rest.nbytes - key->rest >= SCAN_KEY_COPY))
		{
			memcpy(key->encoded.data + shared, k->rest.bytes + key->rest, SCAN_KEY_COPY);
			key->encoded.len = shared + n;
			key->rest += n;
			key->row = row;
			return WIDE_OK;
		}
	}
	return scan_run_find_key(run, row);
}

/* Compares n bytes, eight at a time.  Requires: 7 more bytes behind each. */
static inline bool
scan_run_same_bytes(const uint8_t *p, const uint8_t *q, uint32_t n)
{
	for (; n >= 8; n -= 8, p += 8, q += 8)
		if (get_u64le(p) != get_u64le(q))
			return false;
	return n == 0 || (get_u64le(p) ^ get_u64le(q)) << (64 - 8 * n) == 0;
}

/* Sets *equal if the row's key is the given one, encoded; the key is not put together for that. */
static inline wide_status
scan_run_equals(scan_run *run, uint32_t row, const buffer *key, bool *equal)
{
	const block_keys *k = &run->block->row_keys;
	scan_block_match *m = &run->match;
	uint32_t shared = (uint32_t) block_number(&k->shared, row), n, off = m->off;

	if (unlikely(m->next != row))
		TRY(block_string_start(&k->rest, row, &off));
	n = block_string_length(&k->rest, row);
	if (unlikely(n > k->rest.nbytes - off))
		return block_malformed(run->block, "a row's key");
	if (m->group != row / BLOCK_GROUP)
	{
		if (!block_string(&k->rest, row - row % BLOCK_GROUP, &m->head, &m->headlen))
			return block_malformed(run->block, "a row's key");
		m->group = row / BLOCK_GROUP;
	}
	m->next = row + 1;
	m->off = off + n;
	*equal = key->len == (size_t) shared + n && shared <= m->headlen &&
			 key->cap >= key->len + BLOCK_SLACK &&
			 scan_run_same_bytes(k->rest.bytes + off, key->data + shared, n) &&
			 scan_run_same_bytes(m->head, key->data, shared);
	return WIDE_OK;
}

#endif /* WIDE_SCAN_RUN_H */

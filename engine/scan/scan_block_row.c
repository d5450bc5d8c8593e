/*
 * scan_block_row.c - one row that is taken from runs as it is: its key, predicates and cells.
 *
 * Locking: none; the scan's pin protects what is read.
 */
#include <string.h>
#include <sys/types.h>
#include "engine/scan/scan_block_row.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/status.h"
#include "engine/sst/block.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_run.h"
#include "engine/scan/scan_span.h"
#include "engine/scan/scan_state.h"

#define KEY_ROOM  512 /* bytes taken from the arena for keys at a time */
#define KEY_COPY  32  /* bytes that are copied of any shorter key */
#define KEY_SLACK 8	  /* bytes that decode reads and writes behind a key */

/*
 * Decodes an encoded key of n bytes, terminator included: eight bytes at a time, or those up to a
 * zero, or four zeros, which a small number has behind each other.  Where zeros are is mostly the
 * same from key to key, and so the processor foresees it.
 * Requires: KEY_SLACK more bytes behind p and out.
 * Returns: the decoded length; -1 if the key is malformed.
 */
static inline ssize_t
decode(const uint8_t *p, size_t n, uint8_t *out)
{
	const uint8_t *end = p + n - 2;
	uint8_t *to = out;

	if (unlikely(n < 2 || end[0] != 0 || end[1] != 1))
		return -1;
	while (p < end)
	{
		uint64_t x = get_u64le(p), zero = bytes_zero(x);
		size_t run;

		if (x == UINT64_C(0xff00ff00ff00ff00) && end - p >= 8)
		{
			put_u32le(to, 0);
			p += 8;
			to += 4;
			continue;
		}
		put_u64le(to, x);
		run = zero == 0 ? 8 : (size_t) __builtin_ctzll(zero) / 8;
		p += run;
		to += run;
		if (zero == 0 || p >= end)
			continue;
		/* the zero has been copied */
		if (unlikely(p[1] != 0xff))
			return -1;
		p += 2;
		to++;
	}
	/* the terminator begins with a zero byte, which is no escape: nothing of it was taken */
	return to - out;
}

/* Notes how many bytes are decoded before each of the first bytes of the encoded key. */
static void
note_places(scan_block_key *key)
{
	const uint8_t *p = key->encoded.data;
	size_t n = key->encoded.len < SCAN_KEY_PLACES ? key->encoded.len : SCAN_KEY_PLACES;
	uint8_t before = 0;

	for (size_t i = 0; i < n; i++)
	{
		key->places[i] = before;
		/* the byte that belongs to a zero byte has that one's place, so that both are decoded */
		if (p[i] == 0 && i + 1 < n)
			key->places[++i] = before;
		before++;
	}
	key->nplaces = (uint8_t) n;
}

/*
 * Decodes the key of the run's row into key->decoded.  Keys that follow each other in a group of
 * the block have a prefix in common with its first one, of which the decoded form is kept.
 */
static inline wide_status
decode_key(scan_run *run)
{
	scan_block_key *key = &run->key;
	bool next = key->decoded_row + 1 == run->row && run->row % BLOCK_GROUP != 0;
	size_t from = 0, keep = 0;
	ssize_t len;

	TRY(scan_run_key(run, run->row));
	TRY(buffer_reserve(&key->encoded, KEY_SLACK));
	if (likely(next))
	{
		from = (size_t) block_number(&run->block->row_keys.shared, run->row);
		if (likely(from < key->nplaces && from < key->encoded.len &&
				   key->places[from] <= key->decoded.len))
		{
			keep = key->places[from];
			/* of an escaped zero byte both bytes are decoded */
			from -= from > 0 && key->encoded.data[from - 1] == 0;
		}
		else
			from = 0;
	}
	key->decoded.len = keep;
	TRY(buffer_reserve(&key->decoded, key->encoded.len + KEY_SLACK));
	len = decode(key->encoded.data + from, key->encoded.len - from, key->decoded.data + keep);
	if (unlikely(len < 0))
	{
		key->decoded_row = UINT32_MAX;
		return block_malformed(run->block, "a row's key");
	}
	key->decoded.len = keep + (size_t) len;
	key->decoded_row = run->row;
	if (!next)
		note_places(key);
	return WIDE_OK;
}

wide_status
scan_block_row_key(scan_state *s, scan_run *run, wide_bytes *key)
{
	scan_block *sb = &s->block;
	const buffer *decoded = &run->key.decoded;

	TRY(decode_key(run));
	if (unlikely(sb->memory.left < decoded->len))
	{
		sb->memory.left = decoded->len > KEY_ROOM ? decoded->len : KEY_ROOM;
		sb->memory.at = scan_row_arena(s, sb->memory.left);
		if (sb->memory.at == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
	}
	*key = (wide_bytes) {sb->memory.at, decoded->len};
	/* a copy of a fixed size is faster */
	if (likely(decoded->len <= KEY_COPY && decoded->cap >= KEY_COPY && sb->memory.left >= KEY_COPY))
		memcpy(sb->memory.at, decoded->data, KEY_COPY);
	else if (decoded->len > 0)
		memcpy(sb->memory.at, decoded->data, decoded->len);
	sb->memory.at += decoded->len;
	sb->memory.left -= decoded->len;
	return WIDE_OK;
}

/*
 * Moves the runs of a family that follows to the row.  *found: the one that has it, or NULL;
 * *lost: that cannot be told from its runs.
 */
static wide_status
follow(const scan_family *f, wide_bytes row, scan_run **found, bool *lost)
{
	*found = NULL;
	*lost = *lost || !f->follow.placed;
	for (int i = 0; i < f->nruns && !*lost; i++)
	{
		scan_run *run = &f->runs[i];
		int c = -1;

		if (!run->plain)
		{
			const entry *e = run->src->e;

			*lost = e != NULL && ukey_compare(e->ukey, e->rowlen, row.data, row.len) <= 0;
			continue;
		}
		for (int step = 0; step < 2 && run->row < run->end; step++)
		{
			TRY(scan_run_key(run, run->row));
			c = scan_compare(scan_bytes(&run->key.encoded), row);
			if (c >= 0)
				break;
			/* the row behind the last one, or one that is searched */
			if (step == 0)
				run->row++;
			else
			{
				uint32_t at;

				TRY(block_row_at(run->block, run->row, row.data, (uint32_t) row.len, &at));
				run->row = at > run->row ? at : run->row + 1;
				if (run->row > run->end)
					run->row = run->end;
				if (run->row == run->end)
					break;
				TRY(scan_run_key(run, run->row));
				c = scan_compare(scan_bytes(&run->key.encoded), row);
			}
		}
		if (run->row >= run->end)
			*lost = run->why == RUN_ENDS_BLOCK;
		else if (c == 0)
		{
			*lost = *found != NULL;
			*found = run;
		}
	}
	return WIDE_OK;
}

/* Finds out which runs have the row of the first `same` runs in order. */
static void
find_runs(scan_state *s, int same)
{
	scan_block *sb = &s->block;

	for (int i = 0; i < s->nfamilies; i++)
		s->families[i].run = NULL;
	for (int i = 0; i < same; i++)
		sb->order[i]->family->run = sb->order[i];
}

/* A family that follows goes to the row.  *lost: as in follow. */
static inline wide_status
reach(scan_state *s, scan_family *f, bool *lost)
{
	scan_run *run = s->block.order[0];

	if (f->leads)
		return WIDE_OK;
	TRY(scan_run_key(run, run->row));
	return follow(f, scan_bytes(&run->key.encoded), &f->run, lost);
}

/* Evaluates all predicates. */
static wide_status
test_row(scan_state *s, bool *pass, bool *there, bool *lost)
{
	predicate_row(&s->pred);
	for (int i = 0; i < s->ntesting && *pass; i++)
	{
		scan_family *f = s->order[i];

		TRY(reach(s, f, lost));
		if (*lost)
			return WIDE_OK;
		if (f->run != NULL)
			TRY(scan_run_test(s, f->run, pass, there));
		for (int k = 0; k < f->columns.n && *pass && f->run == NULL; k++)
			if (f->columns.list[k].test != NULL)
				*pass = predicate_test(&s->pred, f->columns.list[k].test, NULL, 0);
	}
	return WIDE_OK;
}

/* Takes what is wanted of the row in a family that may have it: `left` cells at most, to *c, or for
 * the span. */
static inline wide_status
take_family(scan_state *s, const scan_family *f, wide_cell *c, uint32_t left, uint32_t *n, bool *in)
{
	*n = 0;
	if (s->block.span.on)
		scan_span_note(s, f);
	if (f->run == NULL)
		return WIDE_OK;
	if (!s->block.span.on)
		TRY(scan_run_cells(f->run, (int) (f - s->families), c, left, n));
	*in = *in || *n > 0 || f->run->all_exist;
	if (s->block.span.on && !*in)
	{
		*in = f->run->one_full;
		if (!*in)
			TRY(scan_run_has(f->run, in));
	}
	return WIDE_OK;
}

wide_status
scan_block_row_take(scan_state *s, int same, int at, int *ncells, bool *in, bool *lost)
{
	uint32_t left = s->row_limit, n;
	bool pass = true;

	*in = false;
	*ncells = 0;
	find_runs(s, same);
	if (s->ntesting > 0)
	{
		TRY(test_row(s, &pass, in, lost));
		if (*lost)
			return WIDE_OK;
		if (!pass)
		{
			*in = false;
			s->stats.rows_rejected++;
			return WIDE_OK;
		}
	}
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = s->order[i];

		if (f->want == WIDE_WANT_EXISTS || left == 0)
			continue;
		if (i >= s->ntesting)
			TRY(reach(s, f, lost));
		if (*lost)
			return WIDE_OK;
		TRY(take_family(s, f, &s->out.cells[at + *ncells], left, &n, in));
		*ncells += (int) n;
		left -= n;
	}
	for (int i = 0; i < s->nfamilies && !*in; i++)
	{
		scan_family *f = &s->families[i];

		if (f->want == WIDE_WANT_EXISTS)
			TRY(reach(s, f, lost));
		if (*lost)
			return WIDE_OK;
		*in = f->run != NULL && f->run->all_exist;
	}
	return WIDE_OK;
}

wide_status
scan_block_row_take_single(scan_state *s, scan_run *run, int at, int *ncells, bool *in)
{
	bool pass = true;
	uint32_t n;

	*in = run->all_exist;
	*ncells = 0;
	if (run->columns.ntests > 0)
	{
		predicate_row(&s->pred);
		TRY(scan_run_test(s, run, &pass, in));
		if (!pass)
		{
			*in = false;
			s->stats.rows_rejected++;
			return WIDE_OK;
		}
	}
	s->families[0].run = run;
	TRY(take_family(s, &s->families[0], &s->out.cells[at], s->row_limit, &n, in));
	*ncells = (int) n;
	return WIDE_OK;
}

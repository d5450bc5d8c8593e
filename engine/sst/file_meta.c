/*
 * file_meta.c - facts about a sorted file: their encoding, and overlaps of key ranges.
 *
 * The bounds of a file's rows are kept up to FILE_BOUND bytes.  A cut lower bound (FILE_MIN_CUT)
 * sorts before the true one and is used as it is.  A cut upper bound (FILE_MAX_CUT) is a prefix of
 * the true one: rows that begin with it may be in the file.
 */
#include <string.h>
#include "engine/sst/file_meta.h"
#include "engine/base/buffer.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "engine/shared/layout.h"

/* state of the running store, which is not written */
#define FILE_NOT_STORED FILE_UNSYNCED

/*
 * Varints: number family level flags min_len max_len bytes raw_bytes cells rows tombstones blocks
 * zigzag(ts_min) zigzag(ts_max) seq_min seq_max global_seq; then the bounds.
 */
wide_status
file_meta_put(buffer *b, const file_meta *f)
{
	const uint64_t v[] = {
		f->number,		   f->family,		  f->level,		 f->flags & ~FILE_NOT_STORED,
		f->min_len,		   f->max_len,		  f->bytes,		 f->raw_bytes,
		f->cells,		   f->rows,			  f->tombstones, f->blocks,
		zigzag(f->ts_min), zigzag(f->ts_max), f->seq_min,	 f->seq_max,
		f->global_seq};

	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		TRY(buffer_append_varint(b, v[i]));
	TRY(buffer_append(b, f->min_row, f->min_len));
	return buffer_append(b, f->max_row, f->max_len);
}

bool
file_meta_set(file_meta *f, const uint64_t *head, const uint64_t *facts)
{
	if (head[1] > UINT32_MAX || head[2] >= SET_LEVELS || head[3] > UINT8_MAX)
		return false;
	*f = (file_meta) {.number = head[0],
					  .family = (wide_family_id) head[1],
					  .level = (uint8_t) head[2],
					  .flags = (uint8_t) head[3],
					  .raw_bytes = facts[0],
					  .cells = facts[1],
					  .rows = facts[2],
					  .tombstones = facts[3],
					  .blocks = facts[4],
					  .ts_min = unzigzag(facts[5]),
					  .ts_max = unzigzag(facts[6]),
					  .seq_min = facts[7],
					  .seq_max = facts[8]};
	return true;
}

const uint8_t *
file_meta_get(const uint8_t *p, const uint8_t *end, file_meta *f)
{
	uint64_t v[17];

	for (size_t i = 0; i < 17; i++)
		if ((p = varint_get(p, end, &v[i])) == NULL)
			return NULL;
	if (v[0] == 0 || v[1] == 0 || v[4] > FILE_BOUND || v[5] > FILE_BOUND ||
		(uint64_t) (end - p) < v[4] + v[5] || !file_meta_set(f, v, v + 7))
		return NULL;
	f->flags &= (uint8_t) ~FILE_NOT_STORED;
	f->min_len = (uint8_t) v[4];
	f->max_len = (uint8_t) v[5];
	f->bytes = v[6];
	f->global_seq = v[16];
	memcpy(f->min_row, p, f->min_len);
	memcpy(f->max_row, p + f->min_len, f->max_len);
	return p + f->min_len + f->max_len;
}

bool
file_meta_below(const file_meta *a, const uint8_t *row, uint32_t len)
{
	if (ukey_compare(a->max_row, a->max_len, row, len) >= 0)
		return false;
	return !((a->flags & FILE_MAX_CUT) && len >= a->max_len &&
			 memcmp(row, a->max_row, a->max_len) == 0);
}

bool
file_meta_overlaps_range(const file_meta *f, const uint8_t *lo, uint32_t lolen, const uint8_t *hi,
						 uint32_t hilen)
{
	if (lo != NULL && file_meta_below(f, lo, lolen))
		return false;
	return hi == NULL || ukey_compare(f->min_row, f->min_len, hi, hilen) < 0;
}

bool
file_meta_overlap(const file_meta *a, const file_meta *b)
{
	return !file_meta_below(a, b->min_row, b->min_len) &&
		   !file_meta_below(b, a->min_row, a->min_len);
}

/* sst_estimate.h - how much of a sorted file lies where, without reading its data blocks */
#ifndef WIDE_SST_ESTIMATE_H
#define WIDE_SST_ESTIMATE_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/sst/sst_reader.h"

/*
 * Ranges are [lo, hi), encoded rows or bounds; NULL: no bound.
 * Errors of all functions: those of reading a block, and those of fn.
 */

/* A range of a file, estimated. */
typedef struct sst_extent
{
	double rows; /* that have an entry in the range */
	double dead; /* of these, with nothing but deletes */
	double cells;
	double blocks; /* data blocks; the first and the last one count with their part */
} sst_extent;

/* Whether a row has only deletes, or a cell that they do not mask.  Zero-filled: no entries yet. */
typedef struct sst_row_life
{
	uint64_t dead; /* sequence number of the newest delete of the whole row */
	bool deletes;
	bool alive;
} sst_row_life;

/* Adds the next entry of the row. */
static inline void
sst_estimate_life(sst_row_life *l, const entry *e)
{
	if (e->type == ENTRY_DELETE_FAMILY)
	{
		l->deletes = true;
		l->dead = e->seq > l->dead ? e->seq : l->dead;
	}
	else if (!entry_is_family_delete(e))
		l->alive = l->alive || !l->deletes || (entry_is_put(e) && e->seq >= l->dead);
}

/* Estimates what lies in the range.  Reads at most two index blocks, and looks at data blocks that
 * the block cache has. */
extern wide_status sst_estimate_extent(sst_reader *r, const uint8_t *lo, uint32_t lolen,
									   const uint8_t *hi, uint32_t hilen, sst_extent *out);

/* Sets *present to the probability that the file has the row (encoded), and *alive to the
 * probability that it has more than deletes of the row if it has the row. */
extern wide_status sst_estimate_row_likely(sst_reader *r, const uint8_t *row, uint32_t rowlen,
										   double *present, double *alive);

typedef wide_status (*sst_key_fn)(void *arg, const uint8_t *ukey, uint32_t klen);

/* Calls fn with the last ukey of every n-th data block (n 0: of each), from the index blocks. */
extern wide_status sst_estimate_sample_keys(sst_reader *r, uint32_t n, sst_key_fn fn, void *arg);

/* The same for up to n data blocks that are evenly spread over the range, or near it if the range
 * is smaller. */
extern wide_status sst_estimate_sample_range(sst_reader *r, const uint8_t *lo, uint32_t lolen,
											 const uint8_t *hi, uint32_t hilen, uint32_t n,
											 sst_key_fn fn, void *arg);

#endif /* WIDE_SST_ESTIMATE_H */

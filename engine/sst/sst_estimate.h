/* sst_estimate.h - how much of a sorted file lies where, without reading its data */
#ifndef WIDE_SST_ESTIMATE_H
#define WIDE_SST_ESTIMATE_H

#include "engine/wide.h"
#include "engine/sst/sst_reader.h"

typedef struct sst_extent
{
	double rows; /* with an entry in the range */
	double dead; /* of these, with nothing but deletes */
	double cells, blocks;
} sst_extent;

/* What lies in [lo, hi), encoded; NULL: open. */
extern wide_status sst_estimate_extent(sst_reader *r, const uint8_t *lo, uint32_t lolen,
									   const uint8_t *hi, uint32_t hilen, sst_extent *out);

/* How likely the file has the row (encoded), and how likely it has more than deletes of it if it
 * has. */
extern wide_status sst_estimate_row_likely(sst_reader *r, const uint8_t *row, uint32_t rowlen,
										   double *present, double *alive);
typedef wide_status (*sst_key_fn)(void *arg, const uint8_t *ukey, uint32_t klen);

/*
 * Calls fn with an ukey at about every n-th data block (n >= 1), the last one
 * of the block in front: read from the index alone.
 */
extern wide_status sst_estimate_sample_keys(sst_reader *r, uint32_t n, sst_key_fn fn, void *arg);

/* The same for n data blocks evenly spread over [lo, hi), or one near it; some may come twice. */
extern wide_status sst_estimate_sample_range(sst_reader *r, const uint8_t *lo, uint32_t lolen,
											 const uint8_t *hi, uint32_t hilen, uint32_t n,
											 sst_key_fn fn, void *arg);

#endif /* WIDE_SST_ESTIMATE_H */

/*
 * remote_size.h
 *		Sizes of tables of HBase and their regions: estimates, samples, borders.
 */
#ifndef WT_REMOTE_SIZE_H
#define WT_REMOTE_SIZE_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/* The engine's functions (engine.h). */
extern void wt_remote_size_estimate(wide_family_id family, const wide_range *range,
									wide_estimate *out);
extern int64 wt_remote_size_bytes(WtTable *t);
extern wide_bytes *wt_remote_size_split_keys(WtTable *t, int parts, int *n);
extern wide_bytes *wt_remote_size_sample(WtTable *t, int parts, int *n, double *rows,
										 double *cells);
extern void wt_remote_size_flush(WtTable *t);
extern void wt_remote_size_compact(WtTable *t, bool major);

#endif /* WT_REMOTE_SIZE_H */

/*
 * remote_region.h
 *		The regions of a table of HBase, for parallel scans.
 */
#ifndef WT_REMOTE_REGION_H
#define WT_REMOTE_REGION_H

#include "engine/wide.h"

/* The engine's function (engine.h). */
extern wide_bytes *wt_remote_region_split(wide_family_id family, int *n);

#endif /* WT_REMOTE_REGION_H */

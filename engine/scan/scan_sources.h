/* scan_sources.h - the sources that a scan reads */
#ifndef WIDE_SCAN_SOURCES_H
#define WIDE_SCAN_SOURCES_H

#include "engine/wide.h"
#include "engine/set/pin.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/scan/scan_state.h"

/*
 * All sources of a family as of the pin, for readers at seq or before, of
 * timestamps from ts_min on.  *left_out is set when later readers could need a
 * source more.
 */
extern wide_status scan_sources_merge(wide_db *db, const version_pin *pin, wide_family_id id,
									  uint64_t seq, int64_t ts_min, wide_batch *own, uint64_t mark,
									  merge **out, source **own_source, bool *left_out);

/* The sources of all families, under a new pin. */
extern wide_status scan_sources_make(scan_state *s);
extern bool scan_sources_stale(scan_state *s);
extern void scan_sources_drop(scan_state *s); /* and the pin */
/* the same, and bring the statistics up to date first */
extern void scan_sources_leave(scan_state *s);

#endif /* WIDE_SCAN_SOURCES_H */

/* scan_sources.h - the sources that a scan reads */
#ifndef WIDE_SCAN_SOURCES_H
#define WIDE_SCAN_SOURCES_H

#include "engine/wide.h"
#include "engine/set/pin.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/batch/overlay.h"
#include "engine/scan/scan_state.h"

/*
 * Makes the merge of all sources of a family as of the pin, for readers at seq or before of
 * timestamps from ts_min on.
 * beside: what the snapshot sees beside the store; NULL: nothing.
 * batch: the transaction's batch, of which operations before mark are read; NULL: none.
 * Returns: *out; *batch_source: the source of the batch, which belongs to the merge (NULL: none);
 * *incomplete is set to true if a reader with a later snapshot may need more sources.  A failure
 * leaves *out and *batch_source alone.
 */
extern wide_status scan_sources_merge(wide_db *db, const version_pin *pin, wide_family_id id,
									  uint64_t seq, int64_t ts_min, const overlay *beside,
									  wide_batch *batch, uint64_t mark, merge **out,
									  source **batch_source, bool *incomplete);

/* Takes a pin and makes the merges of all families; they stand nowhere.  After a failure there are
 * none. */
extern wide_status scan_sources_make(scan_state *s);

/* Returns true if the scan pins a memtable that was flushed: a scan that begins now would not read
 * it. */
extern bool scan_sources_stale(scan_state *s);

/* Frees the merges, whose statistics are added to s->stats, and drops the pin.  Safe if there are
 * none. */
extern void scan_sources_drop(scan_state *s);

#endif /* WIDE_SCAN_SOURCES_H */

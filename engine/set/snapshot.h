/* snapshot.h - snapshots: which batches a reader sees */
#ifndef WIDE_SNAPSHOT_H
#define WIDE_SNAPSHOT_H

#include "engine/wide.h"
#include "engine/base/entry.h"

/* called by wide_detach, each harmless when its module has never been used */
extern void snapshot_detach(wide_db *db);

/* snapshot.c */
extern const seq_range *snapshot_excluded(const wide_snapshot *s, int *n); /* ascending */

/* Every automatic timestamp above this belongs to a batch that the snapshot does not see. */
extern int64_t snapshot_newest_ts(const wide_snapshot *s);
extern int64_t snapshot_now(const wide_snapshot *s); /* the time at which TTLs are looked at */

/* Now, or when the oldest living snapshot of any process was taken: what expires later has to be
 * kept. */
extern int64_t snapshot_oldest_now(wide_db *db);

#endif /* WIDE_SNAPSHOT_H */

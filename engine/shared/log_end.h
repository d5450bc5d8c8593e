/* log_end.h - where the log ends, for what claims to have all of it */
#ifndef WIDE_LOG_END_H
#define WIDE_LOG_END_H

#include <stdatomic.h>
#include "engine/shared/layout.h"

/*
 * Returns true while the log is replayed: by this process alone, or while others read.  Also when a
 * replay has broken off and the segment is closed (wide_follow_close): others may still be at work.
 */
static inline bool
log_is_replayed(const wide_db *db)
{
	return atomic_load(&db->seg->state) != WIDE_RUNNING;
}

/* Returns the end of the log; during a replay, up to where it is applied. */
static inline uint64_t
log_end(wide_db *db)
{
	return log_is_replayed(db) ? atomic_load(&db->seg->follow.position) : db->log.end(db->log.ctx);
}

#endif /* WIDE_LOG_END_H */

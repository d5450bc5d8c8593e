/* log_end.h - where the log ends, for what claims to have all of it */
#ifndef WIDE_LOG_END_H
#define WIDE_LOG_END_H

#include <stdatomic.h>
#include "engine/shared/layout.h"

/* Returns true while the log is replayed: by this process alone, or while others read. */
static inline bool
log_is_replayed(const wide_db *db)
{
	uint32_t state = atomic_load(&db->seg->state);

	return state == WIDE_RECOVERING || state == WIDE_FOLLOWING;
}

/* Returns the end of the log; during a replay, up to where it is applied. */
static inline uint64_t
log_end(wide_db *db)
{
	return log_is_replayed(db) ? atomic_load(&db->seg->follow.position) : db->log.end(db->log.ctx);
}

#endif /* WIDE_LOG_END_H */

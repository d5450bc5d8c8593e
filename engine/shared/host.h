/* host.h - calls of the host's callbacks (wide_host); a missing one returns false or does nothing
 */
#ifndef WIDE_HOST_H
#define WIDE_HOST_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

static inline bool
host_interrupted(wide_db *db)
{
	return db->host.interrupted != NULL && db->host.interrupted(db->host.ctx);
}

static inline bool
host_files_held(wide_db *db)
{
	return db->host.files_held != NULL && db->host.files_held(db->host.ctx);
}

static inline int64_t
host_now(wide_db *db)
{
	return db->host.now(db->host.ctx);
}

static inline void
host_wake_worker(wide_db *db)
{
	if (db->host.wake_worker)
		db->host.wake_worker(db->host.ctx);
}

/* Marks the begin and, with WIDE_WAIT_NONE, the end of a wait.  Requires: the thread that attached
 * the process. */
static inline void
host_waits(wide_db *db, wide_wait what)
{
	if (db->host.waits)
		db->host.waits(db->host.ctx, what);
}

static inline bool
host_worker_works(wide_db *db)
{
	return db->host.worker_works != NULL && db->host.worker_works(db->host.ctx);
}

#endif /* WIDE_HOST_H */

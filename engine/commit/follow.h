/* follow.h - the parts of a recovery that others may watch; see wide_follow_show */
#ifndef WIDE_FOLLOW_H
#define WIDE_FOLLOW_H

#include "engine/wide.h"

/* Before a replay, which begins at set.restart_lsn. */
extern void follow_begin(wide_db *db);

/* After replay_end: everything is visible, and nothing is pending. */
extern void follow_end(wide_db *db);

/* Wakes the processes that wait in wide_follow_wait. */
extern void follow_wake(wide_db *db);

#endif /* WIDE_FOLLOW_H */

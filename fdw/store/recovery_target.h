/*
 * recovery_target.h
 *		What recovery to a point in time leaves out of the log.
 *
 * PostgreSQL stops such a recovery at a commit record.  Commits to wide tables alone
 * have none, so replay of the store applies the target to them itself.
 */
#ifndef WT_RECOVERY_TARGET_H
#define WT_RECOVERY_TARGET_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

typedef struct WtRecoveryTarget
{
	bool by_time; /* false: nothing is left out, and the other members are not set */
	TimestampTz time;
	bool inclusive;	  /* a commit at exactly that time counts */
	XLogRecPtr until; /* only records that begin before this position are concerned */
} WtRecoveryTarget;

/*
 * Keeps the target of the recovery that begins in the anchor.
 * Requires: the startup process, before it replays the first record.
 */
extern void wt_recovery_target_note(void);

/*
 * Keeps the target for replays of the store that begin after the end of recovery, also
 * after a restart of the server.  Raises no error.
 * Requires: the startup process, after it has replayed the last record.
 */
extern void wt_recovery_target_keep(void);

/*
 * Fills *target for a replay of the store from position from on.  During recovery that
 * is the server's target; afterwards, the target of the recovery that began the present
 * timeline, for the records before that.
 * Requires: *target is zero, or what this replay got before.
 */
extern void wt_recovery_target_get(XLogRecPtr from, WtRecoveryTarget *target);

/* Returns: true if a commit whose record begins at start, made at that time, does not count. */
extern bool wt_recovery_target_excludes(const WtRecoveryTarget *target, XLogRecPtr start,
										TimestampTz time);

#endif /* WT_RECOVERY_TARGET_H */

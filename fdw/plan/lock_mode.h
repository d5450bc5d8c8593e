/*
 * lock_mode.h
 *		Whether and how a scan locks its rows.
 */
#ifndef WT_LOCK_MODE_H
#define WT_LOCK_MODE_H

#include "nodes/pathnodes.h"

#include "fdw/plan/plan_private.h"

/*
 * Returns whether and how a scan of the relation locks its rows: if the statement changes them or
 * has FOR UPDATE or the like.
 */
extern WtLock wt_lock_mode(PlannerInfo *root, RelOptInfo *rel);

#endif /* WT_LOCK_MODE_H */

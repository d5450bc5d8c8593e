/*
 * system_column.h
 *		Refuses the system columns that wide tables do not have.
 */
#ifndef WT_SYSTEM_COLUMN_H
#define WT_SYSTEM_COLUMN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "fdw/table/types.h"

/*
 * For a scan of rel.
 * Errors: FEATURE_NOT_SUPPORTED if its target list or a clause reads a system column other than
 * tableoid.
 */
extern void wt_system_column_check_scan(PlannerInfo *root, RelOptInfo *rel, WtTable *t);

/*
 * For RETURNING and WITH CHECK OPTION of a result relation, which may read rows that no scan
 * delivers.  target: the number of its result relation in the node.
 * Errors: as above.
 */
extern void wt_system_column_check_modify(ModifyTable *plan, WtTable *t, Index rel, int target);

#endif /* WT_SYSTEM_COLUMN_H */

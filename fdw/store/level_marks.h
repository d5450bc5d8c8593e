/*
 * level_marks.h
 *		Where subtransactions have begun in a list of the transaction's changes.
 */
#ifndef WT_LEVEL_MARKS_H
#define WT_LEVEL_MARKS_H

#include "access/xact.h"

typedef struct WtLevelMark
{
	int level;	 /* nesting level of the subtransaction */
	uint64 mark; /* before its first change */
} WtLevelMark;

/* Ascends by level and by mark: levels above 1 that have made changes.  Zero: there are none. */
typedef struct WtLevelMarks
{
	WtLevelMark *list; /* in TopMemoryContext, and used again by the next transaction */
	int n, max;
} WtLevelMarks;

/* The current subtransaction is about to make a change behind the mark. */
extern void wt_level_marks_note(WtLevelMarks *m, uint64 mark);
/*
 * For a callback of subtransactions: what one has changed belongs to its parent at its commit.
 * Returns: true if it is rolled back and has changes: those from *mark on are void.
 */
extern bool wt_level_marks_end(WtLevelMarks *m, SubXactEvent event, uint64 *mark);
/* The transaction has ended. */
extern void wt_level_marks_clear(WtLevelMarks *m);

#endif /* WT_LEVEL_MARKS_H */

/*
 * commit.h
 *		Commit and rollback.
 */
#ifndef WT_COMMIT_H
#define WT_COMMIT_H

extern void wt_commit_init(void);
extern void wt_xact_exit(void);	/* the process exits: forget the transaction */
#endif							/* WT_COMMIT_H */

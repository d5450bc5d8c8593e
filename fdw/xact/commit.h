/*
 * commit.h
 *		Commit and rollback of a transaction's batch.
 */
#ifndef WT_COMMIT_H
#define WT_COMMIT_H

/* Installs the callbacks for the end of transactions and of the process. */
extern void wt_commit_init(void);

#endif /* WT_COMMIT_H */

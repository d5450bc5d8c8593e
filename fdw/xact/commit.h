/*
 * commit.h
 *		Commit and rollback.
 */
#ifndef WT_COMMIT_H
#define WT_COMMIT_H

/* Installs the callback for transactions. */
extern void wt_commit_init(void);
#endif /* WT_COMMIT_H */

/*
 * remote_commit.h
 *		Sends the changes of a transaction to HBase.
 */
#ifndef WT_REMOTE_COMMIT_H
#define WT_REMOTE_COMMIT_H

/*
 * Installs the callback for the end of transactions.  PRE_COMMIT makes the tables that the
 * transaction has declared, and sends its changes, those of a row together or not at all; rows are
 * independent.  It raises the first failure that repetition does not cure; DETAIL says how many
 * rows were written before it.
 */
extern void wt_remote_commit_init(void);

#endif /* WT_REMOTE_COMMIT_H */

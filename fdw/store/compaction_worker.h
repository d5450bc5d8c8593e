/*
 * compaction_worker.h
 *		The worker: the background process that flushes and compacts.
 */
#ifndef WT_COMPACTION_WORKER_H
#define WT_COMPACTION_WORKER_H

/*
 * Sets the function that drops the tables of dropped databases (a room above knows
 * how).  The worker calls it with report = true, in a transaction with a snapshot.
 */
extern void wt_compaction_worker_on_databases(void (*drop_lost_tables)(bool report));

#endif /* WT_COMPACTION_WORKER_H */

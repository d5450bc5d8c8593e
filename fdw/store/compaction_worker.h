/*
 * compaction_worker.h
 *		The background worker: flush, compaction, tables of dropped databases.
 */
#ifndef WT_COMPACTION_WORKER_H
#define WT_COMPACTION_WORKER_H

/* Sets what removes the tables of dropped databases; the worker calls it in a transaction. */
extern void wt_compaction_worker_on_databases(void (*drop_lost_tables)(bool report));

#endif /* WT_COMPACTION_WORKER_H */

/*
 * worker.h
 *		The background worker: flush, compaction, tables of dropped databases.
 */
#ifndef WT_WORKER_H
#define WT_WORKER_H

#endif							/* WT_WORKER_H */

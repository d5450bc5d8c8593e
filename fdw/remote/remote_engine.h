/*
 * remote_engine.h
 *		The engine "hbase": tables of Apache HBase as foreign tables.
 */
#ifndef WT_REMOTE_ENGINE_H
#define WT_REMOTE_ENGINE_H

/* Registers the engine.  Requires: called when the library is loaded. */
extern void wt_remote_engine_init(void);

#endif /* WT_REMOTE_ENGINE_H */

/*
 * remote_explain.h
 *		What EXPLAIN shows of scans of tables of HBase.
 */
#ifndef WT_REMOTE_EXPLAIN_H
#define WT_REMOTE_EXPLAIN_H

#include "fdw/table/engine.h"

struct ExplainState;

/* The engine's functions (engine.h): show and explain. */
extern void wt_remote_explain_scan(const WtEngineWork *work, struct ExplainState *es);
extern void wt_remote_explain_table(WtTable *t, struct ExplainState *es);

#endif /* WT_REMOTE_EXPLAIN_H */

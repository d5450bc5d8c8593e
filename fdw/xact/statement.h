/*
 * statement.h
 *		Which statement runs, for engines without snapshots.
 */
#ifndef WT_STATEMENT_H
#define WT_STATEMENT_H

#include "executor/execdesc.h"

/* ExecutorStart of a statement.  Returns false if the isolation level is below REPEATABLE READ:
 * nothing is counted then. */
extern bool wt_statement_begin(const QueryDesc *query);

/* A run of the statement begins, or its start.  Returns: what wt_statement_leave() takes when it
 * has ended. */
extern uint64 wt_statement_enter(const QueryDesc *query);
extern void wt_statement_leave(uint64 outer);

/* The planner is at work.  What it reads are estimates, of any moment.  Returns: as
 * wt_statement_begin(); if true, wt_statement_planned() follows. */
extern bool wt_statement_plan(void);
extern void wt_statement_planned(void);

/*
 * In REPEATABLE READ all reads see one moment, which some engines do not offer: of those one
 * statement may read.
 * Errors: 0A000 if another statement of the transaction has read.
 */
extern void wt_statement_check(const char *engine);

#endif /* WT_STATEMENT_H */

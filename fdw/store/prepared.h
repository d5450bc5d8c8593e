/*
 * prepared.h
 *		Prepared transactions that PostgreSQL has ended: their end in the engine.
 */
#ifndef WT_PREPARED_H
#define WT_PREPARED_H

/*
 * Ends in the engine what PostgreSQL has committed or rolled back.  Costs a load if nothing is
 * prepared.  May be called at any place of a transaction before its own batch is prepared.
 * Errors: those of the engine, and cancellation; then another process, or the next call, ends it.
 */
extern void wt_prepared_settle(void);

/* The same for the keeper, which logs errors instead. */
extern void wt_prepared_settle_quietly(void);

#endif /* WT_PREPARED_H */

/*
 * twophase.h
 *		PREPARE TRANSACTION of a transaction that has written to wide tables, or locked
 *		rows of them.
 */
#ifndef WT_TWOPHASE_H
#define WT_TWOPHASE_H

/*
 * PRE_PREPARE: logs the batch and the row locks, if there are any.
 * Errors: what cannot be prepared (0A000), those of the engine; the transaction aborts.
 */
extern void wt_twophase_prepare(void);

/* PREPARE: PostgreSQL's record is durable. */
extern void wt_twophase_prepared(void);

/* The end of the transaction in this session.  One that could not be prepared leaves nothing. */
extern void wt_twophase_end(void);

extern void wt_twophase_init(void);

#endif /* WT_TWOPHASE_H */

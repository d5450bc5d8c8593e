/*
 * derive.h
 *		What follows from changes of rows in other tables: the room derived/ registers here.
 *
 * A row is read before its first change.  Its changes are settled when the row of a statement, or
 * the call of a function, is done: then the row is read again, and what follows from it is changed
 * in the same batch.
 */
#ifndef WT_DERIVE_H
#define WT_DERIVE_H

#include "engine/wide.h"
#include "fdw/table/types.h"

typedef struct WtDerive
{
	/* Before a change of the row; finds out t->derived. */
	void (*before)(WtTable *t, wide_bytes key);
	/* Before a put: returns its timestamp, which may be another one than the given. */
	int64 (*before_put)(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual,
						int64 ts, int64 floor_ts, int64 ttl_us);
	/* Before the row moves to another key. */
	void (*leave)(WtTable *t, wide_bytes key);
	void (*settle)(void);
	/* At the end of a statement: closes what is kept open from one row to the next. */
	void (*rest)(void);
	/* What subtransactions of this level or deeper have found out is void; 1: all.  Closes nothing:
	 * see rest(). */
	void (*forget)(int level);
} WtDerive;

extern void wt_derive_register(const WtDerive *derive);

/* Before a change of the row, which goes to the batch next. */
extern void wt_derive_before(WtTable *t, wide_bytes key);

/* Before a put: the same; returns its timestamp. */
extern int64 wt_derive_before_put(WtTable *t, wide_family_id family, wide_bytes key,
								  wide_bytes qual, int64 ts, int64 floor_ts, int64 ttl_us);

/*
 * Before the row moves to another key: what is unique to it is free for its copy, which is written
 * before it is deleted.
 */
extern void wt_derive_leave(WtTable *t, wide_bytes key);

/* The changes of a row, of any table, are complete. */
extern void wt_derive_settle(void);

extern void wt_derive_rest(void);

/* The transaction's batch is gone, or definitions have changed. */
extern void wt_derive_forget(void);

/* The current subtransaction is rolled back. */
extern void wt_derive_forget_level(void);

#endif /* WT_DERIVE_H */

/*
 * remote_get.h
 *		Rows of a table of HBase by their keys, many at a time.
 */
#ifndef WT_REMOTE_GET_H
#define WT_REMOTE_GET_H

#include "fdw/remote/remote_request.h"

/* Rows that were read, in the order of their keys.  Zero: none were. */
typedef struct WtRemoteRows
{
	hb_rows *rows;
	hb_rows *more; /* what rows has of those that were read again; NULL: none were */
} WtRemoteRows;

/* Rows that were read before it was their turn.  Zero: none were. */
typedef struct WtRemoteAhead
{
	WtRemoteRows rows;
	hb_bytes *keys; /* sorted */
	int n;
	MemoryContext cxt; /* of the keys; NULL: none were ever read ahead */
} WtRemoteAhead;

/* Returns: false for a key that no row of HBase can have; the client refuses it. */
extern bool wt_remote_get_may(wide_bytes key);

/*
 * Reads n rows, with one round of calls, or two if a row is not there as it was asked for first.
 * The caller releases *out with wt_remote_get_free(); it is empty before.
 */
extern void wt_remote_get(WtRemoteRequest *q, const hb_bytes *keys, int n, WtRemoteRows *out);
extern void wt_remote_get_free(const WtRemoteRequest *q, WtRemoteRows *rows);

/* Reads the rows of n keys, which are the beginnings of sorted ranges, ahead.  What was there is
 * dropped.  parent: memory context for the keys. */
extern void wt_remote_get_ahead(WtRemoteRequest *q, WtRemoteAhead *a, const wide_range *keys, int n,
								MemoryContext parent);
extern void wt_remote_get_drop(const WtRemoteRequest *q, WtRemoteAhead *a);

/* Returns: the row of the key, if it was read ahead; NULL: it was not. */
extern const hb_row *wt_remote_get_find(const WtRemoteAhead *a, wide_bytes key);

#endif /* WT_REMOTE_GET_H */

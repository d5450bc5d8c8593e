/*
 * version_move.h
 *		Versions of cells that an UPDATE of layout 'cells' moves.
 */
#ifndef WT_VERSION_MOVE_H
#define WT_VERSION_MOVE_H

#include "engine/wide.h"
#include "fdw/store/bytes.h"

/*
 * One version of a cell, or its place.  ts: microseconds since 1970;
 * WIDE_TS_AUTO for a version of this transaction that gets it at commit.
 */
typedef struct WtVersion
{
	wide_bytes key;
	wide_family_id family;
	wide_bytes qual;
	int64 ts;
} WtVersion;

/* Returns true if two versions differ in nothing but the timestamp. */
static inline bool
wt_version_move_same_cell(const WtVersion *a, const WtVersion *b)
{
	return a->family == b->family &&
		   wt_bytes_equal(a->qual.data, a->qual.len, b->qual.data, b->qual.len) &&
		   wt_bytes_equal(a->key.data, a->key.len, b->key.data, b->key.len);
}

/* Appends bytes that no other version has. */
extern void wt_version_move_identity(const WtVersion *v, StringInfo out);

typedef struct WtVersionMoves WtVersionMoves;

/* Makes the record of one statement's moves; it lives in cxt. */
extern WtVersionMoves *wt_version_move_new(MemoryContext cxt);

/*
 * Records that the statement moves a version away from its place.  Returns true
 * if it has put another one there before: the caller puts *again there once
 * more after its delete, and frees it with pfree.
 */
extern bool wt_version_move_leave(WtVersionMoves *m, const WtVersion *from, wide_bytes *again);

/*
 * Records that the statement puts a version into a place.  Requires: called
 * before the put, because it looks up whether the place is taken.  Returns false
 * if the statement has put a version there before.
 */
extern bool wt_version_move_arrive(WtVersionMoves *m, const WtVersion *to, wide_bytes value);

/*
 * At the end of the statement: returns a place that got a version although the
 * one that was there has not been moved away; NULL if there is none.
 */
extern const WtVersion *wt_version_move_collision(WtVersionMoves *m);

#endif /* WT_VERSION_MOVE_H */

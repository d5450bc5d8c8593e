/*
 * version_move.h
 *		Versions of cells that an UPDATE of layout 'cells' moves.
 */
#ifndef WT_VERSION_MOVE_H
#define WT_VERSION_MOVE_H

#include "engine/wide.h"
#include "fdw/store/bytes.h"

/* One version of a cell; ts WIDE_TS_AUTO: ours, without a timestamp before commit. */
typedef struct WtVersion
{
	wide_bytes key;
	wide_family_id family;
	wide_bytes qual;
	int64 ts;
} WtVersion;

static inline bool
wt_version_move_same_cell(const WtVersion *a, const WtVersion *b)
{
	return a->family == b->family &&
		   wt_bytes_equal(a->qual.data, a->qual.len, b->qual.data, b->qual.len) &&
		   wt_bytes_equal(a->key.data, a->key.len, b->key.data, b->key.len);
}

typedef struct WtVersionMoves WtVersionMoves;

/* All of it lives in cxt. */
extern WtVersionMoves *wt_version_move_new(MemoryContext cxt);

/*
 * The statement takes the version away from its place.  true: it has put
 * another one there before, whose value (palloc'd in cxt) has to be put again
 * after the delete.
 */
extern bool wt_version_move_leave(WtVersionMoves *m, const WtVersion *from, wide_bytes *again);

/*
 * The statement puts a version there.  false: it has put one there already.
 * Call it before the put: it looks whether the place is taken.
 */
extern bool wt_version_move_arrive(WtVersionMoves *m, const WtVersion *to, wide_bytes value);

/* A place that was taken and has not been left, at the end of the statement; NULL: none. */
extern const WtVersion *wt_version_move_collision(WtVersionMoves *m);

#endif /* WT_VERSION_MOVE_H */

/* cell_versions.h - the versions of one column over time */
#ifndef WIDE_CELL_VERSIONS_H
#define WIDE_CELL_VERSIONS_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* A span of moments [from, to) in which a version was alive. */
typedef struct view_span
{
	uint64_t	from, to;
} view_span;

/* From this moment on (to the next step) `count` newer versions are alive, `limit` of them suffice. */
typedef struct view_step
{
	uint64_t	from;
	int32_t		count;
	int32_t		limit;
} view_step;

/*
 * The versions of one column that have been alive, newest timestamp first:
 * tells from which moment on an older version is not displaced.
 */
typedef struct view_track
{
	int32_t		versions;
	view_step	base[FAMILY_FLOORS + 1];	/* of an empty column: one for each limit */
	int			nbase;
	uint64_t	dead_end;		/* versions that began before this are displaced */
	bool		stepped;		/* steps are in use; else all spans are open-ended and only their number counts */
	view_span  *spans;
	int			nspans, spans_cap;
	view_step  *steps;
	int			nsteps, steps_cap;
} view_track;
#define MOMENT_END	UINT64_MAX	/* still alive */

/* The limits in force at the moments up to horizon; that of the horizon goes on. */
extern void view_track_init(view_track *t, int32_t versions, const family_floor *floors, int nfloors, uint64_t horizon);
extern void view_track_reset(view_track *t);
extern void view_track_free(view_track *t);

/* A version, older than all before, was alive in [from, to); it began at or after dead_end. */
extern wide_status view_track_add(view_track *t, uint64_t from, uint64_t to);

/* The version added last had the same timestamp already in [from, to). */
extern wide_status view_track_extend(view_track *t, uint64_t from, uint64_t to);

#endif							/* WIDE_CELL_VERSIONS_H */

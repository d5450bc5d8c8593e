/* cell_versions.h - the versions of one column over time */
#ifndef WIDE_CELL_VERSIONS_H
#define WIDE_CELL_VERSIONS_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* A span of moments [from, to) in which a version was alive. */
typedef struct version_span
{
	uint64_t from, to;
} version_span;

/* From this moment on (to the next step) `count` newer versions are alive, `limit` of them
 * suffice. */
typedef struct version_step
{
	uint64_t from;
	int32_t count;
	int32_t limit;
} version_step;

/*
 * The versions of one column that have been alive, newest timestamp first:
 * tells from which moment on an older version is not displaced.
 */
typedef struct cell_versions
{
	int32_t versions;
	version_step base[FAMILY_FLOORS + 1]; /* of an empty column: one for each limit */
	int nbase;
	uint64_t dead_end; /* versions that began before this are displaced */
	bool stepped; /* steps are in use; else all spans are open-ended and only their number counts */
	version_span *spans;
	int nspans, spans_cap;
	version_step *steps;
	int nsteps, steps_cap;
} cell_versions;

#define MOMENT_END UINT64_MAX /* still alive */

/* The limits in force at the moments up to horizon; that of the horizon goes on. */
extern void cell_versions_init(cell_versions *t, int32_t versions, const family_floor *floors,
							   int nfloors, uint64_t horizon);
extern void cell_versions_reset(cell_versions *t);
extern void cell_versions_free(cell_versions *t);

/* A version, older than all before, was alive in [from, to); it began at or after dead_end. */
extern wide_status cell_versions_add(cell_versions *t, uint64_t from, uint64_t to);

/* The version added last had the same timestamp already in [from, to). */
extern wide_status cell_versions_extend(cell_versions *t, uint64_t from, uint64_t to);

#endif /* WIDE_CELL_VERSIONS_H */

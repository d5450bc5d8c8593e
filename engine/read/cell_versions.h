/*
 * cell_versions.h - for how long the versions of one column were alive, and which of them were
 * displaced.
 *
 * A version is displaced as soon as `versions` or more versions with newer
 * timestamps are alive (the rules are at the top of visibility.c).  The versions
 * of a column are added with the newest timestamp first; dead_end then says which
 * of the following ones are displaced.
 */
#ifndef WIDE_CELL_VERSIONS_H
#define WIDE_CELL_VERSIONS_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

#define SEQ_END UINT64_MAX /* after every sequence number: end of a version that is still alive */

/* The sequence numbers [from, to) at which a version was alive. */
typedef struct version_span
{
	uint64_t from, to;
} version_span;

/* From this sequence number on, up to the next step, `count` of the versions added so far are
 * alive; `limit` or more displace all that follow. */
typedef struct version_step
{
	uint64_t from;
	int32_t count;
	int32_t limit;
} version_step;

typedef struct cell_versions
{
	int32_t versions;					  /* limit of the last step of base */
	version_step base[FAMILY_FLOORS + 1]; /* steps of an empty column, one for each limit */
	int nbase;
	uint64_t dead_end; /* versions born before this are displaced; SEQ_END: all */
	bool stepped; /* steps are in use; if not, all spans end at SEQ_END and their number counts */
	version_span *spans;
	int nspans, spans_cap;
	version_step *steps; /* ascending; what lies below dead_end is cut off */
	int nsteps, steps_cap;
} cell_versions;

/*
 * Prepares for the columns of a family.  The limits at sequence numbers up to
 * `horizon` are those of the floors and of `versions`; the limit at the horizon
 * holds from there on.
 * Requires: floors in ascending order, with distinct seq (expiry_floors_in_order).
 */
extern void cell_versions_init(cell_versions *t, int32_t versions, const family_floor *floors,
							   int nfloors, uint64_t horizon);

/* Begins a column. */
extern void cell_versions_reset(cell_versions *t);
extern void cell_versions_free(cell_versions *t);

/*
 * Adds a version that was alive in [from, to).
 * Requires: its timestamp is older than that of all before; from >= dead_end.
 * Returns: WIDE_OK or WIDE_NOMEM.
 */
extern wide_status cell_versions_add(cell_versions *t, uint64_t from, uint64_t to);

/*
 * Adds n versions that are still alive, newest timestamp first.
 * Requires: t->stepped is not set, one limit holds at all times, and they do not reach it.
 * Returns: WIDE_OK or WIDE_NOMEM.
 */
extern wide_status cell_versions_add_alive(cell_versions *t, const uint64_t *from, int n);

/* As cell_versions_add, for a past put of the version added last: one with the same timestamp was
 * alive in [from, to) already. */
extern wide_status cell_versions_extend(cell_versions *t, uint64_t from, uint64_t to);

#endif /* WIDE_CELL_VERSIONS_H */

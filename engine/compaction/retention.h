/* retention.h - what of a family's entries a compaction keeps */
#ifndef WIDE_RETENTION_H
#define WIDE_RETENTION_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"
#include "engine/set/horizon.h"

/*
 * What is visible, in one place for reads and for compaction: snapshots,
 * deletes, versions, TTL.  See visibility.c for the rules.
 *
 * Compaction: feed the merged entries of a family; those to be kept come out
 * through emit in key order, perhaps later (a column is buffered when it has
 * deletes); call retention_end at the end.
 */
typedef struct view view;

typedef struct retention_spec
{
	wide_family family;
	const family_floor *floors;
	uint64_t horizon; /* decisions are made on entries <= this only */
	/*
	 * No entry of these rows outside the job, newer than all in it that are <=
	 * horizon, is as old as this or older.
	 */
	uint64_t known;
	uint64_t tombstone_seq; /* deletes <= this may go when bottom */
	bool bottom;			/* no older entries of these rows exist outside this job */
	int64_t now;
	/*
	 * Entries of these rows outside the job are older than all in it, or newer
	 * than all in it that are <= horizon, or their seq is in [gap_from, gap_to]
	 * (then not bottom; 0, 0: there are none of these).
	 */
	uint64_t gap_from, gap_to;
	/*
	 * Readers that are older than `fresh` have their snapshot in one of the
	 * ranges: of entries > horizon goes what nobody sees.  0: nothing of them.
	 */
	uint64_t fresh;
	const snapshot_range *held;
	int nheld;
} retention_spec;

/* Widens the gap by the files among all[0..n) that overlap hull (NULL: any) and whose seqs lie
 * among those from..to of a job; in: the job's own, may be NULL. */
extern void retention_gap(retention_spec *spec, const file_meta *all, int n, const bool *in,
						  const file_meta *hull, uint64_t from, uint64_t to);
typedef wide_status (*retention_emit_fn)(void *arg, const entry *e);
extern wide_status retention_new(wide_db *db, const retention_spec *spec, retention_emit_fn emit,
								 void *arg, view **out);
extern wide_status retention_feed(view *v, const entry *e);
extern wide_status retention_end(view *v);

/* At the end of a job over everything in the family's files: floors with a seq below this one
 * matter to nothing any more. */
extern uint64_t retention_settled(const view *v);
extern void retention_free(view *v);

#endif /* WIDE_RETENTION_H */

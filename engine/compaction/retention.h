/*
 * retention.h - which of a family's entries a flush or compaction keeps.
 *
 * The caller feeds the merged entries of a family in key order and calls retention_end
 * after the last.  Entries that are kept come out through emit in key order, some of
 * them later: a column is pending while a decision depends on the rest of it.
 */
#ifndef WIDE_RETENTION_H
#define WIDE_RETENTION_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/base/tunable.h"
#include "engine/shared/layout.h"
#include "engine/set/horizon.h"

typedef struct retention retention;

/* Bytes of a column that wait for a decision, at most; and of their entries. */
TUNABLE(size_t, retention_bytes, (size_t) 16 << 20);
/* The same of operands of WIDE_MERGE_APPEND: more than a memtable of the default size can have of
 * one column. */
TUNABLE(size_t, retention_appended_bytes, (size_t) 64 << 20);

/* A job is the set of files, or the memtable, whose entries are fed. */
typedef struct retention_spec
{
	wide_family family;
	const family_floor *floors; /* FAMILY_FLOORS of them */
	int64_t now;

	/* decisions are made on entries up to it only */
	uint64_t horizon;

	/*
	 * Entries of the job's rows outside the job that are newer than all of its entries up
	 * to the horizon are newer than this, too.
	 */
	uint64_t known;
	uint64_t tombstone_seq; /* at the bottom, deletes up to it are dropped */
	bool bottom;			/* the job's rows have no older entries outside the job */

	/*
	 * Entries of the job's rows outside the job are older than all of its entries,
	 * or newer than all of those up to the horizon, or their seq is in [gap_from, gap_to].  With
	 * WIDE_MERGE_APPEND this holds for all entries, else for deletes.
	 * 0, 0: there is no gap.  A job with a gap is not at the bottom.
	 */
	uint64_t gap_from, gap_to;

	/*
	 * Readers have a snapshot in one of the ranges, or `fresh` or newer.  Entries above
	 * the horizon that none of them sees are dropped.  fresh = 0: all are kept.
	 */
	uint64_t fresh;
	const snapshot_range *held;
	int nheld;
} retention_spec;

/*
 * Widens the gap by the files among all[0..n) that are not in the job, overlap hull
 * (NULL: any) and have deletes, or with WIDE_MERGE_APPEND any entries, with a seq among those of
 * the job, from..to.
 * in[i]: file i is in the job; NULL: none is.
 */
extern void retention_gap(retention_spec *spec, const file_meta *all, int n, const bool *in,
						  const file_meta *hull, uint64_t from, uint64_t to);

/* Takes an entry that is kept; its bytes are valid during the call. */
typedef wide_status (*retention_emit_fn)(void *arg, const entry *e);

/* Copies the spec, except for spec->held, which must outlive *out.  Returns: WIDE_NOMEM. */
extern wide_status retention_new(const retention_spec *spec, retention_emit_fn emit, void *arg,
								 retention **out);

/* Takes the next entry.  Returns: WIDE_NOMEM; failures of emit. */
extern wide_status retention_feed(retention *v, const entry *e);

/* Completes the last column. */
extern wide_status retention_end(retention *v);

/* After a job over all of the family's files: floors with a lower seq matter to nothing any more.
 * 0 if the job was not at the bottom. */
extern uint64_t retention_settled(const retention *v);
extern void retention_free(retention *v); /* NULL: none */

#endif /* WIDE_RETENTION_H */

/*
 * visibility.h - which entries of a family a reader sees; visibility.c has the rules.
 *
 * One struct visibility serves one family in one scan.  For each row the reader
 * calls visibility_row, then visibility_add_delete for each family delete, then,
 * for each column, visibility_column and visibility_cell for each of its entries,
 * all in key order.
 */
#ifndef WIDE_VISIBILITY_H
#define WIDE_VISIBILITY_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"
#include "engine/read/cell_versions.h"

typedef struct row_delete
{
	int64_t ts;
	uint64_t seq;
	uint8_t type; /* ENTRY_DELETE_FAMILY or ENTRY_DELETE_FAMILY_VERSION */
} row_delete;

#define NO_DELETE UINT64_MAX

/* Returns the seq up to which deletes count for every reader, whatever its time limit (see
 * keep_deleted in the rules); NO_DELETE - 1 if all do. */
extern uint64_t visibility_sure_deletes(const wide_family_options *opt, const family_floor *floors,
										int nfloors);

/*
 * Finds the first family deletes of the row that mask a put.  Lowers *covered to
 * the lowest seq of those that mask all older timestamps too, and *exact to the
 * lowest seq of those that mask this timestamp only.
 * Requires: d[0..n) in descending order of ts.
 */
extern void visibility_row_masks(const row_delete *d, int n, const entry *e, uint64_t *covered,
								 uint64_t *exact);

typedef struct visibility
{
	/* the family; set by visibility_init */
	wide_family_options opt;
	family_floor floors[FAMILY_FLOORS];
	int nfloors;
	uint64_t sure_deletes; /* no delete up to this seq is disregarded */

	/* the snapshot */
	uint64_t seq;
	const seq_range *excluded; /* ascending, disjoint; invisible although <= seq; the caller's */
	int nexcluded;
	int64_t now;		   /* time of the snapshot */
	int64_t expire_before; /* family TTL: older timestamps have expired */

	/* the question */
	bool limited;	/* time range: only ts_min <= ts < ts_max is visible */
	bool filtered;	/* filter: of that only show_min <= ts < show_max is shown */
	bool plain;		/* one version, no floors, no limits: see visibility_cell */
	int64_t ts_min; /* INT64_MAX as an upper bound: open */
	int64_t ts_max;
	int64_t show_min;
	int64_t show_max;
	int max_out; /* most versions shown of a column */

	/* the row */
	row_delete *deletes; /* family deletes, ts descending */
	int ndeletes, deletes_cap;
	uint64_t deletes_seq; /* newest of them */
	uint64_t family_seq;  /* newest that is not for one timestamp only */
	/* deletes of the reader's batch that the time limit disregards: first those of the row, then
	 * those of the column */
	row_delete *batch_deletes;
	int nbatch_deletes, nbatch_row_deletes, batch_deletes_cap;

	/* the column */
	cell_versions track;
	uint64_t column_seq;				/* newest column delete up to the current entry; 0 none */
	int64_t version_ts;					/* timestamp of the last version delete */
	uint64_t version_seq, version_seq2; /* the last one, and the one before with this timestamp */
	int64_t put_ts;						/* the last put */
	uint64_t put_seq;
	int nprotected; /* versions alive, own TTL not passed: the first min_versions are protected */
	int32_t ranks[FAMILY_FLOORS]; /* the same count at each floor */
	int out;					  /* versions shown so far */
	bool any_put;				  /* put_ts and put_seq are set */
	bool fresh;					  /* no entry of the column has changed this state */
} visibility;

typedef enum visibility_verdict
{
	VISIBILITY_HIDE,
	VISIBILITY_SHOW,
	VISIBILITY_LAST, /* show; nothing more of this column is visible */
	VISIBILITY_DONE	 /* hide; nothing more of this column is visible */
} visibility_verdict;

/*
 * Prepares for reading a family at snapshot seq and time now (microseconds).
 * floors has FAMILY_FLOORS members and may be NULL.  excluded is not copied.
 * ts_min = ts_max = 0: no time range.  max_versions < 1 counts as 1.
 * Returns: WIDE_OK.
 */
extern wide_status visibility_init(visibility *v, const wide_family_options *opt,
								   const family_floor *floors, uint64_t seq,
								   const seq_range *excluded, int nexcluded, int64_t now,
								   int64_t ts_min, int64_t ts_max, int max_versions);

/* Shows only show_min <= ts < show_max of what is visible (INT64_MAX: open).  Other than the time
 * range this changes no version's number. */
extern void visibility_filter(visibility *v, int64_t show_min, int64_t show_max);

/* Moves to another snapshot.  Requires: the reader is between two rows. */
extern void visibility_renew(visibility *v, uint64_t seq, const seq_range *excluded, int nexcluded,
							 int64_t now);
extern void visibility_free(visibility *v);

/* Returns true if the snapshot excludes this sequence number. */
extern bool visibility_excluded(const visibility *v, uint64_t seq);

/* Begins a row. */
static inline void
visibility_row(visibility *v)
{
	v->ndeletes = 0;
	v->deletes_seq = 0;
	v->family_seq = 0;
	v->nbatch_deletes = v->nbatch_row_deletes = 0;
}

/* Takes note of a family delete of the row.  Returns: WIDE_OK or WIDE_NOMEM. */
extern wide_status visibility_add_delete(visibility *v, const entry *e);

/* Resets the state of the column. */
extern void visibility_column_reset(visibility *v);

/* Begins a column of the row. */
static inline void
visibility_column(visibility *v)
{
	v->out = 0;
	if (!v->fresh)
		visibility_column_reset(v);
}

/* Returns true if the entry exists for this reader: in its snapshot or in its own batch. */
static inline bool
visibility_exists(const visibility *v, const entry *e)
{
	return e->seq <= v->seq ? v->nexcluded == 0 || !visibility_excluded(v, e->seq)
							: e->seq >= SEQ_BATCH;
}

/*
 * Returns true if every put without a TTL of its own, whose timestamp and seq lie
 * between the given bounds (both included), is visible, provided that no delete
 * masks it and its column has no newer entry.
 */
extern bool visibility_all(const visibility *v, int64_t ts_min, int64_t ts_max, uint64_t seq_min,
						   uint64_t seq_max);

/* visibility_cell for entries that exist, in the general case. */
extern wide_status visibility_slow(visibility *v, const entry *e, visibility_verdict *out);

/*
 * For a family with a merge operator, in place of visibility_cell: *counts is true if the entry is
 * an operand that exists, that no delete masks and that has not expired.  What it is folded into is
 * shown or not by visibility_version.  Returns: WIDE_OK or WIDE_NOMEM.
 */
extern wide_status visibility_operand(visibility *v, const entry *e, bool *counts);

/* Decides about a version that the operands of a column come to, newest timestamp first. */
extern visibility_verdict visibility_version(visibility *v, int64_t ts);

/*
 * The current entry is a put that is hidden because it is newer than the time range or the filter
 * shows.  Returns how many more puts of its column, without a ttl and with timestamps of at least
 * *since that fall from one to the next, are hidden just as it is and end nothing; 0 if that cannot
 * be said.  visibility_pass takes note of them.
 */
extern int visibility_newer(const visibility *v, const entry *e, int64_t *since);

/* Takes note of n of these puts: what visibility_cell would have done with each.  seqs: theirs,
 * overwritten; last: the last of them.  Returns: WIDE_OK or WIDE_NOMEM. */
extern wide_status visibility_pass(visibility *v, uint64_t *seqs, int n, const entry *last);

/*
 * Decides about one entry of a column (no family delete).
 * Returns: WIDE_OK and *out, or WIDE_NOMEM.
 */
static inline wide_status
visibility_cell(visibility *v, const entry *e, visibility_verdict *out)
{
	if (!visibility_exists(v, e))
	{
		*out = VISIBILITY_HIDE;
		return WIDE_OK;
	}
	/* one version, nothing deleted, no limits: the first put is the answer */
	if (v->fresh && v->plain && e->type == ENTRY_PUT && v->ndeletes == 0 && e->ttl_us == 0 &&
		e->ts >= v->expire_before)
	{
		v->out = 1;
		*out = VISIBILITY_LAST;
		return WIDE_OK;
	}
	return visibility_slow(v, e, out);
}

#endif /* WIDE_VISIBILITY_H */

/*
 * visibility.h - what a reader asks of visibility.c, entry by entry.
 *
 * One visibility serves one family in one scan; it is fed the merged
 * entries of a row in key order.
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
	uint8_t type;
} row_delete;

#define NO_DELETE UINT64_MAX

/* Deletes with this seq or a lower one count for readers of all times. */
extern uint64_t visibility_sure_deletes(const wide_family_options *opt, const family_floor *floors,
										int nfloors);

/*
 * What the family deletes of the row (ts descending) do to a put: *covered is
 * lowered to the first that masks it and all with a lower timestamp, *exact to
 * the first that masks this timestamp only.
 */
extern void visibility_row_masks(const row_delete *d, int n, const entry *e, uint64_t *covered,
								 uint64_t *exact);

typedef struct visibility
{
	/* the family and the question; set by visibility_init */
	wide_family_options opt;
	family_floor floors[FAMILY_FLOORS];
	int nfloors;
	uint64_t seq;			   /* snapshot */
	const seq_range *excluded; /* sorted, apart; invisible although <= seq */
	int nexcluded;
	int64_t now;
	int64_t expire_before; /* family TTL: timestamps below are expired */
	int64_t ts_min;		   /* shown: ts_min <= ts < ts_max (when limited) */
	int64_t ts_max;
	bool limited;
	bool filtered;		   /* of those only show_min <= ts < show_max are given out */
	uint64_t sure_deletes; /* up to this seq no delete is disregarded */
	bool plain;			   /* one version, nothing to look up for it: see visibility_cell */
	int64_t show_min;
	int64_t show_max;
	int max_out; /* versions shown of a column */
	/* the row */
	row_delete *deletes; /* of the family in this row, ts descending */
	int ndeletes, deletes_cap;
	uint64_t deletes_seq; /* newest of them */
	uint64_t family_seq;  /* newest that is not for one timestamp */
	/* deletes of the own batch that the time limit disregards: [0, nown_row) of the row, then of
	 * the column */
	row_delete *own;
	int nown, nown_row, own_cap;
	/* the column */
	cell_versions track;
	uint64_t column_seq; /* newest column delete with ts >= the current one */
	int64_t version_ts;	 /* version deletes at the current timestamp: last, and the one before */
	uint64_t version_seq, version_seq2;
	int64_t put_ts; /* the put before this one */
	uint64_t put_seq;
	int nprotected;				  /* versions seen that min_versions counts */
	int32_t ranks[FAMILY_FLOORS]; /* and those that it counted at the floors */
	int out;					  /* shown so far */
	bool any_put;
	bool fresh; /* the column state is reset */
} visibility;

typedef enum visibility_verdict
{
	VISIBILITY_HIDE,
	VISIBILITY_SHOW,
	VISIBILITY_LAST, /* show; nothing more of this column is visible */
	VISIBILITY_DONE	 /* hide; nothing more of this column is visible */
} visibility_verdict;

/* A reader of a family at snapshot seq.  floors may be NULL. */
extern wide_status visibility_init(visibility *v, const wide_family_options *opt,
								   const family_floor *floors, uint64_t seq,
								   const seq_range *excluded, int nexcluded, int64_t now,
								   int64_t ts_min, int64_t ts_max, int max_versions);

/* Give out only show_min <= ts < show_max of what is visible (INT64_MAX: open). */
extern void visibility_filter(visibility *v, int64_t show_min, int64_t show_max);

/* The same family and question at another moment, between rows. */
extern void visibility_renew(visibility *v, uint64_t seq, const seq_range *excluded, int nexcluded,
							 int64_t now);
extern void visibility_free(visibility *v);
extern bool visibility_excluded(const visibility *v, uint64_t seq);

static inline void
visibility_row(visibility *v)
{
	v->ndeletes = 0;
	v->deletes_seq = 0;
	v->family_seq = 0;
	v->nown = v->nown_row = 0;
}

/* A family delete, at the row's beginning. */
extern wide_status visibility_add_delete(visibility *v, const entry *e);
extern void visibility_column_reset(visibility *v);

static inline void
visibility_column(visibility *v)
{
	v->out = 0;
	if (!v->fresh)
		visibility_column_reset(v);
}

/* Does the entry exist for this reader at all? */
static inline bool
visibility_exists(const visibility *v, const entry *e)
{
	return e->seq <= v->seq ? v->nexcluded == 0 || !visibility_excluded(v, e->seq)
							: e->seq >= SEQ_BATCH;
}

/*
 * Puts without a time to live of their own, whose timestamps and sequence
 * numbers lie between these: is each visible, if its column has no other entry
 * (that is newer)?
 */
extern bool visibility_all(const visibility *v, int64_t ts_min, int64_t ts_max, uint64_t seq_min,
						   uint64_t seq_max);

/* The general case; memory may run out. */
extern wide_status visibility_slow(visibility *v, const entry *e, visibility_verdict *out);

/* One entry of a column (no family delete), in key order. */
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

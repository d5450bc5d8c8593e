/*
 * retention.c - which of a family's entries a flush or compaction keeps.
 *
 * The rules, and why they are right, are at the top of visibility.c.  Entries come in
 * key order.  Those that are kept go out through emit in the same order, at once where
 * possible.  If a decision depends on what follows in the column, the rest of the
 * column is pending.  Beyond retention_bytes all pending entries are kept, which is always
 * right.
 *
 * Locking: none; private memory only.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/compaction/retention.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/sst/file_meta.h"
#include "engine/set/horizon.h"
#include "engine/read/append.h"
#include "engine/read/cell_versions.h"
#include "engine/read/expiry.h"
#include "engine/read/fold.h"
#include "engine/read/visibility.h"

#define UNSEEN_VERSIONS 16 /* families with more versions keep all puts above the horizon */

/* What the rest of the column decides about an entry. */
enum pending_kind
{
	PENDING_KEEP,
	PENDING_PAST,	 /* the past of a version: kept if there is a barrier in (seq, newer] */
	PENDING_EXPIRED, /* its own TTL has passed: kept if a put with an older timestamp is, or the
					  * column has entries above the horizon */
	PENDING_DELETE	 /* kept if an entry that it masks is */
};

typedef struct pending_entry
{
	enum pending_kind kind;
	entry e;	  /* without its key and value */
	size_t value; /* offset in pending.values */
	uint64_t newer;
} pending_entry;

typedef struct delete_list
{
	row_delete *d;
	int n, cap;
} delete_list;

struct retention
{
	/* the family and the job */
	wide_family_options opt;
	family_floor floors[FAMILY_FLOORS];
	int nfloors;
	int32_t most;	/* the most versions in force at any time */
	int32_t fewest; /* the fewest; INT32_MAX: the number never changed */
	uint64_t horizon, tombstone_seq;
	uint64_t floor_horizon; /* changes of options up to here are acted upon */
	uint64_t sure_deletes;	/* deletes up to here count for every reader */
	uint64_t gap_from, gap_to;
	bool bottom;
	bool exact; /* bottom, and no reader disregards deletes */
	int64_t now, expire_before;
	retention_emit_fn emit;
	void *arg;
	/* the result: a floor with this seq or a later one matters to what is kept; NO_DELETE: none */
	uint64_t needed;

	/* readers above the horizon; see nobody_sees */
	uint64_t fresh, known;
	const snapshot_range *ranges;
	int nranges;

	struct
	{
		buffer key;
		delete_list deletes; /* family deletes up to the horizon */
		uint64_t delete_seq; /* the newest of type ENTRY_DELETE_FAMILY so far */
		int64_t delete_ts;
		bool delete_above; /* a family delete above the horizon has come */
	} row;

	struct
	{
		buffer ukey;
		cell_versions track;
		delete_list deletes; /* column deletes up to the horizon; only with keep_deleted */
		uint64_t delete_seq; /* the newest column delete so far */
		int64_t delete_ts;
		/* version deletes at version_ts: the last, and the one before; NO_DELETE: none */
		int64_t version_ts;
		uint64_t version_seq, version_seq2;
		uint64_t *barriers;
		int nbarriers, barriers_cap;
		bool any_put; /* a put up to the horizon has come; the last: */
		int64_t put_ts;
		uint64_t put_seq;
		int32_t nputs;				  /* puts that are kept */
		int32_t ranks[FAMILY_FLOORS]; /* see expiry_version_end */
		bool above;					  /* it has entries above the horizon */
		bool delete_above;			  /* among them deletes */
		bool partly;				  /* not all of it was pending at one time */
	} column;

	/* the last puts above the horizon of the column */
	struct
	{
		uint64_t seqs[UNSEEN_VERSIONS]; /* a ring */
		uint64_t n;						/* number of them in the column */
		int64_t ts;						/* of the last one */
	} above;

	/* with a merge operator: operands of the column that are folded */
	struct
	{
		int slot;		  /* the pending entry that gets their sum; -1: none */
		int32_t versions; /* timestamps of operands up to the horizon so far */
		int64_t ts;		  /* the last of them */
		fold value;
		uint8_t *registers; /* with WIDE_MERGE_HLL */
	} operands;

	append_list appended; /* with WIDE_MERGE_APPEND: its operands, behind all that is pending */

	/* entries of the column that the rest of it decides about, and all that follow them */
	struct
	{
		pending_entry *entries;
		int n, cap;
		buffer values;
	} pending;
};

void
retention_gap(retention_spec *spec, const file_meta *all, int n, const bool *in,
			  const file_meta *hull, uint64_t from, uint64_t to)
{
	for (int i = 0; i < n; i++)
	{
		const file_meta *f = &all[i];

		/* unknown puts only displace more (visibility.c), so a gap is about deletes; but what is
		 * appended may belong between two operands of the job */
		if ((in != NULL && in[i]) ||
			(f->tombstones == 0 && spec->family.opt.merge != WIDE_MERGE_APPEND) ||
			f->seq_min > to || f->seq_max < from || (hull != NULL && !file_meta_overlap(hull, f)))
			continue;
		if (spec->gap_to == 0 || f->seq_min < spec->gap_from)
			spec->gap_from = f->seq_min;
		if (f->seq_max > spec->gap_to)
			spec->gap_to = f->seq_max;
	}
}

wide_status
retention_new(const retention_spec *spec, retention_emit_fn emit, void *arg, retention **out)
{
	retention *v = calloc(1, sizeof(*v));
	int32_t least;

	if (v == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a compaction");
	v->opt = spec->family.opt;
	v->nfloors = expiry_floors_in_order(spec->floors, v->floors);
	v->horizon = spec->horizon < SEQ_BATCH ? spec->horizon : SEQ_BATCH - 1;
	v->tombstone_seq = spec->tombstone_seq < v->horizon ? spec->tombstone_seq : v->horizon;
	/* entries in the gap may be older than what a delete of the job masks */
	v->bottom = spec->bottom && spec->gap_to == 0;
	v->gap_from = spec->gap_from;
	v->gap_to = spec->gap_to;
	v->exact = v->bottom && !v->opt.keep_deleted;
	v->floor_horizon = spec->known < v->horizon ? spec->known : v->horizon;
	v->sure_deletes = visibility_sure_deletes(&v->opt, v->floors, v->nfloors);
	v->needed = NO_DELETE;
	v->now = spec->now;
	v->expire_before = expiry_cutoff(spec->now, v->opt.ttl_us);
	v->emit = emit;
	v->arg = arg;
	cell_versions_init(&v->column.track, v->opt.versions, v->floors, v->nfloors, v->floor_horizon);
	v->fresh = spec->fresh;
	v->known = spec->known;
	v->ranges = spec->held;
	v->nranges = spec->nheld;
	v->most = least = v->opt.versions;
	for (int i = 0; i < v->nfloors; i++)
	{
		int32_t n = v->floors[i].versions;

		v->most = n > v->most ? n : v->most;
		least = n < least ? n : least;
	}
	v->fewest = least < v->most ? least : INT32_MAX;
	v->operands.slot = -1;
	if (v->opt.merge == WIDE_MERGE_HLL &&
		(v->operands.registers = malloc(WIDE_HLL_REGISTERS)) == NULL)
	{
		retention_free(v);
		return status_fail(WIDE_NOMEM, "out of memory for a compaction");
	}
	*out = v;
	return WIDE_OK;
}

void
retention_free(retention *v)
{
	if (v == NULL)
		return;
	cell_versions_free(&v->column.track);
	buffer_free(&v->row.key);
	buffer_free(&v->column.ukey);
	buffer_free(&v->pending.values);
	free(v->row.deletes.d);
	free(v->column.deletes.d);
	free(v->column.barriers);
	free(v->pending.entries);
	free(v->operands.registers);
	append_free(&v->appended);
	free(v);
}

/* Returns true if there is a barrier in (after, upto], or the gap may have one. */
static bool
barrier_between(const retention *v, uint64_t after, uint64_t upto)
{
	for (int i = 0; i < v->column.nbarriers; i++)
		if (v->column.barriers[i] > after && v->column.barriers[i] <= upto)
			return true;
	return after < v->gap_to && upto >= v->gap_from;
}

static wide_status
barrier_note(retention *v, uint64_t at)
{
	TRY(array_grow((void **) &v->column.barriers, v->column.nbarriers, &v->column.barriers_cap,
				   sizeof(uint64_t)));
	v->column.barriers[v->column.nbarriers++] = at;
	return WIDE_OK;
}

/*
 * Readers may differ in the deletes that they regard, so floors may matter to what is
 * kept.  Notes for which floors the entry does, rather for too many than for too few.
 */
static void
note_needed(retention *v, const entry *e)
{
	bool many = entry_is_put(e) && ++v->column.nputs > v->fewest;

	for (int i = 0; i < v->nfloors; i++)
	{
		const family_floor *f = &v->floors[i];

		if (f->seq < v->needed &&
			(many || (e->seq <= f->seq &&
					  (entry_is_put(e) ? e->ts < f->expired_before : !f->keep_deleted))))
			v->needed = f->seq;
	}
}

/* Passes an entry that is kept to emit. */
static wide_status
keep_entry(retention *v, const entry *e)
{
	if (v->nfloors > 0 && !v->exact && e->seq <= v->horizon)
		note_needed(v, e);
	return v->emit(v->arg, e);
}

uint64_t
retention_settled(const retention *v)
{
	uint64_t settled = v->floor_horizon < v->tombstone_seq ? v->floor_horizon : v->tombstone_seq;

	if (!v->bottom)
		return 0;
	return v->needed < settled ? v->needed : settled;
}

/* Returns true if the delete d masks the entry c behind it in the column. */
static bool
pending_masks(const entry *d, const entry *c)
{
	if (!entry_is_put(c) || c->seq >= d->seq)
		return false;
	return d->type == ENTRY_DELETE_COLUMN ? c->ts <= d->ts : c->ts == d->ts;
}

/* The sum of operands is complete: writes it. */
static wide_status
operands_end(retention *v)
{
	uint8_t bytes[FOLD_MOST];
	pending_entry *h;

	if (v->operands.slot < 0)
		return WIDE_OK;
	h = &v->pending.entries[v->operands.slot];
	v->operands.slot = -1;
	h->value = v->pending.values.len;
	h->e.vlen = fold_write(v->opt.merge, &v->operands.value, bytes);
	return buffer_append(&v->pending.values, bytes, h->e.vlen);
}

/* Returns true if no reader has, or ever will have, a snapshot from seq `from` up to before `to`,
 * or one that sees only one of the two: a snapshot with exclusions is in a range that begins before
 * the first of them (what it needs, snapshot.c). */
static bool
nobody_between(const retention *v, uint64_t from, uint64_t to)
{
	if (v->fresh == 0 || to > v->fresh)
		return false;
	for (int i = 0; i < v->nranges; i++)
		if (v->ranges[i].first < to && v->ranges[i].last >= from)
			return false;
	return true;
}

/*
 * Returns true if the two operands, of which the first is the older one, are folded: no reader can
 * tell them apart, and no entry of the column outside the job can be between them.
 */
static bool
appended_folds(const void *arg, const append_part *older, const append_part *newer)
{
	const retention *v = arg;

	if (v->gap_to != 0 && older->seq <= v->gap_to && newer->seq >= v->gap_from)
		return false;
	if (newer->seq <= v->horizon)
		return true;
	return newer->seq <= v->known && !v->row.delete_above && !v->column.delete_above &&
		   nobody_between(v, older->seq, newer->seq);
}

/* Keeps the column's operands.  fold: they are all there, and are folded. */
static wide_status
appended_release(retention *v, bool fold)
{
	append_list *l = &v->appended;

	if (fold)
		TRY(append_fold(l, appended_folds, v));
	for (int i = 0; i < l->n; i++)
	{
		const append_part *p = &l->parts[i];
		entry e = {.ukey = v->column.ukey.data,
				   .klen = (uint32_t) v->column.ukey.len,
				   .rowlen = (uint32_t) v->row.key.len,
				   .ts = p->ts,
				   .seq = p->seq,
				   .type = ENTRY_PUT,
				   .vlen = p->len};

		e.value = p->len == 0 ? (const uint8_t *) ""
							  : (fold ? &l->joined : &l->bytes)->data + p->at;
		TRY(keep_entry(v, &e));
	}
	append_clear(l);
	return WIDE_OK;
}

/* Decides about the pending entries and keeps those that stay, in order.  all: everything stays,
 * because the column goes on. */
static wide_status
pending_release(retention *v, bool all)
{
	bool stays = v->column.above;
	pending_entry *h = v->pending.entries;
	int n = v->pending.n;

	TRY(operands_end(v));
	/* backwards, because what follows an entry decides about it */
	for (int i = n - 1; i >= 0; i--)
	{
		bool keep = all || (h[i].kind == PENDING_EXPIRED && stays) ||
					(h[i].kind == PENDING_PAST && barrier_between(v, h[i].e.seq, h[i].newer));

		for (int j = i + 1; h[i].kind == PENDING_DELETE && j < n && !keep; j++)
			keep = h[j].kind == PENDING_KEEP && pending_masks(&h[i].e, &h[j].e);
		if (keep)
			h[i].kind = PENDING_KEEP;
		stays |= h[i].kind == PENDING_KEEP && entry_is_put(&h[i].e);
	}
	for (int i = 0; i < n; i++)
	{
		if (h[i].kind != PENDING_KEEP)
			continue;
		h[i].e.ukey = v->column.ukey.data;
		h[i].e.value = v->pending.values.data + h[i].value;
		TRY(keep_entry(v, &h[i].e));
	}
	v->pending.n = 0;
	v->pending.values.len = 0;
	if (v->appended.n > 0)
		TRY(appended_release(v, !all && !v->column.partly));
	v->column.partly = all;
	return WIDE_OK;
}

/* Returns true if as much is pending as may be. */
static bool
pending_full(const retention *v)
{
	return v->pending.values.len > retention_bytes ||
		   (size_t) v->pending.n > retention_bytes / sizeof(pending_entry);
}

/* Makes the entry pending. */
static wide_status
pending_add(retention *v, const entry *e, enum pending_kind kind, uint64_t newer)
{
	pending_entry *h;

	TRY(array_grow((void **) &v->pending.entries, v->pending.n, &v->pending.cap,
				   sizeof(pending_entry)));
	h = &v->pending.entries[v->pending.n];
	*h = (pending_entry) {.kind = kind, .e = *e, .value = v->pending.values.len, .newer = newer};
	TRY(buffer_append(&v->pending.values, e->value, e->vlen));
	v->pending.n++;
	return WIDE_OK;
}

/* Keeps the entry, or makes it pending: the rest of the column decides about it (kind), or about
 * one before it.  newer: see PENDING_PAST. */
static wide_status
keep_or_decide(retention *v, const entry *e, enum pending_kind kind, uint64_t newer)
{
	if (kind == PENDING_KEEP && v->pending.n == 0)
		return keep_entry(v, e);
	if (pending_full(v))
	{
		TRY(pending_release(v, true));
		return keep_entry(v, e);
	}
	return pending_add(v, e, kind, newer);
}

/* Begins a column. */
static wide_status
take_column(retention *v, const entry *e)
{
	TRY(buffer_set(&v->column.ukey, e->ukey, e->klen));
	cell_versions_reset(&v->column.track);
	v->column.deletes.n = 0;
	v->column.delete_seq = 0;
	v->column.version_seq = v->column.version_seq2 = NO_DELETE;
	v->column.any_put = v->column.above = v->column.delete_above = v->column.partly = false;
	v->above.n = 0;
	v->column.nputs = 0;
	v->operands.versions = 0;
	memset(v->column.ranks, 0, (size_t) v->nfloors * sizeof(*v->column.ranks));
	v->column.nbarriers = 0;
	if (v->exact)
		return WIDE_OK;
	for (int i = 0; i < v->nfloors; i++)
		TRY(barrier_note(v, v->floors[i].seq + 1));
	for (int i = 0; i < v->row.deletes.n; i++)
		if (v->row.deletes.d[i].type == ENTRY_DELETE_FAMILY_VERSION)
			TRY(barrier_note(v, v->row.deletes.d[i].seq));
	return WIDE_OK;
}

/* Returns true if the delete is dropped at the bottom, whatever follows. */
static bool
delete_goes(const retention *v, const entry *e)
{
	if (!v->bottom || e->seq > v->tombstone_seq)
		return false;
	if (!v->opt.keep_deleted || (v->opt.min_versions == 0 && e->ts < v->expire_before))
		return true;
	/* all that it masks is dropped here, unless it masks a single timestamp; see take_put */
	return e->seq <= v->sure_deletes &&
		   (e->type == ENTRY_DELETE_COLUMN || e->type == ENTRY_DELETE_FAMILY);
}

/*
 * Returns true if the delete is superfluous for every reader, because one of the same
 * reach with this seq and ts, which came before in key order, masks all that it masks.
 */
static bool
delete_repeated(const retention *v, const entry *e, uint64_t seq, int64_t ts)
{
	if (seq <= e->seq)
		return false;
	if (seq <= v->sure_deletes)
		return true;
	/* a reader may disregard the newer one but not the older one, which is from before keep_deleted
	 * or has an earlier timestamp */
	return e->seq > v->sure_deletes && ts == e->ts && !entry_is_untimed(e);
}

/* Adds a delete.  Within a column, one of the column reaches as a family delete does. */
static wide_status
delete_note(delete_list *l, const entry *e)
{
	uint8_t type = e->type == ENTRY_DELETE_COLUMN ? ENTRY_DELETE_FAMILY : e->type;

	TRY(array_grow((void **) &l->d, l->n, &l->cap, sizeof(row_delete)));
	l->d[l->n++] = (row_delete) {.ts = e->ts, .seq = e->seq, .type = type};
	return WIDE_OK;
}

static wide_status
take_family_delete(retention *v, const entry *e)
{
	if (e->seq > v->horizon)
	{
		v->row.delete_above = true;
		return v->emit(v->arg, e);
	}
	if (delete_repeated(v, e, v->row.delete_seq, v->row.delete_ts) &&
		(!v->opt.keep_deleted || e->type == ENTRY_DELETE_FAMILY))
		return WIDE_OK;
	if (e->type == ENTRY_DELETE_FAMILY && (e->seq > v->row.delete_seq || v->row.delete_ts != e->ts))
	{
		v->row.delete_seq = e->seq;
		v->row.delete_ts = e->ts;
	}
	TRY(delete_note(&v->row.deletes, e));
	return delete_goes(v, e) ? WIDE_OK : keep_entry(v, e);
}

static wide_status
take_column_delete(retention *v, const entry *e)
{
	bool same = v->column.delete_ts == e->ts && e->type == ENTRY_DELETE_COLUMN;

	if (delete_repeated(v, e, v->column.delete_seq, v->column.delete_ts) &&
		(!v->opt.keep_deleted || same))
		return WIDE_OK;
	if (e->type == ENTRY_DELETE_COLUMN)
	{
		if (e->seq > v->column.delete_seq || !same)
		{
			v->column.delete_seq = e->seq;
			v->column.delete_ts = e->ts;
		}
		if (v->opt.keep_deleted)
			TRY(delete_note(&v->column.deletes, e));
	}
	else
	{
		v->column.version_seq2 = v->column.version_ts == e->ts ? v->column.version_seq : NO_DELETE;
		v->column.version_seq = e->seq;
		v->column.version_ts = e->ts;
		/* versions with newer timestamps are not masked: what they displace is certain */
		if (!v->exact)
			TRY(barrier_note(v, e->seq));
	}
	if (delete_goes(v, e))
		return WIDE_OK;
	return keep_or_decide(v, e,
						  v->bottom && v->opt.keep_deleted && e->seq <= v->tombstone_seq
							  ? PENDING_DELETE
							  : PENDING_KEEP,
						  0);
}

/* Counts a version that is alive in [from, to), as far as that is certain. */
static wide_status
count_alive(retention *v, uint64_t from, uint64_t to)
{
	for (int i = 0; i < v->column.nbarriers; i++)
		if (v->column.barriers[i] > from && v->column.barriers[i] < to)
			to = v->column.barriers[i];
	/* at any time within the gap there may be an unknown delete */
	if (from < v->gap_to && to > v->gap_from)
		to = from < v->gap_from ? v->gap_from : from + 1;
	return cell_versions_add(&v->column.track, from, to);
}

static wide_status
take_put(retention *v, const entry *e)
{
	uint64_t covered = NO_DELETE, exact = NO_DELETE, to, death;
	bool again = v->column.any_put && v->column.put_ts == e->ts;
	uint64_t newer = v->column.put_seq;

	v->column.any_put = true;
	v->column.put_ts = e->ts;
	v->column.put_seq = e->seq;
	visibility_row_masks(v->row.deletes.d, v->row.deletes.n, e, &covered, &exact);
	if (v->opt.keep_deleted)
		visibility_row_masks(v->column.deletes.d, v->column.deletes.n, e, &covered, &exact);
	else if (v->column.delete_seq > e->seq)
		return WIDE_OK;
	if (covered <= v->sure_deletes)
		return WIDE_OK;
	if (v->column.version_seq != NO_DELETE && v->column.version_ts == e->ts)
	{
		uint64_t d = v->column.version_seq > e->seq ? v->column.version_seq
													: v->column.version_seq2;

		if (d < exact)
			exact = d;
	}
	if (expiry_family_ttl_passed(e, v->opt.min_versions, v->expire_before, v->floors, v->nfloors))
		return WIDE_OK;
	if (e->seq < v->column.track.dead_end)
		return WIDE_OK;
	to = covered < exact ? covered : exact;
	if (to == NO_DELETE)
		to = SEQ_END;
	if (again && newer < to)
		to = newer;
	death = expiry_version_end(e, to, v->floors, v->nfloors, v->column.ranks);
	/* only floors up to floor_horizon: before a later one there may be deletes outside the job */
	if (death > v->floor_horizon)
		death = to;
	TRY(count_alive(v, e->seq, death));
	if (again)
	{
		if (v->exact)
			return WIDE_OK;
		return keep_or_decide(v, e, barrier_between(v, e->seq, newer) ? PENDING_KEEP : PENDING_PAST,
							  newer);
	}
	if ((exact != NO_DELETE || death < to) && v->exact)
		return WIDE_OK;
	return keep_or_decide(v, e,
						  v->bottom && expiry_cell_ttl_passed(e, v->now) ? PENDING_EXPIRED
																		 : PENDING_KEEP,
						  0);
}

/*
 * Returns true if the operand is folded into the slot because no reader can tell them apart: see
 * "Merge operators" in visibility.c.  A delete that would mask one of them alone comes before both
 * in the column, is outside the job and not known, or may be in a gap.
 */
static bool
operand_folds(const retention *v, const entry *e)
{
	const entry *to;

	if (v->operands.slot < 0 || v->gap_to != 0)
		return false;
	to = &v->pending.entries[v->operands.slot].e;
	if (to->seq <= v->horizon && e->seq <= v->horizon)
		return v->operands.ts == e->ts ||
			   (v->opt.ttl_us == 0 && v->operands.versions >= v->opt.versions);
	return v->opt.versions == 1 && v->opt.ttl_us == 0 && e->seq < to->seq && to->seq <= v->known &&
		   !v->row.delete_above && !v->column.delete_above && nobody_between(v, e->seq, to->seq);
}

/* Takes an operand that is appended.  Its place among the others is known when the column is
 * complete. */
static wide_status
take_appended(retention *v, const entry *e)
{
	append_list *l = &v->appended;

	/* each expires by itself */
	if (v->opt.ttl_us > 0)
		return keep_or_decide(v, e, PENDING_KEEP, 0);
	if (l->bytes.len + (size_t) l->n * sizeof(*l->parts) > retention_appended_bytes)
		TRY(pending_release(v, true));
	return append_add(l, e, e->seq);
}

/* Takes an operand: folds it into the one before it, or begins a sum with it. */
static wide_status
take_operand(retention *v, const entry *e)
{
	uint64_t covered = NO_DELETE, exact = NO_DELETE;
	entry empty = *e;

	visibility_row_masks(v->row.deletes.d, v->row.deletes.n, e, &covered, &exact);
	if (covered != NO_DELETE || exact != NO_DELETE || v->column.delete_seq > e->seq ||
		(e->seq <= v->horizon && e->ts < v->expire_before))
		return WIDE_OK;
	if (v->opt.merge == WIDE_MERGE_APPEND)
		return take_appended(v, e);
	/* what cannot be folded stays as it is: an error would keep the store from flushing, for ever
	 */
	if (!fold_valid(v->opt.merge, e->value, e->vlen))
	{
		TRY(operands_end(v));
		return keep_or_decide(v, e, PENDING_KEEP, 0);
	}
	/* The sum keeps the sequence number of the first, which has the newest of its timestamp: with
	 * that of an older timestamp it could be the key of another operand. */
	if (operand_folds(v, e))
		return fold_take(v->opt.merge, &v->operands.value, e->value, e->vlen);
	TRY(operands_end(v));
	if (pending_full(v))
		TRY(pending_release(v, true));
	if (e->seq <= v->horizon && (v->operands.versions == 0 || v->operands.ts != e->ts))
	{
		v->operands.versions++;
		v->operands.ts = e->ts;
	}
	empty.vlen = 0;
	TRY(pending_add(v, &empty, PENDING_KEEP, 0));
	v->operands.slot = v->pending.n - 1;
	v->operands.value = (fold) {.registers = v->operands.registers};
	return fold_take(v->opt.merge, &v->operands.value, e->value, e->vlen);
}

/*
 * Takes a put above the horizon, which comes in key order.  Returns true if it was
 * displaced before the first snapshot that could see it; see visibility.c.
 */
static bool
nobody_sees(retention *v, const entry *e)
{
	uint64_t dead = 0;
	bool displaced = v->above.n >= (uint64_t) v->most;

	if (v->fresh == 0 || v->most > UNSEEN_VERSIONS)
		return false;
	/* the past of a version is no version; too rare to be worth dropping */
	if (v->above.n > 0 && e->ts == v->above.ts)
		return false;
	for (uint64_t i = 1; displaced && i <= (uint64_t) v->most; i++)
	{
		uint64_t seq = v->above.seqs[(v->above.n - i) % UNSEEN_VERSIONS];

		displaced = seq > e->seq;
		dead = seq > dead ? seq : dead;
	}
	v->above.seqs[v->above.n++ % UNSEEN_VERSIONS] = e->seq;
	v->above.ts = e->ts;
	if (!displaced)
		return false;
	/* a single newer version displaces it at its birth; several have to be alive together */
	if (v->most > 1 && (v->row.delete_above || v->column.delete_above || v->gap_to != 0 ||
						v->nfloors > 0 || dead > v->known))
		return false;
	return nobody_between(v, e->seq, dead);
}

wide_status
retention_feed(retention *v, const entry *e)
{
	if (e->klen != v->column.ukey.len || memcmp(e->ukey, v->column.ukey.data, e->klen) != 0)
	{
		TRY(pending_release(v, false));
		if (e->rowlen != v->row.key.len || memcmp(e->ukey, v->row.key.data, e->rowlen) != 0)
		{
			TRY(buffer_set(&v->row.key, e->ukey, e->rowlen));
			v->row.deletes.n = 0;
			v->row.delete_seq = 0;
			v->row.delete_above = false;
		}
		TRY(take_column(v, e));
	}
	if (entry_is_family_delete(e))
		return take_family_delete(v, e);
	/* only behind operands at the end of time */
	if (v->appended.n > 0 && !entry_is_put(e))
		TRY(pending_release(v, true));
	if (e->seq > v->horizon)
	{
		v->column.above = true;
		if (!entry_is_put(e))
			v->column.delete_above = true;
		else if (v->opt.merge != WIDE_MERGE_NONE)
			return take_operand(v, e);
		else if (nobody_sees(v, e))
			return WIDE_OK;
		return keep_or_decide(v, e, PENDING_KEEP, 0);
	}
	if (!entry_is_put(e))
		return take_column_delete(v, e);
	return v->opt.merge != WIDE_MERGE_NONE ? take_operand(v, e) : take_put(v, e);
}

wide_status
retention_end(retention *v)
{
	return pending_release(v, false);
}

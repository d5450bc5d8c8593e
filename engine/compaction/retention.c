/*
 * retention.c - what of a family's entries a compaction keeps.
 *
 * The rules and why they are right are at the top of visibility.c.  Entries come in
 * key order; what stays goes out through emit in the same order, at once where
 * possible.  The rest of a column is held back when a decision depends on what
 * follows in it; beyond BUFFER_BYTES everything held is kept, which is always
 * right.  No locks; private memory only.
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
#include "engine/read/cell_versions.h"
#include "engine/read/expiry.h"
#include "engine/read/visibility.h"

#define BUFFER_BYTES	((size_t) 16 << 20)
#define UNSEEN_VERSIONS 16 /* families with more: what is above the horizon stays */

/* What the rest of the column decides. */
enum held_kind
{
	HELD_KEEP,
	HELD_PAST,	  /* the past of a version: kept when there is a barrier in (seq, newer] */
	HELD_EXPIRED, /* own TTL passed: kept when something older stays */
	HELD_DELETE	  /* kept when something it masks stays */
};

typedef struct held
{
	uint8_t kind;
	uint8_t type;
	uint32_t vlen;
	int64_t ts, ttl_us;
	uint64_t seq, newer;
	size_t value; /* offset in the arena */
} held;

struct view
{
	wide_family_options opt;
	family_floor floors[FAMILY_FLOORS];
	int nfloors;
	uint64_t horizon, tombstone_seq;
	uint64_t decided;	   /* changes of options up to here can be acted upon */
	uint64_t sure_deletes; /* deletes up to here count for every reader */
	/* a floor with this seq or a later one matters to what is kept; NO_DELETE none */
	uint64_t needed;
	int32_t fewest; /* versions in force at any moment; INT32_MAX: always the same number */
	uint64_t gap_from, gap_to;
	bool bottom;
	bool exact; /* at the bottom and nobody disregards deletes */
	int64_t now, expire_before;
	retention_emit_fn emit;
	void *arg;
	/* the row */
	buffer row;
	row_delete *deletes; /* <= horizon */
	int ndeletes, deletes_cap;
	uint64_t family_seq; /* newest family delete so far */
	int64_t family_ts;
	/* the column */
	buffer ukey;
	uint32_t rowlen;
	cell_versions track;
	row_delete *cdeletes; /* column deletes <= horizon, for keep_deleted */
	int ncdeletes, cdeletes_cap;
	uint64_t column_seq; /* newest column delete so far */
	int64_t column_ts;
	int64_t version_ts;
	uint64_t version_seq, version_seq2;
	uint64_t *barriers;
	int nbarriers, barriers_cap;
	int64_t put_ts;
	uint64_t put_seq;
	int32_t nputs;				  /* kept */
	int32_t ranks[FAMILY_FLOORS]; /* see expiry_version_end */
	bool any_put;
	bool above; /* the column has entries above the horizon */
	/* what nobody sees above the horizon, see nobody_sees */
	uint64_t fresh, known;
	const snapshot_range *ranges;
	int nranges;
	int32_t most;					  /* versions in force at any moment */
	bool row_deletes, column_deletes; /* entries above the horizon so far */
	uint64_t puts[UNSEEN_VERSIONS];	  /* the last puts above the horizon; a ring */
	uint64_t nabove;				  /* number of them in the column */
	int64_t above_ts;				  /* timestamp of the last */
	bool holding;
	held *held;
	int nheld, held_cap;
	buffer arena;
};

void
retention_gap(retention_spec *spec, const file_meta *all, int n, const bool *in,
			  const file_meta *hull, uint64_t from, uint64_t to)
{
	for (int i = 0; i < n; i++)
	{
		const file_meta *f = &all[i];

		/* unknown puts only displace more (visibility.c): a gap is about deletes */
		if ((in != NULL && in[i]) || f->tombstones == 0 || f->seq_min > to || f->seq_max < from ||
			(hull != NULL && !file_meta_overlap(hull, f)))
			continue;
		if (spec->gap_to == 0 || f->seq_min < spec->gap_from)
			spec->gap_from = f->seq_min;
		if (f->seq_max > spec->gap_to)
			spec->gap_to = f->seq_max;
	}
}

wide_status
retention_new(wide_db *db, const retention_spec *spec, retention_emit_fn emit, void *arg,
			  view **out)
{
	view *v = calloc(1, sizeof(*v));

	(void) db;
	if (v == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a compaction");
	v->opt = spec->family.opt;
	v->nfloors = expiry_floors_in_order(spec->floors, v->floors);
	v->horizon = spec->horizon < SEQ_BATCH ? spec->horizon : SEQ_BATCH - 1;
	v->tombstone_seq = spec->tombstone_seq < v->horizon ? spec->tombstone_seq : v->horizon;
	/* what is in the gap may be older than what a delete of the job masks */
	v->bottom = spec->bottom && spec->gap_to == 0;
	v->gap_from = spec->gap_from;
	v->gap_to = spec->gap_to;
	v->exact = v->bottom && !v->opt.keep_deleted;
	v->decided = spec->known < v->horizon ? spec->known : v->horizon;
	v->sure_deletes = visibility_sure_deletes(&v->opt, v->floors, v->nfloors);
	v->needed = NO_DELETE;
	v->now = spec->now;
	v->expire_before = expiry_cutoff(spec->now, v->opt.ttl_us);
	v->emit = emit;
	v->arg = arg;
	cell_versions_init(&v->track, v->opt.versions, v->floors, v->nfloors, v->decided);
	v->fewest = INT32_MAX;
	v->fresh = spec->fresh;
	v->known = spec->known;
	v->ranges = spec->held;
	v->nranges = spec->nheld;
	v->most = v->opt.versions;
	for (int i = 0; i < v->nfloors; i++)
		if (v->floors[i].versions > v->most)
			v->most = v->floors[i].versions;
	for (int i = 0; i < v->nfloors; i++)
		if (v->floors[i].versions != v->opt.versions)
		{
			int32_t less = v->floors[i].versions < v->opt.versions ? v->floors[i].versions
																   : v->opt.versions;

			v->fewest = less < v->fewest ? less : v->fewest;
		}
	*out = v;
	return WIDE_OK;
}

void
retention_free(view *v)
{
	if (v == NULL)
		return;
	cell_versions_free(&v->track);
	buffer_free(&v->row);
	buffer_free(&v->ukey);
	buffer_free(&v->arena);
	free(v->deletes);
	free(v->cdeletes);
	free(v->barriers);
	free(v->held);
	free(v);
}

static bool
barrier_between(const view *v, uint64_t after, uint64_t upto)
{
	for (int i = 0; i < v->nbarriers; i++)
		if (v->barriers[i] > after && v->barriers[i] <= upto)
			return true;
	return after < v->gap_to && upto >= v->gap_from;
}

static wide_status
barrier_note(view *v, uint64_t at)
{
	TRY(array_grow((void **) &v->barriers, v->nbarriers, &v->barriers_cap, sizeof(uint64_t)));
	v->barriers[v->nbarriers++] = at;
	return WIDE_OK;
}

/*
 * Where readers differ in the deletes that they regard, floors may matter to
 * what is kept: note for which of them it does, rather too many than too few.
 */
static void
note_needed(view *v, const entry *e)
{
	bool many = entry_is_put(e) && ++v->nputs > v->fewest;

	for (int i = 0; i < v->nfloors; i++)
	{
		const family_floor *f = &v->floors[i];

		if (f->seq < v->needed &&
			(many || (e->seq <= f->seq &&
					  (entry_is_put(e) ? e->ts < f->expired_before : !f->keep_deleted))))
			v->needed = f->seq;
	}
}

/* It stays. */
static wide_status
give_out(view *v, const entry *e)
{
	if (v->nfloors > 0 && !v->exact && e->seq <= v->horizon)
		note_needed(v, e);
	return v->emit(v->arg, e);
}

uint64_t
retention_settled(const view *v)
{
	uint64_t settled = v->decided < v->tombstone_seq ? v->decided : v->tombstone_seq;

	if (!v->bottom)
		return 0;
	return v->needed < settled ? v->needed : settled;
}

static bool
held_masks(const held *d, const held *c)
{
	if (c->type != ENTRY_PUT || c->seq >= d->seq)
		return false;
	return d->type == ENTRY_DELETE_COLUMN ? c->ts <= d->ts : c->ts == d->ts;
}

/* Decide what is held and let the rest go, in order.  all: the column goes on, so everything
 * stays. */
static wide_status
held_release(view *v, bool all)
{
	bool stays = v->above;

	for (int i = 0; i < v->nheld; i++)
		if (all ||
			(v->held[i].kind == HELD_PAST && barrier_between(v, v->held[i].seq, v->held[i].newer)))
			v->held[i].kind = HELD_KEEP;
	for (int i = v->nheld - 1; i >= 0; i--)
	{
		if (v->held[i].kind == HELD_EXPIRED && stays)
			v->held[i].kind = HELD_KEEP;
		if (v->held[i].kind == HELD_KEEP && v->held[i].type == ENTRY_PUT)
			stays = true;
	}
	for (int i = 0; i < v->nheld; i++)
	{
		const held *h = &v->held[i];
		bool keep = h->kind == HELD_KEEP;
		entry e;

		for (int j = i + 1; h->kind == HELD_DELETE && j < v->nheld && !keep; j++)
			keep = v->held[j].kind == HELD_KEEP && held_masks(h, &v->held[j]);
		if (!keep)
			continue;
		e.ukey = v->ukey.data;
		e.klen = (uint32_t) v->ukey.len;
		e.rowlen = v->rowlen;
		e.ts = h->ts;
		e.seq = h->seq;
		e.type = h->type;
		e.vlen = h->vlen;
		e.ttl_us = h->ttl_us;
		e.value = v->arena.data + h->value;
		TRY(give_out(v, &e));
	}
	v->nheld = 0;
	v->arena.len = 0;
	v->holding = false;
	return WIDE_OK;
}

/* The entry stays, or it depends (kind) on the rest of the column. */
static wide_status
compact_keep(view *v, const entry *e, enum held_kind kind, uint64_t newer)
{
	held *h;

	if (kind == HELD_KEEP && !v->holding)
		return give_out(v, e);
	if (v->arena.len > BUFFER_BYTES || (size_t) v->nheld > BUFFER_BYTES / sizeof(held))
	{
		TRY(held_release(v, true));
		return give_out(v, e);
	}
	TRY(array_grow((void **) &v->held, v->nheld, &v->held_cap, sizeof(held)));
	h = &v->held[v->nheld];
	h->value = v->arena.len;
	if (e->vlen > 0)
		TRY(buffer_append(&v->arena, e->value, e->vlen));
	h->kind = (uint8_t) kind;
	h->type = e->type;
	h->vlen = e->vlen;
	h->ts = e->ts;
	h->ttl_us = e->ttl_us;
	h->seq = e->seq;
	h->newer = newer;
	v->nheld++;
	v->holding = true;
	return WIDE_OK;
}

static wide_status
compact_column(view *v, const entry *e)
{
	v->ukey.len = 0;
	TRY(buffer_append(&v->ukey, e->ukey, e->klen));
	v->rowlen = e->rowlen;
	cell_versions_reset(&v->track);
	v->ncdeletes = 0;
	v->column_seq = 0;
	v->version_seq = v->version_seq2 = NO_DELETE;
	v->any_put = v->above = v->column_deletes = false;
	v->nabove = 0;
	v->nputs = 0;
	memset(v->ranks, 0, (size_t) v->nfloors * sizeof(*v->ranks));
	v->nbarriers = 0;
	if (v->exact)
		return WIDE_OK;
	for (int i = 0; i < v->nfloors; i++)
		TRY(barrier_note(v, v->floors[i].seq + 1));
	for (int i = 0; i < v->ndeletes; i++)
		if (v->deletes[i].type == ENTRY_DELETE_FAMILY_VERSION)
			TRY(barrier_note(v, v->deletes[i].seq));
	return WIDE_OK;
}

/* May this delete go at the bottom, whatever follows? */
static bool
delete_goes(const view *v, const entry *e)
{
	if (!v->bottom || e->seq > v->tombstone_seq)
		return false;
	if (!v->opt.keep_deleted || (v->opt.min_versions == 0 && e->ts < v->expire_before))
		return true;
	/* all that it masks is dropped here, but what has the one timestamp is not: see compact_put */
	return e->seq <= v->sure_deletes &&
		   (e->type == ENTRY_DELETE_COLUMN || e->type == ENTRY_DELETE_FAMILY);
}

/*
 * All that a delete masks is masked by another of the same reach with this seq
 * and ts, that came before in key order: is it superfluous for every reader?
 */
static bool
delete_repeated(const view *v, const entry *e, uint64_t seq, int64_t ts)
{
	if (seq <= e->seq)
		return false;
	if (seq <= v->sure_deletes)
		return true;
	/* the newer one may be disregarded where the older one is not: that is from before
	 * keep_deleted, or of an earlier time */
	return e->seq > v->sure_deletes && ts == e->ts && !entry_is_untimed(e);
}

static wide_status
compact_family_delete(view *v, const entry *e)
{
	row_delete *d;

	if (e->seq > v->horizon)
	{
		v->row_deletes = true;
		return v->emit(v->arg, e);
	}
	if (delete_repeated(v, e, v->family_seq, v->family_ts) &&
		(!v->opt.keep_deleted || e->type == ENTRY_DELETE_FAMILY))
		return WIDE_OK;
	if (e->type == ENTRY_DELETE_FAMILY && (e->seq > v->family_seq || v->family_ts != e->ts))
	{
		v->family_seq = e->seq;
		v->family_ts = e->ts;
	}
	TRY(array_grow((void **) &v->deletes, v->ndeletes, &v->deletes_cap, sizeof(row_delete)));
	d = &v->deletes[v->ndeletes++];
	d->ts = e->ts;
	d->seq = e->seq;
	d->type = e->type;
	return delete_goes(v, e) ? WIDE_OK : give_out(v, e);
}

static wide_status
compact_column_delete(view *v, const entry *e)
{
	bool same = v->column_ts == e->ts && e->type == ENTRY_DELETE_COLUMN;

	if (delete_repeated(v, e, v->column_seq, v->column_ts) && (!v->opt.keep_deleted || same))
		return WIDE_OK;
	if (e->type == ENTRY_DELETE_COLUMN)
	{
		if (e->seq > v->column_seq || !same)
		{
			v->column_seq = e->seq;
			v->column_ts = e->ts;
		}
		if (v->opt.keep_deleted)
		{
			TRY(array_grow((void **) &v->cdeletes, v->ncdeletes, &v->cdeletes_cap,
						   sizeof(row_delete)));
			v->cdeletes[v->ncdeletes].ts = e->ts;
			/* the same reach within a column */
			v->cdeletes[v->ncdeletes].type = ENTRY_DELETE_FAMILY;
			v->cdeletes[v->ncdeletes++].seq = e->seq;
		}
	}
	else
	{
		v->version_seq2 = v->version_ts == e->ts ? v->version_seq : NO_DELETE;
		v->version_seq = e->seq;
		v->version_ts = e->ts;
		/* versions with newer timestamps are not touched: what they displace is sure */
		if (!v->exact)
			TRY(barrier_note(v, e->seq));
	}
	if (delete_goes(v, e))
		return WIDE_OK;
	return compact_keep(v, e,
						v->bottom && v->opt.keep_deleted && e->seq <= v->tombstone_seq ? HELD_DELETE
																					   : HELD_KEEP,
						0);
}

/* Count the version in [from, to), as far as that is certain. */
static wide_status
compact_alive(view *v, uint64_t from, uint64_t to)
{
	for (int i = 0; i < v->nbarriers; i++)
		if (v->barriers[i] > from && v->barriers[i] < to)
			to = v->barriers[i];
	/* in the gap, any moment may have a delete that we do not know */
	if (from < v->gap_to && to > v->gap_from)
		to = from < v->gap_from ? v->gap_from : from + 1;
	return cell_versions_add(&v->track, from, to);
}

static wide_status
compact_put(view *v, const entry *e)
{
	uint64_t covered = NO_DELETE, exact = NO_DELETE, to, death;
	bool again = v->any_put && v->put_ts == e->ts;
	uint64_t newer = v->put_seq;

	v->any_put = true;
	v->put_ts = e->ts;
	v->put_seq = e->seq;
	visibility_row_masks(v->deletes, v->ndeletes, e, &covered, &exact);
	if (v->opt.keep_deleted)
		visibility_row_masks(v->cdeletes, v->ncdeletes, e, &covered, &exact);
	else if (v->column_seq > e->seq)
		return WIDE_OK;
	if (covered <= v->sure_deletes)
		return WIDE_OK;
	if (v->version_seq != NO_DELETE && v->version_ts == e->ts)
	{
		uint64_t d = v->version_seq > e->seq ? v->version_seq : v->version_seq2;

		if (d < exact)
			exact = d;
	}
	if (expiry_family_ttl_passed(e, v->opt.min_versions, v->expire_before, v->floors, v->nfloors))
		return WIDE_OK;
	if (e->seq < v->track.dead_end)
		return WIDE_OK;
	to = covered < exact ? covered : exact;
	if (to == NO_DELETE)
		to = SEQ_END;
	if (again && newer < to)
		to = newer;
	death = expiry_version_end(e, to, v->floors, v->nfloors, v->ranks);
	/* the changes up to `decided` only: before a later one there may be deletes that are not in
	 * the job */
	if (death > v->decided)
		death = to;
	TRY(compact_alive(v, e->seq, death));
	if (again)
	{
		if (v->exact)
			return WIDE_OK;
		return compact_keep(v, e, barrier_between(v, e->seq, newer) ? HELD_KEEP : HELD_PAST, newer);
	}
	if ((exact != NO_DELETE || death < to) && v->exact)
		return WIDE_OK;
	return compact_keep(v, e,
						v->bottom && expiry_cell_ttl_passed(e, v->now) ? HELD_EXPIRED : HELD_KEEP,
						0);
}

/*
 * A put above the horizon: displaced before anybody's snapshot?  See visibility.c.  Of
 * the puts above the horizon it is told here which were the last.
 */
static bool
nobody_sees(view *v, const entry *e)
{
	uint64_t dead = 0;
	bool displaced = v->nabove >= (uint64_t) v->most;

	if (v->fresh == 0 || v->most > UNSEEN_VERSIONS)
		return false;
	/* the past of a version is no version: too rare to be thought about */
	if (v->nabove > 0 && e->ts == v->above_ts)
		return false;
	for (uint64_t i = 1; displaced && i <= (uint64_t) v->most; i++)
	{
		uint64_t seq = v->puts[(v->nabove - i) % UNSEEN_VERSIONS];

		displaced = seq > e->seq;
		dead = seq > dead ? seq : dead;
	}
	v->puts[v->nabove++ % UNSEEN_VERSIONS] = e->seq;
	v->above_ts = e->ts;
	if (!displaced || dead > v->fresh)
		return false;
	/* one version that is newer displaces it in the moment of its birth, several have to be
	 * alive together */
	if (v->most > 1 && (v->row_deletes || v->column_deletes || v->gap_to != 0 || v->nfloors > 0 ||
						dead > v->known))
		return false;
	for (int i = 0; i < v->nranges; i++)
		if (v->ranges[i].first < dead && v->ranges[i].last >= e->seq)
			return false;
	return true;
}

wide_status
retention_feed(view *v, const entry *e)
{
	if (e->klen != v->ukey.len || memcmp(e->ukey, v->ukey.data, e->klen) != 0)
	{
		TRY(held_release(v, false));
		if (e->rowlen != v->row.len || memcmp(e->ukey, v->row.data, e->rowlen) != 0)
		{
			v->row.len = 0;
			TRY(buffer_append(&v->row, e->ukey, e->rowlen));
			v->ndeletes = 0;
			v->family_seq = 0;
			v->row_deletes = false;
		}
		TRY(compact_column(v, e));
	}
	if (entry_is_family_delete(e))
		return compact_family_delete(v, e);
	if (e->seq > v->horizon)
	{
		v->above = true;
		if (!entry_is_put(e))
			v->column_deletes = true;
		else if (nobody_sees(v, e))
			return WIDE_OK;
		return compact_keep(v, e, HELD_KEEP, 0);
	}
	return entry_is_put(e) ? compact_put(v, e) : compact_column_delete(v, e);
}

wide_status
retention_end(view *v)
{
	TRY(held_release(v, false));
	v->ukey.len = 0;
	v->row.len = 0;
	return WIDE_OK;
}

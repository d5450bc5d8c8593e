/*
 * snapshot.c - what a reader sees: a sequence number and a few exclusions.
 *
 * slot->snapshot is the oldest LSN whose versions this process still needs;
 * compactions keep what is visible there or later (horizon_oldest).  It is stored
 * before visible_seq is read for the snapshot, both seq_cst, and horizon_oldest
 * reads them in the other order, so a horizon never passes a snapshot.
 *
 * slot->snapshot_last bounds them from above, for what nobody sees between two
 * snapshots (horizon_read).  It is UINT64_MAX from before visible_seq is read
 * until the snapshot's number is known: so who has read visible_seq and then the
 * slots knows that other snapshots than those within the slots' bounds are not
 * below what he has read.
 *
 * A snapshot also has a time, at which TTLs are looked at, so that rows do not
 * expire within it.  slot->snapshot_now is not later than that of any snapshot
 * of this process, and compactions let nothing expire that was alive at it
 * (snapshot_oldest_now).  The same order as for the horizon: it is published,
 * then the clock is read again for the snapshot; compactions read the clock
 * first, then the slots.
 *
 * With a running() callback the snapshot agrees with the caller's own one:
 *   - an external transaction that the caller sees as ended but which is not
 *     published yet is waited for (its process is between its commit record and
 *     wide_publish, or about to forget it);
 *   - one that the caller sees as running and which is published already is
 *     excluded.  The versions that such a snapshot needs, from before the
 *     excluded one, are kept by host->oldest_external (horizon_oldest).
 *   - whatever was finished after an external transaction that the caller sees as
 *     running had ended was committed after the caller's snapshot was taken, and
 *     may build on what that transaction did, here or elsewhere (it need not have
 *     written here).  It is excluded too, but for external batches that the caller
 *     sees as ended (they were between their commit record and their finish
 *     record).  So exclusions are ranges: of all that follows, around those.
 *     Where it begins is told by the number of ended transactions, which is
 *     remembered with the first batch that has found it (commit->ended); without
 *     that, it begins with the first batch whose transaction runs.  While no
 *     transaction has ended since the caller's snapshot there is nothing to ask.
 * The ring of external commits is finite.  Entries whose transaction no
 * snapshot can see as running any more (below oldest_external, which only
 * rises) are passed over once and for all: the process remembers up to where.
 *
 * A snapshot goes to another process as bytes.  That one stores what it needs in
 * its own slot, makes the move known (commit.snapshot_moves, after the store)
 * and then looks whether anybody still protected it: so there is no moment at
 * which horizon_oldest could miss both.
 *
 * Locking: LOCK_COMMIT to copy ring entries; callbacks run without a lock.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/set/snapshot.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/injection_point.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"

#define COPY_MAX 256 /* ring entries looked at under one lock */

struct wide_snapshot
{
	wide_db *db;
	wide_snapshot *next, *prev;
	uint64_t seq;	/* UINT64_MAX: not known yet */
	uint64_t needs; /* versions visible at this LSN and later */
	int64_t now;
	int64_t newest_ts;	 /* no batch up to seq has a newer commit timestamp */
	seq_range *excluded; /* sorted */
	int nexcluded, excluded_cap;
	bool latest;	   /* of applied_seq: can be renewed */
	bool shared;	   /* offered in our slot */
	uint64_t out_from; /* while it is taken: excluded from here on, 0 = nothing yet */
};

struct snapshot_local
{
	wide_snapshot *all;
	uint64_t settled; /* ring entries below this are nobody's running ones */
};

/* After seq was read: the timestamp is given out before the batch has a seq. */
static void
note_newest_ts(wide_snapshot *s)
{
	s->newest_ts = __atomic_load_n(&s->db->seg->commit.last_ts, __ATOMIC_ACQUIRE);
}

/*
 * What protects more has to be seen by others before anything is read that
 * relies on it.  What protects less only has to come after what was read before:
 * such stores are plain ones, and most of those of a short statement are.
 */
static void
store_bounds(process_slot *mine, uint64_t oldest, uint64_t last, int64_t now)
{
	uint64_t was = atomic_load_explicit(&mine->snapshot, memory_order_relaxed);
	bool more = (oldest != 0 && (was == 0 || oldest < was)) ||
				last > atomic_load_explicit(&mine->snapshot_last, memory_order_relaxed) ||
				now < atomic_load_explicit(&mine->snapshot_now, memory_order_relaxed);

	if (more)
	{
		atomic_store(&mine->snapshot_now, now);
		atomic_store(&mine->snapshot_last, last);
		atomic_store(&mine->snapshot, oldest);
		return;
	}
	atomic_store_explicit(&mine->snapshot_now, now, memory_order_release);
	atomic_store_explicit(&mine->snapshot_last, last, memory_order_release);
	atomic_store_explicit(&mine->snapshot, oldest, memory_order_release);
}

/* slot->snapshot and its companions from what lives here. */
static void
note_oldest(wide_db *db)
{
	uint64_t oldest = 0, last = 0;
	int64_t now = INT64_MAX;

	for (wide_snapshot *s = db->snapshots->all; s != NULL; s = s->next)
	{
		if (oldest == 0 || s->needs < oldest)
			oldest = s->needs;
		if (s->seq > last)
			last = s->seq;
		if (s->now < now)
			now = s->now;
	}
	store_bounds(db->slot, oldest, last, now);
}

/* A new one in the list; everything visible now stays readable. */
static wide_status
snapshot_new(wide_db *db, wide_snapshot **out)
{
	wide_snapshot *s;
	uint64_t visible;

	TRY(segment_check(db));
	if (db->snapshots == NULL && (db->snapshots = calloc(1, sizeof(struct snapshot_local))) == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a snapshot");
	s = pool_alloc(sizeof(*s));
	if (s == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a snapshot");
	s->db = db;
	s->seq = UINT64_MAX;
	atomic_store(&db->slot->snapshot_last, UINT64_MAX);
	visible = atomic_load(&db->seg->commit.visible_seq);
	s->needs = visible > 0 ? visible : 1;
	s->now = host_now(db);
	/* not while others need an earlier one */
	if (db->snapshots->all == NULL || s->now < atomic_load(&db->slot->snapshot_now))
		atomic_store(&db->slot->snapshot_now, s->now);
	s->next = db->snapshots->all;
	if (s->next != NULL)
		s->next->prev = s;
	db->snapshots->all = s;
	visible = atomic_load(&db->slot->snapshot);
	if (visible == 0 || visible > s->needs)
		atomic_store(&db->slot->snapshot, s->needs);
	/* what was published may have come too late for a compaction, but then its clock was read
	 * before this */
	s->now = host_now(db);
	*out = s;
	return WIDE_OK;
}

/* Offer these bytes; len 0: nothing any more. */
static void
slot_share(process_slot *me, uint64_t key, const uint8_t *bytes, size_t len)
{
	atomic_fetch_add(&me->share_serial, 1);
	me->share_key = key;
	me->share_len = (uint32_t) len;
	if (len > 0)
		memcpy(me->share, bytes, len);
	atomic_fetch_add(&me->share_serial, 1);
}

void
wide_snapshot_release(wide_snapshot *s)
{
	wide_db *db;

	if (s == NULL)
		return;
	db = s->db;
	if (s->shared)
		slot_share(db->slot, 0, NULL, 0);
	if (s->prev != NULL)
		s->prev->next = s->next;
	else
		db->snapshots->all = s->next;
	if (s->next != NULL)
		s->next->prev = s->prev;
	note_oldest(db);
	free(s->excluded);
	pool_free(s, sizeof(*s));
}

void
snapshot_detach(wide_db *db)
{
	if (db->snapshots == NULL)
		return;
	while (db->snapshots->all != NULL)
		wide_snapshot_release(db->snapshots->all);
	free(db->snapshots);
	db->snapshots = NULL;
}

/* Those whom the caller sees as ended are waited for until they are published or forgotten. */
static wide_status
wait_for_ended(wide_db *db, bool (*running)(void *, uint64_t), void *ctx)
{
	process_slot *slots = layout_processes(db);

	for (uint32_t i = 0; i < layout_processes_used(db); i++)
		for (;;)
		{
			uint32_t seen = atomic_load(&slots[i].prepare_done);
			uint64_t xid = atomic_load(&slots[i].external);

			if (xid == 0 || i == db->slot_index || running(ctx, xid))
				break;
			TRY(segment_wait(db, &slots[i].prepare_done, seen, 100));
		}
	return WIDE_OK;
}

static wide_status
exclude(wide_snapshot *s, uint64_t first, uint64_t last)
{
	if (s->nexcluded == s->excluded_cap)
	{
		int cap = s->excluded_cap == 0 ? 8 : 2 * s->excluded_cap;
		seq_range *p = realloc(s->excluded, (size_t) cap * sizeof(*p));

		if (p == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a snapshot");
		s->excluded = p;
		s->excluded_cap = cap;
	}
	s->excluded[s->nexcluded++] = (seq_range) {first, last};
	return WIDE_OK;
}

/* The next external batch of the ring, which is published: does the caller see it as running? */
static wide_status
place_external(wide_snapshot *s, uint64_t seq, bool running)
{
	if (running)
	{
		if (s->out_from == 0)
			s->out_from = seq;
		return WIDE_OK;
	}
	if (s->out_from == 0)
		return WIDE_OK;
	if (s->out_from < seq)
		TRY(exclude(s, s->out_from, seq - 1));
	s->out_from = seq + 1;
	return WIDE_OK;
}

/*
 * The first batch that was finished after an external transaction which the caller
 * sees as running had ended; UINT64_MAX: not that we know.
 */
static wide_status
first_after(wide_db *db, const wide_moment *at, uint64_t *seq)
{
	commit_state *commit = &db->seg->commit;
	uint64_t first;
	bool lost = false;

	*seq = UINT64_MAX;
	TRY(segment_lock(db, LOCK_COMMIT));
	first = commit->ended_head > ENDED_RING ? commit->ended_head - ENDED_RING : 0;
	for (uint64_t i = commit->ended_head; i > first; i--)
	{
		const ended_mark *m = &commit->ended[(i - 1) % ENDED_RING];

		if (at->ended != 0 ? m->ended <= at->ended : m->latest < at->next)
			break;
		*seq = m->seq;
		lost = i - 1 == first && first > 0;
	}
	segment_unlock(db, LOCK_COMMIT);
	if (lost)
		return status_fail(
			WIDE_CONFLICT,
			"the snapshot is too old: more than %d transactions have committed since", ENDED_RING);
	return WIDE_OK;
}

/*
 * Have entries fallen out of the ring that the snapshot would have to know?  Of
 * what was finished from `after` on only those show that the caller sees as
 * ended.  Transactions below `oldest` nobody sees as running, and their numbers
 * may be too old to be compared by the host.
 */
static bool
entries_lost(commit_state *commit, const wide_moment *moment, uint64_t after, uint64_t oldest)
{
	uint64_t xid = atomic_load(&commit->external_evicted);

	if (xid == 0)
		return false;
	return after <= atomic_load(&commit->external_evicted_seq) ||
		   (xid >= oldest && moment->running(moment->ctx, xid));
}

/* Of the published batches, exclude those that the caller does not see. */
static wide_status
exclude_running(wide_snapshot *s, const wide_moment *moment)
{
	wide_db *db = s->db;
	commit_state *commit = &db->seg->commit;
	struct snapshot_local *local = db->snapshots;
	uint64_t at = local->settled, after = UINT64_MAX, head, oldest;
	bool settling;

	if (moment->ended != 0 || moment->next != 0)
		TRY(first_after(db, moment, &after));
	if (after <= s->seq)
		at = 0; /* external batches behind it count, also settled ones */
	/* nothing new since all were settled; what comes from now on is not visible to this snapshot */
	else if (__atomic_load_n(&commit->external_head, __ATOMIC_SEQ_CST) == at)
		return WIDE_OK;
	oldest = db->host.oldest_external != NULL ? db->host.oldest_external(db->host.ctx) : 0;
	settling = oldest != 0;

	do
	{
		external_commit copy[COPY_MAX];
		uint64_t first;
		int n = 0;

		TRY(segment_lock(db, LOCK_COMMIT));
		head = commit->external_head;
		first = head > EXTERNAL_RING ? head - EXTERNAL_RING : 0;
		if (at < first)
			at = first;
		for (; n < COPY_MAX && at + (uint64_t) n < head; n++)
			copy[n] = commit->external[(at + (uint64_t) n) % EXTERNAL_RING];
		segment_unlock(db, LOCK_COMMIT);
		for (int i = 0; i < n; i++)
		{
			settling = settling && copy[i].xid < oldest;
			if (settling && local->settled < at + (uint64_t) i + 1)
				local->settled = at + (uint64_t) i + 1;
			if (copy[i].seq > s->seq)
				continue;
			if (s->out_from == 0 && copy[i].seq >= after)
				s->out_from = after;
			TRY(place_external(s, copy[i].seq,
							   copy[i].xid >= oldest && moment->running(moment->ctx, copy[i].xid)));
		}
		at += (uint64_t) n;
	} while (at < head);
	if (s->out_from == 0 && after <= s->seq)
		s->out_from = after;
	if (entries_lost(commit, moment, after, oldest))
		return status_fail(
			WIDE_CONFLICT,
			"the snapshot is too old: more than %d transactions have committed since",
			EXTERNAL_RING);
	return WIDE_OK;
}

/* Nothing has ended since the caller's snapshot: then what is published now was committed before
 * the next end. */
static bool
nothing_ended(wide_db *db, const wide_moment *at)
{
	uint64_t latest;

	return at->ended != 0 && db->host.ended != NULL &&
		   db->host.ended(db->host.ctx, &latest) == at->ended;
}

wide_status
wide_snapshot_take_at(wide_db *db, const wide_moment *at, wide_snapshot **out)
{
	wide_snapshot *s;
	wide_status st = WIDE_OK;

	*out = NULL;
	TRY(snapshot_new(db, &s));
	if (at->running != NULL)
		TRY_GOTO(wait_for_ended(db, at->running, at->ctx));
	injection_point("snapshot-waited");
	s->seq = atomic_load(&db->seg->commit.visible_seq);
	injection_point("snapshot-numbered");
	if (at->running != NULL && !nothing_ended(db, at))
		TRY_GOTO(exclude_running(s, at));
	if (s->out_from != 0)
	{
		uint64_t first = s->nexcluded > 0 ? s->excluded[0].first : s->out_from;

		/* the last range is open: the snapshot ends before it */
		if (s->out_from <= s->seq)
			s->seq = s->out_from - 1;
		if (first - 1 < s->needs)
			s->needs = first > 1 ? first - 1 : 1;
	}
	note_oldest(db);
	note_newest_ts(s);
	*out = s;
done:
	if (st != WIDE_OK)
		wide_snapshot_release(s);
	return st;
}

wide_status
wide_snapshot_latest(wide_db *db, wide_snapshot **out)
{
	wide_snapshot *s;

	*out = NULL;
	TRY(snapshot_new(db, &s));
	s->seq = atomic_load(&db->seg->commit.applied_seq);
	note_oldest(db);
	note_newest_ts(s);
	s->latest = true;
	*out = s;
	return WIDE_OK;
}

/*
 * Until the slot is changed it protects the old state, and so the newer one;
 * what it is changed to is not above visible_seq, nor is that above applied_seq
 * as it is read afterwards.
 */
wide_status
wide_snapshot_renew(wide_snapshot *s)
{
	wide_db *db = s->db;
	uint64_t visible;

	TRY(segment_check(db));
	if (!s->latest)
		return status_fail(WIDE_INVALID, "only a snapshot of the newest state can be renewed");
	visible = atomic_load(&db->seg->commit.visible_seq);
	if (visible > s->needs)
		s->needs = visible;
	/* the same for the time: until here the slot has an earlier one */
	s->now = host_now(db);
	s->seq = UINT64_MAX;
	note_oldest(db);
	s->seq = atomic_load(&db->seg->commit.applied_seq);
	note_oldest(db);
	note_newest_ts(s);
	return WIDE_OK;
}

int64_t
snapshot_now(const wide_snapshot *s)
{
	return s->now;
}

int64_t
snapshot_newest_ts(const wide_snapshot *s)
{
	return s->newest_ts;
}

int64_t
snapshot_oldest_now(wide_db *db)
{
	int64_t now = host_now(db);
	process_slot *slots = layout_processes(db);

	for (uint32_t i = 0; i < layout_processes_used(db); i++)
	{
		int64_t theirs = atomic_load(&slots[i].snapshot_now);

		if (atomic_load(&slots[i].snapshot) != 0 && theirs < now)
			now = theirs;
	}
	return now;
}

uint64_t
wide_snapshot_lsn(const wide_snapshot *s)
{
	return s->seq;
}

bool
wide_snapshot_is_newest(const wide_snapshot *s)
{
	return s->nexcluded == 0 && s->seq == atomic_load(&s->db->seg->commit.applied_seq);
}

bool
wide_snapshot_sees(const wide_snapshot *s, uint64_t lsn)
{
	for (int i = 0; i < s->nexcluded; i++)
		if (lsn >= s->excluded[i].first && lsn <= s->excluded[i].last)
			return false;
	return lsn <= s->seq;
}

/* ------------------------------------------------ from process to process */

#define EXPORT_MAGIC 0x32706e5365646957ull /* "WideSnp2" */

typedef struct export_head
{
	uint64_t magic;
	uint64_t build; /* of the segment, whose processes alone can use it */
	uint64_t seq, needs;
	int64_t now;
	uint64_t nexcluded; /* the exclusions follow */
	uint64_t hash;		/* of all this (hash = 0) and of what follows */
} export_head;

static uint64_t
export_hash(const export_head *h, const uint8_t *excluded)
{
	export_head copy = *h;

	copy.hash = 0;
	return hash_xxh3(excluded, h->nexcluded * sizeof(seq_range),
					 hash_xxh3(&copy, sizeof(copy), EXPORT_MAGIC));
}

size_t
wide_snapshot_export(const wide_snapshot *s, void *to, size_t size)
{
	export_head h = {.magic = EXPORT_MAGIC,
					 .build = s->db->seg->build,
					 .seq = s->seq,
					 .needs = s->needs,
					 .now = s->now,
					 .nexcluded = (uint64_t) s->nexcluded};
	size_t list = (size_t) s->nexcluded * sizeof(seq_range);

	if (size >= sizeof(h) + list)
	{
		if (list > 0)
			memcpy((uint8_t *) to + sizeof(h), s->excluded, list);
		h.hash = export_hash(&h, (uint8_t *) to + sizeof(h));
		memcpy(to, &h, sizeof(h));
	}
	return sizeof(h) + list;
}

/*
 * Does any process, ours before this one included, keep all that this one needs:
 * the versions from `needs` to seq (what lies between the snapshots of all may be
 * gone), and what is alive at its time?
 */
static bool
is_protected(wide_db *db, const wide_snapshot *mine)
{
	process_slot *slots = layout_processes(db);
	uint64_t first = UINT64_MAX, last = 0;
	int64_t now = INT64_MAX;

	for (const wide_snapshot *s = db->snapshots->all; s != NULL; s = s->next)
		if (s != mine)
		{
			first = s->needs < first ? s->needs : first;
			last = s->seq > last ? s->seq : last;
			now = s->now < now ? s->now : now;
		}
	if (first <= mine->needs && last >= mine->seq && now <= mine->now)
		return true;
	for (uint32_t i = 0; i < layout_processes_used(db); i++)
	{
		if (i == db->slot_index || (first = atomic_load(&slots[i].snapshot)) == 0)
			continue;
		last = atomic_load(&slots[i].snapshot_last);
		now = atomic_load(&slots[i].snapshot_now);
		/* all three of the same moment, which is after the move was made known */
		if (first <= mine->needs && last >= mine->seq && now <= mine->now &&
			atomic_load(&slots[i].snapshot) == first)
			return true;
	}
	return false;
}

wide_status
wide_snapshot_import(wide_db *db, const void *from, size_t size, wide_snapshot **out)
{
	export_head h;
	wide_snapshot *s = NULL;
	wide_status st;

	*out = NULL;
	if (size < sizeof(h))
		return status_fail(WIDE_INVALID, "%zu bytes are not an exported snapshot", size);
	memcpy(&h, from, sizeof(h));
	if (h.magic != EXPORT_MAGIC || h.build != db->seg->build || h.nexcluded > INT32_MAX ||
		size != sizeof(h) + h.nexcluded * sizeof(seq_range) ||
		h.hash != export_hash(&h, (const uint8_t *) from + sizeof(h)))
		return status_fail(WIDE_INVALID,
						   "these bytes are not a snapshot that was exported by this server");
	TRY(snapshot_new(db, &s));
	if (h.nexcluded > 0)
	{
		s->excluded = malloc(h.nexcluded * sizeof(seq_range));
		if (s->excluded == NULL)
		{
			st = status_fail(WIDE_NOMEM, "out of memory for a snapshot");
			goto done;
		}
		memcpy(s->excluded, (const uint8_t *) from + sizeof(h), h.nexcluded * sizeof(seq_range));
		s->nexcluded = s->excluded_cap = (int) h.nexcluded;
	}
	s->seq = h.seq;
	s->needs = h.needs;
	s->now = h.now;
	note_oldest(db);
	note_newest_ts(s);
	atomic_fetch_add(&db->seg->commit.snapshot_moves, 1);
	if (!is_protected(db, s) || h.seq > atomic_load(&db->seg->commit.applied_seq))
	{
		st = status_fail(WIDE_CONFLICT, "the exported snapshot has been released");
		goto done;
	}
	*out = s;
	return WIDE_OK;
done:
	wide_snapshot_release(s);
	return st;
}

wide_status
wide_snapshot_share(wide_snapshot *s, uint64_t key)
{
	uint8_t bytes[sizeof(s->db->slot->share)];
	size_t len = wide_snapshot_export(s, bytes, sizeof(bytes));

	if (len > sizeof(bytes))
		return status_fail(WIDE_LIMIT, "the snapshot has too many exclusions to be shared");
	for (wide_snapshot *o = s->db->snapshots->all; o != NULL; o = o->next)
		o->shared = o == s;
	slot_share(s->db->slot, key, bytes, len);
	return WIDE_OK;
}

wide_status
wide_snapshot_find(wide_db *db, uint64_t key, wide_snapshot **out)
{
	process_slot *slots = layout_processes(db);

	*out = NULL;
	for (uint32_t i = 0; i < layout_processes_used(db); i++)
	{
		uint8_t bytes[sizeof(slots->share)];
		uint32_t serial = atomic_load(&slots[i].share_serial);
		uint32_t len = slots[i].share_len;
		uint64_t its = slots[i].share_key;

		memcpy(bytes, slots[i].share, sizeof(bytes));
		atomic_thread_fence(memory_order_acquire);
		/* one that changes meanwhile is not the one that is asked for: that one stays as long as
		 * it is needed */
		if ((serial & 1) != 0 || atomic_load(&slots[i].share_serial) != serial || len == 0 ||
			len > sizeof(bytes) || its != key)
			continue;
		if (wide_snapshot_import(db, bytes, len, out) == WIDE_OK)
			return WIDE_OK;
	}
	return status_fail(WIDE_NOTFOUND, "nobody offers this snapshot");
}

const seq_range *
snapshot_excluded(const wide_snapshot *s, int *n)
{
	*n = s->nexcluded;
	return s->excluded;
}

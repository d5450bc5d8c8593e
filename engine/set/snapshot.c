/*
 * snapshot.c - what a reader sees: a sequence number and a few exclusions.
 *
 * slot->snapshot is the oldest LSN whose versions this process still needs;
 * compactions keep what is visible there or later (horizon_oldest).  A new
 * snapshot stores it before it reads visible_seq, both seq_cst; horizon_oldest
 * reads the two in the other order.  So a horizon never passes a snapshot.
 *
 * slot->snapshot_last is an upper bound of the process's snapshots, for what no
 * reader sees between two snapshots (horizon_read).  It is UINT64_MAX from before
 * visible_seq is read until the number of the snapshot is known.  So for a process
 * that has read visible_seq and then the slots, every snapshot is within the
 * bounds of a slot or not below that visible_seq.
 *
 * A snapshot also has a time, at which times to live are evaluated, so that no row
 * expires within the snapshot.  slot->snapshot_now is not later than the time of
 * any snapshot of the process; compactions let nothing expire that was alive then
 * (snapshot_oldest_now).  The order is that of the horizon: a new snapshot publishes
 * its time, then reads the clock again for its own use; a compaction reads the
 * clock, then the slots.
 *
 * With a running() callback the snapshot agrees with the snapshot of the caller,
 * which regards each external transaction as running or as ended:
 *   - An ended one that is not published yet is waited for: its process is between
 *     its commit record and wide_publish, or about to forget it.  One that was prepared
 *     has no process: the caller ends it (WIDE_BUSY).
 *   - A running one that is published already is excluded.  The versions from
 *     before it, which the snapshot needs, are kept because of
 *     host->oldest_external (horizon_oldest).
 *   - Every batch that was finished after the end of a running one is excluded,
 *     too.  It was committed after the caller's snapshot was taken, and may depend
 *     on what that transaction did, here or elsewhere (the transaction need not
 *     have written here).  Exceptions are ended external batches: they were between
 *     their commit record and their finish record.
 * So the exclusions are ranges between these exceptions.  The number of ended
 * transactions says where the first range begins: commit->ended has the first batch
 * that found each number.  Without the number the range begins with the first batch
 * of a running transaction.  As long as no transaction has ended since the caller's
 * snapshot, nothing is excluded.
 *
 * The ring of external commits is finite.  Entries whose transaction no snapshot
 * can regard as running any more (below oldest_external, which only rises) need not
 * be read again: each process remembers up to where that holds (settled).
 *
 * A snapshot moves to another process as bytes.  The taker publishes what it needs
 * in its slot, then raises commit.snapshot_moves, then checks that another process
 * still protects the snapshot.  So horizon_oldest cannot miss both processes.
 *
 * Locking: LOCK_COMMIT to copy ring entries; callbacks run without a lock.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/set/snapshot.h"
#include "engine/base/array.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/injection_point.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/marks.h"

#define COPY_MAX 256 /* ring entries copied under one lock */

struct wide_snapshot
{
	wide_db *db;
	wide_snapshot *next, *prev;
	uint64_t seq;	   /* UINT64_MAX: not known yet */
	uint64_t needs;	   /* versions that are visible at this LSN or later must be kept */
	int64_t now;	   /* time of the snapshot */
	int64_t newest_ts; /* no batch up to seq has a newer commit timestamp */

	seq_range *excluded; /* ascending */
	int nexcluded, excluded_cap;
	uint64_t open_from; /* while it is taken: start of the open last range; 0 none yet */

	bool latest; /* of applied_seq: can be renewed */
	bool shared; /* offered in this process's slot */

	void *attached;		   /* snapshot_attach; NULL: nothing */
	uint64_t attached_seq; /* the newest number in it: seq is below all of them */
	void (*attached_free)(wide_db *db, void *attached);
};

struct snapshot_local
{
	wide_snapshot *all;
	uint64_t settled; /* ring entries below this need not be read: no snapshot excludes them */
};

/* Requires: seq has been read.  A batch gets its timestamp before its seq. */
static void
note_newest_ts(wide_snapshot *s)
{
	s->newest_ts = __atomic_load_n(&s->db->seg->commit.last_ts, __ATOMIC_ACQUIRE);
}

/*
 * Publishes the bounds of this process's snapshots.  If they protect more than
 * before, other processes must see them before this process reads anything under
 * them: seq_cst.  If they protect less, the stores only have to come after the reads
 * before them: release.  Most stores of a short statement are of the second kind.
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

/* The bounds of this process's snapshots except one (may be NULL); *oldest is 0 if there are none.
 */
static inline void
local_bounds(wide_db *db, const wide_snapshot *except, uint64_t *oldest, uint64_t *last,
			 int64_t *now)
{
	*oldest = *last = 0;
	*now = INT64_MAX;
	for (const wide_snapshot *s = db->snapshots->all; s != NULL; s = s->next)
	{
		if (s == except)
			continue;
		*oldest = *oldest == 0 || s->needs < *oldest ? s->needs : *oldest;
		*last = s->seq > *last ? s->seq : *last;
		*now = s->now < *now ? s->now : *now;
	}
}

/* Publishes the bounds of the living snapshots. */
static void
note_oldest(wide_db *db)
{
	uint64_t oldest, last;
	int64_t now;

	local_bounds(db, NULL, &oldest, &last, &now);
	store_bounds(db->slot, oldest, last, now);
}

wide_status
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
	visible = atomic_load(&db->seg->commit.visible_seq);
	s->needs = visible > 0 ? visible : 1;
	s->now = host_now(db);
	s->next = db->snapshots->all;
	if (s->next != NULL)
		s->next->prev = s;
	db->snapshots->all = s;
	note_oldest(db);
	/* if a compaction read the slot before the store above, it read the clock before this */
	s->now = host_now(db);
	*out = s;
	return WIDE_OK;
}

/*
 * Offers these bytes to other processes; len 0: ends the offer.  A process that exits
 * leaves its offer in the slot, which process_detach does not touch.  That does no harm:
 * wide_snapshot_find takes it only if another process protects what it needs.  If it
 * dies in here, it leaves the serial odd.
 */
static void
slot_share(process_slot *me, uint64_t key, const uint8_t *bytes, size_t len)
{
	atomic_fetch_add(&me->share_serial, atomic_load(&me->share_serial) & 1 ? 2 : 1);
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
	if (s->attached != NULL)
		s->attached_free(db, s->attached);
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

/* Waits until the prepared external transactions that the caller regards as ended are published or
 * forgotten. */
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
			TRY(segment_wait(db, &slots[i].prepare_done, seen, 100, WIDE_WAIT_SNAPSHOT));
		}
	return WIDE_OK;
}

/* Returns WIDE_BUSY if the caller regards a prepared transaction as ended whose batch is not
 * published: the host ends it (wide_prepared_end). */
static wide_status
check_prepared(wide_db *db, bool (*running)(void *, uint64_t), void *ctx)
{
	prepared_state *prepared = &db->seg->prepared;

	if (__builtin_expect(atomic_load(&prepared->used) == 0, 1))
		return WIDE_OK;
	for (uint32_t i = 0; i < atomic_load(&prepared->high); i++)
	{
		uint64_t xid = atomic_load(&prepared->entry[i].xid);

		if (xid != 0 && !running(ctx, xid))
			return status_fail(WIDE_BUSY, "prepared transaction %llu has ended",
							   (unsigned long long) xid);
	}
	return WIDE_OK;
}

static wide_status
exclude(wide_snapshot *s, uint64_t first, uint64_t last)
{
	TRY(array_grow((void **) &s->excluded, s->nexcluded, &s->excluded_cap, sizeof(seq_range)));
	s->excluded[s->nexcluded++] = (seq_range) {first, last};
	return WIDE_OK;
}

/* Places the next published external batch of the ring: a running one opens a range, an ended one
 * interrupts it. */
static wide_status
place_external(wide_snapshot *s, uint64_t seq, bool running)
{
	if (running)
	{
		if (s->open_from == 0)
			s->open_from = seq;
		return WIDE_OK;
	}
	if (s->open_from == 0)
		return WIDE_OK;
	if (s->open_from < seq)
		TRY(exclude(s, s->open_from, seq - 1));
	s->open_from = seq + 1;
	return WIDE_OK;
}

/*
 * Finds where the open range begins: *seq is the first batch that was finished after
 * the end of an external transaction which the caller regards as running; UINT64_MAX
 * if none is known.  WIDE_CONFLICT: the ring may have lost it.
 */
static wide_status
find_first_after_end(wide_db *db, const wide_moment *at, uint64_t *seq)
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
 * Returns true if the snapshot would need entries that the ring has lost: ended ones
 * from `after` on, which would show, or running ones.  No snapshot regards
 * transactions below `oldest` as running, and the host may be unable to compare such
 * old numbers.
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

/* Finds the first batch that came after the caller's snapshot, as far as that is known: UINT64_MAX.
 */
static wide_status
find_after(wide_db *db, const wide_moment *at, uint64_t *after)
{
	uint64_t mark;

	*after = UINT64_MAX;
	if (at->ended != 0 || at->next != 0)
		TRY(find_first_after_end(db, at, after));
	if (!at->replayed)
		return WIDE_OK;
	TRY(marks_find(db, at, &mark));
	*after = mark < *after ? mark : *after;
	return WIDE_OK;
}

/* Excludes the published batches that the caller's snapshot does not show. */
static wide_status
exclude_running(wide_snapshot *s, const wide_moment *moment)
{
	wide_db *db = s->db;
	commit_state *commit = &db->seg->commit;
	struct snapshot_local *local = db->snapshots;
	uint64_t at = local->settled, after = UINT64_MAX, head, oldest;
	bool settling;

	TRY(find_after(db, moment, &after));
	if (after <= s->seq)
		at = 0; /* external batches from `after` on count, settled ones too */
	/* all entries are settled; those that come from now on are above this snapshot */
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
			if (s->open_from == 0 && copy[i].seq >= after)
				s->open_from = after;
			TRY(place_external(s, copy[i].seq,
							   copy[i].xid >= oldest && moment->running(moment->ctx, copy[i].xid)));
		}
		at += (uint64_t) n;
	} while (at < head);
	if (s->open_from == 0 && after <= s->seq)
		s->open_from = after;
	if (entries_lost(commit, moment, after, oldest))
		return status_fail(
			WIDE_CONFLICT,
			"the snapshot is too old: more than %d transactions have committed since",
			EXTERNAL_RING);
	return WIDE_OK;
}

/* Returns true if no external transaction has ended since the caller's snapshot: then all that is
 * published now was committed before the next end. */
static bool
nothing_ended(wide_db *db, const wide_moment *at)
{
	uint64_t latest;

	return at->ended != 0 && db->host.ended != NULL &&
		   db->host.ended(db->host.ctx, &latest) == at->ended;
}

wide_status
snapshot_number(wide_snapshot *s, uint64_t seq, const wide_moment *at)
{
	wide_db *db = s->db;

	s->seq = seq;
	injection_point("snapshot-numbered");
	if (at->running != NULL && !nothing_ended(db, at))
		TRY(exclude_running(s, at));
	if (s->open_from != 0)
	{
		uint64_t first = s->nexcluded > 0 ? s->excluded[0].first : s->open_from;

		/* the snapshot ends before the open range */
		if (s->open_from <= s->seq)
			s->seq = s->open_from - 1;
		if (first - 1 < s->needs)
			s->needs = first > 1 ? first - 1 : 1;
	}
	note_oldest(db);
	note_newest_ts(s);
	return WIDE_OK;
}

wide_status
snapshot_attach(wide_snapshot *s, void *attached, void (*attached_free)(wide_db *, void *),
				seq_range seqs, int64_t newest_ts)
{
	TRY(exclude(s, s->seq + 1, seqs.first - 1));
	s->attached = attached;
	s->attached_free = attached_free;
	s->attached_seq = seqs.last;
	s->newest_ts = s->newest_ts < newest_ts ? newest_ts : s->newest_ts;
	return WIDE_OK;
}

void *
snapshot_attached(const wide_snapshot *s)
{
	return s->attached;
}

bool
wide_snapshot_is_private(const wide_snapshot *s)
{
	return s->attached != NULL;
}

wide_status
wide_snapshot_take_at(wide_db *db, const wide_moment *at, wide_snapshot **out)
{
	wide_snapshot *s;
	wide_status st = WIDE_OK;

	*out = NULL;
	TRY(snapshot_new(db, &s));
	if (at->running != NULL)
	{
		TRY_GOTO(wait_for_ended(db, at->running, at->ctx));
		TRY_GOTO(check_prepared(db, at->running, at->ctx));
	}
	injection_point("snapshot-waited");
	TRY_GOTO(snapshot_number(s, atomic_load(&db->seg->commit.visible_seq), at));
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
 * Until the slot changes, it protects the old state and so the newer one.  The new
 * value is not above visible_seq, and that is not above applied_seq, which is read
 * afterwards.
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
	/* the same holds for the time: until here the slot has an earlier one */
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
	return s->attached != NULL ? s->attached_seq : s->seq;
}

bool
wide_snapshot_is_newest(const wide_snapshot *s)
{
	return s->nexcluded == 0 && s->seq == atomic_load(&s->db->seg->commit.applied_seq);
}

/* ------------------------------------------------ from process to process */

#define EXPORT_MAGIC 0x32706e5365646957ull /* "WideSnp2" */

typedef struct export_head
{
	uint64_t magic;
	uint64_t build; /* of the segment: only its processes can use the snapshot */
	uint64_t seq, needs;
	int64_t now;
	uint64_t nexcluded; /* exclusions (seq_range) that follow */
	uint64_t hash;		/* of this head, with hash = 0, and of the exclusions */
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
 * Returns true if this process by its other snapshots, or another process, protects
 * all that this snapshot needs: the versions from `needs` to seq (compactions drop
 * what lies between the ranges of the processes), and what is alive at its time.
 */
static bool
is_protected(wide_db *db, const wide_snapshot *mine)
{
	process_slot *slots = layout_processes(db);
	uint64_t first, last;
	int64_t now;

	local_bounds(db, mine, &first, &last, &now);
	if (first != 0 && first <= mine->needs && last >= mine->seq && now <= mine->now)
		return true;
	for (uint32_t i = 0; i < layout_processes_used(db); i++)
	{
		if (i == db->slot_index || (first = atomic_load(&slots[i].snapshot)) == 0)
			continue;
		last = atomic_load(&slots[i].snapshot_last);
		now = atomic_load(&slots[i].snapshot_now);
		/* the three values belong together, and were read after snapshot_moves was raised */
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
	for (uint64_t i = 0; i < h.nexcluded; i++)
	{
		seq_range e;

		memcpy(&e, (const uint8_t *) from + sizeof(h) + i * sizeof(e), sizeof(e));
		TRY_GOTO(exclude(s, e.first, e.last));
	}
	s->seq = h.seq;
	s->needs = h.needs;
	s->now = h.now;
	note_oldest(db);
	note_newest_ts(s);
	atomic_fetch_add(&db->seg->commit.snapshot_moves, 1);
	st = WIDE_OK;
	if (!is_protected(db, s) || h.seq > atomic_load(&db->seg->commit.applied_seq))
		st = status_fail(WIDE_CONFLICT, "the exported snapshot has been released");
done:
	if (st != WIDE_OK)
		wide_snapshot_release(s);
	else
		*out = s;
	return st;
}

wide_status
wide_snapshot_share(wide_snapshot *s, uint64_t key)
{
	uint8_t bytes[sizeof(s->db->slot->share)];
	size_t len = wide_snapshot_export(s, bytes, sizeof(bytes));

	if (s->attached != NULL)
		return status_fail(WIDE_CONFLICT, "the snapshot sees a transaction that is not finished");
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
		/* an offer that changes now is not the one asked for, which stays as long as it is needed
		 */
		if ((serial & 1) != 0 || atomic_load(&slots[i].share_serial) != serial || len == 0 ||
			len > sizeof(bytes) || its != key)
			continue;
		if (wide_snapshot_import(db, bytes, len, out) == WIDE_OK)
			return WIDE_OK;
	}
	return status_fail(WIDE_NOTFOUND, "no process offers this snapshot");
}

const seq_range *
snapshot_excluded(const wide_snapshot *s, int *n)
{
	*n = s->nexcluded;
	return s->excluded;
}

/*
 * snapshot.c - what a reader sees: a sequence number and a few exclusions.
 *
 * slot->snapshot is the oldest LSN whose versions this process still needs;
 * compactions keep what is visible there or later (set_horizon).  It is stored
 * before visible_seq is read for the snapshot, both seq_cst, and set_horizon
 * reads them in the other order, so a horizon never passes a snapshot.
 *
 * slot->snapshot_last bounds them from above, for what nobody sees between two
 * snapshots (set_horizons).  It is UINT64_MAX from before visible_seq is read
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
 *     excluded one, are kept by host->oldest_external (set_horizon).
 * The ring of external commits is finite.  Entries whose transaction no
 * snapshot can see as running any more (below oldest_external, which only
 * rises) are passed over once and for all: the process remembers up to where.
 *
 * A snapshot goes to another process as bytes.  That one stores what it needs in
 * its own slot, makes the move known (commit.snapshot_moves, after the store)
 * and then looks whether anybody still protected it: so there is no moment at
 * which set_horizon could miss both.
 *
 * Locking: LOCK_COMMIT to copy ring entries; callbacks run without a lock.
 */
#include <stdlib.h>
#include "db.h"

#define COPY_MAX 256			/* ring entries looked at under one lock */

struct wide_snapshot
{
	wide_db    *db;
	wide_snapshot *next, *prev;
	uint64_t	seq;			/* UINT64_MAX: not known yet */
	uint64_t	needs;			/* versions visible at this LSN and later */
	int64_t		now;
	uint64_t   *excluded;		/* sorted */
	int			nexcluded, excluded_cap;
	bool		latest;			/* of applied_seq: can be renewed */
	uint64_t	ended;			/* newest external batch that the caller sees as ended; 0 = none looked at */
};

struct snapshot_local
{
	wide_snapshot *all;
	uint64_t	settled;		/* ring entries below this are nobody's running ones */
};

/* slot->snapshot and its companions from what lives here. */
static void
note_oldest(wide_db *db)
{
	uint64_t	oldest = 0,
				last = 0;
	int64_t		now = INT64_MAX;

	for (wide_snapshot *s = db->snapshots->all; s != NULL; s = s->next)
	{
		if (oldest == 0 || s->needs < oldest)
			oldest = s->needs;
		if (s->seq > last)
			last = s->seq;
		if (s->now < now)
			now = s->now;
	}
	atomic_store(&db->slot->snapshot_now, now);
	atomic_store(&db->slot->snapshot_last, last);
	atomic_store(&db->slot->snapshot, oldest);
}

/* A new one in the list; everything visible now stays readable. */
static wide_status
snapshot_new(wide_db *db, wide_snapshot **out)
{
	wide_snapshot *s;
	uint64_t	visible;

	TRY(shm_check(db));
	if (db->snapshots == NULL && (db->snapshots = calloc(1, sizeof(struct snapshot_local))) == NULL)
		return wide_fail(WIDE_NOMEM, "out of memory for a snapshot");
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return wide_fail(WIDE_NOMEM, "out of memory for a snapshot");
	s->db = db;
	s->seq = UINT64_MAX;
	atomic_store(&db->slot->snapshot_last, UINT64_MAX);
	visible = atomic_load(&db->seg->commit.visible_seq);
	s->needs = visible > 0 ? visible : 1;
	s->now = now_us(db);
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
	/* what was published may have come too late for a compaction, but then its clock was read before this */
	s->now = now_us(db);
	*out = s;
	return WIDE_OK;
}

void
wide_snapshot_release(wide_snapshot *s)
{
	wide_db    *db;

	if (s == NULL)
		return;
	db = s->db;
	if (s->prev != NULL)
		s->prev->next = s->next;
	else
		db->snapshots->all = s->next;
	if (s->next != NULL)
		s->next->prev = s->prev;
	note_oldest(db);
	free(s->excluded);
	free(s);
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
wait_for_ended(wide_db *db, bool (*running) (void *, uint64_t), void *ctx)
{
	slot	   *slots = shm_slots(db);

	for (uint32_t i = 0; i < shm_slots_used(db); i++)
		for (;;)
		{
			uint32_t	seen = atomic_load(&slots[i].prepare_done);
			uint64_t	xid = atomic_load(&slots[i].external);

			if (xid == 0 || i == db->slot_index || running(ctx, xid))
				break;
			TRY(shm_wait(db, &slots[i].prepare_done, seen, 100));
		}
	return WIDE_OK;
}

static wide_status
exclude(wide_snapshot *s, uint64_t seq)
{
	if (s->nexcluded == s->excluded_cap)
	{
		int			cap = s->excluded_cap == 0 ? 8 : 2 * s->excluded_cap;
		uint64_t   *p = realloc(s->excluded, (size_t) cap * sizeof(*p));

		if (p == NULL)
			return wide_fail(WIDE_NOMEM, "out of memory for a snapshot");
		s->excluded = p;
		s->excluded_cap = cap;
	}
	s->excluded[s->nexcluded++] = seq;
	return WIDE_OK;
}

/* Of the published external commits, exclude those that the caller sees as running. */
static wide_status
exclude_running(wide_snapshot *s, bool (*running) (void *, uint64_t), void *ctx)
{
	wide_db    *db = s->db;
	commit_state *commit = &db->seg->commit;
	struct snapshot_local *local = db->snapshots;
	uint64_t	at = local->settled,
				head,
				oldest;
	bool		settling;

	/* nothing new since all were settled; what comes from now on is not visible to this snapshot */
	if (__atomic_load_n(&commit->external_head, __ATOMIC_SEQ_CST) == at)
		return WIDE_OK;
	oldest = db->host.oldest_external != NULL ? db->host.oldest_external(db->host.ctx) : 0;
	settling = oldest != 0;

	do
	{
		external_commit copy[COPY_MAX];
		uint64_t	first;
		int			n = 0;

		TRY(shm_lock(db, LOCK_COMMIT));
		head = commit->external_head;
		first = head > EXTERNAL_RING ? head - EXTERNAL_RING : 0;
		if (at < first)
			at = first;
		for (; n < COPY_MAX && at + (uint64_t) n < head; n++)
			copy[n] = commit->external[(at + (uint64_t) n) % EXTERNAL_RING];
		shm_unlock(db, LOCK_COMMIT);
		for (int i = 0; i < n; i++)
		{
			settling = settling && copy[i].xid < oldest;
			if (settling)
				local->settled = at + (uint64_t) i + 1;
			if (copy[i].seq > s->seq)
				continue;
			if (copy[i].xid >= oldest && running(ctx, copy[i].xid))
				TRY(exclude(s, copy[i].seq));
			else
				s->ended = copy[i].seq;
		}
		at += (uint64_t) n;
	} while (at < head);
	if (atomic_load(&commit->external_evicted) != 0 && running(ctx, atomic_load(&commit->external_evicted)))
		return wide_fail(WIDE_CONFLICT, "the snapshot is too old: more than %d transactions have committed since", EXTERNAL_RING);
	return WIDE_OK;
}

wide_status
wide_snapshot_take(wide_db *db, bool (*running) (void *ctx, uint64_t xid), void *ctx, wide_snapshot **out)
{
	wide_snapshot *s;
	wide_status st = WIDE_OK;

	*out = NULL;
	TRY(snapshot_new(db, &s));
	if (running != NULL)
		TRY_GOTO(wait_for_ended(db, running, ctx));
	s->seq = atomic_load(&db->seg->commit.visible_seq);
	if (running != NULL)
		TRY_GOTO(exclude_running(s, running, ctx));
	/*
	 * What is excluded was committed after the caller's snapshot was taken, and
	 * so was everything with a higher sequence number, unless the caller sees an
	 * external batch among it as ended.  Ring order is seq order.
	 */
	if (s->nexcluded > 0)
	{
		uint64_t	cap = s->excluded[0] - 1 > s->ended ? s->excluded[0] - 1 : s->ended;

		if (cap < s->seq)
			s->seq = cap;
		while (s->nexcluded > 0 && s->excluded[s->nexcluded - 1] > s->seq)
			s->nexcluded--;
		if (s->seq < s->needs)
			s->needs = s->seq > 0 ? s->seq : 1;
	}
	if (s->nexcluded > 0 && s->excluded[0] - 1 < s->needs)
		s->needs = s->excluded[0] > 1 ? s->excluded[0] - 1 : 1;
	note_oldest(db);
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
	wide_db    *db = s->db;
	uint64_t	visible;

	TRY(shm_check(db));
	if (!s->latest)
		return wide_fail(WIDE_INVALID, "only a snapshot of the newest state can be renewed");
	visible = atomic_load(&db->seg->commit.visible_seq);
	if (visible > s->needs)
		s->needs = visible;
	/* the same for the time: until here the slot has an earlier one */
	s->now = now_us(db);
	s->seq = UINT64_MAX;
	note_oldest(db);
	s->seq = atomic_load(&db->seg->commit.applied_seq);
	note_oldest(db);
	return WIDE_OK;
}

int64_t
snapshot_now(const wide_snapshot *s)
{
	return s->now;
}

int64_t
snapshot_oldest_now(wide_db *db)
{
	int64_t		now = now_us(db);
	slot	   *slots = shm_slots(db);

	for (uint32_t i = 0; i < shm_slots_used(db); i++)
	{
		int64_t		theirs = atomic_load(&slots[i].snapshot_now);

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
		if (s->excluded[i] == lsn)
			return false;
	return lsn <= s->seq;
}

/* ------------------------------------------------ from process to process */

#define EXPORT_MAGIC	0x31706e5365646957ull	/* "WideSnp1" */

typedef struct export_head
{
	uint64_t	magic;
	uint64_t	build;			/* of the segment, whose processes alone can use it */
	uint64_t	seq, needs;
	int64_t		now;
	uint64_t	nexcluded;		/* the exclusions follow */
	uint64_t	hash;			/* of all this (hash = 0) and of what follows */
} export_head;

static uint64_t
export_hash(const export_head *h, const uint8_t *excluded)
{
	export_head copy = *h;

	copy.hash = 0;
	return wide_hash(excluded, h->nexcluded * sizeof(uint64_t), wide_hash(&copy, sizeof(copy), EXPORT_MAGIC));
}

size_t
wide_snapshot_export(const wide_snapshot *s, void *to, size_t size)
{
	export_head h = {.magic = EXPORT_MAGIC, .build = s->db->seg->build, .seq = s->seq, .needs = s->needs,
	.now = s->now, .nexcluded = (uint64_t) s->nexcluded};
	size_t		list = (size_t) s->nexcluded * sizeof(uint64_t);

	if (size >= sizeof(h) + list)
	{
		if (list > 0)
			memcpy((uint8_t *) to + sizeof(h), s->excluded, list);
		h.hash = export_hash(&h, (uint8_t *) to + sizeof(h));
		memcpy(to, &h, sizeof(h));
	}
	return sizeof(h) + list;
}

/* Does any process, ours before this one included, keep versions back to there? */
static bool
is_protected(wide_db *db, const wide_snapshot *mine)
{
	slot	   *slots = shm_slots(db);

	for (const wide_snapshot *s = db->snapshots->all; s != NULL; s = s->next)
		if (s != mine && s->needs <= mine->needs)
			return true;
	for (uint32_t i = 0; i < shm_slots_used(db); i++)
	{
		uint64_t	snap = atomic_load(&slots[i].snapshot);

		if (i != db->slot_index && snap != 0 && snap <= mine->needs)
			return true;
	}
	/* nothing has become visible since it was taken */
	return atomic_load(&db->seg->commit.visible_seq) <= mine->needs;
}

wide_status
wide_snapshot_import(wide_db *db, const void *from, size_t size, wide_snapshot **out)
{
	export_head h;
	wide_snapshot *s = NULL;
	wide_status st;

	*out = NULL;
	if (size < sizeof(h))
		return wide_fail(WIDE_INVALID, "%zu bytes are not an exported snapshot", size);
	memcpy(&h, from, sizeof(h));
	if (h.magic != EXPORT_MAGIC || h.build != db->seg->build || h.nexcluded > INT32_MAX ||
		size != sizeof(h) + h.nexcluded * sizeof(uint64_t) ||
		h.hash != export_hash(&h, (const uint8_t *) from + sizeof(h)))
		return wide_fail(WIDE_INVALID, "these bytes are not a snapshot that was exported by this server");
	TRY(snapshot_new(db, &s));
	if (h.nexcluded > 0)
	{
		s->excluded = malloc(h.nexcluded * sizeof(uint64_t));
		if (s->excluded == NULL)
		{
			st = wide_fail(WIDE_NOMEM, "out of memory for a snapshot");
			goto done;
		}
		memcpy(s->excluded, (const uint8_t *) from + sizeof(h), h.nexcluded * sizeof(uint64_t));
		s->nexcluded = s->excluded_cap = (int) h.nexcluded;
	}
	s->seq = h.seq;
	s->needs = h.needs;
	s->now = h.now;
	note_oldest(db);
	atomic_fetch_add(&db->seg->commit.snapshot_moves, 1);
	if (!is_protected(db, s) || h.seq > atomic_load(&db->seg->commit.applied_seq))
	{
		st = wide_fail(WIDE_CONFLICT, "the exported snapshot has been released");
		goto done;
	}
	*out = s;
	return WIDE_OK;
done:
	wide_snapshot_release(s);
	return st;
}

const uint64_t *
snapshot_excluded(const wide_snapshot *s, int *n)
{
	*n = s->nexcluded;
	return s->excluded;
}

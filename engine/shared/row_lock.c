/*
 * row_lock.c - row locks that last to the end of a transaction or the rollback to a savepoint.
 *
 * An exact table of fixed size in the segment, for any number of rows:
 *
 *     bucket, 64 bytes
 *       u32 spin         slot index + 1 of the process inside, 0 = free
 *       u32 overflow     slot index + 1 of the process that owns the whole bucket, 0 = none
 *       7 x { u32 tag    hash bits of the row beyond those that choose the bucket
 *             u32 owner  slot index + 1, 0 = free }
 *
 * A row is locked by an entry with its tag.  Two rows with equal bucket and tag
 * share a lock; that happens to 2^-32 of the pairs of rows in a bucket, and costs
 * a needless wait, never correctness.  When all seven entries belong to the process
 * that wants an eighth, it becomes the owner of the whole bucket instead: a
 * transaction that locks a million rows ends up with all buckets and still excludes
 * exactly what it must.  When other processes have entries in a full bucket, one of
 * them is returned as the one to wait for.
 *
 * Locking: the spin word of the bucket, for a few dozen instructions.  The process
 * is in a critical section meanwhile.  If it is killed there, others spin until the host
 * ends them, or until the segment is poisoned.  This file does not wait for rows: the
 * caller gets WIDE_BUSY and the holder's owner value, and waits by means of the host.
 *
 * Behind the table there is a lock_side for each bucket, with
 *  - the newest batch whose transaction has released its locks here before it
 *    published the batch.  A process that locks a row takes that number over: what
 *    it reads under the lock may be of that batch, or lack what that batch has
 *    deleted, whichever columns it reads;
 *  - the table of each entry, for wide_row_locks_each.  That also shows the rows
 *    that processes wait for, from the process slots.
 *
 * A process remembers the buckets in which it holds something, each once.  When
 * that list cannot grow, or is longer than half the table, the release goes through
 * all buckets.
 *
 * Savepoints.  While there is one, the process also records each change that it makes
 * to a bucket: an entry, or the seven entries that it has exchanged for the whole
 * bucket.  A rollback undoes these changes, the last one first, so every bucket gets
 * the state back that it had for this process at the savepoint: a lock that was held
 * then is still held, however often it was taken again, and a bucket that has become
 * whole since is seven entries again.  Outside of savepoints nothing is recorded.
 *
 * Invariant: a rollback does not lower lock_local.after.  What was read under a lock
 * that is given back is known to the caller all the same.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/shared/row_lock.h"
#include "engine/base/array.h"
#include "engine/base/hash.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"

#define ENTRIES	   7
#define SPIN_YIELD 100 /* tries before each sched_yield and look for poison */

typedef struct lock_entry
{
	uint32_t tag;
	_Atomic uint32_t owner;
} lock_entry;

typedef struct lock_bucket
{
	_Atomic uint32_t spin;
	_Atomic uint32_t overflow;
	lock_entry entry[ENTRIES];
} lock_bucket;

/* Behind the table, for each bucket. */
typedef struct lock_side
{
	_Atomic uint64_t left;				 /* newest batch released before it was published */
	_Atomic uint32_t table[ENTRIES + 1]; /* of the entries; the last one is unused */
} lock_side;

_Static_assert(sizeof(lock_bucket) == 64, "one cache line");
_Static_assert(sizeof(lock_bucket) + sizeof(lock_side) == ROW_LOCK_BUCKET_BYTES,
			   "the segment has room for this");

/* The entries of a bucket before it became whole. */
typedef struct lock_entries
{
	uint32_t tag[ENTRIES], table[ENTRIES];
} lock_entries;

/* A change of a bucket: how a row was locked. */
typedef struct lock_change
{
	uint32_t bucket;
	uint32_t tag; /* of the entry that was added */
	int whole;	  /* index of the entries that became a whole bucket; -1: an entry was added */
} lock_change;

/* The state of a lock_local at a savepoint. */
typedef struct lock_savepoint
{
	int nchanges, nwhole;
	int n;
	bool all;
} lock_savepoint;

struct lock_local
{
	uint32_t *bucket; /* buckets with locks of this process, each once */
	int n, cap;
	bool all;		/* the list is not complete: release goes through the table */
	size_t held;	/* entries and whole buckets */
	uint64_t after; /* newest lock_side.left of the buckets when they were locked */

	/* savepoints, the innermost one last, and the changes since the first one */
	lock_savepoint *savepoint;
	int nsavepoints, savepoints_cap;
	lock_change *change;
	int nchanges, changes_cap;
	lock_entries *whole; /* entries that became whole buckets */
	int nwhole, whole_cap;
};

static inline lock_bucket *
lock_table(wide_db *db)
{
	return LAYOUT_AT(db, db->seg->locks);
}

/* What it holds changes under the bucket's spin word. */
static inline lock_side *
bucket_side(wide_db *db, const lock_bucket *b)
{
	lock_bucket *table = lock_table(db);

	return (lock_side *) (table + db->seg->config.lock_buckets) + (b - table);
}

wide_status
row_lock_attach(wide_db *db)
{
	db->locks = calloc(1, sizeof(*db->locks));
	return db->locks != NULL ? WIDE_OK : status_fail(WIDE_NOMEM, "out of memory");
}

/* Takes the bucket's spin word and enters a critical section. */
static wide_status
bucket_enter(wide_db *db, lock_bucket *b)
{
	for (uint32_t try = 1;; try++)
	{
		uint32_t none = 0;

		segment_enter_critical(db);
		if (atomic_compare_exchange_weak_explicit(&b->spin, &none, db->slot_index + 1,
												  memory_order_acquire, memory_order_relaxed))
			return WIDE_OK;
		segment_leave_critical(db);
		if (try % SPIN_YIELD == 0)
		{
			sched_yield();
			TRY(segment_check(db));
		}
	}
}

static void
bucket_leave(wide_db *db, lock_bucket *b)
{
	atomic_store_explicit(&b->spin, 0, memory_order_release);
	segment_leave_critical(db);
}

/* Remembers the bucket for the release.  Lack of memory is no error. */
static void
note_bucket(struct lock_local *l, uint32_t index, uint32_t buckets)
{
	if ((uint32_t) l->n >= buckets / 2 ||
		array_grow((void **) &l->bucket, l->n, &l->cap, sizeof(*l->bucket)) != WIDE_OK)
		l->all = true;
	if (!l->all)
		l->bucket[l->n++] = index;
}

/* How bucket_take has locked a row. */
enum lock_taken
{
	TAKEN_BEFORE, /* the process had the lock already */
	TAKEN_FIRST,  /* an entry, the process's first one in the bucket */
	TAKEN_ENTRY,  /* a further entry */
	TAKEN_WHOLE	  /* the whole bucket, instead of seven entries */
};

/* Exchanges the process's seven entries for the whole bucket; *was: these entries. */
static void
bucket_take_whole(lock_bucket *b, lock_side *side, uint32_t me, lock_entries *was)
{
	for (int i = 0; i < ENTRIES; i++)
	{
		was->tag[i] = b->entry[i].tag;
		was->table[i] = atomic_load_explicit(&side->table[i], memory_order_relaxed);
		atomic_store_explicit(&b->entry[i].owner, 0, memory_order_relaxed);
	}
	atomic_store_explicit(&b->overflow, me, memory_order_relaxed);
}

/*
 * Locks a row for slot index + 1 `me`, with the bucket's spin word held.  Returns 0
 * on success, and *how; *was is set for TAKEN_WHOLE.  Otherwise returns slot index + 1
 * of a process to wait for.
 */
static uint32_t
bucket_take(lock_bucket *b, lock_side *side, wide_table_id table, uint32_t tag, uint32_t me,
			enum lock_taken *how, lock_entries *was)
{
	uint32_t overflow = atomic_load_explicit(&b->overflow, memory_order_relaxed);
	uint32_t other = 0;
	lock_entry *place = NULL;
	int mine = 0;

	*how = TAKEN_BEFORE;
	if (overflow != 0)
		return overflow == me ? 0 : overflow;
	for (int i = 0; i < ENTRIES; i++)
	{
		lock_entry *e = &b->entry[i];
		uint32_t owner = atomic_load_explicit(&e->owner, memory_order_relaxed);

		if (owner == 0)
			place = place != NULL ? place : e;
		else if (e->tag == tag)
			return owner == me ? 0 : owner;
		else if (owner == me)
			mine++;
		else
			other = owner;
	}
	if (place != NULL)
	{
		place->tag = tag;
		atomic_store_explicit(&side->table[place - b->entry], table, memory_order_relaxed);
		atomic_store_explicit(&place->owner, me, memory_order_relaxed);
		*how = mine == 0 ? TAKEN_FIRST : TAKEN_ENTRY;
		return 0;
	}
	if (other != 0)
		return other;
	bucket_take_whole(b, side, me, was);
	*how = TAKEN_WHOLE;
	return 0;
}

/* Makes room to record one change. */
static wide_status
reserve_change(struct lock_local *l)
{
	TRY(array_grow((void **) &l->change, l->nchanges, &l->changes_cap, sizeof(*l->change)));
	return array_grow((void **) &l->whole, l->nwhole, &l->whole_cap, sizeof(*l->whole));
}

/* A row was locked in bucket `index`: takes note for the release and for savepoints. */
static void
note_taken(struct lock_local *l, uint32_t index, uint32_t buckets, uint32_t tag,
		   enum lock_taken how, const lock_entries *was)
{
	if (how == TAKEN_BEFORE)
		return;
	l->held += how == TAKEN_WHOLE ? 1 - (size_t) ENTRIES : 1;
	if (how == TAKEN_FIRST)
		note_bucket(l, index, buckets);
	if (l->nsavepoints == 0)
		return;
	if (how == TAKEN_WHOLE)
		l->whole[l->nwhole] = *was;
	l->change[l->nchanges++] = (lock_change) {
		.bucket = index, .tag = tag, .whole = how == TAKEN_WHOLE ? l->nwhole++ : -1};
}

static inline uint64_t
row_hash(wide_table_id table, wide_bytes row)
{
	return hash_xxh3(row.data, row.len, 0x6c6f636b00000000ull ^ table);
}

wide_status
wide_row_lock(wide_db *db, wide_table_id table, wide_bytes row, uint64_t *holder)
{
	uint32_t buckets = db->seg->config.lock_buckets;
	uint64_t hash = row_hash(table, row);
	uint32_t index = (uint32_t) hash & (buckets - 1);
	lock_bucket *b = &lock_table(db)[index];
	lock_side *side = bucket_side(db, b);
	uint32_t tag = (uint32_t) (hash >> 32);
	uint64_t left = 0;
	uint32_t other;
	enum lock_taken how;
	lock_entries was;

	*holder = 0;
	TRY(segment_check(db));
	if (db->locks->nsavepoints > 0)
		TRY(reserve_change(db->locks));
	TRY(bucket_enter(db, b));
	other = bucket_take(b, side, table, tag, db->slot_index + 1, &how, &was);
	/* read while the lock is there: a process changes its owner value before it takes the locks
	 * that the new value is for, and after it has given back those of the old one */
	if (other != 0)
		*holder = atomic_load(&layout_processes(db)[other - 1].owner);
	else
		left = atomic_load_explicit(&side->left, memory_order_relaxed);
	bucket_leave(db, b);
	if (other != 0)
	{
		counter_add(db, COUNTER_ROW_LOCK_WAITS, 1);
		return status_fail(WIDE_BUSY, "another transaction holds the lock of the row");
	}
	if (left > db->locks->after)
		db->locks->after = left;
	note_taken(db->locks, index, buckets, tag, how, &was);
	return WIDE_OK;
}

/* -------------------------------------------------------------- savepoints */

wide_status
wide_row_lock_savepoint(wide_db *db)
{
	struct lock_local *l = db->locks;

	TRY(array_grow((void **) &l->savepoint, l->nsavepoints, &l->savepoints_cap,
				   sizeof(*l->savepoint)));
	l->savepoint[l->nsavepoints++] = (lock_savepoint) {
		.nchanges = l->nchanges, .nwhole = l->nwhole, .n = l->n, .all = l->all};
	return WIDE_OK;
}

void
wide_row_lock_keep(wide_db *db)
{
	struct lock_local *l = db->locks;

	if (--l->nsavepoints == 0)
		l->nchanges = l->nwhole = 0;
}

static wide_status
undo_change(wide_db *db, const lock_change *c)
{
	lock_bucket *b = &lock_table(db)[c->bucket];
	lock_side *side = bucket_side(db, b);
	uint32_t me = db->slot_index + 1;

	TRY(bucket_enter(db, b));
	if (c->whole >= 0)
		atomic_store_explicit(&b->overflow, 0, memory_order_relaxed);
	for (int i = 0; i < ENTRIES; i++)
	{
		lock_entry *e = &b->entry[i];

		if (c->whole >= 0)
		{
			const lock_entries *was = &db->locks->whole[c->whole];

			e->tag = was->tag[i];
			atomic_store_explicit(&side->table[i], was->table[i], memory_order_relaxed);
			atomic_store_explicit(&e->owner, me, memory_order_relaxed);
		}
		else if (e->tag == c->tag && atomic_load_explicit(&e->owner, memory_order_relaxed) == me)
			atomic_store_explicit(&e->owner, 0, memory_order_relaxed);
	}
	bucket_leave(db, b);
	return WIDE_OK;
}

void
wide_row_lock_undo(wide_db *db)
{
	struct lock_local *l = db->locks;
	const lock_savepoint *to = &l->savepoint[--l->nsavepoints];

	while (l->nchanges > to->nchanges)
	{
		const lock_change *c = &l->change[--l->nchanges];

		/* a failure means poison: locks do not matter then */
		(void) undo_change(db, c);
		l->held += c->whole >= 0 ? (size_t) ENTRIES - 1 : (size_t) -1;
	}
	l->nwhole = to->nwhole;
	l->n = to->n;
	l->all = to->all;
}

/* ----------------------------------------------------------------- release */

/* Releases the process's locks in the bucket; `left` as wide_row_unlock's lsn. */
static wide_status
bucket_release(wide_db *db, lock_bucket *b, uint64_t left)
{
	_Atomic uint64_t *newest = &bucket_side(db, b)->left;
	uint32_t owner = db->slot_index + 1;

	TRY(bucket_enter(db, b));
	if (left > atomic_load_explicit(newest, memory_order_relaxed))
		atomic_store_explicit(newest, left, memory_order_relaxed);
	if (atomic_load_explicit(&b->overflow, memory_order_relaxed) == owner)
		atomic_store_explicit(&b->overflow, 0, memory_order_relaxed);
	for (int i = 0; i < ENTRIES; i++)
		if (atomic_load_explicit(&b->entry[i].owner, memory_order_relaxed) == owner)
			atomic_store_explicit(&b->entry[i].owner, 0, memory_order_relaxed);
	bucket_leave(db, b);
	return WIDE_OK;
}

/* Returns true if `owner` has a lock in the bucket.  Needs no spin word: only the process itself
 * changes this. */
static bool
bucket_has(lock_bucket *b, uint32_t owner)
{
	bool has = atomic_load_explicit(&b->overflow, memory_order_relaxed) == owner;

	for (int i = 0; i < ENTRIES; i++)
		has |= atomic_load_explicit(&b->entry[i].owner, memory_order_relaxed) == owner;
	return has;
}

void
wide_row_unlock(wide_db *db, uint64_t left)
{
	struct lock_local *l = db->locks;
	uint32_t n;

	if (l == NULL)
		return;
	n = l->held == 0 ? 0 : l->all ? db->seg->config.lock_buckets : (uint32_t) l->n;
	for (uint32_t i = 0; i < n; i++)
	{
		lock_bucket *b = &lock_table(db)[l->all ? i : l->bucket[i]];

		/* a failure means poison: locks do not matter then */
		if ((!l->all || bucket_has(b, db->slot_index + 1)) &&
			bucket_release(db, b, left) != WIDE_OK)
			break;
	}
	l->after = 0;
	l->n = 0;
	l->all = false;
	l->held = 0;
	l->nsavepoints = l->nchanges = l->nwhole = 0;
}

uint64_t
wide_row_locks_after(wide_db *db)
{
	return db->locks->after;
}

size_t
wide_row_locks_held(wide_db *db)
{
	return db->locks->held;
}

size_t
wide_row_locks_total(wide_db *db)
{
	lock_bucket *b = lock_table(db);
	size_t n = 0;

	for (uint32_t i = 0; i < db->seg->config.lock_buckets; i++)
	{
		n += atomic_load_explicit(&b[i].overflow, memory_order_relaxed) != 0;
		for (int j = 0; j < ENTRIES; j++)
			n += atomic_load_explicit(&b[i].entry[j].owner, memory_order_relaxed) != 0;
	}
	return n;
}

/* ------------------------------------------------------- showing the locks */

void
wide_row_lock_waits(wide_db *db, wide_table_id table, wide_bytes row)
{
	process_slot *me = db->slot;

	atomic_fetch_add(&me->wait_serial, 1);
	me->wait_table = table;
	if (table != 0)
	{
		me->wait_hash = row_hash(table, row);
		me->wait_len = (uint32_t) row.len;
		memcpy(me->wait_row, row.data, row.len < WIDE_LOCK_ROW ? row.len : WIDE_LOCK_ROW);
	}
	atomic_fetch_add(&me->wait_serial, 1);
}

static uint32_t
pid_of(wide_db *db, uint32_t owner)
{
	return owner == 0 ? 0 : atomic_load(&layout_processes(db)[owner - 1].pid);
}

/* Returns slot index + 1 of a process that holds the row with this tag or fills its bucket; 0 =
 * none. */
static uint32_t
bucket_holder(lock_bucket *b, uint32_t tag)
{
	uint32_t owner = atomic_load(&b->overflow), any = 0;

	for (int i = 0; i < ENTRIES && owner == 0; i++)
	{
		any = atomic_load(&b->entry[i].owner);
		if (any != 0 && b->entry[i].tag == tag)
			owner = any;
	}
	return owner != 0 ? owner : any;
}

static void
each_held(wide_db *db, uint32_t index, void (*fn)(void *arg, const wide_lock_info *lock), void *arg)
{
	lock_bucket *b = &lock_table(db)[index];
	wide_lock_info info = {.bucket = index, .granted = true};

	info.pid = pid_of(db, atomic_load(&b->overflow));
	if (info.pid != 0)
	{
		info.whole = true;
		fn(arg, &info);
		return;
	}
	for (int i = 0; i < ENTRIES; i++)
	{
		info.pid = pid_of(db, atomic_load(&b->entry[i].owner));
		info.tag = b->entry[i].tag;
		info.table = atomic_load(&bucket_side(db, b)->table[i]);
		if (info.pid != 0)
			fn(arg, &info);
	}
}

static void
each_waiting(wide_db *db, process_slot *s, void (*fn)(void *arg, const wide_lock_info *lock),
			 void *arg)
{
	wide_lock_info info = {.pid = atomic_load(&s->pid)};
	uint8_t row[WIDE_LOCK_ROW];
	uint64_t hash;
	uint32_t serial;

	do
	{
		serial = atomic_load(&s->wait_serial);
		info.table = s->wait_table;
		hash = s->wait_hash;
		info.row_len = s->wait_len;
		memcpy(row, s->wait_row, sizeof(row));
		atomic_thread_fence(memory_order_acquire);
	} while ((serial & 1) == 0 && atomic_load(&s->wait_serial) != serial);
	if ((serial & 1) != 0 || info.table == 0 || info.pid == 0)
		return;
	info.bucket = (uint32_t) hash & (db->seg->config.lock_buckets - 1);
	info.tag = (uint32_t) (hash >> 32);
	info.row = (wide_bytes) {row, info.row_len < sizeof(row) ? info.row_len : sizeof(row)};
	info.holder = pid_of(db, bucket_holder(&lock_table(db)[info.bucket], info.tag));
	fn(arg, &info);
}

wide_status
wide_row_locks_each(wide_db *db, void (*fn)(void *arg, const wide_lock_info *lock), void *arg)
{
	TRY(segment_check(db));
	for (uint32_t i = 0; i < db->seg->config.lock_buckets; i++)
		each_held(db, i, fn, arg);
	for (uint32_t i = 0; i < layout_processes_used(db); i++)
		each_waiting(db, &layout_processes(db)[i], fn, arg);
	return WIDE_OK;
}

void
row_lock_detach(wide_db *db)
{
	if (db->locks == NULL)
		return;
	wide_row_unlock(db, 0);
	free(db->locks->bucket);
	free(db->locks->savepoint);
	free(db->locks->change);
	free(db->locks->whole);
	free(db->locks);
	db->locks = NULL;
}

/*
 * row_lock.c - row locks that last to the end of a transaction or the rollback to a savepoint.
 *
 * The table of locks is an exact set: an entry for each row that is locked, with 64 bits of the
 * row's hash and the owner's process slot (lock_bucket.h).  A bucket has room for seven entries;
 * more are in a block of memory that grows with the number of locks (lock_memory.h).  A row never
 * waits for the lock of another one, except one with the same hash.
 *
 * Invariant: a row has one holder at most.  All entries with the row's hash are in one bucket.
 * They are looked for and added in the same hold of the bucket's spin word, and the search sees
 * the whole bucket: if the bucket has a block that is not mapped here, the process leaves the
 * bucket, maps the block, and begins again.  Memory is allocated without the spin word as well,
 * and the search is repeated then.
 *
 * Locking: the spin word of the bucket, for a few dozen instructions, and rarely while a block is
 * exchanged for a larger one.  The process is in a critical section meanwhile.  If it is killed
 * there, others spin until the host ends them, or until the segment is poisoned.  This file does
 * not wait for rows: the caller gets WIDE_BUSY and the holder's owner value, and waits by means of
 * the host.
 *
 * Limits.  The host says how much memory row locks may use.  Beyond it, and if the host has no
 * memory, a process that wants another lock gets an error, and keeps those that it has.  A process
 * that has few locks may use what is left when one with many locks has got that error: an eighth
 * of each block, and an eighth of the memory.
 *
 * Behind the table there is a lock_side for each bucket, with
 *  - the newest batch whose transaction has released its locks here before it
 *    published the batch.  A process that locks a row takes that number over: what
 *    it reads under the lock may be of that batch, or lack what that batch has
 *    deleted, whichever columns it reads;
 *  - the table of each entry, for wide_row_locks_each.  That also shows the rows
 *    that processes wait for, from the process slots.
 *
 * A process remembers the hash of each row that it locks.  When that list cannot grow, or is long,
 * it is given up, and the release goes through all buckets.
 *
 * Savepoints.  While there is one, the list is complete from the savepoint on.  A rollback removes
 * the entries of the rows that were added to the list after it: a lock that was held then is still
 * held, however often it was taken again.
 *
 * Invariant: a rollback does not lower lock_local.after.  What was read under a lock
 * that is given back is known to the caller all the same.
 *
 * Void locks.  Another process may have moved entries of this one to a chunk that is not mapped
 * here, and mapping may fail.  A release that fails so, after it has gone through all buckets,
 * sets process_slot.locks_void: entries with this owner count as free from then on.  The slot's
 * process, or the next one that has the slot, takes no lock before it has removed them.  A
 * rollback to a savepoint that fails so leaves the row locked to the end of the transaction.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/shared/row_lock.h"
#include "engine/base/array.h"
#include "engine/base/hash.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/layout.h"
#include "engine/shared/lock_bucket.h"
#include "engine/shared/lock_memory.h"
#include "engine/shared/lock_table.h"
#include "engine/shared/segment.h"

#define FEW_LOCKS	1000 /* a process with less may use the reserve */
#define LIST_FACTOR 8	 /* the list of locks is given up when it has so many for each bucket */

_Static_assert(sizeof(lock_bucket) + sizeof(lock_side) == ROW_LOCK_BUCKET_BYTES,
			   "the segment has room for this");

struct lock_local
{
	uint64_t *list; /* hashes of the rows with locks of this process, each once */
	int n, cap;
	bool all;		 /* the list does not have those from before its beginning */
	size_t held;	 /* entries */
	size_t released; /* since the last wide_row_lock_trim */
	uint64_t after;	 /* newest lock_side.left of the buckets when they were locked */
	/* a block that this process has allocated for a bucket, or taken away from one; 0 = none */
	lock_ref spare;
	uint32_t spare_order;

	/* the length of the list at each savepoint, the innermost one last */
	int *savepoint;
	int nsavepoints, savepoints_cap;
};

wide_status
row_lock_attach(wide_db *db)
{
	db->locks = calloc(1, sizeof(*db->locks));
	if (db->locks == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	return lock_memory_attach(db);
}

uint64_t
row_lock_hash(wide_table_id table, wide_bytes row)
{
	return hash_xxh3(row.data, row.len, 0x6c6f636b00000000ull ^ table);
}

bool
row_lock_is_void(wide_db *db, uint32_t owner)
{
	const prepared_entry *prepared = layout_prepared_of_owner(db, owner);

	if (prepared != NULL)
		return atomic_load(&prepared->xid) == 0;
	return atomic_load_explicit(&layout_processes(db)[owner - 1].locks_void,
								memory_order_acquire) != 0;
}

/* ------------------------------------------------------- the list of locks */

static int
list_limit(wide_db *db)
{
	return (int) (LIST_FACTOR * db->seg->config.lock_buckets);
}

/* Forgets the list, and its memory if that is large. */
static void
list_clear(wide_db *db, bool all)
{
	struct lock_local *l = db->locks;

	l->n = 0;
	l->all = all;
	if (l->cap > list_limit(db))
	{
		free(l->list);
		l->list = NULL;
		l->cap = 0;
	}
}

/* Makes room in the list for one more lock.  Errors: WIDE_NOMEM, while there is a savepoint. */
static wide_status
list_reserve(wide_db *db)
{
	struct lock_local *l = db->locks;

	if (__builtin_expect(l->n < l->cap, 1))
		return WIDE_OK;
	if (l->nsavepoints == 0 && (l->all || l->n >= list_limit(db)))
		return WIDE_OK;
	if (array_grow((void **) &l->list, l->n, &l->cap, sizeof(*l->list)) == WIDE_OK)
		return WIDE_OK;
	return l->nsavepoints == 0 ? WIDE_OK : WIDE_NOMEM;
}

/* Adds a lock to the list, or gives the list up.  Requires: list_reserve. */
static inline void
list_add(wide_db *db, uint64_t hash)
{
	struct lock_local *l = db->locks;

	if (l->all && l->nsavepoints == 0)
		return;
	if (l->n == l->cap || (l->nsavepoints == 0 && l->n >= list_limit(db)))
		list_clear(db, true);
	else
		l->list[l->n++] = hash;
}

/* ---------------------------------------------------------------- release */

/*
 * Removes an entry of this process, or all that it has in the bucket (hash NULL); adds their number
 * to *n.  left: as wide_row_unlock's lsn.  Errors: WIDE_NOMEM: the bucket's block, and so some of
 * the entries, cannot be reached; WIDE_POISONED.
 */
static __attribute__((noinline)) wide_status
remove_entries(wide_db *db, uint32_t index, const uint64_t *hash, uint64_t left, size_t *n)
{
	uint32_t me = db->slot_index + 1;
	lock_view v;
	lock_ref empty = 0;
	size_t removed = 0;
	wide_status st = lock_table_enter(db, index, &v);

	/* then without the block */
	if (st == WIDE_NOMEM)
		TRY(lock_table_spin(db, index, &v));
	else
		TRY(st);
	if (left > atomic_load_explicit(&v.side->left, memory_order_relaxed))
		atomic_store_explicit(&v.side->left, left, memory_order_relaxed);
	if (hash == NULL)
		empty = lock_bucket_remove_all(&v, me, &removed);
	else
	{
		int64_t free_place, place = lock_bucket_find(&v, lock_bucket_tag(*hash), &free_place);

		if (place != LOCK_NOWHERE && lock_bucket_owner(&v, place) == me)
		{
			empty = lock_bucket_remove(&v, place);
			removed = 1;
		}
	}
	lock_table_leave(db, &v);
	if (empty != 0)
		lock_memory_free(db, empty);
	*n += removed;
	return st;
}

/*
 * remove_entries for the usual case, a row in a bucket without block.  Returns false, and has done
 * nothing, in any other case.
 */
static inline bool
remove_inline(wide_db *db, uint64_t hash, uint64_t left, size_t *n)
{
	uint64_t entry = lock_bucket_tag(hash) << LOCK_OWNER_BITS | (db->slot_index + 1);
	bool found = false;
	lock_view v;

	if (lock_table_spin(db, lock_table_index(db, hash), &v) != WIDE_OK)
		return false;
	if (__builtin_expect(atomic_load_explicit(&v.bucket->block, memory_order_relaxed) == 0, 1))
	{
		if (left > atomic_load_explicit(&v.side->left, memory_order_relaxed))
			atomic_store_explicit(&v.side->left, left, memory_order_relaxed);
		for (int i = 0; i < LOCK_INLINE && !found; i++)
			if (atomic_load_explicit(&v.bucket->entry[i], memory_order_relaxed) == entry)
			{
				atomic_store_explicit(&v.bucket->entry[i], 0, memory_order_relaxed);
				found = true;
			}
	}
	lock_table_leave(db, &v);
	*n += found;
	return found;
}

/*
 * Returns false if this process has no entry in the bucket.  Needs no spin word: only the process
 * itself adds and removes its entries.  Others may move one from the block to the bucket and then
 * remove the block, hence the order in which they are looked at.
 */
static bool
may_have_entries(wide_db *db, uint32_t index)
{
	lock_bucket *b = &lock_table_buckets(db)[index];
	bool may = atomic_load_explicit(&b->block, memory_order_acquire) != 0;

	for (int i = 0; i < LOCK_INLINE; i++)
		may |= (atomic_load_explicit(&b->entry[i], memory_order_relaxed) & LOCK_OWNER_MASK) ==
			   db->slot_index + 1;
	return may;
}

/* Removes all entries of this process; *n as remove_entries.  Goes on after WIDE_NOMEM. */
static wide_status
remove_all_entries(wide_db *db, uint64_t left, size_t *n)
{
	wide_status failed = WIDE_OK;

	for (uint32_t i = 0; i < db->seg->config.lock_buckets && failed != WIDE_POISONED; i++)
	{
		wide_status st = may_have_entries(db, i) ? remove_entries(db, i, NULL, left, n) : WIDE_OK;

		if (st != WIDE_OK)
			failed = st;
	}
	return failed;
}

/*
 * Sorts the list from index `from` on by buckets, so that what is removed from a bucket is removed
 * at once, and its block is read from memory once.  Without memory for it the list stays.
 */
static __attribute__((noinline)) void
list_sort(wide_db *db, int from)
{
	struct lock_local *l = db->locks;
	uint32_t buckets = db->seg->config.lock_buckets;
	size_t n = (size_t) (l->n - from), at = 0;
	uint64_t *list = l->list + from, *sorted = malloc(n * sizeof(*sorted));
	size_t *first = calloc(buckets, sizeof(*first));

	for (size_t i = 0; sorted != NULL && first != NULL && i < n; i++)
		first[lock_table_index(db, list[i])]++;
	for (uint32_t b = 0; sorted != NULL && first != NULL && b < buckets; b++)
	{
		size_t of_bucket = first[b];

		first[b] = at;
		at += of_bucket;
	}
	for (size_t i = 0; at == n && i < n; i++)
		sorted[first[lock_table_index(db, list[i])]++] = list[i];
	if (at == n)
		memcpy(list, sorted, n * sizeof(*sorted));
	free(sorted);
	free(first);
}

/* Removes the entries of the rows in the list from index `from` on, as remove_all_entries. */
static wide_status
remove_listed(wide_db *db, int from, uint64_t left, size_t *n)
{
	struct lock_local *l = db->locks;
	wide_status failed = WIDE_OK;

	if (l->n - from > (int) db->seg->config.lock_buckets)
		list_sort(db, from);
	while (l->n > from && failed != WIDE_POISONED)
	{
		const uint64_t *hash = &l->list[--l->n];
		wide_status st;

		if (remove_inline(db, *hash, left, n))
			continue;
		st = remove_entries(db, lock_table_index(db, *hash), hash, left, n);
		if (st != WIDE_OK)
			failed = st;
	}
	return failed;
}

/* Returns true if the list is complete, and fewer cache lines need to be touched to remove its rows
 * than to look at all buckets and blocks. */
static bool
list_is_shorter(wide_db *db)
{
	const struct lock_local *l = db->locks;
	uint32_t half = db->seg->config.lock_buckets / 2;

	if (l->all || (uint32_t) l->n <= half)
		return !l->all;
	return (uint32_t) l->n - half <= atomic_load(&db->seg->lock_memory.used) / 128;
}

void
wide_row_unlock(wide_db *db, uint64_t left)
{
	struct lock_local *l = db->locks;
	size_t n = 0;
	wide_status st = WIDE_OK;

	if (l->held == 0)
		;
	else if (list_is_shorter(db))
		st = remove_listed(db, 0, left, &n);
	else
		st = remove_all_entries(db, left, &n);
	/* after all buckets have got `left`; poison: locks do not matter then */
	if (st == WIDE_NOMEM)
		atomic_store_explicit(&db->slot->locks_void, 1, memory_order_release);
	list_clear(db, false);
	l->after = 0;
	l->held = 0;
	l->nsavepoints = 0;
	l->released += n;
}

/* Removes the void entries of this process's slot. */
static wide_status
remove_void(wide_db *db)
{
	size_t n = 0;

	TRY(remove_all_entries(db, 0, &n));
	atomic_store_explicit(&db->slot->locks_void, 0, memory_order_release);
	return WIDE_OK;
}

void
wide_row_lock_trim(wide_db *db)
{
	struct lock_local *l = db->locks;

	if (__builtin_expect(l->released >= FEW_LOCKS, 0))
		lock_table_shrink(db, l->released);
	l->released = 0;
	lock_memory_trim(db);
}

/* ---------------------------------------------------------------- locking */

/* What bucket_take has done. */
enum lock_taken
{
	TAKEN_NOT,	  /* another process has the lock */
	TAKEN_BEFORE, /* this process had it already */
	TAKEN_NOW,	  /* there is an entry for it now */
	TAKEN_NO_ROOM /* there is no room for an entry: the block must grow */
};

/* The owner value of the process, or of the prepared transaction. */
static uint64_t
value_of(wide_db *db, uint32_t owner)
{
	const prepared_entry *prepared = layout_prepared_of_owner(db, owner);
	uint64_t xid;

	if (prepared == NULL)
		return atomic_load(&layout_processes(db)[owner - 1].owner);
	xid = atomic_load(&prepared->xid);
	return xid != 0 ? WIDE_HOLDER_PREPARED | xid : 0;
}

/*
 * Locks the row with this hash for this owner.  TAKEN_NOT: *other is the
 * holder.  If there is no room and the process has a spare block of the right order, that becomes
 * the bucket's block.  full: as lock_bucket_add.
 */
static inline enum lock_taken
bucket_take(wide_db *db, lock_view *v, uint32_t me, uint64_t hash, wide_table_id table, bool full,
			uint32_t *other)
{
	struct lock_local *l = db->locks;
	uint64_t tag = lock_bucket_tag(hash);
	int64_t free_place, place = lock_bucket_find(v, tag, &free_place);

	if (__builtin_expect(place == LOCK_NOWHERE && free_place != LOCK_NOWHERE, 1))
	{
		lock_bucket_put(v, free_place, tag, me, table);
		return TAKEN_NOW;
	}
	if (place != LOCK_NOWHERE)
	{
		*other = lock_bucket_owner(v, place);
		if (*other == me)
			return TAKEN_BEFORE;
		if (!row_lock_is_void(db, *other))
			return TAKEN_NOT;
		lock_bucket_set_owner(v, place, me, table);
		return TAKEN_NOW;
	}
	if (lock_bucket_add(v, tag, me, table, full))
		return TAKEN_NOW;
	if (l->spare == 0 || l->spare_order != lock_bucket_next_order(v))
		return TAKEN_NO_ROOM;
	l->spare = lock_bucket_exchange(v, l->spare_order, l->spare, lock_memory_at(db, l->spare));
	l->spare_order = 0;
	return lock_bucket_add(v, tag, me, table, full) ? TAKEN_NOW : TAKEN_NO_ROOM;
}

/* One attempt of wide_row_lock; *order: of the block that TAKEN_NO_ROOM needs. */
static inline wide_status
try_lock(wide_db *db, uint32_t me, uint64_t hash, wide_table_id table, bool full,
		 enum lock_taken *how, uint64_t *holder, uint32_t *order)
{
	struct lock_local *l = db->locks;
	uint64_t left = 0;
	lock_view v;
	uint32_t other;

	TRY(lock_table_enter(db, lock_table_index(db, hash), &v));
	*how = bucket_take(db, &v, me, hash, table, full, &other);
	/* read while the lock is there: a process changes its owner value before it takes the locks
	 * that the new value is for, and after it has given back those of the old one */
	if (*how == TAKEN_NOT)
		*holder = value_of(db, other);
	else if (*how == TAKEN_NO_ROOM)
		*order = lock_bucket_next_order(&v);
	else
		left = atomic_load_explicit(&v.side->left, memory_order_relaxed);
	lock_table_leave(db, &v);
	if (left > l->after)
		l->after = left;
	return WIDE_OK;
}

static void
free_spare(wide_db *db)
{
	if (db->locks->spare != 0)
		lock_memory_free(db, db->locks->spare);
	db->locks->spare = 0;
}

/*
 * Makes the spare block one of this order.  If there is no memory for it: *full becomes true, for a
 * process with few locks, if it is false; otherwise WIDE_LIMIT or WIDE_NOMEM.
 */
static wide_status
get_spare(wide_db *db, uint32_t order, bool *full)
{
	struct lock_local *l = db->locks;
	bool few = l->held < FEW_LOCKS;
	wide_status st;

	free_spare(db);
	st = lock_memory_allocate(db, order, few, &l->spare);
	l->spare_order = order;
	if ((st != WIDE_LIMIT && st != WIDE_NOMEM) || !few || *full)
		return st;
	*full = true;
	return WIDE_OK;
}

/* Locks the row for the owner, with memory for a block if need be. */
static inline wide_status
lock_for(wide_db *db, uint32_t me, uint64_t hash, wide_table_id table, enum lock_taken *how,
		 uint64_t *holder)
{
	uint32_t order = 0;
	bool full = false;
	wide_status st = try_lock(db, me, hash, table, full, how, holder, &order);

	while (__builtin_expect(st == WIDE_OK && *how == TAKEN_NO_ROOM, 0))
	{
		st = get_spare(db, order, &full);
		if (st == WIDE_OK)
			st = try_lock(db, me, hash, table, full, how, holder, &order);
	}
	free_spare(db);
	return st;
}

wide_status
wide_row_lock(wide_db *db, wide_table_id table, wide_bytes row, uint64_t *holder)
{
	uint64_t hash = row_lock_hash(table, row);
	enum lock_taken how = TAKEN_NO_ROOM;

	*holder = 0;
	TRY(segment_check(db));
	TRY(list_reserve(db));
	if (__builtin_expect(atomic_load_explicit(&db->slot->locks_void, memory_order_relaxed) != 0, 0))
		TRY(remove_void(db));
	TRY(lock_for(db, db->slot_index + 1, hash, table, &how, holder));
	if (how == TAKEN_NOT)
	{
		counter_add(db, COUNTER_ROW_LOCK_WAITS, 1);
		return status_fail(WIDE_BUSY, "another transaction holds the lock of the row");
	}
	if (how == TAKEN_NOW)
	{
		db->locks->held++;
		list_add(db, hash);
	}
	return WIDE_OK;
}

/* --------------------------------------------------- prepared transactions */

wide_status
row_lock_give(wide_db *db, uint32_t to, void *arg,
			  wide_status (*fn)(void *arg, uint64_t hash, wide_table_id table))
{
	struct lock_local *l = db->locks;

	if (l->all)
		return status_fail(WIDE_LIMIT, "it has locked more than %d rows", list_limit(db));
	while (l->n > 0)
	{
		uint64_t tag, hash = l->list[l->n - 1];
		int64_t place, free_place;
		wide_table_id table = 0;
		lock_view v;

		TRY(lock_table_enter(db, lock_table_index(db, hash), &v));
		place = lock_bucket_find(&v, lock_bucket_tag(hash), &free_place);
		if (place != LOCK_NOWHERE)
		{
			(void) lock_bucket_get(&v, place, &tag, &table);
			lock_bucket_set_owner(&v, place, to, table);
		}
		lock_table_leave(db, &v);
		l->n--;
		l->held--;
		if (place != LOCK_NOWHERE)
			TRY(fn(arg, hash, table));
	}
	return WIDE_OK;
}

wide_status
row_lock_restore(wide_db *db, uint32_t owner, uint64_t hash, wide_table_id table)
{
	enum lock_taken how;
	uint64_t holder;

	return lock_for(db, owner, hash, table, &how, &holder);
}

/* -------------------------------------------------------------- savepoints */

wide_status
wide_row_lock_savepoint(wide_db *db)
{
	struct lock_local *l = db->locks;

	TRY(array_grow((void **) &l->savepoint, l->nsavepoints, &l->savepoints_cap,
				   sizeof(*l->savepoint)));
	l->savepoint[l->nsavepoints++] = l->n;
	return WIDE_OK;
}

void
wide_row_lock_keep(wide_db *db)
{
	struct lock_local *l = db->locks;

	if (--l->nsavepoints == 0 && l->n > list_limit(db))
		list_clear(db, true);
}

void
wide_row_lock_undo(wide_db *db)
{
	struct lock_local *l = db->locks;
	int to = l->savepoint[--l->nsavepoints];
	size_t n = 0;
	wide_status st;

	/* if there is none from before the savepoint, all may go at once */
	if (to > 0 || l->all || list_is_shorter(db))
		st = remove_listed(db, to, 0, &n);
	else
		st = remove_all_entries(db, 0, &n);
	l->n = to;
	l->held -= n;
	l->released += n;
	/* rows that are still locked are not in the list any more; poison: locks do not matter then */
	if (st == WIDE_NOMEM)
		l->all = true;
}

/* ---------------------------------------------------------------- numbers */

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
	uint32_t buckets = db->seg->config.lock_buckets;
	lock_bucket *b = lock_table_buckets(db);
	lock_side *side = (lock_side *) (b + buckets);
	size_t n = 0;

	for (uint32_t i = 0; i < buckets; i++)
	{
		for (int j = 0; j < LOCK_INLINE; j++)
			n += atomic_load_explicit(&b[i].entry[j], memory_order_relaxed) != 0;
		n += atomic_load_explicit(&side[i].more, memory_order_relaxed);
	}
	return n;
}

void
row_lock_detach(wide_db *db)
{
	if (db->locks != NULL && db->lock_maps != NULL)
	{
		wide_row_unlock(db, 0);
		lock_memory_trim(db);
	}
	lock_memory_detach(db);
	if (db->locks == NULL)
		return;
	free(db->locks->list);
	free(db->locks->savepoint);
	free(db->locks);
	db->locks = NULL;
}

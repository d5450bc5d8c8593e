/*
 * lock_show.c - row locks that are held and waited for, for users.
 *
 * Locking: the spin word of a bucket while its entries are copied.  The rows that processes wait
 * for are read from the process slots, each under its serial.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/lock_bucket.h"
#include "engine/shared/lock_table.h"
#include "engine/shared/row_lock.h"

#define EACH_LOCKS 4096 /* wide_row_locks_each shows so many at a time, or a little more */

void
wide_row_lock_waits(wide_db *db, wide_table_id table, wide_bytes row)
{
	process_slot *me = db->slot;

	atomic_fetch_add(&me->wait_serial, 1);
	me->wait_table = table;
	if (table != 0)
	{
		me->wait_hash = row_lock_hash(table, row);
		me->wait_len = (uint32_t) row.len;
		memcpy(me->wait_row, row.data, row.len < WIDE_LOCK_ROW ? row.len : WIDE_LOCK_ROW);
	}
	atomic_fetch_add(&me->wait_serial, 1);
}

static uint32_t
pid_of(wide_db *db, uint32_t owner)
{
	if (owner == 0 || layout_prepared_of_owner(db, owner) != NULL || row_lock_is_void(db, owner))
		return 0;
	return atomic_load(&layout_processes(db)[owner - 1].pid);
}

/* Returns the prepared transaction that is the owner; 0: it is none. */
static uint64_t
prepared_xid(wide_db *db, uint32_t owner)
{
	const prepared_entry *e = owner != 0 ? layout_prepared_of_owner(db, owner) : NULL;

	return e != NULL ? atomic_load(&e->xid) : 0;
}

/* Returns the pid of the process that holds the row; 0 = none, or not known. */
static uint32_t
holder_of(wide_db *db, uint64_t hash)
{
	lock_view v;
	int64_t place, free_place;
	uint32_t owner;

	if (lock_table_enter(db, lock_table_index(db, hash), &v) != WIDE_OK)
		return 0;
	place = lock_bucket_find(&v, lock_bucket_tag(hash), &free_place);
	owner = place != LOCK_NOWHERE ? lock_bucket_owner(&v, place) : 0;
	lock_table_leave(db, &v);
	return pid_of(db, owner);
}

/* A copy of the entries of a bucket, free ones included. */
typedef struct lock_copies
{
	struct lock_copy
	{
		uint64_t tag;
		wide_table_id table;
		uint32_t owner;
	} * at;

	int64_t n, cap;
} lock_copies;

/* Copies the entries, as nothing may be called back with the spin word held. */
static wide_status
copy_entries(wide_db *db, uint32_t index, lock_copies *c)
{
	lock_view v;

	for (;;)
	{
		int64_t places;

		TRY(lock_table_enter(db, index, &v));
		places = lock_bucket_places(&v);
		c->n = places <= c->cap ? places : 0;
		for (int64_t i = 0; i < c->n; i++)
			c->at[i].owner = lock_bucket_get(&v, i, &c->at[i].tag, &c->at[i].table);
		lock_table_leave(db, &v);
		if (c->n > 0)
			return WIDE_OK;
		free(c->at);
		c->cap = places;
		c->at = malloc((size_t) places * sizeof(*c->at));
		if (c->at == NULL)
			return status_fail(WIDE_NOMEM, "out of memory");
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
	info.bucket = lock_table_index(db, hash);
	info.tag = lock_bucket_tag(hash);
	info.row = (wide_bytes) {row, info.row_len < sizeof(row) ? info.row_len : sizeof(row)};
	info.holder = holder_of(db, hash);
	fn(arg, &info);
}

wide_status
wide_row_locks_each(wide_db *db, uint32_t *part, void (*fn)(void *arg, const wide_lock_info *lock),
					void *arg)
{
	uint32_t buckets = db->seg->config.lock_buckets;
	lock_copies c = {0};
	wide_status st = WIDE_OK;
	int shown = 0;

	TRY(segment_check(db));
	for (; st == WIDE_OK && *part < buckets && shown < EACH_LOCKS; ++*part)
	{
		wide_lock_info info = {.bucket = *part, .granted = true};

		st = copy_entries(db, *part, &c);
		for (int64_t i = 0; st == WIDE_OK && i < c.n; i++)
		{
			info.pid = pid_of(db, c.at[i].owner);
			info.tag = c.at[i].tag;
			info.table = c.at[i].table;
			info.prepared = prepared_xid(db, c.at[i].owner);
			if (info.pid != 0 || info.prepared != 0)
				fn(arg, &info), shown++;
		}
	}
	free(c.at);
	if (st != WIDE_OK || *part < buckets)
		return st;
	for (uint32_t i = 0; i < layout_processes_used(db); i++)
		each_waiting(db, &layout_processes(db)[i], fn, arg);
	return WIDE_END;
}

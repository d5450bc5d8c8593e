/*
 * process.c - process slots: attaching, and cleaning up after dead processes.
 *
 * A slot belongs to the process whose pid it holds.  The start time tells that
 * process from a later one with the same pid.  A slot of a dead process is taken
 * over in two steps, start_time to 0 and then the pid, so that a slot never shows a
 * live pid with the start time of another process; see slot_claim.
 *
 * Locking: none.  Slots are taken and taken over by compare-and-swap on pid, so
 * this works for a process that is not attached yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/shared/process.h"
#include "engine/shared/cache.h"
#include "engine/shared/layout.h"
#include "engine/shared/row_lock.h"
#include "engine/shared/segment.h"

/* Returns the start time of a process in clock ticks since boot; 0 = there is no such process, it
 * is a zombie, or the time is not known. */
static uint64_t
process_start_time(uint32_t pid)
{
	char path[40];
	char text[512];
	char *p;
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	/* "pid (name) state ..."; the name may contain anything; the start time is field 22 */
	p = strrchr(text, ')');
	if (p == NULL || p[1] != ' ' || p[2] == 'Z' || p[2] == 'X')
		return 0;
	p += 2;
	for (int field = 3; field < 22; field++)
	{
		p = strchr(p, ' ');
		if (p == NULL)
			return 0;
		p++;
	}
	return strtoull(p, NULL, 10);
}

/* Returns true if the process is surely dead, perhaps with its pid in use by another one. */
static bool
process_dead(uint32_t pid, uint64_t start_time)
{
	uint64_t start;

	if (pid == 0)
		return false;
	if (kill((pid_t) pid, 0) != 0 && errno == ESRCH)
		return true;
	/* a process has this pid, but it may be a zombie or a later process */
	start = process_start_time(pid);
	if (start == 0)
		return access("/proc/self/stat", R_OK) == 0;
	return start_time != 0 && start != start_time;
}

/*
 * Takes over the slot of a dead process; returns false if another process does.
 * start_time is cleared first: between the two steps only the (dead) pid counts,
 * and of several processes one wins the second step.  During the clean-up the slot
 * has the pid of the process that does it, so it is found again if that dies too.
 */
static bool
slot_claim(process_slot *s, uint32_t pid, uint64_t start)
{
	if (start != 0 && !atomic_compare_exchange_strong(&s->start_time, &start, 0))
		return false;
	return atomic_compare_exchange_strong(&s->pid, &pid, (uint32_t) getpid());
}

/* Returns the reason if the death of the slot's process may have left something half done,
 * otherwise NULL. */
static const char *
slot_damage(wide_db *db, process_slot *s, uint32_t pid)
{
	if (atomic_load(&s->in_crit) != 0)
		return "a process died while it changed shared memory";
	if (atomic_load(&s->external) != 0 || atomic_load(&s->prepare_lsn) != 0)
		return "a process died with a prepared transaction";
	/* read without LOCK_SET: a dead process does not change its job, and other jobs have other
	 * pids */
	for (int i = 0; i < JOB_MAX; i++)
		if (db->seg->jobs[i].used && db->seg->jobs[i].pid == pid &&
			db->seg->jobs[i].info.state == 0)
			return "a process died in a flush or compaction";
	return NULL;
}

/* Clears what the process holds and waits for; pid and start_time stay. */
static void
slot_clear(process_slot *s)
{
	uint32_t ended = atomic_load(&s->external) != 0;

	atomic_store(&s->owner, 0);
	atomic_store(&s->pin, 0);
	atomic_store(&s->mem_pin, 0);
	atomic_store(&s->mem_pin_last, 0);
	atomic_store(&s->snapshot, 0);
	atomic_store(&s->external, 0);
	atomic_store(&s->prepare_lsn, 0);
	/* a process that dies while it waits for a row has not called wide_row_lock_waits(0); the
	 * serial becomes even */
	s->wait_table = 0;
	atomic_fetch_add(&s->wait_serial, atomic_load(&s->wait_serial) & 1 ? 1 : 2);
	atomic_store(&s->in_crit, 0);
	if (ended)
	{
		atomic_fetch_add(&s->prepare_done, 1);
		segment_futex_wake(&s->prepare_done);
	}
}

/*
 * If the slot's process is dead, takes the slot over and releases what the process
 * held.  Returns true if the slot is now clean and belongs to this process.
 * Poisons the segment if the death left something half done.
 */
static bool
slot_bury(wide_db *db, uint32_t index)
{
	process_slot *s = &layout_processes(db)[index];
	uint32_t pid = atomic_load(&s->pid);
	uint64_t start = atomic_load(&s->start_time);
	const char *damage;
	process_slot *own = db->slot;
	uint32_t own_index = db->slot_index;

	if (pid == 0 || pid == (uint32_t) getpid() || !process_dead(pid, start))
		return false;
	if (!slot_claim(s, pid, start))
		return false;
	damage = slot_damage(db, s, pid);
	if (damage != NULL)
	{
		wide_poison(db, damage);
		return false;
	}
	/* row_lock_sweep needs a slot, which a process that attaches does not have yet: lend it this
	 * one */
	db->slot = s;
	db->slot_index = index;
	row_lock_sweep(db, index);
	db->slot = own;
	db->slot_index = own_index;
	cache_sweep(db, index);
	slot_clear(s);
	return true;
}

void
process_sweep(wide_db *db)
{
	uint32_t n = db->seg->config.max_processes;

	for (uint32_t i = 0; i < n && segment_check(db) == WIDE_OK; i++)
		if (slot_bury(db, i))
			atomic_store(&layout_processes(db)[i].pid, 0);
}

bool
process_attach(wide_db *db)
{
	process_slot *slots = layout_processes(db);
	uint32_t n = db->seg->config.max_processes;
	uint32_t i;

	for (i = 0; i < n; i++)
	{
		uint32_t free_pid = 0;

		if (atomic_load_explicit(&slots[i].pid, memory_order_relaxed) == 0 &&
			atomic_compare_exchange_strong(&slots[i].pid, &free_pid, (uint32_t) getpid()))
			break;
	}
	if (i == n)
		for (i = 0; i < n && segment_check(db) == WIDE_OK; i++)
			if (slot_bury(db, i))
				break;
	if (i == n || segment_check(db) != WIDE_OK)
		return false;
	/* loops over all processes must see the slot before anything is stored in it */
	for (uint32_t used = atomic_load(&db->seg->slots_used); used <= i;)
		if (atomic_compare_exchange_weak(&db->seg->slots_used, &used, i + 1))
			break;
	db->slot = &slots[i];
	db->slot_index = i;
	slot_clear(db->slot);
	db->slot->generation++;
	atomic_store(&db->slot->start_time, process_start_time(getpid()));
	return true;
}

void
process_detach(wide_db *db)
{
	if (db->slot == NULL)
		return;
	slot_clear(db->slot);
	/* a free slot has no start time: see slot_claim */
	atomic_store(&db->slot->start_time, 0);
	atomic_store(&db->slot->pid, 0);
	db->slot = NULL;
}

void
wide_set_owner(wide_db *db, uint64_t owner)
{
	atomic_store(&db->slot->owner, owner);
}

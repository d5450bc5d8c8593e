/*
 * shm.c - the shared segment: its layout, who is attached, locks, waiting,
 * and what happens when a process dies.
 *
 * Layout, every part 64-byte aligned, offsets in the head:
 *
 *     segment head    slots[max_processes]    files[max_files]
 *     tables[max_tables]    families[4 x max_tables]    bindings[2 x max_tables]
 *     row locks[lock_buckets]    cache    cache pins[max_processes]
 *     file log's state    memtable regions[WIDE_MEMTABLES]
 *
 * Crash only.  A death that may have left something half done is detected and
 * poisons the segment; nothing is repaired in place.  It is detected
 *   - by the next one who wants the mutex that the dead one held (robust
 *     mutexes: EOWNERDEAD; it is never marked consistent, so that everybody
 *     who comes later gets ENOTRECOVERABLE);
 *   - by shm_sweep, which finds the slot of a dead process with in_crit > 0,
 *     with a prepared transaction or with a running job.
 * A process that died outside of all this is forgotten: its pins, snapshots
 * and row locks go.  Process-shared condition variables and rwlocks are not
 * used: they are not robust.  Nobody ever unmaps the segment: the kernel could
 * not mark the mutexes of a process that died after that.
 *
 * A slot belongs to the process whose pid it holds.  It is taken over from a
 * dead one in two steps, start_time to 0 and then the pid, so that a slot never
 * shows a living pid with somebody else's start time; see slot_claim.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "shm.h"

#define ALIGN64(n)		(((uint64_t) (n) + 63) & ~(uint64_t) 63)
#define MIB				((size_t) 1024 * 1024)
#define SLICE_MS		100		/* longest sleep without a look around */
#define SWEEP_MS		500		/* a waiter looks for dead processes this often */

/* ---------------------------------------------------------------- layout */

static const wide_config config_default = {
	.memtable_size = 16 * MIB,
	.cache_size = 128 * MIB,
	.max_processes = 256,
	.max_tables = 1000,
	.max_files = 8192,
	.lock_buckets = 32768
};

/* What shrinking stops at; max_processes is not ours to shrink. */
static const wide_config config_least = {
	.memtable_size = 1 * MIB,
	.cache_size = 2 * MIB,
	.max_processes = 1,
	.max_tables = 100,
	.max_files = 1024,
	.lock_buckets = 2048
};

static uint32_t
power_of_two_below(uint32_t n)
{
	uint32_t	p = 1;

	while (p <= n / 2)
		p *= 2;
	return p;
}

static void
config_defaults(wide_config *c)
{
	if (c->memtable_size == 0)
		c->memtable_size = config_default.memtable_size;
	if (c->cache_size == 0)
		c->cache_size = config_default.cache_size;
	if (c->max_processes == 0)
		c->max_processes = config_default.max_processes;
	if (c->max_tables == 0)
		c->max_tables = config_default.max_tables;
	if (c->max_files == 0)
		c->max_files = config_default.max_files;
	if (c->lock_buckets == 0)
		c->lock_buckets = config_default.lock_buckets;
	c->memtable_size = ALIGN64(c->memtable_size);
	c->lock_buckets = power_of_two_below(c->lock_buckets);
}

/* Offsets of all parts into *s (only those fields are written); returns the size. */
static uint64_t
layout(const wide_config *c, segment *s)
{
	uint64_t	at = ALIGN64(sizeof(segment));

	s->max_families = c->max_tables * 4;
	s->max_bindings = c->max_tables * 2;
#define PART(field, bytes) (s->field = at, at += ALIGN64(bytes))
	PART(slots, (uint64_t) c->max_processes * sizeof(slot));
	PART(files, (uint64_t) c->max_files * sizeof(file_slot));
	PART(tables, (uint64_t) c->max_tables * sizeof(table_slot));
	PART(families, (uint64_t) s->max_families * sizeof(family_slot));
	PART(bindings, (uint64_t) s->max_bindings * sizeof(binding_slot));
	PART(locks, (uint64_t) c->lock_buckets * LOCK_BUCKET_BYTES);
	PART(cache, cache_bytes_needed(c->cache_size));
	PART(cache_pins, (uint64_t) c->max_processes * cache_pins_bytes(c->cache_size));
	PART(log, SHM_LOG_SIZE);
	PART(regions, (uint64_t) c->memtable_size * WIDE_MEMTABLES);
#undef PART
	return at;
}

static uint64_t
config_bytes(const wide_config *c)
{
	segment		s;

	return layout(c, &s);
}

/* value x part / 65536, but not below least (nor raised to it) */
static uint64_t
shrink(uint64_t value, uint64_t least, uint32_t part)
{
	uint64_t	v = (uint64_t) ((__uint128_t) value * part / 65536);

	if (least > value)
		least = value;
	return v < least ? least : v;
}

static wide_config
config_shrunk(const wide_config *c, uint32_t part)
{
	wide_config r = *c;

	r.memtable_size = shrink(c->memtable_size, config_least.memtable_size, part) & ~(size_t) 63;
	r.cache_size = shrink(c->cache_size, config_least.cache_size, part);
	r.max_tables = shrink(c->max_tables, config_least.max_tables, part);
	r.max_files = shrink(c->max_files, config_least.max_files, part);
	r.lock_buckets = power_of_two_below(shrink(c->lock_buckets, config_least.lock_buckets, part));
	return r;
}

void
wide_config_fit(wide_config *config, size_t total)
{
	uint32_t	lo = 0,
				hi = 65536;
	wide_config whole,
				least;
	bool		keep_numbers;

	config_defaults(config);
	if (total == 0 || config_bytes(config) <= total)
		return;
	whole = *config;
	/* fewer tables or files than asked for would surprise more than less memory: only when nothing else helps */
	least = config_shrunk(&whole, 0);
	least.max_tables = whole.max_tables;
	least.max_files = whole.max_files;
	keep_numbers = config_bytes(&least) <= total;
	/* the largest part, in 1/65536, that fits; with 0 all are at their least, fitting or not */
	while (lo + 1 < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;
		wide_config c = config_shrunk(&whole, mid);

		if (keep_numbers)
		{
			c.max_tables = whole.max_tables;
			c.max_files = whole.max_files;
		}
		if (config_bytes(&c) <= total)
			lo = mid;
		else
			hi = mid;
	}
	*config = config_shrunk(&whole, lo);
	if (keep_numbers)
	{
		config->max_tables = whole.max_tables;
		config->max_files = whole.max_files;
	}
}

size_t
wide_segment_size(const wide_config *config)
{
	wide_config c = *config;

	config_defaults(&c);
	return config_bytes(&c);
}

static uint64_t
build_id(void)
{
	static const uint32_t sizes[] = {
		2,						/* the version of the layout, for changes that keep all sizes */
		sizeof(segment), sizeof(slot), sizeof(memtable), sizeof(commit_state), sizeof(set_state), sizeof(file_slot),
		sizeof(table_slot), sizeof(family_slot), sizeof(binding_slot), sizeof(catalog_state), sizeof(job_slot),
		sizeof(pthread_mutex_t), sizeof(wide_config), STAT_COUNT, LOCK_COUNT, COMMIT_RING, EXTERNAL_RING,
		SHM_LOG_SIZE, FILE_BOUND, offsetof(segment, lock), offsetof(segment, memtables)
	};

	_Static_assert(STAT_COUNT <= sizeof(((slot *) 0)->counters) / sizeof(uint64_t), "counters[] is too short");
	return wide_hash(sizes, sizeof(sizes), SEGMENT_MAGIC);
}

static wide_status
locks_init(segment *s)
{
	pthread_mutexattr_t a;
	int			e;

	if ((e = pthread_mutexattr_init(&a)) != 0)
		return wide_fail(WIDE_NOMEM, "cannot make mutex attributes: %s", strerror(e));
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < LOCK_COUNT && e == 0; i++)
	{
		memset(&s->lock[i], 0, sizeof(s->lock[i]));
		e = pthread_mutex_init(&s->lock[i], &a);
	}
	pthread_mutexattr_destroy(&a);
	return e == 0 ? WIDE_OK : wide_fail(WIDE_NOMEM, "cannot make a shared mutex: %s", strerror(e));
}

wide_status
wide_segment_format(void *base, const wide_config *config)
{
	segment    *s = base;
	wide_config c = *config;

	config_defaults(&c);
	if (((uintptr_t) base & 63) != 0)
		return wide_fail(WIDE_INVALID, "the segment is not aligned to 64 bytes");
	if (c.max_processes > 65535 || c.max_tables > 1000000 || c.max_files > 100000000 || c.lock_buckets > 1u << 26 ||
		c.memtable_size < 64 * 1024 || c.memtable_size > (size_t) 16 << 30 || c.cache_size > (size_t) 1 << 40)
		return wide_fail(WIDE_INVALID, "the segment's configuration is out of range");

	memset(s, 0, sizeof(*s));
	s->size = layout(&c, s);
	s->config = c;
	/* the cache writes its own head; the memory of blocks and memtables stays untouched, its pages may not exist yet */
	memset((uint8_t *) base + s->slots, 0, s->cache - s->slots);
	memset((uint8_t *) base + s->cache_pins, 0, s->regions - s->cache_pins);
	lock_format((uint8_t *) base + s->locks, c.lock_buckets);
	cache_format((uint8_t *) base + s->cache, cache_bytes_needed(c.cache_size));
	for (int i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable   *t = &s->memtables[i];

		t->region = s->regions + i * c.memtable_size;
		mem_format(t, (uint8_t *) base + t->region, c.memtable_size);
		atomic_store(&t->state, MEM_FREE);
	}
	s->memtables[0].number = 1;
	atomic_store(&s->memtables[0].state, MEM_ACTIVE);
	s->commit.active = 0;
	s->commit.memtable_number = 1;
	TRY(locks_init(s));
	s->build = build_id();
	atomic_store(&s->state, WIDE_EMPTY);
	atomic_thread_fence(memory_order_release);
	s->magic = SEGMENT_MAGIC;
	return WIDE_OK;
}

wide_state
wide_segment_state(const void *base)
{
	const segment *s = base;

	return (wide_state) atomic_load_explicit(&s->state, memory_order_acquire);
}

/* ------------------------------------------------------------- liveness */

uint64_t
shm_process_start(uint32_t pid)
{
	char		path[40];
	char		text[512];
	char	   *p;
	int			fd;
	ssize_t		n;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	/* "pid (name) state ..." with anything in the name; the start time is field 22 */
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

bool
shm_process_dead(uint32_t pid, uint64_t start_time)
{
	uint64_t	start;

	if (pid == 0)
		return false;
	if (kill((pid_t) pid, 0) != 0 && errno == ESRCH)
		return true;
	/* it has the number, but is it a zombie or somebody born later? */
	start = shm_process_start(pid);
	if (start == 0)
		return access("/proc/self/stat", R_OK) == 0;
	return start_time != 0 && start != start_time;
}

/*
 * Make the slot of a dead process ours.  start_time goes first: between the
 * two steps only the (dead) pid counts, and of several who try one wins the
 * second.  A slot that is being cleaned up carries the cleaner's pid, so that
 * it is found again when the cleaner dies too.
 */
static bool
slot_claim(slot *s, uint32_t pid, uint64_t start)
{
	if (start != 0 && !atomic_compare_exchange_strong(&s->start_time, &start, 0))
		return false;
	return atomic_compare_exchange_strong(&s->pid, &pid, (uint32_t) getpid());
}

/* Why the death of this slot's process cannot be forgiven; NULL: it can. */
static const char *
slot_damage(wide_db *db, slot *s, uint32_t pid)
{
	if (atomic_load(&s->in_crit) != 0)
		return "a process died while it changed shared memory";
	if (atomic_load(&s->external) != 0 || atomic_load(&s->prepare_lsn) != 0)
		return "a process died with a prepared transaction";
	/* read without LOCK_SET: a dead process changes its job no more, and others have other pids */
	for (int i = 0; i < JOB_MAX; i++)
		if (db->seg->jobs[i].used && db->seg->jobs[i].pid == pid && db->seg->jobs[i].info.state == 0)
			return "a process died in a flush or compaction";
	return NULL;
}

static void
slot_clear(slot *s)
{
	uint32_t	ended = atomic_load(&s->external) != 0;

	atomic_store(&s->owner, 0);
	atomic_store(&s->pin, 0);
	atomic_store(&s->mem_pin, 0);
	atomic_store(&s->mem_pin_last, 0);
	atomic_store(&s->snapshot, 0);
	atomic_store(&s->external, 0);
	atomic_store(&s->prepare_lsn, 0);
	/* a session that is terminated while it waits for a row does not get to say that it waits no more */
	s->wait_table = 0;
	atomic_fetch_add(&s->wait_serial, atomic_load(&s->wait_serial) & 1 ? 1 : 2);
	atomic_store(&s->in_crit, 0);
	if (ended)
	{
		atomic_fetch_add(&s->prepare_done, 1);
		shm_futex_wake(&s->prepare_done);
	}
}

/*
 * Take over the slot when its process is dead.  true: it is ours and clean.
 * Works without a slot of our own (attach), so it takes no lock.
 */
static bool
slot_bury(wide_db *db, uint32_t index)
{
	slot	   *s = &shm_slots(db)[index];
	uint32_t	pid = atomic_load(&s->pid);
	uint64_t	start = atomic_load(&s->start_time);
	const char *damage;
	slot	   *own = db->slot;
	uint32_t	own_index = db->slot_index;

	if (pid == 0 || pid == (uint32_t) getpid() || !shm_process_dead(pid, start))
		return false;
	if (!slot_claim(s, pid, start))
		return false;
	damage = slot_damage(db, s, pid);
	if (damage != NULL)
	{
		wide_poison(db, damage);
		return false;
	}
	/* lock_sweep works under the identity of the slot, which is as good as our own */
	db->slot = s;
	db->slot_index = index;
	lock_sweep(db, index);
	db->slot = own;
	db->slot_index = own_index;
	cache_sweep(db, index);
	slot_clear(s);
	return true;
}

void
shm_sweep(wide_db *db)
{
	uint32_t	n = db->seg->config.max_processes;

	for (uint32_t i = 0; i < n && shm_check(db) == WIDE_OK; i++)
		if (slot_bury(db, i))
			atomic_store(&shm_slots(db)[i].pid, 0);
}

/* ---------------------------------------------------------------- attach */

static int64_t
clock_now(void *ctx)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static bool
slot_take(wide_db *db)
{
	slot	   *slots = shm_slots(db);
	uint32_t	n = db->seg->config.max_processes;
	uint32_t	i;

	for (i = 0; i < n; i++)
	{
		uint32_t	free_pid = 0;

		if (atomic_load_explicit(&slots[i].pid, memory_order_relaxed) == 0 &&
			atomic_compare_exchange_strong(&slots[i].pid, &free_pid, (uint32_t) getpid()))
			break;
	}
	if (i == n)
		for (i = 0; i < n && shm_check(db) == WIDE_OK; i++)
			if (slot_bury(db, i))
				break;
	if (i == n || shm_check(db) != WIDE_OK)
		return false;
	/* before anything is stored in it */
	for (uint32_t used = atomic_load(&db->seg->slots_used); used <= i;)
		if (atomic_compare_exchange_weak(&db->seg->slots_used, &used, i + 1))
			break;
	db->slot = &slots[i];
	db->slot_index = i;
	slot_clear(db->slot);
	db->slot->generation++;
	atomic_store(&db->slot->start_time, shm_process_start(getpid()));
	return true;
}

static void
slot_release(wide_db *db)
{
	if (db->slot == NULL)
		return;
	slot_clear(db->slot);
	/* a free slot has no start time: see slot_claim */
	atomic_store(&db->slot->start_time, 0);
	atomic_store(&db->slot->pid, 0);
	db->slot = NULL;
}

wide_status
wide_attach(void *base, const char *dir, const wide_host *host,
			const wide_log *log, struct wide_os *os, wide_db **out)
{
	segment    *seg = base;
	wide_db    *db;
	wide_status st = WIDE_OK;

	*out = NULL;
	if (seg->magic != SEGMENT_MAGIC)
		return wide_fail(WIDE_INVALID, "the memory holds no segment");
	if (seg->build != build_id())
		return wide_fail(WIDE_INVALID, "the segment was made by another build");
	if (strlen(dir) >= sizeof(db->dir) - 64)
		return wide_fail(WIDE_LIMIT, "the directory's name is too long");
	TRY(shm_segment_check(seg));
	db = calloc(1, sizeof(*db));
	if (db == NULL)
		return wide_fail(WIDE_NOMEM, "out of memory");
	db->seg = seg;
	strcpy(db->dir, dir);
	if (host != NULL)
		db->host = *host;
	if (db->host.now == NULL)
		db->host.now = clock_now;
	if (log != NULL)
		db->log = *log;
	db->os = os != NULL ? os : os_real();
	if (!slot_take(db))
	{
		st = shm_check(db);
		if (st == WIDE_OK)
			st = wide_fail(WIDE_FULL, "all %u process slots are taken", seg->config.max_processes);
		goto done;
	}
	TRY_GOTO(cache_attach(db));
	TRY_GOTO(lock_attach(db));
	atomic_fetch_add(&seg->generation, 1);
	*out = db;
	return WIDE_OK;
done:
	cache_detach(db);
	lock_detach(db);
	slot_release(db);
	free(db);
	return st;
}

void
wide_detach(wide_db *db)
{
	if (db == NULL)
		return;
	assert(db->locks_taken == 0);
	snapshot_detach(db);
	set_detach(db);
	sst_readers_free(db);
	lock_detach(db);
	cache_detach(db);
	if (atomic_load(&db->slot->in_crit) != 0)
		wide_poison(db, "a process detached while it changed shared memory");
	slot_release(db);
	free(db);
}

void
wide_set_owner(wide_db *db, uint64_t owner)
{
	atomic_store(&db->slot->owner, owner);
}

/* ---------------------------------------------------------------- poison */

static wide_status
fail_poisoned(segment *seg)
{
	atomic_thread_fence(memory_order_acquire);
	return wide_fail(WIDE_POISONED, "the store is out of order until it is recovered: %.255s",
					 seg->reason[0] != 0 ? seg->reason : "no reason known");
}

wide_status
shm_segment_check(segment *seg)
{
	if (__builtin_expect(atomic_load_explicit(&seg->state, memory_order_relaxed) == WIDE_DEAD, 0))
		return fail_poisoned(seg);
	return WIDE_OK;
}

wide_status
shm_check(wide_db *db)
{
	return shm_segment_check(db->seg);
}

/* Takes no lock: it must work in every state. */
void
shm_segment_poison(segment *seg, const char *reason)
{
	char		first = reason[0] != 0 ? reason[0] : '?';
	slot	   *slots = (slot *) ((uint8_t *) seg + seg->slots);

	if (atomic_exchange(&seg->state, WIDE_DEAD) != WIDE_DEAD)
	{
		/* the first byte last: a reader sees no text or all of it */
		snprintf(seg->reason + 1, sizeof(seg->reason) - 1, "%s", reason[0] != 0 ? reason + 1 : "");
		atomic_thread_fence(memory_order_release);
		*(volatile char *) &seg->reason[0] = first;
	}
#define WAKE(word) (atomic_fetch_add(word, 1), shm_futex_wake(word))
	WAKE(&seg->state_word);
	WAKE(&seg->commit.applied_word);
	WAKE(&seg->commit.space_word);
	WAKE(&seg->set.work_word);
	for (uint32_t i = 0; i < seg->config.max_processes; i++)
		WAKE(&slots[i].prepare_done);
#undef WAKE
	filelog_wake((uint8_t *) seg + seg->log);
}

void
wide_poison(wide_db *db, const char *reason)
{
	bool		first = wide_segment_state(db->seg) != WIDE_DEAD;

	shm_segment_poison(db->seg, reason);
	if (first && db->host.report != NULL)
		db->host.report(db->host.ctx, 2, reason);
}

/* ----------------------------------------------------------------- locks */

wide_status
shm_segment_lock(segment *seg, enum shm_lock which)
{
	int			e = pthread_mutex_lock(&seg->lock[which]);

	if (e == EOWNERDEAD)
	{
		shm_segment_poison(seg, "a process died while it held a lock");
		/* not made consistent: from here on ENOTRECOVERABLE for everybody */
		pthread_mutex_unlock(&seg->lock[which]);
		return fail_poisoned(seg);
	}
	if (e != 0)
	{
		if (e != ENOTRECOVERABLE)
			shm_segment_poison(seg, "a lock cannot be taken");
		return fail_poisoned(seg);
	}
	if (shm_segment_check(seg) != WIDE_OK)
	{
		pthread_mutex_unlock(&seg->lock[which]);
		return WIDE_POISONED;
	}
	return WIDE_OK;
}

void
shm_segment_unlock(segment *seg, enum shm_lock which)
{
	pthread_mutex_unlock(&seg->lock[which]);
}

wide_status
shm_lock(wide_db *db, enum shm_lock which)
{
	wide_status st;

	assert(db->locks_taken >> which == 0);	/* the order in shm.h, and never twice */
	st = shm_segment_lock(db->seg, which);
	if (st == WIDE_OK)
		db->locks_taken |= 1u << which;
	return st;
}

void
shm_unlock(wide_db *db, enum shm_lock which)
{
	assert((db->locks_taken & 1u << which) != 0);
	db->locks_taken &= ~(1u << which);
	shm_segment_unlock(db->seg, which);
}

/* --------------------------------------------------------------- waiting */

void
shm_futex_wait(_Atomic uint32_t *word, uint32_t seen, int timeout_ms)
{
	struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

	syscall(SYS_futex, (uint32_t *) word, FUTEX_WAIT, seen, &t, NULL, 0);
}

void
shm_futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, (uint32_t *) word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static int64_t
monotonic_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void
shm_sweep_waiting(wide_db *db)
{
	int64_t		now = monotonic_ms();

	if (now - db->swept_ms < SWEEP_MS)
		return;
	db->swept_ms = now;
	shm_sweep(db);
}

wide_status
shm_wait(wide_db *db, _Atomic uint32_t *word, uint32_t seen, int timeout_ms)
{
	int64_t		deadline = timeout_ms < 0 ? INT64_MAX : monotonic_ms() + timeout_ms;

	assert(db->locks_taken == 0);
	for (;;)
	{
		int64_t		left;

		TRY(shm_check(db));
		if (atomic_load_explicit(word, memory_order_acquire) != seen)
			return WIDE_OK;
		if (interrupted(db))
			return wide_fail(WIDE_INTERRUPTED, "interrupted while waiting");
		left = timeout_ms < 0 ? SLICE_MS : deadline - monotonic_ms();
		if (left <= 0)
			return WIDE_OK;
		shm_futex_wait(word, seen, left < SLICE_MS ? (int) left : SLICE_MS);
		/* the one that we wait for may have died */
		if (atomic_load_explicit(word, memory_order_acquire) == seen)
			shm_sweep_waiting(db);
	}
}

void
shm_wake(wide_db *db, _Atomic uint32_t *word)
{
	atomic_fetch_add_explicit(word, 1, memory_order_acq_rel);
	shm_futex_wake(word);
}

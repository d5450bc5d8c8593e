/*
 * pin.c - what a reader of the set of files uses: pinned versions, private
 * copies of the lists, and how far back anybody looks.
 *
 * The rules of versions, pins and files_version are in file_set.c's head comment.
 * A process publishes its oldest live pin, which keeps files from being
 * unlinked, and its oldest and newest ones that read memtables, which keep
 * memtables from being reused.  Compactions, which take minutes, need files only: they must not
 * make writers wait for memory.  Beside that a process has private copies of families' lists.  A
 * copy is right for the versions from..to; `to` grows while the family's files_version stays what
 * it was. Copies live as long as a pin may use them; the newest of a family is kept for the next
 * reader.
 *
 * Locking: LOCK_SET only to make a copy; nothing is allocated under it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/set/pin.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/family.h"

#define COPY_BUCKETS 64
#define COPIES_KEPT	 512

/* A private copy of a family's list, right for pins with from <= version <= to. */
typedef struct set_copy
{
	struct set_copy *next; /* newest first within a family */
	wide_family_id family;
	uint32_t slot; /* index of the family's slot, UINT32_MAX: it was gone */
	uint64_t from;
	uint64_t to;
	int n;
	int level_start[SET_LEVELS + 1];
	file_meta files[];
} set_copy;

struct set_local
{
	uint64_t *pins;		/* versions of live pins, 0 = free; index = serial - 1 */
	bool *reads_memory; /* of each: it needs the memtables too */
	uint32_t npins;		/* length of the array */
	uint32_t live;
	uint32_t live_memory; /* of these, pins that need memtables */
	uint32_t ncopies;
	bool stale; /* perhaps there is a copy that no pin needs */
	set_copy *copies[COPY_BUCKETS];
};

/* ------------------------------------------------------------------ pins */

static wide_status
set_local_get(wide_db *db, struct set_local **out)
{
	if (db->set == NULL && (db->set = calloc(1, sizeof *db->set)) == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	*out = db->set;
	return WIDE_OK;
}

static uint64_t
oldest_own_pin(const struct set_local *local, bool memory)
{
	uint64_t oldest = 0;

	for (uint32_t i = 0; i < local->npins; i++)
		if (local->pins[i] != 0 && (!memory || local->reads_memory[i]) &&
			(oldest == 0 || local->pins[i] < oldest))
			oldest = local->pins[i];
	return oldest;
}

/* The memtables a reader needs now, newest first. */
static void
pin_memtables(wide_db *db, version_pin *pin)
{
	uint64_t number[WIDE_MEMTABLES];

	pin->nmemtables = 0;
	for (uint32_t i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable *t = &db->seg->memtables[i];
		uint32_t state = atomic_load(&t->state);
		int at = pin->nmemtables;

		if (state != MEMTABLE_ACTIVE && state != MEMTABLE_IMMUTABLE)
			continue;
		/* a switch is under way: empty still, and this pin would not keep it */
		if (t->made_version > pin->version)
			continue;
		for (; at > 0 && number[at - 1] < t->number; at--)
		{
			number[at] = number[at - 1];
			pin->memtables[at] = pin->memtables[at - 1];
		}
		number[at] = t->number;
		pin->memtables[at] = i;
		pin->nmemtables++;
	}
}

static uint64_t
newest_memory_pin(const struct set_local *local)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < local->npins; i++)
		if (local->pins[i] > newest && local->reads_memory[i])
			newest = local->pins[i];
	return newest;
}

static wide_status
grow_pins(struct set_local *local)
{
	uint32_t n = local->npins == 0 ? 16 : 2 * local->npins;
	uint64_t *pins = realloc(local->pins, n * sizeof *pins);
	bool *memory;

	if (pins == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	local->pins = pins;
	memory = realloc(local->reads_memory, n * sizeof *memory);
	if (memory == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	local->reads_memory = memory;
	memset(pins + local->npins, 0, (n - local->npins) * sizeof *pins);
	local->npins = n;
	return WIDE_OK;
}

static wide_status
take(wide_db *db, version_pin *pin, bool memory)
{
	struct set_local *local = NULL;
	uint32_t at = 0;

	TRY(segment_check(db));
	TRY(set_local_get(db, &local));
	while (at < local->npins && local->pins[at] != 0)
		at++;
	if (at == local->npins)
		TRY(grow_pins(local));
	pin->nmemtables = 0;
	do
	{
		pin->version = atomic_load(&db->seg->set.version);
		if (local->live == 0)
			atomic_store_explicit(&db->slot->pin, pin->version, memory_order_release);
		if (memory)
		{
			atomic_store_explicit(&db->slot->mem_pin_last, pin->version, memory_order_release);
			if (local->live_memory == 0)
				atomic_store_explicit(&db->slot->mem_pin, pin->version, memory_order_release);
		}
		/* seen by others before anything is read under it: one fence for all three */
		atomic_thread_fence(memory_order_seq_cst);
		if (memory)
			pin_memtables(db, pin);
	} while (atomic_load(&db->seg->set.version) != pin->version);
	local->pins[at] = pin->version;
	local->reads_memory[at] = memory;
	local->live++;
	local->live_memory += memory;
	pin->serial = at + 1;
	return WIDE_OK;
}

wide_status
pin_take(wide_db *db, version_pin *pin)
{
	return take(db, pin, true);
}

wide_status
pin_take_files(wide_db *db, version_pin *pin)
{
	return take(db, pin, false);
}

/* Free copies that neither are the newest of their family nor serve a pin; all when there are
 * too many and no pin. */
static void
free_stale_copies(struct set_local *local)
{
	bool all = local->live == 0 && local->ncopies > COPIES_KEPT;

	if (!local->stale && !all)
		return;
	for (int b = 0; b < COPY_BUCKETS; b++)
		for (set_copy **link = &local->copies[b]; *link != NULL;)
		{
			set_copy *c = *link;
			bool needed = !all;

			for (set_copy *n = local->copies[b]; n != c && needed; n = n->next)
				needed = n->family != c->family;
			for (uint32_t i = 0; i < local->npins && !needed; i++)
				needed = local->pins[i] >= c->from && local->pins[i] <= c->to;
			if (needed)
				link = &c->next;
			else
			{
				*link = c->next;
				free(c);
				local->ncopies--;
			}
		}
	local->stale = local->live > 0 && local->stale;
}

void
pin_drop(wide_db *db, version_pin *pin)
{
	struct set_local *local = db->set;

	if (pin->serial == 0 || local == NULL)
		return;
	local->pins[pin->serial - 1] = 0;
	local->live--;
	/* As a rule it was the only one.  What protects less only has to come after what was read
	 * under it: plain stores. */
	atomic_store_explicit(&db->slot->pin, local->live > 0 ? oldest_own_pin(local, false) : 0,
						  memory_order_release);
	if (local->reads_memory[pin->serial - 1])
	{
		bool more = --local->live_memory > 0;

		atomic_store_explicit(&db->slot->mem_pin, more ? oldest_own_pin(local, true) : 0,
							  memory_order_release);
		atomic_store_explicit(&db->slot->mem_pin_last, more ? newest_memory_pin(local) : 0,
							  memory_order_release);
	}
	pin->serial = 0;
	free_stale_copies(local);
}

void
pin_detach(wide_db *db)
{
	struct set_local *local = db->set;

	free(db->work);
	db->work = NULL;
	if (local == NULL)
		return;
	for (int b = 0; b < COPY_BUCKETS; b++)
		while (local->copies[b] != NULL)
		{
			set_copy *c = local->copies[b];

			local->copies[b] = c->next;
			free(c);
		}
	atomic_store(&db->slot->pin, 0);
	atomic_store(&db->slot->mem_pin, 0);
	atomic_store(&db->slot->mem_pin_last, 0);
	free(local->pins);
	free(local->reads_memory);
	free(local);
	db->set = NULL;
}

uint64_t
pin_oldest(wide_db *db)
{
	process_slot *slots = layout_processes(db);
	uint64_t oldest = UINT64_MAX;

	for (uint32_t i = 0; i < layout_processes_used(db); i++)
	{
		uint64_t pin = atomic_load(&slots[i].pin);

		if (pin != 0 && pin < oldest)
			oldest = pin;
	}
	return oldest;
}

/*
 * A pin has the memtable when it lies in [made_version, freed_version).  Of each
 * process only its oldest and newest pin are known: everything between them
 * counts.  So a reader that rests keeps what it found and not what comes later.
 * A pin that is being taken while this looks finds the version changed and is
 * taken again (see pin_take), as with files.
 */
bool
pin_has_memtable(wide_db *db, const memtable *t)
{
	process_slot *slots = layout_processes(db);

	for (uint32_t i = 0; i < layout_processes_used(db); i++)
	{
		uint64_t oldest = atomic_load(&slots[i].mem_pin);

		if (oldest != 0 && oldest < t->freed_version &&
			atomic_load(&slots[i].mem_pin_last) >= t->made_version)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------- private lists */

/* Level, then: level 0 newest first; others by key, and by number where shortened bounds tell
 * nothing (see scheduler.c). */
static int
compare_files(const void *pa, const void *pb)
{
	const file_meta *a = pa, *b = pb;
	int c;

	if (a->level != b->level)
		return (int) a->level - (int) b->level;
	if (a->level == 0)
	{
		if (a->seq_max != b->seq_max)
			return a->seq_max > b->seq_max ? -1 : 1;
		return a->number > b->number ? -1 : 1;
	}
	c = ukey_compare(a->min_row, a->min_len, b->min_row, b->min_len);
	return c != 0 ? c : (a->number > b->number) - (a->number < b->number);
}

/* Copy the family's files as of the version into out[0..max); returns how many there are. Under
 * LOCK_SET. */
static int
collect_files(wide_db *db, family_slot *fs, wide_family_id family, uint64_t version, file_meta *out,
			  int max)
{
	file_slot *files = layout_files(db);
	int n = 0;

	for (uint32_t i = fs != NULL ? fs->files : 0; i != 0; i = files[i - 1].next)
		if (files[i - 1].added_version <= version && n++ < max)
			out[n - 1] = files[i - 1].meta;
	for (uint32_t i = db->seg->set.dead_files; i != 0; i = files[i - 1].next)
		if (files[i - 1].meta.family == family && files[i - 1].added_version <= version &&
			files[i - 1].removed_version > version && n++ < max)
			out[n - 1] = files[i - 1].meta;
	return n;
}

static wide_status
copy_make(wide_db *db, uint64_t version, wide_family_id family, set_copy **out)
{
	set_copy *c = NULL;
	int max = 16;

	for (;;)
	{
		family_slot *fs;
		wide_status st;

		free(c);
		c = malloc(sizeof *c + (size_t) max * sizeof c->files[0]);
		if (c == NULL)
			return status_fail(WIDE_NOMEM, "out of memory");
		st = segment_lock(db, LOCK_SET);
		if (st != WIDE_OK)
		{
			free(c);
			return st;
		}
		fs = family_find(db, family);
		c->n = collect_files(db, fs, family, version, c->files, max);
		c->slot = fs != NULL ? (uint32_t) (fs - layout_families(db)) : UINT32_MAX;
		c->from = c->to = version;
		if (fs != NULL && atomic_load(&fs->files_version) <= version)
		{
			c->from = atomic_load(&fs->files_version);
			c->to = atomic_load(&db->seg->set.version);
		}
		segment_unlock(db, LOCK_SET);
		if (c->n <= max)
			break;
		max = c->n + c->n / 4;
	}
	c->family = family;
	qsort(c->files, (size_t) c->n, sizeof c->files[0], compare_files);
	for (int l = 0, i = 0; l <= SET_LEVELS; l++)
	{
		while (i < c->n && c->files[i].level < l)
			i++;
		c->level_start[l] = i;
	}
	*out = c;
	return WIDE_OK;
}

wide_status
pin_files(wide_db *db, const version_pin *pin, wide_family_id family, family_files *out)
{
	struct set_local *local = db->set;
	set_copy **bucket = &local->copies[family % COPY_BUCKETS];
	set_copy *c, **link;

	for (c = *bucket; c != NULL; c = c->next)
	{
		if (c->family != family || c->from > pin->version)
			continue;
		if (pin->version > c->to && c->slot != UINT32_MAX &&
			atomic_load(&layout_families(db)[c->slot].files_version) == c->from)
			c->to = pin->version; /* unchanged from then until now */
		if (pin->version <= c->to)
			break;
	}
	if (c == NULL)
	{
		TRY(copy_make(db, pin->version, family, &c));
		for (link = bucket;
			 *link != NULL && ((*link)->family != family || (*link)->from > c->from);)
			link = &(*link)->next;
		c->next = *link;
		*link = c;
		local->ncopies++;
		local->stale = true;
	}
	out->files = c->files;
	out->n = c->n;
	memcpy(out->level_start, c->level_start, sizeof out->level_start);
	return WIDE_OK;
}

/* --------------------------------------------------------------- horizon */

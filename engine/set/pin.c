/*
 * pin.c - pinned versions of the set, and private copies of the lists of files.
 *
 * The rules of versions, pins and files_version are at the top of file_set.c.
 * A process publishes in its slot
 *   - its oldest and newest pins (pin, pin_last), which keep files from being unlinked: those of
 *     the versions from the oldest to the newest one, so a reader that rests keeps what it has
 *     found, but nothing that came and went later;
 *   - its oldest and newest pins that read memtables (mem_pin, mem_pin_last),
 *     which keep memtables from being reused.  Compactions take minutes and pin
 *     files only, so that writers need not wait for memory.
 *
 * A private copy of a family's list is right for the versions from..to; `to` grows
 * as long as the family's files_version does not change.  A copy lives as long as a
 * pin may use it; the newest copy of a family is kept for the next reader.
 *
 * Locking: LOCK_SET to make a copy; nothing is allocated under it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/set/pin.h"
#include "engine/base/array.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/family.h"

#define COPY_BUCKETS 512
#define COPIES_MOST	 512 /* with more, all are freed when the last pin is dropped */

/* A private copy of a family's list, for pins with from <= version <= to. */
typedef struct list_copy
{
	struct list_copy *next; /* newest first within a family */
	wide_family_id family;
	uint32_t slot; /* index of the family's slot; UINT32_MAX: the family was dropped */
	uint64_t from;
	uint64_t to;
	family_files list;
	file_meta files[];
} list_copy;

typedef struct live_pin
{
	uint64_t version; /* 0: this place is free */
	bool memtables;	  /* pins memtables, too */
	bool later;		  /* pins all files that are added later, too */
} live_pin;

/* The pins and copies of this process. */
struct pin_local
{
	live_pin *pins; /* index = serial - 1 */
	int npins;		/* up to the last place that is not free: 0 if there is no pin */
	int pins_cap;

	list_copy *copies[COPY_BUCKETS];
	uint32_t ncopies;
	bool stale; /* there may be a copy that no pin needs */
};

/* ------------------------------------------------------------------ pins */

/* Publishes the bounds of this process's pins after one has gone.  Stores that protect less only
 * have to come after the reads under the pin: release stores are enough. */
static void
publish_rest(wide_db *db)
{
	const struct pin_local *local = db->pins;
	uint64_t oldest = 0, newest = 0, mem_oldest = 0, mem_newest = 0;

	for (const live_pin *p = local->pins; p < local->pins + local->npins; p++)
	{
		if (p->version == 0)
			continue;
		if (oldest == 0 || p->version < oldest)
			oldest = p->version;
		if (p->version > newest)
			newest = p->version;
		if (p->later)
			newest = UINT64_MAX;
		if (p->memtables && (mem_oldest == 0 || p->version < mem_oldest))
			mem_oldest = p->version;
		if (p->memtables && p->version > mem_newest)
			mem_newest = p->version;
	}
	atomic_store_explicit(&db->slot->pin, oldest, memory_order_release);
	atomic_store_explicit(&db->slot->pin_last, newest, memory_order_release);
	atomic_store_explicit(&db->slot->mem_pin, mem_oldest, memory_order_release);
	atomic_store_explicit(&db->slot->mem_pin_last, mem_newest, memory_order_release);
}

/* Lists the memtables that a reader needs now, newest first. */
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
		/* memtable_switch is under way: it is empty, and this pin would not keep it */
		if (t->made_version > pin->version)
			continue;
		/* the version has its files already: what is added up must not come twice */
		if (atomic_load(&t->files_version) != 0 && atomic_load(&t->files_version) <= pin->version)
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

static wide_status
take(wide_db *db, version_pin *pin, bool memtables, bool later)
{
	struct pin_local *local = db->pins;
	bool first_memtables;
	int at = 0;

	TRY(segment_check(db));
	if (local == NULL && (local = db->pins = calloc(1, sizeof *local)) == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	while (at < local->npins && local->pins[at].version != 0)
		at++;
	TRY(array_grow((void **) &local->pins, at, &local->pins_cap, sizeof(live_pin)));
	pin->nmemtables = 0;
	first_memtables = atomic_load_explicit(&db->slot->mem_pin, memory_order_relaxed) == 0;
	do
	{
		pin->version = atomic_load(&db->seg->set.version);
		if (atomic_load_explicit(&db->slot->pin_last, memory_order_relaxed) != UINT64_MAX)
			atomic_store_explicit(&db->slot->pin_last, later ? UINT64_MAX : pin->version,
								  memory_order_release);
		if (local->npins == 0)
			atomic_store_explicit(&db->slot->pin, pin->version, memory_order_release);
		if (memtables)
		{
			atomic_store_explicit(&db->slot->mem_pin_last, pin->version, memory_order_release);
			if (first_memtables)
				atomic_store_explicit(&db->slot->mem_pin, pin->version, memory_order_release);
		}
		/* other processes see all of them before anything is read under the pin */
		atomic_thread_fence(memory_order_seq_cst);
		if (memtables)
			pin_memtables(db, pin);
	} while (atomic_load(&db->seg->set.version) != pin->version);
	local->pins[at] = (live_pin) {pin->version, memtables, later};
	local->npins = at < local->npins ? local->npins : at + 1;
	pin->serial = (uint32_t) at + 1;
	return WIDE_OK;
}

wide_status
pin_take(wide_db *db, version_pin *pin)
{
	return take(db, pin, true, false);
}

wide_status
pin_take_files(wide_db *db, version_pin *pin)
{
	return take(db, pin, false, false);
}

wide_status
pin_take_later(wide_db *db, version_pin *pin)
{
	return take(db, pin, false, true);
}

/* Frees the copies that are not the newest of their family and that no pin needs; without pins and
 * with too many copies, all. */
static void
free_stale_copies(struct pin_local *local)
{
	bool all = local->npins == 0 && local->ncopies > COPIES_MOST;

	if (!local->stale && !all)
		return;
	for (int b = 0; b < COPY_BUCKETS; b++)
		for (list_copy **link = &local->copies[b]; *link != NULL;)
		{
			list_copy *c = *link;
			bool needed = !all;

			for (list_copy *n = local->copies[b]; n != c && needed; n = n->next)
				needed = n->family != c->family;
			for (int i = 0; i < local->npins && !needed; i++)
				needed = local->pins[i].version >= c->from && local->pins[i].version <= c->to;
			if (needed)
				link = &c->next;
			else
			{
				*link = c->next;
				free(c);
				local->ncopies--;
			}
		}
	local->stale = local->npins > 0 && local->stale;
}

void
pin_drop(wide_db *db, version_pin *pin)
{
	struct pin_local *local = db->pins;

	if (pin->serial == 0 || local == NULL)
		return;
	local->pins[pin->serial - 1].version = 0;
	while (local->npins > 0 && local->pins[local->npins - 1].version == 0)
		local->npins--;
	publish_rest(db);
	pin->serial = 0;
	free_stale_copies(local);
}

void
pin_detach(wide_db *db)
{
	struct pin_local *local = db->pins;

	free(db->work);
	db->work = NULL;
	if (local == NULL)
		return;
	for (int b = 0; b < COPY_BUCKETS; b++)
		while (local->copies[b] != NULL)
		{
			list_copy *c = local->copies[b];

			local->copies[b] = c->next;
			free(c);
		}
	atomic_store(&db->slot->pin, 0);
	atomic_store(&db->slot->pin_last, 0);
	atomic_store(&db->slot->mem_pin, 0);
	atomic_store(&db->slot->mem_pin_last, 0);
	free(local->pins);
	free(local);
	db->pins = NULL;
}

void
pin_read(wide_db *db, pin_ranges *out)
{
	process_slot *slots = layout_processes(db);

	out->n = 0;
	out->oldest = UINT64_MAX;
	for (uint32_t i = 0; i < layout_processes_used(db); i++)
	{
		uint64_t first = atomic_load(&slots[i].pin), last = atomic_load(&slots[i].pin_last);
		int at = 0;

		if (first == 0)
			continue;
		/* a process that is taking or dropping a pin at this time may show a newer first */
		last = last < first ? first : last;
		out->oldest = first < out->oldest ? first : out->oldest;
		/* many processes have the same pins; a range too many widens the last one */
		while (at < out->n && (out->first[at] > first || out->last[at] < last))
			at++;
		if (at < out->n)
			continue;
		if (out->n < PIN_RANGES)
		{
			out->first[out->n] = first;
			out->last[out->n++] = last;
			continue;
		}
		at = PIN_RANGES - 1;
		out->first[at] = first < out->first[at] ? first : out->first[at];
		out->last[at] = last > out->last[at] ? last : out->last[at];
	}
}

bool
pin_ranges_need(const pin_ranges *r, uint64_t added, uint64_t removed)
{
	for (int i = 0; i < r->n && removed > r->oldest; i++)
		if (added <= r->last[i] && removed > r->first[i])
			return true;
	return false;
}

/*
 * A pin has the memtable if its version lies in [made_version, freed_version).  Of
 * each process only the oldest and the newest pin are known: all versions between
 * them count.  So a reader that rests keeps what it has found, but nothing that came
 * later.  A process that is taking a pin at this time finds the version changed and
 * tries again (take), as with files.
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

/* By level.  In level 0 newest first; in others by key, and by number where the shortened bounds
 * are equal (see compact.c). */
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

/* Copies up to max of the family's files in the version; returns the number of all.  fs is NULL if
 * the family has been dropped.  Under LOCK_SET. */
static int
collect_files(wide_db *db, family_slot *fs, wide_family_id family, uint64_t version, file_meta *out,
			  int max)
{
	file_slot *files = layout_files(db);
	int n = 0;

	for (uint32_t i = fs != NULL ? fs->files : 0; i != 0; i = files[i - 1].next)
		if (files[i - 1].added_version <= version && n++ < max)
			out[n - 1] = files[i - 1].meta;
	for (uint32_t i = fs != NULL ? fs->dead_files : 0; i != 0; i = files[i - 1].next)
		if (files[i - 1].added_version <= version && files[i - 1].removed_version > version &&
			n++ < max)
			out[n - 1] = files[i - 1].meta;
	/* of a family that was dropped; the newest died last */
	for (uint32_t i = fs == NULL ? db->seg->set.dead_last : 0;
		 i != 0 && files[i - 1].removed_version > version; i = files[i - 1].dead_before)
		if (files[i - 1].meta.family == family && files[i - 1].added_version <= version &&
			n++ < max)
			out[n - 1] = files[i - 1].meta;
	return n;
}

/* Makes a copy for the version, and for as many others as it is right for. */
static wide_status
copy_make(wide_db *db, uint64_t version, wide_family_id family, list_copy **out)
{
	list_copy *c = NULL;
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
		c->list.n = collect_files(db, fs, family, version, c->files, max);
		c->slot = fs != NULL ? (uint32_t) (fs - layout_families(db)) : UINT32_MAX;
		c->from = c->to = version;
		if (fs != NULL && atomic_load(&fs->files_version) <= version)
		{
			c->from = atomic_load(&fs->files_version);
			c->to = atomic_load(&db->seg->set.version);
		}
		segment_unlock(db, LOCK_SET);
		if (c->list.n <= max)
			break;
		max = c->list.n + c->list.n / 4;
	}
	c->family = family;
	c->list.files = c->files;
	qsort(c->files, (size_t) c->list.n, sizeof c->files[0], compare_files);
	for (int l = 0, i = 0; l <= SET_LEVELS; l++)
	{
		while (i < c->list.n && c->files[i].level < l)
			i++;
		c->list.level_start[l] = i;
	}
	*out = c;
	return WIDE_OK;
}

wide_status
pin_files(wide_db *db, const version_pin *pin, wide_family_id family, family_files *out)
{
	struct pin_local *local = db->pins;
	list_copy **bucket = &local->copies[family % COPY_BUCKETS];
	list_copy *c, **link;

	for (c = *bucket; c != NULL; c = c->next)
	{
		if (c->family != family || c->from > pin->version)
			continue;
		if (pin->version > c->to && c->slot != UINT32_MAX &&
			atomic_load(&layout_families(db)[c->slot].files_version) == c->from)
			c->to = pin->version; /* not changed since */
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
	*out = c->list;
	return WIDE_OK;
}

/*
 * op_list.c - the operations of a batch in memory, and sorting them.
 *
 * Operations are nodes of a skip list (memtable.c), written one behind the other
 * into reserved address space, so nodes never move.  As much is reserved as the batch
 * may fill before it spills, without access; it becomes writable in steps, as the list
 * grows.  So a system that counts address space (RLIMIT_AS) or promised memory
 * (vm.overcommit_memory = 2) counts about what a transaction uses, and a limit shows as
 * WIDE_NOMEM or as an earlier spill, never as a signal.  Nodes are linked into the skip list only
 * when a source reads them: a load that is not read before its commit is sorted once instead, which
 * costs a tenth of the time.
 *
 * Sorting.  Nodes that follow each other in memory and are of one family and row
 * (the cells of a row as INSERT writes them) are a unit.  Units are sorted by
 * sixteen bytes of family and row, from where rows begin to differ: the first eight
 * by radix sort.  Comparing the rows themselves would cost a cache miss for each
 * unit, so that is done only where the sixteen bytes are equal.  Units of the same
 * row are joined.
 *
 * Locking: none; a list is used by one thread at a time.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "engine/batch/op_list.h"
#include "engine/base/array.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/set/memtable.h"
#include "engine/batch/op.h"

#define ARENA_UNIT ((uint64_t) 1 << 20)	 /* address space is reserved in multiples of this */
#define ARENA_STEP ((uint64_t) 64 << 20) /* bytes that become writable at once, at most */
#define ARENA_KEEP ((uint64_t) 1 << 20)	 /* bytes that stay in memory for the next list */

wide_status
op_list_no_memory(void)
{
	return status_fail(WIDE_NOMEM, "out of memory for a transaction");
}

/* ------------------------------------------------------------------- lists */

/* The address space of a freed list, for the process's next one: mapping and first touch cost more
 * than a small transaction. */
static uint8_t *spare;
static uint64_t spare_bytes, spare_writable;

static uint64_t
round_up(uint64_t bytes)
{
	return (bytes + ARENA_UNIT - 1) & ~(ARENA_UNIT - 1);
}

/* Maps that many bytes without access; `at` NULL: anywhere, else in the place of what is there. */
static void *
map_reserved(void *at, uint64_t bytes)
{
	return mmap(at, bytes, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != NULL ? MAP_FIXED : 0), -1, 0);
}

/* Reserves address space: `want` bytes if possible, else less, but not less than `least`. */
static wide_status
arena_take(op_list *l, uint64_t want, uint64_t least)
{
	void *p = MAP_FAILED;

	if (spare != NULL && spare_bytes < want)
	{
		munmap(spare, spare_bytes);
		spare = NULL;
	}
	if (spare != NULL)
	{
		l->base = spare;
		l->capacity = spare_bytes;
		l->writable = spare_writable;
		spare = NULL;
		return WIDE_OK;
	}
	for (uint64_t bytes = want;; bytes = round_up(bytes / 2) > least ? round_up(bytes / 2) : least)
	{
		p = map_reserved(NULL, bytes);
		l->capacity = bytes;
		if (p != MAP_FAILED || bytes <= least)
			break;
	}
	if (p == MAP_FAILED)
		return status_fail(WIDE_NOMEM,
						   "no address space for a transaction's changes (%llu MB): a limit of the "
						   "process's address space (ulimit -v) is too low",
						   (unsigned long long) least >> 20);
	l->base = p;
	l->writable = 0;
	return WIDE_OK;
}

wide_status
op_list_grow(op_list *l, uint64_t end)
{
	uint64_t to = l->writable * 2;

	if (to > l->writable + ARENA_STEP)
		to = l->writable + ARENA_STEP;
	if (to < end)
		to = round_up(end);
	if (to > l->capacity)
		to = l->capacity;
	if (mprotect(l->base + l->writable, to - l->writable, PROT_READ | PROT_WRITE) != 0)
	{
		/* as much as the change needs, and no more */
		to = round_up(end);
		if (to > l->capacity ||
			mprotect(l->base + l->writable, to - l->writable, PROT_READ | PROT_WRITE) != 0)
			return op_list_no_memory();
	}
	l->writable = to;
	return WIDE_OK;
}

static void
arena_free(uint8_t *base, uint64_t capacity)
{
	munmap(base, capacity);
}

wide_status
op_list_new(uint64_t limit, uint64_t first, op_list **out)
{
	op_list *l = pool_alloc(sizeof(*l));
	/* the head of the skip list is before the first node */
	uint64_t least = round_up(first + ARENA_KEEP);
	wide_status st;

	if (l == NULL)
		return op_list_no_memory();
	st = arena_take(l, round_up(limit + ARENA_KEEP) > least ? round_up(limit + ARENA_KEEP) : least,
					least);
	if (st == WIDE_OK && l->writable < ARENA_KEEP && (st = op_list_grow(l, ARENA_KEEP)) != WIDE_OK)
		arena_free(l->base, l->capacity);
	if (st != WIDE_OK)
	{
		pool_free(l, sizeof(*l));
		return st;
	}
	op_list_reset(l);
	*out = l;
	return WIDE_OK;
}

void
op_list_reset(op_list *l)
{
	if (l->end > l->touched)
		l->touched = l->end;
	memtable_init(&l->m, &l->table, l->base, l->capacity);
	memset(&l->hint, 0, sizeof(l->hint));
	l->start = l->end = l->linked = (atomic_load(&l->table.used) + 7) & ~(uint64_t) 7;
	l->first_op = l->linked_op = UINT64_MAX;
	l->nodes = l->rows = 0;
}

static void
list_free(op_list *l)
{
	/* mapping it anew gives back the memory, and what the system has promised */
	if (spare != NULL ||
		(l->writable > ARENA_KEEP &&
		 map_reserved(l->base + ARENA_KEEP, l->writable - ARENA_KEEP) == MAP_FAILED))
		arena_free(l->base, l->capacity);
	else
	{
		spare = l->base;
		spare_bytes = l->capacity;
		spare_writable = l->writable < ARENA_KEEP ? l->writable : ARENA_KEEP;
	}
	pool_free(l, sizeof(*l));
}

void
op_list_retire(op_list *l)
{
	if (l == NULL)
		return;
	l->retired = true;
	if (l->users == 0)
		list_free(l);
}

void
op_list_leave(op_list *l)
{
	if (l != NULL && --l->users == 0 && l->retired)
		list_free(l);
}

void
op_list_link(op_list *l, uint64_t mark)
{
	memtable_cursor c;

	if (l->linked_op >= mark)
		return;
	memtable_cursor_open(&c, &l->m);
	while (l->linked < l->end)
	{
		memtable_cursor_at(&c, memtable_written(l->linked));
		l->linked_op = op_number(c.e.seq);
		if (l->linked_op >= mark)
			return;
		memtable_link(&l->m, l->linked, &l->hint);
		l->linked = memtable_node_end(&c);
	}
	l->linked_op = UINT64_MAX;
}

/* ----------------------------------------------------------------- sorting */

void
op_list_sorted_free(op_sorted *s)
{
	free(s->units);
	free(s->flat);
	memset(s, 0, sizeof(*s));
}

static inline bool
same_row(const entry *a, const entry *b)
{
	return a->rowlen == b->rowlen && memcmp(a->ukey, b->ukey, a->rowlen) == 0;
}

static int
compare_refs(uint32_t a, uint32_t b, const op_sorted *s)
{
	memtable_cursor x = {.m = s->m}, y = {.m = s->m};

	memtable_cursor_at(&x, a);
	memtable_cursor_at(&y, b);
	return op_order(x.family, &x.e, y.family, &y.e);
}

static int
compare_nodes(const void *a, const void *b, void *sorted)
{
	return compare_refs(*(const uint32_t *) a, *(const uint32_t *) b, sorted);
}

/* Appends the unit's nodes to s->flat. */
static wide_status
flat_append(op_sorted *s, const op_unit *u)
{
	memtable_cursor c;

	memtable_cursor_open(&c, &s->m);
	for (uint32_t i = 0; i < (u->n & ~OP_UNIT_FLAT); i++)
	{
		TRY(array_grow((void **) &s->flat, s->nflat, &s->flat_cap, sizeof(*s->flat)));
		if (u->n & OP_UNIT_FLAT)
			s->flat[s->nflat++] = s->flat[u->ref + i];
		else
		{
			memtable_cursor_at(&c, i == 0 ? u->ref : memtable_written(memtable_node_end(&c)));
			s->flat[s->nflat++] = c.node;
		}
	}
	return WIDE_OK;
}

/* Makes units [u, end), which are of one row, a single unit u of sorted nodes in s->flat. */
static wide_status
flatten(op_sorted *s, op_unit *u, const op_unit *end)
{
	int first = s->nflat;

	for (const op_unit *v = u; v < end; v++)
		TRY(flat_append(s, v));
	qsort_r(s->flat + first, (size_t) (s->nflat - first), sizeof(uint32_t), compare_nodes, s);
	u->ref = (uint32_t) first;
	u->n = (uint32_t) (s->nflat - first) | OP_UNIT_FLAT;
	return WIDE_OK;
}

/* Completes the last unit.  If it is out of order it is sorted now, while it is in the processor's
 * cache. */
static wide_status
unit_end(op_sorted *s, bool ordered)
{
	op_unit *u = &s->units[s->nunits - 1];

	return ordered ? WIDE_OK : flatten(s, u, u + 1);
}

/* What the rows of all units have in common. */
typedef struct shared
{
	wide_family_id min_family, max_family;
	uint32_t lcp; /* number of bytes that all rows begin with */
	memtable_cursor first;
} shared;

/* Takes a row into account. */
static void
note_row(shared *h, const memtable_cursor *c)
{
	uint32_t most = c->e.rowlen < h->lcp ? c->e.rowlen : h->lcp;

	h->min_family = c->family < h->min_family ? c->family : h->min_family;
	h->max_family = c->family > h->max_family ? c->family : h->max_family;
	h->lcp = bytes_shared(c->e.ukey, h->first.e.ukey, most);
}

/* Returns true if b is of the row of a.  Then clears *ordered unless b is above a. */
static inline bool
same_unit(const entry *a, const entry *b, bool *ordered)
{
	uint32_t most = a->klen < b->klen ? a->klen : b->klen,
			 shared = bytes_shared(a->ukey, b->ukey, most);

	if (a->rowlen != b->rowlen || shared < a->rowlen)
		return false;
	*ordered = *ordered &&
			   (shared < most ? a->ukey[shared] < b->ukey[shared] : key_compare(a, b) < 0);
	return true;
}

/* Makes units of the live operations, in the order of memory. */
static wide_status
make_units(op_list *l, const op_undone *u, op_sorted *s, shared *h)
{
	int undone = 0;
	bool ordered = true, open = false;
	memtable_cursor c, last;

	memtable_cursor_open(&c, &l->m);
	last = c;
	for (uint64_t at = l->start; at < l->end; at = memtable_node_end(&c))
	{
		uint64_t op;
		bool dead;

		memtable_cursor_at(&c, memtable_written(at));
		op = op_number(c.e.seq);
		while (undone < u->n && u->intervals[undone].to <= op)
			undone++;
		dead = undone < u->n && u->intervals[undone].from <= op;
		if (open && !dead && c.family == last.family && same_unit(&last.e, &c.e, &ordered))
		{
			s->units[s->nunits - 1].n++;
			last.e = c.e;
			continue;
		}
		if (open)
			TRY(unit_end(s, ordered));
		open = !dead;
		ordered = true;
		if (dead)
			continue;
		last = c;
		if (s->nunits == 0)
			*h = (shared) {
				.min_family = c.family, .max_family = c.family, .lcp = c.e.rowlen, .first = c};
		TRY(array_grow((void **) &s->units, s->nunits, &s->units_cap, sizeof(op_unit)));
		s->units[s->nunits++] = (op_unit) {.ref = c.node, .n = 1};
		note_row(h, &c);
	}
	return open ? unit_end(s, ordered) : WIDE_OK;
}

/* Sets the unit's sixteen bytes, which order it by (family, row): the family if there are several,
 * then the row's bytes from where rows begin to differ. */
static void
unit_prefix(op_unit *u, const memtable_cursor *c, const shared *h)
{
	uint8_t bytes[16] = {0};
	uint32_t rest = c->e.rowlen - h->lcp;
	uint32_t f = c->family - h->min_family, most = h->max_family - h->min_family;
	int bits = most > 255 ? 32 : 8; /* the whole family: equal ones are ordered by what follows */

	memcpy(bytes, c->e.ukey + h->lcp, rest < 16 ? rest : 16);
	u->prefix = get_u64be(bytes);
	u->more = get_u64be(bytes + 8);
	if (most > 0)
	{
		u->more = u->more >> bits | u->prefix << (64 - bits);
		u->prefix = u->prefix >> bits | (uint64_t) f << (64 - bits);
	}
}

/* Sorts units by prefix: radix sort, the lowest byte first; bytes that all share are passed over.
 */
static wide_status
radix_sort(op_sorted *s)
{
	op_unit *from = s->units, *to = malloc((size_t) s->nunits * sizeof(*to));

	if (to == NULL)
		return op_list_no_memory();
	for (int shift = 0; shift < 64; shift += 8)
	{
		uint32_t count[256] = {0}, at = 0;
		op_unit *swap;

		for (int i = 0; i < s->nunits; i++)
			count[from[i].prefix >> shift & 255]++;
		if (count[from[0].prefix >> shift & 255] == (uint32_t) s->nunits)
			continue;
		for (int k = 0; k < 256; k++)
		{
			uint32_t n = count[k];

			count[k] = at;
			at += n;
		}
		for (int i = 0; i < s->nunits; i++)
			to[count[from[i].prefix >> shift & 255]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	s->units = from;
	s->units_cap = s->nunits;
	free(to);
	return WIDE_OK;
}

/* Orders units of equal prefix.  Units of one row may come in any order. */
static int
compare_units(const void *a, const void *b, void *sorted)
{
	const op_unit *x = a, *y = b;
	const op_sorted *s = sorted;

	if (x->more != y->more)
		return x->more < y->more ? -1 : 1;
	return compare_refs(op_list_unit_node(s, x), op_list_unit_node(s, y), s);
}

/* Joins units of the same row among the neighbours [i, k), which have equal sixteen bytes.  The
 * result goes to *out, which rises. */
static wide_status
join_rows(op_sorted *s, int i, int k, int *out)
{
	memtable_cursor a = {.m = s->m}, c = {.m = s->m};

	for (int next; i < k; i = next)
	{
		next = i + 1;
		if (next < k)
			memtable_cursor_at(&a, op_list_unit_node(s, &s->units[i]));
		for (; next < k; next++)
		{
			memtable_cursor_at(&c, op_list_unit_node(s, &s->units[next]));
			if (c.family != a.family || !same_row(&c.e, &a.e))
				break;
		}
		if (next > i + 1)
			TRY(flatten(s, &s->units[i], &s->units[next]));
		s->units[(*out)++] = s->units[i];
	}
	return WIDE_OK;
}

static inline bool
same_prefix(const op_unit *a, const op_unit *b)
{
	return a->prefix == b->prefix && a->more == b->more;
}

wide_status
op_list_sort(op_list *l, const op_undone *undone, op_sorted *s)
{
	shared h = {0};
	bool ascending = true;
	int out = 0;
	memtable_cursor c;

	if (l == NULL)
		return WIDE_OK;
	s->m = l->m;
	TRY(make_units(l, undone, s, &h));
	memtable_cursor_open(&c, &s->m);
	for (int i = 0; i < s->nunits; i++)
	{
		op_unit *u = &s->units[i];

		memtable_cursor_at(&c, op_list_unit_node(s, u));
		unit_prefix(u, &c, &h);
		/* if the bytes are equal it may be the same row */
		ascending = ascending && (i == 0 || u->prefix > u[-1].prefix ||
								  (u->prefix == u[-1].prefix && u->more > u[-1].more));
	}
	if (ascending)
		return WIDE_OK;
	TRY(radix_sort(s));
	for (int i = 0, k; i < s->nunits; i = k)
	{
		for (k = i + 1; k < s->nunits && s->units[k].prefix == s->units[i].prefix; k++)
			;
		if (k > i + 1)
			qsort_r(s->units + i, (size_t) (k - i), sizeof(op_unit), compare_units, s);
	}
	for (int i = 0, k; i < s->nunits; i = k)
	{
		for (k = i + 1; k < s->nunits && same_prefix(&s->units[i], &s->units[k]); k++)
			;
		TRY(join_rows(s, i, k, &out));
	}
	s->nunits = out;
	return WIDE_OK;
}

/*
 * own.c - a transaction's operations in memory, and all of them as one stream.
 *
 * In memory operations are nodes of a skip list (mem.c), written one behind the
 * other in reserved address space, which costs memory only as far as it is
 * touched and never moves.  They are linked into the list only when a source
 * wants to read them: a load that nobody looks at until it commits is sorted
 * once instead, which costs a tenth.
 *
 * Sorting.  Nodes that follow each other in memory, and are of one family and
 * row (the cells of a row as INSERT writes them), are a unit.  Units are sorted
 * by sixteen bytes of their rows that differ early, the first eight by radix.  To
 * look at the rows themselves would be a cache miss for each; that is done only
 * where the sixteen bytes are equal.  Units of the same row are joined.
 *
 * A merge is a heap of streams: the list or the sorted units, and a cursor for
 * each run.  The bytes of what comes from a list stay, those from a run do not.
 *
 * Locking: none; the batch belongs to one process.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "engine/batch/own.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/set/memtable.h"
#include "engine/batch/batch.h"
#include "engine/batch/operation.h"
#include "engine/batch/run.h"

#define ARENA_BYTES		((uint64_t) 8 << 30)
#define ARENA_LEAST		((uint64_t) 64 << 20)
#define ARENA_KEEP		((uint64_t) 1 << 20)	/* stays in memory for the next batch */
#define PREFETCH		3				/* units ahead */
#define PIECE_BYTES		((uint32_t) 64 * 1024)

enum stream_kind { STREAM_LIST, STREAM_SORTED, STREAM_RUN };

static wide_status
no_memory(void)
{
	return wide_fail(WIDE_NOMEM, "out of memory for a transaction");
}

/* ------------------------------------------------------------------- lists */

/* One arena is kept for the process's next list: mapping and first touch cost more than a small transaction. */
static uint8_t *spare;
static uint64_t spare_bytes;

static wide_status
arena_take(own_list *l)
{
	uint64_t	bytes = ARENA_BYTES;
	void	   *p = MAP_FAILED;

	if (spare != NULL)
	{
		l->base = spare;
		l->capacity = spare_bytes;
		spare = NULL;
		return WIDE_OK;
	}
	for (; bytes >= ARENA_LEAST && p == MAP_FAILED; bytes /= 4)
	{
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p != MAP_FAILED)
			l->capacity = bytes;
	}
	if (p == MAP_FAILED)
		return wide_fail(WIDE_NOMEM, "no address space for a transaction's changes");
	l->base = p;
	return WIDE_OK;
}

wide_status
own_list_new(own_list **out)
{
	own_list   *l = spare_alloc(sizeof(*l));
	wide_status st;

	if (l == NULL)
		return no_memory();
	st = arena_take(l);
	if (st != WIDE_OK)
	{
		spare_free(l, sizeof(*l));
		return st;
	}
	own_list_reset(l);
	*out = l;
	return WIDE_OK;
}

void
own_list_reset(own_list *l)
{
	if (l->end > l->touched)
		l->touched = l->end;
	mem_init(&l->m, &l->table, l->base, l->capacity);
	memset(&l->hint, 0, sizeof(l->hint));
	l->start = l->end = l->linked = (atomic_load(&l->table.used) + 7) & ~(uint64_t) 7;
	l->first_op = l->linked_op = UINT64_MAX;
	l->nodes = l->rows = 0;
}

static void
list_free(own_list *l)
{
	if (spare != NULL)
		munmap(l->base, l->capacity);
	else
	{
		if (l->end > ARENA_KEEP || l->touched > ARENA_KEEP)
			madvise(l->base + ARENA_KEEP, l->capacity - ARENA_KEEP, MADV_DONTNEED);
		spare = l->base;
		spare_bytes = l->capacity;
	}
	spare_free(l, sizeof(*l));
}

void
own_list_retire(own_list *l)
{
	if (l == NULL)
		return;
	l->retired = true;
	if (l->users == 0)
		list_free(l);
}

void
own_list_leave(own_list *l)
{
	if (l != NULL && --l->users == 0 && l->retired)
		list_free(l);
}

void
own_list_link(own_list *l, uint64_t mark)
{
	mem_cursor	c;

	if (l->linked_op >= mark)
		return;
	mem_cursor_open(&c, &l->m);
	while (l->linked < l->end)
	{
		mem_cursor_at(&c, mem_written(l->linked));
		l->linked_op = own_op(c.e.seq);
		if (l->linked_op >= mark)
			return;
		mem_link(&l->m, l->linked, &l->hint);
		l->linked = mem_node_end(&c);
	}
	l->linked_op = UINT64_MAX;
}

/* ----------------------------------------------------------------- sorting */

void
own_sorted_free(own_sorted *s)
{
	free(s->units);
	free(s->flat);
	memset(s, 0, sizeof(*s));
}

static inline int
entry_order(wide_family_id af, const entry *a, wide_family_id bf, const entry *b)
{
	return af != bf ? (af < bf ? -1 : 1) : key_compare(a, b);
}

static inline bool
same_row(const entry *a, const entry *b)
{
	return a->rowlen == b->rowlen && memcmp(a->ukey, b->ukey, a->rowlen) == 0;
}

static int
compare_refs(uint32_t a, uint32_t b, const mem *m)
{
	mem_cursor	x = {.m = *m},
				y = {.m = *m};

	mem_cursor_at(&x, a);
	mem_cursor_at(&y, b);
	return entry_order(x.family, &x.e, y.family, &y.e);
}

static int
compare_nodes(const void *a, const void *b, void *m)
{
	return compare_refs(*(const uint32_t *) a, *(const uint32_t *) b, m);
}

/* The nodes of the unit at the end of s->flat. */
static wide_status
flat_append(const mem *m, own_sorted *s, const own_unit *u)
{
	uint32_t	n = u->n & ~UNIT_FLAT;
	mem_cursor	c;

	if ((uint64_t) s->nflat + n > s->flat_cap)
	{
		uint64_t	cap = 2 * ((uint64_t) s->nflat + n) + 64;
		uint32_t   *p = realloc(s->flat, cap * sizeof(*p));

		if (p == NULL)
			return no_memory();
		s->flat = p;
		s->flat_cap = (uint32_t) cap;
	}
	if (u->n & UNIT_FLAT)
	{
		memcpy(s->flat + s->nflat, s->flat + u->ref, n * sizeof(*s->flat));
		s->nflat += n;
		return WIDE_OK;
	}
	mem_cursor_open(&c, m);
	for (uint32_t i = 0; i < n; i++)
	{
		mem_cursor_at(&c, i == 0 ? u->ref : mem_written(mem_node_end(&c)));
		s->flat[s->nflat++] = c.node;
	}
	return WIDE_OK;
}

/* Units [u, end) are of one row: their nodes, each for itself, become unit u. */
static wide_status
flatten(const mem *m, own_sorted *s, own_unit *u, const own_unit *end)
{
	uint32_t	first = s->nflat;

	for (const own_unit *v = u; v < end; v++)
		TRY(flat_append(m, s, v));
	qsort_r(s->flat + first, s->nflat - first, sizeof(uint32_t), compare_nodes, (void *) m);
	u->ref = first;
	u->n = (s->nflat - first) | UNIT_FLAT;
	return WIDE_OK;
}

/* The last unit has all its nodes.  One that is not in order is sorted now, while it is in the processor's cache. */
static wide_status
unit_end(const mem *m, own_sorted *s, bool ordered)
{
	own_unit   *u = &s->units[s->nunits - 1];

	return ordered ? WIDE_OK : flatten(m, s, u, u + 1);
}

static wide_status
unit_begin(own_sorted *s, uint32_t *cap, uint32_t ref)
{
	if (s->nunits == *cap)
	{
		uint32_t	more = *cap == 0 ? 64 : 2 * *cap;
		own_unit   *p = realloc(s->units, more * sizeof(*p));

		if (p == NULL)
			return no_memory();
		s->units = p;
		*cap = more;
	}
	s->units[s->nunits++] = (own_unit) {.ref = ref, .n = 1};
	return WIDE_OK;
}

/* What all units have in common. */
typedef struct shared
{
	wide_family_id min_family, max_family;
	uint32_t	lcp;			/* bytes that all rows begin with */
	mem_cursor	first;
} shared;

static void
note_row(shared *h, const mem_cursor *c)
{
	uint32_t	n,
				most = c->e.rowlen < h->lcp ? c->e.rowlen : h->lcp;

	h->min_family = c->family < h->min_family ? c->family : h->min_family;
	h->max_family = c->family > h->max_family ? c->family : h->max_family;
	n = bytes_shared(c->e.ukey, h->first.e.ukey, most);
	h->lcp = n;
}

/* Is b of the row of a?  If so *ordered stays set only if it is above a. */
static inline bool
goes_on(const entry *a, const entry *b, bool *ordered)
{
	uint32_t	most = a->klen < b->klen ? a->klen : b->klen,
				shared = bytes_shared(a->ukey, b->ukey, most);

	if (a->rowlen != b->rowlen || shared < a->rowlen)
		return false;
	*ordered = *ordered && (shared < most ? a->ukey[shared] < b->ukey[shared] : key_compare(a, b) < 0);
	return true;
}

bool
batch_undone_any(const wide_batch *b, uint64_t op)
{
	int			lo = 0,
				hi = b->nundone;

	/* the first interval that ends behind it */
	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (b->undone[mid].to <= op)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < b->nundone && b->undone[lo].from <= op;
}

/* Units in the order of memory, without what is undone. */
static wide_status
make_units(wide_batch *b, own_sorted *s, shared *h)
{
	own_list   *l = b->list;
	uint32_t	cap = 0;
	int			undone = 0;
	bool		ordered = true,
				open = false;
	mem_cursor	c,
				last;

	mem_cursor_open(&c, &l->m);
	last = c;
	for (uint64_t at = l->start; at < l->end; at = mem_node_end(&c))
	{
		uint64_t	op;
		bool		gone;

		mem_cursor_at(&c, mem_written(at));
		op = own_op(c.e.seq);
		while (undone < b->nundone && b->undone[undone].to <= op)
			undone++;
		gone = undone < b->nundone && b->undone[undone].from <= op;
		if (open && !gone && c.family == last.family && goes_on(&last.e, &c.e, &ordered))
		{
			s->units[s->nunits - 1].n++;
			last.e = c.e;
			continue;
		}
		if (open)
			TRY(unit_end(&l->m, s, ordered));
		open = !gone;
		ordered = true;
		if (gone)
			continue;
		last = c;
		if (s->nunits == 0)
			*h = (shared) {.min_family = c.family, .max_family = c.family, .lcp = c.e.rowlen, .first = c};
		TRY(unit_begin(s, &cap, c.node));
		note_row(h, &c);
	}
	return open ? unit_end(&l->m, s, ordered) : WIDE_OK;
}

/* The node that tells the unit's row. */
static inline uint32_t
unit_node(const own_sorted *s, const own_unit *u)
{
	return u->n & UNIT_FLAT ? s->flat[u->ref] : u->ref;
}

/* Bytes in the order of (family, row): the family if there are several, and what follows the shared bytes. */
static void
unit_prefix(own_unit *u, const mem_cursor *c, const shared *h)
{
	uint8_t		bytes[16] = {0};
	uint32_t	rest = c->e.rowlen - h->lcp;
	uint32_t	f = c->family - h->min_family,
				most = h->max_family - h->min_family;
	int			bits = most > 255 ? 32 : 8;	/* all of it: what is equal here is sorted by what follows */

	memcpy(bytes, c->e.ukey + h->lcp, rest < 16 ? rest : 16);
	u->prefix = get_u64be(bytes);
	u->more = get_u64be(bytes + 8);
	if (most > 0)
	{
		u->more = u->more >> bits | u->prefix << (64 - bits);
		u->prefix = u->prefix >> bits | (uint64_t) f << (64 - bits);
	}
}

/* By radix, the lowest byte first; bytes in which all agree are passed over. */
static wide_status
radix_sort(own_sorted *s)
{
	own_unit   *from = s->units,
			   *to = malloc(s->nunits * sizeof(*to));

	if (to == NULL)
		return no_memory();
	for (int shift = 0; shift < 64; shift += 8)
	{
		uint32_t	count[256] = {0},
					at = 0;
		own_unit   *swap;

		for (uint32_t i = 0; i < s->nunits; i++)
			count[from[i].prefix >> shift & 255]++;
		if (count[from[0].prefix >> shift & 255] == s->nunits)
			continue;
		for (int k = 0; k < 256; k++)
		{
			uint32_t	n = count[k];

			count[k] = at;
			at += n;
		}
		for (uint32_t i = 0; i < s->nunits; i++)
			to[count[from[i].prefix >> shift & 255]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	s->units = from;
	free(to);
	return WIDE_OK;
}

typedef struct sort_arg
{
	const mem  *m;
	const own_sorted *s;
} sort_arg;

/* Of equal prefix.  Units of one row may come in any order. */
static int
compare_units(const void *a, const void *b, void *arg)
{
	const own_unit *x = a,
			   *y = b;
	const sort_arg *s = arg;

	if (x->more != y->more)
		return x->more < y->more ? -1 : 1;
	return compare_refs(unit_node(s->s, x), unit_node(s->s, y), s->m);
}

/* Units [i, k) are neighbours of equal prefixes: those of the same row are put together; *out: where they go. */
static wide_status
join_rows(const mem *m, own_sorted *s, uint32_t i, uint32_t k, uint32_t *out)
{
	mem_cursor	a = {.m = *m},
				c = {.m = *m};

	for (uint32_t next; i < k; i = next)
	{
		next = i + 1;
		if (next < k)
			mem_cursor_at(&a, unit_node(s, &s->units[i]));
		for (; next < k; next++)
		{
			mem_cursor_at(&c, unit_node(s, &s->units[next]));
			if (c.family != a.family || !same_row(&c.e, &a.e))
				break;
		}
		if (next > i + 1)
			TRY(flatten(m, s, &s->units[i], &s->units[next]));
		s->units[(*out)++] = s->units[i];
	}
	return WIDE_OK;
}

static inline bool
same_prefix(const own_unit *a, const own_unit *b)
{
	return a->prefix == b->prefix && a->more == b->more;
}

wide_status
own_sort(wide_batch *b, own_sorted *s)
{
	shared		h = {0};
	bool		ascending = true;
	uint32_t	out = 0;
	mem		   *m;
	mem_cursor	c;

	if (b->list == NULL)
		return WIDE_OK;
	m = &b->list->m;
	TRY(make_units(b, s, &h));
	mem_cursor_open(&c, m);
	for (uint32_t i = 0; i < s->nunits; i++)
	{
		own_unit   *u = &s->units[i];

		mem_cursor_at(&c, unit_node(s, u));
		unit_prefix(u, &c, &h);
		/* with equal ones it might be the same row */
		ascending = ascending && (i == 0 || u->prefix > u[-1].prefix || (u->prefix == u[-1].prefix && u->more > u[-1].more));
	}
	if (ascending)
		return WIDE_OK;
	TRY(radix_sort(s));
	for (uint32_t i = 0, k; i < s->nunits; i = k)
	{
		for (k = i + 1; k < s->nunits && s->units[k].prefix == s->units[i].prefix; k++)
			;
		if (k > i + 1)
			qsort_r(s->units + i, k - i, sizeof(own_unit), compare_units, &(sort_arg) {m, s});
	}
	for (uint32_t i = 0, k; i < s->nunits; i = k)
	{
		for (k = i + 1; k < s->nunits && same_prefix(&s->units[i], &s->units[k]); k++)
			;
		TRY(join_rows(m, s, i, k, &out));
	}
	s->nunits = out;
	return WIDE_OK;
}

/* ----------------------------------------------------------------- streams */

static void
list_current(own_stream *s)
{
	s->valid = mem_valid(&s->c);
	s->family = s->c.family;
	s->e = s->c.e;
}

static void
sorted_current(own_stream *s)
{
	const own_unit *u = &s->sorted->units[s->unit];

	s->valid = s->unit < s->sorted->nunits;
	if (!s->valid)
		return;
	if (s->done == 0)
	{
		/* the next units are anywhere in memory */
		if (s->unit + PREFETCH < s->sorted->nunits)
		{
			const uint8_t *p = s->list->base + (uint64_t) unit_node(s->sorted, &u[PREFETCH]) * 8;

			for (int line = 0; line < 5; line++)
				__builtin_prefetch(p + 64 * line);
		}
	}
	if (u->n & UNIT_FLAT)
		mem_cursor_at(&s->c, s->sorted->flat[u->ref + s->done]);
	else
		mem_cursor_at(&s->c, s->done == 0 ? u->ref : mem_written(mem_node_end(&s->c)));
	s->family = s->c.family;
	s->e = s->c.e;
}

static void
run_current(own_stream *s)
{
	s->valid = s->run.valid;
	s->family = s->run.family;
	s->e = s->run.e;
}

static wide_status
stream_first(own_stream *s)
{
	switch (s->kind)
	{
		case STREAM_LIST:
			mem_first(&s->c);
			list_current(s);
			return WIDE_OK;
		case STREAM_SORTED:
			s->unit = s->done = 0;
			sorted_current(s);
			return WIDE_OK;
		default:
			TRY(run_first(&s->run));
			run_current(s);
			return WIDE_OK;
	}
}

static wide_status
stream_next(own_stream *s)
{
	switch (s->kind)
	{
		case STREAM_LIST:
			mem_next(&s->c);
			list_current(s);
			return WIDE_OK;
		case STREAM_SORTED:
			if (++s->done == (s->sorted->units[s->unit].n & ~UNIT_FLAT))
			{
				s->unit++;
				s->done = 0;
			}
			sorted_current(s);
			return WIDE_OK;
		default:
			TRY(run_next(&s->run));
			run_current(s);
			return WIDE_OK;
	}
}

/* Of lists and runs only. */
static wide_status
stream_seek(own_stream *s, wide_family_id family, const uint8_t *ukey, uint32_t klen)
{
	if (s->kind == STREAM_LIST)
	{
		mem_seek(&s->c, family, ukey, klen, INT64_MAX, SEQ_MAX);
		list_current(s);
		return WIDE_OK;
	}
	TRY(run_seek(&s->run, family, ukey, klen, INT64_MAX, SEQ_MAX));
	run_current(s);
	return WIDE_OK;
}

/* ------------------------------------------------------------------- merge */

static wide_status
merge_room(own_merge *m, int n)
{
	m->streams = calloc((size_t) n + 1, sizeof(*m->streams));
	m->heap = calloc((size_t) n + 1, sizeof(*m->heap));
	return m->streams != NULL && m->heap != NULL ? WIDE_OK : no_memory();
}

static void
add_run(own_merge *m, own_run *r)
{
	own_stream *s = &m->streams[m->n++];

	s->kind = STREAM_RUN;
	run_cursor_open(&s->run, r);
	m->copies = true;
}

wide_status
own_merge_open(wide_batch *b, const own_sorted *sorted, uint64_t mark, own_merge *m)
{
	memset(m, 0, sizeof(*m));
	m->b = b;
	m->mark = mark;
	TRY(merge_room(m, b->nruns + 1));
	if (b->list != NULL && mark > b->list->first_op)
	{
		own_stream *s = &m->streams[m->n++];

		s->kind = sorted != NULL ? STREAM_SORTED : STREAM_LIST;
		s->sorted = sorted;
		s->list = b->list;
		s->list->users++;
		mem_cursor_open(&s->c, &b->list->m);
	}
	for (int i = 0; i < b->nruns; i++)
		add_run(m, b->runs[i].run);
	return WIDE_OK;
}

wide_status
own_merge_runs(wide_batch *b, int from, int to, own_merge *m)
{
	memset(m, 0, sizeof(*m));
	m->b = b;
	m->mark = UINT64_MAX;
	TRY(merge_room(m, to - from));
	for (int i = from; i < to; i++)
		add_run(m, b->runs[i].run);
	return WIDE_OK;
}

void
own_merge_close(own_merge *m)
{
	for (int i = 0; i < m->n; i++)
	{
		if (m->streams[i].kind == STREAM_RUN)
			run_cursor_close(&m->streams[i].run);
		own_list_leave(m->streams[i].list);
	}
	free(m->streams);
	free(m->heap);
	memset(m, 0, sizeof(*m));
}

static inline bool
before(const own_stream *a, const own_stream *b)
{
	return entry_order(a->family, &a->e, b->family, &b->e) < 0;
}

static void
sift(own_merge *m, int i)
{
	own_stream *s = m->heap[i];

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child >= m->nheap)
			break;
		if (child + 1 < m->nheap && before(m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m->heap[child], s))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = s;
}

static void
heap_build(own_merge *m)
{
	m->nheap = 0;
	for (int i = 0; i < m->n; i++)
		if (m->streams[i].valid)
			m->heap[m->nheap++] = &m->streams[i];
	for (int i = m->nheap / 2 - 1; i >= 0; i--)
		sift(m, i);
}

wide_status
own_merge_first(own_merge *m)
{
	m->nheap = 0;
	for (int i = 0; i < m->n; i++)
		TRY(stream_first(&m->streams[i]));
	heap_build(m);
	return WIDE_OK;
}

wide_status
own_merge_seek(own_merge *m, wide_family_id family, const uint8_t *ukey, uint32_t klen,
			   const uint8_t *row, uint32_t rowlen)
{
	m->nheap = 0;
	for (int i = 0; i < m->n; i++)
	{
		own_stream *s = &m->streams[i];

		if (s->kind == STREAM_LIST)
			own_list_link(s->list, m->mark);
		if (s->kind == STREAM_RUN && row != NULL && !run_may_have_row(s->run.run, row, rowlen))
			s->valid = false;
		else
			TRY(stream_seek(s, family, ukey, klen));
	}
	heap_build(m);
	return WIDE_OK;
}

wide_status
own_merge_next(own_merge *m)
{
	wide_status st;

	if (m->nheap == 0)
		return WIDE_OK;
	st = stream_next(m->heap[0]);
	if (st != WIDE_OK)
	{
		m->nheap = 0;
		return st;
	}
	if (!m->heap[0]->valid)
		m->heap[0] = m->heap[--m->nheap];
	if (m->nheap > 1)
		sift(m, 0);
	return WIDE_OK;
}

wide_status
own_merge_row_before(own_merge *m, wide_family_id family, const uint8_t *ukey, uint32_t klen, buffer *row, buffer *scratch)
{
	bool		found = false;

	m->nheap = 0;
	row->len = 0;
	for (int i = 0; i < m->n; i++)
	{
		own_stream *s = &m->streams[i];

		scratch->len = 0;
		s->valid = false;
		if (s->kind == STREAM_RUN)
		{
			wide_status st = run_row_before(&s->run, family, ukey, klen, scratch);

			if (st == WIDE_END)
				continue;
			TRY(st);
		}
		else
		{
			own_list_link(s->list, m->mark);
			mem_seek_before(&s->c, family, ukey, klen);
			if (!mem_valid(&s->c) || s->c.family != family)
				continue;
			TRY(buffer_append(scratch, s->c.e.ukey, s->c.e.rowlen));
		}
		if (found && ukey_compare(row->data, row->len, scratch->data, scratch->len) >= 0)
			continue;
		row->len = 0;
		TRY(buffer_append(row, scratch->data, scratch->len));
		found = true;
	}
	return found ? WIDE_OK : WIDE_END;
}

/* ----------------------------------------------------------------- columns */

void
own_column_free(own_column *c)
{
	for (own_piece *p = c->pieces, *next; p != NULL; p = next)
	{
		next = p->next;
		free(p->data);
		free(p);
	}
	free(c->e);
	buffer_free(&c->key);
	memset(c, 0, sizeof(*c));
}

void
own_column_forget(own_column *c)
{
	own_piece  *p = c->pieces;

	if (p == NULL)
		return;
	p->used = 0;
	while (p->next != NULL)
	{
		own_piece  *next = p->next->next;

		free(p->next->data);
		free(p->next);
		p->next = next;
	}
}

/* A copy that stays until its piece is freed. */
static wide_status
keep_value(own_column *c, entry *e)
{
	own_piece  *p = c->pieces;

	if (e->vlen == 0)
		return WIDE_OK;
	if (p == NULL || p->size - p->used < e->vlen)
	{
		uint32_t	size = e->vlen > PIECE_BYTES ? e->vlen : PIECE_BYTES;

		p = malloc(sizeof(*p));
		if (p == NULL || (p->data = malloc(size)) == NULL)
		{
			free(p);
			return no_memory();
		}
		p->next = c->pieces;
		p->used = 0;
		p->size = size;
		c->pieces = p;
	}
	memcpy(p->data + p->used, e->value, e->vlen);
	e->value = p->data + p->used;
	p->used += e->vlen;
	return WIDE_OK;
}

static wide_status
column_add(own_column *c, const own_merge *m, const own_stream *s)
{
	bool		automatic = own_is_auto(s->e.seq);

	/* of several the last counts; what is not the last masks and replaces nothing either */
	if (automatic && c->newest >= 0)
	{
		if (own_op(c->e[c->newest].seq) > own_op(s->e.seq))
			return WIDE_OK;
		memmove(&c->e[c->newest], &c->e[c->newest + 1], (size_t) (c->n - c->newest - 1) * sizeof(entry));
		c->n--;
	}
	TRY(view_grow((void **) &c->e, c->n, &c->cap, sizeof(entry)));
	c->e[c->n] = s->e;
	if (m->copies && s->kind == STREAM_RUN)
		TRY(keep_value(c, &c->e[c->n]));
	if (automatic)
		c->newest = c->n;
	c->n++;
	return WIDE_OK;
}

wide_status
own_column_read(own_column *c, own_merge *m)
{
	c->n = 0;
	while (c->n == 0)
	{
		const own_stream *s = own_merge_top(m);
		const uint8_t *ukey;
		uint32_t	klen;

		if (s == NULL)
			return WIDE_END;
		c->family = s->family;
		c->newest = -1;
		ukey = s->e.ukey;
		klen = s->e.klen;
		if (m->copies)
		{
			c->key.len = 0;
			TRY(buffer_append(&c->key, ukey, klen));
			ukey = c->key.data;
		}
		do
		{
			uint64_t	op = own_op(s->e.seq);

			if (op < m->mark && !batch_undone(m->b, op))
				TRY(column_add(c, m, s));
			TRY(own_merge_next(m));
			s = own_merge_top(m);
		} while (s != NULL && s->family == c->family && s->e.klen == klen && memcmp(s->e.ukey, ukey, klen) == 0);
		for (int i = 0; i < c->n; i++)
			c->e[i].ukey = ukey;
	}
	return WIDE_OK;
}

/*
 * memtable.c - memtables: skip lists of entries in memory that only grow.
 *
 * A list lives in one contiguous piece of memory, shared or private.  Its links are offsets from
 * the base divided by 8 ("references"), so that each process may map it at another address.
 *
 *     0      nothing: reference 0 is the null link
 *     16     links of the head, the highest level first; the head's node is at 64
 *     64     nodes
 *
 * A node of height h takes, from its 8-aligned offset `at`,
 *
 *     padding to make the struct 8-aligned    4 bytes when h is odd
 *     u32 link[h]        level h-1 first, level 0 next to the struct
 *     struct node        values first, then what a comparison reads: family,
 *                        key length, key
 *     key, value         no alignment
 *
 * and its reference is that of its struct.  The links are at negative indexes.  A
 * node does not store its height, because it is reached only on levels that it
 * has.  The height is a hash of `at`, so that the space of a node is known before
 * it is written, and processes share no random state.
 *
 * Invariants
 *  - Every level is an ordered sub-list of the level below.  A node is linked
 *    bottom up, and is complete when it is linked on level 0.
 *  - Nodes are never changed (except links), moved or removed.
 *
 * Locking: none.  Inserters link with compare-and-swap (release), readers load with acquire, so who
 * sees a node sees its bytes.  Callers hand out the space.  A process that dies between two levels
 * leaves a correct list and an incomplete batch: the caller holds in_crit.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include "engine/set/memtable.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/log_end.h"
#include "engine/shared/segment.h"

#define TOUCH_BYTES 4096 /* a page, or a part of one */
#define HEAD_AT		64
#define HEAD		(HEAD_AT / 8)
#define PATHS		16 /* searches at a time */

typedef struct node
{
	int64_t ttl_us;
	int64_t ts;
	uint64_t tail; /* seq << 8 | type */
	uint32_t vlen;
	uint32_t rowlen;
	uint32_t family;
	uint32_t klen;
	uint8_t key[];
} node;

_Static_assert(HEAD_AT >= 16 + MEMTABLE_HEIGHT * sizeof(uint32_t), "the head's links need room");
_Static_assert(sizeof(node) == 40, "no padding");

/* The target of a search: a key, or the place before all entries of a ukey. */
typedef struct target
{
	uint32_t family;
	uint32_t klen;
	const uint8_t *key;
	uint64_t prefix; /* first 8 bytes of key, big-endian, zero-filled */
	int64_t ts;
	uint64_t tail;
} target;

static inline node *
node_at(const memtable_handle *m, uint32_t ref)
{
	return (node *) (m->base + (uint64_t) ref * 8);
}

static inline _Atomic uint32_t *
node_link(const memtable_handle *m, uint32_t ref, int level)
{
	return (_Atomic uint32_t *) (m->base + (uint64_t) ref * 8) - 1 - level;
}

static inline uint32_t
node_next(const memtable_handle *m, uint32_t ref, int level)
{
	return atomic_load_explicit(node_link(m, ref, level), memory_order_acquire);
}

static inline uint64_t
key_prefix(const uint8_t *key, uint32_t klen)
{
	uint8_t b[8] = {0};

	if (klen >= 8)
		return get_u64be(key);
	memcpy(b, key, klen);
	return get_u64be(b);
}

static inline void
target_set(target *t, uint32_t family, const uint8_t *key, uint32_t klen, int64_t ts, uint64_t tail)
{
	t->family = family;
	t->klen = klen;
	t->key = key;
	t->prefix = key_prefix(key, klen);
	t->ts = ts;
	t->tail = tail;
}

static inline void
target_node(target *t, const node *n)
{
	target_set(t, n->family, n->key, n->klen, n->ts, n->tail);
}

/*
 * Returns the sign of node - target.  Most comparisons end with the family or the
 * first 8 bytes of the key, which are neighbours in memory.  Filling short keys
 * with zeros keeps the order: where that makes two prefixes differ, the shorter key
 * is a prefix of the other and sorts first; where the prefixes are equal, all bytes
 * are compared.
 */
static inline int
node_compare(const node *n, const target *t)
{
	uint64_t prefix;
	int c;

	if (n->family != t->family)
		return n->family < t->family ? -1 : 1;
	prefix = key_prefix(n->key, n->klen);
	if (prefix != t->prefix)
		return prefix < t->prefix ? -1 : 1;
	c = ukey_compare(n->key, n->klen, t->key, t->klen);
	if (c != 0)
		return c;
	if (n->ts != t->ts)
		return n->ts > t->ts ? -1 : 1;
	return n->tail > t->tail ? -1 : n->tail < t->tail;
}

/* ---------------------------------------------------------------- memory */

/* Returns the height of the node at this offset: at least h + 1 with probability 1/4^h. */
static inline int
height_at(uint64_t at)
{
	uint64_t x = at + 0x9e3779b97f4a7c15ull;
	int h = 1;

	/* splitmix64 */
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	while (h < MEMTABLE_HEIGHT && (x & 3) == 0)
	{
		h++;
		x >>= 2;
	}
	return h;
}

/* Bytes of the links in front of a node, with padding. */
static inline size_t
links_size(int height)
{
	return (height * sizeof(uint32_t) + 7) & ~(size_t) 7;
}

/* Bytes of a node without its links, with padding. */
static inline size_t
node_size(uint32_t klen, uint32_t vlen)
{
	return (sizeof(node) + (size_t) klen + vlen + 7) & ~(size_t) 7;
}

size_t
memtable_node_bytes(uint32_t klen, uint32_t vlen)
{
	return links_size(MEMTABLE_HEIGHT) + node_size(klen, vlen);
}

size_t
memtable_node_bytes_at(uint64_t at, uint32_t klen, uint32_t vlen)
{
	return links_size(height_at(at)) + node_size(klen, vlen);
}

void
memtable_format(memtable *t, uint8_t *base, uint64_t capacity)
{
	memset(base, 0, HEAD_AT);
	t->capacity = capacity;
	atomic_store(&t->applying, 0);
	atomic_store(&t->height, 1);
	atomic_store(&t->cells, 0);
	atomic_store(&t->tombstones, 0);
	atomic_store(&t->ts_min, INT64_MAX);
	atomic_store(&t->ts_max, INT64_MIN);
	atomic_store(&t->ts_ahead, INT64_MIN);
	atomic_store(&t->seq_min, UINT64_MAX);
	atomic_store(&t->seq_max, 0);
	atomic_store(&t->head, HEAD);
	atomic_store_explicit(&t->used, HEAD_AT, memory_order_release);
}

void
memtable_init(memtable_handle *m, memtable *t, uint8_t *base, uint64_t capacity)
{
	m->base = base;
	m->t = t;
	memtable_format(t, base, capacity);
}

void
memtable_at(wide_db *db, uint32_t index, memtable_handle *m)
{
	m->t = &db->seg->memtables[index];
	m->base = LAYOUT_AT(db, m->t->region);
}

void
memtable_touch(const memtable_handle *m, uint64_t at, uint64_t bytes)
{
	uintptr_t p = (uintptr_t) m->base + at;

	for (uintptr_t end = p + bytes; p < end; p = (p | (TOUCH_BYTES - 1)) + 1)
		(void) *(const volatile uint8_t *) p;
}

/* ---------------------------------------------------------------- search */

/* Returns the last node before the target on the level; *next is the node after it.
 * Requires: `from` is before the target. */
static inline uint32_t
level_search(const memtable_handle *m, uint32_t from, int level, const target *t, uint32_t *next)
{
	for (;;)
	{
		uint32_t n = node_next(m, from, level);

		if (level > 0)
			__builtin_prefetch(node_at(m, node_next(m, from, level - 1)));
		if (n == 0 || node_compare(node_at(m, n), t) >= 0)
		{
			*next = n;
			return from;
		}
		from = n;
	}
}

/* Returns the last node before the target on level 0 (HEAD if there is none); *next is the node
 * after it. */
static uint32_t
search(const memtable_handle *m, const target *t, uint32_t *next)
{
	uint32_t at = HEAD;
	uint32_t seen = 0; /* a node that is known not to be before the target */

	*next = 0;
	for (int level = atomic_load_explicit(&m->t->height, memory_order_relaxed) - 1; level >= 0;
		 level--)
	{
		for (;;)
		{
			uint32_t n = node_next(m, at, level);

			if (n == 0 || n == seen)
				break;
			/* the node to compare next if this one is not before the target */
			if (level > 0)
				__builtin_prefetch(node_at(m, node_next(m, at, level - 1)));
			if (node_compare(node_at(m, n), t) >= 0)
			{
				seen = n;
				break;
			}
			at = n;
		}
	}
	*next = node_next(m, at, 0);
	/* an inserter may have linked a node between the comparison and this load */
	while (*next != 0 && *next != seen && node_compare(node_at(m, *next), t) < 0)
	{
		at = *next;
		*next = node_next(m, at, 0);
	}
	return at;
}

/* ---------------------------------------------------------------- insert */

/* Sets the atomic *bound to v if v is `beyond` (< or >) it. */
#define WIDEN(bound, v, beyond)                                                              \
	do                                                                                       \
	{                                                                                        \
		__typeof__((v) + 0) old_ = atomic_load_explicit(bound, memory_order_relaxed);        \
		while ((v) beyond old_ &&                                                            \
			   !atomic_compare_exchange_weak_explicit(bound, &old_, v, memory_order_relaxed, \
													  memory_order_relaxed))                 \
			;                                                                                \
	} while (0)

/* Widens the bounds to include the node.  Called before the node can be seen, so that a reader
 * that skips the memtable by its bounds misses nothing. */
static void
note_node(memtable *t, const node *n)
{
	WIDEN(&t->ts_min, n->ts, <);
	WIDEN(&t->ts_max, n->ts, >);
	WIDEN(&t->seq_min, n->tail >> 8, <);
	WIDEN(&t->seq_max, n->tail >> 8, >);
}

uint32_t
memtable_write(memtable_handle *m, uint64_t at, wide_family_id family, const entry *e)
{
	uint64_t off = at + links_size(height_at(at));
	node *n = (node *) (m->base + off);

	n->ttl_us = e->ttl_us;
	n->ts = e->ts;
	n->tail = e->seq << 8 | e->type;
	n->vlen = e->vlen;
	n->rowlen = e->rowlen;
	n->family = family;
	n->klen = e->klen;
	memcpy(n->key, e->ukey, e->klen);
	if (e->value != NULL && e->vlen != 0)
		memcpy(n->key + e->klen, e->value, e->vlen);
	return (uint32_t) (off / 8);
}

/*
 * Sets before[] and after[], the neighbours of the target, on the levels below
 * `height` and perhaps more.  Returns the number of levels.  With a
 * hint, climbs from level 0 to the first level where the hint's node is directly
 * before the target, and searches down from there: with ascending keys that is
 * level 0.
 */
static int
find_splice(const memtable_handle *m, const target *t, int height, const memtable_hint *hint,
			uint32_t *before, uint32_t *after)
{
	int top = (int) atomic_load_explicit(&m->t->height, memory_order_relaxed);
	int known = top;
	int level = top - 1;
	uint32_t at = HEAD;

	for (int l = 0; hint != NULL && l < top && hint->before[l] != 0; l++)
	{
		uint32_t h = hint->before[l];
		uint32_t n;

		if (h != HEAD && node_compare(node_at(m, h), t) >= 0)
			continue;
		n = node_next(m, h, l);
		if (n != 0 && node_compare(node_at(m, n), t) < 0)
			continue; /* too far back: a higher level is faster */
		at = h;
		level = l;
		known = l + 1 > height ? l + 1 : height;
		/* the levels above that are needed, from the hint too */
		for (int u = l + 1; u < height; u++)
		{
			uint32_t from = hint->before[u] != 0 ? hint->before[u] : HEAD;

			if (from != HEAD && node_compare(node_at(m, from), t) >= 0)
				from = HEAD;
			before[u] = level_search(m, from, u, t, &after[u]);
		}
		break;
	}
	for (; level >= 0; level--)
		at = before[level] = level_search(m, at, level, t, &after[level]);
	return known;
}

void
memtable_note_ahead(memtable *t, int64_t ts)
{
	WIDEN(&t->ts_ahead, ts, >);
}

uint32_t
memtable_written(uint64_t at)
{
	return (uint32_t) ((at + links_size(height_at(at))) / 8);
}

void
memtable_link(memtable_handle *m, uint64_t at, memtable_hint *hint)
{
	uint32_t before[MEMTABLE_HEIGHT];
	uint32_t after[MEMTABLE_HEIGHT];
	uint32_t ref = memtable_written(at);
	const node *n = node_at(m, ref);
	int height = height_at(at);
	int known;
	target t;

	WIDEN(&m->t->height, (uint32_t) height, >);
	target_node(&t, n);
	known = find_splice(m, &t, height, hint, before, after);
	note_node(m->t, n);
	for (int level = 0; level < height; level++)
	{
		for (;;)
		{
			uint32_t next = after[level];

			/* an equal key (replay): the first stays */
			if (level == 0 && next != 0 && node_compare(node_at(m, next), &t) == 0)
				return;
			atomic_store_explicit(node_link(m, ref, level), next, memory_order_relaxed);
			if (atomic_compare_exchange_strong_explicit(node_link(m, before[level], level), &next,
														ref, memory_order_release,
														memory_order_relaxed))
				break;
			/* another inserter was faster; nodes stay, so before[level] is still before */
			before[level] = level_search(m, before[level], level, &t, &after[level]);
		}
	}
	atomic_fetch_add_explicit(&m->t->cells, 1, memory_order_relaxed);
	if ((uint8_t) n->tail != ENTRY_PUT)
		atomic_fetch_add_explicit(&m->t->tombstones, 1, memory_order_relaxed);
	if (hint != NULL)
		for (int level = 0; level < known; level++)
			hint->before[level] = level < height ? ref : before[level];
}

/* ------------------------------------------------------- several searches */

/* A search for a node's place that goes step by step. */
typedef struct path
{
	target t;
	uint32_t at;   /* before the target */
	uint32_t next; /* the node after it on the level, to be compared */
	uint32_t seen; /* a node that is known not to be before the target */
	int level;
	memtable_hint found; /* the result: the nodes before the target */
} path;

/* Goes down to the first level with a node to compare, and has it fetched into the processor's
 * cache.  Returns: false at the end of the search. */
static inline bool
path_look(const memtable_handle *m, path *p)
{
	for (; p->level >= 0; p->level--)
	{
		p->next = node_next(m, p->at, p->level);
		if (p->next != 0 && p->next != p->seen)
		{
			const uint8_t *n = (const uint8_t *) node_at(m, p->next);

			/* what is compared, and the links */
			__builtin_prefetch(n + offsetof(node, family));
			__builtin_prefetch(n - sizeof(uint32_t) * (p->level + 1));
			return true;
		}
		p->found.before[p->level] = p->at;
	}
	return false;
}

/* Makes a step of each search in turn, so that all wait for memory at the same time. */
static void
find_paths(const memtable_handle *m, path *paths, const uint32_t *refs, int n)
{
	path *busy[PATHS];
	int nbusy = 0;

	for (int i = 0; i < n; i++)
	{
		path *p = &paths[i];

		*p = (path) {.at = HEAD, .level = (int) atomic_load(&m->t->height) - 1};
		target_node(&p->t, node_at(m, refs[i]));
		if (path_look(m, p))
			busy[nbusy++] = p;
	}
	while (nbusy > 0)
	{
		int left = 0;

		for (int i = 0; i < nbusy; i++)
		{
			path *p = busy[i];

			if (node_compare(node_at(m, p->next), &p->t) < 0)
				p->at = p->next;
			else
			{
				p->seen = p->next;
				p->found.before[p->level--] = p->at;
			}
			if (path_look(m, p))
				busy[left++] = p;
		}
		nbusy = left;
	}
}

/* Returns true if the node's place is directly behind the hint's node. */
static bool
hint_is_near(const memtable_handle *m, const memtable_hint *hint, uint32_t ref)
{
	uint32_t h = hint->before[0], next;
	target t;

	target_node(&t, node_at(m, ref));
	if (h == 0 || (h != HEAD && node_compare(node_at(m, h), &t) >= 0))
		return false;
	next = node_next(m, h, 0);
	return next == 0 || node_compare(node_at(m, next), &t) >= 0;
}

static bool
same_row(const memtable_handle *m, uint32_t a, uint32_t b)
{
	const node *x = node_at(m, a), *y = node_at(m, b);

	return x->family == y->family && x->rowlen == y->rowlen &&
		   memcmp(x->key, y->key, x->rowlen) == 0;
}

void
memtable_link_all(memtable_handle *m, const uint64_t *at, int n, memtable_hint *hint)
{
	path paths[PATHS];
	uint32_t refs[PATHS];
	int begin = 0, end;

	/* sets the hint, which says whether the other rows come directly behind it */
	if (n > 0 && hint->before[0] == 0)
		memtable_link(m, at[begin++], hint);
	for (; begin < n; begin = end)
	{
		int rows = 0, row = 0;

		for (end = begin; end < n; end++)
		{
			uint32_t ref = memtable_written(at[end]);

			if (end > 0 && same_row(m, memtable_written(at[end - 1]), ref))
				continue;
			if (rows == PATHS)
				break;
			refs[rows++] = ref;
		}
		/* a single search has nothing to share the wait with */
		if (rows < 2 || hint_is_near(m, hint, refs[rows - 1]))
			rows = 0;
		find_paths(m, paths, refs, rows);
		for (int i = begin; i < end; i++)
		{
			if (row < rows && refs[row] == memtable_written(at[i]) &&
				!hint_is_near(m, hint, refs[row++]))
				*hint = paths[row - 1].found;
			memtable_link(m, at[i], hint);
		}
	}
}

/* ---------------------------------------------------------------- cursor */

void
memtable_cursor_open(memtable_cursor *c, const memtable_handle *m)
{
	memset(c, 0, sizeof(*c));
	c->m = *m;
}

/* memtable_cursor_at */
static inline void
cursor_at(memtable_cursor *c, uint32_t ref)
{
	const node *n;

	c->node = ref;
	if (ref == 0)
		return;
	n = node_at(&c->m, ref);
	c->family = n->family;
	c->e.ukey = n->key;
	c->e.klen = n->klen;
	c->e.rowlen = n->rowlen;
	c->e.ts = n->ts;
	c->e.seq = n->tail >> 8;
	c->e.type = (uint8_t) n->tail;
	c->e.vlen = n->vlen;
	c->e.ttl_us = n->ttl_us;
	c->e.value = n->key + n->klen;
}

void
memtable_first(memtable_cursor *c)
{
	cursor_at(c, node_next(&c->m, HEAD, 0));
}

void
memtable_seek(memtable_cursor *c, wide_family_id family, const uint8_t *ukey, uint32_t klen,
			  int64_t ts, uint64_t seq)
{
	target t;
	uint32_t next;

	target_set(&t, family, ukey, klen, ts, seq << 8 | 0xff);
	search(&c->m, &t, &next);
	cursor_at(c, next);
}

void
memtable_seek_before(memtable_cursor *c, wide_family_id family, const uint8_t *ukey, uint32_t klen)
{
	target t;
	uint32_t next;
	uint32_t at;

	/* the place before all entries of the ukey */
	target_set(&t, family, ukey, klen, INT64_MAX, UINT64_MAX);
	at = search(&c->m, &t, &next);
	cursor_at(c, at == HEAD ? 0 : at);
}

void
memtable_next(memtable_cursor *c)
{
	uint32_t next = node_next(&c->m, c->node, 0);

	if (next != 0)
		__builtin_prefetch(node_link(&c->m, next, 0));
	cursor_at(c, next);
}

void
memtable_cursor_at(memtable_cursor *c, uint32_t node)
{
	cursor_at(c, node);
}

uint64_t
memtable_node_end(const memtable_cursor *c)
{
	return (uint64_t) c->node * 8 + node_size(c->e.klen, c->e.vlen);
}

/*
 * Takes the nodes of the lowest level that has at most MEMTABLE_SAMPLE in the range.
 * A node is on the next level with a probability of 1/4.
 */
int
memtable_sample(const memtable_handle *m, wide_family_id family, const uint8_t *lo, uint32_t lolen,
				const uint8_t *hi, uint32_t hilen, uint32_t *nodes, double *each)
{
	uint32_t found[MEMTABLE_SAMPLE];
	int level = atomic_load_explicit(&m->t->height, memory_order_relaxed) - 1;
	uint32_t at = HEAD;
	int n = 0;
	target from, to;

	target_set(&from, family, lo, lolen, INT64_MAX, UINT64_MAX);
	if (hi != NULL)
		target_set(&to, family, hi, hilen, INT64_MAX, UINT64_MAX);
	else
		target_set(&to, family + 1, (const uint8_t *) "", 0, INT64_MAX, UINT64_MAX);
	*each = 1;
	for (; level >= 0; level--)
	{
		uint32_t next;
		int k = 0;

		at = level_search(m, at, level, &from, &next);
		for (; next != 0 && node_compare(node_at(m, next), &to) < 0;
			 next = node_next(m, next, level))
		{
			if (k == MEMTABLE_SAMPLE)
				return n;
			found[k++] = next;
		}
		memcpy(nodes, found, (size_t) k * sizeof *nodes);
		n = k;
		*each = (double) (1u << 2 * level);
	}
	return n;
}

/* ----------------------------------------------------------------- check */

/* Returns true if the reference is that of a node within the used memory. */
static bool
ref_valid(const memtable_handle *m, uint32_t ref)
{
	uint64_t off = (uint64_t) ref * 8;
	uint64_t used = atomic_load(&m->t->used);

	if (off <= HEAD_AT || off + sizeof(node) > used)
		return false;
	return (uint64_t) node_at(m, ref)->klen + node_at(m, ref)->vlen <= used - off - sizeof(node);
}

wide_status
memtable_check(memtable_handle *m)
{
	uint64_t cells = 0, tombstones = 0;
	uint32_t height = atomic_load(&m->t->height);

	if (height < 1 || height > MEMTABLE_HEIGHT || atomic_load(&m->t->used) > m->t->capacity)
		return status_fail(WIDE_CORRUPT, "memtable: height %u or use is impossible", height);
	for (int level = 0; level < (int) height; level++)
	{
		uint32_t below = HEAD;
		uint32_t last = HEAD;

		for (uint32_t ref = node_next(m, HEAD, level); ref != 0;
			 last = ref, ref = node_next(m, ref, level))
		{
			const node *n;

			if (!ref_valid(m, ref))
				return status_fail(WIDE_CORRUPT, "memtable: bad link %u on level %d", ref, level);
			n = node_at(m, ref);
			if (last != HEAD)
			{
				target t;

				target_set(&t, n->family, n->key, n->klen, n->ts, n->tail);
				if (node_compare(node_at(m, last), &t) >= 0)
					return status_fail(WIDE_CORRUPT, "memtable: wrong order at %u on level %d", ref,
									   level);
			}
			/* every node of this level is on the level below, too */
			while (level > 0 && below != 0 && below != ref)
				below = node_next(m, below, level - 1);
			if (below == 0)
				return status_fail(WIDE_CORRUPT, "memtable: %u is on level %d but not below", ref,
								   level);
			if (level == 0)
			{
				cells++;
				tombstones += (uint8_t) n->tail != ENTRY_PUT;
			}
		}
	}
	if (cells != atomic_load(&m->t->cells) || tombstones != atomic_load(&m->t->tombstones))
		return status_fail(WIDE_CORRUPT,
						   "memtable: %llu cells and %llu tombstones counted, %llu and %llu noted",
						   (unsigned long long) cells, (unsigned long long) tombstones,
						   (unsigned long long) atomic_load(&m->t->cells),
						   (unsigned long long) atomic_load(&m->t->tombstones));
	return WIDE_OK;
}

wide_status
memtable_switch(wide_db *db)
{
	commit_state *commit = &db->seg->commit;
	memtable *old = &db->seg->memtables[commit->active];

	for (uint32_t i = 0; i < WIDE_MEMTABLES; i++)
	{
		memtable *t = &db->seg->memtables[i];
		memtable_handle m;

		if (atomic_load(&t->state) != MEMTABLE_FREE)
			continue;
		memtable_at(db, i, &m);
		memtable_init(&m, t, m.base, t->capacity);
		TRY(segment_lock(db, LOCK_SET));
		t->number = ++commit->memtable_number;
		t->freed_version = 0;
		atomic_store(&t->files_version, 0);
		t->made_version = atomic_load(&db->seg->set.version) + 1;
		/* during replay the end of the log is ahead of what has been applied */
		t->start_lsn = log_is_replayed(db) ? commit->logged_seq : log_end(db);
		t->end_lsn = 0;
		old->end_lsn = t->start_lsn;
		atomic_store(&t->state, MEMTABLE_ACTIVE);
		commit->active = i;
		atomic_store(&commit->held_since, 0);
		atomic_store(&old->state, MEMTABLE_IMMUTABLE);
		atomic_fetch_add(&db->seg->set.version, 1);
		segment_unlock(db, LOCK_SET);
		segment_wake(db, &db->seg->set.work_word);
		host_wake_worker(db);
		return WIDE_OK;
	}
	return WIDE_FULL;
}

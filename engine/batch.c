/*
 * batch.c - the private, ordered set of changes of one transaction.
 *
 * Cells and deletes go into a skip list of the batch's own (mem.c) in reserved
 * address space, which costs memory only as far as it is touched and never
 * moves.  Operation n has the pseudo sequence number SEQ_OWN + n, above all
 * committed ones, so that merging the list on top of the store's own sources
 * gives what the transaction should see.
 *
 * Nothing is ever taken out of the list.  One byte for each operation tells
 * what it is and whether it was undone; a mark is an operation number, and
 * reading up to a mark is a comparison.
 *
 * Automatic timestamps.  A put with WIDE_TS_AUTO gets a provisional timestamp
 * for its place in the list; the real one comes at commit, as does the time of
 * a delete without a timestamp.  Of several to one
 * column only the last counts, for the batch's own reads (batch_shows) and at
 * commit (payload.c) alike.
 *
 * Locking: none; the batch belongs to one process.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include "batch.h"

#define ARENA_BYTES		((uint64_t) 8 << 30)
#define ARENA_LEAST		((uint64_t) 64 << 20)
#define ARENA_KEEP		((uint64_t) 1 << 20)	/* stays in memory for the next batch */
#define OPS_MAX			(SEQ_MAX - SEQ_OWN)

/* One arena is kept for the process's next batch: mapping and first touch cost more than a small transaction. */
static uint8_t *spare;
static uint64_t spare_bytes;

static wide_status
arena_take(wide_batch *b)
{
	uint64_t	bytes = ARENA_BYTES;
	void	   *p = MAP_FAILED;

	if (spare != NULL)
	{
		b->base = spare;
		b->capacity = spare_bytes;
		spare = NULL;
		return WIDE_OK;
	}
	for (; bytes >= ARENA_LEAST && p == MAP_FAILED; bytes /= 4)
	{
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p != MAP_FAILED)
			b->capacity = bytes;
	}
	if (p == MAP_FAILED)
		return wide_fail(WIDE_NOMEM, "no address space for a transaction's changes");
	b->base = p;
	return WIDE_OK;
}

static void
arena_give(wide_batch *b)
{
	uint64_t	used;

	if (b->base == NULL)
		return;
	used = atomic_load(&b->table.used);
	if (spare != NULL)
		munmap(b->base, b->capacity);
	else
	{
		if (used > ARENA_KEEP)
			madvise(b->base + ARENA_KEEP, b->capacity - ARENA_KEEP, MADV_DONTNEED);
		spare = b->base;
		spare_bytes = b->capacity;
	}
	b->base = NULL;
}

wide_status
wide_batch_new(wide_db *db, wide_batch **out)
{
	wide_batch *b;

	TRY(shm_check(db));
	b = calloc(1, sizeof(*b));
	if (b == NULL)
		return wide_fail(WIDE_NOMEM, "out of memory for a transaction");
	b->db = db;
	*out = b;
	return WIDE_OK;
}

void
batch_discard_files(wide_batch *b)
{
	if (b->nfiles == 0)
		return;
	set_unreserve(b->db, b->nfiles);
	load_discard(b->db, b->files, b->nfiles);
	free(b->files);
	b->files = NULL;
	b->nfiles = 0;
	/* their bytes in the log mean nothing to a recovery */
	if (b->external == 0)
		atomic_store(&b->db->slot->prepare_lsn, 0);
}

/* Give back what prepare has taken. */
static void
batch_unprepare(wide_batch *b)
{
	wide_db    *db = b->db;

	if (b->need > 0 && shm_lock(db, LOCK_COMMIT) == WIDE_OK)
	{
		db->seg->commit.reserved -= b->need;
		shm_unlock(db, LOCK_COMMIT);
		shm_wake(db, &db->seg->commit.space_word);
	}
	batch_discard_files(b);
	if (b->external != 0)
	{
		atomic_store(&db->slot->external, 0);
		atomic_store(&db->slot->prepare_lsn, 0);
		shm_wake(db, &db->slot->prepare_done);
	}
}

void
wide_batch_free(wide_batch *b)
{
	if (b == NULL)
		return;
	if (!b->finished)
		batch_unprepare(b);
	if (b->delta != NULL)
		catalog_delta_free(b->delta);
	arena_give(b);
	buffer_free(&b->key);
	buffer_free(&b->payload);
	free(b->files);
	free(b->floors);
	free(b->ops);
	free(b);
}

void
wide_batch_log_files(wide_batch *b, bool log)
{
	b->files_unlogged = !log;
}

/* ---------------------------------------------------------------- writing */

static wide_status
batch_grow(wide_batch *b)
{
	uint64_t	cap = b->ops_cap == 0 ? 256 : b->ops_cap * 2;
	uint8_t    *p;

	if (b->nops < b->ops_cap)
		return WIDE_OK;
	if (b->nops >= OPS_MAX)
		return wide_fail(WIDE_LIMIT, "too many operations in one transaction");
	p = realloc(b->ops, cap);
	if (p == NULL)
		return wide_fail(WIDE_NOMEM, "out of memory for a transaction");
	b->ops = p;
	b->ops_cap = cap;
	return WIDE_OK;
}

/* Have the list, perhaps empty. */
static wide_status
batch_list(wide_batch *b)
{
	if (b->base != NULL)
		return WIDE_OK;
	TRY(arena_take(b));
	mem_init(&b->m, &b->table, b->base, b->capacity);
	memset(&b->hint, 0, sizeof(b->hint));
	return WIDE_OK;
}

static wide_status
batch_open(wide_batch *b, wide_family_id family, wide_bytes row)
{
	TRY(shm_check(b->db));
	if (b->prepared)
		return wide_fail(WIDE_INVALID, "the transaction is being committed");
	if (family == 0)
		return wide_fail(WIDE_INVALID, "no family");
	if (row.len == 0 || row.len > WIDE_MAX_ROW)
		return wide_fail(WIDE_LIMIT, "a row key has 1 to %d bytes, not %zu", WIDE_MAX_ROW, row.len);
	TRY(batch_list(b));
	return batch_grow(b);
}

/* Put the entry, whose ukey is in b->key, into the list as the next operation. */
static wide_status
batch_insert(wide_batch *b, wide_family_id family, entry *e, enum batch_op kind)
{
	uint64_t	at = (atomic_load_explicit(&b->table.used, memory_order_relaxed) + 7) & ~(uint64_t) 7;
	size_t		bytes;

	e->ukey = b->key.data;
	e->klen = (uint32_t) b->key.len;
	e->rowlen = key_row_length(e->ukey, e->klen);
	e->seq = SEQ_OWN + b->nops;
	bytes = mem_node_bytes(e->klen, e->vlen);
	if (bytes > b->capacity - at)
		return wide_fail(WIDE_LIMIT, "the transaction's changes exceed %llu MB", (unsigned long long) (b->capacity >> 20));
	atomic_store_explicit(&b->table.used, at + mem_node_bytes_at(at, e->klen, e->vlen), memory_order_relaxed);
	mem_insert_hint(&b->m, at, family, e, &b->hint);
	b->ops[b->nops++] = (uint8_t) kind;
	b->live++;
	return WIDE_OK;
}

static wide_status
floor_note(wide_batch *b, int64_t ts)
{
	if (b->nfloors == b->floors_cap)
	{
		uint64_t	cap = b->floors_cap == 0 ? 64 : b->floors_cap * 2;
		batch_floor *p = realloc(b->floors, cap * sizeof(*p));

		if (p == NULL)
			return wide_fail(WIDE_NOMEM, "out of memory for a transaction");
		b->floors = p;
		b->floors_cap = cap;
	}
	b->floors[b->nfloors].op = b->nops;
	b->floors[b->nfloors++].ts = ts;
	return WIDE_OK;
}

int64_t
batch_floor_of(const wide_batch *b, uint64_t op)
{
	uint64_t	lo = 0, hi = b->nfloors;

	while (lo < hi)
	{
		uint64_t	mid = (lo + hi) / 2;

		if (b->floors[mid].op < op)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < b->nfloors && b->floors[lo].op == op ? b->floors[lo].ts : INT64_MIN;
}

/* The timestamp that an automatic cell would get if the batch was committed now. */
static int64_t
provisional_ts(const wide_batch *b, int64_t floor_ts)
{
	int64_t		last = __atomic_load_n(&b->db->seg->commit.last_ts, __ATOMIC_RELAXED), now = now_us(b->db);

	return payload_ts(now > last ? now : last + 1, floor_ts, NULL, 0);
}

wide_status
wide_batch_put(wide_batch *b, wide_family_id family, wide_bytes row, wide_bytes qualifier,
			   int64_t ts, int64_t floor_ts, int64_t ttl_us, wide_bytes value)
{
	entry		e = {.ts = ts, .type = ENTRY_PUT, .ttl_us = ttl_us > 0 ? ttl_us : 0,
	.value = value.data, .vlen = (uint32_t) value.len};

	TRY(batch_open(b, family, row));
	if (qualifier.len > WIDE_MAX_QUALIFIER)
		return wide_fail(WIDE_LIMIT, "a qualifier has at most %d bytes, not %zu", WIDE_MAX_QUALIFIER, qualifier.len);
	if (value.len > WIDE_MAX_VALUE)
		return wide_fail(WIDE_LIMIT, "a value has at most %u bytes, not %zu", WIDE_MAX_VALUE, value.len);
	TRY(key_make(&b->key, row, qualifier));
	if (ts != WIDE_TS_AUTO)
		return batch_insert(b, family, &e, OP_CELL);
	if (floor_ts >= INT64_MAX - 1)
		return wide_fail(WIDE_LIMIT, "timestamps are exhausted: the cell's newest version is at the end of time");
	e.ts = provisional_ts(b, floor_ts);
	if (floor_ts != INT64_MIN)
		TRY(floor_note(b, floor_ts));
	return batch_insert(b, family, &e, OP_CELL_AUTO);
}

wide_status
wide_batch_delete(wide_batch *b, wide_delete kind, wide_family_id family,
				  wide_bytes row, wide_bytes qualifier, int64_t ts)
{
	entry		e = {.ts = ts, .type = (uint8_t) (ENTRY_DELETE_VERSION + kind)};

	if (kind > WIDE_DELETE_FAMILY_VERSION || ts == WIDE_TS_AUTO)
		return wide_fail(WIDE_INVALID, "not a delete");
	TRY(batch_open(b, family, row));
	if (entry_is_untimed(&e))
		e.ttl_us = provisional_ts(b, INT64_MIN);
	if (entry_is_family_delete(&e))
		TRY(key_make_family(&b->key, row));
	else if (qualifier.len > WIDE_MAX_QUALIFIER)
		return wide_fail(WIDE_LIMIT, "a qualifier has at most %d bytes, not %zu", WIDE_MAX_QUALIFIER, qualifier.len);
	else
		TRY(key_make(&b->key, row, qualifier));
	return batch_insert(b, family, &e, OP_CELL);
}

/* ------------------------------------------------------------------ marks */

uint64_t
wide_batch_mark(const wide_batch *b)
{
	return b->nops;
}

void
wide_batch_rewind(wide_batch *b, uint64_t mark)
{
	for (uint64_t i = mark; i < b->nops; i++)
	{
		b->live -= b->ops[i] == OP_CELL || b->ops[i] == OP_CELL_AUTO;
		b->ops[i] = OP_UNDONE;
	}
	if (b->delta != NULL)
		catalog_delta_rewind(b->delta, mark);
}

bool
wide_batch_empty(const wide_batch *b)
{
	return b->live == 0 && (b->delta == NULL || catalog_delta_empty(b->delta));
}

size_t
wide_batch_bytes(const wide_batch *b)
{
	size_t		n = sizeof(*b) + b->ops_cap + b->floors_cap * sizeof(batch_floor) + b->payload.cap + b->key.cap;

	return b->base == NULL ? n : n + atomic_load_explicit(&((wide_batch *) b)->table.used, memory_order_relaxed);
}

/* ---------------------------------------------------------------- catalog */

wide_db *
batch_db(wide_batch *b)
{
	return b->db;
}

catalog_delta *
batch_catalog(wide_batch *b)
{
	if (b->delta == NULL)
		b->delta = catalog_delta_new(b->db);
	return b->delta;
}

uint64_t
batch_next_op(wide_batch *b)
{
	/* out of memory for one byte: share the number of the operation before */
	if (batch_grow(b) != WIDE_OK)
		return b->nops > 0 ? b->nops - 1 : 0;
	b->ops[b->nops] = OP_CHANGE;
	return b->nops++;
}

/* ---------------------------------------------------------------- reading */

/* Of the entries that begin with b->key, or (exact) have it; false: fn has had enough. */
static bool
each_of_key(wide_batch *b, wide_family_id family, bool exact, uint64_t since,
			bool (*fn) (void *arg, uint64_t position), void *arg)
{
	uint32_t	len = (uint32_t) b->key.len;
	mem_cursor	c;

	mem_cursor_open(&c, &b->m);
	for (mem_seek(&c, family, b->key.data, len, INT64_MAX, SEQ_MAX); mem_valid(&c); mem_next(&c))
	{
		uint64_t	op = c.e.seq - SEQ_OWN;

		if (c.family != family || c.e.klen < len || memcmp(c.e.ukey, b->key.data, len) != 0 || (exact && c.e.klen != len))
			break;
		if (op >= since && b->ops[op] != OP_UNDONE && !fn(arg, op))
			return false;
	}
	return true;
}

wide_status
wide_batch_each(wide_batch *b, wide_family_id family, wide_bytes row, const wide_bytes *column,
				uint64_t since, bool (*fn) (void *arg, uint64_t position), void *arg)
{
	if (b->base == NULL || since >= b->nops)
		return WIDE_OK;
	if (column == NULL)
	{
		TRY(key_make_row(&b->key, row));
		(void) each_of_key(b, family, false, since, fn, arg);
		return WIDE_OK;
	}
	TRY(key_make_family(&b->key, row));
	if (!each_of_key(b, family, true, since, fn, arg))
		return WIDE_OK;
	TRY(key_make(&b->key, row, *column));
	(void) each_of_key(b, family, true, since, fn, arg);
	return WIDE_OK;
}

wide_status
source_batch(wide_batch *b, wide_family_id family, uint64_t mark, source **out)
{
	source	   *s;

	TRY(batch_list(b));
	TRY(source_mem(b->db, &b->m, family, &s));
	s->kind = SOURCE_BATCH;
	s->batch = b;
	s->mark = mark;
	*out = s;
	return WIDE_OK;
}

/* The newest automatic put to the column that the source may see. */
static uint64_t
newest_auto(source *s)
{
	const entry *e = &s->mem.e;
	mem_cursor	c;
	uint64_t	newest = 0;

	mem_cursor_open(&c, &s->batch->m);
	for (mem_seek(&c, s->family, e->ukey, e->klen, INT64_MAX, SEQ_MAX); mem_valid(&c); mem_next(&c))
	{
		uint64_t	op = c.e.seq - SEQ_OWN;

		if (c.family != s->family || ukey_compare(c.e.ukey, c.e.klen, e->ukey, e->klen) != 0)
			break;
		if (op < s->mark && s->batch->ops[op] == OP_CELL_AUTO && op >= newest)
			newest = op;
	}
	return newest;
}

bool
batch_shows(source *s)
{
	const entry *e = &s->mem.e;
	uint64_t	op = e->seq - SEQ_OWN;

	if (op >= s->mark || s->batch->ops[op] == OP_UNDONE)
		return false;
	if (s->batch->ops[op] != OP_CELL_AUTO)
		return true;
	if (s->auto_ukey == NULL || ukey_compare(s->auto_ukey, s->auto_klen, e->ukey, e->klen) != 0)
	{
		s->auto_op = newest_auto(s);
		s->auto_ukey = e->ukey;
		s->auto_klen = e->klen;
	}
	return op == s->auto_op;
}

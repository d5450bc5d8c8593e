/*
 * batch.c - the private, ordered set of changes of one transaction.
 *
 * Puts and deletes are operations, numbered as they come.  They are gathered in a
 * list in memory (op_list.c); what exceeds the memory of the batch is sorted into
 * temporary files (spill.c, spill_file.c).  Operation n has a pseudo sequence number
 * above all committed ones (op.h), so merging list and files with the store's own
 * sources gives what the transaction should see.
 *
 * Marks.  A mark is an operation number; reading up to a mark is a comparison.  A
 * rewind leaves operations where they are and enters their numbers into ops.undone;
 * readers pass over them.  Spilling leaves them out.
 *
 * Automatic timestamps.  A put with WIDE_TS_AUTO gets a provisional timestamp, which
 * gives it its place in the order.  The commit assigns the real one, as it does the
 * time of a delete without a timestamp.  Of several automatic puts to one column only
 * the last counts, in the batch's own reads and at the commit (normalise.c).
 *
 * Reading.  While nothing is spilled, a source reads the list like a memtable and
 * leaves out what does not count.  Otherwise it merges list and files column by
 * column.  See batch_source.c.
 *
 * Locking: none; a batch belongs to one process.  Giving back what prepare has
 * reserved takes LOCK_COMMIT.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/batch/batch.h"
#include "engine/batch/batch_state.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/catalog_delta.h"
#include "engine/set/file_set.h"
#include "engine/set/memtable.h"
#include "engine/read/fold.h"
#include "engine/batch/bulk.h"
#include "engine/batch/normalise.h"
#include "engine/batch/op.h"
#include "engine/batch/op_list.h"
#include "engine/batch/op_merge.h"
#include "engine/batch/spill.h"
#include "engine/batch/spill_file.h"

/* Larger buffers and arrays than these are not recycled. */
#define RECYCLE_BYTES  ((size_t) 64 * 1024)
#define RECYCLE_UNDONE 256

#define LOG_OVERHEAD 4 /* bytes of a cell in the payload beside key and value, about */
#define BATCH_MEMORY ((size_t) 64 << 20) /* until wide_batch_command says otherwise */

typedef struct batch_memory
{
	buffer key, row, payload;
	op_undone undone;
} batch_memory;

/* Memory of a freed batch for the process's next one.  One for each thread, because threads of
 * tests stand for processes. */
static _Thread_local batch_memory recycled;

wide_status
wide_batch_new(wide_db *db, wide_batch **out)
{
	wide_batch *b;

	TRY(segment_check(db));
	b = pool_alloc(sizeof(*b));
	if (b == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	b->db = db;
	spill_set_memory(b, BATCH_MEMORY);
	b->ops.oldest = UINT64_MAX;
	b->ops.provisional = INT64_MIN;
	b->ops.ts_min = INT64_MAX;
	b->ops.ts_max = INT64_MIN;
	b->row.ukey = recycled.key;
	b->row.row = recycled.row;
	b->prepared.payload = recycled.payload;
	b->ops.undone = recycled.undone;
	memset(&recycled, 0, sizeof(recycled));
	*out = b;
	return WIDE_OK;
}

static void
buffer_recycle(buffer *b, buffer *to)
{
	if (POOL_OFF || to->data != NULL || b->cap > RECYCLE_BYTES)
		buffer_free(b);
	else
	{
		*to = *b;
		to->len = 0;
	}
}

void
batch_discard_files(wide_batch *b)
{
	if (b->prepared.nfiles == 0)
		return;
	file_set_unreserve(b->db, b->prepared.nfiles);
	if (!b->files_unlogged)
		bulk_give_up(b->db, b->prepared.files, b->prepared.nfiles);
	bulk_discard(b->db, b->prepared.files, b->prepared.nfiles);
	free(b->prepared.files);
	b->prepared.files = NULL;
	b->prepared.nfiles = 0;
	/* recovery does not need their contents in the log */
	if (b->external.id == 0)
		atomic_store(&b->db->slot->prepare_lsn, 0);
}

/* Gives back what prepare has reserved and written. */
static void
batch_unprepare(wide_batch *b)
{
	wide_db *db = b->db;

	if (b->prepared.need > 0 && segment_lock(db, LOCK_COMMIT) == WIDE_OK)
	{
		db->seg->commit.reserved -= b->prepared.need;
		segment_unlock(db, LOCK_COMMIT);
		segment_wake(db, &db->seg->commit.space_word);
	}
	batch_discard_files(b);
	if (b->external.id != 0)
	{
		atomic_store(&db->slot->external, 0);
		atomic_store(&db->slot->prepare_lsn, 0);
		segment_wake(db, &db->slot->prepare_done);
	}
}

void
wide_batch_free(wide_batch *b)
{
	if (b == NULL)
		return;
	if (b->phase != BATCH_FINISHED)
		batch_unprepare(b);
	catalog_delta_free(b->delta);
	spill_cancel(b);
	op_list_retire(b->ops.list);
	for (int i = 0; i < b->spill.nfiles; i++)
		spill_file_unref(b->spill.files[i].file);
	free(b->spill.files);
	buffer_recycle(&b->row.ukey, &recycled.key);
	buffer_recycle(&b->row.row, &recycled.row);
	buffer_recycle(&b->prepared.payload, &recycled.payload);
	free(b->prepared.files);
	free(b->prepared.avoid.ts);
	if (POOL_OFF || recycled.undone.intervals != NULL || b->ops.undone.cap > RECYCLE_UNDONE)
		free(b->ops.undone.intervals);
	else
	{
		recycled.undone = b->ops.undone;
		recycled.undone.n = 0;
	}
	pool_free(b, sizeof(*b));
}

void
wide_batch_log_files(wide_batch *b, bool log)
{
	b->files_unlogged = !log;
}

void
wide_batch_mark_awaited(wide_batch *b)
{
	b->awaited = true;
}

void
wide_batch_note_decided(wide_batch *b, uint64_t lsn)
{
	b->external.decided = lsn;
}

void
wide_batch_command(wide_batch *b, size_t bytes)
{
	spill_set_memory(b, bytes);
	b->row.ts = INT64_MIN;
}

/* ---------------------------------------------------------------- writing */

/* Checks that a put or delete is possible.  Its undoing cannot fail for lack of memory. */
static wide_status
batch_open(wide_batch *b, wide_family_id family, wide_bytes row)
{
	TRY(segment_check(b->db));
	if (b->phase != BATCH_OPEN)
		return status_fail(WIDE_INVALID, "the transaction is being committed");
	if (family == 0)
		return status_fail(WIDE_INVALID, "no family");
	if (row.len == 0 || row.len > WIDE_MAX_ROW)
		return status_fail(WIDE_LIMIT, "a row key has 1 to %d bytes, not %zu", WIDE_MAX_ROW,
						   row.len);
	if (b->ops.next >= OP_NUMBER_MAX)
		return status_fail(WIDE_LIMIT, "too many operations in one transaction");
	return op_undone_reserve(&b->ops.undone);
}

/* Makes the ukey in b->row.ukey.  The cells of a row usually follow each other, so the part for the
 * row is made once. */
static wide_status
batch_key(wide_batch *b, wide_bytes row, wide_bytes qualifier, bool family_wide)
{
	batch_row *r = &b->row;
	buffer *key = &r->ukey;

	if (r->rowlen == 0 || row.len != r->row.len || memcmp(row.data, r->row.data, row.len) != 0)
	{
		r->rowlen = 0;
		TRY(buffer_set(&r->row, row.data, row.len));
		TRY(key_make_row(key, row));
		r->rowlen = (uint32_t) key->len;
		r->ts = INT64_MIN;
		r->family = 0;
	}
	key->len = r->rowlen;
	if (family_wide)
		return buffer_append(key, "\0\0", 2);
	TRY(buffer_reserve(key, KEY_ROW_MAX(qualifier.len)));
	key->len = (size_t) (key_put_part(key->data + key->len, qualifier.data, qualifier.len) -
						 key->data);
	return WIDE_OK;
}

/* Remembers that the family was written to, up to BATCH_FAMILIES families. */
static void
note_family(wide_batch *b, wide_family_id family)
{
	for (int i = 0; i < b->ops.nfamilies; i++)
		if (b->ops.families[i] == family)
			return;
	if (b->ops.nfamilies < BATCH_FAMILIES)
		b->ops.families[b->ops.nfamilies++] = family;
}

/* Writes the entry at the end of the list, with the floor before its value. */
static void
write_with_floor(op_list *l, wide_family_id family, entry *e, int64_t floor_ts)
{
	const uint8_t *value = e->value;
	memtable_cursor c;

	memtable_cursor_open(&c, &l->m);
	e->value = NULL;
	memtable_cursor_at(&c, memtable_write(&l->m, l->end, family, e));
	put_u64le((uint8_t *) c.e.value, (uint64_t) floor_ts);
	if (e->vlen > 8)
		memcpy((uint8_t *) c.e.value + 8, value, e->vlen - 8);
}

/* Makes room for a node of that many bytes at the end of the list; makes a list if there is none.
 */
static wide_status
batch_room(wide_batch *b, size_t bytes)
{
	op_list *l = b->ops.list;

	if (l != NULL && l->nodes > 0 &&
		(l->end + bytes + op_sort_bytes(l->nodes + 1, l->rows + 1) > b->spill.limit ||
		 bytes > l->capacity - l->end))
	{
		TRY(spill_batch(b));
		l = b->ops.list;
	}
	if (l == NULL)
	{
		TRY(op_list_new(b->spill.limit, bytes, &b->ops.list));
		l = b->ops.list;
	}
	/* an empty list that was kept may be too small */
	if (bytes > l->capacity - l->end && l->nodes == 0)
	{
		op_list_retire(l);
		b->ops.list = NULL;
		TRY(op_list_new(b->spill.limit, bytes, &b->ops.list));
		l = b->ops.list;
	}
	if (bytes > l->capacity - l->end)
		return status_fail(WIDE_LIMIT, "a change of %zu bytes has no room", bytes);
	return l->end + bytes > l->writable ? op_list_grow(l, l->end + bytes) : WIDE_OK;
}

/* Adds the entry, whose ukey is in b->row.ukey, as the next operation; floor_ts INT64_MIN: none. */
static wide_status
batch_insert(wide_batch *b, wide_family_id family, entry *e, unsigned flags, int64_t floor_ts)
{
	op_list *l;
	size_t bytes;
	uint64_t end;

	e->ukey = b->row.ukey.data;
	e->klen = (uint32_t) b->row.ukey.len;
	e->rowlen = b->row.rowlen;
	if (floor_ts != INT64_MIN)
	{
		flags |= OP_FLOOR;
		e->vlen += 8;
	}
	if (e->type == ENTRY_PUT && e->ts < b->ops.ts_min)
		b->ops.ts_min = e->ts;
	if (e->type == ENTRY_PUT && e->ts > b->ops.ts_max)
		b->ops.ts_max = e->ts;
	e->seq = op_seq(b->ops.next, flags);
	bytes = memtable_node_bytes(e->klen, e->vlen);
	TRY(batch_room(b, bytes));
	l = b->ops.list;
	end = l->end + memtable_node_bytes_at(l->end, e->klen, e->vlen);
	if (floor_ts == INT64_MIN)
		memtable_write(&l->m, l->end, family, e);
	else
		write_with_floor(l, family, e, floor_ts);
	if (l->nodes == 0 || b->row.family != family)
	{
		b->row.family = family;
		b->ops.log_bytes += e->rowlen;
		l->rows++;
	}
	if (l->linked == l->end)
		l->linked_op = b->ops.next;
	if (l->nodes++ == 0)
		l->first_op = b->ops.next;
	l->end = end;
	atomic_store_explicit(&l->table.used, l->end, memory_order_relaxed);
	if (b->ops.nfamilies == 0 || b->ops.families[b->ops.nfamilies - 1] != family)
		note_family(b, family);
	if (b->ops.oldest == UINT64_MAX)
		b->ops.oldest = b->ops.next;
	b->ops.log_bytes += LOG_OVERHEAD + (e->klen - e->rowlen) + e->vlen;
	b->ops.next++;
	return WIDE_OK;
}

uint64_t
wide_batch_log_bytes(const wide_batch *b)
{
	return b->ops.log_bytes;
}

/*
 * Returns the timestamp that an automatic cell would get if the batch were committed now, or an
 * earlier one's if the clock has gone back.  Cells that one command writes to a row share it.
 */
static int64_t
provisional_ts(wide_batch *b, int64_t floor_ts)
{
	if (b->row.ts == INT64_MIN)
	{
		int64_t last = __atomic_load_n(&b->db->seg->commit.last_ts, __ATOMIC_RELAXED),
				now = host_now(b->db);

		b->row.ts = now > last ? now : last + 1;
		if (b->row.ts < b->ops.provisional)
			b->row.ts = b->ops.provisional;
		b->ops.provisional = b->row.ts;
	}
	return normalise_ts(b->row.ts, floor_ts, NULL, 0);
}

/* The operator never changes, and ids are not used again: what was looked up once holds for the
 * process. */
wide_status
wide_batch_merge_of(wide_batch *b, wide_family_id family, uint8_t *merge)
{
	wide_family f;
	family_merge *known = &b->db->merges[family % MERGES_KNOWN];
	wide_status st;

	if (known->family == family)
	{
		*merge = known->merge;
		return WIDE_OK;
	}
	*merge = WIDE_MERGE_NONE;
	st = batch_family(b, family, &f);
	/* a family that is dropped */
	if (st == WIDE_NOTFOUND)
		return WIDE_OK;
	TRY(st);
	*merge = f.opt.merge;
	*known = (family_merge) {family, *merge};
	return WIDE_OK;
}

/* Checks that a put can be an operand: see wide_batch_put. */
static wide_status
check_operand(uint8_t merge, wide_bytes qualifier, int64_t ttl_us, wide_bytes value)
{
	if (ttl_us > 0)
		return status_fail(WIDE_INVALID, "an operand of a family with a merge operator has no time "
										 "to live of its own");
	if (!fold_valid(merge, value.data, value.len) ||
		(value.len == 0 && qualifier.len > 0 && merge != WIDE_MERGE_APPEND))
		return status_fail(WIDE_INVALID,
						   "%zu bytes are no operand of a family with a merge operator", value.len);
	return WIDE_OK;
}

wide_status
wide_batch_put(wide_batch *b, wide_family_id family, wide_bytes row, wide_bytes qualifier,
			   int64_t ts, int64_t floor_ts, int64_t ttl_us, wide_bytes value)
{
	entry e = {.ts = ts,
			   .type = ENTRY_PUT,
			   .ttl_us = ttl_us > 0 ? ttl_us : 0,
			   .value = value.data,
			   .vlen = (uint32_t) value.len};
	uint8_t merge;
	unsigned flags;

	TRY(batch_open(b, family, row));
	if (qualifier.len > WIDE_MAX_QUALIFIER)
		return status_fail(WIDE_LIMIT, "a qualifier has at most %d bytes, not %zu",
						   WIDE_MAX_QUALIFIER, qualifier.len);
	if (value.len > WIDE_MAX_VALUE)
		return status_fail(WIDE_LIMIT, "a value has at most %u bytes, not %zu", WIDE_MAX_VALUE,
						   value.len);
	TRY(wide_batch_merge_of(b, family, &merge));
	if (merge != WIDE_MERGE_NONE)
		TRY(check_operand(merge, qualifier, ttl_us, value));
	flags = (unsigned) merge << OP_MERGE_SHIFT;
	TRY(batch_key(b, row, qualifier, false));
	if (ts != WIDE_TS_AUTO)
		return batch_insert(b, family, &e, flags, INT64_MIN);
	if (floor_ts >= INT64_MAX - 1)
	{
		/* nothing is above the end of time: of two puts with the same timestamp the later one
		 * counts */
		e.ts = floor_ts;
		return batch_insert(b, family, &e, flags, INT64_MIN);
	}
	e.ts = provisional_ts(b, floor_ts);
	return batch_insert(b, family, &e, flags | OP_AUTO, floor_ts);
}

wide_status
wide_batch_delete(wide_batch *b, wide_delete kind, wide_family_id family, wide_bytes row,
				  wide_bytes qualifier, int64_t ts)
{
	entry e = {.ts = ts, .type = (uint8_t) (ENTRY_DELETE_VERSION + kind)};
	uint8_t merge;

	if (kind > WIDE_DELETE_FAMILY_VERSION || ts == WIDE_TS_AUTO)
		return status_fail(WIDE_INVALID, "not a delete");
	TRY(batch_open(b, family, row));
	if (!entry_is_family_delete(&e) && qualifier.len > WIDE_MAX_QUALIFIER)
		return status_fail(WIDE_LIMIT, "a qualifier has at most %d bytes, not %zu",
						   WIDE_MAX_QUALIFIER, qualifier.len);
	TRY(wide_batch_merge_of(b, family, &merge));
	/* a compaction may have folded what this delete would tell apart */
	if (merge != WIDE_MERGE_NONE && (!entry_is_untimed(&e) || kind == WIDE_DELETE_VERSION ||
									 kind == WIDE_DELETE_FAMILY_VERSION))
		return status_fail(WIDE_INVALID, "a column of a family with a merge operator is deleted "
										 "with all that was added to it");
	TRY(batch_key(b, row, qualifier, entry_is_family_delete(&e)));
	if (entry_is_untimed(&e))
		e.ttl_us = provisional_ts(b, INT64_MIN);
	return batch_insert(b, family, &e, 0, INT64_MIN);
}

/* ------------------------------------------------------------------ marks */

uint64_t
wide_batch_mark(const wide_batch *b)
{
	return b->ops.next;
}

void
wide_batch_rewind(wide_batch *b, uint64_t mark)
{
	op_list *l = b->ops.list;

	if (b->delta != NULL)
		catalog_delta_rewind(b->delta, mark);
	if (mark >= b->ops.next)
		return;
	spill_wait(b);
	if (b->ops.oldest >= mark)
		b->ops.oldest = UINT64_MAX;
	op_undone_forget(&b->ops.undone, mark);
	spill_drop_files(b, mark);
	if (l != NULL && l->users == 0 && l->first_op >= mark)
	{
		op_list_reset(l);
		/* no undone operation is left anywhere */
		if (b->spill.jobs == NULL &&
			(b->spill.nfiles == 0 || b->spill.files[b->spill.nfiles - 1].to <= mark))
			return;
	}
	op_undone_add(&b->ops.undone, mark, b->ops.next);
}

bool
wide_batch_empty(const wide_batch *b)
{
	return b->ops.oldest == UINT64_MAX && !batch_changes_catalog(b);
}

/* ---------------------------------------------------------------- catalog */

catalog_delta *
batch_catalog(wide_batch *b)
{
	if (b->delta == NULL)
		b->delta = catalog_delta_new(b->db);
	return b->delta;
}

bool
batch_changes_catalog(const wide_batch *b)
{
	return b->delta != NULL && b->delta->n > 0;
}

wide_status
batch_family(wide_batch *b, wide_family_id id, wide_family *f)
{
	bool found;

	TRY(segment_lock(b->db, LOCK_CATALOG));
	found = catalog_delta_family(b->db, b->delta, id, f);
	segment_unlock(b->db, LOCK_CATALOG);
	return found ? WIDE_OK : status_fail(WIDE_NOTFOUND, "family %u does not exist", id);
}

uint64_t
batch_next_op(wide_batch *b)
{
	/* without memory to undo it alone, it shares the number of the operation before */
	if (op_undone_reserve(&b->ops.undone) != WIDE_OK)
		return b->ops.next > 0 ? b->ops.next - 1 : 0;
	return b->ops.next++;
}

/* ---------------------------------------------------------------- reading */

/* Calls fn for the live operations from `since` on whose ukey begins with the key, or (exact) is
 * the key.  Returns: WIDE_END if fn returned false. */
static wide_status
each_of_key(wide_batch *b, wide_family_id family, const buffer *key, bool exact, uint64_t since,
			bool (*fn)(void *arg, uint64_t position), void *arg)
{
	uint32_t len = (uint32_t) key->len;
	op_merge m;
	const op_stream *s;
	wide_status st;

	TRY(spill_before_read(b));
	TRY_GOTO(op_merge_open(b, NULL, UINT64_MAX, &m));
	TRY_GOTO(op_merge_seek(&m, family, key->data, len, key->data, key_row_length(key->data, len)));
	while ((s = op_merge_top(&m)) != NULL && s->family == family && s->e.klen >= len &&
		   memcmp(s->e.ukey, key->data, len) == 0 && (!exact || s->e.klen == len))
	{
		uint64_t op = op_number(s->e.seq);

		if (op >= since && !op_undone_has(&b->ops.undone, op) && !fn(arg, op))
		{
			st = WIDE_END;
			break;
		}
		TRY_GOTO(op_merge_next(&m));
	}
done:
	op_merge_close(&m);
	return st;
}

wide_status
wide_batch_each(wide_batch *b, wide_family_id family, wide_bytes row, const wide_bytes *column,
				uint64_t since, bool (*fn)(void *arg, uint64_t position), void *arg)
{
	buffer key = {0};
	wide_status st;

	if (since >= b->ops.next)
		return WIDE_OK;
	if (column == NULL)
	{
		TRY_GOTO(key_make_row(&key, row));
		TRY_GOTO(each_of_key(b, family, &key, false, since, fn, arg));
	}
	else
	{
		TRY_GOTO(key_make_family(&key, row));
		TRY_GOTO(each_of_key(b, family, &key, true, since, fn, arg));
		TRY_GOTO(key_make(&key, row, *column));
		TRY_GOTO(each_of_key(b, family, &key, true, since, fn, arg));
	}
done:
	buffer_free(&key);
	return st == WIDE_END ? WIDE_OK : st;
}

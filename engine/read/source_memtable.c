/*
 * source_memtable.c - a memtable as a source of entries.
 *
 * The source passes over two kinds of entries that its user does not need: with
 * limits->pass_old those older than ts_min (source_file.c says why this is safe),
 * and long sequences of versions that are newer than the user's snapshot.
 *
 * Locking: none.  A pin of the source's maker keeps the memtable in place.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "engine/read/source_memtable.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/set/memtable.h"
#include "engine/read/source.h"

#define OLD_STEPS	 64 /* entries between two checks for the end of the range */
#define UNSEEN_STEPS 16 /* invisible entries after which a seek is cheaper */

typedef struct memtable_source
{
	source s; /* first */
	memtable_cursor cursor;
	uint32_t unseen; /* entries in sequence that the snapshot does not see */
} memtable_source;

/* Sets s.e after a move, to the first entry that is new enough.  May return WIDE_INTERRUPTED. */
static wide_status
set_current(memtable_source *m)
{
	source *s = &m->s;
	const source_limits *l = s->limits;

	if (l->pass_old)
		for (uint32_t n = 1; memtable_valid(&m->cursor) && m->cursor.family == s->family &&
							 m->cursor.e.ts < l->ts_min;
			 n++)
		{
			if (n % OLD_STEPS == 0)
			{
				if (l->hi != NULL &&
					ukey_compare(m->cursor.e.ukey, m->cursor.e.klen, l->hi, l->hilen) >= 0)
					break;
				if (host_interrupted(s->db))
					return status_fail(WIDE_INTERRUPTED, "interrupted");
			}
			memtable_next(&m->cursor);
		}
	s->e = memtable_valid(&m->cursor) && m->cursor.family == s->family ? &m->cursor.e : NULL;
	return WIDE_OK;
}

/*
 * Moves to the next entry.  A counter under an old snapshot has many versions that
 * the snapshot does not see, the newest first.  After UNSEEN_STEPS of them this
 * seeks to the first entry of the column that is not newer than the newest commit
 * timestamp that the snapshot sees (seen_ts): an entry with a newer timestamp has
 * a newer commit too, unless its timestamp was ahead of its commit.  If the
 * memtable has such an entry above seen_ts (ts_ahead), there is no short cut.
 */
static void
next_seen(memtable_source *m)
{
	source *s = &m->s;
	const source_limits *l = s->limits;
	const entry *e = &m->cursor.e;

	if (l->seen_seq == 0 || e->seq <= l->seen_seq)
		m->unseen = 0;
	else if (++m->unseen >= UNSEEN_STEPS && e->ts > l->seen_ts && e->ts != WIDE_TS_MAX &&
			 atomic_load_explicit(&m->cursor.m.t->ts_ahead, memory_order_acquire) <= l->seen_ts)
	{
		m->unseen = 0;
		memtable_seek(&m->cursor, s->family, e->ukey, e->klen, l->seen_ts, SEQ_MAX);
		return;
	}
	memtable_next(&m->cursor);
}

static wide_status
seek(source *s, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	memtable_source *m = (memtable_source *) s;

	memtable_seek(&m->cursor, s->family, ukey, klen, ts, seq);
	return set_current(m);
}

static wide_status
next(source *s)
{
	memtable_source *m = (memtable_source *) s;

	next_seen(m);
	return set_current(m);
}

static wide_status
row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row)
{
	memtable_source *m = (memtable_source *) s;

	memtable_seek_before(&m->cursor, s->family, ukey, klen);
	if (!memtable_valid(&m->cursor) || m->cursor.family != s->family)
		return WIDE_END;
	return buffer_append(row, m->cursor.e.ukey, m->cursor.e.rowlen);
}

static void
free_source(source *s)
{
	pool_free(s, sizeof(memtable_source));
}

static const source_ops memtable_ops = {
	.seek = seek, .next = next, .row_before = row_before, .free = free_source};

wide_status
source_memtable_new(wide_db *db, const memtable_handle *m, wide_family_id family, source **out)
{
	memtable_source *ms = pool_alloc(sizeof(*ms));

	if (ms == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a scan");
	ms->s.ops = &memtable_ops;
	ms->s.db = db;
	ms->s.family = family;
	memtable_cursor_open(&ms->cursor, m);
	*out = &ms->s;
	return WIDE_OK;
}

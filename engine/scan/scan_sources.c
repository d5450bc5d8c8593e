/*
 * scan_sources.c - the sources that a scan reads, and the pin that keeps them in place.
 *
 * A family's merge has the transaction's batch, the pinned memtables, each file of level 0, and
 * each other level as one source.  A source is left out if everything in it is newer than the
 * snapshot or older than the limit of time; then a reader with a later snapshot may need more
 * sources (scan_sources.incomplete).
 *
 * Locking: none; the pin protects what is read.  Bounds in memtables are atomic and only widen.
 */
#include <stdatomic.h>
#include "engine/scan/scan_sources.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/set/memtable.h"
#include "engine/set/pin.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/read/source_file.h"
#include "engine/read/source_memtable.h"
#include "engine/batch/batch.h"
#include "engine/batch/batch_source.h"
#include "engine/scan/scan_state.h"

static wide_status
add_mem(wide_db *db, merge *m, const memtable_handle *mm, wide_family_id id)
{
	source *src;

	TRY(source_memtable_new(db, mm, id, &src));
	return merge_add(m, src);
}

static wide_status
add_files(wide_db *db, merge *m, const file_meta *files, int n)
{
	source *src;

	TRY(source_file_new(db, files, n, 0, &src));
	return merge_add(m, src);
}

wide_status
scan_sources_merge(wide_db *db, const version_pin *pin, wide_family_id id, uint64_t seq,
				   int64_t ts_min, wide_batch *batch, uint64_t mark, merge **out,
				   source **batch_source, bool *incomplete)
{
	family_files files;
	source *own = NULL;
	merge *m;
	wide_status st;

	TRY(merge_new(db, &m));
	if (batch != NULL)
	{
		TRY_GOTO(batch_source_new(batch, id, mark, &own));
		TRY_GOTO(merge_add(m, own));
	}
	for (int i = 0; i < pin->nmemtables; i++)
	{
		memtable_handle mm;

		memtable_at(db, pin->memtables[i], &mm);
		/*
		 * What is inserted from now on is newer than the snapshot.  The bounds are those of all
		 * families together; they are widened before an entry can be seen (memtable.c).
		 */
		if (atomic_load(&mm.t->cells) == 0 || atomic_load(&mm.t->seq_min) > seq ||
			atomic_load(&mm.t->ts_max) < ts_min)
		{
			*incomplete = true;
			continue;
		}
		TRY_GOTO(add_mem(db, m, &mm, id));
	}
	TRY_GOTO(pin_files(db, pin, id, &files));
	for (int i = files.level_start[0]; i < files.level_start[1]; i++)
	{
		if (files.files[i].seq_min <= seq)
			TRY_GOTO(add_files(db, m, &files.files[i], 1));
		else
			*incomplete = true;
	}
	for (int l = 1; l < SET_LEVELS; l++)
	{
		int n = files.level_start[l + 1] - files.level_start[l];

		if (n > 0)
			TRY_GOTO(add_files(db, m, &files.files[files.level_start[l]], n));
	}
	*out = m;
	*batch_source = own;
	return WIDE_OK;
done:
	merge_free(m);
	return st;
}

void
scan_sources_drop(scan_state *s)
{
	for (int i = 0; i < s->nfamilies; i++)
	{
		if (s->families[i].m != NULL)
			merge_free(s->families[i].m);
		s->families[i].m = NULL;
		s->families[i].batch_source = NULL;
	}
	if (s->sources.pinned)
		pin_drop(s->db, &s->sources.pin);
	s->sources.pinned = false;
}

void
scan_sources_leave(scan_state *s)
{
	for (int i = 0; i < s->nfamilies; i++)
		if (s->families[i].m != NULL)
			merge_restart(s->families[i].m);
	scan_sources_drop(s);
}

wide_status
scan_sources_make(scan_state *s)
{
	wide_status st;

	TRY(pin_take(s->db, &s->sources.pin));
	s->sources.pinned = true;
	s->sources.incomplete = false;
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		TRY_GOTO(scan_sources_merge(s->db, &s->sources.pin, f->id, s->seq,
									f->limits.by_time ? f->limits.ts_min : INT64_MIN, s->batch,
									s->batch_mark, &f->m, &f->batch_source,
									&s->sources.incomplete));
		merge_limits(f->m, &f->limits);
		f->before.state = BEFORE_UNKNOWN;
	}
	return WIDE_OK;
done:
	scan_sources_drop(s);
	return st;
}

bool
scan_sources_stale(scan_state *s)
{
	if (s->sources.pin.version ==
		atomic_load_explicit(&s->db->seg->set.version, memory_order_relaxed))
		return false;
	for (int i = 0; i < s->sources.pin.nmemtables; i++)
	{
		uint32_t state = atomic_load(&s->db->seg->memtables[s->sources.pin.memtables[i]].state);

		if (state != MEMTABLE_ACTIVE && state != MEMTABLE_IMMUTABLE)
			return true;
	}
	return false;
}

/*
 * scan_sources.c - the sources that a scan reads, and the pin that keeps them in place.
 *
 * A family's merge has the transaction's batch, the pinned memtables, each file of level 0, and
 * each other level as one source.  A memtable or a file of level 0 is left out if everything in it
 * is newer than the snapshot, a memtable also if it is empty or all older than the limit of time.
 * Then a reader with a later snapshot may need more sources (scan_sources.incomplete).  Files that
 * are older than the limit of time stay sources, which pass over them (source_file.c).
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
#include "engine/batch/overlay.h"
#include "engine/scan/scan_run.h"
#include "engine/scan/scan_state.h"

/* Adds what the snapshot sees beside the store. */
static wide_status
add_overlay(wide_db *db, const overlay *o, wide_family_id id, merge *m)
{
	const file_meta *files;
	int n = overlay_files(o, &files);
	source *src;

	TRY(source_memtable_new(db, overlay_cells(o), id, &src));
	TRY(merge_add(m, src));
	for (int i = 0; i < n; i++)
	{
		if (files[i].family != id)
			continue;
		TRY(source_file_new(db, &files[i], 1, 0, &src));
		TRY(merge_add(m, src));
	}
	return WIDE_OK;
}

wide_status
scan_sources_merge(wide_db *db, const version_pin *pin, wide_family_id id, uint64_t seq,
				   int64_t ts_min, const overlay *beside, wide_batch *batch, uint64_t mark,
				   merge **out, source **batch_source, bool *incomplete)
{
	family_files files;
	source *src, *own = NULL;
	merge *m;
	wide_status st;

	TRY(merge_new(db, &m));
	if (batch != NULL)
	{
		TRY_GOTO(batch_source_new(batch, id, mark, &own));
		TRY_GOTO(merge_add(m, own));
	}
	if (beside != NULL)
		TRY_GOTO(add_overlay(db, beside, id, m));
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
		TRY_GOTO(source_memtable_new(db, &mm, id, &src));
		TRY_GOTO(merge_add(m, src));
	}
	TRY_GOTO(pin_files(db, pin, id, &files));
	for (int l = 0; l < SET_LEVELS; l++)
		for (int i = files.level_start[l], n; i < files.level_start[l + 1]; i += n)
		{
			/* files of level 0 overlap; those of another level are one source */
			n = l == 0 ? 1 : files.level_start[l + 1] - i;
			if (l == 0 && files.files[i].seq_min > seq)
			{
				*incomplete = true;
				continue;
			}
			TRY_GOTO(source_file_new(db, &files.files[i], n, 0, &src));
			TRY_GOTO(merge_add(m, src));
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
		scan_family *f = &s->families[i];

		if (f->m != NULL)
			merge_restart(f->m);
		merge_free(f->m);
		f->m = NULL;
		f->batch_source = NULL;
	}
	if (s->sources.pinned)
		pin_drop(s->db, &s->sources.pin);
	s->sources.pinned = false;
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
									f->limits.by_time ? f->limits.ts_min : INT64_MIN,
									overlay_of(s->snap), s->batch, s->batch_mark, &f->m,
									&f->batch_source, &s->sources.incomplete));
		merge_limits(f->m, &f->limits);
		scan_run_forget(f);
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

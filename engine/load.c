/*
 * load.c - sorted files straight from a large batch, before its commit.
 *
 * The files are complete and synced when load_write returns; the batch links
 * them at its commit, when their entries get the commit's seq (global_seq), or
 * discards them.  Until then only this process knows them; when it dies they
 * are orphans that recovery removes.
 *
 * Locking: none.
 */
#include <stdlib.h>
#include "work.h"

/* The family's files are done: move them to the list of all. */
static wide_status
family_done(output *o, buffer *all)
{
	TRY(output_finish(o));
	TRY(buffer_append(all, o->files.data, o->files.len));
	o->files.len = 0;
	return WIDE_OK;
}

wide_status
load_write(wide_db *db, load_next_fn next, void *arg, file_meta **files, int *n)
{
	output		o = {.db = db, .global = true, .cut = work_file_bytes};
	buffer		all = {0};
	wide_family_id family,
				current = 0;
	bool		exists = false;
	entry		e;
	uint64_t	count = 0;
	wide_status st;

	*files = NULL;
	*n = 0;
	TRY(shm_check(db));
	atomic_fetch_add(&db->seg->set.loading, 1);
	while ((st = next(arg, &family, &e)) == WIDE_OK)
	{
		if (++count % WORK_SLICE == 0)
		{
			TRY_GOTO(shm_check(db));
			if (interrupted(db))
			{
				st = wide_fail(WIDE_INTERRUPTED, "interrupted");
				goto done;
			}
		}
		if (family != current)
		{
			TRY_GOTO(family_done(&o, &all));
			current = family;
			exists = catalog_family_any(db, family, &o.family);
			/* not found because the catalog cannot be read, that is no answer */
			if (!exists)
				TRY_GOTO(shm_check(db));
		}
		/* the batch has made this family and dropped it again */
		if (!exists)
			continue;
		TRY_GOTO(output_emit(&o, &e));
	}
	if (st != WIDE_END)
		goto done;
	TRY_GOTO(family_done(&o, &all));
	if (all.len > 0)
		st = sst_sync_dir(db);
	else
		st = WIDE_OK;
done:
	if (st != WIDE_OK)
	{
		output_discard(&o);
		load_discard(db, (file_meta *) all.data, (int) (all.len / sizeof(file_meta)));
		buffer_free(&all);
		return st;
	}
	buffer_free(&o.files);
	buffer_free(&o.last);
	*files = (file_meta *) all.data;
	*n = (int) (all.len / sizeof(file_meta));
	return WIDE_OK;
}

void
load_discard(wide_db *db, const file_meta *files, int n)
{
	char		path[1100];
	uint32_t	loading = atomic_load(&db->seg->set.loading);

	for (int i = 0; i < n && shm_check(db) == WIDE_OK; i++)
	{
		sst_path(db, files[i].number, path, sizeof path);
		db->os->unlink(db->os, path);
		sst_forget(db, files[i].number);
	}
	while (loading > 0 && !atomic_compare_exchange_weak(&db->seg->set.loading, &loading, loading - 1))
		;
}

/*
 * file_set_load.c - reads the set of files from the manifest when a store is opened.
 *
 * Normally the set is what the newest edit of the manifest in force says.  A copy of
 * the directory that was made file by file while the store was in use may have a
 * manifest that is newer than its sorted files.  So of all states that the manifest
 * has gone through, the newest one is taken of which no file is missing.  That is
 * right whatever the reason for a missing file is, because any state and the log
 * from its restart_lsn on make the same store.  If the log does not reach back that
 * far, replay fails and nothing is changed, even if the host says that the beginning
 * of the log is lost: otherwise files that only newer states list would be removed.
 * Replay syncs the files that it writes again and that a newer state lists
 * (set.older), because their presence makes that state complete.
 *
 * If the manifest in force is missing or damaged, an older one is tried.  There is
 * one only if files were held (host->files_held) when it was replaced.
 *
 * A store that does not belong to this log (another id, another branch, ahead of its
 * end) is refused: replay would skip records, or replay records of another store.
 *
 * Locking: none but for functions that require LOCK_SET; this is recovery, and no
 * other process uses the store.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/set/file_set_load.h"
#include "engine/base/buffer.h"
#include "engine/base/hash.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/catalog.h"
#include "engine/set/directory.h"
#include "engine/set/edit.h"
#include "engine/set/file_set.h"
#include "engine/set/manifest.h"

/* ---------------------------------------------------------------- states */

/* Returns the number of the newest manifest below this one; 0 if there is none. */
static uint64_t
manifest_before(const directory *p, uint64_t number)
{
	const uint64_t *m = (const uint64_t *) p->manifests.data;
	uint64_t best = 0;

	for (size_t i = 0; i < p->manifests.len / sizeof *m; i++)
		if (m[i] < number && m[i] > best)
			best = m[i];
	return best;
}

/* A state of the set, while edits are read. */
typedef struct loaded
{
	/* what the edits say */
	buffer files; /* file_meta */
	buffer catalog;
	uint64_t flushed_seq;
	uint64_t restart_lsn;
	uint64_t sealed_lsn;
	uint64_t next_file;
	int64_t last_ts;
	uint64_t log_id;
	uint32_t log_branch;

	/* is it complete? */
	const directory *present;
	size_t missing;		   /* number of `files` that are not in the directory */
	uint64_t missing_file; /* the number of one of them */
	uint64_t edits;		   /* number of edits read */
	uint64_t complete; /* number of edits of the last state of which no file is missing; 0 none */
	uint64_t stop;	   /* most edits to read */
	bool older;		   /* not the newest state */
} loaded;

static void
loaded_free(loaded *l)
{
	buffer_free(&l->files);
	buffer_free(&l->catalog);
}

static int
compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Removes files of an edit.  A number that is not there is that of a linked file that was dropped
 * before it was listed. */
static wide_status
load_remove(loaded *l, const manifest_edit *e)
{
	file_meta *f = (file_meta *) l->files.data;
	size_t n = l->files.len / sizeof *f, kept = 0, nremove = (size_t) e->nremove;
	uint64_t *numbers;

	if (nremove == 0)
		return WIDE_OK;
	numbers = malloc(nremove * sizeof *numbers);
	if (numbers == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for recovery");
	memcpy(numbers, e->remove, nremove * sizeof *numbers);
	qsort(numbers, nremove, sizeof *numbers, compare_numbers);
	for (size_t i = 0; i < n; i++)
		if (bsearch(&f[i].number, numbers, nremove, sizeof *numbers, compare_numbers) != NULL)
			l->missing -= !directory_has(l->present, file_container(&f[i]));
		else if (kept++ != i)
			f[kept - 1] = f[i];
	l->files.len = kept * sizeof *f;
	free(numbers);
	return WIDE_OK;
}

/* manifest_fn: applies an edit to a struct loaded. */
static wide_status
load_edit(void *arg, const manifest_edit *e)
{
	loaded *l = arg;

	if (l->edits == l->stop)
		return WIDE_END;
	if (e->snapshot)
		l->files.len = l->catalog.len = l->missing = 0;
	TRY(load_remove(l, e));
	TRY(buffer_append(&l->files, e->add, (size_t) e->nadd * sizeof(file_meta)));
	for (int i = 0; i < e->nadd; i++)
		if (!directory_has(l->present, file_container(&e->add[i])))
		{
			l->missing++;
			l->missing_file = file_container(&e->add[i]);
		}
	l->flushed_seq = e->flushed_seq != 0 ? e->flushed_seq : l->flushed_seq;
	l->restart_lsn = e->restart_lsn != 0 ? e->restart_lsn : l->restart_lsn;
	l->sealed_lsn = e->sealed_lsn != 0 ? e->sealed_lsn : l->sealed_lsn;
	l->next_file = e->next_file != 0 ? e->next_file : l->next_file;
	l->last_ts = e->last_ts != INT64_MIN ? e->last_ts : l->last_ts;
	if (e->catalog.data != NULL)
	{
		l->catalog.len = 0;
		TRY(buffer_append(&l->catalog, e->catalog.data, e->catalog.len));
	}
	if (e->log_id != 0)
	{
		l->log_id = e->log_id;
		l->log_branch = e->log_branch;
	}
	l->edits++;
	if (l->missing == 0)
		l->complete = l->edits;
	return WIDE_OK;
}

/* Reads the newest state of the manifest of which no file is missing. */
static wide_status
load_manifest(wide_db *db, uint64_t number, const directory *p, loaded *out)
{
	loaded l = {.present = p, .last_ts = INT64_MIN, .stop = UINT64_MAX};
	uint64_t edits, next_file;
	char text[200];
	wide_status st = manifest_read(db, number, load_edit, &l);

	edits = l.edits;
	next_file = l.next_file;
	if (st == WIDE_OK && l.complete == 0)
		st = status_fail(WIDE_CORRUPT, "file %s/%08llx.sst is missing", db->files_dir,
						 (unsigned long long) l.missing_file);
	else if (st == WIDE_OK && l.complete < edits)
	{
		if (db->host.report != NULL)
		{
			snprintf(text, sizeof text,
					 "file %08llx.sst, which manifest-%08llx lists, is missing: using the state of "
					 "the store %llu edits before the end of the manifest",
					 (unsigned long long) l.missing_file, (unsigned long long) number,
					 (unsigned long long) (edits - l.complete));
			db->host.report(db->host.ctx, 1, text);
		}
		loaded_free(&l);
		l = (loaded) {.present = p, .last_ts = INT64_MIN, .stop = l.complete};
		st = manifest_read(db, number, load_edit, &l);
		st = st == WIDE_END ? WIDE_OK : st;
		l.older = true;
		l.next_file = next_file > l.next_file ? next_file : l.next_file;
	}
	if (st == WIDE_OK)
		*out = l;
	else
		loaded_free(&l);
	return st;
}

/* Reads the newest complete state of the manifest in force, or else of an older manifest.
 * WIDE_NOTFOUND: there is no store yet. */
static wide_status
load_newest(wide_db *db, loaded *l)
{
	directory p = {0};
	uint64_t number = 0, before;
	char failure[300];
	wide_status st, first;

	TRY(manifest_current(db, &number));
	TRY_GOTO(directory_read(db, &p));
	st = first = load_manifest(db, number, &p, l);
	if (st != WIDE_OK)
		snprintf(failure, sizeof failure, "%s", wide_error_text());
	while (st == WIDE_CORRUPT && (before = manifest_before(&p, number)) != 0)
	{
		number = before;
		st = load_manifest(db, number, &p, l);
		l->older = true;
	}
	/* report what is wrong with the manifest in force */
	if (st != WIDE_OK)
		st = status_fail(first, "%s", failure);
	else
	{
		db->seg->set.manifest_number = number;
		/* beyond any limit: the next edit starts a new manifest */
		db->seg->set.manifest_size = UINT64_MAX;
	}
done:
	directory_free(&p);
	return st;
}

/* ------------------------------------------------------------------- log */

/*
 * Fails if the state does not belong to this log.  A state of the log before this one is made to
 * begin here, at the present end of the log; *taken_over is true then.
 */
static wide_status
load_check(wide_db *db, loaded *l, bool *taken_over)
{
	const file_meta *f = (const file_meta *) l->files.data;
	uint64_t id = 0, newest = l->flushed_seq > l->restart_lsn ? l->flushed_seq : l->restart_lsn;
	uint32_t branch = 0;

	if (db->log.identity != NULL)
		db->log.identity(db->log.ctx, &id, &branch);
	*taken_over = id != 0 && l->log_id != 0 && id != l->log_id && !l->older &&
				  db->log.predecessor != NULL && db->log.predecessor(db->log.ctx) == l->log_id;
	if (id != 0 && l->log_id != 0 && id != l->log_id && !*taken_over)
		return status_fail(WIDE_CONFLICT,
						   "the store belongs to another log: its log is %llu, this one is %llu",
						   (unsigned long long) l->log_id, (unsigned long long) id);
	for (size_t i = 0; i < l->files.len / sizeof *f; i++)
		newest = f[i].seq_max > newest ? f[i].seq_max : newest;
	/* the branches of the other log are not this one's */
	if (db->log.contains != NULL &&
		!db->log.contains(db->log.ctx, *taken_over ? 0 : l->log_branch, newest))
		return status_fail(
			WIDE_CONFLICT,
			"the store has changes up to %X/%X on branch %u, which are not in this log",
			(unsigned) (newest >> 32), (unsigned) newest, l->log_branch);
	if (*taken_over)
	{
		uint64_t end = db->log.end(db->log.ctx);

		l->flushed_seq = l->restart_lsn = end > newest ? end : newest;
	}
	return WIDE_OK;
}

/* ------------------------------------------------------------------ load */

/* Makes the table of files empty. */
static void
load_format(wide_db *db)
{
	set_state *set = &db->seg->set;
	uint64_t seed[2] = {(uint64_t) getpid(), (uint64_t) (uintptr_t) db};

	set->max_files = db->seg->config.max_files;
	memset(LAYOUT_AT(db, db->seg->file_index), 0, sizeof(uint32_t) << db->seg->file_bits);
	memset(LAYOUT_AT(db, db->seg->container_index), 0, sizeof(uint32_t) << db->seg->file_bits);
	/* slots that were never taken are not touched: their pages may not exist */
	memset(layout_files(db), 0, set->used_files * sizeof(file_slot));
	memset(layout_containers(db), 0, set->used_containers * sizeof(container_slot));
	set->used_files = set->free_files = set->dead_first = set->dead_last = 0;
	set->used_containers = set->free_containers = set->ncontainers = 0;
	set->file_bytes = set->warned = 0;
	set->ndead = set->npending = set->nunlisted = set->nfiles = set->reserved_files = set->older =
		0;
	/* a recovery that failed may have begun a manifest */
	set->manifest_number = set->manifest_size = set->manifest_snapshot = 0;
	set->catalog_dirty = 0;
	atomic_store(&set->version, 2); /* 0 means no pin */
	/* a part of the range that no other recovery has used */
	atomic_store(&set->replay_file,
				 FILE_REPLAYED |
					 (hash_xxh3(&seed, sizeof seed, (uint64_t) host_now(db)) >> 34 << 32));
}

/* Puts the files of the state into the segment. */
static wide_status
load_files(wide_db *db, const loaded *l)
{
	set_state *set = &db->seg->set;
	const file_meta *f = (const file_meta *) l->files.data;
	size_t n = l->files.len / sizeof *f;

	if (n > set->max_files)
		return status_fail(WIDE_FULL, "the store has %zu files, max_files is %u", n,
						   set->max_files);
	TRY(segment_lock(db, LOCK_SET));
	for (size_t i = 0; i < n; i++)
		file_set_link_slot(db, &f[i], 1, true);
	segment_unlock(db, LOCK_SET);
	return WIDE_OK;
}

wide_status
file_set_load(wide_db *db)
{
	set_state *set = &db->seg->set;
	commit_state *commit = &db->seg->commit;
	loaded l = {.last_ts = INT64_MIN};
	bool new, taken_over = false;
	wide_status st;

	load_format(db);
	st = load_newest(db, &l);
	new = st == WIDE_NOTFOUND;
	if (new)
	{
		/* the log is needed from its present end, and has nothing in the older form */
		l.flushed_seq = l.restart_lsn = l.sealed_lsn = db->log.end(db->log.ctx);
		st = catalog_restore(db, (wide_bytes) {NULL, 0});
	}
	else if (st == WIDE_OK && (st = load_check(db, &l, &taken_over)) == WIDE_OK)
		st = catalog_restore(db, (wide_bytes) {l.catalog.data, l.catalog.len});
	if (st != WIDE_OK)
		goto done;
	set->older = l.older;
	set->flushed_seq = l.flushed_seq;
	set->restart_lsn = l.restart_lsn;
	set->sealed_lsn = l.sealed_lsn;
	atomic_store(&set->next_file, l.next_file != 0 ? l.next_file : 1);
	for (size_t i = 0; i < l.files.len / sizeof(file_meta); i++)
	{
		const file_meta *f = &((file_meta *) l.files.data)[i];
		/* a container has its number before or after those of its files */
		uint64_t number = f->container > f->number && f->container < FILE_REPLAYED ? f->container
																				   : f->number;

		if (number < FILE_REPLAYED && number >= atomic_load(&set->next_file))
			atomic_store(&set->next_file, number + 1);
	}
	TRY_GOTO(load_files(db, &l));
	commit->last_ts = l.last_ts;
	commit->logged_seq = l.flushed_seq;
	atomic_store(&commit->applied_seq, l.flushed_seq);
	atomic_store(&commit->visible_seq, l.flushed_seq);
	db->seg->memtables[commit->active].start_lsn = l.restart_lsn;
	/* the first edit of a store writes its first manifest, with the log's id; that of one that is
	 * taken over is the step by which it becomes one of this log */
	if (new || taken_over)
		st = edit_apply(db, &(version_edit) {.flushed_seq = l.flushed_seq,
											 .restart_lsn = l.restart_lsn,
											 .memtable = -1});
done:
	loaded_free(&l);
	return st;
}

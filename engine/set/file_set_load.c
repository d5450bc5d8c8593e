/*
 * file_set_load.c - reads the set of files from the manifest when a store is opened.
 *
 * Normally the set is what the newest edit of the manifest in force says.  A copy of
 * the directory that was made file by file while the store was in use may have a
 * manifest that is newer than its sorted files.  So of all states that the manifest
 * has gone through, the newest one is taken of which no file is missing.  That is
 * right whatever the reason for a missing file is, because any state and the log
 * from its restart_lsn on make the same store.  So an older state is taken only if the
 * log reaches back that far (wide_log.reaches); if the host says only in replay that the
 * beginning of the log is lost, replay fails and nothing is changed.
 * Replay syncs the files that it writes again and that a newer state lists
 * (set.older), because their presence makes that state complete.
 *
 * If the manifest in force is missing or damaged (with its copy), the state before the
 * damage is tried in the same way, and older manifests.  There are older ones only if
 * files were held (host->files_held) when they were replaced.  If CURRENT is missing or
 * damaged, the newest manifest that can be read is in force: a newer one than CURRENT
 * named can only be that of an edit that was not acknowledged, and which says nothing
 * that is not so.
 *
 * If no state is complete, or the log does not reach back to one, the newest state of the
 * manifest in force is taken as it is, and the missing files are marked as damaged
 * (damage.h): reads of their ranges fail, everything else works, and no log is needed that
 * the newest state does not need.  As long as files are missing, recovery removes no
 * sorted file and no manifest: with the files or the log, brought back from somewhere,
 * an older state may be the way to all data again.  But if all of several containers are missing
 * the store is not opened: that is a directory that was not mounted, not damage.
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
#include "engine/set/damage.h"
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
	size_t missing;	   /* number of `files` that are not in the directory */
	uint64_t edits;	   /* number of edits read */
	uint64_t complete; /* number of edits of the last state of which no file is missing; 0 none */
	uint64_t complete_restart; /* its restart_lsn */
	uint64_t stop;			   /* most edits to read */
	bool older;				   /* not the newest state */
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
			l->missing++;
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
	{
		l->complete = l->edits;
		l->complete_restart = l->restart_lsn;
	}
	return WIDE_OK;
}

/* Returns the number of a container of the state that is missing, but not `other`; 0: there is
 * none.
 */
static uint64_t
missing_container(const loaded *l, uint64_t other)
{
	const file_meta *f = (const file_meta *) l->files.data;

	for (size_t i = 0; i < l->files.len / sizeof *f; i++)
		if (file_container(&f[i]) != other && !directory_has(l->present, file_container(&f[i])))
			return file_container(&f[i]);
	return 0;
}

/* Returns true if the state has several containers, and all of them are missing. */
static bool
all_missing(const loaded *l)
{
	uint64_t first = missing_container(l, 0);

	return first != 0 && l->missing == l->files.len / sizeof(file_meta) &&
		   missing_container(l, first) != 0;
}

/* Returns true if the log has everything from lsn on. */
static bool
log_reaches(wide_db *db, uint64_t lsn)
{
	return db->log.reaches == NULL || db->log.reaches(db->log.ctx, lsn);
}

static void
report(wide_db *db, int level, const char *text)
{
	if (db->host.report != NULL)
		db->host.report(db->host.ctx, level, text);
}

/* Reads the state of the manifest after its first l->complete edits into *l, which has read more
 * of it. */
static wide_status
load_older(wide_db *db, uint64_t number, loaded *l)
{
	uint64_t edits = l->complete, next_file = l->next_file;
	const directory *p = l->present;
	wide_status st;

	loaded_free(l);
	*l = (loaded) {.present = p, .last_ts = INT64_MIN, .stop = edits};
	st = manifest_read(db, number, load_edit, l);
	l->older = true;
	l->next_file = next_file > l->next_file ? next_file : l->next_file;
	/* what is damaged comes behind it */
	return st == WIDE_END || l->edits == edits ? WIDE_OK : st;
}

/*
 * Reads the newest state of the manifest of which no file is missing.
 * lossy: or else its newest state, if all of the manifest can be read.
 */
static wide_status
load_manifest(wide_db *db, uint64_t number, const directory *p, bool lossy, loaded *out)
{
	loaded l = {.present = p, .last_ts = INT64_MIN, .stop = UINT64_MAX};
	char text[300];
	wide_status st = manifest_read(db, number, load_edit, &l);
	bool older = l.complete > 0 && l.complete < l.edits + (st != WIDE_OK);

	if ((st == WIDE_OK || st == WIDE_CORRUPT) && older && log_reaches(db, l.complete_restart))
	{
		if (st == WIDE_OK)
			snprintf(text, sizeof text,
					 "file %08llx.sst, which manifest-%08llx lists, is missing: using the state of "
					 "the store %llu edits before the end of the manifest",
					 (unsigned long long) missing_container(&l, 0), (unsigned long long) number,
					 (unsigned long long) (l.edits - l.complete));
		else
			snprintf(text, sizeof text, "%.200s: using the state of the store before that",
					 wide_error_text());
		report(db, 1, text);
		st = load_older(db, number, &l);
	}
	else if (st == WIDE_OK && all_missing(&l))
		st = status_fail(WIDE_CORRUPT, "none of its %zu sorted files is in %s", l.missing,
						 db->files_dir);
	else if (st == WIDE_OK && l.missing > 0 && !lossy)
		st = status_fail(WIDE_CORRUPT, "file %s/%08llx.sst is missing", db->files_dir,
						 (unsigned long long) missing_container(&l, 0));
	if (st == WIDE_OK)
		*out = l;
	else
		loaded_free(&l);
	return st;
}

/*
 * Finds the manifest in force.  WIDE_NOTFOUND: there is no store yet.  Without CURRENT that is the
 * newest one that can be read; the first manifest of a store may have been interrupted.
 */
static wide_status
find_manifest(wide_db *db, const directory *p, uint64_t *number)
{
	wide_status st = manifest_current(db, number);
	char text[600];
	uint64_t last = manifest_before(p, UINT64_MAX);

	if (st == WIDE_OK && last > *number && manifest_before(p, *number + 1) != *number)
		st = status_fail(WIDE_CORRUPT, "%s/CURRENT names a manifest that is missing", db->dir);
	if (st != WIDE_NOTFOUND && st != WIDE_CORRUPT)
		return st;
	if (last == 0)
		return p->files.len == 0 && st == WIDE_NOTFOUND
				   ? WIDE_NOTFOUND
				   : status_fail(WIDE_CORRUPT,
								 "%s/CURRENT is missing or damaged, and there is no "
								 "manifest",
								 db->dir);
	db->seg->set.repair = 1;
	snprintf(text, sizeof text, "%.200s: the newest manifest is in force", wide_error_text());
	report(db, 1, text);
	for (*number = last; *number != 0; *number = manifest_before(p, *number))
	{
		loaded l = {.present = p, .last_ts = INT64_MIN, .stop = UINT64_MAX};

		st = manifest_read(db, *number, load_edit, &l);
		loaded_free(&l);
		if (st != WIDE_CORRUPT)
			return st;
		/* CURRENT is durable before the first sorted file */
		if (last == 1 && p->files.len == 0)
			return WIDE_NOTFOUND;
	}
	*number = last;
	return WIDE_OK;
}

/* Marks the files of the state that are missing. */
static void
mark_missing(wide_db *db, loaded *l)
{
	file_meta *f = (file_meta *) l->files.data;
	char text[300];

	db->seg->set.lost = (uint32_t) l->missing;
	if (l->missing == 0)
		return;
	for (size_t i = 0; i < l->files.len / sizeof *f; i++)
		if (!directory_has(l->present, file_container(&f[i])))
			damage_mark(&f[i]);
	snprintf(
		text, sizeof text,
		"%zu sorted files are missing, one of them in %08llx.sst: what they contain cannot be read",
		l->missing, (unsigned long long) missing_container(l, 0));
	report(db, 1, text);
}

/* Reads the newest complete state of the manifest in force, or else of an older manifest, or else
 * the newest state without the files that are missing.  WIDE_NOTFOUND: there is no store yet. */
static wide_status
load_newest(wide_db *db, loaded *l)
{
	directory p = {0};
	uint64_t number = 0, current, before;
	char failure[300];
	wide_status st, first;

	TRY_GOTO(directory_read(db, &p));
	db->seg->set.manifest_last = manifest_before(&p, UINT64_MAX);
	TRY_GOTO(find_manifest(db, &p, &number));
	current = number;
	st = first = load_manifest(db, number, &p, false, l);
	if (st != WIDE_OK)
		snprintf(failure, sizeof failure, "%s", wide_error_text());
	while (st == WIDE_CORRUPT && (before = manifest_before(&p, number)) != 0)
	{
		number = before;
		st = load_manifest(db, number, &p, false, l);
		if (st == WIDE_OK && !log_reaches(db, l->restart_lsn))
		{
			loaded_free(l);
			st = WIDE_CORRUPT;
		}
		l->older = true;
	}
	if (st == WIDE_CORRUPT)
		st = load_manifest(db, number = current, &p, true, l);
	/* report what is wrong with the manifest in force */
	if (st != WIDE_OK)
		st = status_fail(first, "%s", failure);
	else
	{
		mark_missing(db, l);
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
	set->file_bytes = set->nothing_dead = set->warned = 0;
	set->ndead = set->npending = set->nunlisted = set->nfiles = set->reserved_files = 0;
	set->older = set->lost = set->repair = 0;
	/* a recovery that failed may have begun a manifest */
	set->manifest_number = set->manifest_last = set->manifest_size = set->manifest_snapshot = 0;
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
	{
		uint32_t has = db->seg->config.max_tables, least = has;

		/* with room for the merges that make files fewer */
		while (layout_files_of_tables(least) < n + n / 4)
			least++;
		if (set->max_files < layout_files_of_tables(has))
			return status_fail(
				WIDE_FULL,
				"the store has %zu sorted files, max_files is %u, made smaller to fit "
				"into the shared memory",
				n, set->max_files);
		return status_fail(WIDE_FULL,
						   "the store has %zu sorted files, for which max_tables %u is too small "
						   "(max_files %u): it needs at least %u",
						   n, has, set->max_files, least);
	}
	TRY(segment_lock(db, LOCK_SET));
	for (size_t i = 0; i < n; i++)
		file_set_link_slot(db, &f[i], 1, true);
	segment_unlock(db, LOCK_SET);
	return WIDE_OK;
}

/* Puts the state into the segment.  *taken_over: as of load_check.  Returns: WIDE_NOTFOUND if the
 * store is new. */
static wide_status
load_state(wide_db *db, bool create, bool *taken_over)
{
	set_state *set = &db->seg->set;
	commit_state *commit = &db->seg->commit;
	loaded l = {.last_ts = INT64_MIN};
	bool new;
	wide_status st;

	*taken_over = false;
	load_format(db);
	st = load_newest(db, &l);
	new = st == WIDE_NOTFOUND;
	if (new &&create)
	{
		/* the log is needed from its present end, and has nothing in the older form */
		l.flushed_seq = l.restart_lsn = l.sealed_lsn = db->log.end(db->log.ctx);
		st = catalog_restore(db, (wide_bytes) {NULL, 0});
	}
	else if (st == WIDE_OK && (st = load_check(db, &l, taken_over)) == WIDE_OK)
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
	if (new)
		st = WIDE_NOTFOUND;
done:
	loaded_free(&l);
	return st;
}

wide_status
file_set_load(wide_db *db)
{
	set_state *set = &db->seg->set;
	bool taken_over;
	wide_status st = load_state(db, true, &taken_over);

	/* the first edit of a store writes its first manifest, with the log's id; that of one that is
	 * taken over is the step by which it becomes one of this log; after damage one is written that
	 * has none, unless an older state is in force, because of what a newer one might still give */
	if (st == WIDE_NOTFOUND ||
		(st == WIDE_OK && (taken_over || (set->repair && !set->older && set->lost == 0))))
		st = edit_apply(db, &(version_edit) {.flushed_seq = set->flushed_seq,
											 .restart_lsn = set->restart_lsn,
											 .memtable = -1});
	return st;
}

wide_status
file_set_load_read_only(wide_db *db)
{
	bool taken_over;
	wide_status st = load_state(db, false, &taken_over);

	return st == WIDE_NOTFOUND ? status_fail(WIDE_NOTFOUND, "%s has no store", db->dir) : st;
}

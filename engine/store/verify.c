/*
 * verify.c - checks that all data of a store is there and intact.
 *
 * wide_verify reads every byte of every live file, and checks that the files of a
 * level are disjoint, that memtables are well-formed, and that the directory and
 * the file set agree.  Files that a job or a bulk batch has written and not yet
 * listed look like orphans, so orphans are reported only if no job runs and no bulk
 * batch is open.
 *
 * Locking: a pin keeps the files; no lock is held while reading.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/injection_point.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_reader.h"
#include "engine/sst/sst_verify.h"
#include "engine/set/catalog.h"
#include "engine/set/directory.h"
#include "engine/set/file_set.h"
#include "engine/set/memtable.h"
#include "engine/set/pin.h"
#include "engine/compaction/job.h"

typedef struct verification
{
	wide_db *db;
	wide_problem_fn fn;
	void *arg;
	directory names;
	/* the family whose files are read */
	wide_family family;
	wide_table table;
} verification;

/* Reports a problem of a file of the family; a wide_problem_fn. */
static wide_status
problem_in_file(void *arg, const char *file, const char *text)
{
	verification *v = arg;
	char object[WIDE_MAX_NAME + WIDE_MAX_FAMILY + 80];

	snprintf(object, sizeof object, "%s, family %s, file %s", v->table.name, v->family.name, file);
	return v->fn(v->arg, object, text);
}

static wide_status
problem(verification *v, uint64_t number, const char *text)
{
	char name[40];

	snprintf(name, sizeof name, "%08llx.sst", (unsigned long long) number);
	return problem_in_file(v, name, text);
}

static bool
exists(verification *v, const char *path)
{
	int fd = v->db->os->open(v->db->os, path, 0);

	if (fd >= 0)
		v->db->os->close(v->db->os, fd);
	return fd >= 0;
}

/* Returns true if files may exist that are not listed yet. */
static bool
work_in_progress(wide_db *db)
{
	bool busy = atomic_load(&db->seg->set.loading) > 0;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return true;
	for (int i = 0; i < JOB_MAX; i++)
		busy |= job_running(&db->seg->jobs[i]);
	busy |= db->seg->set.reserved_files > 0;
	segment_unlock(db, LOCK_SET);
	return busy;
}

static wide_status
verify_files(verification *v, const version_pin *pin, wide_family_id id)
{
	family_files files;

	if (wide_family_by_id(v->db, id, &v->family, &v->table) != WIDE_OK)
		return WIDE_OK; /* dropped meanwhile */
	TRY(pin_files(v->db, pin, id, &files));
	for (int i = 0; i < files.n; i++)
	{
		const file_meta *f = &files.files[i];

		TRY(segment_check(v->db));
		if (host_interrupted(v->db))
			return status_fail(WIDE_INTERRUPTED, "interrupted");
		if (!directory_has(&v->names, file_container(f)) && !file_set_has_file(v->db, f->number))
			continue; /* removed meanwhile */
		if (!directory_has(&v->names, file_container(f)))
		{
			/* perhaps written after the directory was read: try to open it */
			sst_reader *r;

			if (sst_reader_get(v->db, f, &r) != WIDE_OK)
			{
				TRY(problem(v, file_container(f), "the file is missing"));
				continue;
			}
			sst_reader_put(v->db, r);
		}
		injection_point("verify-file");
		TRY(sst_verify(v->db, f, problem_in_file, v));
		wide_progress_add(v->db, f->bytes);
		if (f->level == 0 || i + 1 == files.n || files.files[i + 1].level != f->level)
			continue;
		/* cut bounds cannot be compared if one is a prefix of the other */
		if (!(f->flags & FILE_MAX_CUT) && !(files.files[i + 1].flags & FILE_MIN_CUT) &&
			ukey_compare(f->max_row, f->max_len, files.files[i + 1].min_row,
						 files.files[i + 1].min_len) > 0)
			TRY(problem(v, file_container(f), "the file overlaps the next file of its level"));
	}
	return WIDE_OK;
}

/* The pin is for one family only: it keeps all files that are removed meanwhile. */
static wide_status
verify_family(verification *v, wide_family_id id)
{
	version_pin pin = {0};
	wide_status st;

	TRY(pin_take_files(v->db, &pin));
	st = verify_files(v, &pin, id);
	pin_drop(v->db, &pin);
	return st;
}

static wide_status
verify_memtables(verification *v, const version_pin *pin)
{
	for (int i = 0; i < pin->nmemtables; i++)
	{
		memtable_handle m;

		memtable_at(v->db, pin->memtables[i], &m);
		/* while a memtable is filled its counts differ from its cells */
		if (atomic_load(&m.t->state) != MEMTABLE_IMMUTABLE || atomic_load(&m.t->applying) > 0)
			continue;
		if (memtable_check(&m) != WIDE_OK)
			TRY(v->fn(v->arg, "memtable", wide_error_text()));
	}
	return WIDE_OK;
}

/* Reports files of the directory that the file set does not have. */
static wide_status
verify_unknown(verification *v)
{
	const uint64_t *p = (const uint64_t *) v->names.files.data;
	char path[1100];

	if (work_in_progress(v->db))
		return WIDE_OK;
	for (size_t i = 0; i < v->names.files.len / sizeof *p; i++)
	{
		if (file_set_has_container(v->db, p[i]))
			continue;
		/* the file may have been removed, or listed, since the directory was read */
		sst_file_path(v->db, p[i], path, sizeof path);
		if (exists(v, path) && !work_in_progress(v->db) && !file_set_has_container(v->db, p[i]))
			TRY(v->fn(v->arg, path, "the file does not belong to the store"));
	}
	p = (const uint64_t *) v->names.unfinished.data;
	for (size_t i = 0; i < v->names.unfinished.len / sizeof *p; i++)
	{
		sst_file_path(v->db, p[i], path, sizeof path - 4);
		strcat(path, ".tmp");
		if (exists(v, path) && !work_in_progress(v->db))
			TRY(v->fn(v->arg, path, "the temporary file is not in use"));
	}
	return WIDE_OK;
}

/* Returns the bytes of the family's live files; 0: of all. */
static uint64_t
bytes_to_verify(wide_db *db, wide_family_id family)
{
	const file_slot *files = layout_files(db);
	uint64_t bytes = 0;

	if (segment_lock(db, LOCK_SET) != WIDE_OK)
		return 0;
	for (uint32_t i = 0; i < db->seg->set.used_files; i++)
		if (files[i].in_use && files[i].removed_version == 0 &&
			(family == 0 || files[i].meta.family == family))
			bytes += files[i].meta.bytes;
	segment_unlock(db, LOCK_SET);
	return bytes;
}

wide_status
wide_verify(wide_db *db, wide_family_id family, wide_problem_fn fn, void *arg)
{
	verification v = {.db = db, .fn = fn, .arg = arg};
	wide_family_id id;
	uint32_t cursor = 0;
	version_pin memory = {0};
	wide_status st;

	wide_progress_begin(db, WIDE_PROGRESS_VERIFY, family, bytes_to_verify(db, family));
	TRY_GOTO(directory_read(db, &v.names));
	while ((st = catalog_family_next(db, &cursor, &id)) == WIDE_OK)
		if (family == 0 || id == family)
			TRY_GOTO(verify_family(&v, id));
	if (st != WIDE_END)
		goto done;
	TRY_GOTO(pin_take(db, &memory));
	TRY_GOTO(verify_memtables(&v, &memory));
	if (family == 0)
		st = verify_unknown(&v);
done:
	wide_progress_end(db);
	pin_drop(db, &memory);
	directory_free(&v.names);
	return st;
}

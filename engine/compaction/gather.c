/*
 * gather.c - brings the sorted files of many small containers together in one.
 *
 * A container is unlinked when none of its sorted files is in the set any more.  Where only some
 * families are written to, that takes long: a container keeps the room of those that are gone, and
 * the number of containers grows with the number of flushes.  So the sorted files of small
 * containers, and of those that are mostly garbage, are copied to a new one.  They are copied byte
 * by byte and keep their numbers: nothing is merged, and blocks in the cache stay valid.  Small
 * files with a container of their own count, too.
 *
 * Invariants:
 *  - A sorted file is copied only while the job has claimed its family (job.c) and only if it was
 *    live after the claim.  So no other job removes it before the edit, which would bring it back.
 *    A family may be dropped meanwhile; then the copy is dead at once (file_set_link_slot).
 *  - A file that a replay would link again, or that is not synced or listed yet, stays where it is.
 *  - A damaged file stays in its container, whose other files stay there with it: the container
 *    would not become empty.  Damage that is not marked yet is found before the copy and is marked,
 *    so the next gathering does not read the file again.
 *  - After a gathering of small containers there are at most half as many of them and one.
 *
 * Locking: LOCK_SET to choose; none while bytes are copied.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include "engine/compaction/gather.h"
#include "engine/base/buffer.h"
#include "engine/base/injection_point.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/sst/sst_container.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_verify.h"
#include "engine/set/damage.h"
#include "engine/set/edit.h"
#include "engine/set/file_set.h"
#include "engine/set/pin.h"
#include "engine/compaction/job.h"
#include "engine/compaction/output.h"
#include "engine/compaction/pick.h"

#define GATHER_LEAST ((uint64_t) 256 << 10) /* garbage that is worth a job */
#define GATHER_MOST	 65536					/* sorted files of one job, as a rule */

/* Returns true if a container with so many live bytes is small.  Eight of them fit into one, so
 * there are always fewer after a gathering. */
static bool
is_small(uint64_t live_bytes)
{
	return live_bytes < (uint64_t) 1 << 20 && live_bytes < output_file_bytes / 8;
}

/* A container that may be gathered. */
typedef struct candidate
{
	uint64_t number;
	uint64_t live_bytes, bytes;
	uint32_t live; /* files */
} candidate;

typedef struct gathering
{
	wide_db *db;
	int slot;
	version_pin pin;
	bool much;		   /* there is so much garbage that it does not wait for rest */
	buffer candidates; /* the chosen containers, ascending by number */
	size_t nfiles;	   /* live files in them */
	bool garbage;	   /* one of them is mostly garbage */
	buffer files; /* file_meta, ascending by container and offset; later where they are copied to */
	buffer numbers;	   /* uint64_t: of these */
	buffer claimed;	   /* wide_family_id */
	sst_container *to; /* the open one */
	buffer made;	   /* uint64_t: numbers of complete containers */
	buffer bytes;	   /* of the file that is copied */
	uint64_t copied;
	char from[SST_PATH]; /* the container that is open */
	uint64_t from_number;
	int fd;
} gathering;

/* ----------------------------------------------------------------- choosing */

static int
compare_live(const void *a, const void *b)
{
	uint64_t x = ((const candidate *) a)->live_bytes, y = ((const candidate *) b)->live_bytes;

	return (x > y) - (x < y);
}

static int
compare_number(const void *a, const void *b)
{
	uint64_t x = ((const candidate *) a)->number, y = ((const candidate *) b)->number;

	return (x > y) - (x < y);
}

/* Returns true if the container has so much garbage that a gathering pays.  While there is other
 * work, compactions soon make garbage of the rest of most containers. */
static bool
is_garbage(const gathering *g, const candidate *c, bool rest)
{
	uint64_t garbage = c->bytes - c->live_bytes;

	if (garbage < GATHER_LEAST)
		return false;
	return rest ? garbage >= c->live_bytes / 4 : g->much && garbage >= c->live_bytes;
}

/* Returns true if a quarter of all containers is garbage.  Requires: LOCK_SET. */
static bool
much_garbage(wide_db *db)
{
	const container_slot *c = layout_containers(db);
	uint64_t bytes = 0, live = 0;

	for (uint32_t i = 0; i < db->seg->set.used_containers; i++)
		if (c[i].live > 0)
		{
			bytes += c[i].bytes;
			live += c[i].live_bytes;
		}
	return bytes - live >= bytes / 4;
}

/* Lists in g->candidates the containers of which it is to choose. */
static wide_status
list_containers(gathering *g, bool rest)
{
	set_state *set = &g->db->seg->set;
	const container_slot *c = layout_containers(g->db);

	TRY(buffer_reserve(&g->candidates, (set->ncontainers + 64) * sizeof(candidate)));
	TRY(segment_lock(g->db, LOCK_SET));
	g->much = much_garbage(g->db);
	for (uint32_t i = 0; i < set->used_containers; i++)
	{
		candidate k = {c[i].number, c[i].live_bytes, c[i].bytes, c[i].live};

		/* there is room, but for those that are new since it was made */
		if (c[i].live > 0 && c[i].damaged == 0 &&
			(is_small(k.live_bytes) || is_garbage(g, &k, rest)) &&
			g->candidates.cap - g->candidates.len >= sizeof k)
			(void) buffer_append(&g->candidates, &k, sizeof k);
	}
	segment_unlock(g->db, LOCK_SET);
	return WIDE_OK;
}

/* Chooses among g->candidates.  Returns false if there is nothing to do. */
static bool
choose(gathering *g, bool rest)
{
	candidate *c = (candidate *) g->candidates.data;
	size_t n = g->candidates.len / sizeof *c, small = 0, take = 0;
	uint64_t sum = 0;
	uint32_t room = file_set_room(g->db, false);

	g->nfiles = 0;
	qsort(c, n, sizeof *c, compare_live);
	while (small < n && is_small(c[small].live_bytes))
		small++;
	for (size_t i = 0; i < n && sum < output_file_bytes && g->nfiles < GATHER_MOST; i++)
	{
		bool garbage = is_garbage(g, &c[i], rest);

		/* each file needs a second slot until its first one is free */
		if (g->nfiles + c[i].live > room)
			continue;
		/* the smaller half, with one more so that it is not empty */
		if (!garbage && (small < gather_files || i > small / 2))
			continue;
		g->garbage |= garbage;
		sum += c[i].live_bytes;
		g->nfiles += c[i].live;
		c[take++] = c[i];
	}
	g->candidates.len = take * sizeof *c;
	qsort(c, take, sizeof *c, compare_number);
	return take > 0;
}

/* Returns true if the file may be moved.  Requires: LOCK_SET. */
static bool
can_move(wide_db *db, const file_slot *f)
{
	return f->in_use && f->removed_version == 0 && f->listed &&
		   !(f->meta.flags & (FILE_UNSYNCED | FILE_DAMAGED)) &&
		   file_settled(&f->meta, db->seg->set.flushed_seq);
}

static int
compare_places(const void *pa, const void *pb)
{
	const file_meta *a = pa, *b = pb;

	if (file_container(a) != file_container(b))
		return file_container(a) > file_container(b) ? 1 : -1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Lists the files of the chosen containers. */
static wide_status
list_files(gathering *g)
{
	wide_db *db = g->db;
	const file_slot *f = layout_files(db);
	size_t n = g->candidates.len / sizeof(candidate);

	TRY(buffer_reserve(&g->files, g->nfiles * sizeof(file_meta)));
	TRY(segment_lock(db, LOCK_SET));
	for (uint32_t i = 0; i < db->seg->set.used_files; i++)
	{
		candidate k = {.number = file_container(&f[i].meta)};

		if (can_move(db, &f[i]) && g->files.len < g->nfiles * sizeof(file_meta) &&
			bsearch(&k, g->candidates.data, n, sizeof k, compare_number) != NULL)
			(void) buffer_append(&g->files, &f[i].meta, sizeof f[i].meta);
	}
	segment_unlock(db, LOCK_SET);
	qsort(g->files.data, g->files.len / sizeof(file_meta), sizeof(file_meta), compare_places);
	return g->files.len > 0 ? WIDE_OK : WIDE_BUSY;
}

/* ----------------------------------------------------------------- claiming */

static int
compare_families(const void *a, const void *b)
{
	wide_family_id x = *(const wide_family_id *) a, y = *(const wide_family_id *) b;

	return (x > y) - (x < y);
}

/* Claims the families of the listed files. */
static wide_status
claim_families(gathering *g)
{
	const file_meta *f = (const file_meta *) g->files.data;
	size_t n = g->files.len / sizeof *f, kept = 0;
	wide_family_id *ids;

	TRY(buffer_reserve(&g->claimed, n * sizeof *ids));
	ids = (wide_family_id *) g->claimed.data;
	for (size_t i = 0; i < n; i++)
		ids[i] = f[i].family;
	qsort(ids, n, sizeof *ids, compare_families);
	for (size_t i = 0; i < n; i++)
		if ((i == 0 || ids[i] != ids[i - 1]) && job_claim(g->db, g->slot, ids[i]) == WIDE_OK)
			ids[kept++] = ids[i];
	g->claimed.len = kept * sizeof *ids;
	return segment_check(g->db);
}

/* Returns true if the file is still where it was and its family is claimed.  Requires: LOCK_SET. */
static bool
is_claimed(const gathering *g, const file_meta *f)
{
	const file_slot *now = file_set_slot_by_number(g->db, f->number);

	return now != NULL && can_move(g->db, now) && compare_places(&now->meta, f) == 0 &&
		   bsearch(&f->family, g->claimed.data, g->claimed.len / sizeof(wide_family_id),
				   sizeof(wide_family_id), compare_families) != NULL;
}

/* Keeps those of the listed files that can be moved with all others of their container: otherwise
 * it would not become empty. */
static wide_status
keep_claimed(gathering *g)
{
	wide_db *db = g->db;
	file_meta *f = (file_meta *) g->files.data;
	size_t n = g->files.len / sizeof *f, kept = 0, containers = 0;

	TRY(segment_lock(db, LOCK_SET));
	for (size_t i = 0, m; i < n; i += m)
	{
		const container_slot *c = file_set_container(db, file_container(&f[i]));
		size_t can = 0;

		for (m = 0; i + m < n && file_container(&f[i + m]) == file_container(&f[i]); m++)
			can += is_claimed(g, &f[i + m]);
		if (c == NULL || can < m || m != c->live)
			continue;
		memmove(&f[kept], &f[i], m * sizeof *f);
		kept += m;
		containers++;
	}
	segment_unlock(db, LOCK_SET);
	g->files.len = kept * sizeof *f;
	/* one that is moved as it is gains nothing */
	return containers > 1 || (containers == 1 && g->garbage) ? WIDE_OK : WIDE_BUSY;
}

/* ------------------------------------------------------------------ copying */

static wide_status
finish_container(gathering *g)
{
	sst_container *c = g->to;
	uint64_t number;

	if (c == NULL)
		return WIDE_OK;
	number = sst_container_number(c);
	TRY(buffer_reserve(&g->made, sizeof number));
	g->to = NULL;
	TRY(sst_container_finish(c));
	return buffer_append(&g->made, &number, sizeof number);
}

/* Reads a sorted file into g->bytes. */
static wide_status
read_file(gathering *g, const file_meta *f)
{
	wide_os *os = g->db->os;
	int64_t got;

	if (g->from_number != file_container(f))
	{
		if (g->fd >= 0)
			os->close(os, g->fd);
		g->from_number = file_container(f);
		sst_file_path(g->db, g->from_number, g->from, sizeof g->from);
		g->fd = os->open(os, g->from, O_RDONLY);
	}
	if (g->fd == -ENOENT)
		return status_fail(WIDE_CORRUPT, "file \"%s\" is missing", g->from);
	if (g->fd < 0)
		return os_fail(g->fd, "open file", g->from);
	g->bytes.len = 0;
	TRY(buffer_reserve(&g->bytes, f->bytes));
	got = os->pread(os, g->fd, g->bytes.data, f->bytes, f->container != 0 ? f->offset : 0);
	if (got < 0)
		return os_fail(got, "read file", g->from);
	if ((uint64_t) got != f->bytes)
		return status_fail(WIDE_CORRUPT, "file \"%s\" is too short", g->from);
	g->bytes.len = (size_t) got;
	return WIDE_OK;
}

/* Copies the files to new containers.  What cannot be read, or is damaged, stays where it is: it
 * does not keep the others from being gathered, and nothing that could be read replaces the
 * original. */
static wide_status
copy_files(gathering *g)
{
	file_meta *f = (file_meta *) g->files.data;
	size_t n = g->files.len / sizeof *f, kept = 0;
	wide_status st, failure = WIDE_BUSY;

	TRY(buffer_reserve(&g->numbers, n * sizeof(uint64_t)));
	for (size_t i = 0; i < n; i++)
	{
		TRY(output_check(g->db));
		st = sst_verify(g->db, &f[i], NULL, NULL);
		if (st == WIDE_OK)
			st = read_file(g, &f[i]);
		if (st == WIDE_CORRUPT)
			TRY(damage_set_aside(g->db, &f[i]));
		if (st == WIDE_CORRUPT || st == WIDE_IO)
		{
			failure = st;
			continue;
		}
		TRY(st);
		if (g->to == NULL)
			TRY(sst_container_open(g->db, file_set_new_number(g->db), &g->to));
		f[kept] = f[i];
		f[kept].container = sst_container_number(g->to);
		TRY(sst_container_add(g->to, (wide_bytes) {g->bytes.data, g->bytes.len}, &f[kept].offset));
		(void) buffer_append(&g->numbers, &f[kept].number, sizeof f[kept].number);
		g->copied += f[kept++].bytes;
		if (sst_container_bytes(g->to) >= output_file_bytes)
			TRY(finish_container(g));
	}
	g->files.len = kept * sizeof *f;
	TRY(finish_container(g));
	return kept > 0 ? sst_file_sync_dir(g->db) : failure;
}

static void
discard(gathering *g)
{
	const uint64_t *made = (const uint64_t *) g->made.data;
	char path[SST_PATH];

	if (g->to != NULL)
		sst_container_abandon(g->to);
	for (size_t i = 0; i < g->made.len / sizeof *made && segment_check(g->db) == WIDE_OK; i++)
	{
		sst_file_path(g->db, made[i], path, sizeof path);
		g->db->os->unlink(g->db->os, path);
	}
}

/* The job. */
static wide_status
gather(gathering *g)
{
	version_edit edit = {.memtable = -1};

	TRY(list_files(g));
	TRY(claim_families(g));
	/* so that the containers stay */
	TRY(pin_take_files(g->db, &g->pin));
	TRY(keep_claimed(g));
	TRY(copy_files(g));
	injection_point("gather-files");
	edit.add = (const file_meta *) g->files.data;
	edit.nadd = (int) (g->files.len / sizeof(file_meta));
	edit.remove = (const uint64_t *) g->numbers.data;
	edit.nremove = edit.nadd;
	job_plan(g->db, g->slot, 0, 0, g->copied);
	TRY(edit_apply(g->db, &edit));
	injection_point("gather-manifest");
	job_progress(g->db, g->slot, g->copied, g->copied);
	counter_add(g->db, COUNTER_COMPACT_READ, g->copied);
	counter_add(g->db, COUNTER_COMPACT_WRITE, g->copied);
	return WIDE_OK;
}

wide_status
gather_some(wide_db *db, bool rest)
{
	gathering g = {.db = db, .fd = -1};
	wide_status st;

	/* nothing could be removed */
	if (host_files_held(db))
		return WIDE_END;
	TRY_GOTO(list_containers(&g, rest));
	if (!choose(&g, rest))
	{
		st = WIDE_END;
		goto done;
	}
	TRY_GOTO(job_begin(db, JOB_COMPACT, 0, &g.slot));
	st = gather(&g);
	if (st != WIDE_OK)
		discard(&g);
	pin_drop(db, &g.pin);
	job_release(db, g.slot, (const wide_family_id *) g.claimed.data,
				(int) (g.claimed.len / sizeof(wide_family_id)));
	job_end(db, g.slot, st, st == WIDE_BUSY);
done:
	if (g.fd >= 0)
		db->os->close(db->os, g.fd);
	buffer_free(&g.candidates);
	buffer_free(&g.files);
	buffer_free(&g.numbers);
	buffer_free(&g.claimed);
	buffer_free(&g.made);
	buffer_free(&g.bytes);
	return st;
}

/*
 * manifest.c - the bytes of the manifest: which files the store consists of.
 *
 * Layout (all numbers little-endian; mirrored in doc/format.md):
 *
 *     CURRENT            "manifest-NNNNNNNN CCCCCCCCCCCCCCCC\n": the name of the
 *                        manifest in force, its number in hex, and the hex
 *                        xxh3-64 (seed MANIFEST_SEED) of that name
 *     manifest-NNNNNNNN  header, then records, each at a multiple of 8
 *     manifest-NNNNNNNN.copy  the same bytes
 *
 *     header    0  u64  magic "WIDEMANI"
 *               8  u32  format, 3; 2 in manifests without ADD_IN, 1 in those without SEALED
 *              12  u32  0
 *              16  u64  number of this manifest
 *              24  u64  xxh3-64 of bytes 0..23, seed MANIFEST_SEED
 *     record    0  u32  bytes of the payload, > 0
 *               4  u32  magic "EDIT"
 *               8  u64  xxh3-64 of the payload, seed: record_seed()
 *              16       payload, then zeros to a multiple of 8
 *     payload   items: varint tag, then
 *               1 SNAPSHOT               (nothing) forget all before this record
 *               2 ADD                    file meta, see file_meta_put
 *               3 REMOVE                 varint file number
 *               4 FLUSHED                varint seq
 *               5 RESTART                varint lsn
 *               6 NEXT_FILE              varint number
 *               7 LAST_TS                varint zigzag timestamp
 *               8 CATALOG                varint length, dump (see catalog.c)
 *               9 LOG                    varint id of the log, varint branch
 *              10 SEALED                 varint lsn
 *              11 ADD_IN                 varint container, varint offset, file meta
 *     An ADD and a REMOVE of one number in one record: the file changes its
 *     meta (level).  Order within a record is as written: REMOVE before ADD.
 *
 * Invariants
 *  - A record is acknowledged only after its sync.
 *  - A record that could not be written whole is not in force, and nothing is ever
 *    written behind it: the next edit begins a new manifest, which is in force when
 *    CURRENT names it.  Until then a full disk fails the edit and nothing else.
 *  - If it is unknown whether the disk has an edit (a sync or a rename has failed),
 *    the store is poisoned; recovery takes what it finds.
 *  - The seed contains number and offset, so bytes of another file or another place
 *    never verify.  A bad record with a good one behind it is therefore damage
 *    (WIDE_CORRUPT); a bad record at the end is the torn tail of an edit that was
 *    never acknowledged.
 *  - After recovery the first edit always begins a new manifest, so nothing is ever
 *    appended behind a torn tail.
 *  - Of the manifest and its copy only one has bytes in flight.  An edit first syncs the
 *    copy, which then has all earlier records; then it writes and syncs the manifest, which
 *    acknowledges it; then it writes the copy, whose sync is the next edit's first step.
 *    So after a crash at any place one of the two has all acknowledged records, whatever
 *    became of the other's tail, and a record that is damaged in one of them is read from
 *    the other: it has the same number and offset there, hence the same checksum.  The cost
 *    is one write for each edit; the sync finds bytes that the system has mostly written.
 *  - A copy that cannot be written or synced fails nothing: the next edit begins a new
 *    manifest, with a new copy.
 *
 * Locking: LOCK_MANIFEST, or recovery.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "engine/set/manifest.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/hash.h"
#include "engine/base/injection_point.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/sst/file_meta.h"
#include "engine/set/directory.h"

#define MANIFEST_SEED	0x6d616e6966657374ull
#define MANIFEST_MAGIC	0x494e414d45444957ull /* "WIDEMANI" */
#define MANIFEST_FORMAT 3
#define MANIFEST_OLDEST 1 /* the oldest format that is read */
#define MANIFEST_HEADER 32
#define RECORD_HEADER	16
#define RECORD_MAGIC	0x54494445u /* "EDIT" */
#define MANIFEST_MAX	((uint64_t) 1 << 30)
#define PATH_BYTES		1100

enum manifest_tag
{
	TAG_SNAPSHOT = 1,
	TAG_ADD,
	TAG_REMOVE,
	TAG_FLUSHED,
	TAG_RESTART,
	TAG_NEXT_FILE,
	TAG_LAST_TS,
	TAG_CATALOG,
	TAG_LOG,
	TAG_SEALED,
	TAG_ADD_IN
};

static uint64_t
record_seed(uint64_t number, uint64_t offset)
{
	return MANIFEST_SEED ^ (number << 40) ^ offset;
}

/* Writes the path of a manifest to the PATH_BYTES bytes at path.  Returns where its name begins. */
static const char *
manifest_path(wide_db *db, uint64_t number, char *path)
{
	snprintf(path, PATH_BYTES, "%s/manifest-%08llx", db->dir, (unsigned long long) number);
	return path + strlen(db->dir) + 1;
}

/* The same for the copy of a manifest. */
static void
copy_path(wide_db *db, uint64_t number, char *path)
{
	snprintf(path, PATH_BYTES, "%s/manifest-%08llx.copy", db->dir, (unsigned long long) number);
}

/* ----------------------------------------------------------------- edits */

static wide_status
put_item(buffer *b, enum manifest_tag tag, uint64_t v)
{
	TRY(buffer_append_varint(b, tag));
	return buffer_append_varint(b, v);
}

wide_status
manifest_encode(const manifest_edit *e, buffer *out)
{
	if (e->snapshot)
		TRY(buffer_append_varint(out, TAG_SNAPSHOT));
	for (int i = 0; i < e->nremove; i++)
		TRY(put_item(out, TAG_REMOVE, e->remove[i]));
	for (int i = 0; i < e->nadd; i++)
	{
		const file_meta *f = &e->add[i];

		TRY(buffer_append_varint(out, f->container != 0 ? TAG_ADD_IN : TAG_ADD));
		if (f->container != 0)
		{
			TRY(buffer_append_varint(out, f->container));
			TRY(buffer_append_varint(out, f->offset));
		}
		TRY(file_meta_put(out, f));
	}
	if (e->flushed_seq != 0)
		TRY(put_item(out, TAG_FLUSHED, e->flushed_seq));
	if (e->restart_lsn != 0)
		TRY(put_item(out, TAG_RESTART, e->restart_lsn));
	if (e->sealed_lsn != 0)
		TRY(put_item(out, TAG_SEALED, e->sealed_lsn));
	if (e->next_file != 0)
		TRY(put_item(out, TAG_NEXT_FILE, e->next_file));
	TRY(put_item(out, TAG_LAST_TS, zigzag(e->last_ts)));
	if (e->log_id != 0)
	{
		TRY(put_item(out, TAG_LOG, e->log_id));
		TRY(buffer_append_varint(out, e->log_branch));
	}
	if (e->catalog.data != NULL)
	{
		TRY(put_item(out, TAG_CATALOG, e->catalog.len));
		TRY(buffer_append(out, e->catalog.data, e->catalog.len));
	}
	return WIDE_OK;
}

/* An edit that is being decoded, and its arrays. */
typedef struct decoded
{
	manifest_edit e;
	buffer add;	   /* of file_meta */
	buffer remove; /* of uint64_t */
} decoded;

/* Decodes ADD or ADD_IN.  Returns as decode_number. */
static const uint8_t *
decode_file(decoded *d, bool in, const uint8_t *p, const uint8_t *end, wide_status *st)
{
	uint64_t container = 0, offset = 0;
	file_meta f;

	if (in && ((p = varint_get(p, end, &container)) == NULL || container == 0 ||
			   (p = varint_get(p, end, &offset)) == NULL))
		return NULL;
	if ((p = file_meta_get(p, end, &f)) == NULL || offset > UINT64_MAX - f.bytes)
		return NULL;
	f.container = container;
	f.offset = offset;
	*st = buffer_append(&d->add, &f, sizeof f);
	d->e.nadd++;
	return p;
}

/* Decodes an item other than SNAPSHOT, ADD and ADD_IN.  Returns the end of the item; NULL if it is
 * malformed. */
static const uint8_t *
decode_number(decoded *d, uint64_t tag, const uint8_t *p, const uint8_t *end, wide_status *st)
{
	uint64_t v;

	if ((p = varint_get(p, end, &v)) == NULL)
		return NULL;
	switch (tag)
	{
		case TAG_REMOVE:
			*st = buffer_append(&d->remove, &v, sizeof v);
			d->e.nremove++;
			break;
		case TAG_FLUSHED:
			d->e.flushed_seq = v;
			break;
		case TAG_RESTART:
			d->e.restart_lsn = v;
			break;
		case TAG_SEALED:
			d->e.sealed_lsn = v;
			break;
		case TAG_NEXT_FILE:
			d->e.next_file = v;
			break;
		case TAG_LAST_TS:
			d->e.last_ts = unzigzag(v);
			break;
		case TAG_LOG:
			d->e.log_id = v;
			if ((p = varint_get(p, end, &v)) == NULL || v > UINT32_MAX)
				return NULL;
			d->e.log_branch = (uint32_t) v;
			break;
		case TAG_CATALOG:
			if (v > (uint64_t) (end - p))
				return NULL;
			d->e.catalog = (wide_bytes) {p, v};
			p += v;
			break;
		default:
			return NULL;
	}
	return p;
}

static wide_status
manifest_decode(wide_bytes payload, decoded *d)
{
	const uint8_t *p = payload.data, *end = p + payload.len;
	wide_status st = WIDE_OK;

	d->add.len = d->remove.len = 0;
	d->e = (manifest_edit) {.last_ts = INT64_MIN};
	while (p != NULL && p < end && st == WIDE_OK)
	{
		uint64_t tag;

		if ((p = varint_get(p, end, &tag)) == NULL)
			break;
		if (tag == TAG_SNAPSHOT)
			d->e.snapshot = true;
		else if (tag == TAG_ADD || tag == TAG_ADD_IN)
			p = decode_file(d, tag == TAG_ADD_IN, p, end, &st);
		else
			p = decode_number(d, tag, p, end, &st);
	}
	if (st != WIDE_OK)
		return st;
	if (p == NULL)
		return status_fail(WIDE_CORRUPT,
						   "a record of the manifest has a valid checksum but cannot be decoded");
	d->e.add = (const file_meta *) d->add.data;
	d->e.remove = (const uint64_t *) d->remove.data;
	return WIDE_OK;
}

/* --------------------------------------------------------------- writing */

/* Appends to the buffer the record for this manifest and offset. */
static wide_status
record_make(buffer *b, uint64_t number, uint64_t offset, wide_bytes payload)
{
	static const uint8_t zeros[8];
	uint8_t head[RECORD_HEADER];

	if (payload.len == 0 || payload.len > UINT32_MAX)
		return status_fail(WIDE_LIMIT, "a record of the manifest cannot have %zu bytes",
						   payload.len);
	put_u32le(head, (uint32_t) payload.len);
	put_u32le(head + 4, RECORD_MAGIC);
	put_u64le(head + 8, hash_xxh3(payload.data, payload.len, record_seed(number, offset)));
	TRY(buffer_append(b, head, sizeof head));
	TRY(buffer_append(b, payload.data, payload.len));
	return buffer_append(b, zeros, (size_t) (-payload.len & 7));
}

/* Returns the status of a call on a file. */
static wide_status
file_call(int64_t n, const char *what, const char *path)
{
	return n < 0 ? os_fail(n, what, path) : WIDE_OK;
}

/* The same for a call after whose failure it is unknown whether the disk has the edit: poisons the
 * store. */
static wide_status
sure_call(wide_db *db, int64_t n, const char *what)
{
	char text[200];

	if (n >= 0)
		return WIDE_OK;
	snprintf(text, sizeof text, "%s failed: %s", what, strerror((int) -n));
	wide_poison(db, text);
	return status_fail(WIDE_IO, "%s", text);
}

/*
 * Syncs the copy (data NULL), or writes bytes to it.  A failure is not one of the edit: the next
 * edit begins a new manifest.
 */
static bool
copy_call(wide_db *db, const void *data, size_t len, uint64_t offset)
{
	char path[PATH_BYTES];
	int64_t n;
	int fd;

	copy_path(db, db->seg->set.manifest_number, path);
	fd = db->os->open(db->os, path, O_RDWR);
	if (fd < 0)
		return false;
	n = data != NULL ? db->os->pwrite(db->os, fd, data, len, offset) : db->os->sync(db->os, fd);
	db->os->close(db->os, fd);
	return n >= 0;
}

/*
 * Returns true if the manifest alone is missing: CURRENT names it.  Otherwise the directory may be
 * another one (not mounted, moved away), in which nothing may be written: what is written there
 * lets WAL go that the store needs when its directory is back.
 */
static bool
only_manifest_missing(wide_db *db, int error)
{
	uint64_t number;

	return error == -ENOENT && manifest_current(db, &number) == WIDE_OK &&
		   number == db->seg->set.manifest_number;
}

wide_status
manifest_append(wide_db *db, wide_bytes payload)
{
	set_state *set = &db->seg->set;
	buffer record = {0};
	char path[PATH_BYTES];
	int fd = -1;
	int64_t n;
	bool copied = copy_call(db, NULL, 0, 0);
	wide_status st;

	manifest_path(db, set->manifest_number, path);
	TRY_GOTO(record_make(&record, set->manifest_number, set->manifest_size, payload));
	fd = db->os->open(db->os, path, O_RDWR);
	/* the next edit writes another one, and does not fail for that */
	if (fd < 0 && only_manifest_missing(db, fd))
		set->manifest_size = UINT64_MAX;
	TRY_GOTO(file_call(fd, "open file", path));
	n = db->os->pwrite(db->os, fd, record.data, record.len, set->manifest_size);
	/* part of a record may be there now */
	if (n < 0)
		set->manifest_size = UINT64_MAX;
	TRY_GOTO(file_call(n, "write file", path));
	injection_point("manifest-append");
	TRY_GOTO(sure_call(db, db->os->sync(db->os, fd), "syncing the manifest"));
	injection_point("manifest-sync");
	copied = copied && copy_call(db, record.data, record.len, set->manifest_size);
	set->manifest_size = copied ? set->manifest_size + record.len : UINT64_MAX;
done:
	if (fd >= 0)
		db->os->close(db->os, fd);
	buffer_free(&record);
	return st;
}

/* Writes, syncs and closes a whole file.  Removes it if that fails. */
static wide_status
write_file(wide_db *db, const char *path, const void *data, size_t len)
{
	int fd = os_create(db->os, path);
	int64_t n = fd;

	if (fd >= 0)
	{
		n = db->os->pwrite(db->os, fd, data, len, 0);
		if (n >= 0)
			n = db->os->sync(db->os, fd);
		db->os->close(db->os, fd);
	}
	if (n < 0)
		db->os->unlink(db->os, path);
	return file_call(n, "write file", path);
}

/* Removes a manifest and its copy, if that is possible. */
static void
remove_manifest(wide_db *db, uint64_t number)
{
	char path[PATH_BYTES];

	manifest_path(db, number, path);
	db->os->unlink(db->os, path);
	copy_path(db, number, path);
	db->os->unlink(db->os, path);
}

wide_status
manifest_switch(wide_db *db, wide_bytes snapshot)
{
	set_state *set = &db->seg->set;
	uint64_t last = set->manifest_number > set->manifest_last ? set->manifest_number
															  : set->manifest_last;
	uint64_t number = last + 1;
	buffer b = {0};
	uint8_t head[MANIFEST_HEADER] = {0};
	char text[80], path[PATH_BYTES], copy[PATH_BYTES], tmp[PATH_BYTES], current[PATH_BYTES];
	const char *name = manifest_path(db, number, path);
	bool renamed = false;
	int rc;
	wide_status st;

	put_u64le(head, MANIFEST_MAGIC);
	put_u32le(head + 8, MANIFEST_FORMAT);
	put_u64le(head + 16, number);
	put_u64le(head + 24, hash_xxh3(head, 24, MANIFEST_SEED));
	TRY_GOTO(buffer_append(&b, head, sizeof head));
	TRY_GOTO(record_make(&b, number, sizeof head, snapshot));
	copy_path(db, number, copy);
	TRY_GOTO(write_file(db, path, b.data, b.len));
	TRY_GOTO(write_file(db, copy, b.data, b.len));
	snprintf(text, sizeof text, "%s %016llx\n", name,
			 (unsigned long long) hash_xxh3(name, strlen(name), MANIFEST_SEED));
	snprintf(tmp, sizeof tmp, "%s/CURRENT.tmp", db->dir);
	snprintf(current, sizeof current, "%s/CURRENT", db->dir);
	TRY_GOTO(write_file(db, tmp, text, strlen(text)));
	rc = db->os->syncdir(db->os, db->dir);
	if (rc < 0)
		db->os->unlink(db->os, tmp);
	TRY_GOTO(file_call(rc, "sync directory", db->dir));
	rc = db->os->rename(db->os, tmp, current);
	renamed = rc == 0 || rc == -EIO; /* perhaps */
	if (rc == -EIO)
		TRY_GOTO(sure_call(db, rc, "switching to a new manifest"));
	TRY_GOTO(file_call(rc, "rename file", tmp));
	injection_point("manifest-switch");
	TRY_GOTO(sure_call(db, db->os->syncdir(db->os, db->dir), "syncing the directory"));
	/* the old manifest is not needed, unless the directory is being copied or files are missing
	 * (see file_set_load.c); recovery removes it otherwise */
	if (set->manifest_number != 0 && set->lost == 0 && !host_files_held(db))
		remove_manifest(db, set->manifest_number);
	set->manifest_number = number;
	set->manifest_size = b.len;
done:
	/* without CURRENT the newest manifest would be taken for the one in force */
	if (st != WIDE_OK && !renamed)
		remove_manifest(db, number);
	buffer_free(&b);
	return st;
}

/* --------------------------------------------------------------- reading */

/* Reads the whole file, and one byte of room behind it; WIDE_NOTFOUND if it does not exist. */
static wide_status
read_file(wide_db *db, const char *path, buffer *b)
{
	int fd = db->os->open(db->os, path, O_RDONLY);
	int64_t n;
	wide_status st;

	if (fd == -ENOENT)
		return WIDE_NOTFOUND;
	if (fd < 0)
		return status_fail(WIDE_IO, "could not open %s: %s", path, strerror(-fd));
	n = db->os->size(db->os, fd);
	if (n < 0 || (uint64_t) n > MANIFEST_MAX)
	{
		st = status_fail(n < 0 ? WIDE_IO : WIDE_CORRUPT, "%s has an impossible size", path);
		goto done;
	}
	TRY_GOTO(buffer_reserve(b, (size_t) n + 1));
	n = db->os->pread(db->os, fd, b->data, (size_t) n, 0);
	/* of a bad sector the bytes are lost as if they had changed */
	if (n < 0)
		st = status_fail(n == -EIO ? WIDE_CORRUPT : WIDE_IO, "could not read %s: %s", path,
						 strerror((int) -n));
	else
		b->len = (size_t) n;
done:
	db->os->close(db->os, fd);
	return st;
}

wide_status
manifest_current(wide_db *db, uint64_t *number)
{
	buffer b = {0};
	char path[PATH_BYTES], manifest[PATH_BYTES];
	const char *name;
	unsigned long long got = 0, check = 0;
	int used = 0;
	wide_status st;

	snprintf(path, sizeof path, "%s/CURRENT", db->dir);
	st = read_file(db, path, &b);
	if (st == WIDE_NOTFOUND)
		st = status_fail(WIDE_NOTFOUND, "%s is missing", path);
	if (st != WIDE_OK)
		goto done;
	b.data[b.len] = 0;
	if (sscanf((char *) b.data, "manifest-%16llx %16llx\n%n", &got, &check, &used) != 2)
		used = -1;
	name = manifest_path(db, got, manifest);
	if ((size_t) used != b.len || !hash_verify(name, strlen(name), MANIFEST_SEED, check))
		st = status_fail(WIDE_CORRUPT, "%s is damaged", path);
	*number = got;
done:
	buffer_free(&b);
	return st;
}

/* Finds the payload of the record at the offset; false if there is no valid record. */
static bool
record_at(const buffer *b, uint64_t number, uint64_t offset, wide_bytes *payload)
{
	uint32_t len;

	if (b->len < RECORD_HEADER || offset > b->len - RECORD_HEADER)
		return false;
	len = get_u32le(b->data + offset);
	if (len == 0 || get_u32le(b->data + offset + 4) != RECORD_MAGIC ||
		len > b->len - offset - RECORD_HEADER)
		return false;
	*payload = (wide_bytes) {b->data + offset + RECORD_HEADER, len};
	return hash_verify(payload->data, len, record_seed(number, offset),
					   get_u64le(b->data + offset + 8));
}

/* The two copies of a manifest, in memory. */
typedef struct copies
{
	buffer b[2]; /* the manifest, its copy */
	uint64_t number;
	char path[PATH_BYTES]; /* of the manifest */
	uint64_t damage;	   /* offset of the first record that only the copy has; 0: none */
} copies;

/* Finds the record at the offset in the manifest, or else in its copy. */
static bool
record_in_either(copies *c, uint64_t offset, wide_bytes *payload)
{
	if (record_at(&c->b[0], c->number, offset, payload))
		return true;
	if (!record_at(&c->b[1], c->number, offset, payload))
		return false;
	/* a manifest that ends before is not damaged: it was copied before the record was appended */
	if (c->damage == 0 && offset + RECORD_HEADER + payload->len <= c->b[0].len)
		c->damage = offset;
	return true;
}

/* Checks that no record follows the end of the records at `at`. */
static wide_status
check_end(wide_db *db, copies *c, uint64_t at)
{
	size_t len = c->b[0].len > c->b[1].len ? c->b[0].len : c->b[1].len;
	uint64_t damage = c->damage;
	wide_bytes payload;

	for (uint64_t later = at + 8; later < len; later += 8)
		if (record_in_either(c, later, &payload))
			return status_fail(WIDE_CORRUPT, "%s is damaged at offset %llu", c->path,
							   (unsigned long long) at);
	c->damage = damage;
	if (at < len && db->host.report != NULL)
		db->host.report(db->host.ctx, 1,
						"widetable: ignoring an unfinished edit at the end of the manifest");
	return WIDE_OK;
}

/* manifest_read for a manifest that is in c. */
static wide_status
read_records(wide_db *db, copies *c, manifest_fn fn, void *arg)
{
	decoded d = {0};
	uint64_t at = MANIFEST_HEADER;
	wide_bytes payload;
	wide_status st = WIDE_OK;

	while (record_in_either(c, at, &payload))
	{
		TRY_GOTO(manifest_decode(payload, &d));
		if (at == MANIFEST_HEADER && !d.e.snapshot)
			break;
		TRY_GOTO(fn(arg, &d.e));
		at += RECORD_HEADER + payload.len + (-payload.len & 7);
	}
	if (at == MANIFEST_HEADER)
	{
		st = status_fail(WIDE_CORRUPT, "%s does not begin with a snapshot", c->path);
		goto done;
	}
	st = check_end(db, c, at);
done:
	buffer_free(&d.add);
	buffer_free(&d.remove);
	return st;
}

static bool
header_valid(const buffer *b, uint64_t number)
{
	return b->len >= MANIFEST_HEADER && get_u64le(b->data) == MANIFEST_MAGIC &&
		   get_u64le(b->data + 16) == number &&
		   hash_verify(b->data, 24, MANIFEST_SEED, get_u64le(b->data + 24));
}

/* Reads the manifest and its copy.  One of them may be missing. */
static wide_status
read_copies(wide_db *db, copies *c)
{
	char path[PATH_BYTES];
	wide_status st, copied;

	manifest_path(db, c->number, c->path);
	copy_path(db, c->number, path);
	copied = read_file(db, path, &c->b[1]);
	st = read_file(db, c->path, &c->b[0]);
	if (copied == WIDE_NOMEM || st == WIDE_NOMEM)
		return WIDE_NOMEM;
	if (copied == WIDE_OK && st != WIDE_OK)
		c->damage = MANIFEST_HEADER;
	else if (st == WIDE_NOTFOUND)
		return status_fail(WIDE_CORRUPT, "%s is missing", c->path);
	else if (st != WIDE_OK)
		return st;
	return WIDE_OK;
}

wide_status
manifest_read(wide_db *db, uint64_t number, manifest_fn fn, void *arg)
{
	copies c = {.number = number};
	char text[PATH_BYTES + 100];
	const uint8_t *head;
	wide_status st;

	TRY_GOTO(read_copies(db, &c));
	head = header_valid(&c.b[0], number)   ? c.b[0].data
		   : header_valid(&c.b[1], number) ? c.b[1].data
										   : NULL;
	if (head == NULL)
	{
		st = status_fail(WIDE_CORRUPT, "%s has a damaged header", c.path);
		goto done;
	}
	if (get_u32le(head + 8) < MANIFEST_OLDEST || get_u32le(head + 8) > MANIFEST_FORMAT)
	{
		st = status_fail(WIDE_INVALID, "%s has format %u, this version reads formats %u to %u",
						 c.path, get_u32le(head + 8), MANIFEST_OLDEST, MANIFEST_FORMAT);
		goto done;
	}
	if (head != c.b[0].data && c.damage == 0)
		c.damage = 8;
	st = read_records(db, &c, fn, arg);
	if (c.damage != 0)
		db->seg->set.repair = 1;
	if (c.damage != 0 && db->host.report != NULL)
	{
		snprintf(text, sizeof text, "%s is missing or damaged at offset %llu: reading its copy",
				 c.path, (unsigned long long) c.damage);
		db->host.report(db->host.ctx, 1, text);
	}
done:
	buffer_free(&c.b[0]);
	buffer_free(&c.b[1]);
	return st;
}

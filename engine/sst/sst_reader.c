/*
 * sst_reader.c - open sorted files: descriptors, top indexes, blocks, filters.
 *
 * A reader holds what is needed of a file to find a block: its properties and the top index, parsed
 * into an array of partitions.  Index, filter and data blocks go through the block cache.  Readers
 * are kept in a hash table; beyond MAX_OPEN the one that was used longest ago and is not pinned is
 * closed.  It is searched for, which takes a fraction of the time that opening a file takes.
 * Readers of sorted files that share a container share its descriptor, so there are never more
 * descriptors than readers.
 *
 * Invariants: nothing that comes from the file is trusted.  A handle is used only if it lies inside
 * the file, a block only if its checksum is right.  The checksum covers file number and offset, so
 * that a block in a wrong place is found, too.  (Fuzzers are built without checksums; they would
 * not get past them.)
 *
 * Locking: none but the cache's, everything here is private to the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "engine/sst/sst_reader.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/key.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "engine/shared/cache.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/sst/block.h"
#include "engine/sst/bloom.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_properties.h"
#include "engine/sst/sst_read_ahead.h"

#define MAX_OPEN	  256				/* readers in the table */
#define BUCKETS		  256				/* a power of two */
#define SCRATCH_KEEP  (4 * 1024 * 1024) /* a larger buffer is freed after each block */
/* After FILTER_TRIAL answers "perhaps" in succession a filter is asked every 8th time only. */
#define FILTER_TRIAL  1024
#define FILTER_SAMPLE 7 /* times that it is not asked */

/* A file of the directory that is open for readers of several sorted files in it. */
struct open_container
{
	struct open_container *next;
	uint64_t number;
	int fd;
	int readers;
};

/* The open files of a process. */
struct sst_readers
{
	sst_reader *bucket[BUCKETS];				/* by number */
	struct open_container *containers[BUCKETS]; /* by number */
	int n;
	uint64_t uses; /* calls of sst_reader_get */
	buffer stored; /* a block as it is in the file */
	ZSTD_DCtx *zstd;
};

/* The number that the file's own bytes have. */
static uint64_t
written_number(const sst_reader *r)
{
	return r->number & ~FILE_ALIAS;
}

wide_status
sst_reader_corrupt(const sst_reader *r, uint64_t off, const char *what)
{
	wide_status st = status_fail(WIDE_CORRUPT, "file %08llx.sst at offset %llu: %s",
								 (unsigned long long) r->container,
								 (unsigned long long) (r->file.base + off), what);

	status_damage(r->number, r->container, r->file.base + off);
	return st;
}

/* Adds the file and the range of its rows to a failure to open it. */
static wide_status
unreadable(const file_meta *meta, wide_status st)
{
	if (st == WIDE_CORRUPT || st == WIDE_IO)
	{
		if (wide_error_damage() == NULL)
			status_damage(meta->number, file_container(meta),
						  meta->container != 0 ? meta->offset : 0);
		status_damage_range(meta->number, meta->family, meta->min_row, meta->min_len, meta->max_row,
							meta->max_len);
	}
	return st;
}

static wide_status
readers_get(wide_db *db, struct sst_readers **out)
{
	if (db->readers == NULL)
		db->readers = calloc(1, sizeof(*db->readers));
	if (db->readers != NULL && db->readers->zstd == NULL)
		db->readers->zstd = ZSTD_createDCtx();
	if (db->readers == NULL || db->readers->zstd == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for the list of open files");
	*out = db->readers;
	return WIDE_OK;
}

/* ---------------------------------------------------------------- blocks */

/* Reads a block with its trailer, unchecked.  *p points into `ahead` or, if that is NULL, into the
 * readers' buffer. */
static wide_status
read_stored(sst_reader *r, sst_handle h, sst_read_ahead *ahead, const uint8_t **p)
{
	buffer *stored = &r->db->readers->stored;
	size_t n = (size_t) h.len + SST_TRAILER;
	int64_t got;

	if (h.off > r->file.size || n > r->file.size - h.off)
		return sst_reader_corrupt(r, h.off, "a block reaches beyond the end of the file");
	if (ahead != NULL)
		TRY(sst_read_ahead_get(&r->file, ahead, n, h.off, p, &got));
	else
	{
		stored->len = 0;
		TRY(buffer_reserve(stored, n));
		*p = stored->data;
		host_waits(r->db, WIDE_WAIT_READ);
		got = r->file.os->pread(r->file.os, r->file.fd, stored->data, n, r->file.base + h.off);
		host_waits(r->db, WIDE_WAIT_NONE);
	}
	if (got < 0)
	{
		char path[SST_PATH];
		wide_status st;

		sst_file_path(r->db, r->container, path, sizeof(path));
		st = os_fail(got, "read file", path);
		status_damage(r->number, r->container, r->file.base + h.off);
		return st;
	}
	if ((size_t) got < n)
		return sst_reader_corrupt(r, h.off, "the file is shorter than it was");
	return WIDE_OK;
}

/* Uncompresses a block into raw_len bytes at `to`. */
static wide_status
expand(sst_reader *r, sst_handle h, const uint8_t *p, uint8_t *to, uint32_t raw_len)
{
	size_t n;

	if (p[h.len] == 0)
	{
		memcpy(to, p, raw_len);
		return WIDE_OK;
	}
	n = ZSTD_decompressDCtx(r->db->readers->zstd, to, raw_len, p, h.len);
	if (ZSTD_isError(n) || n != raw_len)
		return sst_reader_corrupt(r, h.off, "a block cannot be uncompressed");
	return WIDE_OK;
}

wide_status
sst_reader_block(sst_reader *r, sst_handle h, int flags, bool high, sst_read_ahead *ahead,
				 block_ref *out, bool *cached)
{
	struct sst_readers *rs = r->db->readers;
	bool found = (flags & SST_DISK) == 0 && cache_get(r->db, r->number, h.off, out);
	const uint8_t *p;
	cache_place place;
	uint32_t raw_len;
	wide_status st;

	if (cached != NULL)
		*cached = found;
	if (found || (flags & SST_CACHED) != 0)
		return found ? WIDE_OK : WIDE_END;
	TRY(read_stored(r, h, ahead, &p));
	if (!hash_verify(p, (size_t) h.len + 5, sst_file_seed(written_number(r), h.off),
					 get_u64le(p + h.len + 5)))
		return sst_reader_corrupt(r, h.off, "the checksum of a block is wrong");
	raw_len = get_u32le(p + h.len + 1);
	if (p[h.len] > 1 || raw_len == 0 || raw_len > SST_BLOCK_MAX ||
		(p[h.len] == 0 && raw_len != h.len) ||
		(p[h.len] == 1 && ZSTD_getFrameContentSize(p, h.len) != raw_len))
		return sst_reader_corrupt(r, h.off, "the trailer of a block is malformed");
	if ((flags & SST_NO_CACHE) != 0 || raw_len > SST_CACHE_MAX)
	{
		place = (cache_place) {.to = malloc(raw_len), .len = raw_len, .place = UINT32_MAX};
		if (place.to == NULL)
			return status_fail(WIDE_NOMEM, "out of memory: %u bytes", raw_len);
	}
	else
	{
		TRY(cache_reserve(r->db, r->number, h.off, raw_len, high, &place, out));
		if (place.to == NULL)
			return WIDE_OK;
	}
	st = expand(r, h, p, place.to, raw_len);
	if (rs->stored.cap > SCRATCH_KEEP)
		buffer_free(&rs->stored);
	if (st == WIDE_OK)
		return cache_publish(r->db, &place, out);
	cache_abandon(r->db, &place);
	return st;
}

static bool
handle_inside(const sst_reader *r, uint64_t off, uint64_t len)
{
	return len <= UINT32_MAX - SST_TRAILER && off <= r->body && len + SST_TRAILER <= r->body - off;
}

wide_status
sst_reader_handle(const sst_reader *r, const entry *e, sst_handle *h)
{
	const uint8_t *end = e->value + e->vlen;
	const uint8_t *p;
	uint64_t off;
	uint64_t len;

	if ((p = varint_get(e->value, end, &off)) == NULL || (p = varint_get(p, end, &len)) == NULL ||
		(p = varint_get(p, end, &h->rows)) == NULL || p != end || !handle_inside(r, off, len))
		return sst_reader_corrupt(r, r->body, "an index entry is malformed");
	h->off = off;
	h->len = (uint32_t) len;
	return WIDE_OK;
}

/* --------------------------------------------------------------- opening */

static bool drop_oldest(struct sst_readers *rs);

static wide_status
parse_partition(sst_reader *r, const entry *e, sst_partition *part)
{
	const uint8_t *p = e->value;
	const uint8_t *end = p + e->vlen;
	uint64_t v[6];

	for (int i = 0; i < 6; i++)
		if ((p = varint_get(p, end, &v[i])) == NULL)
			return sst_reader_corrupt(r, r->body, "a top index entry is malformed");
	if (p != end || !handle_inside(r, v[0], v[1]) || (v[3] > 0 && !handle_inside(r, v[2], v[3])) ||
		v[4] > r->prop.meta.blocks || v[5] > r->prop.meta.rows ||
		(r->nparts > 0 && (v[4] < part[-1].blocks || v[5] < part[-1].rows)))
		return sst_reader_corrupt(r, r->body, "a top index entry is out of range");
	part->last = *e;
	part->index.off = v[0];
	part->index.len = (uint32_t) v[1];
	part->filter.off = v[2];
	part->filter.len = (uint32_t) v[3];
	part->blocks = v[4];
	part->rows = v[5];
	return buffer_append(&r->keys, e->ukey, e->klen);
}

static wide_status
load_top(sst_reader *r, sst_handle h)
{
	block_cursor c = {0};
	block_ref ref = {0};
	int cap = 0;
	size_t off = 0;
	wide_status st;

	TRY(sst_reader_block(r, h, SST_NO_CACHE | SST_DISK, true, NULL, &ref, NULL));
	TRY_GOTO(block_open(&c, ref.data, ref.len));
	TRY_GOTO(block_first(&c));
	while (c.valid)
	{
		TRY_GOTO(array_grow((void **) &r->parts, (int) r->nparts, &cap, sizeof(*r->parts)));
		TRY_GOTO(parse_partition(r, &c.e, &r->parts[r->nparts]));
		r->nparts++;
		TRY_GOTO(block_next(&c));
	}
	/* now that keys is complete and does not move any more */
	for (uint32_t i = 0; i < r->nparts; i++)
	{
		r->parts[i].last.ukey = r->keys.data + off;
		off += r->parts[i].last.klen;
	}
	if (r->nparts == 0 || r->parts[r->nparts - 1].blocks != r->prop.meta.blocks ||
		r->parts[r->nparts - 1].rows != r->prop.meta.rows)
		st = sst_reader_corrupt(r, h.off, "the top index does not cover the file");
done:
	block_close(&c);
	cache_unpin(r->db, &ref);
	return st;
}

static wide_status
load_properties(sst_reader *r, sst_handle h, const file_meta *meta)
{
	block_ref ref = {0};
	bool ok;
	const file_meta *m = &r->prop.meta;

	TRY(sst_reader_block(r, h, SST_NO_CACHE | SST_DISK, true, NULL, &ref, NULL));
	ok = sst_properties_get(ref.data, ref.len, &r->prop);
	cache_unpin(r->db, &ref);
	if (!ok)
		return sst_reader_corrupt(r, h.off, "the meta block is malformed");
	if (m->number != written_number(r) || m->family != meta->family)
		return sst_reader_corrupt(r, h.off, "the meta block is of another file");
	if ((meta->bytes != 0 && meta->bytes != r->file.size) ||
		(meta->cells != 0 && meta->cells != m->cells) || (meta->global_seq != 0 && !r->prop.global))
		return sst_reader_corrupt(r, h.off, "the file is not the one that the manifest lists");
	return WIDE_OK;
}

static wide_status
load_footer(sst_reader *r, const file_meta *meta)
{
	uint8_t f[SST_FOOTER];
	wide_os *os = r->db->os;
	char path[SST_PATH];
	sst_handle top;
	sst_handle prop;
	int64_t n;

	sst_file_path(r->db, r->container, path, sizeof(path));
	if ((n = os->size(os, r->file.fd)) < 0)
		return os_fail(n, "get the size of file", path);
	r->file.size = (uint64_t) n;
	if (meta->container != 0)
	{
		/* the footer is where the manifest says */
		if (meta->offset > r->file.size || meta->bytes > r->file.size - meta->offset)
			return sst_reader_corrupt(r, 0, "the file is too short");
		r->file.size = meta->bytes;
	}
	if (r->file.size < SST_FOOTER)
		return sst_reader_corrupt(r, r->file.size, "the file is too short");
	if ((n = os->pread(os, r->file.fd, f, SST_FOOTER, r->file.base + r->file.size - SST_FOOTER)) <
		0)
		return os_fail(n, "read file", path);
	if (n != SST_FOOTER || get_u64le(f) != SST_MAGIC ||
		!hash_verify(f, 56, SST_MAGIC, get_u64le(f + 56)))
		return sst_reader_corrupt(r, r->file.size - SST_FOOTER, "the footer is damaged");
	if (get_u32le(f + 8) != SST_VERSION)
		return status_fail(WIDE_CORRUPT,
						   "file %08llx.sst has format version %u; this program reads version %u",
						   (unsigned long long) r->number, get_u32le(f + 8), SST_VERSION);
	if (get_u64le(f + 40) != written_number(r))
		return sst_reader_corrupt(r, r->file.size - SST_FOOTER, "the footer is of another file");
	top.off = get_u64le(f + 16);
	top.len = get_u32le(f + 24);
	prop.len = get_u32le(f + 28);
	prop.off = get_u64le(f + 32);
	/* the top index, the meta block and the footer lie at the end of the file without a gap */
	if (top.off > r->file.size || prop.off > r->file.size ||
		prop.off - top.off != (uint64_t) top.len + SST_TRAILER ||
		r->file.size - prop.off != (uint64_t) prop.len + SST_TRAILER + SST_FOOTER)
		return sst_reader_corrupt(r, r->file.size - SST_FOOTER,
								  "the footer does not match the size of the file");
	r->body = top.off;
	TRY(load_properties(r, prop, meta));
	return load_top(r, top);
}

static uint32_t
bucket_number(uint64_t number)
{
	return (uint32_t) (number * 0x9e3779b97f4a7c15ull >> 56) & (BUCKETS - 1);
}

/* Opens the file of the directory; if descriptors have run out, closes readers: other code of the
 * process uses descriptors, too. */
static int
open_file(struct sst_readers *rs, wide_db *db, const char *path)
{
	int fd;

	do
		fd = db->os->open(db->os, path, O_RDONLY);
	while ((fd == -EMFILE || fd == -ENFILE) && drop_oldest(rs));
	return fd;
}

/* Gives the reader the descriptor of its container, which it shares.  r->file.fd: it, or -errno. */
static wide_status
share_container(struct sst_readers *rs, sst_reader *r, const char *path)
{
	struct open_container **first = &rs->containers[bucket_number(r->container)], *c = *first;

	while (c != NULL && c->number != r->container)
		c = c->next;
	if (c == NULL)
	{
		int fd = open_file(rs, r->db, path);

		r->file.fd = fd;
		if (fd < 0)
			return WIDE_OK;
		c = malloc(sizeof(*c));
		if (c == NULL)
			return status_fail(WIDE_NOMEM, "out of memory: %zu bytes", sizeof(*c));
		*c = (struct open_container) {*first, r->container, fd, 0};
		*first = c;
	}
	c->readers++;
	r->open = c;
	r->file.fd = c->fd;
	return WIDE_OK;
}

wide_status
sst_reader_open(wide_db *db, const file_meta *meta, sst_reader **out)
{
	struct sst_readers *rs = NULL;
	char path[SST_PATH];
	sst_reader *r;
	wide_status st = WIDE_OK;

	*out = NULL;
	TRY(readers_get(db, &rs));
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return status_fail(WIDE_NOMEM, "out of memory: %zu bytes", sizeof(*r));
	r->db = db;
	r->file.os = db->os;
	r->file.base = meta->container != 0 ? meta->offset : 0;
	r->number = meta->number;
	r->container = file_container(meta);
	r->global_seq = meta->global_seq;
	sst_file_path(db, r->container, path, sizeof(path));
	if (meta->container != 0)
		st = share_container(rs, r, path);
	else
		r->file.fd = open_file(rs, db, path);
	if (st == WIDE_OK && r->file.fd == -ENOENT)
		st = status_fail(WIDE_CORRUPT, "file \"%s\" is missing", path);
	else if (st == WIDE_OK && r->file.fd < 0)
		st = os_fail(r->file.fd, "open file", path);
	else if (st == WIDE_OK)
		st = load_footer(r, meta);
	if (st != WIDE_OK)
		sst_reader_close(r);
	else
		*out = r;
	return unreadable(meta, st);
}

void
sst_reader_close(sst_reader *r)
{
	struct open_container *c = r->open;

	if (c != NULL && --c->readers == 0)
	{
		struct open_container **link = &r->db->readers->containers[bucket_number(c->number)];

		while (*link != c)
			link = &(*link)->next;
		*link = c->next;
		free(c);
		c = NULL;
	}
	if (c == NULL && r->file.fd >= 0)
		r->db->os->close(r->db->os, r->file.fd);
	free(r->parts);
	buffer_free(&r->keys);
	free(r);
}

/* ------------------------------------------------------------ the readers */

static sst_reader **
bucket_of(struct sst_readers *rs, uint64_t number)
{
	return &rs->bucket[bucket_number(number)];
}

/* Takes a reader out of the list; it is closed now or with its last pin. */
static void
drop(struct sst_readers *rs, sst_reader *r)
{
	sst_reader **p = bucket_of(rs, r->number);

	while (*p != r)
		p = &(*p)->hash_next;
	*p = r->hash_next;
	r->listed = false;
	rs->n--;
	if (r->pins == 0)
		sst_reader_close(r);
}

/* Closes the reader that was used longest ago and is not pinned.  Returns false if there is none.
 */
static bool
drop_oldest(struct sst_readers *rs)
{
	sst_reader *oldest = NULL;

	for (int i = 0; i < BUCKETS; i++)
		for (sst_reader *r = rs->bucket[i]; r != NULL; r = r->hash_next)
			if (r->pins == 0 && (oldest == NULL || r->last_use < oldest->last_use))
				oldest = r;
	if (oldest != NULL)
		drop(rs, oldest);
	return oldest != NULL;
}

wide_status
sst_reader_get(wide_db *db, const file_meta *meta, sst_reader **out)
{
	struct sst_readers *rs = NULL;
	sst_reader **bucket;
	sst_reader *r;

	*out = NULL;
	TRY(readers_get(db, &rs));
	bucket = bucket_of(rs, meta->number);
	for (r = *bucket; r != NULL && r->number != meta->number; r = r->hash_next)
		;
	/* its bytes were copied to another container */
	if (r != NULL && (r->container != file_container(meta) ||
					  (meta->container != 0 && r->file.base != meta->offset)))
	{
		drop(rs, r);
		r = NULL;
	}
	if (r == NULL)
	{
		while (rs->n >= MAX_OPEN && drop_oldest(rs))
			;
		TRY(sst_reader_open(db, meta, &r));
		r->hash_next = *bucket;
		*bucket = r;
		r->listed = true;
		rs->n++;
	}
	r->last_use = ++rs->uses;
	if (r->prop.meta.family != meta->family)
		return sst_reader_corrupt(r, 0, "the file is of another family than listed");
	/* a file that was written before its commit gets its sequence number later, once */
	if (r->global_seq != meta->global_seq)
	{
		if (!r->prop.global || r->global_seq != 0)
			return sst_reader_corrupt(r, 0, "the file already has another sequence number");
		r->global_seq = meta->global_seq;
	}
	r->pins++;
	*out = r;
	return WIDE_OK;
}

void
sst_reader_put(wide_db *db, sst_reader *r)
{
	if (--r->pins == 0 && !r->listed)
		sst_reader_close(r);
}

void
sst_reader_forget(wide_db *db, uint64_t number)
{
	sst_reader *r;

	if (db->readers == NULL)
		return;
	for (r = *bucket_of(db->readers, number); r != NULL && r->number != number; r = r->hash_next)
		;
	if (r != NULL)
		drop(db->readers, r);
}

void
sst_reader_detach(wide_db *db)
{
	struct sst_readers *rs = db->readers;

	if (rs == NULL)
		return;
	for (int i = 0; i < BUCKETS; i++)
		while (rs->bucket[i] != NULL)
			drop(rs, rs->bucket[i]);
	buffer_free(&rs->stored);
	ZSTD_freeDCtx(rs->zstd);
	free(rs);
	db->readers = NULL;
}

/* --------------------------------------------------------------- filters */

uint32_t
sst_reader_find_partition(const sst_reader *r, const uint8_t *ukey, uint32_t klen, int64_t ts,
						  uint64_t seq)
{
	const entry to = {.ukey = ukey, .klen = klen, .ts = ts, .seq = seq, .type = UINT8_MAX};
	uint32_t lo = 0;
	uint32_t hi = r->nparts;

	while (lo < hi)
	{
		uint32_t mid = lo + (hi - lo) / 2;

		if (key_compare(&r->parts[mid].last, &to) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Asks the filter of one partition: the first key >= ukey lies in the first partition that ends at
 * or after it. */
static wide_status
probe(sst_reader *r, const uint8_t *ukey, uint32_t klen, uint64_t hash, bool *may)
{
	uint32_t p = sst_reader_find_partition(r, ukey, klen, INT64_MAX, SEQ_MAX);
	block_ref ref = {0};

	*may = p < r->nparts;
	if (!*may || r->parts[p].filter.len == 0)
		return WIDE_OK;
	TRY(sst_reader_block(r, r->parts[p].filter, 0, true, NULL, &ref, NULL));
	*may = bloom_may_contain(ref.data, ref.len, hash);
	cache_unpin(r->db, &ref);
	return WIDE_OK;
}

static void
count_probe(sst_reader *r, bool may)
{
	counter_add(r->db, COUNTER_BLOOM_CHECKS, 1);
	r->unasked = 0;
	r->perhaps++;
	if (!may)
	{
		r->perhaps = 0;
		counter_add(r->db, COUNTER_BLOOM_SKIPS, 1);
	}
}

/*
 * A question costs a tenth of a look-up in memory, so a filter that saves one look-up in a thousand
 * costs more than it saves; but a look-up that it would have saved may read from the disk.  So
 * after many answers "perhaps" the filter is asked now and then, and each time again from its next
 * "no" on.
 */
bool
sst_reader_bloom_pays(sst_reader *r)
{
	if (r->perhaps < FILTER_TRIAL || r->unasked == FILTER_SAMPLE)
		return true;
	r->unasked++;
	return false;
}

wide_status
sst_reader_may_have_row(sst_reader *r, const uint8_t *row, uint32_t rowlen, bool *may)
{
	*may = true;
	if (r->prop.bloom == WIDE_BLOOM_NONE)
		return WIDE_OK;
	TRY(probe(r, row, rowlen, hash_xxh3(row, rowlen, BLOOM_SEED_ROW), may));
	count_probe(r, *may);
	return WIDE_OK;
}

wide_status
sst_reader_may_have_column(sst_reader *r, const uint8_t *ukey, uint32_t klen, uint32_t rowlen,
						   bool *may)
{
	if (r->prop.bloom != WIDE_BLOOM_ROWCOL)
		return sst_reader_may_have_row(r, ukey, rowlen, may);
	TRY(probe(r, ukey, klen, hash_xxh3(ukey, klen, BLOOM_SEED_ROWCOL), may));
	/* family-wide deletes come first in the row, perhaps in an earlier partition */
	if (!*may && r->prop.family_deletes)
		TRY(probe(r, ukey, rowlen, hash_xxh3(ukey, rowlen, BLOOM_SEED_DELETES), may));
	count_probe(r, *may);
	return WIDE_OK;
}

wide_status
sst_reader_may_have_prefix(sst_reader *r, const uint8_t *prefix, uint32_t len, bool *may)
{
	uint64_t hash;

	*may = true;
	/* len + 2: bloom_prefix_hash() takes a row with a terminator, which it does not read */
	if (r->prop.bloom != WIDE_BLOOM_PREFIX ||
		!bloom_prefix_hash(prefix, len + 2, r->prop.bloom_prefix, &hash))
		return WIDE_OK;
	TRY(probe(r, prefix, len, hash, may));
	count_probe(r, *may);
	return WIDE_OK;
}

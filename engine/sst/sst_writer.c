/*
 * sst_writer.c - writes a sorted file.
 *
 *     part             contents
 *     partition        any number of them, each:
 *       data blocks      entries (block.h), about options.block_size each
 *       filter block     bloom.c, over the rows of these blocks; may be missing
 *       index block      one entry per data block: key = last key of the block
 *                        (ukey, ts, seq), value = varints offset, length, rows
 *                        of the partition up to the end of the block
 *     top index        a block, one entry per partition: key = its last key,
 *                      value = varints: index offset, length, filter offset,
 *                      length (0: none), data blocks and rows up to here
 *     meta block       varints, see sst_properties_put
 *     footer           64 bytes:
 *                      8 magic, 4 version, 4 zero, 8 top index offset,
 *                      4 top index length, 4 meta length, 8 meta offset,
 *                      8 file number, 8 zero, 8 xxh3 of the 56 bytes before
 *
 * Every block (all but the footer) is stored as
 *
 *     length           payload: zstd, or as it is
 *     1                compression: 0 none, 1 zstd
 *     4                uncompressed length, u32
 *     8                xxh3 of all before, seed: sst_file_seed()
 *
 * Blocks follow each other without gaps, so that verification accounts for every byte.  A partition
 * ends when its index has 16 KiB or its filter 32768 keys: both must be small enough for the block
 * cache.  A row that goes on in the next partition is in the filters of both.
 *
 * A data block is complete before its place in the file is known: blocks may be compressed in
 * groups by a helper thread (sst_writer_use_helper).  What depends on the place, its index entry
 * and the filter of its partition, waits with it, as an ended_block and filter notes.  The bytes of
 * the file do not depend on the helper.
 *
 * The file is made when the first bytes are written to it, so a small sorted file need not have
 * one: its bytes can go into a container with those of others.
 *
 * Invariants: a file has its final name only when it is complete, and synced unless its bytes go
 * into the log (sst_writer_unsynced).  A writer that has failed stays failed.
 *
 * Locking: none.  A group belongs to the helper thread from helper_submit() to helper_wait(); all
 * else is private.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "engine/sst/sst_writer.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/hash.h"
#include "engine/base/helper.h"
#include "engine/base/injection_point.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/sst/block_builder.h"
#include "engine/sst/bloom.h"
#include "engine/sst/sst_file.h"
#include "engine/sst/sst_properties.h"
#include "engine/sst/sst_tally.h"

#define INDEX_PARTITION (16 * 1024) /* bytes of an index block that end a partition */
#define FILTER_KEYS		32768		/* keys of a filter that end a partition */
#define WRITE_BUFFER	(256 * 1024)
#define GROUPS			4
#define GROUP_BLOCKS	8
#define GROUP_BYTES		((size_t) 256 * 1024) /* larger blocks are not compressed in groups */

enum note_kind
{
	NOTE_FRESH = 1, /* counts only if the block is the first of its partition */
	NOTE_PREFIX = 2 /* of a prefix: does not count if it equals the prefix before */
};

/* A hash for the filter of the partition in which its block will lie. */
typedef struct note
{
	uint64_t hash;
	uint64_t kind; /* enum note_kind */
} note;

/* A data block that is complete, but not yet in the file. */
typedef struct ended_block
{
	entry last;	   /* its last entry; only the key counts */
	uint64_t rows; /* of the file up to its end */
	const note *notes;
	size_t nnotes;
	/* in a group: offsets in the group's buffers, which replace last.ukey and notes */
	size_t key, note, raw, packed;
	size_t raw_len;
	size_t packed_len; /* 0: compression does not pay */
} ended_block;

/* Blocks that the helper thread compresses as one job. */
typedef struct group
{
	helper_job job; /* first, so that the job is the group */
	ZSTD_CCtx *zstd;
	int level;
	size_t failed; /* zstd's error, or 0 */
	int n;
	ended_block blocks[GROUP_BLOCKS];
	buffer raw, keys, notes, packed;
} group;

struct sst_writer
{
	wide_db *db;
	wide_status failed;
	sst_tally tally;
	/* options */
	wide_family_options opt;
	bool global;
	bool unsynced;
	/* blocks under construction */
	block_builder *data, *index, *top;
	buffer notes;	  /* of the current data block */
	bool row_deletes; /* the current row has family-wide deletes */
	/* the current partition */
	bloom_builder *filter; /* NULL: the family has none */
	uint32_t filter_keys;
	uint64_t rows_before;
	bool fresh; /* its filter is empty */
	bool prefix_known;
	uint64_t prefix_hash; /* the last one added, if prefix_known */
	/* compression */
	ZSTD_CCtx *zstd;
	helper *helper;			/* NULL: none */
	ZSTD_CCtx *helper_zstd; /* used by the thread only */
	group *groups;			/* a ring of GROUPS; NULL while the file is small */
	int oldest,
		submitted; /* groups [oldest, oldest + submitted) are the thread's; the next is filled */
	/* the file */
	int fd;		  /* -1: not made yet */
	buffer out;	  /* what is not yet written */
	uint64_t off; /* of out in the file */
	char path[SST_PATH];
	char tmp[SST_PATH + 4];
};

/* ---------------------------------------------------------------- output */

/* Makes the file, under its temporary name. */
static wide_status
create_file(sst_writer *w)
{
	sst_file_path(w->db, w->tally.meta.number, w->path, sizeof(w->path));
	snprintf(w->tmp, sizeof(w->tmp), "%s.tmp", w->path);
	/* a crash may have left one */
	w->fd = os_create(w->db->os, w->tmp);
	return w->fd < 0 ? os_fail(w->fd, "create file", w->tmp) : WIDE_OK;
}

static wide_status
write_out(sst_writer *w)
{
	int64_t r;

	if (w->out.len == 0)
		return WIDE_OK;
	if (w->fd < 0)
		TRY(create_file(w));
	r = w->db->os->pwrite(w->db->os, w->fd, w->out.data, w->out.len, w->off);
	if (r < 0)
		return os_fail(r, "write file", w->tmp);
	w->off += w->out.len;
	w->out.len = 0;
	/* do not keep the memory of a giant value */
	if (w->out.cap > 16 * WRITE_BUFFER)
		buffer_free(&w->out);
	return WIDE_OK;
}

/* Completes a block whose payload is already behind the end of out, with room for the trailer. */
static wide_status
append_block(sst_writer *w, size_t len, size_t raw_len, bool compressed, sst_handle *h)
{
	uint64_t off = w->off + w->out.len;
	uint8_t *p = w->out.data + w->out.len;

	p[len] = compressed ? 1 : 0;
	put_u32le(p + len + 1, (uint32_t) raw_len);
	put_u64le(p + len + 5, hash_xxh3(p, len + 5, sst_file_seed(w->tally.meta.number, off)));
	w->out.len += len + SST_TRAILER;
	h->off = off;
	h->len = (uint32_t) len;
	return w->out.len >= WRITE_BUFFER ? write_out(w) : WIDE_OK;
}

static wide_status
compression_failed(size_t error)
{
	return status_fail(WIDE_NOMEM, "compression failed: %s", ZSTD_getErrorName(error));
}

/* Returns true if compression saves enough to pay for the decompression. */
static inline bool
is_packed(size_t len, size_t raw_len)
{
	return len < raw_len - raw_len / 16;
}

/* Writes a block, compressed if that is wanted and pays. */
static wide_status
write_block(sst_writer *w, wide_bytes raw, bool compress, sst_handle *h)
{
	size_t len = 0;

	if (raw.len > SST_BLOCK_MAX)
		return status_fail(WIDE_LIMIT, "a block of %zu bytes is too large", raw.len);
	TRY(buffer_reserve(&w->out, (compress ? ZSTD_compressBound(raw.len) : raw.len) + SST_TRAILER));
	if (compress)
	{
		len = ZSTD_compressCCtx(w->zstd, w->out.data + w->out.len, ZSTD_compressBound(raw.len),
								raw.data, raw.len, w->opt.compression_level);
		if (ZSTD_isError(len))
			return compression_failed(len);
		compress = is_packed(len, raw.len);
	}
	if (!compress)
	{
		TRY(buffer_reserve(&w->out, raw.len + SST_TRAILER));
		memcpy(w->out.data + w->out.len, raw.data, raw.len);
		len = raw.len;
	}
	return append_block(w, len, raw.len, compress, h);
}

/* Adds an index entry: the last key of what the n numbers describe. */
static wide_status
add_index(block_builder *b, const entry *last, const uint64_t *numbers, int n)
{
	uint8_t value[6 * VARINT_MAX];
	uint8_t *p = value;
	entry e = *last;

	for (int i = 0; i < n; i++)
		p = varint_put(p, numbers[i]);
	e.type = ENTRY_PUT;
	e.ttl_us = 0;
	e.value = value;
	e.vlen = (uint32_t) (p - value);
	return block_builder_add(b, &e);
}

/* Writes filter and index of the partition.  last, rows: of its last block. */
static wide_status
end_partition(sst_writer *w, const entry *last, uint64_t rows)
{
	wide_bytes raw = {NULL, 0};
	sst_handle filter = {0};
	sst_handle index;

	if (w->filter != NULL)
		TRY(bloom_builder_finish(w->filter, &raw));
	if (raw.len > 0)
		TRY(write_block(w, raw, false, &filter));
	TRY(block_builder_finish(w->index, false, &raw));
	TRY(write_block(w, raw, w->opt.compression == WIDE_COMPRESS_ZSTD, &index));
	TRY(add_index(w->top, last,
				  (uint64_t[]) {index.off, index.len, filter.off, filter.len, w->tally.meta.blocks,
								rows},
				  6));
	block_builder_reset(w->index);
	if (w->filter != NULL)
		bloom_builder_reset(w->filter);
	w->filter_keys = 0;
	w->rows_before = rows;
	w->fresh = true;
	w->prefix_known = false;
	return WIDE_OK;
}

/* Adds the notes of a block to the partition's filter. */
static wide_status
filter_block(sst_writer *w, const ended_block *b)
{
	for (size_t i = 0; i < b->nnotes; i++)
	{
		const note *n = &b->notes[i];

		if ((n->kind & NOTE_FRESH) && !w->fresh)
			continue;
		if (n->kind & NOTE_PREFIX)
		{
			if (w->prefix_known && w->prefix_hash == n->hash)
				continue;
			w->prefix_known = true;
			w->prefix_hash = n->hash;
		}
		w->filter_keys++;
		TRY(bloom_builder_add(w->filter, n->hash));
	}
	w->fresh = false;
	return WIDE_OK;
}

/* A data block is in the file at h: adds it to index and filter, and ends the partition if it is
 * full. */
static wide_status
place_block(sst_writer *w, const ended_block *b, const sst_handle *h)
{
	TRY(filter_block(w, b));
	w->tally.meta.blocks++;
	TRY(add_index(w->index, &b->last, (uint64_t[]) {h->off, h->len, b->rows - w->rows_before}, 3));
	if (block_builder_size(w->index) >= INDEX_PARTITION || w->filter_keys >= FILTER_KEYS)
		return end_partition(w, &b->last, b->rows);
	return WIDE_OK;
}

/* ---------------------------------------------------------------- groups */

/* The job of the helper thread. */
static void
compress_group(helper_job *job)
{
	group *g = (group *) job;

	for (int i = 0; i < g->n; i++)
	{
		ended_block *b = &g->blocks[i];
		size_t len = ZSTD_compressCCtx(g->zstd, g->packed.data + b->packed,
									   ZSTD_compressBound(b->raw_len), g->raw.data + b->raw,
									   b->raw_len, g->level);

		if (ZSTD_isError(len))
			g->failed = len;
		b->packed_len = !ZSTD_isError(len) && is_packed(len, b->raw_len) ? len : 0;
	}
}

static inline group *
filling(const sst_writer *w)
{
	return &w->groups[(w->oldest + w->submitted) % GROUPS];
}

/* Hands the group that is filled to the helper thread. */
static wide_status
group_submit(sst_writer *w)
{
	group *g = filling(w);
	size_t need = 0;

	if (g->n == 0)
		return WIDE_OK;
	for (int i = 0; i < g->n; i++)
	{
		g->blocks[i].packed = need;
		need += ZSTD_compressBound(g->blocks[i].raw_len);
	}
	TRY(buffer_reserve(&g->packed, need));
	g->job.run = compress_group;
	g->zstd = w->helper_zstd;
	g->level = w->opt.compression_level;
	g->failed = 0;
	w->submitted++;
	helper_submit(w->helper, &g->job);
	return WIDE_OK;
}

/* Waits for the oldest group and writes its blocks. */
static wide_status
group_take(sst_writer *w)
{
	group *g = &w->groups[w->oldest];

	helper_wait(w->helper, &g->job);
	w->oldest = (w->oldest + 1) % GROUPS;
	w->submitted--;
	if (g->failed != 0)
		return compression_failed(g->failed);
	for (int i = 0; i < g->n; i++)
	{
		ended_block *b = &g->blocks[i];
		bool packed = b->packed_len > 0;
		size_t len = packed ? b->packed_len : b->raw_len;
		sst_handle h;

		b->last.ukey = g->keys.data + b->key;
		b->notes = (const note *) (g->notes.data + b->note);
		TRY(buffer_reserve(&w->out, len + SST_TRAILER));
		memcpy(w->out.data + w->out.len, packed ? g->packed.data + b->packed : g->raw.data + b->raw,
			   len);
		TRY(append_block(w, len, b->raw_len, packed, &h));
		TRY(place_block(w, b, &h));
	}
	g->n = 0;
	g->raw.len = g->keys.len = g->notes.len = 0;
	return WIDE_OK;
}

/* Writes all blocks that are in groups. */
static wide_status
groups_take_all(sst_writer *w)
{
	if (w->groups == NULL)
		return WIDE_OK;
	TRY(group_submit(w));
	while (w->submitted > 0)
		TRY(group_take(w));
	return WIDE_OK;
}

/* Copies a block into the group that is filled. */
static wide_status
group_add(sst_writer *w, wide_bytes raw, const ended_block *b)
{
	group *g = filling(w);
	ended_block *to = &g->blocks[g->n];

	*to = *b;
	to->raw = g->raw.len;
	to->raw_len = raw.len;
	to->key = g->keys.len;
	to->note = g->notes.len;
	TRY(buffer_append(&g->raw, raw.data, raw.len));
	TRY(buffer_append(&g->keys, b->last.ukey, b->last.klen));
	TRY(buffer_append(&g->notes, b->notes, b->nnotes * sizeof(note)));
	g->n++;
	if (g->n < GROUP_BLOCKS && g->raw.len < GROUP_BYTES)
		return WIDE_OK;
	TRY(group_submit(w));
	return w->submitted == GROUPS ? group_take(w) : WIDE_OK;
}

/* Begins to use the helper thread, if there is one, the file is large enough and there is memory.
 */
static void
groups_begin(sst_writer *w)
{
	if (w->helper == NULL || w->opt.compression != WIDE_COMPRESS_ZSTD ||
		w->tally.meta.blocks < sst_writer_helper_after)
		return;
	if (w->helper_zstd == NULL)
		w->helper_zstd = ZSTD_createCCtx();
	if (w->helper_zstd != NULL)
		w->groups = calloc(GROUPS, sizeof(*w->groups));
}

static void
groups_free(sst_writer *w)
{
	if (w->groups == NULL)
		return;
	for (; w->submitted > 0; w->submitted--, w->oldest = (w->oldest + 1) % GROUPS)
		helper_wait(w->helper, &w->groups[w->oldest].job);
	for (int i = 0; i < GROUPS; i++)
	{
		buffer_free(&w->groups[i].raw);
		buffer_free(&w->groups[i].keys);
		buffer_free(&w->groups[i].notes);
		buffer_free(&w->groups[i].packed);
	}
	free(w->groups);
}

/* Ends the data block.  goes_on: the next one begins with its last row. */
static wide_status
end_block(sst_writer *w, bool goes_on)
{
	ended_block b = {.last = w->tally.e,
					 .rows = w->tally.meta.rows,
					 .notes = (const note *) w->notes.data,
					 .nnotes = w->notes.len / sizeof(note)};
	wide_bytes raw;
	sst_handle h;

	b.last.ukey = w->tally.last.data;
	TRY(block_builder_finish(w->data, goes_on, &raw));
	if (w->groups == NULL)
		groups_begin(w);
	if (w->groups != NULL && raw.len <= GROUP_BYTES)
		TRY(group_add(w, raw, &b));
	else
	{
		TRY(groups_take_all(w));
		TRY(write_block(w, raw, w->opt.compression == WIDE_COMPRESS_ZSTD, &h));
		TRY(place_block(w, &b, &h));
	}
	block_builder_reset(w->data);
	w->notes.len = 0;
	return WIDE_OK;
}

/* ---------------------------------------------------------------- filter */

static wide_status
add_note(sst_writer *w, uint64_t hash, unsigned kind)
{
	note n = {hash, kind};

	return buffer_append(&w->notes, &n, sizeof(n));
}

/* Makes the notes for the entry that was counted last. */
static wide_status
note_entry(sst_writer *w, const entry *e)
{
	bool begins = block_builder_count(w->data) == 1; /* it begins the block */
	unsigned kind = w->tally.new_row ? 0 : NOTE_FRESH;
	uint64_t hash;

	if (w->tally.new_row)
		w->row_deletes = false;
	if (w->tally.new_row || begins)
	{
		TRY(add_note(w, hash_xxh3(e->ukey, e->rowlen, BLOOM_SEED_ROW), kind));
		if (w->opt.bloom == WIDE_BLOOM_PREFIX &&
			bloom_prefix_hash(e->ukey, e->rowlen, w->opt.bloom_prefix, &hash))
			TRY(add_note(w, hash, kind | NOTE_PREFIX));
	}
	if (w->opt.bloom == WIDE_BLOOM_ROWCOL)
	{
		bool deletes = entry_is_family_delete(e);

		/* once in each partition that has a part of the row */
		if ((deletes && !w->row_deletes) || (w->row_deletes && begins))
			TRY(add_note(w, hash_xxh3(e->ukey, e->rowlen, BLOOM_SEED_DELETES),
						 deletes && !w->row_deletes ? 0 : NOTE_FRESH));
		w->row_deletes |= deletes;
		if (w->tally.new_column || begins)
			TRY(add_note(w, hash_xxh3(e->ukey, e->klen, BLOOM_SEED_ROWCOL),
						 w->tally.new_column ? 0 : NOTE_FRESH));
	}
	return WIDE_OK;
}

/* ---------------------------------------------------------------- writer */

static void
writer_free(sst_writer *w)
{
	groups_free(w);
	ZSTD_freeCCtx(w->helper_zstd);
	buffer_free(&w->notes);
	block_builder_free(w->data);
	block_builder_free(w->index);
	block_builder_free(w->top);
	bloom_builder_free(w->filter);
	buffer_free(&w->tally.last);
	buffer_free(&w->out);
	ZSTD_freeCCtx(w->zstd);
	free(w);
}

wide_status
sst_writer_open(wide_db *db, uint64_t number, wide_family_id family, int level,
				const wide_family_options *opt, bool global, sst_writer **out)
{
	sst_writer *w = calloc(1, sizeof(*w));

	*out = NULL;
	if (w == NULL)
		return status_fail(WIDE_NOMEM, "out of memory: %zu bytes", sizeof(*w));
	w->db = db;
	w->opt = *opt;
	w->global = global;
	w->fresh = true;
	w->tally.meta.number = number;
	w->tally.meta.family = family;
	w->tally.meta.level = (uint8_t) level;
	w->data = block_builder_new();
	w->index = block_builder_new();
	w->top = block_builder_new();
	if (opt->bloom != WIDE_BLOOM_NONE)
		w->filter = bloom_builder_new();
	w->zstd = ZSTD_createCCtx();
	if (w->data == NULL || w->index == NULL || w->top == NULL || w->zstd == NULL ||
		(w->filter == NULL && opt->bloom != WIDE_BLOOM_NONE))
	{
		writer_free(w);
		return status_fail(WIDE_NOMEM, "out of memory for a file writer");
	}
	w->fd = -1;
	*out = w;
	return WIDE_OK;
}

/*
 * Returns true if the data block is to end before the entry, which has been looked at.  If the last
 * row is small, it ends before a row that would probably not fit into it as a whole.
 */
static bool
block_is_full(sst_writer *w, const entry *e)
{
	size_t add = (size_t) e->klen + e->vlen + 64, size, row; /* see block_builder_bound */

	if (block_builder_count(w->data) == 0)
		return false;
	if (!w->tally.new_row && block_builder_bound(w->data) + add <= w->opt.block_size)
		return false;
	size = block_builder_size(w->data);
	row = block_builder_row_size(w->data);
	if (w->tally.new_row && row * 8 <= w->opt.block_size && size + row > w->opt.block_size)
		return true;
	return size + add > w->opt.block_size &&
		   block_builder_size_with(w->data, e) > w->opt.block_size;
}

static wide_status
add_entry(sst_writer *w, const entry *e)
{
	if (w->global && e->seq != 0)
		return status_fail(WIDE_INVALID,
						   "an entry has a sequence number, but the file has one for all entries");
	TRY(sst_tally_look(&w->tally, e));
	/* end_block takes the block's last key from the tally, so this entry is counted afterwards */
	if (block_is_full(w, e))
		TRY(end_block(w, !w->tally.new_row));
	TRY(sst_tally_count(&w->tally, e));
	TRY(block_builder_add_row(w->data, e, w->tally.new_row));
	return w->filter != NULL ? note_entry(w, e) : WIDE_OK;
}

bool
sst_writer_may_end(sst_writer *w, const entry *e, bool *column)
{
	bool row = sst_tally_look(&w->tally, e) != WIDE_OK || w->tally.new_row;

	*column = row || w->tally.new_column;
	return row;
}

wide_status
sst_writer_add(sst_writer *w, const entry *e)
{
	if (w->failed == WIDE_OK)
		w->failed = add_entry(w, e);
	return w->failed;
}

void
sst_writer_unsynced(sst_writer *w)
{
	w->unsynced = true;
}

void
sst_writer_use_helper(sst_writer *w, helper *h)
{
	w->helper = h;
}

uint64_t
sst_writer_bytes(const sst_writer *w)
{
	return w->off + w->out.len;
}

/* Writes what is behind the last entry, up to the footer. */
static wide_status
write_end(sst_writer *w)
{
	sst_properties prop = {0};
	buffer b = {0};
	uint8_t footer[SST_FOOTER] = {0};
	wide_bytes raw;
	sst_handle top;
	sst_handle meta;
	wide_status st;

	if (w->tally.meta.cells == 0)
		return status_fail(WIDE_INVALID, "a sorted file must have at least one entry");
	if (block_builder_count(w->data) > 0)
		TRY(end_block(w, false));
	TRY(groups_take_all(w));
	if (block_builder_count(w->index) > 0)
	{
		entry last = w->tally.e;

		last.ukey = w->tally.last.data;
		TRY(end_partition(w, &last, w->tally.meta.rows));
	}
	TRY(block_builder_finish(w->top, false, &raw));
	TRY(write_block(w, raw, w->opt.compression == WIDE_COMPRESS_ZSTD, &top));
	sst_tally_end(&w->tally);
	prop.meta = w->tally.meta;
	prop.global = w->global;
	prop.in_memory = w->opt.in_memory != 0;
	prop.family_deletes = w->tally.family_deletes;
	prop.bloom = w->opt.bloom;
	prop.bloom_prefix = w->opt.bloom_prefix;
	prop.block_size = w->opt.block_size;
	TRY_GOTO(sst_properties_put(&b, &prop));
	raw.data = b.data;
	raw.len = b.len;
	TRY_GOTO(write_block(w, raw, false, &meta));
	put_u64le(footer, SST_MAGIC);
	put_u32le(footer + 8, SST_VERSION);
	put_u64le(footer + 16, top.off);
	put_u32le(footer + 24, top.len);
	put_u32le(footer + 28, meta.len);
	put_u64le(footer + 32, meta.off);
	put_u64le(footer + 40, w->tally.meta.number);
	put_u64le(footer + 56, hash_xxh3(footer, 56, SST_MAGIC));
	st = buffer_append(&w->out, footer, sizeof(footer));
done:
	buffer_free(&b);
	return st;
}

wide_status
sst_writer_finish(sst_writer *w, file_meta *meta, buffer *small)
{
	wide_os *os = w->db->os;
	wide_status st;
	int r;

	TRY_GOTO(w->failed);
	TRY_GOTO(write_end(w));
	if (small != NULL)
		small->len = 0;
	if (small != NULL && w->fd < 0)
	{
		TRY_GOTO(buffer_append(small, w->out.data, w->out.len));
		*meta = w->tally.meta;
		meta->bytes = w->out.len;
		writer_free(w);
		return WIDE_OK;
	}
	TRY_GOTO(write_out(w));
	injection_point("sst-written");
	if (!w->unsynced)
	{
		host_waits(w->db, WIDE_WAIT_SYNC);
		r = os->sync(os, w->fd);
		host_waits(w->db, WIDE_WAIT_NONE);
		if (r < 0)
			TRY_GOTO(os_fail(r, "sync file", w->tmp));
	}
	r = os->close(os, w->fd);
	w->fd = -1;
	if (r < 0)
		TRY_GOTO(os_fail(r, "close file", w->tmp));
	injection_point("sst-synced");
	if ((r = os->rename(os, w->tmp, w->path)) < 0)
		TRY_GOTO(os_fail(r, "rename file", w->tmp));
	injection_point("sst-renamed");
	*meta = w->tally.meta;
	meta->bytes = w->off;
	writer_free(w);
	return WIDE_OK;
done:
	sst_writer_abandon(w);
	return st;
}

void
sst_writer_abandon(sst_writer *w)
{
	wide_os *os = w->db->os;

	if (w->fd >= 0)
		os->close(os, w->fd);
	/* if this fails, recovery removes the file with the other orphans */
	if (w->tmp[0] != 0)
		os->unlink(os, w->tmp);
	writer_free(w);
}

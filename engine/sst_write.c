/*
 * sst_write.c - the bytes of a sorted file, and the writer.
 *
 *     part             contents
 *     partition        any number of them, each:
 *       data blocks      entries (block.h), about options.block_size each
 *       filter block     filter.c, over the rows of these blocks; may be absent
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
 *     8                xxh3 of all before, seeded with file number and offset
 *
 * Blocks follow each other without gaps, so that verify accounts for every
 * byte.  Partitions end when their index has 16 KiB or their filter 32768 keys:
 * both must stay small enough for the shared cache.  A row that goes on in the
 * next partition is in both filters.
 *
 * Invariants: a file exists under its final name only when it is complete and
 * synced, or complete and its bytes go into the log (sst_writer_unsynced).  A writer that has failed stays failed.  Nothing is shared, no lock
 * is taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "sst.h"

#define INDEX_PARTITION	(16 * 1024)
#define FILTER_KEYS		32768
#define FILTER_BITS		10
#define WRITE_BUFFER	(256 * 1024)

struct sst_writer
{
	wide_db    *db;
	int			fd;
	wide_status failed;
	bool		global;
	bool		unsynced;
	wide_family_options opt;
	block_builder *data, *index, *top;
	filter_builder *filter;		/* NULL: none wanted */
	uint32_t	filter_keys;	/* in the current partition */
	uint64_t	rows_before;	/* it */
	bool		fresh;			/* partition: nothing in its filter yet */
	bool		row_deletes;	/* the current row has family-wide deletes */
	uint64_t	prefix_hash;	/* last one added */
	bool		prefix_known;
	sst_tally	tally;
	buffer		out;			/* not yet written; begins at file offset off */
	uint64_t	off;
	ZSTD_CCtx  *zstd;
	char		path[SST_PATH];
	char		tmp[SST_PATH + 4];
};

void
sst_path(wide_db *db, uint64_t number, char *path, size_t size)
{
	snprintf(path, size, "%s/%08llx.sst", db->dir, (unsigned long long) number);
}

wide_status
sst_sync_dir(wide_db *db)
{
	int			r = db->os->syncdir(db->os, db->dir);

	return r < 0 ? os_fail(r, "sync directory", db->dir) : WIDE_OK;
}

/* ------------------------------------------------------------ properties */

static uint8_t *
put_bound(uint8_t *p, const uint8_t *row, uint8_t len)
{
	*p++ = len;
	memcpy(p, row, len);
	return p + len;
}

wide_status
sst_properties_put(buffer *b, const sst_properties *pr)
{
	const file_meta *m = &pr->meta;
	uint8_t    *p;

	TRY(buffer_reserve(b, 24 * VARINT_MAX + 2 * (FILE_BOUND + 1)));
	p = b->data + b->len;
	p = varint_put(p, m->number);
	p = varint_put(p, m->family);
	p = varint_put(p, m->level);
	p = varint_put(p, m->flags);
	p = varint_put(p, m->raw_bytes);
	p = varint_put(p, m->cells);
	p = varint_put(p, m->rows);
	p = varint_put(p, m->tombstones);
	p = varint_put(p, m->blocks);
	p = varint_put(p, zigzag(m->ts_min));
	p = varint_put(p, zigzag(m->ts_max));
	p = varint_put(p, m->seq_min);
	p = varint_put(p, m->seq_max);
	p = varint_put(p, (uint64_t) pr->global | (uint64_t) pr->in_memory << 1 | (uint64_t) pr->family_deletes << 2);
	p = varint_put(p, pr->bloom);
	p = varint_put(p, pr->bloom_prefix);
	p = varint_put(p, pr->block_size);
	p = put_bound(p, m->min_row, m->min_len);
	p = put_bound(p, m->max_row, m->max_len);
	b->len = (size_t) (p - b->data);
	return WIDE_OK;
}

static const uint8_t *
get_bound(const uint8_t *p, const uint8_t *end, uint8_t *row, uint8_t *len)
{
	if (p >= end || *p > FILE_BOUND || *p > end - p - 1)
		return NULL;
	*len = *p++;
	memcpy(row, p, *len);
	return p + *len;
}

bool
sst_properties_get(const uint8_t *p, size_t len, sst_properties *pr)
{
	const uint8_t *end = p + len;
	file_meta  *m = &pr->meta;
	uint64_t	v[17];

	memset(pr, 0, sizeof(*pr));
	for (int i = 0; i < 17; i++)
	{
		if ((p = varint_get(p, end, &v[i])) == NULL)
			return false;
	}
	if (v[1] > UINT32_MAX || v[2] >= SET_LEVELS || v[3] > UINT8_MAX || v[13] > 7 || v[14] > WIDE_BLOOM_PREFIX ||
		v[15] > UINT16_MAX || v[16] > UINT32_MAX)
		return false;
	m->number = v[0];
	m->family = (wide_family_id) v[1];
	m->level = (uint8_t) v[2];
	m->flags = (uint8_t) v[3];
	m->raw_bytes = v[4];
	m->cells = v[5];
	m->rows = v[6];
	m->tombstones = v[7];
	m->blocks = v[8];
	m->ts_min = unzigzag(v[9]);
	m->ts_max = unzigzag(v[10]);
	m->seq_min = v[11];
	m->seq_max = v[12];
	pr->global = (v[13] & 1) != 0;
	pr->in_memory = (v[13] & 2) != 0;
	pr->family_deletes = (v[13] & 4) != 0;
	pr->bloom = (uint8_t) v[14];
	pr->bloom_prefix = (uint16_t) v[15];
	pr->block_size = (uint32_t) v[16];
	return (p = get_bound(p, end, m->min_row, &m->min_len)) != NULL &&
		(p = get_bound(p, end, m->max_row, &m->max_len)) != NULL && p == end;
}

/* ----------------------------------------------------------------- tally */

static void
set_bound(file_meta *m, bool max, const uint8_t *row, uint32_t rowlen)
{
	uint32_t	n = rowlen < FILE_BOUND ? rowlen : FILE_BOUND;

	memcpy(max ? m->max_row : m->min_row, row, n);
	if (max)
		m->max_len = (uint8_t) n;
	else
		m->min_len = (uint8_t) n;
	if (n < rowlen)
		m->flags |= max ? FILE_MAX_CUT : FILE_MIN_CUT;
}

wide_status
sst_tally_look(sst_tally *t, const entry *e)
{
	uint32_t	lastlen = (uint32_t) t->last.len,
				most = e->klen < lastlen ? e->klen : lastlen,
				shared;
	int			c;

	if (e->rowlen == 0 || e->rowlen > e->klen)
		return wide_fail(WIDE_INVALID, "entry with a row of %u in a key of %u bytes", e->rowlen, e->klen);
	if (t->meta.cells == 0)
	{
		t->shared = 0;
		t->new_row = t->new_column = true;
		return WIDE_OK;
	}
	t->e.ukey = t->last.data;
	shared = bytes_shared(t->last.data, e->ukey, most);
	c = shared < most ? (int) e->ukey[shared] - (int) t->last.data[shared] : (e->klen > lastlen) - (e->klen < lastlen);
	if (c < 0 || (c == 0 && key_compare(&t->e, e) >= 0))
		return wide_fail(WIDE_INVALID, "entries are not in key order");
	t->shared = shared;
	t->new_row = e->rowlen != t->e.rowlen || shared < e->rowlen;
	t->new_column = c != 0;
	return WIDE_OK;
}

wide_status
sst_tally_count(sst_tally *t, const entry *e)
{
	file_meta  *m = &t->meta;

	if (m->cells == 0)
	{
		m->ts_min = m->ts_max = e->ts;
		m->seq_min = m->seq_max = e->seq;
		m->flags = FILE_TS_ORDERED;
		set_bound(m, false, e->ukey, e->rowlen);
		t->last.len = 0;
	}
	/* timestamps fall within a column, so must sequence numbers */
	else if (!t->new_column && e->seq > t->e.seq)
		m->flags &= (uint8_t) ~FILE_TS_ORDERED;
	if (t->new_column)
	{
		t->last.len = t->shared;
		TRY(buffer_append(&t->last, e->ukey + t->shared, e->klen - t->shared));
	}
	t->e = *e;
	t->e.value = NULL;
	m->cells++;
	m->rows += t->new_row;
	m->raw_bytes += (uint64_t) e->klen + e->vlen;
	m->tombstones += e->type != ENTRY_PUT;
	t->family_deletes |= entry_is_family_delete(e);
	if (e->ts < m->ts_min)
		m->ts_min = e->ts;
	if (e->ts > m->ts_max)
		m->ts_max = e->ts;
	if (e->seq < m->seq_min)
		m->seq_min = e->seq;
	if (e->seq > m->seq_max)
		m->seq_max = e->seq;
	return WIDE_OK;
}

void
sst_tally_end(sst_tally *t)
{
	if (t->meta.cells > 0)
		set_bound(&t->meta, true, t->last.data, t->e.rowlen);
}

bool
sst_prefix_hash(const uint8_t *row, uint32_t rowlen, uint32_t n, uint64_t *hash)
{
	uint8_t		raw[WIDE_MAX_ROW];
	uint32_t	done = 0;
	uint32_t	end = rowlen >= 2 ? rowlen - 2 : 0; /* without the terminator */

	if (n == 0 || n > WIDE_MAX_ROW || end < n)
		return false;
	if (memchr(row, 0, n) == NULL)
	{
		*hash = wide_hash(row, n, FILTER_SEED_PREFIX);
		return true;
	}
	for (uint32_t i = 0; i < end && done < n; i++)
	{
		raw[done++] = row[i];
		if (row[i] == 0)
			i++;				/* the FF of 00 FF */
	}
	if (done < n)
		return false;
	*hash = wide_hash(raw, n, FILTER_SEED_PREFIX);
	return true;
}

/* ---------------------------------------------------------------- output */

static wide_status
write_out(sst_writer *w)
{
	int64_t		r;

	if (w->out.len == 0)
		return WIDE_OK;
	r = w->db->os->pwrite(w->db->os, w->fd, w->out.data, w->out.len, w->off);
	if (r < 0)
		return os_fail(r, "write file", w->tmp);
	w->off += w->out.len;
	w->out.len = 0;
	/* after a giant value */
	if (w->out.cap > 16 * WRITE_BUFFER)
		buffer_free(&w->out);
	return WIDE_OK;
}

/* Append one block with its trailer. */
static wide_status
write_block(sst_writer *w, wide_bytes raw, bool compress, sst_handle *h)
{
	uint64_t	off = w->off + w->out.len;
	uint8_t    *p;
	size_t		len = 0;

	if (raw.len > SST_BLOCK_MAX)
		return wide_fail(WIDE_LIMIT, "a block of %zu bytes is too large", raw.len);
	TRY(buffer_reserve(&w->out, (compress ? ZSTD_compressBound(raw.len) : raw.len) + SST_TRAILER));
	p = w->out.data + w->out.len;
	if (compress)
	{
		len = ZSTD_compressCCtx(w->zstd, p, ZSTD_compressBound(raw.len), raw.data, raw.len, w->opt.compression_level);
		if (ZSTD_isError(len))
			return wide_fail(WIDE_NOMEM, "compression failed: %s", ZSTD_getErrorName(len));
		/* not worth a decompression */
		if (len >= raw.len - raw.len / 16)
			compress = false;
	}
	if (!compress)
	{
		TRY(buffer_reserve(&w->out, raw.len + SST_TRAILER));
		p = w->out.data + w->out.len;
		memcpy(p, raw.data, raw.len);
		len = raw.len;
	}
	p[len] = compress ? 1 : 0;
	put_u32le(p + len + 1, (uint32_t) raw.len);
	put_u64le(p + len + 5, wide_hash(p, len + 5, sst_seed(w->tally.meta.number, off)));
	w->out.len += len + SST_TRAILER;
	h->off = off;
	h->len = (uint32_t) len;
	return w->out.len >= WRITE_BUFFER ? write_out(w) : WIDE_OK;
}

/* An index entry: the last key of what the value points to. */
static wide_status
add_index(sst_writer *w, block_builder *b, const uint8_t *value, size_t vlen)
{
	entry		e = w->tally.e;

	e.ukey = w->tally.last.data;
	e.type = ENTRY_PUT;
	e.ttl_us = 0;
	e.value = value;
	e.vlen = (uint32_t) vlen;
	return block_builder_add(b, &e);
}

static wide_status
end_partition(sst_writer *w)
{
	uint8_t		value[6 * VARINT_MAX];
	uint8_t    *p = value;
	wide_bytes	raw = {NULL, 0};
	sst_handle	filter = {0};
	sst_handle	index;

	if (w->filter != NULL)
		TRY(filter_builder_finish(w->filter, &raw));
	if (raw.len > 0)
		TRY(write_block(w, raw, false, &filter));
	TRY(block_builder_finish(w->index, false, &raw));
	TRY(write_block(w, raw, w->opt.compression == WIDE_COMPRESS_ZSTD, &index));
	p = varint_put(p, index.off);
	p = varint_put(p, index.len);
	p = varint_put(p, filter.off);
	p = varint_put(p, filter.len);
	p = varint_put(p, w->tally.meta.blocks);
	p = varint_put(p, w->tally.meta.rows);
	TRY(add_index(w, w->top, value, (size_t) (p - value)));
	block_builder_reset(w->index);
	if (w->filter != NULL)
		filter_builder_reset(w->filter);
	w->filter_keys = 0;
	w->rows_before = w->tally.meta.rows;
	w->fresh = true;
	w->prefix_known = false;
	return WIDE_OK;
}

/* goes_on: what follows begins with the row that the block ends with. */
static wide_status
end_block(sst_writer *w, bool goes_on)
{
	uint8_t		value[3 * VARINT_MAX];
	uint8_t    *p = value;
	wide_bytes	raw;
	sst_handle	h;

	TRY(block_builder_finish(w->data, goes_on, &raw));
	TRY(write_block(w, raw, w->opt.compression == WIDE_COMPRESS_ZSTD, &h));
	block_builder_reset(w->data);
	w->tally.meta.blocks++;
	p = varint_put(p, h.off);
	p = varint_put(p, h.len);
	p = varint_put(p, w->tally.meta.rows - w->rows_before);
	TRY(add_index(w, w->index, value, (size_t) (p - value)));
	if (block_builder_size(w->index) >= INDEX_PARTITION || w->filter_keys >= FILTER_KEYS)
		return end_partition(w);
	return WIDE_OK;
}

/* ---------------------------------------------------------------- filter */

static wide_status
add_hash(sst_writer *w, uint64_t hash)
{
	w->filter_keys++;
	return filter_builder_add(w->filter, hash);
}

/* The entry counted last into the partition's filter. */
static wide_status
add_to_filter(sst_writer *w, const entry *e)
{
	bool		row = w->tally.new_row || w->fresh;
	uint64_t	hash;

	if (w->tally.new_row)
		w->row_deletes = false;
	if (row)
	{
		TRY(add_hash(w, wide_hash(e->ukey, e->rowlen, FILTER_SEED_ROW)));
		if (w->opt.bloom == WIDE_BLOOM_PREFIX && sst_prefix_hash(e->ukey, e->rowlen, w->opt.bloom_prefix, &hash) &&
			!(w->prefix_known && hash == w->prefix_hash))
		{
			w->prefix_known = true;
			w->prefix_hash = hash;
			TRY(add_hash(w, hash));
		}
	}
	if (w->opt.bloom == WIDE_BLOOM_ROWCOL)
	{
		bool		deletes = entry_is_family_delete(e);

		/* also again where the row goes on in another partition */
		if ((deletes && !w->row_deletes) || (w->row_deletes && w->fresh))
			TRY(add_hash(w, wide_hash(e->ukey, e->rowlen, FILTER_SEED_DELETES)));
		w->row_deletes |= deletes;
		if (w->tally.new_column || w->fresh)
			TRY(add_hash(w, wide_hash(e->ukey, e->klen, FILTER_SEED_ROWCOL)));
	}
	w->fresh = false;
	return WIDE_OK;
}

/* ---------------------------------------------------------------- writer */

static void
writer_free(sst_writer *w)
{
	block_builder_free(w->data);
	block_builder_free(w->index);
	block_builder_free(w->top);
	filter_builder_free(w->filter);
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
		return wide_fail(WIDE_NOMEM, "out of memory: %zu bytes", sizeof(*w));
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
		w->filter = filter_builder_new(FILTER_BITS);
	w->zstd = ZSTD_createCCtx();
	if (w->data == NULL || w->index == NULL || w->top == NULL || w->zstd == NULL ||
		(w->filter == NULL && opt->bloom != WIDE_BLOOM_NONE))
	{
		writer_free(w);
		return wide_fail(WIDE_NOMEM, "out of memory for a file writer");
	}
	sst_path(db, number, w->path, sizeof(w->path));
	snprintf(w->tmp, sizeof(w->tmp), "%s.tmp", w->path);
	/* a leftover of a crashed attempt is overwritten */
	w->fd = db->os->open(db->os, w->tmp, O_RDWR | O_CREAT | O_TRUNC);
	if (w->fd < 0)
	{
		wide_status st = os_fail(w->fd, "create file", w->tmp);

		writer_free(w);
		return st;
	}
	*out = w;
	return WIDE_OK;
}

/*
 * Does the data block end before the entry, which has been looked at?  With
 * rows that are small against a block it ends where the next one would probably
 * not find room as a whole.
 */
static bool
block_is_full(sst_writer *w, const entry *e)
{
	size_t		add = (size_t) e->klen + e->vlen + 64,
				size,
				row;

	if (block_builder_count(w->data) == 0)
		return false;
	if (!w->tally.new_row && block_builder_bound(w->data) + add <= w->opt.block_size)
		return false;
	size = block_builder_size(w->data);
	row = block_builder_row_size(w->data);
	if (w->tally.new_row && row * 8 <= w->opt.block_size && size + row > w->opt.block_size)
		return true;
	return size + add > w->opt.block_size && block_builder_size_with(w->data, e) > w->opt.block_size;
}

static wide_status
add_entry(sst_writer *w, const entry *e)
{
	if (w->global && e->seq != 0)
		return wide_fail(WIDE_INVALID, "entry of a file without sequence numbers has one");
	TRY(sst_tally_look(&w->tally, e));
	/* the block's last key is in the tally until this entry is counted */
	if (block_is_full(w, e))
		TRY(end_block(w, !w->tally.new_row));
	TRY(sst_tally_count(&w->tally, e));
	TRY(block_builder_add_row(w->data, e, w->tally.new_row));
	return w->filter != NULL ? add_to_filter(w, e) : WIDE_OK;
}

bool
sst_writer_may_end(sst_writer *w, const entry *e, bool *column)
{
	bool		row = sst_tally_look(&w->tally, e) != WIDE_OK || w->tally.new_row;

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

uint64_t
sst_writer_bytes(const sst_writer *w)
{
	return w->off + w->out.len;
}

/* Everything behind the last entry, up to the footer. */
static wide_status
write_end(sst_writer *w)
{
	sst_properties prop = {0};
	buffer		b = {0};
	uint8_t		footer[SST_FOOTER] = {0};
	wide_bytes	raw;
	sst_handle	top;
	sst_handle	meta;
	wide_status st;

	if (w->tally.meta.cells == 0)
		return wide_fail(WIDE_INVALID, "a sorted file needs an entry");
	if (block_builder_count(w->data) > 0)
		TRY(end_block(w, false));
	if (block_builder_count(w->index) > 0)
		TRY(end_partition(w));
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
	put_u64le(footer + 56, wide_hash(footer, 56, SST_MAGIC));
	TRY_GOTO(buffer_append(&w->out, footer, sizeof(footer)));
	st = write_out(w);
done:
	buffer_free(&b);
	return st;
}

wide_status
sst_writer_finish(sst_writer *w, file_meta *meta)
{
	wide_os    *os = w->db->os;
	wide_status st = w->failed;
	int			r;

	if (st != WIDE_OK)
		goto done;
	TRY_GOTO(write_end(w));
	kill_point("sst-written");
	if (!w->unsynced && (r = os->sync(os, w->fd)) < 0)
	{
		st = os_fail(r, "sync file", w->tmp);
		goto done;
	}
	r = os->close(os, w->fd);
	w->fd = -1;
	if (r < 0)
	{
		st = os_fail(r, "close file", w->tmp);
		goto done;
	}
	kill_point("sst-synced");
	if ((r = os->rename(os, w->tmp, w->path)) < 0)
	{
		st = os_fail(r, "rename file", w->tmp);
		goto done;
	}
	kill_point("sst-renamed");
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
	wide_os    *os = w->db->os;

	if (w->fd >= 0)
		os->close(os, w->fd);
	/* when this fails the leftover goes with the orphans at the next start */
	os->unlink(os, w->tmp);
	writer_free(w);
}

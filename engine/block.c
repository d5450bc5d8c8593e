/*
 * block.c - a block of entries in its uncompressed form: building, searching.
 *
 *     bytes            contents
 *     ...              entries in key order
 *     4 * n            offsets of the restart entries, rising, u32
 *     4                n, u32
 *
 * An entry:
 *
 *     1                flags: 1 same ts, 2 same seq, 4 same rowlen as the
 *                      entry before, 8 long, 16 type, 32 ttl, 64 restart
 *     3 or varints     shared, unshared, vlen: one byte each, or a varint
 *                      each when the flag "long" is set
 *     varint           zigzag(ts - ts before), unless the flag "same ts"
 *     varint           zigzag(seq - seq before), unless "same seq"
 *     varint           rowlen, unless "same rowlen"
 *     1                type, when the flag "type" is set, else PUT
 *     varint           zigzag(ttl_us), when the flag "ttl" is set, else 0
 *     unshared         the ukey behind the first `shared` bytes of the one before
 *     vlen             the value
 *
 * Every 16th entry is a restart: the entry before it counts as empty and zero,
 * so that decoding can begin there.  A bulk-loaded cell with a short key and
 * value costs four bytes over its suffix and value, and is decoded without a
 * loop; everything else takes the slow path in parse_rest().
 *
 * Invariants: no read outside data[0 .. len); lengths that cannot be are
 * WIDE_CORRUPT.  Order is not checked here (sst_verify does): wrong order gives
 * wrong answers but no crash and no endless loop, for offsets only rise.
 */
#include <stdlib.h>

#include "file.h"

#define RESTART_INTERVAL	16
#define COPY_SLACK			16	/* bytes that a key copy may write past its end */
#define ENTRY_OVERHEAD		60	/* the most that an entry takes over its key and value, with its restart offset */

enum entry_flags
{
	SAME_TS = 1, SAME_SEQ = 2, SAME_ROWLEN = 4, LONG = 8, TYPE = 16, TTL = 32, RESTART = 64
};

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* --------------------------------------------------------------- builder */

struct block_builder
{
	buffer		out;
	buffer		restarts;
	buffer		last;			/* ukey of the entry before */
	int64_t		ts;				/* of the entry before */
	uint64_t	seq;
	uint32_t	rowlen;
	uint32_t	count;
};

block_builder *
block_builder_new(void)
{
	return calloc(1, sizeof(block_builder));
}

void
block_builder_free(block_builder *b)
{
	if (b == NULL)
		return;
	buffer_free(&b->out);
	buffer_free(&b->restarts);
	buffer_free(&b->last);
	free(b);
}

void
block_builder_reset(block_builder *b)
{
	/* a giant value should not stay for the rest of the file */
	if (b->out.cap > 4 * 1024 * 1024)
		buffer_free(&b->out);
	b->out.len = 0;
	b->restarts.len = 0;
	b->last.len = 0;
	b->count = 0;
}

static uint32_t
common_prefix(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	uint32_t	i = 0;

	while (i + 8 <= n)
	{
		uint64_t	x = get_u64le(a + i) ^ get_u64le(b + i);

		if (x != 0)
			return i + (uint32_t) __builtin_ctzll(x) / 8;
		i += 8;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

static uint32_t
shared_length(const block_builder *b, const entry *e)
{
	if (b->count % RESTART_INTERVAL == 0)
		return 0;
	return common_prefix(b->last.data, e->ukey, e->klen < b->last.len ? e->klen : (uint32_t) b->last.len);
}

wide_status
block_builder_add(block_builder *b, const entry *e)
{
	bool		restart = b->count % RESTART_INTERVAL == 0;
	uint32_t	shared = shared_length(b, e);
	uint32_t	unshared = e->klen - shared;
	uint32_t	offset = (uint32_t) b->out.len;
	uint8_t		flags = restart ? RESTART : 0;
	uint8_t    *p;
	uint8_t    *start;

	if (e->klen > KEY_UKEY_MAX || e->vlen > WIDE_MAX_VALUE || e->rowlen > e->klen || e->seq > SEQ_MAX)
		return wide_fail(WIDE_LIMIT, "an entry with a key of %u and a value of %u bytes is too large", e->klen, e->vlen);
	if (b->out.len > UINT32_MAX / 2)
		return wide_fail(WIDE_LIMIT, "a block cannot have more than 2 GiB");
	TRY(buffer_reserve(&b->out, (size_t) unshared + e->vlen + ENTRY_OVERHEAD));
	TRY(buffer_reserve(&b->restarts, 4));
	b->last.len = 0;
	TRY(buffer_append(&b->last, e->ukey, e->klen));
	if (restart)
	{
		put_u32le(b->restarts.data + b->restarts.len, offset);
		b->restarts.len += 4;
		b->ts = 0;
		b->seq = 0;
		b->rowlen = 0;
	}
	p = start = b->out.data + offset;
	p++;
	if ((shared | unshared | e->vlen) < 256)
	{
		*p++ = (uint8_t) shared;
		*p++ = (uint8_t) unshared;
		*p++ = (uint8_t) e->vlen;
	}
	else
	{
		flags |= LONG;
		p = varint_put(p, shared);
		p = varint_put(p, unshared);
		p = varint_put(p, e->vlen);
	}
	if (e->ts == b->ts)
		flags |= SAME_TS;
	else
		p = varint_put(p, zigzag((int64_t) ((uint64_t) e->ts - (uint64_t) b->ts)));
	if (e->seq == b->seq)
		flags |= SAME_SEQ;
	else
		p = varint_put(p, zigzag((int64_t) (e->seq - b->seq)));
	if (e->rowlen == b->rowlen)
		flags |= SAME_ROWLEN;
	else
		p = varint_put(p, e->rowlen);
	if (e->type != ENTRY_PUT)
	{
		flags |= TYPE;
		*p++ = e->type;
	}
	if (e->ttl_us != 0)
	{
		flags |= TTL;
		p = varint_put(p, zigzag(e->ttl_us));
	}
	*start = flags;
	memcpy(p, e->ukey + shared, unshared);
	p += unshared;
	if (e->vlen > 0)
		memcpy(p, e->value, e->vlen);
	p += e->vlen;
	b->out.len = (size_t) (p - b->out.data);
	b->ts = e->ts;
	b->seq = e->seq;
	b->rowlen = e->rowlen;
	b->count++;
	return WIDE_OK;
}

size_t
block_builder_size(const block_builder *b)
{
	return b->out.len + b->restarts.len + 4;
}

size_t
block_builder_size_with(const block_builder *b, const entry *e)
{
	return block_builder_size(b) + (e->klen - shared_length(b, e)) + e->vlen + ENTRY_OVERHEAD;
}

uint32_t
block_builder_count(const block_builder *b)
{
	return b->count;
}

wide_status
block_builder_finish(block_builder *b, wide_bytes *out)
{
	TRY(buffer_reserve(&b->out, b->restarts.len + 4));
	if (b->restarts.len > 0)
		memcpy(b->out.data + b->out.len, b->restarts.data, b->restarts.len);
	put_u32le(b->out.data + b->out.len + b->restarts.len, (uint32_t) (b->restarts.len / 4));
	out->data = b->out.data;
	out->len = b->out.len + b->restarts.len + 4;
	return WIDE_OK;
}

/* ---------------------------------------------------------------- cursor */

typedef struct header
{
	uint32_t	shared, unshared, vlen;
	uint32_t	rowlen;			/* in: of the entry before */
	int64_t		ts;				/* in: of the entry before */
	uint64_t	seq;			/* in: of the entry before */
	int64_t		ttl_us;
	uint8_t		type;
} header;

static const uint8_t *
get_u32(const uint8_t *p, const uint8_t *end, uint32_t *v)
{
	uint64_t	n = 0;

	p = varint_get(p, end, &n);
	*v = (uint32_t) n;
	return n <= UINT32_MAX ? p : NULL;
}

/* Everything between flags and key of an entry that is not of the common kind; NULL: malformed. */
static __attribute__((noinline)) const uint8_t *
parse_rest(const uint8_t *p, const uint8_t *end, uint8_t flags, header *h)
{
	uint64_t	v;

	if ((flags & 0x80) != 0)
		return NULL;
	if (flags & RESTART)
	{
		h->ts = 0;
		h->seq = 0;
		h->rowlen = 0;
	}
	if (flags & LONG)
	{
		if ((p = get_u32(p + 1, end, &h->shared)) == NULL || (p = get_u32(p, end, &h->unshared)) == NULL ||
			(p = get_u32(p, end, &h->vlen)) == NULL)
			return NULL;
	}
	else
		p += 4;
	if (!(flags & SAME_TS))
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return NULL;
		h->ts = (int64_t) ((uint64_t) h->ts + (uint64_t) unzigzag(v));
	}
	if (!(flags & SAME_SEQ))
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return NULL;
		h->seq += (uint64_t) unzigzag(v);
		if (h->seq > SEQ_MAX)
			return NULL;
	}
	if (!(flags & SAME_ROWLEN) && (p = get_u32(p, end, &h->rowlen)) == NULL)
		return NULL;
	if (flags & TYPE)
	{
		if (p >= end || *p > ENTRY_DELETE_FAMILY_VERSION)
			return NULL;
		h->type = *p++;
	}
	if (flags & TTL)
	{
		if ((p = varint_get(p, end, &v)) == NULL)
			return NULL;
		h->ttl_us = unzigzag(v);
	}
	return p;
}

/*
 * Parse the entry at p; the header comes with ts, seq and rowlen of the one
 * before.  Returns where its key suffix begins, with suffix and value inside
 * end; NULL when malformed.
 */
static inline const uint8_t *
parse(const uint8_t *p, const uint8_t *end, header *h)
{
	uint8_t		flags;

	if (unlikely(end - p < 4))
		return NULL;
	flags = p[0];
	h->shared = p[1];
	h->unshared = p[2];
	h->vlen = p[3];
	h->type = ENTRY_PUT;
	h->ttl_us = 0;
	if (likely(flags == (SAME_TS | SAME_SEQ | SAME_ROWLEN)))
		p += 4;
	else if ((p = parse_rest(p, end, flags, h)) == NULL)
		return NULL;
	if (unlikely((uint64_t) h->unshared + h->vlen > (uint64_t) (end - p)))
		return NULL;
	return p;
}

static __attribute__((noinline)) wide_status
malformed(block_cursor *c, uint32_t off)
{
	c->valid = false;
	return wide_fail(WIDE_CORRUPT, "malformed block entry at byte %u of %u", off, c->len);
}

/* Make the entry at off current, the one that is current now being the one before. */
static inline wide_status
decode(block_cursor *c, uint32_t off)
{
	const uint8_t *p = c->data + off;
	entry	   *e = &c->e;
	header		h;
	uint32_t	klen;

	h.ts = e->ts;
	h.seq = e->seq;
	h.rowlen = e->rowlen;
	p = parse(p, c->data + c->end, &h);
	if (unlikely(p == NULL))
		return malformed(c, off);
	/* a restart carries shared = 0, which parse leaves to this test and to the restart's own flag */
	if (unlikely(h.shared > e->klen || (c->data[off] & RESTART && h.shared != 0)))
		return malformed(c, off);
	klen = h.shared + h.unshared;
	if (unlikely(klen > KEY_UKEY_MAX || h.unshared > KEY_UKEY_MAX || h.rowlen > klen))
		return malformed(c, off);
	if (unlikely(c->key.cap < (size_t) klen + COPY_SLACK))
	{
		wide_status st;

		c->key.len = h.shared;
		st = buffer_reserve(&c->key, (size_t) h.unshared + COPY_SLACK);
		if (st != WIDE_OK)
		{
			c->valid = false;
			return st;
		}
	}
	if (likely(h.unshared <= COPY_SLACK && c->data + c->len - p >= COPY_SLACK))
		memcpy(c->key.data + h.shared, p, COPY_SLACK);
	else
		memcpy(c->key.data + h.shared, p, h.unshared);
	p += h.unshared;
	c->key.len = klen;
	c->at = off;
	c->next = (uint32_t) (p + h.vlen - c->data);
	c->valid = true;
	e->ukey = c->key.data;
	e->klen = klen;
	e->rowlen = h.rowlen;
	e->ts = h.ts;
	e->seq = h.seq;
	e->type = h.type;
	e->vlen = h.vlen;
	e->ttl_us = h.ttl_us;
	e->value = p;
	return WIDE_OK;
}

/* Forget the current entry: what is decoded next must be a restart. */
static inline void
forget(block_cursor *c)
{
	c->valid = false;
	c->e.klen = 0;
	c->e.rowlen = 0;
	c->e.ts = 0;
	c->e.seq = 0;
}

static inline uint32_t
restart_offset(const block_cursor *c, uint32_t i)
{
	return get_u32le(c->data + c->end + 4 * (size_t) i);
}

wide_status
block_open(block_cursor *c, const uint8_t *data, uint32_t len)
{
	c->data = data;
	c->len = len;
	c->restarts = 0;
	c->end = 0;
	c->at = c->next = 0;
	forget(c);
	if (len < 4)
		return wide_fail(WIDE_CORRUPT, "a block of %u bytes is too short", len);
	c->restarts = get_u32le(data + len - 4);
	if (c->restarts > (len - 4) / 4)
	{
		c->restarts = 0;
		return wide_fail(WIDE_CORRUPT, "block of %u bytes claims more restarts than it can hold", len);
	}
	c->end = len - 4 - 4 * c->restarts;
	if ((c->end == 0) != (c->restarts == 0))
	{
		c->restarts = c->end = 0;
		return wide_fail(WIDE_CORRUPT, "block of %u bytes has entries without restarts or restarts without entries", len);
	}
	return WIDE_OK;
}

void
block_close(block_cursor *c)
{
	buffer_free(&c->key);
	c->valid = false;
	c->restarts = 0;
	c->end = 0;
}

wide_status
block_first(block_cursor *c)
{
	forget(c);
	if (c->end == 0)
		return WIDE_OK;
	return decode(c, 0);
}

wide_status
block_next(block_cursor *c)
{
	if (unlikely(!c->valid))
		return WIDE_OK;
	if (unlikely(c->next >= c->end))
	{
		c->valid = false;
		return WIDE_OK;
	}
	return decode(c, c->next);
}

/*
 * An entry that shares klen bytes or more with one that is below the bytes is
 * below them too, and so need not be decoded: nor will those that follow need
 * more than klen bytes of its key, for the same reason.
 */
wide_status
block_pass(block_cursor *c, const uint8_t *ukey, uint32_t klen, int max)
{
	entry	   *e = &c->e;
	header		h;

	h.ts = e->ts;
	h.seq = e->seq;
	h.rowlen = e->rowlen;
	for (; max > 0; max--)
	{
		const uint8_t *p = c->data + c->next;

		if (unlikely(c->next >= c->end))
		{
			c->valid = false;
			return WIDE_OK;
		}
		if (likely(!(*p & RESTART)))
		{
			p = parse(p, c->data + c->end, &h);
			if (unlikely(p == NULL || h.shared > e->klen || h.shared + h.unshared > KEY_UKEY_MAX))
				return malformed(c, c->next);
			if (h.shared >= klen)
			{
				e->klen = h.shared + h.unshared;
				e->ts = h.ts;
				e->seq = h.seq;
				e->rowlen = h.rowlen;
				c->at = c->next;
				c->next = (uint32_t) (p + h.unshared + h.vlen - c->data);
				continue;
			}
		}
		TRY(decode(c, c->next));
		if (ukey_compare(e->ukey, e->klen, ukey, klen) >= 0)
			return WIDE_OK;
		h.ts = e->ts;
		h.seq = e->seq;
		h.rowlen = e->rowlen;
	}
	return WIDE_OK;
}

static wide_status
decode_restart(block_cursor *c, uint32_t i)
{
	uint32_t	off = restart_offset(c, i);

	forget(c);
	if (off >= c->end)
		return malformed(c, off);
	return decode(c, off);
}

wide_status
block_last(block_cursor *c)
{
	forget(c);
	if (c->restarts == 0)
		return WIDE_OK;
	TRY(decode_restart(c, c->restarts - 1));
	while (c->next < c->end)
		TRY(decode(c, c->next));
	return WIDE_OK;
}

/* Compares the current entry, or a header's, with (ukey, ts, seq) in key order. */
static inline int
compare_target(const uint8_t *k, uint32_t n, int64_t kts, uint64_t kseq,
			   const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	int			cmp = ukey_compare(k, n, ukey, klen);

	if (cmp != 0)
		return cmp;
	if (kts != ts)
		return kts > ts ? -1 : 1;
	return kseq > seq ? -1 : kseq < seq;
}

/*
 * The last restart whose entry sorts before (ukey, ts, seq); *found false when
 * none does.
 */
static wide_status
find_restart(block_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq,
			 uint32_t *restart, bool *found)
{
	uint32_t	lo = 0;			/* restarts below lo sort before the target */
	uint32_t	hi = c->restarts;

	while (lo < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;
		uint32_t	off = restart_offset(c, mid);
		const uint8_t *p;
		header		h = {0};

		if (off >= c->end)
			return malformed(c, off);
		p = parse(c->data + off, c->data + c->end, &h);
		if (p == NULL || h.shared != 0 || !(c->data[off] & RESTART))
			return malformed(c, off);
		if (compare_target(p, h.unshared, h.ts, h.seq, ukey, klen, ts, seq) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*found = lo > 0;
	*restart = lo > 0 ? lo - 1 : 0;
	return WIDE_OK;
}

wide_status
block_seek(block_cursor *c, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq)
{
	uint32_t	restart;
	bool		found;

	forget(c);
	if (c->restarts == 0)
		return WIDE_OK;
	TRY(find_restart(c, ukey, klen, ts, seq, &restart, &found));
	TRY(decode_restart(c, restart));
	while (compare_target(c->e.ukey, c->e.klen, c->e.ts, c->e.seq, ukey, klen, ts, seq) < 0)
	{
		if (c->next >= c->end)
		{
			c->valid = false;
			return WIDE_OK;
		}
		TRY(decode(c, c->next));
	}
	return WIDE_OK;
}

wide_status
block_seek_before(block_cursor *c, const uint8_t *ukey, uint32_t klen)
{
	uint32_t	restart;
	uint32_t	before = 0;		/* entries behind the restart that also sort before */
	bool		found;

	forget(c);
	if (c->restarts == 0)
		return WIDE_OK;
	/* every entry of the ukey is >= (ukey, max, max) */
	TRY(find_restart(c, ukey, klen, INT64_MAX, SEQ_MAX, &restart, &found));
	if (!found)
		return WIDE_OK;
	/*
	 * Entries cannot be decoded backwards: count, then go again.  With the
	 * interval of 16 that is dearer by some 100 ns than remembering keys would
	 * be, and only descending scans pay.
	 */
	TRY(decode_restart(c, restart));
	while (c->next < c->end)
	{
		TRY(decode(c, c->next));
		if (ukey_compare(c->e.ukey, c->e.klen, ukey, klen) >= 0)
			break;
		before++;
	}
	if (c->next >= c->end && ukey_compare(c->e.ukey, c->e.klen, ukey, klen) < 0)
		return WIDE_OK;
	TRY(decode_restart(c, restart));
	while (before-- > 0)
		TRY(decode(c, c->next));
	return WIDE_OK;
}

wide_status
block_entries_before(const block_cursor *c, uint32_t off, uint32_t *n)
{
	uint32_t	lo = 0;			/* restarts below lo are not behind off */
	uint32_t	hi = c->restarts;
	uint32_t	at;
	header		h = {0};

	*n = 0;
	while (lo < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;

		if (restart_offset(c, mid) <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return WIDE_OK;
	*n = (lo - 1) * RESTART_INTERVAL;
	for (at = restart_offset(c, lo - 1); at < off && at < c->end; ++*n)
	{
		const uint8_t *p = parse(c->data + at, c->data + c->end, &h);

		if (p == NULL)
			return wide_fail(WIDE_CORRUPT, "malformed block entry at byte %u of %u", at, c->len);
		at = (uint32_t) (p + h.unshared + h.vlen - c->data);
	}
	return WIDE_OK;
}

wide_status
block_seek_entry(block_cursor *c, uint32_t n)
{
	forget(c);
	if (n / RESTART_INTERVAL >= c->restarts)
		return block_last(c);
	TRY(decode_restart(c, n / RESTART_INTERVAL));
	for (uint32_t i = n % RESTART_INTERVAL; i > 0 && c->next < c->end; i--)
		TRY(decode(c, c->next));
	return WIDE_OK;
}

/*
 * base.c - status text, integers of variable length, buffers, the hash.
 *
 * Invariants: wide_fail may be given the current error text as an argument
 * (it formats into a second buffer first), so that a caller can put its own
 * words around those of a lower layer.  Nothing here is shared between
 * processes and nothing takes a lock.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base.h"

/* ---------------------------------------------------------------- status */

/* Of the thread rather than the process: the tests' threads stand for processes. */
static _Thread_local char error_text[512];

wide_status
wide_fail(wide_status st, const char *fmt, ...)
{
	char		text[sizeof(error_text)];
	va_list		ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(error_text, text, sizeof(text));
	return st;
}

const char *
wide_error_text(void)
{
	return error_text;
}

const char *
wide_status_name(wide_status st)
{
	switch (st)
	{
		case WIDE_OK:
			return "ok";
		case WIDE_END:
			return "end";
		case WIDE_NOTFOUND:
			return "not found";
		case WIDE_EXISTS:
			return "exists already";
		case WIDE_INVALID:
			return "invalid argument";
		case WIDE_LIMIT:
			return "limit exceeded";
		case WIDE_NOMEM:
			return "out of memory";
		case WIDE_FULL:
			return "no room left";
		case WIDE_NOSPACE:
			return "no space left on disk";
		case WIDE_BUSY:
			return "busy";
		case WIDE_CONFLICT:
			return "conflict";
		case WIDE_IO:
			return "input/output error";
		case WIDE_CORRUPT:
			return "corrupt data";
		case WIDE_INTERRUPTED:
			return "interrupted";
		case WIDE_POISONED:
			return "store is poisoned";
	}
	return "unknown status";
}

wide_status
os_fail(int64_t error, const char *what, const char *path)
{
	int			e = (int) (error < 0 ? -error : error);
	wide_status st = WIDE_IO;

	if (e == ENOSPC || e == EDQUOT || e == EFBIG)
		st = WIDE_NOSPACE;
	else if (e == ENOMEM)
		st = WIDE_NOMEM;
	return wide_fail(st, "could not %s \"%s\": %s", what, path, strerror(e));
}

/* -------------------------------------------------------------- integers */

uint8_t *
varint_put_long(uint8_t *p, uint64_t v)
{
	while (v >= 0x80)
	{
		*p++ = (uint8_t) (v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t) v;
	return p;
}

const uint8_t *
varint_get_long(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	uint64_t	r = 0;
	int			shift;

	for (shift = 0; shift < 64 && p < end; shift += 7)
	{
		uint64_t	b = *p++;

		/* the tenth byte has room for one bit */
		if (shift == 63 && b > 1)
			return NULL;
		r |= (b & 0x7f) << shift;
		if (b < 0x80)
		{
			*v = r;
			return p;
		}
	}
	return NULL;
}

/* ---------------------------------------------------------------- buffer */

wide_status
buffer_grow(buffer *b, size_t more)
{
	size_t		need;
	size_t		cap;
	uint8_t    *p;

	if (more > SIZE_MAX / 4 - b->len)
		return wide_fail(WIDE_NOMEM, "a buffer of %zu bytes is too large", more);
	need = b->len + more;
	cap = b->cap + b->cap / 2;
	if (cap < need)
		cap = need;
	if (cap < 64)
		cap = 64;
	p = realloc(b->data, cap);
	if (p == NULL)
		return wide_fail(WIDE_NOMEM, "out of memory: %zu bytes", cap);
	b->data = p;
	b->cap = cap;
	return WIDE_OK;
}

void
buffer_free(buffer *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

/* ----------------------------------------------------------------- spare */

#define SPARE_UNIT		((size_t) 256)
#define SPARE_SIZES		16		/* 256, 512, ... 4096 bytes */
#define SPARE_KEPT		8		/* of each, so that it is 272 KB at most */

typedef struct spare_list
{
	int			n;
	void	   *kept[SPARE_KEPT];
} spare_list;

/* Of the thread, as above. */
static _Thread_local spare_list spare[SPARE_SIZES];

void *
spare_alloc(size_t n)
{
	size_t		units = (n + SPARE_UNIT - 1) / SPARE_UNIT;
	spare_list *l;
	void	   *p;

	if (SPARE_OFF || units == 0 || units > SPARE_SIZES)
		return calloc(1, n);
	l = &spare[units - 1];
	p = l->n > 0 ? l->kept[--l->n] : malloc(units * SPARE_UNIT);
	return p == NULL ? NULL : memset(p, 0, n);
}

void
spare_free(void *p, size_t n)
{
	size_t		units = (n + SPARE_UNIT - 1) / SPARE_UNIT;
	spare_list *l;

	if (p == NULL)
		return;
	if (SPARE_OFF || units == 0 || units > SPARE_SIZES)
	{
		free(p);
		return;
	}
	l = &spare[units - 1];
	if (l->n < SPARE_KEPT)
		l->kept[l->n++] = p;
	else
		free(p);
}

/* ------------------------------------------------------------------ hash */

uint64_t
wide_hash(const void *p, size_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(p, n, seed);
}

/* --------------------------------------------------------------- options */

void
wide_family_defaults(wide_family_options *o)
{
	memset(o, 0, sizeof(*o));
	o->versions = 1;
	o->block_size = 16384;
	o->bloom = WIDE_BLOOM_ROW;
	o->compression = WIDE_COMPRESS_ZSTD;
	o->compression_level = 1;
	o->compaction = WIDE_COMPACT_LEVELED;
}

/*
 * bloom.c - blocked Bloom filters: building and probing.
 *
 * All bits of a key lie in one line of 64 bytes, so that a probe costs one cache miss.  With ten
 * bits per key this gives about 1.3 % false positives instead of 0.9 %, which costs less than a
 * second miss.  Six probes: ln 2 * 10 is the optimum for a plain filter, and lines of unequal load
 * need one less.
 *
 *     bytes            contents
 *     64 * lines       bit i of a line is bit i % 8 of byte i / 8
 *     1                k: bits per key, 1 .. 16
 *
 * The line of a hash is (upper 32 bits) * lines >> 32.  Its bits are the upper nine bits of
 * (lower 32 bits) * 0x9e3779b9^i modulo 2^32, i = 1 .. k.
 *
 * Invariant: bloom_may_contain() reads only its bytes, and returns true if they are malformed.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/sst/bloom.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/hash.h"
#include "engine/base/status.h"

#define LINE_BYTES	 64
#define BITS_PER_KEY 10
#define PROBES		 6
#define MAX_PROBES	 16 /* in a filter that is read */

struct bloom_builder
{
	uint64_t *hashes;
	int n, cap;
	buffer out;
};

bloom_builder *
bloom_builder_new(void)
{
	return calloc(1, sizeof(bloom_builder));
}

void
bloom_builder_free(bloom_builder *f)
{
	if (f == NULL)
		return;
	free(f->hashes);
	buffer_free(&f->out);
	free(f);
}

void
bloom_builder_reset(bloom_builder *f)
{
	f->n = 0;
	f->out.len = 0;
}

wide_status
bloom_builder_add(bloom_builder *f, uint64_t hash)
{
	/* the versions of a column follow each other */
	if (f->n > 0 && f->hashes[f->n - 1] == hash)
		return WIDE_OK;
	TRY(array_grow((void **) &f->hashes, f->n, &f->cap, sizeof(*f->hashes)));
	f->hashes[f->n++] = hash;
	return WIDE_OK;
}

static inline size_t
line_of(uint64_t hash, size_t lines)
{
	return (size_t) (((hash >> 32) * (uint64_t) lines) >> 32);
}

wide_status
bloom_builder_finish(bloom_builder *f, wide_bytes *out)
{
	size_t lines = ((size_t) f->n * BITS_PER_KEY + 8 * LINE_BYTES - 1) / (8 * LINE_BYTES);
	size_t bytes = lines * LINE_BYTES;

	out->data = NULL;
	out->len = 0;
	if (f->n == 0)
		return WIDE_OK;
	f->out.len = 0;
	TRY(buffer_reserve(&f->out, bytes + 1));
	memset(f->out.data, 0, bytes);
	for (int i = 0; i < f->n; i++)
	{
		uint8_t *line = f->out.data + line_of(f->hashes[i], lines) * LINE_BYTES;
		uint32_t h = (uint32_t) f->hashes[i];

		for (int k = 0; k < PROBES; k++)
		{
			h *= 0x9e3779b9u;
			line[h >> 26] |= (uint8_t) (1u << ((h >> 23) & 7));
		}
	}
	f->out.data[bytes] = PROBES;
	f->out.len = bytes + 1;
	out->data = f->out.data;
	out->len = f->out.len;
	return WIDE_OK;
}

bool
bloom_may_contain(const uint8_t *data, uint32_t len, uint64_t hash)
{
	const uint8_t *line;
	uint32_t h = (uint32_t) hash;
	int probes;

	if (len < LINE_BYTES + 1 || (len - 1) % LINE_BYTES != 0)
		return true;
	probes = data[len - 1];
	if (probes < 1 || probes > MAX_PROBES)
		return true;
	line = data + line_of(hash, (len - 1) / LINE_BYTES) * LINE_BYTES;
	for (int k = 0; k < probes; k++)
	{
		h *= 0x9e3779b9u;
		if ((line[h >> 26] & (1u << ((h >> 23) & 7))) == 0)
			return false;
	}
	return true;
}

bool
bloom_prefix_hash(const uint8_t *row, uint32_t rowlen, uint32_t n, uint64_t *hash)
{
	uint8_t raw[WIDE_MAX_ROW];
	uint32_t done = 0;
	uint32_t end = rowlen >= 2 ? rowlen - 2 : 0; /* of the row without its terminator */

	if (n == 0 || n > WIDE_MAX_ROW || end < n)
		return false;
	if (memchr(row, 0, n) == NULL)
	{
		*hash = hash_xxh3(row, n, BLOOM_SEED_PREFIX);
		return true;
	}
	for (uint32_t i = 0; i < end && done < n; i++)
	{
		raw[done++] = row[i];
		if (row[i] == 0)
			i++; /* 00 is encoded as 00 FF */
	}
	if (done < n)
		return false;
	*hash = hash_xxh3(raw, n, BLOOM_SEED_PREFIX);
	return true;
}

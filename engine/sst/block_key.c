/*
 * block_key.c - searching the sorted keys of a block.
 *
 * Every BLOCK_GROUP-th key is whole.  Within a group the length of what a key shares with the
 * whole one does not grow from key to key, so when keys are read in order, the key before already
 * has the shared bytes in place.
 */
#include <string.h>
#include "engine/sst/block_key.h"
#include "engine/base/buffer.h"
#include "engine/base/key.h"
#include "engine/base/status.h"

wide_status
block_key(const block_keys *k, uint32_t i, bool seq, buffer *out)
{
	const uint8_t *head, *rest;
	uint32_t shared, n;

	if (unlikely(!block_key_parts(k, i, &head, &shared, &rest, &n) || shared + n > KEY_UKEY_MAX ||
				 n > KEY_UKEY_MAX))
		return status_fail(WIDE_CORRUPT, "malformed block: key %u of %u", i, k->rest.n);
	TRY(block_key_room(out, shared < out->len ? shared : (uint32_t) out->len, shared + n));
	if (shared > 0 && (!seq || shared > out->len))
		memcpy(out->data, head, shared);
	memcpy(out->data + shared, rest, n);
	out->len = shared + n;
	return WIDE_OK;
}

/*
 * Compares the n bytes of a key from `at` on with those of p; the bytes before `at` are equal.
 * Returns 0 if p begins with the key.  A key that is longer than p and begins with it is above.
 */
static inline int
compare_rest(const uint8_t *rest, uint32_t n, const uint8_t *p, uint32_t len, uint32_t at)
{
	uint32_t least = n < len - at ? n : len - at;
	int c = memcmp(rest, p + at, least);

	return c == 0 && least < n ? 1 : c;
}

/* Sets *head and *n to the first key of a group.  Returns false if it is malformed. */
static inline bool
group_head(const block_keys *k, uint32_t group, const uint8_t **head, uint32_t *n)
{
	const block_strings *s = &k->rest;
	uint32_t i = group * BLOCK_GROUP, off;

	off = s->width == 0 ? i * s->base : block_group_offset(s, group);
	*n = block_string_length(s, i);
	*head = s->bytes + off;
	return likely(off <= s->nbytes && *n <= s->nbytes - off && block_number(&k->shared, i) == 0);
}

/*
 * Searches the keys of a group behind its head, which is below the bytes, for the first that is
 * not below.  The first `agree` bytes of the head equal those of p, so a key that shares more
 * than these with the head is below p, too.
 */
static bool
find_in_group(const block_keys *k, uint32_t group, uint32_t end, const uint8_t *head,
			  uint32_t headlen, const uint8_t *p, uint32_t len, uint32_t *at, int *cmp, uint32_t *n)
{
	const block_strings *s = &k->rest;
	uint32_t first = group * BLOCK_GROUP, lo = first + 1, hi = end,
			 start = (uint32_t) (head - s->bytes), agree = 0;

	while (agree < headlen && agree < len && head[agree] == p[agree])
		agree++;
	while (lo < hi)
	{
		uint32_t mid = lo + (hi - lo) / 2, shared = (uint32_t) block_number(&k->shared, mid);
		uint64_t off;
		uint32_t length;
		int c;

		if (unlikely(shared > headlen))
			return false;
		if (shared > agree)
		{
			lo = mid + 1;
			continue;
		}
		off = start + (uint64_t) (mid - first) * s->base +
			  (s->width == 0 ? 0 : block_sum_of_lengths(s, first, mid - first));
		length = block_string_length(s, mid);
		if (unlikely(off > s->nbytes || length > s->nbytes - off))
			return false;
		c = compare_rest(s->bytes + off, length, p, len, shared);
		if (c < 0)
			lo = mid + 1;
		else
		{
			hi = mid;
			*cmp = c;
			*n = shared + length;
		}
	}
	*at = lo;
	return true;
}

/*
 * A binary search over the groups, then one in a group.  With `from`, the first probes are its
 * group and then one, two, four ... groups further (Bentley and Yao, An almost optimal algorithm
 * for unbounded searching, 1976).
 */
bool
block_key_find(const block_keys *k, uint32_t nkeys, uint32_t from, const uint8_t *p, uint32_t len,
			   uint32_t *at, int *cmp, uint32_t *n)
{
	uint32_t lo = 0, groups = (nkeys + BLOCK_GROUP - 1) / BLOCK_GROUP, hi = groups,
			 near = from / BLOCK_GROUP, step = from > 0 && near < groups ? 1 : 0, length,
			 headlen = 0;
	const uint8_t *head = NULL;

	*cmp = 1;
	/* find the first group whose whole key is not below */
	while (lo < hi)
	{
		uint32_t mid = step > 0 ? near : lo + (hi - lo) / 2;
		const uint8_t *key;
		int c;

		if (unlikely(!group_head(k, mid, &key, &length)))
			return false;
		c = compare_rest(key, length, p, len, 0);
		if (c < 0)
		{
			lo = mid + 1;
			head = key;
			headlen = length;
			near += step;
			step = near < hi ? 2 * step : 0;
		}
		else
		{
			hi = mid;
			step = 0;
			*cmp = c;
			*n = length;
		}
	}
	*at = lo < groups ? lo * BLOCK_GROUP : nkeys;
	if (lo == 0)
		return true;
	return find_in_group(k, lo - 1, *at, head, headlen, p, len, at, cmp, n);
}

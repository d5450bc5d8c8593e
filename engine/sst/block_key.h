/*
 * block_key.h - the packed arrays of a block: numbers, strings and sorted keys.
 *
 * The arrays point into the block.  block_open() checks that their lengths, starts and bytes lie
 * inside the block.  The offsets and lengths stored in them are not trusted: each function here
 * checks what it uses, and returns false if a string does not lie inside the array's bytes.
 */
#ifndef WIDE_BLOCK_KEY_H
#define WIDE_BLOCK_KEY_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"

#define BLOCK_GROUP 16 /* strings from one whole key, or one stored offset, to the next */

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Numbers of equal width, stored as differences from a base. */
typedef struct block_numbers
{
	const uint8_t *p; /* `width` bytes each, little-endian */
	uint64_t base;
	uint64_t mask;
	uint32_t width; /* bytes, 0 .. 8 */
	bool by_row;	/* one number per row, otherwise one per entry */
	uint64_t most;	/* the greatest number */
} block_numbers;

/* Strings stored one after the other; the offset of every 16th is stored. */
typedef struct block_strings
{
	const uint8_t *bytes;
	const uint8_t *lengths; /* differences from base, `width` bytes each */
	const uint8_t *starts;	/* of each group: u16 or u32; absent if width is 0 */
	uint32_t n;
	uint32_t nbytes;
	uint32_t base;
	uint32_t width; /* bytes, 0 .. 4; 0: all strings have length base */
	uint32_t mask;
} block_strings;

/* Sorted keys: every 16th whole, the others without the prefix that they share with it. */
typedef struct block_keys
{
	block_strings rest;
	block_numbers shared; /* length of the shared prefix; 0 for a whole key */
} block_keys;

/* Returns number i.  Requires: the array is followed by at least 8 bytes (BLOCK_SLACK). */
static inline uint64_t
block_number(const block_numbers *a, uint32_t i)
{
	return a->base + (get_u64le(a->p + (size_t) i * a->width) & a->mask);
}

/* Returns the stored length of string i, unchecked. */
static inline uint32_t
block_string_length(const block_strings *s, uint32_t i)
{
	return s->base + ((uint32_t) get_u64le(s->lengths + (size_t) i * s->width) & s->mask);
}

static inline uint32_t
block_sum_of_bytes(uint64_t x)
{
	x = (x & UINT64_C(0x00ff00ff00ff00ff)) + ((x >> 8) & UINT64_C(0x00ff00ff00ff00ff));
	return (uint32_t) ((x * UINT64_C(0x0001000100010001)) >> 48);
}

/* Returns the sum of n stored lengths from i on, without the base.  Requires: n < BLOCK_GROUP. */
static inline uint64_t
block_sum_of_lengths(const block_strings *s, uint32_t i, uint32_t n)
{
	const uint8_t *p = s->lengths + (size_t) i * s->width;
	uint64_t sum = 0;

	if (likely(s->width == 1))
	{
		if (n > 8)
		{
			sum = block_sum_of_bytes(get_u64le(p));
			p += 8;
			n -= 8;
		}
		/* n is now 0 .. 8; 0 is a case of its own because a shift by 64 is undefined */
		return n == 0 ? sum : sum + block_sum_of_bytes(get_u64le(p) << (64 - 8 * n));
	}
	for (; n > 0; n--, p += s->width)
		sum += (uint32_t) get_u64le(p) & s->mask;
	return sum;
}

/* The stored offset of the first string of a group.  Requires: s->width > 0. */
static inline uint32_t
block_group_offset(const block_strings *s, uint32_t group)
{
	return s->nbytes <= UINT16_MAX ? get_u16le(s->starts + 2 * (size_t) group)
								   : get_u32le(s->starts + 4 * (size_t) group);
}

/* Sets *off to the offset of string i, or to nbytes if i == n.  Returns false if it is outside. */
static inline bool
block_string_offset(const block_strings *s, uint32_t i, uint32_t *off)
{
	uint32_t group = i / BLOCK_GROUP;
	uint64_t at;

	if (s->width == 0)
	{
		*off = i * s->base;
		return true;
	}
	if (unlikely(i == s->n))
	{
		*off = s->nbytes;
		return true;
	}
	at = block_group_offset(s, group);
	at += (uint64_t) (i % BLOCK_GROUP) * s->base +
		  block_sum_of_lengths(s, group * BLOCK_GROUP, i % BLOCK_GROUP);
	*off = (uint32_t) at;
	return at <= s->nbytes;
}

/* Sets *p and *len to string i.  Returns false if it does not lie inside the array's bytes. */
static inline bool
block_string(const block_strings *s, uint32_t i, const uint8_t **p, uint32_t *len)
{
	uint32_t off;

	if (unlikely(!block_string_offset(s, i, &off)))
		return false;
	*len = block_string_length(s, i);
	*p = s->bytes + off;
	return *len <= s->nbytes - off;
}

/* Key i as its two pieces: *shared bytes of *head, then *n bytes of *rest.  Returns false if one
 * of them is malformed. */
static inline bool
block_key_parts(const block_keys *k, uint32_t i, const uint8_t **head, uint32_t *shared,
				const uint8_t **rest, uint32_t *n)
{
	uint32_t len;

	*shared = (uint32_t) block_number(&k->shared, i);
	if (!block_string(&k->rest, i, rest, n))
		return false;
	*head = *rest;
	if (*shared == 0)
		return true;
	if (i % BLOCK_GROUP == 0 || !block_string(&k->rest, i - i % BLOCK_GROUP, head, &len))
		return false;
	return *shared <= len;
}

/*
 * Sets *out to key i, with room for BLOCK_KEY_SLACK more bytes behind it.
 * Requires: if seq, *out holds key i - 1, or i is divisible by BLOCK_GROUP.
 * Errors: WIDE_CORRUPT, WIDE_NOMEM.
 */
extern wide_status block_key(const block_keys *k, uint32_t i, bool seq, buffer *out);

#define BLOCK_KEY_SLACK 16 /* bytes that a copy of a key may write behind its end */

/* Makes room for n more bytes, and the slack, behind the first `keep` bytes, which are
 * preserved. */
static inline wide_status
block_key_room(buffer *b, uint32_t keep, uint32_t n)
{
	if (likely(b->cap >= (size_t) keep + n + BLOCK_KEY_SLACK))
		return WIDE_OK;
	b->len = keep;
	return buffer_reserve(b, (size_t) n + BLOCK_KEY_SLACK);
}

/*
 * Searches the first key that is not below the len bytes at p; a key that the bytes begin with is
 * not below them.  Keys are prefix-free.
 *
 * from: a key that is likely to be a little before the result, or 0 if none is known; it affects
 * only the speed.
 * *at: number of the key; nkeys if all keys are below.
 * *cmp: 0 if the bytes begin with the key, otherwise > 0.
 * *n: length of the key; set if *at < nkeys.
 * Returns false if the keys are malformed.
 */
extern bool block_key_find(const block_keys *k, uint32_t nkeys, uint32_t from, const uint8_t *p,
						   uint32_t len, uint32_t *at, int *cmp, uint32_t *n);

#endif /* WIDE_BLOCK_KEY_H */

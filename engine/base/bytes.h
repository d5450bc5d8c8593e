/* bytes.h - integers of fixed width in byte arrays, and comparing bytes */
#ifndef WIDE_BYTES_H
#define WIDE_BYTES_H

#include <string.h>
#include "engine/wide.h"

static inline uint32_t
get_u32be(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return __builtin_bswap32(v);
}

static inline uint64_t
get_u64be(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return __builtin_bswap64(v);
}

static inline uint16_t
get_u16le(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, 2);
	return v;
}

static inline uint32_t
get_u32le(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return v;
}

static inline uint64_t
get_u64le(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return v;
}

static inline void
put_u32le(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, 4);
}

static inline void
put_u64le(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, 8);
}
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are little-endian and are read without conversion; add conversions for this machine"
#endif

/* Marks zero bytes: the lowest bit that is set is the highest one of the first byte that is zero,
 * counted from the lowest; 0: there is none. */
static inline uint64_t
bytes_zero(uint64_t x)
{
	return (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);
}

/* Returns the length of the common prefix of two strings of n bytes. */
static inline uint32_t
bytes_shared(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	uint32_t i = 0;

	while (i + 8 <= n)
	{
		uint64_t x = get_u64le(a + i) ^ get_u64le(b + i);

		if (x != 0)
			return i + (uint32_t) __builtin_ctzll(x) / 8;
		i += 8;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

#endif /* WIDE_BYTES_H */

/* varint.h - integers of variable length (LEB128) */
#ifndef WIDE_VARINT_H
#define WIDE_VARINT_H

#include "engine/wide.h"

#define VARINT_MAX 10 /* most bytes of a number */

/* varint_put and varint_get for numbers of more than one byte. */
extern uint8_t *varint_put_long(uint8_t *p, uint64_t v);
extern const uint8_t *varint_get_long(const uint8_t *p, const uint8_t *end, uint64_t *v);

/* Writes v to p, which has room for VARINT_MAX bytes; returns the end. */
static inline uint8_t *
varint_put(uint8_t *p, uint64_t v)
{
	if (v >= 0x80)
		return varint_put_long(p, v);
	*p = (uint8_t) v;
	return p + 1;
}

/* Reads a number; returns its end, or NULL if it does not end before `end` or has more than 64
 * bits. */
static inline const uint8_t *
varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	if (p >= end || *p >= 0x80)
		return varint_get_long(p, end, v);
	*v = *p;
	return p + 1;
}

/* Maps signed numbers of small magnitude to small unsigned ones, and back. */
static inline uint64_t
zigzag(int64_t v)
{
	return ((uint64_t) v << 1) ^ (uint64_t) (v >> 63);
}

static inline int64_t
unzigzag(uint64_t v)
{
	return (int64_t) (v >> 1) ^ -(int64_t) (v & 1);
}

#endif /* WIDE_VARINT_H */

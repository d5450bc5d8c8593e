/*
 * stored_format.h
 *		Constants and big-endian numbers of stored values, for encode.c and decode.c.
 */
#ifndef WT_STORED_FORMAT_H
#define WT_STORED_FORMAT_H

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

#define UNIX_DAYS (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) /* from 1970 to 2000 */
#define SIGN64	  (UINT64CONST(1) << 63)
#define SIGN32	  ((uint32) 1 << 31)

/* Class byte of an ordered numeric */
#define NUM_MINUS_INF 0x08
#define NUM_NEGATIVE  0x10
#define NUM_ZERO	  0x20
#define NUM_POSITIVE  0x30
#define NUM_PLUS_INF  0x38
#define NUM_NAN		  0x40

/* Sign word of numeric's external form (numeric_send); 0 is positive */
#define NUMX_NEG	   0x4000
#define NUMX_NAN	   0xC000
#define NUMX_PINF	   0xD000
#define NUMX_NINF	   0xF000
#define NUMX_MAX_SCALE 0x3FFF

/* Appends v as a big-endian number of width bytes, at most 8. */
static inline void
put_be(StringInfo out, uint64 v, int width)
{
	uint8 b[8];

	for (int i = width - 1; i >= 0; i--, v >>= 8)
		b[i] = (uint8) v;
	appendBinaryStringInfo(out, (char *) b, width);
}

/* Returns the big-endian number of width bytes at p. */
static inline uint64
get_be(const uint8 *p, int width)
{
	uint64 v = 0;

	for (int i = 0; i < width; i++)
		v = v << 8 | p[i];
	return v;
}

#endif /* WT_STORED_FORMAT_H */

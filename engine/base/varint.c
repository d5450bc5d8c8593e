/* varint.c - integers of variable length (LEB128) */
#include "engine/base/varint.h"

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
	uint64_t r = 0;
	int shift;

	for (shift = 0; shift < 64 && p < end; shift += 7)
	{
		uint64_t b = *p++;

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

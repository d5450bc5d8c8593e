/* wire.h - the frames of the RPC: big-endian numbers, varints, delimited messages */
#ifndef HB_WIRE_H
#define HB_WIRE_H

#include <endian.h>
#include "hbase/memory.h"

#define HB_VARINT_MAX 10

static inline void
hb_wire_put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, 4);
}

static inline void
hb_wire_put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, 8);
}

static inline uint16_t
hb_wire_get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, 2);
	return be16toh(v);
}

static inline uint32_t
hb_wire_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return be32toh(v);
}

static inline uint64_t
hb_wire_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return be64toh(v);
}

/* Writes v; returns the first byte behind it.  p has room for HB_VARINT_MAX bytes. */
static inline uint8_t *
hb_wire_put_varint(uint8_t *p, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		*p++ = (uint8_t) (v | 128);
	*p++ = (uint8_t) v;
	return p;
}

/* Takes a varint from the front of *b.  Returns false if there is none, or it is longer than 64
 * bits. */
static inline bool
hb_wire_varint(hb_bytes *b, uint64_t *v)
{
	uint64_t value = 0;

	for (size_t i = 0; i < b->len && i < HB_VARINT_MAX; i++)
	{
		uint8_t byte = b->data[i];

		if (i == HB_VARINT_MAX - 1 && byte > 1)
			return false;
		value |= (uint64_t) (byte & 127) << (7 * i);
		if (byte < 128)
		{
			b->data += i + 1;
			b->len -= i + 1;
			*v = value;
			return true;
		}
	}
	return false;
}

/* Takes a varint and as many bytes from the front of *b.  Returns false if they are not there. */
extern bool hb_wire_delimited(hb_bytes *b, hb_bytes *message);

/*
 * Appends a frame: its length in 4 bytes, the header, the parameter (NULL: none) and the cells.
 * Errors: HB_NOMEM; HB_TOOLARGE if it is larger than the length can say.
 */
extern hb_status hb_wire_frame(const hb_host *host, hb_buffer *out, const ProtobufCMessage *header,
							   const ProtobufCMessage *param, hb_bytes cells);

#endif /* HB_WIRE_H */

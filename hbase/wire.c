/* wire.c - the frames of the RPC: big-endian numbers, varints, delimited messages */
#include "hbase/wire.h"

bool
hb_wire_delimited(hb_bytes *b, hb_bytes *message)
{
	uint64_t n;

	if (!hb_wire_varint(b, &n) || n > b->len)
		return false;
	*message = (hb_bytes) {b->data, (size_t) n};
	b->data += n;
	b->len -= (size_t) n;
	return true;
}

hb_status
hb_wire_frame(const hb_host *host, hb_buffer *out, const ProtobufCMessage *header,
			  const ProtobufCMessage *param, hb_bytes cells)
{
	size_t hlen = protobuf_c_message_get_packed_size(header);
	size_t plen = param == NULL ? 0 : protobuf_c_message_get_packed_size(param);
	uint8_t *start;
	uint8_t *p;

	if (hlen > INT32_MAX / 4 || plen > INT32_MAX / 4 || cells.len > INT32_MAX / 4)
		return HB_TOOLARGE;
	HB_TRY(hb_memory_reserve(host, out, 4 + 2 * HB_VARINT_MAX + hlen + plen + cells.len));
	start = out->data + out->len;
	p = hb_wire_put_varint(start + 4, hlen);
	p += protobuf_c_message_pack(header, p);
	if (param != NULL)
	{
		p = hb_wire_put_varint(p, plen);
		p += protobuf_c_message_pack(param, p);
	}
	if (cells.len > 0)
		memcpy(p, cells.data, cells.len);
	p += cells.len;
	hb_wire_put32(start, (uint32_t) (p - start - 4));
	out->len = (size_t) (p - out->data);
	return HB_OK;
}

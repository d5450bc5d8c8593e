/* cell_block.c - cells as KeyValueCodec writes them */
#include "hbase/cell_block.h"
#include "hbase/wire.h"

size_t
hb_cell_block_length(hb_bytes block)
{
	uint32_t n;

	if (block.len < 4)
		return 0;
	n = hb_wire_get32(block.data);
	return n > block.len - 4 || n < HB_CELL_BLOCK_FIXED - 4 ? 0 : (size_t) n + 4;
}

bool
hb_cell_block_next(hb_bytes *block, hb_bytes *row, hb_cell *cell)
{
	size_t n = hb_cell_block_length(*block);
	const uint8_t *p = block->data;
	size_t klen;
	size_t vlen;
	size_t rlen;
	size_t flen;

	if (n == 0)
		return false;
	klen = hb_wire_get32(p + 4);
	vlen = hb_wire_get32(p + 8);
	rlen = hb_wire_get16(p + 12);
	/* bytes behind the value are tags */
	if (klen > n - 12 || vlen > n - 12 - klen || klen < 12 + rlen)
		return false;
	p += 14;
	flen = p[rlen];
	if (klen < 12 + rlen + flen)
		return false;
	*row = (hb_bytes) {p, rlen};
	cell->family = (hb_bytes) {p + rlen + 1, flen};
	cell->qualifier = (hb_bytes) {p + rlen + 1 + flen, klen - 12 - rlen - flen};
	p = block->data + 12 + klen;
	cell->timestamp = (int64_t) hb_wire_get64(p - 9);
	cell->type = p[-1];
	cell->value = (hb_bytes) {p, vlen};
	block->data += n;
	block->len -= n;
	return true;
}

static uint8_t *
put_bytes(uint8_t *p, hb_bytes b)
{
	if (b.len > 0)
		memcpy(p, b.data, b.len);
	return p + b.len;
}

hb_status
hb_cell_block_append(const hb_host *host, hb_buffer *block, hb_bytes row, const hb_cell *cell)
{
	size_t klen = 12 + row.len + cell->family.len + cell->qualifier.len;
	size_t n = 12 + klen + cell->value.len;
	uint8_t *p;

	HB_TRY(hb_memory_reserve(host, block, n));
	p = block->data + block->len;
	hb_wire_put32(p, (uint32_t) (n - 4));
	hb_wire_put32(p + 4, (uint32_t) klen);
	hb_wire_put32(p + 8, (uint32_t) cell->value.len);
	p[12] = (uint8_t) (row.len >> 8);
	p[13] = (uint8_t) row.len;
	p = put_bytes(p + 14, row);
	*p++ = (uint8_t) cell->family.len;
	p = put_bytes(p, cell->family);
	p = put_bytes(p, cell->qualifier);
	hb_wire_put64(p, (uint64_t) cell->timestamp);
	p[8] = cell->type;
	put_bytes(p + 9, cell->value);
	block->len += n;
	return HB_OK;
}

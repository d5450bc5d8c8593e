/*
 * sst_properties.c - the meta block of a sorted file: varints, then the bounds of its rows, each
 * with a length byte (doc/format.md).  Nothing that is decoded is trusted.
 */
#include <string.h>
#include "engine/sst/sst_properties.h"
#include "engine/base/buffer.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "engine/shared/layout.h"

static uint8_t *
put_bound(uint8_t *p, const uint8_t *row, uint8_t len)
{
	*p++ = len;
	memcpy(p, row, len);
	return p + len;
}

wide_status
sst_properties_put(buffer *b, const sst_properties *pr)
{
	const file_meta *m = &pr->meta;
	uint8_t *p;

	TRY(buffer_reserve(b, 24 * VARINT_MAX + 2 * (FILE_BOUND + 1)));
	p = b->data + b->len;
	p = varint_put(p, m->number);
	p = varint_put(p, m->family);
	p = varint_put(p, m->level);
	p = varint_put(p, m->flags);
	p = varint_put(p, m->raw_bytes);
	p = varint_put(p, m->cells);
	p = varint_put(p, m->rows);
	p = varint_put(p, m->tombstones);
	p = varint_put(p, m->blocks);
	p = varint_put(p, zigzag(m->ts_min));
	p = varint_put(p, zigzag(m->ts_max));
	p = varint_put(p, m->seq_min);
	p = varint_put(p, m->seq_max);
	p = varint_put(p, (uint64_t) pr->global | (uint64_t) pr->in_memory << 1 |
						  (uint64_t) pr->family_deletes << 2);
	p = varint_put(p, pr->bloom);
	p = varint_put(p, pr->bloom_prefix);
	p = varint_put(p, pr->block_size);
	p = put_bound(p, m->min_row, m->min_len);
	p = put_bound(p, m->max_row, m->max_len);
	b->len = (size_t) (p - b->data);
	return WIDE_OK;
}

static const uint8_t *
get_bound(const uint8_t *p, const uint8_t *end, uint8_t *row, uint8_t *len)
{
	if (p >= end || *p > FILE_BOUND || *p > end - p - 1)
		return NULL;
	*len = *p++;
	memcpy(row, p, *len);
	return p + *len;
}

bool
sst_properties_get(const uint8_t *p, size_t len, sst_properties *pr)
{
	const uint8_t *end = p + len;
	file_meta *m = &pr->meta;
	uint64_t v[17];

	memset(pr, 0, sizeof(*pr));
	for (int i = 0; i < 17; i++)
	{
		if ((p = varint_get(p, end, &v[i])) == NULL)
			return false;
	}
	if (v[1] > UINT32_MAX || v[2] >= SET_LEVELS || v[3] > UINT8_MAX || v[13] > 7 ||
		v[14] > WIDE_BLOOM_PREFIX || v[15] > UINT16_MAX || v[16] > UINT32_MAX)
		return false;
	m->number = v[0];
	m->family = (wide_family_id) v[1];
	m->level = (uint8_t) v[2];
	m->flags = (uint8_t) v[3];
	m->raw_bytes = v[4];
	m->cells = v[5];
	m->rows = v[6];
	m->tombstones = v[7];
	m->blocks = v[8];
	m->ts_min = unzigzag(v[9]);
	m->ts_max = unzigzag(v[10]);
	m->seq_min = v[11];
	m->seq_max = v[12];
	pr->global = (v[13] & 1) != 0;
	pr->in_memory = (v[13] & 2) != 0;
	pr->family_deletes = (v[13] & 4) != 0;
	pr->bloom = (uint8_t) v[14];
	pr->bloom_prefix = (uint16_t) v[15];
	pr->block_size = (uint32_t) v[16];
	return (p = get_bound(p, end, m->min_row, &m->min_len)) != NULL &&
		   (p = get_bound(p, end, m->max_row, &m->max_len)) != NULL && p == end;
}

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
#include "engine/sst/file_meta.h"

static wide_status
put_bound(buffer *b, const uint8_t *row, uint8_t len)
{
	TRY(buffer_append(b, &len, 1));
	return buffer_append(b, row, len);
}

wide_status
sst_properties_put(buffer *b, const sst_properties *pr)
{
	const file_meta *m = &pr->meta;
	const uint64_t bits = (uint64_t) pr->global | (uint64_t) pr->in_memory << 1 |
						  (uint64_t) pr->family_deletes << 2;
	const uint64_t v[] = {
		m->number,	m->family,	   m->level,  m->flags,			 m->raw_bytes,		m->cells,
		m->rows,	m->tombstones, m->blocks, zigzag(m->ts_min), zigzag(m->ts_max), m->seq_min,
		m->seq_max, bits,		   pr->bloom, pr->bloom_prefix,	 pr->block_size};

	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		TRY(buffer_append_varint(b, v[i]));
	TRY(put_bound(b, m->min_row, m->min_len));
	return put_bound(b, m->max_row, m->max_len);
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

	for (int i = 0; i < 17; i++)
		if ((p = varint_get(p, end, &v[i])) == NULL)
			return false;
	if (!file_meta_set(m, v, v + 4) || v[13] > 7 || v[14] > WIDE_BLOOM_PREFIX ||
		v[15] > UINT16_MAX || v[16] > UINT32_MAX)
		return false;
	pr->global = (v[13] & 1) != 0;
	pr->in_memory = (v[13] & 2) != 0;
	pr->family_deletes = (v[13] & 4) != 0;
	pr->bloom = (uint8_t) v[14];
	pr->bloom_prefix = (uint16_t) v[15];
	pr->block_size = (uint32_t) v[16];
	return (p = get_bound(p, end, m->min_row, &m->min_len)) != NULL &&
		   (p = get_bound(p, end, m->max_row, &m->max_len)) != NULL && p == end;
}

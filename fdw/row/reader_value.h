/*
 * reader_value.h
 *		Decodes the most frequent kinds of values, in the loops over cells.
 */
#ifndef WT_READER_VALUE_H
#define WT_READER_VALUE_H

#include "postgres.h"

#include "port/pg_bswap.h"

#include "engine/wide.h"
#include "fdw/row/reader_state.h"
#include "fdw/store/bytes.h"
#include "fdw/table/decode.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

/* Reads a cell's value.  Returns false if it needs decoding. */
static inline bool
wt_reader_value_integer(const WtWidth *w, wide_bytes value, int64 *out)
{
	if (value.len != (size_t) w->bytes)
		return false;
	if (w->bytes == 4)
	{
		uint32 v;

		memcpy(&v, value.data, 4);
		*out = (int32) (pg_ntoh32(v) ^ (uint32) w->flip);
	}
	else if (w->bytes == 8)
	{
		uint64 v;

		memcpy(&v, value.data, 8);
		*out = (int64) (pg_ntoh64(v) ^ w->flip);
	}
	else if (w->bytes == 2)
	{
		uint16 v;

		memcpy(&v, value.data, 2);
		*out = (int16) (pg_ntoh16(v) ^ (uint16) w->flip);
	}
	else
		return false;
	return true;
}

/* Copies n bytes.  Returns false if some are 0 or not ASCII. */
static inline bool
copy_ascii(char *to, const uint8 *p, size_t n)
{
	const uint64 ones = UINT64CONST(0x0101010101010101);
	uint64 bad = 0;
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
	{
		uint64 x;

		memcpy(&x, p + i, 8);
		memcpy(to + i, &x, 8);
		/* subtracting 1 sets the highest bit of a byte that is 0, also with a borrow from the byte
		 * below; other bytes borrow only because of such a byte */
		bad |= x | (x - ones);
	}
	for (; i < n; i++)
	{
		to[i] = (char) p[i];
		bad |= p[i] | (uint8) (p[i] - 1);
	}
	return (bad & (ones << 7)) == 0;
}

/* Makes a text or bytea, in memory that those of a row share.  ascii: returns false if some bytes
 * are not. */
static inline bool
make_varlena(WtRowReader *r, wide_bytes v, bool ascii, Datum *value)
{
	size_t size = MAXALIGN(v.len + VARHDRSZ);
	char *t;

	if (unlikely(r->room_left < size))
	{
		r->room_left = Max(size, 256);
		r->room = palloc(r->room_left);
	}
	t = r->room;
	if (!ascii)
		wt_bytes_copy(VARDATA(t), v.data, v.len);
	else if (!copy_ascii(VARDATA(t), v.data, v.len))
		return false;
	SET_VARSIZE(t, v.len + VARHDRSZ);
	*value = PointerGetDatum(t);
	r->room += size;
	r->room_left -= size;
	return true;
}

/* Decodes the most frequent kinds of values.  Returns false if that is not one. */
static inline bool
wt_reader_value_short(WtRowReader *r, const WtTarget *target, wide_bytes v, Datum *value)
{
	int64 integer;

	if (target->width.bytes > 0 && wt_reader_value_integer(&target->width, v, &integer))
	{
		*value = wt_integer_datum(target->column->typid, integer);
		return true;
	}
	if (target->text || target->bytes)
		return make_varlena(r, v, target->text, value);
	return target->fixed && wt_decode_fixed(target->column, v.data, v.len, value);
}

#endif /* WT_READER_VALUE_H */

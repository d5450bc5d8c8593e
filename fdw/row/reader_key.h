/*
 * reader_key.h
 *		Decodes keys that consist of numbers, in the loops over rows.
 */
#ifndef WT_READER_KEY_H
#define WT_READER_KEY_H

#include "postgres.h"

#include "port/pg_bswap.h"

#include "engine/wide.h"
#include "fdw/row/reader_state.h"
#include "fdw/table/decode.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

/* Takes note of the key's parts if all of them are numbers.  Requires: r->wanted. */
extern void wt_reader_key_note(WtRowReader *r);

static inline uint64
wt_reader_key_number(const uint8 *p, int bytes)
{
	uint64 v8;
	uint32 v4;
	uint16 v2;

	switch (bytes)
	{
		case 8:
			memcpy(&v8, p, 8);
			return pg_ntoh64(v8);
		case 4:
			memcpy(&v4, p, 4);
			return pg_ntoh32(v4);
		case 2:
			memcpy(&v2, p, 2);
			return pg_ntoh16(v2);
		default:
			return *p;
	}
}

/* Sets the columns of a key that consists of numbers.  Returns false if the general way has to
 * decode it, or to say why it does not decode. */
static inline bool
wt_reader_key_decode(const WtRowReader *r, wide_bytes key, Datum *values, bool *nulls)
{
	const uint8 *p = key.data;
	int nkeys = r->t->nkeys;

	if (r->numbers_len == 0 || key.len != (size_t) r->numbers_len)
		return false;
	for (const WtKeyNumber *n = r->numbers; n < r->numbers + nkeys; p += n->bytes, n++)
	{
		uint64 v;

		if (n->att < 0)
			continue;
		v = wt_reader_key_number(p, n->bytes) ^ n->flip;
		if (n->integer)
			values[n->att] = wt_integer_datum(n->column->typid, (int64) v);
		else if (!wt_decode_number(n->column, v, &values[n->att]))
			return false;
		nulls[n->att] = false;
	}
	return true;
}

#endif /* WT_READER_KEY_H */

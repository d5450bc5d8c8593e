/*
 * decode.h
 *		Bytes -> a column's value; encoding.c describes the bytes.
 */
#ifndef WT_DECODE_H
#define WT_DECODE_H

#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/table/types.h"

/*
 * Decodes bytes that may be anything: checks width, range and the text's encoding.
 * Returns: NULL and *value, palloc'd in CurrentMemoryContext if it is by reference; or the reason
 * why the bytes do not decode.
 * Requires: the type is not nested (wt_type_shape_is_nested).
 * Errors: raised by the type's input function, for types that are stored as their output text
 * (wt_type_io_input).
 */
extern const char *wt_decode_soft(const WtColumn *c, const uint8 *data, size_t len, Datum *value);

/* Returns true if the column's values are of a type by value that wt_decode_fixed decodes. */
extern bool wt_decode_is_fixed(const WtColumn *c);

/* As wt_decode_soft for such a column.  Returns false if the bytes do not decode. */
extern bool wt_decode_fixed(const WtColumn *c, const uint8 *data, size_t len, Datum *value);

/* The same; v is the number that the bytes are, and they are as many as the column's encoding
 * takes. */
extern bool wt_decode_number(const WtColumn *c, uint64 v, Datum *value);

/* Returns how many of the bytes a self-delimiting value (ordered numeric, inet) takes, 0 if they do
 * not begin with one.  flip: 0xFF for bytes of a descending key part, which are inverted; else 0.
 */
extern size_t wt_decode_self_length(Oid typid, const uint8 *data, size_t len, uint8 flip);

/* Returns a text or bytea value with these bytes. */
static inline Datum
wt_decode_varlena(const uint8 *data, size_t len)
{
	struct varlena *v = palloc(len + VARHDRSZ);

	SET_VARSIZE(v, len + VARHDRSZ);
	wt_bytes_copy(VARDATA(v), data, len);
	return PointerGetDatum(v);
}

#endif /* WT_DECODE_H */

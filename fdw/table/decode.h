/*
 * decode.h
 *		Bytes -> one column's value.
 */
#ifndef WT_DECODE_H
#define WT_DECODE_H

#include "fdw/table/types.h"

/* The same for bytes that may be anything: false and a reason instead of an error. */
extern bool wt_decode_soft(const WtColumn *c, const uint8 *data, size_t len, Datum *value,
						   const char **why);

/* bytes that such a value takes at data; 0: damaged */
extern size_t wt_decode_self_length(Oid typid, const uint8 *data, size_t len);

/* A text or bytea value with these bytes. */
extern Datum wt_decode_varlena(const uint8 *data, size_t len);

#endif /* WT_DECODE_H */

/*
 * cell_value.c
 *		The value of a cell <-> its bytes, with errors that name the row.
 *
 * The row is named as context if the type's input function raises the error, as detail
 * if the bytes were refused before.
 */
#include "postgres.h"

#include "fdw/table/cell_value.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "port/pg_bswap.h"
#include "utils/lsyscache.h"

#include "fdw/table/decode.h"
#include "fdw/table/encode.h"
#include "fdw/table/key_text.h"
#include "fdw/table/nested_decode.h"
#include "fdw/table/nested_encode.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"

void
wt_cell_value_encode(const WtColumn *c, Datum value, StringInfo out)
{
	if (c->enc == WT_ENC_NESTED)
		wt_nested_encode(c, value, out);
	else
		wt_encode(c, value, out);
}

const char *
wt_cell_value_decode_soft(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	return c->nested ? wt_nested_decode(c, data, len, value) : wt_decode_soft(c, data, len, value);
}

/* The row of the cell, for messages */
typedef struct Place
{
	WtTable *t;
	wide_bytes key;
} Place;

static void
place_error_context(void *arg)
{
	const Place *place = arg;

	if (place->t == NULL)
		return;
	if (wt_rowkey_is_visible(place->t))
		errcontext("row %s of \"%s\"", wt_key_text(place->t, place->key),
				   get_rel_name(place->t->relid));
	else
		errcontext("table \"%s\"", get_rel_name(place->t->relid));
}

/* As wt_cell_value_decode, of any kind. */
static pg_noinline Datum
decode_any(const WtColumn *c, WtTable *t, wide_bytes key, const uint8 *data, size_t len)
{
	Place place = {t, key};
	ErrorContextCallback context = {error_context_stack, place_error_context, &place};
	Datum value = (Datum) 0;
	const char *why;

	error_context_stack = &context;
	why = wt_cell_value_decode_soft(c, data, len, &value);
	error_context_stack = context.previous;
	if (why)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not decode column \"%s\": %s", c->name, why),
				 t == NULL				   ? 0
				 : wt_rowkey_is_visible(t) ? errdetail("Table \"%s\", key %s.",
													   get_rel_name(t->relid),
													   wt_key_text(t, key))
										   : errdetail("Table \"%s\".", get_rel_name(t->relid)),
				 t == NULL ? 0
						   : errhint("Check option \"encoding\" of the column: the cell may have "
									 "been written with another one.")));
	return value;
}

Datum
wt_cell_value_decode(const WtColumn *c, WtTable *t, wide_bytes key, const uint8 *data, size_t len)
{
	/* the two most frequent kinds, on the shortest path */
	if (c->typid == INT8OID && len == 8 && (c->enc == WT_ENC_BINARY || c->enc == WT_ENC_COUNTER))
	{
		uint64 v;

		memcpy(&v, data, 8);
		return Int64GetDatum((int64) pg_ntoh64(v));
	}
	if (c->typid == TEXTOID && c->enc == WT_ENC_TEXT &&
		pg_verify_mbstr(GetDatabaseEncoding(), (const char *) data, (int) len, true))
		return wt_decode_varlena(data, len);
	return decode_any(c, t, key, data, len);
}

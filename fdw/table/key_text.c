/*
 * key_text.c
 *		Row keys in messages and EXPLAIN: their parts as SQL literals.
 */
#include "postgres.h"

#include "fdw/table/key_text.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "fdw/table/decode.h"
#include "fdw/table/encoding.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"

static void
append_literal(StringInfo s, Oid typid, Datum value)
{
	Oid output;
	bool varlena;
	char *text;

	getTypeOutputInfo(typid, &output, &varlena);
	text = OidOutputFunctionCall(output, value);
	switch (typid)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
			appendStringInfoString(s, text);
			break;
		case BOOLOID:
			appendStringInfoString(s, DatumGetBool(value) ? "true" : "false");
			break;
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			/* NaN and Infinity need quotes */
			appendStringInfoString(s, strspn(text, "0123456789+-.e") == strlen(text)
										  ? text
										  : quote_literal_cstr(text));
			break;
		case BYTEAOID:
			/* as hex with one backslash, whatever bytea_output is */
			if (text[0] == '\\' && text[1] == 'x')
			{
				appendStringInfo(s, "'%s'", text);
				break;
			}
			/* FALLTHROUGH */
		default:
			appendStringInfoString(s, quote_literal_cstr(text));
	}
	pfree(text);
}

char *
wt_key_text(WtTable *t, wide_bytes key)
{
	const uint8 *p = key.data;
	size_t n = key.len;
	uint8 *plain = palloc(n);
	StringInfoData s;

	if (t->salt_buckets > 0 && n > 0)
	{
		p++;
		n--;
	}
	initStringInfo(&s);
	appendStringInfoChar(&s, '(');
	for (int i = 0; i < t->nkeys && (i == 0 || n > 0); i++)
	{
		const WtColumn *c = wt_key_column(t, i);
		wide_bytes part;
		ssize_t taken = wt_rowkey_take_part(c, p, n, plain, &part);
		Datum value;

		if (taken < 0)
			return wt_rowkey_hex(key);
		if (i > 0)
			appendStringInfoString(&s, ", ");
		if (wt_rowkey_is_null_part(c, p, n))
			appendStringInfoString(&s, "NULL");
		else if (wt_encoding_is_digest(c->enc))
			appendStringInfo(&s, "'%s'", wt_rowkey_hex(part));
		else if (wt_decode_soft(c, part.data, part.len, &value) == NULL)
			append_literal(&s, c->typid, value);
		else
			return wt_rowkey_hex(key);
		p += taken;
		n -= taken;
	}
	if (n > 0)
		return wt_rowkey_hex(key);
	appendStringInfoChar(&s, ')');
	return s.data;
}

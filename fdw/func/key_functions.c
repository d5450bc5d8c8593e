/*
 * key_functions.c
 *		SQL functions that make and read keys.
 *
 * encode_key and decode_key convert between the key columns of a table and the
 * bytes of its row keys.  The others help to design keys: the end of a prefix,
 * reversed times and host names, salts, tiles of a map, ids in order of time.
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "engine/wide.h"
#include "fdw/func/call.h"
#include "fdw/func/result.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/key_argument.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"

#define MAX_ZOOM 31 /* two bits for each level in a bigint */

/* Keys reveal the definition of a table: 42501 unless the user may see its keys. */
static WtTable *
table_for_keys(FunctionCallInfo fcinfo)
{
	/* wt_table may lock the table, so a first check comes before */
	WtTable *t = wt_table(wt_call_relid(fcinfo, ACL_SELECT));

	if (!wt_rowkey_is_visible(t))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FOREIGN_TABLE, get_rel_name(t->relid));
	return t;
}

PG_FUNCTION_INFO_V1(wt_sql_encode_key);

Datum
wt_sql_encode_key(PG_FUNCTION_ARGS)
{
	WtTable *t;
	StringInfoData key;
	Datum *args;
	Oid *types;
	bool *nulls;
	int n;

	t = table_for_keys(fcinfo);
	n = extract_variadic_args(fcinfo, 1, false, &args, &types, &nulls);
	if (n < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the key must not be null")));
	initStringInfo(&key);
	if (n == 1 && !nulls[0])
		wt_key_argument_encode(t, args[0], types[0], false, NULL, &key);
	else
		wt_key_argument_encode_parts(t, n, args, types, nulls, false, NULL, &key);
	PG_RETURN_DATUM(wt_result_bytea(key.data, key.len));
}

PG_FUNCTION_INFO_V1(wt_sql_decode_key);

Datum
wt_sql_decode_key(PG_FUNCTION_ARGS)
{
	WtTable *t = table_for_keys(fcinfo);
	bytea *b = PG_GETARG_BYTEA_PP(1);
	wide_bytes key = {(uint8 *) VARDATA_ANY(b), VARSIZE_ANY_EXHDR(b)};
	Datum *values = palloc(t->nkeys * sizeof(Datum));
	bool *nulls = palloc(t->nkeys * sizeof(bool));
	JsonbParseState *state = NULL;
	const char *why = wt_rowkey_decode_soft(t, key, NULL, values, nulls);

	if (why)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the bytes are not a row key of \"%s\": %s", get_rel_name(t->relid), why)));
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < t->nkeys; i++)
	{
		const WtColumn *c = &t->columns[t->keys[i]];

		wt_result_push_string(&state, WJB_KEY, c->name);
		if (nulls[i])
			pushJsonbValue(&state, WJB_VALUE, &(JsonbValue) {.type = jbvNull});
		else if (c->typid == OIDOID) /* to_jsonb would make it a string */
			wt_result_push_value(&state, INT8OID, Int64GetDatum(DatumGetObjectId(values[i])));
		else if (type_is_enum(c->typid)) /* to_jsonb would use a cast to json */
		{
			Oid output;
			bool varlena;

			getTypeOutputInfo(c->typid, &output, &varlena);
			wt_result_push_string(&state, WJB_VALUE, OidOutputFunctionCall(output, values[i]));
		}
		else
			wt_result_push_value(&state, c->typid, values[i]);
	}
	PG_RETURN_JSONB_P(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

PG_FUNCTION_INFO_V1(wt_sql_prefix_end);

Datum
wt_sql_prefix_end(PG_FUNCTION_ARGS)
{
	bytea *b = PG_GETARG_BYTEA_PP(0);
	StringInfoData end;

	initStringInfo(&end);
	if (!wt_rowkey_prefix_end((uint8 *) VARDATA_ANY(b), VARSIZE_ANY_EXHDR(b), &end))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(wt_result_bytea(end.data, end.len));
}

PG_FUNCTION_INFO_V1(wt_sql_reverse_time);

Datum
wt_sql_reverse_time(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	int64 us;

	if (TIMESTAMP_IS_NOEND(at))
		PG_RETURN_INT64(0);
	if (TIMESTAMP_IS_NOBEGIN(at) || pg_add_s64_overflow(at, WT_EPOCH_DIFF, &us) || us < 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp is out of range for a reversed time"),
				 errdetail("Reversed times count from 1970 to 294247.")));
	PG_RETURN_INT64(PG_INT64_MAX - us);
}

/*
 * hbase.apache.org/book.html -> org.apache.hbase/book.html, so that a site and
 * its subdomains are one range.  What precedes the host in a URL (scheme, user,
 * password) is left out.  A numeric address is not reversed.
 */
PG_FUNCTION_INFO_V1(wt_sql_reverse_host);

Datum
wt_sql_reverse_host(PG_FUNCTION_ARGS)
{
	char *url = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char *scheme = strstr(url, "://");
	char *at;
	size_t len, end;
	StringInfoData out;

	if (scheme && strcspn(url, "/?#") > (size_t) (scheme - url))
		url = scheme + 3;
	/* the last @, because a password may contain one */
	at = memrchr(url, '@', strcspn(url, "/?#"));
	if (at)
		url = at + 1;
	len = strcspn(url, ":/?#");
	/* a numeric address */
	if (url[0] == '[' || strspn(url, "0123456789.") >= len)
		PG_RETURN_TEXT_P(cstring_to_text(url));
	initStringInfo(&out);
	for (end = len;;)
	{
		size_t start = end;

		while (start > 0 && url[start - 1] != '.')
			start--;
		appendBinaryStringInfo(&out, url + start, end - start);
		if (start == 0)
			break;
		appendStringInfoChar(&out, '.');
		end = start - 1;
	}
	appendStringInfoString(&out, url + len);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

PG_FUNCTION_INFO_V1(wt_sql_salt);

Datum
wt_sql_salt(PG_FUNCTION_ARGS)
{
	bytea *b = PG_GETARG_BYTEA_PP(0);
	int buckets = PG_GETARG_INT32(1);

	if (buckets < 1 || buckets > 256)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the number of buckets must be between 1 and 256")));
	PG_RETURN_INT32(wt_rowkey_salt((uint8 *) VARDATA_ANY(b), VARSIZE_ANY_EXHDR(b), buckets));
}

static void
check_zoom(int zoom)
{
	if (zoom < 0 || zoom > MAX_ZOOM)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("zoom must be between 0 and %d", MAX_ZOOM)));
}

/*
 * The tile of a point in the web Mercator projection, one digit for each level:
 * 0 north west, 1 north east, 2 south west, 3 south east.  A prefix of a quadkey
 * is a larger tile around it, so all points of a tile have a common prefix.
 */
PG_FUNCTION_INFO_V1(wt_sql_quadkey);

Datum
wt_sql_quadkey(PG_FUNCTION_ARGS)
{
	float8 lat = PG_GETARG_FLOAT8(0);
	float8 lon = PG_GETARG_FLOAT8(1);
	int zoom = PG_GETARG_INT32(2);
	const float8 limit = 85.05112877980659; /* latitude at which the square map ends */
	float8 s, fx, fy, n;
	int64 x, y;
	char key[MAX_ZOOM];

	check_zoom(zoom);
	if (!(lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("latitude must be between -90 and 90, longitude between -180 and 180")));
	lat = Min(Max(lat, -limit), limit);
	s = sin(lat * M_PI / 180);
	n = (float8) (INT64CONST(1) << zoom);
	fx = (lon + 180) / 360;
	fy = 0.5 - log((1 + s) / (1 - s)) / (4 * M_PI);
	x = (int64) Min(Max(floor(fx * n), 0), n - 1);
	y = (int64) Min(Max(floor(fy * n), 0), n - 1);
	for (int i = 0; i < zoom; i++)
	{
		int shift = zoom - 1 - i;

		key[i] = (char) ('0' + (x >> shift & 1) + 2 * (y >> shift & 1));
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(key, zoom));
}

PG_FUNCTION_INFO_V1(wt_sql_quadkey_pack);

Datum
wt_sql_quadkey_pack(PG_FUNCTION_ARGS)
{
	text *key;
	int len, zoom;
	int64 packed = 0;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	key = PG_GETARG_TEXT_PP(0);
	len = VARSIZE_ANY_EXHDR(key);
	zoom = PG_ARGISNULL(1) ? len : PG_GETARG_INT32(1);
	check_zoom(zoom);
	if (zoom < len)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("zoom %d is less than the %d levels of the quadkey", zoom, len)));
	for (int i = 0; i < len; i++)
	{
		char digit = VARDATA_ANY(key)[i];

		if (digit < '0' || digit > '3')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid quadkey: \"%s\"", text_to_cstring(key)),
					 errdetail("The digits of a quadkey are 0, 1, 2 and 3.")));
		packed = packed << 2 | (digit - '0');
	}
	PG_RETURN_INT64(packed << 2 * (zoom - len));
}

/*
 * A unique id of 16 bytes that ascends with time: milliseconds since 1970 (64
 * bits), the cluster's identifier folded to 16 bits, the process id (32 bits), a
 * number within the millisecond (16 bits).  When these numbers run out, or the
 * clock is set back, ids run ahead of the clock.
 */
PG_FUNCTION_INFO_V1(wt_sql_flake_id);

Datum
wt_sql_flake_id(PG_FUNCTION_ARGS)
{
	static uint64 last_ms = 0;
	static uint32 sequence = 0;
	uint64 ms = (uint64) (GetCurrentTimestamp() + WT_EPOCH_DIFF) / 1000;
	uint64 cluster = GetSystemIdentifier();
	uint64 id[2];

	if (ms > last_ms)
	{
		last_ms = ms;
		sequence = 0;
	}
	else if (++sequence > PG_UINT16_MAX)
	{
		last_ms++;
		sequence = 0;
	}
	cluster ^= cluster >> 32;
	cluster ^= cluster >> 16;
	id[0] = pg_hton64(last_ms);
	id[1] = pg_hton64((cluster & 0xFFFF) << 48 | (uint64) (uint32) MyProcPid << 16 | sequence);
	PG_RETURN_DATUM(wt_result_bytea(id, sizeof(id)));
}

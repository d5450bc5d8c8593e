/*
 * encode.c
 *		A column's value -> bytes; encoding.c describes the bytes.
 */
#include "postgres.h"

#include "fdw/table/encode.h"

#include <sys/socket.h>

#include "catalog/pg_type.h"
#include "common/cryptohash.h"
#include "common/int.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/inet.h"
#include "utils/jsonb.h"
#include "utils/uuid.h"

#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/distinct.h"
#include "fdw/table/encoding.h"
#include "fdw/table/stored_format.h"
#include "fdw/table/type_io.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

/* Microseconds since 2000 -> since 1970; infinities stay the extremes. */
static int64
unix_us(const WtColumn *c, int64 ts)
{
	int64 us;

	if (TIMESTAMP_NOT_FINITE(ts))
		return ts;
	if (pg_add_s64_overflow(ts, WT_EPOCH_DIFF, &us) || us == PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp of column \"%s\" is out of range", c->name),
				 errdetail("The latest is in the year 294247.")));
	return us;
}

static int32
unix_days(DateADT d)
{
	return DATE_NOT_FINITE(d) ? d : d + UNIX_DAYS;
}

static void
append_varlena(Datum value, StringInfo out)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(value);

	appendBinaryStringInfo(out, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
	if ((Pointer) v != DatumGetPointer(value))
		pfree(v);
}

static void
encode_text(const WtColumn *c, Datum value, StringInfo out)
{
	switch (c->typid)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case BYTEAOID:
		case JSONOID:
			append_varlena(value, out);
			break;
		case NAMEOID:
			appendStringInfoString(out, NameStr(*DatumGetName(value)));
			break;
		case JSONBOID:
		{
			Jsonb *j = DatumGetJsonbP(value);

			(void) JsonbToCString(out, &j->root, VARSIZE(j));
			break;
		}
		case INT2OID:
		case INT4OID:
		case INT8OID:
		{
			char buf[MAXINT8LEN + 1];

			appendBinaryStringInfo(out, buf, pg_lltoa(wt_integer_value(c->typid, value), buf));
			break;
		}
		default:
			wt_type_io_output(c, value, out);
	}
}

/* Returns the bits of a number, whose sign bit is given, as IEEE has them or in the ordered form.
 */
static uint64
float_bits(uint64 bits, uint64 sign, float8 value, bool ordered)
{
	uint64 all = sign | (sign - 1);

	if (!ordered)
		return bits;
	if (isnan(value)) /* its sign differs between platforms */
		return all;
	if (value == 0)
		return sign;
	return bits & sign ? ~bits & all : bits | sign;
}

uint64
wt_encode_fixed_bits(const WtColumn *c, Datum value, bool ordered)
{
	switch (c->typid)
	{
		case BOOLOID:
			return DatumGetBool(value) ? (ordered ? 0x01 : 0xFF) : 0;
		case INT2OID:
			return (uint16) DatumGetInt16(value) ^ (ordered ? 0x8000 : 0);
		case INT4OID:
			return (uint32) DatumGetInt32(value) ^ (ordered ? SIGN32 : 0);
		case OIDOID:
			return DatumGetObjectId(value);
		case DATEOID:
			return (uint32) unix_days(DatumGetDateADT(value)) ^ (ordered ? SIGN32 : 0);
		case INT8OID:
		case TIMEOID:
			return (uint64) DatumGetInt64(value) ^ (ordered ? SIGN64 : 0);
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return (uint64) unix_us(c, DatumGetInt64(value)) ^ (ordered ? SIGN64 : 0);
		case FLOAT4OID:
			return float_bits((uint32) DatumGetInt32(value), SIGN32, DatumGetFloat4(value),
							  ordered);
		case FLOAT8OID:
			return float_bits((uint64) DatumGetInt64(value), SIGN64, DatumGetFloat8(value),
							  ordered);
	}
	elog(ERROR, "type %u of column \"%s\" has no fixed width", c->typid, c->name);
	return 0;
}

static void
encode_numeric(Datum value, StringInfo out)
{
	bytea *b = DatumGetByteaPP(DirectFunctionCall1(numeric_send, value));
	const uint8 *p = (const uint8 *) VARDATA_ANY(b);
	int ndigits = (int) get_be(p, 2);
	int weight = (int16) get_be(p + 2, 2);
	int sign = (int) get_be(p + 4, 2);
	int start;

	p += 8;
	while (ndigits > 0 && get_be(p, 2) == 0)
	{
		p += 2;
		ndigits--;
		weight--;
	}
	while (ndigits > 0 && get_be(p + 2 * (ndigits - 1), 2) == 0)
		ndigits--;
	appendStringInfoChar(out, sign == NUMX_NAN	  ? NUM_NAN
							  : sign == NUMX_PINF ? NUM_PLUS_INF
							  : sign == NUMX_NINF ? NUM_MINUS_INF
							  : ndigits == 0	  ? NUM_ZERO
							  : sign == NUMX_NEG  ? NUM_NEGATIVE
												  : NUM_POSITIVE);
	if (ndigits > 0)
	{
		start = out->len;
		put_be(out, (uint64) (weight + 32768), 2);
		for (int i = 0; i < ndigits; i++)
			put_be(out, get_be(p + 2 * i, 2) + 1, 2);
		put_be(out, 0, 2);
		if (sign == NUMX_NEG)
			for (int i = start; i < out->len; i++)
				out->data[i] = ~out->data[i];
	}
	pfree(b);
}

void
wt_encode_mask_address(uint8 *addr, int width, int bits)
{
	for (int i = 0; i < width; i++, bits -= 8)
		if (bits < 8)
			addr[i] &= bits <= 0 ? 0 : (uint8) (0xFF << (8 - bits));
}

static void
encode_inet(Datum value, StringInfo out)
{
	inet *ip = DatumGetInetPP(value);
	int width = ip_family(ip) == PGSQL_AF_INET ? 4 : 16;
	uint8 net[16];

	memcpy(net, ip_addr(ip), width);
	wt_encode_mask_address(net, width, ip_bits(ip));
	appendStringInfoChar(out, width == 4 ? 4 : 6);
	appendBinaryStringInfo(out, (char *) net, width);
	appendStringInfoChar(out, ip_bits(ip));
	appendBinaryStringInfo(out, (char *) ip_addr(ip), width);
}

static void
encode_fixed(const WtColumn *c, Datum value, StringInfo out)
{
	switch (c->typid)
	{
		case UUIDOID:
			appendBinaryStringInfo(out, (char *) DatumGetUUIDP(value)->data, UUID_LEN);
			break;
		case TEXTOID:
		case VARCHAROID:
		case NAMEOID:
		case BYTEAOID:
			encode_text(c, value, out);
			break;
		case NUMERICOID:
			encode_numeric(value, out);
			break;
		case INETOID:
		case CIDROID:
			encode_inet(value, out);
			break;
		default:
			put_be(out, wt_encode_fixed_bits(c, value, c->enc == WT_ENC_ORDERED),
				   wt_encoding_binary_width(c->typid));
	}
}

static void
encode_unsigned(const WtColumn *c, Datum value, StringInfo out)
{
	int width = wt_encoding_length(c->typid, c->enc);
	int64 v = wt_integer_value(c->typid, value);

	if (v < 0 || (width < 8 && v >> (8 * width)))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("value " INT64_FORMAT
						" of column \"%s\" is out of range for encoding \"%s\"",
						v,
						c->name,
						wt_encoding_name(c->enc)),
				 errdetail("The range is 0 to " INT64_FORMAT ".",
						   width < 8 ? (INT64CONST(1) << (8 * width)) - 1 : PG_INT64_MAX)));
	put_be(out, (uint64) v, width);
}

static void
encode_digest(const WtColumn *c, Datum value, StringInfo out)
{
	StringInfoData text;
	uint8 digest[20];
	int width = c->enc == WT_ENC_MD5 ? 16 : 20;
	pg_cryptohash_ctx *ctx = pg_cryptohash_create(c->enc == WT_ENC_MD5 ? PG_MD5 : PG_SHA1);
	bool ok;

	initStringInfo(&text);
	encode_text(c, value, &text);
	ok = ctx && pg_cryptohash_init(ctx) >= 0 &&
		 pg_cryptohash_update(ctx, (uint8 *) text.data, text.len) >= 0 &&
		 pg_cryptohash_final(ctx, digest, width) >= 0;
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute %s of column \"%s\"",
						wt_encoding_name(c->enc),
						c->name)));
	pg_cryptohash_free(ctx);
	pfree(text.data);
	appendBinaryStringInfo(out, (char *) digest, width);
}

wide_bytes
wt_encode_original_bytes(const WtColumn *c, Datum value)
{
	struct varlena *v;

	if (c->typid == NAMEOID)
		return (wide_bytes) {(const uint8 *) NameStr(*DatumGetName(value)),
							 strlen(NameStr(*DatumGetName(value)))};
	v = PG_DETOAST_DATUM_PACKED(value);
	return (wide_bytes) {(const uint8 *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v)};
}

void
wt_encode(const WtColumn *c, Datum value, StringInfo out)
{
	switch (c->enc)
	{
		case WT_ENC_TEXT:
		case WT_ENC_BYTES:
		case WT_ENC_DECIMAL:
			encode_text(c, value, out);
			break;
		case WT_ENC_BINARY:
		case WT_ENC_ORDERED:
		case WT_ENC_COUNTER:
			encode_fixed(c, value, out);
			break;
		case WT_ENC_UNSIGNED1:
		case WT_ENC_UNSIGNED2:
		case WT_ENC_UNSIGNED4:
		case WT_ENC_UNSIGNED8:
			encode_unsigned(c, value, out);
			break;
		case WT_ENC_REVERSE:
			put_be(out, (uint64) PG_INT64_MAX - wt_encode_fixed_bits(c, value, false), 8);
			break;
		case WT_ENC_HEX:
		{
			static const char digits[] = "0123456789abcdef";
			uint64 v = wt_encode_fixed_bits(c, value, false);

			for (int shift = 8 * wt_encoding_binary_width(c->typid) - 4; shift >= 0; shift -= 4)
				appendStringInfoCharMacro(out, digits[v >> shift & 15]);
			break;
		}
		case WT_ENC_MD5:
		case WT_ENC_SHA1:
			encode_digest(c, value, out);
			break;
		case WT_ENC_HLL:
		{
			uint64 v = pg_hton64((uint64) DatumGetInt64(value));

			wt_distinct_encode(&v, sizeof(v), out);
			break;
		}
		case WT_ENC_NESTED:
			elog(ERROR, "column \"%s\" is not a scalar", c->name);
			break;
	}
}

/*
 * decode.c
 *		Bytes -> a column's value; encoding.c describes the bytes.
 */
#include "postgres.h"

#include "fdw/table/decode.h"

#include <sys/socket.h>

#include "access/htup_details.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/inet.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/distinct.h"
#include "fdw/table/encode.h"
#include "fdw/table/encoding.h"
#include "fdw/table/stored_format.h"
#include "fdw/table/type_io.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/type_shape.h"
#include "fdw/table/types.h"

static const char *
int_datum(const WtColumn *c, int64 v, Datum *value)
{
	if ((c->typid == INT2OID && v != (int16) v) || (c->typid == INT4OID && v != (int32) v))
		return psprintf(INT64_FORMAT " is out of range for type %s", v, format_type_be(c->typid));
	*value = wt_integer_datum(c->typid, v);
	return NULL;
}

/* No blanks and no +.  In keys, whose identity is their bytes, no leading zeros either. */
static const char *
decode_int_text(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	bool neg = len > 0 && data[0] == '-';
	size_t i = neg;
	int64 v = 0; /* of a positive number, too, the negative value */
	bool ok = i < len && !(c->role == WT_KEY && data[i] == '0' && len > 1);

	for (; ok && i < len; i++)
		ok = data[i] >= '0' && data[i] <= '9' && !pg_mul_s64_overflow(v, 10, &v) &&
			 !pg_sub_s64_overflow(v, data[i] - '0', &v);
	if (!ok || (!neg && pg_sub_s64_overflow(0, v, &v)))
		return psprintf("the bytes are not a decimal number of type %s", format_type_be(c->typid));
	return int_datum(c, v, value);
}

static const char *
decode_enum(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	char label[NAMEDATALEN];
	HeapTuple tup = NULL;

	if (len < NAMEDATALEN)
	{
		wt_bytes_copy(label, data, len);
		label[len] = '\0';
		tup = SearchSysCache2(ENUMTYPOIDNAME, ObjectIdGetDatum(c->typid), CStringGetDatum(label));
	}
	if (!HeapTupleIsValid(tup))
		return psprintf("the bytes are not a label of enum %s", format_type_be(c->typid));
	*value = ObjectIdGetDatum(((Form_pg_enum) GETSTRUCT(tup))->oid);
	ReleaseSysCache(tup);
	return NULL;
}

static const char *
decode_text(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	if (wt_is_integer(c->typid))
		return decode_int_text(c, data, len, value);
	if (c->typid != BYTEAOID &&
		!pg_verify_mbstr(GetDatabaseEncoding(), (const char *) data, (int) len, true))
		return psprintf("the bytes are not valid text in encoding %s", GetDatabaseEncodingName());
	switch (c->typid)
	{
		case BYTEAOID:
		case TEXTOID:
		case VARCHAROID:
			*value = wt_decode_varlena(data, len);
			return NULL;
		case NAMEOID:
			if (len >= NAMEDATALEN)
				return psprintf("type name holds at most %d bytes, found %zu", NAMEDATALEN - 1,
								len);
			*value = PointerGetDatum(palloc0(NAMEDATALEN));
			wt_bytes_copy(DatumGetPointer(*value), data, len);
			return NULL;
		default:
			if (c->role == WT_KEY)
				return decode_enum(c, data, len, value);
			/* their input functions would run functions of a user */
			Assert(!wt_type_shape_is_nested(c->typid));
			*value = wt_type_io_input(c, data, len);
			return NULL;
	}
}

size_t
wt_decode_self_length(Oid typid, const uint8 *data, size_t len, uint8 flip)
{
	uint8 first;
	size_t width;

	if (len == 0)
		return 0;
	first = data[0] ^ flip;
	if (typid == NUMERICOID)
	{
		uint8 end = (first == NUM_NEGATIVE ? 0xFF : 0x00) ^ flip;

		if (first != NUM_NEGATIVE && first != NUM_POSITIVE)
			return 1;
		for (size_t i = 3; i + 2 <= len; i += 2)
			if (data[i] == end && data[i + 1] == end)
				return i + 2;
		return 0;
	}
	width = first == 4 ? 10 : first == 6 ? 34 : 0;
	return len >= width ? width : 0;
}

/* Returns the scale of the column's type modifier, 0 if there is none. */
static int
typmod_scale(int32 typmod)
{
	int scale;

	if (typmod < (int32) VARHDRSZ)
		return 0;
	scale = (int) ((((uint32) typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
	return Max(scale, 0);
}

/* Returns the i-th base 10000 digit of an ordered numeric, -1 for one that is not valid. */
static int
ordered_digit(const uint8 *data, int i, uint8 flip)
{
	return (int) ((uint8) (data[3 + 2 * i] ^ flip) << 8 | (uint8) (data[4 + 2 * i] ^ flip)) - 1;
}

/* Returns the scale that shows all digits, -1 if the digits or the scale are not valid. */
static int
ordered_scale(const uint8 *data, int ndigits, int weight, uint8 flip)
{
	int last = 0, scale;

	for (int i = 0; i < ndigits; i++)
	{
		last = ordered_digit(data, i, flip);
		if (last < 0 || last > 9999 || (i == 0 && last == 0))
			return -1;
	}
	if (ndigits == 0 || last == 0)
		return -1;
	scale = 4 * (ndigits - 1 - weight);
	for (; scale > 0 && last % 10 == 0; last /= 10)
		scale--;
	scale = Max(scale, 0);
	return scale > NUMX_MAX_SCALE ? -1 : scale;
}

/* Assembles numeric's external form, which numeric_recv checks. */
static const char *
decode_numeric(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	static const char bad[] = "the bytes are not an ordered numeric";
	StringInfoData buf;
	uint8 class = len > 0 ? data[0] : 0;
	uint8 flip = class == NUM_NEGATIVE ? 0xFF : 0;
	int ndigits = 0, weight = 0, scale = 0;
	int sign = class == NUM_NEGATIVE	? NUMX_NEG
			   : class == NUM_NAN		? NUMX_NAN
			   : class == NUM_PLUS_INF	? NUMX_PINF
			   : class == NUM_MINUS_INF ? NUMX_NINF
										: 0;

	if (len == 0 || wt_decode_self_length(NUMERICOID, data, len, 0) != len ||
		(sign == 0 && class != NUM_ZERO && class != NUM_POSITIVE))
		return bad;
	if (len > 1)
	{
		ndigits = (int) ((len - 5) / 2);
		weight = (int) ((uint8) (data[1] ^ flip) << 8 | (uint8) (data[2] ^ flip)) - 32768;
		scale = ordered_scale(data, ndigits, weight, flip);
		if (scale < 0)
			return bad;
	}
	if (sign == 0 || sign == NUMX_NEG)
		scale = Max(scale, typmod_scale(c->typmod));
	initStringInfo(&buf);
	put_be(&buf, (uint64) ndigits, 2);
	put_be(&buf, (uint64) (uint16) weight, 2);
	put_be(&buf, (uint64) sign, 2);
	put_be(&buf, (uint64) scale, 2);
	for (int i = 0; i < ndigits; i++)
		put_be(&buf, (uint64) ordered_digit(data, i, flip), 2);
	*value = DirectFunctionCall3(numeric_recv, PointerGetDatum(&buf), ObjectIdGetDatum(InvalidOid),
								 Int32GetDatum(-1));
	pfree(buf.data);
	return NULL;
}

static const char *
decode_inet(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	static const char bad[] = "the bytes are not an ordered network address";
	int width = len > 0 && data[0] == 4 ? 4 : 16;
	uint8 net[16];
	inet *ip;
	int bits;

	if (len == 0 || wt_decode_self_length(INETOID, data, len, 0) != len)
		return bad;
	bits = data[1 + width];
	if (bits > 8 * width)
		return bad;
	memcpy(net, data + 2 + width, width);
	wt_encode_mask_address(net, width, bits);
	if (memcmp(net, data + 1, width) != 0 ||
		(c->typid == CIDROID && memcmp(net, data + 2 + width, width) != 0))
		return bad;
	ip = palloc0(sizeof(inet));
	ip_family(ip) = width == 4 ? PGSQL_AF_INET : PGSQL_AF_INET6;
	ip_bits(ip) = (unsigned char) bits;
	memcpy(ip_addr(ip), data + 2 + width, width);
	SET_INET_VARSIZE(ip);
	*value = PointerGetDatum(ip);
	return NULL;
}

static const char *
bool_datum(const WtColumn *c, uint64 v, bool ordered, Datum *value)
{
	if (ordered && v > 1)
		return "the byte is neither 00 nor 01";
	/* HBase reads every byte but 00 as true; a key has only the byte that a lookup asks for */
	if (c->role == WT_KEY && v != 0 && v != (ordered ? 0x01 : 0xFF))
		return "the byte is neither 00 nor ff";
	*value = BoolGetDatum(v != 0);
	return NULL;
}

static const char *
date_datum(int64 days, Datum *value)
{
	int64 d = days;

	if (d != PG_INT32_MAX && d != PG_INT32_MIN)
	{
		d -= UNIX_DAYS;
		if (!IS_VALID_DATE(d))
			return psprintf(INT64_FORMAT " days since 1970 is not a date", days);
	}
	*value = DateADTGetDatum((DateADT) d);
	return NULL;
}

static const char *
time_datum(int64 us, Datum *value)
{
	if (us < 0 || us > USECS_PER_DAY)
		return psprintf(INT64_FORMAT " microseconds since midnight is not a time", us);
	*value = TimeADTGetDatum(us);
	return NULL;
}

static const char *
timestamp_datum(int64 us, Datum *value)
{
	int64 ts;

	if (us == PG_INT64_MAX || us == PG_INT64_MIN)
		ts = us;
	else if (pg_sub_s64_overflow(us, WT_EPOCH_DIFF, &ts) || !IS_VALID_TIMESTAMP(ts))
		return psprintf(INT64_FORMAT " microseconds since 1970 is not a timestamp", us);
	*value = TimestampTzGetDatum(ts);
	return NULL;
}

/* In the ordered form -0 and other NaNs have bytes, too, but a lookup never asks for them. */
static const char *
float_datum(const WtColumn *c, uint64 v, bool ordered, Datum *value)
{
	bool single = c->typid == FLOAT4OID;
	uint64 sign = single ? SIGN32 : SIGN64;
	uint64 u = !ordered ? v : (v & sign) ? v ^ sign : ~v;

	*value = single ? Int32GetDatum((int32) u) : Int64GetDatum((int64) u);
	if (ordered && isnan(single ? DatumGetFloat4(*value) : DatumGetFloat8(*value)))
		*value = single ? Float4GetDatum(get_float4_nan()) : Float8GetDatum(get_float8_nan());
	if (!ordered || wt_encode_fixed_bits(c, *value, true) == v)
		return NULL;
	return "the bytes are not those of an ordered floating-point number";
}

/* The inverse of wt_encode_fixed_bits.  Requires: v has no more bits than the type. */
static const char *
fixed_datum(const WtColumn *c, uint64 v, bool ordered, Datum *value)
{
	uint64 flipped = ordered ? v ^ SIGN64 : v; /* of signed types with 8 bytes */

	switch (c->typid)
	{
		case BOOLOID:
			return bool_datum(c, v, ordered, value);
		case INT2OID:
			*value = Int16GetDatum((int16) (v ^ (ordered ? 0x8000 : 0)));
			return NULL;
		case INT4OID:
			*value = Int32GetDatum((int32) (v ^ (ordered ? SIGN32 : 0)));
			return NULL;
		case INT8OID:
			*value = Int64GetDatum((int64) flipped);
			return NULL;
		case OIDOID:
			*value = ObjectIdGetDatum((Oid) v);
			return NULL;
		case DATEOID:
			return date_datum((int32) (v ^ (ordered ? SIGN32 : 0)), value);
		case TIMEOID:
			return time_datum((int64) flipped, value);
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return timestamp_datum((int64) flipped, value);
		case FLOAT4OID:
		case FLOAT8OID:
			return float_datum(c, v, ordered, value);
	}
	return "the type has no such encoding";
}

bool
wt_decode_is_fixed(const WtColumn *c)
{
	return (c->enc == WT_ENC_BINARY || c->enc == WT_ENC_ORDERED) &&
		   (c->typid == BOOLOID || c->typid == OIDOID || c->typid == DATEOID ||
			c->typid == TIMEOID || c->typid == TIMESTAMPOID || c->typid == TIMESTAMPTZOID ||
			c->typid == FLOAT4OID || c->typid == FLOAT8OID);
}

bool
wt_decode_number(const WtColumn *c, uint64 v, Datum *value)
{
	return fixed_datum(c, v, c->enc == WT_ENC_ORDERED, value) == NULL;
}

bool
wt_decode_fixed(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	return len == (size_t) wt_encoding_length(c->typid, c->enc) &&
		   wt_decode_number(c, get_be(data, (int) len), value);
}

static const char *
decode_fixed(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	switch (c->typid)
	{
		case UUIDOID:
			*value = PointerGetDatum(palloc(UUID_LEN));
			memcpy(DatumGetPointer(*value), data, UUID_LEN);
			return NULL;
		case TEXTOID:
		case VARCHAROID:
		case NAMEOID:
		case BYTEAOID:
			return decode_text(c, data, len, value);
		case NUMERICOID:
			return decode_numeric(c, data, len, value);
		case INETOID:
		case CIDROID:
			return decode_inet(c, data, len, value);
		default:
			return fixed_datum(c, get_be(data, (int) len), c->enc == WT_ENC_ORDERED, value);
	}
}

static const char *
decode_hex(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	uint64 v = 0;

	for (size_t i = 0; i < len; i++)
	{
		/* a key has one spelling of each number */
		int digit = wt_bytes_text_hex_digit((char) data[i], c->role != WT_KEY);

		if (digit < 0)
			return "the bytes are not hexadecimal digits";
		v = v << 4 | (uint64) digit;
	}
	return fixed_datum(c, v, false, value);
}

const char *
wt_decode_soft(const WtColumn *c, const uint8 *data, size_t len, Datum *value)
{
	int width = wt_encoding_length(c->typid, c->enc);

	if (width > 0 && len != (size_t) width)
		return psprintf("encoding \"%s\" of type %s takes %d bytes, found %zu",
						wt_encoding_name(c->enc), format_type_be(c->typid), width, len);
	switch (c->enc)
	{
		case WT_ENC_TEXT:
		case WT_ENC_BYTES:
		case WT_ENC_DECIMAL:
			return decode_text(c, data, len, value);
		case WT_ENC_BINARY:
		case WT_ENC_ORDERED:
		case WT_ENC_COUNTER:
			return decode_fixed(c, data, len, value);
		case WT_ENC_UNSIGNED1:
		case WT_ENC_UNSIGNED2:
		case WT_ENC_UNSIGNED4:
		case WT_ENC_UNSIGNED8:
		{
			uint64 v = get_be(data, width);

			if (v > PG_INT64_MAX)
				return psprintf(UINT64_FORMAT " is out of range for type %s", v,
								format_type_be(c->typid));
			return int_datum(c, (int64) v, value);
		}
		case WT_ENC_REVERSE:
			return fixed_datum(c, (uint64) PG_INT64_MAX - get_be(data, 8), false, value);
		case WT_ENC_HEX:
			return decode_hex(c, data, len, value);
		case WT_ENC_HLL:
		{
			int64 count;
			const char *why = wt_distinct_decode(data, len, &count);

			*value = why == NULL ? Int64GetDatum(count) : (Datum) 0;
			return why;
		}
		case WT_ENC_NESTED:
			return "the column is not a scalar";
		case WT_ENC_MD5:
		case WT_ENC_SHA1:
			break;
	}
	return "a digest cannot be decoded";
}

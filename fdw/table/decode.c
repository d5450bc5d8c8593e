/*
 * decode.c
 *		Bytes -> one column's value; see encoding.c for what they are.
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

#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/encode.h"
#include "fdw/table/encoding.h"
#include "fdw/table/stored_format.h"
#include "fdw/table/type_io.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

static bool
text_is_valid(const uint8 *data, size_t len, const char **why)
{
	if (pg_verify_mbstr(GetDatabaseEncoding(), (const char *) data, (int) len, true))
		return true;
	*why = psprintf("the bytes are not valid text in encoding %s", GetDatabaseEncodingName());
	return false;
}

Datum
wt_decode_varlena(const uint8 *data, size_t len)
{
	struct varlena *v = palloc(len + VARHDRSZ);

	SET_VARSIZE(v, len + VARHDRSZ);
	memcpy(VARDATA(v), data, len);
	return PointerGetDatum(v);
}

static bool
int_datum(const WtColumn *c, int64 v, Datum *value, const char **why)
{
	if ((c->typid == INT2OID && v != (int16) v) || (c->typid == INT4OID && v != (int32) v))
	{
		*why = psprintf(INT64_FORMAT " is out of range for type %s", v, format_type_be(c->typid));
		return false;
	}
	*value = c->typid == INT2OID   ? Int16GetDatum((int16) v)
			 : c->typid == INT4OID ? Int32GetDatum((int32) v)
								   : Int64GetDatum(v);
	return true;
}

/* One spelling only where bytes are identity (keys): no blanks, +, leading zeros. */
static bool
decode_int_text(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why)
{
	size_t i = 0;
	bool neg = len > 0 && data[0] == '-';
	int64 v = 0;
	bool ok;

	if (neg)
		i++;
	ok = i < len;
	if (ok && c->role == WT_KEY && data[i] == '0' && (neg || len > 1))
		ok = false;
	for (; ok && i < len; i++)
		ok = data[i] >= '0' && data[i] <= '9' && !pg_mul_s64_overflow(v, 10, &v) &&
			 !pg_sub_s64_overflow(v, data[i] - '0', &v);
	if (ok && !neg)
	{
		ok = v != PG_INT64_MIN;
		v = ok ? -v : v;
	}
	if (!ok)
	{
		*why = psprintf("the bytes are not a decimal number of type %s", format_type_be(c->typid));
		return false;
	}
	return int_datum(c, v, value, why);
}

static bool
decode_enum(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why)
{
	char label[NAMEDATALEN];
	HeapTuple tup = NULL;

	if (len < NAMEDATALEN)
	{
		memcpy(label, data, len);
		label[len] = '\0';
		tup = SearchSysCache2(ENUMTYPOIDNAME, ObjectIdGetDatum(c->typid), CStringGetDatum(label));
	}
	if (!HeapTupleIsValid(tup))
	{
		*why = psprintf("the bytes are not a label of enum %s", format_type_be(c->typid));
		return false;
	}
	*value = ObjectIdGetDatum(((Form_pg_enum) GETSTRUCT(tup))->oid);
	ReleaseSysCache(tup);
	return true;
}

static bool
decode_text(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why)
{
	if (c->typid == BYTEAOID)
	{
		*value = wt_decode_varlena(data, len);
		return true;
	}
	if (wt_is_integer(c->typid))
		return decode_int_text(c, data, len, value, why);
	if (!text_is_valid(data, len, why))
		return false;
	switch (c->typid)
	{
		case TEXTOID:
		case VARCHAROID:
			*value = wt_decode_varlena(data, len);
			return true;
		case NAMEOID:
			if (len >= NAMEDATALEN)
			{
				*why = psprintf("type name holds at most %d bytes, found %zu", NAMEDATALEN - 1,
								len);
				return false;
			}
			*value = PointerGetDatum(palloc0(NAMEDATALEN));
			memcpy(DatumGetPointer(*value), data, len);
			return true;
		default:
			if (c->role == WT_KEY)
				return decode_enum(c, data, len, value, why);
			*value = wt_type_io_input(c, data, len);
			return true;
	}
}

size_t
wt_decode_self_length(Oid typid, const uint8 *data, size_t len)
{
	if (len == 0)
		return 0;
	if (typid == NUMERICOID)
	{
		uint8 end = data[0] == NUM_NEGATIVE ? 0xFF : 0x00;

		if (data[0] != NUM_NEGATIVE && data[0] != NUM_POSITIVE)
			return 1;
		for (size_t i = 3; i + 2 <= len; i += 2)
			if (data[i] == end && data[i + 1] == end)
				return i + 2;
		return 0;
	}
	if (data[0] == 4)
		return len >= 10 ? 10 : 0;
	if (data[0] == 6)
		return len >= 34 ? 34 : 0;
	return 0;
}

/* The scale that the column's type shows, or 0 */
static int
typmod_scale(int32 typmod)
{
	int scale;

	if (typmod < (int32) VARHDRSZ)
		return 0;
	scale = (int) ((((uint32) typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
	return Max(scale, 0);
}

/* Puts numeric's external form together and lets numeric_recv check it. */
static bool
decode_numeric(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why)
{
	StringInfoData buf;
	uint8 flip = 0;
	int sign = 0, ndigits = 0, weight = 0, scale = 0;

	*why = "the bytes are not an ordered numeric";
	if (len == 0 || wt_decode_self_length(NUMERICOID, data, len) != len)
		return false;
	switch (data[0])
	{
		case NUM_ZERO:
		case NUM_POSITIVE:
			break;
		case NUM_NEGATIVE:
			sign = NUMX_NEG;
			flip = 0xFF;
			break;
		case NUM_NAN:
			sign = NUMX_NAN;
			break;
		case NUM_PLUS_INF:
			sign = NUMX_PINF;
			break;
		case NUM_MINUS_INF:
			sign = NUMX_NINF;
			break;
		default:
			return false;
	}
	if (len > 1)
	{
		int last = 0;

		ndigits = (int) ((len - 5) / 2);
		weight = (int) ((uint8) (data[1] ^ flip) << 8 | (uint8) (data[2] ^ flip)) - 32768;
		for (int i = 0; i < ndigits; i++)
		{
			last = ((uint8) (data[3 + 2 * i] ^ flip) << 8 | (uint8) (data[4 + 2 * i] ^ flip)) - 1;
			if (last < 0 || last > 9999 || (i == 0 && last == 0))
				return false;
		}
		if (ndigits == 0 || last == 0)
			return false;
		scale = 4 * (ndigits - 1 - weight);
		for (; scale > 0 && last % 10 == 0; last /= 10)
			scale--;
		scale = Max(scale, 0);
		if (scale > NUMX_MAX_SCALE)
			return false;
	}
	if (sign == 0 || sign == NUMX_NEG)
		scale = Max(scale, typmod_scale(c->typmod));
	initStringInfo(&buf);
	put_be(&buf, (uint64) ndigits, 2);
	put_be(&buf, (uint64) (uint16) weight, 2);
	put_be(&buf, (uint64) sign, 2);
	put_be(&buf, (uint64) scale, 2);
	for (int i = 0; i < ndigits; i++)
		put_be(&buf,
			   (uint64) (((uint8) (data[3 + 2 * i] ^ flip) << 8 |
						  (uint8) (data[4 + 2 * i] ^ flip)) -
						 1),
			   2);
	*value = DirectFunctionCall3(numeric_recv, PointerGetDatum(&buf), ObjectIdGetDatum(InvalidOid),
								 Int32GetDatum(-1));
	pfree(buf.data);
	return true;
}

static bool
decode_inet(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why)
{
	int width = len > 0 && data[0] == 4 ? 4 : 16;
	uint8 net[16];
	inet *ip;
	int bits;

	*why = "the bytes are not an ordered network address";
	if (len == 0 || wt_decode_self_length(INETOID, data, len) != len)
		return false;
	bits = data[1 + width];
	if (bits > 8 * width)
		return false;
	memcpy(net, data + 2 + width, width);
	wt_encode_mask_address(net, width, bits);
	if (memcmp(net, data + 1, width) != 0 ||
		(c->typid == CIDROID && memcmp(net, data + 2 + width, width) != 0))
		return false;
	ip = palloc0(sizeof(inet));
	ip_family(ip) = width == 4 ? PGSQL_AF_INET : PGSQL_AF_INET6;
	ip_bits(ip) = (unsigned char) bits;
	memcpy(ip_addr(ip), data + 2 + width, width);
	SET_INET_VARSIZE(ip);
	*value = PointerGetDatum(ip);
	return true;
}

static bool
timestamp_datum(int64 us, Datum *value, const char **why)
{
	int64 ts;

	if (us == PG_INT64_MAX || us == PG_INT64_MIN)
		ts = us;
	else if (pg_sub_s64_overflow(us, WT_EPOCH_DIFF, &ts) || !IS_VALID_TIMESTAMP(ts))
	{
		*why = psprintf(INT64_FORMAT " microseconds since 1970 is not a timestamp", us);
		return false;
	}
	*value = TimestampTzGetDatum(ts);
	return true;
}

/* -0 and the other NaNs have ordered bytes too, but a lookup never asks for those. */
static bool
is_canonical_float(const WtColumn *c, Datum value, uint64 bytes, const char **why)
{
	if (wt_encode_fixed_bits(c, value, true) == bytes)
		return true;
	*why = "the bytes are not those of an ordered floating-point number";
	return false;
}

/* What wt_encode_fixed_bits made; v is of the type's width already. */
static bool
fixed_datum(const WtColumn *c, uint64 v, bool ordered, Datum *value, const char **why)
{
	switch (c->typid)
	{
		case BOOLOID:
			if (ordered && v > 1)
			{
				*why = "the byte is neither 00 nor 01";
				return false;
			}
			/* HBase reads every byte but 00 as true; a lookup knows only one of them */
			if (c->role == WT_KEY && v != 0 && v != (ordered ? 0x01 : 0xFF))
			{
				*why = "the byte is neither 00 nor ff";
				return false;
			}
			*value = BoolGetDatum(v != 0);
			return true;
		case INT2OID:
			*value = Int16GetDatum((int16) (v ^ (ordered ? 0x8000 : 0)));
			return true;
		case INT4OID:
			*value = Int32GetDatum((int32) (v ^ (ordered ? SIGN32 : 0)));
			return true;
		case OIDOID:
			*value = ObjectIdGetDatum((Oid) v);
			return true;
		case DATEOID:
		{
			int64 d = (int32) (v ^ (ordered ? SIGN32 : 0));

			if (d != PG_INT32_MAX && d != PG_INT32_MIN)
			{
				d -= UNIX_DAYS;
				if (!IS_VALID_DATE(d))
				{
					*why = psprintf(INT64_FORMAT " days since 1970 is not a date", d + UNIX_DAYS);
					return false;
				}
			}
			*value = DateADTGetDatum((DateADT) d);
			return true;
		}
		case INT8OID:
			*value = Int64GetDatum((int64) (v ^ (ordered ? SIGN64 : 0)));
			return true;
		case TIMEOID:
		{
			int64 t = (int64) (v ^ (ordered ? SIGN64 : 0));

			if (t < 0 || t > USECS_PER_DAY)
			{
				*why = psprintf(INT64_FORMAT " microseconds since midnight is not a time", t);
				return false;
			}
			*value = TimeADTGetDatum(t);
			return true;
		}
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return timestamp_datum((int64) (v ^ (ordered ? SIGN64 : 0)), value, why);
		case FLOAT4OID:
		{
			uint32 u = (uint32) v;
			float4 f;

			if (ordered)
				u = (u & SIGN32) ? u ^ SIGN32 : ~u;
			memcpy(&f, &u, 4);
			*value = Float4GetDatum(ordered && isnan(f) ? get_float4_nan() : f);
			return !ordered || is_canonical_float(c, *value, v, why);
		}
		case FLOAT8OID:
		{
			uint64 bits = v;
			float8 f;

			if (ordered)
				bits = (v & SIGN64) ? v ^ SIGN64 : ~v;
			memcpy(&f, &bits, 8);
			*value = Float8GetDatum(ordered && isnan(f) ? get_float8_nan() : f);
			return !ordered || is_canonical_float(c, *value, v, why);
		}
	}
	*why = "the type has no such encoding";
	return false;
}

static bool
decode_fixed(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why)
{
	switch (c->typid)
	{
		case UUIDOID:
			*value = PointerGetDatum(palloc(UUID_LEN));
			memcpy(DatumGetPointer(*value), data, UUID_LEN);
			return true;
		case TEXTOID:
		case VARCHAROID:
		case NAMEOID:
		case BYTEAOID:
			return decode_text(c, data, len, value, why);
		case NUMERICOID:
			return decode_numeric(c, data, len, value, why);
		case INETOID:
		case CIDROID:
			return decode_inet(c, data, len, value, why);
		default:
			return fixed_datum(c, get_be(data, (int) len), c->enc == WT_ENC_ORDERED, value, why);
	}
}

static bool
decode_hex(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why)
{
	uint64 v = 0;

	for (size_t i = 0; i < len; i++)
	{
		uint8 ch = data[i];

		if (ch >= '0' && ch <= '9')
			v = v << 4 | (ch - '0');
		else if (ch >= 'a' && ch <= 'f')
			v = v << 4 | (ch - 'a' + 10);
		else if (ch >= 'A' && ch <= 'F' && c->role != WT_KEY)
			v = v << 4 | (ch - 'A' + 10);
		else
		{
			*why = "the bytes are not hexadecimal digits";
			return false;
		}
	}
	return fixed_datum(c, v, false, value, why);
}

bool
wt_decode_soft(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why)
{
	int width = wt_encoding_length(c->typid, c->enc);

	if (width > 0 && len != (size_t) width)
	{
		*why = psprintf("encoding \"%s\" of type %s takes %d bytes, found %zu",
						wt_encoding_name(c->enc), format_type_be(c->typid), width, len);
		return false;
	}
	switch (c->enc)
	{
		case WT_ENC_TEXT:
		case WT_ENC_BYTES:
		case WT_ENC_DECIMAL:
			return decode_text(c, data, len, value, why);
		case WT_ENC_BINARY:
		case WT_ENC_ORDERED:
			return decode_fixed(c, data, len, value, why);
		case WT_ENC_COUNTER:
			*value = Int64GetDatum((int64) get_be(data, 8));
			return true;
		case WT_ENC_UNSIGNED1:
		case WT_ENC_UNSIGNED2:
		case WT_ENC_UNSIGNED4:
		case WT_ENC_UNSIGNED8:
		{
			uint64 v = get_be(data, width);

			if (v > PG_INT64_MAX)
			{
				*why = psprintf(UINT64_FORMAT " is out of range for type %s", v,
								format_type_be(c->typid));
				return false;
			}
			return int_datum(c, (int64) v, value, why);
		}
		case WT_ENC_REVERSE:
			return fixed_datum(c, (uint64) PG_INT64_MAX - get_be(data, 8), false, value, why);
		case WT_ENC_HEX:
			return decode_hex(c, data, len, value, why);
		case WT_ENC_MD5:
		case WT_ENC_SHA1:
			break;
	}
	*why = "a digest cannot be decoded";
	return false;
}

/*
 * encoding.c
 *		The encodings, what their bytes are, and which types may have which.
 *
 * Values are stored as HBase's Bytes.toBytes writes them unless the column's
 * options say otherwise, so that other tools can read them.  Key parts are
 * stored such that unsigned bytes sort as the SQL type does.
 *
 *	encoding	type				bytes
 *	text,bytes	any					the bytes of text, varchar, bytea; else the output text
 *	binary		bool				ff / 00 (any byte but 00 reads as true)
 *				int2/4/8, oid		big-endian two's complement
 *				float4/8			IEEE bits, big-endian
 *				timestamp[tz]		int8: microseconds since 1970-01-01 (UTC)
 *				date				int4: days since 1970-01-01
 *				time				int8: microseconds since midnight
 *				uuid				16 bytes
 *	ordered		bool				01 / 00
 *				signed, times		as binary with the sign bit inverted
 *				oid, uuid, text		as binary
 *				float4/8			negative: all bits inverted, else the sign bit;
 *									-0 is stored as 0; there is one NaN, above all others
 *				numeric, inet		below
 *	unsignedN	int2/4/8			N bytes, big-endian, range-checked
 *	reverse		int8, timestamp[tz]	2^63-1 - x: the bytes of "ordered" in a descending part
 *	hex			int2/4/8			4, 8 or 16 lower-case digits of the two's complement
 *	decimal		int2/4/8, numeric	decimal text
 *	md5, sha1	text key parts		the digest
 *	counter		int8				as binary
 *	hll			int8				a count of distinct values: distinct.h
 *	nested		arrays, composites,	their structure: nested_form.c
 *				ranges, multiranges
 *
 * Infinite timestamps and dates are the extreme integers, so they sort outside
 * all others in the ordered form, too.
 *
 * Ordered numeric, self-delimiting:
 *
 *	class byte	08 -Infinity, 10 negative, 20 zero, 30 positive, 38 +Infinity, 40 NaN
 *	10 and 30 only:
 *		weight		2 bytes, big-endian: power of 10000 of the first digit, plus 32768
 *		digits		2 bytes each, big-endian: a base 10000 digit plus 1; neither the
 *					first nor the last digit is 0, so equal numbers have equal bytes
 *		end			00 00
 *	10: all bytes after the class byte are inverted
 *
 * The display scale is not stored: 1.50 reads as 1.5 unless the column's type
 * has a scale.  (Phoenix's decimal was the alternative; it stops at 38 digits.)
 *
 * Ordered inet and cidr, self-delimiting: 04 or 06; the address with host bits
 * cleared (4 or 16 bytes); netmask length; the whole address.  This is the
 * order of network_cmp: network bits, then masklen, then the address.
 *
 * Stored bytes are never trusted: decoding checks widths, ranges and the text's
 * encoding before it makes a Datum of them.
 */
#include "postgres.h"

#include "fdw/table/encoding.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "fdw/table/type_kind.h"
#include "fdw/table/type_shape.h"
#include "fdw/table/types.h"

/* By WtEncoding: the name, and the bytes of each value */
static const struct
{
	const char *name;
	int length; /* 0: values differ in length */
	int widths; /* length is that many times the width of the type instead */
} encodings[] = {{"text", 0, 0},	  {"bytes", 0, 0},	   {"binary", 0, 1},	{"ordered", 0, 1},
				 {"unsigned1", 1, 0}, {"unsigned2", 2, 0}, {"unsigned4", 4, 0}, {"unsigned8", 8, 0},
				 {"reverse", 8, 0},	  {"hex", 0, 2},	   {"decimal", 0, 0},	{"md5", 16, 0},
				 {"sha1", 20, 0},	  {"counter", 8, 0},   {"nested", 0, 0},	{"hll", 0, 0}};

#define ENC_BIT(e) (1u << (e))
#define ENC_COUNT  ((int) lengthof(encodings))
#define ENC_INTEGERS                                                                     \
	(ENC_BIT(WT_ENC_UNSIGNED1) | ENC_BIT(WT_ENC_UNSIGNED2) | ENC_BIT(WT_ENC_UNSIGNED4) | \
	 ENC_BIT(WT_ENC_UNSIGNED8) | ENC_BIT(WT_ENC_HEX) | ENC_BIT(WT_ENC_DECIMAL))

const char *
wt_encoding_name(WtEncoding e)
{
	return encodings[e].name;
}

int
wt_encoding_by_name(const char *name)
{
	for (int i = 0; i < ENC_COUNT; i++)
		if (pg_strcasecmp(name, encodings[i].name) == 0)
			return i;
	return -1;
}

int
wt_encoding_binary_width(Oid typid)
{
	switch (typid)
	{
		case BOOLOID:
			return 1;
		case INT2OID:
			return 2;
		case INT4OID:
		case OIDOID:
		case FLOAT4OID:
		case DATEOID:
			return 4;
		case INT8OID:
		case FLOAT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case TIMEOID:
			return 8;
		case UUIDOID:
			return 16;
		default:
			return wt_is_bytes(typid) ? 0 : -1;
	}
}

/* Returns the encodings that a type may have, as a bit set. */
static uint32
allowed_encodings(Oid typid, bool key)
{
	uint32 set = 0;

	if (key)
	{
		/*
		 * Equal values must have equal bytes, so output text is allowed only for
		 * types that have one spelling of each value.
		 */
		if (wt_is_bytes(typid))
			set |= ENC_BIT(WT_ENC_TEXT) | ENC_BIT(WT_ENC_BYTES);
		if (wt_is_integer(typid) || type_is_enum(typid))
			set |= ENC_BIT(WT_ENC_TEXT);
		if (wt_is_string(typid))
			set |= ENC_BIT(WT_ENC_MD5) | ENC_BIT(WT_ENC_SHA1);
	}
	else
		set |= ENC_BIT(WT_ENC_TEXT) | ENC_BIT(WT_ENC_BYTES);
	if (wt_encoding_binary_width(typid) >= 0)
	{
		set |= ENC_BIT(WT_ENC_ORDERED);
		/* -0 and 0, and the NaNs, are equal but differ in IEEE bits */
		if (!key || (typid != FLOAT4OID && typid != FLOAT8OID))
			set |= ENC_BIT(WT_ENC_BINARY);
	}
	if (wt_encoding_is_self_delimiting(typid, WT_ENC_ORDERED))
		set |= ENC_BIT(WT_ENC_ORDERED);
	if (wt_is_integer(typid))
		set |= ENC_INTEGERS;
	if (typid == NUMERICOID && !key)
		set |= ENC_BIT(WT_ENC_DECIMAL);
	if (typid == INT8OID || typid == TIMESTAMPTZOID || typid == TIMESTAMPOID)
		set |= ENC_BIT(WT_ENC_REVERSE);
	if (typid == INT8OID && !key)
		set |= ENC_BIT(WT_ENC_COUNTER) | ENC_BIT(WT_ENC_HLL);
	if (!key && wt_type_shape_is_nested(typid))
		set |= ENC_BIT(WT_ENC_NESTED);
	return set;
}

WtEncoding
wt_encoding_default(Oid typid, bool key)
{
	if (wt_is_string(typid))
		return WT_ENC_TEXT;
	if (typid == BYTEAOID)
		return WT_ENC_BYTES;
	if (key)
		return type_is_enum(typid) ? WT_ENC_TEXT : WT_ENC_ORDERED;
	if (wt_encoding_binary_width(typid) > 0)
		return WT_ENC_BINARY;
	return wt_type_shape_is_nested(typid) ? WT_ENC_NESTED : WT_ENC_TEXT;
}

void
wt_encoding_check(const WtColumn *c, bool key)
{
	uint32 set = allowed_encodings(c->typid, key);
	bool blank_padded = c->typid == BPCHAROID;
	StringInfoData list;

	if (set & ENC_BIT(c->enc))
		return;
	if (set == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("key column \"%s\" must not have type %s",
						c->name,
						format_type_be(c->typid)),
				 errdetail(blank_padded
							   ? "Trailing blanks count in a row key but not in this type."
							   : "The type has no encoding whose bytes compare as its values do."),
				 errhint(blank_padded
							 ? "Use text or varchar."
							 : "Key columns may be smallint, integer, bigint, numeric, real, "
							   "double precision, boolean, oid, text, varchar, name, bytea, date, "
							   "time, timestamp, timestamptz, uuid, inet, cidr or an enum.  Make "
							   "the key of such a column, filled with the value's text or a number "
							   "made of it, and keep the value itself in a column that is not part "
							   "of the key.")));
	initStringInfo(&list);
	for (int i = 0; i < ENC_COUNT; i++)
		if (set & ENC_BIT(i))
			appendStringInfo(&list, "%s%s", list.len ? ", " : "", encodings[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
			 errmsg("%s \"%s\" of type %s cannot have encoding \"%s\"",
					key ? "key column" : "column",
					c->name,
					format_type_be(c->typid),
					encodings[c->enc].name),
			 errhint("Valid encodings are: %s.", list.data)));
}

int
wt_encoding_length(Oid typid, WtEncoding e)
{
	int widths = encodings[e].widths;

	return widths == 0 ? encodings[e].length : widths * Max(wt_encoding_binary_width(typid), 0);
}

bool
wt_encoding_is_ordered(const WtColumn *c)
{
	/* with delimiter '+', the value "a!" sorts before "a": a delimiter breaks the order unless it
	 * is the least byte */
	if (c->delimited && c->delimiter != '\0' && !(c->last && !c->desc))
		return false;
	switch (c->enc)
	{
		case WT_ENC_TEXT:
		case WT_ENC_BYTES:
			return wt_is_bytes(c->typid);
		case WT_ENC_BINARY:
			return wt_is_bytes(c->typid) || c->typid == UUIDOID || c->typid == BOOLOID ||
				   c->typid == OIDOID;
		case WT_ENC_ORDERED:
			return true;
		default:
			return wt_encoding_is_unsigned(c->enc);
	}
}

bool
wt_encoding_is_self_delimiting(Oid typid, WtEncoding e)
{
	return e == WT_ENC_ORDERED && (typid == NUMERICOID || typid == INETOID || typid == CIDROID);
}

bool
wt_encoding_is_exact(const WtColumn *c)
{
	if (c->role != WT_CELL && c->role != WT_KEY)
		return false;
	switch (c->enc)
	{
		case WT_ENC_ORDERED:
			return c->typid != NUMERICOID && c->typid != FLOAT4OID && c->typid != FLOAT8OID &&
				   c->typid != INTERVALOID;
		case WT_ENC_DECIMAL:
		case WT_ENC_NESTED:
			return false;
		default:
			return true;
	}
}

bool
wt_encoding_is_injective(const WtColumn *c)
{
	if (wt_encoding_binary_width(c->typid) >= 0 && c->typid != FLOAT4OID && c->typid != FLOAT8OID)
		return true;
	/* 1.0 = 1.00, -0 = 0, 24 hours = 1 day: only the ordered form is canonical */
	return c->enc == WT_ENC_ORDERED || type_is_enum(c->typid);
}

/*
 * decode.c
 *		One column's value <-> bytes.
 *
 * Values are stored as HBase's Bytes.toBytes would write them unless the
 * column says otherwise, so that other tools can read them; key parts are
 * stored so that unsigned bytes sort as the SQL type sorts.
 *
 *	encoding	type				bytes
 *	text,bytes	any					the bytes of text, varchar, bytea; the type's output otherwise
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
 *				float4/8			negative: all bits inverted, else the sign bit; -0 is 0, one NaN above all
 *				numeric, inet		below
 *	unsignedN	int2/4/8			N bytes, big-endian, range-checked
 *	reverse		int8, timestamp[tz]	2^63-1 - x: the same bytes as "ordered" of a descending part
 *	hex			int2/4/8			4, 8 or 16 lower-case digits of the two's complement
 *	decimal		int2/4/8, numeric	decimal text
 *	md5, sha1	text key parts		the digest
 *	counter		int8				= binary
 *
 * Infinite timestamps and dates are the extreme integers, so they sort outside
 * everything else in the ordered form as well.
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
 * The display scale is not kept: 1.50 reads as 1.5 unless the column's type
 * has a scale.  (Phoenix's decimal was the alternative; it stops at 38 digits.)
 *
 * Ordered inet and cidr, self-delimiting: 04 or 06; the address with host bits
 * cleared (4 or 16 bytes); netmask length; the whole address.  That is
 * network_cmp: network bits, then masklen, then the address.
 *
 * Bytes that come from a file are never trusted: decoding checks widths,
 * ranges and the text's encoding before a Datum is made of them.
 */
#include "fdw/widetable.h"

#include <sys/socket.h>

#include "access/htup_details.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "common/cryptohash.h"
#include "common/int.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/float.h"
#include "utils/hsearch.h"
#include "utils/inet.h"
#include "utils/inval.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#define UNIX_DAYS	(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)
#define SIGN64		(UINT64CONST(1) << 63)
#define SIGN32		((uint32) 1 << 31)

#define NUM_MINUS_INF	0x08
#define NUM_NEGATIVE	0x10
#define NUM_ZERO		0x20
#define NUM_POSITIVE	0x30
#define NUM_PLUS_INF	0x38
#define NUM_NAN			0x40

/* the external form of numeric (numeric_send) */
#define NUMX_NEG	0x4000
#define NUMX_NAN	0xC000
#define NUMX_PINF	0xD000
#define NUMX_NINF	0xF000
#define NUMX_MAX_SCALE	0x3FFF

static const char *const encoding_names[] = {
	"text", "bytes", "binary", "ordered",
	"unsigned1", "unsigned2", "unsigned4", "unsigned8",
	"reverse", "hex", "decimal", "md5", "sha1", "counter"
};

#define ENC_BIT(e)	(1u << (e))
#define ENC_COUNT	((int) lengthof(encoding_names))

const char *
wt_encoding_name(WtEncoding e)
{
	return encoding_names[e];
}

int
wt_encoding_by_name(const char *name)
{
	for (int i = 0; i < ENC_COUNT; i++)
		if (pg_strcasecmp(name, encoding_names[i]) == 0)
			return i;
	return -1;
}

/* ------------------------------------------------- which type has which */

static bool
is_text(Oid typid)
{
	return typid == TEXTOID || typid == VARCHAROID || typid == NAMEOID;
}

static bool
is_int(Oid typid)
{
	return typid == INT2OID || typid == INT4OID || typid == INT8OID;
}

/* bytes of the binary and ordered forms; 0: no fixed width; -1: no such form */
static int
binary_width(Oid typid)
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
		case TEXTOID:
		case VARCHAROID:
		case NAMEOID:
		case BYTEAOID:
			return 0;
		default:
			return -1;
	}
}

/* The encodings that a type may have, as a bit set. */
static uint32
allowed_encodings(Oid typid, bool key)
{
	uint32		set = 0;

	if (key)
	{
		/*
		 * Values that are equal in SQL must have equal bytes here, so output
		 * text does only for types that have one spelling of each value.
		 */
		if (is_text(typid) || typid == BYTEAOID)
			set |= ENC_BIT(WT_ENC_TEXT) | ENC_BIT(WT_ENC_BYTES);
		if (is_int(typid) || type_is_enum(typid))
			set |= ENC_BIT(WT_ENC_TEXT);
		if (is_text(typid))
			set |= ENC_BIT(WT_ENC_MD5) | ENC_BIT(WT_ENC_SHA1);
	}
	else
		set |= ENC_BIT(WT_ENC_TEXT) | ENC_BIT(WT_ENC_BYTES);
	if (binary_width(typid) >= 0)
	{
		set |= ENC_BIT(WT_ENC_ORDERED);
		/* -0 and 0, and the NaNs, are equal but differ in IEEE bits */
		if (!key || (typid != FLOAT4OID && typid != FLOAT8OID))
			set |= ENC_BIT(WT_ENC_BINARY);
	}
	if (typid == NUMERICOID || typid == INETOID || typid == CIDROID)
		set |= ENC_BIT(WT_ENC_ORDERED);
	if (is_int(typid))
		set |= ENC_BIT(WT_ENC_UNSIGNED1) | ENC_BIT(WT_ENC_UNSIGNED2) | ENC_BIT(WT_ENC_UNSIGNED4) |
			ENC_BIT(WT_ENC_UNSIGNED8) | ENC_BIT(WT_ENC_HEX) | ENC_BIT(WT_ENC_DECIMAL);
	if (typid == NUMERICOID && !key)
		set |= ENC_BIT(WT_ENC_DECIMAL);
	if (typid == INT8OID || typid == TIMESTAMPTZOID || typid == TIMESTAMPOID)
		set |= ENC_BIT(WT_ENC_REVERSE);
	if (typid == INT8OID && !key)
		set |= ENC_BIT(WT_ENC_COUNTER);
	return set;
}

WtEncoding
wt_default_encoding(Oid typid, bool key)
{
	if (is_text(typid))
		return WT_ENC_TEXT;
	if (typid == BYTEAOID)
		return WT_ENC_BYTES;
	if (key)
		return type_is_enum(typid) ? WT_ENC_TEXT : WT_ENC_ORDERED;
	return binary_width(typid) > 0 ? WT_ENC_BINARY : WT_ENC_TEXT;
}

void
wt_check_encoding(const WtColumn *c, bool key)
{
	uint32		set = allowed_encodings(c->typid, key);
	StringInfoData list;

	if (key && c->typid == BPCHAROID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("key column \"%s\" must not have type %s", c->name, format_type_be(c->typid)),
				 errdetail("Trailing blanks count in a row key but not in this type."),
				 errhint("Use text or varchar.")));
	if (set & ENC_BIT(c->enc))
		return;
	if (set == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("key column \"%s\" must not have type %s", c->name, format_type_be(c->typid)),
				 errdetail("The type has no encoding whose bytes compare as its values do."),
				 errhint("Key columns may be smallint, integer, bigint, numeric, real, double precision, boolean, oid, text, varchar, "
						 "name, bytea, date, time, timestamp, timestamptz, uuid, inet, cidr or an enum.  "
						 "Make the key of such a column, filled with the value's text or a number made of it, "
						 "and keep the value itself in a column that is not part of the key.")));
	initStringInfo(&list);
	for (int i = 0; i < ENC_COUNT; i++)
		if (set & ENC_BIT(i))
			appendStringInfo(&list, "%s%s", list.len ? ", " : "", encoding_names[i]);
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
			 errmsg("%s \"%s\" of type %s cannot have encoding \"%s\"", key ? "key column" : "column",
					c->name, format_type_be(c->typid), encoding_names[c->enc]),
			 errhint("Valid encodings are: %s.", list.data)));
}

int
wt_encoded_length(Oid typid, WtEncoding e)
{
	switch (e)
	{
		case WT_ENC_BINARY:
		case WT_ENC_ORDERED:
			return Max(binary_width(typid), 0);
		case WT_ENC_UNSIGNED1:
			return 1;
		case WT_ENC_UNSIGNED2:
			return 2;
		case WT_ENC_UNSIGNED4:
			return 4;
		case WT_ENC_UNSIGNED8:
		case WT_ENC_REVERSE:
		case WT_ENC_COUNTER:
			return 8;
		case WT_ENC_HEX:
			return 2 * Max(binary_width(typid), 0);
		case WT_ENC_MD5:
			return 16;
		case WT_ENC_SHA1:
			return 20;
		case WT_ENC_TEXT:
		case WT_ENC_BYTES:
		case WT_ENC_DECIMAL:
			break;
	}
	return 0;
}

bool
wt_encoding_ordered(const WtColumn *c)
{
	/* 'a!' + ... sorts before 'a' '+' ...: a delimiter spoils the order of what it ends, unless it is the least byte */
	if (c->delimited && c->delimiter != '\0' && !(c->last && !c->desc))
		return false;
	switch (c->enc)
	{
		case WT_ENC_TEXT:
		case WT_ENC_BYTES:
			return is_text(c->typid) || c->typid == BYTEAOID;
		case WT_ENC_BINARY:
			return is_text(c->typid) || c->typid == BYTEAOID || c->typid == UUIDOID ||
				c->typid == BOOLOID || c->typid == OIDOID;
		case WT_ENC_ORDERED:
		case WT_ENC_UNSIGNED1:
		case WT_ENC_UNSIGNED2:
		case WT_ENC_UNSIGNED4:
		case WT_ENC_UNSIGNED8:
			return true;
		default:
			return false;
	}
}

bool
wt_self_delimiting(Oid typid, WtEncoding e)
{
	return e == WT_ENC_ORDERED && (typid == NUMERICOID || typid == INETOID || typid == CIDROID);
}

/* ------------------------------------------------------ I/O functions */

/*
 * Entries are never freed: a function may still run through one when the type
 * changes.  A change only makes the next lookup compare the functions again.
 */
typedef struct IoEntry
{
	Oid			typid;			/* hash key */
	bool		stale;
	Oid			in_oid;
	Oid			out_oid;
	Oid			ioparam;
	FmgrInfo	in;
	FmgrInfo	out;
} IoEntry;

static HTAB *io_cache;

static void
io_invalidate(Datum arg, int cacheid, uint32 hashvalue)
{
	HASH_SEQ_STATUS scan;
	IoEntry    *e;

	hash_seq_init(&scan, io_cache);
	while ((e = hash_seq_search(&scan)) != NULL)
		e->stale = true;
}

static IoEntry *
io_lookup(Oid typid)
{
	IoEntry    *e;
	bool		found;
	bool		varlena;
	Oid			in_oid,
				out_oid,
				ioparam;

	if (io_cache == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(Oid), .entrysize = sizeof(IoEntry), .hcxt = CacheMemoryContext};

		io_cache = hash_create("widetable type I/O", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		CacheRegisterSyscacheCallback(TYPEOID, io_invalidate, (Datum) 0);
	}
	e = hash_search(io_cache, &typid, HASH_FIND, NULL);
	if (e && !e->stale)
		return e;
	getTypeInputInfo(typid, &in_oid, &ioparam);
	getTypeOutputInfo(typid, &out_oid, &varlena);
	e = hash_search(io_cache, &typid, HASH_ENTER, &found);
	if (!found || e->in_oid != in_oid || e->out_oid != out_oid)
	{
		e->stale = true;		/* until both are set */
		e->in_oid = e->out_oid = InvalidOid;
		fmgr_info_cxt(in_oid, &e->in, CacheMemoryContext);
		fmgr_info_cxt(out_oid, &e->out, CacheMemoryContext);
		e->in_oid = in_oid;
		e->out_oid = out_oid;
	}
	e->ioparam = ioparam;
	e->stale = false;
	return e;
}

/* The session's styles must not get into stored bytes, nor change how they are read. */
typedef struct Styles
{
	int			date,
				interval,
				digits;
} Styles;

static void
styles_set(Styles *save)
{
	save->date = DateStyle;
	save->interval = IntervalStyle;
	save->digits = extra_float_digits;
	DateStyle = USE_ISO_DATES;
	IntervalStyle = INTSTYLE_POSTGRES;
	extra_float_digits = 3;
}

static void
styles_restore(const Styles *save)
{
	DateStyle = save->date;
	IntervalStyle = save->interval;
	extra_float_digits = save->digits;
}

static void
encode_output(const WtColumn *c, Datum value, StringInfo out)
{
	IoEntry    *io = io_lookup(c->typid);
	char	   *s = NULL;
	Styles		save;

	styles_set(&save);
	PG_TRY();
	{
		s = OutputFunctionCall(&io->out, value);
	}
	PG_FINALLY();
	{
		styles_restore(&save);
	}
	PG_END_TRY();
	appendBinaryStringInfo(out, s, strlen(s));
	pfree(s);
}

static void
decode_error_context(void *arg)
{
	const WtColumn *c = arg;

	/* what the input function calls bad input is, here, bad stored data */
	if (ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_DATA_EXCEPTION)
		errcode(ERRCODE_DATA_CORRUPTED);
	errcontext("decoding column \"%s\"", c->name);
}

/* Which stored value is being decoded, for messages */
typedef struct Place
{
	WtTable    *t;
	wide_bytes	key;
} Place;

static void
place_error_context(void *arg)
{
	const Place *place = arg;

	if (wt_keys_visible(place->t))
		errcontext("row %s of \"%s\"", wt_key_text(place->t, place->key), get_rel_name(place->t->relid));
	else
		errcontext("table \"%s\"", get_rel_name(place->t->relid));
}

/* The text must be valid in the database's encoding already. */
static Datum
decode_input(const WtColumn *c, const uint8 *data, size_t len)
{
	IoEntry    *io = io_lookup(c->typid);
	ErrorContextCallback context;
	Styles		save;
	Datum		result = (Datum) 0;
	char	   *s = palloc(len + 1);

	memcpy(s, data, len);
	s[len] = '\0';
	context.callback = decode_error_context;
	context.arg = unconstify(WtColumn *, c);
	context.previous = error_context_stack;
	error_context_stack = &context;
	styles_set(&save);
	PG_TRY();
	{
		result = InputFunctionCall(&io->in, s, io->ioparam, c->typmod);
	}
	PG_FINALLY();
	{
		styles_restore(&save);
	}
	PG_END_TRY();
	error_context_stack = context.previous;
	pfree(s);
	return result;
}

/* --------------------------------------------------------- big-endian */

static inline void
put_be(StringInfo out, uint64 v, int width)
{
	uint8		b[8];

	for (int i = width - 1; i >= 0; i--, v >>= 8)
		b[i] = (uint8) v;
	appendBinaryStringInfo(out, (char *) b, width);
}

static inline uint64
get_be(const uint8 *p, int width)
{
	uint64		v = 0;

	for (int i = 0; i < width; i++)
		v = v << 8 | p[i];
	return v;
}

/* ------------------------------------------------------------- encode */

static int64
int_value(Oid typid, Datum d)
{
	switch (typid)
	{
		case INT2OID:
			return DatumGetInt16(d);
		case INT4OID:
			return DatumGetInt32(d);
		default:
			return DatumGetInt64(d);
	}
}

/* PostgreSQL's microseconds since 2000 -> since 1970; infinities stay the extremes */
static int64
unix_us(const WtColumn *c, int64 ts)
{
	int64		us;

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
				Jsonb	   *j = DatumGetJsonbP(value);

				(void) JsonbToCString(out, &j->root, VARSIZE(j));
				break;
			}
		case INT2OID:
		case INT4OID:
		case INT8OID:
			{
				char		buf[MAXINT8LEN + 1];

				appendBinaryStringInfo(out, buf, pg_lltoa(int_value(c->typid, value), buf));
				break;
			}
		default:
			encode_output(c, value, out);
	}
}

/* The 4- and 8-byte types as unsigned integers; ordered: such that they sort. */
static uint64
fixed_bits(const WtColumn *c, Datum value, bool ordered)
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
			{
				float4		f = DatumGetFloat4(value);
				uint32		u;

				if (ordered)
					f = isnan(f) ? get_float4_nan() : f == 0 ? 0.0f : f;
				memcpy(&u, &f, 4);
				if (!ordered)
					return u;
				/* a NaN's sign is the platform's affair */
				return isnan(f) ? PG_UINT32_MAX : (u & SIGN32) ? ~u : u | SIGN32;
			}
		case FLOAT8OID:
			{
				float8		f = DatumGetFloat8(value);
				uint64		u;

				if (ordered)
					f = isnan(f) ? get_float8_nan() : f == 0 ? 0.0 : f;
				memcpy(&u, &f, 8);
				if (!ordered)
					return u;
				return isnan(f) ? PG_UINT64_MAX : (u & SIGN64) ? ~u : u | SIGN64;
			}
	}
	elog(ERROR, "type %u of column \"%s\" has no fixed width", c->typid, c->name);
	return 0;
}

static void
encode_numeric(Datum value, StringInfo out)
{
	bytea	   *b = DatumGetByteaPP(DirectFunctionCall1(numeric_send, value));
	const uint8 *p = (const uint8 *) VARDATA_ANY(b);
	int			ndigits = (int) get_be(p, 2);
	int			weight = (int16) get_be(p + 2, 2);
	int			sign = (int) get_be(p + 4, 2);
	int			start;

	p += 8;
	if (sign == NUMX_NAN || sign == NUMX_PINF || sign == NUMX_NINF)
	{
		appendStringInfoChar(out, sign == NUMX_NAN ? NUM_NAN : sign == NUMX_PINF ? NUM_PLUS_INF : NUM_MINUS_INF);
		pfree(b);
		return;
	}
	while (ndigits > 0 && get_be(p, 2) == 0)
	{
		p += 2;
		ndigits--;
		weight--;
	}
	while (ndigits > 0 && get_be(p + 2 * (ndigits - 1), 2) == 0)
		ndigits--;
	if (ndigits == 0)
		appendStringInfoChar(out, NUM_ZERO);
	else
	{
		appendStringInfoChar(out, sign == NUMX_NEG ? NUM_NEGATIVE : NUM_POSITIVE);
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

static void
mask_address(uint8 *addr, int width, int bits)
{
	for (int i = 0; i < width; i++, bits -= 8)
		if (bits < 8)
			addr[i] &= bits <= 0 ? 0 : (uint8) (0xFF << (8 - bits));
}

static void
encode_inet(Datum value, StringInfo out)
{
	inet	   *ip = DatumGetInetPP(value);
	int			width = ip_family(ip) == PGSQL_AF_INET ? 4 : 16;
	uint8		net[16];

	memcpy(net, ip_addr(ip), width);
	mask_address(net, width, ip_bits(ip));
	appendStringInfoChar(out, width == 4 ? 4 : 6);
	appendBinaryStringInfo(out, (char *) net, width);
	appendStringInfoChar(out, ip_bits(ip));
	appendBinaryStringInfo(out, (char *) ip_addr(ip), width);
}

static void
encode_fixed(const WtColumn *c, Datum value, StringInfo out)
{
	bool		ordered = c->enc == WT_ENC_ORDERED;

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
			put_be(out, fixed_bits(c, value, ordered), binary_width(c->typid));
	}
}

static void
encode_unsigned(const WtColumn *c, Datum value, StringInfo out)
{
	int			width = wt_encoded_length(c->typid, c->enc);
	int64		v = int_value(c->typid, value);

	if (v < 0 || (width < 8 && v >> (8 * width)))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("value " INT64_FORMAT " of column \"%s\" is out of range for encoding \"%s\"",
						v, c->name, wt_encoding_name(c->enc)),
				 errdetail("The range is 0 to " INT64_FORMAT ".",
						   width < 8 ? (INT64CONST(1) << (8 * width)) - 1 : PG_INT64_MAX)));
	put_be(out, (uint64) v, width);
}

static void
encode_digest(const WtColumn *c, Datum value, StringInfo out)
{
	StringInfoData text;
	uint8		digest[20];
	int			width = c->enc == WT_ENC_MD5 ? 16 : 20;
	pg_cryptohash_ctx *ctx = pg_cryptohash_create(c->enc == WT_ENC_MD5 ? PG_MD5 : PG_SHA1);
	bool		ok;

	initStringInfo(&text);
	encode_text(c, value, &text);
	ok = ctx && pg_cryptohash_init(ctx) >= 0 &&
		pg_cryptohash_update(ctx, (uint8 *) text.data, text.len) >= 0 &&
		pg_cryptohash_final(ctx, digest, width) >= 0;
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute %s of column \"%s\"", wt_encoding_name(c->enc), c->name)));
	pg_cryptohash_free(ctx);
	pfree(text.data);
	appendBinaryStringInfo(out, (char *) digest, width);
}

wide_bytes
wt_original_bytes(const WtColumn *c, Datum value)
{
	struct varlena *v;

	if (c->typid == NAMEOID)
		return (wide_bytes) {(const uint8 *) NameStr(*DatumGetName(value)), strlen(NameStr(*DatumGetName(value)))};
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
			encode_fixed(c, value, out);
			break;
		case WT_ENC_COUNTER:
			put_be(out, (uint64) DatumGetInt64(value), 8);
			break;
		case WT_ENC_UNSIGNED1:
		case WT_ENC_UNSIGNED2:
		case WT_ENC_UNSIGNED4:
		case WT_ENC_UNSIGNED8:
			encode_unsigned(c, value, out);
			break;
		case WT_ENC_REVERSE:
			put_be(out, (uint64) PG_INT64_MAX - fixed_bits(c, value, false), 8);
			break;
		case WT_ENC_HEX:
			{
				static const char digits[] = "0123456789abcdef";
				uint64		v = fixed_bits(c, value, false);

				for (int shift = 8 * binary_width(c->typid) - 4; shift >= 0; shift -= 4)
					appendStringInfoCharMacro(out, digits[v >> shift & 15]);
				break;
			}
		case WT_ENC_MD5:
		case WT_ENC_SHA1:
			encode_digest(c, value, out);
			break;
	}
}

/* ------------------------------------------------------------- decode */

static bool
text_is_valid(const uint8 *data, size_t len, const char **why)
{
	if (pg_verify_mbstr(GetDatabaseEncoding(), (const char *) data, (int) len, true))
		return true;
	*why = psprintf("the bytes are not valid text in encoding %s", GetDatabaseEncodingName());
	return false;
}

static Datum
make_varlena(const uint8 *data, size_t len)
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
	*value = c->typid == INT2OID ? Int16GetDatum((int16) v) :
		c->typid == INT4OID ? Int32GetDatum((int32) v) : Int64GetDatum(v);
	return true;
}

/* One spelling only where bytes are identity (keys): no blanks, +, leading zeros. */
static bool
decode_int_text(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why)
{
	size_t		i = 0;
	bool		neg = len > 0 && data[0] == '-';
	int64		v = 0;
	bool		ok;

	if (neg)
		i++;
	ok = i < len;
	if (ok && c->role == WT_KEY && data[i] == '0' && (neg || len > 1))
		ok = false;
	for (; ok && i < len; i++)
		ok = data[i] >= '0' && data[i] <= '9' &&
			!pg_mul_s64_overflow(v, 10, &v) && !pg_sub_s64_overflow(v, data[i] - '0', &v);
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
	char		label[NAMEDATALEN];
	HeapTuple	tup = NULL;

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
		*value = make_varlena(data, len);
		return true;
	}
	if (is_int(c->typid))
		return decode_int_text(c, data, len, value, why);
	if (!text_is_valid(data, len, why))
		return false;
	switch (c->typid)
	{
		case TEXTOID:
		case VARCHAROID:
			*value = make_varlena(data, len);
			return true;
		case NAMEOID:
			if (len >= NAMEDATALEN)
			{
				*why = psprintf("type name holds at most %d bytes, found %zu", NAMEDATALEN - 1, len);
				return false;
			}
			*value = PointerGetDatum(palloc0(NAMEDATALEN));
			memcpy(DatumGetPointer(*value), data, len);
			return true;
		default:
			if (c->role == WT_KEY)
				return decode_enum(c, data, len, value, why);
			*value = decode_input(c, data, len);
			return true;
	}
}

size_t
wt_self_length(Oid typid, const uint8 *data, size_t len)
{
	if (len == 0)
		return 0;
	if (typid == NUMERICOID)
	{
		uint8		end = data[0] == NUM_NEGATIVE ? 0xFF : 0x00;

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
	int			scale;

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
	uint8		flip = 0;
	int			sign = 0,
				ndigits = 0,
				weight = 0,
				scale = 0;

	*why = "the bytes are not an ordered numeric";
	if (len == 0 || wt_self_length(NUMERICOID, data, len) != len)
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
		int			last = 0;

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
		put_be(&buf, (uint64) (((uint8) (data[3 + 2 * i] ^ flip) << 8 | (uint8) (data[4 + 2 * i] ^ flip)) - 1), 2);
	*value = DirectFunctionCall3(numeric_recv, PointerGetDatum(&buf), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	pfree(buf.data);
	return true;
}

static bool
decode_inet(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why)
{
	int			width = len > 0 && data[0] == 4 ? 4 : 16;
	uint8		net[16];
	inet	   *ip;
	int			bits;

	*why = "the bytes are not an ordered network address";
	if (len == 0 || wt_self_length(INETOID, data, len) != len)
		return false;
	bits = data[1 + width];
	if (bits > 8 * width)
		return false;
	memcpy(net, data + 2 + width, width);
	mask_address(net, width, bits);
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
	int64		ts;

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
	if (fixed_bits(c, value, true) == bytes)
		return true;
	*why = "the bytes are not those of an ordered floating-point number";
	return false;
}

/* What fixed_bits made; v is of the type's width already. */
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
				int64		d = (int32) (v ^ (ordered ? SIGN32 : 0));

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
				int64		t = (int64) (v ^ (ordered ? SIGN64 : 0));

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
				uint32		u = (uint32) v;
				float4		f;

				if (ordered)
					u = (u & SIGN32) ? u ^ SIGN32 : ~u;
				memcpy(&f, &u, 4);
				*value = Float4GetDatum(ordered && isnan(f) ? get_float4_nan() : f);
				return !ordered || is_canonical_float(c, *value, v, why);
			}
		case FLOAT8OID:
			{
				uint64		bits = v;
				float8		f;

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
	uint64		v = 0;

	for (size_t i = 0; i < len; i++)
	{
		uint8		ch = data[i];

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
	int			width = wt_encoded_length(c->typid, c->enc);

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
				uint64		v = get_be(data, width);

				if (v > PG_INT64_MAX)
				{
					*why = psprintf(UINT64_FORMAT " is out of range for type %s", v, format_type_be(c->typid));
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

/* How an error names the row: as context when the type's input function raises it, as detail otherwise. */
static bool
decode_in_place(const WtColumn *c, const Place *place, const uint8 *data, size_t len, Datum *value, const char **why)
{
	ErrorContextCallback context;
	bool		ok;

	if (place->t == NULL)
		return wt_decode_soft(c, data, len, value, why);
	context.callback = place_error_context;
	context.arg = unconstify(Place *, place);
	context.previous = error_context_stack;
	error_context_stack = &context;
	ok = wt_decode_soft(c, data, len, value, why);
	error_context_stack = context.previous;
	return ok;
}

Datum
wt_decode(const WtColumn *c, WtTable *t, wide_bytes key, const uint8 *data, size_t len)
{
	Place		place = {t, key};
	Datum		value = (Datum) 0;
	const char *why = NULL;

	/* the two that matter most, without a detour */
	if (c->typid == INT8OID && len == 8 && (c->enc == WT_ENC_BINARY || c->enc == WT_ENC_COUNTER))
	{
		uint64		v;

		memcpy(&v, data, 8);
		return Int64GetDatum((int64) pg_ntoh64(v));
	}
	if (c->typid == TEXTOID && c->enc == WT_ENC_TEXT &&
		pg_verify_mbstr(GetDatabaseEncoding(), (const char *) data, (int) len, true))
		return make_varlena(data, len);
	if (!decode_in_place(c, &place, data, len, &value, &why))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not decode column \"%s\": %s", c->name, why),
				 t == NULL ? 0 : wt_keys_visible(t) ?
				 errdetail("Table \"%s\", key %s.", get_rel_name(t->relid), wt_key_text(t, key)) :
				 errdetail("Table \"%s\".", get_rel_name(t->relid)),
				 t == NULL ? 0 : errhint("Check option \"encoding\" of the column: the cell may have been written with another one.")));
	return value;
}

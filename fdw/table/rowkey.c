/*
 * rowkey.c
 *		Key columns <-> row key bytes.
 *
 * A row key is its parts one after another, in the order of option "key":
 *
 *	part				bytes in the key
 *	fixed width			as encoded
 *	self-delimiting		as encoded (ordered numeric, inet)
 *	last				as encoded
 *	with a delimiter	as encoded, then the delimiter; a value must not contain it
 *	other				as encoded with 00 -> 00 FF, then 00 01
 *
 * desc inverts every byte of the part, terminator or delimiter included, and a
 * descending part of variable length has its terminator also as the last one:
 * without it 'a' would sort before 'ab' also when inverted.
 *
 * The terminator sorts below any continuation (00 01 < 00 FF < 01...), so
 * composite keys sort as their parts do.  The parts of a prefix of the key
 * columns make a prefix of the bytes: that is what range scans rely on.
 *
 * A salted table has one byte in front: the hash of the rest modulo the number
 * of buckets, as Phoenix computes it.  A prefix has no salt byte; the reader
 * puts each bucket's in front.
 */
#include "fdw/widetable.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#define ESCAPE		0x00
#define ESCAPED		0xFF
#define TERMINATOR	0x01

static inline WtColumn *
key_column(WtTable *t, int part)
{
	return &t->columns[t->keys[part]];
}

/* The bytes of a key, or of its beginning, for messages */
static char *
key_hex(wide_bytes key)
{
	size_t		shown = Min(key.len, 64);
	StringInfoData s;

	initStringInfo(&s);
	appendStringInfoString(&s, "\\x");
	for (size_t i = 0; i < shown; i++)
		appendStringInfo(&s, "%02x", key.data[i]);
	if (shown < key.len)
		appendStringInfo(&s, "... (%zu bytes)", key.len);
	return s.data;
}

/* ------------------------------------------------------------- encode */

static void
escape_part(StringInfo out, int start)
{
	int			zeros = 0;

	for (int i = start; i < out->len; i++)
		zeros += out->data[i] == ESCAPE;
	enlargeStringInfo(out, zeros + 2);
	if (zeros > 0)
	{
		int			from = out->len - 1;
		int			to = from + zeros;

		out->len += zeros;
		for (; to > from; from--)
		{
			if (out->data[from] == ESCAPE)
				out->data[to--] = (char) ESCAPED;
			out->data[to--] = out->data[from];
		}
	}
	out->data[out->len++] = ESCAPE;
	out->data[out->len++] = TERMINATOR;
	out->data[out->len] = '\0';
}

void
wt_key_encode_part(WtTable *t, int part, Datum value, StringInfo out)
{
	const WtColumn *c = key_column(t, part);
	int			start = out->len;
	bool		closed = !c->last || c->desc;

	wt_encode(c, value, out);
	if (c->fixed_len == 0 && !wt_self_delimiting(c->typid, c->enc))
	{
		if (c->delimited)
		{
			if (memchr(out->data + start, c->delimiter, out->len - start))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("value of key column \"%s\" contains the delimiter \"%c\"", c->name, c->delimiter),
						 errdetail("The value is %s.",
								   quote_literal_cstr(pnstrdup(out->data + start, out->len - start)))));
			if (closed)
				appendStringInfoChar(out, c->delimiter);
		}
		else if (closed)
			escape_part(out, start);
	}
	if (c->desc)
		for (int i = start; i < out->len; i++)
			out->data[i] = ~out->data[i];
}

int
wt_salt(const uint8 *key, size_t n, int buckets)
{
	uint32		h = 1;
	int32		signed_h;

	for (size_t i = 0; i < n; i++)
		h = 31 * h + (uint32) (int32) (int8) key[i];
	signed_h = (int32) h % buckets;
	return signed_h < 0 ? -signed_h : signed_h;
}

/* Fills in the salt byte left free at start, checks the length. */
static void
finish_key(WtTable *t, StringInfo out, int start)
{
	int			head = t->salt_buckets > 0;
	int			len = out->len - start;

	if (len == head)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("row key of \"%s\" must not be empty", get_rel_name(t->relid)),
				 errdetail("The value of its only column, \"%s\", is empty.", key_column(t, 0)->name)));
	if (len > WIDE_MAX_ROW)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row key of \"%s\" is %d bytes long, the limit is %d",
						get_rel_name(t->relid), len, WIDE_MAX_ROW),
				 errdetail("The key is %s.", key_hex((wide_bytes) {(uint8 *) out->data + start + head, len - head})),
				 errhint("Encoding \"md5\" or \"sha1\" makes a short key of a long text.")));
	if (head)
		out->data[start] = (char) wt_salt((uint8 *) out->data + start + 1, len - 1, t->salt_buckets);
}

void
wt_key_encode(WtTable *t, const Datum *values, const bool *nulls, int nparts, StringInfo out)
{
	int			start = out->len;
	bool		full = nparts == t->nkeys;

	if (full && t->salt_buckets > 0)
		appendStringInfoChar(out, 0);
	for (int i = 0; i < nparts; i++)
	{
		if (nulls && nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("key column \"%s\" must not be null", key_column(t, i)->name)));
		wt_key_encode_part(t, i, values[i], out);
	}
	if (full)
		finish_key(t, out, start);
}

void
wt_key_from_slot(WtTable *t, const Datum *values, const bool *isnull, StringInfo out)
{
	int			start = out->len;

	if (t->salt_buckets > 0)
		appendStringInfoChar(out, 0);
	for (int i = 0; i < t->nkeys; i++)
	{
		int			att = t->keys[i];

		if (isnull[att])
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("null value in key column \"%s\" of relation \"%s\"",
							t->columns[att].name, get_rel_name(t->relid)),
					 errdetail("Every key column must have a value.")));
		wt_key_encode_part(t, i, values[att], out);
	}
	finish_key(t, out, start);
}

bool
wt_prefix_end(const uint8 *p, size_t n, StringInfo out)
{
	while (n > 0 && p[n - 1] == 0xFF)
		n--;
	if (n == 0)
		return false;
	appendBinaryStringInfo(out, (const char *) p, (int) n);
	out->data[out->len - 1]++;
	return true;
}

/* ------------------------------------------------------------- decode */

/*
 * Where an escaped part ends: the offset behind its terminator, or 0.  flip is
 * 0xFF for a descending part.  The part without escapes goes to plain.
 */
static size_t
unescape_part(const uint8 *p, size_t n, uint8 flip, StringInfo plain)
{
	size_t		i = 0;

	while (i < n)
	{
		uint8		b = p[i] ^ flip;

		if (b != ESCAPE)
		{
			appendStringInfoCharMacro(plain, (char) b);
			i++;
			continue;
		}
		if (i + 1 >= n)
			return 0;
		b = p[i + 1] ^ flip;
		if (b == TERMINATOR)
			return i + 2;
		if (b != ESCAPED)
			return 0;
		appendStringInfoCharMacro(plain, ESCAPE);
		i += 2;
	}
	return 0;
}

static void
flip_into(StringInfo plain, const uint8 *p, size_t n, uint8 flip)
{
	enlargeStringInfo(plain, (int) n);
	for (size_t i = 0; i < n; i++)
		plain->data[plain->len++] = (char) (p[i] ^ flip);
	plain->data[plain->len] = '\0';
}

/*
 * The part at p: *value is its encoded form (in the key itself where possible,
 * else in plain).  Returns the bytes that it takes in the key; -1: damaged.
 */
static ssize_t
take_part(const WtColumn *c, const uint8 *p, size_t n, StringInfo plain, wide_bytes *value)
{
	uint8		flip = c->desc ? 0xFF : 0x00;
	size_t		len,
				taken;

	resetStringInfo(plain);
	if (c->fixed_len > 0)
	{
		if (n < (size_t) c->fixed_len)
			return -1;
		len = taken = c->fixed_len;
	}
	else if (wt_self_delimiting(c->typid, c->enc))
	{
		if (c->desc)
		{
			flip_into(plain, p, n, flip);
			len = wt_self_length(c->typid, (uint8 *) plain->data, n);
		}
		else
			len = wt_self_length(c->typid, p, n);
		if (len == 0)
			return -1;
		*value = (wide_bytes) {c->desc ? (uint8 *) plain->data : p, len};
		return (ssize_t) len;
	}
	else if (c->last && !c->desc)
	{
		if (c->delimited && memchr(p, c->delimiter, n))
			return -1;
		len = taken = n;
	}
	else if (c->delimited)
	{
		const uint8 *end = memchr(p, (uint8) c->delimiter ^ flip, n);

		if (end == NULL)
			return -1;
		len = end - p;
		taken = len + 1;
	}
	else
	{
		taken = unescape_part(p, n, flip, plain);
		if (taken == 0)
			return -1;
		*value = (wide_bytes) {(uint8 *) plain->data, (size_t) plain->len};
		return (ssize_t) taken;
	}
	if (c->desc)
	{
		flip_into(plain, p, len, flip);
		p = (uint8 *) plain->data;
	}
	*value = (wide_bytes) {p, len};
	return (ssize_t) taken;
}

ssize_t
wt_key_part_length(const WtColumn *c, const uint8 *p, size_t n)
{
	uint8		flip = c->desc ? 0xFF : 0x00;

	if (c->fixed_len > 0)
		return n < (size_t) c->fixed_len ? -1 : c->fixed_len;
	if (wt_self_delimiting(c->typid, c->enc))
	{
		static uint8 flipped[WIDE_MAX_ROW];
		size_t		self;

		if (c->desc)
		{
			if (n > sizeof(flipped))
				return -1;
			for (size_t i = 0; i < n; i++)
				flipped[i] = p[i] ^ flip;
			p = flipped;
		}
		self = wt_self_length(c->typid, p, n);
		return self == 0 ? -1 : (ssize_t) self;
	}
	if (c->last && !c->desc)
		return n;
	if (c->delimited)
	{
		const uint8 *end = memchr(p, (uint8) c->delimiter ^ flip, n);

		return end == NULL ? -1 : end - p + 1;
	}
	for (size_t i = 0; i + 1 < n; i++)
	{
		uint8		next = p[i + 1] ^ flip;

		if ((p[i] ^ flip) != ESCAPE)
			continue;
		if (next == TERMINATOR)
			return i + 2;
		if (next != ESCAPED)
			return -1;
		i++;
	}
	return -1;
}

static inline bool
is_digest(const WtColumn *c)
{
	return c->enc == WT_ENC_MD5 || c->enc == WT_ENC_SHA1;
}

const char *
wt_key_decode_soft(WtTable *t, wide_bytes key, const bool *need, Datum *values, bool *nulls)
{
	const uint8 *p = key.data;
	size_t		n = key.len;
	char		nothing[1];
	uint8		flipped[16];
	StringInfoData plain = {.data = nothing, .maxlen = sizeof(nothing)};
	const char *why = NULL;

	if (t->salt_buckets > 0)
	{
		if (n == 0)
			return "the salt byte is missing";
		p++;
		n--;
	}
	for (int i = 0; i < t->nkeys && why == NULL; i++)
	{
		const WtColumn *c = key_column(t, i);
		wide_bytes	part;
		ssize_t		taken;
		const char *reason = NULL;

		nulls[i] = true;
		values[i] = (Datum) 0;
		if (c->fixed_len > 0 && c->fixed_len <= (int) sizeof(flipped))
		{
			/* the most usual parts, without memory */
			taken = n < (size_t) c->fixed_len ? -1 : c->fixed_len;
			if (taken > 0 && need && !need[i])
			{
				p += taken;
				n -= taken;
				continue;
			}
			if (taken == sizeof(uint64) && c->desc)
			{
				uint64		x;

				memcpy(&x, p, sizeof(x));
				x = ~x;
				memcpy(flipped, &x, sizeof(x));
			}
			else
				for (int k = 0; k < taken && c->desc; k++)
					flipped[k] = p[k] ^ 0xFF;
			part = (wide_bytes) {c->desc ? flipped : p, (size_t) c->fixed_len};
		}
		else
		{
			/* most keys have no part that must be copied */
			if (plain.data == nothing && (c->desc || (c->fixed_len == 0 && !c->last)))
				initStringInfo(&plain);
			taken = take_part(c, p, n, &plain, &part);
		}
		if (taken < 0)
			why = psprintf("key column \"%s\" does not end where it should", c->name);
		else
		{
			p += taken;
			n -= taken;
			if ((need && !need[i]) || is_digest(c))
				continue;
			if (wt_decode_soft(c, part.data, part.len, &values[i], &reason))
				nulls[i] = false;
			else
				why = psprintf("key column \"%s\": %s", c->name, reason);
		}
	}
	if (why == NULL && n > 0)
		why = psprintf("bytes left over after the last key column: %zu", n);
	if (plain.data != nothing)
		pfree(plain.data);
	return why;
}

bool
wt_key_decode(WtTable *t, wide_bytes key, const bool *need, Datum *values, bool *nulls)
{
	const char *why = wt_key_decode_soft(t, key, need, values, nulls);

	if (why == NULL)
		return true;
	if (t->bad_key_skip)
		return false;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a row key of \"%s\" does not decode: %s", get_rel_name(t->relid), why),
			 wt_keys_visible(t) ? errdetail("The key is %s.", key_hex(key)) : 0,
			 errhint("Check option \"key\" and the encodings of its columns, or set option \"on_bad_key\" to \"skip\".")));
	return false;
}

size_t
wt_key_prefix_length(WtTable *t, wide_bytes key, int parts)
{
	size_t		at = t->salt_buckets > 0 ? 1 : 0;

	if (key.len < at)
		return 0;
	for (int i = 0; i < parts; i++)
	{
		ssize_t		taken = wt_key_part_length(key_column(t, i), key.data + at, key.len - at);

		if (taken < 0)
			return 0;
		at += taken;
	}
	return at;
}

/* ----------------------------------------------------------- printing */

bool
wt_keys_visible(WtTable *t)
{
	if (pg_class_aclcheck(t->relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
		return true;
	for (int i = 0; i < t->nkeys; i++)
		if (pg_attribute_aclcheck(t->relid, key_column(t, i)->attno, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
			return false;
	return true;
}

static void
append_literal(StringInfo s, Oid typid, Datum value)
{
	Oid			output;
	bool		varlena;
	char	   *text;

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
			appendStringInfoString(s, strspn(text, "0123456789+-.e") == strlen(text) ? text : quote_literal_cstr(text));
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

/* Prints as many parts as the bytes hold, so that prefixes can be shown too. */
char *
wt_key_text(WtTable *t, wide_bytes key)
{
	const uint8 *p = key.data;
	size_t		n = key.len;
	StringInfoData s,
				plain;

	if (t->salt_buckets > 0 && n > 0)
	{
		p++;
		n--;
	}
	initStringInfo(&s);
	initStringInfo(&plain);
	appendStringInfoChar(&s, '(');
	for (int i = 0; i < t->nkeys && (i == 0 || n > 0); i++)
	{
		const WtColumn *c = key_column(t, i);
		wide_bytes	part;
		ssize_t		taken = take_part(c, p, n, &plain, &part);
		Datum		value;
		const char *why;

		if (taken < 0)
			return key_hex(key);
		if (i > 0)
			appendStringInfoString(&s, ", ");
		if (is_digest(c))
			appendStringInfo(&s, "'%s'", key_hex(part));
		else if (wt_decode_soft(c, part.data, part.len, &value, &why))
			append_literal(&s, c->typid, value);
		else
			return key_hex(key);
		p += taken;
		n -= taken;
	}
	if (n > 0)
		return key_hex(key);
	appendStringInfoChar(&s, ')');
	return s.data;
}

/* --------------------------------------------- keys given to functions */

static Datum
through_text(const WtColumn *c, Datum arg, Oid argtype)
{
	char	   *text;
	Oid			input,
				ioparam;

	if (argtype == UNKNOWNOID)
		text = DatumGetCString(arg);
	else
	{
		Oid			output;
		bool		varlena;

		getTypeOutputInfo(argtype, &output, &varlena);
		text = OidOutputFunctionCall(output, arg);
	}
	getTypeInputInfo(c->typid, &input, &ioparam);
	return OidInputFunctionCall(input, text, ioparam, c->typmod);
}

static bool
is_string(Oid typid)
{
	return typid == TEXTOID || typid == VARCHAROID || typid == NAMEOID || typid == BPCHAROID;
}

static bool
is_number(Oid typid)
{
	return typid == INT2OID || typid == INT4OID || typid == INT8OID || typid == NUMERICOID;
}

static Datum
call_cast(Oid funcid, Datum arg, int32 typmod)
{
	switch (get_func_nargs(funcid))
	{
		case 1:
			return OidFunctionCall1(funcid, arg);
		case 2:
			return OidFunctionCall2(funcid, arg, Int32GetDatum(typmod));
		default:
			return OidFunctionCall3(funcid, arg, Int32GetDatum(typmod), BoolGetDatum(false));
	}
}

/* An argument as a value of the key column, by the rules an INSERT would use, less the lossy ones. */
static Datum
coerce_part(const WtColumn *c, Datum arg, Oid argtype)
{
	Oid			funcid = InvalidOid;
	CoercionPathType path;

	argtype = getBaseType(argtype);
	if (argtype == UNKNOWNOID || (is_string(argtype) && argtype != c->typid))
		return through_text(c, arg, argtype);
	if (argtype != c->typid)
	{
		path = find_coercion_pathway(c->typid, argtype, COERCION_IMPLICIT, &funcid);
		if (path == COERCION_PATH_FUNC)
			arg = call_cast(funcid, arg, c->typmod);
		else if (path == COERCION_PATH_COERCEVIAIO ||
				 (path == COERCION_PATH_NONE && is_number(argtype) && is_number(c->typid)))
			return through_text(c, arg, argtype);	/* 5 fits, 5.5 does not */
		else if (path != COERCION_PATH_RELABELTYPE)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("key column \"%s\" is of type %s but the argument is of type %s",
							c->name, format_type_be(c->typid), format_type_be(argtype)),
					 errhint("Cast the argument.")));
	}
	if (c->typmod >= 0 && find_typmod_coercion_function(c->typid, &funcid) == COERCION_PATH_FUNC)
		arg = call_cast(funcid, arg, c->typmod);
	return arg;
}

static void
check_part_count(WtTable *t, int n, bool full)
{
	StringInfoData list;

	if (n == t->nkeys || (!full && n > 0 && n < t->nkeys))
		return;
	initStringInfo(&list);
	for (int i = 0; i < t->nkeys; i++)
		appendStringInfo(&list, "%s%s", i ? ", " : "", key_column(t, i)->name);
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("the key of \"%s\" has %d columns, %d given", get_rel_name(t->relid), t->nkeys, n),
			 errdetail("The key columns are: %s.", list.data),
			 t->nkeys > 1 ? errhint("Give the key as ROW(%s).", list.data) : 0));
}

int
wt_key_from_args(WtTable *t, int nargs, const Datum *args, const Oid *types, const bool *nulls, bool full,
				 Datum *parts, StringInfo out)
{
	Datum	   *values;

	check_part_count(t, nargs, full);
	values = parts ? parts : palloc(nargs * sizeof(Datum));
	for (int i = 0; i < nargs; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("key column \"%s\" must not be null", key_column(t, i)->name)));
		values[i] = coerce_part(key_column(t, i), args[i], types[i]);
	}
	wt_key_encode(t, values, NULL, nargs, out);
	if (parts == NULL)
		pfree(values);
	return nargs;
}

int
wt_key_from_arg(WtTable *t, Datum arg, Oid argtype, bool full, Datum *parts, StringInfo out)
{
	HeapTupleHeader record;
	TupleDesc	desc;
	HeapTupleData tuple;
	Datum	   *values;
	Oid		   *types;
	bool	   *nulls;
	int			n = 0;

	if (argtype != RECORDOID && !type_is_rowtype(argtype))
		return wt_key_from_args(t, 1, &arg, &argtype, &(bool) {false}, full, parts, out);

	record = DatumGetHeapTupleHeader(arg);
	desc = lookup_rowtype_tupdesc_copy(HeapTupleHeaderGetTypeId(record), HeapTupleHeaderGetTypMod(record));
	tuple.t_len = HeapTupleHeaderGetDatumLength(record);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = record;
	values = palloc(desc->natts * sizeof(Datum));
	types = palloc(desc->natts * sizeof(Oid));
	nulls = palloc(desc->natts * sizeof(bool));
	heap_deform_tuple(&tuple, desc, values, nulls);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		if (a->attisdropped)
			continue;
		values[n] = values[i];
		nulls[n] = nulls[i];
		types[n++] = a->atttypid;
	}
	return wt_key_from_args(t, n, values, types, nulls, full, parts, out);
}

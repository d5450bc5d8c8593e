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
 * In front of a nullable part (of an index) stands the byte 01, or the part is the byte 02 alone:
 * there is no value.  So such keys come last, as NULLs do.
 *
 * A descending part has all its bytes inverted, terminator or delimiter included.
 * If its length varies, it has its terminator as the last part, too: without one
 * 'a' would sort before 'ab' when inverted.
 *
 * The terminator sorts below any continuation (00 01 < 00 FF < 01...), so
 * composite keys sort as their parts do.  The first key columns make a prefix of
 * the bytes; range scans rely on this.
 *
 * A key of a salted table has one byte in front: the hash of the rest modulo the
 * number of buckets, as Phoenix computes it.  A prefix has no salt byte; a range
 * of keys is made once for each bucket (key_range.c).
 */
#include "postgres.h"

#include "fdw/table/rowkey.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "fdw/store/bytes.h"
#include "fdw/table/decode.h"
#include "fdw/table/encode.h"
#include "fdw/table/encoding.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

#define HAS_VALUE  0x01
#define NO_VALUE   0x02
#define ESCAPE	   0x00
#define ESCAPED	   0xFF
#define TERMINATOR 0x01

char *
wt_rowkey_hex(wide_bytes key)
{
	size_t shown = Min(key.len, 64);
	StringInfoData s;

	initStringInfo(&s);
	appendStringInfoString(&s, "\\x");
	for (size_t i = 0; i < shown; i++)
		appendStringInfo(&s, "%02x", key.data[i]);
	if (shown < key.len)
		appendStringInfo(&s, "... (%zu bytes)", key.len);
	return s.data;
}

/* Escapes what follows start, and appends the terminator. */
static void
escape_part(StringInfo out, int start)
{
	int zeros = 0;

	for (int i = start; i < out->len; i++)
		zeros += out->data[i] == ESCAPE;
	enlargeStringInfo(out, zeros + 2);
	if (zeros > 0)
	{
		int from = out->len - 1;
		int to = from + zeros;

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
wt_rowkey_encode_part(WtTable *t, int part, Datum value, StringInfo out)
{
	const WtColumn *c = wt_key_column(t, part);
	int start = out->len, first;
	bool closed = !c->last || c->desc;

	if (c->nullable)
		appendStringInfoChar(out, HAS_VALUE);
	first = out->len;
	wt_encode(c, value, out);
	if (c->value_len == 0 && !wt_encoding_is_self_delimiting(c->typid, c->enc))
	{
		if (c->delimited)
		{
			if (memchr(out->data + first, c->delimiter, out->len - first))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("value of key column \"%s\" contains the delimiter \"%c\"",
								c->name,
								c->delimiter),
						 errdetail("The value is %s.",
								   quote_literal_cstr(pnstrdup(out->data + first,
															   out->len - first)))));
			if (closed)
				appendStringInfoChar(out, c->delimiter);
		}
		else if (closed)
			escape_part(out, first);
	}
	if (c->desc)
		for (int i = start; i < out->len; i++)
			out->data[i] = ~out->data[i];
}

wide_bytes
wt_rowkey_value_mark(const WtColumn *c)
{
	static const uint8 marks[] = {HAS_VALUE, (uint8) ~HAS_VALUE};

	return (wide_bytes) {&marks[c->desc], 1};
}

int
wt_rowkey_salt(const uint8 *key, size_t n, int buckets)
{
	uint32 h = 1;
	int32 signed_h;

	for (size_t i = 0; i < n; i++)
		h = 31 * h + (uint32) (int32) (int8) key[i];
	signed_h = (int32) h % buckets;
	return signed_h < 0 ? -signed_h : signed_h;
}

/* Adds the errhint on making a shorter key: an encoding, if only text can have made it long, which
 * layout 'rows' alone has. */
static int
hint_shorter_key(WtTable *t)
{
	const WtColumn *text = NULL;

	/* the values of its key must be readable */
	if (wt_is_derived(t))
		return errhint("An index or a roll-up cannot have such a value in its key.");
	for (int i = 0; i < t->nkeys; i++)
	{
		const WtColumn *c = wt_key_column(t, i);

		if (c->fixed_len > 0)
			continue;
		text = wt_is_string(c->typid) && !t->cells_layout ? c : NULL;
		if (text == NULL)
			break;
	}
	if (text == NULL)
		return errhint("Make the key of a digest of the value, for example by sha256(), and store "
					   "the value in a cell.");
	return errhint("In a new table, encoding \"md5\" or \"sha1\" of column \"%s\" makes a short "
				   "key of a long text.",
				   text->name);
}

/* Checks the length of the key at start, and fills in its salt byte. */
static void
finish_key(WtTable *t, StringInfo out, int start)
{
	int head = t->salt_buckets > 0;
	int len = out->len - start;

	if (len == head)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("row key of \"%s\" must not be empty", get_rel_name(t->relid)),
				 errdetail("The value of its only column, \"%s\", is empty.",
						   wt_key_column(t, 0)->name)));
	if (len > WIDE_MAX_ROW)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row key of \"%s\" is %d bytes long, the limit is %d",
						get_rel_name(t->relid),
						len,
						WIDE_MAX_ROW),
				 errdetail("The key is %s.",
						   wt_rowkey_hex((wide_bytes) {(uint8 *) out->data + start + head,
													   len - head})),
				 hint_shorter_key(t)));
	if (head)
		out->data[start] = (char) wt_rowkey_salt((uint8 *) out->data + start + 1, len - 1,
												 t->salt_buckets);
}

void
wt_rowkey_encode(WtTable *t, const Datum *values, int nparts, StringInfo out)
{
	int start = out->len;
	bool full = nparts == t->nkeys;

	if (full && t->salt_buckets > 0)
		appendStringInfoChar(out, 0);
	for (int i = 0; i < nparts; i++)
		wt_rowkey_encode_part(t, i, values[i], out);
	if (full)
		finish_key(t, out, start);
}

void
wt_rowkey_from_slot(WtTable *t, const Datum *values, const bool *isnull, StringInfo out)
{
	int start = out->len;

	if (t->salt_buckets > 0)
		appendStringInfoChar(out, 0);
	for (int i = 0; i < t->nkeys; i++)
	{
		int att = t->keys[i];

		if (isnull[att] && t->columns[att].nullable)
		{
			appendStringInfoChar(out, (char) (t->columns[att].desc ? ~NO_VALUE : NO_VALUE));
			continue;
		}
		if (isnull[att])
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("null value in key column \"%s\" of relation \"%s\"",
							t->columns[att].name, get_rel_name(t->relid)),
					 errdetail("Every key column must have a value.")));
		wt_rowkey_encode_part(t, i, values[att], out);
	}
	finish_key(t, out, start);
}

/* wt_rowkey_part_length() of a value. */
static ssize_t
value_length(const WtColumn *c, const uint8 *p, size_t n)
{
	uint8 flip = c->desc ? 0xFF : 0x00;

	if (c->value_len > 0)
		return n < (size_t) c->value_len ? -1 : c->value_len;
	if (wt_encoding_is_self_delimiting(c->typid, c->enc))
	{
		size_t self = wt_decode_self_length(c->typid, p, n, flip);

		return self == 0 ? -1 : (ssize_t) self;
	}
	if (c->last && !c->desc)
		return n;
	if (c->delimited)
	{
		const uint8 *end = memchr(p, (uint8) c->delimiter ^ flip, n);

		return end == NULL ? -1 : end - p + 1;
	}
	for (const uint8 *at = p, *end = p + n; at + 1 < end; at += 2)
	{
		at = memchr(at, ESCAPE ^ flip, end - at);
		if (at == NULL || at + 1 == end)
			return -1;
		if ((at[1] ^ flip) == TERMINATOR)
			return at + 2 - p;
		if ((at[1] ^ flip) != ESCAPED)
			return -1;
	}
	return -1;
}

bool
wt_rowkey_is_null_part(const WtColumn *c, const uint8 *p, size_t n)
{
	return c->nullable && n > 0 && (p[0] ^ (c->desc ? 0xFF : 0x00)) == NO_VALUE;
}

ssize_t
wt_rowkey_part_length(const WtColumn *c, const uint8 *p, size_t n)
{
	ssize_t len;

	if (!c->nullable)
		return value_length(c, p, n);
	if (wt_rowkey_is_null_part(c, p, n))
		return 1;
	if (n == 0 || p[0] != *wt_rowkey_value_mark(c).data)
		return -1;
	len = value_length(c, p + 1, n - 1);
	return len < 0 ? -1 : len + 1;
}

/* Copies n bytes to plain, each XORed with flip; escaped: without escapes.  Returns: the number of
 * bytes of plain. */
static size_t
copy_plain(uint8 *plain, const uint8 *p, size_t n, uint8 flip, bool escaped)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
	{
		uint8 b = p[i] ^ flip;

		plain[len++] = b;
		if (escaped && b == ESCAPE)
			i++;
	}
	return len;
}

ssize_t
wt_rowkey_take_part(const WtColumn *c, const uint8 *p, size_t n, uint8 *plain, wide_bytes *value)
{
	ssize_t mark = c->nullable ? 1 : 0, taken = wt_rowkey_part_length(c, p, n) - mark;
	bool varies = c->value_len == 0 && !wt_encoding_is_self_delimiting(c->typid, c->enc);
	bool ended = varies && (!c->last || c->desc); /* by a terminator or a delimiter */
	bool escaped = ended && !c->delimited;
	size_t len;

	if (wt_rowkey_is_null_part(c, p, n))
	{
		*value = (wide_bytes) {p, 0};
		return 1;
	}
	p += mark;
	n -= mark;
	if (taken < 0 || (varies && !ended && c->delimited && memchr(p, c->delimiter, n)))
		return -1;
	len = taken - (escaped ? 2 : ended ? 1 : 0);
	if (plain != NULL && (c->desc || (escaped && memchr(p, ESCAPE, len))))
	{
		len = copy_plain(plain, p, len, c->desc ? 0xFF : 0x00, escaped);
		p = plain;
	}
	*value = (wide_bytes) {p, len};
	return taken + mark;
}

bool
wt_rowkey_prefix_end(const uint8 *p, size_t n, StringInfo out)
{
	while (n > 0 && p[n - 1] == 0xFF)
		n--;
	if (n == 0)
		return false;
	appendBinaryStringInfo(out, (const char *) p, (int) n);
	out->data[out->len - 1]++;
	return true;
}

#define SHORT_PART 16 /* bytes */

/* As wt_rowkey_take_part, for the most frequent parts: of fixed width, at most SHORT_PART bytes.
 * *value of a descending part is in flipped. */
static inline ssize_t
take_short_part(const WtColumn *c, const uint8 *p, size_t n, uint8 *flipped, wide_bytes *value)
{
	if (n < (size_t) c->fixed_len)
		return -1;
	if (c->desc && c->fixed_len == sizeof(uint64))
	{
		uint64 x;

		memcpy(&x, p, sizeof(x));
		x = ~x;
		memcpy(flipped, &x, sizeof(x));
	}
	else if (c->desc)
		for (int i = 0; i < c->fixed_len; i++)
			flipped[i] = p[i] ^ 0xFF;
	*value = (wide_bytes) {c->desc ? flipped : p, (size_t) c->fixed_len};
	return c->fixed_len;
}

const char *
wt_rowkey_decode_soft(WtTable *t, wide_bytes key, const bool *need, Datum *values, bool *nulls)
{
	const uint8 *p = key.data;
	size_t n = key.len;
	uint8 room[128], *plain = room;
	const char *why = NULL;

	StaticAssertStmt(sizeof(room) >= SHORT_PART, "room for a short part");

	if (t->salt_buckets > 0)
	{
		if (n == 0)
			return "the salt byte is missing";
		p++;
		n--;
	}
	for (int i = 0; i < t->nkeys && why == NULL; i++)
	{
		const WtColumn *c = wt_key_column(t, i);
		bool wanted = need == NULL || need[i];
		wide_bytes part;
		ssize_t taken;

		nulls[i] = true;
		values[i] = (Datum) 0;
		if (c->fixed_len > 0 && c->fixed_len <= SHORT_PART)
			taken = take_short_part(c, p, n, plain, &part);
		else
		{
			if (wanted && plain == room && n > sizeof(room))
				plain = palloc(n);
			taken = wt_rowkey_take_part(c, p, n, wanted ? plain : NULL, &part);
		}
		if (taken < 0)
		{
			why = psprintf("key column \"%s\" does not end where it should", c->name);
			break;
		}
		wanted = wanted && !wt_rowkey_is_null_part(c, p, n);
		p += taken;
		n -= taken;
		if (!wanted || wt_encoding_is_digest(c->enc))
			continue;
		why = wt_decode_soft(c, part.data, part.len, &values[i]);
		nulls[i] = why != NULL;
		if (why)
			why = psprintf("key column \"%s\": %s", c->name, why);
	}
	if (why == NULL && n > 0)
		why = psprintf("bytes left over after the last key column: %zu", n);
	if (plain != room)
		pfree(plain);
	return why;
}

bool
wt_rowkey_decode(WtTable *t, wide_bytes key, const bool *need, Datum *values, bool *nulls)
{
	const char *why = wt_rowkey_decode_soft(t, key, need, values, nulls);

	if (why == NULL)
		return true;
	if (t->bad_key_skip)
		return false;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a row key of \"%s\" does not decode: %s", get_rel_name(t->relid), why),
			 wt_rowkey_is_visible(t) ? errdetail("The key is %s.", wt_rowkey_hex(key)) : 0,
			 errhint("Check option \"key\" and the encodings of its columns, or set option "
					 "\"on_bad_key\" to \"skip\".")));
	return false;
}

size_t
wt_rowkey_prefix_length(WtTable *t, wide_bytes key, int parts)
{
	size_t at = t->salt_buckets > 0 ? 1 : 0;

	if (key.len < at)
		return 0;
	for (int i = 0; i < parts; i++)
	{
		ssize_t taken = wt_rowkey_part_length(wt_key_column(t, i), key.data + at, key.len - at);

		if (taken < 0)
			return 0;
		at += taken;
	}
	return at;
}

bool
wt_rowkey_is_visible(WtTable *t)
{
	if (pg_class_aclcheck(t->relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
		return true;
	for (int i = 0; i < t->nkeys; i++)
		if (pg_attribute_aclcheck(t->relid, wt_key_column(t, i)->attno, GetUserId(), ACL_SELECT) !=
			ACLCHECK_OK)
			return false;
	return true;
}

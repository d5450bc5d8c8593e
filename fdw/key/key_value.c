/*
 * key_value.c
 *		Values of a test -> bytes of a part of the key, and intervals of bytes.
 *
 * A value that the key's encoding cannot hold (too large, negative for an unsigned
 * one, with the delimiter in it) is no error in a WHERE clause: no row is equal to
 * it, and in order it is below all rows, above all, or between two of them.
 */
#include "postgres.h"

#include "fdw/key/key_value.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/primnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "fdw/key/key_test.h"
#include "fdw/key/part.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/encoding.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

/* The latest finite timestamp that encode.c can encode. */
#define LAST_TIMESTAMP (PG_INT64_MAX - 1 - WT_EPOCH_DIFF)

static WtValueFate
adapt_integer(const WtColumn *c, Oid type, Datum *value)
{
	int64 x = wt_integer_value(type, *value);
	int bits = 8 * wt_encoding_binary_width(c->typid);
	int64 hi = PG_INT64_MAX >> (64 - bits);
	int64 lo = -hi - 1;

	if (c->enc >= WT_ENC_UNSIGNED1 && c->enc <= WT_ENC_UNSIGNED8)
	{
		int width = wt_encoding_length(c->typid, c->enc);

		lo = 0;
		if (width < 8)
			hi = Min(hi, (INT64CONST(1) << (8 * width)) - 1);
	}
	if (x < lo)
		return WT_VALUE_BELOW;
	if (x > hi)
		return WT_VALUE_ABOVE;
	*value = wt_integer_datum(c->typid, x);
	return WT_VALUE_OK;
}

/* Dates and local times become points in time; beyond the type's range, next to infinity. */
static WtValueFate
adapt_time(const WtColumn *c, Oid type, Datum *value)
{
	int overflow = 0;
	Timestamp ts;

	if (type == c->typid)
		ts = DatumGetTimestamp(*value);
	else if (c->typid == TIMESTAMPOID)
		ts = date2timestamp_opt_overflow(DatumGetDateADT(*value), &overflow);
	else if (type == DATEOID)
		ts = date2timestamptz_opt_overflow(DatumGetDateADT(*value), &overflow);
	else
		ts = timestamp2timestamptz_opt_overflow(DatumGetTimestamp(*value), &overflow);
	if (overflow == 0 && (TIMESTAMP_NOT_FINITE(ts) || ts <= LAST_TIMESTAMP))
	{
		*value = TimestampGetDatum(ts);
		return WT_VALUE_OK;
	}
	/* the last years of the type do not fit into microseconds since 1970 */
	*value = TimestampGetDatum(overflow < 0 ? DT_NOBEGIN : LAST_TIMESTAMP);
	return WT_VALUE_BEHIND;
}

/* A float8 without an equal float4 is right behind the next lower float4. */
static WtValueFate
adapt_float(const WtColumn *c, Oid type, Datum *value)
{
	double x;
	float y;

	if (type == c->typid)
		return WT_VALUE_OK;
	if (c->typid == FLOAT8OID)
	{
		*value = Float8GetDatum((double) DatumGetFloat4(*value));
		return WT_VALUE_OK;
	}
	x = DatumGetFloat8(*value);
	y = (float) x;
	if (isnan(x) || (double) y == x)
	{
		*value = Float4GetDatum(y);
		return WT_VALUE_OK;
	}
	if ((double) y > x)
		y = nextafterf(y, -HUGE_VALF);
	*value = Float4GetDatum(y);
	return WT_VALUE_BEHIND;
}

/* A text that is too long for a name is right behind the name that it begins with. */
static WtValueFate
adapt_name(const WtColumn *c, Oid type, Datum *value)
{
	WtValueFate fate = WT_VALUE_OK;

	if (type != NAMEOID)
	{
		struct varlena *v = PG_DETOAST_DATUM_PACKED(*value);
		size_t len = VARSIZE_ANY_EXHDR(v);
		Name name = palloc0(NAMEDATALEN);

		if (len >= NAMEDATALEN)
		{
			len = NAMEDATALEN - 1;
			fate = WT_VALUE_BEHIND;
		}
		memcpy(NameStr(*name), VARDATA_ANY(v), len);
		*value = NameGetDatum(name);
	}
	if (c->delimiter != 0 && strchr(NameStr(*DatumGetName(*value)), c->delimiter) != NULL)
		return WT_VALUE_NONE;
	return fate;
}

WtValueFate
wt_key_value_adapt(const WtColumn *c, Oid type, Datum *value)
{
	if (wt_is_integer(c->typid))
		return adapt_integer(c, type, value);
	if (c->typid == NAMEOID)
		return adapt_name(c, type, value);
	if (wt_is_text(c->typid) || c->typid == BYTEAOID)
	{
		struct varlena *v = PG_DETOAST_DATUM_PACKED(*value);

		*value = PointerGetDatum(v);
		if (c->delimiter != 0 && memchr(VARDATA_ANY(v), c->delimiter, VARSIZE_ANY_EXHDR(v)) != NULL)
			return WT_VALUE_NONE;
		return WT_VALUE_OK;
	}
	if (c->typid == TIMESTAMPTZOID || c->typid == TIMESTAMPOID)
		return adapt_time(c, type, value);
	if (c->typid == FLOAT4OID || c->typid == FLOAT8OID)
		return adapt_float(c, type, value);
	return WT_VALUE_OK;
}

bool
wt_key_value_is_local(const WtColumn *c, Oid type)
{
	return (c->typid == TIMESTAMPOID || c->typid == DATEOID) && type != c->typid &&
		   (type == TIMESTAMPOID || type == TIMESTAMPTZOID);
}

bool
wt_key_value_move_local_bound(const WtColumn *c, bool less, WtArg *arg)
{
	const int64 slack = 2 * USECS_PER_DAY;
	Timestamp local;

	if (!wt_key_value_is_local(c, arg->type))
		return true;
	local = DatumGetTimestamp(arg->value);
	if (TIMESTAMP_NOT_FINITE(local) || local < MIN_TIMESTAMP + 2 * slack ||
		local > END_TIMESTAMP - 2 * slack)
		return false;
	if (arg->type == TIMESTAMPTZOID)
		local = DatumGetTimestamp(DirectFunctionCall1(timestamptz_timestamp, arg->value));
	local += less ? slack : -slack;
	arg->value = TimestampGetDatum(local);
	if (c->typid == DATEOID)
		arg->value = DirectFunctionCall1(timestamp_date, arg->value);
	arg->type = c->typid;
	return true;
}

WtValueFate
wt_key_value_encode(WtTable *t, int part, const WtArg *arg, StringInfo out)
{
	Datum value = arg->value;
	WtColumn *c = wt_part_column(t, part);
	WtValueFate fate = wt_key_value_adapt(c, arg->type, &value);

	if (fate != WT_VALUE_OK && fate != WT_VALUE_BEHIND)
		return fate;
	if (part < t->nkeys)
		wt_rowkey_encode_part(t, part, value, out);
	else
		appendBinaryStringInfo(out, VARDATA_ANY(DatumGetPointer(value)),
							   VARSIZE_ANY_EXHDR(DatumGetPointer(value)));
	return fate;
}

bool
wt_key_value_is_raw(WtTable *t, int part)
{
	if (part >= t->nkeys)
		return true;
	return part == t->nkeys - 1 && wt_key_column(t, part)->fixed_len == 0 &&
		   !wt_key_column(t, part)->desc;
}

/* Returns the length of b without the bytes 0xFF at its end. */
static size_t
length_without_ff(wide_bytes b)
{
	size_t n = b.len;

	while (n > 0 && b.data[n - 1] == 0xFF)
		n--;
	return n;
}

bool
wt_key_value_after(wide_bytes b, bool raw, wide_bytes *out)
{
	size_t n = raw ? b.len : length_without_ff(b);
	uint8 *p;

	if (!raw && n == 0)
		return false;
	p = palloc(n + 1);
	wt_bytes_copy(p, b.data, n);
	if (raw)
		p[n++] = 0;
	else
		p[n - 1]++;
	*out = (wide_bytes) {p, n};
	return true;
}

void
wt_key_value_point(wide_bytes b, bool raw, WtInterval *out)
{
	uint8 *p = palloc(b.len * 2 + 1);
	size_t n;

	wt_bytes_copy(p, b.data, b.len);
	p[b.len] = 0;
	out->lo = (wide_bytes) {p, b.len};
	out->hi = (wide_bytes) {p, b.len + 1};
	out->inf = false;
	out->point = true;
	if (raw)
		return;
	n = length_without_ff(b);
	out->inf = n == 0;
	if (n == 0)
		return;
	p += b.len + 1;
	memcpy(p, b.data, n);
	p[n - 1]++;
	out->hi = (wide_bytes) {p, n};
}

WtArg
wt_key_value_arg(Node *expr, Oid type)
{
	WtArg arg = {.type = type, .known = IsA(expr, Const)};

	if (arg.known)
	{
		arg.isnull = ((Const *) expr)->constisnull;
		arg.value = ((Const *) expr)->constvalue;
	}
	return arg;
}

int
wt_key_value_elements(Datum array, Datum **values, bool **nulls)
{
	ArrayType *a = DatumGetArrayTypeP(array);
	int16 len;
	bool byval;
	char align;
	int n;

	get_typlenbyvalalign(ARR_ELEMTYPE(a), &len, &byval, &align);
	deconstruct_array(a, ARR_ELEMTYPE(a), len, byval, align, values, nulls, &n);
	return n;
}

bool
wt_key_value_list(const WtTest *test, const WtArg *args, WtArg **out, int *n)
{
	const WtArg *arg = &args[test->first];
	Datum *values = NULL;
	bool *nulls = NULL;
	int count = test->n;

	*n = 0;
	for (int i = 0; i < test->n; i++)
		if (!arg[i].known)
			return false;
	if (test->kind == WT_COND_ANY)
		count = arg->isnull ? 0 : wt_key_value_elements(arg->value, &values, &nulls);
	*out = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(WtArg) * (Size) Max(1, count));
	for (int i = 0; i < count; i++)
	{
		WtArg one = values == NULL ? arg[i] : (WtArg) {arg->type, true, nulls[i], values[i]};

		if (!one.isnull)
			(*out)[(*n)++] = one;
	}
	if (values != NULL)
	{
		pfree(values);
		pfree(nulls);
	}
	return true;
}

WtLike
wt_key_value_like_prefix(const char *pattern, int len, StringInfo out)
{
	int i = 0;

	for (; i < len && pattern[i] != '%' && pattern[i] != '_'; i++)
	{
		/* LIKE raises an error for a pattern that ends with a backslash */
		if (pattern[i] == '\\' && ++i == len)
			return WT_LIKE_MORE;
		appendStringInfoChar(out, pattern[i]);
	}
	if (i == len)
		return WT_LIKE_VALUE;
	while (i < len && pattern[i] == '%')
		i++;
	return i == len ? WT_LIKE_PREFIX : WT_LIKE_MORE;
}

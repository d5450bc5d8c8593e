/*
 * map.c
 *		Map columns: jsonb objects that show a family.
 *
 * A map may have a million entries of which an UPDATE changes one.  So the difference
 * is found in one pass over both objects, with no memory for entries that are the
 * same.  This works because jsonb stores the keys of an object sorted by length and
 * then by bytes (lengthCompareJsonbString).
 */
#include "postgres.h"

#include "fdw/row/map.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "fdw/store/bytes.h"

/* The order of keys in jsonb. */
static int
key_cmp(const JsonbValue *a, const JsonbValue *b)
{
	if (a->val.string.len != b->val.string.len)
		return a->val.string.len < b->val.string.len ? -1 : 1;
	return a->val.string.len == 0 ? 0
								  : memcmp(a->val.string.val, b->val.string.val, a->val.string.len);
}

/* Of equal keys the last one comes first, because jsonb keeps the first. */
static inline int
pair_cmp(const JsonbPair *a, const JsonbPair *b)
{
	int c = key_cmp(&a->key, &b->key);

	return c != 0 ? c : a->order > b->order ? -1 : a->order < b->order;
}

#define ST_SORT			 sort_pairs
#define ST_ELEMENT_TYPE	 JsonbPair
#define ST_COMPARE(a, b) pair_cmp(a, b)
#define ST_SCOPE		 static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

JsonbValue *
wt_map_end(JsonbParseState **ps)
{
	JsonbValue *object = &(*ps)->contVal;

	sort_pairs(object->val.object.pairs, object->val.object.nPairs);
	return pushJsonbValue(ps, WJB_END_OBJECT, NULL);
}

Datum
wt_map_stored(Datum d, bool *isnull)
{
	Jsonb *jb = DatumGetJsonbP(d);
	JsonbIterator *it = JsonbIteratorInit(&jb->root);
	JsonbParseState *out = NULL;
	JsonbIteratorToken tok;
	JsonbValue k = {0}, v;
	StringInfoData text;

	*isnull = true;
	initStringInfo(&text);
	(void) pushJsonbValue(&out, WJB_BEGIN_OBJECT, NULL);
	while ((tok = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (tok == WJB_KEY)
			k = v;
		if (tok != WJB_VALUE)
			continue;
		resetStringInfo(&text);
		if (!wt_map_json_text(&v, &text))
			continue;
		/* a copy, because the parse state points to it */
		v.type = jbvString;
		v.val.string.val = pnstrdup(text.data, text.len);
		v.val.string.len = text.len;
		(void) pushJsonbValue(&out, WJB_KEY, &k);
		(void) pushJsonbValue(&out, WJB_VALUE, &v);
		*isnull = false;
	}
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&out, WJB_END_OBJECT, NULL)));
}

/* A walk along the entries of an object, without those that are JSON null */
typedef struct Walk
{
	JsonbIterator *it; /* NULL: at the end */
	JsonbValue key, value;
} Walk;

/* Moves to the next entry. */
static void
walk_next(Walk *w)
{
	JsonbValue v;
	JsonbIteratorToken tok;

	while (w->it != NULL)
	{
		tok = JsonbIteratorNext(&w->it, &v, true);
		if (tok == WJB_DONE)
		{
			w->it = NULL;
			break;
		}
		if (tok == WJB_KEY)
			w->key = v;
		else if (tok == WJB_VALUE && v.type != jbvNull)
		{
			w->value = v;
			break;
		}
	}
}

static void
walk_start(Walk *w, Jsonb *jb)
{
	memset(w, 0, sizeof(*w));
	if (jb != NULL)
	{
		w->it = JsonbIteratorInit(&jb->root);
		walk_next(w);
	}
}

void
wt_map_diff(Jsonb *was, Jsonb *now, WtMapSame may_skip, WtMapChange change, void *arg)
{
	Walk o, n;
	StringInfoData old_text, text;

	initStringInfo(&old_text);
	initStringInfo(&text);
	walk_start(&o, was);
	walk_start(&n, now);
	while (o.it != NULL || n.it != NULL)
	{
		int c = o.it == NULL ? 1 : n.it == NULL ? -1 : key_cmp(&o.key, &n.key);

		CHECK_FOR_INTERRUPTS();
		if (c < 0)
		{
			change(arg, &o.key, NULL);
			walk_next(&o);
			continue;
		}
		resetStringInfo(&text);
		(void) wt_map_json_text(&n.value, &text);
		if (c == 0)
		{
			resetStringInfo(&old_text);
			(void) wt_map_json_text(&o.value, &old_text);
		}
		if (c > 0 || !wt_bytes_equal(text.data, text.len, old_text.data, old_text.len) ||
			(may_skip != NULL && !may_skip(arg, &n.key)))
			change(arg, &n.key, &text);
		if (c == 0)
			walk_next(&o);
		walk_next(&n);
	}
	pfree(old_text.data);
	pfree(text.data);
}

bool
wt_map_json_text(const JsonbValue *v, StringInfo out)
{
	switch (v->type)
	{
		case jbvNull:
			return false;
		case jbvString:
			appendBinaryStringInfo(out, v->val.string.val, v->val.string.len);
			return true;
		case jbvNumeric:
			appendStringInfoString(out, DatumGetCString(DirectFunctionCall1(
											numeric_out, NumericGetDatum(v->val.numeric))));
			return true;
		case jbvBool:
			appendStringInfoString(out, v->val.boolean ? "true" : "false");
			return true;
		case jbvBinary:
			JsonbToCString(out, v->val.binary.data, v->val.binary.len);
			return true;
		default:
			elog(ERROR, "unexpected kind %d of JSON value", (int) v->type);
	}
	return false; /* keep compiler quiet */
}

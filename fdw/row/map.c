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
	JsonbParseState *out = NULL;
	WtMapWalk w;
	StringInfoData text;

	*isnull = true;
	initStringInfo(&text);
	(void) pushJsonbValue(&out, WJB_BEGIN_OBJECT, NULL);
	wt_map_walk(&w, &jb->root);
	while (wt_map_walk_next(&w))
	{
		CHECK_FOR_INTERRUPTS();
		resetStringInfo(&text);
		if (!wt_map_json_text(&w.value, &text))
			continue;
		/* a copy, because the parse state points to it */
		w.value.type = jbvString;
		w.value.val.string.val = pnstrdup(text.data, text.len);
		w.value.val.string.len = text.len;
		(void) pushJsonbValue(&out, WJB_KEY, &w.key);
		(void) pushJsonbValue(&out, WJB_VALUE, &w.value);
		*isnull = false;
	}
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&out, WJB_END_OBJECT, NULL)));
}

/* Moves to the next entry that is not JSON null.  Returns false at the end. */
static bool
next_stored(WtMapWalk *w)
{
	while (wt_map_walk_next(w))
		if (w->value.type != jbvNull)
			return true;
	return false;
}

void
wt_map_diff(Jsonb *was, Jsonb *now, WtMapChange change, void *arg)
{
	WtMapWalk o = {0}, n = {0};
	bool more_o, more_n;
	StringInfoData old_text, text;

	initStringInfo(&old_text);
	initStringInfo(&text);
	if (was != NULL)
		wt_map_walk(&o, &was->root);
	if (now != NULL)
		wt_map_walk(&n, &now->root);
	more_o = next_stored(&o);
	more_n = next_stored(&n);
	while (more_o || more_n)
	{
		int c = !more_o ? 1 : !more_n ? -1 : key_cmp(&o.key, &n.key);

		CHECK_FOR_INTERRUPTS();
		if (c < 0)
		{
			change(arg, &o.key, NULL, false);
			more_o = next_stored(&o);
			continue;
		}
		resetStringInfo(&text);
		(void) wt_map_json_text(&n.value, &text);
		if (c > 0)
			change(arg, &n.key, &text, false);
		else
		{
			resetStringInfo(&old_text);
			(void) wt_map_json_text(&o.value, &old_text);
			change(arg, &n.key, &text,
				   wt_bytes_equal(text.data, text.len, old_text.data, old_text.len));
			more_o = next_stored(&o);
		}
		more_n = next_stored(&n);
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

/*
 * split_option.c
 *		The table's option "split_at": keys at which a new table is divided into regions.
 */
#include "postgres.h"

#include "fdw/table/split_option.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "fdw/store/bytes.h"
#include "fdw/table/option.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/type_io.h"

#define HINT                                                                                   \
	"Write a JSON array of values of the first key column, for example [\"g\", \"p\"], or of " \
	"bytes: [{\"hex\": \"67\"}]."

static char *
text_of(const JsonbValue *v)
{
	return pnstrdup(v->val.string.val, v->val.string.len);
}

/* {"hex": "..."} */
static bool
take_hex(const JsonbValue *v, WtSplitItem *item)
{
	JsonbContainer *c = v->val.binary.data;
	JsonbValue hex;
	int n;

	if (v->type != jbvBinary || !JsonContainerIsObject(c) || JsonContainerSize(c) != 1 ||
		getKeyJsonValueFromContainer(c, "hex", 3, &hex) == NULL || hex.type != jbvString)
		return false;
	n = hex.val.string.len;
	if (n == 0 || n % 2 != 0 || strspn(text_of(&hex), "0123456789abcdefABCDEF") != (size_t) n)
		return false;
	item->bytes = palloc(n / 2);
	item->len = (uint32) hex_decode(hex.val.string.val, n, (char *) item->bytes);
	return true;
}

List *
wt_split_option_parse(const char *text)
{
	Jsonb *j = NULL;
	List *items = NIL;

	/* a clearer error than jsonb's for what is not even an array */
	if (text[strspn(text, " \t\n")] != '[')
		wt_option_bad_value("split_at", text, HINT);
	j = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
	for (uint32 i = 0; i < JB_ROOT_COUNT(j); i++)
	{
		JsonbValue *v = getIthJsonbValueFromContainer(&j->root, i);
		WtSplitItem *item = palloc0(sizeof(WtSplitItem));

		if (v->type == jbvString)
			item->text = text_of(v);
		else if (v->type == jbvNumeric)
			item->text = DatumGetCString(DirectFunctionCall1(numeric_out,
															 NumericGetDatum(v->val.numeric)));
		else if (!take_hex(v, item))
			wt_option_bad_value("split_at", text, HINT);
		items = lappend(items, item);
	}
	return items;
}

static int
compare_keys(const void *a, const void *b)
{
	return wt_bytes_cmp(*(const wide_bytes *) a, *(const wide_bytes *) b);
}

/* Adds a key: the salt, unless bucket is -1, and these bytes. */
static void
add_key(wide_bytes *keys, int *n, int bucket, const uint8 *data, uint32 len)
{
	int salt = bucket >= 0 ? 1 : 0;
	uint8 *key = palloc(salt + len);

	if (salt)
		key[0] = (uint8) bucket;
	wt_bytes_copy(key + salt, data, len);
	if (salt + len > 0 && !(len == 0 && bucket == 0))
		keys[(*n)++] = (wide_bytes) {key, salt + len};
}

wide_bytes *
wt_split_option_keys(WtTable *t, int *n)
{
	List *items = t->split_at != NULL ? wt_split_option_parse(t->split_at) : NIL;
	int buckets = Max(1, t->salt_buckets), all = 0;
	wide_bytes *keys = palloc(sizeof(wide_bytes) * (list_length(items) + 1) * buckets);

	for (int b = 0; b < buckets; b++)
	{
		int bucket = t->salt_buckets > 0 ? b : -1;
		ListCell *lc;

		add_key(keys, &all, bucket, (const uint8 *) "", 0);
		foreach(lc, items)
		{
			WtSplitItem *item = lfirst(lc);
			const WtColumn *c = wt_key_column(t, 0);
			StringInfoData s;

			initStringInfo(&s);
			if (item->text == NULL)
				appendBinaryStringInfo(&s, (const char *) item->bytes, (int) item->len);
			else
				wt_rowkey_encode_part(t, 0,
									  wt_type_io_convert(CStringGetDatum(item->text), UNKNOWNOID,
														 c->typid, c->typmod),
									  &s);
			/* bytes are a whole key, with its salt */
			add_key(keys, &all, item->text == NULL ? -1 : bucket, (const uint8 *) s.data,
					(uint32) s.len);
		}
	}
	qsort(keys, all, sizeof(wide_bytes), compare_keys);
	*n = 0;
	for (int i = 0; i < all; i++)
		if (*n == 0 || wt_bytes_cmp(keys[*n - 1], keys[i]) != 0)
			keys[(*n)++] = keys[i];
	return keys;
}

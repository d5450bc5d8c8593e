/*
 * family_option.c
 *		The table's option "families": a JSON object with options of families.
 */
#include "postgres.h"

#include "fdw/table/family_option.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "engine/wide.h"
#include "fdw/store/clock.h"
#include "fdw/table/option.h"
#include "fdw/table/types.h"

#define MIN_BLOCK 1024
#define MAX_BLOCK (1024 * 1024)

/* In the order of the bits WT_FAM_* */
static const char *const family_options[] = {"versions",	 "min_versions", "ttl",
											 "keep_deleted", "bloom",		 "block_size",
											 "compression",	 "in_memory",	 "compaction"};

/* As wt_option_bad_value, of an option of a family. */
static _Noreturn void
bad_family_value(const char *family, const char *option, const char *valid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
			 errmsg("invalid value for option \"%s\" of family \"%s\"", option, family),
			 errhint("%s", valid)));
	pg_unreachable();
}

/* Adds a hint about valid values to the errors of input functions. */
static void
add_hint(void *arg)
{
	errhint("%s", (const char *) arg);
}

static Datum
input_with_hint(Datum (*input)(FunctionCallInfo), const char *text, const char *hint)
{
	ErrorContextCallback context = {
		.previous = error_context_stack, .callback = add_hint, .arg = unconstify(char *, hint)};
	Datum result;

	error_context_stack = &context;
	result = DirectFunctionCall3(input, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid),
								 Int32GetDatum(-1));
	error_context_stack = context.previous;
	return result;
}

static int64
interval_us(const char *family, const char *option, const char *text)
{
	const char *hint =
		psprintf("Option \"%s\" of family \"%s\" takes an interval, for example \"60 days\".",
				 option, family);
	int64 us;

	if (!wt_clock_interval_us(DatumGetIntervalP(input_with_hint(interval_in, text, hint)), &us))
		bad_family_value(family, option,
						 "The interval must be positive and less than 292,000 years.");
	return us;
}

static int64
json_int(const char *family, const char *option, const JsonbValue *v, int64 min, int64 max)
{
	if (v->type == jbvNumeric)
	{
		char *text = DatumGetCString(DirectFunctionCall1(numeric_out,
														 NumericGetDatum(v->val.numeric)));
		char *end;
		int64 n;

		errno = 0;
		n = strtoll(text, &end, 10);
		if (errno == 0 && *end == '\0' && n >= min && n <= max)
			return n;
	}
	bad_family_value(family, option,
					 psprintf("Write a whole number from " INT64_FORMAT " to " INT64_FORMAT ".",
							  min, max));
}

static bool
json_bool(const char *family, const char *option, const JsonbValue *v)
{
	if (v->type != jbvBool)
		bad_family_value(family, option, "Valid values are: true, false.");
	return v->val.boolean;
}

static char *
json_string(const char *family, const char *option, const JsonbValue *v, const char *valid)
{
	if (v->type != jbvString)
		bad_family_value(family, option, valid);
	return pnstrdup(v->val.string.val, v->val.string.len);
}

/* Microseconds; null is 0, no limit. */
static int64
json_ttl(const char *family, const char *option, const JsonbValue *v)
{
	const char *valid = "Write an interval, for example \"60 days\", or null for no limit.";

	if (v->type == jbvNull)
		return 0;
	return interval_us(family, option, json_string(family, option, v, valid));
}

/* "prefix:7" -> 7; -1 if the word is another one or the number is not from min to max */
static int
suffix_int(const char *s, const char *word, int min, int max)
{
	size_t n = strlen(word);
	char *end;
	long v;

	if (strncmp(s, word, n) != 0 || s[n] < '0' || s[n] > '9')
		return -1;
	v = strtol(s + n, &end, 10);
	return *end == '\0' && v >= min && v <= max ? (int) v : -1;
}

static void
family_bloom(WtFamily *f, const JsonbValue *v)
{
	const char *valid = "Valid values are: \"row\", \"rowcol\", \"none\", \"prefix:N\" with N "
						"bytes from 1 to 32767.";
	char *s = json_string(f->name, "bloom", v, valid);
	int n;

	if (strcmp(s, "row") == 0)
		f->opt.bloom = WIDE_BLOOM_ROW;
	else if (strcmp(s, "rowcol") == 0)
		f->opt.bloom = WIDE_BLOOM_ROWCOL;
	else if (strcmp(s, "none") == 0)
		f->opt.bloom = WIDE_BLOOM_NONE;
	else if ((n = suffix_int(s, "prefix:", 1, WIDE_MAX_ROW)) > 0)
	{
		f->opt.bloom = WIDE_BLOOM_PREFIX;
		f->opt.bloom_prefix = (uint16_t) n;
	}
	else
		bad_family_value(f->name, "bloom", valid);
}

static void
family_compression(WtFamily *f, const JsonbValue *v)
{
	const char *valid =
		"Valid values are: \"zstd\", \"zstd:LEVEL\" with a level from 1 to 22, \"none\".";
	char *s = json_string(f->name, "compression", v, valid);
	int level;

	if (strcmp(s, "none") == 0)
		f->opt.compression = WIDE_COMPRESS_NONE;
	else if (strcmp(s, "zstd") == 0)
		f->opt.compression = WIDE_COMPRESS_ZSTD;
	else if ((level = suffix_int(s, "zstd:", 1, 22)) > 0)
	{
		f->opt.compression = WIDE_COMPRESS_ZSTD;
		f->opt.compression_level = (int8_t) level;
	}
	else
		bad_family_value(f->name, "compression", valid);
}

static void
family_compaction(WtFamily *f, const JsonbValue *v)
{
	const char *valid =
		"Valid values are: \"leveled\", \"window:INTERVAL\", for example \"window:1 day\".";
	char *s = json_string(f->name, "compaction", v, valid);

	if (strcmp(s, "leveled") == 0)
		f->opt.compaction = WIDE_COMPACT_LEVELED;
	else if (strncmp(s, "window:", 7) == 0 && s[7])
	{
		f->opt.compaction = WIDE_COMPACT_WINDOW;
		f->opt.window_us = interval_us(f->name, "compaction", s + 7);
	}
	else
		bad_family_value(f->name, "compaction", valid);
}

/* Takes one option of a family: a member of its JSON object. */
static void
family_option(WtFamily *f, const char *name, const JsonbValue *v)
{
	int i = 0;

	while (i < (int) lengthof(family_options) && strcmp(name, family_options[i]) != 0)
		i++;
	if (i == lengthof(family_options))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("invalid option \"%s\" of family \"%s\"", name, f->name),
				 errhint("%s",
						 wt_option_names_hint(name, family_options, lengthof(family_options)))));
	f->stated |= 1u << i;
	switch (1u << i)
	{
		case WT_FAM_VERSIONS:
			f->opt.versions = (int32_t) json_int(f->name, name, v, 1, PG_INT32_MAX);
			break;
		case WT_FAM_MIN_VERSIONS:
			f->opt.min_versions = (int32_t) json_int(f->name, name, v, 0, PG_INT32_MAX);
			break;
		case WT_FAM_TTL:
			f->opt.ttl_us = json_ttl(f->name, name, v);
			break;
		case WT_FAM_KEEP_DELETED:
			f->opt.keep_deleted = json_bool(f->name, name, v);
			break;
		case WT_FAM_BLOOM:
			family_bloom(f, v);
			break;
		case WT_FAM_BLOCK_SIZE:
			f->opt.block_size = (uint32_t) json_int(f->name, name, v, MIN_BLOCK, MAX_BLOCK);
			break;
		case WT_FAM_COMPRESSION:
			family_compression(f, v);
			break;
		case WT_FAM_IN_MEMORY:
			f->opt.in_memory = json_bool(f->name, name, v);
			break;
		case WT_FAM_COMPACTION:
			family_compaction(f, v);
			break;
	}
}

#define FAMILIES_HINT \
	"Option \"families\" takes a JSON object, for example {\"f\": {\"versions\": 3}}."

static Jsonb *
parse_json(const char *text)
{
	return DatumGetJsonbP(input_with_hint(jsonb_in, text, FAMILIES_HINT));
}

/*
 * Returns the keys of a JSON object in the order of the text, which jsonb does
 * not preserve.  The text has passed jsonb_in, so it is enough to count
 * brackets.  Each key is unescaped by reading it as a JSON string.  (Callbacks
 * of the JSON parser would do it, too, but their signatures change with every
 * second release.)
 */
static List *
json_keys_in_order(const char *text)
{
	List *keys = NIL;
	int depth = 0;
	bool key_next = false;

	for (const char *p = text; *p; p++)
	{
		switch (*p)
		{
			case '{':
			case '[':
				key_next = *p == '{' && depth == 0;
				depth++;
				break;
			case '}':
			case ']':
				depth--;
				break;
			case ',':
				key_next = depth == 1;
				break;
			case '"':
			{
				const char *start = p;

				for (p++; *p != '"'; p++)
					if (*p == '\\')
						p++;
				if (key_next)
				{
					Jsonb *j = parse_json(psprintf("[%.*s]", (int) (p + 1 - start), start));
					JsonbValue *v = getIthJsonbValueFromContainer(&j->root, 0);

					keys = lappend(keys, pnstrdup(v->val.string.val, v->val.string.len));
				}
				key_next = false;
				break;
			}
		}
	}
	return keys;
}

/* Takes a family's value: null, or an object with options. */
static void
family_value(WtFamily *f, const JsonbValue *v)
{
	JsonbIterator *it;
	JsonbValue item;
	JsonbIteratorToken token;
	char *name = NULL;

	wide_family_defaults(&f->opt);
	f->dropped = v->type == jbvNull;
	if (f->dropped)
		return;
	if (v->type != jbvBinary || !JsonContainerIsObject(v->val.binary.data))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("invalid value for family \"%s\" in option \"families\"", f->name),
				 errhint("Write an object with the family's options, {} for the defaults, or "
						 "null to drop the family and its data.")));
	it = JsonbIteratorInit(v->val.binary.data);
	while ((token = JsonbIteratorNext(&it, &item, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			name = pnstrdup(item.val.string.val, item.val.string.len);
		else if (token == WJB_VALUE)
			family_option(f, name, &item);
	}
	if ((f->stated & WT_FAM_VERSIONS) && (f->stated & WT_FAM_MIN_VERSIONS) &&
		f->opt.min_versions > f->opt.versions)
		bad_family_value(f->name, "min_versions", "It must not be greater than \"versions\".");
}

List *
wt_family_option_parse(const char *text)
{
	Jsonb *j = parse_json(text);
	List *families = NIL;
	ListCell *lc, *lc2;

	if (!JB_ROOT_IS_OBJECT(j) || JB_ROOT_IS_SCALAR(j))
		wt_option_bad_value("families", text, FAMILIES_HINT);
	foreach(lc, json_keys_in_order(text))
	{
		WtFamily *f = palloc0(sizeof(WtFamily));
		JsonbValue v;

		f->name = lfirst(lc);
		wt_option_check_family_name(f->name);
		foreach(lc2, families)
			if (strcmp(((WtFamily *) lfirst(lc2))->name, f->name) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
						 errmsg("family \"%s\" is given twice in option \"families\"", f->name)));
		families = lappend(families, f);
		(void) getKeyJsonValueFromContainer(&j->root, f->name, strlen(f->name), &v);
		family_value(f, &v);
	}
	return families;
}

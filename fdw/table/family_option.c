/*
 * family_option.c
 *		The table's option "families": a JSON object with options of families.
 */
#include "postgres.h"

#include "fdw/table/family_option.h"

#include <ctype.h>

#include "common/string.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
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
static const char *const family_options[] = {
	"versions",	  "min_versions", "ttl",	   "keep_deleted", "bloom",
	"block_size", "compression",  "in_memory", "compaction",   "merge"};

/* The same for their values: hints about wrong ones */
static const char *const valid_values[] = {
	"Write a whole number from 1 to 2147483647.",
	"Write a whole number from 0 to 2147483647.",
	"Write an interval, for example \"60 days\", or null for no limit.",
	"Valid values are: true, false.",
	"Valid values are: \"row\", \"rowcol\", \"none\", \"prefix:N\" with N bytes from 1 to 32767.",
	"Write a whole number from 1024 to 1048576.",
	"Valid values are: \"zstd\", \"zstd:LEVEL\" with a level from 1 to 22, \"none\".",
	"Valid values are: true, false.",
	"Valid values are: \"leveled\", \"window:INTERVAL\", for example \"window:1 day\".",
	"Valid values are: \"sum\", \"min\", \"max\", \"or\", \"and\", \"hll\", \"append\".",
};

/* From WIDE_MERGE_SUM on; the operators of doubles follow them in the same order */
static const char *const operators[] = {"sum", "min", "max", "or", "and"};

/* As wt_option_bad_value, of an option of a family. */
static _Noreturn void
bad_family_value(const char *family, const char *option, const char *valid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
			 errmsg("invalid value for option \"%s\" of family \"%s\"", option, family),
			 errhint("%s", valid)));
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
	ErrorContextCallback context = {error_context_stack, add_hint, unconstify(char *, hint)};
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

/* Returns the number, -1 if the text has another character than digits or it exceeds max. */
static int
whole_number(const char *text, int max)
{
	char *end;
	int n;

	errno = 0;
	n = strtoint(text, &end, 10);
	return isdigit((unsigned char) text[0]) && errno == 0 && *end == '\0' && n <= max ? n : -1;
}

/* "prefix:7" -> 7; -1 if the word is another one or the number is not from 0 to max */
static int
suffix_int(const char *s, const char *word, int max)
{
	return strncmp(s, word, strlen(word)) == 0 ? whole_number(s + strlen(word), max) : -1;
}

/* The functions that take the text of a value return false if it is not valid. */
static bool
take_bloom(wide_family_options *opt, const char *s)
{
	int n = suffix_int(s, "prefix:", WIDE_MAX_ROW);

	if (strcmp(s, "row") == 0)
		opt->bloom = WIDE_BLOOM_ROW;
	else if (strcmp(s, "rowcol") == 0)
		opt->bloom = WIDE_BLOOM_ROWCOL;
	else if (strcmp(s, "none") == 0)
		opt->bloom = WIDE_BLOOM_NONE;
	else if (n > 0)
	{
		opt->bloom = WIDE_BLOOM_PREFIX;
		opt->bloom_prefix = (uint16_t) n;
	}
	else
		return false;
	return true;
}

static bool
take_compression(wide_family_options *opt, const char *s)
{
	int level = suffix_int(s, "zstd:", 22);

	opt->compression = strcmp(s, "none") == 0 ? WIDE_COMPRESS_NONE : WIDE_COMPRESS_ZSTD;
	if (level > 0)
		opt->compression_level = (int8_t) level;
	return level > 0 || strcmp(s, "zstd") == 0 || strcmp(s, "none") == 0;
}

static bool
take_compaction(WtFamily *f, const char *s)
{
	if (strcmp(s, "leveled") == 0)
		f->opt.compaction = WIDE_COMPACT_LEVELED;
	else if (strncmp(s, "window:", 7) == 0 && s[7])
	{
		f->opt.compaction = WIDE_COMPACT_WINDOW;
		f->opt.window_us = interval_us(f->name, "compaction", s + 7);
	}
	else
		return false;
	return true;
}

static bool
take_merge(wide_family_options *opt, const char *s)
{
	for (int i = 0; i < (int) lengthof(operators); i++)
		if (strcmp(s, operators[i]) == 0)
			opt->merge = (uint8) (WIDE_MERGE_SUM + i);
	if (strcmp(s, "hll") == 0)
		opt->merge = WIDE_MERGE_HLL;
	if (strcmp(s, "append") == 0)
		opt->merge = WIDE_MERGE_APPEND;
	return opt->merge != WIDE_MERGE_NONE;
}

/* Takes the value of the option that the bit stands for. */
static bool
take_value(WtFamily *f, uint32 option, const JsonbValue *v)
{
	bool is_text = v->type == jbvString;
	const char *s = is_text ? pnstrdup(v->val.string.val, v->val.string.len) : "";
	bool on = v->type == jbvBool && v->val.boolean;
	int n = -1;

	if (v->type == jbvNumeric)
		n = whole_number(DatumGetCString(DirectFunctionCall1(numeric_out,
															 NumericGetDatum(v->val.numeric))),
						 PG_INT32_MAX);

	switch (option)
	{
		case WT_FAM_VERSIONS:
			f->opt.versions = n;
			return n >= 1;
		case WT_FAM_MIN_VERSIONS:
			f->opt.min_versions = n;
			return n >= 0;
		case WT_FAM_TTL:
			f->opt.ttl_us = is_text ? interval_us(f->name, "ttl", s) : 0; /* 0: no limit */
			return is_text || v->type == jbvNull;
		case WT_FAM_KEEP_DELETED:
			f->opt.keep_deleted = on;
			return v->type == jbvBool;
		case WT_FAM_BLOOM:
			return take_bloom(&f->opt, s);
		case WT_FAM_BLOCK_SIZE:
			f->opt.block_size = (uint32_t) n;
			return n >= MIN_BLOCK && n <= MAX_BLOCK;
		case WT_FAM_COMPRESSION:
			return take_compression(&f->opt, s);
		case WT_FAM_IN_MEMORY:
			f->opt.in_memory = on;
			return v->type == jbvBool;
		case WT_FAM_COMPACTION:
			return take_compaction(f, s);
		default:
			return take_merge(&f->opt, s);
	}
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
	if (!take_value(f, 1u << i, v))
		bad_family_value(f->name, name, valid_values[i]);
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
		if (*p == '{' || *p == '[')
			key_next = depth++ == 0;
		else if (*p == '}' || *p == ']')
			depth--;
		else if (*p == ',')
			key_next = depth == 1;
		else if (*p == '"')
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

/* ------------------------------------------------------------ as text */

const char *
wt_family_option_name(uint32 option)
{
	int i = 0;

	while (option >> (i + 1) != 0)
		i++;
	return family_options[i];
}

static char *
seconds_text(int64 us)
{
	if (us % USECS_PER_SEC != 0)
		return psprintf(INT64_FORMAT ".%06d seconds", us / USECS_PER_SEC,
						(int) (us % USECS_PER_SEC));
	return psprintf(INT64_FORMAT " seconds", us / USECS_PER_SEC);
}

const char *
wt_family_option_operator(uint8 merge)
{
	if (merge == WIDE_MERGE_HLL)
		return "hll";
	if (merge == WIDE_MERGE_APPEND)
		return "append";
	if (merge >= WIDE_MERGE_SUM_DOUBLE)
		merge -= WIDE_MERGE_SUM_DOUBLE - WIDE_MERGE_SUM;
	return merge == WIDE_MERGE_NONE ? "none" : operators[merge - WIDE_MERGE_SUM];
}

char *
wt_family_option_text(uint32 option, const wide_family_options *o)
{
	const char *blooms[] = {"none", "row", "rowcol", "prefix"};

	switch (option)
	{
		case WT_FAM_VERSIONS:
			return psprintf("%d", o->versions);
		case WT_FAM_MIN_VERSIONS:
			return psprintf("%d", o->min_versions);
		case WT_FAM_TTL:
			return o->ttl_us > 0 ? psprintf("\"%s\"", seconds_text(o->ttl_us)) : pstrdup("null");
		case WT_FAM_KEEP_DELETED:
			return pstrdup(o->keep_deleted ? "true" : "false");
		case WT_FAM_BLOOM:
			if (o->bloom == WIDE_BLOOM_PREFIX)
				return psprintf("\"prefix:%d\"", o->bloom_prefix);
			return psprintf("\"%s\"", o->bloom < lengthof(blooms) ? blooms[o->bloom] : "?");
		case WT_FAM_BLOCK_SIZE:
			return psprintf("%u", o->block_size);
		case WT_FAM_COMPRESSION:
			if (o->compression == WIDE_COMPRESS_NONE)
				return pstrdup("\"none\"");
			return psprintf("\"zstd:%d\"", o->compression_level);
		case WT_FAM_IN_MEMORY:
			return pstrdup(o->in_memory ? "true" : "false");
		case WT_FAM_COMPACTION:
			if (o->compaction == WIDE_COMPACT_WINDOW)
				return psprintf("\"window:%s\"", seconds_text(o->window_us));
			return pstrdup("\"leveled\"");
		default:
			return psprintf("\"%s\"", wt_family_option_operator(o->merge));
	}
}

char *
wt_family_option_json(const wide_family_options *o)
{
	StringInfoData s;

	initStringInfo(&s);
	/* the last one is the merge operator, which most have not */
	for (int i = 0; i < (int) lengthof(family_options) - (o->merge == WIDE_MERGE_NONE); i++)
		appendStringInfo(&s, "%s\"%s\": %s", i ? ", " : "{", family_options[i],
						 wt_family_option_text(1u << i, o));
	appendStringInfoChar(&s, '}');
	return s.data;
}

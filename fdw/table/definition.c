/*
 * definition.c
 *		What may be said in OPTIONS, and the parsed table.
 *
 * Two lines of checks.  The validator sees the options of one object and
 * nothing else, so it checks names, values and syntax, early and with the
 * valid choices in the hint.  wt_table_parse sees the whole table and checks
 * what needs more than one option or the columns: it runs when the table is
 * made or altered, and again whenever the cached result is out of date, so
 * that a table whose definition went wrong another way (a dropped key column,
 * event triggers switched off) gives an error and never wrong answers.
 */
#include "fdw/widetable.h"

#include "access/reloptions.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "common/int.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#define DEFAULT_FAMILY			"d"
#define DEFAULT_STARTUP_COST	1.0
#define DEFAULT_TUPLE_COST		0.01
#define DEFAULT_BATCH_SIZE		1
#define MIN_BLOCK				1024
#define MAX_BLOCK				(1024 * 1024)

/* ----------------------------------------------------- names and hints */

static const struct
{
	Oid			catalog;
	const char *name;
}			valid_options[] =
{
	{ForeignServerRelationId, "updatable"},
	{ForeignServerRelationId, "truncatable"},
	{ForeignServerRelationId, "batch_size"},
	{ForeignServerRelationId, "fdw_startup_cost"},
	{ForeignServerRelationId, "fdw_tuple_cost"},
	{ForeignTableRelationId, "table_name"},
	{ForeignTableRelationId, "key"},
	{ForeignTableRelationId, "families"},
	{ForeignTableRelationId, "layout"},
	{ForeignTableRelationId, "salt_buckets"},
	{ForeignTableRelationId, "existence"},
	{ForeignTableRelationId, "insert_mode"},
	{ForeignTableRelationId, "on_bad_key"},
	{ForeignTableRelationId, "updatable"},
	{ForeignTableRelationId, "truncatable"},
	{ForeignTableRelationId, "batch_size"},
	{ForeignTableRelationId, "fdw_startup_cost"},
	{ForeignTableRelationId, "fdw_tuple_cost"},
	{AttributeRelationId, "column"},
	{AttributeRelationId, "family"},
	{AttributeRelationId, "prefix"},
	{AttributeRelationId, "encoding"},
	{AttributeRelationId, "timestamp_of"},
	{AttributeRelationId, "delimiter"},
};

static const char *const family_options[] = {
	"versions", "min_versions", "ttl", "keep_deleted", "bloom",
	"block_size", "compression", "in_memory", "compaction"
};

/* "Perhaps ..." first, when one of the names is near enough, then all of them. */
static char *
names_hint(const char *given, const char *const *names, int n)
{
	StringInfoData s;
	int			best = -1;
	int			best_distance = 4;
	int			given_len = strlen(given);

	initStringInfo(&s);
	/* the distance function has a limit on its arguments, and long ones are near nothing */
	for (int i = 0; i < n && given_len < 64; i++)
	{
		int			d = varstr_levenshtein_less_equal(given, given_len, names[i], strlen(names[i]),
													  1, 1, 1, best_distance, true);

		if (d < best_distance && 2 * d <= given_len)
		{
			best = i;
			best_distance = d;
		}
	}
	if (best >= 0)
		appendStringInfo(&s, "Perhaps you meant \"%s\". ", names[best]);
	appendStringInfoString(&s, "Valid names are: ");
	for (int i = 0; i < n; i++)
		appendStringInfo(&s, "%s%s", i ? ", " : "", names[i]);
	appendStringInfoChar(&s, '.');
	return s.data;
}

static const char *
catalog_thing(Oid catalog)
{
	return catalog == ForeignServerRelationId ? "server" :
		catalog == ForeignTableRelationId ? "table" :
		catalog == AttributeRelationId ? "column" :
		catalog == UserMappingRelationId ? "user mapping" : "foreign-data wrapper";
}

static void
check_option_name(Oid catalog, const char *name)
{
	const char *names[lengthof(valid_options)];
	int			n = 0;

	/* ours alone, but ALTER FOREIGN DATA WRAPPER and pg_upgrade show it to the validator */
	if (catalog == ForeignDataWrapperRelationId && strcmp(name, "origin") == 0)
		return;
	for (int i = 0; i < (int) lengthof(valid_options); i++)
	{
		if (valid_options[i].catalog != catalog)
			continue;
		if (strcmp(valid_options[i].name, name) == 0)
			return;
		names[n++] = valid_options[i].name;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("invalid %s option \"%s\"", catalog_thing(catalog), name),
			 n > 0 ? errhint("%s", names_hint(name, names, n))
			 : errhint("There are no valid options in this context.")));
}

static _Noreturn void
bad_value(const char *option, const char *value, const char *valid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
			 errmsg("invalid value \"%s\" for option \"%s\"", value, option),
			 errhint("%s", valid)));
	pg_unreachable();
}

/* ------------------------------------------------------------- pieces */

static int
hex_digit(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	if (ch >= 'A' && ch <= 'F')
		return ch - 'A' + 10;
	return -1;
}

static uint8 *
unescape(const char *s, uint32 *len, bool lenient)
{
	uint8	   *out = palloc(strlen(s) + 1);
	uint32		n = 0;

	for (const char *p = s; *p; p++)
	{
		if (*p != '\\')
			out[n++] = (uint8) *p;
		else if (p[1] == '\\')
		{
			out[n++] = '\\';
			p++;
		}
		else if (p[1] == 'x' && p[2] && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0)
		{
			out[n++] = (uint8) (hex_digit(p[2]) << 4 | hex_digit(p[3]));
			p += 3;
		}
		else if (lenient)
			out[n++] = '\\';
		else
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					 errmsg("invalid escape in \"%s\"", s),
					 errhint("Write \\xHH for a byte and \\\\ for a backslash.")));
	}
	if (n > WIDE_MAX_QUALIFIER)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("qualifier is %u bytes long, the limit is %d", n, WIDE_MAX_QUALIFIER)));
	out[n] = '\0';
	*len = n;
	return out;
}

uint8 *
wt_unescape(const char *s, uint32 *len)
{
	return unescape(s, len, false);
}

uint8 *
wt_unescape_argument(const char *s, uint32 *len)
{
	return unescape(s, len, true);
}

static void
check_family_name(const char *name)
{
	if (name[0] == '\0' || strlen(name) > WIDE_MAX_FAMILY || strchr(name, ':'))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("invalid family name \"%s\"", name),
				 errhint("A family's name has 1 to %d bytes and no colon.", WIDE_MAX_FAMILY)));
}

/* 'family:qualifier' into its two; the first colon counts. */
static void
split_cell(const char *option, const char *value, char **family, uint8 **qual, uint32 *qual_len)
{
	const char *colon = strchr(value, ':');

	if (colon == NULL)
		bad_value(option, value, "Write 'family:qualifier'; the qualifier may be empty.");
	*family = pnstrdup(value, colon - value);
	check_family_name(*family);
	*qual = wt_unescape(colon + 1, qual_len);
}

typedef struct KeyItem
{
	char	   *name;			/* as SQL reads the identifier */
	char	   *raw;			/* as written */
	bool		desc;
} KeyItem;

#define KEY_HINT	"Write column names in order, separated by commas, each may be followed by \"desc\"."

/* option "key": a list of identifiers, quoted where SQL would quote them */
static List *
parse_key(const char *value)
{
	List	   *items = NIL;
	const char *p = value;

	for (;;)
	{
		KeyItem    *item = palloc0(sizeof(KeyItem));
		const char *start;

		while (scanner_isspace(*p))
			p++;
		if (*p == '"')
		{
			StringInfoData s;

			initStringInfo(&s);
			for (p++; *p && !(*p == '"' && p[1] != '"'); p++)
			{
				if (*p == '"')
					p++;
				appendStringInfoChar(&s, *p);
			}
			if (*p++ != '"')
				bad_value("key", value, KEY_HINT);
			item->name = item->raw = s.data;
		}
		else
		{
			for (start = p; *p && *p != ',' && *p != '"' && !scanner_isspace(*p);)
				p++;
			item->raw = pnstrdup(start, p - start);
			item->name = downcase_truncate_identifier(item->raw, p - start, false);
		}
		if (item->name[0] == '\0')
			bad_value("key", value, KEY_HINT);
		while (scanner_isspace(*p))
			p++;
		for (start = p; *p && *p != ',' && !scanner_isspace(*p);)
			p++;
		if (p > start)
		{
			char	   *word = pnstrdup(start, p - start);

			if (pg_strcasecmp(word, "desc") == 0)
				item->desc = true;
			else if (pg_strcasecmp(word, "asc") != 0)
				bad_value("key", value, KEY_HINT);
		}
		while (scanner_isspace(*p))
			p++;
		items = lappend(items, item);
		if (*p == '\0')
			return items;
		if (*p++ != ',')
			bad_value("key", value, KEY_HINT);
	}
}

/* ----------------------------------------------------------- families */

static _Noreturn void
bad_family_value(const char *family, const char *option, const char *valid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
			 errmsg("invalid value for option \"%s\" of family \"%s\"", option, family),
			 errhint("%s", valid)));
	pg_unreachable();
}

/* Input functions say what is wrong with the text; this adds what would be right. */
static void
add_hint(void *arg)
{
	errhint("%s", (const char *) arg);
}

static Datum
input_with_hint(Datum (*input) (FunctionCallInfo), const char *text, const char *hint)
{
	ErrorContextCallback context = {.previous = error_context_stack, .callback = add_hint, .arg = unconstify(char *, hint)};
	Datum		result;

	error_context_stack = &context;
	result = DirectFunctionCall3(input, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	error_context_stack = context.previous;
	return result;
}

bool
wt_interval_us(const Interval *i, int64 *us)
{
	int64		part;

	/* a year is 365.25 days of 24 hours: times four, so that it stays a whole number */
	return !pg_mul_s64_overflow(i->month / MONTHS_PER_YEAR, USECS_PER_DAY / 4 * 1461, us) &&
		!pg_mul_s64_overflow((int64) (i->month % MONTHS_PER_YEAR) * DAYS_PER_MONTH + i->day, USECS_PER_DAY, &part) &&
		!pg_add_s64_overflow(*us, part, us) &&
		!pg_add_s64_overflow(*us, i->time, us) &&
		*us > 0;
}

static int64
interval_us(const char *family, const char *option, const char *text)
{
	const char *hint = psprintf("Option \"%s\" of family \"%s\" takes an interval, for example \"60 days\".", option, family);
	int64		us;

	if (!wt_interval_us(DatumGetIntervalP(input_with_hint(interval_in, text, hint)), &us))
		bad_family_value(family, option, "The interval must be positive and less than 292,000 years.");
	return us;
}

static int64
json_int(const char *family, const char *option, const JsonbValue *v, int64 min, int64 max)
{
	if (v->type == jbvNumeric)
	{
		char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(v->val.numeric)));
		char	   *end;
		int64		n;

		errno = 0;
		n = strtoll(text, &end, 10);
		if (errno == 0 && *end == '\0' && n >= min && n <= max)
			return n;
	}
	bad_family_value(family, option, psprintf("Write a whole number from " INT64_FORMAT " to " INT64_FORMAT ".",
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

/* "prefix:7" -> 7 when the word and the range are right, else -1 */
static int
suffix_int(const char *s, const char *word, int min, int max)
{
	size_t		n = strlen(word);
	char	   *end;
	long		v;

	if (strncmp(s, word, n) != 0 || s[n] < '0' || s[n] > '9')
		return -1;
	v = strtol(s + n, &end, 10);
	return *end == '\0' && v >= min && v <= max ? (int) v : -1;
}

static void
family_bloom(WtFamily *f, const JsonbValue *v)
{
	const char *valid = "Valid values are: \"row\", \"rowcol\", \"none\", \"prefix:N\" with N bytes from 1 to 32767.";
	char	   *s = json_string(f->name, "bloom", v, valid);
	int			n;

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
	const char *valid = "Valid values are: \"zstd\", \"zstd:LEVEL\" with a level from 1 to 22, \"none\".";
	char	   *s = json_string(f->name, "compression", v, valid);
	int			level;

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
	const char *valid = "Valid values are: \"leveled\", \"window:INTERVAL\", for example \"window:1 day\".";
	char	   *s = json_string(f->name, "compaction", v, valid);

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

static void
family_option(WtFamily *f, const char *name, const JsonbValue *v)
{
	uint32		bit;

	if (strcmp(name, "versions") == 0)
	{
		bit = WT_FAM_VERSIONS;
		f->opt.versions = (int32_t) json_int(f->name, name, v, 1, PG_INT32_MAX);
	}
	else if (strcmp(name, "min_versions") == 0)
	{
		bit = WT_FAM_MIN_VERSIONS;
		f->opt.min_versions = (int32_t) json_int(f->name, name, v, 0, PG_INT32_MAX);
	}
	else if (strcmp(name, "ttl") == 0)
	{
		bit = WT_FAM_TTL;
		f->opt.ttl_us = v->type == jbvNull ? 0 :
			interval_us(f->name, name, json_string(f->name, name, v,
												   "Write an interval, for example \"60 days\", or null for no limit."));
	}
	else if (strcmp(name, "keep_deleted") == 0)
	{
		bit = WT_FAM_KEEP_DELETED;
		f->opt.keep_deleted = json_bool(f->name, name, v);
	}
	else if (strcmp(name, "bloom") == 0)
	{
		bit = WT_FAM_BLOOM;
		family_bloom(f, v);
	}
	else if (strcmp(name, "block_size") == 0)
	{
		bit = WT_FAM_BLOCK_SIZE;
		f->opt.block_size = (uint32_t) json_int(f->name, name, v, MIN_BLOCK, MAX_BLOCK);
	}
	else if (strcmp(name, "compression") == 0)
	{
		bit = WT_FAM_COMPRESSION;
		family_compression(f, v);
	}
	else if (strcmp(name, "in_memory") == 0)
	{
		bit = WT_FAM_IN_MEMORY;
		f->opt.in_memory = json_bool(f->name, name, v);
	}
	else if (strcmp(name, "compaction") == 0)
	{
		bit = WT_FAM_COMPACTION;
		family_compaction(f, v);
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("invalid option \"%s\" of family \"%s\"", name, f->name),
				 errhint("%s", names_hint(name, family_options, lengthof(family_options)))));
	f->stated |= bit;
}

#define FAMILIES_HINT	"Option \"families\" takes a JSON object, for example {\"f\": {\"versions\": 3}}."

static Jsonb *
parse_json(const char *text)
{
	return DatumGetJsonbP(input_with_hint(jsonb_in, text, FAMILIES_HINT));
}

/*
 * The keys of a JSON object in the order of the text, which jsonb does not
 * keep.  The text has passed jsonb_in, so finding them takes no more than
 * counting brackets.  Each key is unescaped by reading it as a JSON string.
 * (The JSON parser's callbacks were the other way; their signatures change
 * with every second release.)
 */
static List *
json_keys_in_order(const char *text)
{
	List	   *keys = NIL;
	int			depth = 0;
	bool		key_next = false;

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
						Jsonb	   *j = parse_json(psprintf("[%.*s]", (int) (p + 1 - start), start));
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

/* option "families": a list of WtFamily in the order of the text */
static List *
parse_families(const char *text)
{
	Jsonb	   *j = parse_json(text);
	List	   *families = NIL;
	ListCell   *lc,
			   *lc2;

	if (!JB_ROOT_IS_OBJECT(j) || JB_ROOT_IS_SCALAR(j))
		bad_value("families", text, FAMILIES_HINT);
	foreach(lc, json_keys_in_order(text))
	{
		WtFamily   *f = palloc0(sizeof(WtFamily));
		JsonbValue	v;
		JsonbIterator *it;
		JsonbValue	item;
		JsonbIteratorToken token;
		char	   *name = NULL;

		f->name = lfirst(lc);
		check_family_name(f->name);
		foreach(lc2, families)
			if (strcmp(((WtFamily *) lfirst(lc2))->name, f->name) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
						 errmsg("family \"%s\" is given twice in option \"families\"", f->name)));
		families = lappend(families, f);
		wide_family_defaults(&f->opt);
		(void) getKeyJsonValueFromContainer(&j->root, f->name, strlen(f->name), &v);
		if (v.type == jbvNull)
		{
			f->dropped = true;
			continue;
		}
		if (v.type != jbvBinary || !JsonContainerIsObject(v.val.binary.data))
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					 errmsg("invalid value for family \"%s\" in option \"families\"", f->name),
					 errhint("Write an object with the family's options, {} for the defaults, or null to drop the family and its data.")));
		it = JsonbIteratorInit(v.val.binary.data);
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
	return families;
}

/* ---------------------------------------------------------- validator */

static bool
choice(DefElem *def, const char *yes, const char *no)
{
	char	   *value = defGetString(def);

	if (strcmp(value, yes) == 0)
		return true;
	if (strcmp(value, no) != 0)
		bad_value(def->defname, value, psprintf("Valid values are: %s, %s.", no, yes));
	return false;
}

static int
int_option(DefElem *def, int min, int max)
{
	char	   *value = defGetString(def);
	int			n;

	if (!parse_int(value, &n, 0, NULL) || n < min || n > max)
		bad_value(def->defname, value, psprintf("Write a whole number from %d to %d.", min, max));
	return n;
}

static double
cost_option(DefElem *def)
{
	char	   *value = defGetString(def);
	double		v;

	if (!parse_real(value, &v, 0, NULL) || !(v >= 0))
		bad_value(def->defname, value, "Write a number that is not negative.");
	return v;
}

static bool
bool_option(DefElem *def)
{
	char	   *value = defGetString(def);
	bool		result;

	if (!parse_bool(value, &result))
		bad_value(def->defname, value, "Valid values are: true, false.");
	return result;
}

static char
delimiter_option(DefElem *def)
{
	char	   *value = defGetString(def);

	/* a byte that an option cannot hold, and that no text contains: how Phoenix ends its parts */
	if (strcmp(value, "\\x00") == 0)
		return '\0';
	if (value[0] == '\0' || value[1] != '\0' || IS_HIGHBIT_SET(value[0]))
		bad_value(def->defname, value, "Write one ASCII character, or \\x00 for the byte zero.");
	return value[0];
}

static WtEncoding
encoding_option(DefElem *def)
{
	char	   *value = defGetString(def);
	int			e = wt_encoding_by_name(value);

	if (e < 0)
	{
		const char *names[WT_ENC_COUNTER + 1];

		for (int i = 0; i <= WT_ENC_COUNTER; i++)
			names[i] = wt_encoding_name(i);
		bad_value(def->defname, value, names_hint(value, names, lengthof(names)));
	}
	return (WtEncoding) e;
}

/*
 * One table or server option into t; families go to *families.  The validator
 * calls it with a t that is thrown away: one place knows what is valid.
 */
static void
table_option(WtTable *t, DefElem *def, List **key, List **families)
{
	const char *name = def->defname;

	if (strcmp(name, "table_name") == 0)
	{
		char	   *value = defGetString(def);

		if (value[0] == '\0' || strlen(value) > WIDE_MAX_NAME)
			bad_value(name, value, psprintf("A table's name has 1 to %d bytes.", WIDE_MAX_NAME));
		t->table_name = pstrdup(value);
		t->name_given = true;
	}
	else if (strcmp(name, "key") == 0)
		*key = parse_key(defGetString(def));
	else if (strcmp(name, "families") == 0)
		*families = parse_families(defGetString(def));
	else if (strcmp(name, "layout") == 0)
		t->cells_layout = choice(def, "cells", "rows");
	else if (strcmp(name, "salt_buckets") == 0)
		t->salt_buckets = int_option(def, 2, 256);
	else if (strcmp(name, "existence") == 0)
		t->existence_projected = choice(def, "projected", "any");
	else if (strcmp(name, "insert_mode") == 0)
		t->insert_error = choice(def, "error", "upsert");
	else if (strcmp(name, "on_bad_key") == 0)
		t->bad_key_skip = choice(def, "skip", "error");
	else if (strcmp(name, "updatable") == 0)
		t->updatable = bool_option(def);
	else if (strcmp(name, "truncatable") == 0)
		t->truncatable = bool_option(def);
	else if (strcmp(name, "batch_size") == 0)
		t->batch_size = int_option(def, 1, PG_INT32_MAX);
	else if (strcmp(name, "fdw_startup_cost") == 0)
		t->startup_cost = cost_option(def);
	else if (strcmp(name, "fdw_tuple_cost") == 0)
		t->tuple_cost = cost_option(def);
}

static void
check_column_option(DefElem *def)
{
	const char *name = def->defname;
	char	   *family;
	uint8	   *qual;
	uint32		len;

	if (strcmp(name, "column") == 0)
		split_cell(name, defGetString(def), &family, &qual, &len);
	else if (strcmp(name, "timestamp_of") == 0)
	{
		/* the SQL column's name will do too */
		if (strchr(defGetString(def), ':'))
			split_cell(name, defGetString(def), &family, &qual, &len);
	}
	else if (strcmp(name, "family") == 0)
		check_family_name(defGetString(def));
	else if (strcmp(name, "prefix") == 0)
		(void) wt_unescape(defGetString(def), &len);
	else if (strcmp(name, "encoding") == 0)
		(void) encoding_option(def);
	else if (strcmp(name, "delimiter") == 0)
		(void) delimiter_option(def);
}

PG_FUNCTION_INFO_V1(wt_validator);
Datum
wt_validator(PG_FUNCTION_ARGS)
{
	List	   *options = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid			catalog = PG_GETARG_OID(1);
	WtTable		scratch = {0};
	List	   *key = NIL;
	List	   *families = NIL;
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *def = lfirst(lc);

		check_option_name(catalog, def->defname);
		if (catalog == AttributeRelationId)
			check_column_option(def);
		else
			table_option(&scratch, def, &key, &families);
	}
	PG_RETURN_VOID();
}

/* ---------------------------------------------------- the whole table */

/* What the options of a column say, before families have numbers. */
typedef struct ColumnSpec
{
	char	   *column;
	char	   *family;
	char	   *prefix;
	char	   *timestamp_of;
	bool		encoding_given;
	char	   *family_name;	/* the family it ends up in, or NULL */
} ColumnSpec;

static int
find_column(WtTable *t, const char *name)
{
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role != WT_DROPPED && strcmp(t->columns[i].name, name) == 0)
			return i;
	return -1;
}

static void
read_columns(WtTable *t, const WtDefinition *source, ColumnSpec *specs)
{
	TupleDesc	desc = source->desc;

	t->natts = desc->natts;
	t->columns = palloc0(Max(t->natts, 1) * sizeof(WtColumn));
	for (int i = 0; i < t->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);
		WtColumn   *c = &t->columns[i];
		ListCell   *lc;

		c->attno = i + 1;
		c->name = pstrdup(NameStr(a->attname));
		c->role = a->attisdropped ? WT_DROPPED : WT_CELL;
		c->family = -1;
		c->part = -1;
		c->timestamp_of = -1;
		if (a->attisdropped)
			continue;
		c->typmod = a->atttypmod;
		c->typid = getBaseTypeAndTypmod(a->atttypid, &c->typmod);
		c->domain = c->typid != a->atttypid ? a->atttypid : InvalidOid;
		c->collation = a->attcollation;
		c->not_null = a->attnotnull;
		foreach(lc, source->column_options[i])
		{
			DefElem    *def = lfirst(lc);

			if (strcmp(def->defname, "column") == 0)
				specs[i].column = defGetString(def);
			else if (strcmp(def->defname, "family") == 0)
				specs[i].family = defGetString(def);
			else if (strcmp(def->defname, "prefix") == 0)
				specs[i].prefix = defGetString(def);
			else if (strcmp(def->defname, "timestamp_of") == 0)
				specs[i].timestamp_of = defGetString(def);
			else if (strcmp(def->defname, "delimiter") == 0)
			{
				c->delimited = true;
				c->delimiter = delimiter_option(def);
			}
			else if (strcmp(def->defname, "encoding") == 0)
			{
				c->enc = encoding_option(def);
				specs[i].encoding_given = true;
			}
		}
	}
}

static _Noreturn void
column_option_error(const WtColumn *c, const char *option, const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("option \"%s\" is not allowed for column \"%s\"", option, c->name),
			 errdetail("%s", why)));
	pg_unreachable();
}

static void
check_key_column(WtTable *t, WtColumn *c, ColumnSpec *spec)
{
	bool		digest;

	if (spec->family)
		column_option_error(c, "family", "The column is part of the key.");
	if (spec->prefix)
		column_option_error(c, "prefix", "The column is part of the key.");
	if (spec->timestamp_of)
		column_option_error(c, "timestamp_of", "The column is part of the key.");
	if (!spec->encoding_given)
		c->enc = wt_default_encoding(c->typid, true);
	wt_check_encoding(c, true);
	if (OidIsValid(c->collation) && !get_collation_isdeterministic(c->collation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("key column \"%s\" must not have a nondeterministic collation", c->name),
				 errdetail("Row keys are equal when their bytes are."),
				 errhint("Use COLLATE \"C\".")));
	digest = c->enc == WT_ENC_MD5 || c->enc == WT_ENC_SHA1;
	if (digest && !spec->column)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("key column \"%s\" with encoding \"%s\" needs option \"column\"", c->name, wt_encoding_name(c->enc)),
				 errhint("Name the cell that holds the original: column 'family:qualifier'.")));
	if (digest && t->cells_layout)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("key column \"%s\" must not have encoding \"%s\" in layout \"cells\"", c->name, wt_encoding_name(c->enc)),
				 errhint("Declare the column as bytea: it shows the digest.")));
	if (!digest && spec->column)
		column_option_error(c, "column", "The column is part of the key, and its encoding is not md5 or sha1.");
	if (c->delimited && (digest || (c->typid != TEXTOID && c->typid != VARCHAROID && c->typid != NAMEOID)))
		column_option_error(c, "delimiter", "A delimiter is for key columns of type text whose text is in the key.");

	/*
	 * 2^63-1 - x is, byte for byte, the ordered form of a descending part.
	 * Saying it that way gives the planner its order for free.
	 */
	if (c->enc == WT_ENC_REVERSE)
	{
		c->enc = WT_ENC_ORDERED;
		c->desc = !c->desc;
	}
	c->fixed_len = wt_encoded_length(c->typid, c->enc);
}

static void
resolve_key(WtTable *t, List *items, ColumnSpec *specs)
{
	ListCell   *lc;

	if (items == NIL)
	{
		for (int i = 0; i < t->natts && items == NIL; i++)
			if (t->columns[i].role != WT_DROPPED)
			{
				KeyItem    *item = palloc0(sizeof(KeyItem));

				item->name = item->raw = t->columns[i].name;
				items = list_make1(item);
			}
		if (items == NIL)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_ERROR),
					 errmsg("a wide table needs at least a key column")));
	}
	t->keys = palloc(list_length(items) * sizeof(int));
	foreach(lc, items)
	{
		KeyItem    *item = lfirst(lc);
		int			i = find_column(t, item->name);
		WtColumn   *c;

		if (i < 0)
			i = find_column(t, item->raw);
		if (i < 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("key column \"%s\" does not exist", item->name),
					 errhint("Option \"key\" lists columns of the foreign table.")));
		c = &t->columns[i];
		if (c->role == WT_KEY)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("column \"%s\" appears twice in option \"key\"", c->name)));
		c->role = WT_KEY;
		c->desc = c->stated_desc = item->desc;
		c->part = t->nkeys;
		c->last = lnext(items, lc) == NULL;
		check_key_column(t, c, &specs[i]);
		t->keys[t->nkeys++] = i;
	}
}

static _Noreturn void
column_type_error(const WtColumn *c, const char *role, const char *types)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of type %s cannot be %s", c->name, format_type_be(c->typid), role),
			 errhint("It must have type %s.", types)));
	pg_unreachable();
}

/* Roles of the columns that are not in the key, layout "rows". */
static void
resolve_value_column(WtTable *t, WtColumn *c, ColumnSpec *spec)
{
	if (c->delimited)
		column_option_error(c, "delimiter", "The column is not part of the key.");
	if (spec->prefix && !spec->family)
		column_option_error(c, "prefix", "It restricts a column with option \"family\".");
	if ((spec->column != NULL) + (spec->family != NULL) + (spec->timestamp_of != NULL) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("column \"%s\" must have only one of the options \"column\", \"family\" and \"timestamp_of\"", c->name)));
	if (spec->family)
	{
		c->role = WT_MAP;
		if (c->typid != JSONBOID)
			column_type_error(c, "the map of a family", "jsonb");
		if (spec->encoding_given && c->enc != WT_ENC_TEXT)
			column_option_error(c, "encoding", "The values of a map are text.");
		c->enc = WT_ENC_TEXT;
		spec->family_name = spec->family;
		c->qual = wt_unescape(spec->prefix ? spec->prefix : "", &c->qual_len);
		return;
	}
	if (spec->timestamp_of)
	{
		c->role = WT_TIMESTAMP_OF;
		if (c->typid != TIMESTAMPTZOID && c->typid != INT8OID)
			column_type_error(c, "a cell's timestamp", "timestamptz or bigint");
		if (spec->encoding_given)
			column_option_error(c, "encoding", "A timestamp is not a value.");
		return;
	}
	if (spec->column)
		split_cell("column", spec->column, &spec->family_name, &c->qual, &c->qual_len);
	else
	{
		/* the name as it is: a backslash in it is a backslash */
		c->qual = (uint8 *) pstrdup(c->name);
		c->qual_len = strlen(c->name);
		c->by_name = true;
	}
	if (!spec->encoding_given)
		c->enc = wt_default_encoding(c->typid, false);
	wt_check_encoding(c, false);
}

static void
resolve_cells_column(WtTable *t, WtColumn *c, ColumnSpec *spec)
{
	bool		is_text = c->typid == TEXTOID || c->typid == VARCHAROID;

	for (int i = 0; i < 3; i++)
	{
		const char *given = i == 0 ? spec->column : i == 1 ? spec->family : spec->timestamp_of;

		if (given)
			column_option_error(c, i == 0 ? "column" : i == 1 ? "family" : "timestamp_of",
								"In layout \"cells\" the columns are found by their names.");
	}
	if (spec->prefix)
		column_option_error(c, "prefix", "In layout \"cells\" the columns are found by their names.");
	if (c->delimited)
		column_option_error(c, "delimiter", "The column is not part of the key.");
	if (strcmp(c->name, "value") == 0)
	{
		c->role = WT_CELL_VALUE;
		if (!spec->encoding_given)
			c->enc = wt_default_encoding(c->typid, false);
		wt_check_encoding(c, false);
		return;
	}
	if (spec->encoding_given)
		column_option_error(c, "encoding", "The column holds no value.");
	c->enc = WT_ENC_TEXT;
	if (strcmp(c->name, "family") == 0)
	{
		c->role = WT_CELL_FAMILY;
		if (!is_text)
			column_type_error(c, "the cell's family", "text");
	}
	else if (strcmp(c->name, "qualifier") == 0)
	{
		c->role = WT_CELL_QUALIFIER;
		if (c->typid == BYTEAOID)
			c->enc = WT_ENC_BYTES;
		else if (!is_text)
			column_type_error(c, "the cell's qualifier", "text or bytea");
	}
	else if (strcmp(c->name, "ts") == 0)
	{
		c->role = WT_CELL_TS;
		if (c->typid != TIMESTAMPTZOID && c->typid != INT8OID)
			column_type_error(c, "the cell's timestamp", "timestamptz or bigint");
	}
	else if (strcmp(c->name, "version") == 0 || strcmp(c->name, "cell_no") == 0)
	{
		c->role = c->name[0] == 'v' ? WT_CELL_VERSION : WT_CELL_NO;
		if (c->typid != INT4OID)
			column_type_error(c, c->role == WT_CELL_NO ? "the cell's number" : "the cell's version", "integer");
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_COLUMN_NAME),
				 errmsg("column \"%s\" has no meaning in layout \"cells\"", c->name),
				 errhint("Besides the key columns there may be: family, qualifier, ts, value, version, cell_no.")));
}

int
wt_family_index(WtTable *t, const char *name)
{
	for (int i = 0; i < t->nfamilies; i++)
		if (strcmp(t->families[i].name, name) == 0)
			return i;
	return -1;
}

static void
add_family(WtTable *t, const WtFamily *f)
{
	if (t->nfamilies >= WT_MAX_FAMILIES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a table has at most %d families", WT_MAX_FAMILIES)));
	t->families[t->nfamilies++] = *f;
}

static int
family_named(WtTable *t, const WtColumn *c, const char *name)
{
	WtFamily	f = {.name = pstrdup(name), .implicit = true};
	int			i = wt_family_index(t, name);

	if (i >= 0)
		return i;
	for (i = 0; i < t->ndropped; i++)
		if (strcmp(t->dropped[i], name) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					 c ? errmsg("column \"%s\" uses family \"%s\", which option \"families\" drops", c->name, name)
					 : errmsg("family \"%s\" is needed and option \"families\" drops it", name)));
	wide_family_defaults(&f.opt);
	add_family(t, &f);
	return t->nfamilies - 1;
}

/*
 * Numbers for the families.  Number 0 is the first of option "families"; when
 * that names none it is d, if any column is left to the first family, else the
 * first that a column names.
 */
static void
resolve_families(WtTable *t, List *stated, ColumnSpec *specs)
{
	ListCell   *lc;

	t->families = palloc0(WT_MAX_FAMILIES * sizeof(WtFamily));
	t->dropped = palloc0((list_length(stated) + 1) * sizeof(char *));
	foreach(lc, stated)
	{
		WtFamily   *f = lfirst(lc);

		if (f->dropped)
			t->dropped[t->ndropped++] = f->name;
		else
			add_family(t, f);
	}
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn   *c = &t->columns[i];

		if (c->role == WT_CELL && specs[i].family_name == NULL && t->nfamilies == 0)
			(void) family_named(t, c, DEFAULT_FAMILY);
	}
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn   *c = &t->columns[i];

		if (specs[i].family_name)
			c->family = family_named(t, c, specs[i].family_name);
		else if (c->role == WT_CELL)
			c->family = 0;
	}
	if (t->nfamilies == 0)
		(void) family_named(t, NULL, DEFAULT_FAMILY);
}

/* After the cells have families: timestamp_of may name a cell or a SQL column. */
static void
resolve_timestamp(WtTable *t, WtColumn *c, const char *of)
{
	int			i = find_column(t, of);

	if (i >= 0 && t->columns[i].role == WT_CELL)
	{
		c->timestamp_of = i;
		c->family = t->columns[i].family;
		c->qual = t->columns[i].qual;
		c->qual_len = t->columns[i].qual_len;
	}
	else
	{
		char	   *family;

		split_cell("timestamp_of", of, &family, &c->qual, &c->qual_len);
		c->family = family_named(t, c, family);
	}
}

/* Does the column own a cell, or all cells with a prefix, that nobody else may own? */
static bool
same_place(const WtColumn *a, const WtColumn *b)
{
	WtRole		ra = a->role == WT_KEY ? WT_CELL : a->role;
	WtRole		rb = b->role == WT_KEY ? WT_CELL : b->role;

	return ra == rb && (ra == WT_CELL || ra == WT_MAP || ra == WT_TIMESTAMP_OF) &&
		a->family >= 0 && a->family == b->family && a->qual_len == b->qual_len &&
		memcmp(a->qual, b->qual, a->qual_len) == 0;
}

static void
check_places(WtTable *t)
{
	for (int i = 0; i < t->natts; i++)
		for (int k = i + 1; k < t->natts; k++)
		{
			WtColumn   *a = &t->columns[i];
			WtColumn   *b = &t->columns[k];

			if (same_place(a, b))
				ereport(ERROR,
						(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
						 errmsg("columns \"%s\" and \"%s\" map the same %s of family \"%s\"", a->name, b->name,
								a->role == WT_MAP ? "qualifiers" : a->role == WT_TIMESTAMP_OF ? "timestamp" : "cell",
								t->families[a->family].name)));
		}
}

WtTable *
wt_definition_parse(const WtDefinition *def)
{
	static uint64 serial = 0;
	WtTable    *t = palloc0(sizeof(WtTable));
	ColumnSpec *specs = palloc0(Max(def->desc->natts, 1) * sizeof(ColumnSpec));
	List	   *key = NIL;
	List	   *families = NIL;
	ListCell   *lc;

	t->serial = ++serial;
	t->relid = def->relid;
	t->updatable = true;
	t->truncatable = true;
	t->batch_size = DEFAULT_BATCH_SIZE;
	t->startup_cost = DEFAULT_STARTUP_COST;
	t->tuple_cost = DEFAULT_TUPLE_COST;
	foreach(lc, def->server_options)
		table_option(t, lfirst(lc), &key, &families);
	foreach(lc, def->options)
		table_option(t, lfirst(lc), &key, &families);
	if (!t->name_given)
		t->table_name = psprintf("%s.%s", def->schema, def->name);
	t->key_given = key != NIL;

	read_columns(t, def, specs);
	resolve_key(t, key, specs);
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn   *c = &t->columns[i];

		if (c->role == WT_DROPPED)
			continue;
		if (c->role == WT_KEY)
		{
			if (specs[i].column)
				split_cell("column", specs[i].column, &specs[i].family_name, &c->qual, &c->qual_len);
		}
		else if (t->cells_layout)
			resolve_cells_column(t, c, &specs[i]);
		else
			resolve_value_column(t, c, &specs[i]);
	}
	resolve_families(t, families, specs);
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role == WT_TIMESTAMP_OF)
			resolve_timestamp(t, &t->columns[i], specs[i].timestamp_of);
	check_places(t);
	return t;
}

/* ------------------------------------------------------------- lookup */

WtColumn *
wt_column_by_name(WtTable *t, const char *name)
{
	int			i = find_column(t, name);

	return i < 0 ? NULL : &t->columns[i];
}

void
wt_resolve_col(WtTable *t, const char *col, int *family, uint8 **qual, uint32 *qual_len, WtColumn **column)
{
	WtColumn   *c = wt_column_by_name(t, col);
	const char *colon = strchr(col, ':');

	*column = NULL;
	if (c && (c->role == WT_CELL || colon == NULL))
	{
		if (c->role != WT_CELL)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("column \"%s\" of \"%s\" does not map a single cell", col, get_rel_name(t->relid)),
					 errhint("Name the cell as 'family:qualifier'.")));
		*family = c->family;
		*qual = c->qual;
		*qual_len = c->qual_len;
		*column = c;
		return;
	}
	if (colon == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of \"%s\" does not exist", col, get_rel_name(t->relid)),
				 errhint("Give the name of a column of the foreign table or 'family:qualifier'.")));
	*family = wt_family_index(t, pnstrdup(col, colon - col));
	if (*family < 0)
	{
		StringInfoData list;

		initStringInfo(&list);
		for (int i = 0; i < t->nfamilies; i++)
			appendStringInfo(&list, "%s%s", i ? ", " : "", t->families[i].name);
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("family \"%.*s\" of \"%s\" does not exist", (int) (colon - col), col, get_rel_name(t->relid)),
				 errhint("The families are: %s.", list.data)));
	}
	*qual = wt_unescape_argument(colon + 1, qual_len);
	for (int i = 0; i < t->natts; i++)
	{
		c = &t->columns[i];
		if (c->role == WT_CELL && c->family == *family && c->qual_len == *qual_len &&
			memcmp(c->qual, *qual, *qual_len) == 0)
			*column = c;
	}
}

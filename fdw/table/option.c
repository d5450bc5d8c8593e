/*
 * option.c
 *		Options: which there are, hints about wrong ones, and values with a syntax of their own.
 */
#include "postgres.h"

#include "fdw/table/option.h"

#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_user_mapping.h"
#include "lib/stringinfo.h"
#include "parser/scansup.h"
#include "utils/varlena.h"

#include "engine/wide.h"
#include "fdw/table/bytes_text.h"

static const char *const table_options[] = {
	"table_name",  "key",		  "families",		  "layout",			"salt_buckets",
	"existence",   "insert_mode", "marker",			  "on_bad_key",		"updatable",
	"truncatable", "batch_size",  "fdw_startup_cost", "fdw_tuple_cost", "split_at",
	"versions",	   "index_of",	  "unique",			  "immutable",		"rollup_of",
	"timezone",	   "build",		  "progress",		  "failed",			"follow_ttl",
	"cell_ttl"};

/* Defaults for the server's tables; which engine stores them, and where it is. */
static const char *const server_options[] = {
	"updatable",		"truncatable", "batch_size",   "fdw_startup_cost", "fdw_tuple_cost",
	"engine",			"nodes",	   "namespace",	   "timeout",		   "fetch_rows",
	"atomic_functions", "fetch_bytes", "write_buffer", "authentication",   "kerberos_service",
	"rpc_protection"};

static const char *const user_options[] = {"user", "keytab", "credential_cache", "principal",
										   "server_credentials"};

const char *const wt_option_column_names[] = {
	"column",		"family",	"prefix",	 "timestamp_of", "encoding", "delimiter",
	"qualifier_of", "value_of", "column_of", "expr",		 "aggregate"};

char *
wt_option_names_hint(const char *given, const char *const *names, int n)
{
	StringInfoData s;
	int best = -1;
	int best_distance = 4;
	int given_len = strlen(given);

	initStringInfo(&s);
	/* varstr_levenshtein limits the length of its arguments; long names are like no option */
	for (int i = 0; i < n && given_len < 64; i++)
	{
		int d = varstr_levenshtein_less_equal(given, given_len, names[i], strlen(names[i]), 1, 1, 1,
											  best_distance, true);

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

void
wt_option_check_name(Oid catalog, const char *name)
{
	const char *thing = "foreign-data wrapper";
	const char *const *names = NULL;
	int n = 0;

	/* internal, but ALTER FOREIGN DATA WRAPPER and pg_upgrade pass it to the validator */
	if (catalog == ForeignDataWrapperRelationId && strcmp(name, "origin") == 0)
		return;
	if (catalog == AttributeRelationId)
	{
		thing = "column";
		names = wt_option_column_names;
		n = WT_COLUMN_OPTIONS;
	}
	else if (catalog == ForeignTableRelationId)
	{
		thing = "table";
		names = table_options;
		n = lengthof(table_options);
	}
	else if (catalog == ForeignServerRelationId)
	{
		thing = "server";
		names = server_options;
		n = lengthof(server_options);
	}
	else if (catalog == UserMappingRelationId)
	{
		thing = "user mapping";
		names = user_options;
		n = lengthof(user_options);
	}
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return;
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("invalid %s option \"%s\"", thing, name),
			 n > 0 ? errhint("%s", wt_option_names_hint(name, names, n))
			 : errhint("There are no valid options in this context.")));
}

_Noreturn void
wt_option_bad_value(const char *option, const char *value, const char *valid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
			 errmsg("invalid value \"%s\" for option \"%s\"", value, option),
			 errhint("%s", valid)));
}

void
wt_option_check_family_name(const char *name)
{
	if (name[0] == '\0' || strlen(name) > WIDE_MAX_FAMILY || strchr(name, ':'))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("invalid family name \"%s\"", name),
				 errhint("A family's name has 1 to %d bytes and no colon.", WIDE_MAX_FAMILY)));
}

char *
wt_option_split_cell(const char *option, const char *value, uint8 **qual, uint32 *qual_len)
{
	const char *colon = strchr(value, ':');
	char *family;

	if (colon == NULL)
		wt_option_bad_value(option, value, "Write 'family:qualifier'; the qualifier may be empty.");
	family = pnstrdup(value, colon - value);
	wt_option_check_family_name(family);
	*qual = wt_bytes_text_unescape(colon + 1, false, qual_len);
	return family;
}

#define BLANKS " \t\n\r\f\v"

List *
wt_option_parse_key(const char *value)
{
	List *items = NIL;
	const char *p = value;

	for (;;)
	{
		WtKeyItem *item = palloc0(sizeof(WtKeyItem));
		bool ok = true;
		size_t n;

		p += strspn(p, BLANKS);
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
			ok = *p == '"';
			p += ok;
			item->name = item->raw = s.data;
		}
		else
		{
			n = strcspn(p, ",\"" BLANKS);
			item->raw = pnstrdup(p, n);
			item->name = downcase_truncate_identifier(item->raw, (int) n, false);
			p += n;
		}
		p += strspn(p, BLANKS);
		n = strcspn(p, "," BLANKS);
		item->desc = n == 4 && pg_strncasecmp(p, "desc", n) == 0;
		ok &= n == 0 || item->desc || (n == 3 && pg_strncasecmp(p, "asc", n) == 0);
		p += n;
		p += strspn(p, BLANKS);
		if (!ok || item->name[0] == '\0' || (*p != '\0' && *p != ','))
			wt_option_bad_value("key", value,
								"Write column names in order, separated by commas, each may be "
								"followed by \"desc\".");
		items = lappend(items, item);
		if (*p++ == '\0')
			return items;
	}
}

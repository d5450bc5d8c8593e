/*
 * table_option.c
 *		Options of servers, tables and columns, each checked by itself; the validator.
 */
#include "postgres.h"

#include "fdw/table/table_option.h"

#include "access/reloptions.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "engine/wide.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/encoding.h"
#include "fdw/table/engine.h"
#include "fdw/table/family_option.h"
#include "fdw/table/option.h"
#include "fdw/table/split_option.h"
#include "fdw/table/types.h"

/* Returns true for the value yes, false for no. */
static bool
choice(DefElem *def, const char *yes, const char *no)
{
	char *value = defGetString(def);

	if (strcmp(value, yes) == 0)
		return true;
	if (strcmp(value, no) != 0)
		wt_option_bad_value(def->defname, value, psprintf("Valid values are: %s, %s.", no, yes));
	return false;
}

static int
int_option(DefElem *def, int min, int max)
{
	char *value = defGetString(def);
	int n;

	if (!parse_int(value, &n, 0, NULL) || n < min || n > max)
		wt_option_bad_value(def->defname, value,
							psprintf("Write a whole number from %d to %d.", min, max));
	return n;
}

static double
cost_option(DefElem *def)
{
	char *value = defGetString(def);
	double v;

	if (!parse_real(value, &v, 0, NULL) || !(v >= 0))
		wt_option_bad_value(def->defname, value, "Write a number that is not negative.");
	return v;
}

static bool
bool_option(DefElem *def)
{
	char *value = defGetString(def);
	bool result;

	if (!parse_bool(value, &result))
		wt_option_bad_value(def->defname, value, "Valid values are: true, false.");
	return result;
}

char
wt_table_option_delimiter(const char *value)
{
	/* an option cannot hold this byte; Phoenix ends its parts with it */
	if (strcmp(value, "\\x00") == 0)
		return '\0';
	if (value[0] == '\0' || value[1] != '\0' || IS_HIGHBIT_SET(value[0]))
		wt_option_bad_value("delimiter", value,
							"Write one ASCII character, or \\x00 for the byte zero.");
	return value[0];
}

WtEncoding
wt_table_option_encoding(const char *value)
{
	int e = wt_encoding_by_name(value);

	if (e < 0)
	{
		const char *names[WT_ENC_HLL + 1];

		for (int i = 0; i <= WT_ENC_HLL; i++)
			names[i] = wt_encoding_name(i);
		wt_option_bad_value("encoding", value, wt_option_names_hint(value, names, lengthof(names)));
	}
	return (WtEncoding) e;
}

const struct WtEngine *
wt_table_option_engine(const char *value)
{
	const WtEngine *engine = wt_engine_by_name(value);

	if (engine == NULL && strcmp(value, "embedded") != 0)
		wt_option_bad_value("engine", value,
							psprintf("This library was built with the engines: %s.",
									 wt_engine_names()));
	return engine;
}

static int
milliseconds_option(DefElem *def)
{
	char *value = defGetString(def);
	int n;

	if (!parse_int(value, &n, GUC_UNIT_MS, NULL) || n < 1)
		wt_option_bad_value(def->defname, value, "Write a time, for example 30s or 500ms.");
	return n;
}

static int
bytes_option(DefElem *def)
{
	char *value = defGetString(def);
	int n;

	if (!parse_int(value, &n, GUC_UNIT_BYTE, NULL) || n < 1024)
		wt_option_bad_value(def->defname, value, "Write a size of 1kB at least, for example 2MB.");
	return n;
}

static int
kilobytes_option(DefElem *def)
{
	char *value = defGetString(def);
	int n;

	if (!parse_int(value, &n, GUC_UNIT_KB, NULL) || n < 64)
		wt_option_bad_value(def->defname, value,
							"Write a size of 64kB at least, for example 256MB.");
	return n;
}

static char *
zone_option(DefElem *def)
{
	char *value = defGetString(def);

	if (pg_tzset(value) == NULL)
		wt_option_bad_value(def->defname, value, "Write the name of a time zone, for example UTC.");
	return pstrdup(value);
}

static WtProtection
protection_option(DefElem *def)
{
	static const char *const names[] = {"authentication", "integrity", "privacy"};
	char *value = defGetString(def);

	for (int i = 0; i < (int) lengthof(names); i++)
		if (strcmp(value, names[i]) == 0)
			return (WtProtection) (WT_PROTECT_NOTHING + i);
	wt_option_bad_value(def->defname, value,
						"Valid values are: authentication, integrity, privacy.");
}

/* Takes an option about authentication.  Returns false if it is another one. */
static bool
take_authentication(WtPlace *place, DefElem *def)
{
	if (strcmp(def->defname, "authentication") == 0)
		place->kerberos = choice(def, "kerberos", "simple");
	else if (strcmp(def->defname, "kerberos_service") == 0)
	{
		char *value = defGetString(def);

		if (value[0] == '\0' || strlen(value) >= sizeof(place->service) ||
			strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") !=
				strlen(value))
			wt_option_bad_value(def->defname, value,
								"Write the first part of the servers' principals, as hbase.");
		strlcpy(place->service, value, sizeof(place->service));
	}
	else if (strcmp(def->defname, "rpc_protection") == 0)
		place->protection = protection_option(def);
	else
		return false;
	return true;
}

/* Takes an option of an index or a roll-up.  Returns false if it is another one. */
static bool
take_derived(WtTable *t, DefElem *def)
{
	const char *name = def->defname;

	if (strcmp(name, "build") == 0)
		t->build_online = choice(def, "online", "at once");
	else if (strcmp(name, "progress") == 0)
		t->progress = pstrdup(defGetString(def));
	else if (strcmp(name, "failed") == 0)
		t->failed = pstrdup(defGetString(def));
	else if (strcmp(name, "index_of") == 0)
		t->index_of = pstrdup(defGetString(def));
	else if (strcmp(name, "rollup_of") == 0)
		t->rollup_of = pstrdup(defGetString(def));
	else if (strcmp(name, "timezone") == 0)
		t->timezone = zone_option(def);
	else if (strcmp(name, "cell_ttl") == 0)
		t->cell_ttl = bool_option(def);
	else if (strcmp(name, "follow_ttl") == 0)
		t->follow_ttl = bool_option(def);
	else if (strcmp(name, "unique") == 0)
		t->unique = bool_option(def);
	else if (strcmp(name, "immutable") == 0)
		t->immutable = bool_option(def);
	else
		return false;
	return true;
}

/* Takes an option that says which engine has the tables, and where that is. */
static void
take_place(WtTable *t, DefElem *def)
{
	const char *name = def->defname;

	if (take_authentication(&t->place, def) || take_derived(t, def))
		return;
	if (strcmp(name, "engine") == 0)
		t->engine = wt_table_option_engine(defGetString(def));
	else if (strcmp(name, "nodes") == 0)
	{
		char *value = defGetString(def);

		if (strchr(value, ':') == NULL || strspn(value, " ,") == strlen(value))
			wt_option_bad_value(name, value, "Write host:port, several separated by commas.");
		t->place.nodes = pstrdup(value);
	}
	else if (strcmp(name, "namespace") == 0)
		t->place.name_space = pstrdup(defGetString(def));
	else if (strcmp(name, "timeout") == 0)
		t->place.timeout_ms = milliseconds_option(def);
	else if (strcmp(name, "fetch_rows") == 0)
		t->place.fetch_rows = int_option(def, 1, 1000000);
	else if (strcmp(name, "fetch_bytes") == 0)
		t->place.fetch_bytes = bytes_option(def);
	else if (strcmp(name, "write_buffer") == 0)
		t->place.write_buffer_kb = kilobytes_option(def);
	else if (strcmp(name, "atomic_functions") == 0)
		t->place.immediate = choice(def, "immediate", "refuse");
}

void
wt_table_option_take(WtTable *t, DefElem *def, List **key, List **families)
{
	const char *name = def->defname;

	if (strcmp(name, "table_name") == 0)
	{
		char *value = defGetString(def);

		if (value[0] == '\0' || strlen(value) > WIDE_MAX_NAME)
			wt_option_bad_value(name, value,
								psprintf("A table's name has 1 to %d bytes.", WIDE_MAX_NAME));
		t->table_name = pstrdup(value);
		t->name_given = true;
	}
	else if (strcmp(name, "key") == 0)
		*key = wt_option_parse_key(defGetString(def));
	else if (strcmp(name, "families") == 0)
		*families = wt_family_option_parse(defGetString(def));
	else if (strcmp(name, "layout") == 0)
		t->cells_layout = choice(def, "cells", "rows");
	else if (strcmp(name, "salt_buckets") == 0)
		t->salt_buckets = int_option(def, 2, 256);
	else if (strcmp(name, "split_at") == 0)
	{
		t->split_at = pstrdup(defGetString(def));
		(void) wt_split_option_parse(t->split_at);
	}
	else if (strcmp(name, "versions") == 0)
	{
		t->versions_exact = choice(def, "exact", "hbase");
		t->versions_given = true;
	}
	else if (strcmp(name, "existence") == 0)
		t->existence_projected = choice(def, "projected", "any");
	else if (strcmp(name, "insert_mode") == 0)
		t->insert_error = choice(def, "error", "upsert");
	else if (strcmp(name, "marker") == 0)
		t->marker_off = choice(def, "off", "auto");
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
	else
		take_place(t, def);
}

static void
check_column_option(const char *name, const char *value)
{
	uint8 *qual;
	uint32 len;

	/* timestamp_of without a colon is the name of an SQL column */
	if (strcmp(name, "column") == 0 || (strcmp(name, "timestamp_of") == 0 && strchr(value, ':')))
		(void) wt_option_split_cell(name, value, &qual, &len);
	else if (strcmp(name, "family") == 0)
		wt_option_check_family_name(value);
	else if (strcmp(name, "prefix") == 0)
		(void) wt_bytes_text_unescape(value, false, &len);
	else if (strcmp(name, "encoding") == 0)
		(void) wt_table_option_encoding(value);
	else if (strcmp(name, "delimiter") == 0)
		(void) wt_table_option_delimiter(value);
}

static void
check_user_option(DefElem *def)
{
	const char *name = def->defname;

	if (strcmp(name, "user") == 0)
		return;
	/* Credentials of the machine are a superuser's to give.  ALTER passes all options, so that a
	 * mapping that has some is not changed by others either. */
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("only superusers make or change user mappings with option \"%s\"", name)));
	if (strcmp(name, "server_credentials") == 0)
		(void) bool_option(def);
	else if (strcmp(name, "keytab") == 0 && defGetString(def)[0] != '/')
		wt_option_bad_value(name, defGetString(def), "Write the absolute path of a file.");
	/* a cache in memory has tickets of this session's client, or of another user mapping */
	else if (strcmp(name, "credential_cache") == 0 &&
			 (strchr(defGetString(def), ':') == NULL ||
			  pg_strncasecmp(defGetString(def), "MEMORY:", 7) == 0))
		wt_option_bad_value(name, defGetString(def),
							"Write a type and a place, for example FILE:/path.");
}

/* The server's options tell to whom a user's credentials are shown, so they are a superuser's. */
static void
check_server(const WtPlace *place)
{
	if (place->kerberos && !superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("only superusers make or change servers with authentication 'kerberos'")));
}

PG_FUNCTION_INFO_V1(wt_validator);

Datum
wt_validator(PG_FUNCTION_ARGS)
{
	List *options = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid catalog = PG_GETARG_OID(1);
	WtTable scratch = {0};
	List *key = NIL;
	List *families = NIL;
	ListCell *lc;

	foreach(lc, options)
	{
		DefElem *def = lfirst(lc);

		wt_option_check_name(catalog, def->defname);
		if (catalog == AttributeRelationId)
			check_column_option(def->defname, defGetString(def));
		else if (catalog == UserMappingRelationId)
			check_user_option(def);
		else
			wt_table_option_take(&scratch, def, &key, &families);
	}
	if (catalog == ForeignServerRelationId)
		check_server(&scratch.place);
	PG_RETURN_VOID();
}

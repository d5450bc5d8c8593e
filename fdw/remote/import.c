/*
 * import.c
 *		Definitions of foreign tables that are kept with tables of HBase, and IMPORT FOREIGN SCHEMA.
 *
 * HBase knows names of tables and families only.  A table that CREATE FOREIGN TABLE has made
 * there also has the definition as attributes, so that another database can import it with
 * its types.  Of other tables, the key is bytea and each family is a map.
 */
#include "postgres.h"

#include "fdw/remote/import.h"

#include "access/relation.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "fdw/remote/connection.h"
#include "fdw/table/option.h"
#include "fdw/table/table_option.h"

/* ------------------------------------------------------------ definitions */

/* Appends OPTIONS (...) if the list is not empty; without: the names of options to leave out. */
static void
append_options(StringInfo s, List *options, const char *without)
{
	const char *separator = " OPTIONS (";
	ListCell *lc;

	foreach(lc, options)
	{
		DefElem *def = lfirst(lc);

		if (without != NULL && strcmp(def->defname, without) == 0)
			continue;
		appendStringInfo(s, "%s%s %s", separator, quote_identifier(def->defname),
						 quote_literal_cstr(defGetString(def)));
		separator = ", ";
	}
	if (separator[0] == ',')
		appendStringInfoChar(s, ')');
}

char *
wt_import_columns(Oid relid)
{
	Relation rel = relation_open(relid, AccessShareLock);
	TupleDesc desc = RelationGetDescr(rel);
	StringInfoData s;

	initStringInfo(&s);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		if (a->attisdropped)
			continue;
		appendStringInfo(&s, "%s%s %s", s.len > 0 ? ", " : "",
						 quote_identifier(NameStr(a->attname)),
						 format_type_with_typemod(a->atttypid, a->atttypmod));
		append_options(&s, GetForeignColumnOptions(relid, i + 1), NULL);
		if (OidIsValid(a->attcollation) && a->attcollation != get_typcollation(a->atttypid))
			appendStringInfo(&s, " COLLATE %s", generate_collation_name(a->attcollation));
		if (a->attnotnull)
			appendStringInfoString(&s, " NOT NULL");
	}
	relation_close(rel, NoLock);
	return s.data;
}

char *
wt_import_options(Oid relid)
{
	StringInfoData s;

	initStringInfo(&s);
	append_options(&s, GetForeignTable(relid)->options, "table_name");
	return s.data;
}

/* ------------------------------------------------------------------- import */

/* A table that HBase has; in the context of the command. */
typedef struct Found
{
	char *name; /* with its namespace */
	char *columns, *options;
	List *families; /* of char * */
} Found;

typedef struct Search
{
	MemoryContext cxt;
	List *names; /* of char * */
	Found *found;
	bool failed; /* no memory */
} Search;

/* Callbacks: they raise no error. */
static char *
copy_text(Search *s, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = MemoryContextAllocExtended(s->cxt, n, MCXT_ALLOC_NO_OOM);

	s->failed |= copy == NULL;
	return copy != NULL ? memcpy(copy, text, n) : NULL;
}

static bool
take_name(void *ctx, const char *table)
{
	Search *s = ctx;
	char *copy = copy_text(s, table);

	if (copy != NULL)
		s->names = lappend(s->names, copy);
	return copy != NULL;
}

static void
take_table(void *ctx, const hb_table *table)
{
	Search *s = ctx;

	for (int i = 0; i < table->n_families; i++)
	{
		char *copy = copy_text(s, table->families[i].name);

		if (copy != NULL)
			s->found->families = lappend(s->found->families, copy);
	}
	for (int i = 0; i < table->n_attributes; i++)
	{
		if (strcmp(table->attributes[i].key, WT_IMPORT_COLUMNS) == 0)
			s->found->columns = copy_text(s, table->attributes[i].value);
		if (strcmp(table->attributes[i].key, WT_IMPORT_OPTIONS) == 0)
			s->found->options = copy_text(s, table->attributes[i].value);
	}
}

/* The name of the foreign table: that in HBase without its namespace. */
static const char *
local_name(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon != NULL ? colon + 1 : name;
}

static bool
is_listed(ImportForeignSchemaStmt *stmt, const char *name)
{
	ListCell *lc;

	foreach(lc, stmt->table_list)
		if (strcmp(((RangeVar *) lfirst(lc))->relname, name) == 0)
			return stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO;
	return stmt->list_type != FDW_IMPORT_SCHEMA_LIMIT_TO;
}

/* Returns: the command that makes the foreign table. */
static char *
make_command(ImportForeignSchemaStmt *stmt, const Found *f, bool cells)
{
	StringInfoData s;
	ListCell *lc;

	initStringInfo(&s);
	appendStringInfo(&s, "CREATE FOREIGN TABLE %s (", quote_identifier(local_name(f->name)));
	if (cells)
		appendStringInfoString(&s, "key bytea, family text COLLATE \"C\", qualifier bytea, ts "
								   "timestamptz, value bytea");
	else if (f->columns != NULL)
		appendStringInfoString(&s, f->columns);
	else
	{
		appendStringInfoString(&s, "key bytea");
		foreach(lc, f->families)
			appendStringInfo(&s, ", %s jsonb OPTIONS (family %s)",
							 quote_identifier(strcmp(lfirst(lc), "key") == 0 ? "family key"
																			 : lfirst(lc)),
							 quote_literal_cstr(lfirst(lc)));
	}
	appendStringInfo(&s, ") SERVER %s", quote_identifier(stmt->server_name));
	if (!cells && f->columns != NULL && f->options != NULL && f->options[0] != '\0')
		appendStringInfo(&s, "%.*s, table_name %s)", (int) strlen(f->options) - 1, f->options,
						 quote_literal_cstr(f->name));
	else
		appendStringInfo(&s, " OPTIONS (table_name %s, key 'key'%s)", quote_literal_cstr(f->name),
						 cells ? ", layout 'cells'" : "");
	return s.data;
}

/* Takes the statement's options.  Returns: true for layout 'cells'. */
static bool
wants_cells(ImportForeignSchemaStmt *stmt)
{
	bool cells = false;
	ListCell *lc;

	foreach(lc, stmt->options)
	{
		DefElem *def = lfirst(lc);
		char *value = defGetString(def);

		if (strcmp(def->defname, "layout") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\" of IMPORT FOREIGN SCHEMA", def->defname),
					 errhint("Valid names are: layout.")));
		cells = strcmp(value, "cells") == 0;
		if (!cells && strcmp(value, "rows") != 0)
			wt_option_bad_value("layout", value, "Valid values are: rows, cells.");
	}
	return cells;
}

List *
wt_import_commands(ImportForeignSchemaStmt *stmt, Oid server)
{
	WtTable options = {.place = {.timeout_ms = 60000}};
	Search s = {.cxt = CurrentMemoryContext};
	bool cells = wants_cells(stmt);
	List *commands = NIL, *key = NIL, *families = NIL;
	hb_client *client;
	hb_status status;
	ListCell *lc;

	foreach(lc, GetForeignServer(server)->options)
		wt_table_option_take(&options, lfirst(lc), &key, &families);
	client = wt_connection_to(server, GetUserId(), &options.place);
	status = hb_admin_list(client, stmt->remote_schema, take_name, &s);
	if (status != HB_OK)
		wt_connection_fail(client, status, "could not list the tables of", NULL, NULL);
	foreach(lc, s.names)
	{
		Found f = {.name = lfirst(lc)};

		if (!is_listed(stmt, local_name(f.name)))
			continue;
		s.found = &f;
		status = hb_admin_describe(client, f.name, take_table, &s);
		if (status == HB_NOTABLE)
			continue;
		if (status != HB_OK)
			wt_connection_fail(client, status, "could not look at", f.name, NULL);
		commands = lappend(commands, make_command(stmt, &f, cells));
	}
	if (s.failed)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return commands;
}

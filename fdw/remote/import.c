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
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "fdw/remote/connection.h"
#include "fdw/store/bytes.h"
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

/* Names, in the context of the command. */
typedef struct Names
{
	char **list;
	int n, max;
} Names;

/* A table that HBase has. */
typedef struct Found
{
	char *name; /* with its namespace */
	char *columns, *options;
	Names families;
} Found;

typedef struct Search
{
	MemoryContext cxt;
	Names tables;
	Found *found;
	bool failed; /* no memory */
} Search;

/* Callbacks: they raise no error. */
static void *
take_memory(Search *s, size_t size)
{
	void *to = MemoryContextAllocExtended(s->cxt, size, MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE);

	s->failed |= to == NULL;
	return to;
}

static char *
copy_text(Search *s, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = take_memory(s, n);

	return copy != NULL ? memcpy(copy, text, n) : NULL;
}

/* Adds a copy of the name.  Returns: false without memory. */
static bool
add_name(Search *s, Names *to, const char *name)
{
	char *copy = copy_text(s, name);

	if (copy != NULL && to->n == to->max)
	{
		int max = Max(16, to->max * 2);
		char **list = take_memory(s, sizeof(char *) * max);

		if (list == NULL)
			return false;
		wt_bytes_copy(list, to->list, sizeof(char *) * to->n);
		to->list = list;
		to->max = max;
	}
	if (copy != NULL)
		to->list[to->n++] = copy;
	return copy != NULL;
}

static bool
take_name(void *ctx, const char *table)
{
	Search *s = ctx;

	return add_name(s, &s->tables, table);
}

static void
take_table(void *ctx, const hb_table *table)
{
	Search *s = ctx;

	for (int i = 0; i < table->n_families && !s->failed; i++)
		(void) add_name(s, &s->found->families, table->families[i].name);
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

/* An error in the text of a definition, while check_command() parses it. */
typedef struct Parsed
{
	const char *table, *command;
} Parsed;

static void
add_context(void *arg)
{
	const Parsed *p = arg;
	int position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(p->command);
	}
	errcontext("definition that is kept with table \"%s\" of HBase", p->table);
}

static bool
is_plain_column(Node *node)
{
	ListCell *lc;

	if (!IsA(node, ColumnDef))
		return false;
	foreach(lc, ((ColumnDef *) node)->constraints)
		if (lfirst_node(Constraint, lc)->contype != CONSTR_NOTNULL)
			return false;
	return true;
}

/* Returns: true if the option table_name is there, with the table's name. */
static bool
names_table(List *options, const char *table)
{
	ListCell *lc;

	foreach(lc, options)
	{
		DefElem *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, "table_name") == 0)
			return strcmp(defGetString(def), table) == 0;
	}
	return false;
}

/*
 * 42501 unless the command is what wt_import_columns() and wt_import_options() write.  Who may
 * change attributes of tables of the cluster has no rights here: the text could go on with another
 * server, parents, expressions that are computed later, and more commands.
 */
static void
check_command(ImportForeignSchemaStmt *stmt, const Found *f, const char *command)
{
	Parsed parsed = {f->name, command};
	ErrorContextCallback context = {error_context_stack, add_context, &parsed};
	List *all;
	CreateForeignTableStmt *create;
	bool plain;
	ListCell *lc;

	error_context_stack = &context;
	all = raw_parser(command, RAW_PARSE_DEFAULT);
	error_context_stack = context.previous;
	create = (CreateForeignTableStmt *) linitial_node(RawStmt, all)->stmt;
	plain = list_length(all) == 1 && IsA(create, CreateForeignTableStmt) &&
			strcmp(create->servername, stmt->server_name) == 0 &&
			create->base.inhRelations == NIL && create->base.partbound == NULL &&
			names_table(create->options, f->name);
	if (plain)
		foreach(lc, create->base.tableElts)
			plain = plain && is_plain_column(lfirst(lc));
	if (!plain)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("the definition that is kept with table \"%s\" of HBase has more than "
						"columns and options",
						f->name),
				 errhint("Leave the table out (EXCEPT), and write CREATE FOREIGN TABLE for it.")));
}

/* Returns: the command that makes the foreign table. */
static char *
make_command(ImportForeignSchemaStmt *stmt, const Found *f, bool cells)
{
	StringInfoData s;
	bool kept = !cells && f->columns != NULL;

	initStringInfo(&s);
	appendStringInfo(&s, "CREATE FOREIGN TABLE %s (", quote_identifier(local_name(f->name)));
	if (cells)
		appendStringInfoString(&s, "key bytea, family text COLLATE \"C\", qualifier bytea, ts "
								   "timestamptz, value bytea");
	else if (kept)
		appendStringInfoString(&s, f->columns);
	else
	{
		appendStringInfoString(&s, "key bytea");
		for (int i = 0; i < f->families.n; i++)
		{
			const char *name = f->families.list[i];

			appendStringInfo(&s, ", %s jsonb OPTIONS (family %s)",
							 quote_identifier(strcmp(name, "key") == 0 ? "family key" : name),
							 quote_literal_cstr(name));
		}
	}
	appendStringInfo(&s, ") SERVER %s", quote_identifier(stmt->server_name));
	if (kept && f->options != NULL && f->options[0] != '\0')
		appendStringInfo(&s, "%.*s, table_name %s)", (int) strlen(f->options) - 1, f->options,
						 quote_literal_cstr(f->name));
	else
		appendStringInfo(&s, " OPTIONS (table_name %s%s%s)", quote_literal_cstr(f->name),
						 kept ? "" : ", key 'key'", cells ? ", layout 'cells'" : "");
	(void) pg_verifymbstr(s.data, s.len, false);
	if (kept)
		check_command(stmt, f, s.data);
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
	for (int i = 0; i < s.tables.n && !s.failed; i++)
	{
		Found f = {.name = s.tables.list[i]};

		if (!is_listed(stmt, local_name(f.name)))
			continue;
		s.found = &f;
		status = hb_admin_describe(client, f.name, take_table, &s);
		if (status == HB_NOTABLE)
			continue;
		if (status != HB_OK)
			wt_connection_fail(client, status, "could not look at", f.name, NULL);
		if (s.failed)
			break;
		commands = lappend(commands, make_command(stmt, &f, cells));
	}
	if (s.failed)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return commands;
}

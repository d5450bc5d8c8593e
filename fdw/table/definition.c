/*
 * definition.c
 *		Options and columns -> the parsed table.
 *
 * Options are checked twice.  The validator (table_option.c) sees the options
 * of one object alone: it checks names, values and syntax, early and with the
 * valid choices as hint.  This file sees the whole table and checks what depends
 * on several options or on the columns.  It runs when the table is created or
 * altered, and again whenever the cached result is out of date.  So a definition
 * that became invalid in another way (a dropped key column, event triggers
 * switched off) gives an error and never wrong answers.
 */
#include "postgres.h"

#include "fdw/table/definition.h"

#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "engine/wide.h"
#include "fdw/store/bytes.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/column_spec.h"
#include "fdw/table/derived_columns.h"
#include "fdw/table/encoding.h"
#include "fdw/table/lookup.h"
#include "fdw/table/marker.h"
#include "fdw/table/option.h"
#include "fdw/table/table_name.h"
#include "fdw/table/table_option.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/type_shape.h"
#include "fdw/table/types.h"

#define DEFAULT_FAMILY		 "d"
#define DEFAULT_STARTUP_COST 1.0
#define DEFAULT_TUPLE_COST	 0.01
#define DEFAULT_BATCH_SIZE	 1

/* Fills in what the catalogs say, and the options that no other ones can contradict. */
static void
read_columns(WtTable *t, const WtDefinition *source, WtColumnSpec *specs)
{
	TupleDesc desc = source->desc;

	t->natts = desc->natts;
	t->columns = palloc0(Max(t->natts, 1) * sizeof(WtColumn));
	for (int i = 0; i < t->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);
		WtColumn *c = &t->columns[i];
		ListCell *lc;

		c->attno = i + 1;
		c->name = pstrdup(NameStr(a->attname));
		c->role = a->attisdropped ? WT_DROPPED : WT_CELL;
		c->family = c->part = c->timestamp_of = -1;
		if (a->attisdropped)
			continue;
		c->typmod = a->atttypmod;
		c->typid = getBaseTypeAndTypmod(a->atttypid, &c->typmod);
		c->nested = wt_type_shape_is_nested(c->typid);
		c->domain = c->typid != a->atttypid ? a->atttypid : InvalidOid;
		c->collation = a->attcollation;
		c->not_null = a->attnotnull;
		c->computed = a->attgenerated != '\0';
		c->identity = a->attidentity == ATTRIBUTE_IDENTITY_ALWAYS;
		foreach(lc, source->column_options[i])
		{
			DefElem *def = lfirst(lc);

			for (int o = 0; o < WT_COLUMN_OPTIONS; o++)
				if (strcmp(def->defname, wt_option_column_names[o]) == 0)
					specs[i].value[o] = defGetString(def);
		}
		if (specs[i].value[WT_OPTION_ENCODING])
			c->enc = wt_table_option_encoding(specs[i].value[WT_OPTION_ENCODING]);
		c->delimited = specs[i].value[WT_OPTION_DELIMITER] != NULL;
		if (c->delimited)
			c->delimiter = wt_table_option_delimiter(specs[i].value[WT_OPTION_DELIMITER]);
	}
}

/* Checks the options of a key column, and chooses its encoding. */
static void
check_key_column(WtTable *t, WtColumn *c, WtColumnSpec *spec)
{
	bool digest;

	for (WtColumnOption o = WT_OPTION_FAMILY; o <= WT_OPTION_TIMESTAMP_OF; o++)
		wt_column_spec_refuse(c, spec, o, "The column is part of the key.");
	if (!spec->value[WT_OPTION_ENCODING])
		c->enc = wt_encoding_default(c->typid, true);
	wt_encoding_check(c, true);
	if (OidIsValid(c->collation) && !get_collation_isdeterministic(c->collation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("key column \"%s\" must not have a nondeterministic collation", c->name),
				 errdetail("Row keys are equal when their bytes are."),
				 errhint("Use COLLATE \"C\".")));
	digest = wt_encoding_is_digest(c->enc);
	if (digest && !spec->value[WT_OPTION_COLUMN])
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("key column \"%s\" with encoding \"%s\" needs option \"column\"",
						c->name,
						wt_encoding_name(c->enc)),
				 errhint("Name the cell that holds the original: column 'family:qualifier'.")));
	if (digest && t->cells_layout)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("key column \"%s\" must not have encoding \"%s\" in layout \"cells\"",
						c->name,
						wt_encoding_name(c->enc)),
				 c->last && !c->desc
					 ? errhint("Declare the column as bytea: it shows the digest.")
					 : errhint("Make a single column of type bytea the key, without option "
							   "\"salt_buckets\": it shows the key as it is stored.")));
	if (digest)
		spec->family_name = wt_option_split_cell("column", spec->value[WT_OPTION_COLUMN], &c->qual,
												 &c->qual_len);
	else
		wt_column_spec_refuse(
			c, spec, WT_OPTION_COLUMN,
			"The column is part of the key, and its encoding is not md5 or sha1.");
	if (digest || !wt_is_string(c->typid))
		wt_column_spec_refuse(
			c, spec, WT_OPTION_DELIMITER,
			"A delimiter is for key columns of type text whose text is in the key.");

	/*
	 * 2^63-1 - x has the same bytes as the ordered form of a descending part,
	 * and the planner knows the order of that form.
	 */
	if (c->enc == WT_ENC_REVERSE)
	{
		c->enc = WT_ENC_ORDERED;
		c->desc = !c->desc;
	}
	c->value_len = c->fixed_len = wt_encoding_length(c->typid, c->enc);
}

/* Gives key columns their role and part; without option "key" the first column is the key. */
static void
resolve_key(WtTable *t, List *items, WtColumnSpec *specs)
{
	ListCell *lc;

	if (items == NIL)
	{
		for (int i = 0; i < t->natts && items == NIL; i++)
			if (t->columns[i].role != WT_DROPPED)
			{
				WtKeyItem *item = palloc0(sizeof(WtKeyItem));

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
		WtKeyItem *item = lfirst(lc);
		int i = wt_lookup_column_index(t, item->name);
		WtColumn *c;

		if (i < 0)
			i = wt_lookup_column_index(t, item->raw);
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

/* Layout "rows": the role of a column that is not in the key. */
static void
resolve_value_column(WtTable *t, WtColumn *c, WtColumnSpec *spec)
{
	const char *column = spec->value[WT_OPTION_COLUMN];
	char *family = spec->value[WT_OPTION_FAMILY];
	const char *prefix = spec->value[WT_OPTION_PREFIX];
	const char *timestamp_of = spec->value[WT_OPTION_TIMESTAMP_OF];

	wt_column_spec_refuse(c, spec, WT_OPTION_DELIMITER, "The column is not part of the key.");
	if (t->rollup_of != NULL)
	{
		wt_derived_columns_aggregate(c, spec);
		return;
	}
	if (c->source_is != WT_SOURCE_VALUE)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("column \"%s\" with an entry of a map must be in option \"key\"",
						c->name)));
	if (!family)
		wt_column_spec_refuse(c, spec, WT_OPTION_PREFIX,
							  "It restricts a column with option \"family\".");
	if ((column != NULL) + (family != NULL) + (timestamp_of != NULL) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("column \"%s\" must have only one of the options \"column\", \"family\" "
						"and \"timestamp_of\"",
						c->name)));
	if (family)
	{
		c->role = WT_MAP;
		if (c->typid != JSONBOID)
			wt_column_spec_type_error(c, "the map of a family", "jsonb");
		if (c->enc != WT_ENC_TEXT)
			wt_column_spec_refuse(c, spec, WT_OPTION_ENCODING, "The values of a map are text.");
		c->enc = WT_ENC_TEXT;
		spec->family_name = family;
		c->qual = wt_bytes_text_unescape(prefix ? prefix : "", false, &c->qual_len);
		return;
	}
	if (timestamp_of)
	{
		c->role = WT_TIMESTAMP_OF;
		if (c->typid != TIMESTAMPTZOID && c->typid != INT8OID)
			wt_column_spec_type_error(c, "a cell's timestamp", "timestamptz or bigint");
		wt_column_spec_refuse(c, spec, WT_OPTION_ENCODING, "A timestamp is not a value.");
		return;
	}
	if (column)
		spec->family_name = wt_option_split_cell("column", column, &c->qual, &c->qual_len);
	else
	{
		/* not unescaped: a backslash in a name is a backslash */
		c->qual = (uint8 *) pstrdup(c->name);
		c->qual_len = strlen(c->name);
		c->by_name = true;
	}
	if (!spec->value[WT_OPTION_ENCODING])
		c->enc = wt_encoding_default(c->typid, false);
	wt_encoding_check(c, false);
}

/* Layout "cells": the name of a column that is not in the key decides its role. */
static void
resolve_cells_column(WtTable *t, WtColumn *c, WtColumnSpec *spec)
{
	static const struct
	{
		const char *name;
		WtRole role;
		Oid types[3]; /* the column may have; none: all that have an encoding */
		const char *what, *type_names;
	} columns[] = {{"family", WT_CELL_FAMILY, {TEXTOID, VARCHAROID}, "the cell's family", "text"},
				   {"qualifier",
					WT_CELL_QUALIFIER,
					{TEXTOID, VARCHAROID, BYTEAOID},
					"the cell's qualifier",
					"text or bytea"},
				   {"ts",
					WT_CELL_TS,
					{TIMESTAMPTZOID, INT8OID},
					"the cell's timestamp",
					"timestamptz or bigint"},
				   {"value", WT_CELL_VALUE, {InvalidOid}, NULL, NULL},
				   {"version", WT_CELL_VERSION, {INT4OID}, "the cell's version", "integer"},
				   {"cell_no", WT_CELL_NO, {INT4OID}, "the cell's number", "integer"}};

	int i = 0;

	while (i < (int) lengthof(columns) && strcmp(c->name, columns[i].name) != 0)
		i++;
	if (i < (int) lengthof(columns))
		c->role = columns[i].role;
	for (WtColumnOption o = WT_OPTION_COLUMN; o <= WT_OPTION_TIMESTAMP_OF; o++)
		wt_column_spec_refuse(c, spec, o,
							  "In layout \"cells\" the columns are found by their names.");
	wt_column_spec_refuse(c, spec, WT_OPTION_DELIMITER, "The column is not part of the key.");
	if (c->role == WT_CELL_VALUE)
	{
		if (!spec->value[WT_OPTION_ENCODING])
			c->enc = wt_encoding_default(c->typid, false);
		wt_encoding_check(c, false);
		return;
	}
	wt_column_spec_refuse(c, spec, WT_OPTION_ENCODING, "The column holds no value.");
	if (i == lengthof(columns))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_COLUMN_NAME),
				 errmsg("column \"%s\" has no meaning in layout \"cells\"", c->name),
				 errhint("Besides the key columns there may be: family, qualifier, ts, value, "
						 "version, cell_no.")));
	if (c->typid != columns[i].types[0] && c->typid != columns[i].types[1] &&
		c->typid != columns[i].types[2])
		wt_column_spec_type_error(c, columns[i].what, columns[i].type_names);
	c->enc = c->typid == BYTEAOID ? WT_ENC_BYTES : WT_ENC_TEXT;
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

/* Returns the index of a family, which is added if it is not there.  c: the column that names
 * it, or NULL. */
static int
family_named(WtTable *t, const WtColumn *c, const char *name)
{
	WtFamily f = {.name = pstrdup(name), .implicit = true};
	int i = wt_lookup_family(t, name);

	if (i >= 0)
		return i;
	for (i = 0; i < t->ndropped; i++)
		if (strcmp(t->dropped[i], name) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					 c ? errmsg("column \"%s\" uses family \"%s\", which option \"families\" drops",
								c->name,
								name)
					   : errmsg("family \"%s\" is needed and option \"families\" drops it", name)));
	wide_family_defaults(&f.opt);
	add_family(t, &f);
	return t->nfamilies - 1;
}

/*
 * Numbers the families.  Family 0 is the first in option "families".  Without
 * one it is "d" if a column names no family, else the first that a column names.
 */
static void
resolve_families(WtTable *t, List *stated, WtColumnSpec *specs)
{
	ListCell *lc;

	t->families = palloc0(WT_MAX_FAMILIES * sizeof(WtFamily));
	t->dropped = palloc0((list_length(stated) + 1) * sizeof(char *));
	foreach(lc, stated)
	{
		WtFamily *f = lfirst(lc);

		if (f->dropped)
			t->dropped[t->ndropped++] = f->name;
		else
			add_family(t, f);
	}
	/* the first one counts the rows of a group */
	if (t->rollup_of != NULL)
		(void) family_named(t, NULL, "sum");
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn *c = &t->columns[i];

		if (c->role == WT_CELL && specs[i].family_name == NULL && t->nfamilies == 0)
			(void) family_named(t, c, DEFAULT_FAMILY);
	}
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn *c = &t->columns[i];

		if (specs[i].family_name)
			c->family = family_named(t, c, specs[i].family_name);
		else if (c->role == WT_CELL)
			c->family = 0;
		if (c->role == WT_CELL && c->typid == INT8OID && !specs[i].value[WT_OPTION_ENCODING] &&
			t->families[c->family].opt.merge == WIDE_MERGE_HLL)
			c->enc = WT_ENC_HLL;
	}
	if (t->nfamilies == 0)
		(void) family_named(t, NULL, DEFAULT_FAMILY);
	if (t->rollup_of != NULL)
		wt_derived_columns_families(t);
}

/* Option timestamp_of names an SQL column or a cell.  Requires: the columns have families. */
static void
resolve_timestamp(WtTable *t, WtColumn *c, const char *of)
{
	int i = wt_lookup_column_index(t, of);

	if (i >= 0 && t->columns[i].role == WT_CELL)
	{
		c->timestamp_of = i;
		c->family = t->columns[i].family;
		c->qual = t->columns[i].qual;
		c->qual_len = t->columns[i].qual_len;
	}
	else
	{
		char *family = wt_option_split_cell("timestamp_of", of, &c->qual, &c->qual_len);

		c->family = family_named(t, c, family);
	}
}

/* Returns true if both columns show the same cell, timestamp, or qualifiers with one prefix. */
static bool
same_place(const WtColumn *a, const WtColumn *b)
{
	WtRole ra = a->role == WT_KEY ? WT_CELL : a->role;
	WtRole rb = b->role == WT_KEY ? WT_CELL : b->role;

	return ra == rb && (ra == WT_CELL || ra == WT_MAP || ra == WT_TIMESTAMP_OF) && a->family >= 0 &&
		   a->family == b->family && wt_bytes_equal(a->qual, a->qual_len, b->qual, b->qual_len);
}

static void
check_places(WtTable *t)
{
	for (int i = 0; i < t->natts; i++)
		for (int k = i + 1; k < t->natts; k++)
		{
			WtColumn *a = &t->columns[i];
			WtColumn *b = &t->columns[k];

			if (same_place(a, b))
				ereport(ERROR,
						(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
						 errmsg("columns \"%s\" and \"%s\" map the same %s of family \"%s\"",
								a->name,
								b->name,
								a->role == WT_MAP			 ? "qualifiers"
								: a->role == WT_TIMESTAMP_OF ? "timestamp"
															 : "cell",
								t->families[a->family].name)));
		}
}

uint64
wt_definition_new_serial(void)
{
	static uint64 serial = 0;

	return ++serial;
}

/* Errors: FDW_INVALID_OPTION_NAME if the options contradict each other. */
static void
check_options(const WtTable *t, const List *families)
{
	if (t->engine == NULL && (t->split_at != NULL || t->versions_given))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("option \"%s\" is not allowed for a table of the embedded engine",
						t->split_at != NULL ? "split_at" : "versions"),
				 errhint("It is for servers with option \"engine\".")));
	if ((t->index_of != NULL || t->rollup_of != NULL) &&
		(t->cells_layout || t->salt_buckets > 0 || t->existence_projected || t->marker_off))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("%s has none of the options \"layout\", \"salt_buckets\", \"existence\" "
						"and \"marker\"",
						t->index_of != NULL ? "an index" : "a roll-up")));
	if (t->follow_ttl && t->rollup_of == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("option \"follow_ttl\" is for roll-ups"),
				 errhint("A roll-up has option \"rollup_of\".")));
	if (t->cell_ttl && t->index_of == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("option \"cell_ttl\" is for indexes"),
				 errhint("An index has option \"index_of\".")));
	if (t->rollup_of != NULL && (families != NIL || !t->key_given || t->index_of != NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 families != NIL ? errmsg("a roll-up chooses its families by the aggregates")
				 : t->index_of != NULL
					 ? errmsg("a table cannot have both options \"index_of\" and \"rollup_of\"")
					 : errmsg("a roll-up needs option \"key\""),
				 errhint("Its key columns are the groups.")));
}

static void
set_defaults(WtTable *t)
{
	t->updatable = true;
	t->truncatable = true;
	t->batch_size = DEFAULT_BATCH_SIZE;
	t->startup_cost = DEFAULT_STARTUP_COST;
	t->tuple_cost = DEFAULT_TUPLE_COST;
	t->place = (WtPlace) {.timeout_ms = 60000,
						  .fetch_rows = 10000,
						  .fetch_bytes = 2 * 1024 * 1024,
						  .write_buffer_kb = 256 * 1024};
}

WtTable *
wt_definition_parse(const WtDefinition *def)
{
	WtTable *t = palloc0(sizeof(WtTable));
	WtColumnSpec *specs = palloc0(Max(def->desc->natts, 1) * sizeof(WtColumnSpec));
	List *key = NIL;
	List *families = NIL;
	ListCell *lc;

	t->serial = wt_definition_new_serial();
	t->relid = def->relid;
	t->owner = def->owner;
	t->server = def->server;
	t->source = def->source;
	set_defaults(t);
	foreach(lc, def->server_options)
		wt_table_option_take(t, lfirst(lc), &key, &families);
	foreach(lc, def->options)
		wt_table_option_take(t, lfirst(lc), &key, &families);
	if (t->engine != NULL && !t->name_given)
		t->table_name = pstrdup(def->name);
	else if (t->engine == NULL)
		t->table_name = t->name_given ? wt_table_name_canonical(t->table_name)
									  : wt_table_name_default(def->schema, def->name);
	t->key_given = key != NIL;
	check_options(t, families);
	t->marker_off |= t->rollup_of != NULL;

	read_columns(t, def, specs);
	wt_derived_columns_sources(t, specs);
	wt_derived_columns_groups(t, specs);
	if (t->index_of != NULL)
		key = wt_derived_columns_key(t, def->indexed, key);
	resolve_key(t, key, specs);
	if (t->index_of != NULL)
		wt_derived_columns_optional(t, def->indexed);
	if (t->rollup_of != NULL)
		wt_derived_columns_check(t);
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn *c = &t->columns[i];

		if (c->role == WT_DROPPED || c->role == WT_KEY)
			continue;
		if (t->cells_layout)
			resolve_cells_column(t, c, &specs[i]);
		else
			resolve_value_column(t, c, &specs[i]);
	}
	resolve_families(t, families, specs);
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role == WT_TIMESTAMP_OF)
			resolve_timestamp(t, &t->columns[i], specs[i].value[WT_OPTION_TIMESTAMP_OF]);
	check_places(t);
	wt_marker_resolve(t);
	return t;
}

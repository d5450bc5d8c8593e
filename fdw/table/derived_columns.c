/*
 * derived_columns.c
 *		What the columns of an index, or of a roll-up, have of the table that it is of.
 */
#include "postgres.h"

#include "fdw/table/derived_columns.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "fdw/table/column_spec.h"
#include "fdw/table/lookup.h"
#include "fdw/table/option.h"

/* ------------------------------------------------------------------ indexes */

/*
 * Of an index: finds out what of the indexed table each column has.  A column has the column of its
 * own name unless an option says otherwise.
 * Errors: FDW_INVALID_OPTION_NAME if it has two of the options, or the table is no index.
 */
void
wt_derived_columns_sources(WtTable *t, const WtColumnSpec *specs)
{
	static const struct
	{
		WtColumnOption option;
		WtSource what;
	} options[] = {{WT_OPTION_QUALIFIER_OF, WT_SOURCE_QUALIFIER},
				   {WT_OPTION_VALUE_OF, WT_SOURCE_ENTRY},
				   {WT_OPTION_COLUMN_OF, WT_SOURCE_VALUE}};

	for (int i = 0; i < t->natts; i++)
	{
		WtColumn *c = &t->columns[i];

		for (int o = 0; o < (int) lengthof(options); o++)
		{
			if (c->role == WT_DROPPED || specs[i].value[options[o].option] == NULL)
				continue;
			if (t->index_of == NULL)
				wt_column_spec_refuse(c, &specs[i], options[o].option,
									  "The table is no index: it has no option \"index_of\".");
			if (c->source != NULL)
				wt_column_spec_refuse(
					c, &specs[i], options[o].option,
					"Another option says what the column has of the indexed table.");
			c->source = specs[i].value[options[o].option];
			c->source_is = options[o].what;
		}
		if (t->index_of != NULL && c->role != WT_DROPPED && c->source == NULL)
			c->source = c->name;
	}
}

/*
 * Appends the key columns of the indexed table that option "key" of an index leaves out: with them
 * each row of that table has an entry of its own.
 */
List *
wt_derived_columns_key(WtTable *t, WtTable *base, List *items)
{
	t->declared = list_length(items);
	if (items == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("an index needs option \"key\""),
				 errhint("It lists the columns by which rows are found.")));
	for (int part = 0; part < base->nkeys; part++)
	{
		const WtColumn *b = wt_key_column(base, part);
		const WtColumn *c = wt_lookup_column_of(t, b->name);
		WtKeyItem *item;
		bool stated = false;
		ListCell *lc;

		/* wt_index_check() says so */
		if (c == NULL)
			continue;
		foreach(lc, items)
			stated |= strcmp(((WtKeyItem *) lfirst(lc))->name, c->name) == 0 ||
					  strcmp(((WtKeyItem *) lfirst(lc))->raw, c->name) == 0;
		if (stated)
			continue;
		item = palloc0(sizeof(WtKeyItem));
		item->name = item->raw = c->name;
		item->desc = b->stated_desc;
		items = lappend(items, item);
	}
	return items;
}

/* Of an index: marks the parts of its key that rows of the indexed table may have no value for. */
void
wt_derived_columns_optional(WtTable *t, WtTable *base)
{
	for (int part = 0; part < t->nkeys; part++)
	{
		WtColumn *c = wt_key_column(t, part);
		int b = wt_lookup_column_index(base, c->source);

		if (b >= 0 && base->columns[b].role == WT_KEY)
			continue;
		c->optional = true;
		/* rows may lack the entry of a map, but what the index has of one is complete */
		if (c->source_is != WT_SOURCE_VALUE)
			continue;
		/* a row without a value for the first column has no entry */
		c->nullable = part > 0;
		if (c->nullable)
			c->fixed_len = 0;
	}
}

/* ----------------------------------------------------------------- roll-ups */

/* Option "aggregate": sets the column's aggregate and its argument. */
static void
take_aggregate(WtColumn *c, const char *value)
{
	static const char *const names[] = {"count", "sum", "min", "max", "hll"};
	const char *open = strchr(value, '('), *close = strrchr(value, ')');
	char *name, *arg;

	if (open != NULL && close != NULL && close > open &&
		strspn(close + 1, " ") == strlen(close + 1))
	{
		name = pnstrdup(value, open - value);
		arg = pnstrdup(open + 1, close - open - 1);
		while (name[0] != '\0' && name[strlen(name) - 1] == ' ')
			name[strlen(name) - 1] = '\0';
		for (int i = 0; i < (int) lengthof(names); i++)
			if (pg_strcasecmp(name, names[i]) == 0)
				c->rollup = WT_ROLLUP_COUNT + i;
		c->expr = c->rollup == WT_ROLLUP_COUNT && strspn(arg, " *") == strlen(arg) ? NULL : arg;
	}
	if (c->rollup == WT_ROLLUP_GROUP)
		wt_option_bad_value(
			"aggregate", value,
			"Valid values are: count(*), count(x), sum(x), min(x), max(x), hll(x); x "
			"is an expression.");
}

/* Of a roll-up: finds out what each column has of the rows of its group. */
void
wt_derived_columns_groups(WtTable *t, const WtColumnSpec *specs)
{
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn *c = &t->columns[i];

		if (t->rollup_of == NULL)
			for (WtColumnOption o = WT_OPTION_EXPR; o <= WT_OPTION_AGGREGATE; o++)
				wt_column_spec_refuse(c, &specs[i], o,
									  "The table is no roll-up: it has no option \"rollup_of\".");
		else if (specs[i].value[WT_OPTION_AGGREGATE] != NULL)
			take_aggregate(c, specs[i].value[WT_OPTION_AGGREGATE]);
		else if (c->role != WT_DROPPED)
			c->expr = specs[i].value[WT_OPTION_EXPR] != NULL ? specs[i].value[WT_OPTION_EXPR]
															 : pstrdup(quote_identifier(c->name));
	}
}

/* Of a roll-up: its key columns are those without aggregate.  A group's value may be null. */
void
wt_derived_columns_check(WtTable *t)
{
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn *c = &t->columns[i];

		if (c->role == WT_KEY && c->rollup != WT_ROLLUP_GROUP)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("key column \"%s\" of a roll-up cannot have an aggregate", c->name),
					 errhint("Columns in option \"key\" are groups, the others have aggregates.")));
		/* a later command may state it: wt_rollup_is_complete() */
		if (c->role != WT_KEY && c->rollup == WT_ROLLUP_GROUP)
			c->role = WT_DROPPED;
	}
	for (int part = 0; part < t->nkeys; part++)
	{
		WtColumn *c = wt_key_column(t, part);

		c->optional = c->nullable = true;
		c->fixed_len = 0;
	}
}

/* Returns the family of an aggregate's cells: one for each merge operator and kind of number. */
static char *
aggregate_family(const WtColumn *c)
{
	static const char *const names[] = {"", "sum", "sum", "min", "max", "hll"};

	return psprintf("%s%s", names[c->rollup], c->typid == FLOAT8OID ? "_double" : "");
}

/* A column with an aggregate that was renamed says which cell it has. */
static void
take_cell(WtColumn *c, const WtColumnSpec *spec)
{
	const char *column = spec->value[WT_OPTION_COLUMN];
	char *family = wt_option_split_cell("column", column, &c->qual, &c->qual_len);

	if (strcmp(family, spec->family_name) != 0 || c->qual_len == 0)
		wt_option_bad_value("column", column,
							psprintf("The cell of this aggregate is in family \"%s\".",
									 spec->family_name));
	c->by_name = false;
}

/* A column of a roll-up that is not in the key.  The cell of count(*) has the empty qualifier. */
void
wt_derived_columns_aggregate(WtColumn *c, WtColumnSpec *spec)
{
	bool count = c->rollup == WT_ROLLUP_COUNT || c->rollup == WT_ROLLUP_HLL;
	bool time = c->typid == TIMESTAMPTZOID || c->typid == TIMESTAMPOID;

	c->by_name = c->rollup != WT_ROLLUP_COUNT || c->expr != NULL;
	for (WtColumnOption o = WT_OPTION_COLUMN; o <= WT_OPTION_ENCODING; o++)
		if (o != WT_OPTION_COLUMN || !c->by_name)
			wt_column_spec_refuse(c, spec, o, "The column has an aggregate.");
	if (c->typid != INT8OID &&
		(count || (c->typid != FLOAT8OID && (c->rollup == WT_ROLLUP_SUM || !time))))
		wt_column_spec_type_error(c, "this aggregate",
								  count ? "bigint"
								  : c->rollup == WT_ROLLUP_SUM
									  ? "bigint or double precision"
									  : "bigint, double precision, timestamp or "
										"timestamptz");
	spec->family_name = aggregate_family(c);
	c->enc = c->rollup == WT_ROLLUP_HLL ? WT_ENC_HLL : WT_ENC_BINARY;
	c->qual = (uint8 *) (c->by_name ? pstrdup(c->name) : "");
	c->qual_len = strlen((char *) c->qual);
	if (spec->value[WT_OPTION_COLUMN] != NULL)
		take_cell(c, spec);
}

/* Of a roll-up: gives each family its merge operator. */
void
wt_derived_columns_families(WtTable *t)
{
	static const uint8 operators[] = {WIDE_MERGE_NONE, WIDE_MERGE_SUM, WIDE_MERGE_SUM,
									  WIDE_MERGE_MIN,  WIDE_MERGE_MAX, WIDE_MERGE_HLL};

	t->families[0].opt.merge = WIDE_MERGE_SUM;
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role == WT_CELL)
			t->families[t->columns[i].family].opt.merge = operators[t->columns[i].rollup];
	for (int f = 0; f < t->nfamilies; f++)
	{
		t->families[f].stated |= WT_FAM_MERGE;
		t->families[f].implicit = false;
	}
}

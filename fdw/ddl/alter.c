/*
 * alter.c
 *		What a changed definition of a foreign table means for stored data.
 *
 * ALTER changes how a foreign table reads stored bytes, never the bytes.  So that a
 * change never shows other data than before, the definition from before is compared
 * with the new one at the end of each command:
 *
 *	- A column that is found by its name keeps its cell when it is renamed, or when
 *	  another family becomes the first one: the cell is written into the column's
 *	  options in the same transaction.  Options key and timestamp_of follow a renamed
 *	  column.  pg_dump dumps all of it.
 *	- Option "families", where it is given, goes on to list the families of all columns.
 *	- A change of the key's form (columns, order, types, encodings, salt), or of the
 *	  type of a value whose encoding depends on the type, is refused while the stored
 *	  table has rows.
 *	- Foreign tables on one stored table must make its keys in the same way.
 *
 * Locking: commands that change what is read lock the table exclusively to the end of
 * their transaction, so no row is written through it between the search for rows and
 * the new definition.
 */
#include "postgres.h"

#include "fdw/ddl/alter.h"

#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

#include "fdw/ddl/binding.h"
#include "fdw/ddl/catalog_option.h"
#include "fdw/ddl/ddl_lock.h"
#include "fdw/store/bytes.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/encoding.h"
#include "fdw/table/engine.h"
#include "fdw/table/lookup.h"
#include "fdw/table/table.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/type_shape.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/engine_scan.h"

#define NEW_TABLE_HINT                                                                         \
	"Make a new foreign table and copy the rows with INSERT ... SELECT, or TRUNCATE this one " \
	"first."

/* ------------------------------------------------------------------ rows */

/* Returns: the families that are stored; palloc'd. */
static wide_family *
families_of(WtTable *before, wide_table_id table, int *n)
{
	WtEngineTable e;

	if (before->engine == NULL)
		return wt_binding_families(wt_batch(false), table, n);
	*n = 0;
	return before->engine->find(before, GetUserId(), false, &e) ? before->engine->families(&e, n)
																: NULL;
}

/*
 * Returns: true if the newest state of the stored table has a row, with this transaction's
 * changes.  With a family: a row without the cell family:qual.
 */
static bool
find_row(WtTable *before, wide_table_id table, const char *family, wide_bytes qual)
{
	int n;
	wide_family *have = families_of(before, table, &n);
	wide_scan_family *fam = palloc0(sizeof(wide_scan_family) * WT_MAX_FAMILIES);
	wide_range all = {{(const uint8 *) "", 0}, {NULL, 0}};
	wide_scan_spec spec = {.families = fam, .ranges = &all, .nranges = 1};
	WtEngineScan *scan;
	wide_row row;
	bool found = false;

	spec.nfamilies = n;
	if (n == 0)
		return false;
	for (int i = 0; i < n; i++)
	{
		fam[i].id = have[i].id;
		fam[i].want = WIDE_WANT_EXISTS;
		if (family && strcmp(have[i].name, family) == 0)
		{
			fam[i].want = WIDE_WANT_COLUMNS;
			fam[i].quals = &qual;
			fam[i].nquals = 1;
			fam[i].any_exists = true;
		}
	}
	scan = wt_engine_scan_open(NULL, &spec);
	while (!found && wt_engine_scan_next(scan, &row))
		found = family == NULL || row.ncells == 0;
	wt_engine_scan_close(scan);
	pfree(have);
	pfree(fam);
	return found;
}

static bool
has_rows(WtTable *before, wide_table_id table)
{
	return find_row(before, table, NULL, (wide_bytes) {NULL, 0});
}

/* -------------------------------------------------- recording the old cell */

/* Returns: option "column" (family:qualifier) for a column that is found by its name, palloc'd. */
static char *
cell_option(WtTable *t, const WtColumn *c)
{
	StringInfoData s;

	initStringInfo(&s);
	appendStringInfo(&s, "%s:", t->families[c->family].name);
	wt_bytes_text_append_escaped(&s, c->name);
	return s.data;
}

static bool
has_any_option(Oid relid, AttrNumber attno, const char *const *names, int n)
{
	List *options = GetForeignColumnOptions(relid, attno);

	for (int i = 0; i < n; i++)
		if (wt_catalog_option_find(options, names[i]))
			return true;
	return false;
}

/* Returns: option "key" with the columns' new names, palloc'd. */
static char *
key_option(WtTable *before, char **names)
{
	StringInfoData s;

	initStringInfo(&s);
	/* of an index the other parts are appended */
	for (int i = 0; i < (before->index_of != NULL ? before->declared : before->nkeys); i++)
	{
		const WtColumn *c = &before->columns[before->keys[i]];

		appendStringInfo(&s, "%s%s%s", i ? ", " : "", quote_identifier(names[c->attno - 1]),
						 c->stated_desc ? " desc" : "");
	}
	return s.data;
}

/* A key column has been dropped. */
static void
check_dropped(WtTable *before, const WtColumn *c)
{
	wide_table wt;

	if (c->role == WT_KEY &&
		(before->engine != NULL || wt_binding_find(before->relid, &wt) == WIDE_OK) &&
		has_rows(before, before->engine != NULL ? 0 : wt.id))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot drop key column \"%s\" of foreign table \"%s\" while it has rows",
						c->name, get_rel_name(before->relid)),
				 errdetail("The stored keys would be misread."),
				 errhint(NEW_TABLE_HINT)));
}

/* A column has been renamed.  In layout "cells" its name says what it shows. */
static void
check_cells_rename(WtTable *before, const WtColumn *c, const char *name)
{
	if (before->cells_layout && c->role != WT_KEY)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot rename column \"%s\" of foreign table \"%s\" to \"%s\"",
						c->name, get_rel_name(before->relid), name),
				 errdetail("In layout \"cells\" the columns are found by their names."),
				 errhint("Give the column another name in a view.")));
}

void
wt_alter_record_renames(WtTable *before, TupleDesc after)
{
	static const char *const places[] = {"column", "family", "timestamp_of"};
	char **names = palloc0(Max(before->natts, 1) * sizeof(char *));
	bool *renamed = palloc0(Max(before->natts, 1) * sizeof(bool));
	bool key = false;

	for (int i = 0; i < before->natts; i++)
	{
		WtColumn *c = &before->columns[i];

		if (c->role == WT_DROPPED)
			continue;
		if (TupleDescAttr(after, i)->attisdropped)
		{
			check_dropped(before, c);
			continue;
		}
		names[i] = NameStr(TupleDescAttr(after, i)->attname);
		renamed[i] = strcmp(names[i], c->name) != 0;
		if (!renamed[i])
			continue;
		check_cells_rename(before, c, names[i]);
		key |= c->role == WT_KEY;
		/* a column of an index still has the same column of the indexed table */
		if (c->source == c->name)
			wt_catalog_option_set_column(before->relid, c->attno, "column_of", c->name);
		if (c->by_name && !has_any_option(before->relid, c->attno, places, lengthof(places)))
			wt_catalog_option_set_column(before->relid, c->attno, "column", cell_option(before, c));
	}
	if (key && before->key_given)
	{
		for (int i = 0; i < before->nkeys; i++)
			if (names[before->keys[i]] == NULL)
				key = false; /* another key column is dropped: parsing raises the error */
		if (key)
			wt_catalog_option_set_table(before->relid, "key", key_option(before, names));
	}
	for (int i = 0; i < before->natts; i++)
	{
		WtColumn *c = &before->columns[i];

		if (c->role == WT_TIMESTAMP_OF && names[i] != NULL && c->timestamp_of >= 0 &&
			renamed[c->timestamp_of])
			wt_catalog_option_set_column(before->relid, c->attno, "timestamp_of",
										 names[c->timestamp_of]);
	}
}

bool
wt_alter_record_cells(WtTable *before, WtTable *after)
{
	bool any = false;

	/* a roll-up is built anew */
	for (int i = 0; i < Min(before->natts, after->natts) && after->rollup_of == NULL; i++)
	{
		WtColumn *b = &before->columns[i];
		WtColumn *a = &after->columns[i];

		if (b->role != WT_CELL || !b->by_name || a->role != WT_CELL || !a->by_name ||
			strcmp(before->families[b->family].name, after->families[a->family].name) == 0)
			continue;
		wt_catalog_option_set_column(before->relid, b->attno, "column", cell_option(before, b));
		any = true;
	}
	return any;
}

/* ------------------------------------------- families that are not listed */

static bool
lists_families(WtTable *t)
{
	for (int i = 0; i < t->nfamilies; i++)
		if (!t->families[i].implicit)
			return true;
	return false;
}

/* Errors: 42703, with the families that the option lists. */
static _Noreturn void
not_listed(WtTable *t, const WtColumn *c)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < t->nfamilies; i++)
		if (!t->families[i].implicit)
			appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", t->families[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("family \"%s\" of column \"%s\" is not in option \"families\" of foreign "
					"table \"%s\"",
					t->families[c->family].name,
					c->name,
					get_rel_name(t->relid)),
			 errdetail("The families are: %s.", list.data),
			 errhint("Name one of these, or add the family to the option.")));
}

/* Returns: the option with one more family, palloc'd.  Requires: it is valid, and not empty. */
static char *
with_family(const char *option, const char *family)
{
	StringInfoData s;

	initStringInfo(&s);
	appendBinaryStringInfo(&s, option, (int) (strrchr(option, '}') - option));
	appendStringInfoString(&s, ", ");
	escape_json(&s, family);
	appendStringInfoString(&s, ": {}}");
	return s.data;
}

bool
wt_alter_record_families(WtTable *before, WtTable *after)
{
	DefElem *def = wt_catalog_option_find(GetForeignTable(after->relid)->options, "families");
	char *option;
	bool *added = palloc0(WT_MAX_FAMILIES * sizeof(bool));
	bool any = false;

	if (def == NULL || !lists_families(after))
		return false;
	option = defGetString(def);
	for (int i = 0; i < after->natts; i++)
	{
		WtColumn *c = &after->columns[i];

		if (c->family < 0 || !after->families[c->family].implicit || added[c->family])
			continue;
		if (before == NULL || wt_lookup_family(before, after->families[c->family].name) < 0)
			not_listed(after, c);
		option = with_family(option, after->families[c->family].name);
		any = added[c->family] = true;
	}
	if (any)
		wt_catalog_option_set_table(after->relid, "families", option);
	return any;
}

/* --------------------------------------------------- refusing a change */

static const char *
salt_text(int buckets)
{
	return buckets ? psprintf("%d", buckets) : "none";
}

/* Returns: true if the stored bytes are those of the value or of its text. */
static bool
is_plain_bytes(const WtColumn *c)
{
	if (c->enc == WT_ENC_TEXT || c->enc == WT_ENC_BYTES)
		return true;
	return (c->enc == WT_ENC_BINARY || c->enc == WT_ENC_ORDERED) && wt_is_bytes(c->typid);
}

/* Returns: errdetail for a change of a part that changes the stored bytes; NULL: there is none. */
static char *
part_change(const WtColumn *b, const WtColumn *a)
{
	if (b->attno != a->attno)
		return psprintf("Part %d of the key is column \"%s\" instead of \"%s\".", b->part + 1,
						a->name, b->name);
	if (b->typid != a->typid && !(wt_is_text(b->typid) && wt_is_text(a->typid)))
		return psprintf("Key column \"%s\" is of type %s instead of %s.", a->name,
						format_type_be(a->typid), format_type_be(b->typid));
	if (b->enc != a->enc && !(is_plain_bytes(b) && is_plain_bytes(a)))
		return psprintf("Key column \"%s\" has encoding \"%s\" instead of \"%s\".", a->name,
						wt_encoding_name(a->enc), wt_encoding_name(b->enc));
	if (b->desc != a->desc)
		return psprintf("Key column \"%s\" is %s instead of %s.", a->name,
						a->desc ? "descending" : "ascending", b->desc ? "descending" : "ascending");
	if (b->delimited != a->delimited || b->delimiter != a->delimiter)
		return psprintf("Key column \"%s\" has another delimiter.", a->name);
	return NULL;
}

/* The same for the key as a whole. */
static char *
key_change(WtTable *before, WtTable *after)
{
	if (before->salt_buckets != after->salt_buckets)
		return psprintf("Option \"salt_buckets\" is %s instead of %s.",
						salt_text(after->salt_buckets), salt_text(before->salt_buckets));
	for (int i = 0; i < Min(before->nkeys, after->nkeys); i++)
	{
		char *s = part_change(&before->columns[before->keys[i]], &after->columns[after->keys[i]]);

		if (s)
			return s;
	}
	if (before->nkeys != after->nkeys)
		return psprintf("The number of key columns is %d instead of %d.", after->nkeys,
						before->nkeys);
	return NULL;
}

/* Returns: true if the stored bytes are a text: reading one that does not fit another type is an
 * error. */
static bool
is_text_form(const WtColumn *c)
{
	return c->enc == WT_ENC_TEXT || c->enc == WT_ENC_BYTES || c->enc == WT_ENC_DECIMAL;
}

/* Returns: true if a reads what b has stored, or an error says that it does not fit.  Nested values
 * state what they consist of, and their columns also read text. */
static bool
reads_stored(const WtColumn *b, const WtColumn *a)
{
	if (is_text_form(b))
		return is_text_form(a) || a->enc == WT_ENC_NESTED;
	return b->enc == WT_ENC_NESTED && wt_type_shape_is_nested(a->typid);
}

/* Returns: a column whose new type would read other values from the same bytes, or NULL. */
static const WtColumn *
type_change(WtTable *before, WtTable *after)
{
	for (int i = 0; i < Min(before->natts, after->natts); i++)
	{
		WtColumn *b = &before->columns[i];
		WtColumn *a = &after->columns[i];

		if (b->role == a->role && (b->role == WT_CELL || b->role == WT_CELL_VALUE) &&
			b->typid != a->typid && !reads_stored(b, a))
			return a;
	}
	return NULL;
}

/*
 * A column that becomes NOT NULL, or a NOT NULL column that shows another cell, must have a
 * value in each row, as in ordinary tables: plans rely on that to find all rows.
 */
static void
check_not_null(WtTable *before, WtTable *after, wide_table_id table)
{
	for (int i = 0; i < after->natts; i++)
	{
		WtColumn *a = &after->columns[i];
		WtColumn *b = i < before->natts ? &before->columns[i] : NULL;
		const char *family;

		if (a->role != WT_CELL || !a->not_null)
			continue;
		family = after->families[a->family].name;
		if (b != NULL && b->role == WT_CELL && b->not_null &&
			strcmp(before->families[b->family].name, family) == 0 &&
			wt_bytes_equal(b->qual, b->qual_len, a->qual, a->qual_len))
			continue;
		if (find_row(before, table, family, (wide_bytes) {a->qual, a->qual_len}))
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("column \"%s\" of relation \"%s\" contains null values",
							a->name,
							get_rel_name(after->relid)),
					 errdetail("There are rows without the cell %s:%s.",
							   family,
							   wt_bytes_text_qualifier_argument((wide_bytes) {a->qual,
																			  a->qual_len}))));
	}
}

void
wt_alter_check(WtTable *before, WtTable *after, wide_table_id table)
{
	char *key = key_change(before, after);
	const WtColumn *c = type_change(before, after);

	/* nor may a row be written through another foreign table */
	if ((key != NULL || c != NULL) && before->engine == NULL)
		wt_ddl_lock_stored_table(table, AccessExclusiveLock);
	if ((key == NULL && c == NULL) || !has_rows(before, table))
	{
		check_not_null(before, after, table);
		return;
	}
	if (key)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change the key of foreign table \"%s\" while it has rows",
						get_rel_name(after->relid)),
				 errdetail("%s The stored keys would be misread.", key),
				 errhint(NEW_TABLE_HINT)));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot change the type of column \"%s\" of foreign table \"%s\" while it has "
					"rows",
					c->name,
					get_rel_name(after->relid)),
			 errdetail("Values are stored as type %s with encoding \"%s\", and would be misread as "
					   "%s.",
					   format_type_be(before->columns[c->attno - 1].typid),
					   wt_encoding_name(before->columns[c->attno - 1].enc),
					   format_type_be(c->typid)),
			 errhint("Add a column of the new type and copy the values with UPDATE. To read the "
					 "same bytes in another way, "
					 "drop the column and add it again: that does not touch what is stored.")));
}

/* -------------------------------- two foreign tables on one stored table */

/* Returns: true if the key is one column of type bytea, which shows any key as it is stored. */
static bool
is_raw_key(WtTable *t)
{
	const WtColumn *c = &t->columns[t->keys[0]];

	return t->nkeys == 1 && t->salt_buckets == 0 && c->typid == BYTEAOID && !c->desc;
}

static bool
is_microseconds(Oid typid)
{
	return typid == INT8OID || typid == TIMESTAMPTZOID || typid == TIMESTAMPOID;
}

/* Returns: true if b may show the digest of a, at the end of the key, as its bytes. */
static bool
shows_digest(const WtColumn *b, const WtColumn *a)
{
	return a->last && !a->desc && wt_encoding_is_digest(a->enc) && b->typid == BYTEAOID;
}

/* Returns: true if both parts make the same bytes of equal values. */
static bool
parts_agree(const WtColumn *a, const WtColumn *b)
{
	if (a->last != b->last || a->desc != b->desc || a->delimited != b->delimited ||
		a->delimiter != b->delimiter)
		return false;
	if ((is_plain_bytes(a) && is_plain_bytes(b)) || shows_digest(a, b) || shows_digest(b, a))
		return true;
	if (a->enc != b->enc)
		return false;
	if (a->enc == WT_ENC_DECIMAL || wt_encoding_is_unsigned(a->enc))
		return true; /* the same bytes for integers of any width */
	return a->typid == b->typid || (is_microseconds(a->typid) && is_microseconds(b->typid));
}

/* Returns: errdetail if the keys are made in different ways, or NULL. */
static char *
key_disagreement(WtTable *t, WtTable *other)
{
	if (is_raw_key(t) || is_raw_key(other))
		return NULL;
	if (t->salt_buckets != other->salt_buckets)
		return psprintf("Option \"salt_buckets\" is %s here and %s there.",
						salt_text(t->salt_buckets), salt_text(other->salt_buckets));
	if (t->nkeys != other->nkeys)
		return psprintf("The number of key columns is %d here and %d there.", t->nkeys,
						other->nkeys);
	for (int i = 0; i < t->nkeys; i++)
	{
		const WtColumn *a = &t->columns[t->keys[i]];
		const WtColumn *b = &other->columns[other->keys[i]];

		if (!parts_agree(a, b))
			return psprintf("Part %d of the key is %s with encoding \"%s\"%s here, and %s with "
							"encoding \"%s\"%s there.",
							i + 1, format_type_be(a->typid), wt_encoding_name(a->enc),
							a->desc ? ", inverted," : "", format_type_be(b->typid),
							wt_encoding_name(b->enc), b->desc ? ", inverted," : "");
	}
	return NULL;
}

void
wt_alter_check_same_key(WtTable *t, wide_table_id table)
{
	ListCell *lc;

	foreach(lc, wt_binding_others(table, t->relid))
	{
		WtTable *other = wt_table_unlocked(lfirst_oid(lc));
		char *why = other ? key_disagreement(t, other) : NULL;

		if (why)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("foreign table \"%s\" has another key than foreign table \"%s\" on the "
							"same stored table",
							get_rel_name(t->relid),
							get_rel_name(lfirst_oid(lc))),
					 errdetail("%s", why),
					 errhint("State the same key, encodings and salt_buckets, or give one of them "
							 "another table_name. "
							 "A single key column of type bytea, without salt_buckets, shows the "
							 "key as it is stored.")));
	}
}

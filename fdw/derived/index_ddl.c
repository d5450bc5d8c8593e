/*
 * index_ddl.c
 *		What commands that define tables mean to indexes.
 *
 * CREATE FOREIGN TABLE with option index_of builds the index in its transaction.  The catalogs get
 * a dependency on the indexed table and on its columns: with one of these, PostgreSQL drops the
 * index, and pg_dump writes it behind its table.
 *
 * ALTER of the indexed table: names follow.  What changes which values rows show (options of
 * families, cells of columns) builds its indexes anew.
 *
 * Locking: ShareLock on all foreign tables that show the stored table, so that nobody writes while
 * the index is built; readers go on.
 */
#include "postgres.h"

#include "fdw/derived/index_ddl.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "fdw/ddl/binding.h"
#include "fdw/ddl/catalog_option.h"
#include "fdw/ddl/ddl_lock.h"
#include "fdw/ddl/definition_before.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/ddl/event_trigger.h"
#include "fdw/ddl/stored_table.h"
#include "fdw/derived/index.h"
#include "fdw/derived/index_build.h"
#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/table/lookup.h"
#include "fdw/table/table.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/derive.h"

/* Returns: the foreign tables on the stored table of a foreign table, itself included. */
static List *
tables_on(Oid relid)
{
	wide_table wt;

	return wt_binding_find(relid, &wt) == WIDE_OK ? wt_binding_others(wt.id, InvalidOid)
												  : list_make1_oid(relid);
}

/* From here on nobody else writes to the stored table. */
static void
lock_writers_out(Oid relid)
{
	List *tables = tables_on(relid);
	ListCell *lc;

	list_sort(tables, list_oid_cmp);
	foreach(lc, tables)
		LockRelationOid(lfirst_oid(lc), ShareLock);
}

/* All sessions look up anew what follows from the rows of the stored table. */
static void
invalidate(Oid relid)
{
	ListCell *lc;

	foreach(lc, tables_on(relid))
		CacheInvalidateRelcacheByRelid(lfirst_oid(lc));
}

/* The index is dropped with its table, and with each of the columns that it has. */
static void
record_dependencies(WtTable *index, WtTable *base)
{
	ObjectAddress me, other;

	ObjectAddressSet(me, RelationRelationId, index->relid);
	ObjectAddressSet(other, RelationRelationId, base->relid);
	recordDependencyOn(&me, &other, DEPENDENCY_AUTO);
	for (int i = 0; i < index->natts; i++)
	{
		int b = index->columns[i].role == WT_DROPPED
					? -1
					: wt_lookup_column_index(base, index->columns[i].source);

		if (b < 0)
			continue;
		ObjectAddressSubSet(other, RelationRelationId, base->relid, base->columns[b].attno);
		recordDependencyOn(&me, &other, DEPENDENCY_AUTO);
	}
}

/* Writes option index_of with the table's present name and schema. */
static void
state_name(WtTable *index, Oid base)
{
	char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(base)),
											get_rel_name(base));

	if (strcmp(index->index_of, name) != 0)
		wt_catalog_option_set_table(index->relid, "index_of", name);
}

/*
 * Entries of a timed index expire as the values of its first column do.  Those of others have no
 * reason to.
 */
static void
set_expiry(const WtIndex *x)
{
	WtTable *base = x->base;
	const WtColumn *first = &base->columns[x->source[x->table->keys[0]]];
	wide_table wt, own;
	wide_family *f, *mine;
	int64 ttl = 0;
	int n, m;

	if (wt_binding_find(base->relid, &wt) != WIDE_OK || wt_binding_find(x->relid, &own) != WIDE_OK)
		return;
	f = wt_binding_families(wt_batch(true), wt.id, &n);
	for (int i = 0; i < n; i++)
		if (x->timed && x->map < 0 && first->role == WT_CELL && f[i].opt.min_versions == 0 &&
			strcmp(f[i].name, base->families[first->family].name) == 0)
			ttl = f[i].opt.ttl_us;
	mine = wt_binding_families(wt_batch(true), own.id, &m);
	for (int i = 0; i < m; i++)
		if (mine[i].opt.ttl_us != ttl)
		{
			mine[i].opt.ttl_us = ttl;
			wt_error_check(wide_batch_alter_family(wt_batch(true), mine[i].id, &mine[i].opt),
						   "could not alter an index");
		}
}

/* Builds the index with this oid. */
static void
build(Oid relid)
{
	WtIndex *x = wt_index(relid);

	if (x == NULL)
		elog(ERROR, "index %u is not found by its table", relid);
	set_expiry(x);
	wt_index_build(x);
}

/* CREATE. */
static void
create(WtTable *index)
{
	Oid base = index->indexed;
	wide_table wt;

	if (!wt_owns_table(base))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE, get_rel_name(base));
	wt_index_check(index, wt_table(base));
	if (wt_binding_find(index->relid, &wt) != WIDE_OK)
		elog(ERROR, "index \"%s\" is not stored", get_rel_name(index->relid));
	lock_writers_out(base);
	state_name(index, base);
	record_dependencies(index, wt_table(base));
	CommandCounterIncrement();
	invalidate(base);
	CommandCounterIncrement();
	build(index->relid);
}

/* ------------------------------------------------------------------- ALTER */

/* Returns true if both definitions of an index, or of a table as far as an index reads it, mean the
 * same columns. */
static bool
same_columns(const WtTable *a, const WtTable *b)
{
	if (a->natts != b->natts || a->nkeys != b->nkeys || a->unique != b->unique ||
		a->declared != b->declared)
		return false;
	for (int i = 0; i < a->natts; i++)
	{
		const WtColumn *x = &a->columns[i], *y = &b->columns[i];

		if (x->role != y->role || x->enc != y->enc || x->typid != y->typid || x->part != y->part ||
			x->desc != y->desc || x->source_is != y->source_is ||
			(x->source != NULL && y->source != NULL && strcmp(x->source, y->source) != 0) ||
			!wt_bytes_equal(x->qual, x->qual_len, y->qual, y->qual_len) ||
			(x->family >= 0) != (y->family >= 0) ||
			(x->family >= 0 &&
			 strcmp(a->families[x->family].name, b->families[y->family].name) != 0))
			return false;
	}
	return true;
}

static void
alter_index(WtTable *index)
{
	WtTable *before = wt_definition_before(index->relid);

	if (before == NULL || !same_columns(before, index) || before->indexed != index->indexed)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change what index \"%s\" has", get_rel_name(index->relid)),
				 errhint("Drop the index, and create another one.")));
	wt_index_check(index, wt_table(index->indexed));
	invalidate(index->indexed);
}

/* Returns true if the families of a definition say something else about which values are shown. */
static bool
same_families(const WtTable *a, const WtTable *b)
{
	if (a->nfamilies != b->nfamilies)
		return false;
	for (int i = 0; i < a->nfamilies; i++)
	{
		const WtFamily *x = &a->families[i], *y = &b->families[i];

		if (strcmp(x->name, y->name) != 0 || x->stated != y->stated ||
			x->opt.versions != y->opt.versions || x->opt.ttl_us != y->opt.ttl_us ||
			x->opt.min_versions != y->opt.min_versions ||
			x->opt.keep_deleted != y->opt.keep_deleted)
			return false;
	}
	return true;
}

/* Returns: option index_of of a foreign table; NULL: there is none.  Parses nothing. */
static char *
index_of(Oid relid)
{
	DefElem *def = wt_catalog_option_find(GetForeignTable(relid)->options, "index_of");

	return def != NULL ? defGetString(def) : NULL;
}

/* Columns of the table were renamed: those of the index name them by their new names. */
static void
follow_columns(const WtTable *before, TupleDesc after, Oid relid)
{
	static const char *const options[] = {"qualifier_of", "value_of", "column_of"};
	Relation rel = relation_open(relid, AccessShareLock);
	TupleDesc desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);
		const char *option = "column_of", *source = NameStr(a->attname);
		List *stated = a->attisdropped ? NIL : GetForeignColumnOptions(relid, i + 1);

		for (int o = 0; o < (int) lengthof(options); o++)
			if (wt_catalog_option_find(stated, options[o]) != NULL)
			{
				option = options[o];
				source = defGetString(wt_catalog_option_find(stated, option));
			}
		for (int k = 0; k < Min(before->natts, after->natts) && !a->attisdropped; k++)
		{
			Form_pg_attribute b = TupleDescAttr(after, k);

			if (!b->attisdropped && before->columns[k].role != WT_DROPPED &&
				strcmp(before->columns[k].name, source) == 0 &&
				strcmp(NameStr(b->attname), source) != 0)
			{
				wt_catalog_option_set_column(relid, i + 1, option, NameStr(b->attname));
				break;
			}
		}
	}
	relation_close(rel, NoLock);
}

/* Before the tables of a command are defined: indexes of those that were renamed, or whose columns
 * were, name them by their new names, so that they parse. */
static void
follow_names(List *relids)
{
	ListCell *lc, *lc2;

	foreach(lc, relids)
	{
		Oid base = lfirst_oid(lc);
		List *indexes = get_rel_relkind(base) == RELKIND_FOREIGN_TABLE ? wt_index_oids(base) : NIL;
		WtTable *before = indexes != NIL ? wt_definition_before(base) : NULL;

		foreach(lc2, indexes)
		{
			char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(base)),
													get_rel_name(base)),
				 *stated = index_of(lfirst_oid(lc2));
			Relation rel;

			if (stated == NULL)
				continue;
			if (before != NULL)
			{
				rel = relation_open(base, AccessShareLock);
				follow_columns(before, CreateTupleDescCopy(RelationGetDescr(rel)), lfirst_oid(lc2));
				relation_close(rel, NoLock);
			}
			if (strcmp(stated, name) != 0)
				wt_catalog_option_set_table(lfirst_oid(lc2), "index_of", name);
		}
	}
}

/* A command has changed the definition of a table that may have indexes. */
static void
alter_base(WtTable *t)
{
	List *all = NIL;
	WtTable *before;
	ListCell *lc;

	foreach(lc, tables_on(t->relid))
		all = list_concat_unique_oid(all, wt_index_oids(lfirst_oid(lc)));
	if (all == NIL)
		return;
	before = wt_definition_before(t->relid);
	if (before != NULL && same_columns(before, t) && same_families(before, t) &&
		before->existence_projected == t->existence_projected)
	{
		invalidate(t->relid);
		return;
	}
	lock_writers_out(t->relid);
	invalidate(t->relid);
	CommandCounterIncrement();
	foreach(lc, all)
	{
		char *name = index_of(lfirst_oid(lc));

		if (name == NULL)
			continue;
		/* from now on older snapshots do not use it: their entries are gone */
		wt_catalog_option_set_table(lfirst_oid(lc), "index_of", name);
		build(lfirst_oid(lc));
	}
}

/* At the end of a command that defines a foreign table. */
static void
defined(Oid relid)
{
	WtTable *t = wt_table(relid);

	if (t->index_of == NULL)
	{
		if (t->engine == NULL)
			alter_base(t);
	}
	else if (list_member_oid(wt_index_oids(t->indexed), relid))
		alter_index(t);
	else
		create(t);
}

void
wt_index_ddl_truncated(wide_table_id id)
{
	ListCell *lc;

	foreach(lc, wt_index_list_stored(id))
	{
		WtIndex *x = lfirst(lc);
		WtEngineTable e;

		LockRelationOid(x->relid, AccessExclusiveLock);
		wt_stored_table_begin_empty(x->relid);
		if (wt_engine_table(x->table, false, &e))
			wt_error_check(wide_batch_truncate_table(wt_batch(true), e.table),
						   "could not empty an index");
	}
	/* families of the emptied tables have new ids */
	wt_derive_rest();
	wt_derive_forget();
}

void
wt_index_ddl_init(void)
{
	wt_event_trigger_on_define(follow_names, defined);
}

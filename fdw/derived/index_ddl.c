/*
 * index_ddl.c
 *		What commands that define tables mean to indexes and roll-ups.
 *
 * CREATE FOREIGN TABLE with option index_of or rollup_of builds the index or roll-up in its
 * transaction, or has an index built after it, and ALTER FOREIGN TABLE that changes what its
 *columns are builds it anew.  The catalogs get a dependency on the table and on its columns: with
 *one of these, PostgreSQL drops it, and pg_dump writes it behind its table.
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
#include "commands/event_trigger.h"
#include "commands/tablecmds.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "pgtime.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "fdw/ddl/binding.h"
#include "fdw/ddl/catalog_option.h"
#include "fdw/ddl/ddl_lock.h"
#include "fdw/ddl/definition_before.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/ddl/event_trigger.h"
#include "fdw/ddl/stored_table.h"
#include "fdw/derived/as_owner.h"
#include "fdw/derived/dependency.h"
#include "fdw/derived/index.h"
#include "fdw/derived/index_build.h"
#include "fdw/derived/online_build.h"
#include "fdw/derived/rename.h"
#include "fdw/derived/rollup_build.h"
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

/* Writes option index_of or rollup_of with the table's present name and schema; also if it has them
 * already, so that older snapshots do not use what is built anew (WtIndex.made). */
static void
state_name(WtTable *index, Oid base)
{
	bool rollup = index->rollup_of != NULL;
	char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(base)),
											get_rel_name(base));

	wt_catalog_option_set_table(index->relid, rollup ? "rollup_of" : "index_of", name);
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

/* Builds the index or roll-up with this oid. */
static void
build(Oid relid)
{
	WtTable *t = wt_table_unlocked(relid);
	WtIndex *x = wt_index(relid);
	WtRollup *r = x == NULL ? wt_index_rollup(relid) : NULL;
	WtAsOwner saved;

	if (x == NULL && r == NULL)
		elog(ERROR, "index %u is not found by its table", relid);
	if (x != NULL)
		set_expiry(x);
	saved = wt_as_owner_begin(t->owner, true);
	if (x != NULL)
		wt_index_build(x);
	else
		wt_rollup_build(r);
	wt_as_owner_end(&saved);
	/* its builder finds nothing left to do */
	if (t->progress != NULL)
		wt_catalog_option_drop_table(relid, "progress");
	if (t->failed != NULL)
		wt_catalog_option_drop_table(relid, "failed");
}

/* CREATE of a roll-up: checks it, and records what it depends on. */
static void
create_rollup(WtTable *t)
{
	Relation rel = relation_open(t->source, AccessShareLock);
	WtRollup *r = wt_rollup_make(t, wt_table(t->source), rel, false, NULL);

	state_name(t, t->source);
	wt_rename_state_expressions(r);
	wt_dependency_record_rollup(r);
	relation_close(rel, NoLock);
}

/* Empties the stored table of an index or a roll-up. */
static void
empty(Oid relid, WtTable *t)
{
	WtEngineTable e;

	LockRelationOid(relid, AccessExclusiveLock);
	wt_stored_table_begin_empty(relid);
	if (wt_engine_table(t, false, &e))
		wt_error_check(wide_batch_truncate_table(wt_batch(true), e.table),
					   "could not empty an index or a roll-up");
}

/* The index or roll-up is built after the commit. */
static void
begin_online(WtTable *t)
{
	if (!t->build_online)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("option \"progress\" is set while an index or a roll-up is built online")));
	if (t->rollup_of != NULL)
		wt_rollup_build_empty(wt_index_rollup(t->relid));
	else
	{
		empty(t->relid, t);
		wt_derive_forget();
		set_expiry(wt_index(t->relid));
	}
	wt_catalog_option_set_table(t->relid, "progress", "");
	if (t->failed != NULL)
		wt_catalog_option_drop_table(t->relid, "failed");
	wt_online_build_at_commit(t->relid);
}

/* A restore of a dump defines the index in several commands, see wt_index_is_complete().  These
 * switch check_function_bodies off, because what they define may not be complete yet. */
static bool
will_be_completed(WtTable *t, WtTable *base)
{
	const char *missing;
	bool complete = t->index_of != NULL ? wt_index_is_complete(t, base)
										: wt_rollup_is_complete(t, base, &missing);

	if (!complete && t->rollup_of != NULL && check_function_bodies)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("column \"%s\" of a roll-up needs option \"aggregate\", or \"expr\"",
						missing),
				 errhint("Columns in option \"key\" are groups, the others have aggregates.")));
	return !complete && !check_function_bodies;
}

/*
 * Adds columns for those of the table's key that the index has none of: an entry has the key of its
 * row.  Returns: the index with them.
 */
static WtTable *
add_key_columns(WtTable *index, WtTable *base)
{
	List *cmds = NIL;

	for (int part = 0; part < base->nkeys; part++)
	{
		const WtColumn *b = wt_key_column(base, part);
		AlterTableCmd *cmd;

		if (wt_lookup_column_of(index, b->name) != NULL)
			continue;
		cmd = makeNode(AlterTableCmd);
		cmd->subtype = AT_AddColumn;
		cmd->def = (Node *) makeColumnDef(b->name, OidIsValid(b->domain) ? b->domain : b->typid,
										  b->typmod, b->collation);
		cmds = lappend(cmds, cmd);
	}
	if (cmds == NIL)
		return index;
	EventTriggerAlterTableStart((Node *) makeNode(AlterTableStmt));
	AlterTableInternal(index->relid, cmds, false);
	EventTriggerAlterTableEnd();
	CommandCounterIncrement();
	return wt_table(index->relid);
}

/* The index is new, or has other columns than before. */
static void
create(WtTable *index)
{
	Oid base = index->source;
	bool partly = will_be_completed(index, wt_table(base));
	wide_table wt;

	if (!wt_owns_table(base))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE, get_rel_name(base));
	if (index->index_of != NULL && !partly)
	{
		index = add_key_columns(index, wt_table(base));
		wt_index_check(index, wt_table(base));
	}
	if (wt_binding_find(index->relid, &wt) != WIDE_OK)
		elog(ERROR, "index \"%s\" is not stored", get_rel_name(index->relid));
	lock_writers_out(base);
	if (index->index_of != NULL)
	{
		state_name(index, base);
		wt_dependency_record_index(index, wt_table(base));
	}
	else if (partly)
		wt_dependency_record_table(index);
	else
		create_rollup(index);
	CommandCounterIncrement();
	invalidate(base);
	CommandCounterIncrement();
	if (partly)
		return;
	if (index->build_online || index->progress != NULL)
		begin_online(index);
	else
		build(index->relid);
}

/* ------------------------------------------------------------------- ALTER */

/* Returns true if both definitions of an index, or of a table as far as an index reads it, mean the
 * same columns. */
static bool
same_columns(const WtTable *a, const WtTable *b)
{
	if ((a->progress == NULL) != (b->progress == NULL) ||
		(a->progress != NULL && strcmp(a->progress, b->progress) != 0))
		return false;
	if (a->follow_ttl != b->follow_ttl || (a->timezone == NULL) != (b->timezone == NULL) ||
		(a->timezone != NULL && strcmp(a->timezone, b->timezone) != 0))
		return false;
	if (a->natts != b->natts || a->nkeys != b->nkeys || a->unique != b->unique ||
		a->cell_ttl != b->cell_ttl || a->declared != b->declared)
		return false;
	for (int i = 0; i < a->natts; i++)
	{
		const WtColumn *x = &a->columns[i], *y = &b->columns[i];

		if (x->role != y->role || x->enc != y->enc || x->typid != y->typid || x->part != y->part ||
			x->desc != y->desc || x->source_is != y->source_is ||
			(x->source != NULL && y->source != NULL && strcmp(x->source, y->source) != 0) ||
			x->rollup != y->rollup || (x->expr == NULL) != (y->expr == NULL) ||
			(x->expr != NULL && strcmp(x->expr, y->expr) != 0) ||
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

	if (before == NULL || before->source != index->source)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change which table \"%s\" is of", get_rel_name(index->relid)),
				 errhint("Drop it, and create another one.")));
	if (!same_columns(before, index) && !wt_rename_restated(index->relid))
		create(index); /* anew */
	else if (index->index_of != NULL)
		wt_index_check(index, wt_table(index->source));
	/* its reason to fail may be gone */
	if (index->progress != NULL && index->failed == NULL)
		wt_online_build_at_commit(index->relid);
	invalidate(index->source);
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

/* The table has another owner: so do its indexes and roll-ups. */
static void
follow_owner(WtTable *t)
{
	ListCell *lc;

	foreach(lc, wt_dependency_find(t->relid))
		ATExecChangeOwner(lfirst_oid(lc), t->owner, true, AccessExclusiveLock);
	CommandCounterIncrement();
}

/* A command has changed the definition of a table that may have indexes. */
static void
alter_base(WtTable *t)
{
	List *all = NIL;
	WtTable *before;
	ListCell *lc;

	foreach(lc, tables_on(t->relid))
		all = list_concat_unique_oid(all, wt_dependency_find(lfirst_oid(lc)));
	if (all == NIL)
		return;
	before = wt_definition_before(t->relid);
	if (before != NULL && before->owner != t->owner)
		follow_owner(t);
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
		DefElem *name = wt_dependency_option(lfirst_oid(lc));

		if (name == NULL)
			continue;
		/* from now on older snapshots do not use it: their entries are gone */
		wt_catalog_option_set_table(lfirst_oid(lc), name->defname, defGetString(name));
		build(lfirst_oid(lc));
	}
}

/* Errors: 0A000 if the command makes an index or a roll-up of a table, whose rows would be lost, or
 * the other way round. */
static void
check_kind(WtTable *t)
{
	WtTable *before = wt_definition_before(t->relid);

	if (before != NULL && ((before->index_of != NULL) != (t->index_of != NULL) ||
						   (before->rollup_of != NULL) != (t->rollup_of != NULL)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg(wt_is_derived(t) ? "cannot make table \"%s\" an index or a roll-up"
										 : "cannot make \"%s\" a table of its own",
						get_rel_name(t->relid)),
				 errhint("Options \"index_of\" and \"rollup_of\" are given by CREATE FOREIGN "
						 "TABLE alone.")));
}

/* At the end of a command that defines a foreign table. */
static void
defined(Oid relid)
{
	WtTable *t = wt_table(relid);

	check_kind(t);
	if (!wt_is_derived(t))
	{
		if (t->engine == NULL)
			alter_base(t);
	}
	else if (wt_dependency_is_recorded(t))
		alter_index(t);
	else
		create(t);
}

/* At the beginning of a command. */
static void
begun(const Node *stmt)
{
	/* a new table changes nothing of the others; pg_upgrade defines tables in several steps */
	if (!IsBinaryUpgrade && (stmt == NULL || !IsA(stmt, CreateForeignTableStmt)))
		wt_dependency_restore();
	wt_rename_begin(stmt);
	if (stmt != NULL && IsA(stmt, AlterTableStmt))
		wt_dependency_check_alter((const AlterTableStmt *) stmt);
}

void
wt_index_ddl_truncated(wide_table_id id)
{
	ListCell *lc;

	foreach(lc, wt_index_list_stored(id))
		empty(((WtIndex *) lfirst(lc))->relid, ((WtIndex *) lfirst(lc))->table);
	foreach(lc, wt_index_rollups_stored(id))
		empty(((WtRollup *) lfirst(lc))->relid, ((WtRollup *) lfirst(lc))->table);
	/* families of the emptied tables have new ids */
	wt_derive_rest();
	wt_derive_forget();
}

void
wt_index_ddl_init(void)
{
	wt_event_trigger_on_define(begun, wt_rename_end, defined);
}

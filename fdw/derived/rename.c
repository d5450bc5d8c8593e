/*
 * rename.c
 *		Names in the options of indexes and roll-ups, which follow renames.
 */
#include "postgres.h"

#include "fdw/derived/rename.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pgtime.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "fdw/ddl/catalog_option.h"
#include "fdw/ddl/definition_before.h"
#include "fdw/derived/attempt.h"
#include "fdw/derived/dependency.h"
#include "fdw/derived/index.h"
#include "fdw/store/compat.h"
#include "fdw/table/table.h"

/* Writes the expressions as they are called now.  Returns true if one is called otherwise. */
static bool
write_expressions(const WtRollup *r)
{
	bool changed = false;

	for (int i = 0; i < r->n; i++)
	{
		const WtColumn *c = &r->table->columns[r->columns[i].column];
		const char *option = c->rollup == WT_ROLLUP_GROUP ? "expr" : "aggregate";
		DefElem *old = wt_catalog_option_find(GetForeignColumnOptions(r->relid, c->attno), option);
		char *text = wt_rollup_option(r, &r->columns[i]);

		if (old != NULL && strcmp(defGetString(old), text) == 0)
			continue;
		wt_catalog_option_set_column(r->relid, c->attno, option, text);
		changed = true;
	}
	return changed;
}

void
wt_rename_state_expressions(const WtRollup *r)
{
	(void) write_expressions(r);
	if (r->zoned && r->table->timezone == NULL)
		wt_catalog_option_set_table(r->relid, "timezone", pg_get_timezone_name(r->zone));
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

/* Columns of the table may have been renamed: the expressions of the roll-up name them by their new
 * names. */
static void
follow_expressions(WtTable *before, Relation rel, Oid relid)
{
	bool renamed = false;

	for (int i = 0; i < Min(before->natts, RelationGetDescr(rel)->natts); i++)
	{
		Form_pg_attribute a = TupleDescAttr(RelationGetDescr(rel), i);

		renamed |= !a->attisdropped && before->columns[i].role != WT_DROPPED &&
				   strcmp(before->columns[i].name, NameStr(a->attname)) != 0;
	}
	if (renamed)
		/* what the options of the table say now may not parse yet */
		wt_rename_state_expressions(wt_rollup_make(wt_table(relid), before, rel, true, before));
}

/* What an unfinished command may rename: roll-ups, with their expressions as they were parsed
 * before it, and those whose text has changed. */
static struct
{
	LocalTransactionId xact; /* in which this is */
	List *parsed;			 /* WtRollup */
	List *restated;			 /* oids */
} unfinished;

/* Returns true if the command may rename what expressions name, other than tables and columns.  It
 * does not if the statement of the user is one of these; others, as DO, may run any command. */
static bool
may_rename(const Node *stmt)
{
	if (stmt == NULL)
		return true;
	if (IsA(stmt, RenameStmt))
		return ((const RenameStmt *) stmt)->renameType != OBJECT_FOREIGN_TABLE &&
			   ((const RenameStmt *) stmt)->renameType != OBJECT_COLUMN;
	return !IsA(stmt, AlterTableStmt) && !IsA(stmt, CreateForeignTableStmt) &&
		   !IsA(stmt, DropStmt) && !IsA(stmt, DropOwnedStmt) && !IsA(stmt, AlterFunctionStmt) &&
		   !IsA(stmt, AlterOwnerStmt);
}

/* Parses the roll-up, and keeps it. */
static void
parse(void *arg)
{
	const WtTable *t = arg;
	MemoryContext old;
	WtRollup *r;

	/* against commands that drop the table meanwhile */
	LockRelationOid(t->source, AccessShareLock);
	r = wt_table_is_ours(t->source) && wt_table_is_ours(t->relid) ? wt_index_rollup(t->relid)
																  : NULL;
	if (r == NULL)
		return;
	old = MemoryContextSwitchTo(TopTransactionContext);
	unfinished.parsed = lappend(unfinished.parsed, r);
	MemoryContextSwitchTo(old);
}

void
wt_rename_begin(const Node *stmt)
{
	ListCell *lc;

	/* what an earlier transaction has left is gone */
	memset(&unfinished, 0, sizeof(unfinished));
	unfinished.xact = wt_my_lxid;
	if (!may_rename(stmt) || IsBinaryUpgrade)
		return;
	foreach(lc, wt_dependency_all())
	{
		WtTable *t = wt_table_is_ours(lfirst_oid(lc)) ? wt_table_unlocked(lfirst_oid(lc)) : NULL;

		/* one that cannot be parsed does not follow: the command may be the one that gives
		 * something the name back that it says.  Of others the command waits for no lock. */
		if (t != NULL && t->rollup_of != NULL && wt_dependency_names_others(t->relid))
			(void) wt_attempt(parse, t);
	}
}

bool
wt_rename_restated(Oid relid)
{
	return unfinished.xact == wt_my_lxid && list_member_oid(unfinished.restated, relid);
}

/* Functions and others may have been renamed: the expressions of all roll-ups name them by their
 * new names. */
static void
follow_others(void)
{
	List *parsed = unfinished.xact == wt_my_lxid ? unfinished.parsed : NIL;
	MemoryContext old;
	ListCell *lc;

	unfinished.parsed = NIL;
	foreach(lc, parsed)
	{
		const WtRollup *r = lfirst(lc);

		if (get_rel_relkind(r->relid) != RELKIND_FOREIGN_TABLE || !write_expressions(r))
			continue;
		old = MemoryContextSwitchTo(TopTransactionContext);
		unfinished.restated = lappend_oid(unfinished.restated, r->relid);
		MemoryContextSwitchTo(old);
	}
}

void
wt_rename_end(List *relids)
{
	ListCell *lc, *lc2;

	foreach(lc, relids)
	{
		Oid base = lfirst_oid(lc);
		List *indexes = get_rel_relkind(base) == RELKIND_FOREIGN_TABLE ? wt_dependency_find(base)
																	   : NIL;
		WtTable *before = indexes != NIL ? wt_definition_before(base) : NULL;

		foreach(lc2, indexes)
		{
			char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(base)),
													get_rel_name(base));
			DefElem *stated = wt_dependency_option(lfirst_oid(lc2));
			Relation rel;

			if (stated == NULL)
				continue;
			if (strcmp(defGetString(stated), name) != 0)
				wt_catalog_option_set_table(lfirst_oid(lc2), stated->defname, name);
			if (before == NULL)
				continue;
			rel = relation_open(base, AccessShareLock);
			if (strcmp(stated->defname, "index_of") == 0)
				follow_columns(before, CreateTupleDescCopy(RelationGetDescr(rel)), lfirst_oid(lc2));
			else
				follow_expressions(before, rel, lfirst_oid(lc2));
			relation_close(rel, NoLock);
		}
	}
	follow_others();
}

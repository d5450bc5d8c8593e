/*
 * stored_table.c
 *		Makes the engine's table, the stored table, agree with the definition of the
 *		foreign table: creates it, binds the foreign table to it, renames it, creates,
 *		changes and drops families; removes stored tables that nothing uses any more.
 *
 * All of it are operations of the transaction's batch and roll back with it.
 *
 * Privileges: PostgreSQL has checked the command.  share.c checks names.
 *
 * Locking: see ddl_lock.h.  The definitions of other foreign tables on the stored table are
 * read under its lock.
 */
#include "postgres.h"

#include "fdw/ddl/stored_table.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "engine/wide.h"
#include "fdw/ddl/alter.h"
#include "fdw/ddl/binding.h"
#include "fdw/ddl/catalog_option.h"
#include "fdw/ddl/database.h"
#include "fdw/ddl/ddl_lock.h"
#include "fdw/ddl/definition_before.h"
#include "fdw/ddl/merge_family.h"
#include "fdw/ddl/quota.h"
#include "fdw/ddl/share.h"
#include "fdw/store/background_process.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/store/upgrade.h"
#include "fdw/table/engine.h"
#include "fdw/table/family_option.h"
#include "fdw/table/lookup.h"
#include "fdw/table/marker.h"
#include "fdw/table/table.h"
#include "fdw/table/table_name.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"

#define ORPHANS_EVERY_S 10 /* between searches for what was dropped unseen */

/* ------------------------------------------------------- family options */

/* Sets in *opt the options whose bits are given, as from has them.  Returns: true if that changes
 * something. */
static bool
merge_options(uint32 bits, const wide_family_options *from, wide_family_options *opt)
{
	wide_family_options before = *opt;

#define TAKE(bit, field)              \
	do                                \
	{                                 \
		if (bits & (bit))             \
			opt->field = from->field; \
	} while (0)
	TAKE(WT_FAM_VERSIONS, versions);
	TAKE(WT_FAM_MIN_VERSIONS, min_versions);
	TAKE(WT_FAM_TTL, ttl_us);
	TAKE(WT_FAM_KEEP_DELETED, keep_deleted);
	TAKE(WT_FAM_BLOOM, bloom);
	TAKE(WT_FAM_BLOOM, bloom_prefix);
	TAKE(WT_FAM_BLOCK_SIZE, block_size);
	TAKE(WT_FAM_COMPRESSION, compression);
	TAKE(WT_FAM_COMPRESSION, compression_level);
	TAKE(WT_FAM_IN_MEMORY, in_memory);
	TAKE(WT_FAM_COMPACTION, compaction);
	TAKE(WT_FAM_COMPACTION, window_us);
	TAKE(WT_FAM_MERGE, merge);
#undef TAKE
	return memcmp(&before, opt, sizeof(before)) != 0;
}

/* Returns: the bit of the first option that both state, with different values; 0: there is none. */
static uint32
contradiction(const WtFamily *a, const WtFamily *b)
{
	for (uint32 bit = 1; bit <= WT_FAM_MERGE; bit <<= 1)
	{
		wide_family_options opt = a->opt;

		if ((a->stated & b->stated & bit) && merge_options(bit, &b->opt, &opt))
			return bit;
	}
	return 0;
}

/* Errors: 42P16 if another foreign table on the stored table states other options for the family.
 */
static void
check_contradiction(WtTable *t, wide_table_id id, const WtFamily *f)
{
	ListCell *lc;

	foreach(lc, wt_binding_others(id, t->relid))
	{
		WtTable *other = wt_table_unlocked(lfirst_oid(lc));
		int k = other ? wt_lookup_family(other, f->name) : -1;
		const WtFamily *theirs = k < 0 ? NULL : &other->families[k];
		uint32 option = k < 0 ? 0 : contradiction(f, theirs);

		if (option == 0)
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("family \"%s\" is defined differently by foreign table \"%s\"",
						f->name, get_rel_name(other->relid)),
				 errdetail("Option \"%s\" is %s here and %s there. Both show the same stored "
						   "table \"%s\".",
						   wt_family_option_name(option),
						   wt_family_option_text(option, &f->opt),
						   wt_family_option_text(option, &theirs->opt),
						   t->table_name),
				 errhint("Remove the option from one of the two.")));
	}
}

/* Errors: 2BP01 if another foreign table on the stored table has columns or options of the family.
 */
static void
check_unused(WtTable *t, wide_table_id id, const char *family)
{
	ListCell *lc;

	foreach(lc, wt_binding_others(id, t->relid))
	{
		WtTable *other = wt_table_unlocked(lfirst_oid(lc));
		int k = other ? wt_lookup_family(other, family) : -1;

		if (k >= 0 && !(other->cells_layout && other->families[k].implicit))
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("cannot drop family \"%s\" because foreign table \"%s\" uses it",
							family,
							get_rel_name(other->relid)),
					 errdetail("Both show the same stored table \"%s\".", t->table_name),
					 errhint("Drop its columns of the family, and the family in its option "
							 "\"families\", first.")));
	}
}

/* Returns: true if option "families" drops the family (has null for it). */
static bool
states_drop(WtTable *t, const char *family)
{
	for (int i = 0; i < t->ndropped; i++)
		if (strcmp(t->dropped[i], family) == 0)
			return true;
	return false;
}

static void
alter_family(WtTable *t, wide_batch *b, const wide_family *old, const wide_family_options *opt)
{
	wide_status st;
	char *space = RelationIsVisible(t->relid) ? NULL
											  : get_namespace_name(get_rel_namespace(t->relid));

	wt_ddl_lock_stored_table(old->table, AccessExclusiveLock);
	st = wide_batch_alter_family(b, old->id, opt);
	if (st == WIDE_FULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("too many changes of family \"%s\" of foreign table \"%s\" since its last "
						"compaction",
						old->name,
						get_rel_name(t->relid)),
				 errdetail("%d changes of versions, min_versions, ttl or keep_deleted are "
						   "remembered, because they decide which data that was written before "
						   "them is visible.",
						   WIDE_MAX_CHANGES),
				 errhint("Run SELECT widetable.compact(%s) when no transaction is open that began "
						 "before these changes, and try again.",
						 quote_literal_cstr(quote_qualified_identifier(space,
																	   get_rel_name(t->relid))))));
	wt_error_check(st, "could not alter a family");
}

/* Creates the family, or alters the old one if options differ.  Returns: true if it has created it.
 */
static bool
sync_family(WtTable *t, wide_table_id id, const WtFamily *f, const wide_family *old)
{
	wide_batch *b = wt_batch(true);
	wide_family_options opt;
	wide_family_id fid;
	bool changed;

	if (old != NULL)
		opt = old->opt;
	else
		wide_family_defaults(&opt);
	changed = merge_options(f->stated & ~WT_FAM_MERGE, &f->opt, &opt);
	opt.merge = wt_merge_family_operator(t, f, old != NULL ? &old->opt : NULL);
	if (!changed && old != NULL)
		return false;
	wt_merge_family_check(f, &opt, old != NULL ? &old->opt : NULL);
	if (opt.min_versions > opt.versions)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("min_versions (%d) of family \"%s\" exceeds its versions (%d)",
						opt.min_versions, f->name, opt.versions)));
	check_contradiction(t, id, f);
	if (old != NULL)
	{
		alter_family(t, b, old, &opt);
		return false;
	}
	wt_error_check(wide_batch_create_family(b, id, f->name, &opt, &fid),
				   "could not create a family");
	return true;
}

static wide_family *
find_family(wide_family *families, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(families[i].name, name) == 0)
			return &families[i];
	return NULL;
}

/*
 * Creates, alters and drops the families.  before: the definition that the command has
 * changed, or NULL.  Only the command that adds the null of a family to option "families"
 * drops the family: the null stays in the option, and neither a later command nor a
 * restored dump may drop what another foreign table has created under that name since.
 * Returns: true if it has created a family.
 */
static bool
sync_families(WtTable *t, wide_table_id id, WtTable *before)
{
	int n;
	wide_family *have = wt_binding_families(wt_batch(true), id, &n);
	int total = n;
	bool created = false;

	for (int i = 0; i < t->nfamilies; i++)
	{
		const WtFamily *f = &t->families[i];
		wide_family *old = find_family(have, n, f->name);

		/* layout "cells" shows the families that exist; it needs no default family */
		if (old == NULL && f->implicit && t->cells_layout && n > 0)
			continue;
		if (old == NULL && ++total > WT_MAX_FAMILIES)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("a table has at most %d families", WT_MAX_FAMILIES),
					 errdetail("Stored table \"%s\" has %d, those of other foreign tables on it "
							   "included.",
							   t->table_name,
							   n)));
		created |= sync_family(t, id, f, old);
	}
	for (int i = 0; before != NULL && i < t->ndropped; i++)
	{
		wide_family *old = find_family(have, n, t->dropped[i]);

		if (old == NULL || states_drop(before, old->name))
			continue;
		check_unused(t, id, old->name);
		wt_ddl_lock_stored_table(id, AccessExclusiveLock);
		wt_error_check(wide_batch_drop_family(wt_batch(true), old->id), "could not drop a family");
	}
	pfree(have);
	return created;
}

/* -------------------------------------------------------------- one table */

/* Returns: the stored table's name for a foreign table without option table_name; NULL: the foreign
 * table does not exist any more. */
static char *
default_name(Oid relid)
{
	char *rel = get_rel_name(relid);
	char *schema = rel ? get_namespace_name(get_rel_namespace(relid)) : NULL;

	return schema ? wt_table_name_default(schema, rel) : NULL;
}

/* Returns: true if the stored table has the name that the foreign table gives it, in the form of
 * the first release perhaps. */
static bool
has_name(const wide_table *wt, const WtTable *t)
{
	if (wt_table_name_is(wt->name, t->table_name))
		return true;
	return !t->name_given &&
		   strcmp(wt->name,
				  wt_table_name_first_default(get_namespace_name(get_rel_namespace(t->relid)),
											  get_rel_name(t->relid))) == 0;
}

/*
 * Returns: true if the foreign table does not exist any more.  One that another transaction
 * is creating is not visible here, but that transaction holds a lock on it.
 */
static bool
binding_is_dead(Oid relid, bool wait)
{
	if (get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE)
		return false;
	if (wait)
		LockRelationOid(relid, AccessExclusiveLock);
	else if (!ConditionalLockRelationOid(relid, AccessExclusiveLock))
		return false;
	if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE)
		return true;
	UnlockRelationOid(relid, AccessExclusiveLock);
	return false;
}

/*
 * Unbinds foreign tables that do not exist any more; the stored table is dropped with the last
 * one.  Their locks are kept, because one may be the stored table's head (ddl_lock.h).
 * wait: also for a transaction that has just dropped one and is about to end.
 */
static void
drop_dead_bindings(wide_table_id id, bool wait)
{
	ListCell *lc;

	foreach(lc, wt_binding_tables(wt_batch(true), id))
		if (binding_is_dead(lfirst_oid(lc), wait))
			wt_error_check(wide_batch_unbind(wt_batch(true), id, lfirst_oid(lc)),
						   "could not drop a table");
}

/*
 * A command that ran with event triggers off in a session without the library has dropped a
 * foreign table unseen, and its stored table is still there.  That must not come back in a
 * new foreign table of the old name, which is why its name is checked at once.  All others
 * are searched for every ORPHANS_EVERY_S, dropped databases as well if the worker does not.
 */
static void
drop_orphans(const char *name)
{
	static TimestampTz last = 0;
	TimestampTz now = GetCurrentTimestamp();
	uint32 cursor = 0;
	wide_table wt;

	if (wt_binding_find_name(name, &wt) == WIDE_OK)
		drop_dead_bindings(wt.id, true);
	if (now - last < ORPHANS_EVERY_S * USECS_PER_SEC && now >= last)
		return;
	last = now;
	while (wide_table_next(wt_store_db(), NULL, &cursor, &wt) == WIDE_OK)
		if (wt.space == MyDatabaseId)
			drop_dead_bindings(wt.id, false);
	if (!wt_background_process_worker_responds())
		wt_stored_table_drop_lost(false);
}

/*
 * DROP DATABASE calls no code in a session without the library.  The stored tables are listed
 * before pg_database is read anew, so a table of a database that is created meanwhile is not
 * on the list.
 */
void
wt_stored_table_drop_lost(bool report)
{
	List *spaces = NIL;
	ListCell *lc, *lc2;
	uint32 cursor = 0;
	wide_table wt;

	/* a removal could not commit */
	if (wt_upgrade_is_prepared())
		return;
	while (wide_table_next(wt_store_db(), NULL, &cursor, &wt) == WIDE_OK)
		if (wt.space != MyDatabaseId)
			spaces = list_append_unique_oid(spaces, wt.space);
	if (spaces == NIL)
		return;
	AcceptInvalidationMessages();
	InvalidateCatalogSnapshot();
	foreach(lc, spaces)
	{
		if (SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(lfirst_oid(lc))))
			continue;
		foreach(lc2, wt_binding_stored_tables(lfirst_oid(lc)))
		{
			wide_table *lost = lfirst(lc2);

			if (report)
				ereport(LOG,
						(errmsg("widetable: removing table \"%s\" of a dropped database",
								lost->name)));
			wt_error_check(wide_batch_drop_table(wt_batch(true), lost->id),
						   "could not drop a table");
		}
	}
}

/*
 * wt has the name that a new foreign table wants.  If its own foreign tables have another
 * name now, for example because their schema was renamed, it is renamed after them.
 * Returns: true if it was renamed, and the name is free.
 * Errors: 55006 if that other name is in use.
 */
static bool
rename_outdated(wide_table *wt)
{
	ListCell *lc;
	char *name = NULL;
	wide_table other;

	foreach(lc, wt_binding_tables(wt_batch(true), wt->id))
	{
		WtTable *t = wt_table_unlocked(lfirst_oid(lc));

		if (t == NULL || t->name_given)
			return false;
		if (name == NULL)
			name = default_name(lfirst_oid(lc));
	}
	if (name == NULL || wt_table_name_is(wt->name, name))
		return false;
	wt_ddl_lock_name(name);
	if (wt_binding_find_name(name, &other) == WIDE_OK)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the name of stored table \"%s\" is in use by foreign table \"%s\"",
						wt->name,
						name),
				 errhint("Give the new foreign table another table_name.")));
	wt_error_check(wide_batch_rename_table(wt_batch(true), wt->id, name),
				   "could not rename the table");
	return true;
}

/* Errors: 55006 if the foreign table, or another one on the stored table, is an index or a roll-up:
 * its rows follow from those of another table alone. */
static void
check_not_derived(WtTable *t, wide_table_id id)
{
	ListCell *lc;
	bool derived = wt_is_derived(t);

	foreach(lc, wt_binding_others(id, t->relid))
	{
		WtTable *other = wt_table_unlocked(lfirst_oid(lc));

		derived |= other != NULL && wt_is_derived(other);
	}
	if (derived)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("an index or a roll-up shares stored table \"%s\" with no other foreign "
						"table",
						t->table_name)));
}

/*
 * Another foreign table begins to show the stored table.  Those that have given it their own
 * name state it from now on: it does not follow them any more when they are renamed, and a
 * superuser who restores a dump may only share a table by stating its name.
 */
static void
share(WtTable *t, wide_table *wt, bool defining)
{
	ListCell *lc;

	wt_share_check(t, wt->id);
	check_not_derived(t, wt->id);
	/* t may become the head */
	wt_ddl_lock_stored_table(wt->id, t->relid < wt_ddl_lock_head(wt->id)
										 ? AccessExclusiveLock
										 : ShareUpdateExclusiveLock);
	if (!defining)
		return;
	foreach(lc, wt_binding_tables(wt_batch(true), wt->id))
	{
		WtTable *other = wt_table_unlocked(lfirst_oid(lc));

		if (other != NULL && !other->name_given)
			wt_catalog_option_set_table(other->relid, "table_name",
										wt_table_name_canonical(wt->name));
	}
}

/* Finds or creates the stored table, and binds the foreign table to it. */
static void
bind_table(WtTable *t, wide_table *wt, bool defining)
{
	wide_batch *b = wt_batch(true);
	wide_status st;

	wt_database_note_origin(t->relid);
	/* from here on no other transaction creates, renames, drops or shares a table of that name */
	wt_ddl_lock_name(t->table_name);
	drop_orphans(t->table_name);
	st = wt_binding_find_name(t->table_name, wt);
	if (st == WIDE_OK && !t->name_given && rename_outdated(wt))
		st = WIDE_NOTFOUND;
	if (st == WIDE_OK)
		share(t, wt, defining);
	else if (st == WIDE_NOTFOUND)
	{
		memset(wt, 0, sizeof(*wt));
		wt_error_check(wide_batch_create_table(b, MyDatabaseId, t->table_name, &wt->id),
					   "could not create the table");
	}
	else
		wt_error_check(st, "could not find the table");
	wt_error_check(wide_batch_bind(b, wt->id, t->relid), "could not bind the foreign table");
}

/*
 * Finds the stored table of a foreign table that exists, and locks it.  If its name is not the
 * one that the foreign table gives it, both names are locked before.
 * Returns: as wt_binding_find().
 */
static wide_status
lock_bound_table(WtTable *t, wide_table *wt)
{
	wide_status st = wt_binding_find(t->relid, wt);
	bool named = st != WIDE_OK || has_name(wt, t);

	if (!named)
	{
		wt_ddl_lock_name(wt_table_name_canonical(wt->name));
		wt_ddl_lock_name(t->table_name);
	}
	if (st == WIDE_OK)
		wt_ddl_lock_stored_table(wt->id, ShareUpdateExclusiveLock);
	/* another transaction may have changed the number of its foreign tables */
	return st == WIDE_OK ? wt_binding_find(t->relid, wt) : st;
}

/*
 * The option table_name was changed, or the foreign table was renamed or moved to another
 * schema: a stored table that is named after it is renamed, so that the old name is free.
 * If that is impossible, because other foreign tables know it by its name or the new name
 * is in use, the option gets the name: a restored dump would put the rows elsewhere
 * otherwise.  That is done only in a command that defines the table; others do not write
 * catalogs.
 */
static void
rename_table(WtTable *t, wide_table *wt, bool defining)
{
	bool shared = wt->nbindings > 1;
	wide_table other;
	wide_status st = wt_binding_find_name(t->table_name, &other);

	if (st != WIDE_OK && st != WIDE_NOTFOUND)
		wt_error_check(st, "could not find the table");
	if (!shared && st == WIDE_NOTFOUND)
		wt_error_check(wide_batch_rename_table(wt_batch(true), wt->id, t->table_name),
					   "could not rename the table");
	else if (t->name_given)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot rename stored table \"%s\" to \"%s\"", wt->name, t->table_name),
				 shared ? errdetail("Several foreign tables show it.")
						: errdetail("A stored table of that name exists."),
				 errhint("Drop the foreign table and create it with the other table_name.")));
	else if (defining)
		wt_catalog_option_set_table(t->relid, "table_name", wt->name);
}

/* Warns if a column of one foreign table shows the marker of another one on the stored table. */
static void
warn_marker_shown(const WtTable *marking, const WtTable *showing)
{
	const WtColumn *c = wt_marker_shown_by(marking, showing);

	if (c != NULL)
		ereport(WARNING,
				(errmsg("column \"%s\" of foreign table \"%s\" shows the marker of foreign table "
						"\"%s\"",
						c->name, get_rel_name(showing->relid), get_rel_name(marking->relid)),
				 errdetail("INSERT of a row of NULLs into \"%s\" sets that cell to an empty value. "
						   "Both show the same stored table \"%s\".",
						   get_rel_name(marking->relid), marking->table_name),
				 errhint("Set option \"marker\" of foreign table \"%s\" to \"off\".",
						 get_rel_name(marking->relid))));
}

/* Does so for this foreign table and each other one, in both directions. */
static void
check_markers(WtTable *t, wide_table_id id)
{
	ListCell *lc;

	foreach(lc, wt_binding_others(id, t->relid))
	{
		WtTable *other = wt_table_unlocked(lfirst_oid(lc));

		if (other == NULL)
			continue;
		warn_marker_shown(t, other);
		warn_marker_shown(other, t);
	}
}

/* The same for a table of another engine.  Renamed columns and tables keep what they show. */
static void
define_elsewhere(Relation rel, WtTable *before)
{
	WtTable *t;

	if (before != NULL)
		wt_alter_record_renames(before, CreateTupleDescCopy(RelationGetDescr(rel)));
	t = wt_table_parse(rel);
	if (before != NULL && !before->name_given && !t->name_given &&
		strcmp(before->table_name, t->table_name) != 0)
	{
		wt_catalog_option_set_table(t->relid, "table_name", before->table_name);
		t = wt_table_parse(rel);
	}
	if (before != NULL && wt_alter_record_cells(before, t))
		t = wt_table_parse(rel);
	if (wt_alter_record_families(before, t))
		t = wt_table_parse(rel);
	if (before != NULL && before->engine == t->engine &&
		strcmp(before->table_name, t->table_name) == 0)
		wt_alter_check(before, t, 0);
	t->engine->define(t, before == NULL);
}

void
wt_stored_table_define(Oid relid, bool defining)
{
	WtTable *before = defining ? wt_definition_before(relid) : NULL;
	Relation rel;
	WtTable *t;
	wide_table wt;
	wide_status st;
	bool added;

	rel = relation_open(relid, AccessShareLock);
	if (wt_table_engine(relid) != NULL)
	{
		define_elsewhere(rel, before);
		relation_close(rel, NoLock);
		return;
	}
	if (before)
		wt_alter_record_renames(before, CreateTupleDescCopy(RelationGetDescr(rel)));
	t = wt_table_parse(rel);
	if (before && wt_alter_record_cells(before, t))
		t = wt_table_parse(rel);
	if (defining && wt_alter_record_families(before, t))
		t = wt_table_parse(rel);

	wt_batch_command_ddl();
	if (before == NULL || strcmp(before->table_name, t->table_name) != 0)
		wt_share_check_name(t, defining ? GetUserId() : wt_share_owner(relid));
	st = lock_bound_table(t, &wt);
	if (st == WIDE_NOTFOUND)
	{
		if (before != NULL || !defining)
			wt_database_check_copied(relid);
		bind_table(t, &wt, defining);
	}
	else
	{
		wt_error_check(st, "could not find the table");
		if (before)
			wt_alter_check(before, t, wt.id);
		if (!has_name(&wt, t))
			rename_table(t, &wt, defining);
	}
	wt_alter_check_same_key(t, wt.id);
	if (defining)
		check_markers(t, wt.id);
	added = st == WIDE_NOTFOUND;
	added |= sync_families(t, wt.id, before);
	if (added || (before != NULL && before->owner != t->owner))
		wt_quota_check(t->owner);
	relation_close(rel, NoLock);
}

void
wt_stored_table_begin_empty(Oid relid)
{
	Relation rel;
	WtTable *t;
	wide_table wt;

	if (!wt_database_is_uncopied(relid) || wt_binding_find(relid, &wt) != WIDE_NOTFOUND)
		return;
	rel = relation_open(relid, AccessShareLock);
	t = wt_table_parse(rel);
	wt_batch_command_ddl();
	bind_table(t, &wt, false);
	wt_alter_check_same_key(t, wt.id);
	(void) sync_families(t, wt.id, NULL);
	wt_quota_check(t->owner);
	relation_close(rel, NoLock);
}

/*
 * quota.c
 *		How many wide tables a role may have.
 *
 * PostgreSQL's shared catalog pg_shdepend knows the owners of the relations of all
 * databases.  (Not of what the bootstrap superuser owns, who is not counted.)
 *
 * What is counted is committed, or of the own transaction.  So the owners are counted again
 * when the transaction commits, under a lock of each that is held to its end: transactions
 * that add to one owner commit one after the other.
 */
#include "postgres.h"

#include "fdw/ddl/quota.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_shdepend.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "engine/wide.h"
#include "fdw/ddl/binding.h"
#include "fdw/store/error.h"
#include "fdw/store/settings.h"
#include "fdw/store/store.h"
#include "fdw/xact/batch.h"

#define SUPERUSER_PERCENT  5 /* of the catalog, which only superusers fill */
#define FAMILIES_PER_TABLE 4 /* as in the engine's segment */
#define BINDINGS_PER_TABLE 2
#define OWNER_LOCK		   0x7774 /* PostgreSQL locks roles with 0 here */

/* Owners to be counted at commit, in TopTransactionContext */
static List *owners = NIL;

typedef struct Usage
{
	int tables; /* stored ones */
	int bindings;
	int families;
} Usage;

typedef struct Relid
{
	Oid database;
	Oid relid;
} Relid;

typedef struct Owned
{
	Relid id; /* hash key */
	bool bound;
} Owned;

typedef struct StoredTable
{
	wide_table_id id; /* hash key */
	Oid database;
	bool counted;
} StoredTable;

static HTAB *
new_hash(const char *name, Size key, Size entry)
{
	HASHCTL ctl = {.keysize = key, .entrysize = entry, .hcxt = CurrentMemoryContext};

	return hash_create(name, 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Returns: the relations of all databases that the role owns, as Owned. */
static HTAB *
owned_relations(Oid owner)
{
	HTAB *result = new_hash("widetable owned relations", sizeof(Relid), sizeof(Owned));
	Relation catalog = table_open(SharedDependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tup;

	ScanKeyInit(&keys[0], Anum_pg_shdepend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(AuthIdRelationId));
	ScanKeyInit(&keys[1], Anum_pg_shdepend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(owner));
	scan = systable_beginscan(catalog, SharedDependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		Form_pg_shdepend d = (Form_pg_shdepend) GETSTRUCT(tup);
		Relid id = {d->dbid, d->objid};

		if (d->classid == RelationRelationId && d->deptype == SHARED_DEPENDENCY_OWNER)
			((Owned *) hash_search(result, &id, HASH_ENTER, NULL))->bound = false;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return result;
}

/* Returns: all committed stored tables, as StoredTable. */
static HTAB *
stored_tables(void)
{
	HTAB *result = new_hash("widetable tables", sizeof(wide_table_id), sizeof(StoredTable));
	uint32 cursor = 0;
	wide_table t;

	while (wide_table_next(wt_store_db(), NULL, &cursor, &t) == WIDE_OK)
	{
		StoredTable *s = hash_search(result, &t.id, HASH_ENTER, NULL);

		s->database = t.space;
		s->counted = false;
	}
	return result;
}

/* Counts a foreign table, and its stored table unless that is counted. */
static void
count_binding(Usage *usage, HTAB *tables, wide_table_id id)
{
	bool found;
	StoredTable *s = hash_search(tables, &id, HASH_ENTER, &found);
	wide_table t;

	usage->bindings++;
	if (found && s->counted)
		return;
	s->counted = true;
	usage->tables++;
	if (wide_table_by_id(wt_store_db(), wt_batch(false), id, &t) == WIDE_OK)
		usage->families += (int) t.nfamilies;
}

/* Returns: what the role has, with the changes of this transaction. */
static Usage
usage_of(Oid owner)
{
	HTAB *owned = owned_relations(owner);
	HTAB *tables;
	HASH_SEQ_STATUS seq;
	Usage usage = {0};
	uint32 cursor = 0;
	uint32 object;
	wide_table_id id;
	Owned *o;

	if (hash_get_num_entries(owned) == 0)
	{
		hash_destroy(owned);
		return usage;
	}
	tables = stored_tables();
	while (wide_binding_next(wt_store_db(), &cursor, &id, &object) == WIDE_OK)
	{
		StoredTable *s = hash_search(tables, &id, HASH_FIND, NULL);
		Relid key = {s ? s->database : InvalidOid, object};

		o = hash_search(owned, &key, HASH_FIND, NULL);
		if (o == NULL)
			continue;
		o->bound = true;
		count_binding(&usage, tables, id);
	}
	/* and those that this transaction has bound */
	hash_seq_init(&seq, owned);
	while ((o = hash_seq_search(&seq)) != NULL)
	{
		wide_table t;

		if (!o->bound && o->id.database == MyDatabaseId &&
			get_rel_relkind(o->id.relid) == RELKIND_FOREIGN_TABLE &&
			wt_binding_find(o->id.relid, &t) == WIDE_OK)
			count_binding(&usage, tables, t.id);
	}
	hash_destroy(owned);
	hash_destroy(tables);
	return usage;
}

static bool
is_too_much(const Usage *u)
{
	int64 max = wt_settings_max_tables_per_role;

	return max >= 0 && (u->tables > max || u->families > max * FAMILIES_PER_TABLE ||
						u->bindings > max * BINDINGS_PER_TABLE);
}

/* Errors: 53400 if the role has too much.  member: the role that is to get more. */
static void
check_role(Oid role, Oid member)
{
	int64 max = wt_settings_max_tables_per_role;
	Usage u = usage_of(role);

	if (!is_too_much(&u))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 role == member
				 ? errmsg("role \"%s\" would have too many wide tables",
						  GetUserNameFromId(role, false))
				 : errmsg("role \"%s\", of which role \"%s\" is a member, has too many wide "
						  "tables",
						  GetUserNameFromId(role, false),
						  GetUserNameFromId(member, false)),
			 errdetail("A role may have %d in all databases together, with " INT64_FORMAT
					   " families and " INT64_FORMAT " foreign tables. These are %d, with %d and "
					   "%d.",
					   (int) max, max * FAMILIES_PER_TABLE, max * BINDINGS_PER_TABLE, u.tables,
					   u.families, u.bindings),
			 errhint("Drop some, or let a superuser raise widetable.max_tables_per_role: ALTER "
					 "ROLE ... SET does it for one role.")));
}

/*
 * The roles of which the owner is a member: it may have given its tables to them by REASSIGN
 * OWNED, for which there is no event trigger.
 */
static void
check_groups(Oid owner)
{
	Relation catalog = table_open(AuthIdRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	HeapTuple tup;

	while (HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		Form_pg_authid role = (Form_pg_authid) GETSTRUCT(tup);

		if (role->oid != owner && !role->rolsuper && is_member_of_role_nosuper(owner, role->oid))
			check_role(role->oid, owner);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

void
wt_quota_check(Oid owner)
{
	bool super = superuser() || superuser_arg(owner);
	wide_status st = wide_batch_leave_room(wt_batch(true), super ? 0 : SUPERUSER_PERCENT);
	MemoryContext old;

	if (st == WIDE_FULL)
	{
		wide_stats stats;

		wide_statistics(wt_store_db(), &stats);
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("the store has no room for more wide tables"),
				 super ? errdetail("%s", wide_error_text())
					   : errdetail("%s; %d percent of it are kept for superusers.",
								   wide_error_text(), SUPERUSER_PERCENT),
				 (int) stats.max_tables < wt_settings_max_tables
					 ? errhint("Drop tables or families, or make /dev/shm larger and restart: "
							   "widetable.max_tables is %d, for which it had too little room.",
							   wt_settings_max_tables)
					 : errhint("Drop tables or families, or raise widetable.max_tables and "
							   "restart.")));
	}
	wt_error_check(st, "could not look for room");
	if (super)
		return;
	if (wt_settings_max_tables_per_role < 0)
		return;
	check_role(owner, owner);
	check_groups(owner);
	old = MemoryContextSwitchTo(TopTransactionContext);
	owners = list_append_unique_oid(owners, owner);
	MemoryContextSwitchTo(old);
}

static void
xact_callback(XactEvent event, void *arg)
{
	ListCell *lc;

	if (event == XACT_EVENT_PRE_COMMIT)
	{
		/* in one order, or two transactions deadlock */
		list_sort(owners, list_oid_cmp);
		foreach(lc, owners)
		{
			LockSharedObject(AuthIdRelationId, lfirst_oid(lc), OWNER_LOCK, ExclusiveLock);
			check_role(lfirst_oid(lc), lfirst_oid(lc));
		}
	}
	else if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		owners = NIL;
}

void
wt_quota_init(void)
{
	/* callbacks run in reverse order: before the one in fdw/xact/commit.c */
	RegisterXactCallback(xact_callback, NULL);
}

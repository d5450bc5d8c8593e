/*
 * engine_table.c
 *		The engine's table behind a foreign table, as the transaction sees it.
 *
 * Short statements would spend much of their time on this, so each session caches what
 * it has found.  An entry is valid as long as the definition (serial) and the engine's
 * catalog (generation) are the same.  A transaction that changes the engine's catalog
 * neither reads nor fills the cache.
 *
 * On a standby a lookup waits until the store has what the server has replayed, because the
 * table may be new, or another one since an earlier transaction: the server has replayed the
 * end of the lock on it, and the store does not have the change yet.  What the transaction
 * has found while it held the lock stays as it is (settled), and a statement that has its
 * snapshot needs no wait for that.  A wait in the middle of a statement would be one for
 * each row of a join with a function, while the statement's scans hold memtables.
 */
#include "postgres.h"

#include "fdw/ddl/engine_table.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"

#include "fdw/ddl/binding.h"
#include "fdw/ddl/database.h"
#include "fdw/ddl/ddl_lock.h"
#include "fdw/ddl/stored_table.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/follower.h"
#include "fdw/store/store.h"
#include "fdw/table/lookup.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/snapshot.h"

typedef struct EngineCache
{
	Oid relid;
	uint64 serial; /* WtTable.serial */
	WtEngineTable engine;
	LocalTransactionId settled; /* the transaction that has found it while it held the lock */
	SubTransactionId within;	/* that, too: its end may release the lock */
} EngineCache;

#define ENGINE_CACHE 64
static EngineCache engine_cache[ENGINE_CACHE]; /* by oid modulo its size */

static void
fill_engine(WtTable *t, const wide_table *wt, WtEngineTable *out)
{
	int n;
	wide_family *fams = wt_binding_families(wt_batch(false), wt->id, &n);

	*out = (WtEngineTable) {.table = wt->id, .nall = n, .head = wt_ddl_lock_head(wt->id)};
	for (int i = 0; i < n; i++)
	{
		int f = wt_lookup_family(t, fams[i].name);

		out->all[i] = fams[i].id;
		if (f >= 0 && f < WT_MAX_FAMILIES)
			out->families[f] = fams[i].id;
	}
	pfree(fams);
}

static inline bool
is_valid(const EngineCache *c, const WtTable *t, uint64 generation)
{
	return c->relid == t->relid && c->serial == t->serial && c->engine.generation == generation;
}

static bool
is_settled(const EngineCache *c)
{
	return c->settled == wt_my_lxid && SubTransactionIsActive(c->within);
}

/* The transaction has the lock, and has found the table after it had that. */
static void
settle(const WtTable *t)
{
	EngineCache *c = &engine_cache[t->relid % ENGINE_CACHE];

	if (!RecoveryInProgress() || c->relid != t->relid || is_settled(c))
		return;
	c->settled = wt_my_lxid;
	c->within = GetCurrentSubTransactionId();
}

/* As wt_engine_table(), without the lock. */
static bool
find(WtTable *t, bool create, WtEngineTable *out)
{
	EngineCache *c = &engine_cache[t->relid % ENGINE_CACHE];
	wide_table wt;
	wide_status st;
	uint64 generation;

	/* nothing was ever stored in this cluster: a read creates no store */
	if (!create && !wt_store_exists())
	{
		wt_database_check_stored(t->relid);
		return false;
	}
	/* before the catalog is read, so that a change meanwhile makes the entry invalid */
	generation = wide_catalog_generation(wt_store_db());
	if (!is_valid(c, t, generation) || !is_settled(c) || !wt_snapshot_is_taken())
		generation = wide_catalog_generation(wt_follower_db());
	if (!wt_batch_has_ddl() && is_valid(c, t, generation))
	{
		*out = c->engine;
		return true;
	}
	st = wt_binding_find(t->relid, &wt);
	if (st == WIDE_NOTFOUND)
	{
		wt_database_check_copied(t->relid);
		if (!create)
			return false;
		wt_stored_table_define(t->relid, false);
		st = wt_binding_find(t->relid, &wt);
	}
	wt_error_check(st, "could not find the table");
	fill_engine(t, &wt, out);
	if (create)
		for (int i = 0; i < t->nfamilies; i++)
			if (out->families[i] == 0)
			{
				wt_stored_table_define(t->relid, false);
				fill_engine(t, &wt, out);
				break;
			}
	out->generation = generation;
	if (!wt_batch_has_ddl())
	{
		c->relid = t->relid;
		c->serial = t->serial;
		c->engine = *out;
		c->settled = InvalidLocalTransactionId;
	}
	return true;
}

bool
wt_engine_table(WtTable *t, bool create, WtEngineTable *out)
{
	return wt_engine_table_as(t, InvalidOid, create, out);
}

bool
wt_engine_table_as(WtTable *t, Oid user, bool create, WtEngineTable *out)
{
	Oid locked = t->relid;

	if (t->engine != NULL)
		return t->engine->find(t, OidIsValid(user) ? user : GetUserId(), create, out);
	/* while this waits for the lock, the table may be altered, or another one become the head */
	while (find(t, create, out))
	{
		if (out->head == locked)
		{
			settle(t);
			return true;
		}
		locked = out->head;
		LockRelationOid(locked, AccessShareLock);
		/* on a standby the store may be behind what has released the lock */
		if (!RecoveryInProgress() && wide_catalog_generation(wt_store_db()) == out->generation)
			return true;
	}
	return false;
}

wide_family *
wt_engine_table_families(WtEngineTable *e, int *n)
{
	const WtEngine *other = wt_engine_of(e->table);

	return other != NULL ? other->families(e, n)
						 : wt_binding_families(wt_batch(false), e->table, n);
}

wide_family_id
wt_engine_table_family_by_name(WtTable *t, WtEngineTable *e, const char *name)
{
	int i = wt_lookup_family(t, name);
	wide_family_id id = 0;
	wide_family *f;
	int n;

	if (i >= 0)
		return e->families[i];
	f = wt_engine_table_families(e, &n);
	for (i = 0; i < n && id == 0; i++)
		if (strcmp(f[i].name, name) == 0)
			id = f[i].id;
	pfree(f);
	return id;
}

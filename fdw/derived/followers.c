/*
 * followers.c
 *		What follows from the rows of a stored table, as a transaction keeps it: indexes, roll-ups.
 *
 * Locking: the indexes and roll-ups, as statements that change them.
 */
#include "postgres.h"

#include "fdw/derived/followers.h"

#include "access/xact.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "fdw/ddl/binding.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/derived/online_build.h"
#include "fdw/table/lookup.h"
#include "fdw/table/table.h"
#include "fdw/xact/batch.h"

static WtFollowers *all = NULL; /* of this transaction, in TopTransactionContext */

/*
 * Finds the stored table of an index or a roll-up.  Returns false if definitions have changed since
 * there were `began` invalidations: it may be gone.
 */
static bool
find_table(Oid relid, WtTable *t, uint64 began, WtEngineTable *e)
{
	/* as a statement that changes it: waits for commands that define it, or drop it */
	LockRelationOid(relid, RowExclusiveLock);
	if (wt_table_invalidations() != began)
		return false;
	if (!wt_engine_table(t, false, e))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" is not stored", get_rel_name(relid)),
				 errhint("Drop it, and create it again.")));
	return true;
}

/* Something follows from these columns.  cell_ttl: cells of them may expire by themselves.  rows:
 * and from each row. */
static void
add_columns(WtFollowedTable *b, const bool *read, bool cell_ttl, bool rows)
{
	for (int a = 0; a < b->t->natts; a++)
	{
		b->read[a] |= read[a];
		if (cell_ttl)
			b->cell_ttl[a] |= read[a];
		else
			b->no_ttl[a] |= read[a];
	}
	b->row_no_ttl |= rows && !cell_ttl;
	b->row_cell_ttl |= rows && cell_ttl;
}

/* Returns false if definitions have changed meanwhile: an index may be gone. */
static bool
make_base(WtFollowedTable *b, WtTable *t, List *indexes, List *rollups)
{
	uint64 began = wt_table_invalidations();
	ListCell *lc;

	b->t = t;
	b->r = palloc(sizeof(WtRollup *) * Max(1, list_length(rollups)));
	b->re = palloc(sizeof(WtEngineTable) * Max(1, list_length(rollups)));
	b->portion = palloc0(sizeof(WtPortion) * Max(1, list_length(rollups)));
	b->read = palloc0(sizeof(bool) * Max(1, t->natts));
	b->no_ttl = palloc0(sizeof(bool) * Max(1, t->natts));
	b->cell_ttl = palloc0(sizeof(bool) * Max(1, t->natts));
	b->x = palloc(sizeof(WtIndex *) * Max(1, list_length(indexes)));
	b->xe = palloc(sizeof(WtEngineTable) * Max(1, list_length(indexes)));
	b->before = palloc0(sizeof(WtEntries) * Max(1, list_length(indexes)));
	foreach(lc, indexes)
	{
		WtIndex *x = lfirst(lc);

		if (!find_table(x->relid, x->table, began, &b->xe[b->n]))
			return false;
		add_columns(b, x->read, x->table->cell_ttl,
					x->map < 0 && !wt_key_column(x->table, 0)->optional);
		b->x[b->n++] = x;
	}
	foreach(lc, rollups)
	{
		WtRollup *r = lfirst(lc);

		if (!find_table(r->relid, r->table, began, &b->re[b->nrollups]))
			return false;
		if (r->building)
			wt_online_build_ensure(r->table);
		add_columns(b, r->read, false, true);
		b->r[b->nrollups++] = r;
	}
	b->row = wt_base_reader_open(t, b->read, NULL);
	if (!IsolationUsesXactSnapshot())
		return true;
	b->snapshot = *GetTransactionSnapshot();
	/* and all that the transaction has changed */
	b->snapshot.curcid = PG_UINT32_MAX;
	b->seen = wt_base_reader_open(t, b->read, &b->snapshot);
	return true;
}

static void
close_scans(WtFollowers *f)
{
	for (int i = 0; i < f->n; i++)
	{
		wt_base_reader_close(f->bases[i].row);
		if (f->bases[i].seen != NULL)
			wt_base_reader_close(f->bases[i].seen);
	}
}

WtFollowers *
wt_followers_of(wide_table_id id)
{
	WtFollowers *f = all;
	MemoryContext cxt, old;
	List *tables;
	ListCell *lc;

	while (f != NULL && f->id != id)
		f = f->next;
	if (f != NULL && f->invalidations == wt_table_invalidations())
	{
		/* the subtransaction that has made it has been released, and its locks are the parent's */
		f->level = Min(f->level, GetCurrentTransactionNestLevel());
		return f;
	}
	if (f == NULL)
	{
		f = MemoryContextAllocZero(TopTransactionContext, sizeof(WtFollowers));
		f->id = id;
		f->next = all;
		all = f;
	}
	f->level = GetCurrentTransactionNestLevel();
	/* what was changed before may have been changed without a lock: the table had no indexes, or
	 * its rows were declared to be written once */
	f->all_locked = wt_batch(false) == NULL || wide_batch_mark(wt_batch(false)) == 0;
	close_scans(f);
	f->n = 0;
	cxt = AllocSetContextCreate(TopTransactionContext, "widetable followers",
								ALLOCSET_DEFAULT_SIZES);
	if (f->cxt != NULL)
		MemoryContextDelete(f->cxt);
	f->cxt = cxt;
	old = MemoryContextSwitchTo(cxt);
	do
	{
		/* locks are taken, and so others may change the definitions, while this is made */
		f->invalidations = wt_table_invalidations();
		f->n = 0;
		tables = wt_binding_others(id, InvalidOid);
		f->bases = palloc0(sizeof(WtFollowedTable) * Max(1, list_length(tables)));
		foreach(lc, tables)
		{
			WtTable *t = wt_table_unlocked(lfirst_oid(lc));
			List *indexes = t != NULL ? wt_index_list(t) : NIL,
				 *rollups = t != NULL ? wt_index_rollups(t) : NIL;

			if (indexes == NIL && rollups == NIL)
				continue;
			if (!make_base(&f->bases[f->n], t, indexes, rollups))
				break;
			f->n++;
		}
	} while (f->invalidations != wt_table_invalidations());
	MemoryContextSwitchTo(old);
	return f;
}

wide_table_id
wt_followers_find(WtTable *t)
{
	WtEngineTable e;
	uint64 now = wt_table_invalidations();

	if (!wt_engine_table(t, false, &e))
		return 0;
	if (t->derived == WT_DERIVED_UNKNOWN || t->derived_at != now)
	{
		t->derived = wt_index_list_stored(e.table) != NIL || wt_index_rollups_stored(e.table) != NIL
						 ? WT_DERIVED_SOME
						 : WT_DERIVED_NONE;
		t->derived_at = now;
	}
	return e.table;
}

void
wt_followers_rest(void)
{
	for (WtFollowers *f = all; f != NULL; f = f->next)
		close_scans(f);
}

void
wt_followers_forget(int level)
{
	WtFollowers **at = &all, *f;

	while ((f = *at) != NULL)
	{
		if (f->level < level)
		{
			at = &f->next;
			continue;
		}
		*at = f->next;
		if (f->cxt != NULL)
			MemoryContextDelete(f->cxt);
		pfree(f);
	}
}

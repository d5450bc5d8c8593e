/*
 * truncate.c
 *		TRUNCATE.
 *
 * The stored table is emptied by one operation in the transaction's batch; it
 * counts as DDL, so the transaction caches no engine tables from then on.
 *
 * Locking: PostgreSQL has locked the foreign tables of the command.  Others may show the
 * same stored table: its lock waits for their readers and writers (ddl_lock.h).
 */
#include "postgres.h"

#include "fdw/write/truncate.h"

#include "commands/tablecmds.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "engine/wide.h"
#include "fdw/ddl/binding.h"
#include "fdw/ddl/ddl_lock.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/ddl/stored_table.h"
#include "fdw/derived/index_ddl.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/engine.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"

/*
 * Locks the stored table of a foreign table against all others, at once: two commands that
 * both had a reader's lock first would deadlock.
 * Errors: 55006 if a query of this session reads it through a foreign table that is not in the
 * command.  PostgreSQL has checked those in the command.
 */
static void
lock_stored_table(List *rels, Oid relid)
{
	ListCell *lc, *lc2;
	wide_table wt;

	if (!wt_store_exists() || wt_binding_find(relid, &wt) != WIDE_OK)
		return;
	wt_ddl_lock_stored_table(wt.id, AccessExclusiveLock);
	foreach(lc, wt_binding_others(wt.id, relid))
	{
		bool in_command = false;
		Relation rel;

		foreach(lc2, rels)
			in_command |= RelationGetRelid((Relation) lfirst(lc2)) == lfirst_oid(lc);
		rel = in_command ? NULL : RelationIdGetRelation(lfirst_oid(lc));
		if (rel == NULL)
			continue;
		CheckTableNotInUse(rel, "TRUNCATE");
		RelationClose(rel);
	}
}

void
wt_truncate_tables(List *rels, DropBehavior behavior, bool restart_seqs)
{
	ListCell *lc;

	foreach(lc, rels)
	{
		Relation rel = lfirst(lc);

		if (wt_is_derived(wt_table(RelationGetRelid(rel))))
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot truncate \"%s\"", RelationGetRelationName(rel)),
					 errdetail("It is an index or a roll-up."),
					 errhint("It is emptied with its table.")));
		if (!wt_table(RelationGetRelid(rel))->truncatable)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("foreign table \"%s\" does not allow truncates",
							RelationGetRelationName(rel))));
	}
	foreach(lc, rels)
	{
		WtTable *t = wt_table(RelationGetRelid((Relation) lfirst(lc)));
		WtEngineTable e;

		if (t->engine != NULL)
		{
			t->engine->truncate(t);
			continue;
		}
		/* the stored table may be one that another foreign table shows: it is emptied, too */
		wt_stored_table_begin_empty(t->relid);
		lock_stored_table(rels, t->relid);
		if (!wt_engine_table(t, false, &e))
			continue; /* nothing has been stored */
		wt_batch_command_ddl();
		wt_error_check(wide_batch_truncate_table(wt_batch(true), e.table), "could not truncate");
		wt_index_ddl_truncated(e.table);
	}
}

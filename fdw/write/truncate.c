/*
 * truncate.c
 *		TRUNCATE.
 *
 * The stored table is emptied by one operation in the transaction's batch; it
 * counts as DDL, so the transaction caches no engine tables from then on.
 */
#include "postgres.h"

#include "fdw/write/truncate.h"

#include "utils/rel.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/ddl/stored_table.h"
#include "fdw/store/error.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"

void
wt_truncate_tables(List *rels, DropBehavior behavior, bool restart_seqs)
{
	ListCell *lc;

	foreach(lc, rels)
	{
		Relation rel = lfirst(lc);

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

		/* the stored table may be one that another foreign table shows: it is emptied, too */
		wt_stored_table_begin_empty(t->relid);
		if (!wt_engine_table(t, false, &e))
			continue; /* nothing has been stored */
		wt_batch_command_ddl();
		wt_error_check(wide_batch_truncate_table(wt_batch(true), e.table), "could not truncate");
	}
}

/*
 * modify.c
 *		INSERT, UPDATE, DELETE, COPY and TRUNCATE.
 *
 * A row of the foreign table is a set of cells; what a statement means for
 * them:
 *
 *	INSERT	one put for each column that is not NULL.  A blind write: nothing is
 *			read, a row that exists is overlaid.  With insert_mode 'error' and
 *			with ON CONFLICT DO NOTHING the row is locked and looked up first.
 *	UPDATE	puts and deletes of the columns that the statement (or a trigger, or
 *			a generated column) sets, and of no others, or concurrent updates of
 *			other families would be overwritten.  The scan of the target has
 *			locked the row and delivered its newest version.  A put is stamped
 *			above the version that it replaces, also when that one lies in the
 *			future.  SET c = NULL deletes the column with all its versions.
 *			A new key moves the row with all its visible versions.
 *	DELETE	one marker in each family of the stored table, also in those that
 *			this foreign table does not show.
 *
 * In layout 'cells' a row is one version of one cell: INSERT puts it, DELETE
 * removes that version, UPDATE writes it again.
 *
 * All of it goes to the transaction's private batch, one row at a time.  There
 * is no batch callback: in PostgreSQL 15 the executor copies every row twice
 * for it, which costs more than it saves when there is no network.
 *
 * Engine-assigned timestamps are known at commit only; RETURNING shows the
 * present time for them.
 */
#include "postgres.h"

#include "fdw/write/modify.h"

#include "access/attnum.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/appendinfo.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "engine/wide.h"
#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/store/row_lock.h"
#include "fdw/table/key_text.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/write/cells_layout.h"
#include "fdw/write/modify_state.h"
#include "fdw/write/rows_layout.h"
#include "fdw/write/version_move.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/engine_scan.h"

void
wt_modify_add_update_targets(PlannerInfo *root, Index rtindex, RangeTblEntry *target_rte,
							 Relation target_relation)
{
	WtTable *t = wt_table(RelationGetRelid(target_relation));

	for (int i = 0; i < t->nkeys; i++)
		wt_modify_state_add_identity(root, rtindex, target_relation, t->columns[t->keys[i]].attno);
	for (int i = 0; i < t->natts; i++)
	{
		if (wt_modify_state_is_cell_identity(&t->columns[i]))
			wt_modify_state_add_identity(root, rtindex, target_relation, t->columns[i].attno);
	}

	/*
	 * PostgreSQL asks for the old row itself in an UPDATE and when there are
	 * row triggers; DELETE ... RETURNING shows it too.
	 */
	if (root->parse->commandType == CMD_DELETE && root->parse->returningList != NIL)
		add_row_identity_var(root,
							 makeVar(rtindex, InvalidAttrNumber, RECORDOID, -1, InvalidOid, 0),
							 rtindex, "wholerow");
}

/* All that matters is known from the plan node itself when execution begins. */
List *
wt_modify_plan(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index)
{
	if (plan->onConflictAction != ONCONFLICT_NONE && plan->onConflictAction != ONCONFLICT_NOTHING)
		elog(ERROR, "unexpected ON CONFLICT specification: %d", (int) plan->onConflictAction);
	return NIL;
}

int
wt_modify_is_updatable(Relation rel)
{
	WtTable *t = wt_table(RelationGetRelid(rel));
	int identity = 0;

	if (!t->updatable)
		return 0;
	if (t->cells_layout)
	{
		for (int i = 0; i < t->natts; i++)
			identity += wt_modify_state_is_cell_identity(&t->columns[i]);
		/* a version is known by its family, qualifier and timestamp */
		if (identity < 3)
			return 1 << CMD_INSERT;
	}
	return (1 << CMD_INSERT) | (1 << CMD_UPDATE) | (1 << CMD_DELETE);
}

void
wt_modify_begin(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private,
				int subplan_index, int eflags)
{
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;

	/* rinfo->ri_FdwState stays NULL */
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	rinfo->ri_FdwState = wt_modify_state_begin(mtstate->ps.state, rinfo, mtstate->operation,
											   outerPlan(plan),
											   plan->onConflictAction == ONCONFLICT_NOTHING);
}

/* COPY, and rows that are routed to a partition. */
void
wt_modify_begin_insert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	ModifyTable *plan = castNode(ModifyTable, mtstate->ps.plan); /* NULL for COPY */
	WtModify *m = wt_modify_state_begin(mtstate->ps.state, rinfo, CMD_INSERT, NULL,
										plan && plan->onConflictAction == ONCONFLICT_NOTHING);

	/* the partition may be a target of the same UPDATE */
	if (rinfo->ri_FdwState)
		((WtModify *) rinfo->ri_FdwState)->aux = m;
	else
		rinfo->ri_FdwState = m;
}

static void
end_modify(WtModify *m)
{
	if (m->seen)
		hash_destroy(m->seen);
	wt_cell_read_floors_close(m->floors);
	wt_engine_scan_close(m->exists);
	MemoryContextDelete(m->row_cxt);
}

void
wt_modify_end(EState *estate, ResultRelInfo *rinfo)
{
	WtModify *m = rinfo->ri_FdwState;

	if (m)
	{
		const WtVersion *where = m->moves ? wt_version_move_collision(m->moves) : NULL;

		if (where)
			wt_cells_layout_raise_version(m, where);
		end_modify(m);
	}
	rinfo->ri_FdwState = NULL;
}

void
wt_modify_end_insert(EState *estate, ResultRelInfo *rinfo)
{
	WtModify *m = rinfo->ri_FdwState;

	if (m == NULL)
		return;
	if (m->aux)
	{
		end_modify(m->aux);
		m->aux = NULL;
		return;
	}
	end_modify(m);
	rinfo->ri_FdwState = NULL;
}

void
wt_modify_explain(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private,
				  int subplan_index, struct ExplainState *es)
{
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;

	/* whether rows are looked up before they are written */
	if (mtstate->operation == CMD_INSERT && plan->onConflictAction == ONCONFLICT_NONE &&
		!wt_table(RelationGetRelid(rinfo->ri_RelationDesc))->insert_error)
		ExplainPropertyText("Blind Write", "yes", es);
}

TupleTableSlot *
wt_modify_exec_insert(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot,
					  TupleTableSlot *planSlot)
{
	WtModify *m = rinfo->ri_FdwState;
	MemoryContext old;
	wide_bytes key;

	if (m->aux)
		m = m->aux;
	MemoryContextReset(m->row_cxt);
	old = MemoryContextSwitchTo(m->row_cxt);
	wt_modify_state_need_engine(m);
	wt_batch_command_by(&m->writer);
	slot_getallattrs(slot);
	/* a routed row was sent here for its key */
	if (rinfo->ri_RootResultRelInfo == NULL)
		wt_modify_state_check_partition(m, rinfo, slot, estate);
	resetStringInfo(&m->key);
	wt_rowkey_from_slot(m->t, slot->tts_values, slot->tts_isnull, &m->key);
	key = wt_bytes_of(&m->key);

	/* a row of layout 'cells' is a version: it does not collide */
	if ((m->do_nothing || m->t->insert_error) && !m->t->cells_layout)
	{
		wt_row_lock(m->e.table, key, false);
		if (wt_cell_read_row_exists_again(&m->exists, &m->e, key, &m->range))
		{
			if (!m->do_nothing)
				wt_modify_state_raise_duplicate(m, key);
			MemoryContextSwitchTo(old);
			return NULL;
		}
	}
	if ((m->t->cells_layout ? wt_cells_layout_insert(m, slot, key)
							: wt_rows_layout_insert(m, slot, key)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("row of table \"%s\" would have no cells", RelationGetRelationName(m->rel)),
				 errdetail("Key %s.", wt_key_text(m->t, key)),
				 errhint("A row exists by its cells: give at least one column beside the key a "
						 "value.")));
	wt_modify_state_show_stored(m, rinfo, slot, NULL);
	MemoryContextSwitchTo(old);
	return slot;
}

/* Which columns the statement sets, generated ones included. */
static void
find_set_columns(WtModify *m, EState *estate, ResultRelInfo *rinfo)
{
	Bitmapset *cols = bms_union(ExecGetUpdatedCols(rinfo, estate),
								ExecGetExtraUpdatedCols(rinfo, estate));

	for (int i = 0; i < m->t->natts; i++)
		m->set[i] = bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, cols);
	bms_free(cols);
	m->set_known = true;
}

/* With BEFORE ROW triggers: also what differs from the old row. */
static const bool *
set_columns(WtModify *m, TupleTableSlot *slot, TupleTableSlot *before)
{
	bool *set;

	if (!m->compare_all || before == NULL)
		return m->set;
	set = palloc(sizeof(bool) * m->t->natts);
	for (int i = 0; i < m->t->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(m->rel), i);

		set[i] = m->set[i];
		if (set[i] || att->attisdropped)
			continue;
		if (slot->tts_isnull[i] != before->tts_isnull[i])
			set[i] = true;
		else if (!slot->tts_isnull[i])
			set[i] = !datum_image_eq(slot->tts_values[i], before->tts_values[i], att->attbyval,
									 att->attlen);
	}
	return set;
}

TupleTableSlot *
wt_modify_exec_update(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot,
					  TupleTableSlot *planSlot)
{
	WtModify *m = rinfo->ri_FdwState;
	MemoryContext old;
	TupleTableSlot *before = rinfo->ri_oldTupleSlot;
	const bool *set;
	wide_bytes key, target;

	MemoryContextReset(m->row_cxt);
	old = MemoryContextSwitchTo(m->row_cxt);
	wt_modify_state_need_engine(m);
	if (!m->set_known)
		find_set_columns(m, estate, rinfo);
	slot_getallattrs(slot);
	wt_modify_state_check_partition(m, rinfo, slot, estate);
	if (before != NULL && TTS_EMPTY(before))
		before = NULL;
	if (before != NULL)
		slot_getallattrs(before);
	set = set_columns(m, slot, before);

	if (m->t->cells_layout)
	{
		WtCellIdentity id;

		wt_cells_layout_old_cell(m, planSlot, &id);
		if (!id.again)
		{
			wt_row_lock(m->e.table, id.v.key, false);
			id.again = wt_batch_leave_out(&m->writer, CMD_UPDATE, &id.v.family, 1, id.v.key,
										  &id.v.qual);
		}
		if (!id.again)
		{
			wt_batch_command_by(&m->writer);
			wt_cells_layout_update(m, slot, set, &id.v);
			wt_modify_state_show_stored(m, rinfo, slot, set);
		}
		MemoryContextSwitchTo(old);
		return id.again ? NULL : slot;
	}

	key = wt_modify_state_old_key(m, planSlot, &m->key);
	if (!wt_modify_state_first_time(m, key))
	{
		/* a join delivered it twice: as with heap tables, the first one wins */
		MemoryContextSwitchTo(old);
		return NULL;
	}
	wt_row_lock(m->e.table, key, false);
	if (wt_batch_leave_out(&m->writer, CMD_UPDATE, m->e.all, m->e.nall, key, NULL))
	{
		MemoryContextSwitchTo(old);
		return NULL;
	}
	target = key;
	if (wt_rows_layout_key_is_set(m, set))
	{
		resetStringInfo(&m->new_key);
		wt_rowkey_from_slot(m->t, slot->tts_values, slot->tts_isnull, &m->new_key);
		target = wt_bytes_of(&m->new_key);
	}
	wt_batch_command_by(&m->writer);
	if (!wt_bytes_equal(key.data, key.len, target.data, target.len))
	{
		wt_row_lock(m->e.table, target, false);
		if (wt_cell_read_row_exists_again(&m->exists, &m->e, target, &m->range))
			wt_modify_state_raise_duplicate(m, target);
		wt_rows_layout_copy_row(m, key, target);
		wt_modify_state_delete_row(m, key);
	}
	wt_rows_layout_collect_writes(m, slot, before, set);
	wt_rows_layout_apply_writes(m, target);
	wt_modify_state_show_stored(m, rinfo, slot, set);
	MemoryContextSwitchTo(old);
	return slot;
}

/* RETURNING of a DELETE shows the old row. */
static void
show_old_row(WtModify *m, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	bool isnull = true;
	Datum d = 0;
	HeapTupleData tuple;

	if (rinfo->ri_projectReturning == NULL || !AttributeNumberIsValid(m->row_junk))
		return;
	d = ExecGetJunkAttribute(planSlot, m->row_junk, &isnull);
	if (isnull)
		return;
	tuple.t_data = DatumGetHeapTupleHeader(d);
	tuple.t_len = HeapTupleHeaderGetDatumLength(tuple.t_data);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = RelationGetRelid(m->rel);
	ExecForceStoreHeapTuple(&tuple, slot, false);
	ExecMaterializeSlot(slot);
}

TupleTableSlot *
wt_modify_exec_delete(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot,
					  TupleTableSlot *planSlot)
{
	WtModify *m = rinfo->ri_FdwState;
	MemoryContext old;
	bool again;

	MemoryContextReset(m->row_cxt);
	old = MemoryContextSwitchTo(m->row_cxt);
	wt_modify_state_need_engine(m);
	if (m->t->cells_layout)
	{
		WtCellIdentity id;

		wt_cells_layout_old_cell(m, planSlot, &id);
		again = id.again;
		if (!again)
		{
			wt_row_lock(m->e.table, id.v.key, false);
			again = wt_batch_leave_out(&m->writer, CMD_DELETE, &id.v.family, 1, id.v.key,
									   &id.v.qual);
		}
		if (!again)
		{
			wt_batch_command_by(&m->writer);
			wt_modify_state_delete(m, WIDE_DELETE_VERSION, id.v.family, id.v.key, id.v.qual,
								   id.v.ts);
		}
	}
	else
	{
		wide_bytes key = wt_modify_state_old_key(m, planSlot, &m->key);

		again = !wt_modify_state_first_time(m, key);
		if (!again)
		{
			wt_row_lock(m->e.table, key, false);
			again = wt_batch_leave_out(&m->writer, CMD_DELETE, m->e.all, m->e.nall, key, NULL);
		}
		if (!again)
		{
			wt_batch_command_by(&m->writer);
			wt_modify_state_delete_row(m, key);
		}
	}
	if (!again)
		show_old_row(m, rinfo, slot, planSlot);
	MemoryContextSwitchTo(old);
	return again ? NULL : slot;
}

/*
 * modify.c
 *		INSERT, UPDATE, DELETE and COPY: the executor's callbacks.
 *
 * A callback prepares the row, calls the table's layout once (rows_layout.c or
 * cells_layout.c), which writes it to the transaction's private batch, and
 * makes the row that RETURNING and triggers see.
 *
 * There is no callback for batches of rows (ExecForeignBatchInsert): in
 * PostgreSQL 15 the executor copies every row twice for it, which costs more
 * than it saves when there is no network.
 *
 * The engine assigns timestamps at commit; RETURNING shows the present time
 * for them.
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
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/appendinfo.h"
#include "parser/parsetree.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "fdw/plan/system_column.h"
#include "fdw/row/map.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/write/cells_layout.h"
#include "fdw/write/modify_state.h"
#include "fdw/write/rows_layout.h"
#include "fdw/write/upsert_rights.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/change.h"
#include "fdw/xact/derive.h"

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
	 * PostgreSQL itself adds the old row in an UPDATE and if there are row
	 * triggers; DELETE ... RETURNING needs it, too.
	 */
	if (root->parse->commandType == CMD_DELETE && root->parse->returningList != NIL)
		add_row_identity_var(root,
							 makeVar(rtindex, InvalidAttrNumber, RECORDOID, -1, InvalidOid, 0),
							 rtindex, "wholerow");
}

/* Checks the plan.  It needs no private data: execution reads what it needs from the ModifyTable
 * node. */
List *
wt_modify_plan(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index)
{
	RangeTblEntry *rte = planner_rt_fetch(resultRelation, root);

	wt_system_column_check_modify(plan, wt_table(rte->relid), resultRelation, subplan_index);
	if (plan->onConflictAction != ONCONFLICT_NONE && plan->onConflictAction != ONCONFLICT_NOTHING)
		elog(ERROR, "unexpected ON CONFLICT specification: %d", (int) plan->onConflictAction);
	return NIL;
}

int
wt_modify_is_updatable(Relation rel)
{
	WtTable *t = wt_table(RelationGetRelid(rel));
	int identity = 0;

	/* a dump with the rows of foreign tables has those of indexes, too: a restore, which switches
	 * check_function_bodies off, may insert them, to no effect */
	if (wt_is_derived(t))
		return check_function_bodies ? 0 : 1 << CMD_INSERT;
	if (!t->updatable)
		return 0;
	if (t->cells_layout)
	{
		for (int i = 0; i < t->natts; i++)
			identity += wt_modify_state_is_cell_identity(&t->columns[i]);
		/* family, qualifier and timestamp identify a version */
		if (identity < 3)
			return 1 << CMD_INSERT;
	}
	return (1 << CMD_INSERT) | (1 << CMD_UPDATE) | (1 << CMD_DELETE);
}

/* For a state that inserts: decides what it may do to existing rows. */
static void
find_upsert_rights(WtModify *m, ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(m));

	m->statement = mtstate->operation;
	m->upsert = wt_upsert_rights(mtstate, rinfo, m->t, &m->may_update);
	MemoryContextSwitchTo(old);
}

void
wt_modify_begin(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private,
				int subplan_index, int eflags)
{
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;
	WtModify *m;

	/* rinfo->ri_FdwState remains NULL */
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	m = wt_modify_state_begin(mtstate->ps.state, rinfo, mtstate->operation, outerPlan(plan),
							  plan->onConflictAction == ONCONFLICT_NOTHING);
	if (mtstate->operation == CMD_INSERT)
		find_upsert_rights(m, mtstate, rinfo);
	rinfo->ri_FdwState = m;
}

/* For COPY, and for rows that are routed to a partition. */
void
wt_modify_begin_insert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	ModifyTable *plan = castNode(ModifyTable, mtstate->ps.plan); /* NULL for COPY */
	WtModify *m = wt_modify_state_begin(mtstate->ps.state, rinfo, CMD_INSERT, NULL,
										plan && plan->onConflictAction == ONCONFLICT_NOTHING);

	find_upsert_rights(m, mtstate, rinfo);
	/* the partition's expressions are those of the plan's first target, with other column numbers
	 */
	if (plan != NULL)
		wt_system_column_check_modify(plan, m->t, mtstate->resultRelInfo[0].ri_RangeTableIndex, 0);
	/* the partition may be a target of the same UPDATE, and have its state already */
	if (rinfo->ri_FdwState)
		((WtModify *) rinfo->ri_FdwState)->aux = m;
	else
		rinfo->ri_FdwState = m;
}

void
wt_modify_end(EState *estate, ResultRelInfo *rinfo)
{
	WtModify *m = rinfo->ri_FdwState;

	if (m)
	{
		wt_cells_layout_check_moves(m);
		wt_modify_state_end(m);
	}
	rinfo->ri_FdwState = NULL;
}

void
wt_modify_end_insert(EState *estate, ResultRelInfo *rinfo)
{
	WtModify *m = rinfo->ri_FdwState;

	wt_derive_rest();
	if (m == NULL)
		return;
	if (m->aux)
	{
		wt_modify_state_end(m->aux);
		m->aux = NULL;
		return;
	}
	wt_modify_state_end(m);
	rinfo->ri_FdwState = NULL;
}

void
wt_modify_explain(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private,
				  int subplan_index, struct ExplainState *es)
{
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;
	WtTable *t = wt_table(RelationGetRelid(rinfo->ri_RelationDesc));
	bool *columns;

	/* "Blind Write": existing rows are not looked up */
	if (mtstate->operation == CMD_INSERT && plan->onConflictAction == ONCONFLICT_NONE &&
		!t->insert_error && wt_upsert_rights(mtstate, rinfo, t, &columns) == WT_UPSERT_ALL)
		ExplainPropertyText("Blind Write", "yes", es);
}

/* Enters m->row_cxt, emptied; returns the memory context to go back to. */
static MemoryContext
begin_row(WtModify *m)
{
	MemoryContext old;

	MemoryContextReset(m->row_cxt);
	old = MemoryContextSwitchTo(m->row_cxt);
	wt_modify_state_need_engine(m);
	return old;
}

/*
 * PostgreSQL routes rows to foreign partitions, but does not check whether a
 * row that is written to one directly belongs there.
 */
static void
check_partition(WtModify *m, ResultRelInfo *rinfo, TupleTableSlot *slot, EState *estate)
{
	if (m->rel->rd_rel->relispartition)
		(void) ExecPartitionCheck(rinfo, slot, estate, true);
}

/*
 * Raises 42501 if the new row violates a row security policy: of the partitioned
 * table, because foreign tables have none.  PostgreSQL itself checks rows for ordinary
 * partitions only.  statement: UPDATE may also move the row here from another
 * partition; a row of MERGE must meet the policies for INSERT and for UPDATE, because
 * its action is not known here.
 */
static void
check_policies(ResultRelInfo *rinfo, TupleTableSlot *slot, EState *estate, CmdType statement)
{
	if (rinfo->ri_WithCheckOptions == NIL)
		return;
	if (statement != CMD_UPDATE)
		ExecWithCheckOptions(WCO_RLS_INSERT_CHECK, rinfo, slot, estate);
	if (statement != CMD_INSERT)
		ExecWithCheckOptions(WCO_RLS_UPDATE_CHECK, rinfo, slot, estate);
}

/* Returns true if RETURNING or an AFTER ROW trigger looks at the row that was written. */
static bool
stored_row_is_read(ResultRelInfo *rinfo)
{
	TriggerDesc *trig = rinfo->ri_TrigDesc;

	return rinfo->ri_projectReturning != NULL ||
		   (trig && (trig->trig_insert_after_row || trig->trig_update_after_row));
}

/*
 * Makes slot the row as it is stored, for RETURNING and triggers.  A column
 * that shows the timestamp of a cell just written shows the present time if
 * the engine assigns the timestamp, or NULL if the cell is removed; a map
 * loses what it does not store.  written, by column: what an UPDATE has set;
 * NULL: all columns.
 */
static void
show_stored(WtModify *m, ResultRelInfo *rinfo, TupleTableSlot *slot, const bool *written)
{
	WtTable *t = m->t;
	TupleDesc desc = slot->tts_tupleDescriptor;
	int64 now;

	if (m->rows.nts == 0 && m->rows.nmaps == 0 && (!t->cells_layout || m->cells.col_ts < 0))
		return;
	if (!stored_row_is_read(rinfo))
		return;
	now = wt_clock_now();
	for (int i = 0; i < t->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		m->nulls[i] = slot->tts_isnull[i];
		m->values[i] = m->nulls[i] ? (Datum) 0
								   : datumCopy(slot->tts_values[i], att->attbyval, att->attlen);
	}
	for (int i = 0; i < t->natts; i++)
	{
		bool is_ts = t->columns[i].role == WT_CELL_TS;
		int k = is_ts ? i : m->rows.ts_of[i];

		if (t->columns[i].role == WT_MAP && !m->nulls[i] && (written == NULL || written[i]))
			m->values[i] = wt_map_stored(m->values[i], &m->nulls[i]);
		if (k < 0 || (written && !written[i] && !written[k]))
			continue;
		if (!is_ts && slot->tts_isnull[i])
			m->nulls[k] = true;
		else if (m->nulls[k] || (written && !written[k]))
		{
			m->nulls[k] = false;
			m->values[k] = Int64GetDatum(t->columns[k].typid == INT8OID ? now
																		: now - WT_EPOCH_DIFF);
		}
	}
	ExecClearTuple(slot);
	memcpy(slot->tts_values, m->values, sizeof(Datum) * t->natts);
	memcpy(slot->tts_isnull, m->nulls, sizeof(bool) * t->natts);
	ExecStoreVirtualTuple(slot);
	ExecMaterializeSlot(slot);
}

TupleTableSlot *
wt_modify_exec_insert(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot,
					  TupleTableSlot *planSlot)
{
	WtModify *m = rinfo->ri_FdwState;
	MemoryContext old;
	bool done;

	if (m->aux)
		m = m->aux;
	/* in a restore: the row is there already, because the one that it follows from is, or will be
	 */
	if (wt_is_derived(m->t))
		return NULL;
	old = begin_row(m);
	check_policies(rinfo, slot, estate, m->statement);
	wt_change_begin(m->t, &m->writer);
	slot_getallattrs(slot);
	/* tuple routing has chosen the partition by the row itself */
	if (rinfo->ri_RootResultRelInfo == NULL)
		check_partition(m, rinfo, slot, estate);
	done = m->t->cells_layout ? wt_cells_layout_insert(m, slot) : wt_rows_layout_insert(m, slot);
	if (done)
		show_stored(m, rinfo, slot, NULL);
	wt_derive_settle();
	MemoryContextSwitchTo(old);
	return done ? slot : NULL;
}

/* Finds the columns that the statement sets, generated columns included. */
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

/*
 * The columns that are set in this row.  With BEFORE ROW triggers these are also
 * the columns that differ from the old row.
 */
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
	MemoryContext old = begin_row(m);
	TupleTableSlot *before = rinfo->ri_oldTupleSlot;
	const bool *set;
	bool done;

	if (!m->set_known)
		find_set_columns(m, estate, rinfo);
	slot_getallattrs(slot);
	check_partition(m, rinfo, slot, estate);
	check_policies(rinfo, slot, estate, CMD_UPDATE);
	if (before != NULL && TTS_EMPTY(before))
		before = NULL;
	if (before != NULL)
		slot_getallattrs(before);
	set = set_columns(m, slot, before);
	done = m->t->cells_layout ? wt_cells_layout_update(m, slot, planSlot, set)
							  : wt_rows_layout_update(m, slot, planSlot, before, set);
	if (done)
		show_stored(m, rinfo, slot, set);
	wt_derive_settle();
	MemoryContextSwitchTo(old);
	return done ? slot : NULL;
}

/* Makes slot the old row, for DELETE ... RETURNING. */
static void
show_old_row(WtModify *m, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	bool isnull = true;
	Datum d = 0;
	HeapTupleData tuple;

	if (rinfo->ri_projectReturning == NULL || !AttributeNumberIsValid(m->junk.row))
		return;
	d = ExecGetJunkAttribute(planSlot, m->junk.row, &isnull);
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
	MemoryContext old = begin_row(m);
	bool done = m->t->cells_layout ? wt_cells_layout_delete(m, planSlot)
								   : wt_rows_layout_delete(m, planSlot);

	if (done)
		show_old_row(m, rinfo, slot, planSlot);
	wt_derive_settle();
	MemoryContextSwitchTo(old);
	return done ? slot : NULL;
}

/*
 * direct_modify.c
 *		UPDATE and DELETE that the scan of their target does itself.
 *
 * The ordinary path (modify.c) takes each row through the executor.  It reads
 * the whole row and makes it a tuple, because PostgreSQL wants all columns of
 * the row that an UPDATE replaces, and then reads the cells to be written once
 * more for their timestamps.  The direct path is one scan: it finds the row,
 * locks it, reads it again if another transaction has committed since
 * (scan_lock.c), evaluates the SET expressions and writes the cells.  It reads
 * the columns of the conditions, of the expressions and of RETURNING.  Of the
 * columns that are set it reads only the timestamps, which the new versions must
 * exceed; a value that cannot be decoded does not prevent its replacement.
 *
 * Both paths write the same cells, see rows_layout.c.  The ordinary path is
 * taken for: joins; layout 'cells'; a set column that is a key, a map or a
 * timestamp, or whose timestamp has a column; SET (a, b) = (SELECT ...); a set
 * column that the partition constraint depends on; transition tables.  PostgreSQL
 * itself takes it for row triggers, stored generated columns and views WITH CHECK
 * OPTION.
 */
#include "postgres.h"

#include "fdw/write/direct_modify.h"

#include "access/attnum.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/appendinfo.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "storage/lockdefs.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/plan/plan_private.h"
#include "fdw/plan/scan_columns.h"
#include "fdw/plan/system_column.h"
#include "fdw/scan/explain.h"
#include "fdw/scan/scan.h"
#include "fdw/scan/scan_lock.h"
#include "fdw/scan/scan_state.h"
#include "fdw/store/bytes.h"
#include "fdw/store/compat.h"
#include "fdw/store/settings.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/table/write_error.h"
#include "fdw/write/modify_state.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/change.h"
#include "fdw/xact/derive.h"
#include "fdw/xact/engine_scan.h"
#include "fdw/xact/wal_usage.h"

/*
 * Members of the list that is the last member of the plan's fdw_private.  The
 * plan's fdw_exprs are the arguments of the scan, then the clauses to be tested
 * on a row that was read again, then the SET expressions.
 */
enum DirectInfo
{
	DirectRechecks, /* Integer: number of clauses to be tested again */
	DirectSet,		/* integer list: attribute numbers of the columns that are set */
	DirectBare,		/* integer list: columns of which only the timestamp is read */
	DirectCounts	/* Integer: 1 if rows count for the command tag */
};

/* The most columns that are read only to know whether a row keeps a cell. */
#define MAX_WITNESSES 4

/* SET column = expr, and the value for the row being written. */
typedef struct Assignment
{
	int column; /* index into t->columns */
	ExprState *expr;
	Datum value;
	bool isnull;
} Assignment;

typedef struct WtDirectModify
{
	WtScanState *st;
	ResultRelInfo *rinfo;
	WtWriter writer;

	/* the statement */
	CmdType op;
	bool counts;		/* rows count for the command tag */
	ExprState *qual;	/* the scan's conditions, taken out of the plan state */
	ExprState *recheck; /* clauses that the scan answers, for a row that was read again */
	int nset;			/* 0 for DELETE */
	Assignment *set;
	bool *is_set; /* by column */

	WtEngineTable e; /* the engine's table, from the first row on; before, e.table is 0 */

	WtEngineScan *exists; /* looks for other cells of a row; NULL: not yet */

	StringInfoData value, range; /* scratch */
} WtDirectModify;

/* -------------------------------------------------------------- planning */

/*
 * Returns the target's scan if nothing but an Append of all partitions is
 * between it and the ModifyTable, else NULL.  *projected: above the Append there
 * is also a Result, which computes the target list in place of the scan.
 */
static ForeignScan *
target_scan(ModifyTable *plan, Index rel, int index, bool *projected)
{
	Plan *sub = outerPlan(plan);

	*projected = false;
	if (IsA(sub, Result) && outerPlan(sub) != NULL && IsA(outerPlan(sub), Append))
	{
		sub = outerPlan(sub);
		*projected = true;
	}
	if (IsA(sub, Append))
	{
		if (index >= list_length(((Append *) sub)->appendplans))
			return NULL;
		sub = list_nth(((Append *) sub)->appendplans, index);
	}
	if (!IsA(sub, ForeignScan) || ((ForeignScan *) sub)->scan.scanrelid != rel)
		return NULL;
	return (ForeignScan *) sub;
}

/* Returns true if a trigger of the table named in the statement has a transition table. */
static bool
collects_transitions(PlannerInfo *root, ModifyTable *plan)
{
	Index top = plan->rootRelation > 0 ? plan->rootRelation : plan->nominalRelation;
	RangeTblEntry *rte = planner_rt_fetch(top, root);
	Relation rel;
	TriggerDesc *trig;
	bool found;

	if (rte->rtekind != RTE_RELATION)
		return false;
	rel = table_open(rte->relid, NoLock);
	trig = rel->trigdesc;
	found = trig != NULL && (plan->operation == CMD_DELETE
								 ? trig->trig_delete_old_table
								 : trig->trig_update_old_table || trig->trig_update_new_table);
	table_close(rel, NoLock);
	return found;
}

/* The columns that the partition constraint depends on, numbered as pull_varattnos does. */
static Bitmapset *
partition_columns(Oid relid)
{
	Relation rel = table_open(relid, NoLock);
	Bitmapset *attrs = NULL;

	if (rel->rd_rel->relispartition)
		pull_varattnos((Node *) RelationGetPartitionQual(rel), 1, &attrs);
	table_close(rel, NoLock);
	return attrs;
}

/* Walker: true for SET (a, b) = (SELECT ...), whose parameters the subplan sets. */
static bool
has_multiexpr(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_MULTIEXPR)
		return true;
	if (IsA(node, SubPlan) && ((SubPlan *) node)->subLinkType == MULTIEXPR_SUBLINK)
		return true;
	return expression_tree_walker(node, has_multiexpr, context);
}

/* Returns true if the column is a cell whose timestamp no column shows. */
static bool
is_plain_cell(WtTable *t, AttrNumber attno)
{
	const WtColumn *c;

	if (attno < 1 || attno > t->natts)
		return false;
	c = &t->columns[attno - 1];
	return c->role == WT_CELL &&
		   wt_modify_state_timestamp_of(t, c->family, (wide_bytes) {c->qual, c->qual_len}) < 0;
}

/*
 * Collects the columns that are set and their expressions.  Returns false if one
 * of them must not be set directly.
 */
static bool
collect_set(PlannerInfo *root, WtTable *t, Index rel, List **columns, List **exprs)
{
	List *tlist, *attnos;
	ListCell *lc, *lc2;
	Bitmapset *deciding = partition_columns(t->relid);

	get_translated_update_targetlist(root, rel, &tlist, &attnos);
	forboth(lc, tlist, lc2, attnos)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		AttrNumber attno = (AttrNumber) lfirst_int(lc2);

		if (!is_plain_cell(t, attno) || has_multiexpr((Node *) tle->expr, NULL) ||
			bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, deciding))
			return false;
		*columns = lappend_int(*columns, attno);
		*exprs = lappend(*exprs, tle->expr);
	}
	return true;
}

/*
 * An UPDATE that sets nothing but NULL must know whether the row keeps a cell (marker.h).  Returns
 * columns whose cells prove that, if they are there: some of the families that the scan reads
 * anyway, which costs less than to look the row up a second time.
 */
static List *
witnesses(WtTable *t, List *columns, List *set)
{
	List *out = NIL;
	ListCell *lc;

	foreach(lc, set)
		if (!IsA(lfirst(lc), Const) || !((Const *) lfirst(lc))->constisnull)
			return NIL;
	foreach(lc, columns)
		for (int a = 0; t->marker && a < t->natts && list_length(out) < MAX_WITNESSES; a++)
			if (t->columns[a].role == WT_CELL &&
				t->columns[a].family == t->columns[lfirst_int(lc) - 1].family &&
				!list_member_int(columns, a + 1))
				out = list_append_unique_int(out, a + 1);
	return out;
}

/*
 * Of the clauses that the scan answers, those that read columns beside the key:
 * they may no longer hold for a row that is read again.
 */
static List *
clauses_to_recheck(WtTable *t, Index rel, List *clauses)
{
	List *out = NIL;
	Bitmapset *key = NULL;
	ListCell *lc;

	for (int part = 0; part < t->nkeys; part++)
		key = bms_add_member(key, wt_key_column(t, part)->attno);
	foreach(lc, clauses)
		if (!bms_is_subset(wt_scan_columns_read(t, rel, list_make1(lfirst(lc))), key))
			out = lappend(out, lfirst(lc));
	return out;
}

/*
 * Only RETURNING uses what the scan delivers, and it reads the scan's tuple.  So
 * nulls replace the target list, except tableoid, which identifies the partition.
 */
static List *
empty_targetlist(List *tlist)
{
	List *out = NIL;
	ListCell *lc;

	foreach(lc, tlist)
	{
		TargetEntry *tle = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));
		Node *e = (Node *) tle->expr;

		if (!(IsA(e, Var) && ((Var *) e)->varattno == TableOidAttributeNumber))
			tle->expr = (Expr *) makeNullConst(exprType(e), exprTypmod(e), exprCollation(e));
		out = lappend(out, tle);
	}
	return out;
}

bool
wt_direct_modify_plan(PlannerInfo *root, ModifyTable *plan, Index rel, int index)
{
	WtTable *t = wt_table(planner_rt_fetch(rel, root)->relid);
	bool projected;
	ForeignScan *scan = target_scan(plan, rel, index, &projected);
	List *returning = plan->returningLists == NIL ? NIL : list_nth(plan->returningLists, index);
	List *columns = NIL, *set = NIL, *rechecks, *unread, *bare = NIL, *flags;
	Bitmapset *needed, *returned, *wanted;
	ListCell *lc;

	wt_system_column_check_modify(plan, t, rel, index);
	if (!wt_settings_enable_direct_modify || scan == NULL || t->cells_layout)
		return false;
	if (plan->operation != CMD_UPDATE && plan->operation != CMD_DELETE)
		return false;
	/* the Result would evaluate the SET expressions a second time */
	if (projected && returning != NIL)
		return false;
	if (collects_transitions(root, plan))
		return false;
	if (plan->operation == CMD_UPDATE && !collect_set(root, t, rel, &columns, &set))
		return false;

	rechecks = clauses_to_recheck(t, rel, scan->fdw_recheck_quals);
	needed = wt_scan_columns_read(t, rel,
								  list_concat_copy(list_concat_copy(scan->scan.plan.qual, rechecks),
												   set));
	returned = wt_scan_columns_read(t, rel, returning);
	foreach(lc, columns)
		returned = bms_del_member(returned, lfirst_int(lc));
	wanted = needed = bms_join(needed, returned);
	unread = list_concat_copy(columns, witnesses(t, columns, set));
	foreach(lc, unread)
	{
		if (!bms_is_member(lfirst_int(lc), needed))
			bare = lappend_int(bare, lfirst_int(lc));
		wanted = bms_add_member(bms_copy(wanted), lfirst_int(lc));
	}

	scan->fdw_private = copyObject(scan->fdw_private);
	flags = list_nth(scan->fdw_private, WtPrivateFlags);
	list_nth_cell(flags, WtFlagStrictFamily)->int_value =
		wt_scan_columns_strict(find_base_rel(root, rel), t, scan->scan.plan.qual, wanted, &wanted);
	lfirst(list_nth_cell(scan->fdw_private, WtPrivateColumns)) = wt_scan_columns_list(wanted);
	scan->fdw_private = lappend(scan->fdw_private,
								list_make4(makeInteger(list_length(rechecks)), columns, bare,
										   makeInteger(plan->canSetTag)));
	scan->fdw_exprs = list_concat(list_concat_copy(scan->fdw_exprs, rechecks), set);
	scan->scan.plan.targetlist = empty_targetlist(scan->scan.plan.targetlist);
	scan->scan.plan.async_capable = false;
	scan->operation = plan->operation;
	scan->resultRelation = rel;
	return true;
}

/* ------------------------------------------------------------- execution */

void
wt_direct_modify_begin(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *info = llast(plan->fdw_private);
	int nargs = list_length(list_nth(plan->fdw_private, WtPrivateTypes));
	List *args = list_truncate(list_copy(plan->fdw_exprs), nargs);
	List *exprs = list_copy_tail(plan->fdw_exprs, nargs); /* rechecks, then SET */
	int nrechecks = intVal(list_nth(info, DirectRechecks));
	WtDirectModify *d;
	WtScanState *st;
	ListCell *lc;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	d = palloc0(sizeof(WtDirectModify));
	st = d->st = wt_scan_begin(RelationGetRelid(node->ss.ss_currentRelation), plan->fdw_private,
							   args, &node->ss.ps, false);
	d->rinfo = node->resultRelInfo;
	wt_batch_writer_init(&d->writer, node->ss.ps.state);
	d->op = plan->operation;
	d->counts = intVal(list_nth(info, DirectCounts)) != 0;
	/* next_target tests the conditions: the executor would do it after the row is changed */
	d->qual = node->ss.ps.qual;
	node->ss.ps.qual = NULL;
	d->recheck = ExecInitQual(list_truncate(list_copy(exprs), nrechecks), &node->ss.ps);

	d->set = palloc0(sizeof(Assignment) * Max(1, list_length(list_nth(info, DirectSet))));
	d->is_set = palloc0(sizeof(bool) * st->t->natts);
	st->floors = palloc(sizeof(int64) * st->t->natts);
	st->bare = palloc0(sizeof(bool) * st->t->natts);
	foreach(lc, (List *) list_nth(info, DirectSet))
	{
		Assignment *a = &d->set[d->nset];

		a->column = lfirst_int(lc) - 1;
		d->is_set[a->column] = true;
		a->expr = ExecInitExpr(list_nth(exprs, nrechecks + d->nset++), &node->ss.ps);
	}
	foreach(lc, (List *) list_nth(info, DirectBare))
		st->bare[lfirst_int(lc) - 1] = true;
	initStringInfo(&d->value);
	initStringInfo(&d->range);
	node->fdw_state = d;
}

/*
 * Finds the next target row, locks it, and leaves its newest state in slot.  A
 * row that was read again under the lock must meet all conditions again.  Returns
 * false at the end.
 */
static bool
next_target(WtDirectModify *d, ForeignScanState *node, TupleTableSlot *slot)
{
	WtScanState *st = d->st;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;

	while (wt_scan_fetch(st, slot->tts_values, slot->tts_isnull))
	{
		MemoryContext old;
		bool locked;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		ExecStoreVirtualTuple(slot);
		econtext->ecxt_scantuple = slot;
		if (d->qual == NULL || ExecQual(d->qual, econtext))
		{
			ExecClearTuple(slot);
			old = MemoryContextSwitchTo(st->rowcxt);
			locked = wt_scan_lock_row(st, slot->tts_values, slot->tts_isnull);
			MemoryContextSwitchTo(old);
			if (!locked)
				continue;
			ExecStoreVirtualTuple(slot);
			if (!st->newest.reread)
				return true;
			ResetExprContext(econtext);
			if ((d->qual == NULL || ExecQual(d->qual, econtext)) &&
				(d->recheck == NULL || ExecQual(d->recheck, econtext)))
				return true;
		}
		InstrCountFiltered1(node, 1);
		ExecClearTuple(slot);
	}
	return false;
}

/* Returns true if the scan has read a cell of the row that the statement does not set. */
static bool
has_witness(const WtDirectModify *d)
{
	for (int i = 0; i < d->st->t->natts; i++)
		if (d->st->floors[i] != PG_INT64_MIN && !d->is_set[i])
			return true;
	return false;
}

/* Writes the cells that the statement sets, and a marker if it has removed the row's last ones. */
static void
update_row(WtDirectModify *d, ForeignScanState *node, TupleTableSlot *slot)
{
	WtScanState *st = d->st;
	wide_bytes key = wt_bytes_of(&st->open.reader->key);
	bool puts = false;

	for (int i = 0; i < d->nset; i++)
	{
		Assignment *a = &d->set[i];
		const WtColumn *c = &st->t->columns[a->column];
		wide_bytes qual = {c->qual, c->qual_len};
		wide_family_id family = d->e.families[c->family];

		if (a->isnull)
		{
			wt_modify_state_check_not_null(node->ss.ss_currentRelation, c);
			wt_change_delete(st->t, WIDE_DELETE_COLUMN, family, key, qual, WIDE_TS_MAX);
		}
		else
		{
			resetStringInfo(&d->value);
			wt_cell_value_encode(c, a->value, &d->value);
			wt_change_set(st->t, family, key, qual, WIDE_TS_AUTO, st->floors[a->column], 0,
						  wt_bytes_of(&d->value));
			puts = true;
		}
	}
	if (!puts && st->t->marker && !has_witness(d))
		wt_modify_state_mark_empty(st->t, &d->e, &d->exists, key, &d->range);
	if (d->rinfo->ri_projectReturning != NULL)
		for (int i = 0; i < d->nset; i++)
		{
			slot->tts_values[d->set[i].column] = d->set[i].value;
			slot->tts_isnull[d->set[i].column] = d->set[i].isnull;
		}
}

/* Writes the row.  Returns false if it is left out, see wt_batch_leave_out. */
static bool
write_row(WtDirectModify *d, ForeignScanState *node, TupleTableSlot *slot)
{
	wide_bytes key = wt_bytes_of(&d->st->open.reader->key);

	/* creates families that were added to the foreign table since */
	if (d->e.table == 0)
		wt_engine_table_as(d->st->t, d->st->user, true, &d->e);
	for (int i = 0; i < d->nset; i++)
		d->set[i].value = ExecEvalExpr(d->set[i].expr, node->ss.ps.ps_ExprContext,
									   &d->set[i].isnull);
	/* after the expressions, because functions in them may have written the row */
	if (wt_change_leave_out(d->st->t, &d->writer, d->op, d->e.all, d->e.nall, key, NULL))
		return false;
	wt_change_begin(d->st->t, &d->writer);
	if (d->op == CMD_UPDATE)
		update_row(d, node, slot);
	else
		wt_modify_state_delete_row(d->st->t, &d->e, key);
	wt_derive_settle();
	return true;
}

/* With RETURNING, each call writes and returns one row; otherwise the first call writes all. */
TupleTableSlot *
wt_direct_modify_iterate(ForeignScanState *node)
{
	WtDirectModify *d = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	while (next_target(d, node, slot))
	{
		if (!write_row(d, node, slot))
		{
			ExecClearTuple(slot);
			continue;
		}
		if (d->counts)
			node->ss.ps.state->es_processed++;
		if (d->rinfo->ri_projectReturning != NULL)
		{
			/* for tableoid in RETURNING; PostgreSQL before 18 sets it in ModifyTable, too */
			slot->tts_tableOid = RelationGetRelid(d->rinfo->ri_RelationDesc);
			d->rinfo->ri_projectReturning->pi_exprContext->ecxt_scantuple = slot;
			return slot;
		}
		if (node->ss.ps.instrument)
			node->ss.ps.instrument->tuplecount++;
		ExecClearTuple(slot);
	}
	return slot;
}

void
wt_direct_modify_end(ForeignScanState *node)
{
	WtDirectModify *d = node->fdw_state;

	if (d == NULL)
		return;
	wt_engine_scan_close(d->exists);
	wt_scan_end(d->st);
}

void
wt_direct_modify_explain(ForeignScanState *node, struct ExplainState *es)
{
	WtDirectModify *d = node->fdw_state;

	/* shows the properties of the scan */
	node->fdw_state = d == NULL ? NULL : d->st;
	wt_explain_foreign_scan(node, es);
	node->fdw_state = d;
}

/*
 * modify_state.c
 *		The state of INSERT, UPDATE or DELETE on one target table.
 *
 * UPDATE and DELETE identify a target row by columns that the plan delivers
 * beside the new values ("junk"): the key columns, and in layout 'cells' also
 * family, qualifier and timestamp.  A plan with a join may deliver a row more
 * than once; then a hash of 128 bits of each row that was done is kept.
 *
 * The state lives in the query's memory context.  The engine's table is looked
 * up, and created if need be, for the first row only: EXPLAIN and statements
 * without rows create nothing.
 */
#include "postgres.h"

#include "fdw/write/modify_state.h"

#include "access/attnum.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/appendinfo.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/engine.h"
#include "fdw/table/key_text.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/change.h"

/*
 * The name of a junk column.  The tables of an inheritance tree share one name
 * space, in which equal names must mean equal Vars.
 */
static void
identity_name(char *buf, size_t size, Form_pg_attribute att)
{
	snprintf(buf, size, "wt_%d_%u_%d_%u", att->attnum, att->atttypid, att->atttypmod,
			 att->attcollation);
}

void
wt_modify_state_add_identity(PlannerInfo *root, Index rtindex, Relation rel, AttrNumber attno)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
	char name[NAMEDATALEN];

	identity_name(name, sizeof(name), att);
	add_row_identity_var(root,
						 makeVar(rtindex, attno, att->atttypid, att->atttypmod, att->attcollation,
								 0),
						 rtindex, pstrdup(name));
}

bool
wt_modify_state_is_cell_identity(const WtColumn *c)
{
	return c->role == WT_CELL_FAMILY || c->role == WT_CELL_QUALIFIER || c->role == WT_CELL_TS;
}

static AttrNumber
find_junk(WtModify *m, List *tlist, AttrNumber attno)
{
	char name[NAMEDATALEN];
	AttrNumber resno;

	identity_name(name, sizeof(name), TupleDescAttr(RelationGetDescr(m->rel), attno - 1));
	resno = ExecFindJunkAttributeInTlist(tlist, name);
	if (!AttributeNumberIsValid(resno))
		elog(ERROR, "could not find junk column \"%s\"", name);
	return resno;
}

int
wt_modify_state_timestamp_of(WtTable *t, int family, wide_bytes qual)
{
	WtColumn *c = wt_cell_read_column(t, WT_TIMESTAMP_OF, family, qual);

	return c == NULL ? -1 : c->attno - 1;
}

/* Returns the index of the first column of this role, -1 if there is none. */
static int
column_of(const WtTable *t, WtRole role)
{
	for (int i = 0; i < t->natts; i++)
	{
		if (t->columns[i].role == role)
			return i;
	}
	return -1;
}

/* Finds the columns of layout 'cells', or the TIMESTAMP_OF column of each cell. */
static void
find_columns(WtModify *m)
{
	WtTable *t = m->t;

	m->rows.ts_of = palloc(sizeof(int) * t->natts);
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn *c = &t->columns[i];

		m->rows.nts += c->role == WT_TIMESTAMP_OF;
		m->rows.nmaps += c->role == WT_MAP;
		m->rows.ts_of[i] = c->role == WT_CELL
							   ? wt_modify_state_timestamp_of(t, c->family,
															  (wide_bytes) {c->qual, c->qual_len})
							   : -1;
	}
	if (!t->cells_layout)
		return;
	m->cells.col_family = column_of(t, WT_CELL_FAMILY);
	m->cells.col_qual = column_of(t, WT_CELL_QUALIFIER);
	m->cells.col_ts = column_of(t, WT_CELL_TS);
	m->cells.col_value = column_of(t, WT_CELL_VALUE);
}

/* Returns true if the plan delivers each target row at most once.  Joins may repeat rows. */
static bool
delivers_once(Plan *plan)
{
	ListCell *lc;

	if (plan == NULL)
		return false;
	switch (nodeTag(plan))
	{
		case T_ForeignScan:
			return ((Scan *) plan)->scanrelid > 0;
		case T_Append:
		case T_MergeAppend:
			foreach(lc, IsA(plan, Append) ? ((Append *) plan)->appendplans
										  : ((MergeAppend *) plan)->mergeplans)
				if (!delivers_once(lfirst(lc)))
					return false;
			return true;
		case T_Result:
			return plan->lefttree == NULL || delivers_once(plan->lefttree);
		case T_Sort:
		case T_Limit:
		case T_LockRows:
			return delivers_once(plan->lefttree);
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
			return true; /* a partition that is an ordinary table */
		default:
			return false;
	}
}

/* Finds the columns that identify target rows, and whether the plan may repeat a row. */
static void
find_identity(WtModify *m, Plan *subplan)
{
	WtTable *t = m->t;
	List *tlist = subplan->targetlist;

	m->junk.keys = palloc(sizeof(AttrNumber) * t->nkeys);
	for (int i = 0; i < t->nkeys; i++)
		m->junk.keys[i] = find_junk(m, tlist, t->columns[t->keys[i]].attno);
	m->junk.row = ExecFindJunkAttributeInTlist(tlist, "wholerow");
	if (t->cells_layout)
	{
		m->junk.family = find_junk(m, tlist, t->columns[m->cells.col_family].attno);
		m->junk.qual = find_junk(m, tlist, t->columns[m->cells.col_qual].attno);
		m->junk.ts = find_junk(m, tlist, t->columns[m->cells.col_ts].attno);
	}
	if (!delivers_once(subplan))
	{
		HASHCTL ctl = {.keysize = 2 * sizeof(uint64),
					   .entrysize = 2 * sizeof(uint64),
					   .hcxt = CurrentMemoryContext};

		m->seen = hash_create("widetable rows modified", 256, &ctl,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
}

/* Returns: the user whose privileges PostgreSQL has checked for the target. */
static Oid
checked_user(ResultRelInfo *rinfo, EState *estate)
{
	Oid user = wt_user_of_target(rinfo, estate);

	return OidIsValid(user) ? user : GetUserId();
}

WtModify *
wt_modify_state_begin(EState *estate, ResultRelInfo *rinfo, CmdType op, Plan *subplan,
					  bool do_nothing)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Relation rel = rinfo->ri_RelationDesc;
	WtModify *m = palloc0(sizeof(WtModify));
	WtTable *t = wt_table(RelationGetRelid(rel));
	TriggerDesc *trig = rinfo->ri_TrigDesc;

	m->rel = rel;
	m->t = t;
	m->do_nothing = do_nothing;
	if (t->engine != NULL)
		m->user = checked_user(rinfo, estate);
	wt_batch_writer_init(&m->writer, estate);
	find_columns(m);
	m->values = palloc(sizeof(Datum) * t->natts);
	m->nulls = palloc(sizeof(bool) * t->natts);
	initStringInfo(&m->key);
	initStringInfo(&m->new_key);
	initStringInfo(&m->value);
	initStringInfo(&m->qual);
	initStringInfo(&m->range);
	m->row_cxt = AllocSetContextCreate(estate->es_query_cxt, "widetable modify row",
									   ALLOCSET_DEFAULT_SIZES);

	if (op != CMD_INSERT)
		find_identity(m, subplan);
	if (op == CMD_UPDATE)
	{
		m->set = palloc0(sizeof(bool) * t->natts);
		m->compare_all = trig && trig->trig_update_before_row;
	}
	MemoryContextSwitchTo(old);
	return m;
}

void
wt_modify_state_end(WtModify *m)
{
	if (m->seen)
		hash_destroy(m->seen);
	wt_cell_read_floors_close(m->rows.floors);
	wt_engine_scan_close(m->rows.exists);
	MemoryContextDelete(m->row_cxt);
}

void
wt_modify_state_need_engine(WtModify *m)
{
	if (m->engine_known)
		return;
	m->wrote_before = m->t->engine != NULL || wt_change_any();
	wt_engine_table_as(m->t, m->user, true, &m->e);
	if (m->t->cells_layout)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(m));

		m->cells.names = wt_engine_table_families(&m->e, &m->cells.nnames);
		MemoryContextSwitchTo(old);
	}
	m->engine_known = true;
}

wide_family_id
wt_modify_state_family(WtModify *m, int family)
{
	wide_family_id id = m->e.families[family];

	if (id == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("family \"%s\" of table \"%s\" does not exist",
						m->t->families[family].name, RelationGetRelationName(m->rel))));
	return id;
}

void
wt_modify_state_delete_row(WtTable *t, const WtEngineTable *e, wide_bytes key)
{
	for (int i = 0; i < e->nall; i++)
		wt_change_delete(t, WIDE_DELETE_FAMILY, e->all[i], key, (wide_bytes) {NULL, 0},
						 WIDE_TS_MAX);
}

void
wt_modify_state_put_marker(WtTable *t, const WtEngineTable *e, wide_bytes key)
{
	const wide_bytes none = {(const uint8 *) "", 0};

	wt_change_put(t, e->families[0], key, none, WIDE_TS_AUTO, PG_INT64_MIN, 0, none);
}

void
wt_modify_state_mark_empty(WtTable *t, WtEngineTable *e, WtEngineScan **exists, wide_bytes key,
						   StringInfo buf)
{
	if (!wt_cell_read_row_exists_again(exists, e, key, buf))
		wt_modify_state_put_marker(t, e, key);
}

void
wt_modify_state_check_not_null(Relation rel, const WtColumn *c)
{
	if (c->not_null)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value in column \"%s\" of relation \"%s\" violates not-null "
						"constraint",
						c->name,
						RelationGetRelationName(rel)),
				 errtablecol(rel, c->attno)));
}

/* The hint for a row that would have no cells. */
static void
hint_no_cells(const WtTable *t)
{
	if (t->cells_layout)
		errhint("A version has a value.");
	else if (t->marker_taken >= 0)
		errhint("Give at least one column beside the key a value. Option \"marker\" is off because "
				"column \"%s\" shows the cell that would mark the row.",
				t->columns[t->marker_taken].name);
	else
		errhint("Give at least one column beside the key a value, or set option \"marker\" of the "
				"table to \"auto\".");
}

bool
wt_modify_state_may_upsert(const WtModify *m, TupleTableSlot *slot)
{
	if (m->upsert != WT_UPSERT_COLUMNS)
		return m->upsert == WT_UPSERT_ALL;
	for (int i = 0; i < m->t->natts; i++)
	{
		if (!slot->tts_isnull[i] && !m->may_update[i])
			return false;
	}
	return true;
}

int
wt_modify_state_errdetail_key(const WtModify *m, wide_bytes key)
{
	if (m->upsert == WT_UPSERT_HIDDEN || !wt_rowkey_is_visible(m->t))
		return 0;
	return errdetail("Key %s.", wt_key_text(m->t, key));
}

int
wt_modify_state_errhint_upsert(const WtModify *m)
{
	switch (m->upsert)
	{
		case WT_UPSERT_COLUMNS:
			return errhint(
				"INSERT writes over existing rows only with the privilege UPDATE of each "
				"column that gets a value, also by a default, and through a view only if "
				"the view shows the column.");
		case WT_UPSERT_RIGHTS:
			return errhint("INSERT writes over existing rows only for roles with the privilege "
						   "UPDATE.");
		case WT_UPSERT_HIDDEN:
			return errhint("INSERT does not write over existing rows under row security, nor "
						   "through views with a condition or with security_barrier.");
		case WT_UPSERT_MOVED:
			return errhint("UPDATE of a partition key and MERGE do not write over existing rows.");
		case WT_UPSERT_ALL:
			break;
	}
	return 0;
}

void
wt_modify_state_raise_no_cells(WtModify *m, wide_bytes key)
{
	ereport(ERROR,
			(errcode(ERRCODE_NOT_NULL_VIOLATION),
			 errmsg("row of table \"%s\" would have no cells", RelationGetRelationName(m->rel)),
			 wt_modify_state_errdetail_key(m, key),
			 hint_no_cells(m->t)));
}

int64
wt_modify_state_stated_ts(WtModify *m, TupleTableSlot *slot, int ts_col)
{
	WtColumn *c;

	if (ts_col < 0 || slot->tts_isnull[ts_col])
		return WIDE_TS_AUTO;
	c = &m->t->columns[ts_col];
	return wt_clock_from_datum(c->typid, slot->tts_values[ts_col], c->name);
}

bool
wt_modify_state_first_time(WtModify *m, wide_bytes identity)
{
	uint64 h[2];
	bool found;

	if (m->seen == NULL)
		return true;
	h[0] = hash_bytes_extended(identity.data, (int) identity.len, 1);
	h[1] = hash_bytes_extended(identity.data, (int) identity.len, 2);
	hash_search(m->seen, h, HASH_ENTER, &found);
	return !found;
}

wide_bytes
wt_modify_state_old_key(WtModify *m, TupleTableSlot *planSlot, StringInfo out)
{
	WtTable *t = m->t;

	memset(m->nulls, true, sizeof(bool) * t->natts);
	for (int i = 0; i < t->nkeys; i++)
	{
		int k = t->keys[i];

		m->values[k] = ExecGetJunkAttribute(planSlot, m->junk.keys[i], &m->nulls[k]);
	}
	resetStringInfo(out);
	wt_rowkey_from_slot(t, m->values, m->nulls, out);
	return wt_bytes_of(out);
}

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

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "fdw/row/map.h"
#include "fdw/write/version_move.h"
#include "fdw/row/cell_read.h"
#include "fdw/store/store.h"

/* A change of one cell in an UPDATE, before it goes to the batch. */
typedef struct CellWrite
{
	int			family;			/* index into t->families */
	wide_bytes	qual;
	bool		remove;
	wide_bytes	value;
	int64		ts;				/* or WIDE_TS_AUTO */
	bool		ts_set;			/* the statement sets the timestamp: the version moves there */
} CellWrite;

typedef struct WtModify
{
	Relation	rel;
	WtTable    *t;
	WtEngine	e;
	bool		engine_known;
	bool		wrote_before;	/* the transaction has other writes */
	CmdType		op;
	bool		do_nothing;		/* ON CONFLICT DO NOTHING */
	WtWriter	writer;

	AttrNumber *key_junk;		/* by key part: resno in the plan's row */
	AttrNumber	family_junk,
				qual_junk,
				ts_junk;
	AttrNumber	row_junk;		/* the old row, when the plan delivers it */
	int			col_family,		/* layout 'cells': indexes into t->columns, -1 */
				col_qual,
				col_ts,
				col_value;
	wide_family *names;			/* layout 'cells': families of the engine's table */
	int			nnames;

	int		   *ts_of;			/* by column: the TIMESTAMP_OF column of its cell, -1 */
	int			nts;			/* number of TIMESTAMP_OF columns */
	bool	   *set;			/* UPDATE, by column: the statement sets it */
	bool		set_known;
	bool		compare_all;	/* BEFORE ROW triggers may set any column */

	WtMoves    *moves;			/* UPDATE of layout 'cells' that sets more than the value */
	HTAB	   *seen;			/* rows done, when the plan may deliver one twice */

	Datum	   *values;			/* scratch, by column */
	bool	   *nulls;
	CellWrite  *writes;
	int			nwrites,
				writes_max;
	StringInfoData key,
				new_key,
				value,
				qual,
				range;
	MemoryContext row_cxt;
	WtFloorReader *floors;		/* of the cells that an UPDATE writes */
	WtScan	   *exists;			/* looks for rows that exist */

	struct WtModify *aux;		/* tuple routing into a table that is also updated */
} WtModify;

/* -------------------------------------------------------------- planning */

/*
 * Identity columns of all tables of an inheritance tree share one name space,
 * and equal names must mean equal Vars.
 */
static void
identity_name(char *buf, size_t size, Form_pg_attribute att)
{
	snprintf(buf, size, "wt_%d_%u_%d_%u", att->attnum, att->atttypid, att->atttypmod, att->attcollation);
}

static void
add_identity(PlannerInfo *root, Index rtindex, Relation rel, AttrNumber attno)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
	char		name[NAMEDATALEN];

	identity_name(name, sizeof(name), att);
	add_row_identity_var(root,
						 makeVar(rtindex, attno, att->atttypid, att->atttypmod, att->attcollation, 0),
						 rtindex, pstrdup(name));
}

static bool
is_cell_identity(const WtColumn *c)
{
	return c->role == WT_CELL_FAMILY || c->role == WT_CELL_QUALIFIER || c->role == WT_CELL_TS;
}

void
wtAddForeignUpdateTargets(PlannerInfo *root, Index rtindex, RangeTblEntry *target_rte, Relation target_relation)
{
	WtTable    *t = wt_table(RelationGetRelid(target_relation));

	for (int i = 0; i < t->nkeys; i++)
		add_identity(root, rtindex, target_relation, t->columns[t->keys[i]].attno);
	for (int i = 0; i < t->natts; i++)
	{
		if (is_cell_identity(&t->columns[i]))
			add_identity(root, rtindex, target_relation, t->columns[i].attno);
	}

	/*
	 * PostgreSQL asks for the old row itself in an UPDATE and when there are
	 * row triggers; DELETE ... RETURNING shows it too.
	 */
	if (root->parse->commandType == CMD_DELETE && root->parse->returningList != NIL)
		add_row_identity_var(root, makeVar(rtindex, InvalidAttrNumber, RECORDOID, -1, InvalidOid, 0),
							 rtindex, "wholerow");
}

/* All that matters is known from the plan node itself when execution begins. */
List *
wtPlanForeignModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index)
{
	if (plan->onConflictAction != ONCONFLICT_NONE && plan->onConflictAction != ONCONFLICT_NOTHING)
		elog(ERROR, "unexpected ON CONFLICT specification: %d", (int) plan->onConflictAction);
	return NIL;
}

int
wtIsForeignRelUpdatable(Relation rel)
{
	WtTable    *t = wt_table(RelationGetRelid(rel));
	int			identity = 0;

	if (!t->updatable)
		return 0;
	if (t->cells_layout)
	{
		for (int i = 0; i < t->natts; i++)
			identity += is_cell_identity(&t->columns[i]);
		/* a version is known by its family, qualifier and timestamp */
		if (identity < 3)
			return 1 << CMD_INSERT;
	}
	return (1 << CMD_INSERT) | (1 << CMD_UPDATE) | (1 << CMD_DELETE);
}

/* --------------------------------------------------------- begin and end */

static AttrNumber
find_junk(WtModify *m, List *tlist, AttrNumber attno)
{
	char		name[NAMEDATALEN];
	AttrNumber	resno;

	identity_name(name, sizeof(name), TupleDescAttr(RelationGetDescr(m->rel), attno - 1));
	resno = ExecFindJunkAttributeInTlist(tlist, name);
	if (!AttributeNumberIsValid(resno))
		elog(ERROR, "could not find junk column \"%s\"", name);
	return resno;
}

/* Columns of special roles, and which column stamps which cell. */
static void
find_columns(WtModify *m)
{
	WtTable    *t = m->t;

	m->col_family = m->col_qual = m->col_ts = m->col_value = -1;
	m->ts_of = palloc(sizeof(int) * t->natts);
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn   *c = &t->columns[i];

		m->ts_of[i] = -1;
		switch (c->role)
		{
			case WT_CELL_FAMILY:
				m->col_family = i;
				break;
			case WT_CELL_QUALIFIER:
				m->col_qual = i;
				break;
			case WT_CELL_TS:
				m->col_ts = i;
				break;
			case WT_CELL_VALUE:
				m->col_value = i;
				break;
			case WT_TIMESTAMP_OF:
				m->nts++;
				break;
			case WT_CELL:
				for (int k = 0; k < t->natts; k++)
				{
					WtColumn   *s = &t->columns[k];

					if (s->role == WT_TIMESTAMP_OF && s->family == c->family &&
						wt_bytes_equal(s->qual, s->qual_len, c->qual, c->qual_len))
						m->ts_of[i] = k;
				}
				break;
			default:
				break;
		}
	}
}

static WtModify *
begin_modify(EState *estate, ResultRelInfo *rinfo, CmdType op, Plan *subplan, bool do_nothing)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Relation	rel = rinfo->ri_RelationDesc;
	WtModify   *m = palloc0(sizeof(WtModify));
	WtTable    *t = wt_table(RelationGetRelid(rel));
	TriggerDesc *trig = rinfo->ri_TrigDesc;

	m->rel = rel;
	m->t = t;
	m->op = op;
	m->do_nothing = do_nothing;
	wt_writer_init(&m->writer, estate);
	find_columns(m);
	m->values = palloc(sizeof(Datum) * t->natts);
	m->nulls = palloc(sizeof(bool) * t->natts);
	initStringInfo(&m->key);
	initStringInfo(&m->new_key);
	initStringInfo(&m->value);
	initStringInfo(&m->qual);
	initStringInfo(&m->range);
	m->row_cxt = AllocSetContextCreate(estate->es_query_cxt, "widetable modify row", ALLOCSET_DEFAULT_SIZES);

	if (op != CMD_INSERT)
	{
		List	   *tlist = subplan->targetlist;

		m->key_junk = palloc(sizeof(AttrNumber) * t->nkeys);
		for (int i = 0; i < t->nkeys; i++)
			m->key_junk[i] = find_junk(m, tlist, t->columns[t->keys[i]].attno);
		m->row_junk = ExecFindJunkAttributeInTlist(tlist, "wholerow");
		if (t->cells_layout)
		{
			m->family_junk = find_junk(m, tlist, t->columns[m->col_family].attno);
			m->qual_junk = find_junk(m, tlist, t->columns[m->col_qual].attno);
			m->ts_junk = find_junk(m, tlist, t->columns[m->col_ts].attno);
		}
		if (!wt_delivers_once(subplan))
		{
			HASHCTL		ctl = {.keysize = 2 * sizeof(uint64), .entrysize = 2 * sizeof(uint64), .hcxt = estate->es_query_cxt};

			m->seen = hash_create("widetable rows modified", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		}
	}
	if (op == CMD_UPDATE)
	{
		m->set = palloc0(sizeof(bool) * t->natts);
		m->compare_all = trig && trig->trig_update_before_row;
	}
	MemoryContextSwitchTo(old);
	return m;
}

void
wtBeginForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private, int subplan_index, int eflags)
{
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;

	/* rinfo->ri_FdwState stays NULL */
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	rinfo->ri_FdwState = begin_modify(mtstate->ps.state, rinfo, mtstate->operation, outerPlan(plan),
									  plan->onConflictAction == ONCONFLICT_NOTHING);
}

/* COPY, and rows that are routed to a partition. */
void
wtBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	ModifyTable *plan = castNode(ModifyTable, mtstate->ps.plan);	/* NULL for COPY */
	WtModify   *m = begin_modify(mtstate->ps.state, rinfo, CMD_INSERT, NULL,
								 plan && plan->onConflictAction == ONCONFLICT_NOTHING);

	/* the partition may be a target of the same UPDATE */
	if (rinfo->ri_FdwState)
		((WtModify *) rinfo->ri_FdwState)->aux = m;
	else
		rinfo->ri_FdwState = m;
}

static void raise_version(WtModify *m, const WtVersion *v);

static void
end_modify(WtModify *m)
{
	if (m->seen)
		hash_destroy(m->seen);
	wt_floors_close(m->floors);
	wt_scan_close(m->exists);
	MemoryContextDelete(m->row_cxt);
}

void
wtEndForeignModify(EState *estate, ResultRelInfo *rinfo)
{
	WtModify   *m = rinfo->ri_FdwState;

	if (m)
	{
		const WtVersion *where = m->moves ? wt_moves_collision(m->moves) : NULL;

		if (where)
			raise_version(m, where);
		end_modify(m);
	}
	rinfo->ri_FdwState = NULL;
}

void
wtEndForeignInsert(EState *estate, ResultRelInfo *rinfo)
{
	WtModify   *m = rinfo->ri_FdwState;

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
wtExplainForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private, int subplan_index,
					   struct ExplainState *es)
{
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;

	/* whether rows are looked up before they are written */
	if (mtstate->operation == CMD_INSERT && plan->onConflictAction == ONCONFLICT_NONE &&
		!wt_table(RelationGetRelid(rinfo->ri_RelationDesc))->insert_error)
		ExplainPropertyText("Blind Write", "yes", es);
}

/* --------------------------------------------------------------- helpers */

static void
need_engine(WtModify *m)
{
	if (m->engine_known)
		return;
	m->wrote_before = wt_batch(false) != NULL && !wide_batch_empty(wt_batch(false));
	wt_engine(m->t, true, &m->e);
	if (m->t->cells_layout)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(m));

		m->names = wt_families(&m->e, &m->nnames);
		MemoryContextSwitchTo(old);
	}
	m->engine_known = true;
}

static wide_family_id
family_id(WtModify *m, int family)
{
	wide_family_id id = m->e.families[family];

	if (id == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("family \"%s\" of table \"%s\" does not exist",
						m->t->families[family].name, RelationGetRelationName(m->rel))));
	return id;
}

static inline void
put(WtModify *m, wide_family_id family, wide_bytes key, wide_bytes qual,
	int64 ts, int64 floor_ts, int64 ttl_us, wide_bytes value)
{
	wide_status st = wide_batch_put(wt_batch(true), family, key, qual, ts, floor_ts, ttl_us, value);

	if (unlikely(st != WIDE_OK))
		wt_check_write(st, m->t, key);
}

static inline void
del(WtModify *m, wide_delete kind, wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts)
{
	wide_status st = wide_batch_delete(wt_batch(true), kind, family, key, qual, ts);

	if (unlikely(st != WIDE_OK))
		wt_check_write(st, m->t, key);
}

static void
delete_row(WtModify *m, wide_bytes key)
{
	for (int i = 0; i < m->e.nall; i++)
		del(m, WIDE_DELETE_FAMILY, m->e.all[i], key, (wide_bytes) {NULL, 0}, WIDE_TS_MAX);
}

static void
raise_duplicate(WtModify *m, wide_bytes key)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("row already exists in table \"%s\"", RelationGetRelationName(m->rel)),
			 errdetail("Key %s.", wt_key_text(m->t, key)),
			 errtable(m->rel)));
}

/*
 * PostgreSQL routes rows to foreign partitions but does not look whether a row
 * that is written to one belongs there.
 */
static void
check_partition(WtModify *m, ResultRelInfo *rinfo, TupleTableSlot *slot, EState *estate)
{
	if (m->rel->rd_rel->relispartition)
		(void) ExecPartitionCheck(rinfo, slot, estate, true);
}

/* The bytes of a text or bytea value. */
static wide_bytes
varlena_bytes(Datum d)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(d);

	return (wide_bytes) {(const uint8 *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v)};
}

void
wt_check_not_null(Relation rel, const WtColumn *c)
{
	/*
	 * PostgreSQL does not enforce NOT NULL of foreign tables, but its planner
	 * and ours believe it.
	 */
	if (c->not_null)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value in column \"%s\" of relation \"%s\" violates not-null constraint",
						c->name, RelationGetRelationName(rel)),
				 errtablecol(rel, c->attno)));
}

/* The TIMESTAMP_OF column of any cell, -1. */
static int
find_ts_of(WtModify *m, int family, wide_bytes qual)
{
	for (int i = 0; m->nts > 0 && i < m->t->natts; i++)
	{
		WtColumn   *s = &m->t->columns[i];

		if (s->role == WT_TIMESTAMP_OF && s->family == family &&
			wt_bytes_equal(s->qual, s->qual_len, qual.data, qual.len))
			return i;
	}
	return -1;
}

/* The timestamp that the row states for a cell stamped by column ts_col. */
static int64
stated_ts(WtModify *m, TupleTableSlot *slot, int ts_col)
{
	WtColumn   *c;

	if (ts_col < 0 || slot->tts_isnull[ts_col])
		return WIDE_TS_AUTO;
	c = &m->t->columns[ts_col];
	return wt_timestamp_arg(c->typid, slot->tts_values[ts_col], c->name);
}

/*
 * The row as stored: a column that shows the timestamp of a cell just written
 * shows the present time, or NULL when the cell is gone.  Only when somebody
 * will look at it.
 */
static void
show_stored(WtModify *m, ResultRelInfo *rinfo, TupleTableSlot *slot, const bool *written)
{
	WtTable    *t = m->t;
	TupleDesc	desc = slot->tts_tupleDescriptor;
	TriggerDesc *trig = rinfo->ri_TrigDesc;
	bool		maps = false;
	int64		now;

	for (int i = 0; i < t->natts; i++)
		maps |= t->columns[i].role == WT_MAP;
	if (m->nts == 0 && m->col_ts < 0 && !maps)
		return;
	if (rinfo->ri_projectReturning == NULL &&
		!(trig && (trig->trig_insert_after_row || trig->trig_update_after_row)))
		return;
	now = wt_now();
	for (int i = 0; i < t->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		m->nulls[i] = slot->tts_isnull[i];
		m->values[i] = m->nulls[i] ? (Datum) 0 : datumCopy(slot->tts_values[i], att->attbyval, att->attlen);
	}
	for (int i = 0; i < t->natts; i++)
	{
		bool		is_ts = t->columns[i].role == WT_CELL_TS;
		int			k = is_ts ? i : m->ts_of[i];

		if (t->columns[i].role == WT_MAP && !m->nulls[i] && (written == NULL || written[i]))
			m->values[i] = wt_stored_map(m->values[i], &m->nulls[i]);
		if (k < 0 || (written && !written[i] && !written[k]))
			continue;
		if (!is_ts && slot->tts_isnull[i])
			m->nulls[k] = true;
		else if (m->nulls[k] || (written && !written[k]))
		{
			m->nulls[k] = false;
			m->values[k] = Int64GetDatum(t->columns[k].typid == INT8OID ? now : now - WT_EPOCH_DIFF);
		}
	}
	ExecClearTuple(slot);
	memcpy(slot->tts_values, m->values, sizeof(Datum) * t->natts);
	memcpy(slot->tts_isnull, m->nulls, sizeof(bool) * t->natts);
	ExecStoreVirtualTuple(slot);
	ExecMaterializeSlot(slot);
}

/* First time in this statement?  identity: key, in layout 'cells' more. */
static bool
first_time(WtModify *m, wide_bytes identity)
{
	uint64		h[2];
	bool		found;

	if (m->seen == NULL)
		return true;
	h[0] = hash_bytes_extended(identity.data, (int) identity.len, 1);
	h[1] = hash_bytes_extended(identity.data, (int) identity.len, 2);
	hash_search(m->seen, h, HASH_ENTER, &found);
	return !found;
}

/* ------------------------------------------------------------------ maps */

/*
 * The qualifier of a map's key, in m->qual: prefix and the key's bytes.  Cells
 * that other columns show are not part of the map.
 */
static wide_bytes
map_qualifier(WtModify *m, WtColumn *c, const char *name, int len)
{
	wide_bytes	q;

	resetStringInfo(&m->qual);
	if (c->qual_len > 0)
		appendBinaryStringInfo(&m->qual, (const char *) c->qual, c->qual_len);
	wt_qualifier_unshow(name, len, &m->qual);
	q = wt_bytes_of(&m->qual);
	for (int i = 0; i < m->t->natts; i++)
	{
		WtColumn   *o = &m->t->columns[i];

		if ((o->role == WT_CELL || o->role == WT_KEY) && o->family == c->family &&
			wt_bytes_equal(o->qual, o->qual_len, q.data, q.len))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("key \"%.*s\" of map column \"%s\" is stored in column \"%s\"",
							len, name, c->name, o->name)));
	}
	if (!wt_map_shows(m->t, c, q))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key \"%.*s\" of map column \"%s\" belongs to another map column with a longer prefix",
						len, name, c->name)));
	return q;
}

static Jsonb *
map_value(WtColumn *c, Datum d)
{
	Jsonb	   *jb = DatumGetJsonbP(d);

	if (!JB_ROOT_IS_OBJECT(jb))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("map column \"%s\" needs a JSON object", c->name)));
	return jb;
}

/* Puts the entries of a map; the number of cells written. */
static int
insert_map(WtModify *m, WtColumn *c, TupleTableSlot *slot, Datum d, wide_bytes key)
{
	Jsonb	   *jb = map_value(c, d);
	JsonbIterator *it = JsonbIteratorInit(&jb->root);
	wide_family_id family = family_id(m, c->family);
	JsonbIteratorToken tok;
	JsonbValue	v;
	wide_bytes	q = {NULL, 0};
	StringInfoData text;
	int			n = 0;

	initStringInfo(&text);
	while ((tok = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		if (tok == WJB_KEY)
			q = map_qualifier(m, c, v.val.string.val, v.val.string.len);
		else if (tok == WJB_VALUE)
		{
			resetStringInfo(&text);
			resetStringInfo(&m->value);
			if (!wt_json_text(&v, &text))
				continue;
			wt_bytes_unshow(text.data, text.len, &m->value);
			put(m, family, key, q, stated_ts(m, slot, find_ts_of(m, c->family, q)), PG_INT64_MIN, 0,
				wt_bytes_of(&m->value));
			n++;
		}
	}
	return n;
}

/* ---------------------------------------------------------------- insert */

/* Cells of all columns that are not NULL; how many. */
static int
insert_cells(WtModify *m, TupleTableSlot *slot, wide_bytes key)
{
	WtTable    *t = m->t;
	int			n = 0;

	for (int k = 0; k < t->natts; k++)
	{
		int			i = t->order[k];
		WtColumn   *c = &t->columns[i];

		if (c->role != WT_CELL && c->role != WT_MAP && !(c->role == WT_KEY && c->family >= 0))
			continue;
		if (slot->tts_isnull[i])
		{
			wt_check_not_null(m->rel, c);
			continue;
		}
		if (c->role == WT_MAP)
		{
			n += insert_map(m, c, slot, slot->tts_values[i], key);
			continue;
		}
		if (c->role == WT_KEY)
		{
			/* the key has the digest, the cell has the original */
			put(m, family_id(m, c->family), key, (wide_bytes) {c->qual, c->qual_len}, WIDE_TS_AUTO, PG_INT64_MIN, 0,
				wt_original_bytes(c, slot->tts_values[i]));
			n++;
			continue;
		}
		resetStringInfo(&m->value);
		wt_encode(c, slot->tts_values[i], &m->value);
		put(m, family_id(m, c->family), key, (wide_bytes) {c->qual, c->qual_len},
			stated_ts(m, slot, m->ts_of[i]), PG_INT64_MIN, 0, wt_bytes_of(&m->value));
		n++;
	}
	return n;
}

static wide_family_id
cells_family(WtModify *m, bool isnull, Datum d)
{
	wide_bytes	name;

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("a cell of table \"%s\" needs a family", RelationGetRelationName(m->rel))));
	name = varlena_bytes(d);
	for (int i = 0; i < m->nnames; i++)
	{
		if (wt_bytes_equal(m->names[i].name, strlen(m->names[i].name), name.data, name.len))
			return m->names[i].id;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("family \"%.*s\" of table \"%s\" does not exist",
					(int) name.len, (const char *) name.data, RelationGetRelationName(m->rel))));
	return 0;					/* keep compiler quiet */
}

/* The family that the slot's row names, or the first one when there is no such column. */
static wide_family_id
slot_family(WtModify *m, TupleTableSlot *slot)
{
	if (m->col_family >= 0)
		return cells_family(m, slot->tts_isnull[m->col_family], slot->tts_values[m->col_family]);
	if (m->t->nfamilies == 0)
		return cells_family(m, true, 0);
	return family_id(m, 0);
}

/*
 * A qualifier or value of layout 'cells'.  A text column shows bytes that are
 * not text as \x..., so that is what such a text means here.
 */
static void
encode_cell_part(WtColumn *c, Datum d, StringInfo out)
{
	if (c->typid == TEXTOID || c->typid == VARCHAROID)
	{
		wide_bytes	text = varlena_bytes(d);

		wt_bytes_unshow((const char *) text.data, text.len, out);
	}
	else
		wt_encode(c, d, out);
}

/* Qualifier of a row of layout 'cells', in m->qual. */
static wide_bytes
cells_qualifier(WtModify *m, bool isnull, Datum d)
{
	WtColumn   *c;

	resetStringInfo(&m->qual);
	if (m->col_qual < 0)
		return wt_bytes_of(&m->qual);
	c = &m->t->columns[m->col_qual];
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value in column \"%s\" of relation \"%s\"", c->name, RelationGetRelationName(m->rel)),
				 errhint("The empty qualifier is ''."),
				 errtablecol(m->rel, c->attno)));
	if (c->typid == BYTEAOID)
		wt_encode(c, d, &m->qual);
	else
		wt_qualifier_unshow((const char *) varlena_bytes(d).data, varlena_bytes(d).len, &m->qual);
	return wt_bytes_of(&m->qual);
}

static wide_bytes
slot_qualifier(WtModify *m, TupleTableSlot *slot)
{
	if (m->col_qual < 0)
		return cells_qualifier(m, false, 0);
	return cells_qualifier(m, slot->tts_isnull[m->col_qual], slot->tts_values[m->col_qual]);
}

static int
insert_one_cell(WtModify *m, TupleTableSlot *slot, wide_bytes key)
{
	wide_family_id family = slot_family(m, slot);
	wide_bytes	q = slot_qualifier(m, slot);

	if (m->col_value < 0 || slot->tts_isnull[m->col_value])
		return 0;
	resetStringInfo(&m->value);
	encode_cell_part(&m->t->columns[m->col_value], slot->tts_values[m->col_value], &m->value);
	put(m, family, key, q, stated_ts(m, slot, m->col_ts), PG_INT64_MIN, 0, wt_bytes_of(&m->value));
	return 1;
}

TupleTableSlot *
wtExecForeignInsert(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	WtModify   *m = rinfo->ri_FdwState;
	MemoryContext old;
	wide_bytes	key;

	if (m->aux)
		m = m->aux;
	MemoryContextReset(m->row_cxt);
	old = MemoryContextSwitchTo(m->row_cxt);
	need_engine(m);
	wt_batch_command_by(&m->writer);
	slot_getallattrs(slot);
	/* a routed row was sent here for its key */
	if (rinfo->ri_RootResultRelInfo == NULL)
		check_partition(m, rinfo, slot, estate);
	resetStringInfo(&m->key);
	wt_key_from_slot(m->t, slot->tts_values, slot->tts_isnull, &m->key);
	key = wt_bytes_of(&m->key);

	/* a row of layout 'cells' is a version: it does not collide */
	if ((m->do_nothing || m->t->insert_error) && !m->t->cells_layout)
	{
		wt_row_lock(m->e.table, key, false);
		if (wt_row_exists_again(&m->exists, &m->e, key, &m->range))
		{
			if (!m->do_nothing)
				raise_duplicate(m, key);
			MemoryContextSwitchTo(old);
			return NULL;
		}
	}
	if ((m->t->cells_layout ? insert_one_cell(m, slot, key) : insert_cells(m, slot, key)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("row of table \"%s\" would have no cells", RelationGetRelationName(m->rel)),
				 errdetail("Key %s.", wt_key_text(m->t, key)),
				 errhint("A row exists by its cells: give at least one column beside the key a value.")));
	show_stored(m, rinfo, slot, NULL);
	MemoryContextSwitchTo(old);
	return slot;
}

/* ---------------------------------------------------------------- update */

/* Key of the row that the plan delivered, into out. */
static wide_bytes
old_key(WtModify *m, TupleTableSlot *planSlot, StringInfo out)
{
	WtTable    *t = m->t;

	memset(m->nulls, true, sizeof(bool) * t->natts);
	for (int i = 0; i < t->nkeys; i++)
	{
		int			k = t->keys[i];

		m->values[k] = ExecGetJunkAttribute(planSlot, m->key_junk[i], &m->nulls[k]);
	}
	resetStringInfo(out);
	wt_key_from_slot(t, m->values, m->nulls, out);
	return wt_bytes_of(out);
}

/* Which columns the statement sets, generated ones included. */
static void
find_set_columns(WtModify *m, EState *estate, ResultRelInfo *rinfo)
{
	Bitmapset  *cols = bms_union(ExecGetUpdatedCols(rinfo, estate), ExecGetExtraUpdatedCols(rinfo, estate));

	for (int i = 0; i < m->t->natts; i++)
		m->set[i] = bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, cols);
	bms_free(cols);
	m->set_known = true;
}

/* With BEFORE ROW triggers: also what differs from the old row. */
static const bool *
set_columns(WtModify *m, TupleTableSlot *slot, TupleTableSlot *before)
{
	bool	   *set;

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
			set[i] = !datum_image_eq(slot->tts_values[i], before->tts_values[i], att->attbyval, att->attlen);
	}
	return set;
}

static void
add_write(WtModify *m, int family, wide_bytes qual, const wide_bytes *value, int64 ts, bool ts_set)
{
	CellWrite  *w;

	if (m->nwrites == m->writes_max)
	{
		/* the array lives as long as the statement */
		m->writes_max = Max(16, m->writes_max * 2);
		m->writes = m->writes ? repalloc(m->writes, sizeof(CellWrite) * m->writes_max)
			: MemoryContextAlloc(GetMemoryChunkContext(m), sizeof(CellWrite) * m->writes_max);
	}
	w = &m->writes[m->nwrites++];
	memset(w, 0, sizeof(*w));
	w->family = family;
	w->qual = qual;
	w->remove = value == NULL;
	if (value)
		w->value = *value;
	w->ts = ts;
	w->ts_set = ts_set;
}

static wide_bytes
copy_bytes(wide_bytes b)
{
	uint8	   *copy = palloc(b.len + 1);

	if (b.len > 0)
		memcpy(copy, b.data, b.len);
	return (wide_bytes) {copy, b.len};
}

/* A map column that is being updated. */
typedef struct MapUpdate
{
	WtModify   *m;
	WtColumn   *c;
	TupleTableSlot *slot;
	const bool *set;
} MapUpdate;

/* The TIMESTAMP_OF column of the entry's cell when the statement sets it, -1. */
static int
set_ts_of(MapUpdate *u, wide_bytes qual)
{
	int			ts_col = find_ts_of(u->m, u->c->family, qual);

	return ts_col >= 0 && u->set[ts_col] ? ts_col : -1;
}

static bool
map_may_skip(void *arg, const JsonbValue *key)
{
	MapUpdate  *u = arg;

	return u->m->nts == 0 || set_ts_of(u, map_qualifier(u->m, u->c, key->val.string.val, key->val.string.len)) < 0;
}

static void
map_change(void *arg, const JsonbValue *key, StringInfo text)
{
	MapUpdate  *u = arg;
	WtModify   *m = u->m;
	wide_bytes	q = copy_bytes(map_qualifier(m, u->c, key->val.string.val, key->val.string.len));
	wide_bytes	value;
	int			ts_col;

	if (text == NULL)
	{
		add_write(m, u->c->family, q, NULL, WIDE_TS_MAX, false);
		return;
	}
	resetStringInfo(&m->value);
	wt_bytes_unshow(text->data, text->len, &m->value);
	value = copy_bytes(wt_bytes_of(&m->value));
	ts_col = set_ts_of(u, q);
	if (ts_col >= 0)
		add_write(m, u->c->family, q, &value, stated_ts(m, u->slot, ts_col), !u->slot->tts_isnull[ts_col]);
	else
		add_write(m, u->c->family, q, &value, WIDE_TS_AUTO, false);
}

/* What has to change so that the map is the new one. */
static void
collect_map(WtModify *m, int col, TupleTableSlot *slot, TupleTableSlot *before, const bool *set)
{
	WtColumn   *c = &m->t->columns[col];
	Jsonb	   *now = slot->tts_isnull[col] ? NULL : map_value(c, slot->tts_values[col]);
	Jsonb	   *was = before == NULL || before->tts_isnull[col] ? NULL : map_value(c, before->tts_values[col]);
	MapUpdate	u = {.m = m, .c = c, .slot = slot, .set = set};

	wt_map_diff(was, now, map_may_skip, map_change, &u);
}

/* The cells that an UPDATE of layout 'rows' changes, in m->writes. */
static void
collect_writes(WtModify *m, TupleTableSlot *slot, TupleTableSlot *before, const bool *set)
{
	WtTable    *t = m->t;

	m->nwrites = 0;
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn   *c = &t->columns[i];
		wide_bytes	q = {c->qual, c->qual_len};
		wide_bytes	value;
		int			ts_col = m->ts_of[i];
		bool		ts_set = ts_col >= 0 && set[ts_col];

		if (c->role == WT_MAP && (set[i] || m->nts > 0))
		{
			if (set[i] && slot->tts_isnull[i])
				wt_check_not_null(m->rel, c);
			collect_map(m, i, slot, before, set);
		}
		else if (c->role == WT_KEY && c->family >= 0 && set[i])
		{
			value = copy_bytes(wt_original_bytes(c, slot->tts_values[i]));
			add_write(m, c->family, q, &value, WIDE_TS_AUTO, false);
		}
		else if (c->role == WT_CELL && (set[i] || ts_set))
		{
			StringInfoData bytes;

			if (slot->tts_isnull[i])
			{
				wt_check_not_null(m->rel, c);
				if (set[i])
					add_write(m, c->family, q, NULL, WIDE_TS_MAX, false);
				continue;
			}
			initStringInfo(&bytes);
			wt_encode(c, slot->tts_values[i], &bytes);
			value = wt_bytes_of(&bytes);
			if (ts_set)
				add_write(m, c->family, q, &value, stated_ts(m, slot, ts_col), !slot->tts_isnull[ts_col]);
			else
				add_write(m, c->family, q, &value, WIDE_TS_AUTO, false);
		}
	}
}

/*
 * UPDATE sets the timestamp of a cell: the version that the row has shown moves
 * there.  It has to be the newest one there too, or the row would show an older
 * version and not what the statement says.
 */
static void
move_shown(WtModify *m, wide_bytes key, const CellWrite *w, const WtCellRef *shown)
{
	int64		next;

	if (shown->ts == w->ts)
		return;
	(void) wt_is_provisional(shown->family, key, w->qual, shown->ts, &next);
	if (next > w->ts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timestamp " INT64_FORMAT " lies below another version of the cell", w->ts),
				 errdetail("Table \"%s\", key %s, cell \"%s:%s\": the version at " INT64_FORMAT " would show instead.",
						   RelationGetRelationName(m->rel), wt_key_text(m->t, key), m->t->families[w->family].name,
						   wt_qualifier_show(w->qual), next),
				 errhint("INSERT writes a version of any age and leaves the others as they are.")));
	del(m, WIDE_DELETE_VERSION, shown->family, key, w->qual, shown->ts);
}

/*
 * Read the newest versions of the cells to be put, so that the new ones lie
 * above them, and write all changes.
 */
static void
apply_writes(WtModify *m, wide_bytes key)
{
	WtCellRef  *refs = palloc0(sizeof(WtCellRef) * Max(1, m->nwrites));
	int			n = 0;

	for (int i = 0; i < m->nwrites; i++)
	{
		CellWrite  *w = &m->writes[i];

		if (w->remove)
			del(m, WIDE_DELETE_COLUMN, family_id(m, w->family), key, w->qual, WIDE_TS_MAX);
		else
		{
			refs[n].family = family_id(m, w->family);
			refs[n++].qual = w->qual;
		}
	}
	wt_read_floors(&m->floors, GetMemoryChunkContext(m), key, refs, n);
	n = 0;
	for (int i = 0; i < m->nwrites; i++)
	{
		CellWrite  *w = &m->writes[i];
		WtCellRef  *r;

		if (w->remove)
			continue;
		r = &refs[n++];
		if (w->ts_set && r->found)
			move_shown(m, key, w, r);
		put(m, r->family, key, w->qual, w->ts, r->found ? r->ts : PG_INT64_MIN, 0, w->value);
	}
}

/* All visible versions of all families of a row, to another key. */
static void
copy_row(WtModify *m, wide_bytes from, wide_bytes to)
{
	wide_scan_family fam[WT_MAX_FAMILIES];
	wide_scan_spec spec = {0};
	wide_range	range = wt_row_range(from, &m->range);
	WtScan	   *scan;
	wide_row	row;

	memset(fam, 0, sizeof(fam[0]) * m->e.nall);
	for (int i = 0; i < m->e.nall; i++)
	{
		fam[i].id = m->e.all[i];
		fam[i].want = WIDE_WANT_ALL;
		fam[i].max_versions = PG_INT32_MAX;
	}
	spec.families = fam;
	spec.nfamilies = m->e.nall;
	spec.ranges = &range;
	spec.nranges = 1;
	scan = wt_scan_open(NULL, &spec);
	while (wt_scan_next(scan, &row))
	{
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];

			put(m, m->e.all[c->family], to, c->qualifier, c->provisional ? WIDE_TS_AUTO : c->ts, PG_INT64_MIN, c->ttl_us,
				c->value);
		}
	}
	wt_scan_close(scan);
}

static bool
key_is_set(WtModify *m, const bool *set)
{
	for (int i = 0; i < m->t->nkeys; i++)
	{
		if (set[m->t->keys[i]])
			return true;
	}
	return false;
}

/* -------------------------------------------------- update, layout cells */

static void
raise_version(WtModify *m, const WtVersion *v)
{
	const char *family = "?";
	char	   *ts = v->ts == WIDE_TS_AUTO ? pstrdup("the time of commit") : psprintf(INT64_FORMAT, v->ts);

	for (int i = 0; i < m->nnames; i++)
	{
		if (m->names[i].id == v->family)
			family = m->names[i].name;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("version already exists in table \"%s\"", RelationGetRelationName(m->rel)),
			 errdetail("Key %s, cell \"%s:%s\", timestamp %s.", wt_key_text(m->t, v->key), family,
					   wt_qualifier_show(v->qual), ts),
			 errhint("UPDATE replaces no version. DELETE it first, or INSERT the value with that timestamp."),
			 errtable(m->rel)));
}

/* Key, family, qualifier and timestamp of the version that the plan delivered. */
typedef struct CellIdentity
{
	WtVersion	v;				/* of an own version without a timestamp yet: the provisional one, which names it */
	bool		again;			/* it was delivered before */
} CellIdentity;

static void
old_cell(WtModify *m, TupleTableSlot *planSlot, CellIdentity *id)
{
	WtColumn   *c = &m->t->columns[m->col_ts];
	WtVersion  *v = &id->v;
	bool		isnull;
	Datum		d;
	StringInfoData all;

	v->key = copy_bytes(old_key(m, planSlot, &m->key));
	d = ExecGetJunkAttribute(planSlot, m->family_junk, &isnull);
	v->family = cells_family(m, isnull, d);
	d = ExecGetJunkAttribute(planSlot, m->qual_junk, &isnull);
	v->qual = copy_bytes(cells_qualifier(m, isnull, d));
	d = ExecGetJunkAttribute(planSlot, m->ts_junk, &isnull);
	if (isnull)
		elog(ERROR, "timestamp of a stored cell is null");
	v->ts = DatumGetInt64(d) + (c->typid == INT8OID ? 0 : WT_EPOCH_DIFF);
	id->again = false;
	if (m->seen)
	{
		initStringInfo(&all);
		appendBinaryStringInfo(&all, (const char *) v->key.data, v->key.len);
		appendBinaryStringInfo(&all, (const char *) &v->family, sizeof(v->family));
		appendBinaryStringInfo(&all, (const char *) v->qual.data, v->qual.len);
		appendBinaryStringInfo(&all, (const char *) &v->ts, sizeof(v->ts));
		id->again = !first_time(m, wt_bytes_of(&all));
	}
}

/* Can the statement move versions?  Only what it sets is taken from the new row. */
static bool
moves_versions(WtModify *m, const bool *set)
{
	for (int i = 0; i < m->t->natts; i++)
	{
		WtColumn   *c = &m->t->columns[i];

		if (set[i] && (c->role == WT_CELL_VERSION || c->role == WT_CELL_NO))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" cannot be set: it counts versions", c->name)));
	}
	for (int i = 0; i < m->t->natts; i++)
	{
		if (set[i] && (m->t->columns[i].role == WT_KEY || is_cell_identity(&m->t->columns[i])))
			return true;
	}
	return false;
}

static void
update_cell(WtModify *m, TupleTableSlot *slot, const bool *set, const WtVersion *id)
{
	WtVersion	to,
				from = *id;
	wide_bytes	again;
	int64		floor = PG_INT64_MIN;
	bool		moves = moves_versions(m, set),
				stays,
				own = false,
				gone = m->col_value < 0 || slot->tts_isnull[m->col_value];

	resetStringInfo(&m->new_key);
	wt_key_from_slot(m->t, slot->tts_values, slot->tts_isnull, &m->new_key);
	to.key = wt_bytes_of(&m->new_key);
	to.family = slot_family(m, slot);
	to.qual = slot_qualifier(m, slot);
	to.ts = set[m->col_ts] ? stated_ts(m, slot, m->col_ts) : id->ts;
	stays = to.family == id->family && to.ts == id->ts && wt_bytes_equal(to.qual.data, to.qual.len, id->qual.data, id->qual.len) &&
		wt_bytes_equal(to.key.data, to.key.len, id->key.data, id->key.len);
	/* what this transaction has written without a timestamp gets it at commit, also now */
	if (m->wrote_before)
		own = wt_is_provisional(id->family, id->key, id->qual, id->ts, &floor);
	if (own)
	{
		from.ts = WIDE_TS_AUTO;
		if (!set[m->col_ts])
			to.ts = WIDE_TS_AUTO;
	}
	if (to.family != id->family || !wt_bytes_equal(to.qual.data, to.qual.len, id->qual.data, id->qual.len) ||
		!wt_bytes_equal(to.key.data, to.key.len, id->key.data, id->key.len))
		floor = PG_INT64_MIN;
	if (!stays)
		wt_row_lock(m->e.table, to.key, false);

	/* of several without a timestamp in a cell only the last one counts */
	if (!stays || gone || (m->wrote_before && to.ts != WIDE_TS_AUTO))
		del(m, WIDE_DELETE_VERSION, id->family, id->key, id->qual, id->ts);
	if (moves && m->moves == NULL)
		m->moves = wt_moves_new(GetMemoryChunkContext(m));
	if (moves && wt_moves_leave(m->moves, &from, &again))
	{
		put(m, from.family, from.key, from.qual, from.ts, PG_INT64_MIN, 0, again);
		pfree(unconstify(uint8 *, again.data));
	}
	if (gone)
		return;
	resetStringInfo(&m->value);
	encode_cell_part(&m->t->columns[m->col_value], slot->tts_values[m->col_value], &m->value);
	if (moves && !wt_moves_arrive(m->moves, &to, wt_bytes_of(&m->value)))
		raise_version(m, &to);
	put(m, to.family, to.key, to.qual, to.ts, own && to.ts == WIDE_TS_AUTO ? floor : PG_INT64_MIN, 0, wt_bytes_of(&m->value));
}

TupleTableSlot *
wtExecForeignUpdate(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	WtModify   *m = rinfo->ri_FdwState;
	MemoryContext old;
	TupleTableSlot *before = rinfo->ri_oldTupleSlot;
	const bool *set;
	wide_bytes	key,
				target;

	MemoryContextReset(m->row_cxt);
	old = MemoryContextSwitchTo(m->row_cxt);
	need_engine(m);
	if (!m->set_known)
		find_set_columns(m, estate, rinfo);
	slot_getallattrs(slot);
	check_partition(m, rinfo, slot, estate);
	if (before != NULL && TTS_EMPTY(before))
		before = NULL;
	if (before != NULL)
		slot_getallattrs(before);
	set = set_columns(m, slot, before);

	if (m->t->cells_layout)
	{
		CellIdentity id;

		old_cell(m, planSlot, &id);
		if (!id.again)
		{
			wt_row_lock(m->e.table, id.v.key, false);
			id.again = wt_leave_out(&m->writer, CMD_UPDATE, &id.v.family, 1, id.v.key, &id.v.qual);
		}
		if (!id.again)
		{
			wt_batch_command_by(&m->writer);
			update_cell(m, slot, set, &id.v);
			show_stored(m, rinfo, slot, set);
		}
		MemoryContextSwitchTo(old);
		return id.again ? NULL : slot;
	}

	key = old_key(m, planSlot, &m->key);
	if (!first_time(m, key))
	{
		/* a join delivered it twice: as with heap tables, the first one wins */
		MemoryContextSwitchTo(old);
		return NULL;
	}
	wt_row_lock(m->e.table, key, false);
	if (wt_leave_out(&m->writer, CMD_UPDATE, m->e.all, m->e.nall, key, NULL))
	{
		MemoryContextSwitchTo(old);
		return NULL;
	}
	target = key;
	if (key_is_set(m, set))
	{
		resetStringInfo(&m->new_key);
		wt_key_from_slot(m->t, slot->tts_values, slot->tts_isnull, &m->new_key);
		target = wt_bytes_of(&m->new_key);
	}
	wt_batch_command_by(&m->writer);
	if (!wt_bytes_equal(key.data, key.len, target.data, target.len))
	{
		wt_row_lock(m->e.table, target, false);
		if (wt_row_exists_again(&m->exists, &m->e, target, &m->range))
			raise_duplicate(m, target);
		copy_row(m, key, target);
		delete_row(m, key);
	}
	collect_writes(m, slot, before, set);
	apply_writes(m, target);
	show_stored(m, rinfo, slot, set);
	MemoryContextSwitchTo(old);
	return slot;
}

/* ---------------------------------------------------------------- delete */

/* RETURNING of a DELETE shows the old row. */
static void
show_old_row(WtModify *m, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	bool		isnull = true;
	Datum		d = 0;
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
wtExecForeignDelete(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	WtModify   *m = rinfo->ri_FdwState;
	MemoryContext old;
	bool		again;

	MemoryContextReset(m->row_cxt);
	old = MemoryContextSwitchTo(m->row_cxt);
	need_engine(m);
	if (m->t->cells_layout)
	{
		CellIdentity id;

		old_cell(m, planSlot, &id);
		again = id.again;
		if (!again)
		{
			wt_row_lock(m->e.table, id.v.key, false);
			again = wt_leave_out(&m->writer, CMD_DELETE, &id.v.family, 1, id.v.key, &id.v.qual);
		}
		if (!again)
		{
			wt_batch_command_by(&m->writer);
			del(m, WIDE_DELETE_VERSION, id.v.family, id.v.key, id.v.qual, id.v.ts);
		}
	}
	else
	{
		wide_bytes	key = old_key(m, planSlot, &m->key);

		again = !first_time(m, key);
		if (!again)
		{
			wt_row_lock(m->e.table, key, false);
			again = wt_leave_out(&m->writer, CMD_DELETE, m->e.all, m->e.nall, key, NULL);
		}
		if (!again)
		{
			wt_batch_command_by(&m->writer);
			delete_row(m, key);
		}
	}
	if (!again)
		show_old_row(m, rinfo, slot, planSlot);
	MemoryContextSwitchTo(old);
	return again ? NULL : slot;
}

/* -------------------------------------------------------------- truncate */

/* Sequences are not ours and nothing refers to a foreign table: both options have nothing to do. */
void
wtExecForeignTruncate(List *rels, DropBehavior behavior, bool restart_seqs)
{
	ListCell   *lc;

	foreach(lc, rels)
	{
		Relation	rel = lfirst(lc);

		if (!wt_table(RelationGetRelid(rel))->truncatable)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("foreign table \"%s\" does not allow truncates", RelationGetRelationName(rel))));
	}
	foreach(lc, rels)
	{
		WtTable    *t = wt_table(RelationGetRelid((Relation) lfirst(lc)));
		WtEngine	e;

		if (wt_begin_empty(t->relid) || !wt_engine(t, false, &e))
			continue;			/* nothing was ever stored */
		wt_note_ddl();
		wt_batch_command();
		wt_check(wide_batch_truncate_table(wt_batch(true), e.table), "could not truncate");
	}
}

/*
 * cells_layout.c
 *		INSERT and UPDATE in the layout 'cells': a row is one version of one cell.
 */
#include "postgres.h"

#include "fdw/write/cells_layout.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/row_lock.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/encode.h"
#include "fdw/table/key_text.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"
#include "fdw/write/modify_state.h"
#include "fdw/write/version_move.h"

static wide_family_id
cells_family(WtModify *m, bool isnull, Datum d)
{
	wide_bytes name;

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("a cell of table \"%s\" needs a family", RelationGetRelationName(m->rel))));
	name = wt_modify_state_varlena_bytes(d);
	for (int i = 0; i < m->nnames; i++)
	{
		if (wt_bytes_equal(m->names[i].name, strlen(m->names[i].name), name.data, name.len))
			return m->names[i].id;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("family \"%.*s\" of table \"%s\" does not exist",
					(int) name.len, (const char *) name.data, RelationGetRelationName(m->rel))));
	return 0; /* keep compiler quiet */
}

/* The family that the slot's row names, or the first one when there is no such column. */
static wide_family_id
slot_family(WtModify *m, TupleTableSlot *slot)
{
	if (m->col_family >= 0)
		return cells_family(m, slot->tts_isnull[m->col_family], slot->tts_values[m->col_family]);
	if (m->t->nfamilies == 0)
		return cells_family(m, true, 0);
	return wt_modify_state_family(m, 0);
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
		wide_bytes text = wt_modify_state_varlena_bytes(d);

		wt_bytes_text_unshow((const char *) text.data, text.len, out);
	}
	else
		wt_encode(c, d, out);
}

/* Qualifier of a row of layout 'cells', in m->qual. */
static wide_bytes
cells_qualifier(WtModify *m, bool isnull, Datum d)
{
	WtColumn *c;

	resetStringInfo(&m->qual);
	if (m->col_qual < 0)
		return wt_bytes_of(&m->qual);
	c = &m->t->columns[m->col_qual];
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value in column \"%s\" of relation \"%s\"",
						c->name,
						RelationGetRelationName(m->rel)),
				 errhint("The empty qualifier is ''."),
				 errtablecol(m->rel, c->attno)));
	if (c->typid == BYTEAOID)
		wt_encode(c, d, &m->qual);
	else
		wt_bytes_text_unshow_qualifier((const char *) wt_modify_state_varlena_bytes(d).data,
									   wt_modify_state_varlena_bytes(d).len, &m->qual);
	return wt_bytes_of(&m->qual);
}

static wide_bytes
slot_qualifier(WtModify *m, TupleTableSlot *slot)
{
	if (m->col_qual < 0)
		return cells_qualifier(m, false, 0);
	return cells_qualifier(m, slot->tts_isnull[m->col_qual], slot->tts_values[m->col_qual]);
}

int
wt_cells_layout_insert(WtModify *m, TupleTableSlot *slot, wide_bytes key)
{
	wide_family_id family = slot_family(m, slot);
	wide_bytes q = slot_qualifier(m, slot);

	if (m->col_value < 0 || slot->tts_isnull[m->col_value])
		return 0;
	resetStringInfo(&m->value);
	encode_cell_part(&m->t->columns[m->col_value], slot->tts_values[m->col_value], &m->value);
	wt_modify_state_put(m, family, key, q, wt_modify_state_stated_ts(m, slot, m->col_ts),
						PG_INT64_MIN, 0, wt_bytes_of(&m->value));
	return 1;
}

void
wt_cells_layout_raise_version(WtModify *m, const WtVersion *v)
{
	const char *family = "?";
	char *ts = v->ts == WIDE_TS_AUTO ? pstrdup("the time of commit")
									 : psprintf(INT64_FORMAT, v->ts);

	for (int i = 0; i < m->nnames; i++)
	{
		if (m->names[i].id == v->family)
			family = m->names[i].name;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("version already exists in table \"%s\"", RelationGetRelationName(m->rel)),
			 errdetail("Key %s, cell \"%s:%s\", timestamp %s.",
					   wt_key_text(m->t, v->key),
					   family,
					   wt_bytes_text_show_qualifier(v->qual),
					   ts),
			 errhint("UPDATE replaces no version. DELETE it first, or INSERT the value with that "
					 "timestamp."),
			 errtable(m->rel)));
}

void
wt_cells_layout_old_cell(WtModify *m, TupleTableSlot *planSlot, WtCellIdentity *id)
{
	WtColumn *c = &m->t->columns[m->col_ts];
	WtVersion *v = &id->v;
	bool isnull;
	Datum d;
	StringInfoData all;

	v->key = wt_modify_state_copy_bytes(wt_modify_state_old_key(m, planSlot, &m->key));
	d = ExecGetJunkAttribute(planSlot, m->family_junk, &isnull);
	v->family = cells_family(m, isnull, d);
	d = ExecGetJunkAttribute(planSlot, m->qual_junk, &isnull);
	v->qual = wt_modify_state_copy_bytes(cells_qualifier(m, isnull, d));
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
		id->again = !wt_modify_state_first_time(m, wt_bytes_of(&all));
	}
}

/* Can the statement move versions?  Only what it sets is taken from the new row. */
static bool
moves_versions(WtModify *m, const bool *set)
{
	for (int i = 0; i < m->t->natts; i++)
	{
		WtColumn *c = &m->t->columns[i];

		if (set[i] && (c->role == WT_CELL_VERSION || c->role == WT_CELL_NO))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" cannot be set: it counts versions", c->name)));
	}
	for (int i = 0; i < m->t->natts; i++)
	{
		if (set[i] && (m->t->columns[i].role == WT_KEY ||
					   wt_modify_state_is_cell_identity(&m->t->columns[i])))
			return true;
	}
	return false;
}

void
wt_cells_layout_update(WtModify *m, TupleTableSlot *slot, const bool *set, const WtVersion *id)
{
	WtVersion to, from = *id;
	wide_bytes again;
	int64 floor = PG_INT64_MIN;
	bool moves = moves_versions(m, set), stays, own = false,
		 gone = m->col_value < 0 || slot->tts_isnull[m->col_value];

	resetStringInfo(&m->new_key);
	wt_rowkey_from_slot(m->t, slot->tts_values, slot->tts_isnull, &m->new_key);
	to.key = wt_bytes_of(&m->new_key);
	to.family = slot_family(m, slot);
	to.qual = slot_qualifier(m, slot);
	to.ts = set[m->col_ts] ? wt_modify_state_stated_ts(m, slot, m->col_ts) : id->ts;
	stays = to.family == id->family && to.ts == id->ts &&
			wt_bytes_equal(to.qual.data, to.qual.len, id->qual.data, id->qual.len) &&
			wt_bytes_equal(to.key.data, to.key.len, id->key.data, id->key.len);
	/* what this transaction has written without a timestamp gets it at commit, also now */
	if (m->wrote_before)
		own = wt_cell_read_is_provisional(id->family, id->key, id->qual, id->ts, &floor);
	if (own)
	{
		from.ts = WIDE_TS_AUTO;
		if (!set[m->col_ts])
			to.ts = WIDE_TS_AUTO;
	}
	if (to.family != id->family ||
		!wt_bytes_equal(to.qual.data, to.qual.len, id->qual.data, id->qual.len) ||
		!wt_bytes_equal(to.key.data, to.key.len, id->key.data, id->key.len))
		floor = PG_INT64_MIN;
	if (!stays)
		wt_row_lock(m->e.table, to.key, false);

	/* of several without a timestamp in a cell only the last one counts */
	if (!stays || gone || (m->wrote_before && to.ts != WIDE_TS_AUTO))
		wt_modify_state_delete(m, WIDE_DELETE_VERSION, id->family, id->key, id->qual, id->ts);
	if (moves && m->moves == NULL)
		m->moves = wt_version_move_new(GetMemoryChunkContext(m));
	if (moves && wt_version_move_leave(m->moves, &from, &again))
	{
		wt_modify_state_put(m, from.family, from.key, from.qual, from.ts, PG_INT64_MIN, 0, again);
		pfree(unconstify(uint8 *, again.data));
	}
	if (gone)
		return;
	resetStringInfo(&m->value);
	encode_cell_part(&m->t->columns[m->col_value], slot->tts_values[m->col_value], &m->value);
	if (moves && !wt_version_move_arrive(m->moves, &to, wt_bytes_of(&m->value)))
		wt_cells_layout_raise_version(m, &to);
	wt_modify_state_put(m, to.family, to.key, to.qual, to.ts,
						own && to.ts == WIDE_TS_AUTO ? floor : PG_INT64_MIN, 0,
						wt_bytes_of(&m->value));
}

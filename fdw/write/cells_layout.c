/*
 * cells_layout.c
 *		INSERT, UPDATE and DELETE of one row in the layout 'cells'.
 *
 * A row of the foreign table is one version of one cell, identified by key,
 * family, qualifier and timestamp.  INSERT puts it, and replaces a version with
 * the same timestamp; if the statement has no right to write over rows
 * (upsert_rights.c), the cell must not have any version, because a new one changes
 * what the cell shows.  DELETE removes this version only.  UPDATE of the value
 * writes the version again in its place; UPDATE of a part of the identity moves
 * it, see version_move.c.
 *
 * A version that this transaction has written without a timestamp gets it at
 * commit.  Until then it is shown, and identified, by a provisional timestamp;
 * when it is written again it remains without a timestamp (WIDE_TS_AUTO) unless
 * the statement sets one.
 */
#include "postgres.h"

#include "fdw/write/cells_layout.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/encode.h"
#include "fdw/table/key_text.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"
#include "fdw/write/modify_state.h"
#include "fdw/write/version_move.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/change.h"

/* The bytes of a text or bytea value. */
static wide_bytes
varlena_bytes(Datum d)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(d);

	return (wide_bytes) {(const uint8 *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v)};
}

/* The id of the family with this name; 23502 for a null, 42703 for an unknown name. */
static wide_family_id
family_by_name(WtModify *m, bool isnull, Datum d)
{
	wide_bytes name;

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("a cell of table \"%s\" needs a family", RelationGetRelationName(m->rel))));
	name = varlena_bytes(d);
	for (int i = 0; i < m->cells.nnames; i++)
	{
		if (wt_bytes_equal(m->cells.names[i].name, strlen(m->cells.names[i].name), name.data,
						   name.len))
			return m->cells.names[i].id;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("family \"%.*s\" of table \"%s\" does not exist",
					(int) name.len, (const char *) name.data, RelationGetRelationName(m->rel))));
	return 0; /* keep compiler quiet */
}

/* The family that the row names; the table's first one if no column shows the family. */
static wide_family_id
slot_family(WtModify *m, TupleTableSlot *slot)
{
	if (m->cells.col_family >= 0)
		return family_by_name(m, slot->tts_isnull[m->cells.col_family],
							  slot->tts_values[m->cells.col_family]);
	if (m->t->nfamilies == 0)
		return family_by_name(m, true, 0);
	return wt_modify_state_family(m, 0);
}

/* The bytes of a qualifier column's value, in m->qual; 23502 for a null. */
static wide_bytes
encode_qualifier(WtModify *m, bool isnull, Datum d)
{
	WtColumn *c = &m->t->columns[m->cells.col_qual];

	resetStringInfo(&m->qual);
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
	{
		wide_bytes text = varlena_bytes(d);

		wt_bytes_text_unshow_qualifier((const char *) text.data, text.len, &m->qual);
	}
	return wt_bytes_of(&m->qual);
}

/* The qualifier that the row names, in m->qual; the empty one if no column shows it. */
static wide_bytes
slot_qualifier(WtModify *m, TupleTableSlot *slot)
{
	int col = m->cells.col_qual;

	if (col >= 0)
		return encode_qualifier(m, slot->tts_isnull[col], slot->tts_values[col]);
	resetStringInfo(&m->qual);
	return wt_bytes_of(&m->qual);
}

/*
 * The bytes of the row's value, in m->value.  Requires: it is not null.  A text
 * column shows bytes that are not valid text as \x..., so a text of that form
 * stands for these bytes.
 */
static wide_bytes
slot_value(WtModify *m, TupleTableSlot *slot)
{
	WtColumn *c = &m->t->columns[m->cells.col_value];
	Datum d = slot->tts_values[m->cells.col_value];

	resetStringInfo(&m->value);
	if (c->typid == TEXTOID || c->typid == VARCHAROID)
	{
		wide_bytes text = varlena_bytes(d);

		wt_bytes_text_unshow((const char *) text.data, text.len, &m->value);
	}
	else
		wt_cell_value_encode(c, d, &m->value);
	return wt_bytes_of(&m->value);
}

static bool
value_is_null(WtModify *m, TupleTableSlot *slot)
{
	return m->cells.col_value < 0 || slot->tts_isnull[m->cells.col_value];
}

/*
 * Returns true if the cell has a version, in the newest state.  Locks its row first.
 */
static bool
lock_and_find_cell(WtModify *m, wide_family_id family, wide_bytes key, wide_bytes qual)
{
	WtCellRef ref = {.family = family, .qual = qual};

	wt_change_lock_row(m->e.table, key, false);
	wt_cell_read_floors(&m->rows.floors, GetMemoryChunkContext(m), key, &ref, 1);
	return ref.found;
}

/* Raises 23505: the INSERT has no right to write to a cell that exists. */
static void
raise_cell_exists(WtModify *m, wide_bytes key)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("cell already exists in table \"%s\"", RelationGetRelationName(m->rel)),
			 wt_modify_state_errdetail_key(m, key),
			 wt_modify_state_errhint_upsert(m),
			 errtable(m->rel)));
}

bool
wt_cells_layout_insert(WtModify *m, TupleTableSlot *slot)
{
	wide_bytes key, qual;
	wide_family_id family;

	resetStringInfo(&m->key);
	wt_rowkey_from_slot(m->t, slot->tts_values, slot->tts_isnull, &m->key);
	key = wt_bytes_of(&m->key);
	family = slot_family(m, slot);
	qual = slot_qualifier(m, slot);
	if (value_is_null(m, slot))
		wt_modify_state_raise_no_cells(m, key);
	/*
	 * A row is a version and collides with no other: insert_mode has no effect, and ON CONFLICT
	 * none for a role that may UPDATE.
	 */
	if (!wt_modify_state_may_upsert(m, slot) && lock_and_find_cell(m, family, key, qual))
	{
		if (!m->do_nothing)
			raise_cell_exists(m, key);
		return false;
	}
	wt_change_put(m->t, family, key, qual, wt_modify_state_stated_ts(m, slot, m->cells.col_ts),
				  PG_INT64_MIN, 0, slot_value(m, slot));
	return true;
}

/* Raises 23505: an UPDATE moves a version to a place that another one has. */
static void
raise_collision(WtModify *m, const WtVersion *v)
{
	const char *family = "?";
	char *ts = v->ts == WIDE_TS_AUTO ? pstrdup("the time of commit")
									 : psprintf(INT64_FORMAT, v->ts);

	for (int i = 0; i < m->cells.nnames; i++)
	{
		if (m->cells.names[i].id == v->family)
			family = m->cells.names[i].name;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("version already exists in table \"%s\"", RelationGetRelationName(m->rel)),
			 !wt_rowkey_is_visible(m->t) ? 0
										 : errdetail("Key %s, cell \"%s:%s\", timestamp %s.",
													 wt_key_text(m->t, v->key),
													 family,
													 wt_bytes_text_show_qualifier(v->qual),
													 ts),
			 errhint("UPDATE replaces no version. DELETE it first, or INSERT the value with that "
					 "timestamp."),
			 errtable(m->rel)));
}

void
wt_cells_layout_check_moves(WtModify *m)
{
	const WtVersion *place = m->cells.moves ? wt_version_move_collision(m->cells.moves) : NULL;

	if (place)
		raise_collision(m, place);
}

/*
 * The version that the plan delivered.  One that this transaction has written
 * without a timestamp is identified by its provisional timestamp.
 */
static WtVersion
old_version(WtModify *m, TupleTableSlot *planSlot)
{
	WtColumn *c = &m->t->columns[m->cells.col_ts];
	WtVersion v;
	bool isnull;
	Datum d;

	v.key = wt_cell_read_copy_bytes(m->row_cxt, wt_modify_state_old_key(m, planSlot, &m->key));
	d = ExecGetJunkAttribute(planSlot, m->junk.family, &isnull);
	v.family = family_by_name(m, isnull, d);
	d = ExecGetJunkAttribute(planSlot, m->junk.qual, &isnull);
	v.qual = wt_cell_read_copy_bytes(m->row_cxt, encode_qualifier(m, isnull, d));
	d = ExecGetJunkAttribute(planSlot, m->junk.ts, &isnull);
	if (isnull)
		elog(ERROR, "timestamp of a stored cell is null");
	v.ts = DatumGetInt64(d) + (c->typid == INT8OID ? 0 : WT_EPOCH_DIFF);
	return v;
}

/*
 * Identifies the version that the plan delivered and locks its row, before
 * UPDATE or DELETE writes.  Returns false if the version is left out.
 */
static bool
claim_version(WtModify *m, CmdType op, TupleTableSlot *planSlot, WtVersion *v)
{
	*v = old_version(m, planSlot);
	if (m->seen != NULL)
	{
		StringInfoData identity;

		initStringInfo(&identity);
		wt_version_move_identity(v, &identity);
		if (!wt_modify_state_first_time(m, wt_bytes_of(&identity)))
			return false;
	}
	wt_change_lock_row(m->e.table, v->key, false);
	if (wt_change_leave_out(m->t, &m->writer, op, &v->family, 1, v->key, &v->qual))
		return false;
	wt_change_begin(m->t, &m->writer);
	return true;
}

bool
wt_cells_layout_delete(WtModify *m, TupleTableSlot *planSlot)
{
	WtVersion v;

	if (!claim_version(m, CMD_DELETE, planSlot, &v))
		return false;
	if (wt_change_merge_of(v.family) != WIDE_MERGE_NONE)
		wt_change_delete(m->t, WIDE_DELETE_COLUMN, v.family, v.key, v.qual, WIDE_TS_MAX);
	else
		wt_change_delete(m->t, WIDE_DELETE_VERSION, v.family, v.key, v.qual, v.ts);
	return true;
}

/*
 * Returns true if the statement may move versions: it sets a part of their identity.
 * 0A000 if it sets a column that numbers versions.
 */
static bool
may_move(WtModify *m, const bool *set)
{
	bool moves = false;

	for (int i = 0; i < m->t->natts; i++)
	{
		const WtColumn *c = &m->t->columns[i];

		if (!set[i])
			continue;
		if (c->role == WT_CELL_VERSION || c->role == WT_CELL_NO)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" cannot be set: it counts versions", c->name)));
		moves |= c->role == WT_KEY || wt_modify_state_is_cell_identity(c);
	}
	return moves;
}

/* The place that the new row states; its bytes are in m->new_key and m->qual. */
static WtVersion
new_version(WtModify *m, TupleTableSlot *slot, const bool *set, const WtVersion *old)
{
	WtVersion v;

	resetStringInfo(&m->new_key);
	wt_rowkey_from_slot(m->t, slot->tts_values, slot->tts_isnull, &m->new_key);
	v.key = wt_bytes_of(&m->new_key);
	v.family = slot_family(m, slot);
	v.qual = slot_qualifier(m, slot);
	v.ts = set[m->cells.col_ts] ? wt_modify_state_stated_ts(m, slot, m->cells.col_ts) : old->ts;
	return v;
}

/* The version leaves its place; what the statement has put there before is put again. */
static void
leave_place(WtModify *m, const WtVersion *from)
{
	wide_bytes again;

	if (!wt_version_move_leave(m->cells.moves, from, &again))
		return;
	wt_change_put(m->t, from->family, from->key, from->qual, from->ts, PG_INT64_MIN, 0, again);
	pfree(unconstify(uint8 *, again.data));
}

/*
 * Of a family with a merge operator a cell is set as a whole, and does not move.  Returns: false if
 * the version is not of such a family.
 */
static bool
update_merged(WtModify *m, TupleTableSlot *slot, const WtVersion *old, const WtVersion *to,
			  bool moves)
{
	if (wt_change_merge_of(old->family) == WIDE_MERGE_NONE &&
		wt_change_merge_of(to->family) == WIDE_MERGE_NONE)
		return false;
	if (moves)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a cell of a family with a merge operator cannot be moved"),
				 errdetail("Table \"%s\", key %s.", RelationGetRelationName(m->rel),
						   wt_key_text(m->t, old->key)),
				 errhint("INSERT the value where it is to be added, and DELETE it here.")));
	if (value_is_null(m, slot))
		wt_change_delete(m->t, WIDE_DELETE_COLUMN, old->family, old->key, old->qual, WIDE_TS_MAX);
	else
		wt_change_set(m->t, old->family, old->key, old->qual, WIDE_TS_AUTO, PG_INT64_MIN, 0,
					  slot_value(m, slot));
	return true;
}

bool
wt_cells_layout_update(WtModify *m, TupleTableSlot *slot, TupleTableSlot *planSlot, const bool *set)
{
	WtVersion old, from, to;
	int64 floor = PG_INT64_MIN;
	bool moves, stays, provisional, removed = value_is_null(m, slot);

	if (!claim_version(m, CMD_UPDATE, planSlot, &old))
		return false;
	moves = may_move(m, set);
	from = old;
	to = new_version(m, slot, set, &old);
	if (update_merged(m, slot, &old, &to, moves))
		return true;
	stays = wt_version_move_same_cell(&to, &old) && to.ts == old.ts;
	/* what this transaction has written without a timestamp gets it at commit, also now */
	provisional = m->wrote_before &&
				  wt_cell_read_is_provisional(old.family, old.key, old.qual, old.ts, &floor);
	if (provisional)
	{
		from.ts = WIDE_TS_AUTO;
		if (!set[m->cells.col_ts])
			to.ts = WIDE_TS_AUTO;
	}
	if (!stays)
		wt_change_lock_row(m->e.table, to.key, false);

	/* in a cell with several versions without a timestamp only the last one counts */
	if (!stays || removed || (m->wrote_before && to.ts != WIDE_TS_AUTO))
		wt_change_delete(m->t, WIDE_DELETE_VERSION, old.family, old.key, old.qual, old.ts);
	if (moves && m->cells.moves == NULL)
		m->cells.moves = wt_version_move_new(GetMemoryChunkContext(m));
	if (moves)
		leave_place(m, &from);
	if (!removed)
	{
		wide_bytes value = slot_value(m, slot);

		if (moves && !wt_version_move_arrive(m->cells.moves, &to, value))
			raise_collision(m, &to);
		/* the new timestamp must exceed the cell's older versions, as the old one would have */
		if (!provisional || to.ts != WIDE_TS_AUTO || !wt_version_move_same_cell(&to, &old))
			floor = PG_INT64_MIN;
		wt_change_put(m->t, to.family, to.key, to.qual, to.ts, floor, 0, value);
	}
	return true;
}

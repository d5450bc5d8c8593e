/*
 * rows_layout.c
 *		INSERT, UPDATE and DELETE of one row in the layout 'rows'.
 *
 * A row of the foreign table is a set of cells, those of columns and those of
 * entries of map columns.  What the statements do to them:
 *
 *	INSERT	one put for each column that is not NULL and for each entry of a map.
 *			A blind write: nothing is read, and the cells lie over those of an
 *			existing row.  With insert_mode 'error', with ON CONFLICT DO NOTHING,
 *			and if the statement has no right to write over rows
 *			(upsert_rights.c), the row is locked and looked up first.  A row
 *			without cells gets a marker (marker.h).
 *	UPDATE	puts and deletes for the columns that the statement, a trigger or a
 *			generated column sets.  Other cells are not written, so concurrent
 *			updates of them survive.  The target's scan has locked the row and
 *			delivered its newest state.  A put gets a timestamp above the version
 *			that it replaces, even if that one lies in the future.  SET c = NULL
 *			deletes the column with all its versions; if these were the row's last
 *			cells, it gets a marker.  A new key moves the row with all its visible
 *			versions.
 *	DELETE	one delete in each family of the stored table, including families
 *			that this foreign table does not show.
 */
#include "postgres.h"

#include "fdw/write/rows_layout.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "fdw/derived/row_change.h"
#include "fdw/row/cell_read.h"
#include "fdw/row/map.h"
#include "fdw/store/bytes.h"
#include "fdw/store/row_lock.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/encode.h"
#include "fdw/table/key_text.h"
#include "fdw/table/lookup.h"
#include "fdw/table/marker.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"
#include "fdw/write/modify_state.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/change.h"
#include "fdw/xact/derive.h"
#include "fdw/xact/engine_scan.h"

/* A change of one cell in an UPDATE, before it goes to the batch. */
typedef struct WtCellWrite
{
	int family; /* index into t->families */
	wide_bytes qual;
	bool remove; /* deletes the column with all its versions; no value */
	wide_bytes value;
	int64 ts;	 /* or WIDE_TS_AUTO */
	bool ts_set; /* the statement sets the timestamp: the version moves there */
} WtCellWrite;

/* The TIMESTAMP_OF column of a cell, for tables that mostly have none. */
static int
find_ts_of(WtModify *m, int family, wide_bytes qual)
{
	return m->rows.nts > 0 ? wt_modify_state_timestamp_of(m->t, family, qual) : -1;
}

/* Returns true if the row exists, in the newest state.  Locks it first. */
static bool
lock_and_find(WtModify *m, wide_bytes key)
{
	wt_change_lock_row(m->e.table, key, false);
	return wt_cell_read_row_exists_again(&m->rows.exists, &m->e, key, &m->range);
}

/*
 * ON CONFLICT DO NOTHING leaves a row out because of the one that is there.  In REPEATABLE READ
 * raises 40001 if the transaction does not see that one: for it there would be neither.
 */
static void
check_conflict_is_seen(WtModify *m, wide_bytes key)
{
	wide_scan_family fam[WT_MAX_FAMILIES];
	wide_range range = wt_cell_read_row_range(key, &m->range);
	wide_scan_spec spec = {.families = fam, .nfamilies = m->e.nall, .ranges = &range, .nranges = 1};
	SnapshotData snapshot;
	WtEngineScan *scan;
	wide_row row;
	bool seen;

	if (!IsolationUsesXactSnapshot() || m->t->engine != NULL)
		return;
	snapshot = *GetTransactionSnapshot();
	/* and all that the transaction has changed */
	snapshot.curcid = PG_UINT32_MAX;
	for (int i = 0; i < m->e.nall; i++)
		fam[i] = (wide_scan_family) {.id = m->e.all[i], .want = WIDE_WANT_EXISTS};
	scan = wt_engine_scan_open(&snapshot, &spec);
	seen = wt_engine_scan_next(scan, &row);
	wt_engine_scan_close(scan);
	if (!seen)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
}

static void
raise_duplicate(WtModify *m, wide_bytes key)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("row already exists in table \"%s\"", RelationGetRelationName(m->rel)),
			 wt_modify_state_errdetail_key(m, key),
			 m->t->insert_error ? 0 : wt_modify_state_errhint_upsert(m),
			 errtable(m->rel)));
}

/* ----------------------------------------------------------------- INSERT */

/*
 * Returns the qualifier of a map's key, in m->qual: the map's prefix, then the
 * key's bytes.  22023 if another column shows that cell.
 */
static wide_bytes
map_qualifier(WtModify *m, WtColumn *c, const char *name, int len)
{
	wide_bytes q;

	resetStringInfo(&m->qual);
	if (c->qual_len > 0)
		appendBinaryStringInfo(&m->qual, (const char *) c->qual, c->qual_len);
	wt_bytes_text_unshow_qualifier(name, len, &m->qual);
	q = wt_bytes_of(&m->qual);
	for (int i = 0; i < m->t->natts; i++)
	{
		WtColumn *o = &m->t->columns[i];

		if ((o->role == WT_CELL || o->role == WT_KEY) && o->family == c->family &&
			wt_bytes_equal(o->qual, o->qual_len, q.data, q.len))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("key \"%.*s\" of map column \"%s\" is stored in column \"%s\"",
							len, name, c->name, o->name)));
	}
	if (!wt_lookup_map_shows(m->t, c, q))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key \"%.*s\" of map column \"%s\" belongs to another map column with a "
						"longer prefix",
						len,
						name,
						c->name)));
	return q;
}

/* The value of a map column; 22023 if it is not a JSON object. */
static Jsonb *
map_value(WtColumn *c, Datum d)
{
	Jsonb *jb = DatumGetJsonbP(d);

	if (!JB_ROOT_IS_OBJECT(jb))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("map column \"%s\" needs a JSON object", c->name)));
	return jb;
}

/* Raises 22023 if a map's entry would be a marker, which the map does not show. */
static void
check_entry(WtModify *m, const WtColumn *c, wide_bytes qualifier, wide_bytes value)
{
	if (wt_marker_is(m->t, c->family, qualifier, value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("map column \"%s\" must not have an empty value under the empty key",
						c->name),
				 errdetail("That cell marks rows of table \"%s\" that have no other.",
						   RelationGetRelationName(m->rel)),
				 errhint("Set option \"marker\" of the table to \"off\".")));
}

/* Puts the entries of a map, except JSON nulls; returns the number of puts. */
static int
insert_map(WtModify *m, WtColumn *c, TupleTableSlot *slot, Datum d, wide_bytes key)
{
	Jsonb *jb = map_value(c, d);
	wide_family_id family = wt_modify_state_family(m, c->family);
	WtMapWalk w;
	StringInfoData text;
	int n = 0;

	initStringInfo(&text);
	wt_map_walk(&w, &jb->root);
	while (wt_map_walk_next(&w))
	{
		wide_bytes q = map_qualifier(m, c, w.key.val.string.val, w.key.val.string.len);

		resetStringInfo(&text);
		resetStringInfo(&m->value);
		if (!wt_map_json_text(&w.value, &text))
			continue;
		wt_bytes_text_unshow(text.data, text.len, &m->value);
		check_entry(m, c, q, wt_bytes_of(&m->value));
		wt_change_put(m->t, family, key, q,
					  wt_modify_state_stated_ts(m, slot, find_ts_of(m, c->family, q)), PG_INT64_MIN,
					  0, wt_bytes_of(&m->value));
		n++;
	}
	return n;
}

/* Puts the cells of all columns that are not NULL; returns their number. */
static int
insert_cells(WtModify *m, TupleTableSlot *slot, wide_bytes key)
{
	WtTable *t = m->t;
	int n = 0;

	for (int k = 0; k < t->natts; k++)
	{
		int i = t->order[k];
		WtColumn *c = &t->columns[i];

		if (c->role != WT_CELL && c->role != WT_MAP && !(c->role == WT_KEY && c->family >= 0))
			continue;
		if (slot->tts_isnull[i])
			wt_modify_state_check_not_null(m->rel, c);
		else if (c->role == WT_MAP)
			n += insert_map(m, c, slot, slot->tts_values[i], key);
		else
		{
			wide_bytes value;

			if (c->role == WT_KEY)
				/* the key has a digest, the cell has the original */
				value = wt_encode_original_bytes(c, slot->tts_values[i]);
			else
			{
				resetStringInfo(&m->value);
				wt_cell_value_encode(c, slot->tts_values[i], &m->value);
				value = wt_bytes_of(&m->value);
			}
			wt_change_put(m->t, wt_modify_state_family(m, c->family), key,
						  (wide_bytes) {c->qual, c->qual_len},
						  wt_modify_state_stated_ts(m, slot, m->rows.ts_of[i]), PG_INT64_MIN, 0,
						  value);
			n++;
		}
	}
	return n;
}

/*
 * The row of an INSERT has no cells: it gets a marker.  The put is blind as others are, unless the
 * marker's place may have an entry of a map, which a marker would replace: then a row that exists
 * gets none.
 */
static void
insert_marker(WtModify *m, wide_bytes key)
{
	if (!m->t->marker)
		wt_modify_state_raise_no_cells(m, key);
	if (!wt_marker_in_map(m->t) || !lock_and_find(m, key))
		wt_modify_state_put_marker(m->t, &m->e, key);
}

bool
wt_rows_layout_insert(WtModify *m, TupleTableSlot *slot)
{
	wide_bytes key;
	size_t locks = wt_row_lock_held();
	bool once, locked;

	resetStringInfo(&m->key);
	wt_rowkey_from_slot(m->t, slot->tts_values, slot->tts_isnull, &m->key);
	key = wt_bytes_of(&m->key);
	if ((m->do_nothing || m->t->insert_error || !wt_modify_state_may_upsert(m, slot)) &&
		lock_and_find(m, key))
	{
		if (!m->do_nothing)
			raise_duplicate(m, key);
		check_conflict_is_seen(m, key);
		return false;
	}
	locked = wt_row_lock_held() > locks;
	if (m->do_nothing && wt_row_change_conflicts(m->t, slot->tts_values, slot->tts_isnull))
		return false;
	/* with timestamps a cell may lie behind others, or have expired */
	once = m->rows.nts == 0 && wt_row_change_begin_insert(m->t, key, locked);
	if (insert_cells(m, slot, key) == 0)
		insert_marker(m, key);
	if (once)
		wt_row_change_inserted(m->t, slot->tts_values, slot->tts_isnull);
	return true;
}

/* ----------------------------------------------------------------- UPDATE */

/* Appends to the row's writes.  value NULL: the column's cells are removed. */
static void
add_write(WtModify *m, int family, wide_bytes qual, const wide_bytes *value, int64 ts, bool ts_set)
{
	WtModifyRows *r = &m->rows;

	if (r->nwrites == r->writes_max)
	{
		r->writes_max = Max(16, r->writes_max * 2);
		r->writes = r->writes ? repalloc(r->writes, sizeof(WtCellWrite) * r->writes_max)
							  : MemoryContextAlloc(GetMemoryChunkContext(m),
												   sizeof(WtCellWrite) * r->writes_max);
	}
	r->writes[r->nwrites++] = (WtCellWrite) {.family = family,
											 .qual = qual,
											 .remove = value == NULL,
											 .value = value ? *value : (wide_bytes) {NULL, 0},
											 .ts = ts,
											 .ts_set = ts_set};
}

/* Appends a put to the row's writes; ts_col: the column whose timestamp it gets, -1. */
static void
add_put(WtModify *m, int family, wide_bytes qual, wide_bytes value, TupleTableSlot *slot,
		int ts_col)
{
	add_write(m, family, qual, &value, wt_modify_state_stated_ts(m, slot, ts_col),
			  ts_col >= 0 && !slot->tts_isnull[ts_col]);
}

/* A map column that an UPDATE sets; argument of the callback of wt_map_diff. */
typedef struct MapUpdate
{
	WtModify *m;
	WtColumn *c;
	TupleTableSlot *slot;
	const bool *set;
} MapUpdate;

/* Returns the TIMESTAMP_OF column of the entry's cell if the statement sets it, else -1. */
static int
set_ts_of(MapUpdate *u, wide_bytes qual)
{
	int ts_col = find_ts_of(u->m, u->c->family, qual);

	return ts_col >= 0 && u->set[ts_col] ? ts_col : -1;
}

/*
 * Appends the change of an entry; text NULL: it is removed.  An entry that is the same
 * in both maps is written if the statement sets its timestamp.
 */
static void
map_change(void *arg, const JsonbValue *key, StringInfo text, bool same)
{
	MapUpdate *u = arg;
	WtModify *m = u->m;
	wide_bytes q;

	if (same && m->rows.nts == 0)
		return;
	q = map_qualifier(m, u->c, key->val.string.val, key->val.string.len);
	if (same && set_ts_of(u, q) < 0)
		return;
	q = wt_cell_read_copy_bytes(m->row_cxt, q);
	if (text == NULL)
	{
		add_write(m, u->c->family, q, NULL, WIDE_TS_MAX, false);
		return;
	}
	resetStringInfo(&m->value);
	wt_bytes_text_unshow(text->data, text->len, &m->value);
	check_entry(m, u->c, q, wt_bytes_of(&m->value));
	add_put(m, u->c->family, q, wt_cell_read_copy_bytes(m->row_cxt, wt_bytes_of(&m->value)),
			u->slot, set_ts_of(u, q));
}

/* Appends the changes that turn the old map into the new one. */
static void
collect_map(WtModify *m, int col, TupleTableSlot *slot, TupleTableSlot *before, const bool *set)
{
	WtColumn *c = &m->t->columns[col];
	Jsonb *now = slot->tts_isnull[col] ? NULL : map_value(c, slot->tts_values[col]);
	Jsonb *was = before == NULL || before->tts_isnull[col] ? NULL
														   : map_value(c, before->tts_values[col]);
	MapUpdate u = {.m = m, .c = c, .slot = slot, .set = set};

	wt_map_diff(was, now, map_change, &u);
}

/* Appends the change of an ordinary cell that the statement sets, or whose timestamp it sets. */
static void
collect_cell(WtModify *m, int col, TupleTableSlot *slot, const bool *set, bool ts_set)
{
	WtColumn *c = &m->t->columns[col];
	wide_bytes q = {c->qual, c->qual_len};
	StringInfoData bytes;

	if (slot->tts_isnull[col])
	{
		wt_modify_state_check_not_null(m->rel, c);
		if (set[col])
			add_write(m, c->family, q, NULL, WIDE_TS_MAX, false);
		return;
	}
	initStringInfo(&bytes);
	wt_cell_value_encode(c, slot->tts_values[col], &bytes);
	add_put(m, c->family, q, wt_bytes_of(&bytes), slot, ts_set ? m->rows.ts_of[col] : -1);
}

/* Collects the cells that an UPDATE changes in m->rows.writes. */
static void
collect_writes(WtModify *m, TupleTableSlot *slot, TupleTableSlot *before, const bool *set)
{
	WtTable *t = m->t;

	m->rows.nwrites = 0;
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn *c = &t->columns[i];
		bool ts_set = m->rows.ts_of[i] >= 0 && set[m->rows.ts_of[i]];

		if (c->role == WT_MAP && (set[i] || m->rows.nts > 0))
		{
			if (set[i] && slot->tts_isnull[i])
				wt_modify_state_check_not_null(m->rel, c);
			collect_map(m, i, slot, before, set);
		}
		else if (c->role == WT_KEY && c->family >= 0 && set[i])
			add_put(m, c->family, (wide_bytes) {c->qual, c->qual_len},
					wt_cell_read_copy_bytes(m->row_cxt,
											wt_encode_original_bytes(c, slot->tts_values[i])),
					slot, -1);
		else if (c->role == WT_CELL && (set[i] || ts_set))
			collect_cell(m, i, slot, set, ts_set);
	}
}

/*
 * The UPDATE sets the timestamp of a cell: deletes the version that the row
 * showed, because it moves to the new timestamp.  22023 if another version is
 * newer than that: the row would show the other one, and not what the statement
 * sets.
 */
static void
move_shown(WtModify *m, wide_bytes key, const WtCellWrite *w, const WtCellRef *shown)
{
	int64 next;

	/* a provisional one moves in any case: it would get its own timestamp at commit */
	if (shown->ts == w->ts && !shown->provisional)
		return;
	next = wt_cell_read_next_newest(shown->family, key, w->qual, shown->ts);
	if (next > w->ts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timestamp " INT64_FORMAT " is older than another version of the cell",
						w->ts),
				 errdetail("Table \"%s\", key %s, cell \"%s:%s\": the version at " INT64_FORMAT
						   " would be shown instead.",
						   RelationGetRelationName(m->rel),
						   wt_key_text(m->t, key),
						   m->t->families[w->family].name,
						   wt_bytes_text_show_qualifier(w->qual),
						   next),
				 errhint("INSERT writes a version of any age and leaves the others as they are.")));
	wt_change_delete(m->t, WIDE_DELETE_VERSION, shown->family, key, w->qual, shown->ts);
}

/*
 * Writes m->rows.writes.  The timestamps of the newest versions of the cells to
 * be put are read first: the new versions must exceed them, except for provisional ones.
 */
static void
apply_writes(WtModify *m, wide_bytes key)
{
	WtCellRef *refs = palloc0(sizeof(WtCellRef) * Max(1, m->rows.nwrites));
	int n = 0;

	for (int i = 0; i < m->rows.nwrites; i++)
	{
		WtCellWrite *w = &m->rows.writes[i];

		if (w->remove)
			wt_change_delete(m->t, WIDE_DELETE_COLUMN, wt_modify_state_family(m, w->family), key,
							 w->qual, WIDE_TS_MAX);
		else
		{
			refs[n].family = wt_modify_state_family(m, w->family);
			refs[n++].qual = w->qual;
		}
	}
	wt_cell_read_floors(&m->rows.floors, GetMemoryChunkContext(m), key, refs, n);
	n = 0;
	for (int i = 0; i < m->rows.nwrites; i++)
	{
		WtCellWrite *w = &m->rows.writes[i];
		WtCellRef *r;

		if (w->remove)
			continue;
		r = &refs[n++];
		if (w->ts_set && r->found && wt_change_merge_of(r->family) == WIDE_MERGE_NONE)
			move_shown(m, key, w, r);
		wt_change_set(m->t, r->family, key, w->qual, w->ts, r->floor_ts, 0, w->value);
	}
}

/*
 * After apply_writes: puts the marker if the UPDATE has removed the row's last cells.  slot: the
 * new row.  The store is asked only if the statement has put nothing and the row shows no cell that
 * stays.
 */
static void
mark_empty(WtModify *m, wide_bytes key, TupleTableSlot *slot, const bool *set)
{
	if (!m->t->marker || m->rows.nwrites == 0)
		return;
	for (int i = 0; i < m->rows.nwrites; i++)
		if (!m->rows.writes[i].remove)
			return;
	for (int i = 0; i < m->t->natts; i++)
	{
		WtRole role = m->t->columns[i].role;

		if ((role == WT_CELL || role == WT_MAP) && !slot->tts_isnull[i] && !set[i])
			return;
	}
	wt_modify_state_mark_empty(m->t, &m->e, &m->rows.exists, key, &m->range);
}

/* Copies all visible versions of a row, in all families, to another key. */
static void
copy_row(WtModify *m, wide_bytes from, wide_bytes to)
{
	wide_scan_family fam[WT_MAX_FAMILIES];
	wide_range range = wt_cell_read_row_range(from, &m->range);
	wide_scan_spec spec = {
		.families = fam, .nfamilies = m->e.nall, .ranges = &range, .nranges = 1, .operands = true};
	WtEngineScan *scan;
	wide_row row;

	for (int i = 0; i < m->e.nall; i++)
		fam[i] = (wide_scan_family) {
			.id = m->e.all[i], .want = WIDE_WANT_ALL, .max_versions = PG_INT32_MAX};
	scan = wt_engine_scan_open(NULL, &spec);
	while (wt_engine_scan_next(scan, &row))
	{
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];

			wt_change_put(m->t, m->e.all[c->family], to, c->qualifier,
						  c->provisional ? WIDE_TS_AUTO : c->ts, PG_INT64_MIN, c->ttl_us, c->value);
		}
	}
	wt_engine_scan_close(scan);
}

/* Returns true if the statement sets a key column. */
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

/*
 * Identifies the row that the plan delivered and locks it, before UPDATE or
 * DELETE writes.  Returns false if the row is left out: as with an ordinary
 * table, of several new versions of a row that a join delivers the first one
 * wins.
 */
static bool
claim_row(WtModify *m, CmdType op, TupleTableSlot *planSlot, wide_bytes *key)
{
	*key = wt_modify_state_old_key(m, planSlot, &m->key);
	if (!wt_modify_state_first_time(m, *key))
		return false;
	wt_change_lock_row(m->e.table, *key, false);
	if (wt_change_leave_out(m->t, &m->writer, op, m->e.all, m->e.nall, *key, NULL))
		return false;
	wt_change_begin(m->t, &m->writer);
	return true;
}

bool
wt_rows_layout_update(WtModify *m, TupleTableSlot *slot, TupleTableSlot *planSlot,
					  TupleTableSlot *before, const bool *set)
{
	wide_bytes key, target;

	if (!claim_row(m, CMD_UPDATE, planSlot, &key))
		return false;
	target = key;
	if (key_is_set(m, set))
	{
		resetStringInfo(&m->new_key);
		wt_rowkey_from_slot(m->t, slot->tts_values, slot->tts_isnull, &m->new_key);
		target = wt_bytes_of(&m->new_key);
	}
	if (!wt_bytes_equal(key.data, key.len, target.data, target.len))
	{
		if (lock_and_find(m, target))
			raise_duplicate(m, target);
		wt_derive_leave(m->t, key);
		copy_row(m, key, target);
		wt_modify_state_delete_row(m->t, &m->e, key);
	}
	collect_writes(m, slot, before, set);
	apply_writes(m, target);
	mark_empty(m, target, slot, set);
	return true;
}

bool
wt_rows_layout_delete(WtModify *m, TupleTableSlot *planSlot)
{
	wide_bytes key;

	if (!claim_row(m, CMD_DELETE, planSlot, &key))
		return false;
	wt_modify_state_delete_row(m->t, &m->e, key);
	return true;
}

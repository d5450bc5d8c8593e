/*
 * rows_layout.c
 *		INSERT and UPDATE in the layout 'rows': cells of columns and entries of maps.
 */
#include "postgres.h"

#include "fdw/write/rows_layout.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "fdw/row/cell_read.h"
#include "fdw/row/map.h"
#include "fdw/store/bytes.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/encode.h"
#include "fdw/table/key_text.h"
#include "fdw/table/lookup.h"
#include "fdw/table/types.h"
#include "fdw/write/modify_state.h"
#include "fdw/xact/engine_scan.h"

/*
 * The qualifier of a map's key, in m->qual: prefix and the key's bytes.  Cells
 * that other columns show are not part of the map.
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

/* Puts the entries of a map; the number of cells written. */
static int
insert_map(WtModify *m, WtColumn *c, TupleTableSlot *slot, Datum d, wide_bytes key)
{
	Jsonb *jb = map_value(c, d);
	JsonbIterator *it = JsonbIteratorInit(&jb->root);
	wide_family_id family = wt_modify_state_family(m, c->family);
	JsonbIteratorToken tok;
	JsonbValue v;
	wide_bytes q = {NULL, 0};
	StringInfoData text;
	int n = 0;

	initStringInfo(&text);
	while ((tok = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		if (tok == WJB_KEY)
			q = map_qualifier(m, c, v.val.string.val, v.val.string.len);
		else if (tok == WJB_VALUE)
		{
			resetStringInfo(&text);
			resetStringInfo(&m->value);
			if (!wt_map_json_text(&v, &text))
				continue;
			wt_bytes_text_unshow(text.data, text.len, &m->value);
			wt_modify_state_put(
				m, family, key, q,
				wt_modify_state_stated_ts(m, slot, wt_modify_state_find_ts_of(m, c->family, q)),
				PG_INT64_MIN, 0, wt_bytes_of(&m->value));
			n++;
		}
	}
	return n;
}

int
wt_rows_layout_insert(WtModify *m, TupleTableSlot *slot, wide_bytes key)
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
		{
			wt_modify_state_check_not_null(m->rel, c);
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
			wt_modify_state_put(m, wt_modify_state_family(m, c->family), key,
								(wide_bytes) {c->qual, c->qual_len}, WIDE_TS_AUTO, PG_INT64_MIN, 0,
								wt_encode_original_bytes(c, slot->tts_values[i]));
			n++;
			continue;
		}
		resetStringInfo(&m->value);
		wt_encode(c, slot->tts_values[i], &m->value);
		wt_modify_state_put(m, wt_modify_state_family(m, c->family), key,
							(wide_bytes) {c->qual, c->qual_len},
							wt_modify_state_stated_ts(m, slot, m->ts_of[i]), PG_INT64_MIN, 0,
							wt_bytes_of(&m->value));
		n++;
	}
	return n;
}

/* A map column that is being updated. */
typedef struct MapUpdate
{
	WtModify *m;
	WtColumn *c;
	TupleTableSlot *slot;
	const bool *set;
} MapUpdate;

/* The TIMESTAMP_OF column of the entry's cell when the statement sets it, -1. */
static int
set_ts_of(MapUpdate *u, wide_bytes qual)
{
	int ts_col = wt_modify_state_find_ts_of(u->m, u->c->family, qual);

	return ts_col >= 0 && u->set[ts_col] ? ts_col : -1;
}

static bool
map_may_skip(void *arg, const JsonbValue *key)
{
	MapUpdate *u = arg;

	return u->m->nts == 0 ||
		   set_ts_of(u, map_qualifier(u->m, u->c, key->val.string.val, key->val.string.len)) < 0;
}

static void
map_change(void *arg, const JsonbValue *key, StringInfo text)
{
	MapUpdate *u = arg;
	WtModify *m = u->m;
	wide_bytes q = wt_modify_state_copy_bytes(map_qualifier(m, u->c, key->val.string.val,
															key->val.string.len));
	wide_bytes value;
	int ts_col;

	if (text == NULL)
	{
		wt_modify_state_add_write(m, u->c->family, q, NULL, WIDE_TS_MAX, false);
		return;
	}
	resetStringInfo(&m->value);
	wt_bytes_text_unshow(text->data, text->len, &m->value);
	value = wt_modify_state_copy_bytes(wt_bytes_of(&m->value));
	ts_col = set_ts_of(u, q);
	if (ts_col >= 0)
		wt_modify_state_add_write(m, u->c->family, q, &value,
								  wt_modify_state_stated_ts(m, u->slot, ts_col),
								  !u->slot->tts_isnull[ts_col]);
	else
		wt_modify_state_add_write(m, u->c->family, q, &value, WIDE_TS_AUTO, false);
}

/* What has to change so that the map is the new one. */
static void
collect_map(WtModify *m, int col, TupleTableSlot *slot, TupleTableSlot *before, const bool *set)
{
	WtColumn *c = &m->t->columns[col];
	Jsonb *now = slot->tts_isnull[col] ? NULL : map_value(c, slot->tts_values[col]);
	Jsonb *was = before == NULL || before->tts_isnull[col] ? NULL
														   : map_value(c, before->tts_values[col]);
	MapUpdate u = {.m = m, .c = c, .slot = slot, .set = set};

	wt_map_diff(was, now, map_may_skip, map_change, &u);
}

void
wt_rows_layout_collect_writes(WtModify *m, TupleTableSlot *slot, TupleTableSlot *before,
							  const bool *set)
{
	WtTable *t = m->t;

	m->nwrites = 0;
	for (int i = 0; i < t->natts; i++)
	{
		WtColumn *c = &t->columns[i];
		wide_bytes q = {c->qual, c->qual_len};
		wide_bytes value;
		int ts_col = m->ts_of[i];
		bool ts_set = ts_col >= 0 && set[ts_col];

		if (c->role == WT_MAP && (set[i] || m->nts > 0))
		{
			if (set[i] && slot->tts_isnull[i])
				wt_modify_state_check_not_null(m->rel, c);
			collect_map(m, i, slot, before, set);
		}
		else if (c->role == WT_KEY && c->family >= 0 && set[i])
		{
			value = wt_modify_state_copy_bytes(wt_encode_original_bytes(c, slot->tts_values[i]));
			wt_modify_state_add_write(m, c->family, q, &value, WIDE_TS_AUTO, false);
		}
		else if (c->role == WT_CELL && (set[i] || ts_set))
		{
			StringInfoData bytes;

			if (slot->tts_isnull[i])
			{
				wt_modify_state_check_not_null(m->rel, c);
				if (set[i])
					wt_modify_state_add_write(m, c->family, q, NULL, WIDE_TS_MAX, false);
				continue;
			}
			initStringInfo(&bytes);
			wt_encode(c, slot->tts_values[i], &bytes);
			value = wt_bytes_of(&bytes);
			if (ts_set)
				wt_modify_state_add_write(m, c->family, q, &value,
										  wt_modify_state_stated_ts(m, slot, ts_col),
										  !slot->tts_isnull[ts_col]);
			else
				wt_modify_state_add_write(m, c->family, q, &value, WIDE_TS_AUTO, false);
		}
	}
}

/*
 * UPDATE sets the timestamp of a cell: the version that the row has shown moves
 * there.  It has to be the newest one there too, or the row would show an older
 * version and not what the statement says.
 */
static void
move_shown(WtModify *m, wide_bytes key, const WtCellWrite *w, const WtCellRef *shown)
{
	int64 next;

	if (shown->ts == w->ts)
		return;
	(void) wt_cell_read_is_provisional(shown->family, key, w->qual, shown->ts, &next);
	if (next > w->ts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timestamp " INT64_FORMAT " lies below another version of the cell", w->ts),
				 errdetail("Table \"%s\", key %s, cell \"%s:%s\": the version at " INT64_FORMAT
						   " would show instead.",
						   RelationGetRelationName(m->rel),
						   wt_key_text(m->t, key),
						   m->t->families[w->family].name,
						   wt_bytes_text_show_qualifier(w->qual),
						   next),
				 errhint("INSERT writes a version of any age and leaves the others as they are.")));
	wt_modify_state_delete(m, WIDE_DELETE_VERSION, shown->family, key, w->qual, shown->ts);
}

void
wt_rows_layout_apply_writes(WtModify *m, wide_bytes key)
{
	WtCellRef *refs = palloc0(sizeof(WtCellRef) * Max(1, m->nwrites));
	int n = 0;

	for (int i = 0; i < m->nwrites; i++)
	{
		WtCellWrite *w = &m->writes[i];

		if (w->remove)
			wt_modify_state_delete(m, WIDE_DELETE_COLUMN, wt_modify_state_family(m, w->family), key,
								   w->qual, WIDE_TS_MAX);
		else
		{
			refs[n].family = wt_modify_state_family(m, w->family);
			refs[n++].qual = w->qual;
		}
	}
	wt_cell_read_floors(&m->floors, GetMemoryChunkContext(m), key, refs, n);
	n = 0;
	for (int i = 0; i < m->nwrites; i++)
	{
		WtCellWrite *w = &m->writes[i];
		WtCellRef *r;

		if (w->remove)
			continue;
		r = &refs[n++];
		if (w->ts_set && r->found)
			move_shown(m, key, w, r);
		wt_modify_state_put(m, r->family, key, w->qual, w->ts, r->found ? r->ts : PG_INT64_MIN, 0,
							w->value);
	}
}

void
wt_rows_layout_copy_row(WtModify *m, wide_bytes from, wide_bytes to)
{
	wide_scan_family fam[WT_MAX_FAMILIES];
	wide_scan_spec spec = {0};
	wide_range range = wt_cell_read_row_range(from, &m->range);
	WtEngineScan *scan;
	wide_row row;

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
	scan = wt_engine_scan_open(NULL, &spec);
	while (wt_engine_scan_next(scan, &row))
	{
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *c = &row.cells[i];

			wt_modify_state_put(m, m->e.all[c->family], to, c->qualifier,
								c->provisional ? WIDE_TS_AUTO : c->ts, PG_INT64_MIN, c->ttl_us,
								c->value);
		}
	}
	wt_engine_scan_close(scan);
}

bool
wt_rows_layout_key_is_set(WtModify *m, const bool *set)
{
	for (int i = 0; i < m->t->nkeys; i++)
	{
		if (set[m->t->keys[i]])
			return true;
	}
	return false;
}

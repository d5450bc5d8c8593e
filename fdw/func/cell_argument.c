/*
 * cell_argument.c
 *		Cells and values as arguments of functions.
 *
 * An argument names a cell by a column of the foreign table or by
 * 'family:qualifier', which need not be mapped to a column.  A value is encoded
 * as the mapping column stores it.
 */
#include "postgres.h"

#include "fdw/func/cell_argument.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/bitmapset.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/snapshot.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/func/call.h"
#include "fdw/row/cell_read.h"
#include "fdw/row/map.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/encode.h"
#include "fdw/table/encoding.h"
#include "fdw/table/key_text.h"
#include "fdw/table/lookup.h"
#include "fdw/table/type_io.h"
#include "fdw/table/type_shape.h"
#include "fdw/table/types.h"
#include "fdw/table/write_error.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/change.h"
#include "fdw/xact/derive.h"

int
wt_cell_argument_errdetail(WtCall *c, const char *col)
{
	return errdetail("Table \"%s\", key %s, column \"%s\".", c->relname, wt_key_text(c->t, c->key),
					 col);
}

const char *
wt_cell_argument_text(FunctionCallInfo fcinfo, int n, const char *name)
{
	wt_call_need_arg(fcinfo, n, name);
	return text_to_cstring(PG_GETARG_TEXT_PP(n));
}

wide_family_id
wt_cell_argument_family(WtCall *c, const WtCallCell *cell)
{
	const char *name = cell->family_name ? cell->family_name : c->t->families[cell->family].name;
	wide_family_id id = cell->family_name ? wt_engine_table_family_by_name(c->t, &c->e, name)
										  : c->e.families[cell->family];

	if (id == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("family \"%s\" of table \"%s\" does not exist", name, c->relname)));
	return id;
}

/* Returns the map column that shows a cell which no column of its own shows; NULL: none. */
static const WtColumn *
map_column(WtTable *t, int family, wide_bytes qual)
{
	for (int i = 0; i < t->natts; i++)
	{
		const WtColumn *m = &t->columns[i];

		if (m->role == WT_MAP && m->family == family && wt_lookup_map_shows(t, m, qual))
			return m;
	}
	return NULL;
}

void
wt_cell_argument_check_generated(const WtCall *c, const WtColumn *column)
{
	if (column == NULL || !(column->computed || column->identity))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_GENERATED_ALWAYS),
			 errmsg("cannot write to column \"%s\" of table \"%s\"", column->name, c->relname),
			 column->computed
				 ? errdetail("Column \"%s\" is a generated column.", column->name)
				 : errdetail("Column \"%s\" is an identity column defined as GENERATED ALWAYS.",
							 column->name)));
}

void
wt_cell_argument_parse(WtCall *c, const char *name, bool writes, WtCallCell *cell)
{
	const char *colon = strchr(name, ':');
	const WtColumn *key = NULL;
	uint8 *qual;
	uint32 qual_len;

	memset(cell, 0, sizeof(*cell));
	cell->name = name;
	if (colon != NULL && wt_lookup_column_index(c->t, name) < 0 &&
		wt_lookup_family(c->t, pnstrdup(name, colon - name)) < 0)
	{
		cell->family_name = pnstrdup(name, colon - name);
		qual = wt_bytes_text_unescape(colon + 1, true, &qual_len);
	}
	else
		cell->ref.column = wt_lookup_cell(c->t, name, &cell->family, &qual, &qual_len);
	if (cell->ref.column != NULL && cell->ref.column->role != WT_CELL)
		cell->ref.column = NULL;
	cell->ref.qual.data = qual;
	cell->ref.qual.len = qual_len;
	cell->ref.ts = cell->ref.floor_ts = PG_INT64_MIN; /* not read */
	/*
	 * The key has only a digest of an original: with another value in the cell, the
	 * row could not be found by the key that it shows.
	 */
	if (writes && cell->family_name == NULL)
		key = wt_cell_read_column(c->t, WT_KEY, cell->family, cell->ref.qual);
	if (key != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cell \"%s\" of table \"%s\" holds the original of key column \"%s\"",
						name,
						c->relname,
						key->name),
				 errdetail("It is written with the row, and stays as long as the row does."),
				 errhint("delete_row() deletes the whole row.")));
	if (writes && cell->family_name == NULL)
		wt_cell_argument_check_generated(c, cell->ref.column != NULL
												? cell->ref.column
												: map_column(c->t, cell->family, cell->ref.qual));
}

void
wt_cell_argument_find(WtCall *c, const char *name, AclMode mode, WtCallCell *cell)
{
	bool writes = (mode & (ACL_INSERT | ACL_UPDATE)) != 0;

	wt_cell_argument_parse(c, name, writes, cell);
	wt_call_acl(c, mode, cell->ref.column);
	wt_call_engine(c, writes);
	if (c->stored)
		cell->ref.family = wt_cell_argument_family(c, cell);
}

void
wt_cell_argument_read_newest(WtCall *c, WtCellRef *refs, int n)
{
	wt_cell_read_newest(NULL, c->key, refs, n);
	if (n > 0 && IsolationUsesXactSnapshot())
	{
		SnapshotData snapshot = *GetActiveSnapshot();
		WtCellRef *seen = palloc(sizeof(WtCellRef) * n);

		snapshot.curcid = PG_UINT32_MAX;
		memcpy(seen, refs, sizeof(WtCellRef) * n);
		wt_cell_read_newest(&snapshot, c->key, seen, n);
		for (int i = 0; i < n; i++)
		{
			if (seen[i].found != refs[i].found || seen[i].seq != refs[i].seq)
				ereport(ERROR,
						(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						 errmsg("could not serialize access due to concurrent update"),
						 errdetail("Table \"%s\", key %s.",
								   c->relname,
								   wt_key_text(c->t, c->key))));
		}
	}
}

void
wt_cell_argument_put(WtCall *c, const WtCellRef *r, int64 ts, int64 ttl_us, wide_bytes value)
{
	c->wrote = true;
	wt_change_begin(c->t, NULL);
	wt_change_put(c->t, r->family, c->key, r->qual, ts, r->floor_ts, ttl_us, value);
}

void
wt_cell_argument_delete(WtCall *c, wide_delete kind, const WtCellRef *r, int64 ts)
{
	bool of_column = kind == WIDE_DELETE_COLUMN || kind == WIDE_DELETE_VERSION;

	wt_change_begin(c->t, NULL);
	wt_change_delete(c->t, kind, r->family, c->key, r->qual, ts);
	for (int i = 0; i < c->t->natts; i++)
	{
		const WtColumn *col = &c->t->columns[i];

		if (col->role == WT_CELL && col->not_null && c->e.families[col->family] == r->family &&
			(!of_column || wt_bytes_equal(col->qual, col->qual_len, r->qual.data, r->qual.len)))
			c->emptied = bms_add_member(c->emptied, i);
	}
}

static void
put_originals(WtCall *c, bool locked)
{
	for (int i = 0; i < c->t->nkeys; i++)
	{
		const WtColumn *k = &c->t->columns[c->t->keys[i]];
		WtCellRef ref;

		if (k->family < 0)
			continue;
		ref = wt_cell_read_ref(c->e.families[k->family], (wide_bytes) {k->qual, k->qual_len});
		if (locked)
			wt_cell_read_newest(NULL, c->key, &ref, 1);
		if (!ref.found)
			wt_cell_argument_put(c, &ref, WIDE_TS_AUTO, 0,
								 wt_encode_original_bytes(k, c->parts[i]));
	}
}

void
wt_cell_argument_finish(WtCall *c, bool locked)
{
	int i = -1;

	if (c->wrote)
		put_originals(c, locked);
	while ((i = bms_next_member(c->emptied, i)) >= 0)
	{
		const WtColumn *col = &c->t->columns[i];
		WtCellRef ref = {.family = c->e.families[col->family], .qual = {col->qual, col->qual_len}};

		wt_cell_read_newest(NULL, c->key, &ref, 1);
		if (!ref.found && wt_cell_read_row_exists(&c->e, c->key))
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("null value in column \"%s\" of relation \"%s\" violates not-null "
							"constraint",
							col->name,
							c->relname),
					 errdetail("The row with key %s would have no cell for it.",
							   wt_key_text(c->t, c->key)),
					 errhint("delete_row() deletes the whole row.")));
	}
	wt_derive_settle();
}

Datum
wt_cell_argument_coerce(Datum v, Oid type, Oid target, int32 typmod)
{
	return type == target && typmod < 0 ? v : wt_type_io_convert(v, type, target, typmod);
}

void
wt_cell_argument_check_domain(const WtColumn *column, Datum v)
{
	if (OidIsValid(column->domain))
		domain_check(v, false, column->domain, NULL, NULL);
}

void
wt_cell_argument_check_bytes(const WtColumn *column, Datum v)
{
	if (column->nested)
		wt_type_io_check(column, v);
	wt_cell_argument_check_domain(column, v);
}

WtColumn
wt_cell_argument_plain_column(Oid type)
{
	return (WtColumn) {.role = WT_CELL,
					   .name = "value",
					   .typid = type,
					   .nested = wt_type_shape_is_nested(type),
					   .typmod = -1,
					   .family = -1,
					   .collation = get_typcollation(type),
					   .enc = wt_encoding_default(type, false)};
}

void
wt_cell_argument_value(const WtColumn *column, Datum v, Oid type, StringInfo out)
{
	type = getBaseType(type);
	if (column != NULL && type == BYTEAOID && column->typid != BYTEAOID)
	{
		struct varlena *p = PG_DETOAST_DATUM_PACKED(v);
		Datum value;
		const char *why = wt_cell_value_decode_soft(column, (const uint8 *) VARDATA_ANY(p),
													VARSIZE_ANY_EXHDR(p), &value);

		if (why)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("bytea is not a value of column \"%s\"", column->name),
					 errdetail("%s", why),
					 errhint("Bytes are stored as they are. They must be type %s with encoding "
							 "\"%s\".",
							 format_type_be(column->typid),
							 wt_encoding_name(column->enc))));
		(void) wt_cell_argument_coerce(value, column->typid, column->typid, column->typmod);
		wt_cell_argument_check_bytes(column, value);
		appendBinaryStringInfo(out, VARDATA_ANY(p), VARSIZE_ANY_EXHDR(p));
	}
	else if (column != NULL)
	{
		Datum value = wt_cell_argument_coerce(v, type, column->typid, column->typmod);

		wt_cell_argument_check_domain(column, value);
		wt_cell_value_encode(column, value, out);
	}
	else
	{
		WtColumn plain = wt_cell_argument_plain_column(type == UNKNOWNOID ? TEXTOID : type);

		wt_cell_value_encode(&plain, wt_cell_argument_coerce(v, type, plain.typid, -1), out);
	}
}

void
wt_cell_argument_json_value(const WtColumn *column, const JsonbValue *v, StringInfo out)
{
	StringInfoData text;

	if (column != NULL && (column->typid == JSONBOID || column->typid == JSONOID))
	{
		Jsonb *jb = JsonbValueToJsonb(unconstify(JsonbValue *, v));

		wt_cell_argument_value(column, JsonbPGetDatum(jb), JSONBOID, out);
		return;
	}
	initStringInfo(&text);
	wt_map_json_text(v, &text);
	if (column == NULL)
	{
		/* text in the form that get() shows: \x... for bytes that are not text */
		wt_bytes_text_unshow(text.data, text.len, out);
		return;
	}
	wt_cell_argument_value(column, CStringGetDatum(text.data), UNKNOWNOID, out);
}

JsonbContainer *
wt_cell_argument_object(FunctionCallInfo fcinfo, int n, const char *name)
{
	Jsonb *jb;

	wt_call_need_arg(fcinfo, n, name);
	jb = PG_GETARG_JSONB_P(n);
	if (!JB_ROOT_IS_OBJECT(jb))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a JSON object", name)));
	return &jb->root;
}

char *
wt_cell_argument_json_key(const JsonbValue *v)
{
	return pnstrdup(v->val.string.val, v->val.string.len);
}

int64
wt_cell_argument_ttl(const Interval *iv)
{
	int64 us;

	if (!wt_clock_interval_us(iv, &us))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("ttl must be greater than zero and less than 292,000 years")));
	return us;
}

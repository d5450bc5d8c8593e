/*
 * read_functions.c
 *		SQL functions that read one row: get, cells, raw_cells.
 *
 * get and cells read with the statement's snapshot, as a scan does: they see the
 * writes of earlier commands of the transaction, and respect widetable.as_of.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/ilist.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/snapmgr.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/func/call.h"
#include "fdw/func/result.h"
#include "fdw/func/route.h"
#include "fdw/row/cell_read.h"
#include "fdw/row/map.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/engine.h"
#include "fdw/table/lookup.h"
#include "fdw/table/marker.h"
#include "fdw/table/types.h"
#include "fdw/xact/engine_scan.h"

/*
 * Opens a scan of the row in n families; a cell's family is an index into fams.
 * The time range is since <= timestamp < until; PG_INT64_MIN and PG_INT64_MAX: no
 * limit.
 */
static WtEngineScan *
open_row(WtCall *c, wide_family *fams, int n, int versions, int64 since, int64 until)
{
	wide_scan_family sf[WT_MAX_FAMILIES];
	wide_range range;
	wide_scan_spec spec = {.families = sf, .nfamilies = n, .ranges = &range, .nranges = 1};
	StringInfoData buf;
	int64 as_of = wt_clock_as_of();

	for (int i = 0; i < n; i++)
		sf[i] = (wide_scan_family) {
			.id = fams[i].id, .want = WIDE_WANT_ALL, .max_versions = versions};
	if (as_of != PG_INT64_MAX)
		until = Min(until, as_of + 1);
	initStringInfo(&buf);
	range = wt_cell_read_row_range(c->key, &buf);
	if (since != PG_INT64_MIN || until != PG_INT64_MAX)
	{
		spec.ts_min = since;
		spec.ts_max = until;
	}
	return wt_engine_scan_open(GetActiveSnapshot(), &spec);
}

/* -------------------------------------------------------------------- get */

/* Returns true if the cell is a marker.  family: its family's name. */
static bool
is_marker(const WtCall *c, const char *family, const wide_cell *cell)
{
	return cell->qualifier.len == 0 && cell->value.len == 0 &&
		   wt_marker_is(c->t, wt_lookup_family(c->t, family), cell->qualifier, cell->value);
}

PG_FUNCTION_INFO_V1(wt_sql_get);

Datum
wt_sql_get(PG_FUNCTION_ARGS)
{
	WtCall c;
	wide_family *fams;
	int n, open = -1; /* the family whose object is under construction */
	WtEngineScan *scan;
	wide_row row;
	bool exists = false;
	JsonbParseState *ps = NULL;
	Datum elsewhere;

	if (!wt_route_call(&c, fcinfo, "get()", 0, ACL_SELECT, WT_ROUTE_ROW, &elsewhere))
		return elsewhere;
	wt_call_acl(&c, ACL_SELECT, NULL);
	wt_call_key(&c, fcinfo);
	if (!wt_engine_table(c.t, false, &c.e))
		PG_RETURN_NULL();
	fams = wt_engine_table_families(&c.e, &n);
	scan = open_row(&c, fams, n, 1, PG_INT64_MIN, PG_INT64_MAX);
	while (wt_engine_scan_next(scan, &row))
	{
		if (!exists)
			pushJsonbValue(&ps, WJB_BEGIN_OBJECT, NULL);
		exists = true;
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *cell = &row.cells[i];
			const WtColumn *col;

			CHECK_FOR_INTERRUPTS();
			if (cell->version > 0 && open == cell->family)
				continue; /* an older version of a column already shown */
			if (is_marker(&c, fams[cell->family].name, cell))
				continue;
			if (open != cell->family)
			{
				if (open >= 0)
					wt_map_end(&ps);
				open = cell->family;
				wt_result_push_string(&ps, WJB_KEY, fams[open].name);
				pushJsonbValue(&ps, WJB_BEGIN_OBJECT, NULL);
			}
			wt_result_push_string(&ps, WJB_KEY, wt_bytes_text_qualifier_argument(cell->qualifier));
			col = wt_cell_read_column(c.t, WT_CELL, wt_lookup_family(c.t, fams[open].name),
									  cell->qualifier);
			if (col != NULL)
				wt_result_push_value(&ps, col->typid,
									 wt_cell_value_decode(col, c.t, c.key, cell->value.data,
														  cell->value.len));
			else
				wt_result_push_string(&ps, WJB_VALUE, wt_bytes_text_show(cell->value));
		}
	}
	wt_engine_scan_close(scan);
	if (!exists)
		PG_RETURN_NULL();
	if (open >= 0)
		wt_map_end(&ps);
	PG_RETURN_JSONB_P(JsonbValueToJsonb(wt_map_end(&ps)));
}

/* ------------------------------------------------------------------ cells */

/* Adds the visible versions of the row to the result. */
static void
cells_into(WtCall *c, ReturnSetInfo *rsinfo, int versions, int64 since, int64 until)
{
	int n;
	wide_family *fams = wt_engine_table_families(&c->e, &n);
	WtEngineScan *scan = open_row(c, fams, n, versions, since, until);
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable cells",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	wide_row row;

	while (wt_engine_scan_next(scan, &row))
	{
		MemoryContextReset(cxt);
		for (int i = 0; i < row.ncells; i++)
		{
			const wide_cell *cell = &row.cells[i];
			WtResultRow out = {0};

			CHECK_FOR_INTERRUPTS();
			wt_result_add_text(&out, fams[cell->family].name);
			wt_result_add_text(&out, wt_bytes_text_qualifier_argument(cell->qualifier));
			wt_result_add(&out, Int64GetDatum(cell->ts));
			wt_result_add(&out, wt_result_bytea(cell->value.data, cell->value.len));
			wt_result_put(&out, rsinfo);
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	wt_engine_scan_close(scan);
}

PG_FUNCTION_INFO_V1(wt_sql_cells);

Datum
wt_sql_cells(PG_FUNCTION_ARGS)
{
	WtCall c;
	int versions;
	int64 since = PG_ARGISNULL(3) ? PG_INT64_MIN : PG_GETARG_INT64(3);
	int64 until = PG_ARGISNULL(4) ? PG_INT64_MAX : PG_GETARG_INT64(4);
	Datum elsewhere;

	if (!wt_route_call(&c, fcinfo, "cells()", 0, ACL_SELECT, WT_ROUTE_ROW, &elsewhere))
		return elsewhere;
	wt_call_acl(&c, ACL_SELECT, NULL);
	wt_call_need_arg(fcinfo, 2, "versions");
	versions = PG_GETARG_INT32(2);
	if (versions < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("versions must be at least 1")));
	if (since > until)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("since (" INT64_FORMAT ") must not be after until (" INT64_FORMAT ")",
						since,
						until)));
	wt_call_key(&c, fcinfo);
	InitMaterializedSRF(fcinfo, 0);
	if (since < until && wt_engine_table(c.t, false, &c.e))
		cells_into(&c, (ReturnSetInfo *) fcinfo->resultinfo, versions, since, until);
	return (Datum) 0;
}

/* -------------------------------------------------------------- raw_cells */

/* Called by the engine: must not raise errors. */
static wide_status
gather_raw(void *arg, const wide_raw_cell *cell)
{
	return wt_result_gather(arg, cell, sizeof(*cell), cell->qualifier, cell->value);
}

/* By the type of a wide_raw_cell */
static const char *const raw_kinds[] = {
	[0] = "put",
	[1 + WIDE_DELETE_VERSION] = "delete version",
	[1 + WIDE_DELETE_COLUMN] = "delete column",
	[1 + WIDE_DELETE_FAMILY] = "delete family",
	[1 + WIDE_DELETE_FAMILY_VERSION] = "delete family version",
};

/* Adds the raw entries of the row in one family to the result. */
static void
raw_into(WtCall *c, const wide_family *fam, ReturnSetInfo *rsinfo)
{
	dlist_head list;
	dlist_iter iter;
	wide_status st;

	do
	{
		CHECK_FOR_INTERRUPTS();
		dlist_init(&list);
		st = wide_raw_row(wt_store_db(), fam->id, c->key, gather_raw, &list);
	} while (st == WIDE_INTERRUPTED);
	if (st != WIDE_END && st != WIDE_NOTFOUND)
		wt_error_check(st, "could not read");
	dlist_foreach(iter, &list)
	{
		const WtResultItem *item = dlist_container(WtResultItem, node, iter.cur);
		const wide_raw_cell *cell = item->info;
		wide_bytes value = item->bytes[1];
		bool whole = cell->type == 1 + WIDE_DELETE_FAMILY ||
					 cell->type == 1 + WIDE_DELETE_FAMILY_VERSION;
		bool deletes = cell->type != 0;
		WtResultRow out = {0};

		CHECK_FOR_INTERRUPTS();
		wt_result_add_text(&out, fam->name);
		wt_result_add_text(&out, whole ? NULL : wt_bytes_text_qualifier_argument(item->bytes[0]));
		/* a delete without a timestamp hides everything written before it */
		wt_result_add_unless(&out, deletes && cell->ts == WIDE_TS_MAX, Int64GetDatum(cell->ts));
		wt_result_add(&out, LSNGetDatum(cell->seq));
		wt_result_add_text(&out, (unsigned) cell->type < lengthof(raw_kinds) ? raw_kinds[cell->type]
																			 : "?");
		wt_result_add_unless(&out, deletes, wt_result_bytea(value.data, value.len));
		wt_result_put(&out, rsinfo);
	}
}

PG_FUNCTION_INFO_V1(wt_sql_raw_cells);

Datum
wt_sql_raw_cells(PG_FUNCTION_ARGS)
{
	WtCall c;
	wide_family *fams;
	int n;
	Datum elsewhere;

	if (!wt_route_call(&c, fcinfo, "raw_cells()", 0, WT_CALL_OWNER, WT_ROUTE_ROW, &elsewhere))
		return elsewhere;
	wt_engine_require(c.t, WT_CAN_MAINTAIN, "cannot read delete markers and hidden cells of");
	wt_call_key(&c, fcinfo);
	InitMaterializedSRF(fcinfo, 0);
	if (!wt_engine_table(c.t, false, &c.e))
		return (Datum) 0;
	fams = wt_engine_table_families(&c.e, &n);
	for (int i = 0; i < n; i++)
		raw_into(&c, &fams[i], (ReturnSetInfo *) fcinfo->resultinfo);
	return (Datum) 0;
}

/*
 * write_functions.c
 *		SQL functions that change one row: increment, append, put, delete_*.
 *
 * They offer what INSERT, UPDATE and DELETE cannot express, and need no plan.
 * Their changes go to the transaction's batch like those of the statements:
 * they are atomic, later commands of the transaction see them, and they are
 * rolled back with it.  Row triggers of the foreign table do not fire.
 *
 * put is blind.  The others lock the row first.  A read-modify-write then reads
 * the newest state, the transaction's own writes included, so that no update is
 * lost; its cells get timestamps above the versions read.  Under REPEATABLE READ
 * a version that was committed after the snapshot is a serialization failure, as
 * with UPDATE.
 *
 * Nothing is undone here after an error: it rolls back the statement or the
 * savepoint around the call, and so the whole call.
 */
#include "postgres.h"

#include "fdw/func/write_functions.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/func/call.h"
#include "fdw/func/cell_argument.h"
#include "fdw/func/put_json.h"
#include "fdw/func/result.h"
#include "fdw/func/route.h"
#include "fdw/row/cell_read.h"
#include "fdw/row/map.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/distinct.h"
#include "fdw/table/encoding.h"
#include "fdw/table/engine.h"
#include "fdw/table/key_text.h"
#include "fdw/table/types.h"
#include "fdw/xact/change.h"
#include "fdw/xact/derive.h"

/* Returns the timestamp in argument n. */
static int64
ts_argument(FunctionCallInfo fcinfo, int n, int64 if_null)
{
	return PG_ARGISNULL(n) ? if_null : wt_clock_from_datum(INT8OID, PG_GETARG_DATUM(n), NULL);
}

/*
 * Starts a call f(rel, key, col, ...) that changes a cell: finds the cell.  arg3: the name of
 * argument 3 if it must not be NULL; mode: privileges.
 * Returns: false if it was carried out elsewhere, as wt_route_call().
 */
static bool
find_cell(WtCall *c, FunctionCallInfo fcinfo, const char *function, const char *arg3, AclMode mode,
		  WtCallCell *cell, Datum *elsewhere)
{
	const char *col;

	if (!wt_route_call(c, fcinfo, function, CMD_UPDATE, mode, WT_ROUTE_CELL, elsewhere))
		return false;
	col = wt_cell_argument_text(fcinfo, 2, "col");
	if (arg3 != NULL)
		wt_call_need_arg(fcinfo, 3, arg3);
	wt_call_key(c, fcinfo);
	wt_cell_argument_find(c, col, mode, cell);
	return true;
}

/* Returns the counter, or the bytes, that the operation has made of a cell, in an engine without
 * row locks. */
static wide_bytes
result_of(WtCall *c, const WtCallCell *cell)
{
	wide_bytes value;

	if (!c->t->engine->row_result(cell->ref.family, cell->ref.qual, &value))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the changed cell has been deleted since, its value is not known"),
				 errdetail("Key %s of table \"%s\".", wt_key_text(c->t, c->key),
						   get_rel_name(c->t->relid))));
	return value;
}

static int64
counter_of(WtCall *c, const WtCallCell *cell)
{
	wide_bytes value = result_of(c, cell);
	uint64 v = 0;

	memcpy(&v, value.data, Min(value.len, sizeof(v)));
	return (int64) pg_ntoh64(v);
}

/* The value of a counter that was read, 0 without a cell; 42804 if it has not 8 bytes. */
static int64
counter_value(WtCall *c, const WtCallCell *cell)
{
	uint64 v;

	if (!cell->ref.found)
		return 0;
	if (cell->ref.value.len != 8)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cell is not a counter: it has %zu bytes, not 8", cell->ref.value.len),
				 wt_cell_argument_errdetail(c, cell->name),
				 errhint("A counter is put as a bigint.")));
	memcpy(&v, cell->ref.value.data, sizeof(v));
	return (int64) pg_ntoh64(v);
}

void
wt_write_functions_check_counter(WtCall *c, const WtCallCell *cell)
{
	const WtColumn *col = cell->ref.column;

	if (col != NULL &&
		!(col->typid == INT8OID && (col->enc == WT_ENC_BINARY || col->enc == WT_ENC_COUNTER)))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table \"%s\" is not a counter", col->name, c->relname),
				 errdetail("It is of type %s with encoding \"%s\".", format_type_be(col->typid),
						   wt_encoding_name(col->enc)),
				 errhint("A counter is a bigint column with encoding \"counter\" or \"binary\".")));
}

/* Returns: true if a value of the column must pass checks that an engine cannot make. */
static bool
is_checked(const WtColumn *col)
{
	return col != NULL && (col->nested || OidIsValid(col->domain) || col->typmod >= 0);
}

void
wt_write_functions_check_alone(const WtCall *c, const WtColumn *col)
{
	if (c->t->engine != NULL && is_checked(col))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change column \"%s\" of table \"%s\" with others", col->name,
						c->relname),
				 errdetail("Its value must be checked before engine \"%s\" makes the change.",
						   c->t->engine->name)));
}

bool
wt_write_functions_end_change(WtCall *c, const WtCallCell *cell)
{
	WtEngineCheck check = {.family = cell->ref.family, .qual = cell->ref.qual};

	if (c->t->engine == NULL)
		return true;
	if (cell->ref.found)
		check.value = cell->ref.value;
	return c->t->engine->row_execute(c->t, &check);
}

/* Deltas of cells, by cell and then by their place in the argument. */
typedef struct DeltaOrder
{
	const WtCellRef *ref;
	int i; /* its place */
} DeltaOrder;

static inline int
cell_cmp(const WtCellRef *a, const WtCellRef *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return wt_bytes_cmp(a->qual, b->qual);
}

static inline int
delta_cmp(const DeltaOrder *a, const DeltaOrder *b)
{
	int c = cell_cmp(a->ref, b->ref);

	return c != 0 ? c : a->i < b->i ? -1 : a->i > b->i;
}

#define ST_SORT			 sort_deltas
#define ST_ELEMENT_TYPE	 DeltaOrder
#define ST_COMPARE(a, b) delta_cmp(a, b)
#define ST_SCOPE		 static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Returns for each ref the place of the first one of the same cell; palloc'd. */
static int *
first_of_cell(const WtCellRef *refs, int n)
{
	DeltaOrder *order = palloc(sizeof(DeltaOrder) * Max(1, n));
	int *first = palloc(sizeof(int) * Max(1, n));

	for (int i = 0; i < n; i++)
		order[i] = (DeltaOrder) {&refs[i], i};
	sort_deltas(order, n);
	for (int k = 0; k < n; k++)
	{
		bool same = k > 0 && cell_cmp(order[k - 1].ref, order[k].ref) == 0;

		first[order[k].i] = same ? first[order[k - 1].i] : order[k].i;
	}
	pfree(order);
	return first;
}

/* Raises 0A000 if what the function reads would miss what others add meanwhile: the cell's family
 * has a merge operator. */
static void
refuse_merged(const WtCall *c, const WtCallCell *cell, const char *function)
{
	if (wt_change_merge_of(cell->ref.family) == WIDE_MERGE_NONE)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s cannot change cell \"%s\" of table \"%s\"", function, cell->name,
					c->relname),
			 errdetail("Its family has a merge operator: values are added without a lock."),
			 errhint("widetable.add() adds to the cell and returns nothing.")));
}

void
wt_write_functions_increment(WtCall *c, WtCallCell *cells, const int64 *deltas, int64 *results,
							 int n)
{
	WtCellRef *refs = palloc(sizeof(WtCellRef) * Max(1, n));
	int *first;

	for (int i = 0; i < n; i++)
	{
		wt_write_functions_check_counter(c, &cells[i]);
		refuse_merged(c, &cells[i], "increment()");
		refs[i] = cells[i].ref;
		wt_write_functions_check_alone(c, refs[i].column);
		if (c->t->engine != NULL)
			c->t->engine->row_increment(refs[i].family, refs[i].qual, deltas[i]);
	}
	c->wrote = c->wrote || n > 0;
	if (c->t->engine != NULL)
		return;
	wt_cell_argument_read_newest(c, refs, n);
	first = first_of_cell(refs, n);
	for (int i = 0; i < n; i++)
	{
		int k = first[i];

		CHECK_FOR_INTERRUPTS();
		cells[i].ref = refs[i];
		if (k == i)
			results[i] = counter_value(c, &cells[i]);
		if (pg_add_s64_overflow(results[k], deltas[i], &results[k]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("counter out of range"),
					 wt_cell_argument_errdetail(c, cells[i].name)));
	}
	/* before the first put: see put_json.h */
	for (int i = 0; i < n; i++)
		if (first[i] == i && cells[i].ref.column != NULL)
			wt_cell_argument_check_domain(cells[i].ref.column, Int64GetDatum(results[i]));
	for (int i = 0; i < n; i++)
	{
		uint64 bytes = pg_hton64((uint64) results[i]);

		CHECK_FOR_INTERRUPTS();
		if (first[i] != i)
		{
			results[i] = results[first[i]];
			continue;
		}
		wt_cell_argument_put(c, &refs[i], WIDE_TS_AUTO, 0,
							 (wide_bytes) {(const uint8 *) &bytes, sizeof(bytes)});
	}
}

int
wt_write_functions_parse_deltas(WtCall *c, JsonbContainer *object, AclMode mode, WtCallCell **cells,
								int64 **deltas)
{
	int n = 0, max = JsonContainerSize(object);
	WtMapWalk w;

	*cells = palloc(sizeof(WtCallCell) * Max(1, max));
	*deltas = palloc(sizeof(int64) * Max(1, max));
	wt_map_walk(&w, object);
	while (wt_map_walk_next(&w))
	{
		const char *name = wt_cell_argument_json_key(&w.key);
		Datum delta, d;

		CHECK_FOR_INTERRUPTS();
		wt_cell_argument_find(c, name, mode, &(*cells)[n]);
		if (w.value.type == jbvNull)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("delta of \"%s\" must not be null", name)));
		if (w.value.type != jbvNumeric)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("delta of \"%s\" must be a number", name)));
		delta = NumericGetDatum(w.value.val.numeric);
		d = DirectFunctionCall1(numeric_int8, delta);
		if (!DatumGetBool(DirectFunctionCall2(numeric_eq, DirectFunctionCall1(int8_numeric, d),
											  delta)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("delta of \"%s\" must be an integer", name)));
		(*deltas)[n++] = DatumGetInt64(d);
	}
	return n;
}

/* Increments a counter whose value is checked, in another engine: if it still is as it was read. */
static int64
increment_checked(WtCall *c, WtCallCell *cell, int64 delta)
{
	int64 result;
	uint64 bytes;

	wt_write_functions_check_counter(c, cell);
	do
	{
		CHECK_FOR_INTERRUPTS();
		wt_call_begin_change(c);
		wt_cell_argument_read_newest(c, &cell->ref, 1);
		if (pg_add_s64_overflow(counter_value(c, cell), delta, &result))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("counter out of range"),
					 wt_cell_argument_errdetail(c, cell->name)));
		wt_cell_argument_check_domain(cell->ref.column, Int64GetDatum(result));
		bytes = pg_hton64((uint64) result);
		wt_cell_argument_put(c, &cell->ref, WIDE_TS_AUTO, 0,
							 (wide_bytes) {(const uint8 *) &bytes, sizeof(bytes)});
		wt_cell_argument_finish(c, true);
	} while (!wt_write_functions_end_change(c, cell));
	return result;
}

PG_FUNCTION_INFO_V1(wt_sql_increment);

Datum
wt_sql_increment(PG_FUNCTION_ARGS)
{
	WtCall c;
	WtCallCell cell;
	const char *col = PG_ARGISNULL(2) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(2));
	int64 delta, result;
	Datum elsewhere;

	if (col[0] == '{')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a column", col),
				 errhint("To increment several counters write the argument as '{...}'::jsonb.")));
	if (!find_cell(&c, fcinfo, "increment()", "delta", ACL_SELECT | ACL_INSERT | ACL_UPDATE, &cell,
				   &elsewhere))
		return elsewhere;
	delta = PG_GETARG_INT64(3);
	if (c.t->engine != NULL && is_checked(cell.ref.column))
		PG_RETURN_INT64(increment_checked(&c, &cell, delta));
	wt_call_begin_change(&c);
	wt_write_functions_increment(&c, &cell, &delta, &result, 1);
	wt_cell_argument_finish(&c, true);
	wt_call_end_change(&c);
	if (c.t->engine != NULL)
		result = counter_of(&c, &cell);
	PG_RETURN_INT64(result);
}

PG_FUNCTION_INFO_V1(wt_sql_increment_many);

Datum
wt_sql_increment_many(PG_FUNCTION_ARGS)
{
	WtCall c;
	WtCallCell *cells;
	int64 *deltas, *results;
	int n;
	JsonbContainer *object;
	JsonbParseState *ps = NULL;
	Datum elsewhere;

	if (!wt_route_call(&c, fcinfo, "increment()", CMD_UPDATE, ACL_SELECT | ACL_INSERT | ACL_UPDATE,
					   WT_ROUTE_OBJECT, &elsewhere))
		return elsewhere;
	object = wt_cell_argument_object(fcinfo, 2, "deltas");
	wt_call_key(&c, fcinfo);
	n = wt_write_functions_parse_deltas(&c, object, ACL_SELECT | ACL_INSERT | ACL_UPDATE, &cells,
										&deltas);
	results = palloc(sizeof(int64) * Max(1, n));
	if (n > 0)
	{
		wt_call_begin_change(&c);
		wt_write_functions_increment(&c, cells, deltas, results, n);
		wt_cell_argument_finish(&c, true);
		wt_call_end_change(&c);
	}
	for (int i = 0; i < n && c.t->engine != NULL; i++)
		results[i] = counter_of(&c, &cells[i]);
	pushJsonbValue(&ps, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		wt_result_push_string(&ps, WJB_KEY, cells[i].name);
		wt_result_push_value(&ps, INT8OID, Int64GetDatum(results[i]));
	}
	PG_RETURN_JSONB_P(JsonbValueToJsonb(wt_map_end(&ps)));
}

void
wt_write_functions_append(WtCall *c, WtCallCell *cell, wide_bytes addition, StringInfo out)
{
	WtColumn *col = cell->ref.column;

	refuse_merged(c, cell, "append()");
	if (col != NULL && col->enc != WT_ENC_TEXT && col->enc != WT_ENC_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot append to column \"%s\" of table \"%s\"", col->name, c->relname),
				 errdetail("It is of type %s with encoding \"%s\".", format_type_be(col->typid),
						   wt_encoding_name(col->enc)),
				 errhint("Columns with encoding \"text\" or \"bytes\" can be appended to.")));
	if (c->t->engine != NULL && !is_checked(col))
	{
		/* what is valid text stays so when valid text follows */
		if (col != NULL)
			(void) wt_cell_value_decode(col, NULL, c->key, addition.data, (int) addition.len);
		c->t->engine->row_append(cell->ref.family, cell->ref.qual, addition);
		c->wrote = true;
		return;
	}
	wt_cell_argument_read_newest(c, &cell->ref, 1);
	if (cell->ref.found && cell->ref.value.len + addition.len > WIDE_MAX_VALUE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value would be longer than %u bytes", WIDE_MAX_VALUE),
				 wt_cell_argument_errdetail(c, cell->name)));
	if (cell->ref.found)
		appendBinaryStringInfo(out, (const char *) cell->ref.value.data, (int) cell->ref.value.len);
	appendBinaryStringInfo(out, (const char *) addition.data, (int) addition.len);
	/* the result must be a value of the column */
	if (col != NULL)
	{
		Datum value = wt_cell_value_decode(col, NULL, c->key, (uint8 *) out->data, out->len);

		wt_cell_argument_check_bytes(col, value);
		if (col->typmod >= 0)
		{
			value = wt_cell_argument_coerce(value, col->typid, col->typid, col->typmod);
			resetStringInfo(out);
			wt_cell_value_encode(col, value, out);
		}
	}
	wt_cell_argument_put(c, &cell->ref, WIDE_TS_AUTO, 0, wt_bytes_of(out));
}

/* Both append(..., text) and append(..., bytea). */
PG_FUNCTION_INFO_V1(wt_sql_append);

Datum
wt_sql_append(PG_FUNCTION_ARGS)
{
	WtCall c;
	WtCallCell cell;
	struct varlena *value;
	StringInfoData out;
	Datum elsewhere;
	bool checked;

	if (!find_cell(&c, fcinfo, "append()", "value", ACL_SELECT | ACL_INSERT | ACL_UPDATE, &cell,
				   &elsewhere))
		return elsewhere;
	value = PG_GETARG_VARLENA_PP(3);
	initStringInfo(&out);
	checked = c.t->engine != NULL && is_checked(cell.ref.column);
	do
	{
		CHECK_FOR_INTERRUPTS();
		resetStringInfo(&out);
		wt_call_begin_change(&c);
		wt_write_functions_append(
			&c, &cell, (wide_bytes) {(uint8 *) VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)}, &out);
		wt_cell_argument_finish(&c, true);
	} while (checked && !wt_write_functions_end_change(&c, &cell));
	if (!checked)
		wt_call_end_change(&c);
	if (c.t->engine != NULL && !checked)
	{
		wide_bytes made = result_of(&c, &cell);

		appendBinaryStringInfo(&out, (const char *) made.data, (int) made.len);
	}
	if (get_func_rettype(fcinfo->flinfo->fn_oid) == TEXTOID)
		pg_verify_mbstr(GetDatabaseEncoding(), out.data, out.len, false);
	/* text and bytea have the same form */
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* -------------------------------------------------------------------- put */

/* A column that shows the cell's timestamp is written, too: checks its privileges. */
static void
check_timestamp_column(WtCall *c, const WtCallCell *cell)
{
	const WtColumn *column = wt_cell_read_column(c->t, WT_TIMESTAMP_OF, cell->family,
												 cell->ref.qual);

	if (column == NULL)
		return;
	wt_call_acl(c, ACL_INSERT | ACL_UPDATE, column);
	wt_cell_argument_check_generated(c, column);
}

PG_FUNCTION_INFO_V1(wt_sql_put);

Datum
wt_sql_put(PG_FUNCTION_ARGS)
{
	WtCall c;
	WtCallCell cell;
	const char *col;
	StringInfoData value;
	int64 ts, ttl = 0;
	Datum elsewhere;

	if (!wt_route_call(&c, fcinfo, "put()", CMD_INSERT, ACL_INSERT | ACL_UPDATE, WT_ROUTE_PUT,
					   &elsewhere))
		return elsewhere;
	col = wt_cell_argument_text(fcinfo, 2, "col");
	wt_call_need_arg(fcinfo, 3, "value");
	ts = ts_argument(fcinfo, 4, WIDE_TS_AUTO);
	if (!PG_ARGISNULL(5))
		ttl = wt_cell_argument_ttl(PG_GETARG_INTERVAL_P(5));
	wt_call_key(&c, fcinfo);
	wt_cell_argument_find(&c, col, ACL_INSERT | ACL_UPDATE, &cell);
	if (ts != WIDE_TS_AUTO && cell.family_name == NULL)
		check_timestamp_column(&c, &cell);
	initStringInfo(&value);
	wt_cell_argument_value(cell.ref.column, PG_GETARG_DATUM(3),
						   get_fn_expr_argtype(fcinfo->flinfo, 3), &value);
	wt_cell_argument_put(&c, &cell.ref, ts, ttl, wt_bytes_of(&value));
	wt_cell_argument_finish(&c, false);
	PG_RETURN_VOID();
}

/* Raises 0A000 unless the cell's family has a merge operator; returns it. */
static uint8
need_merged(const WtCall *c, const WtCallCell *cell)
{
	uint8 merge = wt_change_merge_of(cell->ref.family);

	if (merge == WIDE_MERGE_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot add to cell \"%s\" of table \"%s\"", cell->name, c->relname),
				 errdetail("Its family has no merge operator."),
				 errhint("increment() adds to a counter and returns the new value. Families get a "
						 "merge operator when they are made: families "
						 "'{\"c\": {\"merge\": \"sum\"}}'.")));
	return merge;
}

/* Appends the operand that adds the value. */
static void
added_value(const WtCallCell *cell, uint8 merge, Datum v, Oid type, StringInfo out)
{
	Oid base = getBaseType(type), text = base == BYTEAOID ? BYTEAOID : TEXTOID;
	/* a cell that no column shows has values of the operator's type */
	WtColumn plain = wt_cell_argument_plain_column(merge == WIDE_MERGE_APPEND		? text
												   : merge >= WIDE_MERGE_SUM_DOUBLE ? FLOAT8OID
																					: INT8OID);
	StringInfoData bytes;

	if (merge != WIDE_MERGE_HLL)
	{
		wt_cell_argument_value(cell->ref.column != NULL ? cell->ref.column : &plain, v, base, out);
		return;
	}
	/* any value is counted by its bytes, integers of all sizes by those of a bigint */
	plain = wt_cell_argument_plain_column(INT8OID);
	initStringInfo(&bytes);
	wt_cell_argument_value(base == INT2OID || base == INT4OID ? &plain : NULL, v, base, &bytes);
	wt_distinct_encode(bytes.data, bytes.len, out);
}

PG_FUNCTION_INFO_V1(wt_sql_add);

Datum
wt_sql_add(PG_FUNCTION_ARGS)
{
	WtCall c;
	WtCallCell cell;
	const char *col;
	StringInfoData value;
	Datum elsewhere;
	uint8 merge;

	if (!wt_route_call(&c, fcinfo, "add()", CMD_INSERT, ACL_INSERT | ACL_UPDATE, WT_ROUTE_CELL,
					   &elsewhere))
		return elsewhere;
	col = wt_cell_argument_text(fcinfo, 2, "col");
	wt_call_need_arg(fcinfo, 3, "value");
	wt_call_key(&c, fcinfo);
	wt_cell_argument_find(&c, col, ACL_INSERT | ACL_UPDATE, &cell);
	merge = need_merged(&c, &cell);
	initStringInfo(&value);
	added_value(&cell, merge, PG_GETARG_DATUM(3), get_fn_expr_argtype(fcinfo->flinfo, 3), &value);
	wt_cell_argument_put(&c, &cell.ref, WIDE_TS_AUTO, 0, wt_bytes_of(&value));
	wt_cell_argument_finish(&c, false);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(wt_sql_put_many);

Datum
wt_sql_put_many(PG_FUNCTION_ARGS)
{
	WtCall c;
	JsonbContainer *object;
	Datum elsewhere;

	if (!wt_route_call(&c, fcinfo, "put()", CMD_INSERT, ACL_INSERT | ACL_UPDATE, WT_ROUTE_OBJECT,
					   &elsewhere))
		return elsewhere;
	object = wt_cell_argument_object(fcinfo, 2, "cells");
	wt_call_key(&c, fcinfo);
	wt_put_json(&c, object, false);
	wt_cell_argument_finish(&c, false);
	PG_RETURN_VOID();
}

/* ----------------------------------------------------------------- delete */

PG_FUNCTION_INFO_V1(wt_sql_delete_row);

Datum
wt_sql_delete_row(PG_FUNCTION_ARGS)
{
	WtCall c;
	Datum elsewhere;

	if (!wt_route_call(&c, fcinfo, "delete_row()", CMD_DELETE, ACL_DELETE, WT_ROUTE_ROW,
					   &elsewhere))
		return elsewhere;
	wt_call_key(&c, fcinfo);
	wt_call_acl(&c, ACL_DELETE, NULL);
	wt_call_engine(&c, false);
	if (c.stored)
	{
		wt_change_lock_row(c.e.table, c.key, false);
		for (int i = 0; i < c.e.nall; i++)
			wt_cell_argument_delete(&c, WIDE_DELETE_FAMILY, &(WtCellRef) {.family = c.e.all[i]},
									WIDE_TS_MAX);
		wt_derive_settle();
	}
	PG_RETURN_VOID();
}

/* Returns true if the table stores originals of key columns, whose keys have a digest. */
static bool
has_originals(const WtTable *t)
{
	for (int i = 0; i < t->nkeys; i++)
	{
		if (t->columns[t->keys[i]].family >= 0)
			return true;
	}
	return false;
}

/* delete_family and delete_family_version: argument 2 is the family. */
static Datum
delete_in_family(FunctionCallInfo fcinfo, const char *function, wide_delete kind, int64 ts)
{
	WtCall c;
	WtCallCell cell = {0};
	Datum elsewhere;

	if (!wt_route_call(&c, fcinfo, function, CMD_UPDATE, ACL_UPDATE, WT_ROUTE_ROW, &elsewhere))
		return elsewhere;
	cell.family_name = wt_cell_argument_text(fcinfo, 2, "family");
	wt_call_key(&c, fcinfo);
	wt_call_acl(&c, ACL_UPDATE, NULL);
	wt_call_engine(&c, true);
	cell.ref.family = wt_cell_argument_family(&c, &cell);
	wt_change_lock_row(c.e.table, c.key, false);
	wt_cell_argument_delete(&c, kind, &cell.ref, ts);
	/* cells of other families, or newer ones, may remain: the row needs its originals then */
	c.wrote = has_originals(c.t) && wt_cell_read_row_exists(&c.e, c.key);
	wt_cell_argument_finish(&c, true);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(wt_sql_delete_family);

Datum
wt_sql_delete_family(PG_FUNCTION_ARGS)
{
	/* without a timestamp everything written before is deleted */
	return delete_in_family(fcinfo, "delete_family()", WIDE_DELETE_FAMILY,
							ts_argument(fcinfo, 3, WIDE_TS_MAX));
}

PG_FUNCTION_INFO_V1(wt_sql_delete_family_version);

Datum
wt_sql_delete_family_version(PG_FUNCTION_ARGS)
{
	wt_call_need_arg(fcinfo, 3, "ts");
	return delete_in_family(fcinfo, "delete_family_version()", WIDE_DELETE_FAMILY_VERSION,
							ts_argument(fcinfo, 3, WIDE_TS_MAX));
}

/* delete_column and delete_version: argument 2 is the cell. */
static Datum
delete_in_column(FunctionCallInfo fcinfo, const char *function, wide_delete kind)
{
	WtCall c;
	WtCallCell cell;
	int64 ts;
	Datum elsewhere;

	if (!find_cell(&c, fcinfo, function, NULL, ACL_UPDATE, &cell, &elsewhere))
		return elsewhere;
	wt_change_lock_row(c.e.table, c.key, false);
	ts = ts_argument(fcinfo, 3, WIDE_TS_MAX);
	if (kind == WIDE_DELETE_VERSION && PG_ARGISNULL(3))
	{
		/* the newest version */
		wt_cell_argument_read_newest(&c, &cell.ref, 1);
		if (!cell.ref.found)
			PG_RETURN_VOID();
		/* provisional, if this transaction wrote the version without a timestamp */
		ts = cell.ref.ts;
	}
	wt_cell_argument_delete(&c, kind, &cell.ref, ts);
	wt_cell_argument_finish(&c, true);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(wt_sql_delete_column);

Datum
wt_sql_delete_column(PG_FUNCTION_ARGS)
{
	return delete_in_column(fcinfo, "delete_column()", WIDE_DELETE_COLUMN);
}

PG_FUNCTION_INFO_V1(wt_sql_delete_version);

Datum
wt_sql_delete_version(PG_FUNCTION_ARGS)
{
	return delete_in_column(fcinfo, "delete_version()", WIDE_DELETE_VERSION);
}

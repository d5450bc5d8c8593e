/*
 * row_operation.c
 *		Operations on one row of HBase that are made at once: increment, append, check_and_mutate.
 */
#include "postgres.h"

#include "fdw/remote/row_operation.h"

#include "access/xact.h"
#include "common/int.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "fdw/remote/connection.h"
#include "fdw/store/bytes.h"
#include "fdw/table/key_text.h"

/* The operation that is collected or was executed last; the memory is in cxt. */
static struct
{
	MemoryContext cxt;
	WtRemoteTable *table; /* NULL: none is collected */
	wide_bytes key;
	hb_change *changes;
	int n, max;
	wide_cell *results; /* cells that increments and appends have made */
	int nresults;
} operation;

static wide_bytes
copy_bytes(const void *data, size_t len)
{
	uint8 *to = MemoryContextAllocHuge(operation.cxt, Max(1, len));

	wt_bytes_copy(to, data, len);
	return (wide_bytes) {to, len};
}

static hb_bytes
copy_hb(hb_bytes b)
{
	wide_bytes copy = copy_bytes(b.data, b.len);

	return (hb_bytes) {copy.data, copy.len};
}

void
wt_row_operation_begin(WtTable *t, WtRemoteTable *r, wide_bytes key)
{
	if (!t->place.immediate && (IsTransactionBlock() || IsSubTransaction()))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("an atomic operation on a row of HBase cannot be in a transaction block"),
				 errdetail("HBase makes it at once, and ROLLBACK would not undo it."),
				 errhint("Call it outside of a block and of PL/pgSQL blocks with EXCEPTION, or "
						 "ALTER SERVER ... OPTIONS (ADD atomic_functions 'immediate').")));
	if (operation.cxt == NULL)
		operation.cxt = AllocSetContextCreate(TopMemoryContext, "widetable row operation",
											  ALLOCSET_DEFAULT_SIZES);
	wt_row_operation_reset();
	operation.table = r;
	operation.key = copy_bytes(key.data, key.len);
}

void
wt_row_operation_reset(void)
{
	if (operation.cxt == NULL)
		return;
	MemoryContextReset(operation.cxt);
	operation.table = NULL;
	operation.changes = NULL;
	operation.results = NULL;
	operation.n = operation.max = operation.nresults = 0;
}

static void
add(hb_change change)
{
	if (operation.n == operation.max)
	{
		operation.max = Max(16, operation.max * 2);
		operation.changes = operation.changes == NULL
								? MemoryContextAlloc(operation.cxt,
													 sizeof(hb_change) * operation.max)
								: repalloc(operation.changes, sizeof(hb_change) * operation.max);
	}
	change.qualifier = copy_hb(change.qualifier);
	change.value = copy_hb(change.value);
	operation.changes[operation.n++] = change;
}

bool
wt_row_operation_take(const WtRemoteTable *r, wide_bytes key, hb_change change)
{
	if (likely(operation.table == NULL) || operation.table != r ||
		wt_bytes_cmp(operation.key, key) != 0)
		return false;
	add(change);
	return true;
}

static hb_bytes
family_name(wide_family_id family)
{
	int at;
	WtRemoteTable *r = wt_remote_table_of(family, &at);

	return (hb_bytes) {(const uint8_t *) r->families[at].name, strlen(r->families[at].name)};
}

void
wt_row_operation_increment(wide_family_id family, wide_bytes qual, int64 delta)
{
	uint64 bytes = pg_hton64((uint64) delta);

	add((hb_change) {.kind = HB_INCREMENT,
					 .family = family_name(family),
					 .qualifier = {qual.data, qual.len},
					 .value = {(const uint8_t *) &bytes, sizeof(bytes)},
					 .timestamp = HB_TS_LATEST});
}

void
wt_row_operation_append(wide_family_id family, wide_bytes qual, wide_bytes value)
{
	add((hb_change) {.kind = HB_APPEND,
					 .family = family_name(family),
					 .qualifier = {qual.data, qual.len},
					 .value = {value.data, value.len},
					 .timestamp = HB_TS_LATEST});
}

/* ---------------------------------------------------------------- executing */

static void
keep_results(const hb_rows *rows)
{
	const hb_row *row = rows != NULL && rows->n > 0 ? &rows->rows[0] : NULL;

	if (row == NULL)
		return;
	operation.results = MemoryContextAlloc(operation.cxt, sizeof(wide_cell) * Max(1, row->n_cells));
	for (int i = 0; i < row->n_cells; i++)
	{
		const hb_cell *c = &row->cells[i];
		wide_family_id id = 0;

		for (int f = 0; f < operation.table->nfamilies && id == 0; f++)
			if (wt_bytes_equal(operation.table->families[f].name,
							   strlen(operation.table->families[f].name), c->family.data,
							   c->family.len))
				id = operation.table->families[f].id;
		operation.results[operation.nresults++] = (wide_cell) {
			.family = (int) id,
			.qualifier = copy_bytes(c->qualifier.data, c->qualifier.len),
			.value = copy_bytes(c->value.data, c->value.len)};
	}
}

static int64
to_int64(const uint8_t *data)
{
	uint64 v;

	memcpy(&v, data, sizeof(v));
	return (int64) pg_ntoh64(v);
}

/*
 * HBase's counters wrap around.  A result that shows that is an error, after the same
 * increments were taken back.
 */
static void
check_overflow(WtTable *t, hb_client *client)
{
	bool wrapped = false;

	for (int i = 0; i < operation.n; i++)
	{
		hb_change *c = &operation.changes[i];
		wide_bytes value;
		int64 delta, before;

		if (c->kind != HB_INCREMENT)
			return;
		for (int k = 0; k < operation.nresults; k++)
		{
			value = operation.results[k].value;
			if (value.len != 8 || !wt_bytes_equal(operation.results[k].qualifier.data,
												  operation.results[k].qualifier.len,
												  c->qualifier.data, c->qualifier.len))
				continue;
			delta = to_int64(c->value.data);
			wrapped |= pg_sub_s64_overflow(to_int64(value.data), delta, &before);
		}
	}
	if (!wrapped)
		return;
	for (int i = 0; i < operation.n; i++)
	{
		hb_change *c = &operation.changes[i];
		uint64 bytes = pg_hton64((uint64) 0 - (uint64) to_int64(c->value.data));

		c->value = copy_hb((hb_bytes) {(const uint8_t *) &bytes, sizeof(bytes)});
	}
	(void) hb_row_change(client, operation.table->name,
						 &(hb_mutation) {.key = {operation.key.data, operation.key.len},
										 .changes = operation.changes,
										 .n_changes = operation.n},
						 NULL);
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("counter out of range"),
			 errdetail("Table \"%s\", key %s.", operation.table->name,
					   wt_key_text(t, operation.key))));
}

bool
wt_row_operation_execute(WtTable *t, const WtEngineCheck *check)
{
	WtRemoteTable *r = operation.table;
	hb_client *client = wt_remote_table_client(r);
	hb_mutation row = {.key = {operation.key.data, operation.key.len},
					   .changes = operation.changes,
					   .n_changes = operation.n};
	hb_rows *rows = NULL;
	bool matched = true;
	hb_status status = HB_OK;

	if (operation.n > 0 && check != NULL)
	{
		hb_condition condition = {
			.family = family_name(check->family),
			.qualifier = {check->qual.data, check->qual.len},
			.op = HB_EQUAL,
			.value = {check->value.data == NULL ? HB_COMPARE_NULL : HB_COMPARE_BINARY,
					  {check->value.data, check->value.len}}};

		status = hb_check_and_mutate(client, r->name, &condition, &row, &matched, &rows);
	}
	else if (operation.n > 0)
		status = hb_row_change(client, r->name, &row, &rows);
	if (status == HB_OK)
		keep_results(rows);
	hb_rows_free(client, rows);
	operation.table = NULL;
	if (status != HB_OK)
		wt_remote_table_fail(r, client, status, "could not change a row of",
							 psprintf("Key %s.", wt_key_text(t, operation.key)));
	operation.table = r;
	if (matched)
		check_overflow(t, client);
	operation.table = NULL;
	return matched;
}

bool
wt_row_operation_result(wide_family_id family, wide_bytes qual, wide_bytes *value)
{
	for (int i = 0; i < operation.nresults; i++)
	{
		const wide_cell *c = &operation.results[i];

		if ((wide_family_id) c->family == family && wt_bytes_cmp(c->qualifier, qual) == 0)
		{
			*value = c->value;
			return true;
		}
	}
	return false;
}

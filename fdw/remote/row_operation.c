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
#include "fdw/remote/mutation.h"
#include "fdw/remote/remote_change.h"
#include "fdw/store/bytes.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/key_text.h"

/* The operation that is collected or was executed last; the memory is in cxt. */
static struct
{
	MemoryContext cxt;
	WtRemoteTable *table; /* NULL: none is collected */
	int level;			  /* nesting level of the transaction that collects it */
	WtRemoteRow *row;	  /* has the puts and deletes */
	hb_change *changes;	  /* increments and appends */
	int n, max;
	wide_cell *results; /* cells that these have made */
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

static void
reset(void)
{
	if (operation.cxt == NULL)
		return;
	MemoryContextReset(operation.cxt);
	operation.table = NULL;
	operation.row = NULL;
	operation.changes = NULL;
	operation.results = NULL;
	operation.n = operation.max = operation.nresults = 0;
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
	/* a function of a user that checks or converts a value may call another */
	if (operation.table != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("an atomic operation on a row of HBase cannot be made within another one"),
				 errdetail("The other one, on table \"%s\", has begun and is not sent yet.",
						   operation.table->name)));
	if (operation.cxt == NULL)
		operation.cxt = AllocSetContextCreate(TopMemoryContext, "widetable row operation",
											  ALLOCSET_DEFAULT_SIZES);
	reset();
	operation.table = r;
	operation.level = GetCurrentTransactionNestLevel();
	operation.row = wt_remote_change_make_row(r, key);
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

/* Returns: the index of the family in the table; -1: it is not known. */
static int
index_of(hb_bytes name)
{
	const WtRemoteTable *r = operation.table;

	for (int f = 0; f < r->nfamilies; f++)
		if (wt_bytes_equal(r->families[f].name, strlen(r->families[f].name), name.data, name.len))
			return f;
	return -1;
}

static int64
to_int64(const uint8_t *data)
{
	uint64 v;

	memcpy(&v, data, sizeof(v));
	return (int64) pg_ntoh64(v);
}

static void
keep_results(const hb_rows *rows)
{
	const hb_row *row = rows != NULL && rows->n > 0 ? &rows->rows[0] : NULL;

	if (row == NULL)
		return;
	operation.results =
		operation.nresults == 0
			? MemoryContextAlloc(operation.cxt, sizeof(wide_cell) * Max(1, row->n_cells))
			: repalloc(operation.results,
					   sizeof(wide_cell) * (operation.nresults + Max(1, row->n_cells)));
	for (int i = 0; i < row->n_cells; i++)
	{
		const hb_cell *c = &row->cells[i];

		operation.results[operation.nresults++] = (wide_cell) {
			.family = index_of(c->family),
			.qualifier = copy_bytes(c->qualifier.data, c->qualifier.len),
			.value = copy_bytes(c->value.data, c->value.len)};
	}
}

/*
 * HBase answers a repetition of a change, whose first answer was lost with a server that had made
 * it, without any cell.  Then what the columns have now is the result: with the changes that others
 * have made since.
 */
static void
read_results(hb_client *client)
{
	hb_bytes key = {operation.row->key.data, operation.row->key.len};

	for (int i = 0; i < operation.n; i++)
	{
		const hb_change *c = &operation.changes[i];
		hb_columns column = {c->family, &c->qualifier, 1};
		hb_read read = {.table = operation.table->name,
						.families = &column,
						.n_families = 1,
						.max_versions = 1};
		hb_rows *rows = NULL;
		hb_status status = hb_get_many(client, &read, &key, 1, &rows);

		if (status == HB_OK)
			keep_results(rows);
		hb_rows_free(client, rows);
		if (status != HB_OK)
			wt_remote_table_fail(operation.table, client, status,
								 "a row was changed, but could not be read, of", NULL);
	}
}

/* Returns: errdetail with table, key and column; qualifier NULL: it is not known. */
static int
detail(WtTable *t, const hb_change *c)
{
	const char *key = wt_key_text(t, operation.row->key);

	if (c == NULL)
		return errdetail("Table \"%s\", key %s.", t->table_name, key);
	return errdetail("Table \"%s\", key %s, column \"%.*s:%s\".", t->table_name, key,
					 (int) c->family.len, (const char *) c->family.data,
					 wt_bytes_text_qualifier_argument((wide_bytes) {c->qualifier.data,
																	c->qualifier.len}));
}

/* stays: HBase has made the increments, and does not answer to the ones that take them back. */
static _Noreturn void
out_of_range(WtTable *t, const hb_change *c, bool stays)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("counter out of range"),
			 detail(t, c),
			 stays ? errhint("The counter has wrapped around: it could not be set back in HBase.")
				   : 0));
}

static int
compare_columns(const hb_change *x, const hb_change *y)
{
	int c = wt_bytes_cmp((wide_bytes) {x->family.data, x->family.len},
						 (wide_bytes) {y->family.data, y->family.len});

	return c != 0 ? c
				  : wt_bytes_cmp((wide_bytes) {x->qualifier.data, x->qualifier.len},
								 (wide_bytes) {y->qualifier.data, y->qualifier.len});
}

static int
compare_changes(const void *a, const void *b)
{
	return compare_columns(a, b);
}

static bool
of_family(const hb_change *c)
{
	return c->kind == HB_DELETE_FAMILY || c->kind == HB_DELETE_FAMILY_VERSION;
}

/* Two increments of one column become one: HBase makes only one of them. */
static void
add_up(WtTable *t)
{
	int n = 0;

	qsort(operation.changes, operation.n, sizeof(hb_change), compare_changes);
	for (int i = 0; i < operation.n; i++)
	{
		hb_change *c = &operation.changes[i], *last = &operation.changes[n - 1];
		int64 sum;
		uint64 bytes;

		if (n == 0 || compare_columns(c, last) != 0 || c->kind != HB_INCREMENT ||
			last->kind != HB_INCREMENT)
		{
			operation.changes[n++] = *c;
			continue;
		}
		if (pg_add_s64_overflow(to_int64(c->value.data), to_int64(last->value.data), &sum))
			out_of_range(t, c, false);
		bytes = pg_hton64((uint64) sum);
		last->value = copy_hb((hb_bytes) {(const uint8_t *) &bytes, sizeof(bytes)});
	}
	operation.n = n;
}

/* HBase makes the list in no order: it cannot change a cell twice.  list is sorted by column. */
static void
check_twice(WtTable *t, hb_change *list, int n)
{
	hb_bytes family = {NULL, 0};

	for (int i = 0; i < n; i++)
	{
		bool adds = list[i].kind == HB_INCREMENT || list[i].kind == HB_APPEND;
		bool other = i > 0 && compare_columns(&list[i], &list[i - 1]) == 0 &&
					 (adds || list[i - 1].kind == HB_INCREMENT || list[i - 1].kind == HB_APPEND);

		/* deletes of the family are the first, or near: the empty qualifier is a column too */
		if (of_family(&list[i]))
			family = list[i].family;
		other |= adds && family.data != NULL &&
				 wt_bytes_equal(family.data, family.len, list[i].family.data, list[i].family.len);
		if (other)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot change a cell twice in one operation on a row of HBase"),
					 detail(t, &list[i]),
					 errhint("HBase makes the changes of one operation in no order.")));
	}
}

/* Returns: the changes of the operation. */
static hb_mutation
make_list(WtTable *t)
{
	hb_mutation *lists;
	int n = wt_mutation_make(operation.row, &lists), count = n > 0 ? lists[0].n_changes : 0;
	hb_change *all, *sorted;

	if (n > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot delete and then put a version in one operation on a row of HBase"),
				 detail(t, NULL),
				 errhint("HBase makes the changes of one operation in no order.")));
	add_up(t);
	all = palloc_extended(sizeof(hb_change) * Max(1, count + operation.n), MCXT_ALLOC_HUGE);
	memcpy(all, operation.changes, sizeof(hb_change) * operation.n);
	if (count > 0)
		memcpy(all + operation.n, lists[0].changes, sizeof(hb_change) * count);
	if (operation.n > 0 && operation.n + count > 1)
	{
		sorted = palloc_extended(sizeof(hb_change) * (operation.n + count), MCXT_ALLOC_HUGE);
		memcpy(sorted, all, sizeof(hb_change) * (operation.n + count));
		qsort(sorted, operation.n + count, sizeof(hb_change), compare_changes);
		check_twice(t, sorted, operation.n + count);
		pfree(sorted);
	}
	return (hb_mutation) {.key = {operation.row->key.data, operation.row->key.len},
						  .changes = all,
						  .n_changes = operation.n + count};
}

/*
 * HBase's counters wrap around.  A result that shows that is an error, after the same
 * increments were taken back.
 */
static void
check_overflow(WtTable *t, hb_client *client)
{
	const hb_change *wrapped = NULL;
	bool stays = false;

	for (int i = 0, k = 0; i < operation.n; i++)
	{
		const hb_change *c = &operation.changes[i];
		const wide_cell *result = NULL;
		int64 before;

		if (c->kind != HB_INCREMENT)
			continue;
		/* both are in order of columns, but families are not: their indexes are */
		for (int tried = 0; tried < operation.nresults && result == NULL; tried++, k++)
		{
			const wide_cell *r = &operation.results[k % operation.nresults];

			if (r->family == index_of(c->family) &&
				wt_bytes_equal(r->qualifier.data, r->qualifier.len, c->qualifier.data,
							   c->qualifier.len))
				result = r;
		}
		if (result != NULL && result->value.len == 8 &&
			pg_sub_s64_overflow(to_int64(result->value.data), to_int64(c->value.data), &before))
			wrapped = c;
	}
	if (wrapped == NULL)
		return;
	for (int i = 0; i < operation.n; i++)
	{
		hb_change *c = &operation.changes[i];
		uint64 bytes;

		/* an append cannot be taken back */
		if (c->kind != HB_INCREMENT)
			continue;
		bytes = pg_hton64((uint64) 0 - (uint64) to_int64(c->value.data));
		if (hb_row_change(client, operation.table->name,
						  &(hb_mutation) {
							  .key = {operation.row->key.data, operation.row->key.len},
							  .changes = &(hb_change) {.kind = HB_INCREMENT,
													   .family = c->family,
													   .qualifier = c->qualifier,
													   .value = {(const uint8_t *) &bytes, 8},
													   .timestamp = HB_TS_LATEST},
							  .n_changes = 1},
						  NULL) != HB_OK)
			stays = true;
	}
	out_of_range(t, wrapped, stays);
}

/* Raises the failure of the operation. */
static _Noreturn void
fail(WtTable *t, hb_client *client, hb_status status)
{
	const hb_error *e = hb_client_error(client);
	const char *width = strstr(e->message, "it's ");
	const hb_change *only = NULL;
	int counters = 0;

	for (int i = 0; i < operation.n; i++)
		if (operation.changes[i].kind == HB_INCREMENT && counters++ == 0)
			only = &operation.changes[i];
	if (status == HB_NOTNUMBER && width != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cell is not a counter: it has %d bytes, not 8", atoi(width + 5)),
				 detail(t, counters == 1 ? only : NULL), errhint("A counter is put as a bigint.")));
	wt_remote_table_fail(operation.table, client, status, "could not change a row of",
						 psprintf("Key %s.", wt_key_text(t, operation.row->key)));
}

bool
wt_row_operation_execute(WtTable *t, const WtEngineCheck *check)
{
	hb_client *client = wt_remote_table_client(operation.table);
	hb_mutation row = make_list(t);
	hb_rows *rows = NULL;
	bool matched = true;
	hb_status status = HB_OK;

	if (row.n_changes > 0 && check != NULL)
	{
		hb_condition condition = {
			.family = family_name(check->family),
			.qualifier = {check->qual.data, check->qual.len},
			.op = HB_EQUAL,
			.value = {check->value.data == NULL ? HB_COMPARE_NULL : HB_COMPARE_BINARY,
					  {check->value.data, check->value.len}}};

		status = hb_check_and_mutate(client, operation.table->name, &condition, &row, &matched,
									 &rows);
	}
	else if (row.n_changes > 0)
		status = hb_row_change(client, operation.table->name, &row, &rows);
	wt_remote_change_take_back(operation.row);
	if (status == HB_OK)
		keep_results(rows);
	hb_rows_free(client, rows);
	if (status != HB_OK)
		fail(t, client, status);
	if (matched && operation.n > 0 && operation.nresults == 0)
		read_results(client);
	if (matched)
		check_overflow(t, client);
	operation.table = NULL;
	return matched;
}

bool
wt_row_operation_result(wide_family_id family, wide_bytes qual, wide_bytes *value)
{
	int at;

	(void) wt_remote_table_of(family, &at);
	for (int i = 0; i < operation.nresults; i++)
	{
		const wide_cell *c = &operation.results[i];

		if (c->family == at && wt_bytes_cmp(c->qualifier, qual) == 0)
		{
			*value = c->value;
			return true;
		}
	}
	return false;
}

static void
xact_callback(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		reset();
}

/* What an error has left is not an operation any more.  Its changes of the row are rolled back by
 * remote_change.c. */
static void
subxact_callback(SubXactEvent event, SubTransactionId mySubid, SubTransactionId parentSubid,
				 void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB && operation.level >= GetCurrentTransactionNestLevel())
		reset();
}

void
wt_row_operation_init(void)
{
	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
}

/*
 * write_functions.c
 *		SQL functions that change one row: increment, append, put, delete_*,
 *		check_and_mutate.
 *
 * They say what FDW statements cannot say, and they do it without a plan.
 * Their changes go to the transaction's batch like those of INSERT, UPDATE and
 * DELETE: atomic, seen by later statements of the transaction, rolled back
 * with it.  Row triggers of the foreign table do not fire.
 *
 * put is blind.  The others lock the row first.  A read-modify-write reads the
 * newest state then, its own writes included, so that no update is lost; its
 * cells are stamped above the version that was read.  Under REPEATABLE READ a
 * version that was committed after the snapshot is a serialization failure, as
 * with UPDATE.
 *
 * An error raised anywhere in a call takes back the whole call, because it
 * takes back the statement or savepoint around it: nothing is undone here.
 *
 * The executor checks no privileges for functions: wt_call_acl does.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "nodes/nodes.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "fdw/func/call.h"

/* ---------------------------------------------------------- what is called */

void
wt_need_arg(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

void
wt_call_rel(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes)
{
	Relation	rel;

	memset(c, 0, sizeof(*c));
	wt_need_arg(fcinfo, 0, "rel");
	c->relid = PG_GETARG_OID(0);
	if (writes)
	{
		PreventCommandIfReadOnly(function);
		PreventCommandIfParallelMode(function);
		PreventCommandDuringRecovery(function);
	}
	rel = try_relation_open(c->relid, writes ? RowExclusiveLock : AccessShareLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", c->relid)));
	if (rel->rd_rel->relkind != RELKIND_FOREIGN_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a foreign table of widetable", RelationGetRelationName(rel)),
				 errhint("Create it with CREATE FOREIGN TABLE ... SERVER widetable.")));
	c->relname = pstrdup(RelationGetRelationName(rel));
	relation_close(rel, NoLock);
	c->t = wt_table(c->relid);	/* raises the same for another wrapper's table */
	if (writes && !c->t->updatable)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 writes == CMD_INSERT ? errmsg("foreign table \"%s\" does not allow inserts", c->relname) :
				 writes == CMD_DELETE ? errmsg("foreign table \"%s\" does not allow deletes", c->relname) :
				 errmsg("foreign table \"%s\" does not allow updates", c->relname)));
	/* put is blind as INSERT is; the others change what is there now, not what such a session sees */
	if (writes && writes != CMD_INSERT && wt_as_of_us() != PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change or lock rows of \"%s\" while widetable.as_of is set", c->relname),
				 errhint("RESET widetable.as_of.")));
}

/* The engine's side; after privileges, so that nobody makes a table without any. */
static void
call_engine(WtCall *c, bool create)
{
	c->stored = wt_engine(c->t, create, &c->e);
}

void
wt_call_key(WtCall *c, FunctionCallInfo fcinfo)
{
	wt_need_arg(fcinfo, 1, "key");
	initStringInfo(&c->keybuf);
	c->parts = palloc(sizeof(Datum) * c->t->nkeys);
	wt_key_from_arg(c->t, PG_GETARG_DATUM(1), get_fn_expr_argtype(fcinfo->flinfo, 1), true, c->parts, &c->keybuf);
	c->key = wt_bytes_of(&c->keybuf);
}

void
wt_call_acl(WtCall *c, AclMode mode, const WtColumn *column)
{
	static const AclMode each[] = {ACL_SELECT, ACL_INSERT, ACL_UPDATE, ACL_DELETE};

	for (int i = 0; i < (int) lengthof(each); i++)
	{
		AclResult	r;

		if (!(mode & each[i]))
			continue;
		r = pg_class_aclcheck(c->relid, GetUserId(), each[i]);
		if (r != ACLCHECK_OK && column != NULL && each[i] != ACL_DELETE)
			r = pg_attribute_aclcheck(c->relid, column->attno, GetUserId(), each[i]);
		if (r != ACLCHECK_OK)
			aclcheck_error(r, OBJECT_FOREIGN_TABLE, c->relname);
	}
}

/* For errors about a cell: what and where. */
static int
errdetail_cell(WtCall *c, const char *col)
{
	return errdetail("Table \"%s\", key %s, column \"%s\".", c->relname, wt_key_text(c->t, c->key), col);
}

static const char *
arg_text(FunctionCallInfo fcinfo, int n, const char *name)
{
	wt_need_arg(fcinfo, n, name);
	return text_to_cstring(PG_GETARG_TEXT_PP(n));
}

/* ------------------------------------------------------------------ cells */

/* A cell as the caller named it. */
typedef struct Cell
{
	const char *name;
	const char *family_name;	/* of a family that t does not mention; else NULL */
	int			family;			/* index into t->families otherwise */
	WtCellRef	ref;
} Cell;

static wide_family_id
cell_family(WtCall *c, const Cell *cell)
{
	const char *name = cell->family_name ? cell->family_name : c->t->families[cell->family].name;
	wide_family_id id = cell->family_name ? wt_family_by_name(c->t, &c->e, name) : c->e.families[cell->family];

	if (id == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("family \"%s\" of table \"%s\" does not exist", name, c->relname)));
	return id;
}

/*
 * The key column whose original the cell holds: the key has only a digest of
 * it.  The row would not be found by what it shows if another value were there.
 */
static const WtColumn *
original_of(WtCall *c, const Cell *cell)
{
	for (int i = 0; i < c->t->nkeys && cell->family_name == NULL; i++)
	{
		const WtColumn *k = &c->t->columns[c->t->keys[i]];

		if (k->family >= 0 && k->family == cell->family &&
			wt_bytes_equal(k->qual, k->qual_len, cell->ref.qual.data, cell->ref.qual.len))
			return k;
	}
	return NULL;
}

/* 'family:qualifier' or a column's name.  A family that another foreign table made can be named too. */
static void
parse_cell(WtCall *c, const char *name, bool writes, Cell *cell)
{
	const char *colon = strchr(name, ':');
	const WtColumn *key;
	uint8	   *qual;
	uint32		qual_len;

	memset(cell, 0, sizeof(*cell));
	cell->name = name;
	if (colon != NULL && wt_column_by_name(c->t, name) == NULL &&
		wt_family_index(c->t, pnstrdup(name, colon - name)) < 0)
	{
		cell->family_name = pnstrdup(name, colon - name);
		qual = wt_unescape_argument(colon + 1, &qual_len);
	}
	else
		wt_resolve_col(c->t, name, &cell->family, &qual, &qual_len, &cell->ref.column);
	if (cell->ref.column != NULL && cell->ref.column->role != WT_CELL)
		cell->ref.column = NULL;
	cell->ref.qual.data = qual;
	cell->ref.qual.len = qual_len;
	if (writes && (key = original_of(c, cell)) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cell \"%s\" of table \"%s\" holds the original of key column \"%s\"", name, c->relname, key->name),
				 errdetail("It is written with the row, and stays as long as the row does."),
				 errhint("delete_row() deletes the whole row.")));
}

/* Privileges are checked here, before the engine is asked for anything. */
static void
find_cell(WtCall *c, const char *name, AclMode mode, Cell *cell)
{
	bool		writes = (mode & (ACL_INSERT | ACL_UPDATE)) != 0;

	parse_cell(c, name, writes, cell);
	wt_call_acl(c, mode, cell->ref.column);
	call_engine(c, writes);
	if (c->stored)
		cell->ref.family = cell_family(c, cell);
}

/*
 * The newest versions, under the row lock.  REPEATABLE READ: they must be the
 * ones that the snapshot sees, when our own writes are laid over both.
 */
static void
read_newest(WtCall *c, WtCellRef *refs, int n)
{
	wt_read_cells(NULL, c->key, refs, n);
	if (IsolationUsesXactSnapshot())
	{
		SnapshotData snapshot = *GetActiveSnapshot();
		WtCellRef  *seen = palloc(sizeof(WtCellRef) * Max(1, n));

		snapshot.curcid = PG_UINT32_MAX;
		memcpy(seen, refs, sizeof(WtCellRef) * n);
		wt_read_cells(&snapshot, c->key, seen, n);
		for (int i = 0; i < n; i++)
		{
			if (seen[i].found != refs[i].found || seen[i].seq != refs[i].seq)
				ereport(ERROR,
						(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						 errmsg("could not serialize access due to concurrent update"),
						 errdetail("Table \"%s\", key %s.", c->relname, wt_key_text(c->t, c->key))));
		}
	}
}

static int64
floor_of(const WtCellRef *r)
{
	return r->found ? r->ts : PG_INT64_MIN;
}

static void
put_cell(WtCall *c, const WtCellRef *r, int64 ts, int64 floor_ts, int64 ttl_us, wide_bytes value)
{
	c->wrote = true;
	wt_batch_command();
	wt_check_write(wide_batch_put(wt_batch(true), r->family, c->key, r->qual, ts, floor_ts, ttl_us, value),
				   c->t, c->key);
}

static void
delete_cells(WtCall *c, wide_delete kind, wide_family_id family, wide_bytes qual, int64 ts)
{
	wt_batch_command();
	wt_check_write(wide_batch_delete(wt_batch(true), kind, family, c->key, qual, ts), c->t, c->key);
}

static bool
has_originals(WtCall *c)
{
	for (int i = 0; i < c->t->nkeys; i++)
	{
		if (c->t->columns[c->t->keys[i]].family >= 0)
			return true;
	}
	return false;
}

/*
 * A row that has cells has the originals of its digest keys.  locked: they are
 * written only when they are missing; else blindly, as INSERT does.  Without a
 * ttl: other cells of the row may live longer.
 */
static void
put_originals(WtCall *c, bool locked)
{
	for (int i = 0; i < c->t->nkeys; i++)
	{
		const WtColumn *k = &c->t->columns[c->t->keys[i]];
		WtCellRef	ref = {0};

		if (k->family < 0)
			continue;
		ref.family = c->e.families[k->family];
		ref.qual = (wide_bytes) {k->qual, k->qual_len};
		if (locked)
			wt_read_cells(NULL, c->key, &ref, 1);
		if (ref.found)
			continue;
		put_cell(c, &ref, WIDE_TS_AUTO, PG_INT64_MIN, 0, wt_original_bytes(k, c->parts[i]));
	}
}

/* ---------------------------------------------------------------- NOT NULL */

/*
 * What a call deletes of NOT NULL columns is looked at again when it is done:
 * a later mutation may have put a value, and a row that is gone as a whole is
 * in order.  Puts do not look whether the row has all its other columns; they
 * are blind.
 */
static void
note_delete(WtCall *c, wide_family_id family, const WtCellRef *cell)
{
	for (int i = 0; i < c->t->natts; i++)
	{
		const WtColumn *col = &c->t->columns[i];

		if (col->role == WT_CELL && col->not_null && c->e.families[col->family] == family &&
			(cell == NULL || wt_bytes_equal(col->qual, col->qual_len, cell->qual.data, cell->qual.len)))
			c->emptied = bms_add_member(c->emptied, i);
	}
}

static void
check_not_null(WtCall *c)
{
	int			i = -1;

	while ((i = bms_next_member(c->emptied, i)) >= 0)
	{
		const WtColumn *col = &c->t->columns[i];
		WtCellRef	ref = {.family = c->e.families[col->family], .qual = {col->qual, col->qual_len}};

		wt_read_cells(NULL, c->key, &ref, 1);
		if (!ref.found && wt_row_exists(c->t, &c->e, c->key))
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("null value in column \"%s\" of relation \"%s\" violates not-null constraint",
							col->name, c->relname),
					 errdetail("The row with key %s would have no cell for it.", wt_key_text(c->t, c->key)),
					 errhint("delete_row() deletes the whole row.")));
	}
}

/* ----------------------------------------------------------------- values */

/* The way through text is open to all types. */
static Datum
coerce_through_text(Datum v, Oid type, Oid target, int32 typmod)
{
	Oid			input,
				ioparam;
	char	   *s;

	if (type == UNKNOWNOID)
		s = DatumGetCString(v);
	else
	{
		Oid			output;
		bool		varlena;

		getTypeOutputInfo(type, &output, &varlena);
		s = OidOutputFunctionCall(output, v);
	}
	getTypeInputInfo(target, &input, &ioparam);
	return OidInputFunctionCall(input, s, ioparam, typmod);
}

/* Any value as the type, with the length of a varchar(3) or numeric(4,1) unless typmod is -1. */
static Datum
coerce_to(Datum v, Oid type, Oid target, int32 typmod)
{
	return type == target && typmod < 0 ? v : coerce_through_text(v, type, target, typmod);
}

/* A value that no cast to the column's type has seen: the domain's constraints. */
static void
check_domain(const WtColumn *column, Datum v)
{
	if (OidIsValid(column->domain))
		domain_check(v, false, column->domain, NULL, NULL);
}

/* A column as one of this type would be without any option. */
static WtColumn
plain_column(Oid type)
{
	return (WtColumn) {.role = WT_CELL, .name = "value", .typid = type, .typmod = -1, .family = -1,
		.collation = get_typcollation(type), .enc = wt_default_encoding(type, false)};
}

/*
 * Mapped cells by their column's encoding; others as a column of the value's
 * type without options would store it, untyped literals as text.  A bytea for a
 * column of another type is the cell's bytes, as cells() shows them; they have
 * to be a value of the column.
 */
static void
value_bytes(const WtColumn *column, Datum v, Oid type, StringInfo out)
{
	type = getBaseType(type);
	if (column != NULL && type == BYTEAOID && column->typid != BYTEAOID)
	{
		struct varlena *p = PG_DETOAST_DATUM_PACKED(v);
		Datum		value;
		const char *why;

		if (!wt_decode_soft(column, (const uint8 *) VARDATA_ANY(p), VARSIZE_ANY_EXHDR(p), &value, &why))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("bytea is not a value of column \"%s\"", column->name),
					 errdetail("%s", why),
					 errhint("Bytes are stored as they are. They must be type %s with encoding \"%s\".",
							 format_type_be(column->typid), wt_encoding_name(column->enc))));
		(void) coerce_to(value, column->typid, column->typid, column->typmod);
		check_domain(column, value);
		appendBinaryStringInfo(out, VARDATA_ANY(p), VARSIZE_ANY_EXHDR(p));
	}
	else if (column != NULL)
	{
		Datum		value = coerce_to(v, type, column->typid, column->typmod);

		check_domain(column, value);
		wt_encode(column, value, out);
	}
	else
	{
		WtColumn	plain = plain_column(type == UNKNOWNOID ? TEXTOID : type);

		wt_encode(&plain, coerce_to(v, type, plain.typid, -1), out);
	}
}

/* The same for a value of a jsonb argument, which is not JSON null. */
static void
json_bytes(const WtColumn *column, const JsonbValue *v, StringInfo out)
{
	StringInfoData text;

	if (column != NULL && (column->typid == JSONBOID || column->typid == JSONOID))
	{
		Jsonb	   *jb = JsonbValueToJsonb(unconstify(JsonbValue *, v));

		value_bytes(column, JsonbPGetDatum(jb), JSONBOID, out);
		return;
	}
	initStringInfo(&text);
	wt_json_text(v, &text);
	if (column == NULL)
	{
		/* as get shows it: \x... for bytes that are not text */
		wt_bytes_unshow(text.data, text.len, out);
		return;
	}
	value_bytes(column, CStringGetDatum(text.data), UNKNOWNOID, out);
}

static Jsonb *
need_object(Jsonb *jb, const char *what)
{
	if (!JB_ROOT_IS_OBJECT(jb))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a JSON object", what)));
	return jb;
}

static char *
json_key(const JsonbValue *v)
{
	return pnstrdup(v->val.string.val, v->val.string.len);
}

static int64
ttl_us(const Interval *iv)
{
	int64		us;

	if (!wt_interval_us(iv, &us))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("ttl must be greater than zero and less than 292,000 years")));
	return us;
}

/* -------------------------------------------------------------- increment */

static int64
counter_value(WtCall *c, const Cell *cell)
{
	const uint8 *p = cell->ref.value.data;
	uint64		v = 0;

	if (!cell->ref.found)
		return 0;
	if (cell->ref.value.len != 8)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cell is not a counter: it has %zu bytes, not 8", cell->ref.value.len),
				 errdetail_cell(c, cell->name),
				 errhint("A counter is put as a bigint.")));
	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return (int64) v;
}

static void
check_counter(WtCall *c, const Cell *cell)
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

static bool
same_cell(const WtCellRef *a, const WtCellRef *b)
{
	return a->family == b->family && wt_bytes_equal(a->qual.data, a->qual.len, b->qual.data, b->qual.len);
}

/* Add deltas[i] to cells[i], under the row lock; a cell that is named twice gets the sum. */
static void
do_increments(WtCall *c, Cell *cells, const int64 *deltas, int64 *results, int n)
{
	WtCellRef  *refs = palloc(sizeof(WtCellRef) * Max(1, n));
	int		   *first = palloc(sizeof(int) * Max(1, n));

	for (int i = 0; i < n; i++)
	{
		check_counter(c, &cells[i]);
		refs[i] = cells[i].ref;
	}
	read_newest(c, refs, n);
	for (int i = 0; i < n; i++)
	{
		int			k;

		cells[i].ref = refs[i];
		for (k = 0; k < i && !same_cell(&refs[k], &refs[i]); k++)
			 /* look for the first one of the same cell */ ;
		first[i] = k;
		if (k == i)
			results[i] = counter_value(c, &cells[i]);
		if (pg_add_s64_overflow(results[k], deltas[i], &results[k]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("counter out of range"),
					 errdetail_cell(c, cells[i].name)));
	}
	for (int i = 0; i < n; i++)
	{
		uint8		bytes[8];

		if (first[i] != i)
		{
			results[i] = results[first[i]];
			continue;
		}
		if (cells[i].ref.column != NULL)
			check_domain(cells[i].ref.column, Int64GetDatum(results[i]));
		for (int b = 0; b < 8; b++)
			bytes[b] = (uint8) ((uint64) results[i] >> (56 - 8 * b));
		put_cell(c, &refs[i], WIDE_TS_AUTO, floor_of(&refs[i]), 0, (wide_bytes) {bytes, 8});
	}
}

/* The cells and deltas of {"f:n": 1, ...}; the number of them. */
static int
parse_deltas(WtCall *c, JsonbContainer *object, AclMode mode, Cell **cells, int64 **deltas)
{
	int			n = 0,
				max = JsonContainerSize(object);
	JsonbIterator *it = JsonbIteratorInit(object);
	JsonbIteratorToken tok;
	JsonbValue	v;

	*cells = palloc(sizeof(Cell) * Max(1, max));
	*deltas = palloc(sizeof(int64) * Max(1, max));
	while ((tok = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		if (tok == WJB_KEY)
			find_cell(c, json_key(&v), mode, &(*cells)[n]);
		else if (tok == WJB_VALUE)
		{
			const char *name = (*cells)[n].name;
			Datum		d;

			if (v.type == jbvNull)
				ereport(ERROR,
						(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						 errmsg("delta of \"%s\" must not be null", name)));
			if (v.type != jbvNumeric)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("delta of \"%s\" must be a number", name)));
			d = DirectFunctionCall1(numeric_int8, NumericGetDatum(v.val.numeric));
			if (!DatumGetBool(DirectFunctionCall2(numeric_eq, DirectFunctionCall1(int8_numeric, d),
												  NumericGetDatum(v.val.numeric))))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("delta of \"%s\" must be an integer", name)));
			(*deltas)[n++] = DatumGetInt64(d);
		}
	}
	return n;
}

PG_FUNCTION_INFO_V1(wt_sql_increment);
Datum
wt_sql_increment(PG_FUNCTION_ARGS)
{
	WtCall		c;
	Cell		cell;
	const char *col;
	int64		delta,
				result;

	wt_call_rel(&c, fcinfo, "increment()", CMD_UPDATE);
	col = arg_text(fcinfo, 2, "col");
	if (col[0] == '{')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a column", col),
				 errhint("To increment several counters write the argument as '{...}'::jsonb.")));
	wt_need_arg(fcinfo, 3, "delta");
	delta = PG_GETARG_INT64(3);
	wt_call_key(&c, fcinfo);
	find_cell(&c, col, ACL_SELECT | ACL_INSERT | ACL_UPDATE, &cell);
	wt_row_lock(c.e.table, c.key, false);
	do_increments(&c, &cell, &delta, &result, 1);
	put_originals(&c, true);
	PG_RETURN_INT64(result);
}

PG_FUNCTION_INFO_V1(wt_sql_increment_many);
Datum
wt_sql_increment_many(PG_FUNCTION_ARGS)
{
	WtCall		c;
	Cell	   *cells;
	int64	   *deltas,
			   *results;
	int			n;
	JsonbParseState *ps = NULL;
	JsonbValue *done;

	wt_call_rel(&c, fcinfo, "increment()", CMD_UPDATE);
	wt_need_arg(fcinfo, 2, "deltas");
	wt_call_key(&c, fcinfo);
	n = parse_deltas(&c, &need_object(PG_GETARG_JSONB_P(2), "deltas")->root,
					 ACL_SELECT | ACL_INSERT | ACL_UPDATE, &cells, &deltas);
	results = palloc(sizeof(int64) * Max(1, n));
	if (n > 0)
	{
		wt_row_lock(c.e.table, c.key, false);
		do_increments(&c, cells, deltas, results, n);
		put_originals(&c, true);
	}
	pushJsonbValue(&ps, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < n; i++)
	{
		JsonbValue	k = {.type = jbvString};
		JsonbValue	v = {.type = jbvNumeric};

		k.val.string.val = unconstify(char *, cells[i].name);
		k.val.string.len = strlen(cells[i].name);
		v.val.numeric = DatumGetNumeric(DirectFunctionCall1(int8_numeric, Int64GetDatum(results[i])));
		pushJsonbValue(&ps, WJB_KEY, &k);
		pushJsonbValue(&ps, WJB_VALUE, &v);
	}
	done = pushJsonbValue(&ps, WJB_END_OBJECT, NULL);
	PG_RETURN_JSONB_P(JsonbValueToJsonb(done));
}

/* ----------------------------------------------------------------- append */

/* The new value, in out. */
static void
do_append(WtCall *c, Cell *cell, wide_bytes addition, StringInfo out)
{
	WtColumn   *col = cell->ref.column;

	if (col != NULL && col->enc != WT_ENC_TEXT && col->enc != WT_ENC_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot append to column \"%s\" of table \"%s\"", col->name, c->relname),
				 errdetail("It is of type %s with encoding \"%s\".", format_type_be(col->typid),
						   wt_encoding_name(col->enc)),
				 errhint("Columns with encoding \"text\" or \"bytes\" can be appended to.")));
	read_newest(c, &cell->ref, 1);
	if (cell->ref.found && cell->ref.value.len + addition.len > WIDE_MAX_VALUE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value would be longer than %u bytes", WIDE_MAX_VALUE),
				 errdetail_cell(c, cell->name)));
	if (cell->ref.found)
		appendBinaryStringInfo(out, (const char *) cell->ref.value.data, (int) cell->ref.value.len);
	appendBinaryStringInfo(out, (const char *) addition.data, (int) addition.len);
	/* the result has to be a value of the column */
	if (col != NULL)
	{
		Datum		value = wt_decode(col, NULL, c->key, (uint8 *) out->data, out->len);

		check_domain(col, value);
		if (col->typmod >= 0)
		{
			value = coerce_to(value, col->typid, col->typid, col->typmod);
			resetStringInfo(out);
			wt_encode(col, value, out);
		}
	}
	put_cell(c, &cell->ref, WIDE_TS_AUTO, floor_of(&cell->ref), 0, wt_bytes_of(out));
}

/* append(..., text) and append(..., bytea) */
PG_FUNCTION_INFO_V1(wt_sql_append);
Datum
wt_sql_append(PG_FUNCTION_ARGS)
{
	WtCall		c;
	Cell		cell;
	const char *col;
	struct varlena *value;
	StringInfoData out;

	wt_call_rel(&c, fcinfo, "append()", CMD_UPDATE);
	col = arg_text(fcinfo, 2, "col");
	wt_need_arg(fcinfo, 3, "value");
	value = PG_GETARG_VARLENA_PP(3);
	wt_call_key(&c, fcinfo);
	find_cell(&c, col, ACL_SELECT | ACL_INSERT | ACL_UPDATE, &cell);
	wt_row_lock(c.e.table, c.key, false);
	initStringInfo(&out);
	do_append(&c, &cell, (wide_bytes) {(uint8 *) VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)}, &out);
	put_originals(&c, true);
	if (get_func_rettype(fcinfo->flinfo->fn_oid) == TEXTOID)
		pg_verify_mbstr(GetDatabaseEncoding(), out.data, out.len, false);
	/* text and bytea look alike */
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* -------------------------------------------------------------------- put */

PG_FUNCTION_INFO_V1(wt_sql_put);
Datum
wt_sql_put(PG_FUNCTION_ARGS)
{
	WtCall		c;
	Cell		cell;
	const char *col;
	StringInfoData value;
	int64		ts = WIDE_TS_AUTO,
				ttl = 0;

	wt_call_rel(&c, fcinfo, "put()", CMD_INSERT);
	col = arg_text(fcinfo, 2, "col");
	wt_need_arg(fcinfo, 3, "value");
	if (!PG_ARGISNULL(4))
		ts = wt_timestamp_arg(INT8OID, PG_GETARG_DATUM(4), NULL);
	if (!PG_ARGISNULL(5))
		ttl = ttl_us(PG_GETARG_INTERVAL_P(5));
	wt_call_key(&c, fcinfo);
	find_cell(&c, col, ACL_INSERT | ACL_UPDATE, &cell);
	initStringInfo(&value);
	value_bytes(cell.ref.column, PG_GETARG_DATUM(3), get_fn_expr_argtype(fcinfo->flinfo, 3), &value);
	put_cell(&c, &cell.ref, ts, PG_INT64_MIN, ttl, wt_bytes_of(&value));
	put_originals(&c, false);
	PG_RETURN_VOID();
}

/*
 * The cells of {"f:q": value, ...}; JSON null deletes the column, as in map
 * columns.  above: stamp above the newest versions (the row is locked).
 *
 * Puts are blind, deletes are not: all of them lock the row, here too.  Somebody
 * who reads the newest state under that lock sees a delete that is not published
 * yet by nothing at all; only the lock tells him (wt_locks_after).
 */
static void
put_json(WtCall *c, JsonbContainer *object, bool above)
{
	JsonbIterator *it = JsonbIteratorInit(object);
	JsonbIteratorToken tok;
	JsonbValue	v;
	Cell		cell;

	while ((tok = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		StringInfoData value;

		if (tok == WJB_KEY)
			find_cell(c, json_key(&v), ACL_INSERT | ACL_UPDATE, &cell);
		if (tok != WJB_VALUE)
			continue;
		if (v.type == jbvNull)
		{
			if (!above)
				wt_row_lock(c->e.table, c->key, false);
			delete_cells(c, WIDE_DELETE_COLUMN, cell.ref.family, cell.ref.qual, WIDE_TS_MAX);
			note_delete(c, cell.ref.family, &cell.ref);
			continue;
		}
		if (above)
			wt_read_cells(NULL, c->key, &cell.ref, 1);
		initStringInfo(&value);
		json_bytes(cell.ref.column, &v, &value);
		put_cell(c, &cell.ref, WIDE_TS_AUTO, above ? floor_of(&cell.ref) : PG_INT64_MIN, 0, wt_bytes_of(&value));
	}
}

PG_FUNCTION_INFO_V1(wt_sql_put_many);
Datum
wt_sql_put_many(PG_FUNCTION_ARGS)
{
	WtCall		c;

	wt_call_rel(&c, fcinfo, "put()", CMD_INSERT);
	wt_need_arg(fcinfo, 2, "cells");
	wt_call_key(&c, fcinfo);
	put_json(&c, &need_object(PG_GETARG_JSONB_P(2), "cells")->root, false);
	if (c.wrote)
		put_originals(&c, false);
	check_not_null(&c);
	PG_RETURN_VOID();
}

/* ----------------------------------------------------------------- delete */

/* The timestamp argument n of a delete; without one: everything written before. */
static int64
delete_ts(FunctionCallInfo fcinfo, int n)
{
	if (PG_ARGISNULL(n))
		return WIDE_TS_MAX;
	return wt_timestamp_arg(INT8OID, PG_GETARG_DATUM(n), NULL);
}

PG_FUNCTION_INFO_V1(wt_sql_delete_row);
Datum
wt_sql_delete_row(PG_FUNCTION_ARGS)
{
	WtCall		c;

	wt_call_rel(&c, fcinfo, "delete_row()", CMD_DELETE);
	wt_call_key(&c, fcinfo);
	wt_call_acl(&c, ACL_DELETE, NULL);
	call_engine(&c, false);
	if (c.stored)
	{
		wt_row_lock(c.e.table, c.key, false);
		for (int i = 0; i < c.e.nall; i++)
			delete_cells(&c, WIDE_DELETE_FAMILY, c.e.all[i], (wide_bytes) {NULL, 0}, WIDE_TS_MAX);
	}
	PG_RETURN_VOID();
}

static Datum
delete_in_family(FunctionCallInfo fcinfo, const char *function, wide_delete kind, int64 ts)
{
	WtCall		c;
	const char *family;
	wide_family_id id;

	wt_call_rel(&c, fcinfo, function, CMD_UPDATE);
	family = arg_text(fcinfo, 2, "family");
	wt_call_key(&c, fcinfo);
	wt_call_acl(&c, ACL_UPDATE, NULL);
	call_engine(&c, true);
	id = wt_family_by_name(c.t, &c.e, family);
	if (id == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("family \"%s\" of table \"%s\" does not exist", family, c.relname)));
	wt_row_lock(c.e.table, c.key, false);
	delete_cells(&c, kind, id, (wide_bytes) {NULL, 0}, ts);
	/* the row is still there by cells of other families, or by younger ones */
	if (has_originals(&c) && wt_row_exists(c.t, &c.e, c.key))
		put_originals(&c, true);
	note_delete(&c, id, NULL);
	check_not_null(&c);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(wt_sql_delete_family);
Datum
wt_sql_delete_family(PG_FUNCTION_ARGS)
{
	return delete_in_family(fcinfo, "delete_family()", WIDE_DELETE_FAMILY, delete_ts(fcinfo, 3));
}

PG_FUNCTION_INFO_V1(wt_sql_delete_family_version);
Datum
wt_sql_delete_family_version(PG_FUNCTION_ARGS)
{
	wt_need_arg(fcinfo, 3, "ts");
	return delete_in_family(fcinfo, "delete_family_version()", WIDE_DELETE_FAMILY_VERSION, delete_ts(fcinfo, 3));
}

PG_FUNCTION_INFO_V1(wt_sql_delete_column);
Datum
wt_sql_delete_column(PG_FUNCTION_ARGS)
{
	WtCall		c;
	Cell		cell;
	const char *col;

	wt_call_rel(&c, fcinfo, "delete_column()", CMD_UPDATE);
	col = arg_text(fcinfo, 2, "col");
	wt_call_key(&c, fcinfo);
	find_cell(&c, col, ACL_UPDATE, &cell);
	wt_row_lock(c.e.table, c.key, false);
	delete_cells(&c, WIDE_DELETE_COLUMN, cell.ref.family, cell.ref.qual, delete_ts(fcinfo, 3));
	note_delete(&c, cell.ref.family, &cell.ref);
	check_not_null(&c);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(wt_sql_delete_version);
Datum
wt_sql_delete_version(PG_FUNCTION_ARGS)
{
	WtCall		c;
	Cell		cell;
	const char *col;
	int64		ts;

	wt_call_rel(&c, fcinfo, "delete_version()", CMD_UPDATE);
	col = arg_text(fcinfo, 2, "col");
	wt_call_key(&c, fcinfo);
	find_cell(&c, col, ACL_UPDATE, &cell);
	wt_row_lock(c.e.table, c.key, false);
	if (PG_ARGISNULL(3))
	{
		/* the newest one, as of now */
		read_newest(&c, &cell.ref, 1);
		if (!cell.ref.found)
			PG_RETURN_VOID();
		ts = cell.ref.ts;		/* an own version is known by its provisional one */
	}
	else
		ts = delete_ts(fcinfo, 3);
	delete_cells(&c, WIDE_DELETE_VERSION, cell.ref.family, cell.ref.qual, ts);
	note_delete(&c, cell.ref.family, &cell.ref);
	check_not_null(&c);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------- check and mutate */

typedef enum CheckOp
{
	OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_NULL, OP_NOT_NULL
} CheckOp;

static CheckOp
parse_op(const char *s)
{
	static const struct
	{
		const char *name;
		CheckOp		op;
	}			ops[] =
	{
		{"=", OP_EQ}, {"<>", OP_NE}, {"!=", OP_NE}, {"<", OP_LT}, {"<=", OP_LE}, {">", OP_GT}, {">=", OP_GE},
		{"is null", OP_NULL}, {"is not null", OP_NOT_NULL}
	};

	for (int i = 0; i < (int) lengthof(ops); i++)
	{
		if (pg_strcasecmp(s, ops[i].name) == 0)
			return ops[i].op;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid operator \"%s\"", s),
			 errhint("Valid operators are =, <>, <, <=, >, >=, is null, is not null.")));
	return OP_EQ;				/* keep compiler quiet */
}

static bool
op_holds(CheckOp op, int cmp)
{
	switch (op)
	{
		case OP_EQ:
			return cmp == 0;
		case OP_NE:
			return cmp != 0;
		case OP_LT:
			return cmp < 0;
		case OP_LE:
			return cmp <= 0;
		case OP_GT:
			return cmp > 0;
		case OP_GE:
			return cmp >= 0;
		default:
			return false;
	}
}

/* The operand as the column's type; a bytea stands for the cell's bytes, as in put. */
static Datum
expected_value(const WtColumn *column, Datum expected, Oid type)
{
	StringInfoData bytes;

	if (type != BYTEAOID || column->typid == BYTEAOID)
		return coerce_to(expected, type, column->typid, -1);
	initStringInfo(&bytes);
	value_bytes(column, expected, type, &bytes);
	return wt_decode(column, NULL, (wide_bytes) {0}, (uint8 *) bytes.data, bytes.len);
}

static bool
compare_values(const WtColumn *column, CheckOp op, Datum have, Datum want)
{
	TypeCacheEntry *tc = lookup_type_cache(column->typid, TYPECACHE_CMP_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO);

	if (OidIsValid(tc->cmp_proc_finfo.fn_oid))
		return op_holds(op, DatumGetInt32(FunctionCall2Coll(&tc->cmp_proc_finfo, column->collation, have, want)));
	if (!OidIsValid(tc->eq_opr_finfo.fn_oid) || (op != OP_EQ && op != OP_NE))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("values of type %s cannot be compared that way", format_type_be(column->typid))));
	return (op == OP_EQ) == DatumGetBool(FunctionCall2Coll(&tc->eq_opr_finfo, column->collation, have, want));
}

/*
 * cell OP expected: by the column's type when a column maps the cell.  Else as
 * put would store the operand: numbers and the like, which are stored in their
 * own format, by their type; all that is stored as text or bytes by unsigned
 * bytes.
 */
static bool
check_holds(WtCall *c, const Cell *cell, CheckOp op, Datum expected, Oid type)
{
	const WtCellRef *r = &cell->ref;
	StringInfoData bytes;
	size_t		n;
	int			cmp;

	if (op == OP_NULL || op == OP_NOT_NULL)
		return r->found == (op == OP_NOT_NULL);
	if (!r->found)
		return false;
	type = getBaseType(type);
	if (r->column != NULL)
		return compare_values(r->column, op, wt_decode(r->column, c->t, c->key, r->value.data, r->value.len),
							  expected_value(r->column, expected, type));
	if (type != UNKNOWNOID && wt_default_encoding(type, false) == WT_ENC_BINARY)
	{
		WtColumn	plain = plain_column(type);
		Datum		have;
		const char *why;

		if (!wt_decode_soft(&plain, r->value.data, r->value.len, &have, &why))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("cell is not a value of type %s", format_type_be(type)),
					 errdetail("Table \"%s\", key %s, column \"%s\": %s", c->relname, wt_key_text(c->t, c->key), cell->name, why),
					 errhint("Give the value that is compared with it the type of the cell; text if it was put as text.")));
		return compare_values(&plain, op, have, expected);
	}
	initStringInfo(&bytes);
	value_bytes(NULL, expected, type, &bytes);
	n = Min(r->value.len, (size_t) bytes.len);
	cmp = n == 0 ? 0 : memcmp(r->value.data, bytes.data, n);
	if (cmp == 0)
		cmp = r->value.len < (size_t) bytes.len ? -1 : r->value.len > (size_t) bytes.len;
	return op_holds(op, cmp);
}

static void
delete_named(WtCall *c, const JsonbValue *v)
{
	Cell		cell;

	find_cell(c, json_key(v), ACL_UPDATE, &cell);
	delete_cells(c, WIDE_DELETE_COLUMN, cell.ref.family, cell.ref.qual, WIDE_TS_MAX);
	note_delete(c, cell.ref.family, &cell.ref);
}

static void
append_json(WtCall *c, JsonbContainer *object)
{
	JsonbIterator *it = JsonbIteratorInit(object);
	JsonbIteratorToken tok;
	JsonbValue	v;
	Cell		cell;

	while ((tok = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		StringInfoData addition,
					out;

		if (tok == WJB_KEY)
			find_cell(c, json_key(&v), ACL_INSERT | ACL_UPDATE, &cell);
		if (tok != WJB_VALUE)
			continue;
		initStringInfo(&addition);
		initStringInfo(&out);
		(void) wt_json_text(&v, &addition);
		do_append(c, &cell, wt_bytes_of(&addition), &out);
	}
}

/* ------------------------------------------------------ lists of mutations */

typedef enum Mutation
{
	MUTATE_PUT, MUTATE_DELETE, MUTATE_INCREMENT, MUTATE_APPEND
} Mutation;

/* The only pair of an element; the list has been checked. */
static Mutation
get_mutation(JsonbContainer *element, JsonbValue *what)
{
	JsonbIterator *it = JsonbIteratorInit(element);
	JsonbValue	k;

	(void) JsonbIteratorNext(&it, &k, true);
	(void) JsonbIteratorNext(&it, &k, true);
	(void) JsonbIteratorNext(&it, what, true);
	switch (k.val.string.val[0])
	{
		case 'p':
			return MUTATE_PUT;
		case 'd':
			return MUTATE_DELETE;
		case 'i':
			return MUTATE_INCREMENT;
		default:
			return MUTATE_APPEND;
	}
}

static bool
is_object(const JsonbValue *v)
{
	return v->type == jbvBinary && JsonContainerIsObject(v->val.binary.data);
}

static bool
is_array(const JsonbValue *v)
{
	return v->type == jbvBinary && JsonContainerIsArray(v->val.binary.data) && !JsonContainerIsScalar(v->val.binary.data);
}

static void
check_name(WtCall *c, const char *name, Cell *cell)
{
	parse_cell(c, name, true, cell);
	if (c->stored)
		(void) cell_family(c, cell);
}

/* The columns of a mutation: they are there, and have a value of the right kind. */
static void
check_mutation(WtCall *c, const char *where, const char *kind, const JsonbValue *what)
{
	JsonbIterator *it;
	JsonbIteratorToken tok;
	JsonbValue	v;
	Cell		cell;
	bool		delete = strcmp(kind, "delete") == 0;

	if (delete && what->type == jbvString)
	{
		check_name(c, json_key(what), &cell);
		return;
	}
	if (delete ? !is_array(what) : !is_object(what))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 delete ? errmsg("%s: \"delete\" needs an array of column names", where)
				 : errmsg("%s: \"%s\" needs a JSON object of columns and values", where, kind)));
	if (strcmp(kind, "increment") == 0)
	{
		/* as it will be done, less the privileges */
		Cell	   *cells;
		int64	   *deltas;
		int			n = parse_deltas(c, what->val.binary.data, 0, &cells, &deltas);

		for (int i = 0; i < n; i++)
		{
			parse_cell(c, cells[i].name, true, &cell);
			check_counter(c, &cell);
		}
		return;
	}
	it = JsonbIteratorInit(what->val.binary.data);
	while ((tok = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		if (tok == WJB_ELEM && v.type != jbvString)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: \"delete\" needs an array of column names", where)));
		if (tok == WJB_ELEM || tok == WJB_KEY)
			check_name(c, json_key(&v), &cell);
		if (tok == WJB_VALUE && kind[0] == 'a' && v.type == jbvNull)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("value to append to \"%s\" must not be null", cell.name)));
	}
}

/*
 * Both lists of a call are looked at before anything is done, so that a
 * mistake in the one that is not taken shows as well.  jsonb does not keep the
 * order of the keys of an object, and mutations have one: hence each element
 * has one key.
 */
static void
check_list(WtCall *c, const char *name, Jsonb *list)
{
	static const char *const kinds[] = {"put", "delete", "increment", "append"};

	if (!JB_ROOT_IS_ARRAY(list) || JB_ROOT_IS_SCALAR(list))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a JSON array", name),
				 errhint("For example [{\"put\": {\"f:q\": \"v\"}}, {\"delete\": [\"f:q\"]}].")));
	for (uint32 i = 0; i < JB_ROOT_COUNT(list); i++)
	{
		JsonbValue *v = getIthJsonbValueFromContainer(&list->root, i);
		char	   *where = psprintf("element %u of %s", i + 1, name);
		JsonbIterator *it;
		JsonbValue	k,
					what;
		char	   *kind;
		int			n;

		if (!is_object(v) || JsonContainerSize(v->val.binary.data) != 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must be a JSON object with one key", where),
					 !is_object(v) ? 0 :
					 errdetail("It has %u keys.", (unsigned) JsonContainerSize(v->val.binary.data)),
					 errhint("For example {\"put\": {\"f:q\": \"v\"}}. Each mutation is an element of its own, because they are done in order.")));
		it = JsonbIteratorInit(v->val.binary.data);
		(void) JsonbIteratorNext(&it, &k, true);
		(void) JsonbIteratorNext(&it, &k, true);
		(void) JsonbIteratorNext(&it, &what, true);
		kind = json_key(&k);
		for (n = 0; n < (int) lengthof(kinds) && strcmp(kind, kinds[n]) != 0; n++)
			 /* look for it */ ;
		if (n == (int) lengthof(kinds))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: invalid mutation \"%s\"", where, kind),
					 errhint("Valid mutations are put, delete, increment, append.")));
		check_mutation(c, where, kind, &what);
	}
}

static void
mutate(WtCall *c, JsonbContainer *element)
{
	JsonbValue	what;
	Cell	   *cells;
	int64	   *deltas;
	int			n;

	switch (get_mutation(element, &what))
	{
		case MUTATE_PUT:
			put_json(c, what.val.binary.data, true);
			break;
		case MUTATE_APPEND:
			append_json(c, what.val.binary.data);
			break;
		case MUTATE_INCREMENT:
			n = parse_deltas(c, what.val.binary.data, ACL_INSERT | ACL_UPDATE, &cells, &deltas);
			if (n > 0)
				do_increments(c, cells, deltas, palloc(sizeof(int64) * n), n);
			break;
		case MUTATE_DELETE:
			if (what.type == jbvString)
				delete_named(c, &what);
			else
			{
				for (uint32 i = 0; i < JsonContainerSize(what.val.binary.data); i++)
					delete_named(c, getIthJsonbValueFromContainer(what.val.binary.data, i));
			}
			break;
	}
}

/* In order: each sees what those before it did. */
static void
mutate_all(WtCall *c, Jsonb *list)
{
	for (uint32 i = 0; list != NULL && i < JB_ROOT_COUNT(list); i++)
		mutate(c, getIthJsonbValueFromContainer(&list->root, i)->val.binary.data);
}

PG_FUNCTION_INFO_V1(wt_sql_check_and_mutate);
Datum
wt_sql_check_and_mutate(PG_FUNCTION_ARGS)
{
	WtCall		c;
	Cell		cell;
	const char *col;
	CheckOp		op;
	Jsonb	   *lists[2] = {NULL, NULL};
	bool		holds;

	wt_call_rel(&c, fcinfo, "check_and_mutate()", CMD_UPDATE);
	col = arg_text(fcinfo, 2, "col");
	op = parse_op(arg_text(fcinfo, 3, "op"));
	if (op != OP_NULL && op != OP_NOT_NULL)
		wt_need_arg(fcinfo, 4, "expected");
	wt_need_arg(fcinfo, 5, "mutations");
	wt_call_key(&c, fcinfo);
	find_cell(&c, col, ACL_SELECT, &cell);
	lists[0] = PG_GETARG_JSONB_P(5);
	check_list(&c, "mutations", lists[0]);
	if (!PG_ARGISNULL(6))
		check_list(&c, "otherwise", lists[1] = PG_GETARG_JSONB_P(6));
	/* locking a row takes some right to change it, whatever comes of the check */
	if (pg_class_aclcheck(c.relid, GetUserId(), ACL_UPDATE) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(c.relid, GetUserId(), ACL_UPDATE, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FOREIGN_TABLE, c.relname);
	/* what is not there may be written: the table is made if need be */
	call_engine(&c, true);
	cell.ref.family = cell_family(&c, &cell);
	wt_row_lock(c.e.table, c.key, false);
	read_newest(&c, &cell.ref, 1);
	holds = check_holds(&c, &cell, op, PG_GETARG_DATUM(4), get_fn_expr_argtype(fcinfo->flinfo, 4));
	mutate_all(&c, lists[holds ? 0 : 1]);
	if (c.wrote)
		put_originals(&c, true);
	check_not_null(&c);
	PG_RETURN_BOOL(holds);
}

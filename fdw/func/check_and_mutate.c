/*
 * check_and_mutate.c
 *		The SQL function check_and_mutate.
 *
 * Under the row lock it compares a cell with a value and then applies one of two
 * lists of mutations to the row, in order; each mutation sees the effects of
 * those before.  Both lists are checked before the cell is read, so a mistake in
 * the list that is not applied is an error, too.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "engine/wide.h"
#include "fdw/func/call.h"
#include "fdw/func/cell_argument.h"
#include "fdw/func/put_json.h"
#include "fdw/func/route.h"
#include "fdw/func/write_functions.h"
#include "fdw/row/cell_read.h"
#include "fdw/row/map.h"
#include "fdw/store/bytes.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/encoding.h"
#include "fdw/table/engine.h"
#include "fdw/table/key_text.h"
#include "fdw/table/types.h"
#include "fdw/table/type_kind.h"
#include "fdw/xact/change.h"

/* An operator: the results of a comparison that it accepts. */
typedef enum CheckOp
{
	OP_LT = 1,
	OP_EQ = 2,
	OP_GT = 4,
	OP_NE = OP_LT | OP_GT,
	OP_NULL = 8,
	OP_NOT_NULL = 16
} CheckOp;

static CheckOp
parse_op(const char *s)
{
	static const struct
	{
		const char *name;
		CheckOp op;
	} ops[] = {{"=", OP_EQ},		  {"<>", OP_NE},		 {"!=", OP_NE},
			   {"<", OP_LT},		  {"<=", OP_LT | OP_EQ}, {">", OP_GT},
			   {">=", OP_GT | OP_EQ}, {"is null", OP_NULL},	 {"is not null", OP_NOT_NULL}};

	for (int i = 0; i < (int) lengthof(ops); i++)
	{
		if (pg_strcasecmp(s, ops[i].name) == 0)
			return ops[i].op;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid operator \"%s\"", s),
			 errhint("Valid operators are =, <>, <, <=, >, >=, is null, is not null.")));
	return OP_EQ; /* keep compiler quiet */
}

/* cmp: below, equal to or above 0 as the result of a comparison. */
static bool
op_holds(CheckOp op, int cmp)
{
	return (op & (cmp < 0 ? OP_LT : cmp == 0 ? OP_EQ : OP_GT)) != 0;
}

/* The operand in the column's type; a bytea stands for the cell's bytes, as in put. */
static Datum
expected_value(const WtColumn *column, Datum expected, Oid type)
{
	StringInfoData bytes;

	if (type != BYTEAOID || column->typid == BYTEAOID)
		return wt_cell_argument_coerce(expected, type, column->typid, -1);
	initStringInfo(&bytes);
	wt_cell_argument_value(column, expected, type, &bytes);
	return wt_cell_value_decode(column, NULL, (wide_bytes) {0}, (uint8 *) bytes.data, bytes.len);
}

/* Compares by the default operators of the column's type; 42883 if it has none for op. */
static bool
compare_values(const WtColumn *column, CheckOp op, Datum have, Datum want)
{
	TypeCacheEntry *tc = lookup_type_cache(column->typid,
										   TYPECACHE_CMP_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO);

	if (OidIsValid(tc->cmp_proc_finfo.fn_oid))
		return op_holds(op, DatumGetInt32(FunctionCall2Coll(&tc->cmp_proc_finfo, column->collation,
															have, want)));
	if (!OidIsValid(tc->eq_opr_finfo.fn_oid) || (op != OP_EQ && op != OP_NE))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("values of type %s cannot be compared that way",
						format_type_be(column->typid))));
	return (op == OP_EQ) ==
		   DatumGetBool(FunctionCall2Coll(&tc->eq_opr_finfo, column->collation, have, want));
}

/* The type of a value to compare with a cell that no column maps.  json, for one, has no operators.
 */
static bool
compares_as_value(Oid type)
{
	if (type == UNKNOWNOID || wt_is_bytes(type))
		return false;
	return wt_encoding_default(type, false) != WT_ENC_TEXT ||
		   OidIsValid(lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc);
}

/*
 * Returns true if "cell OP expected" holds.  If a column maps the cell, values of
 * its type are compared.  Else the operand's type decides, as in put: strings and
 * bytes compare as unsigned bytes, all others as values of that type.
 */
static bool
check_holds(WtCall *c, const WtCallCell *cell, CheckOp op, Datum expected, Oid type)
{
	const WtCellRef *r = &cell->ref;
	StringInfoData bytes;

	if (op == OP_NULL || op == OP_NOT_NULL)
		return r->found == (op == OP_NOT_NULL);
	if (!r->found)
		return false;
	type = getBaseType(type);
	if (r->column != NULL)
		return compare_values(r->column, op,
							  wt_cell_value_decode(r->column, c->t, c->key, r->value.data,
												   r->value.len),
							  expected_value(r->column, expected, type));
	if (compares_as_value(type))
	{
		WtColumn plain = wt_cell_argument_plain_column(type);
		Datum have;
		const char *why = wt_cell_value_decode_soft(&plain, r->value.data, r->value.len, &have);

		if (why)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("cell is not a value of type %s", format_type_be(type)),
					 errdetail("Table \"%s\", key %s, column \"%s\": %s",
							   c->relname,
							   wt_key_text(c->t, c->key),
							   cell->name,
							   why),
					 errhint("Give the value that is compared with it the type of the cell; text "
							 "if it was put as text.")));
		return compare_values(&plain, op, have, expected);
	}
	initStringInfo(&bytes);
	wt_cell_argument_value(NULL, expected, type, &bytes);
	return op_holds(op, wt_bytes_cmp(r->value, wt_bytes_of(&bytes)));
}

static void
append_json(WtCall *c, JsonbContainer *object)
{
	WtMapWalk w;

	wt_map_walk(&w, object);
	while (wt_map_walk_next(&w))
	{
		WtCallCell cell;
		StringInfoData addition, out;

		CHECK_FOR_INTERRUPTS();
		wt_cell_argument_find(c, wt_cell_argument_json_key(&w.key), ACL_INSERT | ACL_UPDATE, &cell);
		wt_write_functions_check_alone(c, cell.ref.column);
		initStringInfo(&addition);
		initStringInfo(&out);
		(void) wt_map_json_text(&w.value, &addition);
		wt_write_functions_append(c, &cell, wt_bytes_of(&addition), &out);
		pfree(addition.data);
		pfree(out.data);
	}
}

/* ------------------------------------------------------ lists of mutations */

typedef enum Mutation
{
	MUTATE_PUT,
	MUTATE_DELETE,
	MUTATE_INCREMENT,
	MUTATE_APPEND,
	MUTATIONS
} Mutation;

/* The keys of their JSON objects */
static const char *const kinds[MUTATIONS] = {"put", "delete", "increment", "append"};

/* Returns the key of an element's only pair; *what is its value. */
static char *
get_pair(JsonbContainer *element, JsonbValue *what)
{
	WtMapWalk w;

	wt_map_walk(&w, element);
	(void) wt_map_walk_next(&w);
	*what = w.value;
	return wt_cell_argument_json_key(&w.key);
}

/* Returns the mutation of this kind; MUTATIONS if there is none. */
static Mutation
find_mutation(const char *kind)
{
	int i = 0;

	while (i < MUTATIONS && strcmp(kind, kinds[i]) != 0)
		i++;
	return (Mutation) i;
}

/*
 * Returns the i-th column that a "delete" names, which is a JSON string unless the
 * mutation is wrong; NULL: there are no more.
 */
static JsonbValue *
deleted_name(JsonbValue *what, uint32 i)
{
	if (what->type == jbvBinary && JsonContainerIsArray(what->val.binary.data))
		return getIthJsonbValueFromContainer(what->val.binary.data, i);
	return i == 0 ? what : NULL;
}

static bool
is_object(const JsonbValue *v)
{
	return v->type == jbvBinary && JsonContainerIsObject(v->val.binary.data);
}

/* Raises an error if the name is not a cell that may be written. */
static void
check_name(WtCall *c, const char *name, WtCallCell *cell)
{
	wt_cell_argument_parse(c, name, true, cell);
	if (c->stored)
		(void) wt_cell_argument_family(c, cell);
}

/* Checks that the columns of a mutation exist, and the kinds of their values. */
static void
check_mutation(WtCall *c, const char *where, Mutation mutation, JsonbValue *what)
{
	WtMapWalk w;
	WtCallCell cell;
	JsonbValue *name;

	if (mutation == MUTATE_DELETE)
	{
		for (uint32 i = 0; (name = deleted_name(what, i)) != NULL; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (name->type != jbvString)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("%s: \"delete\" needs an array of column names", where)));
			check_name(c, wt_cell_argument_json_key(name), &cell);
		}
		return;
	}
	if (!is_object(what))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: \"%s\" needs a JSON object of columns and values", where,
						kinds[mutation])));
	if (mutation == MUTATE_INCREMENT)
	{
		/* as mutate() does it, but without the check of privileges */
		WtCallCell *cells;
		int64 *deltas;
		int n = wt_write_functions_parse_deltas(c, what->val.binary.data, 0, &cells, &deltas);

		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			wt_cell_argument_parse(c, cells[i].name, true, &cell);
			wt_write_functions_check_counter(c, &cell);
		}
		return;
	}
	wt_map_walk(&w, what->val.binary.data);
	while (wt_map_walk_next(&w))
	{
		CHECK_FOR_INTERRUPTS();
		check_name(c, wt_cell_argument_json_key(&w.key), &cell);
		if (mutation == MUTATE_APPEND && w.value.type == jbvNull)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("value to append to \"%s\" must not be null", cell.name)));
	}
}

/*
 * Checks a list of mutations; name: of the argument.  Mutations are ordered, and
 * jsonb does not preserve the order of an object's keys, so each element has
 * exactly one key.
 */
static void
check_list(WtCall *c, const char *name, Jsonb *list)
{
	if (!JB_ROOT_IS_ARRAY(list) || JB_ROOT_IS_SCALAR(list))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a JSON array", name),
				 errhint("For example [{\"put\": {\"f:q\": \"v\"}}, {\"delete\": [\"f:q\"]}].")));
	for (uint32 i = 0; i < JB_ROOT_COUNT(list); i++)
	{
		JsonbValue *v = getIthJsonbValueFromContainer(&list->root, i);
		char *where = psprintf("element %u of %s", i + 1, name);
		JsonbValue what;
		char *kind;
		Mutation mutation;

		CHECK_FOR_INTERRUPTS();
		if (!is_object(v) || JsonContainerSize(v->val.binary.data) != 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must be a JSON object with one key", where),
					 !is_object(v) ? 0
								   : errdetail("It has %u keys.",
											   (unsigned) JsonContainerSize(v->val.binary.data)),
					 errhint("For example {\"put\": {\"f:q\": \"v\"}}. Each mutation needs an "
							 "element, because they are applied in order.")));
		kind = get_pair(v->val.binary.data, &what);
		mutation = find_mutation(kind);
		if (mutation == MUTATIONS)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: invalid mutation \"%s\"", where, kind),
					 errhint("Valid mutations are put, delete, increment, append.")));
		check_mutation(c, where, mutation, &what);
	}
}

static void
mutate(WtCall *c, JsonbContainer *element)
{
	JsonbValue what, *name;
	WtCallCell cell, *cells;
	int64 *deltas;
	int n;

	switch (find_mutation(get_pair(element, &what)))
	{
		case MUTATE_PUT:
			wt_put_json(c, what.val.binary.data, true);
			break;
		case MUTATE_APPEND:
			append_json(c, what.val.binary.data);
			break;
		case MUTATE_INCREMENT:
			n = wt_write_functions_parse_deltas(c, what.val.binary.data, ACL_INSERT | ACL_UPDATE,
												&cells, &deltas);
			if (n > 0)
				wt_write_functions_increment(c, cells, deltas, palloc(sizeof(int64) * n), n);
			break;
		case MUTATE_DELETE:
			for (uint32 i = 0; (name = deleted_name(&what, i)) != NULL; i++)
			{
				CHECK_FOR_INTERRUPTS();
				wt_cell_argument_find(c, wt_cell_argument_json_key(name), ACL_UPDATE, &cell);
				wt_cell_argument_delete(c, WIDE_DELETE_COLUMN, &cell.ref, WIDE_TS_MAX);
			}
			break;
		case MUTATIONS: /* check_list has refused it */
			break;
	}
}

/* Applies a list; NULL is an empty one. */
static void
mutate_all(WtCall *c, Jsonb *list)
{
	for (uint32 i = 0; list != NULL && i < JB_ROOT_COUNT(list); i++)
	{
		CHECK_FOR_INTERRUPTS();
		mutate(c, getIthJsonbValueFromContainer(&list->root, i)->val.binary.data);
	}
}

PG_FUNCTION_INFO_V1(wt_sql_check_and_mutate);

Datum
wt_sql_check_and_mutate(PG_FUNCTION_ARGS)
{
	WtCall c;
	WtCallCell cell;
	const char *col;
	CheckOp op;
	Jsonb *lists[2] = {NULL, NULL};
	bool holds;
	Datum elsewhere;

	if (!wt_route_call(&c, fcinfo, "check_and_mutate()", CMD_UPDATE, ACL_SELECT | ACL_UPDATE,
					   WT_ROUTE_MUTATIONS, &elsewhere))
		return elsewhere;
	col = wt_cell_argument_text(fcinfo, 2, "col");
	op = parse_op(wt_cell_argument_text(fcinfo, 3, "op"));
	if (op != OP_NULL && op != OP_NOT_NULL)
		wt_call_need_arg(fcinfo, 4, "expected");
	wt_call_need_arg(fcinfo, 5, "mutations");
	wt_call_key(&c, fcinfo);
	wt_cell_argument_find(&c, col, ACL_SELECT, &cell);
	lists[0] = PG_GETARG_JSONB_P(5);
	check_list(&c, "mutations", lists[0]);
	if (!PG_ARGISNULL(6))
		check_list(&c, "otherwise", lists[1] = PG_GETARG_JSONB_P(6));
	/* to lock a row some privilege to change it is needed, whatever the check returns */
	if (pg_class_aclcheck(c.named, GetUserId(), ACL_UPDATE) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(c.named, GetUserId(), ACL_UPDATE, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FOREIGN_TABLE, c.named_name);
	/* the mutations may write the first row of the table */
	wt_call_engine(&c, true);
	cell.ref.family = wt_cell_argument_family(&c, &cell);
	do
	{
		CHECK_FOR_INTERRUPTS();
		wt_call_begin_change(&c);
		wt_cell_argument_read_newest(&c, &cell.ref, 1);
		holds = check_holds(&c, &cell, op, PG_GETARG_DATUM(4),
							get_fn_expr_argtype(fcinfo->flinfo, 4));
		mutate_all(&c, lists[holds ? 0 : 1]);
		wt_cell_argument_finish(&c, true);
	} while (!wt_write_functions_end_change(&c, &cell));
	PG_RETURN_BOOL(holds);
}

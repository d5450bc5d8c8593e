/*
 * rollup.c
 *		Roll-ups of a wide table: their definitions and expressions.
 *
 * What a row adds to a group must be what it takes away later, in whatever session.  So expressions
 * must be immutable, except for some functions of time stamps that depend on nothing but the time
 * zone: they are computed with that of the roll-up (option timezone).
 */
#include "postgres.h"

#include "fdw/derived/rollup.h"

#include "access/sysattr.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "fdw/ddl/binding.h"
#include "fdw/derived/as_owner.h"
#include "fdw/table/encoding.h"
#include "fdw/table/engine.h"
#include "fdw/table/lookup.h"
#include "fdw/xact/batch.h"

/* What evaluates the expressions. */
typedef struct WtRollupEvaluator
{
	MemoryContext cxt;
	TupleTableSlot *slot; /* of a row of the table */
	ExprContext *econtext;
	Oid user; /* who has the right to call the functions; invalid: nothing was prepared */
	MemoryContext states_cxt;
	ExprState **states; /* by the roll-up's columns */
} WtRollupEvaluator;

/* ------------------------------------------------------------------ parsing */

/* Returns the expression that the text is, raw.  Errors: 42601. */
static Node *
parse_raw(const char *text)
{
	List *list = raw_parser(psprintf("(%s)", text), RAW_PARSE_PLPGSQL_EXPR);
	SelectStmt *select = (SelectStmt *) linitial_node(RawStmt, list)->stmt;

	if (list_length(list) != 1 || !IsA(select, SelectStmt) || select->op != SETOP_NONE ||
		list_length(select->targetList) != 1 || select->fromClause != NIL ||
		select->whereClause != NULL || select->groupClause != NIL || select->sortClause != NIL ||
		select->limitCount != NULL || select->limitOffset != NULL || select->havingClause != NULL ||
		select->windowClause != NIL || select->lockingClause != NIL ||
		select->distinctClause != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR), errmsg("\"%s\" is not an expression", text)));
	return linitial_node(ResTarget, select->targetList)->val;
}

/* Callback: returns true if the function may change its result; notes the need of a time zone. */
static bool
is_mutable(Oid function, void *zoned)
{
	switch (function)
	{
		case F_DATE_TIMESTAMPTZ:
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIME_TIMESTAMPTZ:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
			*(bool *) zoned = true;
			return false;
		default:
			return func_volatile(function) != PROVOLATILE_IMMUTABLE;
	}
}

static bool
find_mutable(Node *node, void *zoned)
{
	if (node == NULL)
		return false;
	return IsA(node, SQLValueFunction) || IsA(node, NextValueExpr) ||
		   check_functions_in_node(node, is_mutable, zoned) ||
		   expression_tree_walker(node, find_mutable, zoned);
}

static _Noreturn void
raise_type(const WtColumn *c, Oid type, const char *needs)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of type %s cannot have an aggregate of %s", c->name,
					format_type_be(c->typid), format_type_be(type)),
			 errhint("%s", needs)));
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Returns the expression as a value of the column. */
static Node *
coerce(ParseState *ps, const WtColumn *c, Node *expr)
{
	Oid type = getBaseType(exprType(expr)), target = c->domain ? c->domain : c->typid;
	bool number = c->typid == INT8OID ? is_integer(type)
				  : c->typid == FLOAT8OID
					  ? is_integer(type) || type == FLOAT4OID || type == FLOAT8OID
					  : type == c->typid;
	Node *out;

	if (c->rollup == WT_ROLLUP_COUNT || c->rollup == WT_ROLLUP_HLL)
		return expr;
	if (c->rollup != WT_ROLLUP_GROUP && !number)
		raise_type(
			c, type,
			"sum, min and max are of integers in a column of type bigint, of all numbers but "
			"numeric in one of type double precision; min and max also of timestamps.");
	out = coerce_to_target_type(ps, expr, exprType(expr), target, c->typmod, COERCION_ASSIGNMENT,
								COERCE_IMPLICIT_CAST, -1);
	if (out == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" is of type %s, but its expression of type %s", c->name,
						format_type_be(target), format_type_be(exprType(expr)))));
	return out;
}

/* Parses the expression of a column. */
static void
parse_column(ParseState *ps, WtRollup *r, WtRollupColumn *out)
{
	const WtColumn *c = &r->table->columns[out->column];
	Node *expr = transformExpr(ps, parse_raw(c->expr), EXPR_KIND_INDEX_EXPRESSION);
	Bitmapset *attrs = NULL;
	int i = -1;

	expr = coerce(ps, c, expr);
	assign_expr_collations(ps, expr);
	if (find_mutable(expr, &r->zoned))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("expression of column \"%s\" of roll-up \"%s\" is not immutable", c->name,
						get_rel_name(r->relid)),
				 errdetail("A row must take away from a group what it has added to it."),
				 errhint("Of a timestamp with time zone, its date, date_trunc() and extract() are "
						 "possible.")));
	out->expr = expr;
	out->type = getBaseType(exprType(expr));
	pull_varattnos(expr, 1, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		int attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" of roll-up \"%s\" cannot be of a whole row or a system "
							"column",
							c->name, get_rel_name(r->relid))));
		r->read[attno - 1] = true;
	}
}

/* Errors: 0A000 if a column that is read has no value of the row alone. */
static void
check_read(const WtRollup *r)
{
	for (int i = 0; i < r->base->natts; i++)
	{
		const WtColumn *c = &r->base->columns[i];

		if (!r->read[i] ||
			(c->role != WT_TIMESTAMP_OF &&
			 (c->family < 0 || r->base->families[c->family].opt.merge == WIDE_MERGE_NONE)))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of table \"%s\" cannot be in a roll-up", c->name,
						get_rel_name(r->base->relid)),
				 c->role == WT_TIMESTAMP_OF
					 ? errdetail("It shows the timestamp of another column, which is known after "
								 "the commit.")
					 : errdetail("Its family has a merge operator: who adds to it does not read "
								 "it.")));
	}
}

/* Errors: 0A000 if option follow_ttl is not possible with this family of the table. */
static void
check_follows(const WtRollup *r, const wide_family *f, const wide_family *first)
{
	if (f->opt.ttl_us > 0 && f->opt.ttl_us == first->opt.ttl_us && f->opt.min_versions == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("roll-up \"%s\" cannot have option \"follow_ttl\"", get_rel_name(r->relid)),
			 f->opt.ttl_us == 0
				 ? errdetail("Family \"%s\" of table \"%s\" has no \"ttl\".", f->name,
							 get_rel_name(r->base->relid))
			 : f->opt.min_versions > 0
				 ? errdetail("Family \"%s\" of table \"%s\" has \"min_versions\".", f->name,
							 get_rel_name(r->base->relid))
				 : errdetail("Families \"%s\" and \"%s\" of table \"%s\" have different times "
							 "to live.",
							 first->name, f->name, get_rel_name(r->base->relid)),
			 errhint("The cells of a row have to expire together.")));
}

/* Sets what the times to live of the table's families mean to the roll-up. */
static void
read_ttl(WtRollup *r)
{
	wide_table wt;
	wide_family *f;
	int n;

	if (wt_binding_find(r->base->relid, &wt) != WIDE_OK)
		return;
	f = wt_binding_families(wt_batch(false), wt.id, &n);
	for (int i = 0; i < n; i++)
	{
		r->timed |= f[i].opt.ttl_us > 0;
		if (r->table->follow_ttl)
		{
			check_follows(r, &f[i], &f[0]);
			r->ttl_us = f[i].opt.ttl_us;
		}
	}
	pfree(f);
}

/* Errors: 0A000 if option follow_ttl is not possible with a column of the roll-up. */
static void
check_columns(const WtRollup *r)
{
	for (int i = 0; i < r->n; i++)
		if (r->ttl_us > 0 && r->columns[i].kind == WT_ROLLUP_HLL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" cannot be in roll-up \"%s\", which has option "
							"\"follow_ttl\"",
							r->table->columns[r->columns[i].column].name, get_rel_name(r->relid)),
					 errdetail("A count of distinct values keeps all that it has counted.")));
}

static void
check_tables(const WtTable *table, const WtTable *base)
{
	if (table->engine != NULL || base->engine != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("tables of engine \"%s\" have no roll-ups",
						table->engine != NULL ? table->engine->name : base->engine->name),
				 errdetail("A row and its group cannot be changed in one transaction there.")));
	for (int part = 0; part < table->nkeys; part++)
	{
		const WtColumn *c = &table->columns[table->keys[part]];

		if (wt_encoding_is_digest(c->enc) || !wt_encoding_is_injective(c))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("key column \"%s\" of roll-up \"%s\" cannot have encoding \"%s\"",
							c->name, get_rel_name(table->relid), wt_encoding_name(c->enc)),
					 errdetail("The value of the group could not be read.")));
	}
	if (base->existence_projected)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot have roll-ups", get_rel_name(base->relid)),
				 errdetail("With existence \"projected\" a query decides which rows exist.")));
	if (base->cells_layout || base->index_of != NULL || base->rollup_of != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" cannot have roll-ups", get_rel_name(base->relid)),
				 base->cells_layout ? errdetail("It has layout \"cells\".")
									: errdetail("Its rows follow from those of another table.")));
}

/* The expressions name columns of the table as `before` does: they were renamed since. */
static void
use_old_names(ParseNamespaceItem *item, const WtTable *before)
{
	ListCell *lc;

	foreach(lc, item->p_names->colnames)
	{
		int i = foreach_current_index(lc);

		if (i < before->natts && before->columns[i].role != WT_DROPPED)
			lfirst(lc) = makeString(pstrdup(before->columns[i].name));
	}
}

/* Parses the expressions of all columns. */
static void
parse_columns(WtRollup *r, Relation rel, const WtTable *before)
{
	ParseState *ps = make_parsestate(NULL);
	ParseNamespaceItem *item = addRangeTableEntryForRelation(ps, rel, AccessShareLock, NULL, false,
															 false);

	if (before != NULL)
		use_old_names(item, before);
	addNSItemToQuery(ps, item, false, true, true);
	for (int i = 0; i < r->table->natts; i++)
	{
		const WtColumn *c = &r->table->columns[i];
		WtRollupColumn *out = &r->columns[r->n];

		if (c->role == WT_DROPPED)
			continue;
		*out = (WtRollupColumn) {.column = i, .kind = c->rollup};
		r->n++;
		if (c->expr != NULL)
			parse_column(ps, r, out);
	}
	free_parsestate(ps);
}

bool
wt_rollup_is_complete(const WtTable *table, WtTable *base, const char **missing)
{
	for (int i = 0; i < table->natts; i++)
	{
		const WtColumn *c = &table->columns[i];
		int b = c->role == WT_KEY ? wt_lookup_column_index(base, c->name) : -1;

		*missing = c->name;
		/* neither in the key, nor with an aggregate */
		if (c->role == WT_DROPPED && c->expr != NULL)
			return false;
		/* an expression that only names the column itself */
		if (c->role == WT_KEY && strcmp(c->expr, quote_identifier(c->name)) == 0 &&
			(b < 0 || base->columns[b].typid != c->typid))
			return false;
	}
	return true;
}

static WtRollupEvaluator *
make_evaluator(const WtRollup *r, Relation rel)
{
	WtRollupEvaluator *e = palloc0(sizeof(WtRollupEvaluator));

	e->cxt = CurrentMemoryContext;
	e->slot = MakeSingleTupleTableSlot(CreateTupleDescCopy(RelationGetDescr(rel)), &TTSOpsVirtual);
	e->econtext = CreateStandaloneExprContext();
	e->econtext->ecxt_scantuple = e->slot;
	e->states = palloc0(sizeof(ExprState *) * Max(1, r->n));
	return e;
}

WtRollup *
wt_rollup_make(WtTable *table, WtTable *base, Relation rel, bool stated, const WtTable *before)
{
	WtRollup *r = palloc0(sizeof(WtRollup));
	WtAsOwner saved;

	check_tables(table, base);
	r->relid = table->relid;
	r->table = table;
	r->base = base;
	r->read = palloc0(sizeof(bool) * Max(1, base->natts));
	r->columns = palloc0(sizeof(WtRollupColumn) * Max(1, table->natts));
	saved = wt_as_owner_begin(base->owner, stated);
	parse_columns(r, rel, before);
	wt_as_owner_end(&saved);
	check_read(r);
	r->exact = true;
	for (int i = 0; i < base->natts; i++)
		r->exact &= !r->read[i] || wt_encoding_is_exact(&base->columns[i]);
	r->immutable = r->exact && (table->immutable || base->immutable);
	r->building = table->progress != NULL;
	read_ttl(r);
	check_columns(r);
	r->zone = table->timezone != NULL ? pg_tzset(table->timezone) : session_timezone;
	r->evaluator = make_evaluator(r, rel);
	return r;
}

char *
wt_rollup_option(const WtRollup *r, const WtRollupColumn *c)
{
	static const char *const names[] = {"", "count", "sum", "min", "max", "hll"};
	WtAsOwner saved = wt_as_owner_begin(r->base->owner, true);
	char *text;

	text = c->expr != NULL ? deparse_expression(c->expr,
												deparse_context_for(get_rel_name(r->base->relid),
																	r->base->relid),
												false, false)
						   : pstrdup("*");
	wt_as_owner_end(&saved);
	return c->kind == WT_ROLLUP_GROUP ? text : psprintf("%s(%s)", names[c->kind], text);
}

/* --------------------------------------------------------------- evaluation */

/* Makes what evaluates the expressions for the current user. */
static void
prepare(const WtRollup *r)
{
	WtRollupEvaluator *e = r->evaluator;
	MemoryContext old;

	e->user = InvalidOid;
	if (e->states_cxt == NULL)
		e->states_cxt = AllocSetContextCreate(e->cxt, "widetable expressions of a roll-up",
											  ALLOCSET_SMALL_SIZES);
	MemoryContextReset(e->states_cxt);
	old = MemoryContextSwitchTo(e->states_cxt);
	for (int i = 0; i < r->n; i++)
		if (r->columns[i].expr != NULL)
			e->states[i] = ExecInitExpr(expression_planner((Expr *) copyObject(r->columns[i].expr)),
										NULL);
	MemoryContextSwitchTo(old);
	e->user = GetUserId();
}

void
wt_rollup_evaluate(const WtRollup *r, const Datum *row, const bool *row_nulls, Datum *values,
				   bool *nulls)
{
	pg_tz *zone = session_timezone;
	const WtRollupEvaluator *e = r->evaluator;
	int natts = e->slot->tts_tupleDescriptor->natts;

	if (e->user != GetUserId())
		prepare(r);
	ExecClearTuple(e->slot);
	memcpy(e->slot->tts_values, row, sizeof(Datum) * natts);
	memcpy(e->slot->tts_isnull, row_nulls, sizeof(bool) * natts);
	ExecStoreVirtualTuple(e->slot);
	PG_TRY();
	{
		session_timezone = r->zone;
		for (int i = 0; i < r->n; i++)
			if (r->columns[i].expr != NULL)
				values[i] = ExecEvalExpr(e->states[i], e->econtext, &nulls[i]);
	}
	PG_FINALLY();
	{
		session_timezone = zone;
	}
	PG_END_TRY();
}

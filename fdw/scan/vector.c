/*
 * vector.c
 *		Integer expressions, evaluated for all rows of a span at a time.
 *
 * PostgreSQL's executor evaluates an expression for one row after the other, and needs a Datum of
 * each column for that, which for a bytea is a copy.  Here one operator is applied to all rows of a
 * span (engine/wide.h), whose values are where the block has them.
 *
 * What is evaluated: integer columns, constants, +, - and *, casts between integers, COALESCE of
 * two, and lengths of bytea and text.  All are strict, immutable and leakproof enough not to matter
 * in which order rows come; the results, and errors for those that are out of range, are
 * PostgreSQL's.
 */
#include "postgres.h"

#include "fdw/scan/vector.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "port/pg_bitutils.h"
#include "utils/fmgroids.h"

#include "fdw/row/reader.h"
#include "fdw/row/reader_span.h"
#include "fdw/row/reader_value.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

/* ----------------------------------------------------------------- building */

/* Bytes of an integer type; 0: it is none. */
static int
width_of(Oid type)
{
	return type == INT2OID ? 2 : type == INT4OID ? 4 : type == INT8OID ? 8 : 0;
}

/* Adds an expression, or finds the same one. */
static int
add(WtVectors *p, WtVector v)
{
	for (int i = 0; i < p->n; i++)
	{
		const WtVector *x = &p->list[i];

		if (x->op == v.op && x->width == v.width && x->left == v.left && x->right == v.right &&
			x->att == v.att && x->constant == v.constant)
			return i;
	}
	if (p->n == p->cap)
	{
		p->cap = Max(8, 2 * p->cap);
		p->list = p->list == NULL ? palloc(sizeof(WtVector) * p->cap)
								  : repalloc(p->list, sizeof(WtVector) * p->cap);
	}
	p->list[p->n] = v;
	return p->n++;
}

/* Returns the column that an expression is; NULL: it is not one that is a cell. */
static const WtColumn *
column_of(WtVectors *p, Node *expr, const int *columns)
{
	int attno;

	while (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	if (!IsA(expr, Var) || ((Var *) expr)->varattno <= 0)
		return NULL;
	attno = columns == NULL ? ((Var *) expr)->varattno : columns[((Var *) expr)->varattno - 1];
	if (attno <= 0 || p->t->columns[attno - 1].role != WT_CELL)
		return NULL;
	return &p->t->columns[attno - 1];
}

static int
add_column(WtVectors *p, const WtColumn *c, WtVectorOp op, int width)
{
	return add(p, (WtVector) {.op = op, .width = width, .att = c->attno - 1});
}

static int
add_length(WtVectors *p, Node *arg, const int *columns, bool chars)
{
	const WtColumn *c = column_of(p, arg, columns);
	Oid type = exprType(arg);

	if (c == NULL || c->nested || type != (wt_is_text(c->typid) ? TEXTOID : c->typid))
		return -1;
	if (c->typid == BYTEAOID && c->enc == WT_ENC_BYTES)
		return add_column(p, c, WT_VECTOR_LENGTH, 4);
	if (wt_is_text(c->typid) && c->enc == WT_ENC_TEXT)
		return add_column(p, c, chars ? WT_VECTOR_CHARS : WT_VECTOR_LENGTH, 4);
	return -1;
}

static int
add_operator(WtVectors *p, List *args, const int *columns, WtVectorOp op, Oid type)
{
	int left, right;

	if (list_length(args) != 2)
		return -1;
	left = wt_vector_add(p, linitial(args), columns);
	right = left < 0 ? -1 : wt_vector_add(p, lsecond(args), columns);
	if (right < 0)
		return -1;
	/* errors of what PostgreSQL would not evaluate must not be raised */
	if (op == WT_VECTOR_COALESCE && p->list[right].op > WT_VECTOR_CONST)
		return -1;
	return add(p, (WtVector) {.op = op, .width = width_of(type), .left = left, .right = right});
}

/* Calls of functions and operators. */
static int
add_call(WtVectors *p, Oid function, List *args, const int *columns, Oid type)
{
	switch (function)
	{
		case F_INT2PL:
		case F_INT4PL:
		case F_INT8PL:
		case F_INT24PL:
		case F_INT42PL:
		case F_INT28PL:
		case F_INT82PL:
		case F_INT48PL:
		case F_INT84PL:
			return add_operator(p, args, columns, WT_VECTOR_ADD, type);
		case F_INT2MI:
		case F_INT4MI:
		case F_INT8MI:
		case F_INT24MI:
		case F_INT42MI:
		case F_INT28MI:
		case F_INT82MI:
		case F_INT48MI:
		case F_INT84MI:
			return add_operator(p, args, columns, WT_VECTOR_SUBTRACT, type);
		case F_INT2MUL:
		case F_INT4MUL:
		case F_INT8MUL:
		case F_INT24MUL:
		case F_INT42MUL:
		case F_INT28MUL:
		case F_INT82MUL:
		case F_INT48MUL:
		case F_INT84MUL:
			return add_operator(p, args, columns, WT_VECTOR_MULTIPLY, type);
		case F_INT4_INT2:
		case F_INT8_INT2:
		case F_INT8_INT4:
			return wt_vector_add(p, linitial(args), columns);
		case F_LENGTH_BYTEA:
		case F_OCTET_LENGTH_BYTEA:
		case F_OCTET_LENGTH_TEXT:
			return add_length(p, linitial(args), columns, false);
		case F_LENGTH_TEXT:
		case F_CHAR_LENGTH_TEXT:
		case F_CHARACTER_LENGTH_TEXT:
			return add_length(p, linitial(args), columns, true);
		default:
			return -1;
	}
}

int
wt_vector_add(WtVectors *p, Node *expr, const int *columns)
{
	int width = width_of(exprType(expr));

	if (width == 0)
		return -1;
	if (IsA(expr, Const))
	{
		const Const *c = (Const *) expr;

		if (c->constisnull)
			return -1;
		return add(p, (WtVector) {.op = WT_VECTOR_CONST,
								  .width = width,
								  .constant = wt_integer_value(c->consttype, c->constvalue)});
	}
	if (IsA(expr, OpExpr))
		return add_call(p, ((OpExpr *) expr)->opfuncid, ((OpExpr *) expr)->args, columns,
						((OpExpr *) expr)->opresulttype);
	if (IsA(expr, FuncExpr))
		return add_call(p, ((FuncExpr *) expr)->funcid, ((FuncExpr *) expr)->args, columns,
						((FuncExpr *) expr)->funcresulttype);
	if (IsA(expr, CoalesceExpr))
		return add_operator(p, ((CoalesceExpr *) expr)->args, columns, WT_VECTOR_COALESCE,
							((CoalesceExpr *) expr)->coalescetype);
	if (IsA(expr, Var) || IsA(expr, RelabelType))
	{
		const WtColumn *c = column_of(p, expr, columns);

		if (c != NULL && wt_reader_integer_width(c).bytes == width)
			return add_column(p, c, WT_VECTOR_INTEGER, width);
	}
	return -1;
}

static inline bool
is_leaf(const WtVector *x)
{
	return x->op <= WT_VECTOR_CHARS;
}

bool
wt_vector_bind(WtVectors *p, const WtRowReader *r)
{
	for (int i = 0; i < p->n; i++)
	{
		WtVector *x = &p->list[i];

		if (!is_leaf(x))
			continue;
		x->target = wt_reader_span_find(r, x->att, &x->column);
		if (x->target == NULL)
			return false;
	}
	return true;
}

/* --------------------------------------------------------------- evaluating */

/* The rows that are evaluated */
typedef struct Rows
{
	WtTable *t;
	const wide_span_column *columns;
	const wide_bytes *keys;
	int from, to;
} Rows;

/* The value's integer, where it is not stored in the usual width. */
static int64
decode_integer(const Rows *rows, const WtVector *x, int i, wide_bytes value)
{
	const WtColumn *c = x->target->column;

	return wt_integer_value(c->typid,
							wt_cell_value_decode(c, rows->t, rows->keys[i], value.data, value.len));
}

static void
load_integers(const Rows *rows, WtVector *x)
{
	const wide_span_column *c = &rows->columns[x->column];
	const WtWidth width = x->target->width;

	for (int i = rows->from; i < rows->to; i++)
	{
		x->v[i] = 0;
		if ((x->there >> i & 1) != 0 && !wt_reader_value_integer(&width, c->values[i], &x->v[i]))
			x->v[i] = decode_integer(rows, x, i, c->values[i]);
	}
}

/* The length of a text, which is checked as it is when it is read. */
static int64
text_length(const Rows *rows, const WtVector *x, int i, wide_bytes value)
{
	uint8 bad = 0;
	Datum text;

	for (size_t k = 0; k < value.len; k++)
		bad |= value.data[k] | (uint8) (value.data[k] - 1);
	if ((bad & 0x80) == 0)
		return (int64) value.len;
	text = wt_cell_value_decode(x->target->column, rows->t, rows->keys[i], value.data, value.len);
	return x->op == WT_VECTOR_LENGTH
			   ? (int64) VARSIZE_ANY_EXHDR(DatumGetPointer(text))
			   : pg_mbstrlen_with_len(VARDATA_ANY(DatumGetPointer(text)),
									  (int) VARSIZE_ANY_EXHDR(DatumGetPointer(text)));
}

static void
load_lengths(const Rows *rows, WtVector *x)
{
	const wide_span_column *c = &rows->columns[x->column];

	for (int i = rows->from; i < rows->to; i++)
		if ((x->there >> i & 1) == 0)
			x->v[i] = 0;
		else
			x->v[i] = x->target->text ? text_length(rows, x, i, c->values[i])
									  : (int64) c->values[i].len;
}

static void
out_of_range(int width)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s out of range", width == 2	? "smallint"
									   : width == 4 ? "integer"
													: "bigint")));
}

/* One operation.  Returns false if the result does not fit. */
static inline bool
operate(const WtVector *x, int64 a, int64 b, int64 *out)
{
	bool over = x->op == WT_VECTOR_ADD		  ? pg_add_s64_overflow(a, b, out)
				: x->op == WT_VECTOR_SUBTRACT ? pg_sub_s64_overflow(a, b, out)
											  : pg_mul_s64_overflow(a, b, out);

	return !over &&
		   (x->width == 8 || (x->width == 4 ? *out == (int32) *out : *out == (int16) *out));
}

/* Operands and result have at most 32 bits, so that nothing overflows on the way. */
static void
calculate_short(const Rows *rows, const WtVector *a, const WtVector *b, WtVector *x)
{
	uint64 bad = 0;

	if (x->op == WT_VECTOR_ADD)
		for (int i = rows->from; i < rows->to; i++)
			x->v[i] = a->v[i] + b->v[i];
	else if (x->op == WT_VECTOR_SUBTRACT)
		for (int i = rows->from; i < rows->to; i++)
			x->v[i] = a->v[i] - b->v[i];
	else
		for (int i = rows->from; i < rows->to; i++)
			x->v[i] = a->v[i] * b->v[i];
	for (int i = rows->from; i < rows->to; i++)
		bad |= (uint64) (x->v[i] ^ (x->width == 4 ? (int32) x->v[i] : (int16) x->v[i]));
	if (likely(bad == 0))
		return;
	for (int i = rows->from; i < rows->to; i++)
	{
		if ((x->there >> i & 1) == 0)
			x->v[i] = 0;
		else if (!operate(x, a->v[i], b->v[i], &x->v[i]))
			out_of_range(x->width);
	}
}

static void
calculate(const Rows *rows, const WtVector *a, const WtVector *b, WtVector *x)
{
	x->there = a->there & b->there;
	if (x->width < 8)
	{
		calculate_short(rows, a, b, x);
		return;
	}
	for (int i = rows->from; i < rows->to; i++)
	{
		int64 v;

		if (unlikely(!operate(x, a->v[i], b->v[i], &v)))
		{
			if ((x->there >> i & 1) != 0)
				out_of_range(x->width);
			v = 0;
		}
		x->v[i] = v;
	}
}

static void
coalesce(const Rows *rows, const WtVector *a, const WtVector *b, WtVector *x)
{
	x->there = a->there | b->there;
	for (int i = rows->from; i < rows->to; i++)
		x->v[i] = (a->there >> i & 1) != 0 ? a->v[i] : b->v[i];
}

void
wt_vector_evaluate(WtVectors *p, const wide_span_column *columns, const wide_bytes *keys,
				   uint64 which)
{
	/* rows between them that are not asked for count as null */
	int from = pg_rightmost_one_pos64(which), to = pg_leftmost_one_pos64(which) + 1;
	Rows rows = {p->t, columns, keys, from, to};

	for (int i = 0; i < p->n; i++)
	{
		WtVector *x = &p->list[i];
		const WtVector *a = &p->list[x->left], *b = &p->list[x->right];

		if (is_leaf(x))
			x->there = columns[x->column].there & which;
		switch (x->op)
		{
			case WT_VECTOR_INTEGER:
				load_integers(&rows, x);
				break;
			case WT_VECTOR_LENGTH:
			case WT_VECTOR_CHARS:
				load_lengths(&rows, x);
				break;
			case WT_VECTOR_CONST:
				x->there = which;
				for (int k = from; k < to; k++)
					x->v[k] = x->constant;
				break;
			case WT_VECTOR_COALESCE:
				coalesce(&rows, a, b, x);
				break;
			default:
				calculate(&rows, a, b, x);
		}
	}
}

/*
 * aggregate_scan.c
 *		Scans that aggregate: one pass in the order of the key, one group at a time.
 *
 * Rows come in one of two ways.  Directly: when there are no clauses and all
 * arguments are columns, cells of the engine go to the accumulators that want
 * them, and nothing else of the row is looked at.  Otherwise the row reader makes
 * SQL values of the columns, which clauses and arguments are evaluated on.
 *
 * Groups are told apart by the bytes of the key: the leading parts are a prefix
 * of it, and equal values are equal bytes (aggregate.c sees to that).
 *
 * Memory: values of a group (its key, least values, sums) live in groupcxt, which
 * is reset at the next group; what decoding leaves behind in the scan's rowcxt,
 * reset at each row.
 */
#include "fdw/plan/aggregate_plan.h"

#include <math.h>

#include "common/int.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

typedef struct AggItem
{
	int			entry;			/* in the scan tuple */
	WtAggKind	kind;
	Oid			type;
	int			column;			/* index into columns, -1: an expression, or none */
	bool		integer;		/* type is int2, int4, int8 */
	bool		by_integer;		/* min, max: compared as integers */
	WtWidth		width;
	int16		typlen;
	bool		typbyval;
	FmgrInfo	compare;
	Oid			collation;
	ExprState  *arg;
	ExprState  *filter;
	/* the group's */
	int64		n;				/* values that were not null */
	int64		sum;			/* of integers, without those in total; min, max by_integer: the value */
	Numeric		total;			/* NULL: nothing yet */
	float4		sum4;
	float8		sum8;
	float8		squares;		/* of the differences from the mean, for its overflow alone */
	Datum		value;			/* min, max, booleans */
} AggItem;

/* The accumulators that a column feeds */
typedef struct Sink
{
	int			n;
	AggItem	  **items;
	const WtColumn *column;
} Sink;

struct WtAggState
{
	WtScanState *scan;
	WtTable    *t;
	int			parts;			/* of the key that make a group; 0: one group */
	bool		one_row;		/* the first row of a group says all */
	bool		plain;			/* clauses and arguments permit to read cells directly */
	bool		direct;			/* and the columns do */
	int			nitems;
	AggItem	   *items;
	int			ncolumns;
	int		   *columns;		/* of the scan tuple: attribute numbers, 0: an aggregate */
	List	   *quals;			/* expressions */
	ExprState  *qual;
	ExprContext *econtext;		/* for clauses and arguments */
	TupleTableSlot *row_slot;
	Datum	   *values;			/* by attribute, of the row reader */
	bool	   *nulls;
	Sink	  **sinks;			/* direct: by family of the specification, column */
	int			sinks_of;		/* the scan's opens when they were made */
	bool	   *need_part;		/* direct: parts of the key that are arguments */
	bool		any_part;
	Datum	   *part_values;
	bool	   *part_nulls;
	bool	   *group_part;		/* parts of the key that the scan tuple shows */
	size_t		key_length;		/* of all keys, salt included; 0: it differs */
	bool		row_used;		/* something was left in rowcxt */
	wide_row	row;			/* direct: the present one */
	WtScan	   *from;
	wide_bytes	key;			/* of the present row */
	bool		pending;		/* the present row begins the next group */
	bool		done;
	int64		group_rows;
	WtLoose		group;			/* the present group's prefix; the filter of loose scans */
	MemoryContext groupcxt;
	uint64		rows;			/* that were aggregated */
	uint64		removed;		/* that the clauses left out */
};

/* ------------------------------------------------------------ accumulators */

static void
reset_item(AggItem *item)
{
	item->n = 0;
	item->sum = 0;
	item->total = NULL;
	item->sum4 = 0;
	item->sum8 = 0;
	item->squares = 0;
	item->value = (Datum) 0;
}

/* total += v; what it was before is freed */
static void
add_numeric(WtAggState *a, AggItem *item, Numeric v)
{
	MemoryContext old = MemoryContextSwitchTo(a->groupcxt);
	Numeric		before = item->total;

	if (before == NULL)
		item->total = DatumGetNumericCopy(NumericGetDatum(v));
	else
	{
		item->total = DatumGetNumeric(DirectFunctionCall2(numeric_add, NumericGetDatum(before), NumericGetDatum(v)));
		pfree(before);
	}
	MemoryContextSwitchTo(old);
}

static inline void
add_integer(WtAggState *a, AggItem *item, int64 v)
{
	int64		sum;

	item->n++;
	switch (item->kind)
	{
		case WT_AGG_MIN:
			if (item->n == 1 || v < item->sum)
				item->sum = v;
			break;
		case WT_AGG_MAX:
			if (item->n == 1 || v > item->sum)
				item->sum = v;
			break;
		default:
			if (unlikely(pg_add_s64_overflow(item->sum, v, &sum)))
			{
				Numeric		part = int64_to_numeric(item->sum);

				add_numeric(a, item, part);
				pfree(part);
				sum = v;
			}
			item->sum = sum;
	}
}

/*
 * As float8_accum: the mean needs the sum alone, but an overflow of the squares
 * is an error there too.
 */
static void
add_to_mean(AggItem *item, float8 v)
{
	float8		before = item->sum8;
	float8		n = (float8) ++item->n;

	item->sum8 += v;
	if (n > 1)
	{
		float8		d = v * n - item->sum8;

		item->squares += d * d / (n * (n - 1));
		if (isinf(item->sum8) || isinf(item->squares))
		{
			if (!isinf(before) && !isinf(v))
				float_overflow_error();
			item->squares = get_float8_nan();
		}
	}
	else if (isnan(v) || isinf(v))
		item->squares = get_float8_nan();
}

static void
keep_extreme(WtAggState *a, AggItem *item, Datum v)
{
	if (++item->n > 1)
	{
		int			c = DatumGetInt32(FunctionCall2Coll(&item->compare, item->collation, item->value, v));

		/* of equal values the last one, as PostgreSQL's functions have it */
		if (item->kind == WT_AGG_MIN ? c < 0 : c > 0)
			return;
		if (!item->typbyval)
			pfree(DatumGetPointer(item->value));
	}
	if (item->typbyval)
		item->value = v;
	else
	{
		MemoryContext old = MemoryContextSwitchTo(a->groupcxt);

		/* not datumCopy of a toasted or expanded value as it is */
		item->value = item->typlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(v)) : datumCopy(v, false, item->typlen);
		MemoryContextSwitchTo(old);
	}
}

static inline int64
datum_integer(Oid type, Datum v)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(v);
		case INT4OID:
		case DATEOID:
			return DatumGetInt32(v);
		default:
			return DatumGetInt64(v);
	}
}

/* A value that is not null */
static void
add_datum(WtAggState *a, AggItem *item, Datum v)
{
	if (item->integer || item->by_integer)
	{
		add_integer(a, item, datum_integer(item->type, v));
		return;
	}
	switch (item->kind)
	{
		case WT_AGG_MIN:
		case WT_AGG_MAX:
			keep_extreme(a, item, v);
			break;
		case WT_AGG_SUM_FLOAT4:
			item->sum4 = item->n++ == 0 ? DatumGetFloat4(v) : float4_pl(item->sum4, DatumGetFloat4(v));
			break;
		case WT_AGG_SUM_FLOAT8:
			item->sum8 = item->n++ == 0 ? DatumGetFloat8(v) : float8_pl(item->sum8, DatumGetFloat8(v));
			break;
		case WT_AGG_AVG_FLOAT:
			add_to_mean(item, item->type == FLOAT4OID ? (float8) DatumGetFloat4(v) : DatumGetFloat8(v));
			break;
		case WT_AGG_SUM_NUMERIC:
		case WT_AGG_AVG_NUMERIC:
			item->n++;
			add_numeric(a, item, DatumGetNumeric(v));
			break;
		case WT_AGG_BOOL_AND:
			item->value = BoolGetDatum((item->n++ == 0 || DatumGetBool(item->value)) && DatumGetBool(v));
			break;
		case WT_AGG_BOOL_OR:
			item->value = BoolGetDatum((item->n++ > 0 && DatumGetBool(item->value)) || DatumGetBool(v));
			break;
		default:
			item->n++;
	}
}

static Datum
mean(Numeric sum, int64 n)
{
	return DirectFunctionCall2(numeric_div, NumericGetDatum(sum), NumericGetDatum(int64_to_numeric(n)));
}

/* The aggregate's result, in CurrentMemoryContext. */
static Datum
finish_item(WtAggState *a, AggItem *item, bool *isnull)
{
	*isnull = item->n == 0;
	if (item->kind == WT_AGG_COUNT_ROWS || item->kind == WT_AGG_COUNT)
	{
		*isnull = false;
		return Int64GetDatum(item->kind == WT_AGG_COUNT ? item->n : a->group_rows);
	}
	if (*isnull)
		return (Datum) 0;
	switch (item->kind)
	{
		case WT_AGG_MIN:
		case WT_AGG_MAX:
			return item->by_integer ? wt_integer_datum(item->type, item->sum) : item->value;
		case WT_AGG_SUM_INT8:
		case WT_AGG_AVG_INT:
			add_numeric(a, item, int64_to_numeric(item->sum));
			return item->kind == WT_AGG_AVG_INT ? mean(item->total, item->n) : NumericGetDatum(item->total);
		case WT_AGG_SUM_INT:
			if (item->total != NULL)
				ereport(ERROR,
						(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						 errmsg("bigint out of range")));
			return Int64GetDatum(item->sum);
		case WT_AGG_SUM_FLOAT4:
			return Float4GetDatum(item->sum4);
		case WT_AGG_SUM_FLOAT8:
			return Float8GetDatum(item->sum8);
		case WT_AGG_AVG_FLOAT:
			return Float8GetDatum(item->sum8 / (float8) item->n);
		case WT_AGG_AVG_NUMERIC:
			return mean(item->total, item->n);
		case WT_AGG_SUM_NUMERIC:
			return NumericGetDatum(item->total);
		default:
			return item->value;
	}
}

/* ------------------------------------------------------------------- begin */

/* Are values of the type ordered as integers by this comparison? */
static bool
compares_as_integer(Oid type, Oid compare)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc == compare;
		default:
			return false;
	}
}

static void
begin_item(WtAggState *a, AggItem *item, List *list, List *exprs, PlanState *ps)
{
	int			column = (int) list_nth_oid(list, WtAggItemColumn);
	int			arg = (int) list_nth_oid(list, WtAggItemArgument),
				filter = (int) list_nth_oid(list, WtAggItemFilter);
	Oid			compare = list_nth_oid(list, WtAggItemCompare);

	item->entry = (int) list_nth_oid(list, WtAggItemEntry);
	item->kind = (WtAggKind) list_nth_oid(list, WtAggItemKind);
	item->type = list_nth_oid(list, WtAggItemType);
	item->collation = list_nth_oid(list, WtAggItemCollation);
	item->column = column - 1;
	item->integer = item->kind == WT_AGG_SUM_INT || item->kind == WT_AGG_SUM_INT8 || item->kind == WT_AGG_AVG_INT;
	if (OidIsValid(item->type))
	{
		item->type = getBaseType(item->type);
		get_typlenbyval(item->type, &item->typlen, &item->typbyval);
	}
	if (OidIsValid(compare))
	{
		fmgr_info(compare, &item->compare);
		item->by_integer = compares_as_integer(item->type, compare);
	}
	if (arg > 0)
		item->arg = ExecInitExpr(list_nth(exprs, arg), ps);
	if (filter > 0)
	{
		item->filter = ExecInitQual(list_make1(list_nth(exprs, filter)), ps);
		/* not all rows of the group */
		if (item->kind == WT_AGG_COUNT_ROWS)
			item->kind = WT_AGG_COUNT;
	}
	if (column > 0 && (item->integer || item->by_integer))
		item->width = wt_integer_width(&a->t->columns[item->column]);
	if (item->filter != NULL || (item->kind != WT_AGG_COUNT_ROWS && column == 0))
		a->plain = false;
	else if (column > 0)
	{
		const WtColumn *c = &a->t->columns[item->column];

		if (c->role == WT_KEY && c->enc != WT_ENC_MD5 && c->enc != WT_ENC_SHA1)
			a->need_part[c->part] = a->any_part = true;
		else if (c->role != WT_CELL)
			a->plain = false;
	}
}

/* The bytes that all keys have, 0 if they differ. */
static size_t
key_length(WtTable *t)
{
	size_t		n = t->salt_buckets > 0 ? 1 : 0;

	for (int i = 0; i < t->nkeys; i++)
	{
		const WtColumn *c = wt_key_column(t, i);

		if (c->fixed_len <= 0)
			return 0;
		n += (size_t) c->fixed_len;
	}
	return n;
}

void
wt_aggregate_begin(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	WtAggState *a = palloc0(sizeof(WtAggState));
	int			nargs = wt_aggregate_shape(plan, 0),
				nquals = wt_aggregate_shape(plan, 1);
	List	   *columns = list_nth(plan->fdw_private, WtAggColumns),
			   *items = list_nth(plan->fdw_private, WtAggItems);
	ListCell   *lc;

	node->fdw_state = a;
	a->scan = wt_scan_begin(linitial_oid(list_nth(plan->fdw_private, WtAggRelid)), list_nth(plan->fdw_private, WtAggScan),
							list_truncate(list_copy(plan->fdw_exprs), nargs), &node->ss.ps, false);
	a->t = a->scan->t;
	a->parts = wt_aggregate_shape(plan, 2);
	a->one_row = wt_aggregate_shape(plan, 3) != 0;
	a->values = palloc0(sizeof(Datum) * Max(1, a->t->natts));
	a->nulls = palloc0(sizeof(bool) * Max(1, a->t->natts));
	a->need_part = palloc0(sizeof(bool) * a->t->nkeys);
	a->group_part = palloc0(sizeof(bool) * a->t->nkeys);
	a->part_values = palloc0(sizeof(Datum) * a->t->nkeys);
	a->part_nulls = palloc0(sizeof(bool) * a->t->nkeys);
	a->columns = palloc0(sizeof(int) * Max(1, list_length(columns)));
	foreach(lc, columns)
	{
		const WtColumn *c = lfirst_int(lc) > 0 ? &a->t->columns[lfirst_int(lc) - 1] : NULL;

		a->columns[a->ncolumns++] = lfirst_int(lc);
		if (c != NULL && c->role == WT_KEY && c->part < a->parts)
			a->group_part[c->part] = true;
	}
	a->qual = ExecInitQual(list_truncate(list_copy_tail(plan->fdw_exprs, nargs), nquals), &node->ss.ps);
	a->plain = a->qual == NULL && !a->t->cells_layout;
	a->items = palloc0(sizeof(AggItem) * Max(1, list_length(items)));
	foreach(lc, items)
		begin_item(a, &a->items[a->nitems++], lfirst(lc), plan->fdw_exprs, &node->ss.ps);
	a->row_used = true;
	a->key_length = key_length(a->t);
	a->econtext = CreateExprContext(node->ss.ps.state);
	a->row_slot = MakeSingleTupleTableSlot(node->ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsVirtual);
	a->groupcxt = AllocSetContextCreate(CurrentMemoryContext, "widetable group", ALLOCSET_SMALL_SIZES);
	a->group.t = a->t;
	a->group.reverse = a->scan->reverse;
	a->group.whole = a->parts == a->t->nkeys;
	initStringInfo(&a->group.prefix);
	initStringInfo(&a->group.seek);
	if (a->one_row)
		a->scan->loose = &a->group;
}

void
wt_aggregate_again(ForeignScanState *node)
{
	WtAggState *a = node->fdw_state;

	a->done = a->pending = false;
	resetStringInfo(&a->group.prefix);
	wt_scan_again(a->scan);
}

void
wt_aggregate_end(ForeignScanState *node)
{
	WtAggState *a = node->fdw_state;

	ExecDropSingleTupleTableSlot(a->row_slot);
	wt_scan_end(a->scan);
}

WtScanState *
wt_aggregate_scan(ForeignScanState *node, uint64 *rows, uint64 *removed)
{
	WtAggState *a = node->fdw_state;

	*rows = a->rows;
	*removed = a->removed;
	return a->scan;
}

/* ------------------------------------------------------------------ direct */

/*
 * Which accumulators want which of the reader's cells.  A family that is read by
 * qualifier has cells for maps or of many columns: the row reader does that.
 */
static bool
make_sinks(WtAggState *a)
{
	WtRowReader *r = a->scan->reader;

	a->sinks = palloc0(sizeof(Sink *) * Max(1, r->nfamilies));
	for (int f = 0; f < r->nfamilies; f++)
	{
		WtReadFamily *rf = &r->families[f];

		if (rf->nmaps > 0 || a->scan->spec.families[f].want == WIDE_WANT_ALL)
			return false;
		a->sinks[f] = palloc0(sizeof(Sink) * Max(1, rf->nmapped));
		for (int m = 0; m < rf->nmapped; m++)
		{
			Sink	   *sink = &a->sinks[f][m];

			sink->items = palloc0(sizeof(AggItem *) * Max(1, a->nitems));
			for (WtTarget *target = rf->mapped[m].targets; target != NULL; target = target->next)
				for (int i = 0; i < a->nitems; i++)
					if (a->items[i].column == target->att)
					{
						/* several columns on one cell may have several encodings */
						if (sink->column != NULL && sink->column != target->column)
							return false;
						sink->column = target->column;
						sink->items[sink->n++] = &a->items[i];
					}
		}
	}
	return true;
}

static inline void
take_cell(WtAggState *a, const wide_cell *cell)
{
	const Sink *sink = &a->sinks[cell->family][cell->column];
	Datum		value = (Datum) 0;
	bool		decoded = false;

	for (int i = 0; i < sink->n; i++)
	{
		AggItem	   *item = sink->items[i];
		int64		v;

		if (item->kind == WT_AGG_COUNT)
			item->n++;
		else if (wt_read_integer(&item->width, cell->value, &v))
			add_integer(a, item, v);
		else
		{
			if (!decoded)
			{
				MemoryContext old = MemoryContextSwitchTo(a->scan->rowcxt);

				a->row_used = true;
				value = wt_decode(sink->column, a->t, a->key, cell->value.data, cell->value.len);
				MemoryContextSwitchTo(old);
				decoded = true;
			}
			add_datum(a, item, value);
		}
	}
}

/* The present row's cells and parts of its key */
static void
take_row_directly(WtAggState *a)
{
	if (a->any_part)
		for (int i = 0; i < a->nitems; i++)
		{
			AggItem	   *item = &a->items[i];
			const WtColumn *c = item->column < 0 ? NULL : &a->t->columns[item->column];

			if (c != NULL && c->role == WT_KEY && a->need_part[c->part] && !a->part_nulls[c->part])
				add_datum(a, item, a->part_values[c->part]);
		}
	for (;;)
	{
		for (int i = 0; i < a->row.ncells; i++)
			take_cell(a, &a->row.cells[i]);
		if (!a->row.more || !wt_scan_next(a->from, &a->row))
			break;
	}
}

/* The rest of a row that is not taken */
static void
pass_row(WtAggState *a)
{
	while (a->row.more && wt_scan_next(a->from, &a->row))
		;
	a->row.more = false;
}

/* Do the parts of the key end where it ends? */
static inline bool
key_fits(const WtAggState *a)
{
	if (a->key_length > 0 && a->row.key.len == a->key_length)
		return true;
	return wt_key_prefix_length(a->t, a->row.key, a->t->nkeys) == a->row.key.len;
}

static inline bool
next_row_directly(WtAggState *a)
{
	MemoryContext old;
	bool		good;

	if (a->row_used)
		MemoryContextReset(a->scan->rowcxt);
	a->row_used = false;
	do
	{
		if (!wt_source_next(&a->scan->source, &a->row, &a->from))
			return false;
		/* nothing of the key is asked: it is enough that it is whole */
		if (!a->any_part && !a->t->bad_key_skip && key_fits(a))
			break;
		a->row_used = true;
		old = MemoryContextSwitchTo(a->scan->rowcxt);
		/* as the row reader: which keys are left out does not depend on what is asked */
		good = wt_key_decode(a->t, a->row.key, a->t->bad_key_skip ? NULL : a->need_part, a->part_values, a->part_nulls);
		MemoryContextSwitchTo(old);
		if (!good)
		{
			a->scan->reader->bad_keys++;
			pass_row(a);
		}
	} while (!good);
	if (a->row.unsure)
		wt_scan_unsure(a->scan, a->row.key);
	a->key = a->row.key;
	return true;
}

/* -------------------------------------------------------------- row reader */

static bool
next_row_read(WtAggState *a)
{
	TupleTableSlot *slot = a->row_slot;

	for (;;)
	{
		if (!wt_scan_fetch(a->scan, a->values, a->nulls))
			return false;
		a->key = a->scan->reader->at;
		ExecClearTuple(slot);
		for (int i = 0; i < a->ncolumns; i++)
		{
			int			att = a->columns[i] - 1;

			slot->tts_isnull[i] = att < 0 || a->nulls[att];
			slot->tts_values[i] = slot->tts_isnull[i] ? (Datum) 0 : a->values[att];
		}
		ExecStoreVirtualTuple(slot);
		a->econtext->ecxt_scantuple = slot;
		ResetExprContext(a->econtext);
		if (a->qual == NULL || ExecQual(a->qual, a->econtext))
			return true;
		a->removed++;
		CHECK_FOR_INTERRUPTS();
	}
}

static void
take_row_read(WtAggState *a)
{
	for (int i = 0; i < a->nitems; i++)
	{
		AggItem	   *item = &a->items[i];
		Datum		v = (Datum) 0;
		bool		isnull = false;

		if (item->filter != NULL && !ExecQual(item->filter, a->econtext))
			continue;
		if (item->arg != NULL)
			v = ExecEvalExprSwitchContext(item->arg, a->econtext, &isnull);
		if (!isnull)
			add_datum(a, item, v);
	}
}

/* ------------------------------------------------------------------ groups */

wide_row_verdict
wt_loose_filter(void *arg, wide_bytes key, wide_bytes *seek)
{
	WtLoose    *l = arg;
	size_t		salt = l->t->salt_buckets > 0 ? 1 : 0;
	size_t		n = (size_t) l->prefix.len;
	bool		there;

	if (n == 0 || key.len < salt + n || memcmp(key.data + salt, l->prefix.data, n) != 0 ||
		(l->whole && key.len != salt + n))
		return l->inner ? l->inner(l->inner_arg, key, seek) : WIDE_ROW_ACCEPT;
	/* seek has room for the prefix, the salt and one byte more: the engine allows no error in here */
	if (salt)
		l->seek.data[0] = (char) key.data[0];
	memcpy(l->seek.data + salt, l->prefix.data, n);
	if (l->reverse)
		there = true;
	else if (l->whole)
	{
		l->seek.data[salt + n++] = '\0';
		there = true;
	}
	else
	{
		while (n > 0 && (uint8) l->seek.data[salt + n - 1] == 0xFF)
			n--;
		there = n > 0;
		if (there)
			l->seek.data[salt + n - 1]++;
	}
	if (!there)
		return WIDE_ROW_SKIP;
	*seek = (wide_bytes) {(uint8 *) l->seek.data, salt + n};
	return WIDE_ROW_SEEK;
}

static inline bool
same_group(WtAggState *a)
{
	const WtLoose *g = &a->group;
	size_t		salt = a->t->salt_buckets > 0 ? 1 : 0;
	size_t		n = (size_t) g->prefix.len;

	if (a->parts == 0)
		return true;
	if (g->whole ? a->key.len != salt + n : a->key.len < salt + n)
		return false;
	return memcmp(a->key.data + salt, g->prefix.data, n) == 0;
}

/* The present row begins a group: its prefix and key values. */
static void
begin_group(WtAggState *a)
{
	size_t		salt = a->t->salt_buckets > 0 ? 1 : 0;
	size_t		n;

	MemoryContextReset(a->groupcxt);
	a->group_rows = 0;
	for (int i = 0; i < a->nitems; i++)
		reset_item(&a->items[i]);
	if (a->parts == 0)
		return;
	n = a->group.whole ? a->key.len : wt_key_prefix_length(a->t, a->key, a->parts);
	resetStringInfo(&a->group.prefix);
	appendBinaryStringInfo(&a->group.prefix, (const char *) a->key.data + salt, (int) (n - salt));
	resetStringInfo(&a->group.seek);
	enlargeStringInfo(&a->group.seek, (int) n + 2);
}

/* The scan tuple of a group */
static void
fill_group(WtAggState *a, TupleTableSlot *slot, const Datum *keys, const bool *nokeys)
{
	for (int i = 0; i < a->ncolumns; i++)
	{
		const WtColumn *c = a->columns[i] > 0 ? &a->t->columns[a->columns[i] - 1] : NULL;

		slot->tts_isnull[i] = true;
		slot->tts_values[i] = (Datum) 0;
		if (c != NULL && c->role == WT_KEY && c->part < a->parts)
		{
			slot->tts_values[i] = keys[c->part];
			slot->tts_isnull[i] = nokeys[c->part];
		}
	}
	for (int i = 0; i < a->nitems; i++)
		slot->tts_values[a->items[i].entry] = finish_item(a, &a->items[i], &slot->tts_isnull[a->items[i].entry]);
}

static inline bool
next_row(WtAggState *a)
{
	return a->direct ? next_row_directly(a) : next_row_read(a);
}

static inline void
take_row(WtAggState *a)
{
	a->group_rows++;
	if (a->direct)
		take_row_directly(a);
	else
		take_row_read(a);
}

/* The first row of all.  false: there is none. */
static bool
first_row(WtAggState *a)
{
	if (!wt_scan_start(a->scan))
		return false;
	/* they lie in the memory of the reader, which may be another one now */
	if (a->sinks_of != a->scan->opens)
	{
		MemoryContext old = MemoryContextSwitchTo(a->scan->opencxt);

		a->direct = a->plain && make_sinks(a);
		MemoryContextSwitchTo(old);
		a->sinks_of = a->scan->opens;
	}
	return next_row(a);
}

/* The rows of one group; all must be told in memory that outlives the row. */
static void
aggregate_group(WtAggState *a)
{
	take_row(a);
	while ((a->pending = next_row(a)) && same_group(a))
	{
		if (!a->one_row)
			take_row(a);
		else if (a->direct)
			pass_row(a);
	}
	a->done = !a->pending;
}

TupleTableSlot *
wt_aggregate_next(ForeignScanState *node)
{
	WtAggState *a = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	Datum	   *keys;
	bool	   *nokeys;
	MemoryContext old;
	bool		begun = a->pending;

	ExecClearTuple(slot);
	if (a->done)
		return slot;
	if (!a->pending && !first_row(a))
	{
		a->done = true;
		if (a->parts > 0)
			return slot;
		/* no rows are a group too */
		a->key = (wide_bytes) {NULL, 0};
	}
	else
		begun = true;
	begin_group(a);
	old = MemoryContextSwitchTo(a->groupcxt);
	keys = palloc0(sizeof(Datum) * a->t->nkeys);
	nokeys = palloc0(sizeof(bool) * a->t->nkeys);
	if (a->parts > 0)
		(void) wt_key_decode(a->t, a->key, a->group_part, keys, nokeys);
	MemoryContextSwitchTo(old);
	if (begun)
		aggregate_group(a);
	a->rows += a->group_rows;
	old = MemoryContextSwitchTo(a->groupcxt);
	fill_group(a, slot, keys, nokeys);
	MemoryContextSwitchTo(old);
	return ExecStoreVirtualTuple(slot);
}

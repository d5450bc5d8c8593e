/*
 * cell_predicate.c
 *		Conditions on cells as the engine's predicates on bytes.
 *
 * The planner recognises the clauses (cell_clause.c).  When a scan begins and the values are
 * known, each becomes one or several predicates (wt_cell_predicate_make).
 *
 * Invariant: the engine leaves out a row only if the clause is not true of it, and returns a row
 * without "unsure" only if the clause is true.  (Clauses that are not exact are the exception:
 * PostgreSQL tests them again.)  Therefore:
 *
 *	- Only encodings in which equal values have equal bytes are compared, and for < and > only
 *	  those that keep the order.  Decimal and hexadecimal text has many spellings of one number
 *	  and is left to PostgreSQL.
 *	- The collation that counts is the operator's.  Equality of text is equality of bytes under
 *	  every deterministic collation; order is order of bytes only under C.
 *	- A value that the column cannot hold lies between two values that it can, or outside all of
 *	  them, and the operator changes accordingly (WtValueFate).
 *	- An entry of a map, m->>'q', is the cell that the map shows there.  Its value is text, or \x
 *	  and digits if the bytes are no text, so the order is not that of bytes.
 *	- A cell whose width is not its column's makes the row unsure, and the scan raises the error
 *	  that decoding the cell raises.
 *	- A timestamp beyond PostgreSQL's range is shown as infinity, so one value may stand for many
 *	  timestamps (compare_time).
 *
 * No data is read.  Locking: none.
 */
#include "postgres.h"

#include "fdw/plan/cell_predicate.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "port/pg_bswap.h"
#include "utils/timestamp.h"

#include "fdw/ddl/engine_table.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/plan/cell_clause.h"
#include "fdw/plan/plan_private.h"
#include "fdw/row/reader.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/encode.h"
#include "fdw/table/types.h"

/*
 * A separate entry of the scan for a condition on time pays if it leaves at most this share of
 * the family's bytes to read.
 */
#define WORTH_AN_ENTRY 0.5

/* What is known of an alternative before the scan begins. */
typedef enum Outcome
{
	NEVER,	/* true of no row */
	ALWAYS, /* true of every row */
	TESTED	/* predicates have been added */
} Outcome;

typedef struct Build
{
	WtTable *t;
	WtEngineTable *e;
	WtPredicates *out;
	int clause;
} Build;

static Outcome
add_predicate(Build *b, const WtColumn *c, wide_op op, wide_bytes *values, int n)
{
	WtCellOrder order;
	wide_predicate *p;

	/* a family that the engine does not have yet has no cells */
	if (b->e->families[c->family] == 0)
		return op == WIDE_OP_IS_NULL ? ALWAYS : NEVER;
	p = &b->out->list[b->out->n++];
	memset(p, 0, sizeof(*p));
	p->family = c->family;
	p->clause = b->clause;
	p->op = op;
	p->qualifier = (wide_bytes) {c->qual ? c->qual : (const uint8 *) "", c->qual_len};
	p->values = values;
	p->nvalues = n;
	if (values != NULL && wt_cell_clause_order(c, &order))
	{
		p->kind = order.kind;
		p->width = order.width;
	}
	return TESTED;
}

static wide_bytes
varlena_bytes(Datum value)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(value);

	return (wide_bytes) {(const uint8 *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v)};
}

static wide_bytes
encoded(const WtColumn *c, Datum value)
{
	StringInfoData s;
	uint8 *data;

	initStringInfo(&s);
	wt_encode(c, value, &s);
	/* an array may have many elements, and s would take a kilobyte for each */
	data = memcpy(palloc(Max(1, s.len)), s.data, s.len);
	pfree(s.data);
	return (wide_bytes) {data, (size_t) s.len};
}

static Outcome
add_value(Build *b, const WtColumn *c, wide_op op, wide_bytes value)
{
	wide_bytes *values = palloc(sizeof(wide_bytes));

	*values = value;
	return add_predicate(b, c, op, values, 1);
}

/*
 * A map's entry is shown as text: sets out to the one or two byte strings that are shown as this
 * value, and returns their number.
 */
static int
entry_bytes(Datum value, wide_bytes *out)
{
	StringInfoData s;
	wide_bytes shown = varlena_bytes(value);

	out[0] = shown;
	initStringInfo(&s);
	wt_bytes_text_unshow((const char *) shown.data, shown.len, &s);
	out[1] = wt_bytes_of(&s);
	return wt_bytes_cmp(out[0], out[1]) == 0 ? 1 : 2;
}

/* Returns whether (a OP b) holds for booleans. */
static bool
holds(WtKind kind, bool a, bool b)
{
	switch (kind)
	{
		case WT_COND_EQ:
			return a == b;
		case WT_COND_NE:
			return a != b;
		case WT_COND_LT:
			return a < b;
		case WT_COND_LE:
			return a <= b;
		case WT_COND_GT:
			return a > b;
		default:
			return a >= b;
	}
}

/* A boolean cell is false if its byte is 00, and else true. */
static Outcome
bool_predicate(Build *b, const WtColumn *c, WtKind kind, bool value)
{
	bool of_false = holds(kind, false, value), of_true = holds(kind, true, value);

	if (of_false && of_true)
		return add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
	if (!of_false && !of_true)
		return NEVER;
	return add_value(b, c, of_true ? WIDE_OP_NE : WIDE_OP_EQ,
					 (wide_bytes) {(const uint8 *) "\0", 1});
}

/*
 * Sets *out to the first timestamp that is shown as t or later (fdw/row/reader.c).  Returns false
 * if there is none.
 */
static bool
first_shown(const WtColumn *c, int64 t, int64 *out)
{
	*out = t;
	if (c->typid == INT8OID || t == DT_NOBEGIN)
		return true;
	t = Max(t, MIN_TIMESTAMP);
	*out = t <= PG_INT64_MAX - WT_EPOCH_DIFF ? t + WT_EPOCH_DIFF : PG_INT64_MAX;
	return t <= PG_INT64_MAX - WT_EPOCH_DIFF;
}

/* Returns the value as one of the column's type, or the next one in order. */
static int64
time_of(const WtColumn *c, const WtArg *arg)
{
	Datum value = arg->value;

	if (wt_key_value_adapt(c, arg->type, &value) == WT_VALUE_BEHIND)
		return DatumGetTimestamp(value) + 1;
	return DatumGetInt64(value);
}

static Outcome
add_time(Build *b, const WtColumn *c, wide_op op, int64 ts)
{
	uint64 big = pg_hton64((uint64) ts);

	return add_value(b, c, op,
					 (wide_bytes) {memcpy(palloc(sizeof(big)), &big, sizeof(big)), sizeof(big)});
}

/*
 * timestamp OP value.  `from` is the first timestamp that is shown as the value or as a later one,
 * `to` the first that is shown as a later one.
 */
static Outcome
compare_time(Build *b, const WtColumn *c, WtKind kind, const WtArg *arg)
{
	int64 t = time_of(c, arg), from, to;
	bool some_from = first_shown(c, t, &from),
		 some_to = t < PG_INT64_MAX && first_shown(c, t + 1, &to);

	switch (kind)
	{
		case WT_COND_GE:
			return some_from ? add_time(b, c, WIDE_OP_GE, from) : NEVER;
		case WT_COND_GT:
			return some_to ? add_time(b, c, WIDE_OP_GE, to) : NEVER;
		case WT_COND_LT:
			return some_from ? add_time(b, c, WIDE_OP_LT, from)
							 : add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
		case WT_COND_LE:
			return some_to ? add_time(b, c, WIDE_OP_LT, to)
						   : add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
		default:
			break;
	}
	if (!some_from || (some_to && from == to))
		return kind == WT_COND_EQ ? NEVER : add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
	if (!some_to)
		return add_time(b, c, kind == WT_COND_EQ ? WIDE_OP_GE : WIDE_OP_LT, from);
	if (to - 1 > from) /* only -infinity, which many timestamps are shown as */
		return add_time(b, c, kind == WT_COND_EQ ? WIDE_OP_LT : WIDE_OP_GE, to);
	return add_time(b, c, kind == WT_COND_EQ ? WIDE_OP_EQ : WIDE_OP_NE, from);
}

/* column OP value, for a value that is not null */
static Outcome
compare(Build *b, const WtColumn *c, WtKind kind, const WtArg *arg)
{
	static const wide_op ops[] = {
		[WT_COND_EQ] = WIDE_OP_EQ, [WT_COND_NE] = WIDE_OP_NE, [WT_COND_LT] = WIDE_OP_LT,
		[WT_COND_LE] = WIDE_OP_LE, [WT_COND_GT] = WIDE_OP_GT, [WT_COND_GE] = WIDE_OP_GE};
	static const wide_op turned[] = {
		[WT_COND_EQ] = WIDE_OP_EQ, [WT_COND_NE] = WIDE_OP_NE, [WT_COND_LT] = WIDE_OP_GT,
		[WT_COND_LE] = WIDE_OP_GE, [WT_COND_GT] = WIDE_OP_LT, [WT_COND_GE] = WIDE_OP_LE};
	bool less = kind == WT_COND_LT || kind == WT_COND_LE;
	Datum value = arg->value;
	WtValueFate fate;
	WtCellOrder order;

	if (c->role == WT_TIMESTAMP_OF)
		return compare_time(b, c, kind, arg);
	fate = wt_key_value_adapt(c, arg->type, &value);
	if (c->typid == BOOLOID)
		return bool_predicate(b, c, kind, DatumGetBool(value));
	if (c->role == WT_MAP)
	{
		wide_bytes *bytes = palloc(sizeof(wide_bytes) * 2);
		int n = entry_bytes(value, bytes);

		return add_predicate(b, c, kind == WT_COND_EQ ? WIDE_OP_IN : WIDE_OP_NOT_IN, bytes, n);
	}
	if (fate != WT_VALUE_OK)
	{
		if (kind == WT_COND_EQ)
			return NEVER;
		if (kind == WT_COND_NE || fate == (less ? WT_VALUE_ABOVE : WT_VALUE_BELOW))
			return add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
		if (fate != WT_VALUE_BEHIND)
			return NEVER;
		kind = less ? WT_COND_LE : WT_COND_GT;
	}
	(void) wt_cell_clause_order(c, &order);
	return add_value(b, c, order.inverted ? turned[kind] : ops[kind], encoded(c, value));
}

/* = ANY, <> ALL */
static Outcome
compare_array(Build *b, const WtColumn *c, bool any, const WtArg *arg)
{
	Datum *elements;
	bool *nulls;
	int count = wt_key_value_elements(arg->value, &elements, &nulls), n = 0;
	wide_bytes *values;

	if (count == 0)
		return any ? NEVER : ALWAYS;
	values = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(wide_bytes) * 2 * (Size) count);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		/* <> NULL is never true */
		if (nulls[i] && !any)
			return NEVER;
		if (!nulls[i] && c->role == WT_MAP)
			n += entry_bytes(elements[i], &values[n]);
		else if (!nulls[i] && wt_key_value_adapt(c, arg->type, &elements[i]) == WT_VALUE_OK)
			values[n++] = encoded(c, elements[i]);
	}
	if (n == 0)
		return any ? NEVER : add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
	return add_predicate(b, c, any ? WIDE_OP_IN : WIDE_OP_NOT_IN, values, n);
}

/* The prefix of a pattern; PostgreSQL tests the rest. */
static Outcome
pattern_predicate(Build *b, const WtColumn *c, wide_bytes pattern)
{
	StringInfoData prefix;

	initStringInfo(&prefix);
	(void) wt_key_value_like_prefix((const char *) pattern.data, (int) pattern.len, &prefix);
	return add_value(b, c, WIDE_OP_PREFIX, wt_bytes_of(&prefix));
}

/* IS DISTINCT FROM */
static Outcome
distinct(Build *b, const WtColumn *c, const WtArg *arg)
{
	if (arg->isnull)
		return add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
	if (add_predicate(b, c, WIDE_OP_IS_NULL, NULL, 0) == ALWAYS)
		return ALWAYS;
	(void) compare(b, c, WT_COND_NE, arg);
	return TESTED;
}

/* Adds the predicates of one alternative. */
static Outcome
add_alternative(Build *b, const WtLeaf *leaf, const WtArg *args)
{
	const WtColumn *c = &b->t->columns[leaf->attno - 1];
	const WtArg *arg = leaf->arg >= 0 ? &args[leaf->arg] : NULL;

	if (leaf->key >= 0)
	{
		wide_bytes key = varlena_bytes(args[leaf->key].value);

		c = wt_cell_clause_map_entry(c, (const char *) key.data, (int) key.len);
	}
	switch (leaf->kind)
	{
		case WT_COND_NULL:
			return add_predicate(b, c, WIDE_OP_IS_NULL, NULL, 0);
		case WT_COND_NOT_NULL:
			return add_predicate(b, c, WIDE_OP_NOT_NULL, NULL, 0);
		case WT_COND_DISTINCT:
			return distinct(b, c, arg);
		case WT_COND_NOT_DISTINCT:
			return arg->isnull ? add_predicate(b, c, WIDE_OP_IS_NULL, NULL, 0)
							   : compare(b, c, WT_COND_EQ, arg);
		default:
			break;
	}
	if (arg->isnull)
		return NEVER;
	switch (leaf->kind)
	{
		case WT_COND_ANY:
		case WT_COND_NOT_ANY:
			return compare_array(b, c, leaf->kind == WT_COND_ANY, arg);
		case WT_COND_STARTS:
			return add_value(b, c, WIDE_OP_PREFIX, varlena_bytes(arg->value));
		case WT_COND_LIKE:
			return pattern_predicate(b, c, varlena_bytes(arg->value));
		default:
			return compare(b, c, leaf->kind, arg);
	}
}

void
wt_cell_predicate_make(WtTable *t, WtEngineTable *e, const WtLeaf *leaves, int nleaves,
					   const WtArg *args, WtPredicates *out)
{
	Build b = {.t = t, .e = e, .out = out};

	memset(out, 0, sizeof(*out));
	/* an alternative adds at most two predicates */
	out->list = palloc(sizeof(wide_predicate) * 2 * Max(1, nleaves));
	for (int i = 0; i < nleaves;)
	{
		int start = out->n, end = i;
		bool always = false;

		b.clause = leaves[i].clause;
		for (; end < nleaves && leaves[end].clause == b.clause; end++)
			always = always || add_alternative(&b, &leaves[end], args) == ALWAYS;
		if (always)
			out->n = start;
		else if (out->n == start)
		{
			out->never = true;
			return;
		}
		i = end;
	}
}

/* ------------------------------------------------------- files left out by time */

static bool
same_cell(const wide_predicate *a, const wide_predicate *b)
{
	return a->family == b->family && wt_bytes_cmp(a->qualifier, b->qualifier) == 0;
}

/*
 * Returns true if this predicate is a clause by itself that asks for a timestamp of at least
 * *since.
 */
static bool
clause_since(const WtPredicates *p, int first, int64 *since)
{
	const wide_predicate *one = &p->list[first];

	if (one->kind != WIDE_KIND_TIME || (one->op != WIDE_OP_GE && one->op != WIDE_OP_EQ))
		return false;
	for (int i = 0; i < p->n; i++)
		if (i != first && p->list[i].clause == one->clause)
			return false;
	memcpy(since, one->values[0].data, sizeof(*since));
	*since = (int64) pg_ntoh64((uint64) *since);
	return true;
}

/* Returns the predicate with the latest lower bound on a timestamp, NULL if none has one. */
static const wide_predicate *
latest_since(const WtPredicates *p, int64 *since)
{
	const wide_predicate *best = NULL;
	int64 one;

	for (int i = 0; i < p->n; i++)
		if (clause_since(p, i, &one) && (best == NULL || one > *since))
		{
			best = &p->list[i];
			*since = one;
		}
	return best;
}

/* Bytes of a family's files. */
typedef struct FileSizes
{
	int64 since;
	uint64 all;
	uint64 older; /* of files without anything as new as since */
} FileSizes;

static wide_status
add_file(void *arg, const wide_file_info *f)
{
	FileSizes *sizes = arg;

	sizes->all += f->bytes;
	if (f->ts_max < sizes->since)
		sizes->older += f->bytes;
	return WIDE_OK;
}

/* Returns the share of a family's files, by size, that have anything as new as since. */
static double
share_since(wide_family_id family, int64 since)
{
	FileSizes sizes = {.since = since};

	wt_error_check(wide_file_each(wt_store_db(), family, add_file, &sizes), "could not list files");
	return sizes.all == 0 ? 1 : 1 - (double) sizes.older / sizes.all;
}

double
wt_cell_predicate_recent_share(PlannerInfo *root, WtTable *t, WtEngineTable *e, List *filters)
{
	double share = 1;
	ListCell *lc;

	foreach(lc, filters)
	{
		WtCellClause *filter = lfirst(lc);
		WtCellClauseLeaf *leaf = linitial(filter->leaves);
		WtLeaf one = {.attno = leaf->attno, .kind = leaf->kind, .key = -1};
		WtArg arg;
		WtPredicates p;
		const wide_predicate *cell;
		int64 since;

		if (t->columns[leaf->attno - 1].role != WT_TIMESTAMP_OF ||
			list_length(filter->leaves) > 1 || leaf->value == NULL)
			continue;
		arg = wt_key_value_arg(estimate_expression_value(root, leaf->value), leaf->type);
		if (!arg.known)
			continue;
		wt_cell_predicate_make(t, e, &one, 1, &arg, &p);
		cell = latest_since(&p, &since);
		if (p.never)
			share = 0;
		else if (cell != NULL && e->families[cell->family] != 0)
			share = Min(share, share_since(e->families[cell->family], since));
	}
	return share;
}

/*
 * Rows pass only if the cell of this predicate is at least as new as since.  For an entry of the
 * scan that reads this cell only, the engine leaves out older files.  If other cells of the family
 * are read, too, that takes a second entry, which pays if it leaves out much of the family.
 * Returns the second entry, for the predicates on this cell; -1: use the family's usual entry.
 */
static int
entry_by_time(const WtPredicates *p, const wide_predicate *cell, int64 since, wide_family_id id,
			  WtRowReader *r, wide_scan_spec *spec)
{
	int entry = wt_reader_family(r, spec, id); /* it may move the array */
	const wide_scan_family *f = &spec->families[entry];

	if (f->want == WIDE_WANT_COLUMNS &&
		(f->nquals == 0 || (f->nquals == 1 && wt_bytes_cmp(f->quals[0], cell->qualifier) == 0)))
	{
		bool alone = true;

		for (int i = 0; i < p->n; i++)
			alone = alone && (p->list[i].family != cell->family || same_cell(&p->list[i], cell));
		if (alone)
			return -1;
	}
	return share_since(id, since) <= WORTH_AN_ENTRY ? wt_reader_add(r, spec, id) : -1;
}

void
wt_cell_predicate_attach(const WtPredicates *p, WtTable *t, WtEngineTable *e, WtRowReader *r,
						 wide_scan_spec *spec)
{
	int before = spec->npredicates;
	wide_predicate *list = palloc(sizeof(wide_predicate) * Max(1, p->n + before));
	int64 since = PG_INT64_MIN;
	const wide_predicate *cell = latest_since(p, &since);
	int by_time = -1;

	if (cell != NULL)
		by_time = entry_by_time(p, cell, since, e->families[cell->family], r, spec);
	for (int i = 0; i < p->n; i++)
	{
		list[i] = p->list[i];
		list[i].family = by_time >= 0 && same_cell(&p->list[i], cell)
							 ? by_time
							 : wt_reader_family(r, spec, e->families[p->list[i].family]);
	}
	/* those that the reader has made */
	for (int i = 0; i < before; i++)
		list[p->n + i] = spec->predicates[i];
	spec->predicates = list;
	spec->npredicates = p->n + before;
}

static void
print_bytes(StringInfo out, wide_bytes b)
{
	appendBinaryStringInfo(out, (const char *) &b.len, sizeof(b.len));
	if (b.len > 0)
		appendBinaryStringInfo(out, (const char *) b.data, (int) b.len);
}

void
wt_cell_predicate_print(const WtPredicates *p, StringInfo out)
{
	resetStringInfo(out);
	for (int i = 0; i < p->n; i++)
	{
		const wide_predicate *one = &p->list[i];
		int head[] = {one->family, one->clause, one->op, one->kind, one->nvalues};

		appendBinaryStringInfo(out, (const char *) head, sizeof(head));
		print_bytes(out, one->qualifier);
		for (int v = 0; v < one->nvalues; v++)
			print_bytes(out, one->values[v]);
	}
}

/*
 * explain.c
 *		What EXPLAIN shows of a scan: what the engine is asked for, one property a line; with
 *		ANALYZE, what it has done.
 *
 * Without ANALYZE no data is read: everything is derived from the plan.  A range is shown in
 * the order of the key, so that the larger value comes first for a descending part.
 */
#include "postgres.h"

#include "fdw/scan/explain.h"

#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/timestamp.h"

#include "engine/wide.h"
#include "fdw/key/key_range.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/key/part.h"
#include "fdw/plan/aggregate_plan.h"
#include "fdw/plan/plan_private.h"
#include "fdw/scan/aggregate_scan.h"
#include "fdw/scan/scan.h"
#include "fdw/scan/scan_state.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"

/* The plan that is shown. */
typedef struct Shown
{
	WtTable *t;
	List *exprs;   /* as the query has them, if possible */
	List *context; /* for deparsing */
	WtTest *tests;
	int ntests;
	int nvalues;   /* the first ones of exprs, which the tests use */
	bool constant; /* these are all constants */
} Shown;

/* ----------------------------------------------------------------- values */

/* Returns a constant as SQL text without a cast. */
static char *
literal(Const *c)
{
	Oid output;
	bool varlena;
	char *text;

	if (c->constisnull)
		return "NULL";
	getTypeOutputInfo(c->consttype, &output, &varlena);
	text = OidOutputFunctionCall(output, c->constvalue);
	switch (c->consttype)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
			return text;
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			/* NaN and Infinity need quotes */
			return strspn(text, "0123456789+-.e") == strlen(text) ? text : quote_literal_cstr(text);
		case BYTEAOID:
			/* hex with one backslash */
			return text[0] == '\\' && text[1] == 'x' ? psprintf("'%s'", text)
													 : quote_literal_cstr(text);
		case BOOLOID:
			return DatumGetBool(c->constvalue) ? "true" : "false";
		default:
			return quote_literal_cstr(text);
	}
}

/* Returns the expression with this index as SQL text. */
static char *
value_text(Shown *s, int index)
{
	Node *expr = list_nth(s->exprs, index);

	while (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	if (IsA(expr, Const))
		return literal((Const *) expr);
	return deparse_expression(expr, s->context, true, false);
}

/* Returns the name of a part of the key; what the layout 'cells' has behind them, by its role. */
static const char *
part_name(WtTable *t, int part)
{
	if (part < t->nkeys)
		return quote_identifier(t->columns[t->keys[part]].name);
	return part == WT_PART_FAMILY(t)	  ? "family"
		   : part == WT_PART_QUALIFIER(t) ? "qualifier"
		   : part == WT_PART_VERSION(t)	  ? "version"
		   : part == WT_PART_TS(t)		  ? "ts"
										  : "cell_no";
}

/* ------------------------------------------------------------- conditions */

/* Appends a test as a condition, for tests that are not shown as a range. */
static void
append_test(StringInfo out, Shown *s, const WtTest *test)
{
	/* by WtKind */
	static const char *const names[] = {"=",	 "<",  "<=", ">", ">=",		 "= ANY",
										"= ANY", "~~", "^@", "~", "IS NULL", "<>"};

	if (out->len > 0)
		appendStringInfoString(out, " AND ");
	if (test->kind == WT_COND_NEVER)
	{
		appendStringInfo(out, "%s IS NULL", part_name(s->t, test->part));
		return;
	}
	if (test->n > 1 && test->kind != WT_COND_LIST)
	{
		appendStringInfoChar(out, '(');
		for (int i = 0; i < test->n; i++)
			appendStringInfo(out, "%s%s", i > 0 ? ", " : "", part_name(s->t, test->part + i));
		appendStringInfo(out, ") %s (", names[test->kind]);
	}
	else
		appendStringInfo(out, "%s %s %s", part_name(s->t, test->part), names[test->kind],
						 test->kind == WT_COND_ANY || test->kind == WT_COND_LIST ? "(" : "");
	for (int i = 0; i < test->n; i++)
		appendStringInfo(out, "%s%s", i > 0 ? ", " : "", value_text(s, test->first + i));
	if (test->n > 1 || test->kind == WT_COND_ANY || test->kind == WT_COND_LIST)
		appendStringInfoChar(out, ')');
}

/* Returns the tests on these parts that must hold as text, those of ORs left out. */
static char *
conditions_text(Shown *s, int from, int to)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int part = from; part < to; part++)
		for (int i = 0; i < s->ntests; i++)
			if (s->tests[i].part == part && s->tests[i].clause == 0)
				append_test(&out, s, &s->tests[i]);
	return out.data;
}

/* The most arms of an OR that are shown; the rest is "...". */
#define SHOWN_ARMS 4

/* Appends the ORs, joined by AND: (a = 1 AND b > 2 OR a = 2). */
static void
append_ors(StringInfo out, Shown *s)
{
	int i = 0;

	while (i < s->ntests && s->tests[i].clause == 0)
		i++;
	while (i < s->ntests)
	{
		int clause = s->tests[i].clause, arm = -1;
		StringInfoData one;

		appendStringInfoString(out, out->len > 0 ? " AND (" : "(");
		initStringInfo(&one);
		for (; i < s->ntests && s->tests[i].clause == clause; i++)
		{
			if (s->tests[i].arm != arm && arm >= 0)
			{
				if (arm < SHOWN_ARMS)
					appendStringInfo(out, "%s OR ", one.data);
				resetStringInfo(&one);
			}
			arm = s->tests[i].arm;
			if (arm < SHOWN_ARMS)
				append_test(&one, s, &s->tests[i]);
		}
		if (arm < SHOWN_ARMS)
			appendStringInfo(out, "%s)", one.data);
		else
			appendStringInfo(out, "... (%d))", arm + 1);
	}
}

/* ----------------------------------------------------------------- ranges */

/* One end of a range, while its text is made. */
typedef struct End
{
	StringInfoData values;
	int n;
	bool inclusive;
} End;

/* Appends the value of the next part. */
static void
add_end(End *e, const char *text)
{
	appendStringInfo(&e->values, "%s%s", e->n > 0 ? ", " : "", text);
	e->n++;
}

/*
 * Shows a test for a constant prefix as a range: ['ab', 'ac').  Returns false if it cannot be
 * shown so.
 */
static bool
show_prefix(Shown *s, const WtTest *test, End *lo, End *hi)
{
	Const *c = list_nth_node(Const, s->exprs, test->first);
	struct varlena *v;
	StringInfoData prefix, end;

	if (c->constisnull || test->kind == WT_COND_REGEX || wt_part_is_descending(s->t, test->part) ||
		c->consttype == BYTEAOID)
		return false;
	v = PG_DETOAST_DATUM_PACKED(c->constvalue);
	initStringInfo(&prefix);
	initStringInfo(&end);
	if (test->kind == WT_COND_STARTS)
		appendBinaryStringInfo(&prefix, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
	else if (wt_key_value_like_prefix(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v), &prefix))
	{
		add_end(lo, quote_literal_cstr(prefix.data));
		add_end(hi, quote_literal_cstr(prefix.data));
		return true;
	}
	if (prefix.len == 0 || !wt_rowkey_prefix_end((uint8 *) prefix.data, prefix.len, &end) ||
		!wt_bytes_text_is_valid((uint8 *) end.data, end.len))
		return false;
	add_end(lo, quote_literal_cstr(prefix.data));
	add_end(hi, quote_literal_cstr(end.data));
	hi->inclusive = false;
	return true;
}

/*
 * Adds a test on the last part of a range to its ends.  Returns false if it cannot be shown as
 * a range.
 */
static bool
show_bound(Shown *s, const WtTest *test, End *lo, End *hi, bool *has_lo, bool *has_hi)
{
	bool less = test->kind == WT_COND_LT || test->kind == WT_COND_LE;
	bool upper = less != wt_part_is_descending(s->t, test->part);
	End *e = upper ? hi : lo;

	if (test->kind < WT_COND_LT || test->kind > WT_COND_GE)
	{
		if (*has_lo || *has_hi || !IsA(list_nth(s->exprs, test->first), Const))
			return false;
		*has_lo = *has_hi = true;
		return show_prefix(s, test, lo, hi);
	}
	if (upper ? *has_hi : *has_lo)
		return false;
	*(upper ? has_hi : has_lo) = true;
	for (int i = 0; i < test->n; i++)
		add_end(e, value_text(s, test->first + i));
	e->inclusive = test->kind == WT_COND_LE || test->kind == WT_COND_GE;
	return true;
}

/* Returns a test on the part, NULL if there is none; sets *n to their number. */
static const WtTest *
single_test(Shown *s, int part, int *n)
{
	const WtTest *found = NULL;

	*n = 0;
	for (int i = 0; i < s->ntests; i++)
		if (s->tests[i].part == part)
		{
			found = &s->tests[i];
			++*n;
		}
	return found;
}

/*
 * Returns the tests on the key as a range: equality of leading parts and the bounds of the next
 * one.  Returns NULL if they are no such range.
 */
static char *
range_text(Shown *s)
{
	End lo = {.inclusive = true}, hi = {.inclusive = true};
	bool has_lo = false, has_hi = false;
	int part, n;
	const char *open = s->t->nkeys > 1 ? "(" : "", *close = s->t->nkeys > 1 ? ")" : "";

	initStringInfo(&lo.values);
	initStringInfo(&hi.values);
	for (part = 0; part < s->t->nkeys; part++)
	{
		const WtTest *test = single_test(s, part, &n);

		if (n != 1 || test->kind != WT_COND_EQ)
			break;
		add_end(&lo, value_text(s, test->first));
		add_end(&hi, value_text(s, test->first));
	}
	for (int i = 0; i < s->ntests; i++)
	{
		if (s->tests[i].part > part && s->tests[i].part < s->t->nkeys)
			return NULL;
		if (s->tests[i].part == part && part < s->t->nkeys &&
			!show_bound(s, &s->tests[i], &lo, &hi, &has_lo, &has_hi))
			return NULL;
	}
	return psprintf("%s%s, %s%s",
					lo.n == 0	   ? "("
					: lo.inclusive ? "["
								   : "(",
					lo.n == 0 ? "-inf" : psprintf("%s%s%s", open, lo.values.data, close),
					hi.n == 0 ? "+inf" : psprintf("%s%s%s", open, hi.values.data, close),
					hi.n == 0	   ? ")"
					: hi.inclusive ? "]"
								   : ")");
}

/*
 * Layout cells: returns the tests on ts as a range, later values on the right; NULL if they are
 * no range.
 */
static char *
times_text(Shown *s)
{
	const char *lo = "-inf", *hi = "+inf";
	const char *open = "(", *close = ")";

	for (int i = 0; i < s->ntests; i++)
	{
		const WtTest *test = &s->tests[i];
		bool lower = test->kind == WT_COND_GT || test->kind == WT_COND_GE ||
					 test->kind == WT_COND_EQ;
		bool upper = test->kind == WT_COND_LT || test->kind == WT_COND_LE ||
					 test->kind == WT_COND_EQ;

		if (test->part != WT_PART_TS(s->t))
			continue;
		if ((!lower && !upper) || (lower && open[0] == '[') || (upper && close[0] == ']') ||
			(lower && strcmp(lo, "-inf") != 0) || (upper && strcmp(hi, "+inf") != 0))
			return NULL;
		if (lower)
			lo = value_text(s, test->first);
		if (upper)
			hi = value_text(s, test->first);
		if (lower && test->kind != WT_COND_GT)
			open = "[";
		if (upper && test->kind != WT_COND_LT)
			close = "]";
	}
	return psprintf("%s%s, %s%s", open, lo, hi, close);
}

/* Shows conditions on time: those on ts in the layout 'cells', and widetable.as_of. */
static void
show_times(Shown *s, ExplainState *es)
{
	int64 as_of = wt_clock_as_of();
	char *limit = as_of == PG_INT64_MAX
					  ? NULL
					  : quote_literal_cstr(timestamptz_to_str(as_of - WT_EPOCH_DIFF));
	char *text = conditions_text(s, WT_PART_TS(s->t), WT_PART_TS(s->t) + 1);

	if (text[0] != '\0')
	{
		char *range = times_text(s);

		if (range != NULL)
			text = range;
		if (limit != NULL)
			text = psprintf("%s as of %s", text, limit);
		ExplainPropertyText("Time Range", text, es);
	}
	else if (limit != NULL)
		ExplainPropertyText("Time Range", psprintf("(-inf, %s]", limit), es);
}

/* Computes the ranges.  Requires: the values of the tests are constants. */
static void
constant_ranges(Shown *s, List *types, WtRanges *out)
{
	WtArg *args = palloc0(sizeof(WtArg) * Max(1, s->nvalues));

	for (int i = 0; i < s->nvalues; i++)
	{
		Const *c = list_nth_node(Const, s->exprs, i);

		args[i].type = list_nth_oid(types, i);
		args[i].known = true;
		args[i].isnull = c->constisnull;
		args[i].value = c->constvalue;
	}
	wt_key_range_make(s->t, s->tests, s->ntests, args, out);
}

/*
 * Returns how many leading parts the ranges restrict if the values are not known: up to the
 * first one that is not bound to values.
 */
static int
ranged_parts(Shown *s)
{
	int part;

	for (part = 0; part < s->t->nkeys; part++)
	{
		bool any = false, values = false;

		for (int i = 0; i < s->ntests; i++)
			if (s->tests[i].part == part && s->tests[i].clause == 0)
			{
				any = true;
				values = values || wt_is_equality(s->tests[i].kind);
			}
		if (!any)
			return part;
		if (!values)
			return part + 1;
	}
	return part;
}

/*
 * Shows the conditions that are not in the ranges: on the parts from `from` on, and with ors the
 * ORs.  Returns true if there are any.
 */
static bool
show_key_filter(Shown *s, int from, bool ors, ExplainState *es)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, conditions_text(s, from, s->t->nkeys));
	if (ors)
		append_ors(&text, s);
	if (text.len > 0)
		ExplainPropertyText("Key Filter", text.data, es);
	return text.len > 0;
}

/* Returns a copy with only the tests on this number of leading parts, and without ORs. */
static Shown
leading_tests(Shown *s, int parts)
{
	Shown out = *s;

	out.tests = palloc(sizeof(WtTest) * Max(1, s->ntests));
	out.ntests = 0;
	for (int i = 0; i < s->ntests; i++)
		if (s->tests[i].clause == 0 &&
			(s->tests[i].part < parts || s->tests[i].part >= s->t->nkeys))
			out.tests[out.ntests++] = s->tests[i];
	return out;
}

/* Shows the conditions on the key.  Returns true if there is a key filter. */
static bool
show_key(Shown *s, List *types, ExplainState *es)
{
	bool any = false, list = false, never = false, ors = false, filter = true;
	int parts;
	Shown lead;
	StringInfoData text;
	char *range;

	for (int i = 0; i < s->ntests; i++)
	{
		WtKind kind = s->tests[i].kind;
		bool must = s->tests[i].clause == 0;

		any |= s->tests[i].part < s->t->nkeys;
		list |= must && (kind == WT_COND_ANY || kind == WT_COND_LIST || kind == WT_COND_NE);
		never |= must && kind == WT_COND_NEVER;
		ors |= !must;
	}
	if (!any)
		return false;
	if (never)
	{
		ExplainPropertyInteger("Key Ranges", NULL, 0, es);
		return false;
	}
	parts = ranged_parts(s);
	if (s->constant)
	{
		WtRanges ranges;

		constant_ranges(s, types, &ranges);
		filter = ranges.filter != NULL;
		parts = ranges.full ? 0 : ranges.parts;
		if (ranges.total != 1 || (ors && filter))
		{
			if (!ranges.full)
				ExplainPropertyInteger("Key Ranges", NULL, ranges.total, es);
			return filter && show_key_filter(s, parts, ors, es);
		}
	}
	lead = leading_tests(s, parts);
	range = list || ors || parts == 0 ? NULL : range_text(&lead);
	initStringInfo(&text);
	appendStringInfoString(&text, range ? range : conditions_text(&lead, 0, s->t->nkeys));
	if (ors)
		append_ors(&text, s);
	if (text.len > 0)
		ExplainPropertyText((list || ors) && !s->constant ? "Key Ranges" : "Key Range", text.data,
							es);
	return filter && show_key_filter(s, parts, !ors, es);
}

/* -------------------------------------------------- families and columns */

/* Appends a name to a list of strings, unless it is there. */
static List *
add_name(List *list, char *name)
{
	ListCell *lc;

	foreach(lc, list)
		if (strcmp(lfirst(lc), name) == 0)
			return list;
	return lappend(list, name);
}

/* Shows the families and columns that are read, and the families asked whether a row exists. */
static void
show_columns(Shown *s, List *private, ExplainState *es)
{
	WtTable *t = s->t;
	List *families = NIL, *columns = NIL, *existence = NIL;
	ListCell *lc;
	WtLeaf *leaves;
	int nleaves;

	if (t->cells_layout)
		return;
	foreach(lc, (List *) list_nth(private, WtPrivateColumns))
	{
		WtColumn *c = &t->columns[lfirst_int(lc) - 1];
		StringInfoData name;

		if (c->family < 0 || c->role == WT_DROPPED)
			continue;
		initStringInfo(&name);
		appendStringInfo(&name, "%s:", t->families[c->family].name);
		if (c->qual_len > 0)
			appendStringInfoString(&name, wt_bytes_text_show_qualifier((wide_bytes) {c->qual,
																					 c->qual_len}));
		if (c->role == WT_MAP)
			appendStringInfoChar(&name, '*');
		families = add_name(families, t->families[c->family].name);
		columns = add_name(columns, name.data);
	}
	/* families of columns that are tested, but not returned */
	leaves = wt_plan_private_leaves(private, &nleaves);
	for (int i = 0; i < nleaves; i++)
		families = add_name(families, t->families[t->columns[leaves[i].attno - 1].family].name);
	if (families != NIL)
		ExplainPropertyList("Families", families, es);
	if (columns != NIL)
		ExplainPropertyList("Columns", columns, es);
	if (wt_plan_private_flag(private, WtFlagStrictFamily) >= 0)
		return;
	for (int f = 0; f < t->nfamilies; f++)
		if (t->existence_projected
				? families == NIL && f == 0
				: list_length(add_name(list_copy(families), t->families[f].name)) >
					  list_length(families))
			existence = lappend(existence, t->families[f].name);
	if (existence != NIL)
		ExplainPropertyList("Existence", existence, es);
}

/* --------------------------------------------------------------- analyze */

/* Shows what the scan has done; seeks: also as text how often it jumped. */
static void
show_statistics(WtScanState *scan, bool bad_key_skip, bool seeks, ExplainState *es)
{
	WtScanWork work;
	wide_scan_stats st;

	if (scan == NULL)
		return;
	wt_scan_work(scan, &work);
	st = work.stats;
	if (bad_key_skip)
		ExplainPropertyInteger("Bad Keys Skipped", NULL, work.bad_keys, es);
	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyInteger("Files Read", NULL, st.files_read, es);
		ExplainPropertyInteger("Files Skipped by Key", NULL, st.files_skipped_key, es);
		ExplainPropertyInteger("Files Skipped by Time", NULL, st.files_skipped_time, es);
		ExplainPropertyInteger("Files Skipped by Bloom", NULL, st.files_skipped_bloom, es);
		ExplainPropertyInteger("Blocks Read", NULL, st.blocks_read, es);
		ExplainPropertyInteger("Blocks Cached", NULL, st.blocks_cached, es);
		ExplainPropertyInteger("Cells Scanned", NULL, st.cells_scanned, es);
		ExplainPropertyInteger("Cells Returned", NULL, st.cells_returned, es);
		ExplainPropertyInteger("Tombstones", NULL, st.tombstones, es);
		ExplainPropertyInteger("Seeks", NULL, st.seeks, es);
		return;
	}
	ExplainPropertyText(
		"Files",
		psprintf(UINT64_FORMAT " read, " UINT64_FORMAT " skipped (key " UINT64_FORMAT
							   ", time " UINT64_FORMAT ", bloom " UINT64_FORMAT ")",
				 st.files_read,
				 st.files_skipped_key + st.files_skipped_time + st.files_skipped_bloom,
				 st.files_skipped_key, st.files_skipped_time, st.files_skipped_bloom),
		es);
	ExplainPropertyText("Blocks",
						psprintf(UINT64_FORMAT " read, " UINT64_FORMAT " cached", st.blocks_read,
								 st.blocks_cached),
						es);
	ExplainPropertyText("Cells",
						psprintf(UINT64_FORMAT " scanned, " UINT64_FORMAT " returned",
								 st.cells_scanned, st.cells_returned),
						es);
	ExplainPropertyInteger("Tombstones", NULL, st.tombstones, es);
	if (seeks)
		ExplainPropertyInteger("Seeks", NULL, st.seeks, es);
}

/* Shows the clauses that the engine tests, and how many rows failed them. */
static void
show_filters(ForeignScanState *node, Shown *s, List *private, WtScanState *scan, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *clauses = list_truncate(list_copy(plan->fdw_recheck_quals),
								  wt_plan_private_flag(private, WtFlagFilters));

	if (clauses == NIL)
		return;
	ExplainPropertyText("Engine Filter",
						deparse_expression((Node *) make_ands_explicit(clauses), s->context,
										   es->verbose, false),
						es);
	if (es->analyze && scan != NULL && node->ss.ps.instrument != NULL)
	{
		WtScanWork work;

		wt_scan_work(scan, &work);
		if (work.stats.rows_rejected > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyFloat("Rows Removed by Engine Filter", NULL,
								 work.stats.rows_rejected / Max(1, node->ss.ps.instrument->nloops),
								 0, es);
	}
}

/*
 * Returns the expressions for display: with the variables of a join's other side in place of
 * its parameters.
 */
static List *
shown_exprs(ForeignScan *plan)
{
	List *show = list_nth(plan->fdw_private, WtPrivateShow);
	int offset = (int) plan->scan.scanrelid - wt_plan_private_flag(plan->fdw_private, WtFlagRelid);

	/* an UPDATE in the scan has other expressions behind those of the scan */
	if (show == NIL)
		return list_truncate(list_copy(plan->fdw_exprs),
							 list_length(list_nth(plan->fdw_private, WtPrivateTypes)));
	show = copyObject(show);
	/* setrefs.c has moved the range table of this query level, but not in fdw_private */
	OffsetVarNodes((Node *) show, offset, 0);
	return show;
}

/* ------------------------------------------------------------- aggregates */

/* Shows "Aggregate on (table)", in the style of postgres_fdw. */
static void
show_relation(ForeignScan *plan, Oid relid, ExplainState *es)
{
	int rti = bms_next_member(plan->fs_relids, -1);
	char *alias = rti > 0 && rti <= list_length(es->rtable_names)
					  ? list_nth(es->rtable_names, rti - 1)
					  : NULL;
	char *name = get_rel_name(relid);
	StringInfoData s;

	initStringInfo(&s);
	appendStringInfoString(&s, "Aggregate on (");
	if (es->verbose)
		appendStringInfo(&s, "%s.", quote_identifier(get_namespace_name(get_rel_namespace(relid))));
	appendStringInfoString(&s, quote_identifier(name));
	if (alias != NULL && strcmp(alias, name) != 0)
		appendStringInfo(&s, " %s", quote_identifier(alias));
	appendStringInfoChar(&s, ')');
	ExplainPropertyText("Relations", s.data, es);
}

static List *
add_text(List *list, Shown *s, Node *expr)
{
	return lappend(list, deparse_expression(expr, s->context, false, false));
}

/* Shows the aggregates, the groups and the clauses that rows must pass. */
static void
show_aggregates(Shown *s, ForeignScan *plan, ExplainState *es)
{
	int nargs = wt_aggregate_plan_shape(plan, 0), nquals = wt_aggregate_plan_shape(plan, 1),
		parts = wt_aggregate_plan_shape(plan, 2);
	List *aggregates = NIL, *groups = NIL,
		 *quals = list_truncate(list_copy_tail(plan->fdw_exprs, nargs), nquals);
	ListCell *lc;

	foreach(lc, plan->fdw_scan_tlist)
	{
		Node *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;
		const WtColumn *c;

		if (IsA(expr, Aggref))
		{
			aggregates = add_text(aggregates, s, expr);
			continue;
		}
		c = &s->t->columns[((Var *) expr)->varattno - 1];
		if (c->role == WT_KEY && c->part < parts)
			groups = add_text(groups, s, expr);
	}
	if (aggregates != NIL)
		ExplainPropertyList("Aggregates", aggregates, es);
	if (parts > 0)
		ExplainPropertyList("Group Key", groups, es);
	if (wt_aggregate_plan_shape(plan, 3))
		ExplainPropertyText("Loose Scan", "one row of each group", es);
	if (quals != NIL)
		ExplainPropertyText("Row Filter",
							deparse_expression((Node *) make_ands_explicit(quals), s->context,
											   false, false),
							es);
}

void
wt_explain_foreign_scan(ForeignScanState *node, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	bool aggregate = wt_is_aggregate(node);
	List *private = aggregate ? list_nth(plan->fdw_private, WtAggScan) : plan->fdw_private;
	Oid relid = aggregate ? linitial_oid(list_nth(plan->fdw_private, WtAggRelid))
						  : RelationGetRelid(node->ss.ss_currentRelation);
	WtScanState *scan = node->fdw_state;
	uint64 rows = 0, removed = 0;
	Shown s = {0};
	bool filter;
	char *limit = strVal(list_nth(private, WtPrivateLimit));

	s.t = wt_table(relid);
	s.exprs = aggregate
				  ? list_truncate(list_copy(plan->fdw_exprs), wt_aggregate_plan_shape(plan, 0))
				  : shown_exprs(plan);
	s.context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, NIL);
	if (aggregate)
	{
		show_relation(plan, relid, es);
		show_aggregates(&s, plan, es);
		if (scan != NULL)
			scan = wt_aggregate_scan_below(node, &rows, &removed);
	}
	s.tests = wt_plan_private_tests(private, &s.ntests);
	for (int i = 0; i < s.ntests; i++)
		s.nvalues = Max(s.nvalues, s.tests[i].first + s.tests[i].n);
	s.constant = true;
	for (int i = 0; i < s.nvalues; i++)
		s.constant = s.constant && IsA(list_nth(s.exprs, i), Const);

	show_filters(node, &s, private, scan, es);
	if (s.t->cells_layout)
	{
		char *text = conditions_text(&s, WT_PART_FAMILY(s.t), WT_PART_VERSION(s.t) + 1);
		char *number = conditions_text(&s, WT_PART_NO(s.t), WT_PART_NO(s.t) + 1);

		/* a plan has only one of the two, see scan_plan.c */
		if (text[0] != '\0' || number[0] != '\0')
			ExplainPropertyText("Cell Condition", text[0] != '\0' ? text : number, es);
	}
	filter = show_key(&s, list_nth(private, WtPrivateTypes), es);
	if (wt_plan_private_flag(private, WtFlagReverse))
		ExplainPropertyText("Scan Direction", "Backward", es);
	show_columns(&s, private, es);
	show_times(&s, es);
	if (limit[0] != '\0')
		ExplainPropertyText("Limit", limit, es);
	if (es->analyze && aggregate)
	{
		ExplainPropertyInteger("Rows Aggregated", NULL, (int64) rows, es);
		if (wt_aggregate_plan_shape(plan, 1) > 0)
			ExplainPropertyInteger("Rows Removed by Row Filter", NULL, (int64) removed, es);
	}
	if (es->analyze)
		show_statistics(scan, s.t->bad_key_skip, filter, es);
}

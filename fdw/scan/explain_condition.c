/*
 * explain_condition.c
 *		What EXPLAIN shows of conditions on the key, on cells and on time.
 *
 * Nothing is read: the text is made from the plan's tests and expressions.  If all values are
 * constants the ranges are computed as the scan would, and their number and what is left to the
 * key filter is exact.  A range is shown in the order of the key, so that the larger value comes
 * first for a descending part.
 */
#include "postgres.h"

#include "fdw/scan/explain_condition.h"

#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/timestamp.h"

#include "fdw/key/key_range.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/key/part.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"

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
value_text(WtShown *s, int index)
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
	static const char *const names[] = {"family", "qualifier", "version", "ts", "cell_no"};

	return part < t->nkeys ? quote_identifier(t->columns[t->keys[part]].name)
						   : names[part - t->nkeys];
}

/* ------------------------------------------------------------- conditions */

/* Appends a test as a condition, for tests that are not shown as a range. */
static void
append_test(StringInfo out, WtShown *s, const WtTest *test)
{
	/* by WtKind */
	static const char *const names[] = {"=",	 "<",  "<=", ">", ">=",		 "= ANY",
										"= ANY", "~~", "^@", "~", "IS NULL", "<>"};

	if (out->len > 0)
		appendStringInfoString(out, " AND ");
	if (test->kind == WT_COND_NULL)
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

char *
wt_explain_condition_text(WtShown *s, int from, int to)
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
append_ors(StringInfo out, WtShown *s)
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
	bool bound; /* a test has set it, besides the equalities */
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
show_prefix(WtShown *s, const WtTest *test, End *lo, End *hi)
{
	Const *c = list_nth(s->exprs, test->first);
	struct varlena *v;
	StringInfoData prefix, end;

	if (lo->bound || hi->bound || !IsA(c, Const))
		return false;
	lo->bound = hi->bound = true;
	if ((test->kind != WT_COND_LIKE && test->kind != WT_COND_STARTS) || c->constisnull ||
		wt_part_is_descending(s->t, test->part) || c->consttype == BYTEAOID)
		return false;
	v = PG_DETOAST_DATUM_PACKED(c->constvalue);
	initStringInfo(&prefix);
	initStringInfo(&end);
	if (test->kind == WT_COND_STARTS)
		appendBinaryStringInfo(&prefix, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
	else if (wt_key_value_like_prefix(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v), &prefix) ==
			 WT_LIKE_VALUE)
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
show_bound(WtShown *s, const WtTest *test, bool descending, End *lo, End *hi)
{
	bool less = test->kind == WT_COND_LT || test->kind == WT_COND_LE;
	End *e = less != descending ? hi : lo;

	if (e->bound)
		return false;
	e->bound = true;
	for (int i = 0; i < test->n; i++)
		add_end(e, value_text(s, test->first + i));
	e->inclusive = test->kind == WT_COND_LE || test->kind == WT_COND_GE;
	return true;
}

/* Returns a range as text; open and close stand around each end's values. */
static char *
ends_text(const End *lo, const End *hi, const char *open, const char *close)
{
	return psprintf("%s%s, %s%s", lo->n > 0 && lo->inclusive ? "[" : "(",
					lo->n == 0 ? "-inf" : psprintf("%s%s%s", open, lo->values.data, close),
					hi->n == 0 ? "+inf" : psprintf("%s%s%s", open, hi->values.data, close),
					hi->n > 0 && hi->inclusive ? "]" : ")");
}

/* Returns a test on the part, NULL if there is none; sets *n to their number. */
static const WtTest *
single_test(WtShown *s, int part, int *n)
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
range_text(WtShown *s)
{
	End lo = {.inclusive = true}, hi = {.inclusive = true};
	int part, n;
	bool several = s->t->nkeys > 1;

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
		const WtTest *test = &s->tests[i];

		if (test->part >= s->t->nkeys || test->part < part)
			continue;
		if (test->part > part ||
			!(wt_is_inequality(test->kind)
				  ? show_bound(s, test, wt_part_is_descending(s->t, part), &lo, &hi)
				  : show_prefix(s, test, &lo, &hi)))
			return NULL;
	}
	return ends_text(&lo, &hi, several ? "(" : "", several ? ")" : "");
}

/*
 * Layout cells: returns the tests on ts as a range, later values on the right; NULL if they are
 * no range.
 */
static char *
times_text(WtShown *s)
{
	End lo = {0}, hi = {0};

	initStringInfo(&lo.values);
	initStringInfo(&hi.values);
	for (int i = 0; i < s->ntests; i++)
	{
		WtTest test = s->tests[i];

		if (test.part != WT_PART_TS(s->t))
			continue;
		if (test.kind == WT_COND_EQ)
		{
			test.kind = WT_COND_GE;
			if (!show_bound(s, &test, false, &lo, &hi))
				return NULL;
			test.kind = WT_COND_LE;
		}
		if (!wt_is_inequality(test.kind) || !show_bound(s, &test, false, &lo, &hi))
			return NULL;
	}
	return ends_text(&lo, &hi, "", "");
}

void
wt_explain_condition_times(WtShown *s, ExplainState *es)
{
	int64 as_of = wt_clock_as_of();
	char *limit = as_of == PG_INT64_MAX
					  ? NULL
					  : quote_literal_cstr(timestamptz_to_str(as_of - WT_EPOCH_DIFF));
	char *text = wt_explain_condition_text(s, WT_PART_TS(s->t), WT_PART_TS(s->t) + 1);

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

/*
 * Returns how many leading parts the ranges restrict if the values are not known: up to the
 * first one that is not bound to values.
 */
static int
ranged_parts(WtShown *s)
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
show_key_filter(WtShown *s, int from, bool ors, ExplainState *es)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, wt_explain_condition_text(s, from, s->t->nkeys));
	if (ors)
		append_ors(&text, s);
	if (text.len > 0)
		ExplainPropertyText("Key Filter", text.data, es);
	return text.len > 0;
}

/* Returns a copy with only the tests on this number of leading parts, and without ORs. */
static WtShown
leading_tests(WtShown *s, int parts)
{
	WtShown out = *s;

	out.tests = palloc(sizeof(WtTest) * Max(1, s->ntests));
	out.ntests = 0;
	for (int i = 0; i < s->ntests; i++)
		if (s->tests[i].clause == 0 &&
			(s->tests[i].part < parts || s->tests[i].part >= s->t->nkeys))
			out.tests[out.ntests++] = s->tests[i];
	return out;
}

bool
wt_explain_condition_key(WtShown *s, ExplainState *es)
{
	bool any = false, list = false, never = false, ors = false, filter = true;
	int parts;
	WtShown lead;
	StringInfoData text;
	char *range;

	for (int i = 0; i < s->ntests; i++)
	{
		WtKind kind = s->tests[i].kind;
		bool must = s->tests[i].clause == 0;

		any |= s->tests[i].part < s->t->nkeys;
		list |= must && (kind == WT_COND_ANY || kind == WT_COND_LIST || kind == WT_COND_NE);
		never |= must && kind == WT_COND_NULL;
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

		wt_key_range_make(s->t, s->tests, s->ntests, s->args, &ranges);
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
	appendStringInfoString(&text, range ? range : wt_explain_condition_text(&lead, 0, s->t->nkeys));
	if (ors)
		append_ors(&text, s);
	if (text.len > 0)
		ExplainPropertyText((list || ors) && !s->constant ? "Key Ranges" : "Key Range", text.data,
							es);
	return filter && show_key_filter(s, parts, !ors, es);
}

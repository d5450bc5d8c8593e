/*
 * explain.c
 *		What EXPLAIN shows of a scan: what the engine is asked for, one property a line; with
 *		ANALYZE, what it has done.
 *
 * Without ANALYZE no data is read: everything is derived from the plan.
 */
#include "postgres.h"

#include "fdw/scan/explain.h"

#include "commands/explain.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "rewrite/rewriteManip.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "engine/wide.h"
#include "fdw/derived/index.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/key/part.h"
#include "fdw/plan/aggregate_plan.h"
#include "fdw/plan/plan_private.h"
#include "fdw/scan/aggregate_state.h"
#include "fdw/scan/explain_condition.h"
#include "fdw/scan/scan.h"
#include "fdw/scan/scan_state.h"
#include "fdw/store/compat.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/engine.h"
#include "fdw/table/table.h"
#include "fdw/table/types.h"

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
show_columns(WtShown *s, List *private, ExplainState *es)
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
		char *qual;

		if (c->family < 0 || c->role == WT_DROPPED)
			continue;
		qual = c->qual_len > 0 ? wt_bytes_text_show_qualifier((wide_bytes) {c->qual, c->qual_len})
							   : "";
		families = add_name(families, t->families[c->family].name);
		columns = add_name(columns, psprintf("%s:%s%s", t->families[c->family].name, qual,
											 c->role == WT_MAP ? "*" : ""));
	}
	/* families of columns that are tested, but not returned */
	leaves = wt_plan_private_array(list_nth(private, WtPrivatePredicates), sizeof(WtLeaf),
								   &nleaves);
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
show_statistics(WtScanState *scan, const WtTable *t, bool seeks, ExplainState *es)
{
	WtScanWork work;
	wide_scan_stats st;

	if (scan == NULL)
		return;
	wt_scan_work(scan, &work);
	st = work.stats;
	if (t->bad_key_skip)
		ExplainPropertyInteger("Bad Keys Skipped", NULL, work.bad_keys, es);
	if (t->engine != NULL)
	{
		t->engine->show(&work.other, es);
		return;
	}
	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyInteger("Files Read", NULL, st.files_read, es);
		ExplainPropertyInteger("Files Skipped by Key", NULL, st.files_skipped_key, es);
		ExplainPropertyInteger("Files Skipped by Time", NULL, st.files_skipped_time, es);
		ExplainPropertyInteger("Files Skipped by Bloom", NULL, st.files_skipped_bloom, es);
		ExplainPropertyInteger("Blocks Read", NULL, st.blocks_read, es);
		ExplainPropertyInteger("Blocks Cached", NULL, st.blocks_cached, es);
		if (track_io_timing)
			ExplainPropertyFloat("Block Read Time", "ms", (double) st.read_us / 1000, 3, es);
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
						psprintf(UINT64_FORMAT " read%s, " UINT64_FORMAT " cached", st.blocks_read,
								 track_io_timing && st.blocks_read > 0
									 ? psprintf(" (time %.3f ms)", (double) st.read_us / 1000)
									 : "",
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

/*
 * Returns true if the scan sends the engine its filters, or has sent them.  Another engine may not
 * have taken them since the plan was made; it counts how often it has.
 */
static bool
is_filtered(WtTable *t, WtScanState *scan, ExplainState *es)
{
	WtScanWork work;

	if (t->engine == NULL)
		return true;
	if (!es->analyze || scan == NULL)
		return !t->engine->whole(t);
	wt_scan_work(scan, &work);
	return work.other.filtered > 0;
}

/* Shows the clauses that the engine tests, and how many rows failed them. */
static void
show_filters(ForeignScanState *node, WtShown *s, List *private, WtScanState *scan, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *clauses = list_truncate(list_copy(plan->fdw_recheck_quals),
								  wt_plan_private_flag(private, WtFlagFilters));

	if (clauses == NIL || !is_filtered(s->t, scan, es))
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
	char *name = get_rel_name(relid), *schema = "";

	if (es->verbose)
		schema = psprintf("%s.", quote_identifier(get_namespace_name(get_rel_namespace(relid))));
	alias = alias != NULL && strcmp(alias, name) != 0 ? psprintf(" %s", quote_identifier(alias))
													  : "";
	ExplainPropertyText("Relations",
						psprintf("Aggregate on (%s%s%s)", schema, quote_identifier(name), alias),
						es);
}

static List *
add_text(List *list, WtShown *s, Node *expr)
{
	return lappend(list, deparse_expression(expr, s->context, false, false));
}

/* Shows the aggregates, the groups and the clauses that rows must pass. */
static void
show_aggregates(WtShown *s, ForeignScan *plan, ExplainState *es)
{
	WtAggShape *shape = wt_aggregate_plan_shape(plan);
	List *aggregates = NIL, *groups = NIL,
		 *quals = list_truncate(list_copy_tail(plan->fdw_exprs, shape->nargs), shape->nquals);
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
		if (c->role == WT_KEY && c->part < shape->parts)
			groups = add_text(groups, s, expr);
	}
	if (aggregates != NIL)
		ExplainPropertyList("Aggregates", aggregates, es);
	if (shape->parts > 0)
		ExplainPropertyList("Group Key", groups, es);
	if (shape->loose)
		ExplainPropertyText("Loose Scan", "one row of each group", es);
	if (quals != NIL)
		ExplainPropertyText("Row Filter",
							deparse_expression((Node *) make_ands_explicit(quals), s->context,
											   false, false),
							es);
}

/* Sets up what is shown of the plan; private is the private list of its scan. */
static void
begin_shown(WtShown *s, ForeignScan *plan, Oid relid, List *private, bool aggregate,
			ExplainState *es)
{
	ListCell *e, *ty;
	List *by = list_nth(private, WtPrivateIndex);

	s->t = wt_table(relid);
	if (by != NIL)
	{
		WtIndex *x = wt_index((Oid) linitial_int(linitial(by)));

		/* what follows is about the index */
		if (x != NULL)
			s->t = x->projection;
		if (list_length(by) > 1)
		private = lsecond(by);
	}
	s->exprs = aggregate
				   ? list_truncate(list_copy(plan->fdw_exprs), wt_aggregate_plan_shape(plan)->nargs)
				   : shown_exprs(plan);
	s->context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, NIL);
	s->tests = wt_plan_private_array(list_nth(private, WtPrivateTests), sizeof(WtTest), &s->ntests);
	s->args = palloc(sizeof(WtArg) * Max(1, list_length(s->exprs)));
	forboth(e, s->exprs, ty, list_nth(private, WtPrivateTypes))
		s->args[foreach_current_index(e)] = wt_key_value_arg(lfirst(e), lfirst_oid(ty));
	s->constant = true;
	for (int i = 0; i < s->ntests; i++)
		for (int v = 0; v < s->tests[i].n; v++)
			s->constant = s->constant && s->args[s->tests[i].first + v].known;
}

/* Shows the index that finds the rows, and whether they are read. */
static void
show_index(List *by, ExplainState *es)
{
	bool ordered = list_length(by) > 1 && wt_plan_private_flag(lsecond(by), WtFlagOrdered);

	ExplainPropertyText("Index", get_rel_name((Oid) linitial_int(linitial(by))), es);
	ExplainPropertyText("Rows Read",
						list_length(by) == 1 ? "none, index only"
						: ordered			 ? "one by one in the order of the index"
											 : "in the order of their keys",
						es);
}

void
wt_explain_foreign_scan(ForeignScanState *node, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	bool aggregate = wt_is_aggregate(node);
	List *private = aggregate ? list_nth(plan->fdw_private, WtAggScan) : plan->fdw_private;
	Oid relid = aggregate ? wt_aggregate_plan_shape(plan)->relid
						  : RelationGetRelid(node->ss.ss_currentRelation);
	/* without ANALYZE there is no state */
	WtAggState *a = aggregate ? node->fdw_state : NULL;
	WtScanState *scan = a != NULL ? a->scan : aggregate ? NULL : node->fdw_state;
	WtShown s;
	bool filter;
	List *by = list_nth(private, WtPrivateIndex),
		 *range = list_length(by) > 1 ? lsecond(by) : private;
	double limit = DatumGetFloat8(list_nth_node(Const, private, WtPrivateLimit)->constvalue);

	begin_shown(&s, plan, relid, private, aggregate, es);
	if (es->verbose && s.t->engine != NULL)
		s.t->engine->explain(s.t, es);
	if (aggregate)
	{
		show_relation(plan, relid, es);
		show_aggregates(&s, plan, es);
	}
	show_filters(node, &s, private, scan, es);
	if (by != NIL)
		show_index(by, es);
	if (s.t->cells_layout)
	{
		char *text = wt_explain_condition_text(&s, WT_PART_FAMILY(s.t), WT_PART_VERSION(s.t) + 1);
		char *number = wt_explain_condition_text(&s, WT_PART_NO(s.t), WT_PART_NO(s.t) + 1);

		/* a plan has only one of the two, see scan_plan.c */
		if (text[0] != '\0' || number[0] != '\0')
			ExplainPropertyText("Cell Condition", text[0] != '\0' ? text : number, es);
	}
	filter = wt_explain_condition_key(&s, es);
	if (wt_plan_private_flag(range, WtFlagReverse))
		ExplainPropertyText("Scan Direction", "Backward", es);
	if (list_length(by) > 1)
		s.t = wt_table(relid);
	show_columns(&s, private, es);
	wt_explain_condition_times(&s, es);
	if (limit > 0)
		ExplainPropertyText("Limit", psprintf("%.0f", limit), es);
	if (es->analyze && a != NULL)
	{
		ExplainPropertyInteger("Rows Aggregated", NULL, (int64) a->rows, es);
		if (wt_aggregate_plan_shape(plan)->nquals > 0)
			ExplainPropertyInteger("Rows Removed by Row Filter", NULL, (int64) a->removed, es);
	}
	if (es->analyze)
		show_statistics(scan, s.t, filter, es);
}

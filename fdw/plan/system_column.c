/*
 * system_column.c
 *		Refuses the system columns that wide tables do not have.
 *
 * A row of a wide table has no ctid, xmin and so on, but PostgreSQL accepts their names for every
 * foreign table, and gives them the values of an empty tuple.  A condition on them would be true
 * for all rows or for none: WHERE ctid = $1, by which postgres_fdw and other programs name one
 * row, would change every row.  So a statement that reads one of them is refused while it is
 * planned.
 *
 * Invariant: no plan evaluates a system column other than tableoid on a row of a wide table.
 * Two kinds of ctid are left in, which PostgreSQL adds itself:
 *	- for targets of MERGE.  PostgreSQL refuses foreign targets when the statement starts.
 *	- for the rows of a parent that it marks (FOR UPDATE, or a table that is joined in an
 *	  UPDATE): the ctid for the ordinary tables among the children, the whole row for the
 *	  foreign ones.  The children share one target list, so the scan of a wide child delivers
 *	  a ctid that nothing reads.
 *
 * The planner alone knows all expressions on a table: views and functions have been expanded, and
 * columns of a parent translated to those of the children that are left.  An INSERT that is
 * routed to a partition has no plan for that partition; it is checked before its first row
 * (modify.c).
 */
#include "postgres.h"

#include "fdw/plan/system_column.h"

#include "access/sysattr.h"
#include "catalog/heap.h"
#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "fdw/table/types.h"

/* Raises the error for a system column. */
static void
refuse(WtTable *t, AttrNumber attno)
{
	bool is_time = attno != SelfItemPointerAttributeNumber;
	StringInfoData key;

	initStringInfo(&key);
	for (int i = 0; i < t->nkeys; i++)
		appendStringInfo(&key, "%s%s", i ? ", " : "", quote_identifier(wt_key_column(t, i)->name));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("wide table \"%s\" has no system column \"%s\"",
					get_rel_name(t->relid),
					NameStr(SystemAttributeDefinition(attno)->attname)),
			 errdetail("Of the system columns, wide tables have only tableoid."),
			 is_time && t->cells_layout ? errhint("Column \"ts\" shows when a cell was written.")
			 : is_time ? errhint("A column with option \"timestamp_of\" shows when a cell was "
								 "written.")
			 : t->cells_layout ? errhint("Columns %s, \"family\", \"qualifier\" and \"ts\" "
										 "identify a version of a cell.",
										 key.data)
							   : errhint("The key identifies a row: %s.", key.data)));
}

/* Returns the first system column but tableoid among these, numbered as pull_varattnos does;
 * leave_ctid: and but ctid.  0: there is none. */
static AttrNumber
first_refused(Bitmapset *attrs, bool leave_ctid)
{
	int i = -1;

	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		AttrNumber attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno >= 0)
			break;
		if (attno != TableOidAttributeNumber &&
			!(leave_ctid && attno == SelfItemPointerAttributeNumber))
			return attno;
	}
	return 0;
}

/* Refuses expressions (a node, a list, NULL) on rows of rel that read such a column. */
static void
check_expressions(WtTable *t, Index rel, Node *exprs)
{
	Bitmapset *attrs = NULL;
	AttrNumber attno;

	pull_varattnos(exprs, rel, &attrs);
	attno = first_refused(attrs, false);
	if (attno != 0)
		refuse(t, attno);
	bms_free(attrs);
}

void
wt_system_column_check_modify(ModifyTable *plan, WtTable *t, Index rel, int target)
{
	if (plan->returningLists != NIL)
		check_expressions(t, rel, list_nth(plan->returningLists, target));
	if (plan->withCheckOptionLists != NIL)
		check_expressions(t, rel, list_nth(plan->withCheckOptionLists, target));
}

/* ------------------------------------------------------- PostgreSQL's own ctid */

typedef struct CtidSearch
{
	Index rel;
	int level; /* subqueries that the walk is in */
} CtidSearch;

/* Walker: true if the node reads the ctid of the table. */
static bool
reads_ctid(Node *node, void *context)
{
	CtidSearch *s = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var *v = (Var *) node;

		return v->varno == (int) s->rel && (int) v->varlevelsup == s->level &&
			   v->varattno == SelfItemPointerAttributeNumber;
	}
	if (IsA(node, RestrictInfo))
		return reads_ctid((Node *) ((RestrictInfo *) node)->clause, context);
	if (IsA(node, Query))
	{
		bool found;

		s->level++;
		found = query_tree_walker((Query *) node, reads_ctid, context, 0);
		s->level--;
		return found;
	}
	return expression_tree_walker(node, reads_ctid, context);
}

/* Returns true if the target list has the ctid only in the entry that the row mark needs. */
static bool
is_in_mark_only(List *tlist, PlanRowMark *mark, CtidSearch *s)
{
	char name[NAMEDATALEN];
	ListCell *lc;

	snprintf(name, sizeof(name), "ctid%u", mark->rowmarkId);
	foreach(lc, tlist)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk && tle->resname != NULL && strcmp(tle->resname, name) == 0)
			continue;
		if (reads_ctid((Node *) tle->expr, s))
			return false;
	}
	return true;
}

/* Returns the table of the statement that rel is, or is a child of. */
static Index
top_parent(PlannerInfo *root, RelOptInfo *rel)
{
	Index parent = rel->relid;

	while (root->append_rel_array != NULL && root->append_rel_array[parent] != NULL)
		parent = root->append_rel_array[parent]->parent_relid;
	return parent;
}

/* Returns true if rel is a target of MERGE.  PostgreSQL wants the ctid of every target, and refuses
 * foreign ones when the statement starts. */
static bool
is_target_of_merge(PlannerInfo *root, RelOptInfo *rel)
{
	return root->parse->commandType == CMD_MERGE &&
		   top_parent(root, rel) == (Index) root->parse->resultRelation;
}

/*
 * Returns true if rel is a child of a table of the statement that has a row mark with the ctid,
 * and the statement itself does not read it.
 */
static bool
ctid_is_of_mark(PlannerInfo *root, RelOptInfo *rel)
{
	Query *parse = root->parse;
	CtidSearch s = {0};
	PlanRowMark *mark;

	s.rel = top_parent(root, rel);
	mark = get_plan_rowmark(root->rowMarks, s.rel);
	if (s.rel == rel->relid || mark == NULL || (mark->allMarkTypes & ~(1 << ROW_MARK_COPY)) == 0)
		return false;
	/* range table: lateral references */
	return is_in_mark_only(root->processed_tlist, mark, &s) &&
		   !reads_ctid((Node *) parse->jointree, &s) && !reads_ctid(parse->havingQual, &s) &&
		   !range_table_walker(parse->rtable, reads_ctid, &s, QTW_IGNORE_JOINALIASES);
}

void
wt_system_column_check_scan(PlannerInfo *root, RelOptInfo *rel, WtTable *t)
{
	Bitmapset *attrs = NULL;
	AttrNumber attno;
	ListCell *lc;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attrs);
	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid, &attrs);
	attno = first_refused(attrs, false);
	if (attno == SelfItemPointerAttributeNumber &&
		(ctid_is_of_mark(root, rel) || is_target_of_merge(root, rel)))
		attno = first_refused(attrs, true);
	if (attno != 0)
		refuse(t, attno);
	bms_free(attrs);
}

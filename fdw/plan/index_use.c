/*
 * index_use.c
 *		Indexes in plans: which ones can find the rows of a query.
 */
#include "postgres.h"

#include "fdw/plan/index_use.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "fdw/derived/online_build.h"
#include "fdw/plan/cell_clause.h"
#include "fdw/plan/key_choice.h"
#include "fdw/plan/key_condition.h"
#include "fdw/plan/lock_mode.h"
#include "fdw/plan/plain_column.h"
#include "fdw/plan/scan_columns.h"
#include "fdw/store/clock.h"
#include "fdw/store/settings.h"
#include "fdw/table/table.h"

/* ---------------------------------------------------------- entries of maps */

typedef struct EntrySearch
{
	RelOptInfo *rel;
	const WtIndex *x;
	List *names; /* found: Const, each once */
} EntrySearch;

/* Returns the name of the entry if the node is map ->> 'name' of the index's map, or if it is map ?
 * 'name' and exists; else NULL. */
static Const *
entry_of(RelOptInfo *rel, const WtIndex *x, Node *node, bool *exists)
{
	OpExpr *op = (OpExpr *) node;
	RegProcedure f = node != NULL && IsA(node, OpExpr) && list_length(op->args) == 2
						 ? get_opcode(op->opno)
						 : InvalidOid;

	*exists = f == F_JSONB_EXISTS;
	if ((f != F_JSONB_OBJECT_FIELD_TEXT && f != F_JSONB_EXISTS) ||
		wt_plain_column(rel, linitial(op->args)) != x->map + 1 || !IsA(lsecond(op->args), Const) ||
		lsecond_node(Const, op->args)->constisnull)
		return NULL;
	return lsecond_node(Const, op->args);
}

static bool
find_entries(Node *node, void *arg)
{
	EntrySearch *s = arg;
	bool exists;
	Const *name = node != NULL ? entry_of(s->rel, s->x, node, &exists) : NULL;

	if (node == NULL)
		return false;
	if (name != NULL)
	{
		s->names = list_append_unique(s->names, name);
		return false;
	}
	return expression_tree_walker(node, find_entries, arg);
}

typedef struct EntryMapping
{
	RelOptInfo *rel;
	const WtIndexUse *use;
	bool any; /* something was replaced */
} EntryMapping;

/* Replaces map ->> 'name' by the column of the projection that has it. */
static Node *
map_entry(Node *node, void *arg)
{
	EntryMapping *m = arg;
	const WtIndex *x = m->use->x;
	bool exists;
	Const *name = node != NULL ? entry_of(m->rel, x, node, &exists) : NULL;

	if (node == NULL)
		return NULL;
	if (name == NULL || exists || !equal(name, m->use->entry) || x->entry_value < 0)
		return expression_tree_mutator(node, map_entry, arg);
	m->any = true;
	return (Node *) makeVar(m->rel->relid, x->entry_value + 1, TEXTOID, -1, exprCollation(node), 0);
}

/* Returns true if the condition fails in rows without a value for this part of the key. */
static bool
is_strict(const WtCond *c, int part)
{
	ListCell *a, *lc;

	if (c->kind != WT_COND_OR)
		return c->part == part;
	foreach(a, c->arms)
	{
		bool any = false;

		foreach(lc, (List *) lfirst(a))
			any |= ((WtCond *) lfirst(lc))->part == part;
		if (!any)
			return false;
	}
	return true;
}

/* Returns true if the clause is true only of rows that have the entry. */
static bool
needs_entry(RelOptInfo *rel, const WtIndexUse *use, Node *clause)
{
	bool exists;
	Const *name;
	bool not_null = IsA(clause, NullTest) && ((NullTest *) clause)->nulltesttype == IS_NOT_NULL;

	if (not_null)
		clause = (Node *) ((NullTest *) clause)->arg;
	name = entry_of(rel, use->x, clause, &exists);
	/* map ? 'name' is not null in any row with a map */
	return name != NULL && exists != not_null && equal(name, use->entry);
}

List *
wt_index_use_clauses(PlannerInfo *root, RelOptInfo *rel, const WtIndexUse *use, List *rinfos)
{
	const WtIndex *x = use->x;
	EntryMapping m = {rel, use, false};
	List *out = NIL;
	ListCell *lc;
	bool needed = false;

	if (x->map < 0)
		return rinfos;
	foreach(lc, rinfos)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Node *clause;

		m.any = false;
		clause = map_entry((Node *) rinfo->clause, &m);
		needed |= needs_entry(rel, use, (Node *) rinfo->clause);
		out = lappend(out, m.any ? make_simple_restrictinfo(root, (Expr *) clause) : rinfo);
	}
	/* without a condition that rows without the entry fail, see wt_index_use_conditions() */
	if (!needed)
	{
		List *conds = wt_key_condition_find(root, rel, x->projection, out);

		foreach(lc, conds)
			needed |= x->entry_value >= 0 &&
					  is_strict(lfirst(lc), x->projection->columns[x->entry_value].part);
	}
	if (needed)
	{
		Var *var = makeVar(rel->relid, x->entry_name + 1, TEXTOID, -1, use->entry->constcollid, 0);

		out = lcons(make_simple_restrictinfo(root,
											 make_opclause(TextEqualOperator, BOOLOID, false,
														   (Expr *) var,
														   (Expr *) copyObject(use->entry),
														   InvalidOid, DEFAULT_COLLATION_OID)),
					out);
	}
	return out;
}

/* -------------------------------------------------------------- conditions */

/* Returns true if the conditions bind an index on a map to the entry with one name.  Without that,
 * rows would have no entry, or several. */
static bool
binds_entry(const WtIndex *x, List *conds)
{
	ListCell *lc;

	foreach(lc, conds)
	{
		const WtCond *c = lfirst(lc);

		if (c->kind == WT_COND_EQ && c->part == x->projection->columns[x->entry_name].part)
			return true;
	}
	return false;
}

/* Returns true if the clause says that the first column is not null. */
static bool
says_not_null(RelOptInfo *rel, const WtIndex *x, Node *clause)
{
	return IsA(clause, NullTest) && ((NullTest *) clause)->nulltesttype == IS_NOT_NULL &&
		   !((NullTest *) clause)->argisrow &&
		   wt_plain_column(rel, (Node *) ((NullTest *) clause)->arg) ==
			   wt_key_column(x->projection, 0)->attno;
}

bool
wt_index_use_conditions(PlannerInfo *root, RelOptInfo *rel, const WtIndexUse *use, List *rinfos,
						List **conds)
{
	const WtIndex *x = use->x;
	const WtColumn *first = wt_key_column(x->projection, 0);
	/* where an entry of the map is first, binds_entry() says that there is one */
	bool all = !first->optional || first->source_is != WT_SOURCE_VALUE ||
			   x->base->columns[first->attno - 1].not_null;
	ListCell *lc;

	*conds = wt_key_condition_find(root, rel, x->projection, rinfos);
	foreach(lc, *conds)
		all |= is_strict(lfirst(lc), 0);
	foreach(lc, rinfos)
		all |= says_not_null(rel, x, (Node *) lfirst_node(RestrictInfo, lc)->clause);
	return all && (x->map < 0 || binds_entry(x, *conds));
}

/* Returns true if the index has the column, and shows it as the table does. */
static bool
has_column(const WtIndex *x, int i)
{
	const WtColumn *c = &x->projection->columns[i], *b = &x->base->columns[i];

	if (c->role != WT_KEY || (b->role == WT_KEY && b->enc == c->enc))
		return c->role != WT_DROPPED;
	/* equal values have one key: 1.00 becomes 1, and -0 becomes 0 */
	return c->typid != NUMERICOID && c->typid != FLOAT4OID && c->typid != FLOAT8OID;
}

/* Returns true if the index has all columns that the query needs, and what it has is exact. */
static bool
has_all_columns(RelOptInfo *rel, const WtIndex *x)
{
	List *clauses = extract_actual_clauses(rel->baserestrictinfo, false);
	Bitmapset *wanted;
	int i = -1;
	ListCell *lc;

	if (x->timed || x->map >= 0)
		return false;
	/* a join may test clauses in the scan */
	foreach(lc, rel->joininfo)
		clauses = lappend(clauses, lfirst_node(RestrictInfo, lc)->clause);
	wanted = wt_scan_columns_wanted(rel, x->base, clauses);
	while ((i = bms_next_member(wanted, i)) >= 0)
		if (x->base->columns[i - 1].role != WT_DROPPED && !has_column(x, i - 1))
			return false;
	return true;
}

/* ------------------------------------------------------------------- search */

/* Adds the index to those that can find the rows, if it can.  entry: of a map. */
static void
add_use(PlannerInfo *root, RelOptInfo *rel, WtIndex *x, Const *entry)
{
	WtRelInfo *info = rel->fdw_private;
	WtIndexUse *use = palloc0(sizeof(WtIndexUse));
	List *clauses, *conds;
	int width;

	use->x = x;
	use->entry = entry;
	clauses = wt_index_use_clauses(root, rel, use, rel->baserestrictinfo);
	use->info = wt_scan_size_info(root, rel, x->projection, clauses, &width);
	/* filters on values that have expired since would leave rows out */
	if (x->timed)
		use->info->filters = NIL;
	use->only = has_all_columns(rel, x) && wt_lock_mode(root, rel) == WT_LOCK_NONE;
	info->indexes = lappend(info->indexes, use);
	use->alone = wt_index_use_conditions(root, rel, use, clauses, &conds);
	if (use->alone)
		info->size.rows = Min(info->size.rows, use->info->size.rows);
}

/* Returns: the indexes of the table, locked. */
static List *
lock_indexes(WtTable *t)
{
	List *indexes;
	ListCell *lc;
	uint64 began;

	do
	{
		began = wt_table_invalidations();
		indexes = wt_index_list(t);
		foreach(lc, indexes)
			LockRelationOid(((WtIndex *) lfirst(lc))->relid, AccessShareLock);
		/* one may have been dropped, or built anew, while this waited */
	} while (began != wt_table_invalidations());
	return indexes;
}

void
wt_index_use_find(PlannerInfo *root, RelOptInfo *rel)
{
	WtRelInfo *info = rel->fdw_private;
	List *indexes;
	ListCell *lc, *lc2;

	if (!wt_settings_enable_index || !wt_settings_enable_pushdown || wt_is_derived(info->t) ||
		!info->exists || wt_clock_as_of() != PG_INT64_MAX)
		return;
	indexes = lock_indexes(info->t);
	foreach(lc, indexes)
	{
		WtIndex *x = lfirst(lc);
		EntrySearch s = {rel, x, NIL};

		if (x->building)
		{
			wt_online_build_ensure(x->table);
			continue;
		}
		if (ActiveSnapshotSet() && !wt_index_is_visible(x->made, GetActiveSnapshot()))
			continue;
		if (x->map < 0)
		{
			add_use(root, rel, x, NULL);
			continue;
		}
		foreach(lc2, rel->baserestrictinfo)
			(void) find_entries((Node *) lfirst_node(RestrictInfo, lc2)->clause, &s);
		foreach(lc2, s.names)
			add_use(root, rel, x, lfirst(lc2));
	}
}

/* --------------------------------------------------------------------- cost */

void
wt_index_use_cost(RelOptInfo *rel, const WtIndexUse *use, const WtScanSize *size,
				  const QualCost *qual, bool ordered, bool again, Cost *startup, Cost *total)
{
	WtRelInfo *base = rel->fdw_private;
	WtScanSize get = {.rows = 1, .scanned = 1, .delivered = 1, .ranges = 1};
	QualCost none = {0};
	Cost first, each;
	double near;

	if (use->only)
	{
		wt_scan_size_cost(rel, use->info, size, qual, again, startup, total);
		return;
	}
	wt_scan_size_cost(rel, use->info, size, &none, again, startup, total);
	/* the rows are looked up in the order of their keys: the more there are, the nearer */
	near = base->tuples > 0 && !ordered ? Min(1, size->delivered / base->tuples) : 0;
	get.near = near;
	get.blocks = base->blocks > 0 ? 1 - near : 0;
	wt_scan_size_cost(rel, base, &get, qual, true, &first, &each);
	*total += size->delivered * Max(0, each - qual->startup);
	*startup += qual->startup + Max(0, first - qual->startup);
}

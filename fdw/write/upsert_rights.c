/*
 * upsert_rights.c
 *		Whether an INSERT may write over the cells of an existing row.
 *
 * INSERT is a blind write: where the row exists already, the new cells lie over
 * the old ones, and the cells that the statement does not name stay.  So it is an
 * UPDATE of that row, and needs the rights of one:
 *
 *	1.	the privilege UPDATE, of each user that PostgreSQL checks for INSERT: the
 *		current user on the relation that the statement names and, below a view,
 *		the view's owner on the view's table.  With UPDATE of some columns only, or
 *		through a view that shows some columns only, a row that gives a value to
 *		another column, by a default perhaps, must be new.
 *	2.	the existing row must be one that an UPDATE could find.  INSERT cannot test
 *		that without reading the row, so under row security, through a view with
 *		a condition and through a security_barrier view the row must be new.
 *	3.	a row that an UPDATE of a partition key moves here, and one that MERGE
 *		inserts, must be new, as in an ordinary table with a unique key.
 *
 * A row that must be new and exists is a unique violation, as with insert_mode
 * 'error'.
 *
 * The decision is made when the executor starts and not while planning: a plan
 * may be kept and executed by another role.  Only row security depends on the
 * role in the plan, and PostgreSQL replans for it.
 */
#include "postgres.h"

#include "fdw/write/upsert_rights.h"

#include "access/attnum.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "nodes/plannodes.h"
#include "nodes/primnodes.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "fdw/store/compat.h"
#include "fdw/table/types.h"

static Oid
checked_user(const WtPermissions *p)
{
	return OidIsValid(p->checkAsUser) ? p->checkAsUser : GetUserId();
}

/*
 * Returns the relation that an updatable view passes its INSERTs to, with the view's query and that
 * relation's place in it; InvalidOid for other relations.  *view: to be closed, NULL if it is none.
 */
static Oid
open_view(Oid relid, Relation *view, Query **query, int *rtindex)
{
	List *from;
	RangeTblEntry *rte;

	*view = NULL;
	if (get_rel_relkind(relid) != RELKIND_VIEW)
		return InvalidOid;
	*view = relation_open(relid, AccessShareLock);
	if (!(*view)->rd_rel->relhasrules)
		return InvalidOid;
	*query = get_view_query(*view);
	from = (*query)->jointree->fromlist;
	if (list_length(from) != 1 || !IsA(linitial(from), RangeTblRef))
		return InvalidOid;
	*rtindex = linitial_node(RangeTblRef, from)->rtindex;
	rte = rt_fetch(*rtindex, (*query)->rtable);
	return rte->rtekind == RTE_RELATION ? rte->relid : InvalidOid;
}

static void
close_view(Relation view)
{
	if (view != NULL)
		relation_close(view, AccessShareLock);
}

/*
 * As open_view(), of which it returns the relation only.  *hides is set if an UPDATE through the
 * view does not find all rows of that relation, or if the view is a security_barrier view.
 */
static Oid
view_target(Oid relid, bool *hides)
{
	Relation view;
	Query *query;
	int rtindex;
	Oid target = open_view(relid, &view, &query, &rtindex);

	if (OidIsValid(target))
		*hides = RelationIsSecurityView(view) || query->jointree->quals != NULL;
	close_view(view);
	return target;
}

/*
 * Returns the number of the column by which a view shows a column of the target, directly
 * or through other views; InvalidAttrNumber: by none.
 */
static AttrNumber
view_column(Oid relid, Oid target, AttrNumber attno)
{
	Relation view;
	Query *query;
	int rtindex;
	Oid below;
	AttrNumber found = InvalidAttrNumber;

	if (relid == target)
		return attno;
	below = open_view(relid, &view, &query, &rtindex);
	if (OidIsValid(below))
		attno = view_column(below, target, attno);
	if (OidIsValid(below) && attno != InvalidAttrNumber)
	{
		ListCell *lc;

		foreach(lc, query->targetList)
		{
			TargetEntry *tle = lfirst_node(TargetEntry, lc);
			Var *v = (Var *) tle->expr;

			if (!tle->resjunk && IsA(v, Var) && v->varno == rtindex && v->varattno == attno)
				found = tle->resno;
		}
	}
	close_view(view);
	return found;
}

/*
 * Returns the target relation and the views through which the statement inserts into
 * it.  Several statements of one WITH may insert into the table, through different
 * views; all of these views count for each of them.  *hidden: one of the views hides
 * rows.
 */
static List *
insert_chain(List *permissions, Oid target, bool *hidden)
{
	List *chain = list_make1_oid(target);
	bool grew = true;

	*hidden = false;
	while (grew)
	{
		ListCell *lc;

		grew = false;
		foreach(lc, permissions)
		{
			const WtPermissions *p = lfirst(lc);
			bool hides = false;

			if (!(p->requiredPerms & ACL_INSERT) || list_member_oid(chain, p->relid) ||
				!list_member_oid(chain, view_target(p->relid, &hides)))
				continue;
			chain = lappend_oid(chain, p->relid);
			*hidden |= hides;
			grew = true;
		}
	}
	return chain;
}

/* Returns true if the column's value becomes cells, so that INSERT may replace some. */
static bool
writes_cells(const WtColumn *c)
{
	return c->role == WT_CELL || c->role == WT_MAP || c->role == WT_TIMESTAMP_OF ||
		   c->role == WT_CELL_VALUE;
}

/*
 * Removes from columns those that the user of p may not UPDATE through p's relation.
 * target is the statement's: t itself, or a parent with the same names of columns; p's
 * relation is the target or a view on it.  A generated column needs no privilege: its
 * value follows from the others.
 */
static void
restrict_columns(const WtTable *t, const WtPermissions *p, Oid target, bool *columns)
{
	bool all = pg_class_aclcheck(p->relid, checked_user(p), ACL_UPDATE) == ACLCHECK_OK;

	for (int i = 0; i < t->natts; i++)
	{
		const WtColumn *c = &t->columns[i];
		AttrNumber attno;

		if (!writes_cells(c) || c->computed)
			continue;
		attno = get_attnum(target, c->name);
		if (attno != InvalidAttrNumber)
			attno = view_column(p->relid, target, attno);
		if (attno == InvalidAttrNumber ||
			(!all &&
			 pg_attribute_aclcheck(p->relid, attno, checked_user(p), ACL_UPDATE) != ACLCHECK_OK))
			columns[i] = false;
	}
}

/* Returns true if row security hides rows of the relation from a user of the statement. */
static bool
has_row_security(List *permissions, Relation rel)
{
	bool found = false;
	ListCell *lc;

	/* foreign tables have none; a partitioned table above may */
	if (!rel->rd_rel->relrowsecurity)
		return false;
	foreach(lc, permissions)
	{
		const WtPermissions *p = lfirst(lc);

		if (p->relid != RelationGetRelid(rel) || !(p->requiredPerms & ACL_INSERT))
			continue;
		found = true;
		if (check_enable_rls(p->relid, checked_user(p), true) == RLS_ENABLED)
			return true;
	}
	/* not a statement of a user */
	return !found;
}

/* Rule 1 of the file's head, for the target and the views above it. */
static WtUpsert
check_privileges(List *permissions, List *chain, Oid target, const WtTable *t, bool **columns)
{
	bool *may = NULL;
	bool any = false, all = true, lacks = false;
	ListCell *lc;

	foreach(lc, permissions)
	{
		const WtPermissions *p = lfirst(lc);

		if (!(p->requiredPerms & ACL_INSERT) || !list_member_oid(chain, p->relid) ||
			(p->relid == target &&
			 pg_class_aclcheck(target, checked_user(p), ACL_UPDATE) == ACLCHECK_OK))
			continue;
		if (may == NULL)
		{
			may = palloc(sizeof(bool) * Max(1, t->natts));
			memset(may, true, sizeof(bool) * t->natts);
		}
		lacks |= pg_class_aclcheck(p->relid, checked_user(p), ACL_UPDATE) != ACLCHECK_OK;
		restrict_columns(t, p, target, may);
	}
	*columns = NULL;
	if (may == NULL)
		return WT_UPSERT_ALL;
	for (int i = 0; i < t->natts; i++)
	{
		if (!writes_cells(&t->columns[i]) || t->columns[i].computed)
			continue;
		any |= may[i];
		all &= may[i];
	}
	/* a table may consist of its key */
	if (all && (any || !lacks))
		return WT_UPSERT_ALL;
	*columns = may;
	return any ? WT_UPSERT_COLUMNS : WT_UPSERT_RIGHTS;
}

WtUpsert
wt_upsert_rights(const ModifyTableState *mtstate, const ResultRelInfo *rinfo, const WtTable *t,
				 bool **columns)
{
	const ModifyTable *plan = (ModifyTable *) mtstate->ps.plan; /* NULL for COPY */
	List *permissions = wt_permissions(mtstate->ps.state);
	Relation target = rinfo->ri_RootResultRelInfo ? rinfo->ri_RootResultRelInfo->ri_RelationDesc
												  : rinfo->ri_RelationDesc;
	List *chain;
	bool hidden;

	*columns = NULL;
	if (mtstate->operation != CMD_INSERT)
		return WT_UPSERT_MOVED;
	if ((plan && plan->withCheckOptionLists != NIL) || has_row_security(permissions, target))
		return WT_UPSERT_HIDDEN;
	chain = insert_chain(permissions, RelationGetRelid(target), &hidden);
	if (hidden)
		return WT_UPSERT_HIDDEN;
	return check_privileges(permissions, chain, RelationGetRelid(target), t, columns);
}

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
 *		the view's owner on the view's table.  With UPDATE of some columns only, a
 *		row that gives a value to another column must be new.
 *	2.	the existing row must be one that an UPDATE could find.  INSERT cannot test
 *		that without reading the row, so under row security, through a view WITH
 *		CHECK OPTION and through a security_barrier view the row must be new.
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
 * Returns the relation that an updatable view passes its INSERTs to; InvalidOid for
 * other relations.  *barrier is set if the view is a security_barrier view.
 */
static Oid
view_target(Oid relid, bool *barrier)
{
	Relation view;
	Oid target = InvalidOid;

	if (get_rel_relkind(relid) != RELKIND_VIEW)
		return InvalidOid;
	view = relation_open(relid, AccessShareLock);
	if (view->rd_rel->relhasrules)
	{
		Query *query = get_view_query(view);
		List *from = query->jointree->fromlist;

		if (list_length(from) == 1 && IsA(linitial(from), RangeTblRef))
		{
			RangeTblEntry *rte = rt_fetch(linitial_node(RangeTblRef, from)->rtindex, query->rtable);

			if (rte->rtekind == RTE_RELATION)
				target = rte->relid;
		}
	}
	*barrier = RelationIsSecurityView(view);
	relation_close(view, AccessShareLock);
	return target;
}

/*
 * Returns the target relation and the views through which the statement inserts into
 * it.  Several statements of one WITH may insert into the table, through different
 * views; all of these views count for each of them.  *barrier: one of the views is a
 * security_barrier view.
 */
static List *
insert_chain(List *permissions, Oid target, bool *barrier)
{
	List *chain = list_make1_oid(target);
	bool grew = true;

	*barrier = false;
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
			*barrier |= hides;
			grew = true;
		}
	}
	return chain;
}

/* Returns true if the user may UPDATE all columns that the statement inserts into. */
static bool
may_update_inserted(const WtPermissions *p)
{
	int col = -1;

	if (bms_is_empty(p->insertedCols))
		return false;
	while ((col = bms_next_member(p->insertedCols, col)) >= 0)
	{
		if (pg_attribute_aclcheck(p->relid, col + FirstLowInvalidHeapAttributeNumber,
								  checked_user(p), ACL_UPDATE) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/* Returns true if the column's value becomes cells, so that INSERT may replace some. */
static bool
writes_cells(const WtColumn *c)
{
	return c->role == WT_CELL || c->role == WT_MAP || c->role == WT_TIMESTAMP_OF ||
		   c->role == WT_CELL_VALUE;
}

/*
 * Removes from columns those that the user may not UPDATE.  relid is the statement's
 * target: t itself, or a parent with the same names of columns.  A generated column
 * needs no privilege: its value follows from the others.
 */
static void
restrict_columns(const WtTable *t, Oid relid, Oid user, bool *columns)
{
	for (int i = 0; i < t->natts; i++)
	{
		const WtColumn *c = &t->columns[i];
		AttrNumber attno;

		if (!writes_cells(c) || c->computed)
			continue;
		attno = get_attnum(relid, c->name);
		if (attno == InvalidAttrNumber ||
			pg_attribute_aclcheck(relid, attno, user, ACL_UPDATE) != ACLCHECK_OK)
			columns[i] = false;
	}
}

/* Returns true if a column that writes cells is left. */
static bool
any_column(const WtTable *t, const bool *columns)
{
	for (int i = 0; i < t->natts; i++)
	{
		if (writes_cells(&t->columns[i]) && !t->columns[i].computed && columns[i])
			return true;
	}
	return false;
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
	ListCell *lc;

	foreach(lc, permissions)
	{
		const WtPermissions *p = lfirst(lc);

		if (!(p->requiredPerms & ACL_INSERT) || !list_member_oid(chain, p->relid) ||
			pg_class_aclcheck(p->relid, checked_user(p), ACL_UPDATE) == ACLCHECK_OK)
			continue;
		if (p->relid != target)
		{
			if (!may_update_inserted(p))
				return WT_UPSERT_RIGHTS;
			continue;
		}
		if (may == NULL)
		{
			may = palloc(sizeof(bool) * Max(1, t->natts));
			memset(may, true, sizeof(bool) * t->natts);
		}
		restrict_columns(t, target, checked_user(p), may);
	}
	*columns = may;
	if (may == NULL)
		return WT_UPSERT_ALL;
	return any_column(t, may) ? WT_UPSERT_COLUMNS : WT_UPSERT_RIGHTS;
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
	bool barrier;

	*columns = NULL;
	if (mtstate->operation != CMD_INSERT)
		return WT_UPSERT_MOVED;
	if ((plan && plan->withCheckOptionLists != NIL) || has_row_security(permissions, target))
		return WT_UPSERT_HIDDEN;
	chain = insert_chain(permissions, RelationGetRelid(target), &barrier);
	if (barrier)
		return WT_UPSERT_HIDDEN;
	return check_privileges(permissions, chain, RelationGetRelid(target), t, columns);
}

/*
 * scan_columns.c
 *		The columns that a scan delivers, and the families that it reads for them.
 */
#include "postgres.h"

#include "fdw/plan/scan_columns.h"

#include "access/sysattr.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"

#include "fdw/plan/strict_expression.h"
#include "fdw/table/types.h"

Bitmapset *
wt_scan_columns_read(WtTable *t, Index rel, List *exprs)
{
	Bitmapset *attrs = NULL, *out = NULL;
	int i = -1;

	pull_varattnos((Node *) exprs, rel, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		int attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno == 0)
			out = bms_add_range(out, 1, t->natts);
		else if (attno > 0 && attno <= t->natts)
			out = bms_add_member(out, attno);
	}
	return out;
}

Bitmapset *
wt_scan_columns_wanted(RelOptInfo *rel, WtTable *t, List *clauses)
{
	return bms_join(wt_scan_columns_read(t, rel->relid, rel->reltarget->exprs),
					wt_scan_columns_read(t, rel->relid, clauses));
}

List *
wt_scan_columns_list(Bitmapset *columns)
{
	List *out = NIL;
	int i = -1;

	while ((i = bms_next_member(columns, i)) >= 0)
		out = lappend_int(out, i);
	return out;
}

/* Returns true if the column has a value only in rows with a cell in its family. */
static bool
is_of_family(const WtColumn *c)
{
	return c->role == WT_CELL || c->role == WT_MAP || c->role == WT_TIMESTAMP_OF;
}

int
wt_scan_columns_strict(RelOptInfo *rel, WtTable *t, List *clauses, Bitmapset *read,
					   Bitmapset **wanted)
{
	ListCell *lc;

	foreach(lc, clauses)
	{
		Node *clause = lfirst(lc);
		Bitmapset *attrs = NULL;
		int i = -1;

		if (IsA(clause, NullTest))
		{
			NullTest *n = (NullTest *) clause;

			if (n->nulltesttype != IS_NOT_NULL || n->argisrow || !IsA(n->arg, Var))
				continue;
		}
		else if (!wt_strict_expression(clause))
			continue;
		pull_varattnos(clause, rel->relid, &attrs);
		while ((i = bms_next_member(attrs, i)) >= 0)
		{
			int attno = i + FirstLowInvalidHeapAttributeNumber;

			if (attno > 0 && attno <= t->natts && is_of_family(&t->columns[attno - 1]))
				return t->columns[attno - 1].family;
		}
	}
	for (int a = 0; a < t->natts; a++)
	{
		const WtColumn *c = &t->columns[a];

		if (c->role != WT_CELL || !c->not_null)
			continue;
		for (int o = 0; o < t->natts; o++)
		{
			const WtColumn *other = &t->columns[o];

			if (bms_is_member(o + 1, read) && is_of_family(other) && other->family == c->family)
			{
				*wanted = bms_add_member(*wanted, a + 1);
				return c->family;
			}
		}
	}
	return -1;
}

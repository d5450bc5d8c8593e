/*
 * plain_column.c
 *		Expressions that are a column of a table.
 */
#include "postgres.h"

#include "fdw/plan/plain_column.h"

WtColumn *
wt_plain_column_of(RelOptInfo *rel, WtTable *t, Node *node)
{
	AttrNumber attno = wt_plain_column(rel, node);

	return attno > 0 && attno <= t->natts ? &t->columns[attno - 1] : NULL;
}

AttrNumber
wt_plain_column(RelOptInfo *rel, Node *node)
{
	Var *var;

	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return 0;
	var = (Var *) node;
	if (var->varno != (int) rel->relid || var->varlevelsup != 0 || var->varattno < 0)
		return 0;
	return var->varattno;
}

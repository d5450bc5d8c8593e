/*
 * strict_expression.c
 *		Expressions that are null where their columns are.
 *
 * A row that has no cell of these columns need not be read for such an expression.
 */
#include "postgres.h"

#include "fdw/plan/strict_expression.h"

#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

/* Returns true if the expression casts to a domain, which may refuse null. */
static bool
has_domain(Node *node, void *context)
{
	return node != NULL &&
		   (IsA(node, CoerceToDomain) || expression_tree_walker(node, has_domain, context));
}

bool
wt_strict_expression(Node *expr)
{
	return !contain_nonstrict_functions(expr) && !has_domain(expr, NULL);
}

/* Returns true if a part of the expression is evaluated though no column is in it: arguments are
 * evaluated before it is known that another one is null. */
static bool
has_own_part(Node *node, void *context)
{
	if (node == NULL || IsA(node, Var) || IsA(node, Const) || IsA(node, Param))
		return false;
	if (!IsA(node, List) && !contain_var_clause(node))
		return true;
	return expression_tree_walker(node, has_own_part, context);
}

bool
wt_strict_expression_cannot_fail(Node *expr)
{
	return wt_strict_expression(expr) && !has_own_part(expr, NULL);
}

/* Functions that say nothing about their arguments, as in an error (leakproof), raise none. */
bool
wt_strict_expression_is_harmless(Node *expr)
{
	return !contain_leaked_vars(expr) && !has_domain(expr, NULL) && !has_own_part(expr, NULL);
}

/*
 * strict_expression.h
 *		Expressions that are null where their columns are.
 */
#ifndef WT_STRICT_EXPRESSION_H
#define WT_STRICT_EXPRESSION_H

#include "nodes/nodes.h"

/* Returns true if the expression is null, whatever its other parts are, if one of its columns is.
 * Its parts without columns may raise errors nevertheless. */
extern bool wt_strict_expression(Node *expr);

/* Returns true if it is strict, and nothing of it raises an error where all of its columns are
 * null.
 */
extern bool wt_strict_expression_cannot_fail(Node *expr);

/* Returns true if the expression, strict or not, raises no error whatever its columns are. */
extern bool wt_strict_expression_is_harmless(Node *expr);

#endif /* WT_STRICT_EXPRESSION_H */

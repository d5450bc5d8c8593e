/*
 * operator.h
 *		Operators that bytes can answer: comparisons, prefixes.
 */
#ifndef WT_OPERATOR_H
#define WT_OPERATOR_H

#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

/*
 * Returns true if the operator (column OP value) belongs to the order of the column's type, or is
 * the negation of its equality, if the collation has the order or equality of bytes, and if the
 * value can be converted to the column's type.  Sets *kind, WT_COND_EQ to WT_COND_GE or WT_COND_NE,
 * and the type of the value.
 */
extern bool wt_operator_compares(const WtColumn *c, Oid opno, Oid collation, WtKind *kind,
								 Oid *type);

/*
 * Returns true if the function (column, value) is LIKE, ^@ or a regular expression, and a prefix of
 * text under the collation is a prefix of bytes.  Sets *kind, WT_COND_LIKE to WT_COND_REGEX, and
 * the type of the value.
 */
extern bool wt_operator_has_prefix(const WtColumn *c, Oid function, Oid collation, WtKind *kind,
								   Oid *type);

#endif /* WT_OPERATOR_H */

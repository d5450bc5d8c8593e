/*
 * definition_before.h
 *		The definition that a foreign table had before the present command.
 */
#ifndef WT_DEFINITION_BEFORE_H
#define WT_DEFINITION_BEFORE_H

#include "fdw/table/types.h"

/*
 * Returns: the definition from before the present command, palloc'd; NULL if the
 * command created the table, or if the old definition does not parse.
 */
extern WtTable *wt_definition_before(Oid relid);

#endif /* WT_DEFINITION_BEFORE_H */

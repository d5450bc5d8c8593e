/*
 * definition.h
 *		The parsed table.
 */
#ifndef WT_DEFINITION_H
#define WT_DEFINITION_H

#include "fdw/table/types.h"

/* Parsed in CurrentMemoryContext, with all checks */
extern WtTable *wt_definition_parse(const WtDefinition *def);

#endif /* WT_DEFINITION_H */

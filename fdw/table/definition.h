/*
 * definition.h
 *		Options and columns -> the parsed table.
 */
#ifndef WT_DEFINITION_H
#define WT_DEFINITION_H

#include "fdw/table/types.h"

/*
 * Parses and checks a definition; the result is palloc'd and may point into def.
 * Errors: those of options (option.h, table_option.h, family_option.h, encoding.h), and for
 * options and columns that contradict each other, mostly of class FDW.
 */
extern WtTable *wt_definition_parse(const WtDefinition *def);

/* Returns a number that no parsed definition has: WtTable.serial. */
extern uint64 wt_definition_new_serial(void);

#endif /* WT_DEFINITION_H */

/*
 * family_option.h
 *		The table's option "families".
 */
#ifndef WT_FAMILY_OPTION_H
#define WT_FAMILY_OPTION_H

#include "nodes/pg_list.h"

/*
 * Parses the option's JSON text.
 * Returns: a list of WtFamily in the order of the text, dropped families included; palloc'd.
 * Errors: FDW_INVALID_ATTRIBUTE_VALUE, FDW_INVALID_OPTION_NAME; those of jsonb_in and interval_in.
 */
extern List *wt_family_option_parse(const char *text);

#endif /* WT_FAMILY_OPTION_H */

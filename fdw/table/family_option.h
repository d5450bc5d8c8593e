/*
 * family_option.h
 *		The table's option "families".
 */
#ifndef WT_FAMILY_OPTION_H
#define WT_FAMILY_OPTION_H

#include "nodes/pg_list.h"

/* option "families": a list of WtFamily in the order of the text */
extern List *wt_family_option_parse(const char *text);

#endif /* WT_FAMILY_OPTION_H */

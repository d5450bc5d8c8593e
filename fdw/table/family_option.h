/*
 * family_option.h
 *		The table's option "families".
 */
#ifndef WT_FAMILY_OPTION_H
#define WT_FAMILY_OPTION_H

#include "nodes/pg_list.h"

#include "engine/wide.h"

/*
 * Parses the option's JSON text.
 * Returns: a list of WtFamily in the order of the text, dropped families included; palloc'd.
 * Errors: FDW_INVALID_ATTRIBUTE_VALUE, FDW_INVALID_OPTION_NAME; those of jsonb_in and interval_in.
 */
extern List *wt_family_option_parse(const char *text);

/* Returns: the name of a merge operator (wide_merge). */
extern const char *wt_family_option_operator(uint8 merge);

/* Returns: the name of the option that a bit WT_FAM_* stands for. */
extern const char *wt_family_option_name(uint32 option);

/* Returns: the option's value in *opt as JSON, as the parser takes it; palloc'd. */
extern char *wt_family_option_text(uint32 option, const wide_family_options *opt);

/* Returns: all options as a JSON object, palloc'd. */
extern char *wt_family_option_json(const wide_family_options *opt);

#endif /* WT_FAMILY_OPTION_H */

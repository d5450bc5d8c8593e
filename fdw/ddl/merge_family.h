/*
 * merge_family.h
 *		Which merge operator a family gets from its option and the types of its columns.
 */
#ifndef WT_MERGE_FAMILY_H
#define WT_MERGE_FAMILY_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * Returns: the operator (wide_merge) of the family, which the foreign table may state or leave out.
 * old: the options of the stored family; NULL: it is about to be made.
 * Errors: 42P16 if a column of the family cannot be merged so, or the stored family has another
 * operator.
 */
extern uint8 wt_merge_family_operator(WtTable *t, const WtFamily *f,
									  const wide_family_options *old);

/* Errors: 42P16, 0A000 if a family with a merge operator cannot have these options, or get them
 * now.  old: as above. */
extern void wt_merge_family_check(const WtFamily *f, const wide_family_options *opt,
								  const wide_family_options *old);

#endif /* WT_MERGE_FAMILY_H */

/*
 * column_spec.h
 *		The options of a column while its table's definition is parsed.
 */
#ifndef WT_COLUMN_SPEC_H
#define WT_COLUMN_SPEC_H

#include "fdw/table/option.h"
#include "fdw/table/types.h"

/* The options of a column, before families have numbers. */
typedef struct WtColumnSpec
{
	char *value[WT_COLUMN_OPTIONS]; /* by WtColumnOption; NULL: not stated */
	char *family_name;				/* family of its cells, or NULL */
} WtColumnSpec;

/* Errors: FDW_INVALID_OPTION_NAME if the column has the option; why: a sentence. */
extern void wt_column_spec_refuse(const WtColumn *c, const WtColumnSpec *spec,
								  WtColumnOption option, const char *why);

/* Raises DATATYPE_MISMATCH: the column cannot be the role with its type. */
extern _Noreturn void wt_column_spec_type_error(const WtColumn *c, const char *role,
												const char *types);

#endif /* WT_COLUMN_SPEC_H */

/*
 * column_spec.c
 *		The options of a column while its table's definition is parsed.
 */
#include "postgres.h"

#include "fdw/table/column_spec.h"

#include "utils/builtins.h"

void
wt_column_spec_refuse(const WtColumn *c, const WtColumnSpec *spec, WtColumnOption option,
					  const char *why)
{
	if (spec->value[option])
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("option \"%s\" is not allowed for column \"%s\"",
						wt_option_column_names[option],
						c->name),
				 errdetail("%s", why)));
}

void
wt_column_spec_type_error(const WtColumn *c, const char *role, const char *types)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of type %s cannot be %s",
					c->name,
					format_type_be(c->typid),
					role),
			 errhint("It must have type %s.", types)));
}

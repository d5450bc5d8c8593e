/*
 * part.c
 *		Numbers of key parts, and of the columns behind the key in layout 'cells'.
 */
#include "postgres.h"

#include "fdw/key/part.h"

#include "catalog/pg_type.h"

#include "fdw/table/encoding.h"
#include "fdw/table/types.h"

WtColumn *
wt_part_column(WtTable *t, int part)
{
	WtRole role;

	if (part < t->nkeys)
		return wt_key_column(t, part);
	role = part == WT_PART_FAMILY(t)	  ? WT_CELL_FAMILY
		   : part == WT_PART_QUALIFIER(t) ? WT_CELL_QUALIFIER
		   : part == WT_PART_VERSION(t)	  ? WT_CELL_VERSION
		   : part == WT_PART_TS(t)		  ? WT_CELL_TS
										  : WT_CELL_NO;
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role == role)
			return &t->columns[i];
	return NULL;
}

bool
wt_part_is_descending(WtTable *t, int part)
{
	/* of versions the newest comes first */
	if (part >= t->nkeys)
		return part == WT_PART_TS(t);
	return wt_key_column(t, part)->desc;
}

bool
wt_part_is_ordered(WtTable *t, int part)
{
	/* a qualifier that is not text is shown as \x..., which sorts differently */
	if (part >= t->nkeys)
		return part == WT_PART_QUALIFIER(t) && wt_part_column(t, part)->typid == BYTEAOID;
	return wt_encoding_is_ordered(wt_key_column(t, part));
}

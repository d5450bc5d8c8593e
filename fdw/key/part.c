/*
 * part.c
 *		Numbers of key parts, and of the columns behind the key in layout 'cells'.
 */
#include "postgres.h"

#include "fdw/key/part.h"

#include "catalog/pg_type.h"

#include "fdw/table/encoding.h"
#include "fdw/table/types.h"

/* By the part's number behind those of the key: WT_PART_FAMILY to WT_PART_NO */
static const WtRole cell_roles[] = {WT_CELL_FAMILY, WT_CELL_QUALIFIER, WT_CELL_VERSION, WT_CELL_TS,
									WT_CELL_NO};

WtColumn *
wt_part_column(WtTable *t, int part)
{
	if (part < t->nkeys)
		return wt_key_column(t, part);
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role == cell_roles[part - t->nkeys])
			return &t->columns[i];
	return NULL;
}

int
wt_part_of_column(WtTable *t, const WtColumn *c)
{
	if (c->role == WT_KEY)
		return c->part;
	for (int i = 0; i < (int) lengthof(cell_roles); i++)
		if (c->role == cell_roles[i])
			return t->nkeys + i;
	return -1;
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

/*
 * marker.c
 *		The marker: the cell of rows that have no other.
 */
#include "postgres.h"

#include "fdw/table/marker.h"

#include "fdw/table/types.h"

void
wt_marker_resolve(WtTable *t)
{
	t->marker_taken = -1;
	for (int i = 0; i < t->natts && t->marker_taken < 0; i++)
	{
		const WtColumn *c = &t->columns[i];

		if ((c->role == WT_CELL || c->role == WT_TIMESTAMP_OF || c->role == WT_KEY) &&
			c->family == 0 && c->qual_len == 0)
			t->marker_taken = i;
	}
	t->marker = !t->marker_off && !t->cells_layout && t->marker_taken < 0;
}

const WtColumn *
wt_marker_shown_by(const WtTable *marking, const WtTable *showing)
{
	for (int i = 0; i < showing->natts && marking->marker; i++)
	{
		const WtColumn *c = &showing->columns[i];

		if (c->family < 0 || c->qual_len > 0 ||
			strcmp(showing->families[c->family].name, marking->families[0].name) != 0)
			continue;
		/* a map shows no marker of its own table */
		if (c->role != WT_MAP || !wt_marker_place(showing, c->family, (wide_bytes) {NULL, 0}))
			return c;
	}
	return NULL;
}

bool
wt_marker_in_map(const WtTable *t)
{
	for (int i = 0; i < t->natts && t->marker; i++)
	{
		const WtColumn *c = &t->columns[i];

		if (c->role == WT_MAP && c->family == 0 && c->qual_len == 0)
			return true;
	}
	return false;
}

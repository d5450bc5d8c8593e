/*
 * lookup.c
 *		Columns, families and cells of a table by name.
 */
#include "postgres.h"

#include "fdw/table/lookup.h"

#include "lib/stringinfo.h"
#include "utils/lsyscache.h"

#include "fdw/store/bytes.h"
#include "fdw/table/bytes_text.h"
#include "fdw/table/types.h"

int
wt_lookup_column_index(WtTable *t, const char *name)
{
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role != WT_DROPPED && strcmp(t->columns[i].name, name) == 0)
			return i;
	return -1;
}

const WtColumn *
wt_lookup_column_of(const WtTable *t, const char *source)
{
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role != WT_DROPPED && t->columns[i].source_is == WT_SOURCE_VALUE &&
			strcmp(t->columns[i].source, source) == 0)
			return &t->columns[i];
	return NULL;
}

int
wt_lookup_family(WtTable *t, const char *name)
{
	for (int i = 0; i < t->nfamilies; i++)
		if (strcmp(t->families[i].name, name) == 0)
			return i;
	return -1;
}

WtColumn *
wt_lookup_cell(WtTable *t, const char *col, int *family, uint8 **qual, uint32 *qual_len)
{
	int i = wt_lookup_column_index(t, col);
	WtColumn *c = i < 0 ? NULL : &t->columns[i];
	const char *colon = strchr(col, ':');

	if (c && (c->role == WT_CELL || colon == NULL))
	{
		if (c->role != WT_CELL)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("column \"%s\" of \"%s\" does not map a single cell",
							col,
							get_rel_name(t->relid)),
					 c->role == WT_KEY ? errhint("A key column is given by argument \"key\".")
									   : errhint("Name the cell as 'family:qualifier'.")));
		*family = c->family;
		*qual = c->qual;
		*qual_len = c->qual_len;
		return c;
	}
	if (colon == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of \"%s\" does not exist", col, get_rel_name(t->relid)),
				 errhint("Give the name of a column of the foreign table or 'family:qualifier'.")));
	*family = wt_lookup_family(t, pnstrdup(col, colon - col));
	if (*family < 0)
	{
		StringInfoData list;

		initStringInfo(&list);
		for (i = 0; i < t->nfamilies; i++)
			appendStringInfo(&list, "%s%s", i ? ", " : "", t->families[i].name);
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("family \"%.*s\" of \"%s\" does not exist",
						(int) (colon - col),
						col,
						get_rel_name(t->relid)),
				 errhint("The families are: %s.", list.data)));
	}
	*qual = wt_bytes_text_unescape(colon + 1, true, qual_len);
	for (i = t->natts - 1; i >= 0; i--)
	{
		c = &t->columns[i];
		if (c->role == WT_CELL && c->family == *family &&
			wt_bytes_equal(c->qual, c->qual_len, *qual, *qual_len))
			return c;
	}
	return NULL;
}

static bool
has_prefix(const WtColumn *map, wide_bytes q)
{
	return q.len >= map->qual_len &&
		   (map->qual_len == 0 || memcmp(q.data, map->qual, map->qual_len) == 0);
}

bool
wt_lookup_map_shows(WtTable *t, const WtColumn *map, wide_bytes qualifier)
{
	if (!has_prefix(map, qualifier))
		return false;
	for (int i = 0; i < t->natts; i++)
	{
		const WtColumn *o = &t->columns[i];

		if (o->role == WT_MAP && o->family == map->family && o->qual_len > map->qual_len &&
			has_prefix(o, qualifier))
			return false;
	}
	return true;
}

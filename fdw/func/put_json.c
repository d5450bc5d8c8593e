/*
 * put_json.c
 *		Puts and deletes of the cells of a row that a JSON object names.
 *
 * All values are made before the first put.  A check of a domain may call functions of a user, and
 * these must not come between two changes of a row: what follows from the row would be settled in a
 * subtransaction of theirs, and the locks of unique values be lost with it.
 */
#include "postgres.h"

#include "fdw/func/put_json.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/jsonb.h"

#include "fdw/func/call.h"
#include "fdw/func/cell_argument.h"
#include "fdw/row/cell_read.h"
#include "fdw/row/map.h"
#include "fdw/store/bytes.h"
#include "fdw/xact/change.h"

/* A cell that is put, or deleted by a JSON null. */
typedef struct CellPut
{
	WtCallCell cell;
	bool remove;
	StringInfoData value;
} CellPut;

/* Makes the list of what the object says of cells.  Returns their number. */
static int
parse_puts(WtCall *c, JsonbContainer *object, CellPut **puts)
{
	WtMapWalk w;
	int n = 0;

	*puts = palloc(sizeof(CellPut) * Max(1, JsonContainerSize(object)));
	wt_map_walk(&w, object);
	while (wt_map_walk_next(&w))
	{
		CellPut *p = &(*puts)[n++];

		CHECK_FOR_INTERRUPTS();
		wt_cell_argument_find(c, wt_cell_argument_json_key(&w.key), ACL_INSERT | ACL_UPDATE,
							  &p->cell);
		p->remove = w.value.type == jbvNull;
		if (p->remove)
			continue;
		initStringInfo(&p->value);
		wt_cell_argument_json_value(p->cell.ref.column, &w.value, &p->value);
	}
	return n;
}

void
wt_put_json(WtCall *c, JsonbContainer *object, bool above)
{
	CellPut *puts;
	int n = parse_puts(c, object, &puts);

	for (int i = 0; i < n; i++)
	{
		CellPut *p = &puts[i];

		CHECK_FOR_INTERRUPTS();
		if (p->remove)
		{
			if (!above)
				wt_change_lock_row(c->e.table, c->key, false);
			wt_cell_argument_delete(c, WIDE_DELETE_COLUMN, &p->cell.ref, WIDE_TS_MAX);
			continue;
		}
		if (above)
			wt_cell_read_newest(NULL, c->key, &p->cell.ref, 1);
		wt_cell_argument_put(c, &p->cell.ref, WIDE_TS_AUTO, 0, wt_bytes_of(&p->value));
		pfree(p->value.data);
	}
	pfree(puts);
}

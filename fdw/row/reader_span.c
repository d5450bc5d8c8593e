/*
 * reader_span.c
 *		Rows whose values a scan returns by column (engine/wide.h, spans).
 */
#include "postgres.h"

#include "fdw/row/reader_span.h"

#include "engine/wide.h"
#include "fdw/row/reader_state.h"
#include "fdw/row/reader_value.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/types.h"

void
wt_reader_span_number(WtRowReader *r)
{
	int column = 0;

	r->by_column = true;
	r->span = palloc(sizeof(WtSpanTarget) * Max(1, r->t->natts));
	for (int f = 0; f < r->nfamilies; f++)
	{
		WtReadFamily *rf = &r->families[f];

		r->by_column = r->by_column && rf->nmaps == 0;
		for (int m = 0; m < rf->nmapped && r->by_column; m++)
		{
			for (WtTarget *target = rf->mapped[m].targets; target != NULL; target = target->next)
				r->by_column = r->by_column && target->column->role != WT_TIMESTAMP_OF;
			r->span[r->nspan++] = (WtSpanTarget) {column++, rf->mapped[m].targets};
		}
	}
}

const WtTarget *
wt_reader_span_find(const WtRowReader *r, int att, int *column)
{
	*column = 0;
	for (int f = 0; f < r->nfamilies; f++)
	{
		const WtReadFamily *rf = &r->families[f];

		for (int m = 0; m < rf->nmapped && rf->nmaps == 0; m++, ++*column)
			for (const WtTarget *target = rf->mapped[m].targets; target; target = target->next)
				if (target->att == att)
					return target;
	}
	return NULL;
}

bool
wt_reader_span_possible(const WtRowReader *r)
{
	return r->by_column && r->floors == NULL && !r->track;
}

void
wt_reader_span_take(WtRowReader *r, const wide_row *row, Datum *values, bool *nulls)
{
	int at = row->span_row;

	for (int i = 0; i < r->nspan; i++)
	{
		const wide_span_column *c = &row->span[r->span[i].column];
		wide_bytes v;

		if ((c->there >> at & 1) == 0)
			continue;
		v = c->values[at];
		for (const WtTarget *target = r->span[i].targets; target != NULL; target = target->next)
		{
			if (!wt_reader_value_short(r, target, v, &values[target->att]))
				values[target->att] = wt_cell_value_decode(target->column, r->t, row->key, v.data,
														   v.len);
			nulls[target->att] = false;
		}
	}
}

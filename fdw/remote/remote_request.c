/*
 * remote_request.c
 *		What a scan of a table of HBase asks for: columns, versions, times and filters.
 */
#include "postgres.h"

#include "fdw/remote/remote_request.h"

#include "fdw/remote/remote_filter.h"
#include "fdw/remote/remote_whole.h"

void
wt_remote_request_init(WtRemoteRequest *q)
{
	MemoryContext old = MemoryContextSwitchTo(q->cxt);

	q->columns = wt_remote_filter_columns(q->table, q->spec, &q->ncolumns);
	MemoryContextSwitchTo(old);
}

void
wt_remote_request_filter(WtRemoteRequest *q, bool whole)
{
	MemoryContext old;

	wt_remote_request_all(q, false);
	q->whole = whole;
	if (hb_filters_new(q->client, &q->filters) != HB_OK)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	old = MemoryContextSwitchTo(q->cxt);
	q->filter = whole ? wt_remote_filter_rows(q->filters, q->table, q->spec)
					  : wt_remote_filter_make(q->filters, q->table, q->spec);
	q->two_steps = !whole && wt_remote_filter_first(q->filters, q->table, q->spec, &q->first_filter,
													&q->first_columns, &q->nfirst);
	MemoryContextSwitchTo(old);
}

void
wt_remote_request_all(WtRemoteRequest *q, bool versions)
{
	wt_remote_request_free(q);
	q->versions = versions;
	q->filter = NULL;
	q->two_steps = false;
	q->whole = false;
}

bool
wt_remote_request_finds(const WtRemoteRequest *q)
{
	int at;

	if (!q->table->there)
		return false;
	for (int i = 0; i < q->spec->nfamilies; i++)
	{
		(void) wt_remote_table_of(q->spec->families[i].id, &at);
		if (q->table->families[at].stored)
			return true;
	}
	return false;
}

/* HBase's time for a limit in microseconds: the first millisecond at or behind it. */
static int64
to_milliseconds(int64 us)
{
	return us == PG_INT64_MAX ? us : us <= 0 ? 0 : (us - 1) / 1000 + 1;
}

hb_read
wt_remote_request_read(const WtRemoteRequest *q)
{
	const wide_scan_spec *spec = q->spec;
	hb_read read = {.table = q->table->name,
					.families = q->columns,
					.n_families = q->ncolumns,
					.max_versions = q->versions ? PG_INT32_MAX : 1,
					.family_cells = q->whole ? WT_REMOTE_WHOLE_CELLS : 0,
					.filter = q->filter};

	for (int i = 0; i < spec->nfamilies; i++)
		read.max_versions = Max(read.max_versions, spec->families[i].max_versions);
	if (q->filter != NULL && spec->npredicates > 0)
		q->work->filtered++;
	/* versions are counted before the time range is applied: remote_row.c does both */
	if (!q->versions && (spec->ts_min != 0 || spec->ts_max != 0))
	{
		read.time_range = true;
		read.min_time = to_milliseconds(spec->ts_min);
		read.max_time = spec->ts_max == 0 ? PG_INT64_MAX : to_milliseconds(spec->ts_max);
	}
	return read;
}

_Noreturn void
wt_remote_request_fail(const WtRemoteRequest *q, hb_status status)
{
	wt_remote_table_fail(q->table, q->client, status, "could not read", NULL);
}

void
wt_remote_request_free(WtRemoteRequest *q)
{
	hb_filters_free(q->filters);
	q->filters = NULL;
}

/*
 * remote_explain.c
 *		What EXPLAIN shows of scans of tables of HBase.
 */
#include "postgres.h"

#include "fdw/remote/remote_explain.h"

#include "commands/explain.h"

#include "fdw/remote/remote_table.h"
#include "fdw/store/compat.h"

void
wt_remote_explain_scan(const WtEngineWork *w, struct ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("HBase",
							psprintf(UINT64_FORMAT " calls, " UINT64_FORMAT " rows, " UINT64_FORMAT
												   " cells, " UINT64_FORMAT " kB, " UINT64_FORMAT
												   " regions, " UINT64_FORMAT " retries",
									 w->calls, w->rows, w->cells, (w->bytes + 1023) / 1024,
									 w->regions, w->retries),
							es);
		return;
	}
	ExplainPropertyInteger("Calls", NULL, (int64) w->calls, es);
	ExplainPropertyInteger("Rows Received", NULL, (int64) w->rows, es);
	ExplainPropertyInteger("Cells Received", NULL, (int64) w->cells, es);
	ExplainPropertyInteger("Bytes Received", NULL, (int64) w->bytes, es);
	ExplainPropertyInteger("Regions", NULL, (int64) w->regions, es);
	ExplainPropertyInteger("Retries", NULL, (int64) w->retries, es);
}

void
wt_remote_explain_table(WtTable *t, struct ExplainState *es)
{
	ExplainPropertyText("HBase Table", wt_remote_table(t)->name, es);
}

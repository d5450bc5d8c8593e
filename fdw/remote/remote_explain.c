/*
 * remote_explain.c
 *		What EXPLAIN shows of scans of tables of HBase.
 */
#include "postgres.h"

#include "fdw/remote/remote_explain.h"

#include "commands/explain.h"

#include "fdw/remote/remote_table.h"
#include "fdw/store/compat.h"

/* The members of the counters mean what wt_remote_scan_statistics() says. */
void
wt_remote_explain_scan(const wide_scan_stats *st, struct ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("HBase",
							psprintf(UINT64_FORMAT " calls, " UINT64_FORMAT " rows, " UINT64_FORMAT
												   " cells, " UINT64_FORMAT " kB, " UINT64_FORMAT
												   " regions, " UINT64_FORMAT " retries",
									 st->blocks_read, st->tombstones, st->cells_scanned,
									 (st->blocks_cached + 1023) / 1024, st->files_read,
									 st->files_skipped_key),
							es);
		return;
	}
	ExplainPropertyInteger("Calls", NULL, (int64) st->blocks_read, es);
	ExplainPropertyInteger("Rows Received", NULL, (int64) st->tombstones, es);
	ExplainPropertyInteger("Cells Received", NULL, (int64) st->cells_scanned, es);
	ExplainPropertyInteger("Bytes Received", NULL, (int64) st->blocks_cached, es);
	ExplainPropertyInteger("Regions", NULL, (int64) st->files_read, es);
	ExplainPropertyInteger("Retries", NULL, (int64) st->files_skipped_key, es);
}

void
wt_remote_explain_table(WtTable *t, struct ExplainState *es)
{
	ExplainPropertyText("HBase Table", wt_remote_table(t)->name, es);
}

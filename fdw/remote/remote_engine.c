/*
 * remote_engine.c
 *		The engine "hbase": tables of Apache HBase as foreign tables.
 */
#include "postgres.h"

#include "fdw/remote/remote_engine.h"

#include "fdw/remote/connection.h"
#include "fdw/remote/import.h"
#include "fdw/remote/remote_change.h"
#include "fdw/remote/remote_commit.h"
#include "fdw/remote/remote_define.h"
#include "fdw/remote/remote_explain.h"
#include "fdw/remote/remote_region.h"
#include "fdw/remote/remote_scan.h"
#include "fdw/remote/remote_size.h"
#include "fdw/remote/remote_table.h"
#include "fdw/remote/row_operation.h"
#include "fdw/table/engine.h"

static void
begin_operation(WtTable *t, wide_bytes key)
{
	WtRemoteTable *r = wt_remote_table(t);

	if (wt_remote_change_row(r, key) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change a row of table \"%s\" at once that the transaction has "
						"changed already",
						t->table_name),
				 errdetail("Its changes are sent to HBase at commit.")));
	wt_remote_change_begin(t, NULL, InvalidCommandId);
	wt_row_operation_begin(t, r, key);
}

static bool
changed(void)
{
	WtRemoteRow *const *rows;

	return wt_remote_change_rows(&rows) > 0;
}

static const WtEngine hbase = {
	.name = "hbase",
	.can = WT_CAN_PREDICATES | WT_CAN_SPLIT | WT_CAN_BATCH,
	.find = wt_remote_table_find,
	.families = wt_remote_table_families,
	.estimate = wt_remote_size_estimate,
	.define = wt_remote_define,
	.truncate = wt_remote_define_truncate,
	.drop = wt_remote_define_drop,
	.import = wt_import_commands,
	.size = wt_remote_size_bytes,
	.split_keys = wt_remote_size_split_keys,
	.sample = wt_remote_size_sample,
	.flush = wt_remote_size_flush,
	.compact = wt_remote_size_compact,
	.connections = wt_connection_each,
	.open = wt_remote_scan_open,
	.next = wt_remote_scan_next,
	.restart = wt_remote_scan_restart,
	.prefetch = wt_remote_scan_prefetch,
	.work = wt_remote_scan_work,
	.show = wt_remote_explain_scan,
	.explain = wt_remote_explain_table,
	.whole = wt_remote_scan_whole,
	.changed = changed,
	.split = wt_remote_region_split,
	.close = wt_remote_scan_close,
	.begin = wt_remote_change_begin,
	.row_changed = wt_remote_change_changed,
	.put = wt_remote_change_put,
	.remove = wt_remote_change_remove,
	.row_begin = begin_operation,
	.row_increment = wt_row_operation_increment,
	.row_append = wt_row_operation_append,
	.row_execute = wt_row_operation_execute,
	.row_result = wt_row_operation_result,
};

void
wt_remote_engine_init(void)
{
	wt_remote_table_init(wt_engine_register(&hbase));
	wt_connection_init();
	wt_remote_define_init();
	wt_remote_change_init();
	wt_row_operation_init();
	wt_remote_commit_init();
}

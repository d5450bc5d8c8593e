/*
 * parallel_snapshot.c
 *		Passes the leader's snapshot to the workers of a parallel statement.
 *
 * Invariants
 *	- All processes of a parallel statement read with the leader's snapshot: in
 *	  parallel scans, in scans that every worker does as a whole, and in functions.
 *	  PostgreSQL's snapshot, which workers get, does not say which snapshot of the
 *	  engine belongs to it, because commits to wide tables alone have no xid.
 *	- The exported snapshot is in the setting widetable.parallel_snapshot while the
 *	  leader runs the statement.  PostgreSQL copies settings to workers when it creates
 *	  the parallel context, which is within ExecutorRun of that statement.  (The wrapper
 *	  is called with the parallel context for parallel-aware scans only.)
 *	- No parallel worker reads for a transaction that has a batch, because the batch is
 *	  in the leader's memory.  A statement on wide tables then runs without workers
 *	  (executor_hooks.c), and a function that reads one in a worker of another statement
 *	  fails.  No batch begins during a parallel statement (wt_batch).
 */
#include "postgres.h"

#include "fdw/xact/parallel_snapshot.h"

#include "access/parallel.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "fdw/store/error.h"
#include "fdw/store/store.h"

#define SETTING	  "widetable.parallel_snapshot"
#define HAS_BATCH "written" /* instead of a snapshot: only the leader may read */

static char *setting; /* the snapshot in hexadecimal, HAS_BATCH, or empty */
static bool announcing = false;

/* Only this file and the start of parallel workers may set it. */
static bool
check_setting(char **newval, void **extra, GucSource source)
{
	if (*newval == NULL || (*newval)[0] == '\0' || announcing || InitializingParallelWorker)
		return true;
	GUC_check_errdetail("This setting is for parallel workers.");
	return false;
}

void
wt_parallel_snapshot_init(void)
{
	DefineCustomStringVariable(SETTING, "The snapshot of a parallel statement, for its workers.",
							   NULL, &setting, "", PGC_USERSET,
							   GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE |
								   GUC_DISALLOW_IN_FILE,
							   check_setting, NULL, NULL);
}

/* Returns: the exported snapshot in hexadecimal, palloc'd. */
static char *
snapshot_text(const wide_snapshot *ws)
{
	Size n = wide_snapshot_export(ws, NULL, 0);
	char *bytes = palloc(n);
	char *text = palloc(2 * n + 1);

	(void) wide_snapshot_export(ws, bytes, n);
	text[hex_encode(bytes, n, text)] = '\0';
	pfree(bytes);
	return text;
}

int
wt_parallel_snapshot_announce(const wide_snapshot *ws)
{
	int level = NewGUCNestLevel();

	announcing = true;
	PG_TRY();
	{
		(void) set_config_option(SETTING, ws != NULL ? snapshot_text(ws) : HAS_BATCH, PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, ERROR, false);
	}
	PG_FINALLY();
	{
		announcing = false;
	}
	PG_END_TRY();
	return level;
}

void
wt_parallel_snapshot_withdraw(int level)
{
	AtEOXact_GUC(true, level);
}

bool
wt_parallel_snapshot_leader_wrote(void)
{
	return IsParallelWorker() && setting != NULL && strcmp(setting, HAS_BATCH) == 0;
}

wide_snapshot *
wt_parallel_snapshot_import(void)
{
	wide_snapshot *ws;
	char *bytes;
	Size n;

	if (setting == NULL || setting[0] == '\0' || wt_parallel_snapshot_leader_wrote())
		return NULL;
	bytes = palloc(strlen(setting) / 2 + 1);
	n = hex_decode(setting, strlen(setting), bytes);
	wt_error_check(wide_snapshot_import(wt_store_db(), bytes, n, &ws),
				   "could not use the snapshot of the parallel statement");
	pfree(bytes);
	return ws;
}

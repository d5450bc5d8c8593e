/*
 * parallel_snapshot.c
 *		The engine's snapshot for the workers of a parallel statement.
 */
#include "postgres.h"

#include "fdw/xact/parallel_snapshot.h"

#include "access/parallel.h"
#include "lib/stringinfo.h"
#include "utils/guc.h"

#include "fdw/store/error.h"
#include "fdw/store/store.h"

/* ------------------------------------------------------ leader's snapshot */

#define SETTING	   "widetable.parallel_snapshot"
#define OWN_WRITES "written" /* instead of a snapshot: nobody but the leader may read */

static char *setting;
static bool announcing = false;

/* Users have no business with it: it would show them another moment. */
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

static char *
snapshot_text(const wide_snapshot *ws)
{
	Size n = wide_snapshot_export(ws, NULL, 0);
	uint8 *bytes = palloc(n);
	StringInfoData out;

	(void) wide_snapshot_export(ws, bytes, n);
	initStringInfo(&out);
	for (Size i = 0; i < n; i++)
		appendStringInfo(&out, "%02x", bytes[i]);
	pfree(bytes);
	return out.data;
}

int
wt_parallel_snapshot_announce(const wide_snapshot *ws)
{
	int level = NewGUCNestLevel();

	announcing = true;
	PG_TRY();
	{
		(void) set_config_option(SETTING, ws != NULL ? snapshot_text(ws) : OWN_WRITES, PGC_USERSET,
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
	return IsParallelWorker() && setting != NULL && strcmp(setting, OWN_WRITES) == 0;
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

wide_snapshot *
wt_parallel_snapshot_import(void)
{
	wide_snapshot *ws;
	uint8 *bytes;
	char *p;
	Size n = 0;

	if (setting == NULL || setting[0] == '\0' || wt_parallel_snapshot_leader_wrote())
		return NULL;
	bytes = palloc(strlen(setting) / 2 + 1);
	for (p = setting; hex_digit(p[0]) >= 0 && hex_digit(p[1]) >= 0; p += 2)
		bytes[n++] = (uint8) (hex_digit(p[0]) << 4 | hex_digit(p[1]));
	wt_error_check(wide_snapshot_import(wt_store_db(), bytes, n, &ws),
				   "could not use the snapshot of the parallel statement");
	pfree(bytes);
	return ws;
}

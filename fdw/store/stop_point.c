/*
 * stop_point.c
 *		Stop points: named places at which a session halts until another session lets
 *		it go on.  Tests put commits, snapshots, locks and flushes into any order with
 *		them, without sleeping.
 *
 * widetable.stop_at has the names at which this session halts.  There it waits for
 * the advisory lock (WT_STOP_CLASS, hashtext(name)) of its database.  A test holds
 * the lock, so pg_locks and isolationtester see the session as blocked; if no session
 * holds it, this one goes on.  While the setting is empty a place costs a comparison.
 *
 * A place must be one at which a process may wait: not in a critical section, and not
 * under a lock of the engine that others queue for.  "finish-appended" is therefore
 * the first place after the append of the record, which is under the engine's commit
 * lock.  In the engine, and after PostgreSQL's commit record, no error may be raised:
 * there the wait is not interruptible, and ends if the deadlock detector breaks it.
 */
#include "postgres.h"

#include "fdw/store/stop_point.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/lockdefs.h"
#include "storage/proc.h"
#include "utils/guc.h"

#include "engine/wide.h"
#include "fdw/store/error.h"

#define WT_STOP_CLASS 2003395685 /* 'wide' */

bool wt_stop_point_any = false;
static char *setting;

/*
 * A library that tests load before this one may put a function into the rendezvous
 * variable of this name; it gets the names of the engine's injection points that
 * the process reaches.
 */
#define WT_INJECTION_POINT "widetable_injection_point"

typedef void (*injection_point_fn)(const char *name);
static injection_point_fn other;

static const char *const places[] = {
	/* commit, in this order, of a transaction that has written to wide tables */
	"commit-prepared",	/* everything that can fail is done; PostgreSQL has not decided yet */
	"commit-recorded",	/* PostgreSQL regards the transaction as committed; FINISH is not written */
	"finish-appended",	/* engine: FINISH is in the log, the cells are not in memory */
	"finish-applied",	/* engine: the cells are in memory, applied_seq does not include them */
	"commit-applied",	/* no xid: the newest state includes the batch; row locks are held */
	"commit-unlocked",	/* no xid: row locks are released; neither durable nor published */
	"commit-durable",	/* not published */
	"commit-published", /* visible to new snapshots */
	/* a prepared transaction */
	"prepared-logged",	 /* engine: its records are in the log; PostgreSQL's is not */
	"prepared-ended",	 /* PostgreSQL has ended it, the engine has not */
	"prepared-finished", /* engine: FINISH is in the log, the batch is not published */
	/* a statement's snapshot */
	"snapshot-begin",	 /* PostgreSQL's is taken, the engine's is not */
	"snapshot-waited",	 /* engine: what PostgreSQL's sees as ended is published */
	"snapshot-numbered", /* engine: S is read, exclusions are not collected */
	"snapshot-taken",
	/* the row lock is held, the newest state is not read */
	"row-locked",
	/* the builder of an index or a roll-up, at the end of each of its transactions; of a roll-up,
	 * when it has read all rows */
	"index-chunk",
	"rollup-read",
	/* parallel plans */
	"parallel-announced", /* the leader, before it starts workers */
	"parallel-adopt",	  /* a parallel worker, before it imports the leader's snapshot */
	/* engine, in the session that does the work: before and after the manifest switches to the
	 * new files; before a file is unlinked */
	"flush-files",
	"flush-manifest",
	"compact-files",
	"compact-manifest",
	"remove-unlink",
	/* before a file is verified; after a family is copied to another database */
	"verify-file",
	"copy-family",
	/* a store is made: the replication slot is there, nothing else */
	"begin-slot",
	/* uninstall(): the store is closed, and no other process has it open */
	"uninstall-closed",
};

/* name: n bytes */
static bool
is_place(const char *name, size_t n)
{
	for (int i = 0; i < (int) lengthof(places); i++)
		if (strncmp(places[i], name, n) == 0 && places[i][n] == '\0')
			return true;
	return false;
}

/* Returns: true if the setting, names separated by commas and spaces, has the name. */
static bool
stops_at(const char *name)
{
	size_t n = strlen(name);

	for (const char *p = strstr(setting, name); p != NULL; p = strstr(p + 1, name))
		if ((p == setting || strchr(", ", p[-1])) && strchr(", ", p[n]))
			return true;
	return false;
}

/* Raises no error, as every check hook. */
static bool
check_stop_at(char **newval, void **extra, GucSource source)
{
	for (const char *p = *newval; p != NULL && *p != '\0';)
	{
		size_t n = strcspn(p, ", ");

		if (n > 0 && !is_place(p, n))
		{
			GUC_check_errdetail("There is no stop point \"%.*s\".", (int) n, p);
			return false;
		}
		p += n + strspn(p + n, ", ");
	}
	return true;
}

/* Waits until no other session holds the place's advisory lock. */
static void
wait_for_lock(const char *name)
{
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, WT_STOP_CLASS,
						 hash_bytes((const unsigned char *) name, (int) strlen(name)), 2);
	(void) LockAcquire(&tag, ShareLock, true, false);
	LockRelease(&tag, ShareLock, true);
}

void
wt_stop_point_wait(const char *name)
{
	WtErrorPoint before = wt_error_point();

	if (MyProc == NULL || CritSectionCount > 0 || !stops_at(name))
		return;
	if (InterruptHoldoffCount == 0)
	{
		wait_for_lock(name);
		return;
	}
	PG_TRY();
	{
		wait_for_lock(name);
	}
	PG_CATCH();
	{
		FreeErrorData(wt_error_take(&before));
	}
	PG_END_TRY();
}

/* Called in the engine, where no error may be raised. */
static void
at_injection_point(void *arg, const char *name)
{
	if (other != NULL)
		other(name);
	if (!wt_stop_point_any)
		return;
	HOLD_INTERRUPTS();
	wt_stop_point_wait(name);
	RESUME_INTERRUPTS();
}

static void
assign_stop_at(const char *newval, void *extra)
{
	wt_stop_point_any = newval != NULL && newval[0] != '\0';
	wide_on_injection_point(wt_stop_point_any || other != NULL ? at_injection_point : NULL, NULL);
}

void
wt_stop_point_init(void)
{
	other = (injection_point_fn) *find_rendezvous_variable(WT_INJECTION_POINT);
	DefineCustomStringVariable(
		"widetable.stop_at",
		"Places at which the session halts until another one lets it go, for tests.",
		"Names separated by commas; it waits for the advisory lock (2003395685, hashtext(name)).",
		&setting, "", PGC_SUSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
		check_stop_at, assign_stop_at, NULL);
}

/*
 * statement.c
 *		Which statement runs, for engines without snapshots.
 *
 * Statements are told apart by numbers that they get when they start, since a message or a
 * function may have several, and a cursor is one over several messages.
 */
#include "postgres.h"

#include "fdw/xact/statement.h"

#include "access/xact.h"
#include "nodes/pg_list.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "fdw/store/compat.h"

/* A statement that has started.  One that starts later at the same address takes it over. */
typedef struct Started
{
	const QueryDesc *query;
	uint64 number;
} Started;

static LocalTransactionId within = InvalidLocalTransactionId; /* the transaction of all below */
static List *started = NIL;									  /* in its memory */
static uint64 reader = 0;									  /* the statement that has read */
static bool has_read = false;

static uint64 last = 0;		/* number that was given */
static uint64 running = 0;	/* 0: no statement runs, or at a lower isolation level */
static int planning = 0;	/* nested calls of the planner */
static bool hooked = false; /* else the library was loaded while this statement is planned */

static void
look_at_transaction(void)
{
	if (within == wt_my_lxid)
		return;
	within = wt_my_lxid;
	started = NIL;
	has_read = false;
}

static Started *
find(const QueryDesc *query)
{
	ListCell *lc;

	look_at_transaction();
	foreach(lc, started)
		if (((Started *) lfirst(lc))->query == query)
			return lfirst(lc);
	return NULL;
}

bool
wt_statement_begin(const QueryDesc *query)
{
	Started *s;

	hooked = true;
	if (!IsolationUsesXactSnapshot())
		return false;
	s = find(query);
	if (s == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

		s = palloc(sizeof(Started));
		s->query = query;
		started = lappend(started, s);
		MemoryContextSwitchTo(old);
	}
	s->number = ++last;
	return true;
}

uint64
wt_statement_enter(const QueryDesc *query)
{
	uint64 outer = running;
	const Started *s = IsolationUsesXactSnapshot() ? find(query) : NULL;

	running = s == NULL ? 0 : s->number;
	return outer;
}

void
wt_statement_leave(uint64 outer)
{
	running = outer;
}

bool
wt_statement_plan(void)
{
	hooked = true;
	planning += IsolationUsesXactSnapshot();
	return IsolationUsesXactSnapshot();
}

void
wt_statement_planned(void)
{
	planning--;
}

void
wt_statement_check(const char *engine)
{
	if (!IsolationUsesXactSnapshot() || planning > 0 || !hooked)
		return;
	look_at_transaction();
	if (has_read && (reader != running || running == 0))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read tables of engine \"%s\" again at this isolation level",
						engine),
				 errdetail("It has no snapshots: a later read would see another moment."),
				 errhint("Use READ COMMITTED.")));
	has_read = true;
	reader = running;
}

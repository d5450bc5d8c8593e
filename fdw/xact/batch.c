/*
 * batch.c
 *		The transaction's write batch, and marks in it: of commands, plan nodes and
 *		savepoints.
 *
 * A mark is a position in the batch.  A statement sees the batch up to the mark of the
 * first command that its snapshot does not see, as with heap rows; a read-modify-write
 * under a row lock sees all of it.  A subtransaction that is rolled back rewinds the
 * batch to the mark of its level.
 *
 * Invariants
 *	- commands[] ascends by command id and by mark.  An entry is added when a command
 *	  or a plan node adds its first operation, or its first one after another writer's.
 */
#include "postgres.h"

#include "fdw/xact/batch.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/snapshot.h"

#include "fdw/store/clock.h"
#include "fdw/store/error.h"
#include "fdw/store/level_marks.h"
#include "fdw/store/settings.h"
#include "fdw/store/store.h"
#include "fdw/store/temp_file.h"
#include "fdw/xact/derive.h"

typedef struct CommandMark
{
	CommandId cid;			  /* of the operations */
	const WtWriter *writer;	  /* plan node, only to be compared; NULL: a function, DDL */
	CommandId writer_command; /* command that the plan node belongs to */
	uint64 mark;			  /* before the first of the operations */
} CommandMark;

static wide_batch *batch = NULL;
static bool ddl = false; /* the batch changes the catalog */

/* in TopMemoryContext, and used again by the next transaction */
static CommandMark *commands = NULL;
static int ncommands = 0, commands_max = 0;
static WtLevelMarks levels;

wide_batch *
wt_batch(bool create)
{
	/* parallel workers could not see the batch, and the statement has started without one */
	if (create && IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot write to wide tables during a parallel operation")));
	if (batch != NULL || !create)
		return batch;
	PreventCommandDuringRecovery("a change of wide tables");
	wt_temp_file_prepare();
	wt_error_check(wide_batch_new(wt_store_db(), &batch), "could not begin writing");
	return batch;
}

/* Returns: the array, with space for one more element after n. */
static void *
grow(void *array, int n, int *max, Size size)
{
	if (n < *max)
		return array;
	*max = Max(16, *max * 2);
	return array ? repalloc(array, *max * size) : MemoryContextAlloc(TopMemoryContext, *max * size);
}

/* Marks where a command, or a plan node of it (writer), begins to write. */
static void
mark_command(const WtWriter *writer)
{
	wide_batch *b = wt_batch(true);
	CommandId cid = GetCurrentCommandId(true);

	if (ncommands == 0 || commands[ncommands - 1].cid != cid ||
		commands[ncommands - 1].writer != writer)
	{
		/* what follows from the changes of the last command belongs to it */
		wt_derive_settle();
		commands = grow(commands, ncommands, &commands_max, sizeof(CommandMark));
		commands[ncommands++] = (CommandMark) {
			cid, writer, writer ? writer->command : InvalidCommandId, wide_batch_mark(b)};
		wide_batch_command(b, (size_t) wt_settings_write_memory_kb * 1024);
	}
	wt_level_marks_note(&levels, wide_batch_mark(b));
}

void
wt_batch_command(void)
{
	wt_batch_command_by(NULL);
}

void
wt_batch_command_ddl(void)
{
	ddl = true;
	mark_command(NULL);
}

void
wt_batch_command_by(const WtWriter *writer)
{
	wt_clock_check();
	mark_command(writer);
}

/* Returns: index of the first of commands[] whose mark, or else command id, is at least this. */
static int
first_from(bool by_mark, uint64 least)
{
	int lo = 0, hi = ncommands;

	while (lo < hi)
	{
		int mid = (lo + hi) / 2;

		if ((by_mark ? commands[mid].mark : commands[mid].cid) < least)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Returns: index of the first of commands[] that a snapshot with this curcid does not see. */
static int
first_unseen(CommandId curcid)
{
	return first_from(false, curcid);
}

uint64_t
wt_batch_own_mark(Snapshot snapshot)
{
	int i;

	if (batch == NULL)
		return 0;
	wt_derive_settle();
	i = first_unseen(snapshot->curcid);
	return i < ncommands ? commands[i].mark : wide_batch_mark(batch);
}

void
wt_batch_writer_init(WtWriter *w, EState *estate)
{
	*w = (WtWriter) {.command = estate->es_output_cid, .looked_at = -1};
	/* COPY has no snapshot, and never calls wt_batch_leave_out() */
	w->unseen = estate->es_snapshot ? estate->es_snapshot->curcid : FirstCommandId;
}

/* Returns: true if another writer has added operations since the node's statement began.  Looks at
 * each of commands[] once. */
static bool
others_wrote(WtWriter *w)
{
	if (w->looked_at < 0)
		w->looked_at = w->first = first_unseen(w->unseen);
	while (!w->others && w->looked_at < ncommands)
		w->others = commands[w->looked_at++].writer != w;
	return w->others;
}

/* How a row has been changed since a node's statement began. */
typedef enum RowChange
{
	UNCHANGED,			 /* or by the node itself */
	CHANGED_BY_COMMAND,	 /* by another node of its command */
	CHANGED_BY_TRIGGERED /* by a command that the statement has triggered */
} RowChange;

typedef struct ChangeSearch
{
	const WtWriter *w;
	RowChange found; /* the worst one */
} ChangeSearch;

/* Callback: an operation on the row, by its position.  Returns: false to stop. */
static bool
note_change(void *arg, uint64_t position)
{
	ChangeSearch *r = arg;
	const CommandMark *c = &commands[first_from(true, position + 1) - 1];

	if (c->writer == r->w)
		return true;
	r->found = c->writer != NULL && c->writer_command == r->w->command ? CHANGED_BY_COMMAND
																	   : CHANGED_BY_TRIGGERED;
	return r->found != CHANGED_BY_TRIGGERED;
}

static RowChange
changed_since(WtWriter *w, const wide_family_id *families, int nfamilies, wide_bytes key,
			  const wide_bytes *column)
{
	ChangeSearch r = {w, UNCHANGED};

	if (batch == NULL || !others_wrote(w))
		return UNCHANGED;
	for (int i = 0; i < nfamilies && r.found != CHANGED_BY_TRIGGERED; i++)
		wt_error_check(wide_batch_each(batch, families[i], key, column, commands[w->first].mark,
									   note_change, &r),
					   "could not look at a row's changes");
	return r.found;
}

void
wt_batch_refuse_changed(CmdType op)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
			 op == CMD_DELETE ? errmsg("tuple to be deleted was already modified by an "
									   "operation triggered by the current command")
							  : errmsg("tuple to be updated was already modified by an "
									   "operation triggered by the current command"),
			 errhint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate "
					 "changes to other rows.")));
}

bool
wt_batch_leave_out(WtWriter *w, CmdType op, const wide_family_id *families, int nfamilies,
				   wide_bytes key, const wide_bytes *column)
{
	RowChange changed = changed_since(w, families, nfamilies, key, column);

	if (changed == CHANGED_BY_TRIGGERED)
		wt_batch_refuse_changed(op);
	return changed == CHANGED_BY_COMMAND;
}

static void
subxact_callback(SubXactEvent event, SubTransactionId mySubid, SubTransactionId parentSubid,
				 void *arg)
{
	uint64 mark;

	if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		/* its resource owner has closed no scan yet */
		wt_derive_rest();
		wt_derive_forget_level();
	}
	else if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
	{
		wt_derive_settle();
		wt_derive_rest();
	}
	if (wt_level_marks_end(&levels, event, &mark) && batch != NULL)
		wide_batch_rewind(batch, mark);
}

bool
wt_batch_has_ddl(void)
{
	return ddl;
}

void
wt_batch_end(void)
{
	wt_derive_forget();
	if (batch != NULL)
		wide_batch_free(batch);
	batch = NULL;
	ddl = false;
	ncommands = 0;
	wt_level_marks_clear(&levels);
}

void
wt_batch_init(void)
{
	RegisterSubXactCallback(subxact_callback, NULL);
}

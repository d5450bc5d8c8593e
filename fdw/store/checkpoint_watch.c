/*
 * checkpoint_watch.c
 *		Learns when the checkpointer begins a checkpoint, without polling.
 *
 * PostgreSQL has no hook for that, but the checkpointer itself announces it: before each
 * checkpoint or restartpoint it increments ckpt_started in its shared memory and
 * broadcasts the condition variable start_cv, on which CHECKPOINT and pg_basebackup wait.
 * A process in the queue of that variable has its latch set.
 *
 * The struct is private to checkpointer.c.  Its members up to start_cv are the same in
 * PostgreSQL 15 to 18, and the server's own headers give their types; in a newer server
 * (compat.h) it is not looked at.  find() compares what can be compared: the pid with that of
 * an auxiliary process, the counters with each other.  If something differs,
 * wt_checkpoint_watch_under_way() is always true, and the caller polls.
 *
 * The shutdown checkpoint is not announced.  It begins when no background process is
 * there any more.
 *
 * Locking: ckpt_lck, a spinlock, for the counters.
 */
#include "postgres.h"

#include "fdw/store/checkpoint_watch.h"

#include "postmaster/bgwriter.h"
#include "storage/condition_variable.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/spin.h"

#include "fdw/store/compat.h"
#include "fdw/store/error.h"

/* The first members of the checkpointer's struct. */
typedef struct CheckpointerHead
{
	pid_t checkpointer_pid;
	slock_t ckpt_lck;
	int ckpt_started;
	int ckpt_done;
	int ckpt_failed;
	int ckpt_flags;
	ConditionVariable start_cv;
} CheckpointerHead;

static CheckpointerHead *head = NULL;

/* Reads the two counters. */
static void
counters(CheckpointerHead *h, int *started, int *done)
{
	SpinLockAcquire(&h->ckpt_lck);
	*started = h->ckpt_started;
	*done = h->ckpt_done;
	SpinLockRelease(&h->ckpt_lck);
}

/* Returns: true if the memory looks as the checkpointer's must. */
static bool
plausible(CheckpointerHead *h)
{
	/* without the lock: if this is another struct, there is none */
	int behind = (int) ((uint32) h->ckpt_started - (uint32) h->ckpt_done);

	return h->checkpointer_pid > 0 && AuxiliaryPidGetProc(h->checkpointer_pid) != NULL &&
		   h->ckpt_started >= 0 && (behind == 0 || behind == 1);
}

/* Finds the checkpointer's memory.  Raises no error. */
static void
find(void)
{
	static bool tried = false;
	WtErrorPoint before = wt_error_point();

	if (tried)
		return;
	tried = true;
	PG_TRY();
	{
		bool found = false;
		CheckpointerHead *h = NULL;

		if (wt_checkpointer_struct_is_known)
			h = ShmemInitStruct("Checkpointer Data", CheckpointerShmemSize(), &found);
		if (found && plausible(h))
			head = h;
	}
	PG_CATCH();
	{
		FreeErrorData(wt_error_take(&before));
	}
	PG_END_TRY();
	if (head == NULL)
		ereport(LOG,
				(errmsg("widetable: the keeper process cannot see when checkpoints begin, and "
						"looks 20 times a second")));
}

void
wt_checkpoint_watch_begin(void)
{
	find();
	if (head != NULL)
		ConditionVariablePrepareToSleep(&head->start_cv);
}

void
wt_checkpoint_watch_end(void)
{
	ConditionVariableCancelSleep();
}

bool
wt_checkpoint_watch_under_way(void)
{
	int started, done;

	find();
	if (head == NULL)
		return true;
	counters(head, &started, &done);
	return started != done;
}

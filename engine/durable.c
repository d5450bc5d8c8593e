/*
 * durable.c - commits become durable together.
 *
 * Whoever needs the log durable up to his batch either leads, that is calls
 * log->sync for everything that is appended by then, or sleeps until a leader
 * has done it for him.  When a leader is done it wakes those whose batches are
 * durable now and, of those whose records came too late for this sync, calls one
 * to lead next, unless somebody who arrives meanwhile does.  So a commit sleeps
 * once, and each sync wakes only those for whom something has changed.  (Left to
 * the host's log, all who wait are woken after each sync, and those that came
 * too late sleep a second time: with more sessions than processors most of a
 * small commit is switching between them.  Making the one who is called the
 * leader at once would be slow on a busy machine, where it takes long to wake.)
 *
 * Invariants:
 *  - durable_seq never exceeds what log->sync has been told to make durable and
 *    has returned from, or what log->synced says.
 *  - Nobody believes a wake-up: it is durable_seq that tells.
 *  - While somebody waits for more than durable_seq there is a leader, or one
 *    who has been called, or who is in hand_over.  A waiter enters his LSN into
 *    his slot and then tries to lead; hand_over ends the lead and then looks into
 *    the slots (all seq_cst): one of the two finds the other.  Who has been called
 *    and leaves without leading calls another.
 *  - Two leaders at a time are no harm, log->sync sees to that.  So whatever the
 *    leader dies of, who waits for longer than PATIENCE_MS does it himself.
 *
 * Locking: none.
 */
#include "db.h"

#define PATIENCE_MS 100

/* Wake those who have got what they wait for, and call one of the others to lead. */
static void
hand_over(wide_db *db)
{
	commit_state *commit = &db->seg->commit;
	slot	   *slots = shm_slots(db);
	bool		called = false;
	uint64_t	durable;

	atomic_store(&commit->durable_leader, 0);
	durable = atomic_load(&commit->durable_seq);
	for (uint32_t i = 0; i < shm_slots_used(db); i++)
	{
		uint64_t	wanted = atomic_load(&slots[i].durable_wait);

		if (wanted == 0 || (wanted > durable && called))
			continue;
		if (wanted > durable)
		{
			atomic_store(&commit->durable_called, i + 1);
			/* it may have left before it could see that */
			called = atomic_load(&slots[i].durable_wait) != 0;
		}
		atomic_fetch_add(&slots[i].durable_word, 1);
		shm_futex_wake(&slots[i].durable_word);
	}
}

/* Make everything durable that is appended by now, our batch at least. */
static wide_status
lead(wide_db *db, uint64_t lsn)
{
	commit_state *commit = &db->seg->commit;
	uint64_t	upto = atomic_load(&commit->logged_seq);
	uint64_t	known = atomic_load(&commit->durable_seq);

	if (upto < lsn)
		upto = lsn;
	TRY(db->log.sync(db->log.ctx, upto));
	/* the log may have taken along what came while it was getting ready */
	if (db->log.synced != NULL)
	{
		uint64_t	more = db->log.synced(db->log.ctx);

		if (more > upto)
			upto = more;
	}
	while (known < upto && !atomic_compare_exchange_weak(&commit->durable_seq, &known, upto))
		;
	return WIDE_OK;
}

wide_status
wide_make_durable(wide_db *db, uint64_t lsn)
{
	commit_state *commit = &db->seg->commit;
	slot	   *me = db->slot;
	uint32_t	number = db->slot_index + 1;
	bool		impatient = false;
	wide_status st = WIDE_OK;

	atomic_store(&me->durable_wait, lsn);
	for (;;)
	{
		uint32_t	seen = atomic_load(&me->durable_word);
		uint32_t	leader = 0;

		TRY_GOTO(shm_check(db));
		if (atomic_load(&commit->durable_seq) >= lsn)
			break;
		if (atomic_compare_exchange_strong(&commit->durable_leader, &leader, number) || impatient)
		{
			if (impatient)
				atomic_fetch_add(&commit->durable_alone, 1);
			atomic_store(&me->durable_wait, 0);
			st = lead(db, lsn);
			hand_over(db);
			return st;
		}
		shm_futex_wait(&me->durable_word, seen, PATIENCE_MS);
		impatient = atomic_load(&me->durable_word) == seen;
	}
done:
	atomic_store(&me->durable_wait, 0);
	if (atomic_load(&commit->durable_called) == number)
	{
		atomic_store(&commit->durable_called, 0);
		if (atomic_load(&commit->durable_leader) == 0)
			hand_over(db);
	}
	return st;
}

/*
 * store.h
 *		What the files that keep the store running share (store, xact, wal,
 *		lock, worker, ddl, stat); the rest of the extension uses widetable.h.
 */
#ifndef WT_STORE_H
#define WT_STORE_H

#include "fdw/widetable.h"

#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/lwlock.h"
#include "storage/spin.h"

#define WT_SLOT_NAME	"widetable"	/* the physical replication slot that keeps our WAL */
#define WT_DIRECTORY	"widetable"	/* in the data directory */
#define WT_LOG_PREFIX	"widetable"	/* of our messages in WAL */

/* A background process of which there is one at the most; in the anchor. */
typedef struct WtProcess
{
	pid_t		pid;			/* 0 = not running */
	int			procno;			/* its latch */
	TimestampTz asked;			/* last time someone asked for one */
	bool		refused;		/* there was no slot for it, and the log says so */
} WtProcess;

/*
 * The only thing in PostgreSQL's main shared memory (without preload): where
 * the segment is.  It appears zero-filled once in each incarnation of shared
 * memory, also after a crash restart, which is how we know that the segment
 * has to be made anew.
 */
typedef struct WtAnchor
{
	slock_t		mutex;			/* protects what follows */
	dsm_handle	handle;			/* of the segment; 0 = none yet */
	bool		in_main;		/* the segment is main shared memory at wt_main_segment */
	Size		size;
	pid_t		opener;			/* makes or recovers the segment right now; 0 = nobody */
	WtProcess	worker;			/* worker.c */
	TimestampTz worker_seen;	/* when it was last at work or idle; without the mutex: a guess will do */
	WtProcess	keeper;			/* keeper.c */
	int			backups;		/* sessions between pg_backup_start() and pg_backup_stop() */
} WtAnchor;

extern WtAnchor *wt_anchor(void);
/* For the worker: on a standby wt_db follows the log in this process until the server is promoted, instead of an error. */
extern void wt_follow(void);
extern bool wt_store_runs(void);	/* somebody has opened it: wt_db will not wait */
extern bool wt_interrupted(void);	/* CHECK_FOR_INTERRUPTS is going to raise an error */
extern Size wt_segment_bytes(void);

/* Opens the store or says why not (palloc'd), without raising that as an error. */
extern wide_db *wt_db_try(char **why);
/* true when the store's directory exists: something has been stored in this cluster */
extern bool wt_store_exists(void);

/* wal.c */
extern uint64 wt_full_xid(TransactionId xid);	/* with its epoch; it is less than 2^31 from the next one */
extern void wt_wal_flush(uint64 lsn);	/* never raises an error */
extern const char *wt_wal_failure(void);
extern bool wt_wal_skipped(void);	/* recovery has passed over missing WAL (widetable.ignore_missing_wal) */

/* slot.c */
extern void wt_slot_ensure(void);	/* makes the slot when it is missing or of no use; ereports */
extern void wt_slot_advance(XLogRecPtr lsn);	/* moves it forward; never raises */
extern void wt_slot_keep(XLogRecPtr lsn);	/* moves it back when it is ahead, and what it reserves then is there; never raises */
/* For the keeper: have it as this process's own.  true: only from now on.  Ereports. */
extern bool wt_slot_hold(void);
/* Before a commit: it is there, or is again, or else an error. */
extern void wt_slot_check(void);
extern void wt_slot_register_startup(void);	/* preloading: to be there before recovery begins */

/* backup.c */
extern void wt_backup_init(void);
extern bool wt_files_held(void);	/* somebody copies the data directory */

/* process.c */
typedef struct WtProcessKind
{
	const char *name;			/* in pg_stat_activity */
	const char *title;			/* in messages */
	const char *function;		/* its main function */
	const char *without;		/* what is missing without it: a sentence */
	BgWorkerStartTime start_time;
	size_t		anchor_offset;	/* of its WtProcess */
} WtProcessKind;
extern void wt_process_register(const WtProcessKind *kind); /* preloading: it starts with the server */
extern void wt_process_ensure(const WtProcessKind *kind);	/* starts one when none runs; never raises */
extern void wt_process_wake(const WtProcess *p);
/* In the process itself.  false: another one runs already. */
extern bool wt_process_announce(const WtProcessKind *kind);

/* keeper.c */
extern const WtProcessKind wt_keeper;

/* worker.c */
extern const WtProcessKind wt_worker;
extern bool wt_worker_works(void);	/* one runs, and not only on paper: see worker.c */
extern void wt_worker_tick(void);	/* the worker: I am at it */

/* stop.c: a place at which tests halt a session, see there */
extern bool wt_stops;			/* widetable.stop_at is set */
extern void wt_stop_here(const char *name);
extern void wt_stop_init(void);
static inline void
wt_stop(const char *name)
{
	if (unlikely(wt_stops))
		wt_stop_here(name);
}

/* lock.c */
extern void wt_lock_reset(void);	/* end of transaction */
/*
 * The transaction has applied its cells and does nothing but wait for the log:
 * give its row locks back now.  PostgreSQL must regard it as ended already.
 */
extern void wt_lock_release_early(uint64_t lsn);
extern uint64_t wt_locks_after(void);	/* the newest such batch under our locks, see wide.h */

/* xact.c */
/* SET TRANSACTION SNAPSHOT has imported the one of this name into the present transaction. */
extern void wt_note_imported(const char *name);
extern void wt_xact_exit(void);	/* the process exits: forget the transaction */
extern void wt_note_ddl(void);	/* the batch changes the catalog: no caching of wt_engine in this transaction */

/*
 * parallel.c.  While a parallel statement runs, its workers are told of its
 * snapshot, or (NULL) that the transaction has writes which only the
 * leader sees.  The level is for wt_parallel_withdraw; an error withdraws too.
 */
extern void wt_parallel_init(void);
extern int	wt_parallel_announce(const wide_snapshot *ws);
extern void wt_parallel_withdraw(int level);
/* In a worker: a copy of what was announced; NULL: nothing.  Errors. */
extern wide_snapshot *wt_parallel_snapshot(void);
extern bool wt_parallel_leader_wrote(void);

/*
 * database.c.  The wrapper's option "origin" names the database where its foreign
 * tables were made: see there.
 */
#define WT_OPTION_ORIGIN "origin"
extern void wt_database_init(void);
extern void wt_note_origin(Oid relid);	/* the foreign table gets its stored table here */
/* Of a foreign table that no stored table is bound to: its definition was copied, its rows were not. */
extern bool wt_is_uncopied(Oid relid);
extern void wt_check_copied(Oid relid);	/* an error when that is so */

/* ddl.c: make the engine's table agree with the foreign table's definition */
extern void wt_sync_table(Oid relid);
extern void wt_ddl_init(void);
/* Adds to the batch the removal of all tables of databases that are no more. */
extern void wt_drop_lost_tables(bool report);

#endif							/* WT_STORE_H */

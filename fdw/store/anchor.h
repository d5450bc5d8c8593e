/*
 * anchor.h
 *		The anchor: a small structure in PostgreSQL's main shared memory.  It says
 *		where the engine's segment is and which background processes run.
 */
#ifndef WT_ANCHOR_H
#define WT_ANCHOR_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/s_lock.h"

#define WT_DIRECTORY "widetable" /* the store's directory, in the data directory */

/* health.c */
typedef struct WtHealth
{
	char error[400];		/* of the last failure; "": none */
	TimestampTz error_time; /* set if there is an error */
	bool failing;			/* and it is not over */
	XLogRecPtr replayed;	/* the log up to there is in the store; 0: no process replays */
	TimestampTz caught_up;	/* when it had all of the log last; 0: never */
} WtHealth;

/* A background process of a kind that runs at most once in the cluster. */
typedef struct WtBackgroundProcess
{
	pid_t pid;		   /* 0: not running */
	int procno;		   /* index of its PGPROC, for its latch */
	TimestampTz asked; /* last attempt to start one */
	bool refused;	   /* no background worker slot was free, and the log says so */
	bool retired;	   /* it has ended, and the postmaster does not restart it */
} WtBackgroundProcess;

/*
 * Without preloading, the only thing in PostgreSQL's main shared memory.  It is
 * zero-filled once in each incarnation of shared memory, also after a crash
 * restart: a zero handle says that the segment has to be created anew.
 */
typedef struct WtAnchor
{
	slock_t mutex; /* protects all members that do not say otherwise */

	/* the engine's segment */
	dsm_handle handle; /* 0: none yet, or in main shared memory */
	bool in_main;	   /* the library is preloaded: the segment is in main shared memory */
	Size size;		   /* bytes */
	pid_t opener;	   /* process that creates or recovers the store now; 0: none */

	Oid files_tablespace; /* location.c: of the sorted files; InvalidOid: the data directory.
							 Written by the opener */
	/* rest.c */
	pg_atomic_uint32 resting;	 /* 1: the state file says that no process writes */
	pg_atomic_uint32 committing; /* transactions between PRE_COMMIT and their end that write */
	pg_atomic_uint32 ending;	 /* sessions in COMMIT PREPARED or ROLLBACK PREPARED, that have the
									store open */
	bool rest_wanted;			 /* uninstall() waits until the store rests */

	/* background processes */
	WtBackgroundProcess worker;		/* compaction_worker.c */
	TimestampTz worker_heartbeat;	/* last sign of activity; read without the mutex: an old value
									   does no harm */
	pg_atomic_uint32 worker_sleeps; /* 1: it waits to be rung; see background_process.h */
	WtBackgroundProcess keeper;		/* checkpoint_keeper.c */

	WtHealth health;

	/* on a standby */
	pg_atomic_uint32 formats; /* how often the segment was formatted again */
	bool following; /* the segment was opened by a process that follows the log; of the opener */
	bool left_out;	/* wal_replay.c: something beyond the recovery's target; nothing is flushed */
	pg_atomic_uint64 no_store_upto;	  /* WAL up to there has no beginning of a store */
	pg_atomic_uint64 clock_behind;	  /* clock.c; 0: not known */
	pg_atomic_uint64 checkpoint_redo; /* restartpoint.c: of the last checkpoint in the log that was
										 followed; 0: none yet */
	bool upgrade_prepared; /* upgrade.c: transactions must not commit changes of wide tables */

	/* base backups */
	int backups;				 /* sessions between pg_backup_start() and pg_backup_stop() */
	pg_atomic_uint64 read_until; /* TimestampTz: a session may read the data directory until then */

	/* recovery_target.c; written by the startup process before other processes exist */
	bool target_known;		   /* the startup process has said what the recovery's target is */
	bool target_by_time;	   /* recovery ends at a time */
	TimestampTz target_time;   /* at which; set if target_by_time */
	bool was_primary;		   /* when the server was started, it was last used as one */
	TimeLineID was_timeline;   /* of its last checkpoint */
	XLogRecPtr recovery_start; /* log from there may have the beginning of a store; 0: not */
	bool restore_noted;		   /* not preloaded: recovery_start is set as well as it can be */

	/* time_mark.c */
	pg_atomic_uint64 unmarked;	 /* TimestampTz of a commit since the last time mark; 0: none */
	pg_atomic_uint64 marked_lsn; /* visible_lsn of the store before the last time mark */
} WtAnchor;

/* Returns: the anchor.  The first call in an incarnation of shared memory creates it. */
extern WtAnchor *wt_anchor(void);

/* Returns: the anchor if this process has found it before, else NULL.  Takes no lock. */
extern WtAnchor *wt_anchor_if_known(void);

/* Forgets the address, because shared memory is new. */
extern void wt_anchor_forget(void);

#endif /* WT_ANCHOR_H */

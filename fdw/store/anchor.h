/*
 * anchor.h
 *		What is in PostgreSQL's main shared memory: where the engine's segment is,
 *		and which background processes run.
 */
#ifndef WT_ANCHOR_H
#define WT_ANCHOR_H

#include "datatype/timestamp.h"
#include "storage/dsm.h"
#include "storage/s_lock.h"

#define WT_DIRECTORY "widetable" /* in the data directory */

/* A background process of which there is one at the most; in the anchor. */
typedef struct WtBackgroundProcess
{
	pid_t pid;		   /* 0 = not running */
	int procno;		   /* its latch */
	TimestampTz asked; /* last time someone asked for one */
	bool refused;	   /* there was no slot for it, and the log says so */
} WtBackgroundProcess;

/*
 * The only thing in PostgreSQL's main shared memory (without preload): where
 * the segment is.  It appears zero-filled once in each incarnation of shared
 * memory, also after a crash restart, which is how we know that the segment
 * has to be made anew.
 */
typedef struct WtAnchor
{
	slock_t mutex;	   /* protects what follows */
	dsm_handle handle; /* of the segment; 0 = none yet */
	bool in_main;	   /* the segment is in main shared memory */
	Size size;
	pid_t opener;				/* makes or recovers the segment right now; 0 = nobody */
	WtBackgroundProcess worker; /* compaction_worker.c */
	/* when it was last at work or idle; without the mutex: a guess will do */
	TimestampTz worker_heartbeat;
	WtBackgroundProcess keeper; /* checkpoint_keeper.c */
	int backups;				/* sessions between pg_backup_start() and pg_backup_stop() */
} WtAnchor;

extern WtAnchor *wt_anchor(void);
/* The anchor if this process has found it before, else NULL. */
extern WtAnchor *wt_anchor_if_known(void);
/* Shared memory is new: the anchor has to be found again. */
extern void wt_anchor_forget(void);

#endif /* WT_ANCHOR_H */

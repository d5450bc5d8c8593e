/*
 * snapshot.h
 *		The engine's snapshots that belong to PostgreSQL's.
 */
#ifndef WT_SNAPSHOT_H
#define WT_SNAPSHOT_H

#include "lib/ilist.h"
#include "utils/resowner.h"
#include "utils/snapshot.h"

#include "engine/wide.h"

/*
 * The engine's snapshot for one of PostgreSQL's.  All scans and functions of a statement
 * share it: it lives as long as one of them holds it and to the end of the statement, in
 * REPEATABLE READ to the end of the transaction.
 */
typedef struct WtSnapshot
{
	dlist_node node;
	Snapshot pg; /* PostgreSQL's; only its address is used.  NULL: the newest state */
	wide_snapshot *ws;
	int refs;
	ResourceOwner owner; /* holds one of the references for the rest of a statement; or NULL */
	bool shared;		 /* offered to transactions that import the exported snapshot */
} WtSnapshot;

/* --------------------------------------------------------------- holding */

/*
 * Returns: the snapshot for pg, or a new one of the newest state if pg is NULL; one
 * reference is the caller's.  Makes the newest states that the transaction has read
 * visible first (wt_snapshot_catch_up).
 * Errors: 25000 in a parallel worker if the leader's transaction has a batch; 55000 if
 * an imported snapshot has no counterpart; those of the engine.
 */
extern WtSnapshot *wt_snapshot_for(Snapshot pg);

/* Returns: true if the engine has a snapshot for PostgreSQL's active one. */
extern bool wt_snapshot_is_taken(void);

/* Gives a reference back; the last one releases the snapshot. */
extern void wt_snapshot_unref(WtSnapshot *e);

/* ------------------------------------------------------ reads of the newest state */

/* A read of the newest state has returned something of the batch that ends at lsn. */
extern void wt_snapshot_note_read(uint64 lsn);

/*
 * Makes the newest states that the transaction has read durable (if commits are
 * synchronous) and published, so that later snapshots include them.
 */
extern void wt_snapshot_catch_up(void);

/*
 * At rollback: flushes what the transaction has read, because its client may know of
 * it.  Raises no error.
 */
extern void wt_snapshot_flush_newest_read(void);

/* ------------------------------------------------- statements and transactions */

/* ExecutorStart of a statement with this snapshot, which may be NULL. */
extern void wt_snapshot_begin_statement(Snapshot snapshot);

/* One call of ExecutorRun.  Lives in the frame of its caller. */
typedef struct WtRun
{
	Snapshot pg;		 /* the statement's */
	ResourceOwner owner; /* ends with the outermost run with this snapshot, if not before */
	struct WtRun *outer; /* the run around it; NULL: none */
} WtRun;

/*
 * A run of a statement with this snapshot begins.  What is read for it until the statement
 * ends sees the same, also functions that are called one after the other.
 * Each is ended, also after an error, before *run goes out of scope.
 */
extern void wt_snapshot_begin_run(WtRun *run, Snapshot snapshot);
extern void wt_snapshot_end_run(WtRun *run);

/* ExecutorEnd of a statement with this snapshot.  Within a run with the same one nothing ends. */
extern void wt_snapshot_end_statement(Snapshot snapshot);

/* The resource owner ends, perhaps because of an error in a statement. */
extern void wt_snapshot_end_owner(ResourceOwner owner);

/* SET TRANSACTION SNAPSHOT has imported the snapshot with this name. */
extern void wt_snapshot_note_imported(const char *name);

/* After a statement: offers the transaction's snapshot if it has been exported. */
extern void wt_snapshot_share_exported(void);

/* End of the transaction. */
extern void wt_snapshot_end(void);

#endif /* WT_SNAPSHOT_H */

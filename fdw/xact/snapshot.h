/*
 * snapshot.h
 *		The engine's counterparts of PostgreSQL's snapshots.
 */
#ifndef WT_SNAPSHOT_H
#define WT_SNAPSHOT_H

#include "lib/ilist.h"
#include "utils/snapshot.h"

#include "engine/wide.h"

/*
 * The engine's counterpart of one of PostgreSQL's snapshots.  All scans of a
 * statement share it: it lives as long as one of them holds it; in REPEATABLE
 * READ to the end of the transaction.
 */
typedef struct WtSnapshot
{
	dlist_node node;
	Snapshot pg; /* identity only */
	wide_snapshot *ws;
	int refs;
	bool shared; /* the transaction's, and it is offered */
} WtSnapshot;

/* SET TRANSACTION SNAPSHOT has imported the one of this name into the present transaction. */
extern void wt_snapshot_note_imported(const char *name);

/* Make durable and visible what we have read already. */
extern void wt_snapshot_catch_up(void);
/* The same for a transaction that is rolled back: what it has read it has told its client. */
extern void wt_snapshot_flush_newest_read(void);
/* After a statement: has the transaction exported its snapshot? */
extern void wt_snapshot_share_exported(void);
/* The counterpart of pg (NULL: of the newest state), held once more. */
extern WtSnapshot *wt_snapshot_for(Snapshot pg);
/* Lets go of it; the last holder releases it. */
extern void wt_snapshot_unref(WtSnapshot *e);
/* A read of the newest state has shown a batch with this LSN. */
extern void wt_snapshot_note_read(uint64 lsn);
/* The executor starts a statement with this snapshot (may be NULL). */
extern void wt_snapshot_begin_statement(Snapshot snapshot);
/* The transaction has ended. */
extern void wt_snapshot_end(void);

#endif /* WT_SNAPSHOT_H */

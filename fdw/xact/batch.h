/*
 * batch.h
 *		The transaction's batch, and marks in it of commands, plan nodes and savepoints.
 */
#ifndef WT_BATCH_H
#define WT_BATCH_H

#include "nodes/execnodes.h"
#include "utils/snapshot.h"

#include "engine/wide.h"

/* The transaction's batch; made when there is none yet and create is true. Checks read-only
 * transaction, recovery, parallel mode when create. */
extern wide_batch *wt_batch(bool create);

/*
 * Operations of the batch that a statement may see: those of earlier commands
 * (snapshot->curcid).  Call wt_batch_command() before each write operation so
 * that commands are told apart.
 */
extern uint64_t wt_batch_own_mark(Snapshot snapshot);
extern void wt_batch_command(void);

/*
 * A plan node that changes rows it has found in its statement's snapshot, each
 * once.  What it writes is told from what others write meanwhile: another node
 * of the same statement, or a command that the statement has triggered (in a
 * function or a row trigger).  Its address is its name.
 */
typedef struct WtWriter
{
	CommandId command; /* es_output_cid */
	CommandId unseen;  /* of the snapshot: what it does not see */
	/* of batch.c */
	int first, looked_at;
	bool others;
} WtWriter;

/* At the start of the node's execution. */
extern void wt_batch_writer_init(WtWriter *w, EState *estate);
extern void wt_batch_command_by(const WtWriter *writer); /* as wt_batch_command */

typedef enum WtChanged
{
	WT_UNCHANGED,
	WT_CHANGED_BY_COMMAND,	/* by another node: an ordinary table leaves the row out then */
	WT_CHANGED_BY_TRIGGERED /* an error then */
} WtChanged;

/* Raises WT_CHANGED_BY_TRIGGERED as PostgreSQL does; true: WT_CHANGED_BY_COMMAND. */
extern bool wt_batch_leave_out(WtWriter *w, CmdType op, const wide_family_id *families,
							   int nfamilies, wide_bytes key, const wide_bytes *column);

/* the batch changes the catalog: no caching of wt_engine_table in this transaction */
extern void wt_batch_note_ddl(void);
extern bool wt_batch_has_ddl(void);
/* The transaction has ended. */
extern void wt_batch_end(void);
/* Installs the callback for subtransactions. */
extern void wt_batch_init(void);

#endif /* WT_BATCH_H */

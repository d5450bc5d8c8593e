/*
 * batch.h
 *		The transaction's write batch, and marks in it: of commands, plan nodes and
 *		savepoints.
 */
#ifndef WT_BATCH_H
#define WT_BATCH_H

#include "nodes/execnodes.h"
#include "utils/snapshot.h"

#include "engine/wide.h"

/*
 * Returns: the transaction's batch.  Without one: NULL, or a new batch if create.
 * Errors: with create, 25000 in parallel mode, and those of wt_store_db(), which refuses
 * during recovery.  Read-only transactions are the caller's to check.
 */
extern wide_batch *wt_batch(bool create);

/* -------------------------------------------------------------- commands */

/*
 * Marks the batch for the present command and savepoint; begins a batch if there is
 * none.  To be called before each operation that is added to the batch.
 */
extern void wt_batch_command(void);

/*
 * Returns: the position in the batch up to which a statement sees the transaction's
 * changes: those of commands before snapshot->curcid.
 */
extern uint64_t wt_batch_own_mark(Snapshot snapshot);

/* ------------------------------------------------------------ plan nodes */

/*
 * A plan node that changes rows which it has found in its statement's snapshot, each
 * row once.  Its changes are distinguished from those that are made meanwhile by
 * another node of the same statement, or by a command that the statement has
 * triggered (in a function or a row trigger).  Its address identifies it.
 */
typedef struct WtWriter
{
	CommandId command; /* es_output_cid */
	CommandId unseen;  /* first command that the statement's snapshot does not see */

	/* private to batch.c: positions in its list of commands */
	int first;	   /* first one that the snapshot does not see */
	int looked_at; /* those before it were looked at; -1: none yet */
	bool others;   /* one of them is of another writer */
} WtWriter;

/* At the start of the node's execution. */
extern void wt_batch_writer_init(WtWriter *w, EState *estate);

/* As wt_batch_command(), for operations of this writer; NULL: of a function or of DDL. */
extern void wt_batch_command_by(const WtWriter *writer);

/*
 * For a row that the node is about to update or delete.  families, column: where to look
 * for changes; column NULL: in all columns.
 * Returns: true if another node of the same command has changed it: it is left out, as
 * in an ordinary table.
 * Errors: 27000 if a command that the statement triggered has changed it.
 */
extern bool wt_batch_leave_out(WtWriter *w, CmdType op, const wide_family_id *families,
							   int nfamilies, wide_bytes key, const wide_bytes *column);
/* Raises that error, 27000. */
extern _Noreturn void wt_batch_refuse_changed(CmdType op);

/* ----------------------------------------------------------- transaction */

/* As wt_batch_command(), for operations that change the engine's catalog: what
 * wt_engine_table() finds is not cached from here on. */
extern void wt_batch_command_ddl(void);
extern bool wt_batch_has_ddl(void);

/* End of the transaction: frees the batch. */
extern void wt_batch_end(void);

/* Installs the callback for subtransactions. */
extern void wt_batch_init(void);

#endif /* WT_BATCH_H */

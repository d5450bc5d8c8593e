/*
 * remote_change.h
 *		What the transaction has changed in tables of HBase and has not sent yet.
 */
#ifndef WT_REMOTE_CHANGE_H
#define WT_REMOTE_CHANGE_H

#include "lib/stringinfo.h"
#include "utils/snapshot.h"

#include "engine/wide.h"
#include "fdw/remote/remote_table.h"
#include "fdw/table/types.h"

/* A change; delete kinds are wide_delete + 1, a put is 0. */
typedef struct WtRemoteChange
{
	int kind;
	int family; /* index into the table's families */
	CommandId cid;
	Oid user;			/* who has made it */
	const void *writer; /* as begin() */
	CommandId writer_command;
	int before; /* index of the row's change before this one; -1: none */
	bool taken; /* by an operation on the row: the row has it no more */
	struct WtRemoteRow *row;
	int64 ts;	  /* microseconds; for deletes WIDE_TS_MAX; WIDE_TS_AUTO: of a put without one, and
				   * of the delete of its version */
	int64 ttl_us; /* of a put */
	wide_bytes qual, value;
} WtRemoteChange;

/* A row that has changes, or had some that were undone. */
typedef struct WtRemoteRow
{
	WtRemoteTable *table;
	wide_bytes key;
	Oid user; /* who made its last change, and sends it */
	int last; /* index of its last change; -1: none */
	struct WtRemoteRow *next;
} WtRemoteRow;

/* The engine's functions (engine.h). */
extern void wt_remote_change_begin(WtTable *t, const void *writer, CommandId command);
extern WtEngineChanged wt_remote_change_changed(const wide_family_id *families, int nfamilies,
												wide_bytes key, const wide_bytes *column,
												const void *writer, CommandId command,
												CommandId unseen);
extern void wt_remote_change_put(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual,
								 int64 ts, int64 ttl_us, wide_bytes value);
extern void wt_remote_change_remove(WtTable *t, wide_delete kind, wide_family_id family,
									wide_bytes key, wide_bytes qual, int64 ts);

/*
 * Returns: the timestamp under which cells are shown that get their own at commit.  A put with it
 * is one without a timestamp, and a delete of a version with it removes such a put.
 */
extern int64 wt_remote_change_provisional(void);

/* Returns: true if the transaction has changes of the table that are not sent. */
extern bool wt_remote_change_any(const WtRemoteTable *r);

/* Returns: true if some of them concern single versions, so that a reader needs all versions. */
extern bool wt_remote_change_of_versions(const WtRemoteTable *r);

/*
 * Returns: the first row of the table with changes and a key from `key` on (reverse: the last
 * one with a key before `key`; NULL data: the last of all).  NULL: there is none.
 */
extern WtRemoteRow *wt_remote_change_row_from(const WtRemoteTable *r, wide_bytes key, bool reverse);

/* Returns: the row with this key if it has changes, else NULL. */
extern WtRemoteRow *wt_remote_change_row(const WtRemoteTable *r, wide_bytes key);

/*
 * Sets *list to the row's changes in their order, those that a statement with this snapshot sees
 * (NULL: all).  Returns: their number.  The array is palloc'd.
 */
extern int wt_remote_change_list(const WtRemoteRow *row, Snapshot pg, const WtRemoteChange ***list);

/* Returns: the row with this key, which may be a new one without changes. */
extern WtRemoteRow *wt_remote_change_make_row(WtRemoteTable *r, wide_bytes key);

/* Takes the row's changes out: they were made at once. */
extern void wt_remote_change_take_back(WtRemoteRow *row);

/* Sets *rows to all rows with changes, and some without, by table and key.  Returns: their number.
 */
extern int wt_remote_change_rows(WtRemoteRow *const **rows);

/* End of the transaction: there are no changes any more. */
extern void wt_remote_change_forget(void);

/* Installs the callback for subtransactions. */
extern void wt_remote_change_init(void);

#endif /* WT_REMOTE_CHANGE_H */

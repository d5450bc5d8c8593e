/*
 * remote_table.h
 *		Tables of HBase, and the ids by which the rest of the extension knows them and their
 *		families.
 *
 * Ids are those of this session: they are given when a table is first used, and stay.  A family has
 * one for each user, who is the one that reads and changes what is named by it.
 */
#ifndef WT_REMOTE_TABLE_H
#define WT_REMOTE_TABLE_H

#include "engine/wide.h"
#include "fdw/table/engine.h"
#include "hbase/hbase.h"

/* What the transaction's DDL has done to a family, which HBase does at the commit. */
typedef enum WtRemotePending
{
	WT_REMOTE_AS_STORED,
	WT_REMOTE_ADD,
	WT_REMOTE_DROP
} WtRemotePending;

/* The id by which a family is known to what is done as the user. */
typedef struct WtRemoteId
{
	Oid user;
	wide_family_id id;
} WtRemoteId;

typedef struct WtRemoteFamily
{
	WtRemoteId *ids;
	int nids, ids_max;
	char *name;
	wide_family_options opt; /* as far as they are known */
	bool stored;			 /* HBase has it */
	bool there;				 /* the transaction sees it */
	WtRemotePending pending;
	bool exact; /* NEW_VERSION_BEHAVIOR: deletes hide what was written before */

	/*
	 * Reads must not name columns of it.  With NEW_VERSION_BEHAVIOR and BLOOMFILTER ROWCOL a read
	 * of several columns never ends on the server, once a row is in several files.
	 */
	bool whole;
} WtRemoteFamily;

/* Timestamp of a delete that hides whatever was written before it, in an exact family. */
#define WT_REMOTE_ALL_TIMES (PG_INT64_MAX - 1)

typedef struct WtRemoteTable
{
	wide_table_id id;
	Oid server;
	WtPlace place;
	char *name;	 /* in HBase: "table" or "namespace:table" */
	Oid relid;	 /* of the foreign table by which it was used last */
	bool known;	 /* the families were asked for */
	bool there;	 /* HBase has the table */
	bool made;	 /* CREATE FOREIGN TABLE of this transaction makes it at commit */
	bool gone;	 /* another entry has its name: it was dropped and made in one transaction */
	bool undone; /* the foreign table was dropped again: it is not made, and changes are void */

	WtRemoteFamily *families; /* may move when one is added */
	int nfamilies, families_max;

	struct WtRemoteSizes *sizes; /* remote_size.c; NULL: not asked for yet */

	struct
	{
		uint64 rows, cells, bytes;
	} seen; /* what was read without a filter (remote_whole.c) */
} WtRemoteTable;

/* The engine's functions (engine.h).  find(): 42P01, 42703 if HBase lacks the table or a family. */
extern bool wt_remote_table_find(WtTable *t, Oid user, bool create, WtEngineTable *out);
extern wide_family *wt_remote_table_families(const WtEngineTable *e, int *n);

/* Return: the table of the foreign table; of a family, and the index of the family in it. */
extern WtRemoteTable *wt_remote_table(WtTable *t);
extern WtRemoteTable *wt_remote_table_of(wide_family_id family, int *index);

/* Returns: the user that the family's id belongs to. */
extern Oid wt_remote_table_user(wide_family_id family);

/* Return: the client for the table and the current user; that for the family's user. */
extern hb_client *wt_remote_table_client(const WtRemoteTable *r);
extern hb_client *wt_remote_table_client_of(wide_family_id family);

/* Raises a failure of an operation on the table.  Its families are asked for again next time. */
extern _Noreturn void wt_remote_table_fail(WtRemoteTable *r, hb_client *client, hb_status status,
										   const char *what, const char *more);

/* Asks for the table's families as the user; r->there says whether there is such a table. */
extern void wt_remote_table_describe(WtRemoteTable *r, Oid user);

/* Returns: the family's entry, a new one if need be. */
extern WtRemoteFamily *wt_remote_table_family(WtRemoteTable *r, const char *name);

/* Say what the transaction's DDL has done to a family; to none. */
extern void wt_remote_table_set_pending(WtRemoteTable *r, const char *family,
										WtRemotePending pending);
extern void wt_remote_table_clear_pending(WtRemoteTable *r);

/* Raises 42703. */
extern _Noreturn void wt_remote_table_no_family(const WtRemoteTable *r, const char *family);

/* first: the first id of this engine. */
extern void wt_remote_table_init(uint32 first);

#endif /* WT_REMOTE_TABLE_H */

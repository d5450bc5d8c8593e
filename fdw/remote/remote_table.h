/*
 * remote_table.h
 *		Tables of HBase, and the ids by which the rest of the extension knows them and their
 *		families.
 *
 * Ids are those of this session: they are given when a table is first used, and stay.
 */
#ifndef WT_REMOTE_TABLE_H
#define WT_REMOTE_TABLE_H

#include "engine/wide.h"
#include "fdw/table/engine.h"
#include "hbase/hbase.h"

typedef struct WtRemoteFamily
{
	wide_family_id id;
	char *name;
	wide_family_options opt; /* as far as they are known */
	bool there;				 /* HBase has it */
	bool exact;				 /* NEW_VERSION_BEHAVIOR: deletes hide what was written before */
} WtRemoteFamily;

/* Timestamp of a delete that hides whatever was written before it, in an exact family. */
#define WT_REMOTE_ALL_TIMES (PG_INT64_MAX - 1)

typedef struct WtRemoteTable
{
	wide_table_id id;
	Oid server;
	WtPlace place;
	char *name; /* in HBase: "table" or "namespace:table" */
	bool known; /* the families were asked for */
	bool there; /* HBase has the table */
	bool made;	/* CREATE FOREIGN TABLE of this transaction makes it at commit */

	WtRemoteFamily *families;
	int nfamilies;
} WtRemoteTable;

/* The engine's functions (engine.h). */
extern bool wt_remote_table_find(WtTable *t, bool create, WtEngineTable *out);
extern wide_family *wt_remote_table_families(const WtEngineTable *e, int *n);
extern void wt_remote_table_estimate(wide_family_id family, const wide_range *range,
									 wide_estimate *out);
extern void wt_remote_table_define(WtTable *t, bool created);
extern void wt_remote_table_truncate(WtTable *t);
extern void wt_remote_table_drop(WtTable *t);

/* Return: the table of the foreign table; of a family, and the index of the family in it. */
extern WtRemoteTable *wt_remote_table(WtTable *t);
extern WtRemoteTable *wt_remote_table_of(wide_family_id family, int *index);

/* Returns: the client for the table and the present user. */
extern hb_client *wt_remote_table_client(const WtRemoteTable *r);

/* Raises a failure of an operation on the table.  Its families are asked for again next time. */
extern _Noreturn void wt_remote_table_fail(WtRemoteTable *r, hb_client *client, hb_status status,
										   const char *what, const char *more);

/* PRE_COMMIT: makes the tables that the transaction's CREATE FOREIGN TABLE has declared. */
extern void wt_remote_table_make(void);
/* End of the transaction, and of a subtransaction that is rolled back. */
extern void wt_remote_table_end(bool committed);

/* first: the first id of this engine. */
extern void wt_remote_table_init(uint32 first);

#endif /* WT_REMOTE_TABLE_H */

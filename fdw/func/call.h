/*
 * call.h
 *		A call of a function on a row: table, key, privileges.
 */
#ifndef WT_CALL_H
#define WT_CALL_H

#include "fmgr.h"
#include "nodes/parsenodes.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/table/types.h"

/* A call f(rel, key, ...). */
typedef struct WtCall
{
	/* argument rel: privileges are those on it */
	Oid named;
	const char *named_name;
	AclMode granted; /* privileges on the whole table that are known to be there */

	/* the wide table that has the row: the same, or the partition that the key belongs to */
	Oid relid;
	const char *relname;
	WtTable *t;

	/* the engine's table */
	bool stored; /* it exists, and e is set */
	WtEngineTable e;

	/* argument key */
	wide_bytes key;
	Datum *parts; /* values of the key columns, by key part */

	/* what the call has done */
	bool wrote;				   /* cells were put: the row needs its originals */
	struct Bitmapset *emptied; /* NOT NULL columns with deletes: indexes into t->columns */
} WtCall;

/* Raises 22004 if argument n is NULL; name: of the argument. */
extern void wt_call_need_arg(FunctionCallInfo fcinfo, int n, const char *name);
/* What a caller must have, instead of privileges of AclMode. */
#define WT_CALL_ANYBODY ((AclMode) 0)
#define WT_CALL_OWNER	(~(AclMode) 0)

/*
 * Returns: argument 0, rel, a foreign table of this wrapper.  It takes no lock, so the table may
 * be dropped or changed at any time.
 * Errors: 22004, 42P01, 42809; 42501 unless the user owns the table (WT_CALL_OWNER) or has each
 * privilege in needs on the table or on one of its columns.
 */
extern Oid wt_call_relid(FunctionCallInfo fcinfo, AclMode needs);
/*
 * Starts a call: wt_call_relid(), before and after it locks the table until the end of
 * the transaction.  A user without any right to the table does not wait for its locks, nor
 * makes others wait; which columns the rights are for is checked later, by wt_call_acl(),
 * with the lock.  writes: the CmdType that the foreign table must allow, or 0
 * for a function that reads; a function that writes is refused in read-only
 * transactions, during recovery, in parallel mode and, unless it only puts, with
 * widetable.as_of.  function: its name, for errors.
 */
extern void wt_call_rel(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes,
						AclMode needs);
/*
 * What wt_call_rel() does without a wide table, for a partitioned table or a foreign table of
 * postgres_fdw.  Errors also: 42501 if row security applies to the user.
 */
extern void wt_call_routed(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes,
						   AclMode needs);
/* Then: goes on with this wide table.  Requires: a lock on it. */
extern void wt_call_table(WtCall *c, Oid relid, int writes);
/* Returns true if the table is one for wt_call_routed().  Needs no lock. */
extern bool wt_call_is_routed(Oid relid);
/* Raises 42501 unless the user has some privilege on the table or on one of its columns. */
extern void wt_call_check_any_right(Oid relid);
/* Raises 55000 if widetable.as_of is set. */
extern void wt_call_refuse_as_of(const char *relname);
/* Raises 55000 unless updatable: the foreign table does not allow writes, a CmdType. */
extern void wt_call_updatable(const char *relname, int writes, bool updatable);
/* Reads argument 1, key, which must have all parts. */
extern void wt_call_key(WtCall *c, FunctionCallInfo fcinfo);
/* Raises 42501 unless the user has each privilege on the table or on the column (may be NULL). */
extern void wt_call_acl(WtCall *c, AclMode mode, const WtColumn *column);
/* The same for the column of this name, if argument rel has one. */
extern void wt_call_acl_column(WtCall *c, AclMode mode, const char *column);
/*
 * Finds the engine's table, or creates it.  Requires: privileges have been
 * checked, so that no user without them creates a table.
 */
extern void wt_call_engine(WtCall *c, bool create);

/*
 * Around a read-modify-write of the row c->key: locks it; in an engine without row locks, what is
 * changed in between is one operation that wt_call_end_change makes at once.
 * Requires: wt_call_engine and wt_call_key.
 */
extern void wt_call_begin_change(WtCall *c);
extern void wt_call_end_change(WtCall *c);

#endif /* WT_CALL_H */

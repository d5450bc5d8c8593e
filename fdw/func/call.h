/*
 * call.h
 *		A call of a function on a row: table, key, privileges.
 */
#ifndef WT_CALL_H
#define WT_CALL_H

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/table/types.h"

/* A call f(rel, key, ...). */
typedef struct WtCall
{
	Oid relid;
	const char *relname;
	WtTable *t;
	WtEngineTable e;
	bool stored; /* the engine has the table; e is set */
	StringInfoData keybuf;
	struct Bitmapset *emptied; /* columns (index in t) NOT NULL that lost versions */
	wide_bytes key;
	Datum *parts; /* the values of the key columns */
	bool wrote;	  /* cells were put */
} WtCall;

/* 22004 when the argument is NULL */
extern void wt_call_need_arg(FunctionCallInfo fcinfo, int n, const char *name);
/*
 * Argument 0, rel: a foreign table of ours, locked to the end of the
 * transaction.  writes: the CmdType that the foreign table must allow, 0 for
 * reading; refuses read-only transactions, standbys, parallel mode.
 */
extern void wt_call_rel(WtCall *c, FunctionCallInfo fcinfo, const char *function, int writes);
/* Argument 1, key: complete */
extern void wt_call_key(WtCall *c, FunctionCallInfo fcinfo);
/* Each of the privileges, on the table or on the column (may be NULL) */
extern void wt_call_acl(WtCall *c, AclMode mode, const WtColumn *column);

/* The engine's side; after privileges, so that nobody makes a table without any. */
extern void wt_call_engine(WtCall *c, bool create);

#endif /* WT_CALL_H */

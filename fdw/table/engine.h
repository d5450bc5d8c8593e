/*
 * engine.h
 *		The door to engines that store tables elsewhere.
 *
 * The embedded engine (engine/wide.h) is the default.  The server option "engine" of a
 * foreign table names another one, which offers the functions below.  Ids of tables and
 * families tell which engine they belong to, so that most of the code only passes them on.
 * What an engine cannot do is known from its capabilities when a statement is planned.
 *
 * The functions raise errors; their arguments mean what they mean in engine/wide.h.
 */
#ifndef WT_ENGINE_H
#define WT_ENGINE_H

#include "nodes/pg_list.h"
#include "datatype/timestamp.h"
#include "utils/snapshot.h"

#include "engine/wide.h"
#include "fdw/table/types.h"

/* The table of an engine behind a foreign table, as the transaction sees it. */
typedef struct WtEngineTable
{
	wide_table_id table;
	uint64 generation; /* of the engine's catalog when this was found, or an earlier one */
	Oid head;		   /* the foreign table whose lock is that of the stored table (ddl_lock.h) */

	/* by the family's index in the WtTable */
	wide_family_id families[WT_MAX_FAMILIES]; /* 0: does not exist yet */

	/* all families, also those that the WtTable does not mention: a row exists by any of them */
	int nall;
	wide_family_id all[WT_MAX_FAMILIES];
} WtEngineTable;

/* What an engine can do.  The embedded one can do everything. */
typedef enum WtCapability
{
	WT_CAN_ROW_LOCKS = 0x01,  /* FOR UPDATE; a row is locked before it is read and changed */
	WT_CAN_SNAPSHOT = 0x02,	  /* REPEATABLE READ: all reads of a transaction see one moment */
	WT_CAN_PREDICATES = 0x04, /* conditions on cells are tested where the cells are; by other
							   * engines not exactly, so rows that they return are tested again */
	WT_CAN_SPLIT = 0x08,	  /* parts of a table are known: parallel scans */
	WT_CAN_MAINTAIN = 0x10,	  /* the functions for operation, and other views of what is stored */
	WT_CAN_BATCH = 0x20		  /* keys are read ahead, because each call costs a round trip */
} WtCapability;

struct ExplainState;
struct ImportForeignSchemaStmt;

/* A condition of a row operation: the newest version of the cell has this value; NULL data: there
 * is none. */
typedef struct WtEngineCheck
{
	wide_family_id family;
	wide_bytes qual;
	wide_bytes value;
} WtEngineCheck;

/* A connection of this session, and what has happened on it. */
typedef struct WtEngineConnection
{
	const char *engine;
	Oid server;
	Oid user;
	const char *remote_user; /* the name that the servers are told */
	TimestampTz since;
	int64 waits; /* for answers */
	int64 wait_us;
	int64 retries; /* calls that were repeated */
	int64 errors;  /* operations that failed */
	const char *last_error;
	TimestampTz last_error_at; /* 0: there was none */
} WtEngineConnection;

/* What a scan has done.  All members are uint64 (wt_scan_add_work). */
typedef struct WtEngineWork
{
	uint64 calls;
	uint64 rows, cells; /* that were received */
	uint64 bytes;		/* of these */
	uint64 regions;		/* scanners that were opened, one for each region */
	uint64 retries;		/* of them, those that were opened again after a failure */
	uint64 filtered;	/* how often a filter on rows was sent */
} WtEngineWork;

/* How a row has been changed since a statement began. */
typedef enum WtEngineChanged
{
	WT_UNCHANGED,			/* or by the writer itself */
	WT_CHANGED_BY_COMMAND,	/* by another node of its command */
	WT_CHANGED_BY_TRIGGERED /* by a command that the statement has triggered */
} WtEngineChanged;

typedef struct WtEngine
{
	const char *name;
	unsigned can; /* WtCapability, ORed */

	/* ------------------------------------------------------------- tables */

	/* as wt_engine_table_as(); what is done with the ids that it sets is done as the user */
	bool (*find)(WtTable *t, Oid user, bool create, WtEngineTable *out);
	/* returns all *n families in the order of e->all, palloc'd */
	wide_family *(*families)(const WtEngineTable *e, int *n);
	/* sets *out to the estimate for the family; range NULL: the whole table */
	void (*estimate)(wide_family_id family, const wide_range *range, wide_estimate *out);
	/* CREATE and ALTER FOREIGN TABLE: makes what is stored agree with it */
	void (*define)(WtTable *t, bool created);
	void (*truncate)(WtTable *t);
	/* drop_remote(): drops what is stored; not in a transaction block */
	void (*drop)(WtTable *t);
	/* IMPORT FOREIGN SCHEMA: returns a list of commands */
	List *(*import)(struct ImportForeignSchemaStmt *stmt, Oid server);

	/* ---------------------------------------------------------- operation */

	/* returns the bytes that the table takes */
	int64 (*size)(WtTable *t);
	/* returns at most parts - 1 keys, in order, that divide the table; palloc'd */
	wide_bytes *(*split_keys)(WtTable *t, int parts, int *n);
	/*
	 * For ANALYZE: keys at about equal distances, and how many rows and cells there are, by what
	 * some of them take.  Without keys the table is small, and is read as a whole.
	 */
	wide_bytes *(*sample)(WtTable *t, int parts, int *n, double *rows, double *cells);
	void (*flush)(WtTable *t);
	void (*compact)(WtTable *t, bool major);
	/* calls each() with each connection of this session */
	void (*connections)(void (*each)(void *ctx, const WtEngineConnection *c), void *ctx);

	/* -------------------------------------------------------------- scans */

	/*
	 * Opens a scan.  pg: the statement's snapshot; it sees the changes of earlier commands
	 * of the transaction; NULL: all of them.  spec->own is not used.  A row that it returns
	 * need not meet the predicates; one that it leaves out does not meet them.
	 */
	wide_scan *(*open)(Snapshot pg, const wide_scan_spec *spec);
	bool (*next)(wide_scan *scan, wide_row *row);
	void (*restart)(wide_scan *scan, const wide_range *ranges, int nranges);
	/* reads these keys; see wt_engine_scan_prefetch() */
	void (*prefetch)(wide_scan *scan, const wide_range *keys, int n);
	void (*work)(const wide_scan *scan, WtEngineWork *out);
	/* EXPLAIN ANALYZE: shows what scans have done */
	void (*show)(const WtEngineWork *work, struct ExplainState *es);
	/* EXPLAIN VERBOSE: shows which table is read */
	void (*explain)(WtTable *t, struct ExplainState *es);
	/* returns true if scans ignore predicates, because the transaction has changed the table */
	bool (*whole)(WtTable *t);
	/* returns true if the transaction has changes that no other process sees */
	bool (*changed)(void);
	/* returns *n keys, in order and palloc'd, that cut the table into the parts it is stored in */
	wide_bytes *(*split)(wide_family_id family, int *n);
	/* closes it, also after an error, and raises none */
	void (*close)(wide_scan *scan);

	/* ------------------------------------------------------------ changes */

	/* A command of the transaction is about to change the table: writer is a node of its plan, of
	 * the statement `command`, or NULL. */
	void (*begin)(WtTable *t, const void *writer, CommandId command);
	/* Returns: what other writers have done to the row, or to one column of a family (NULL: any),
	 * since the command `unseen`. */
	WtEngineChanged (*row_changed)(const wide_family_id *families, int nfamilies, wide_bytes key,
								   const wide_bytes *column, const void *writer, CommandId command,
								   CommandId unseen);
	void (*put)(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts,
				int64 ttl_us, wide_bytes value);
	void (*remove)(WtTable *t, wide_delete kind, wide_family_id family, wide_bytes key,
				   wide_bytes qual, int64 ts);

	/* ---------------------------------------------------- row operations */

	/*
	 * An operation on a row that is made at once.  Between row_begin and row_execute the row's
	 * changes are collected, also those by put and remove.  row_execute makes them together, if the
	 * check (NULL: none) holds; returns whether it did.  row_result: the value that an increment or
	 * append of the last operation has made; false: there is none.
	 */
	void (*row_begin)(WtTable *t, wide_bytes key);
	void (*row_increment)(wide_family_id family, wide_bytes qual, int64 delta);
	void (*row_append)(wide_family_id family, wide_bytes qual, wide_bytes value);
	bool (*row_execute)(WtTable *t, const WtEngineCheck *check);
	bool (*row_result)(wide_family_id family, wide_bytes qual, wide_bytes *value);
} WtEngine;

/* The bit of ids of tables and families that are not the embedded engine's.  The engine that
 * registers as the n-th has the ids n << WT_ENGINE_SHIFT and up, with this bit. */
#define WT_ENGINE_OTHER 0x80000000u
#define WT_ENGINE_SHIFT 24

/* Adds an engine.  Returns: its first id.  Requires: called when the library is loaded. */
extern uint32 wt_engine_register(const WtEngine *engine);

/* Returns: the engine with this name; NULL: there is none. */
extern const WtEngine *wt_engine_by_name(const char *name);

/* Returns: the n-th engine, from 0; NULL: there are fewer. */
extern const WtEngine *wt_engine_at(int n);

/* Returns: the names of all engines, for a hint; palloc'd. */
extern char *wt_engine_names(void);

/* Returns: true if the transaction has changes in one of the engines that no other process sees. */
extern bool wt_engine_changed(void);

/* Returns: the engine that the id of a table or family belongs to; NULL: the embedded one. */
extern const WtEngine *wt_engine_of_other(uint32 id);

static inline const WtEngine *
wt_engine_of(uint32 id)
{
	return likely((id & WT_ENGINE_OTHER) == 0) ? NULL : wt_engine_of_other(id);
}

/* Returns: true if the engine of the table (t->engine) has the capability. */
static inline bool
wt_engine_can(const WtTable *t, WtCapability what)
{
	return t->engine == NULL || (t->engine->can & what) != 0;
}

/* Errors: 0A000 if the engine of the table has not the capability; action: "cannot ..." */
extern void wt_engine_require(const WtTable *t, WtCapability what, const char *action);

#endif /* WT_ENGINE_H */

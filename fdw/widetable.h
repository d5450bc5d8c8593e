/*
 * widetable.h
 *		What the files of the extension share.
 *
 * The extension sees the engine through wide.h only.  Room by room:
 *
 *	widetable.c	library load, settings, the wrapper's handler
 *	option.c	what may be said in OPTIONS; the parsed table (WtTable)
 *	table.c		the cache of parsed tables
 *	rowkey.c	key columns <-> row key bytes
 *	codec.c		one column's value <-> bytes
 *	keyfunc.c	SQL helpers on keys (quadkey, reverse_host, ...)
 *	pushdown.c	WHERE clauses -> conditions on parts of the key
 *	range.c		their values -> ranges of row keys
 *	predicate.c	WHERE clauses -> conditions on cells that the engine tests
 *	version.c	layout cells: conditions on versions and their times
 *	plan.c		sizes, paths, plans
 *	reader.c	the engine's cells -> SQL rows
 *	scan.c		the executor's scans
 *	scan_lock.c	those that lock what they find
 *	aggregate.c plans that aggregate while they scan
 *	aggregate_run.c their execution
 *	parallel.c	parallel plans: one snapshot, a table dealt out in chunks
 *	explain.c	what EXPLAIN shows
 *	analyze.c	sampling
 *	modify.c	INSERT, UPDATE, DELETE, COPY, TRUNCATE
 *	direct.c	UPDATE and DELETE in the scan itself
 *	func.c		increment, append, put, delete_*, check_and_mutate
 *	func_read.c	get, cells, raw_cells
 *	func_admin.c	flush, compact, verify, split_keys, table_size
 *	move.c		versions that an UPDATE of layout 'cells' moves
 *	map.c		map columns: their difference
 *	rmw.c		reading single cells before they are written; bytes as text
 *	store.c		the shared segment: made, found, opened
 *	xact.c		the engine's part in PostgreSQL's transactions
 *	wal.c		the engine's log inside PostgreSQL's WAL
 *	lock.c		row locks, waiting for their holders
 *	stop.c		places at which tests halt a session
 *	worker.c	the background worker
 *	ddl.c		CREATE / ALTER / DROP FOREIGN TABLE -> the engine's catalog
 *	alter.c		what a changed definition does to stored data: kept, followed or refused
 *	stat.c		statistics views
 */
#ifndef WIDETABLE_H
#define WIDETABLE_H

#include "postgres.h"

#include "access/attnum.h"
#include "foreign/fdwapi.h"
#include "lib/stringinfo.h"
#include "nodes/pathnodes.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "fdw/store/compat.h"
#include "engine/wide.h"

/* ---------------------------------------------------------------- table */

typedef enum WtEncoding
{
	WT_ENC_TEXT,				/* text as it is */
	WT_ENC_BYTES,				/* bytea as it is */
	WT_ENC_BINARY,				/* big-endian, as HBase's Bytes.toBytes */
	WT_ENC_ORDERED,				/* order-preserving */
	WT_ENC_UNSIGNED1,
	WT_ENC_UNSIGNED2,
	WT_ENC_UNSIGNED4,
	WT_ENC_UNSIGNED8,
	WT_ENC_REVERSE,				/* 2^63-1 - x, big-endian */
	WT_ENC_HEX,
	WT_ENC_DECIMAL,
	WT_ENC_MD5,
	WT_ENC_SHA1,
	WT_ENC_COUNTER				/* binary, 8 bytes, may be incremented */
} WtEncoding;

typedef enum WtRole
{
	WT_DROPPED,					/* dropped column: always NULL */
	WT_KEY,
	WT_CELL,
	WT_MAP,						/* a family, or its qualifiers with a prefix, as jsonb */
	WT_TIMESTAMP_OF,			/* the timestamp of a cell */
	/* layout 'cells' */
	WT_CELL_FAMILY,
	WT_CELL_QUALIFIER,
	WT_CELL_TS,
	WT_CELL_VALUE,
	WT_CELL_VERSION,
	WT_CELL_NO					/* the version's number in its row */
} WtRole;

typedef struct WtColumn
{
	WtRole		role;
	AttrNumber	attno;
	char	   *name;
	Oid			typid;			/* base type of domains */
	Oid			domain;			/* the domain, InvalidOid: none */
	int32		typmod;
	Oid			collation;
	bool		not_null;
	WtEncoding	enc;
	int			family;			/* index into families; -1 none */
	uint8	   *qual;			/* CELL, TIMESTAMP_OF: qualifier; MAP: prefix */
	uint32		qual_len;
	bool		by_name;		/* CELL: no option says which cell, the column's name and the first family do */
	int			timestamp_of;	/* TIMESTAMP_OF: index of the SQL column that the option names, -1 when it names a cell */
	/* KEY */
	int			part;			/* position in the key, 0-based */
	bool		desc;			/* bytes are inverted */
	bool		stated_desc;	/* option key says desc; encoding "reverse" turns desc around */
	int			fixed_len;		/* bytes of the encoded part, 0 = variable */
	bool		delimited;		/* joined to what follows by this byte: */
	char		delimiter;		/* may be 00, which no text contains: order is kept then */
	bool		last;			/* nothing follows it in the key */
} WtColumn;

/* A family as the foreign table states it; what is not stated is as the engine has it. */
typedef struct WtFamily
{
	char	   *name;
	bool		dropped;		/* "name": null */
	bool		implicit;		/* not in option families: named by a column, or the default d */
	uint32		stated;			/* bit set of WT_FAM_* */
	wide_family_options opt;	/* defaults where not stated */
} WtFamily;

#define WT_FAM_VERSIONS		0x0001
#define WT_FAM_MIN_VERSIONS 0x0002
#define WT_FAM_TTL			0x0004
#define WT_FAM_KEEP_DELETED 0x0008
#define WT_FAM_BLOOM		0x0010
#define WT_FAM_BLOCK_SIZE	0x0020
#define WT_FAM_COMPRESSION	0x0040
#define WT_FAM_IN_MEMORY	0x0080
#define WT_FAM_COMPACTION	0x0100

typedef struct WtTable
{
	Oid			relid;
	uint64		serial;			/* another number for each parsed definition, so that caches notice */
	char	   *table_name;		/* the option, or schema.relation */
	bool		name_given;		/* the option was there */
	bool		cells_layout;
	int			natts;			/* columns[natts], by attno - 1 */
	WtColumn   *columns;
	int		   *order;			/* indexes of all columns, those with cells by family and qualifier; by wt_table alone */
	int			nkeys;
	bool		key_given;		/* option key was there */
	int		   *keys;			/* indexes into columns, in key order */
	int			nfamilies;
	WtFamily   *families;		/* [0] is the first family; dropped ones are not here */
	int			ndropped;
	char	  **dropped;		/* names stated as null */
	int			salt_buckets;	/* 0 = none */
	bool		existence_projected;
	bool		insert_error;
	bool		bad_key_skip;
	bool		updatable;
	bool		truncatable;
	int			batch_size;
	double		startup_cost;
	double		tuple_cost;
} WtTable;

/* What a foreign table's definition says, wherever it was read. */
typedef struct WtDefinition
{
	Oid			relid;
	const char *name;
	const char *schema;
	TupleDesc	desc;			/* attributes only */
	List	   *server_options;
	List	   *options;
	List	  **column_options; /* by attno - 1 */
} WtDefinition;

/* option.c.  Parsed in CurrentMemoryContext, with all checks */
extern WtTable *wt_definition_parse(const WtDefinition *def);

/*
 * table.c.  The parsed, checked definition of a foreign table; cached until
 * the relation or its server changes.  The result lives in the cache: use it
 * within the statement and do not keep it.
 */
extern WtTable *wt_table(Oid relid);
/* Freshly parsed from the catalog in CurrentMemoryContext, with all checks (ddl.c) */
extern WtTable *wt_table_parse(Relation rel);
extern bool wt_is_ours(Oid relid);	/* a foreign table of a server of this wrapper? */
extern WtColumn *wt_column_by_name(WtTable *t, const char *name);	/* SQL column name; NULL */
/* col as functions take it: 'family:qualifier' or the SQL column's name; errors when neither. *column is NULL when no column maps the cell. */
extern void wt_resolve_col(WtTable *t, const char *col, int *family, uint8 **qual, uint32 *qual_len, WtColumn **column);
/* Does this map column show the qualifier?  Of several maps of a family the one with the longest fitting prefix does. */
extern bool wt_map_shows(WtTable *t, const WtColumn *map, wide_bytes qualifier);
/* index of a family by name, -1 */
extern int	wt_family_index(WtTable *t, const char *name);
/*
 * Microseconds of an interval, as extract(epoch) counts them: a year of 365.25
 * days, a month of 30.  false: not greater than zero, or out of range.
 */
extern bool wt_interval_us(const Interval *i, int64 *us);
/* Unescapes \xHH and \\ of option values. */
extern uint8 *wt_unescape(const char *s, uint32 *len);
/* The same for arguments of functions: a backslash before anything else stands for itself. */
extern uint8 *wt_unescape_argument(const char *s, uint32 *len);

/* ------------------------------------------------------- codec and rowkey */

extern WtEncoding wt_default_encoding(Oid typid, bool key);
/* ereports (with the column's name and valid choices) when the type cannot have that encoding */
extern void wt_check_encoding(const WtColumn *c, bool key);
extern const char *wt_encoding_name(WtEncoding e);
extern int	wt_encoding_by_name(const char *name);	/* -1 */
/* bytes of a value in this encoding when constant, else 0 */
extern int	wt_encoded_length(Oid typid, WtEncoding e);
/* Append the encoded value. Errors name the column. */
extern void wt_encode(const WtColumn *c, Datum value, StringInfo out);
/* the text itself of a value of md5 or sha1, where "name" is no varlena; not copied if it need not be */
extern wide_bytes wt_original_bytes(const WtColumn *c, Datum value);
/*
 * Decode; the Datum points into palloc'd memory of CurrentMemoryContext.
 * Errors: ERRCODE_DATA_CORRUPTED naming the column and the width found, and
 * for a stored cell (t not NULL) the table and, if the user may see it, the key.
 */
extern Datum wt_decode(const WtColumn *c, WtTable *t, wide_bytes key, const uint8 *data, size_t len);
/* The same for bytes that may be anything: false and a reason instead of an error. */
extern bool wt_decode_soft(const WtColumn *c, const uint8 *data, size_t len, Datum *value, const char **why);
/* Encodings whose bytes tell where they end (ordered numeric, inet), so that a key needs no terminator. */
extern bool wt_self_delimiting(Oid typid, WtEncoding e);
/* bytes that such a value takes at data; 0: damaged */
extern size_t wt_self_length(Oid typid, const uint8 *data, size_t len);
/* true: byte order of this encoding is the type's btree order (text: under C) */
extern bool wt_encoding_ordered(const WtColumn *c);

/*
 * Row keys.  values/nulls are by key part (0 .. nkeys-1); nparts <= nkeys.
 * The result has the salt byte in front when the table is salted and all parts
 * are given (salt_out -1: choose by hash; prefixes carry no salt: see
 * wt_key_salted).
 */
extern void wt_key_encode(WtTable *t, const Datum *values, const bool *nulls, int nparts, StringInfo out);
/* One part, as it stands in the key (escape, terminator, delimiter, desc inversion); last = nothing follows it */
extern void wt_key_encode_part(WtTable *t, int part, Datum value, StringInfo out);
/* From a slot's attributes (indexed by attno - 1); errors 23502 on NULL, 54000 beyond the length limit, 22023 on an empty key */
extern void wt_key_from_slot(WtTable *t, const Datum *values, const bool *isnull, StringInfo out);
/*
 * Decode into values/nulls by key part, only parts with need[part] (NULL: all).
 * false: does not decode and on_bad_key is skip; otherwise error 22P02 XX001
 * naming table and key in hex.  md5/sha1 parts come out NULL (the original is
 * in a cell).
 */
extern bool wt_key_decode(WtTable *t, wide_bytes key, const bool *need, Datum *values, bool *nulls);
/* The bytes that the first parts take in the key, salt included; 0: damaged. */
extern size_t wt_key_prefix_length(WtTable *t, wide_bytes key, int parts);
/* Smallest key greater than all with this prefix; false: there is none (all 0xFF) */
extern bool wt_prefix_end(const uint8 *p, size_t n, StringInfo out);
/* hash bucket of an unsalted key */
extern int	wt_salt(const uint8 *key, size_t n, int buckets);
/* For functions: a key given as text, bytea, any type (one part) or a record (parts); full: all parts needed.
 * parts: gets the values of the key columns, NULL or room for all.  Returns the number of parts. */
extern int	wt_key_from_arg(WtTable *t, Datum arg, Oid argtype, bool full, Datum *parts, StringInfo out);
/* The same for key parts given one by one (encode_key). */
extern int	wt_key_from_args(WtTable *t, int nargs, const Datum *args, const Oid *types, const bool *nulls, bool full,
							 Datum *parts, StringInfo out);
/* Why a key does not decode, whatever on_bad_key says; NULL: it decodes. */
extern const char *wt_key_decode_soft(WtTable *t, wide_bytes key, const bool *need, Datum *values, bool *nulls);
/* The bytes that the part at p takes in a key; -1: damaged.  Allocates nothing. */
extern ssize_t wt_key_part_length(const WtColumn *c, const uint8 *p, size_t n);
/* SQL literals of the key for messages and EXPLAIN: (c1, 2024-01-01 00:00:00+00) */
extern char *wt_key_text(WtTable *t, wide_bytes key);
/* May the user read all key columns?  If not, messages leave the key out. */
extern bool wt_keys_visible(WtTable *t);

/* ------------------------------------------------------------------ store */

/* store.c: this process's handle; makes or opens the store at first use. Errors when it cannot run. */
extern wide_db *wt_db(void);
/* the handle if the store is open in this process already, else NULL; never opens */
extern wide_db *wt_db_if_open(void);
/* Turns a status into ereport(ERROR); what: "could not read table \"%s\"" style prefix or NULL. WIDE_OK returns. */
extern void wt_check(wide_status st, const char *what);
extern void wt_store_request(void); /* preload: shared memory request and worker registration */
extern void wt_wake_worker(void);

/* ------------------------------------------------------------------- xact */

/* The transaction's batch; made when there is none yet and create is true. Checks read-only transaction, recovery, parallel mode when create. */
extern wide_batch *wt_batch(bool create);
/*
 * Operations of the batch that a statement may see: those of earlier commands
 * (snapshot->curcid).  Call wt_batch_command() before each write operation so
 * that commands are told apart.
 */
extern uint64_t wt_own_mark(Snapshot snapshot);
extern void wt_batch_command(void);

/*
 * A plan node that changes rows it has found in its statement's snapshot, each
 * once.  What it writes is told from what others write meanwhile: another node
 * of the same statement, or a command that the statement has triggered (in a
 * function or a row trigger).  Its address is its name.
 */
typedef struct WtWriter
{
	CommandId	command;		/* es_output_cid */
	CommandId	unseen;			/* of the snapshot: what it does not see */
	/* of xact.c */
	int			first,
				looked_at;
	bool		others;
} WtWriter;
extern void wt_writer_init(WtWriter *w, EState *estate);
extern void wt_batch_command_by(const WtWriter *writer);	/* as wt_batch_command */

typedef enum WtChanged
{
	WT_UNCHANGED,
	WT_CHANGED_BY_COMMAND,		/* by another node: an ordinary table leaves the row out then */
	WT_CHANGED_BY_TRIGGERED		/* an error then */
} WtChanged;
/*
 * Has this transaction changed the row (in one of the families; column: this
 * column of it) since the statement began, other than by this node?
 */
extern WtChanged wt_changed_since(WtWriter *w, const wide_family_id *families, int nfamilies, wide_bytes key,
								  const wide_bytes *column);
/* Raises WT_CHANGED_BY_TRIGGERED as PostgreSQL does; true: WT_CHANGED_BY_COMMAND. */
extern bool wt_leave_out(WtWriter *w, CmdType op, const wide_family_id *families, int nfamilies, wide_bytes key,
						 const wide_bytes *column);

/*
 * The engine's table behind a foreign table, as this transaction sees it.
 * Missing (never written, or another database's copy): with create it is made
 * in the transaction's batch, else false and nothing is set.
 * families[i] is the engine's id of t->families[i] (0: does not exist yet);
 * all[] / nall are all families of the engine's table, also those that t does
 * not mention (existence!).
 */
#define WT_MAX_FAMILIES 64
typedef struct WtEngine
{
	wide_table_id table;
	wide_family_id families[WT_MAX_FAMILIES];
	int			versions[WT_MAX_FAMILIES];	/* of families[] */
	uint64		generation;		/* of the engine's catalog, or an earlier one, when this was found */
	int			nall;
	wide_family_id all[WT_MAX_FAMILIES];
} WtEngine;
extern bool wt_engine(WtTable *t, bool create, WtEngine *out);
/*
 * A foreign table whose rows CREATE DATABASE has not copied gets an empty stored
 * table; false: it is none of that kind.
 */
extern bool wt_begin_empty(Oid relid);

/* A scan of the engine that is closed at the end of the transaction at the latest. */
typedef struct WtScan WtScan;
/*
 * snapshot: the statement's (its engine counterpart is shared by all scans that
 * hold it); NULL: the newest state, for read-modify-write under a row lock (own
 * writes of all commands included unless spec->own_mark is set by the caller).
 * own/own_mark of spec are filled in here.
 */
extern WtScan *wt_scan_open(Snapshot snapshot, wide_scan_spec *spec);
/* own_mark of "none of the own writes" (0 means that the caller does not say) */
#define WT_OWN_NONE PG_UINT64_MAX
/*
 * Take the engine's counterpart of the snapshot now and hold it until
 * wt_scan_close (or the end of the resource owner): a statement's scans see
 * what was committed when it began, however late they are opened.
 */
extern WtScan *wt_snapshot_hold(Snapshot snapshot);
/* Every WtScan begins so: for rows that the engine has read ahead. */
typedef struct WtScanHead
{
	wide_scan  *scan;
	bool		newest;			/* each row that is read is noted */
} WtScanHead;

extern bool wt_scan_read(WtScan *s, wide_row *row);

/* false at the end; errors are raised */
static inline bool
wt_scan_next(WtScan *s, wide_row *row)
{
	WtScanHead *h = (WtScanHead *) s;

	return (!h->newest && wide_scan_ready(h->scan, row)) || wt_scan_read(s, row);
}
/*
 * A row that the scan has handed out is used over the end of the statement's run
 * (a cursor rests): it is replaced by a copy then.  Until the scan's next call.
 */
extern void wt_scan_keep(WtScan *s, wide_row *row);
extern void wt_scan_restart(WtScan *s, const wide_range *ranges, int nranges);
extern void wt_scan_stats(WtScan *s, wide_scan_stats *out);
extern void wt_scan_close(WtScan *s);
/*
 * Instead of closing it: the scan is nobody's then and holds nothing but memory,
 * until wt_scan_reuse makes it another statement's.  false: close it.  After
 * wt_scan_reuse, which holds the statement's snapshot as wt_snapshot_hold does,
 * the first ranges are given by wt_scan_reuse_ranges; without these it may be
 * set aside again.  To be reused only while wt_batch(false) is NULL, and for
 * what it was opened for.
 */
extern bool wt_scan_set_aside(WtScan *s);
extern void wt_scan_reuse(WtScan *s, Snapshot snapshot);
extern void wt_scan_reuse_ranges(WtScan *s, const wide_range *ranges, int nranges);
extern void wt_scan_forget(WtScan *s);	/* one that is set aside */
/* Would the statement's snapshot see a cell with that sequence number? (for recheck after locking) */
extern bool wt_scan_sees(WtScan *s, uint64_t seq);
/* Has nobody committed anything since its snapshot?  Under a row lock: the row is as the scan sees it. */
extern bool wt_scan_is_newest(WtScan *s);

/*
 * Lock a row for this transaction; waits for the holder as heap does
 * (deadlock detection, lock_timeout, cancel).  nowait: false instead of waiting.
 * Returns true when locked.  Statement order: lock, then read newest state.
 */
extern bool wt_row_lock(wide_table_id table, wide_bytes key, bool nowait);

/* Called by the wrapper's write paths: engine statuses of batch calls -> errors naming table and key. */
extern void wt_check_write(wide_status st, WtTable *t, wide_bytes key);

/* --------------------------------------------------- callbacks by room */

extern void wtGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel, Oid relid);
extern void wtGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel, Oid relid);
extern ForeignScan *wtGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel, Oid relid, ForeignPath *best_path,
									 List *tlist, List *scan_clauses, Plan *outer_plan);
extern void wtGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
								   RelOptInfo *output_rel, void *extra);
/* of a table or of an aggregate on one */
extern ForeignScan *wtGetForeignAnyPlan(PlannerInfo *root, RelOptInfo *rel, Oid relid, ForeignPath *best_path,
										List *tlist, List *scan_clauses, Plan *outer_plan);
extern void wtBeginForeignScan(ForeignScanState *node, int eflags);
extern TupleTableSlot *wtIterateForeignScan(ForeignScanState *node);
extern void wtReScanForeignScan(ForeignScanState *node);
extern void wtEndForeignScan(ForeignScanState *node);
extern bool wtRecheckForeignScan(ForeignScanState *node, TupleTableSlot *slot);
extern void wtExplainForeignScan(ForeignScanState *node, struct ExplainState *es);
extern bool wtAnalyzeForeignTable(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages);
extern bool wtIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern Size wtEstimateDSMForeignScan(ForeignScanState *node, struct ParallelContext *pcxt);
extern void wtInitializeDSMForeignScan(ForeignScanState *node, struct ParallelContext *pcxt, void *coordinate);
extern void wtReInitializeDSMForeignScan(ForeignScanState *node, struct ParallelContext *pcxt, void *coordinate);
extern void wtInitializeWorkerForeignScan(ForeignScanState *node, struct shm_toc *toc, void *coordinate);
extern void wtShutdownForeignScan(ForeignScanState *node);

extern void wtAddForeignUpdateTargets(PlannerInfo *root, Index rtindex, RangeTblEntry *target_rte, Relation target_relation);
extern List *wtPlanForeignModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index);
extern void wtBeginForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private, int subplan_index, int eflags);
extern TupleTableSlot *wtExecForeignInsert(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot);
extern TupleTableSlot *wtExecForeignUpdate(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot);
extern TupleTableSlot *wtExecForeignDelete(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot);
extern void wtEndForeignModify(EState *estate, ResultRelInfo *rinfo);
extern void wtBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *rinfo);
extern void wtEndForeignInsert(EState *estate, ResultRelInfo *rinfo);
extern int	wtIsForeignRelUpdatable(Relation rel);
extern void wtExecForeignTruncate(List *rels, DropBehavior behavior, bool restart_seqs);
extern bool wtPlanDirectModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index);
extern void wtBeginDirectModify(ForeignScanState *node, int eflags);
extern TupleTableSlot *wtIterateDirectModify(ForeignScanState *node);
extern void wtEndDirectModify(ForeignScanState *node);
extern void wtExplainDirectModify(ForeignScanState *node, struct ExplainState *es);
extern void wtExplainForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private, int subplan_index, struct ExplainState *es);

/* modify.c, also used by func.c */
/* Does the row exist (any live cell), in the newest state with own writes? Call under the row lock. */
extern bool wt_row_exists(WtTable *t, WtEngine *e, wide_bytes key);
/* 23502 when the column, which gets a null, is NOT NULL */
extern void wt_check_not_null(Relation rel, const WtColumn *c);

/* scan.c, also used by func.c and modify.c: decode a fetched row into values/nulls by attno - 1 (only attrs in need, a bool per attno - 1, NULL = all) */
typedef struct WtRowReader WtRowReader;
/* columns: which attributes are wanted (bool per attno - 1; NULL all). Decides families, qualifiers, existence. strict_family: rows are known to exist when this family (index) gives a cell; -1. */
extern WtRowReader *wt_row_reader(WtTable *t, WtEngine *e, const bool *columns, int strict_family, wide_scan_spec *spec);
/* Assembles the next SQL row from the scan (several wide_row parts if need be); false at the end. Datums live in CurrentMemoryContext or the scan's memory. */
extern bool wt_row_next(WtRowReader *r, WtScan *scan, Datum *values, bool *nulls, uint64_t *max_seq);

/* xact.c, wal.c, lock.c, worker.c: set up at library load */
extern void wt_xact_init(void);
extern wide_log wt_wal_log(void);	/* the engine's log in PostgreSQL's WAL */
extern void wt_lock_release_all(void);

/* settings (widetable.c) */
extern int	wt_memtable_size_kb;
extern int	wt_cache_size_kb;
extern int	wt_max_tables;
extern int	wt_workers;
extern bool wt_enable_pushdown;
extern bool wt_enable_parallel_scan;
extern bool wt_enable_direct_modify;
extern bool wt_log_bulk;
extern bool wt_ignore_missing_wal;
extern int	wt_write_memory_kb;
extern char *wt_as_of;			/* timestamp text or empty */
extern char *wt_clock;
extern int64 wt_now(void);		/* microseconds since 1970, honours widetable.clock */
/* as_of in force: microseconds since 1970, or INT64_MAX when none */
extern int64 wt_as_of_us(void);

/* Order of byte strings: as memcmp, and a prefix before what it begins. */
static inline int
wt_bytes_cmp(wide_bytes a, wide_bytes b)
{
	int			c = a.len && b.len ? memcmp(a.data, b.data, Min(a.len, b.len)) : 0;

	if (c != 0)
		return c;
	return a.len < b.len ? -1 : a.len > b.len;
}

#define WT_EPOCH_DIFF	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

#endif							/* WIDETABLE_H */

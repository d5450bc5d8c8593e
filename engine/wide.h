/*
 * wide.h - the door of the widetable storage engine, and its manual.
 *
 * The engine is a column-family store in the Bigtable / HBase tradition:
 *
 *     row key -> family -> qualifier -> timestamp -> value
 *
 * sparse, sorted by unsigned bytes, versioned.  It knows nothing of
 * PostgreSQL.  Any number of processes work on one store through one shared
 * memory segment that the caller provides; there is no server process.
 *
 * CAVEATS FIRST
 *
 *  - One process attaches once (wide_attach) and never forks afterwards.
 *    A process is single-threaded as far as the engine is concerned.
 *  - No function longjmps and no callback may longjmp through the engine.
 *    Every function that can fail returns a wide_status; wide_error_text()
 *    tells the details of the last failure of this process.
 *  - WIDE_POISONED is final for the segment: somebody died or an fsync failed
 *    in the middle of something.  Nothing is repaired in place; make a new
 *    segment and recover from the files and the log.
 *  - WIDE_INTERRUPTED means that host->interrupted() said so; nothing is
 *    half done, call again or give up.
 *  - Memory handed out by a scan is valid until the next call on that scan.
 *
 * LIFE OF A STORE
 *
 *     wide_segment_format(base, size, &config)      once per segment
 *     wide_attach(base, dir, host, log, os, &db)    every process
 *     wide_recover(db)                              the first one; others wait
 *     ...
 *     wide_detach(db)
 *
 * LIFE OF A WRITE
 *
 *     batch = wide_batch_new(db)
 *     wide_batch_put(...) ...                        private, no lock taken
 *     wide_batch_prepare(batch, 0)                   all that can fail
 *     wide_batch_finish(batch, &lsn)                 logged and applied; cannot fail
 *     log->sync(lsn)                                 durable
 *     wide_publish(db, lsn)                          visible
 *
 * The sequence number of all cells of a batch is the log position (LSN) at
 * which its finish record ends, so live order, replay order and the order on
 * a standby agree by construction.  A snapshot is an LSN (plus a short list of
 * exclusions, see wide_snapshot_take_at).
 */
#ifndef WIDE_H
#define WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---------------------------------------------------------------- status */

typedef enum wide_status
{
	WIDE_OK = 0,
	WIDE_END, /* no more rows, nothing to do */
	WIDE_NOTFOUND,
	WIDE_EXISTS,
	WIDE_INVALID, /* the caller's argument is wrong */
	WIDE_LIMIT,	  /* beyond a stated limit */
	WIDE_NOMEM,
	WIDE_FULL,	   /* segment, table of tables */
	WIDE_NOSPACE,  /* the file system takes no more: full, quota, largest size of a file */
	WIDE_BUSY,	   /* somebody else holds it: wait, try again */
	WIDE_CONFLICT, /* snapshot too old, serialization failure */
	WIDE_IO,
	WIDE_CORRUPT, /* bytes on disk are not what was written */
	WIDE_INTERRUPTED,
	WIDE_POISONED
} wide_status;

/* One line about the last failure in this process; never NULL. */
extern const char *wide_error_text(void);

/* ----------------------------------------------------------------- bytes */

typedef struct wide_bytes
{
	const uint8_t *data;
	size_t len;
} wide_bytes;

#define WIDE_MAX_ROW	   32767 /* bytes of a row key; the least is 1 */
#define WIDE_MAX_QUALIFIER 65535 /* bytes of a qualifier; the least is 0 */
#define WIDE_MAX_FAMILY	   127	 /* bytes of a family's name */
#define WIDE_MAX_NAME	   255	 /* bytes of a table's name */
#define WIDE_MAX_VALUE	   (256u * 1024 * 1024)

#define WIDE_TS_AUTO INT64_MIN /* "the engine assigns it at commit" */
#define WIDE_TS_MAX	 INT64_MAX /* a delete without a timestamp */

/* ------------------------------------------------------------------ host */

/* What the engine asks of the program it lives in.  No callback may longjmp. */
typedef struct wide_host
{
	void *ctx;
	/* true: stop what you do, unwind with WIDE_INTERRUPTED. Cheap. */
	bool (*interrupted)(void *ctx);
	/* microseconds since 1970-01-01 UTC */
	int64_t (*now)(void *ctx);
	/* flush or compaction work is waiting; may be called often. May be NULL. */
	void (*wake_worker)(void *ctx);
	/*
	 * Is somebody there, and at work, who does it?  Cheap.  If not, writers do it
	 * themselves.  May be NULL: never.
	 */
	bool (*worker_works)(void *ctx);
	/*
	 * Oldest external transaction id that some reader's own snapshot may
	 * still see as running (0: none). Versions needed by such readers are
	 * kept. May be NULL.
	 */
	uint64_t (*oldest_external)(void *ctx);
	/*
	 * Somebody copies the directory: nothing is removed from it now.  Has to be
	 * true from before the log position that the copy is meant for until the
	 * copy is complete.  May be NULL: never.
	 */
	bool (*files_held)(void *ctx);
	/*
	 * How many external transactions have ended so far, and *latest: the newest
	 * external id among them or a newer one.  An end is counted before any
	 * snapshot of the host's shows it.  Cheap.  May be NULL.
	 */
	uint64_t (*ended)(void *ctx, uint64_t *latest);
	/* a line for the server's log; level 0 debug, 1 log, 2 warning. May be NULL. */
	void (*report)(void *ctx, int level, const char *text);
} wide_host;

/* ------------------------------------------------------------------- log */

/* What replay hands to the engine, in log order. */
typedef enum wide_replay_kind
{
	WIDE_REPLAY_RECORD, /* a payload that went through append() */
	WIDE_REPLAY_COMMIT, /* external transaction xid committed */
	WIDE_REPLAY_ABORT,	/* external transaction xid aborted */
	/* what was before is missing, and lost: no part of it is missed from here on */
	WIDE_REPLAY_GAP,
	/* the program that wrote the log began anew here: what was not committed never will be */
	WIDE_REPLAY_RESTART
} wide_replay_kind;

typedef struct wide_replay_event
{
	wide_replay_kind kind;
	uint64_t start;		/* where the record begins */
	uint64_t lsn;		/* where it ends: its LSN */
	uint64_t xid;		/* external transaction, 0 = none */
	int64_t time;		/* COMMIT only: when, 0 = not known */
	wide_bytes payload; /* RECORD only; valid during the call */
} wide_replay_event;

typedef wide_status (*wide_replay_fn)(void *arg, const wide_replay_event *ev);

/*
 * The log that makes batches durable: PostgreSQL's WAL in the extension, files
 * of its own (test/host/file_log.h) in tests and benchmarks.
 */
typedef struct wide_log
{
	void *ctx;

	/*
	 * Append one record of at most WIDE_LOG_RECORD_MAX bytes, gathered from
	 * parts; *lsn is its end position, strictly rising in log order.  With
	 * external = true the record belongs to the caller's external transaction
	 * and counts only if that commits.  Not durable before sync.  A failure is
	 * WIDE_IO and poisons the store.
	 */
	wide_status (*append)(void *ctx, bool external, const wide_bytes *parts, int nparts,
						  uint64_t *lsn);
	/* everything up to lsn is durable when this returns WIDE_OK */
	wide_status (*sync)(void *ctx, uint64_t lsn);
	/* current end of the log: no later record has an LSN <= this */
	uint64_t (*end)(void *ctx);
	/* calls fn for each record that begins at or after from, to the end of the log */
	wide_status (*replay)(void *ctx, uint64_t from, wide_replay_fn fn, void *arg);
	/* records that begin before lsn are not needed any more */
	void (*release)(void *ctx, uint64_t lsn);
	/*
	 * Which log it is, and on which branch of its history new records are; the
	 * manifest keeps both.  May be NULL: not known (0).
	 */
	void (*identity)(void *ctx, uint64_t *id, uint32_t *branch);
	/* Is that position on that branch (0: any) in this log's past?  Else the store is not
	 * opened.  May be NULL. */
	bool (*contains)(void *ctx, uint32_t branch, uint64_t lsn);
} wide_log;

#define WIDE_LOG_RECORD_MAX (1024 * 1024)

struct wide_os;
typedef struct wide_db wide_db;
typedef struct wide_batch wide_batch; /* see batch */

/* --------------------------------------------------------------- segment */

typedef struct wide_config
{
	size_t memtable_size;	/* bytes of one memtable; there are WIDE_MEMTABLES of them */
	size_t cache_size;		/* bytes of the shared block cache */
	uint32_t max_processes; /* attached at one time */
	uint32_t max_tables;	/* tables of all databases */
	uint32_t max_files;		/* live sorted files */
	uint32_t lock_buckets;	/* row lock buckets of 104 bytes, a power of two */
} wide_config;

#define WIDE_MEMTABLES 4

/* Fills in defaults for zero fields, given a wish for the total size (0: no wish). */
extern void wide_config_fit(wide_config *config, size_t total);
/* Bytes that a segment with this configuration needs. */
extern size_t wide_segment_size(const wide_config *config);
/*
 * Lay out a zero-filled or used segment of at least wide_segment_size() bytes,
 * 64-byte aligned.  State afterwards: EMPTY.  Nobody may be attached.
 */
extern wide_status wide_segment_format(void *base, const wide_config *config);

typedef enum wide_state
{
	WIDE_EMPTY, /* formatted, not recovered */
	WIDE_RECOVERING,
	WIDE_RUNNING,
	WIDE_DEAD /* poisoned */
} wide_state;

extern wide_state wide_segment_state(const void *base);

/*
 * Attach this process: takes a process slot.  dir is the store's directory
 * (made by wide_recover when absent); host and log are copied; os NULL = real
 * system calls.  WIDE_FULL when no slot is free.
 */
extern wide_status wide_attach(void *base, const char *dir, const wide_host *host,
							   const wide_log *log, struct wide_os *os, wide_db **out);
/*
 * For log->replay of a log that somebody else writes (a standby follows it),
 * between two events: what has been replayed so far is put in order like a
 * running store, so that recovery may take as long as it wants.  flush: all of
 * it into files, else one unit of background work (WIDE_END: there is none).
 */
extern wide_status wide_replay_work(wide_db *db, bool flush);
/*
 * Open the store: read the manifest, remove orphan files, replay the log.
 * Exactly one process calls it on a segment in state EMPTY; the caller
 * serialises.  On failure the state is EMPTY again (or DEAD).  WIDE_CONFLICT:
 * the files are not of this log, or ahead of it.
 */
extern wide_status wide_recover(wide_db *db);
/* Let go of pins, snapshots and the slot.  db is freed.  Never unmaps. */
extern void wide_detach(wide_db *db);
/* Mark the store unusable and wake everybody who waits. Sticky. */
extern void wide_poison(wide_db *db, const char *reason);
/* A value that the host stores in this process's slot, for wide_row_lock. */
extern void wide_set_owner(wide_db *db, uint64_t owner);

/* --------------------------------------------------------------- catalog */

typedef uint32_t wide_table_id;	 /* 0 = none */
typedef uint32_t wide_family_id; /* 0 = none; never reused */

typedef enum wide_bloom
{
	WIDE_BLOOM_NONE,
	WIDE_BLOOM_ROW,
	WIDE_BLOOM_ROWCOL,
	WIDE_BLOOM_PREFIX
} wide_bloom;

typedef enum wide_compression
{
	WIDE_COMPRESS_NONE,
	WIDE_COMPRESS_ZSTD
} wide_compression;

typedef enum wide_compaction
{
	WIDE_COMPACT_LEVELED,
	WIDE_COMPACT_WINDOW
} wide_compaction;

typedef struct wide_family_options
{
	int32_t versions;	   /* newest n kept, >= 1 */
	int32_t min_versions;  /* of them safe from ttl, <= versions */
	int64_t ttl_us;		   /* 0 = for ever */
	uint32_t block_size;   /* uncompressed bytes of a data block, 1 KiB .. 1 MiB */
	uint16_t bloom_prefix; /* bytes, for WIDE_BLOOM_PREFIX */
	uint8_t bloom;		   /* wide_bloom */
	uint8_t compression;   /* wide_compression */
	int8_t compression_level;
	uint8_t keep_deleted;
	uint8_t in_memory;
	uint8_t compaction; /* wide_compaction */
	int64_t window_us;	/* for WIDE_COMPACT_WINDOW */
} wide_family_options;

extern void wide_family_defaults(wide_family_options *o);

typedef struct wide_family
{
	wide_family_id id;
	wide_table_id table;
	char name[WIDE_MAX_FAMILY + 1];
	wide_family_options opt;
} wide_family;

/*
 * A table belongs to a space (a database) and has a name that is unique there.
 * Objects of the host (foreign tables) are bound to it by number; when the
 * last binding goes, the table and its data go.
 */
typedef struct wide_table
{
	wide_table_id id;
	uint32_t space;
	char name[WIDE_MAX_NAME + 1];
	uint32_t nfamilies;
	uint32_t nbindings;
} wide_table;

/*
 * Look up committed tables, or with a batch also what that batch has changed.
 * (batch may be NULL.)  families receives at most max of them, in the order
 * of their creation; the return value of the family function is their number.
 */
extern wide_status wide_table_by_name(wide_db *db, wide_batch *b, uint32_t space, const char *name,
									  wide_table *out);
extern wide_status wide_table_by_binding(wide_db *db, wide_batch *b, uint32_t space,
										 uint32_t object, wide_table *out);
extern wide_status wide_table_by_id(wide_db *db, wide_batch *b, wide_table_id id, wide_table *out);
extern int wide_table_families(wide_db *db, wide_batch *b, wide_table_id id, wide_family *families,
							   int max);
extern int wide_table_bindings(wide_db *db, wide_batch *b, wide_table_id id, uint32_t *objects,
							   int max);
/* Committed tables one by one, without their counts: start with *cursor = 0; WIDE_END after the
 * last. */
extern wide_status wide_table_next(wide_db *db, uint32_t *cursor, wide_table *out);
/* Rises with every committed change of any table or family: for caches. */
extern uint64_t wide_catalog_generation(wide_db *db);

/* ----------------------------------------------------------------- batch */

/*
 * The private, ordered set of changes of one transaction, in memory and beyond
 * a limit in temporary files (wide_batch_command).  Nothing in it is
 * seen by anyone until wide_batch_finish.  Positions in it (marks) serve as
 * savepoints and as "what this statement may see".
 */

typedef enum wide_delete
{
	WIDE_DELETE_VERSION,	   /* exactly the cell version at ts */
	WIDE_DELETE_COLUMN,		   /* versions of the column with timestamp <= ts */
	WIDE_DELETE_FAMILY,		   /* cells of the row in the family with timestamp <= ts */
	WIDE_DELETE_FAMILY_VERSION /* cells of the row in the family at exactly ts */
} wide_delete;

extern wide_status wide_batch_new(wide_db *db, wide_batch **out);
/*
 * A large batch is written as sorted files.  log = true (the default): their
 * bytes are appended to the log, too; false: whoever has the log alone does
 * not have them.
 */
extern void wide_batch_log_files(wide_batch *b, bool log);
/*
 * The caller will wait until the finish record is durable before it publishes
 * the batch.  Until then nobody else's wide_publish shows it either.
 */
extern void wide_batch_await(wide_batch *b);
/*
 * For an external transaction, before wide_batch_finish: the LSN of its commit
 * record.  By these recovery orders what has no finish record yet.  So when
 * another one that was decided later has been finished before, and wrote the same
 * row, this batch is not shown before its finish record is durable.
 */
extern void wide_batch_decided(wide_batch *b, uint64_t lsn);
/*
 * A command of the transaction begins.  From here on the batch may hold so much
 * in memory, about, at least a few kilobytes (64 MB): beyond that it goes to
 * temporary files in the store's directory.  And automatic cells get another
 * provisional timestamp than what the commands before have put into their row.
 */
extern void wide_batch_command(wide_batch *b, size_t bytes);
/* Forget everything, give back reservations; logs nothing. Never fails. */
extern void wide_batch_free(wide_batch *b);

/*
 * Write one cell.  ts: microseconds, or WIDE_TS_AUTO: assigned at commit,
 * strictly above all earlier ones of the store, and above floor_ts (the
 * newest version that a read-modify-write has seen; INT64_MIN for a blind
 * put).  ttl_us > 0: the cell expires that long after its timestamp.
 * The bytes are copied.
 */
extern wide_status wide_batch_put(wide_batch *b, wide_family_id family, wide_bytes row,
								  wide_bytes qualifier, int64_t ts, int64_t floor_ts,
								  int64_t ttl_us, wide_bytes value);
/* ts = WIDE_TS_MAX: everything written before.  qualifier is ignored for family deletes. */
extern wide_status wide_batch_delete(wide_batch *b, wide_delete kind, wide_family_id family,
									 wide_bytes row, wide_bytes qualifier, int64_t ts);

/* Changes of the catalog; the ids are usable in this batch at once. */
extern wide_status wide_batch_create_table(wide_batch *b, uint32_t space, const char *name,
										   wide_table_id *out);
extern wide_status wide_batch_rename_table(wide_batch *b, wide_table_id id, const char *name);
extern wide_status wide_batch_drop_table(wide_batch *b, wide_table_id id);
extern wide_status wide_batch_bind(wide_batch *b, wide_table_id id, uint32_t object);
/* Drops the table too when no binding is left. */
extern wide_status wide_batch_unbind(wide_batch *b, wide_table_id id, uint32_t object);
extern wide_status wide_batch_create_family(wide_batch *b, wide_table_id id, const char *name,
											const wide_family_options *opt, wide_family_id *out);
/*
 * WIDE_FULL: so many changes of the family's versions, min_versions, ttl and
 * keep_deleted are remembered, for what was written before them, that there is
 * no room for one more; wide_compact makes room.
 */
#define WIDE_MAX_CHANGES 8
extern wide_status wide_batch_alter_family(wide_batch *b, wide_family_id id,
										   const wide_family_options *opt);
extern wide_status wide_batch_drop_family(wide_batch *b, wide_family_id id);
/* Every family of the table gets a new id and is empty. */
extern wide_status wide_batch_truncate_table(wide_batch *b, wide_table_id id);

/* A position: all that was added so far.  Rises with every operation. */
extern uint64_t wide_batch_mark(const wide_batch *b);
/* Undo everything after the mark. Never fails. */
extern void wide_batch_rewind(wide_batch *b, uint64_t mark);
/*
 * The operations on a row from mark `since` on that are not undone: fn gets the
 * position of each, in no order, until it returns false.  column NULL: all of the
 * family; else those that are about this column, deletes of the row's family
 * included.
 */
extern wide_status wide_batch_each(wide_batch *b, wide_family_id family, wide_bytes row,
								   const wide_bytes *column, uint64_t since,
								   bool (*fn)(void *arg, uint64_t position), void *arg);
/* true when nothing is left to commit */
extern bool wide_batch_empty(const wide_batch *b);

/*
 * Everything that can fail: normalises the batch (an operation masked by a
 * later one of the same batch goes), builds the log payload, reserves room in
 * the memtables (waits for a flush, interruptibly, when there is none), or for
 * a large batch writes sorted files.  external != 0: the id of the caller's
 * transaction; the payload is appended now as external records and the
 * caller's commit record decides; the caller must then either commit and call
 * finish, or call wide_batch_free.
 */
extern wide_status wide_batch_prepare(wide_batch *b, uint64_t external);
/*
 * Append the finish record (with external = 0: payload and finish), apply the
 * cells.  *lsn is the batch's sequence number.  Allocates nothing; fails only
 * with WIDE_POISONED.  Not visible to others before wide_publish.
 */
extern wide_status wide_batch_finish(wide_batch *b, uint64_t *lsn);
/*
 * Wait, briefly, until all batches up to lsn are applied: wide_batch_finish may
 * return while one with a lower LSN is still on its way into memory, and until
 * then wide_snapshot_latest shows neither.  Row locks are not given back before.
 * Never fails other than by poison.
 */
extern wide_status wide_wait_applied(wide_db *db, uint64_t lsn);
/*
 * Make everything up to lsn visible, after the caller has made it durable (or
 * has decided not to wait for that).  Waits, briefly, for batches with a lower
 * LSN that are being applied, and makes those durable that are awaited
 * (wide_batch_await).  Fails by poison, or when the log cannot be synced.
 */
extern wide_status wide_publish(wide_db *db, uint64_t lsn);

/*
 * For tests: from now on fn is called with the name of each injection point
 * that the process reaches, perhaps with locks held.  They are in the commit,
 * snapshot, flush, compaction, manifest and recovery paths (injection_point in
 * the engine).  fn NULL: no function is called.
 */
extern void wide_on_injection_point(void (*fn)(void *arg, const char *name), void *arg);

/* ------------------------------------------------------------- row locks */

/*
 * Lock a row for the owner (wide_set_owner) of this process until
 * wide_row_unlock.  Re-entrant.  WIDE_BUSY: *holder is the owner value of
 * one process to wait for; wait in the host's way and try again.  Never runs
 * out: beyond the exact table's capacity rows share locks.
 */
extern wide_status wide_row_lock(wide_db *db, wide_table_id table, wide_bytes row,
								 uint64_t *holder);
/*
 * Release all row locks of this process.  lsn: the batch of a transaction that is
 * applied but not published yet, 0 = none.  A process that locks such a row next
 * reads what other readers do not see and a crash may undo.
 */
extern void wide_row_unlock(wide_db *db, uint64_t lsn);
/*
 * The newest batch that was left so under the locks that this process holds, 0 =
 * none; it may have been published since.  Rows that share a bucket share the
 * answer.
 */
extern uint64_t wide_row_locks_after(wide_db *db);
/* number of lock entries held by this process */
extern size_t wide_row_locks_held(wide_db *db);
/* the same of all processes, counted at the moment */
extern size_t wide_row_locks_total(wide_db *db);
/*
 * Tell others that this process waits for a row lock (as wide_row_lock said), or,
 * with table 0, that it does not any more.
 */
extern void wide_row_lock_waits(wide_db *db, wide_table_id table, wide_bytes row);

/* One lock that is held or waited for. */
#define WIDE_LOCK_ROW 64 /* bytes of a row's key that are told at most */

typedef struct wide_lock_info
{
	uint32_t pid;
	wide_table_id table; /* 0: not known, the lock is a whole bucket */
	uint32_t bucket;
	uint32_t tag; /* of the row in its bucket; equal for the holder and those who wait */
	bool granted;
	bool whole;		 /* the whole bucket */
	uint32_t holder; /* waiting: the pid of one who has it, 0 if nobody has any more */
	wide_bytes row;	 /* waiting: the beginning of the key; else empty */
	size_t row_len;	 /* waiting: of all of it, when it is longer than row */
} wide_lock_info;

/* Calls fn for each; a moment's view of a table that changes. */
extern wide_status wide_row_locks_each(wide_db *db,
									   void (*fn)(void *arg, const wide_lock_info *lock),
									   void *arg);

/* -------------------------------------------------------------- snapshot */

typedef struct wide_snapshot wide_snapshot;

/*
 * A stable view of all that is published.  running(ctx, xid) returns true if the
 * caller's own snapshot regards external transaction xid as still running:
 * such batches are excluded although published, and batches whose transaction
 * the caller sees as ended are waited for until they are published (a moment),
 * so that rows of both worlds agree.  running may be NULL: no exclusions.
 *
 * `ended` is what host->ended returned when the caller's own snapshot was taken
 * (0: not known); external transactions from `next` on had not ended by then
 * (0: not known).  Batches that were finished after the next end of an external
 * transaction are left out, whether or not they belong to one: they may build on
 * what the caller's own snapshot does not show.
 *
 * WIDE_CONFLICT: the caller's snapshot is too old for this.
 */
typedef struct wide_moment
{
	bool (*running)(void *ctx, uint64_t xid);
	void *ctx;
	uint64_t ended;
	uint64_t next;
} wide_moment;

extern wide_status wide_snapshot_take_at(wide_db *db, const wide_moment *at, wide_snapshot **out);
/* The newest applied state, durable or not: for read-modify-write under a row lock. */
extern wide_status wide_snapshot_latest(wide_db *db, wide_snapshot **out);
/*
 * Make a snapshot of wide_snapshot_latest that of the newest state now; costs a
 * few loads when nothing was committed since.  A scan that is open on it has to
 * be restarted (wide_scan_restart) before it is read again, which is the cheap
 * way to read row after row in the newest state.  Other snapshots: WIDE_INVALID.
 */
extern wide_status wide_snapshot_renew(wide_snapshot *s);
extern void wide_snapshot_release(wide_snapshot *s);
extern uint64_t wide_snapshot_lsn(const wide_snapshot *s);
/* Would this snapshot see a batch with that sequence number? */
extern bool wide_snapshot_sees(const wide_snapshot *s, uint64_t lsn);
/*
 * Is what the snapshot sees the newest applied state still?  Asked by one who
 * has locked a row, this says that nobody has changed it since the snapshot was
 * taken (a batch is applied before its locks are given back).
 */
extern bool wide_snapshot_is_newest(const wide_snapshot *s);
/*
 * The snapshot as bytes, for another process that is attached to the same
 * segment.  Returns how many they are; they are written only when size is
 * enough (call with size 0 to ask).  They are good for nothing once the
 * exporting process has released its snapshot.
 */
extern size_t wide_snapshot_export(const wide_snapshot *s, void *to, size_t size);
/*
 * A snapshot that sees exactly what the exported one sees, and from here on
 * protects by itself the versions that it needs: the other may be released when
 * this has returned.  WIDE_INVALID: not the bytes of an export;  WIDE_CONFLICT:
 * nobody holds a snapshot any more that is as old.
 */
extern wide_status wide_snapshot_import(wide_db *db, const void *from, size_t size,
										wide_snapshot **out);
/*
 * Offer the snapshot to other processes under a key, until it is released; one
 * for each process, a later one takes its place.  WIDE_LIMIT: it has too many
 * exclusions.
 */
extern wide_status wide_snapshot_share(wide_snapshot *s, uint64_t key);
/* Import what some process offers under this key; WIDE_NOTFOUND: nobody does. */
extern wide_status wide_snapshot_find(wide_db *db, uint64_t key, wide_snapshot **out);

/* ------------------------------------------------------------------ scan */

/* Row keys in [lo, hi); hi.data == NULL: to the end of the table. */
typedef struct wide_range
{
	wide_bytes lo;
	wide_bytes hi;
} wide_range;

typedef enum wide_want
{
	WIDE_WANT_ALL,	   /* all qualifiers */
	WIDE_WANT_COLUMNS, /* the listed qualifiers (sorted, distinct) */
	WIDE_WANT_RANGE,   /* qualifiers in [quals[0], quals[1]); quals[1].data NULL: open */
	WIDE_WANT_EXISTS   /* no cell, only whether the row has one here */
} wide_want;

typedef struct wide_scan_family
{
	wide_family_id id;
	wide_want want;
	const wide_bytes *quals;
	int nquals;
	int max_versions; /* of a column; 0 = 1; capped by the family's versions */
	bool any_exists;  /* the row exists too when it has other cells here than the wanted ones */
} wide_scan_family;

/*
 * PREDICATES
 *
 * Conditions on single cells that a row has to meet.  Each is on the newest
 * version of a column that the scan gives out (snapshot, own batch, TTL, time
 * range, filter by show_min and show_max; row_limit has no influence).  Predicates with the same
 * clause number are ORed, clauses are ANDed: a = 1 AND (b = 2 OR c IS NULL) is three predicates
 * with clauses 0, 1, 1.
 *
 *  - An absent cell is null: only IS_NULL is true of it.
 *  - Numbers have the width of the predicate's value(s).  Of a cell with
 *    another width nothing can be told: the row is handed out with `unsure`
 *    set, unless other predicates decide, and the caller evaluates his whole
 *    condition himself.  A row that is handed out without `unsure` meets all.
 *  - A column that is looked at need not be wanted; wanted or not, its cell
 *    makes the row exist.  A family that is listed only for that has WANT_COLUMNS
 *    and no quals.
 *  - Families with predicates are read first, and of those without one nothing
 *    is read for rows that are out.  When a clause can only be true of an
 *    existing cell (no IS_NULL in it), rows are looked for in its families alone
 *    (of several such clauses, one with the fewest families; then the first).
 *  - When a clause asks that one column has a timestamp from x on (KIND_TIME: =,
 *    >, >=, IN, or an OR of such), an entry of the spec for this column alone
 *    (WANT_COLUMNS, one version) does not read memtables and files that are
 *    wholly older, and rows are looked for in it.  The same family may be listed
 *    again for what else is wanted of the rows that are found, or looked at.
 */
typedef enum wide_op
{
	WIDE_OP_EQ,
	WIDE_OP_NE,
	WIDE_OP_LT,
	WIDE_OP_LE,
	WIDE_OP_GT,
	WIDE_OP_GE,
	WIDE_OP_IN,		 /* equal to one of the values */
	WIDE_OP_NOT_IN,	 /* equal to none of them */
	WIDE_OP_PREFIX,	 /* begins with the value; BYTES only */
	WIDE_OP_IS_NULL, /* no value, like the next */
	WIDE_OP_NOT_NULL
} wide_op;

typedef enum wide_kind
{
	WIDE_KIND_BYTES,  /* unsigned bytes, a prefix before what it begins */
	WIDE_KIND_SIGNED, /* big-endian two's complement of 1, 2, 4 or 8 bytes */
	WIDE_KIND_FLOAT,  /* big-endian IEEE of 4 or 8 bytes: -0 = 0, NaN = NaN and above all */
	WIDE_KIND_TIME	  /* not the value but the timestamp, as SIGNED of 8 bytes */
} wide_kind;

typedef struct wide_predicate
{
	int family; /* index into spec.families */
	int clause;
	wide_op op;
	wide_kind kind; /* how values compare */
	wide_bytes qualifier;
	/* one; for IN and NOT_IN any number, in any order; numbers all of one width */
	const wide_bytes *values;
	int nvalues;
	uint32_t width; /* BYTES: of cells with another length nothing can be told either; 0 = any */
} wide_predicate;

/*
 * ROW FILTER
 *
 * Asked about the key of each row before any cell of it is read, in the order
 * of the scan.  Rows that it accepts may still turn out not to exist or not to
 * meet the predicates, and after an interruption it is asked again: what it
 * answers must depend on rows that wide_scan_next has returned, not on rows that
 * it was asked about.  May not call the engine.
 */
typedef enum wide_row_verdict
{
	WIDE_ROW_ACCEPT,
	WIDE_ROW_SKIP, /* not this row */
	WIDE_ROW_SEEK, /* forward: nothing before *seek; reverse: nothing at or after it */
	WIDE_ROW_END   /* no more rows, in none of the ranges */
} wide_row_verdict;

/*
 * *seek need not be a key that exists, or lie in a range; its bytes stay valid
 * until the next call.  One that does not lead on is the same as SKIP.
 */
typedef wide_row_verdict (*wide_row_filter)(void *arg, wide_bytes key, wide_bytes *seek);

typedef struct wide_scan_spec
{
	const wide_scan_family *families;
	int nfamilies;
	const wide_predicate *predicates;
	int npredicates;
	const wide_range *ranges; /* sorted, disjoint; n = 0: nothing */
	int nranges;
	bool reverse;	/* rows in descending order; cells of a row stay ascending */
	int64_t ts_min; /* cells with ts_min <= ts < ts_max; 0,0 = no limit */
	int64_t ts_max; /*  (VERSIONS are counted before this is applied) */
	/*
	 * Of the cells that are visible so, only those with show_min <= ts <
	 * show_max (0,0 = no limit, INT64_MAX = open).  A plain filter: versions,
	 * their numbers and deletes are what they are without it.
	 */
	int64_t show_min;
	int64_t show_max;
	int64_t now;		/* for TTL; 0 = when the snapshot was taken */
	wide_batch *own;	/* merged on top, may be NULL */
	uint64_t own_mark;	/* operations of own before this mark only */
	uint32_t row_cells; /* at most so many cells per wide_row (0 = 4096) */
	/* of each row only so many cells, the first ones that it hands out (0 = all) */
	uint32_t row_limit;
	wide_row_filter row_filter; /* may be NULL */
	bool filter_follows; /* its answers depend on the rows that were returned: none is read ahead */
	void *filter_arg;
} wide_scan_spec;

typedef struct wide_cell
{
	int family;			  /* index into spec.families */
	int column;			  /* index into its quals for WANT_COLUMNS, else -1 */
	int version;		  /* 0 = newest of its column */
	int64_t ts;			  /* provisional ("now") for own uncommitted automatic ones */
	int64_t ttl_us;		  /* 0 = none */
	uint64_t seq;		  /* 0 for own uncommitted ones */
	bool provisional;	  /* an own uncommitted automatic one */
	wide_bytes qualifier; /* unset (len 0) for WANT_COLUMNS */
	wide_bytes value;
} wide_cell;

typedef struct wide_row
{
	wide_bytes key;
	/* by family index (those with predicates first, of them one limited by time), qualifier, newest
	 * first */
	const wide_cell *cells;
	int ncells;
	bool more;	 /* the row goes on: the next call returns its next part */
	bool unsure; /* a predicate could not be told: evaluate the condition yourself */
} wide_row;

/* What a scan did, for EXPLAIN ANALYZE. */
typedef struct wide_scan_stats
{
	uint64_t files_read, files_skipped_key, files_skipped_time, files_skipped_bloom;
	uint64_t blocks_read, blocks_cached;
	uint64_t cells_scanned, cells_returned, rows_returned, tombstones, seeks;
	uint64_t rows_rejected; /* by predicates; some of them may have been deleted before */
} wide_scan_stats;

/*
 * A scan as its user sees it: the rows that it has read ahead, for wide_scan_ready only.  It is
 * made by wide_scan_open, and more lies behind it.
 */
typedef struct wide_scan
{
	const wide_row *ahead;
	int nahead;
	int given; /* rows of them that were handed out */
} wide_scan;

/* The arrays of spec are copied; snapshot, batch and db must outlive the scan. */
extern wide_status wide_scan_open(wide_db *db, const wide_snapshot *snap,
								  const wide_scan_spec *spec, wide_scan **out);
/* WIDE_OK and a row, or WIDE_END.  A row without cells exists (WANT_EXISTS). */
extern wide_status wide_scan_next(wide_scan *s, wide_row *row);

/* Hands out the next row if the scan has read it ahead; else returns false and does nothing. */
static inline bool
wide_scan_ready(wide_scan *s, wide_row *row)
{
	if (s->given >= s->nahead)
		return false;
	*row = s->ahead[s->given++];
	return true;
}

/*
 * Start again with other ranges, keeping cursors and pins where possible.  If
 * the snapshot has been renewed, the scan reads its new state: families' options
 * and the time (unless spec.now was given) are the present ones.
 */
extern wide_status wide_scan_restart(wide_scan *s, const wide_range *ranges, int nranges,
									 uint64_t own_mark);
/*
 * Let go of memtables and files until the next call, which goes on where the
 * scan stands (its snapshot stays).  For scans that may rest for long, such as
 * cursors: writers wait for memtables that a scan holds.  Memory handed out
 * before is invalid afterwards.  Does nothing in the middle of a row.
 */
extern void wide_scan_park(wide_scan *s);
/*
 * Instead of closing it: the scan lets go of everything, its snapshot included,
 * and may be used again for the same families with another snapshot; that is
 * cheaper than opening one.  Between the two it holds nothing but memory.
 * Afterwards only wide_scan_reuse and wide_scan_close may be called, and after
 * wide_scan_reuse wide_scan_restart before rows are read.  false: it is not made
 * for that (own batch, predicates, a row filter, a given time) and must be closed.
 */
extern bool wide_scan_set_aside(wide_scan *s);
extern wide_status wide_scan_reuse(wide_scan *s, const wide_snapshot *snap);
extern void wide_scan_statistics(const wide_scan *s, wide_scan_stats *out);
extern void wide_scan_close(wide_scan *s);

/* Raw history of one row: tombstones and all versions, newest first, for debugging. */
typedef struct wide_raw_cell
{
	wide_family_id family;
	wide_bytes qualifier; /* empty for family deletes */
	int64_t ts;
	uint64_t seq;
	int type; /* 0 put, 1 + wide_delete otherwise */
	wide_bytes value;
} wide_raw_cell;

typedef wide_status (*wide_raw_fn)(void *arg, const wide_raw_cell *cell);
extern wide_status wide_raw_row(wide_db *db, wide_family_id family, wide_bytes row, wide_raw_fn fn,
								void *arg);

/* Estimates from metadata of files and memtables, no data block is read. */
typedef struct wide_estimate
{
	double rows;
	double cells;
	double bytes;  /* stored (compressed) bytes */
	double blocks; /* data blocks */
} wide_estimate;

extern wide_status wide_estimate_range(wide_db *db, wide_family_id family, const wide_range *range,
									   wide_estimate *out);
/*
 * About n - 1 keys that cut the family in n parts of equal size; fn gets each.
 * rough: memtables are sampled (microseconds), not walked (milliseconds).
 */
extern wide_status wide_split_keys(wide_db *db, wide_family_id family, int n, bool rough,
								   wide_status (*fn)(void *arg, wide_bytes key), void *arg);

/* ------------------------------------------------------------ background */

/*
 * One unit of background work (flush, compaction, deletion of files): picks
 * the most urgent one, does it, WIDE_OK; WIDE_END: there is none now.
 * host->interrupted is honoured between cells.  What only saves space waits
 * until no file was made for three seconds.
 */
extern wide_status wide_work(wide_db *db);
/*
 * Everything committed so far into files, and all the work there is, without
 * waiting for that.  Files that are no longer needed are left to a worker, if
 * there is one.
 */
extern wide_status wide_tidy(wide_db *db);
/*
 * Everything committed so far into files (family 0 = all); waits.  Does the
 * work in this process.
 */
extern wide_status wide_flush(wide_db *db);
/*
 * Flush, then merge all files of the family into one sorted run at the bottom
 * level.  Changes of its options that were made before every snapshot that
 * lives are then forgotten (wide_batch_alter_family).
 */
extern wide_status wide_compact(wide_db *db, wide_family_id family);

/* ---------------------------------------------------------------- safety */

typedef wide_status (*wide_problem_fn)(void *arg, const char *object, const char *problem);
/*
 * Read every byte of every live file: checksums, order, bounds, filters, file
 * list against directory.  fn is called for each problem. family 0 = all.
 */
extern wide_status wide_verify(wide_db *db, wide_family_id family, wide_problem_fn fn, void *arg);

/* ------------------------------------------------------------ statistics */

typedef struct wide_stats
{
	/* state */
	uint64_t visible_lsn, flushed_lsn, restart_lsn, last_ts;
	uint64_t memtable_bytes, memtable_limit, memtables_waiting;
	uint64_t cache_bytes, cache_limit;
	uint64_t files, file_bytes, segment_bytes;
	uint32_t processes, tables, families;
	/* what is held at the moment: processes with a snapshot, the oldest one (0 none), processes
	 * that pin files or memtables */
	uint32_t snapshots, pins;
	uint64_t oldest_snapshot;
	/* promised to batches that are prepared or about to be */
	uint64_t reserved_bytes, reserved_files;
	/* counters since the segment was made */
	uint64_t commits, cells_written, log_bytes;
	uint64_t gets, scans, rows_read, cells_read;
	uint64_t cache_hits, cache_misses, bloom_checks, bloom_skips;
	uint64_t flushes, flush_bytes, compactions, compact_read_bytes, compact_write_bytes,
		files_deleted;
	uint64_t stalls, stall_us, row_lock_waits;
	uint64_t spills, spilled_bytes; /* of transactions that were larger than their memory */
} wide_stats;

extern void wide_statistics(wide_db *db, wide_stats *out);

typedef struct wide_file_info
{
	uint64_t number;
	wide_family_id family;
	int level;
	uint64_t bytes, raw_bytes, cells, rows, tombstones;
	int64_t ts_min, ts_max;
	uint64_t seq_min, seq_max;
	wide_bytes min_row, max_row; /* bounds, possibly shortened; valid during the call */
} wide_file_info;

extern wide_status wide_file_each(wide_db *db, wide_family_id family,
								  wide_status (*fn)(void *arg, const wide_file_info *f), void *arg);

typedef struct wide_job_info
{
	wide_family_id family;
	int kind;  /* 0 flush, 1 compaction */
	int state; /* 0 running, 1 done, 2 failed */
	int from_level, to_level;
	uint64_t total_bytes, done_bytes, out_bytes;
	int64_t started, ended; /* microseconds since 1970 */
} wide_job_info;

/* Running and recent jobs, newest first; returns how many were filled in. */
extern int wide_jobs(wide_db *db, wide_job_info *out, int max);

/* Live (memtable + files) totals of a family. */
typedef struct wide_family_info
{
	uint64_t files, bytes, raw_bytes, cells, rows, tombstones, memtable_cells;
	uint32_t files_per_level[8];
} wide_family_info;

extern wide_status wide_family_statistics(wide_db *db, wide_family_id family,
										  wide_family_info *out);

#endif /* WIDE_H */

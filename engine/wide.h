/*
 * wide.h - public interface and manual of the widetable storage engine.
 *
 * LONG: file: the host includes this header alone, and reads it from top to end
 *
 * The engine is a column-family store in the Bigtable / HBase tradition:
 *
 *     row key -> family -> qualifier -> timestamp -> value
 *
 * sparse, sorted by unsigned bytes, versioned.  It knows nothing of
 * PostgreSQL.  Any number of processes work on one store through one shared
 * memory segment that the host (the program that the engine lives in) provides;
 * there is no server process.
 *
 * RULES
 *
 *  - A process attaches once (wide_attach) and does not fork afterwards.
 *    It calls the engine from one thread only.
 *  - No function longjmps, and no callback may longjmp through the engine.
 *    A function that can fail returns a wide_status; wide_error_text() describes
 *    the last failure of this process.
 *  - A process ends by wide_detach.  After any other end (it was killed) the host
 *    ends all others, too, and makes a new segment; PostgreSQL does so.
 *  - WIDE_POISONED is final for the segment: a process died, or an fsync failed,
 *    in the middle of a change.  Nothing is repaired in place; make a new
 *    segment and recover from the files and the log.
 *  - WIDE_INTERRUPTED means that host->interrupted() returned true.  Nothing is
 *    half done: call again or give up.
 *  - Memory that a scan returns is valid until the next call on that scan.
 *
 * LIFE OF A STORE
 *
 *     wide_segment_format(base, &config)                once per segment
 *     wide_attach(base, dir, host, log, os, &db)        every process
 *     wide_recover(db)                                  the first one; others wait
 *     ...
 *     wide_detach(db)
 *
 * LIFE OF A WRITE
 *
 *     wide_batch_new(db, &batch)
 *     wide_batch_put(batch, ...) ...                    private, takes no lock
 *     wide_batch_prepare(batch, 0)                      everything that can fail
 *     wide_batch_finish(batch, &lsn)                    logged and applied; cannot fail
 *     log->sync(ctx, lsn)                               durable
 *     wide_publish(db, lsn)                             visible
 *
 * The sequence number of all cells of a batch is the log position (LSN) at
 * which its finish record ends.  So the order of commits, the order of replay
 * and the order on a standby are the same.  A snapshot is an LSN and a short
 * list of exclusions, see wide_snapshot_take_at.
 *
 * An external transaction is a transaction of the host that has a commit record
 * of its own in the log (in PostgreSQL: one with an xid).
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
	WIDE_END, /* no more rows; no work to do */
	WIDE_NOTFOUND,
	WIDE_EXISTS,
	WIDE_INVALID, /* an argument is wrong */
	WIDE_LIMIT,	  /* beyond a stated limit */
	WIDE_NOMEM,
	WIDE_FULL,		 /* a table of the segment has no free entry */
	WIDE_NOSPACE,	 /* the file system is full, or a quota or the largest file size is reached */
	WIDE_TEMP_LIMIT, /* more temporary files than the host allows */
	WIDE_BUSY,		 /* another process holds it: wait and try again */
	WIDE_CONFLICT,	 /* snapshot too old; serialization failure */
	WIDE_IO,
	WIDE_CORRUPT, /* bytes on disk are not what was written */
	WIDE_INTERRUPTED,
	WIDE_POISONED
} wide_status;

/* Returns one line about the last failure in this process; never NULL. */
extern const char *wide_error_text(void);

#define WIDE_DAMAGE_KEY 48 /* most bytes of a row key that describe a range */

/* A sorted file that cannot be read, or a part of it. */
typedef struct wide_damage
{
	uint64_t file;		/* its number */
	uint64_t container; /* the number of the file of the directory that has it */
	uint64_t offset;	/* in that, in bytes */
	uint32_t family;	/* wide_family_id; 0: not known, nor is the range */
	uint32_t lo_len;	/* rows from these bytes on may be hit: */
	uint8_t lo[WIDE_DAMAGE_KEY];
	uint32_t hi_len; /* up to those that begin with these bytes */
	uint8_t hi[WIDE_DAMAGE_KEY];
} wide_damage;

/* Returns what the last failure in this process says of a sorted file; NULL if it was about
 * something else. */
extern const wide_damage *wide_error_damage(void);

/* ----------------------------------------------------------------- bytes */

typedef struct wide_bytes
{
	const uint8_t *data;
	size_t len;
} wide_bytes;

#define WIDE_MAX_ROW	   32767 /* bytes of a row key; at least 1 */
#define WIDE_MAX_QUALIFIER 65535 /* bytes of a qualifier; may be 0 */
#define WIDE_MAX_FAMILY	   127	 /* bytes of a family's name */
#define WIDE_MAX_NAME	   255	 /* bytes of a table's name */
#define WIDE_MAX_VALUE	   (256u * 1024 * 1024)

#define WIDE_TS_AUTO INT64_MIN /* the engine assigns the timestamp at commit */
#define WIDE_TS_MAX	 INT64_MAX /* a delete without a timestamp */

/* ------------------------------------------------------------------ host */

/* What a process waits for: wide_host.waits */
typedef enum wide_wait
{
	WIDE_WAIT_NONE,
	WIDE_WAIT_MEMORY,	/* a commit: room in memtables */
	WIDE_WAIT_PACE,		/* a commit: slowed down to the speed of flushes */
	WIDE_WAIT_WORK,		/* a flush or compaction that another process does */
	WIDE_WAIT_FLUSH,	/* a flush: commits that still insert into the memtable */
	WIDE_WAIT_LOG,		/* a commit: its place in the log */
	WIDE_WAIT_PUBLISH,	/* a commit: earlier commits that are not applied */
	WIDE_WAIT_SNAPSHOT, /* a snapshot: commits that it has to see */
	WIDE_WAIT_MANIFEST, /* a change of the set of files by another process */
	WIDE_WAIT_READ,		/* a block of a sorted file */
	WIDE_WAIT_SYNC,		/* a sorted file, to be durable */
	WIDE_WAIT_FOLLOW,	/* a read: the log that the host has replayed */
	WIDE_WAIT_COUNT
} wide_wait;

/* Callbacks of the host.  No callback may longjmp.  Those that may be NULL say so. */
typedef struct wide_host
{
	void *ctx;
	/* Returns true if the engine must stop and return WIDE_INTERRUPTED.  Must be cheap. */
	bool (*interrupted)(void *ctx);
	/* Returns microseconds since 1970-01-01 UTC.  NULL: the system's clock. */
	int64_t (*now)(void *ctx);
	/* A flush or compaction is waiting.  Called often.  May be NULL. */
	void (*wake_worker)(void *ctx);
	/*
	 * Returns true if a worker process runs and does background work; otherwise
	 * writers flush themselves.  Must be cheap.  May be NULL: false.
	 */
	bool (*worker_works)(void *ctx);
	/*
	 * Returns the oldest external transaction id that a snapshot of the host may
	 * still see as running; 0 = none.  Versions that readers with such a snapshot
	 * need are kept.  May be NULL.
	 */
	uint64_t (*oldest_external)(void *ctx);
	/*
	 * Returns true while a base backup copies the directory; no file is removed
	 * from it then.  Must be true from before the log position that the copy is
	 * meant for until the copy is complete.  May be NULL: false.
	 */
	bool (*files_held)(void *ctx);
	/*
	 * Returns the number of external transactions that have ended so far, by
	 * commit or abort; *latest is not below the newest id among them.  An end is
	 * counted before any snapshot of the host shows it.  Must be cheap.  May be
	 * NULL.
	 */
	uint64_t (*ended)(void *ctx, uint64_t *latest);
	/* Returns true if the external transaction has committed, as far as the host has replayed the
	 * log.  May be NULL: false. */
	bool (*committed)(void *ctx, uint64_t xid);
	/*
	 * Temporary files, which batches spill to.  All three may be NULL: the files are in
	 * the store's directory, and nobody counts them.  Called in the thread that attached
	 * the process, never in the helper thread.  A failure sets *why to its text, which is
	 * valid until the next call.
	 *
	 * temp_open: writes the path of a new file to path (size bytes); the engine creates it
	 * there and unlinks it.  *account stands for the file until temp_close.
	 * Returns: WIDE_NOSPACE, WIDE_NOMEM, WIDE_IO.
	 */
	wide_status (*temp_open)(void *ctx, char *path, size_t size, void **account, const char **why);
	/*
	 * The file is going to have so many bytes: called before they are written, and again
	 * when it is known that there are less.
	 * Returns: WIDE_TEMP_LIMIT, and then the file counts with its former size; as above.
	 */
	wide_status (*temp_resize)(void *ctx, void *account, uint64_t bytes, const char **why);
	/* The file is closed. */
	void (*temp_close)(void *ctx, void *account);
	/*
	 * From here on this process waits for that; WIDE_WAIT_NONE: it goes on.  For the host's
	 * list of processes.  Must be cheap.  May be NULL.
	 */
	void (*waits)(void *ctx, wide_wait what);
	/*
	 * Shared memory outside of the segment, for row locks: chunks, each with an id (not 0) that
	 * other processes map it by.  All five may be NULL: there is none.  A failure sets *why to its
	 * text, which is valid until the next call.
	 *
	 * memory_limit: returns how many bytes all chunks may have together.  Must be cheap.
	 * memory_create: makes a chunk of memory, which stays when this process ends, and maps it here.
	 * Returns its address, a multiple of 64; NULL on failure.
	 * memory_map: maps a chunk here.  Returns its address; NULL on failure, or if it is gone.
	 * memory_unmap: the chunk is not used here any more.
	 * memory_drop: the chunk is used nowhere any more, although other processes may not have
	 * unmapped it yet.  It is unmapped here as well.
	 */
	size_t (*memory_limit)(void *ctx);
	void *(*memory_create)(void *ctx, size_t bytes, uint64_t *id, const char **why);
	void *(*memory_map)(void *ctx, uint64_t id, const char **why);
	void (*memory_unmap)(void *ctx, uint64_t id, void *address);
	void (*memory_drop)(void *ctx, uint64_t id, void *address);
	/* Writes a line to the host's log; level 0 = debug, 1 = log, 2 = warning.  May be NULL. */
	void (*report)(void *ctx, int level, const char *text);
	/* Modes of the files and directories that this process creates.  0: 0600 and 0700. */
	uint32_t file_mode;
	uint32_t directory_mode;
	/* The directory of the sorted files, which must exist; the same in every process.  Copied.
	 * NULL: the store's directory. */
	const char *files_directory;
} wide_host;

/* ------------------------------------------------------------------- log */

/* Events that log->replay reports, in log order. */
typedef enum wide_replay_kind
{
	WIDE_REPLAY_RECORD,	  /* a payload that went through append() */
	WIDE_REPLAY_COMMIT,	  /* external transaction xid committed */
	WIDE_REPLAY_ABORT,	  /* external transaction xid aborted */
	WIDE_REPLAY_PREPARED, /* external transaction xid was prepared: a restart does not end it */
	/* the log before this point is lost: finish records of batches that began there are ignored */
	WIDE_REPLAY_GAP,
	/* the program that wrote the log started here: open transactions before it have aborted */
	WIDE_REPLAY_RESTART,
	WIDE_REPLAY_SEALED /* the log is sealed here: see wide_replay_event.forgeable */
} wide_replay_kind;

typedef struct wide_replay_event
{
	wide_replay_kind kind;
	uint64_t start; /* position at which the record begins */
	uint64_t lsn;	/* position at which it ends: its LSN */
	uint64_t xid;	/* external transaction, 0 = none */
	int64_t time;	/* COMMIT only: time of the commit, 0 = not known */
	/* RECORD only: the host recovers to a point before the record.  A batch that the record ends
	 * does not count, unless it belongs to an external transaction. */
	bool beyond;
	wide_bytes payload; /* RECORD only; valid during the call */
	/*
	 * RECORD only: it has a form in which others than the engine can write records,
	 * too; append() does not use it any more.  Such a record counts if it is before
	 * the place where the log was sealed (WIDE_REPLAY_SEALED, or the first record
	 * that is not forgeable), and in a store that was made by a release that used
	 * this form.  If it does not count, or makes no sense, it is ignored.
	 */
	bool forgeable;
} wide_replay_event;

typedef wide_status (*wide_replay_fn)(void *arg, const wide_replay_event *ev);

/*
 * The log that makes batches durable: PostgreSQL's WAL in the extension, a log in
 * files (test/host/file_log.h) in tests and benchmarks.
 */
typedef struct wide_log
{
	void *ctx;

	/*
	 * Appends one record of at most WIDE_LOG_RECORD_MAX bytes, the concatenation
	 * of parts.  *lsn is its end position, strictly rising in log order.  With
	 * external = true the record belongs to the caller's external transaction
	 * and counts only if that commits.  Not durable before sync.  Fails with
	 * WIDE_IO, which poisons the store.
	 */
	wide_status (*append)(void *ctx, bool external, const wide_bytes *parts, int nparts,
						  uint64_t *lsn);
	/* Makes everything up to lsn durable. */
	wide_status (*sync)(void *ctx, uint64_t lsn);
	/* Returns the current end of the log: no later record has an LSN <= this. */
	uint64_t (*end)(void *ctx);
	/*
	 * Calls fn for each record that begins at or after from, to the end of the log.
	 * A log with forgeable records must not end before it is sealed: if
	 * wide_replay_sealed() is false there, replay seals it, and goes on to that
	 * place.  It reports as a RECORD only what append() has written, apart from
	 * forgeable ones.
	 */
	wide_status (*replay)(void *ctx, uint64_t from, wide_replay_fn fn, void *arg);
	/* Records that begin before lsn are not needed any more. */
	void (*release)(void *ctx, uint64_t lsn);
	/*
	 * Returns which log it is, and the branch of its history (in PostgreSQL: the
	 * timeline) to which new records go.  The manifest keeps both.  May be NULL:
	 * not known (0).
	 */
	void (*identity)(void *ctx, uint64_t *id, uint32_t *branch);
	/* Returns true if position lsn on that branch (0: any) is in the past of this log; if not, the
	 * store is not opened.  May be NULL: true. */
	bool (*contains)(void *ctx, uint32_t branch, uint64_t lsn);
	/*
	 * Returns the id of a log that has ended, and after which this one begins, with larger LSNs: a
	 * store of that log whose files have everything becomes one of this log when it is opened.
	 * Called only for a store of another log.  May be NULL; 0: there is none.
	 */
	uint64_t (*predecessor)(void *ctx);
	/* Returns true if replay can begin at lsn: everything from there on is there.  May be NULL:
	 * true. */
	bool (*reaches)(void *ctx, uint64_t lsn);
	/*
	 * As replay, in any process while the log is followed: calls fn for each RECORD that begins at
	 * or after from and ends at or before to, until fn fails.  May be NULL: the log is not
	 * followed.
	 */
	wide_status (*read)(void *ctx, uint64_t from, uint64_t to, wide_replay_fn fn, void *arg);
} wide_log;

#define WIDE_LOG_RECORD_MAX (1024 * 1024)

struct wide_os;
typedef struct wide_db wide_db;
typedef struct wide_batch wide_batch;

/* --------------------------------------------------------------- segment */

typedef struct wide_config
{
	size_t memtable_size;	/* bytes of one memtable; there are WIDE_MEMTABLES of them */
	size_t cache_size;		/* bytes of the shared block cache */
	uint32_t max_processes; /* attached at the same time */
	uint32_t max_tables;	/* tables of all databases */
	uint32_t max_files;		/* live sorted files */
	uint32_t lock_buckets;	/* row lock buckets of 104 bytes, a power of two; see memory_limit */
} wide_config;

#define WIDE_MEMTABLES 4

/*
 * Fills in defaults for members that are 0.  total != 0: then shrinks memory, and
 * if that is not enough max_tables and max_files too, until the segment fits into
 * total bytes or all members are at their minimum.
 */
extern void wide_config_fit(wide_config *config, size_t total);
/* Returns the bytes that a segment with this configuration needs. */
extern size_t wide_segment_size(const wide_config *config);
/*
 * Initialises a segment; its state is then WIDE_EMPTY.
 * Requires: base has wide_segment_size() bytes, zero-filled or used before, and is
 * aligned to 64 bytes; no process is attached.  Errors: WIDE_INVALID, WIDE_NOMEM.
 */
extern wide_status wide_segment_format(void *base, const wide_config *config);

typedef enum wide_state
{
	WIDE_EMPTY, /* formatted, not recovered */
	WIDE_RECOVERING,
	WIDE_FOLLOWING, /* wide_recover still replays the log, and other processes read: wide_follow */
	WIDE_RUNNING,
	WIDE_DEAD /* poisoned */
} wide_state;

extern wide_state wide_segment_state(const void *base);

/*
 * Attaches this process; takes a process slot.  dir is the store's directory,
 * which wide_recover makes if it is missing.  host and log are copied.  os NULL:
 * the real system calls.
 * Errors: WIDE_FULL when no slot is free, WIDE_INVALID when base is not a segment
 * of this build, WIDE_POISONED.
 */
extern wide_status wide_attach(void *base, const char *dir, const wide_host *host,
							   const wide_log *log, struct wide_os *os, wide_db **out);
/*
 * FOLLOWING a log without end (a standby): log->replay does not return before the end.  It calls
 * wide_follow_show between two events; from the first call on the state is WIDE_FOLLOWING, and
 * other processes may attach, read, and do background work, which numbers their files as recovery
 * does. They change no data.
 *
 * wide_follow_show: readers see everything that was reported, and that is all that concerns them in
 * the log before lsn.  Everything before applied has been reported; that is less than lsn if the
 * host holds back a record.
 * Errors: WIDE_POISONED; WIDE_FULL, and then nothing more is shown.
 */
extern wide_status wide_follow_show(wide_db *db, uint64_t lsn, uint64_t applied);
/*
 * After the process that followed the log has ended, or failed: sets the state to WIDE_EMPTY, so
 * that others see that they cannot go on.  Returns the number of other processes that are attached,
 * and stores the ids of at most max of them.  With 0 the segment may be formatted again: a process
 * that attaches from now on sees the state.
 */
extern int wide_follow_close(wide_db *db, int *pids, int max);
/* Returns the lsn of the last wide_follow_show. */
extern uint64_t wide_follow_shown(const wide_db *db);
/* Returns true if a process has waited in wide_follow_wait since the last call. */
extern bool wide_follow_awaited(wide_db *db);
/*
 * Waits until the log is shown up to lsn, or the state is WIDE_RUNNING, at most ms milliseconds.
 * Returns: WIDE_OK also if the time is over; WIDE_INTERRUPTED, WIDE_POISONED.
 */
extern wide_status wide_follow_wait(wide_db *db, uint64_t lsn, int ms);
/* Returns true if the log is sealed: from there on no forgeable record counts. */
extern bool wide_replay_sealed(const wide_db *db);
/*
 * Opens the store: reads the manifest, removes orphan files, replays the log.
 * Requires: state WIDE_EMPTY; the host lets only one process call this.
 * On failure the state is WIDE_EMPTY again, or WIDE_DEAD; or WIDE_FOLLOWING: see wide_follow_close.
 * Errors: WIDE_CONFLICT when the files belong to another log or are ahead of it.
 */
extern wide_status wide_recover(wide_db *db);
/* Releases everything that the process holds, and frees db.  The segment stays mapped. */
extern void wide_detach(wide_db *db);
/* Marks the store unusable, for ever, and wakes all processes that wait. */
extern void wide_poison(wide_db *db, const char *reason);
/*
 * Stores a value in this process's slot, which wide_row_lock returns as the holder of a lock.  It
 * may change while locks are held: it tells what the others wait for until the newest of them are
 * given back.  Set it before the lock is taken that it is for, and after those are given back that
 * it was for.
 */
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

/* How a put changes the value that is there; engine/read/fold.h. */
typedef enum wide_merge
{
	WIDE_MERGE_NONE, /* replaces it */
	/* 8 bytes, big-endian: an int64_t */
	WIDE_MERGE_SUM, /* wraps */
	WIDE_MERGE_MIN,
	WIDE_MERGE_MAX,
	WIDE_MERGE_OR,
	WIDE_MERGE_AND,
	/* or a double */
	WIDE_MERGE_SUM_DOUBLE,
	WIDE_MERGE_MIN_DOUBLE,
	WIDE_MERGE_MAX_DOUBLE,
	/* registers of a HyperLogLog: a count of distinct values; engine/read/fold.h has the bytes */
	WIDE_MERGE_HLL,
	/* any bytes: those of all puts, in the order of commits; engine/read/append.h */
	WIDE_MERGE_APPEND
} wide_merge;

#define WIDE_HLL_BITS	   12 /* of a hash, which choose the register */
#define WIDE_HLL_REGISTERS (1 << WIDE_HLL_BITS)
#define WIDE_HLL_GREATEST  (32 - WIDE_HLL_BITS + 1) /* value of a register */

/* Returns true if the bytes are the registers of a HyperLogLog, as a family with WIDE_MERGE_HLL has
 * them, or none. */
extern bool wide_hll_valid(const uint8_t *value, size_t len);

typedef struct wide_family_options
{
	int32_t versions;	   /* the newest n of a column are kept; >= 1 */
	int32_t min_versions;  /* of these, the newest n do not expire by ttl_us; <= versions */
	int64_t ttl_us;		   /* time to live of a cell in microseconds; 0 = unlimited */
	uint32_t block_size;   /* uncompressed bytes of a data block, 1 KiB .. 1 MiB */
	uint16_t bloom_prefix; /* bytes, for WIDE_BLOOM_PREFIX */
	uint8_t bloom;		   /* wide_bloom */
	uint8_t compression;   /* wide_compression */
	int8_t compression_level;
	uint8_t keep_deleted; /* deleted cells stay readable as of a time before the delete */
	uint8_t in_memory;	  /* blocks have high priority in the block cache */
	uint8_t compaction;	  /* wide_compaction */
	/* wide_merge; does not change, and with one neither do versions and ttl_us, min_versions is 0
	 * and keep_deleted not set; with WIDE_MERGE_HLL and WIDE_MERGE_APPEND versions is 1, with
	 * WIDE_MERGE_HLL ttl_us is 0 */
	uint8_t merge;
	int64_t window_us; /* for WIDE_COMPACT_WINDOW: interval of time that has files of its own */
} wide_family_options;

/* Sets all members to their defaults. */
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
 * Objects of the host (foreign tables) are bound to it by number; the table and
 * its data are dropped with the last binding.
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
 * Look up a table.  b NULL: committed tables; otherwise with the changes of that
 * batch.  WIDE_NOTFOUND.  The functions with max store at most max families (in
 * the order of their creation) or bound objects, and return the number of all.
 */
extern wide_status wide_table_by_name(wide_db *db, wide_batch *b, uint32_t space, const char *name,
									  wide_table *out);
extern wide_status wide_table_by_binding(wide_db *db, wide_batch *b, uint32_t space,
										 uint32_t object, wide_table *out);
extern wide_status wide_table_by_id(wide_db *db, wide_batch *b, wide_table_id id, wide_table *out);
/* Returns a committed family and its table.  WIDE_NOTFOUND. */
extern wide_status wide_family_by_id(wide_db *db, wide_family_id id, wide_family *family,
									 wide_table *table);
extern int wide_table_families(wide_db *db, wide_batch *b, wide_table_id id, wide_family *families,
							   int max);
extern int wide_table_bindings(wide_db *db, wide_batch *b, wide_table_id id, uint32_t *objects,
							   int max);
/* The next table, without its counts; b as above.  Begin with *cursor = 0; ends with WIDE_END. */
extern wide_status wide_table_next(wide_db *db, wide_batch *b, uint32_t *cursor, wide_table *out);
/* The next committed binding: a table, and an object that is bound to it.  As wide_table_next. */
extern wide_status wide_binding_next(wide_db *db, uint32_t *cursor, wide_table_id *table,
									 uint32_t *object);
/* Returns a number that rises with every committed change of any table or family; for caches. */
extern uint64_t wide_catalog_generation(wide_db *db);

/* ----------------------------------------------------------------- batch */

/*
 * A write batch: the private, ordered changes of one transaction, in memory and
 * beyond a limit in temporary files (wide_batch_command).  No other process sees
 * them before wide_batch_finish.  Positions in it (marks) serve as savepoints and
 * as the limit of what a statement may see.
 */

typedef enum wide_delete
{
	WIDE_DELETE_VERSION,	   /* the version of the cell with exactly this timestamp */
	WIDE_DELETE_COLUMN,		   /* versions of the column with timestamp <= ts */
	WIDE_DELETE_FAMILY,		   /* cells of the row in the family with timestamp <= ts */
	WIDE_DELETE_FAMILY_VERSION /* cells of the row in the family with timestamp = ts */
} wide_delete;

extern wide_status wide_batch_new(wide_db *db, wide_batch **out);
/*
 * A large batch is written as sorted files.  log true (the default): their bytes
 * are appended to the log too.  false: a reader that has only the log, such as a
 * standby, does not get them.
 */
extern void wide_batch_log_files(wide_batch *b, bool log);
/*
 * Marks the batch as awaited: the caller will wait until the finish record is
 * durable before it publishes the batch.  wide_publish in another process makes
 * it durable before it shows it.
 */
extern void wide_batch_mark_awaited(wide_batch *b);
/*
 * Sets the LSN of the commit record of the batch's external transaction; before
 * wide_batch_finish.  Recovery orders batches without a finish record by it.  So
 * if a batch that was decided later has been finished earlier and wrote the same
 * row, this batch is not shown before its finish record is durable.
 */
extern void wide_batch_note_decided(wide_batch *b, uint64_t lsn);
/*
 * Begins a command of the transaction.  From here on the batch holds about
 * `bytes` bytes in memory (a few kilobytes at least; 64 MB before the first call)
 * and writes the rest to temporary files in the store's directory.  The cells that
 * it puts into a row with an automatic timestamp share a provisional one, which they
 * would get if the batch were committed now.
 */
extern void wide_batch_command(wide_batch *b, size_t bytes);
/*
 * Returns about how many bytes of log the changes so far take at commit: of keys, qualifiers and
 * values, without what they replace in the batch itself.  Only rises.
 */
extern uint64_t wide_batch_log_bytes(const wide_batch *b);
/* Frees the batch and its reservations; logs nothing.  Never fails. */
extern void wide_batch_free(wide_batch *b);

/*
 * Writes one cell; the bytes are copied.  ts: microseconds, or WIDE_TS_AUTO: the
 * timestamp is assigned at commit.  All cells of a batch get the same one, above all
 * that were assigned before in the store, unless it is not above floor_ts: that is
 * wide_cell.floor_ts of the newest version that a read-modify-write has seen,
 * INT64_MIN for a blind put.  Where no timestamp is above floor_ts, the put replaces
 * that version.  ttl_us > 0: the cell expires that many microseconds after its
 * timestamp.
 *
 * In a family with a merge operator the put is an operand and replaces nothing.  WIDE_INVALID if
 * the value is not one of the operator (or none, under the empty qualifier), or with ttl_us.
 */
extern wide_status wide_batch_put(wide_batch *b, wide_family_id family, wide_bytes row,
								  wide_bytes qualifier, int64_t ts, int64_t floor_ts,
								  int64_t ttl_us, wide_bytes value);
/* Sets *merge to the family's merge operator (wide_merge). */
extern wide_status wide_batch_merge_of(wide_batch *b, wide_family_id family, uint8_t *merge);

/* Deletes.  ts = WIDE_TS_MAX: everything written before.  qualifier is ignored for family deletes.
 * In a family with a merge operator: WIDE_INVALID unless ts is WIDE_TS_MAX and a column or the
 * family is deleted. */
extern wide_status wide_batch_delete(wide_batch *b, wide_delete kind, wide_family_id family,
									 wide_bytes row, wide_bytes qualifier, int64_t ts);

/* Changes of the catalog.  New ids are valid in this batch at once. */
extern wide_status wide_batch_create_table(wide_batch *b, uint32_t space, const char *name,
										   wide_table_id *out);
extern wide_status wide_batch_rename_table(wide_batch *b, wide_table_id id, const char *name);
extern wide_status wide_batch_drop_table(wide_batch *b, wide_table_id id);
extern wide_status wide_batch_bind(wide_batch *b, wide_table_id id, uint32_t object);
/* Drops the table too if no binding is left. */
extern wide_status wide_batch_unbind(wide_batch *b, wide_table_id id, uint32_t object);
extern wide_status wide_batch_create_family(wide_batch *b, wide_table_id id, const char *name,
											const wide_family_options *opt, wide_family_id *out);
/*
 * Changes of versions, min_versions, ttl_us and keep_deleted are remembered, for
 * the cells that were written before them.
 * Errors: WIDE_FULL when WIDE_MAX_CHANGES are remembered; wide_compact makes room.
 */
#define WIDE_MAX_CHANGES 8
extern wide_status wide_batch_alter_family(wide_batch *b, wide_family_id id,
										   const wide_family_options *opt);
extern wide_status wide_batch_drop_family(wide_batch *b, wide_family_id id);
/*
 * What the batch has added to the catalog, and adds later, must leave room for `percent` of all
 * tables, families and bindings (at least one table); several calls: the largest percentage.
 * Returns: WIDE_FULL if there is not that much room at present, beside what other batches have
 * reserved.  wide_batch_prepare checks again.
 */
extern wide_status wide_batch_leave_room(wide_batch *b, int percent);
/* Empties every family of the table and gives it a new id. */
extern wide_status wide_batch_truncate_table(wide_batch *b, wide_table_id id);

/* Returns the current position, after all operations so far.  It rises with every operation. */
extern uint64_t wide_batch_mark(const wide_batch *b);
/* Undoes everything after the mark.  Never fails. */
extern void wide_batch_rewind(wide_batch *b, uint64_t mark);
/*
 * Calls fn with the position of each operation on a row since the mark `since`
 * that is not undone, in no order, until fn returns false.  column NULL: all
 * operations in the family; otherwise those that concern this column, including
 * deletes of the row's family.
 */
extern wide_status wide_batch_each(wide_batch *b, wide_family_id family, wide_bytes row,
								   const wide_bytes *column, uint64_t since,
								   bool (*fn)(void *arg, uint64_t position), void *arg);
/* Returns true if there is nothing to commit. */
extern bool wide_batch_empty(const wide_batch *b);

/*
 * Does everything of a commit that can fail: normalises the batch (drops an
 * operation that a later one of the batch masks), builds the log payload, and
 * reserves room in the memtables (waits for a flush, interruptibly, if there is
 * none) or writes a large batch as sorted files.
 * external != 0: id of the caller's external transaction.  The payload is
 * appended now, as external records, and the commit record of that transaction
 * decides.  The caller must then commit and call wide_batch_finish, or call
 * wide_batch_free.
 */
extern wide_status wide_batch_prepare(wide_batch *b, uint64_t external);
/*
 * Appends the finish record (without an external transaction: the payload too)
 * and applies the cells.  *lsn is the batch's sequence number.  Other processes
 * do not see the batch before wide_publish.  Allocates nothing.
 * Errors: WIDE_POISONED only.
 */
extern wide_status wide_batch_finish(wide_batch *b, uint64_t *lsn);
/*
 * Waits (briefly) until all batches up to lsn are applied.  wide_batch_finish may
 * return while cells of a batch with a lower LSN are still being inserted, and
 * until then wide_snapshot_latest shows neither batch.  Call it before
 * wide_row_unlock.  Errors: WIDE_POISONED only.
 */
extern wide_status wide_wait_applied(wide_db *db, uint64_t lsn);
/*
 * Makes everything up to lsn visible.  The caller has made it durable, or has
 * chosen not to wait for that.  Waits (briefly) for batches with a lower LSN that
 * are being applied, and makes awaited ones durable (wide_batch_mark_awaited).
 * Errors: WIDE_POISONED, or what log->sync returns.
 */
extern wide_status wide_publish(wide_db *db, uint64_t lsn);

/* ------------------------------------------------- prepared transactions */

/*
 * An external transaction that its host prepares leaves its process and may stay for days, also
 * while the host is stopped: its batch is in the log, its row locks are there too, and in the table
 * of row locks they belong to the transaction.
 *
 *     wide_prepared_begin(db, batch, xid)    all that can fail; then the host prepares it
 *     wide_prepared_confirm(db, xid)         it has; or wide_prepared_cancel
 *     wide_prepared_end(db, xid, commit)     any process, when the host has committed it, or rolled
 *                                            it back
 *
 * After wide_recover the transactions that the log has as prepared (WIDE_REPLAY_PREPARED) and not
 * ended are there again.
 */

/*
 * Logs the batch (NULL: none) and the row locks of this process as those of external transaction
 * xid.  The row locks are the transaction's from here on.
 * Requires: no row lock savepoints.  The caller frees the batch.
 * Errors: WIDE_LIMIT: the batch is too large for the memory, or there are too many row locks;
 * WIDE_INVALID: the batch changes the catalog; WIDE_FULL: there are too many prepared transactions;
 * WIDE_NOMEM, WIDE_INTERRUPTED.  After any of them the row locks may be gone: the transaction has
 * to be rolled back.
 */
extern wide_status wide_prepared_begin(wide_db *db, wide_batch *b, uint64_t xid);
/* The host has prepared the transaction, durably. */
extern void wide_prepared_confirm(wide_db *db, uint64_t xid);
/* The host could not prepare it: its row locks are released.  Does nothing if it is not known. */
extern void wide_prepared_cancel(wide_db *db, uint64_t xid);
/* Returns true if there are any, also between begin and confirm.  Costs a load. */
extern bool wide_prepared_any(const wide_db *db);
/* Stores up to max of them, of *at and later (begin with 0), and returns their number; *at is then
 * for the next call. */
extern int wide_prepared_list(wide_db *db, uint32_t *at, uint64_t *xids, int max);
/* Returns: from where on the log is kept for the transaction; 0: it is not known. */
extern uint64_t wide_prepared_start(wide_db *db, uint64_t xid);
/*
 * The host has ended the transaction: publishes its batch, durably, or forgets it, and releases its
 * row locks.  Waits while another process does this, and does nothing if one has done it.
 * Errors: WIDE_INTERRUPTED; WIDE_FULL: no place for files; those of log->read, of a flush and of
 * files: nothing is done, and it may be called again.
 */
extern wide_status wide_prepared_end(wide_db *db, uint64_t xid, bool commit);
/*
 * Logs those anew whose records begin before lsn, so that the log before it is not needed for them.
 * Errors: those of log->read and log->sync; WIDE_INTERRUPTED.
 */
extern wide_status wide_prepared_relog(wide_db *db, uint64_t lsn);

/*
 * For tests: calls fn with the name of each injection point that the process
 * reaches from now on, possibly with locks held.  They are in the commit,
 * snapshot, flush, compaction, manifest and recovery paths
 * (engine/base/injection_point.h).  fn NULL: no function is called.
 */
extern void wide_on_injection_point(void (*fn)(void *arg, const char *name), void *arg);

/* ------------------------------------------------------------- row locks */

/*
 * Locks a row until wide_row_unlock.  Succeeds if this process holds it already.
 * Errors: WIDE_BUSY: *holder is the owner value (wide_set_owner) of the process that
 * holds it; the caller waits for that by means of the host and tries again.
 * WIDE_LIMIT: locks use all memory that the host allows (memory_limit); WIDE_NOMEM: there is no
 * more memory for locks.  With both, the process keeps the locks that it has.
 * The holder may be a prepared transaction: then *holder is its id | WIDE_HOLDER_PREPARED.
 */
#define WIDE_HOLDER_PREPARED (UINT64_C(1) << 62)
extern wide_status wide_row_lock(wide_db *db, wide_table_id table, wide_bytes row,
								 uint64_t *holder);
/*
 * Begins a savepoint of row locks; savepoints are nested.  Locks that are taken after it belong
 * to it; a lock that is held already does not, even if it is taken again.
 * Errors: WIDE_NOMEM.
 */
extern wide_status wide_row_lock_savepoint(wide_db *db);
/* Ends the innermost savepoint and releases its locks. */
extern void wide_row_lock_undo(wide_db *db);
/* Ends the innermost savepoint.  Its locks belong to the savepoint around it, if there is one. */
extern void wide_row_lock_keep(wide_db *db);
/*
 * Releases all row locks of this process and ends all savepoints.  lsn: sequence number of the
 * transaction's batch if it is applied and not published yet, otherwise 0.  The
 * next process that locks such a row reads what other readers do not see and
 * what a crash may undo; wide_row_locks_after tells it so.
 */
extern void wide_row_unlock(wide_db *db, uint64_t lsn);
/*
 * Returns the newest lsn given to wide_row_unlock for the rows that this process
 * has locked since its last wide_row_unlock, also for those that wide_row_lock_undo
 * has released; 0 = none.  That batch may have been published since.  Rows that
 * share a bucket of the lock table share the number.
 */
extern uint64_t wide_row_locks_after(wide_db *db);
/*
 * Gives memory that row locks have used and do not need any more back to the host.  For the end of
 * a transaction, after everything that others wait for.
 */
extern void wide_row_lock_trim(wide_db *db);
/* Returns the number of rows that this process has locked. */
extern size_t wide_row_locks_held(wide_db *db);
/* Returns the number of rows that all processes have locked. */
extern size_t wide_row_locks_total(wide_db *db);
/*
 * Shows other processes (wide_row_locks_each) that this process waits for a row
 * lock.  table 0: it does not wait any more.
 */
extern void wide_row_lock_waits(wide_db *db, wide_table_id table, wide_bytes row);

#define WIDE_LOCK_ROW 64 /* bytes of the row key that are shown for a waiting process */

/* A lock that a process holds or waits for. */
typedef struct wide_lock_info
{
	uint32_t pid;	   /* 0: a prepared transaction holds it */
	uint64_t prepared; /* that; 0: none */
	wide_table_id table;
	uint32_t bucket;
	uint64_t tag; /* of the row in its bucket; equal for the holder and the waiting processes */
	bool granted; /* held; false: waited for */
	/* granted false: */
	uint32_t holder; /* pid of a process that holds it; 0 = none any more */
	wide_bytes row;	 /* the beginning of the row key */
	size_t row_len;	 /* bytes of the whole row key */
} wide_lock_info;

/*
 * Calls fn for some of the locks that are held, and at last for those that are waited for, while
 * they may change.  *part: which; begins with 0, and is set for the next call.  Returns WIDE_END
 * after the last part.  Errors: WIDE_NOMEM, WIDE_POISONED.
 */
extern wide_status wide_row_locks_each(wide_db *db, uint32_t *part,
									   void (*fn)(void *arg, const wide_lock_info *lock),
									   void *arg);

/* -------------------------------------------------------------- snapshot */

typedef struct wide_snapshot wide_snapshot;

/*
 * Describes the point in time of a snapshot of the host, with which a snapshot of
 * the engine shall agree.  Batches whose external transaction the host's snapshot
 * sees as running are excluded although they are published; batches whose
 * transaction it sees as ended are waited for (briefly) until they are published.
 *
 * Batches that were finished after the next end of an external transaction are
 * excluded too, whether or not they belong to one: they may depend on what the
 * host's snapshot does not show.
 */
typedef struct wide_moment
{
	/* Returns true if the host's snapshot sees external transaction xid as running.  May be NULL:
	 * no exclusions. */
	bool (*running)(void *ctx, uint64_t xid);
	void *ctx;
	uint64_t ended; /* what host->ended returned when it was taken; 0 = not known */
	uint64_t next;	/* external transactions from here on had not ended then; 0 = not known */
	/* the host replayed the log when it was taken: for wide_snapshot_take_replayed only */
	bool replayed;
} wide_moment;

/*
 * Takes a snapshot of everything published that agrees with the host's snapshot.
 * Errors: WIDE_CONFLICT when the host's snapshot is too old; WIDE_BUSY when it regards a prepared
 * transaction as ended for which wide_prepared_end is still to be called.
 */
extern wide_status wide_snapshot_take_at(wide_db *db, const wide_moment *at, wide_snapshot **out);
/*
 * The same for a snapshot that a host in recovery has taken (at->replayed).  It sees what the log
 * has up to that moment: a batch whose external transaction has committed is seen although its
 * FINISH record has not come yet, and may never come.  Its automatic timestamps are those that the
 * end of the recovery would give it now.
 * Requires: wide_follow_shown is not below what the host had replayed when it took its snapshot.
 * Errors: as above; failures to read the log; WIDE_BUSY: call again.
 */
extern wide_status wide_snapshot_take_replayed(wide_db *db, const wide_moment *at,
											   wide_snapshot **out);
/* Returns true if the snapshot sees a batch without its FINISH record.  It cannot be exported. */
extern bool wide_snapshot_is_private(const wide_snapshot *s);
/* Takes one of the newest applied state, durable or not: to change a row under its lock. */
extern wide_status wide_snapshot_latest(wide_db *db, wide_snapshot **out);
/*
 * Moves a snapshot of wide_snapshot_latest to the newest state; costs a few loads
 * if nothing was committed since.  A scan that is open on it has to be restarted
 * (wide_scan_restart) before it is read again; this is the cheap way to read row
 * after row in the newest state.  Errors: WIDE_INVALID for other snapshots.
 */
extern wide_status wide_snapshot_renew(wide_snapshot *s);
extern void wide_snapshot_release(wide_snapshot *s);
extern uint64_t wide_snapshot_lsn(const wide_snapshot *s);
/*
 * Returns true if the snapshot still sees the newest applied state.  For a row
 * that the caller has locked this means that it has not changed since the
 * snapshot was taken, because a batch is applied before its locks are released.
 */
extern bool wide_snapshot_is_newest(const wide_snapshot *s);
/*
 * Encodes the snapshot as bytes, for another process that is attached to the same
 * segment.  Returns their number; they are written only if size is enough (call
 * with size 0 to ask).  They are useless once this process has released the
 * snapshot.
 */
extern size_t wide_snapshot_export(const wide_snapshot *s, void *to, size_t size);
/*
 * Makes a snapshot that sees exactly what the exported one sees, and protects the
 * versions that it needs: the exported one may be released when this has returned.
 * Errors: WIDE_INVALID when the bytes are not an export, WIDE_CONFLICT when no
 * process holds such an old snapshot any more.
 */
extern wide_status wide_snapshot_import(wide_db *db, const void *from, size_t size,
										wide_snapshot **out);
/*
 * Offers the snapshot to other processes under a key, until it is released.  A
 * process offers one at a time; a later one replaces it.
 * Errors: WIDE_LIMIT when it has too many exclusions.
 */
extern wide_status wide_snapshot_share(wide_snapshot *s, uint64_t key);
/* Imports the snapshot that a process offers under this key; WIDE_NOTFOUND if none does. */
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
	WIDE_WANT_EXISTS   /* no cells, only whether the row has one here */
} wide_want;

typedef struct wide_scan_family
{
	wide_family_id id;
	wide_want want;
	const wide_bytes *quals;
	int nquals;
	int max_versions; /* of a column; 0 = 1; capped by the family's versions */
	bool any_exists;  /* cells that are not wanted make the row exist too */
} wide_scan_family;

/*
 * PREDICATES
 *
 * Conditions on single cells that a row has to meet.  A predicate tests the newest
 * version of a column that the scan would return (by snapshot, own batch, TTL, time
 * range, show_min and show_max; row_limit has no influence).  Predicates with the
 * same clause number are ORed, clauses are ANDed: a = 1 AND (b = 2 OR c IS NULL)
 * is three predicates with clauses 0, 1, 1.
 *
 *  - A missing cell is null: only IS_NULL is true of it.
 *  - Numbers have the width of the predicate's values.  The result for a cell of
 *    another width is unknown: unless other predicates decide, the row is returned
 *    with `unsure` set, and the caller evaluates its whole condition.  A row
 *    without `unsure` meets all predicates.
 *  - The column of a predicate need not be wanted; wanted or not, its cell makes
 *    the row exist.  A family that is listed for predicates only has WANT_COLUMNS
 *    and no quals.
 *  - Families with predicates are read first; the other families are not read for
 *    rows that the predicates reject.  If a clause can only be true of an existing
 *    cell (it has no IS_NULL), the scan looks for rows in the families of that
 *    clause alone (of several such clauses, one with the fewest families, then the
 *    first).
 *  - If a clause requires that one column has a timestamp from x on (KIND_TIME: =,
 *    >, >=, IN, or an OR of these), an entry of the spec for this column alone
 *    (WANT_COLUMNS, one version) skips memtables and files that are wholly older,
 *    and the scan looks for rows in it.  The same family may be listed again for
 *    other cells of these rows.
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
	WIDE_OP_IS_NULL, /* without values, as the next one */
	WIDE_OP_NOT_NULL
} wide_op;

typedef enum wide_kind
{
	WIDE_KIND_BYTES,  /* unsigned bytes; a prefix sorts first */
	WIDE_KIND_SIGNED, /* big-endian two's complement of 1, 2, 4 or 8 bytes */
	WIDE_KIND_FLOAT,  /* big-endian IEEE 754 of 4 or 8 bytes; -0 = 0; NaN = NaN, above all others */
	WIDE_KIND_TIME	  /* the cell's timestamp instead of its value, as SIGNED of 8 bytes */
} wide_kind;

typedef struct wide_predicate
{
	int family; /* index into spec.families */
	int clause;
	wide_op op;
	wide_kind kind; /* how values compare */
	wide_bytes qualifier;
	/* one value; for IN and NOT_IN any number in any order; numbers all of one width */
	const wide_bytes *values;
	int nvalues;
	uint32_t
		width; /* BYTES: the result for cells of another length is unknown too; 0 = any length */
} wide_predicate;

/*
 * ROW FILTER
 *
 * A callback that is asked about the key of each row before any cell of the row
 * is read, in the order of the scan.  An accepted row may still turn out not to
 * exist or not to meet the predicates, and after an interruption the filter is
 * asked about it again.  So its answer may depend on rows that wide_scan_next has
 * returned, but not on rows that it was asked about.  It must not call the engine.
 */
typedef enum wide_row_verdict
{
	WIDE_ROW_ACCEPT,
	WIDE_ROW_SKIP, /* skip this row */
	WIDE_ROW_SEEK, /* forward: skip rows before *seek; reverse: skip rows at or after it */
	WIDE_ROW_END   /* end of the scan, in all ranges */
} wide_row_verdict;

/*
 * *seek need not be an existing key or lie in a range; its bytes must stay valid
 * until the next call.  A *seek that does not lie ahead means SKIP.
 */
typedef wide_row_verdict (*wide_row_filter)(void *arg, wide_bytes key, wide_bytes *seek);

typedef struct wide_scan_spec
{
	const wide_scan_family *families;
	int nfamilies;
	const wide_predicate *predicates;
	int npredicates;
	const wide_range *ranges; /* sorted, disjoint; none: no rows */
	int nranges;
	bool reverse; /* rows in descending order; cells of a row stay ascending */
	/* only cells with ts_min <= ts < ts_max; 0, 0 = no limit; the family's versions are counted
	 * before this is applied */
	int64_t ts_min;
	int64_t ts_max;
	/*
	 * Of the cells that are visible then, return only those with show_min <= ts
	 * < show_max; 0, 0 = no limit; INT64_MAX = open.  A plain filter: it changes
	 * neither versions nor their numbers nor the effect of deletes.
	 */
	int64_t show_min;
	int64_t show_max;
	int64_t now;		/* time for TTLs; 0 = the snapshot's time */
	wide_batch *own;	/* batch of the caller whose changes are merged in; may be NULL */
	uint64_t own_mark;	/* only operations of own before this mark */
	uint32_t row_cells; /* most cells in one wide_row; 0 = 4096 */
	uint32_t row_limit; /* most cells of a row, the first ones in order; 0 = all */
	/* families with a merge operator: a cell for each of its operands (those with one timestamp
	 * are one) instead of what they come to: what another store has to be given */
	bool operands;
	uint64_t row_hint; /* the caller probably reads no more rows; 0 = not known */
	/* the caller takes values by column where the scan has them so: rows may have a span instead of
	 * cells; only with WANT_COLUMNS of one version and WANT_EXISTS, and without row_limit */
	bool by_column;
	wide_row_filter row_filter; /* may be NULL */
	bool filter_follows; /* its answers depend on returned rows: the scan reads no rows ahead */
	void *filter_arg;
} wide_scan_spec;

typedef struct wide_cell
{
	int family;		  /* index into spec.families */
	int column;		  /* index into its quals for WANT_COLUMNS, else -1 */
	int version;	  /* 0 = newest of its column */
	bool provisional; /* a cell of the own batch with an automatic timestamp */
	int64_t ts;		  /* of an uncommitted automatic cell: provisional */
	int64_t floor_ts; /* for a put over this cell: its ts; if it is provisional, its own floor */
	int64_t ttl_us;	  /* 0 = none */
	uint64_t seq;	  /* 0 for a cell of the own batch */
	wide_bytes qualifier; /* empty for WANT_COLUMNS */
	wide_bytes value;
} wide_cell;

#define WIDE_SPAN_ROWS 64

/* The values that up to WIDE_SPAN_ROWS rows, read ahead together, have in one column. */
typedef struct wide_span_column
{
	uint64_t there; /* bit i: row i of the span has a value; the others are not set */
	wide_bytes values[WIDE_SPAN_ROWS];
} wide_span_column;

typedef struct wide_row
{
	wide_bytes key;
	/* sorted by family (in the order of the spec, but those with predicates first, and of these one
	 * limited by time first), qualifier, and newest first */
	const wide_cell *cells;
	int ncells;
	bool more;	 /* the next call returns the next part of this row */
	bool unsure; /* the result of a predicate is unknown: the caller evaluates the condition */
	/*
	 * With spec.by_column: the values are here and not in cells, those of quals[i] of a family in
	 * column (number of quals of the families before it in the spec) + i, for all rows of the span;
	 * NULL: they are in cells.  All of it is valid until the call behind the span's last row.
	 */
	const wide_span_column *span;
	int span_row;  /* number of this row in it */
	bool span_end; /* it is the last one */
} wide_row;

/* Counters of one scan, for EXPLAIN ANALYZE. */
typedef struct wide_scan_stats
{
	uint64_t files_read, files_skipped_key, files_skipped_time, files_skipped_bloom;
	uint64_t blocks_read, blocks_cached;
	uint64_t cells_scanned, cells_returned, rows_returned, tombstones, seeks;
	uint64_t rows_rejected; /* by predicates; may include deleted rows */
	uint64_t read_us;		/* time that blocks_read took, if wide_time_reads is on */
} wide_scan_stats;

/* Whether this process measures how long reads of blocks take.  Off at first. */
extern void wide_time_reads(wide_db *db, bool on);

/* The beginning of a scan: the rows that it has read ahead, for wide_scan_ready only.  The engine's
 * own members follow. */
typedef struct wide_scan
{
	const wide_row *ahead;
	int nahead;
	int given; /* how many of these rows were returned */
} wide_scan;

/* Opens a scan.  The arrays of spec are copied; snapshot, batch and db must outlive the scan. */
extern wide_status wide_scan_open(wide_db *db, const wide_snapshot *snap,
								  const wide_scan_spec *spec, wide_scan **out);
/* Returns WIDE_OK and the next row, or WIDE_END.  A row may have no cells (WANT_EXISTS). */
extern wide_status wide_scan_next(wide_scan *s, wide_row *row);

/* If the next row was read ahead, returns true and the row; otherwise false, and does nothing. */
static inline bool
wide_scan_ready(wide_scan *s, wide_row *row)
{
	if (s->given >= s->nahead)
		return false;
	*row = s->ahead[s->given++];
	return true;
}

/* Sets *rows to the rows that were read ahead and not returned yet, and returns their number.  The
 * caller may take some of them: it adds how many to s->given. */
static inline int
wide_scan_ahead(const wide_scan *s, const wide_row **rows)
{
	*rows = s->ahead + s->given;
	return s->nahead - s->given;
}

/*
 * Starts the scan again with other ranges; keeps cursors and pins if possible.  If
 * the snapshot was renewed, the scan reads its new state, with the present options
 * of the families and the present time (unless spec.now was given).
 */
extern wide_status wide_scan_restart(wide_scan *s, const wide_range *ranges, int nranges,
									 uint64_t own_mark);
/*
 * Releases memtables and files until the next call, which continues at the same
 * position; the snapshot stays.  For scans that may rest for long, such as cursors:
 * writers wait for memtables that a scan holds.  Memory that the scan has returned
 * becomes invalid.  Does nothing in the middle of a row.
 */
extern void wide_scan_park(wide_scan *s);
/*
 * Releases everything that the scan holds except its memory, its snapshot
 * included, so that it may be used again for the same families with another
 * snapshot (wide_scan_reuse), which is cheaper than opening a scan.  Until then
 * only wide_scan_reuse and wide_scan_close may be called.
 * Returns false if the scan cannot be kept (it has an own batch, predicates, a row
 * filter, a given time or much memory) and must be closed.
 */
extern bool wide_scan_set_aside(wide_scan *s);
/* Uses a scan that was set aside again; row_hint: as in the spec.  Call wide_scan_restart before
 * reading rows. */
extern wide_status wide_scan_reuse(wide_scan *s, const wide_snapshot *snap, uint64_t row_hint);
extern void wide_scan_statistics(const wide_scan *s, wide_scan_stats *out);
extern void wide_scan_close(wide_scan *s);

/* Raw history of a row, for debugging: all versions and tombstones, newest first. */
typedef struct wide_raw_cell
{
	wide_family_id family;
	wide_bytes qualifier; /* empty for family deletes */
	int64_t ts;
	uint64_t seq;
	int type; /* 0 = put, otherwise 1 + wide_delete */
	wide_bytes value;
} wide_raw_cell;

typedef wide_status (*wide_raw_fn)(void *arg, const wide_raw_cell *cell);
extern wide_status wide_raw_row(wide_db *db, wide_family_id family, wide_bytes row, wide_raw_fn fn,
								void *arg);

/*
 * Sets *untouched to whether the store has nothing of the row in these families: no value and no
 * delete of any version, also of transactions that have committed since a snapshot was taken.  What
 * a batch has that is not committed does not count.
 */
extern wide_status wide_row_untouched(wide_db *db, const wide_family_id *families, int n,
									  wide_bytes row, bool *untouched);

/* Estimates from metadata of files and memtables; no data block is read. */
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
 * Calls fn with about n - 1 keys that cut the family into n parts of equal size; a key is valid
 * during the call.
 * rough true: samples memtables (microseconds) instead of walking through them
 * (milliseconds).
 */
extern wide_status wide_split_keys(wide_db *db, wide_family_id family, int n, bool rough,
								   wide_status (*fn)(void *arg, wide_bytes key), void *arg);

/* ------------------------------------------------------------ timestamps */

/* Returns the newest timestamp that was assigned.  It is above the clock if that was ahead. */
extern int64_t wide_timestamp_newest(wide_db *db);
/*
 * Lowers that to ts: later commits get timestamps above ts, or the time.  Flushes first.
 * Returns: WIDE_BUSY if transactions are committing: try again; WIDE_CONFLICT if there are cells,
 * or deletes, with later timestamps, which would hide later writes: *family has some.
 */
extern wide_status wide_timestamp_lower(wide_db *db, int64_t ts, wide_family_id *family);

/* ------------------------------------------------------------ background */

/*
 * Does the most urgent unit of background work (flush, compaction, deletion of
 * files); WIDE_END if there is none now.  Checks host->interrupted between cells.
 * Work that only saves space waits until no file was made for three seconds.
 */
extern wide_status wide_work(wide_db *db);
/*
 * After wide_work has returned WIDE_END.  Returns the microseconds in which the passing of time
 * alone may make work: files expire, the store comes to rest.  0: something waits that no process
 * announces (a file that a reader or a base backup still holds).  INT64_MAX: nothing.
 * Work that others make is announced by host->wake_worker, except for what a snapshot held: when
 * it is released, and at any change of a family's options, the host calls wide_work again.
 */
extern int64_t wide_work_due(wide_db *db);
/*
 * Flushes everything committed so far, then does all background work there is,
 * without waiting for those three seconds.  Files that are not needed any more are
 * left to a worker if there is one.
 */
extern wide_status wide_tidy(wide_db *db);
/* Writes everything committed so far to files, in this process. */
extern wide_status wide_flush(wide_db *db);
/*
 * Flushes, then merges all files of the family into one sorted run at the bottom
 * level.  Changes of its options that are older than every live snapshot are then
 * forgotten (wide_batch_alter_family).
 */
extern wide_status wide_compact(wide_db *db, wide_family_id family);

/* ---------------------------------------------------------- verification */

typedef wide_status (*wide_problem_fn)(void *arg, const char *object, const char *problem);
/*
 * Reads every byte of every live file and checks checksums, order, bounds, filters,
 * and the list of files against the directory.  Calls fn for each problem.  family
 * 0: all families.
 */
extern wide_status wide_verify(wide_db *db, wide_family_id family, wide_problem_fn fn, void *arg);

/* What wide_check needs from its caller.  Functions may be NULL, but for problem. */
typedef struct wide_check_host
{
	void *ctx;
	wide_problem_fn problem;
	void (*note)(void *ctx, const char *text);	  /* what else was noticed */
	bool (*interrupted)(void *ctx);				  /* true ends the check with WIDE_INTERRUPTED */
	bool (*log_reaches)(void *ctx, uint64_t lsn); /* as wide_log.reaches; NULL: false */
	const char *files_directory;				  /* as wide_host.files_directory */
} wide_check_host;

/*
 * Verifies a store that no process uses, in private memory and without its log.  Changes nothing
 * in the directory.  Calls host->problem for each problem; if that fails this ends the check and
 * is returned.
 * Errors: WIDE_NOTFOUND if there is no store; WIDE_CORRUPT if no state of it can be read.
 */
extern wide_status wide_check(const char *dir, const wide_check_host *host);

/* What salvage gives up. */
typedef struct wide_lost
{
	wide_family_id family;
	uint64_t file;		/* number of the sorted file */
	uint64_t container; /* number of the file of the directory that has it */
	bool whole;			/* the sum of the file; otherwise one range of it */
	uint64_t rows;		/* given up, according to the file's index or the manifest */
	uint64_t cells;		/* given up; only with whole */
	uint64_t kept;		/* cells; only with whole */
	wide_bytes lo, hi;	/* not with whole: beginnings of the first and last row that may be hit */
	const char *why;
} wide_lost;

/*
 * Makes readable what can be read of the family's damaged files.  What cannot is given up: later
 * reads of its range find what other files and memtables have there, which may be versions that
 * were overwritten or deleted.  Calls fn for each range that is given up, and once for each damaged
 * file behind its ranges; if fn fails that ends the salvage and is returned.  look_only: reports
 * the same, and changes nothing but that memtables are flushed.
 * Errors: WIDE_NOTFOUND, WIDE_INTERRUPTED; files before the failure may be salvaged.
 */
typedef wide_status (*wide_lost_fn)(void *arg, const wide_lost *lost);
extern wide_status wide_salvage(wide_db *db, wide_family_id family, bool look_only, wide_lost_fn fn,
								void *arg);

/* ------------------------------------------------------------ statistics */

typedef struct wide_stats
{
	/* state */
	uint64_t visible_lsn, flushed_lsn, restart_lsn;
	uint64_t memtable_bytes, memtable_limit, memtables_waiting;
	uint64_t cache_bytes, cache_limit;
	uint64_t files, file_bytes, segment_bytes;
	/* slots for files; files of the directory; files that are removed when nothing reads them */
	uint64_t max_files, containers, dead_files;
	uint32_t max_tables; /* may be less than configured: see wide_config_fit */
	uint32_t processes, tables, families;
	uint32_t snapshots, pins; /* processes with a snapshot; processes that pin files or memtables */
	uint64_t oldest_snapshot; /* LSN; 0 = none */
	/* processes, 0 = none: with the oldest snapshot; with the oldest pin of memtables, which keeps
	 * flushed ones from being used again */
	int oldest_snapshot_pid, memtable_holder_pid;
	int64_t newest_ts; /* newest timestamp that was assigned */
	/* reserved by batches that are prepared or about to be */
	uint64_t reserved_bytes, reserved_files;
	/* counters since counters_reset, in microseconds since 1970 UTC */
	int64_t counters_reset;
	uint64_t commits, cells_written, log_bytes;
	uint64_t gets, scans, rows_read, cells_read;
	uint64_t cache_hits, cache_misses, bloom_checks, bloom_skips;
	uint64_t flushes, flush_bytes, compactions, compact_read_bytes, compact_write_bytes,
		files_deleted;
	uint64_t stalls, stall_us, row_lock_waits;
	uint32_t row_lock_waiters;		/* processes that wait for a row now */
	uint64_t row_lock_bytes;		/* shared memory outside of the segment that row locks have */
	uint64_t spills, spilled_bytes; /* of batches that were larger than their memory */
} wide_stats;

extern void wide_statistics(wide_db *db, wide_stats *out);

/*
 * Counters outlive a segment by a file of the host: what wide_counters_save has stored, in the
 * order of a list that later releases only append to.
 */
#define WIDE_COUNTERS_MAX 64
/* Stores the counters and returns their number; *since: see counters_reset. */
extern int wide_counters_save(wide_db *db, uint64_t *values, int64_t *since);
/* Adds n saved counters to those of a new segment; further ones begin at 0. */
extern void wide_counters_load(wide_db *db, const uint64_t *values, int n, int64_t since);
/* All counters begin at 0 from this time on. */
extern void wide_counters_reset(wide_db *db, int64_t now);

typedef struct wide_file_info
{
	uint64_t number;
	uint64_t container,
		offset; /* the file of the directory that has it, and where it begins there */
	wide_family_id family;
	int level;
	uint64_t bytes, raw_bytes, cells, rows, tombstones;
	int64_t ts_min, ts_max;
	uint64_t seq_min, seq_max;
	wide_bytes min_row, max_row; /* bounds, possibly shortened; valid during the call */
} wide_file_info;

/* Calls fn for each live file of the family; 0: of all families. */
extern wide_status wide_file_each(wide_db *db, wide_family_id family,
								  wide_status (*fn)(void *arg, const wide_file_info *f), void *arg);

typedef struct wide_job_info
{
	wide_family_id family;
	int kind;  /* 0 = flush, 1 = compaction */
	int state; /* 0 = running, 1 = done, 2 = failed */
	int from_level, to_level;
	uint64_t total_bytes, done_bytes, out_bytes;
	int64_t started, ended; /* microseconds since 1970-01-01 UTC */
	int pid;				/* process that does it, or has done it */
} wide_job_info;

/* Stores up to max running and recent jobs, newest first, and returns their number. */
extern int wide_jobs(wide_db *db, wide_job_info *out, int max);

/*
 * PROGRESS of work that one process does, beside flushes and compactions, which wide_jobs lists.
 * A process does one such work at a time: a begin ends the work before.
 */
typedef enum wide_progress_kind
{
	WIDE_PROGRESS_NONE,
	WIDE_PROGRESS_VERIFY,  /* object: the family, 0 = all; in bytes of files */
	WIDE_PROGRESS_SALVAGE, /* as the one before */
	WIDE_PROGRESS_COPY,	   /* object: the table that is copied; in cells, total from estimates */
	WIDE_PROGRESS_INDEX	   /* object: the index that is built; in rows, total from estimates */
} wide_progress_kind;

typedef struct wide_progress
{
	int pid;
	wide_progress_kind kind;
	uint32_t object;
	uint64_t total, done;
	int64_t started; /* microseconds since 1970-01-01 UTC */
} wide_progress;

extern void wide_progress_begin(wide_db *db, wide_progress_kind kind, uint32_t object,
								uint64_t total);
/* So much more is done.  Costs a few instructions. */
extern void wide_progress_add(wide_db *db, uint64_t done);
/* Does nothing if no work was begun. */
extern void wide_progress_end(wide_db *db);
/* Stores up to max works of all processes and returns their number. */
extern int wide_progress_list(wide_db *db, wide_progress *out, int max);

/* Totals of a family's live files and memtables.  memtable_bytes is its share, by cells, of the
 * memory in use. */
typedef struct wide_family_info
{
	uint64_t memtable_bytes;
	uint64_t files, bytes, raw_bytes, cells, rows, tombstones, memtable_cells;
	uint32_t files_per_level[8];
} wide_family_info;

extern wide_status wide_family_statistics(wide_db *db, wide_family_id family,
										  wide_family_info *out);

#endif /* WIDE_H */

/*
 * layout.h - the structs in the shared segment.
 *
 * The segment is one block of memory that may be mapped at a different address
 * in each process, so links are byte offsets from its base.  Sizes are fixed
 * when the segment is formatted (engine/store/format.c).
 *
 * Locks, in the order in which they may be taken; each is a robust
 * process-shared mutex:
 *
 *     LOCK_MANIFEST  writers of the manifest; held over I/O
 *     LOCK_COMMIT    the end of the log, commit_state, memtable states
 *     LOCK_SET       set_state, file lists and slots, jobs
 *     LOCK_CATALOG   with LOCK_SET: changes of tables, families and bindings;
 *                    either of the two suffices to read them
 *     LOCK_CACHE     changes of the block cache
 *
 * Code under a lock does no I/O, allocates nothing, calls back nothing and does
 * not wait.  There are two exceptions: LOCK_MANIFEST, and LOCK_COMMIT over
 * log->append, which makes the order of LSNs the order of application.
 *
 * Words of the engine, used below:
 *
 *     seq        sequence number of a batch: the LSN at which its FINISH record
 *                ends.  All cells of the batch have it.
 *     version    of the file set: rises with every change of file lists or
 *                memtables
 *     external   transaction of the host with a commit record of its own (in
 *                PostgreSQL: one with an xid)
 *     decided    an external transaction is decided when the host's commit
 *                record is written
 *     ended      the host counts external transactions that have ended, by
 *                commit or abort
 *     awaited    a batch whose transaction waits until it is durable before it
 *                publishes it; other processes do not show it earlier either
 *     floor      the options of a family that were in force before a change
 */
#ifndef WIDE_LAYOUT_H
#define WIDE_LAYOUT_H

#include <pthread.h>
#include <stdatomic.h>
#include "engine/wide.h"
#include "engine/base/os.h"

enum segment_lock
{
	LOCK_MANIFEST,
	LOCK_COMMIT,
	LOCK_SET,
	LOCK_CATALOG,
	LOCK_CACHE,
	LOCK_COUNT
};

/* ------------------------------------------------------------- processes */

/*
 * One attached process.  Only the process itself writes to its slot, except that
 * poisoning wakes waiters.
 */
typedef struct process_slot
{
	_Atomic uint32_t pid;	  /* 0 = the slot is free */
	_Atomic uint32_t in_crit; /* depth of critical sections: segment_enter_critical */
	_Atomic uint64_t owner;	  /* value of wide_set_owner */

	/* pins: versions of the file set in use here (engine/set/pin.c); 0 = none */
	_Atomic uint64_t pin;		   /* oldest version whose files are in use */
	_Atomic uint64_t pin_last;	   /* newest of these: later files are not needed */
	_Atomic uint64_t mem_pin;	   /* oldest version whose memtables are in use */
	_Atomic uint64_t mem_pin_last; /* newest of these: later memtables are not needed */

	/* bounds of the snapshots here (engine/set/snapshot.c) */
	_Atomic uint64_t snapshot; /* versions visible at this LSN and later are needed; 0 = none */
	_Atomic uint64_t snapshot_last; /* none is newer; UINT64_MAX while one is taken */
	_Atomic int64_t snapshot_now;	/* not later than the time of any of the snapshots */

	/* a batch of an external transaction that is prepared and not finished */
	_Atomic uint64_t external;	   /* its transaction id; 0 = none */
	_Atomic uint64_t prepare_lsn;  /* start of its first log record, from where the log is needed;
									* 0 = none */
	_Atomic uint32_t prepare_done; /* futex: rises when external returns to 0 */

	/* a snapshot that is offered to other processes (wide_snapshot_share) */
	_Atomic uint32_t share_serial; /* odd while the next three members change */
	uint32_t share_len;			   /* bytes of share; 0 = none */
	uint64_t share_key;
	uint8_t share[512]; /* the exported snapshot */

	/* the row lock that the process waits for (wide_row_lock_waits) */
	_Atomic uint32_t wait_serial; /* odd while the next four members change */
	uint32_t wait_table;		  /* 0 = the process does not wait */
	uint64_t wait_hash;
	uint32_t wait_len;				 /* bytes of the row key */
	uint8_t wait_row[WIDE_LOCK_ROW]; /* the beginning of the row key */
	/* 1: row locks with this slot as their owner are void, see row_lock.c.  Belongs to the slot,
	 * and outlives its process. */
	_Atomic uint32_t locks_void;

	/* long work of the process, for users (engine/shared/progress.c) */
	_Atomic uint32_t progress_kind; /* wide_progress_kind; written last, and cleared first */
	_Atomic uint32_t progress_object;
	_Atomic uint64_t progress_total, progress_done;
	_Atomic int64_t progress_started;

	_Alignas(64) _Atomic uint64_t counters[32]; /* by enum counter_id; readers add them up */
} process_slot;

/* ------------------------------------------------------------- memtables */

enum memtable_state
{
	MEMTABLE_FREE,
	MEMTABLE_ACTIVE,
	MEMTABLE_IMMUTABLE,
	MEMTABLE_FLUSHED
};

typedef struct memtable
{
	_Atomic uint32_t state; /* enum memtable_state; changes under LOCK_COMMIT */
	uint64_t number;		/* rises in the order of creation */

	/* memory */
	uint64_t region;		   /* offset in the segment */
	uint64_t capacity;		   /* bytes */
	_Atomic uint64_t used;	   /* bytes allocated; changes under LOCK_COMMIT */
	_Atomic uint32_t applying; /* number of batches that are being inserted */

	/* the log and the versions of the file set that it covers */
	uint64_t start_lsn;		/* end of the log when it became active: batches with LSN <= this are in
							 * older memtables or files */
	uint64_t end_lsn;		/* end of the log when it became immutable */
	uint64_t made_version;	/* pins of older versions do not have it */
	uint64_t freed_version; /* MEMTABLE_FLUSHED: pins of this and later versions do not have it;
							 * see pin_has_memtable */
	_Atomic uint64_t files_version; /* its files belong to this and later versions; 0: none yet */

	/* the skip list (engine/set/memtable.c) */
	_Atomic uint32_t head; /* first node, in units of 8 bytes from region; 0 = empty */
	_Atomic uint32_t height;

	/* facts about its cells */
	_Atomic uint64_t cells, tombstones;
	_Atomic int64_t ts_min, ts_max;
	/* newest timestamp that is above the commit timestamp of its batch; deletes without a
	 * timestamp do not count */
	_Atomic int64_t ts_ahead;
	_Atomic uint64_t seq_min, seq_max;
} memtable;

/* --------------------------------------------------------------- commits */

#define COMMIT_RING	  4096
#define EXTERNAL_RING 8192
#define ENDED_RING	  4096

/* A batch whose record is appended and whose cells may not all be in the memtable yet. */
typedef struct commit_slot
{
	uint64_t seq;
	_Atomic uint32_t applied; /* 1 = all cells are inserted */
} commit_slot;

/* A finished batch of an external transaction. */
typedef struct external_commit
{
	uint64_t seq;
	uint64_t xid;
	uint64_t decided; /* LSN of the host's commit record; 0 = not known */
	uint64_t rows;	  /* one bit for each row that the batch wrote, chosen by the row's hash */
} external_commit;

/*
 * Batches from seq on were finished when `ended` external transactions had
 * ended.  `latest` is not below the newest id of these transactions.
 */
typedef struct ended_mark
{
	uint64_t seq, ended, latest;
} ended_mark;

/* Members without _Atomic are read and written under LOCK_COMMIT. */
typedef struct commit_state
{
	/* the stages of a batch: logged, applied, visible */
	_Atomic uint64_t visible_seq; /* published: new snapshots see up to here */
	_Atomic uint64_t awaited_seq; /* newest awaited batch */
	_Atomic uint64_t applied_seq; /* all batches <= this are in memtables */
	uint64_t logged_seq;		  /* newest sequence number assigned */
	int64_t last_ts;			  /* newest timestamp assigned by the engine */

	/* memtables */
	uint64_t reserved; /* bytes of memtables promised to prepared batches */
	uint32_t active;   /* index of the active memtable */
	uint64_t memtable_number;

	/* batches between logged and applied, and processes that wait for them */
	uint64_t ring_head, ring_tail;	  /* numbers of entries ever added to ring, removed from it */
	_Atomic uint32_t applied_word;	  /* futex: rises with applied_seq */
	_Atomic uint32_t applied_waiters; /* processes that may wait on applied_word; with 0 no wake-up
									   * is needed */

	/* writers that wait for memtable space, or are slowed down */
	_Atomic uint32_t space_word; /* futex: rises when memtable space appears */
	_Atomic uint64_t flush_us;	 /* microseconds per MB that the last flush of a memtable took */
	int64_t pace;				 /* while writers are slowed down to the speed of flushes: when the
								  * next one may go on, in microseconds of clock_monotonic_us */
	_Atomic int64_t held_since;	 /* when a writer found that readers hold all memtables; 0: there
								  * is a new one since.  Written under LOCK_COMMIT */

	/* entries that left external[] */
	uint64_t external_head;				   /* number of entries ever added to external */
	_Atomic uint64_t external_evicted;	   /* largest xid that was overwritten; 0 = none */
	_Atomic uint64_t external_evicted_seq; /* newest seq that was overwritten */

	_Atomic uint64_t snapshot_moves; /* rises when a process takes over a snapshot of another one:
									  * see engine/set/horizon.c */

	commit_slot ring[COMMIT_RING];
	external_commit external[EXTERNAL_RING];
	uint64_t ended_head;		  /* number of entries ever added to ended */
	ended_mark ended[ENDED_RING]; /* each member rises from entry to entry */
} commit_state;

/* ---------------------------------------------------------------- follow */

#define FOLLOW_MARKS   8192
#define FOLLOW_PENDING 1024
#define FOLLOW_BYTES   ((size_t) 256 * 1024)

/* An external transaction has committed: the end of its commit record. */
typedef struct follow_mark
{
	uint64_t lsn, xid;
} follow_mark;

/* A batch whose external transaction has committed, and whose FINISH record has not come yet. */
typedef struct follow_pending
{
	uint64_t xid;
	uint64_t committed; /* end of the commit record */
	uint64_t id;		/* LSN of the batch's first record */
	uint64_t start;		/* where that begins */
	uint64_t end;		/* where its records end, at most */
	int64_t commit_ts;	/* for automatic timestamps, until the FINISH record has the real one */
	uint64_t len;		/* bytes of the payload */
	uint64_t at;		/* of the payload in bytes; UINT64_MAX: it is only in the log */
} follow_pending;

/*
 * While one process replays a log that does not end (a standby), and others read.  Members without
 * _Atomic are read and written under LOCK_COMMIT.  See engine/commit/follow.c.
 */
typedef struct follow_state
{
	_Atomic uint64_t position; /* where the record begins that is replayed now: the log's end for
								* those who must not claim more */
	_Atomic uint64_t parked;  /* start of the oldest record that was read and waits for others, from
							   * where the log is needed; 0: none */
	_Atomic uint64_t shown;	  /* readers see the log up to here */
	_Atomic uint32_t word;	  /* futex: rises with shown, and when the log has ended */
	_Atomic uint32_t waiters; /* processes that wait on it, or are about to */
	_Atomic bool awaited;	  /* one has, since the process that follows the log has looked */

	uint64_t marks_head; /* number of entries ever added to marks */
	follow_mark marks[FOLLOW_MARKS];

	uint32_t npending; /* as of shown, in the order of commits */
	follow_pending pending[FOLLOW_PENDING];
	uint64_t nbytes; /* in use */
	uint8_t bytes[FOLLOW_BYTES];
} follow_state;

/* -------------------------------------------------------------- prepared */

#define PREPARED_MAX 1024

/*
 * An external transaction that the host has prepared, or is about to: no process has its batch and
 * its row locks.  Members without _Atomic are read and written under LOCK_COMMIT, or by the process
 * that has the claim.  See engine/commit/prepared.c.
 */
typedef struct prepared_entry
{
	_Atomic uint64_t xid; /* 0 = free: row locks of this owner are void */
	uint32_t claimed;	  /* slot index + 1 of the process that logs or ends it; 0 = none */
	bool confirmed;		  /* the host has prepared it */
	bool leftover;		  /* free, but row locks of the last owner may be left */
	uint64_t start;		  /* the log is needed from here */
	uint64_t from, end;	  /* its newest records: where they begin and end */
	uint64_t id;		  /* LSN of the first DATA record among them; 0: it has only locked rows */
	uint64_t bytes;		  /* of the payload */
	uint32_t nchunks;	  /* DATA records */
	uint32_t nlocks;	  /* row locks */
} prepared_entry;

typedef struct prepared_state
{
	_Atomic uint32_t used; /* entries that are not free */
	_Atomic uint32_t high; /* entries from here on were never taken */
	_Atomic uint32_t word; /* futex: rises when a claim ends */
	prepared_entry entry[PREPARED_MAX];
} prepared_state;

/* ----------------------------------------------------------------- files */

#define FILE_BOUND 88 /* bytes of a row key bound kept in memory */
#define SET_LEVELS 8  /* levels 0 .. 7; files of level 0 may overlap */

enum file_flags
{
	FILE_MIN_CUT = 1,	  /* min_row is a shortened (lower) bound */
	FILE_MAX_CUT = 2,	  /* max_row is a prefix: the true bound starts with it */
	FILE_TS_ORDERED = 16, /* in every column timestamps rise with sequence numbers */
	FILE_UNSYNCED = 32,	  /* its bytes are in the log; it is synced before it is listed */
	FILE_DAMAGED = 64	  /* a part or all of it cannot be read: see engine/set/damage.h */
};

/*
 * What is known of a sorted file without opening it.  The segment and private
 * lists hold this struct; the manifest holds it field by field.
 */
typedef struct file_meta
{
	uint64_t number;	/* names the sorted file, for ever */
	uint64_t container; /* the file of the directory that has it, and where; see file_container */
	uint64_t offset;
	wide_family_id family;
	uint8_t level;
	uint8_t flags; /* enum file_flags */
	uint8_t min_len, max_len;
	uint64_t bytes;		/* size of the sorted file */
	uint64_t raw_bytes; /* keys and values before encoding */
	uint64_t cells, rows, tombstones;
	uint64_t blocks;		/* data blocks */
	int64_t ts_min, ts_max; /* of all entries; a delete without timestamp counts as WIDE_TS_MAX */
	uint64_t seq_min, seq_max;
	uint64_t
		global_seq; /* != 0: every entry has this seq (the file was written before its commit) */
	uint8_t min_row[FILE_BOUND]; /* encoded rows, with terminator unless cut */
	uint8_t max_row[FILE_BOUND];
} file_meta;

/* Set in the number of a sorted file that is read before it is linked: its entries then have
 * another sequence number, for one reader.  Such a file names its container. */
#define FILE_ALIAS ((uint64_t) 1 << 63)

/* Returns the number of the file of the directory that has the sorted file: its own, unless it
 * shares a container with others. */
static inline uint64_t
file_container(const file_meta *f)
{
	return f->container != 0 ? f->container : f->number;
}

/* A sorted file of the set, live or dead; under LOCK_SET.  Links are index + 1. */
typedef struct file_slot
{
	file_meta meta;
	uint64_t removed_version;		 /* 0 = live; else dead: not in the set from this version on */
	uint64_t added_version;			 /* in the set from this version on */
	uint32_t next;					 /* of its family's live or dead files, or of the free list */
	uint32_t dead_next, dead_before; /* the list of all dead files, in the order of their deaths */
	uint32_t hash_next;				 /* slots whose numbers have one hash */
	uint32_t container;				 /* index + 1 of the container's slot */
	uint8_t in_use;
	uint8_t pending; /* dead, but no durable edit says so yet: must not be unlinked */
	uint8_t listed;	 /* the manifest names it; not if a batch has linked it since the last edit */
	uint8_t held;	 /* a job reads it: must not be unlinked, also without a pin */
} file_slot;

/* A file of the directory, which holds one sorted file or several; under LOCK_SET. */
typedef struct container_slot
{
	uint64_t number;	 /* names it: %08x.sst; 0: the slot is free */
	uint64_t bytes;		 /* up to the end of the last sorted file that the set has known in it */
	uint64_t live_bytes; /* of live sorted files */
	uint32_t live;		 /* file slots that refer to it and are live */
	uint32_t damaged;	 /* those of them that are marked as damaged */
	uint32_t slots;		 /* file slots that refer to it */
	uint32_t next;		 /* slots whose numbers have one hash, or the free list; index + 1 */
} container_slot;

/* The file set.  Members without _Atomic are read and written under LOCK_SET. */
typedef struct set_state
{
	_Atomic uint64_t version;	  /* rises with every change of file lists or memtables */
	_Atomic uint64_t next_file;	  /* next file number */
	_Atomic uint64_t replay_file; /* the same for files that recovery writes: file_set_new_number */

	/* the log */
	uint64_t flushed_seq; /* all batches <= this are in files that the manifest lists */
	uint64_t restart_lsn; /* recovery reads the log from here */
	uint64_t sealed_lsn;  /* forgeable records count if they begin before this; 0: not sealed yet */

	/* the manifest */
	uint64_t manifest_number;
	uint64_t manifest_last; /* the highest number of any manifest in the directory, at opening */
	uint64_t manifest_size; /* bytes; UINT64_MAX: the next edit begins a new manifest */
	uint64_t manifest_snapshot; /* bytes of the snapshot at its beginning */
	uint32_t catalog_dirty;		/* its catalog is older than the one in the segment */
	uint32_t older;	 /* the store was opened in a state that is not the manifest's newest: see
					  * file_set_load.c */
	uint32_t lost;	 /* listed files that were missing when the store was opened */
	uint32_t repair; /* CURRENT, or a manifest that has been read, is damaged */

	/* slots of files and of containers; lists begin with index + 1 */
	uint32_t max_files;		 /* of each; 0: file_set_load has not formatted them */
	uint32_t used_files;	 /* file slots from here on were never taken */
	uint32_t free_files;	 /* those below that are free */
	uint32_t dead_first;	 /* the dead file that died first */
	uint32_t dead_last;		 /* and last */
	uint32_t reserved_files; /* slots promised to prepared bulk batches and to edits */
	uint32_t nfiles;		 /* live files */
	uint32_t nunlisted;		 /* live files that are not listed */
	uint32_t ndead;			 /* dead files */
	uint32_t npending;		 /* dead files with pending set */
	uint32_t used_containers, free_containers, ncontainers;
	uint64_t file_bytes;   /* of live files */
	uint64_t nothing_dead; /* state in which no dead file can be freed (remove.c); 0: unknown */
	uint32_t warned;	   /* file_set_warn has warned */

	/* work on files */
	_Atomic uint32_t work_word; /* futex: rises when work appears */
	_Atomic uint32_t remover;	/* pid of the process that unlinks files; 0 = none */
	_Atomic uint32_t loading;	/* bulk files written and not yet linked or discarded */
	_Atomic int64_t grown;		/* host time of the last flush or link */
} set_state;

#define LAYOUT_TABLE_FAMILIES 4

/*
 * Sorted files that the table of files has room for, unless it is configured: for large families
 * 8192, which are cut to larger files when they do not suffice (output_cut), and for each family
 * six: four on level 0, one below, and one that replaces them.
 */
static inline uint32_t
layout_files_of_tables(uint32_t max_tables)
{
	return 8192 + 6 * LAYOUT_TABLE_FAMILIES * max_tables;
}

/* --------------------------------------------------------------- catalog */

typedef struct table_slot
{
	wide_table t;		/* t.id == 0: free */
	uint64_t seq;		/* last change */
	uint32_t hash_next; /* tables whose ids have one hash; index + 1 */
} table_slot;

/* Cells that were invisible by the options before a change stay invisible after it. */
#define FAMILY_FLOORS WIDE_MAX_CHANGES

typedef struct family_floor
{
	uint64_t seq; /* the options were in force up to here, from the previous floor on; 0 = unused */
	int32_t versions;
	int32_t min_versions;
	int64_t expired_before; /* cells with a lower ts, and seq <= this seq, stay expired; INT64_MIN:
							 * none */
	int64_t now;			/* time of the change */
	bool keep_deleted;		/* false: deletes up to this seq count for every reader */
} family_floor;

typedef struct family_slot
{
	wide_family f;						/* f.id == 0: free */
	uint64_t seq;						/* last change */
	family_floor floors[FAMILY_FLOORS]; /* oldest first */
	/* under LOCK_SET */
	uint32_t files;					/* live files: list of file slots, index + 1 */
	uint32_t dead_files;			/* dead files, the same */
	uint32_t nfiles;				/* live files */
	uint32_t hash_next;				/* families whose ids have one hash; index + 1 */
	uint32_t table_next;			/* families whose tables' ids have one hash; the same */
	uint32_t job;					/* the job that compacts it: index + 1; 0: none */
	_Atomic uint64_t files_version; /* set.version of the last change: see file_set.c */
	/* encoded row at which the last compaction of each level ended; the next one goes on there */
	uint8_t cursor[SET_LEVELS][FILE_BOUND];
	uint8_t cursor_len[SET_LEVELS];
} family_slot;

typedef struct binding_slot
{
	wide_table_id table; /* 0 = free */
	uint32_t object;
} binding_slot;

#define CATALOG_PENDING		  64
#define CATALOG_PENDING_ITEMS 32

/* Room and names promised to catalog changes that are prepared, until these are applied or
 * given up. */
typedef struct catalog_pending
{
	uint32_t pid;	 /* 0 = free */
	uint32_t serial; /* of the delta in that process; a delta may have several entries */
	uint32_t tables, families, bindings;
	uint32_t nitems;
	/* names of tables: hashes of (space, name) above UINT32_MAX; ids of families whose options
	 * change */
	uint64_t items[CATALOG_PENDING_ITEMS];
} catalog_pending;

typedef struct catalog_state
{
	_Atomic uint64_t generation; /* rises with every change */
	_Atomic uint32_t next_table;
	_Atomic uint32_t next_family;
	uint32_t ntables, nfamilies, nbindings; /* high-water marks of the arrays */
	uint64_t seq; /* newest change applied; changes are applied in order, under LOCK_COMMIT */
	uint64_t restored_seq; /* the manifest's catalog has all changes <= this: replay skips them */
	uint64_t early_seq;	   /* the same for changes at their commit records (wide_follow_show) */
	catalog_pending pending[CATALOG_PENDING]; /* under LOCK_CATALOG */
} catalog_state;

/* ------------------------------------------------------------------ jobs */

#define JOB_MAX 32

/* A running or recent flush or compaction; under LOCK_SET. */
typedef struct job_slot
{
	wide_job_info info;
	uint32_t pid;
	uint64_t serial; /* rises with every job; 0 = the slot is free */
} job_slot;

/* ------------------------------------------------------------- row locks */

#define LOCK_CHUNKS 100

/* Shared memory outside of the segment; members without _Atomic under lock_memory.spin. */
typedef struct lock_chunk
{
	_Atomic uint64_t serial; /* no two chunks have the same; 0 = none */
	_Atomic uint64_t id;	 /* the host's name for it */
	uint64_t bytes;
	uint64_t used;		  /* bytes of its blocks that are in use */
	uint32_t free_orders; /* one bit for each order of which it has a free block */
} lock_chunk;

/* Room for the row locks that do not fit into their buckets (lock_memory.c). */
typedef struct lock_memory
{
	_Atomic uint32_t spin;	  /* slot index + 1 of the process inside, 0 = free */
	_Atomic uint32_t dropped; /* rises when a chunk is given back to the host */
	uint64_t serial;		  /* of the newest chunk */
	_Atomic uint64_t bytes;	  /* of all chunks, also of those that are being made */
	_Atomic uint64_t used;	  /* bytes of blocks that are in use */
	lock_chunk chunk[LOCK_CHUNKS];
} lock_memory;

/* --------------------------------------------------------------- segment */

#define SEGMENT_MAGIC 0x314754454c424157ull

typedef struct segment
{
	uint64_t magic; /* SEGMENT_MAGIC; written last */
	uint64_t build; /* format_build_id: processes of another build are refused */
	uint64_t size;	/* bytes */
	wide_config config;

	_Atomic uint64_t counters_before[32]; /* added to the sum of the slots' counters, modulo 2^64 */
	_Atomic int64_t counters_reset;		  /* when they began at 0 */

	_Atomic uint32_t state;		 /* wide_state */
	_Atomic uint32_t slots_used; /* process slots at or above this were never taken */
	char reason[256];			 /* why it was poisoned; the first byte is written last */

	/* offsets of the arrays */
	uint64_t slots, files, tables, families, bindings, locks, cache, regions;
	uint64_t cache_pins; /* for each process slot cache_pins_bytes(): its pins of cache segments */
	uint64_t containers;
	/* hash tables: index + 1 of the first slot, by number or id */
	uint64_t file_index, container_index, family_index;
	uint64_t table_index, families_of_table; /* by id of the table: tables, families */
	uint32_t file_bits, family_bits;		 /* entries of the tables, as powers of two */
	uint32_t max_families, max_bindings;

	_Alignas(64) pthread_mutex_t lock[LOCK_COUNT];
	_Alignas(64) commit_state commit;
	_Alignas(64) follow_state follow;
	_Alignas(64) prepared_state prepared;
	_Alignas(64) set_state set;
	_Alignas(64) catalog_state catalog;
	uint64_t job_serial;	/* of the newest job; under LOCK_SET */
	job_slot jobs[JOB_MAX]; /* under LOCK_SET */
	_Alignas(64) lock_memory lock_memory;
	memtable memtables[WIDE_MEMTABLES];
} segment;

/* -------------------------------------------------------- private handle */

/* A family and its operator (wide_merge), as a process has found it; family 0: none. */
typedef struct family_merge
{
	wide_family_id family;
	uint8_t merge;
} family_merge;

#define MERGES_KNOWN 64

/*
 * The handle of one process, in private memory.  Each pointer to a *_local struct
 * belongs to the file named beside it; NULL until that file needs it.
 */
struct wide_db
{
	segment *seg;
	char dir[1024];		  /* manifest, CURRENT */
	char files_dir[1024]; /* sorted files; the same as dir if the host has named no other */
	wide_host host;
	wide_log log;
	wide_os *os;
	process_slot *slot; /* of this process */
	uint32_t slot_index;
	bool time_reads; /* wide_time_reads */

	struct pin_local *pins;			  /* pin.c: pins and private lists of files */
	struct work_local *work;		  /* scheduler.c: families lately found without work */
	int64_t gather_after;			  /* scheduler.c: containers are not gathered before */
	struct sst_readers *readers;	  /* sst_reader.c: open files */
	struct cache_local *cache;		  /* cache.c: addresses, number of pins */
	struct lock_local *locks;		  /* row_lock.c: the row locks held */
	struct lock_mappings *lock_maps;  /* lock_memory.c: addresses of the chunks */
	struct snapshot_local *snapshots; /* snapshot.c: snapshots of this process */
	struct replay *replay;			  /* replay.c: in the process that recovers or follows */

	family_merge merges[MERGES_KNOWN]; /* batch.c: by family % MERGES_KNOWN */

	uint32_t locks_taken; /* one bit for each enum segment_lock that is held */
};

/* The address of an offset in the segment. */
#define LAYOUT_AT(db, off) ((void *) ((uint8_t *) (db)->seg + (off)))

static inline process_slot *
layout_processes(wide_db *db)
{
	return LAYOUT_AT(db, db->seg->slots);
}

/*
 * Number of slots that a loop over all processes looks at.  A loop that relies on
 * an order of memory accesses reads it after what comes first in that order.
 */
static inline uint32_t
layout_processes_used(wide_db *db)
{
	return atomic_load(&db->seg->slots_used);
}

/*
 * Returns the owner of a prepared transaction's row locks, in the table of row locks: these owners
 * follow those of the processes.
 */
static inline uint32_t
layout_prepared_owner(wide_db *db, const prepared_entry *e)
{
	return db->seg->config.max_processes + 1 + (uint32_t) (e - db->seg->prepared.entry);
}

/* Returns the prepared transaction that is this owner of row locks; NULL: it is a process. */
static inline prepared_entry *
layout_prepared_of_owner(wide_db *db, uint32_t owner)
{
	uint32_t first = db->seg->config.max_processes + 1;

	return owner < first ? NULL : &db->seg->prepared.entry[owner - first];
}

static inline file_slot *
layout_files(wide_db *db)
{
	return LAYOUT_AT(db, db->seg->files);
}

static inline container_slot *
layout_containers(wide_db *db)
{
	return LAYOUT_AT(db, db->seg->containers);
}

/* Returns the entry of a hash table in the segment for a number. */
static inline uint32_t *
layout_bucket(wide_db *db, uint64_t index, uint32_t bits, uint64_t number)
{
	return (uint32_t *) LAYOUT_AT(db, index) + (number * 0x9e3779b97f4a7c15ull >> (64 - bits));
}

static inline table_slot *
layout_tables(wide_db *db)
{
	return LAYOUT_AT(db, db->seg->tables);
}

static inline family_slot *
layout_families(wide_db *db)
{
	return LAYOUT_AT(db, db->seg->families);
}

static inline binding_slot *
layout_bindings(wide_db *db)
{
	return LAYOUT_AT(db, db->seg->bindings);
}

#endif /* WIDE_LAYOUT_H */

/*
 * layout.h - what lies in the shared segment.
 *
 * Everything lives in one block of memory that may be mapped at a different
 * address in each process; links are byte offsets from its base.  Sizes are
 * fixed when the segment is formatted.
 *
 * Locks, in the order in which they may be taken (each is a robust
 * process-shared mutex; nothing under one may do I/O, allocate, call back or
 * wait): LOCK_COMMIT, LOCK_SET, LOCK_CATALOG, LOCK_CACHE.  The exception:
 * LOCK_COMMIT is held over log->append, which is what makes LSN order the
 * order of application.  LOCK_MANIFEST serialises manifest writers (held over
 * I/O); it is taken before all others.
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

typedef struct process_slot
{
	_Atomic uint32_t pid;		   /* 0 = free */
	uint32_t generation;		   /* of this use of the slot */
	_Atomic uint32_t in_crit;	   /* > 0: inside something a death would leave half done */
	_Atomic uint64_t owner;		   /* wide_set_owner */
	_Atomic uint64_t pin;		   /* oldest file-set version in use here; 0 = none */
	_Atomic uint64_t mem_pin;	   /* the same of those who read memtables */
	_Atomic uint64_t mem_pin_last; /* and the newest of these: they need no memtable made later */
	/* versions needed by snapshots here: those visible at this LSN and later; 0 = none */
	_Atomic uint64_t snapshot;
	/* no snapshot here is newer than this; UINT64_MAX while one is made */
	_Atomic uint64_t snapshot_last;
	_Atomic int64_t snapshot_now; /* not later than the time of any of them */
	_Atomic uint64_t external;	  /* prepared external transaction, 0 = none */
	/* start of its first log record: the log is needed from there; 0 = none */
	_Atomic uint64_t prepare_lsn;
	_Atomic uint32_t prepare_done; /* futex: rises when external goes back to 0 */
	/* a snapshot that others may take over by its key (wide_snapshot_share); share_serial is odd
	 * while it changes */
	_Atomic uint32_t share_serial;
	uint32_t share_len; /* 0: none */
	uint64_t share_key;
	uint8_t share[512];
	/* the row lock that the process waits for, for others to look at; wait_serial is odd while
	 * it changes */
	_Atomic uint32_t wait_serial;
	uint32_t wait_table; /* 0: it does not wait */
	uint64_t wait_hash;
	uint32_t wait_len;
	uint8_t wait_row[WIDE_LOCK_ROW];
	/* of the process, in clock ticks since boot; 0 = not known (then pid alone tells) */
	_Atomic uint64_t start_time;
	_Alignas(64) _Atomic uint64_t counters[32]; /* enum counter_id, summed on read */
} process_slot;

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
	uint64_t number;		/* rises: creation order */
	uint64_t region;		/* offset of its memory in the segment */
	uint64_t capacity;
	_Atomic uint64_t used;	   /* bytes handed out, under LOCK_COMMIT */
	_Atomic uint32_t applying; /* batches being inserted right now */
	/* log end when it became active: all batches with LSN <= this are in older memtables or files
	 */
	uint64_t start_lsn;
	uint64_t end_lsn;	   /* log end when it became immutable */
	uint64_t made_version; /* pins older than this do not have it */
	/* MEMTABLE_FLUSHED: nor have pins of this and later ones; see pin_has_memtable */
	uint64_t freed_version;
	_Atomic uint32_t head; /* skip list head, /8 from region; 0 while empty; see memtable.c */
	_Atomic uint32_t height;
	_Atomic uint64_t cells, tombstones;
	_Atomic int64_t ts_min, ts_max;
	/* newest timestamp that is newer than its batch's commit timestamp; not of deletes without one
	 */
	_Atomic int64_t ts_ahead;
	_Atomic uint64_t seq_min, seq_max;
} memtable;

#define COMMIT_RING 4096

typedef struct commit_slot
{
	uint64_t seq;
	_Atomic uint32_t applied;
} commit_slot;

#define EXTERNAL_RING 8192

typedef struct external_commit
{
	uint64_t seq;
	uint64_t xid;
	uint64_t decided; /* LSN of its commit record, 0 = not told */
	uint64_t rows;	  /* a bit for each row that it wrote, by the row's hash */
} external_commit;

/* Batches from seq on were finished when `ended` external transactions had ended, the newest of
 * them not above latest. */
#define ENDED_RING 4096

typedef struct ended_mark
{
	uint64_t seq, ended, latest;
} ended_mark;

typedef struct commit_state
{
	_Atomic uint64_t visible_seq; /* published: readers see up to here */
	/* the newest batch that is not to be shown before it is durable */
	_Atomic uint64_t awaited_seq;
	_Atomic uint64_t applied_seq; /* all batches <= this are in memtables */
	uint64_t logged_seq;		  /* newest seq given out; under LOCK_COMMIT */
	int64_t last_ts;			  /* newest engine-assigned timestamp; under LOCK_COMMIT */
	uint64_t reserved;			  /* bytes promised to prepared batches; under LOCK_COMMIT */
	uint32_t active;			  /* index of the active memtable; under LOCK_COMMIT */
	uint64_t memtable_number;
	uint64_t ring_head, ring_tail;	  /* of ring; under LOCK_COMMIT */
	_Atomic uint32_t applied_word;	  /* futex: rises with applied_seq */
	_Atomic uint32_t applied_waiters; /* who may wait on it, at least; nobody: no need to wake */
	_Atomic uint32_t space_word;	  /* futex: rises when memtable space appears */
	_Atomic uint64_t flush_us;		  /* that the last flush of a memtable took for each MB */
	/* of writers that fill memory faster than that: moment at which the next may go on; under
	 * LOCK_COMMIT */
	int64_t pace;
	uint64_t external_head; /* number of entries ever written to external[]; under LOCK_COMMIT */
	_Atomic uint64_t external_evicted;	   /* newest xid that fell out of external[] */
	_Atomic uint64_t external_evicted_seq; /* and the newest seq */
	/* rises when a process has taken over a snapshot of another: see horizon_oldest */
	_Atomic uint64_t snapshot_moves;
	commit_slot ring[COMMIT_RING];
	external_commit external[EXTERNAL_RING];
	/* number of entries ever written to ended[], which rise in all members; under LOCK_COMMIT */
	uint64_t ended_head;
	ended_mark ended[ENDED_RING];
} commit_state;

#define FILE_BOUND 88 /* bytes of a row key bound kept in memory */
#define SET_LEVELS 8  /* 0 .. 7; level 0 files may overlap */

enum file_flags
{
	FILE_MIN_CUT = 1,	  /* min_row is a shortened (lower) bound */
	FILE_MAX_CUT = 2,	  /* max_row is a prefix: the true bound starts with it */
	FILE_BUSY = 4,		  /* input of a running job */
	FILE_UNLISTED = 8,	  /* linked by a batch, not yet in the manifest */
	FILE_TS_ORDERED = 16, /* in every column timestamps rise with sequence numbers */
	FILE_UNSYNCED = 32	  /* its bytes are in the log; to be synced before it is listed */
};

/* What is known of a sorted file without opening it.  The same struct in the segment, in private
 * lists and (field by field) in the manifest. */
typedef struct file_meta
{
	uint64_t number; /* names the file: %08x.sst */
	wide_family_id family;
	uint8_t level;
	uint8_t flags;
	uint8_t min_len, max_len;
	uint64_t bytes;		/* size of the file */
	uint64_t raw_bytes; /* keys and values before encoding */
	uint64_t cells, rows, tombstones;
	uint64_t blocks;		/* data blocks */
	int64_t ts_min, ts_max; /* of all entries; a delete without timestamp counts as WIDE_TS_MAX */
	uint64_t seq_min, seq_max;
	uint64_t global_seq; /* != 0: every entry has this seq (file written before its commit) */
	uint8_t min_row[FILE_BOUND]; /* encoded rows (with terminator unless cut) */
	uint8_t max_row[FILE_BOUND];
} file_meta;

typedef struct file_slot
{
	file_meta meta;
	uint64_t removed_version; /* 0 = live; else no longer in the set from this version on */
	uint32_t next;			  /* in the family's list, or the free or dead list; index + 1 */
	uint32_t in_use;
	uint64_t added_version; /* in the set from this version on */
	uint32_t pending;		/* dead, but no durable edit says so yet: must not be unlinked */
	uint32_t moved;	 /* dead, but the file lives on in another slot (other level): never unlinked */
	uint32_t listed; /* the manifest names it */
} file_slot;

typedef struct set_state
{
	_Atomic uint64_t version; /* rises with every change of file lists or memtables */
	_Atomic uint64_t next_file;
	uint64_t flushed_seq; /* all batches <= this are in files that the manifest lists */
	uint64_t restart_lsn; /* the log is needed from here */
	uint64_t manifest_number;
	uint64_t manifest_size;
	uint64_t manifest_snapshot;		 /* bytes of the snapshot it began with */
	uint32_t free_files, dead_files; /* lists through file_slot.next; index + 1 */
	uint32_t reserved_files;		 /* slots promised to prepared bulk batches */
	uint32_t nfiles;
	uint32_t catalog_dirty;		  /* the manifest's catalog is older than ours */
	_Atomic uint32_t work_word;	  /* futex: work has appeared */
	_Atomic uint64_t replay_file; /* next_file of what recovery writes, see file_set_new_number */
	uint32_t max_files;			  /* slots in the array, as formatted by file_set_load */
	uint32_t ndead;				  /* slots in the dead list; nfiles counts the live ones */
	uint32_t npending;			  /* of them with pending set */
	uint32_t older; /* opened from a state that is not the manifest's newest, see file_set_load.c */
	uint32_t nunlisted;			/* live files with FILE_UNLISTED */
	_Atomic uint32_t collector; /* pid that unlinks files right now, 0 = none */
	_Atomic int64_t grown;		/* time of the last flush or link */
	_Atomic uint32_t loading;	/* bulk files written and not yet linked or discarded, for verify */
} set_state;

typedef struct table_slot
{
	wide_table t; /* t.id == 0: free */
	uint64_t seq; /* last change */
} table_slot;

/* floors: the options that were in force until a change; what was invisible then stays invisible */
#define FAMILY_FLOORS WIDE_MAX_CHANGES

typedef struct family_floor
{
	uint64_t seq;	  /* change at this seq; 0 = unused */
	int32_t versions; /* in force up to this seq, from the floor before on */
	int32_t min_versions;
	/* cells with ts below and seq <= this seq stay expired; INT64_MIN none */
	int64_t expired_before;
	int64_t now;	   /* time of the change */
	bool keep_deleted; /* if not, deletes up to this seq count for every reader */
} family_floor;

typedef struct family_slot
{
	wide_family f; /* f.id == 0: free */
	uint64_t seq;  /* last change */
	family_floor floors[FAMILY_FLOORS];
	uint32_t files; /* list of file slots: index + 1, under LOCK_SET */
	uint32_t nfiles;
	_Atomic uint64_t files_version; /* set.version when the list last changed */
	/* where the last compaction of the level ended (round robin) */
	uint8_t cursor[SET_LEVELS][FILE_BOUND];
	uint8_t cursor_len[SET_LEVELS];
} family_slot;

typedef struct binding_slot
{
	wide_table_id table; /* 0 = free */
	uint32_t object;
} binding_slot;

/* What prepared catalog changes have been promised: room and names, until they are applied or
 * given up. */
#define CATALOG_PENDING		  64
#define CATALOG_PENDING_NAMES 16

typedef struct catalog_pending
{
	uint32_t pid;	 /* 0 = free */
	uint32_t serial; /* of the delta in that process; a delta may have several entries */
	uint32_t tables, families, bindings;
	uint32_t nnames;
	uint32_t nchanges;
	uint64_t names[CATALOG_PENDING_NAMES];		   /* hashes of (space, name) */
	wide_family_id changes[CATALOG_PENDING_NAMES]; /* families whose options change */
} catalog_pending;

typedef struct catalog_state
{
	_Atomic uint64_t generation;
	_Atomic uint32_t next_table;
	_Atomic uint32_t next_family;
	uint32_t ntables, nfamilies, nbindings; /* high-water marks of the arrays */
	uint64_t seq; /* newest change applied; changes are applied in order, under LOCK_COMMIT */
	uint64_t restored_seq; /* the manifest's dump has all changes <= this: replay skips them */
	catalog_pending pending[CATALOG_PENDING]; /* under LOCK_CATALOG */
} catalog_state;

#define JOB_MAX 32

typedef struct job_slot
{
	wide_job_info info;
	uint32_t pid;
	uint32_t used;
	uint64_t serial;
} job_slot;

#define SEGMENT_MAGIC 0x314754454c424157ull

typedef struct segment
{
	uint64_t magic;
	uint64_t build; /* hash of struct sizes: processes of another build are refused */
	uint64_t size;
	wide_config config;
	_Atomic uint32_t state;		 /* wide_state */
	_Atomic uint32_t state_word; /* futex: rises with every change of state */
	_Atomic uint32_t generation; /* rises with every attach */
	_Atomic uint32_t slots_used; /* slots at or above this have never been taken */
	char reason[256];			 /* of poison */
	/* offsets of the arrays */
	uint64_t slots, files, tables, families, bindings, locks, cache, regions;
	/* per process slot cache_pins_bytes(cache_size): its pins in each cache segment */
	uint64_t cache_pins;
	uint32_t max_families, max_bindings;
	_Alignas(64) pthread_mutex_t lock[LOCK_COUNT];
	_Alignas(64) commit_state commit;
	_Alignas(64) set_state set;
	_Alignas(64) catalog_state catalog;
	uint64_t job_serial;	/* under LOCK_SET */
	job_slot jobs[JOB_MAX]; /* under LOCK_SET */
	memtable memtables[WIDE_MEMTABLES];
} segment;

/* One process's handle.  Private parts are created by the module that owns them. */
struct wide_db
{
	segment *seg;
	char dir[1024];
	wide_host host;
	wide_log log;
	wide_os *os;
	process_slot *slot; /* ours */
	uint32_t slot_index;
	struct pin_local *pins;			  /* pin.c: private lists of files, pins */
	struct work_local *work;		  /* scheduler.c: what was looked at in vain */
	struct sst_readers *readers;	  /* sst.c: open files */
	struct cache_local *cache;		  /* cache.c */
	struct lock_local *locks;		  /* row_lock.c: what rows we hold */
	struct snapshot_local *snapshots; /* snapshot.c: ours, for slot->snapshot */
	struct replay *replay;			  /* replay.c, during recovery */
	uint32_t locks_taken;		/* bit per enum segment_lock that we hold: the order is asserted */
	void (*sweep)(wide_db *db); /* frees the slots of dead processes: process_sweep */
	int64_t swept_ms;			/* when a wait last looked for dead processes */
};

#define LAYOUT_AT(db, off) ((void *) ((uint8_t *) (db)->seg + (off)))

static inline process_slot *
layout_processes(wide_db *db)
{
	return LAYOUT_AT(db, db->seg->slots);
}

/* Slots that loops over all processes have to look at: read after whatever they order against. */
static inline uint32_t
layout_processes_used(wide_db *db)
{
	return atomic_load(&db->seg->slots_used);
}

static inline file_slot *
layout_files(wide_db *db)
{
	return LAYOUT_AT(db, db->seg->files);
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

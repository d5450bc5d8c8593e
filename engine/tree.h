/*
 * tree.h - memtables, the set of files, merging, and what a reader sees.
 */
#ifndef WIDE_TREE_H
#define WIDE_TREE_H

#include "file.h"

/* ------------------------------------------------------------------- mem */

/*
 * A skip list of entries ordered by (family, key), lock-free for readers and
 * for concurrent inserters.  It never moves or frees a node; memory goes as a
 * whole.  The same code serves shared memtables (memory = region in the
 * segment) and the private batch (memory = reserved address space).
 */
typedef struct mem
{
	uint8_t    *base;			/* in this process; links are offsets / 8 from here */
	memtable   *t;
} mem;

/* Empty list in t over capacity bytes at base. */
extern void mem_init(mem *m, memtable *t, uint8_t *base, uint64_t capacity);
/* Bytes that inserting this entry can take at most. */
extern size_t mem_node_bytes(uint32_t klen, uint32_t vlen);
/* Bytes that it takes at this offset (a node's height is a function of it): at most mem_node_bytes(), about 40 fewer on average. */
extern size_t mem_node_bytes_at(uint64_t at, uint32_t klen, uint32_t vlen);
/*
 * Insert at the given memory (mem_node_bytes() bytes, 8-aligned offset `at`
 * from base, reserved by the caller through t->used).  Equal keys: the first
 * stays, the second is dropped (replay).  Never fails.
 */
extern void mem_insert(mem *m, uint64_t at, wide_family_id family, const entry *e);
/*
 * The same with the caller's memory of where the last insertion into this list
 * was: ascending (or nearly) insertions then start there.  Zero-filled first.
 */
#define MEM_HEIGHT 12
typedef struct mem_hint
{
	uint32_t	before[MEM_HEIGHT];	/* the last nodes before the last insertion, by level; 0 = none */
} mem_hint;
extern void mem_insert_hint(mem *m, uint64_t at, wide_family_id family, const entry *e, mem_hint *hint);
/*
 * So many bytes at the offset will be written: have the pages mapped.  Reading does
 * it cheaper, as long as they exist, which they do once some process has written
 * there: a fault on reading maps their neighbours, too, one on writing only the one.
 */
extern void mem_touch(const mem *m, uint64_t at, uint64_t bytes);
/* The memtable gets an entry whose timestamp is newer than the commit timestamp of its batch; before it is inserted. */
extern void mem_note_ahead(memtable *t, int64_t ts);

/*
 * The same in two steps, for one process: write a node, and link it, perhaps
 * never.  A value of NULL is left to the caller to fill in.  mem_write returns the node's reference, as mem_written does for the offset;
 * mem_node_end is where the next node may be written (or was: `at` of the next).
 */
extern uint32_t mem_write(mem *m, uint64_t at, wide_family_id family, const entry *e);
extern uint32_t mem_written(uint64_t at);
extern void mem_link(mem *m, uint64_t at, mem_hint *hint);

typedef struct mem_cursor
{
	mem			m;
	uint32_t	node;			/* 0 = not valid */
	wide_family_id family;		/* of the current node */
	entry		e;				/* points into the memory; stable as long as the memtable */
} mem_cursor;
extern void mem_cursor_open(mem_cursor *c, const mem *m);
extern void mem_first(mem_cursor *c);
/* first node >= (family, ukey, ts, seq) */
extern void mem_seek(mem_cursor *c, wide_family_id family, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq);
/* last node < (family, ukey) — may be of a lower family: check c->family */
extern void mem_seek_before(mem_cursor *c, wide_family_id family, const uint8_t *ukey, uint32_t klen);
extern void mem_next(mem_cursor *c);
static inline bool mem_valid(const mem_cursor *c) { return c->node != 0; }
/*
 * Entries of a family in [lo, hi) (hi NULL: to the family's end), evenly
 * spread, at most MEM_SAMPLE: all of them (*each 1), or every one that is on
 * some level of the list, standing for *each entries.  Returns how many.
 */
#define MEM_SAMPLE 256
extern int mem_sample(const mem *m, wide_family_id family, const uint8_t *lo, uint32_t lolen,
					  const uint8_t *hi, uint32_t hilen, uint32_t *nodes, double *each);
extern void mem_cursor_at(mem_cursor *c, uint32_t node);
extern uint64_t mem_node_end(const mem_cursor *c);
extern void mem_at(wide_db *db, uint32_t index, mem *m);	/* the shared memtable index */
/* Problems of structure: order on every level, counts. For tests and verify. */
extern wide_status mem_check(mem *m);

/* ------------------------------------------------------------------- set */

/*
 * A pinned version of everything a read needs: which memtables, which files.
 * While a pin lives, no memtable region of it is reused and no file unlinked.
 */
typedef struct set_pin
{
	uint64_t	version;
	int			nmem;
	uint32_t	mem[WIDE_MEMTABLES];	/* indexes, newest first */
	uint32_t	serial;			/* set.c's */
} set_pin;

extern wide_status set_pin_take(wide_db *db, set_pin *pin);
/* Files only (nmem 0): memtables may be reused meanwhile. */
extern wide_status set_pin_take_files(wide_db *db, set_pin *pin);
extern void set_pin_drop(wide_db *db, set_pin *pin);

/* The files of a family as of a pin: level 0 newest first, then by level and key.  Private memory, valid until the pin is dropped. */
typedef struct set_files
{
	const file_meta *files;
	int			n;
	int			level_start[SET_LEVELS + 1];	/* files of level l are [level_start[l], level_start[l+1]) */
} set_files;
extern wide_status set_pin_files(wide_db *db, const set_pin *pin, wide_family_id family, set_files *out);

/* false: no row in [lo, hi) of the file (encoded rows; hi NULL = open) */
extern bool file_overlaps(const file_meta *f, const uint8_t *lo, uint32_t lolen, const uint8_t *hi, uint32_t hilen);

/*
 * An atomic change: files added and removed, the log no longer needed before
 * restart_lsn, all batches <= flushed_seq in files, memtables done.  Written
 * to the manifest and synced, then shown in the segment.  Also lists files that
 * batches have linked meanwhile, and the catalog when it is dirty.  A failure
 * of the sync poisons.
 */
typedef struct set_edit
{
	const file_meta *add;
	int			nadd;
	const uint64_t *remove;		/* file numbers */
	int			nremove;
	uint64_t	flushed_seq;	/* 0 = unchanged */
	uint64_t	restart_lsn;	/* 0 = unchanged */
	int			memtable;		/* index of the memtable that the added files replace, -1 none */
} set_edit;
extern wide_status set_apply(wide_db *db, const set_edit *edit);

/* Numbers from here on are of files that a recovery has written: the log never names them. */
#define FILE_REPLAYED ((uint64_t) 1 << 62)
extern uint64_t set_new_file_number(wide_db *db);
/* Bulk batches: promise n file slots (WIDE_FULL), give back, or use them: cannot fail. Called by prepare / free / finish (under LOCK_COMMIT) and replay. */
extern wide_status set_reserve(wide_db *db, int n);
extern void set_unreserve(wide_db *db, int n);
extern void set_link(wide_db *db, const file_meta *files, int n);
/* load.c: sync a file that is FILE_UNSYNCED; WIDE_NOTFOUND: it is gone.  When the sync fails the store is poisoned. */
extern wide_status load_sync(wide_db *db, uint64_t number);
/* The oldest LSN that must stay readable: versions <= this that are masked may go. */
extern uint64_t set_horizon(wide_db *db);
/* The same, and what lies between the snapshots.  A reader has a snapshot in one of the ranges, or fresh or newer. */
typedef struct snapshot_range
{
	uint64_t	first, last;
} snapshot_range;
typedef struct horizons
{
	uint64_t	oldest;			/* set_horizon */
	uint64_t	fresh;
	snapshot_range *held;
	int			nheld;
} horizons;
extern wide_status set_horizons(wide_db *db, horizons *h);
extern void horizons_free(horizons *h);
/* Where the log must be kept from: for flush, given the memtable it removes. */
extern uint64_t set_restart_lsn(wide_db *db, uint32_t flushed_memtable);
/* Unlink files that nobody needs any more; free memtables likewise. Only under the gc duty: never after poison. */
extern wide_status set_collect(wide_db *db, bool *did);
/* open.c: read CURRENT and the manifest into the segment; make a new store when absent. */
extern wide_status set_load(wide_db *db);
/* For open.c, under LOCK_SET: a file of the store; one whose family has been dropped is born dead. */
extern void set_link_slot(wide_db *db, const file_meta *meta, uint64_t version, bool listed);
/* After replay: delete files in the directory that the set does not list. */
extern wide_status set_remove_orphans(wide_db *db);
/* Manifest encoding of a file's meta, also used in log records of bulk batches. */
extern wide_status file_meta_put(buffer *b, const file_meta *f);
extern const uint8_t *file_meta_get(const uint8_t *p, const uint8_t *end, file_meta *f);
extern void set_detach(wide_db *db);
/* For catalog.c, under LOCK_SET: all files of the family are dead from here on; the list is empty afterwards. */
extern void set_drop_family(wide_db *db, family_slot *fs);
/* Files of a family; UINT32_MAX when more than half of the table of files is in use. */
extern uint32_t set_family_files(wide_db *db, wide_family_id family);
/*
 * So many files a windowed family may have before windows are joined: fewer when
 * more than half of the table of files is in use.
 */
#define SET_WINDOW_FILES	1000
#define SET_WINDOW_FILES_LEAST	8
extern uint32_t set_window_files_most(wide_db *db);
/* Level-0 files of a family that compaction should merge (for write stalls); 0 when dropped. */
extern uint32_t set_level0_files(wide_db *db, wide_family_id family);
/* Something is waiting to be written to the manifest: catalog, linked files, removals. */
extern bool set_dirty(wide_db *db);
/* A slot, live or dead, has that number (true also when the store is poisoned). */
extern bool set_has_file(wide_db *db, uint64_t number);
/* The oldest version that somebody has pinned; UINT64_MAX none. */
extern uint64_t set_oldest_pin(wide_db *db);
/* Does anybody's pin include this flushed memtable? */
extern bool set_memtable_pinned(wide_db *db, const memtable *t);
/* Bytes a < b in the order of rows where a is an upper bound of f; bounds may be cut. */
extern bool files_overlap(const file_meta *a, const file_meta *b);

/* manifest.c: the bytes of the manifest, called by set.c under LOCK_MANIFEST */
typedef struct manifest_edit
{
	bool		snapshot;		/* begins anew: forget all before it */
	const file_meta *add;
	int			nadd;
	const uint64_t *remove;
	int			nremove;
	uint64_t	flushed_seq;	/* 0 = unchanged, like the next two */
	uint64_t	restart_lsn;
	uint64_t	next_file;
	bool		has_last_ts;
	int64_t		last_ts;
	uint64_t	log_id;			/* 0 = not known, see wide_log.identity */
	uint32_t	log_branch;
	wide_bytes	catalog;		/* data NULL: unchanged */
} manifest_edit;
extern wide_status manifest_encode(const manifest_edit *edit, buffer *out);
/* Appends one record at set.manifest_size and syncs; poisons when it fails after the first byte may have been written. */
extern wide_status manifest_append(wide_db *db, wide_bytes payload);
/* Writes the next manifest file with this snapshot as its first record and makes it CURRENT. */
extern wide_status manifest_switch(wide_db *db, wide_bytes snapshot);
/* The number of the manifest that CURRENT names; WIDE_NOTFOUND: the store is new. */
extern wide_status manifest_current(wide_db *db, uint64_t *number);
/* Calls fn for each edit in order, until one gives other than WIDE_OK; a file that is missing or of no use is WIDE_CORRUPT. */
typedef wide_status (*manifest_fn) (void *arg, const manifest_edit *edit);
extern wide_status manifest_read(wide_db *db, uint64_t number, manifest_fn fn, void *arg);

/* --------------------------------------------------------------- catalog */

/*
 * Changes of a transaction to tables and families: recorded in order with the
 * batch's operation number, visible to its own look-ups, encoded into the log
 * record, applied under LOCK_CATALOG at commit and at replay.
 */
typedef struct catalog_delta catalog_delta;
extern catalog_delta *catalog_delta_new(wide_db *db);
extern void catalog_delta_free(catalog_delta *d);
extern void catalog_delta_rewind(catalog_delta *d, uint64_t mark);	/* forget operations numbered >= mark */
extern bool catalog_delta_empty(const catalog_delta *d);
/* Checks that it can be applied (names unique, room in the arrays: reserved) and encodes it. */
extern wide_status catalog_delta_encode(catalog_delta *d, buffer *out);
/*
 * Apply encoded changes; cannot fail for what encode has checked.  Takes LOCK_SET
 * and LOCK_CATALOG.  Call it under LOCK_COMMIT, in order of seq, before the
 * batch's files are linked.  Idempotent: changes the manifest's dump has are skipped.
 */
extern void catalog_apply(wide_db *db, wide_bytes encoded, uint64_t seq);
/* The whole catalog, for the manifest. */
extern wide_status catalog_dump(wide_db *db, buffer *out);
extern wide_status catalog_restore(wide_db *db, wide_bytes dump);	/* len 0: an empty catalog */
/* For bulk files: a family that is committed or was made by an unfinished batch of this process. */
extern bool catalog_family_any(wide_db *db, wide_family_id id, wide_family *f);
/* A copy of a committed family's slot head; false when it does not exist (dropped). */
extern bool catalog_family(wide_db *db, wide_family_id id, wide_family *f, family_floor *floors);
/* Note in floors what was in force before a change of options by the batch with this seq, where that matters. */
extern void catalog_floor(family_floor *floors, const wide_family_options *old, const wide_family_options *new,
						  uint64_t seq, int64_t now);
/*
 * Forget the floors of the family with a seq below settled: the files that
 * listed edits name have nothing that they matter to, and no memtable has.
 */
extern wide_status catalog_retire(wide_db *db, wide_family_id id, uint64_t settled);
/* The slot itself, for set.c under LOCK_SET; NULL when dropped. */
extern family_slot *catalog_family_slot(wide_db *db, wide_family_id id);

/* ---------------------------------------------------------------- source */

/*
 * One sorted stream of entries of one family: a memtable, the private batch, a
 * file, or a run of disjoint files.
 */
typedef struct source source;
extern wide_status source_mem(wide_db *db, const mem *m, wide_family_id family, source **out);
/* the private batch: entries of operations < mark that are not rewound; see batch.c */
extern wide_status source_batch(wide_batch *b, wide_family_id family, uint64_t mark, source **out);
/* files[0..n) sorted by key and disjoint (n = 1: any file); opened lazily; flags: enum sst_cursor_flags */
extern wide_status source_files(wide_db *db, const file_meta *files, int n, int flags, source **out);
extern void source_free(source *s);

/*
 * The merge of sources in key order.  Entries with equal keys (same ukey, ts,
 * seq, type: replayed, or linked twice) come once.
 */
typedef struct merge merge;
extern wide_status merge_new(wide_db *db, merge **out);
extern wide_status merge_add(merge *m, source *s);	/* takes it over, also on failure */
extern wide_status merge_seek(merge *m, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq);
extern wide_status merge_first(merge *m);
extern wide_status merge_next(merge *m);
/* Largest ukey < the given bytes in any source: positions nothing, copies its encoded row into out; WIDE_END when none. */
extern wide_status merge_row_before(merge *m, const uint8_t *ukey, uint32_t klen, buffer *row);
static inline const entry *merge_entry(merge *m);	/* NULL at the end */
extern void merge_free(merge *m);
struct merge { const entry *current; };	/* head of merge.c's own struct */
static inline const entry *merge_entry(merge *m) { return m->current; }

/* ------------------------------------------------------------------ view */

/*
 * What is visible, in one place for reads and for compaction: snapshots,
 * deletes, versions, TTL.  See view.c for the rules.
 *
 * Compaction: feed the merged entries of a family; those to be kept come out
 * through emit in key order, perhaps later (a column is buffered when it has
 * deletes); call view_compact_end at the end.
 */
typedef struct view view;
typedef struct view_compact_spec
{
	wide_family family;
	const family_floor *floors;
	uint64_t	horizon;		/* decisions are made on entries <= this only */
	/*
	 * No entry of these rows outside the job, newer than all in it that are <=
	 * horizon, is as old as this or older.
	 */
	uint64_t	known;
	uint64_t	tombstone_seq;	/* deletes <= this may go when bottom */
	bool		bottom;			/* no older entries of these rows exist outside this job */
	int64_t		now;
	/*
	 * Entries of these rows outside the job are older than all in it, or newer
	 * than all in it that are <= horizon, or their seq is in [gap_from, gap_to]
	 * (then not bottom; 0, 0: there are none of these).
	 */
	uint64_t	gap_from, gap_to;
	/*
	 * Readers that are older than `fresh` have their snapshot in one of the
	 * ranges: of entries > horizon goes what nobody sees.  0: nothing of them.
	 */
	uint64_t	fresh;
	const snapshot_range *held;
	int			nheld;
} view_compact_spec;
/* Widens the gap by the files among all[0..n) that overlap hull (NULL: any) and whose seqs lie among those from..to of a job; in: the job's own, may be NULL. */
extern void view_compact_gap(view_compact_spec *spec, const file_meta *all, int n, const bool *in, const file_meta *hull,
							 uint64_t from, uint64_t to);
typedef wide_status (*view_emit_fn) (void *arg, const entry *e);
extern wide_status view_compact_new(wide_db *db, const view_compact_spec *spec, view_emit_fn emit, void *arg, view **out);
extern wide_status view_compact_feed(view *v, const entry *e);
extern wide_status view_compact_end(view *v);
/* At the end of a job over everything in the family's files: floors with a seq below this one matter to nothing any more. */
extern uint64_t view_compact_settled(const view *v);
extern void view_free(view *v);

#endif							/* WIDE_TREE_H */

/*
 * batch.h - the inside of a batch: batch.c, own.c, run.c, spill.c, payload.c,
 * commit.c, load.c and replay.c.
 */
#ifndef WIDE_BATCH_H
#define WIDE_BATCH_H

#include "db.h"
#include "source.h"
#include "view.h"

/*
 * Operation n has a pseudo sequence number above all committed ones, with two
 * flags: OWN_AUTO a put whose timestamp the commit assigns; OWN_FLOOR the value
 * begins with the 8 bytes of its floor, the timestamp that it must be above.
 */
#define OWN_AUTO	1
#define OWN_FLOOR	2
#define OWN_OPS_MAX	((SEQ_MAX - SEQ_OWN) >> 2)
static inline uint64_t own_seq(uint64_t op, unsigned flags) { return SEQ_OWN + (op << 2 | flags); }
static inline uint64_t own_op(uint64_t seq) { return (seq - SEQ_OWN) >> 2; }
static inline bool own_is_auto(uint64_t seq) { return (seq & OWN_AUTO) != 0; }

/* Take the floor out of the value; INT64_MIN none. */
static inline int64_t
own_floor(entry *e)
{
	int64_t		floor;

	if (!(e->seq & OWN_FLOOR))
		return INT64_MIN;
	floor = (int64_t) get_u64le(e->value);
	e->value += 8;
	e->vlen -= 8;
	return floor;
}

/* ------------------------------------------------------------------ run.c */

typedef struct own_run own_run;
typedef struct run_writer run_writer;
/* total: bytes that will come, about. */
extern wide_status run_writer_open(wide_db *db, uint64_t total, run_writer **out);
extern wide_status run_writer_add(run_writer *w, wide_family_id family, const entry *e);	/* in order */
extern wide_status run_writer_finish(run_writer *w, own_run **out);	/* frees w, also on failure; one reference */
extern void run_writer_abandon(run_writer *w);
extern own_run *run_ref(own_run *r);
extern void run_unref(own_run *r);
extern uint64_t run_bytes(const own_run *r);	/* of its file */
extern size_t run_memory(const own_run *r);
extern bool run_may_have_row(const own_run *r, const uint8_t *row, uint32_t rowlen);

typedef struct run_cursor
{
	own_run    *run;
	bool		valid;
	wide_family_id family;
	entry		e;				/* valid until the next move */
	buffer		block, key;
	uint32_t	place;			/* of the block */
	uint32_t	next;			/* entry, in the block */
} run_cursor;
extern void run_cursor_open(run_cursor *c, own_run *r);
extern void run_cursor_close(run_cursor *c);
extern wide_status run_first(run_cursor *c);
extern wide_status run_seek(run_cursor *c, wide_family_id family, const uint8_t *ukey, uint32_t klen, int64_t ts, uint64_t seq);
extern wide_status run_next(run_cursor *c);
/* The largest row below the bytes; WIDE_END none.  Not valid afterwards. */
extern wide_status run_row_before(run_cursor *c, wide_family_id family, const uint8_t *ukey, uint32_t klen, buffer *row);

/* ------------------------------------------------------------------ own.c */

/* Some operations in memory: nodes one after the other; those before `linked` are in the skip list. */
typedef struct own_list
{
	uint8_t    *base;
	uint64_t	capacity;
	memtable	table;
	mem			m;
	mem_hint	hint;
	uint64_t	start, end, linked;	/* offsets */
	uint64_t	touched;		/* where it has ended before it was emptied */
	uint64_t	first_op;		/* of the first node */
	uint64_t	linked_op;		/* of the first node that is not linked; UINT64_MAX: all are */
	uint64_t	nodes;
	uint64_t	rows;			/* how often another row or family than that of the node before has come */
	int			users;			/* sources that read it */
	bool		retired;		/* not the batch's any more: goes with its last user */
} own_list;

extern wide_status own_list_new(own_list **out);
extern void own_list_retire(own_list *l);	/* free, now or by its last user */
extern void own_list_leave(own_list *l);
extern void own_list_reset(own_list *l);	/* empty it; nobody reads it */
/* All operations below the mark are in the skip list. */
extern void own_list_link(own_list *l, uint64_t mark);

/* Nodes of one family and row: in ascending order and one behind the other in memory, or listed in own_sorted.flat. */
typedef struct own_unit
{
	uint64_t	prefix, more;	/* bytes of family and row */
	uint32_t	ref;			/* the first node, or index in flat */
	uint32_t	n;				/* nodes; UNIT_FLAT: in flat */
} own_unit;
#define UNIT_FLAT ((uint32_t) 1 << 31)
/* What sorting takes, beside the list itself: units twice, and references to nodes that do not come in order. */
static inline uint64_t
own_sort_bytes(uint64_t nodes, uint64_t rows)
{
	return rows * 2 * sizeof(own_unit) + nodes * 2 * sizeof(uint32_t);
}

typedef struct own_sorted
{
	own_unit   *units;
	uint32_t	nunits;
	uint32_t   *flat;
	uint32_t	nflat, flat_cap;
} own_sorted;

/* The living operations of the batch's list in order of (family, key). */
extern wide_status own_sort(wide_batch *b, own_sorted *s);
extern void own_sorted_free(own_sorted *s);

typedef struct own_stream
{
	bool		valid;
	uint8_t		kind;
	wide_family_id family;
	entry		e;				/* as stored: the value with its floor */
	/* a list, linked or sorted */
	own_list   *list;
	mem_cursor	c;
	const own_sorted *sorted;
	uint32_t	unit, done;
	run_cursor	run;
} own_stream;

/* All of a batch's streams as one. */
typedef struct own_merge
{
	wide_batch *b;
	own_stream *streams;
	own_stream **heap;			/* the smallest first */
	int			n, nheap;
	uint64_t	mark;			/* what comes from there on is not needed */
	bool		copies;			/* some stream's bytes do not stay */
} own_merge;

/* sorted: for all that is in memory; NULL: as linked up to the mark.  Close it also after a failure. */
extern wide_status own_merge_open(wide_batch *b, const own_sorted *sorted, uint64_t mark, own_merge *m);
/* Over runs alone, from one number to another. */
extern wide_status own_merge_runs(wide_batch *b, int from, int to, own_merge *m);
extern void own_merge_close(own_merge *m);
extern wide_status own_merge_first(own_merge *m);
/* row (encoded): runs that do not have it are left out; NULL: all are asked */
extern wide_status own_merge_seek(own_merge *m, wide_family_id family, const uint8_t *ukey, uint32_t klen,
								  const uint8_t *row, uint32_t rowlen);
extern wide_status own_merge_next(own_merge *m);
extern wide_status own_merge_row_before(own_merge *m, wide_family_id family, const uint8_t *ukey, uint32_t klen,
										buffer *row, buffer *scratch);
static inline const own_stream *own_merge_top(const own_merge *m) { return m->nheap > 0 ? m->heap[0] : NULL; }

/* Bytes that were copied, in pieces that do not move. */
typedef struct own_piece
{
	struct own_piece *next;
	uint8_t    *data;			/* malloc'd */
	uint32_t	used, size;
} own_piece;

/* The living operations of one column, in key order; of automatic puts the newest alone. */
typedef struct own_column
{
	wide_family_id family;
	entry	   *e;				/* as stored; all with the same ukey */
	int			n, cap;
	int			newest;			/* the automatic one, -1 none */
	buffer		key;			/* its ukey if the stream's does not stay */
	own_piece  *pieces;			/* the copied values, newest first */
} own_column;

/* The next column with any; WIDE_END.  What it had before is gone except for the pieces' bytes. */
extern wide_status own_column_read(own_column *c, own_merge *m);
/* The copied bytes are not needed any more. */
extern void own_column_forget(own_column *c);
extern void own_column_free(own_column *c);

/* ---------------------------------------------------------------- spill.c */

/* So many runs of one size are merged; tests make it small, and the blocks of runs. */
extern int	spill_fan;
extern uint32_t run_block_bytes;

/* Bytes below which a list is not worth a thread; tests make it small. */
extern size_t spill_piece_least;

/* What is in memory becomes a run, or a piece that a thread makes one of. */
extern wide_status batch_spill(wide_batch *b);
/* How much may be in memory before that; anew for each command. */
extern void batch_set_memory(wide_batch *b, size_t bytes);
/* All pieces are runs, and the thread is gone. */
extern wide_status batch_settle(wide_batch *b);
/* The same before the batch is read; what follows in this command is spilled without a thread. */
extern wide_status batch_read(wide_batch *b);
/* No piece is being worked at; those that have become runs are among them. */
extern void batch_pause(wide_batch *b);
/* The end of the batch: without making runs of what is under way. */
extern void batch_drop_pieces(wide_batch *b);
extern size_t batch_piece_bytes(const wide_batch *b);
/* Runs, and pieces that could not become runs, of which every operation is from the mark on go. */
extern void batch_drop_runs(wide_batch *b, uint64_t mark);

/* ------------------------------------------------------------------- batch */

/* Operations [from, to) are undone. */
typedef struct own_undone
{
	uint64_t	from, to;
} own_undone;

typedef struct batch_run
{
	own_run    *run;
	uint64_t	from, to;		/* its operations are among these */
	int			tier;			/* how often they were merged */
} batch_run;

/* A list that a thread sorts and writes: spill.c. */
typedef struct batch_piece batch_piece;

#define BATCH_MEMORY	((size_t) 64 << 20)
#define BATCH_PIECES	2		/* with the thread at a time */
#define BATCH_FAMILIES	32

struct wide_batch
{
	wide_db    *db;
	own_list   *list;			/* NULL: nothing is in memory */
	size_t		memory;			/* for the list and pieces */
	size_t		limit;			/* beyond this the list becomes a run */
	aside	   *aside;
	batch_piece *pieces;		/* oldest first; they come after the runs and before the list */
	int			npieces;
	own_list   *idle[BATCH_PIECES];	/* empty ones, to be used again */
	int			nidle;
	batch_run  *runs;			/* oldest first */
	int			nruns, runs_cap;
	uint64_t	spills;			/* how often the list has been replaced */
	buffer		key;			/* the ukey of the last operation, or a payload's longest */
	buffer		row;			/* the row as given with it */
	uint32_t	rowlen;			/* the row's part of key; 0: not known */
	int64_t		row_ts;			/* provisional timestamp of the row's automatic puts; INT64_MIN: not asked for yet */
	wide_family_id family;		/* of the last operation, while the row is the same; 0: another row */
	uint64_t	nops;
	uint64_t	oldest;			/* cell operation that is not undone; UINT64_MAX none */
	own_undone *undone;			/* ascending; there is always room for one more */
	int			nundone, undone_cap;
	wide_family_id families[BATCH_FAMILIES];	/* some that were written to */
	int			nfamilies;
	catalog_delta *delta;
	/* prepared */
	bool		prepared, finished;
	uint64_t	external;
	uint64_t	decided;		/* set by the caller: LSN of the external commit, 0 = not told */
	bool		tell_rows;		/* it is external, */
	uint64_t	rows;			/* and this has a bit for each row written, by the row's hash */
	buffer		payload;
	uint64_t	need;			/* bytes reserved in the memtable */
	uint64_t	cells;
	bool		automatic;		/* has cells whose timestamp the commit assigns */
	int64_t		loaded_ts;		/* the one given to automatic cells in files; INT64_MIN none */
	bool		awaited;		/* not to be shown before it is durable */
	bool		files_unlogged;	/* set by the caller: the bytes of its files stay out of the log */
	file_meta  *files;
	int			nfiles;
	size_t		catalog_at, catalog_len;	/* in the payload */
	uint64_t	first_lsn;		/* of the chunks that are logged */
	uint64_t	data_start;		/* where the first of them begins */
	uint32_t	nchunks;
};

/* Was the operation undone? */
extern bool batch_undone_any(const wide_batch *b, uint64_t op);
static inline bool
batch_undone(const wide_batch *b, uint64_t op)
{
	return b->nundone > 0 && batch_undone_any(b, op);
}

/* payload.c */

/* One operation of a normalised batch. */
typedef struct norm_op
{
	wide_family_id family;
	entry		e;				/* seq 0; ts is provisional when automatic */
	bool		automatic;
	int64_t		floor;			/* INT64_MIN none */
	const int64_t *avoid;		/* timestamps of other puts of the batch in this column */
	int			navoid;
} norm_op;

typedef struct norm norm;
/* fixed_ts: give it to automatic cells now; INT64_MIN: leave that to the commit */
extern wide_status norm_new(wide_batch *b, const own_sorted *sorted, int64_t fixed_ts, norm **out);
extern wide_status norm_next(norm *n, norm_op *out);	/* WIDE_END after the last */
extern void norm_free(norm *n);

typedef struct payload
{
	wide_bytes	catalog;
	wide_bytes	files;			/* encoded */
	uint64_t	nfiles;
	uint64_t	cells;
	uint64_t	need;			/* bytes in the memtable, at most */
	wide_bytes	ops;
} payload;

/* The beginning of a payload: catalog changes and files. */
extern wide_status payload_begin(buffer *b, wide_bytes catalog, const file_meta *files, int nfiles, size_t *catalog_at);
/* Takes apart what payload_begin and payload_cells have made. */
extern wide_status payload_open(wide_bytes bytes, payload *p);
/* The timestamp that automatic cells in its files have, INT64_MIN: there are no files or it is not told. */
extern int64_t payload_loaded_ts(const payload *p);
/* The cells; stops with WIDE_FULL when they need more than max bytes of memtable. */
extern wide_status payload_cells(wide_batch *b, const own_sorted *sorted, buffer *out, uint64_t max);
/* The same without sorting, as far as they have come in order; WIDE_END: they have not. */
extern wide_status payload_cells_in_order(wide_batch *b, buffer *out, uint64_t max);
/* Insert the cells at the offset, of which p->need bytes are ours; *end is the byte after them.  key has room (p is our own) or grows. */
extern wide_status payload_apply(const payload *p, mem *m, uint64_t at, uint64_t seq, int64_t commit_ts, buffer *key, uint64_t *end);
/* The timestamp that an automatic cell gets. */
extern int64_t payload_ts(int64_t commit_ts, int64_t floor, const int64_t *avoid, int navoid);

/* Log records; see payload.c. */
enum record_kind
{
	RECORD_BATCH = 1,
	RECORD_DATA = 2,
	RECORD_FINISH = 3,
	RECORD_FILE = 4
};
#define RECORD_FORMAT		1
#define RECORD_BATCH_HEAD	16
#define RECORD_DATA_HEAD	16
#define RECORD_FINISH_BYTES	32
#define RECORD_FILE_HEAD	32
extern void record_batch(uint8_t *head, int64_t commit_ts);
extern void record_data(uint8_t *head, uint32_t chunk, uint64_t first_lsn);
extern void record_finish(uint8_t *head, uint32_t chunks, uint64_t first_lsn, int64_t commit_ts, uint64_t bytes);
/* Bytes of a sorted file from the offset on; total: of the file. */
extern void record_file(uint8_t *head, uint64_t number, uint64_t offset, uint64_t total);

/* commit.c */
/* Under LOCK_COMMIT, in the order of seq: everything of a batch but its cells. */
extern void commit_files(wide_db *db, wide_bytes catalog, file_meta *files, int nfiles, uint64_t seq);

/* batch.c */
/* The files that prepare has written will not be linked. */
extern void batch_discard_files(wide_batch *b);

#endif							/* WIDE_BATCH_H */

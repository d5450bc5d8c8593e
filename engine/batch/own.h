/* own.h - the list of a batch's operations in memory, and merging it with spilled runs */
#ifndef WIDE_OWN_H
#define WIDE_OWN_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"
#include "engine/set/memtable.h"
#include "engine/batch/run.h"

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

/* Was the operation undone by a rewind? */
extern bool batch_undone_any(const wide_batch *b, uint64_t op);

#endif							/* WIDE_OWN_H */

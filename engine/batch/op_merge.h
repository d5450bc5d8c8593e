/*
 * op_merge.h - the operations of a batch in key order.
 *
 * A merge reads the batch's list in memory and its spill files as one stream.  The
 * bytes of an operation from a list stay valid as long as the list; those from a
 * spill file only until the next move.
 */
#ifndef WIDE_OP_MERGE_H
#define WIDE_OP_MERGE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/set/memtable.h"
#include "engine/batch/op_list.h"
#include "engine/batch/op_undone.h"
#include "engine/batch/spill_file.h"

/* One input of a merge. */
typedef struct op_stream
{
	uint8_t kind; /* enum stream_kind in op_merge.c */

	/* the current operation */
	bool valid;
	wide_family_id family;
	entry e; /* as stored: the value begins with the floor, if there is one */

	/* a list */
	op_list *list;
	memtable_cursor c;
	const op_sorted *sorted; /* NULL: in the order of the skip list */
	int unit;				 /* of sorted: the current unit, */
	uint32_t done;			 /* and its nodes before the current one */

	/* a spill file */
	spill_file_cursor file;
} op_stream;

typedef struct op_merge
{
	const op_undone *undone;
	uint64_t mark; /* operations at or above it are not needed */
	op_stream *streams;
	int n;
	op_stream **heap; /* valid streams, the smallest first */
	int nheap;
	bool copies; /* bytes of some stream do not stay valid */
} op_merge;

/*
 * Opens a merge of all operations of a batch below the mark.  sorted: the order of
 * the list; if NULL, the list is linked and read as a skip list.  The merge is not
 * at an operation yet.  Close it also after a failure.
 * Returns: WIDE_NOMEM.
 */
extern wide_status op_merge_open(wide_batch *b, const op_sorted *sorted, uint64_t mark,
								 op_merge *m);

/* The same of a list alone. */
extern wide_status op_merge_list(op_list *l, const op_sorted *sorted, const op_undone *undone,
								 op_merge *m);

/* The same of the batch's spill files [from, to). */
extern wide_status op_merge_files(wide_batch *b, int from, int to, op_merge *m);
extern void op_merge_close(op_merge *m);

/* Goes to the first operation. */
extern wide_status op_merge_first(op_merge *m);

/* Goes to the first operation at or above the key.  row: an encoded row; files that cannot have it
 * are left out.  NULL: all files are read.  Requires: no sorted list. */
extern wide_status op_merge_seek(op_merge *m, wide_family_id family, const uint8_t *ukey,
								 uint32_t klen, const uint8_t *row, uint32_t rowlen);
extern wide_status op_merge_next(op_merge *m);

/* Sets *row to the largest row of the family below the bytes; WIDE_END if there is none.  Undone
 * operations count.  The position is lost. */
extern wide_status op_merge_row_before(op_merge *m, wide_family_id family, const uint8_t *ukey,
									   uint32_t klen, buffer *row, buffer *scratch);

/* Returns the current operation, or NULL at the end.  It may be undone or at or above the mark. */
static inline const op_stream *
op_merge_top(const op_merge *m)
{
	return m->nheap > 0 ? m->heap[0] : NULL;
}

/* Memory for copied values.  It does not move. */
typedef struct op_chunk
{
	struct op_chunk *next;
	uint8_t *data; /* malloc'd */
	uint32_t used, size;
} op_chunk;

/* The live operations of one column in key order; of its automatic puts only the newest, or all if
 * they are operands. */
typedef struct op_column
{
	wide_family_id family;
	entry *e; /* as stored; all with the same ukey */
	int n, cap;
	int newest;		  /* index of the newest automatic put; -1: none */
	buffer key;		  /* copy of the ukey, if the stream's does not stay valid */
	op_chunk *chunks; /* copies of values, the chunk in use first */
} op_column;

/* Reads the next column that has live operations below the mark; WIDE_END: there is none.
 * Overwrites the entries and the key of the column before; its copied values stay. */
extern wide_status op_merge_column_read(op_column *c, op_merge *m);

/* Makes the value of an entry a copy that lives as long as the other ones.  Returns: WIDE_NOMEM. */
extern wide_status op_merge_column_copy(op_column *c, entry *e);

/* Gives up the copied values; one chunk is used again. */
extern void op_merge_column_recycle(op_column *c);
extern void op_merge_column_free(op_column *c);

#endif /* WIDE_OP_MERGE_H */

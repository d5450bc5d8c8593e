/* op_merge.h - the operations of a batch in key order */
#ifndef WIDE_OP_MERGE_H
#define WIDE_OP_MERGE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/set/memtable.h"
#include "engine/batch/op_list.h"
#include "engine/batch/op_undone.h"
#include "engine/batch/spill_file.h"

typedef struct op_stream
{
	bool valid;
	uint8_t kind;
	wide_family_id family;
	entry e; /* as stored: the value with its floor */
	/* a list, linked or sorted */
	op_list *list;
	memtable_cursor c;
	const op_sorted *sorted;
	uint32_t unit, done;
	spill_file_cursor run;
} op_stream;

/* All of a batch's streams as one. */
typedef struct op_merge
{
	const op_undone *undone;
	op_stream *streams;
	op_stream **heap; /* the smallest first */
	int n, nheap;
	uint64_t mark; /* what comes from there on is not needed */
	bool copies;   /* some stream's bytes do not stay */
} op_merge;

/* sorted: for all that is in memory; NULL: as linked up to the mark.  Close it also after a
 * failure. */
extern wide_status op_merge_open(wide_batch *b, const op_sorted *sorted, uint64_t mark,
								 op_merge *m);
/* Of a list alone, sorted. */
extern wide_status op_merge_list(op_list *l, const op_sorted *sorted, const op_undone *undone,
								 op_merge *m);
/* Over runs alone, from one number to another. */
extern wide_status op_merge_files(wide_batch *b, int from, int to, op_merge *m);
extern void op_merge_close(op_merge *m);
extern wide_status op_merge_first(op_merge *m);
/* row (encoded): runs that do not have it are left out; NULL: all are asked */
extern wide_status op_merge_seek(op_merge *m, wide_family_id family, const uint8_t *ukey,
								 uint32_t klen, const uint8_t *row, uint32_t rowlen);
extern wide_status op_merge_next(op_merge *m);
extern wide_status op_merge_row_before(op_merge *m, wide_family_id family, const uint8_t *ukey,
									   uint32_t klen, buffer *row, buffer *scratch);

static inline const op_stream *
op_merge_top(const op_merge *m)
{
	return m->nheap > 0 ? m->heap[0] : NULL;
}

/* Bytes that were copied, in pieces that do not move. */
typedef struct op_copy
{
	struct op_copy *next;
	uint8_t *data; /* malloc'd */
	uint32_t used, size;
} op_copy;

/* The living operations of one column, in key order; of automatic puts the newest alone. */
typedef struct op_column
{
	wide_family_id family;
	entry *e; /* as stored; all with the same ukey */
	int n, cap;
	int newest;		 /* the automatic one, -1 none */
	buffer key;		 /* its ukey if the stream's does not stay */
	op_copy *pieces; /* the copied values, newest first */
} op_column;

/* The next column with any; WIDE_END.  What it had before is gone except for the pieces' bytes. */
extern wide_status op_merge_column_read(op_column *c, op_merge *m);
/* The copied bytes are not needed any more. */
extern void op_merge_column_forget(op_column *c);
extern void op_merge_column_free(op_column *c);

#endif /* WIDE_OP_MERGE_H */

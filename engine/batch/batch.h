/* batch.h - the inside of a write batch */
#ifndef WIDE_BATCH_H
#define WIDE_BATCH_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/helper.h"
#include "engine/shared/layout.h"
#include "engine/set/catalog_delta.h"
#include "engine/batch/op_list.h"
#include "engine/batch/op_undone.h"
#include "engine/batch/spill_file.h"

/* batch.c */
extern catalog_delta *batch_catalog(wide_batch *b); /* made on first use */
extern wide_db *batch_db(wide_batch *b);

/* Takes the next operation number (for catalog.c's operations). */
extern uint64_t batch_next_op(wide_batch *b);

typedef struct batch_spilled
{
	spill_file *run;
	uint64_t from, to; /* its operations are among these */
	int tier;		   /* how often they were merged */
} batch_spilled;

/* A list that a thread sorts and writes: spill.c. */
typedef struct batch_piece batch_piece;
#define BATCH_MEMORY   ((size_t) 64 << 20)
#define BATCH_PIECES   2 /* with the thread at a time */
#define BATCH_FAMILIES 32

struct wide_batch
{
	wide_db *db;
	op_list *list; /* NULL: nothing is in memory */
	size_t memory; /* for the list and pieces */
	size_t limit;  /* beyond this the list becomes a run */
	helper *aside;
	batch_piece *pieces; /* oldest first; they come after the runs and before the list */
	int npieces;
	op_list *idle[BATCH_PIECES]; /* empty ones, to be used again */
	int nidle;
	batch_spilled *runs; /* oldest first */
	int nruns, runs_cap;
	uint64_t spills; /* how often the list has been replaced */
	buffer key;		 /* the ukey of the last operation, or a payload's longest */
	buffer row;		 /* the row as given with it */
	uint32_t rowlen; /* the row's part of key; 0: not known */
	/* provisional timestamp of the row's automatic puts; INT64_MIN: not asked for yet */
	int64_t row_ts;
	wide_family_id family; /* of the last operation, while the row is the same; 0: another row */
	uint64_t nops;
	uint64_t oldest;  /* cell operation that is not undone; UINT64_MAX none */
	op_undone undone; /* there is always room for one more */
	wide_family_id families[BATCH_FAMILIES]; /* some that were written to */
	int nfamilies;
	catalog_delta *delta;
	/* prepared */
	bool prepared, finished;
	uint64_t external;
	uint64_t decided; /* set by the caller: LSN of the external commit, 0 = not told */
	bool tell_rows;	  /* it is external, */
	uint64_t rows;	  /* and this has a bit for each row written, by the row's hash */
	buffer payload;
	uint64_t need; /* bytes reserved in the memtable */
	uint64_t cells;
	bool automatic;		 /* has cells whose timestamp the commit assigns */
	int64_t loaded_ts;	 /* the one given to automatic cells in files; INT64_MIN none */
	bool awaited;		 /* not to be shown before it is durable */
	bool files_unlogged; /* set by the caller: the bytes of its files stay out of the log */
	file_meta *files;
	int nfiles;
	size_t catalog_at, catalog_len; /* in the payload */
	uint64_t first_lsn;				/* of the chunks that are logged */
	uint64_t data_start;			/* where the first of them begins */
	uint32_t nchunks;
};

/* The files that prepare has written will not be linked. */
extern void batch_discard_files(wide_batch *b);

#endif /* WIDE_BATCH_H */

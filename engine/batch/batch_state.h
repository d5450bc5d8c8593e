/*
 * batch_state.h - the inside of a write batch, for the files of this room and for commit/.
 *
 * Locking: none; a batch belongs to one process.
 */
#ifndef WIDE_BATCH_STATE_H
#define WIDE_BATCH_STATE_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/helper.h"
#include "engine/shared/layout.h"
#include "engine/set/catalog_delta.h"
#include "engine/batch/avoid.h"
#include "engine/batch/op_list.h"
#include "engine/batch/op_undone.h"
#include "engine/batch/spill_file.h"

#define BATCH_FAMILIES	 32 /* families that a batch remembers */
#define BATCH_SPILL_JOBS 2	/* lists that the helper thread has at a time */

/* Puts, deletes and catalog changes share one sequence of operation numbers. */
typedef struct batch_ops
{
	uint64_t next;							 /* number of the next operation */
	uint64_t oldest;						 /* oldest live put or delete; UINT64_MAX: none */
	uint64_t log_bytes;						 /* wide_batch_log_bytes */
	int64_t provisional;					 /* newest provisional timestamp, without floors */
	int64_t ts_min, ts_max;					 /* of all puts, provisional ones too */
	op_undone undone;						 /* there is always room for one more interval */
	op_list *list;							 /* puts and deletes in memory; NULL: none */
	wide_family_id families[BATCH_FAMILIES]; /* some of those written to */
	int nfamilies;
} batch_ops;

/* What the operations on one row share, so that it is made once. */
typedef struct batch_row
{
	buffer ukey;		   /* of the last operation; after encoding, room for the longest ukey */
	buffer row;			   /* the row of the last operation, as the caller passed it */
	uint32_t rowlen;	   /* bytes of the encoded row in ukey; 0: unknown */
	int64_t ts;			   /* provisional timestamp of the row's automatic puts; INT64_MIN: none */
	wide_family_id family; /* of the last operation; 0: the row has changed since */
} batch_row;

/* A spill file and the operations that it can contain. */
typedef struct batch_spilled
{
	spill_file *file;
	uint64_t from, to; /* operations [from, to) */
	int tier;		   /* number of merges that it has gone through */
} batch_spilled;

typedef struct spill_job spill_job; /* a list that the helper thread writes; see spill.c */

/* Spilling: see spill.c.  In order of their operations: files, jobs, ops.list. */
typedef struct batch_spill
{
	size_t memory;		  /* bytes that lists may take together */
	size_t limit;		  /* bytes of ops.list, with sorting, at which it is spilled */
	uint64_t changes;	  /* rises when the list or the files are replaced */
	batch_spilled *files; /* oldest first */
	int nfiles, files_cap;
	helper *helper;	 /* NULL: not started */
	spill_job *jobs; /* oldest first */
	int njobs;
	op_list *spare[BATCH_SPILL_JOBS]; /* empty lists for later use */
	int nspare;
} batch_spill;

/* The result of wide_batch_prepare. */
typedef struct batch_prepared
{
	buffer payload;
	uint64_t need; /* bytes reserved in the memtable */
	uint64_t cells;
	bool automatic;		  /* some timestamps are assigned when the batch is finished */
	bool avoids;		  /* some of these avoid timestamps of other puts of the batch: avoid */
	avoid_times avoid;	  /* timestamps that the commit timestamp must not be */
	int64_t files_ts;	  /* timestamp of automatic cells in the files; INT64_MIN: none */
	int64_t files_newest; /* newest timestamp assigned in the files */
	file_meta *files;	  /* sorted files of a large batch */
	int nfiles;			  /* 0: the cells are in the payload */
	uint64_t first_lsn;	  /* LSN of the payload's first chunk in the log */
	uint64_t data_start;  /* LSN at which the first chunk begins */
	uint32_t nchunks;
} batch_prepared;

/* The external transaction that a batch belongs to. */
typedef struct batch_external
{
	uint64_t id;	  /* 0: none, or not logged yet */
	uint64_t decided; /* LSN of its commit record; 0: unknown */
	bool note_rows;	  /* rows is needed */
	uint64_t rows;	  /* a bit for the hash of each row written */
} batch_external;

enum batch_phase
{
	BATCH_OPEN,
	BATCH_PREPARED,
	BATCH_FINISHED
};

struct wide_batch
{
	wide_db *db;
	enum batch_phase phase;
	bool awaited;		 /* must be durable before it is visible */
	bool for_later;		 /* it is finished by another process, which reserves memory then */
	bool files_unlogged; /* the contents of its sorted files are not logged */
	batch_ops ops;
	batch_row row;
	batch_spill spill;
	catalog_delta *delta; /* catalog changes; NULL: none so far */
	batch_prepared prepared;
	batch_external external;
};

#endif /* WIDE_BATCH_STATE_H */

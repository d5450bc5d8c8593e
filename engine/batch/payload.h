/*
 * payload.h - a batch as bytes, and the log records that carry it.
 *
 * The formats are at the top of payload.c.
 */
#ifndef WIDE_PAYLOAD_H
#define WIDE_PAYLOAD_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/shared/layout.h"
#include "engine/set/memtable.h"
#include "engine/batch/avoid.h"
#include "engine/batch/op_list.h"

/* The parts of a payload; points into its bytes. */
typedef struct payload
{
	wide_bytes catalog; /* catalog changes */
	wide_bytes files;	/* descriptions of sorted files */
	uint64_t nfiles;
	uint64_t cells; /* number of cells */
	uint64_t need;	/* bytes that they need in the memtable, at most */
	wide_bytes ops; /* the cells */
} payload;

/* Begins a payload in *b: the catalog changes and the files.
 * Returns: WIDE_NOMEM. */
extern wide_status payload_begin(buffer *b, wide_bytes catalog, const file_meta *files, int nfiles);

/*
 * Appends the cells of the batch and sets b->prepared.need, .cells, .automatic, .avoids, the
 * rows of b->external and room for the longest ukey in b->row.  sorted: the order of its list.
 * Requires: no spill files; the bytes of the cell before have to stay valid.
 * Returns: WIDE_FULL if the cells need more than max bytes of memtable; WIDE_NOMEM;
 * WIDE_INTERRUPTED.  Then nothing is appended and prepared.need is 0.
 */
extern wide_status payload_cells(wide_batch *b, const op_sorted *sorted, buffer *out, uint64_t max);

/* The same without sorting.  Returns WIDE_END if the operations did not come in key order, each on
 * another column, or the batch is spilled or too large. */
extern wide_status payload_cells_in_order(wide_batch *b, buffer *out, uint64_t max);

/* Takes a payload apart.  Returns: WIDE_CORRUPT. */
extern wide_status payload_open(wide_bytes bytes, payload *p);

/*
 * Decodes all of a payload and inserts nothing: payload_apply and catalog_apply can then
 * decode it, too.  key: see payload_apply.
 * Returns: WIDE_CORRUPT, WIDE_NOMEM.
 */
extern wide_status payload_check(const payload *p, buffer *key);

/* Returns the newest timestamp that automatic cells in the payload's files got; INT64_MIN if there
 * are no files, or it is not recorded. */
extern int64_t payload_files_ts(const payload *p);

/*
 * Sets *out to the timestamps from `from` on that the payload's automatic cells avoid: those of
 * other puts of the batch in their columns.  key: for ukeys.
 * Returns: WIDE_CORRUPT, WIDE_NOMEM.
 */
extern wide_status payload_avoid(const payload *p, int64_t from, buffer *key, avoid_times *out);

/*
 * Inserts the cells at the offset `at` of the memtable; *end is the offset behind them.
 * Requires: p->need bytes there belong to the batch.  key: for ukeys; allocates nothing
 * if it has room for the longest one.
 * Returns: WIDE_CORRUPT, WIDE_NOMEM.
 */
extern wide_status payload_apply(const payload *p, memtable_handle *m, uint64_t at, uint64_t seq,
								 int64_t commit_ts, buffer *key, uint64_t *end);

enum record_kind
{
	RECORD_BATCH = 1,
	RECORD_DATA = 2,
	RECORD_FINISH = 3,
	RECORD_FILE = 4,
	RECORD_PREPARED = 5
};

/* What a PREPARED record says. */
enum record_prepared
{
	PREPARED_FIRST = 1, /* the host is about to prepare the transaction */
	PREPARED_COPY = 2,	/* it was prepared; these records replace the earlier ones */
	PREPARED_ENDED = 3	/* it has ended, and no FINISH record follows */
};

#define RECORD_FORMAT 1

/* Bytes before the contents of a record, or of all of it. */
#define RECORD_BATCH_HEAD	 16
#define RECORD_DATA_HEAD	 16
#define RECORD_FINISH_BYTES	 32
#define RECORD_FILE_HEAD	 32
#define RECORD_PREPARED_HEAD 40
#define RECORD_LOCK_BYTES	 12 /* a row lock behind that head: u64 hash, u32 table */

/* Each writes the head of a record. */
extern void payload_record_batch(uint8_t *head, int64_t commit_ts);
extern void payload_record_data(uint8_t *head, uint32_t chunk, uint64_t first_lsn);
extern void payload_record_finish(uint8_t *head, uint32_t chunks, uint64_t first_lsn,
								  int64_t commit_ts, uint64_t bytes);

/* The head of a PREPARED record, apart from its kind. */
typedef struct record_prepared_head
{
	enum record_prepared what;
	uint32_t chunks; /* DATA records of the batch */
	uint64_t first;	 /* LSN of the first of them; 0: no batch */
	uint64_t bytes;	 /* of the payload */
	uint64_t xid;
	uint32_t locks_before; /* row locks in the PREPARED records before this one */
	uint32_t locks;		   /* in all of them */
} record_prepared_head;

extern void payload_record_prepared(uint8_t *head, const record_prepared_head *h);
/* Requires: RECORD_PREPARED_HEAD bytes. */
extern void payload_read_prepared(const uint8_t *head, record_prepared_head *h);

/* total: bytes of the whole sorted file; 0: it will not be linked. */
extern void payload_record_file(uint8_t *head, uint64_t number, uint64_t offset, uint64_t total);

#endif /* WIDE_PAYLOAD_H */

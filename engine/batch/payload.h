/* payload.h - the log records of a batch */
#ifndef WIDE_PAYLOAD_H
#define WIDE_PAYLOAD_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/shared/layout.h"
#include "engine/set/memtable.h"
#include "engine/batch/op_list.h"

typedef struct payload
{
	wide_bytes catalog;
	wide_bytes files; /* encoded */
	uint64_t nfiles;
	uint64_t cells;
	uint64_t need; /* bytes in the memtable, at most */
	wide_bytes ops;
} payload;

/* The beginning of a payload: catalog changes and files. */
extern wide_status payload_begin(buffer *b, wide_bytes catalog, const file_meta *files, int nfiles,
								 size_t *catalog_at);

/* Takes apart what payload_begin and payload_cells have made. */
extern wide_status payload_open(wide_bytes bytes, payload *p);

/* The timestamp that automatic cells in its files have, INT64_MIN: there are no files or it is
 * not told. */
extern int64_t payload_loaded_ts(const payload *p);

/* The cells; stops with WIDE_FULL when they need more than max bytes of memtable. */
extern wide_status payload_cells(wide_batch *b, const op_sorted *sorted, buffer *out, uint64_t max);

/* The same without sorting, as far as they have come in order; WIDE_END: they have not. */
extern wide_status payload_cells_in_order(wide_batch *b, buffer *out, uint64_t max);

/* Insert the cells at the offset, of which p->need bytes are ours; *end is the byte after them.
 * key has room (p is our own) or grows. */
extern wide_status payload_apply(const payload *p, memtable_handle *m, uint64_t at, uint64_t seq,
								 int64_t commit_ts, buffer *key, uint64_t *end);

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
#define RECORD_FINISH_BYTES 32
#define RECORD_FILE_HEAD	32
extern void payload_record_batch(uint8_t *head, int64_t commit_ts);
extern void payload_record_data(uint8_t *head, uint32_t chunk, uint64_t first_lsn);
extern void payload_record_finish(uint8_t *head, uint32_t chunks, uint64_t first_lsn,
								  int64_t commit_ts, uint64_t bytes);

/* Bytes of a sorted file from the offset on; total: of the file. */
extern void payload_record_file(uint8_t *head, uint64_t number, uint64_t offset, uint64_t total);

#endif /* WIDE_PAYLOAD_H */

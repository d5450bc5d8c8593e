/* spill.h - writes the operations of a large batch to temporary files */
#ifndef WIDE_SPILL_H
#define WIDE_SPILL_H

#include "engine/wide.h"
#include "engine/base/tunable.h"

/* Spill files of one tier that are merged. */
TUNABLE(int, spill_fan, 16);

/* Bytes below which a list is not worth a thread. */
TUNABLE(size_t, spill_piece_least, (size_t) 1 << 20);

/* Most bytes that are reserved for a file of the helper thread. */
TUNABLE(uint64_t, spill_reserve_most, UINT64_MAX);

/* Spills the list, through the helper thread if the batch is only written to.
 * Requires: the list is not empty.
 * Returns: WIDE_NOMEM, WIDE_NOSPACE, WIDE_TEMP_LIMIT, WIDE_IO; the failure of an earlier list. */
extern wide_status spill_batch(wide_batch *b);

/* Sets the bytes that lists may take, for a new command; it may use the helper thread again. */
extern void spill_set_memory(wide_batch *b, size_t bytes);

/* Waits for all jobs, makes files of them and ends the thread.
 * Returns: the failure of a job, which stays and is tried again by the next call. */
extern wide_status spill_settle(wide_batch *b);

/* spill_settle before the batch is read; the rest of the command spills without the thread. */
extern wide_status spill_before_read(wide_batch *b);

/* Waits until the thread has no job and makes files of those that succeeded. */
extern void spill_wait(wide_batch *b);

/* Cancels all jobs, frees them and the spare lists, and ends the thread: the batch is freed. */
extern void spill_cancel(wide_batch *b);

/* Drops files and failed jobs whose operations are all at or above the mark.
 * Requires: spill_wait. */
extern void spill_drop_files(wide_batch *b, uint64_t mark);

#endif /* WIDE_SPILL_H */

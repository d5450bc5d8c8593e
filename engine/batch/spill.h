/* spill.h - writes the operations of a large batch to temporary files */
#ifndef WIDE_SPILL_H
#define WIDE_SPILL_H

#include "engine/wide.h"
#include "engine/base/tunable.h"

/* So many runs of one size are merged. */
TUNABLE(int, spill_fan, 16);

/* Bytes below which a list is not worth a thread. */
TUNABLE(size_t, spill_piece_least, (size_t) 1 << 20);

/* What is in memory becomes a run, or a piece that a thread makes one of. */
extern wide_status spill_batch(wide_batch *b);

/* How much may be in memory before that; anew for each command. */
extern void spill_set_memory(wide_batch *b, size_t bytes);

/* All pieces are runs, and the thread is gone. */
extern wide_status spill_settle(wide_batch *b);

/* The same before the batch is read; what follows in this command is spilled without a thread. */
extern wide_status spill_before_read(wide_batch *b);

/* No piece is being worked at; those that have become runs are among them. */
extern void spill_pause(wide_batch *b);

/* The end of the batch: without making runs of what is under way. */
extern void spill_drop_pieces(wide_batch *b);

/* Runs, and pieces that could not become runs, of which every operation is from the mark on go. */
extern void spill_drop_files(wide_batch *b, uint64_t mark);

#endif /* WIDE_SPILL_H */

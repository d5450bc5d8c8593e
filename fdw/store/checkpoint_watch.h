/*
 * checkpoint_watch.h
 *		Learns when the checkpointer begins a checkpoint, without polling.
 */
#ifndef WT_CHECKPOINT_WATCH_H
#define WT_CHECKPOINT_WATCH_H

/*
 * From here on to wt_checkpoint_watch_end() the beginning of a checkpoint sets this
 * process's latch.  Use of another condition variable ends the watch, too: in between
 * the process only looks at state and waits.
 */
extern void wt_checkpoint_watch_begin(void);
extern void wt_checkpoint_watch_end(void);

/*
 * Returns: true if a checkpoint is under way, or if that cannot be known.  Of a checkpoint
 * that begins after wt_checkpoint_watch_begin() the latch tells.
 */
extern bool wt_checkpoint_watch_under_way(void);

#endif /* WT_CHECKPOINT_WATCH_H */

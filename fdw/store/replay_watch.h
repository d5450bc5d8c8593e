/*
 * replay_watch.h
 *		Waits for WAL that the server replays, without polling an idle standby.
 */
#ifndef WT_REPLAY_WATCH_H
#define WT_REPLAY_WATCH_H

/*
 * In a process that follows replay and has read all that is replayed: waits for 100 ms, or, if
 * nothing has been replayed for a while, until more WAL may be, but at most due microseconds.
 * Ends at the latch as well.  Accepts no interrupts.
 */
extern void wt_replay_watch_wait(int64 due);

/* Frees what the waits need. */
extern void wt_replay_watch_end(void);

#endif /* WT_REPLAY_WATCH_H */

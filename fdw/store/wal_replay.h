/*
 * wal_replay.h
 *		The engine's log: replays WAL into the store.
 */
#ifndef WT_WAL_REPLAY_H
#define WT_WAL_REPLAY_H

#include "access/xlogdefs.h"

#include "engine/wide.h"

/* The functions replay and read of the engine's log; ctx points to the handle of the store. */
extern wide_status wt_wal_replay(void *ctx, uint64_t from, wide_replay_fn fn, void *arg);
extern wide_status wt_wal_replay_read(void *ctx, uint64_t from, uint64_t to, wide_replay_fn fn,
									  void *arg);

/* Has fn called when a replay begins to follow WAL: the store is there, and what it needs of WAL is
 * kept.  It may raise an error. */
extern void wt_wal_replay_on_follow(void (*fn)(void));

/* Returns: true if the last replay skipped missing WAL (widetable.ignore_missing_wal). */
extern bool wt_wal_replay_skipped(void);

/* Returns: where the last replay met the beginning of another store, and failed; else 0. */
extern XLogRecPtr wt_wal_replay_begun_again(void);

/*
 * Looks for the beginning of a store in WAL from there on, up to its end or, in recovery, to the
 * promotion.  Calls on_other once if a record of another store precedes it.
 * Returns: where the store begins; 0: none does.  May raise an error.
 */
extern XLogRecPtr wt_wal_replay_await_beginning(XLogRecPtr from, void (*on_other)(void));

#endif /* WT_WAL_REPLAY_H */

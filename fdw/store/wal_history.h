/*
 * wal_history.h
 *		Timelines of PostgreSQL's WAL.
 */
#ifndef WT_WAL_HISTORY_H
#define WT_WAL_HISTORY_H

#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

/*
 * Returns: the position up to which the timeline is part of the history; invalid: without end.
 * That is not always what its entry in the history says: after a recovery to a point before an
 * earlier recovery ended, a later timeline begins before that.
 */
extern XLogRecPtr wt_wal_history_end(TimeLineID tli, List *history);

/* Returns: the timeline that this server writes, or replays. */
extern TimeLineID wt_wal_history_timeline(void);

/*
 * Returns: true if the record at lsn of timeline tli (0: not known), which ends at end, is in this
 * server's WAL; otherwise why says why not.  May raise an error.
 */
extern bool wt_wal_history_contains(TimeLineID tli, XLogRecPtr lsn, XLogRecPtr end, char *why,
									size_t size);

/* Returns: true if the segment is there, of whatever timeline. */
extern bool wt_wal_history_has_segment(XLogSegNo segno);

/* Returns: true if all WAL from there on is still there. */
extern bool wt_wal_history_has(XLogRecPtr from);

#endif /* WT_WAL_HISTORY_H */

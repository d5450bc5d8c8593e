/*
 * wal_reader.h
 *		Reads the records of this server's WAL, also of WAL that it replays at the moment.
 */
#ifndef WT_WAL_READER_H
#define WT_WAL_READER_H

#include "access/xlogdefs.h"
#include "access/xlogreader.h"

#include "engine/wide.h"

typedef struct WtWalReader WtWalReader;

/* Returns: the position up to which WAL can be read: in recovery, the end of the record that is
 * replayed now, or was last. */
extern XLogRecPtr wt_wal_reader_limit(void);

/* Returns: a reader of the records that begin at or after from, palloc'd.  Raises an error if there
 * is no memory. */
extern WtWalReader *wt_wal_reader_new(XLogRecPtr from);
extern void wt_wal_reader_free(WtWalReader *r);

/*
 * Reads the next record, if it begins before end.  *record: the record, valid until the next call;
 * NULL: there is none.
 * Returns: WIDE_OK; WIDE_IO leaves the reason in wt_wal_failure_text().  May raise an error.
 */
extern wide_status wt_wal_reader_next(WtWalReader *r, XLogRecPtr end, XLogReaderState **record);

/* The next call returns the last record again. */
extern void wt_wal_reader_again(WtWalReader *r);

/* Reads the segment from the file that is there now: after a failure, or an error that was caught.
 */
extern void wt_wal_reader_reopen(WtWalReader *r);

/* Returns: where the reader goes on: the end of the last record, or where it was to begin. */
extern XLogRecPtr wt_wal_reader_position(const WtWalReader *r);

#endif /* WT_WAL_READER_H */

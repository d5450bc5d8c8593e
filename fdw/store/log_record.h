/*
 * log_record.h
 *		The WAL records that carry the engine's log.
 */
#ifndef WT_LOG_RECORD_H
#define WT_LOG_RECORD_H

#include "access/xlogreader.h"
#include "datatype/timestamp.h"

#include "engine/wide.h"

/* What a WAL record is for the engine's log. */
typedef enum WtLogRecordKind
{
	WT_LOG_RECORD_NONE, /* nothing */
	WT_LOG_RECORD_PAYLOAD,
	WT_LOG_RECORD_SEAL,
	WT_LOG_RECORD_BEGIN /* a store begins, without tables; what was before it is of another one */
} WtLogRecordKind;

typedef struct WtLogRecord
{
	/* PAYLOAD only, but for time */
	wide_bytes payload;
	bool external;	/* counts only if the transaction commits whose xid the record has */
	bool forgeable; /* a logical message: any role can write it */
	/* when it was written; 0: external, or not known (forgeable) */
	TimestampTz time;
} WtLogRecord;

/*
 * Appends a record, the concatenation of parts (at most 8).  external: it belongs to
 * the caller's transaction, which has an xid.
 * Returns: its end.  Raises an error if WAL cannot be written; allocates nothing.
 */
extern XLogRecPtr wt_log_record_append(bool external, const wide_bytes *parts, int nparts);

/*
 * Seals the log: from the end of the record on, no logical message counts.  The record
 * is flushed.  Returns: its end.  May raise an error.
 */
extern XLogRecPtr wt_log_record_seal(void);

/* A new store begins at the end of this record, which is flushed.  Returns and errors: as above. */
extern XLogRecPtr wt_log_record_begin(void);

/* Returns: what the record is.  *r points into it. */
extern WtLogRecordKind wt_log_record_read(XLogReaderState *reader, WtLogRecord *r);

#endif /* WT_LOG_RECORD_H */

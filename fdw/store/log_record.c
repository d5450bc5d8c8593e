/*
 * log_record.c
 *		The WAL records that carry the engine's log.
 *
 * A record of the engine is a WAL record of type XLOG_NOOP, whose data PostgreSQL
 * ignores: in redo, in logical decoding, in every tool.  So recovery and standbys do
 * not need this library, and the record travels wherever WAL travels.
 *
 * Invariant: only code in the server can write such a record.  No function, message or
 * protocol command lets a client do it.  Replay therefore trusts what it finds, as
 * PostgreSQL's redo does.
 *
 * Layout, in doc/format.md too:
 *
 *     0  8 bytes  "widetbl1"
 *     8  u8       1 payload, 2 payload of an external transaction, 3 seal (no payload),
 *                 4 beginning of a store (no payload)
 *     9           7 zeros
 *    16  i64      when a record that belongs to no external transaction was written, in
 *                 the byte order of the machine, as PostgreSQL writes it; else 0
 *    24           payload
 *
 * The first release wrote logical messages with the prefix "widetable" instead.  Any
 * role can write these, with pg_logical_emit_message().  A store of that release still
 * needs those that it wrote itself, so they are reported as forgeable, and the engine
 * ignores them from the seal on.
 *
 * A server that still has the library of the first release knows nothing of the new
 * records: a standby would lose them without a word.  So one more logical message
 * precedes the seal, of a format that the old library refuses.
 */
#include "postgres.h"

#include "fdw/store/log_record.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_control.h"
#include "replication/message.h"
#include "utils/timestamp.h"

#include "fdw/store/compat.h"

/* The first bytes of the data. */
typedef struct Head
{
	char magic[8];
	uint8 kind; /* enum kind */
	uint8 zero[7];
	TimestampTz
		time; /* when a record that belongs to no external transaction was written; else 0 */
} Head;

enum kind
{
	KIND_PAYLOAD = 1,
	KIND_EXTERNAL,
	KIND_SEAL,
	KIND_BEGIN
};

static const char magic[8] = {'w', 'i', 'd', 'e', 't', 'b', 'l', '1'};

/* The form of the first release. */
#define OLD_PREFIX "widetable"
/* a record of format 2: the first release reads format 1 only, and opens no store behind this */
static const char old_stop[16] = {0, 2};

static XLogRecPtr
append(enum kind kind, const wide_bytes *parts, int nparts)
{
	Head head = {.kind = kind, .time = kind == KIND_EXTERNAL ? 0 : GetCurrentTimestamp()};

	memcpy(head.magic, magic, sizeof(magic));
	XLogBeginInsert();
	XLogRegisterData((char *) &head, sizeof(head));
	for (int i = 0; i < nparts; i++)
		if (parts[i].len > 0)
			XLogRegisterData((char *) parts[i].data, parts[i].len);
	return XLogInsert(RM_XLOG_ID, XLOG_NOOP);
}

XLogRecPtr
wt_log_record_append(bool external, const wide_bytes *parts, int nparts)
{
	Assert(nparts <= 8);
	Assert(!external || TransactionIdIsValid(GetCurrentTransactionIdIfAny()));
	return append(external ? KIND_EXTERNAL : KIND_PAYLOAD, parts, nparts);
}

XLogRecPtr
wt_log_record_seal(void)
{
	XLogRecPtr lsn;

	(void) wt_log_message(OLD_PREFIX, old_stop, sizeof(old_stop), false);
	lsn = append(KIND_SEAL, NULL, 0);
	XLogFlush(lsn);
	return lsn;
}

XLogRecPtr
wt_log_record_begin(void)
{
	XLogRecPtr lsn = append(KIND_BEGIN, NULL, 0);

	XLogFlush(lsn);
	return lsn;
}

static WtLogRecordKind
read_record(XLogReaderState *reader, WtLogRecord *r)
{
	const char *data = XLogRecGetData(reader);
	size_t len = XLogRecGetDataLen(reader);
	Head head;

	if ((XLogRecGetInfo(reader) & ~XLR_INFO_MASK) != XLOG_NOOP || len < sizeof(head))
		return WT_LOG_RECORD_NONE;
	memcpy(&head, data, sizeof(head));
	if (memcmp(head.magic, magic, sizeof(magic)) != 0)
		return WT_LOG_RECORD_NONE;
	if (head.kind == KIND_SEAL)
		return WT_LOG_RECORD_SEAL;
	r->time = head.time;
	if (head.kind == KIND_BEGIN)
		return WT_LOG_RECORD_BEGIN;
	/* a kind that a later release has added is refused by the engine: it is no kind of payload */
	r->payload = (wide_bytes) {(const uint8 *) data + sizeof(head), len - sizeof(head)};
	if (head.kind != KIND_PAYLOAD && head.kind != KIND_EXTERNAL)
		r->payload.len = 0;
	r->external = head.kind == KIND_EXTERNAL;
	r->forgeable = false;
	return WT_LOG_RECORD_PAYLOAD;
}

static WtLogRecordKind
read_message(XLogReaderState *reader, WtLogRecord *r)
{
	const xl_logical_message *m = (const xl_logical_message *) XLogRecGetData(reader);
	size_t len = XLogRecGetDataLen(reader);

	if ((XLogRecGetInfo(reader) & ~XLR_INFO_MASK) != XLOG_LOGICAL_MESSAGE ||
		len < SizeOfLogicalMessage + sizeof(OLD_PREFIX) || m->prefix_size != sizeof(OLD_PREFIX) ||
		m->message_size > len - SizeOfLogicalMessage - sizeof(OLD_PREFIX) ||
		memcmp(m->message, OLD_PREFIX, sizeof(OLD_PREFIX)) != 0)
		return WT_LOG_RECORD_NONE;
	r->payload = (wide_bytes) {(const uint8 *) m->message + sizeof(OLD_PREFIX), m->message_size};
	if (r->payload.len == sizeof(old_stop) &&
		memcmp(r->payload.data, old_stop, sizeof(old_stop)) == 0)
		return WT_LOG_RECORD_NONE;
	r->external = m->transactional;
	r->forgeable = true;
	r->time = 0;
	return WT_LOG_RECORD_PAYLOAD;
}

WtLogRecordKind
wt_log_record_read(XLogReaderState *reader, WtLogRecord *r)
{
	switch (XLogRecGetRmid(reader))
	{
		case RM_XLOG_ID:
			return read_record(reader, r);
		case RM_LOGICALMSG_ID:
			return read_message(reader, r);
		default:
			return WT_LOG_RECORD_NONE;
	}
}

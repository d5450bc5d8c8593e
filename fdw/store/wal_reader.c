/*
 * wal_reader.c
 *		Reads the records of this server's WAL, also of WAL that it replays at the moment.
 *
 * In recovery the reader does not stop behind the last record that was replayed, as
 * PostgreSQL's own functions do, but behind the one that is replayed now.  Its effects may
 * be visible already, and its replay may take long: it waits for conflicting queries.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/store/wal_reader.h"

#include "access/timeline.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "access/xlogutils.h"

#include "fdw/store/wal_failure.h"
#include "fdw/store/wal_history.h"

struct WtWalReader
{
	XLogReaderState *state;
	XLogRecPtr next; /* where it goes on */
	bool begun;		 /* the state has a position */
	bool end_of_wal; /* the last page could not be read because it is not there yet */
};

/* Returns: the position up to which WAL can be read, and the timeline there. */
static XLogRecPtr
limit_on(TimeLineID *tli)
{
	XLogRecPtr end;

	if (!RecoveryInProgress())
		return GetFlushRecPtr(tli);
	end = GetCurrentReplayRecPtr(tli);
	/* no record has been replayed yet */
	return *tli != 0 ? end : GetXLogReplayRecPtr(tli);
}

XLogRecPtr
wt_wal_reader_limit(void)
{
	TimeLineID tli;

	return limit_on(&tli);
}

/*
 * Sets how far the timeline that the reader is on is part of the history of the present one.
 * PostgreSQL takes that from the entry in the history; see wt_wal_history_end().
 */
static void
correct_end_of_timeline(XLogReaderState *state, TimeLineID present)
{
	/* found by the last call that looked at the history */
	static TimeLineID tli, now;
	static XLogRecPtr until;

	if (XLogRecPtrIsInvalid(state->currTLIValidUntil) ||
		(state->currTLIValidUntil == until && state->currTLI == tli && now == present))
		return;
	tli = state->currTLI;
	now = present;
	{
		List *history = readTimeLineHistory(now);

		state->currTLIValidUntil = until = wt_wal_history_end(tli, history);
		list_free_deep(history);
	}
}

/* Reads a page of WAL: a callback of PostgreSQL's reader.  Returns: bytes read, or -1. */
static int
read_page(XLogReaderState *state, XLogRecPtr page, int len, XLogRecPtr record, char *buffer)
{
	WtWalReader *r = state->private_data;
	TimeLineID tli;
	XLogRecPtr end = limit_on(&tli);
	WALReadError e;
	int n = XLOG_BLCKSZ;

	XLogReadDetermineTimeline(state, page, len, tli);
	correct_end_of_timeline(state, tli);
	r->end_of_wal = state->currTLI == tli && page + len > end;
	if (state->currTLI != tli)
	{
		/* an older timeline, all of which is there */
		tli = state->currTLI;
		end = state->currTLIValidUntil;
	}
	if (page + len > end)
		return -1;
	if (page + XLOG_BLCKSZ > end)
		n = (int) (end - page);
	if (!WALRead(state, buffer, page, n, tli, &e))
		WALReadRaiseError(&e);
	return n;
}

/* Gives the reader a new state. */
static void
allocate(WtWalReader *r)
{
	r->begun = false;
	r->state = XLogReaderAllocate(wal_segment_size, NULL,
								  XL_ROUTINE(.page_read = &read_page,
											 .segment_open = &wal_segment_open,
											 .segment_close = &wal_segment_close),
								  r);
	if (r->state == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
}

WtWalReader *
wt_wal_reader_new(XLogRecPtr from)
{
	WtWalReader *r = palloc0(sizeof(WtWalReader));

	r->next = from;
	allocate(r);
	return r;
}

void
wt_wal_reader_free(WtWalReader *r)
{
	XLogReaderFree(r->state);
	pfree(r);
}

void
wt_wal_reader_reopen(WtWalReader *r)
{
	XLogReaderFree(r->state);
	allocate(r);
}

/* Positions the reader at the first record at or after from, if there is one. */
static wide_status
find_first(WtWalReader *r)
{
	r->begun = !XLogRecPtrIsInvalid(XLogFindNextRecord(r->state, r->next));
	/* no error at the end of WAL: no record begins at or after from yet */
	if (r->begun || r->end_of_wal)
		return WIDE_OK;
	wt_wal_failure_set("could not read WAL from %X/%X", LSN_FORMAT_ARGS(r->next));
	return WIDE_IO;
}

wide_status
wt_wal_reader_next(WtWalReader *r, XLogRecPtr end, XLogReaderState **record)
{
	char *err = NULL;

	*record = NULL;
	r->end_of_wal = false;
	if (!r->begun)
	{
		wide_status st = r->next < end ? find_first(r) : WIDE_OK;

		if (st != WIDE_OK || !r->begun)
			return st;
	}
	if (r->next >= end)
		return WIDE_OK;
	if (XLogReadRecord(r->state, &err) != NULL)
	{
		r->next = r->state->EndRecPtr;
		*record = r->state;
		return WIDE_OK;
	}
	if (err == NULL && r->end_of_wal)
		return WIDE_OK;
	wt_wal_failure_set("could not read WAL at %X/%X: %s", LSN_FORMAT_ARGS(r->state->EndRecPtr),
					   err != NULL ? err : "an older timeline ends there");
	return WIDE_IO;
}

void
wt_wal_reader_again(WtWalReader *r)
{
	r->next = r->state->ReadRecPtr;
	XLogBeginRead(r->state, r->next);
}

XLogRecPtr
wt_wal_reader_position(const WtWalReader *r)
{
	return r->next;
}

/*
 * wait_event.c
 *		The events' names, and what stands for them before PostgreSQL 17.
 */
#include "postgres.h"

#include "fdw/store/wait_event.h"

#include "fdw/store/compat.h"

/* An event.  before: the event of servers that know no names. */
static const struct
{
	const char *name;
	uint32 before;
} events[WT_WAIT_COUNT] = {
	[WIDE_WAIT_NONE] = {NULL, 0},
	[WIDE_WAIT_MEMORY] = {"WidetableMemtableRoom", PG_WAIT_EXTENSION},
	[WIDE_WAIT_PACE] = {"WidetableWritePace", PG_WAIT_EXTENSION},
	[WIDE_WAIT_WORK] = {"WidetableCompaction", PG_WAIT_EXTENSION},
	[WIDE_WAIT_FLUSH] = {"WidetableFlush", PG_WAIT_EXTENSION},
	[WIDE_WAIT_LOG] = {"WidetableLog", PG_WAIT_EXTENSION},
	[WIDE_WAIT_PUBLISH] = {"WidetablePublish", PG_WAIT_EXTENSION},
	[WIDE_WAIT_SNAPSHOT] = {"WidetableSnapshot", PG_WAIT_EXTENSION},
	[WIDE_WAIT_MANIFEST] = {"WidetableManifest", PG_WAIT_EXTENSION},
	[WIDE_WAIT_READ] = {"WidetableFileRead", WAIT_EVENT_DATA_FILE_READ},
	[WIDE_WAIT_SYNC] = {"WidetableFileSync", WAIT_EVENT_DATA_FILE_SYNC},
	[WIDE_WAIT_FOLLOW] = {"WidetableFollow", PG_WAIT_EXTENSION},
	[WT_WAIT_ROW_LOCK] = {"WidetableRowLock", PG_WAIT_EXTENSION},
	[WT_WAIT_OPEN] = {"WidetableOpen", PG_WAIT_EXTENSION},
	[WT_WAIT_WAL] = {"WidetableReplay", PG_WAIT_EXTENSION},
	[WT_WAIT_REMOTE] = {"WidetableRemote", PG_WAIT_EXTENSION},
	[WT_WAIT_TEMP_FILE] = {"WidetableTempFile", WAIT_EVENT_BUFFILE_WRITE},
};

/* 0: not registered yet */
static uint32 ids[WT_WAIT_COUNT];

void
wt_wait_event_init(void)
{
	for (int i = 0; i < WT_WAIT_COUNT; i++)
		if (events[i].name != NULL && ids[i] == 0)
			ids[i] = wt_new_wait_event(events[i].name, events[i].before);
}

uint32
wt_wait_event(int wait)
{
	return ids[wait] != 0 ? ids[wait] : events[wait].before;
}

/*
 * wait_event.h
 *		What pg_stat_activity shows while a process waits for widetable.
 *
 * From PostgreSQL 17 on the events of class Extension have names.  Before, the class has
 * one event; waits that PostgreSQL has an event of its own for show that one.  The idle
 * loops of keeper and worker show, on all versions, the events of the class Activity of the
 * server's processes that do the like: an extension cannot add events to that class.
 */
#ifndef WT_WAIT_EVENT_H
#define WT_WAIT_EVENT_H

#include "utils/wait_event.h"

#include "engine/wide.h"

#define WT_WAIT_WORKER_IDLE WAIT_EVENT_BGWRITER_MAIN
#define WT_WAIT_KEEPER_IDLE WAIT_EVENT_CHECKPOINTER_MAIN

/* Waits of the extension itself */
typedef enum WtWait
{
	WT_WAIT_ROW_LOCK = WIDE_WAIT_COUNT, /* for the end of a transaction that is about to end */
	WT_WAIT_OPEN,						/* for the process that opens the store */
	WT_WAIT_WAL,						/* for WAL that replay follows, or holds back */
	WT_WAIT_TEMP_FILE,					/* for a temporary file to be extended */
	WT_WAIT_REMOTE,						/* for another engine's servers */
	WT_WAIT_COUNT
} WtWait;

/* Registers the names.  Requires: shared memory exists.  May raise errors. */
extern void wt_wait_event_init(void);

/* Returns: the event for a wide_wait or WtWait.  Raises no error. */
extern uint32 wt_wait_event(int wait);

#endif /* WT_WAIT_EVENT_H */

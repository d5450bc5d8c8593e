/*
 * event_trigger.h
 *		CREATE, ALTER and DROP FOREIGN TABLE.
 */
#ifndef WT_EVENT_TRIGGER_H
#define WT_EVENT_TRIGGER_H

/* Installs the hook on dropped objects. */
extern void wt_event_trigger_init(void);

#endif /* WT_EVENT_TRIGGER_H */

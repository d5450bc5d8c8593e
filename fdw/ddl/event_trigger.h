/*
 * event_trigger.h
 *		CREATE, ALTER and DROP FOREIGN TABLE.
 */
#ifndef WT_EVENT_TRIGGER_H
#define WT_EVENT_TRIGGER_H

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

/* Installs the hook on dropped objects. */
extern void wt_event_trigger_init(void);

/*
 * Sets what is called: start before a command that drops something, or defines a table or a schema,
 * with its statement, or NULL if that is not known; at the end of a command that defines foreign
 * tables, names before their definitions are parsed, with the oids of all of them, and defined
 * after the stored table of each agrees with it.  Other relations may be among the oids.
 */
extern void wt_event_trigger_on_define(void (*start)(const Node *stmt), void (*names)(List *relids),
									   void (*defined)(Oid relid));

#endif /* WT_EVENT_TRIGGER_H */

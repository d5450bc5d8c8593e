/* process.h - process slots: attaching processes, detecting dead ones */
#ifndef WIDE_PROCESS_H
#define WIDE_PROCESS_H

#include "engine/wide.h"

/* Free the slots of dead processes; poison when one died inside something. */
extern void process_sweep(wide_db *db);

/* Takes a free slot, or that of a dead process.  Returns false if there is none, or the store is
 * poisoned. */
extern bool process_attach(wide_db *db);
/* Gives this process's slot back; harmless without one. */
extern void process_detach(wide_db *db);

#endif /* WIDE_PROCESS_H */

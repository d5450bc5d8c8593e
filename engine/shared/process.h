/* process.h - process slots: attaching, and cleaning up after dead processes */
#ifndef WIDE_PROCESS_H
#define WIDE_PROCESS_H

#include "engine/wide.h"

/* Frees the slots of dead processes; poisons the segment if a death left something half done. */
extern void process_sweep(wide_db *db);

/* Takes a free slot, or that of a dead process.  Returns false if there is none or the segment is
 * poisoned. */
extern bool process_attach(wide_db *db);
/* Frees this process's slot; does nothing without one. */
extern void process_detach(wide_db *db);

#endif /* WIDE_PROCESS_H */

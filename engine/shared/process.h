/* process.h - process slots */
#ifndef WIDE_PROCESS_H
#define WIDE_PROCESS_H

#include "engine/wide.h"

/* Takes a free slot.  Returns false if there is none. */
extern bool process_attach(wide_db *db);
/* Clears and frees this process's slot; does nothing without one. */
extern void process_detach(wide_db *db);

#endif /* WIDE_PROCESS_H */

/* flush.h - a memtable becomes level-0 files */
#ifndef WIDE_FLUSH_H
#define WIDE_FLUSH_H

#include "engine/wide.h"

/* scheduler.c */
extern wide_status flush_one(wide_db *db);	/* oldest immutable memtable; WIDE_END when none; WIDE_BUSY when another process does it */

#endif							/* WIDE_FLUSH_H */

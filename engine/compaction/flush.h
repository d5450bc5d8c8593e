/* flush.h - a memtable becomes level-0 files */
#ifndef WIDE_FLUSH_H
#define WIDE_FLUSH_H

#include "engine/wide.h"

/* scheduler.c */
/* oldest immutable memtable; WIDE_END when none; WIDE_BUSY when another process does it */
extern wide_status flush_one(wide_db *db);

#endif /* WIDE_FLUSH_H */

/* collect.h - removes files and memtables that nothing needs any more */
#ifndef WIDE_COLLECT_H
#define WIDE_COLLECT_H

#include "engine/wide.h"

/* Unlink files that nobody needs any more; free memtables likewise. Only under the gc duty:
 * never after poison. */
extern wide_status collect_garbage(wide_db *db, bool *did);

#endif /* WIDE_COLLECT_H */

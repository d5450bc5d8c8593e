/* recovery.h - opens a store after a start or a crash */
#ifndef WIDE_RECOVERY_H
#define WIDE_RECOVERY_H

#include "engine/wide.h"

/* After replay: delete files in the directory that the set does not list. */
extern wide_status recovery_remove_orphans(wide_db *db);

#endif /* WIDE_RECOVERY_H */

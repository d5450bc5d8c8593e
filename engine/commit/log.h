/* log.h - a log in a file of its own */
#ifndef WIDE_LOG_H
#define WIDE_LOG_H

#include "engine/wide.h"

/* What the processes that use the log share. */
typedef struct file_log_shared file_log_shared;

/* Maps it, for this process and its children; NULL if there is no memory. */
extern file_log_shared *file_log_map(void);
/* Makes it as new, which a new segment needs.  Requires: no process uses the log. */
extern void file_log_reset(file_log_shared *a);
extern void file_log_unmap(file_log_shared *a);

#endif /* WIDE_LOG_H */

/* file_log.h - a log in files of its own: batches made durable without PostgreSQL */
#ifndef HOST_FILE_LOG_H
#define HOST_FILE_LOG_H

#include "engine/wide.h"

/* What the processes that use one log share. */
typedef struct file_log_shared file_log_shared;

/* Maps it, for this process and its children; NULL if there is no memory. */
extern file_log_shared *file_log_map(void);
/* Makes it as new, which a new segment needs.  Requires: no process uses the log. */
extern void file_log_reset(file_log_shared *a);
extern void file_log_unmap(file_log_shared *a);

/*
 * Opens the log whose files log.NNNNNNNN are in dir; makes dir and the first
 * file if they do not exist.  A log that existed must be replayed before it is
 * appended to.  os NULL: real system calls.  Once segment is poisoned, the log
 * refuses everything with WIDE_POISONED.
 */
extern wide_status file_log_open(const char *dir, file_log_shared *shared, const void *segment,
								 struct wide_os *os, wide_log *out);
extern void file_log_close(wide_log *log);

/* The transaction id that this process's external records get from now on. */
extern void file_log_set_xid(wide_log *log, uint64_t xid);
/* Appends the record of an external transaction's end. */
extern wide_status file_log_decide(wide_log *log, uint64_t xid, bool commit);
/* From this size on, a file is followed by the next one (64 MiB). */
extern void file_log_set_file_bytes(wide_log *log, uint64_t bytes);

#endif /* HOST_FILE_LOG_H */

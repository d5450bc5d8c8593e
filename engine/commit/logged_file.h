/* logged_file.h - the sorted files of large batches, written again from the log */
#ifndef WIDE_LOGGED_FILE_H
#define WIDE_LOGGED_FILE_H

#include "engine/wide.h"
#include "engine/commit/parked.h"

/* Takes a FILE record: writes its bytes.  Errors: WIDE_CORRUPT, WIDE_IO, WIDE_NOSPACE, WIDE_NOMEM.
 */
extern wide_status logged_file_record(wide_db *db, const wide_replay_event *ev);

/* Removes a parked file that no batch will link. */
extern void logged_file_drop(wide_db *db, parked *r);

#endif /* WIDE_LOGGED_FILE_H */

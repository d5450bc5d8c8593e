/* file_set_load.h - reads the set of files from the manifest when a store is opened */
#ifndef WIDE_FILE_SET_LOAD_H
#define WIDE_FILE_SET_LOAD_H

#include "engine/wide.h"

/*
 * Reads the manifest that CURRENT names into the segment; makes a new store if there
 * is none.
 * Requires: recovery, so that no other process uses the store.
 * Returns: WIDE_OK; WIDE_CORRUPT if the manifest or a file is missing or damaged;
 * WIDE_CONFLICT if the store belongs to another log; WIDE_FULL if it has more files
 * than max_files; or the status of what has failed.
 */
extern wide_status file_set_load(wide_db *db);

/* Reads it as file_set_load does, and changes nothing: for checks of a store that is not in use.
 * Returns: WIDE_NOTFOUND if there is no store. */
extern wide_status file_set_load_read_only(wide_db *db);

#endif /* WIDE_FILE_SET_LOAD_H */

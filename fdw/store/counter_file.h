/*
 * counter_file.h
 *		The file that carries the engine's counters over a restart.
 */
#ifndef WT_COUNTER_FILE_H
#define WT_COUNTER_FILE_H

#include "engine/wide.h"

/* Reads the file into a new segment and removes it.  Without a good one the counters begin at 0.
 * Raises no error. */
extern void wt_counter_file_load(wide_db *db);

/* Removes a file that a keeper has left which ended while the server went on. */
extern void wt_counter_file_remove(void);

/* Writes the file; what cannot be written is lost, with a line in the log.  Raises no error. */
extern void wt_counter_file_save(wide_db *db);

#endif /* WT_COUNTER_FILE_H */

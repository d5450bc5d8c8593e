/*
 * temp_file.h
 *		The engine's temporary files as temporary files of PostgreSQL.
 */
#ifndef WT_TEMP_FILE_H
#define WT_TEMP_FILE_H

#include "engine/wide.h"

/*
 * Reads the setting temp_tablespaces, which the engine must not do.
 * Requires: called in a transaction before it writes to wide tables.
 */
extern void wt_temp_file_prepare(void);

/* Sets the host's callbacks for temporary files. */
extern void wt_temp_file_fill(wide_host *host);

#endif /* WT_TEMP_FILE_H */

/* file_set_load.h - reads the manifest into the segment when a store is opened */
#ifndef WIDE_FILE_SET_LOAD_H
#define WIDE_FILE_SET_LOAD_H

#include "engine/wide.h"

/* file_set_load.c: read CURRENT and the manifest into the segment; make a new store when absent. */
extern wide_status file_set_load(wide_db *db);

#endif /* WIDE_FILE_SET_LOAD_H */

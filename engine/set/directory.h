/* directory.h - the names of the store's directory, and of that of its sorted files */
#ifndef WIDE_DIRECTORY_H
#define WIDE_DIRECTORY_H

#include "engine/wide.h"
#include "engine/base/buffer.h"

/* Zero-filled is empty.  The owner frees it with directory_free. */
typedef struct directory
{
	buffer files;	   /* uint64_t: numbers of sorted files, ascending */
	buffer unfinished; /* uint64_t: numbers of sorted files with a temporary name (.sst.tmp) */
	buffer manifests;  /* uint64_t: numbers of manifests and of their copies */
	wide_status st;	   /* of reading; internal */
} directory;

/* Reads the names.  Returns: WIDE_OK, WIDE_NOMEM or WIDE_IO; d is to be freed after a failure, too.
 */
extern wide_status directory_read(wide_db *db, directory *d);
extern void directory_free(directory *d);

/* Returns true if there is a sorted file with this number. */
extern bool directory_has(const directory *d, uint64_t number);

#endif /* WIDE_DIRECTORY_H */

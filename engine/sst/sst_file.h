/* sst_file.h - names, constants and durability of sorted files (doc/format.md has the format) */
#ifndef WIDE_SST_FILE_H
#define WIDE_SST_FILE_H

#include "engine/wide.h"
#include "engine/base/key.h"

#define SST_MAGIC	0x3174737365646977ull /* "widesst1" */
#define SST_VERSION 2
#define SST_FOOTER	64 /* bytes */
#define SST_TRAILER 13 /* bytes behind the payload of every block */

#define SST_PATH (sizeof(((wide_db *) 0)->dir) + 32) /* bytes for the path of a file */

/* The most bytes of an uncompressed block: one entry, and what the block needs around it. */
#define SST_BLOCK_MAX ((uint64_t) WIDE_MAX_VALUE + KEY_UKEY_MAX + 4096)
#define SST_CACHE_MAX (1024 * 1024) /* larger blocks are not put into the block cache */

/* Where a block lies in its file. */
typedef struct sst_handle
{
	uint64_t off;
	uint32_t len;  /* of the payload, without trailer */
	uint64_t rows; /* in an index entry: rows of the partition that begin up to the block's end */
} sst_handle;

/* Returns the seed of a block's checksum: equal bytes at another place have another checksum. */
static inline uint64_t
sst_file_seed(uint64_t number, uint64_t off)
{
	return number * 0x9e3779b97f4a7c15ull ^ off;
}

/* Writes the path of a file, dir/%08llx.sst, to the size bytes at path (SST_PATH is enough). */
extern void sst_file_path(wide_db *db, uint64_t number, char *path, size_t size);

/* Syncs the directory, so that files made or renamed before are found after a crash.
 * Errors: WIDE_IO and others of os_fail(). */
extern wide_status sst_file_sync_dir(wide_db *db);

/* Syncs a file that is FILE_UNSYNCED.  Errors: WIDE_NOTFOUND if there is no such file; others of
 * os_fail().  If the sync itself fails the shared segment is poisoned. */
extern wide_status sst_file_sync(wide_db *db, uint64_t number);

#endif /* WIDE_SST_FILE_H */

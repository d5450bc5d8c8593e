/* sst_file.h - names, sizes and the durability of sorted files */
#ifndef WIDE_SST_FILE_H
#define WIDE_SST_FILE_H

#include "engine/wide.h"
#include "engine/base/key.h"

/* dir/%08llx.sst */
extern void sst_file_path(wide_db *db, uint64_t number, char *path, size_t size);
extern wide_status sst_file_sync_dir(wide_db *db);
#define SST_MAGIC	0x3174737365646977ull /* "widesst1" */
#define SST_VERSION 2
#define SST_FOOTER	64 /* bytes */
#define SST_TRAILER 13 /* bytes after the payload of every block */
#define SST_PATH	(sizeof(((wide_db *) 0)->dir) + 32)

/* The largest uncompressed block: one entry, and what the block needs around it. */
#define SST_BLOCK_MAX ((uint64_t) WIDE_MAX_VALUE + KEY_UKEY_MAX + 4096)
#define SST_CACHE_MAX (1024 * 1024) /* larger blocks do not go through the shared cache */

typedef struct sst_handle
{
	uint64_t off;
	uint32_t len;  /* of the payload, without trailer */
	uint64_t rows; /* index entries: of the partition that begin up to the end of the block */
} sst_handle;

/* Equal bytes at another place or in another file have another checksum. */
static inline uint64_t
sst_file_seed(uint64_t number, uint64_t off)
{
	return number * 0x9e3779b97f4a7c15ull ^ off;
}

/* bulk.c: sync a file that is FILE_UNSYNCED; WIDE_NOTFOUND: it is gone.  When the sync fails the
 * store is poisoned. */
extern wide_status sst_file_sync(wide_db *db, uint64_t number);

#endif /* WIDE_SST_FILE_H */

/* sst_container.h - a file of the directory that several sorted files are written to */
#ifndef WIDE_SST_CONTAINER_H
#define WIDE_SST_CONTAINER_H

#include "engine/wide.h"

typedef struct sst_container sst_container;

/*
 * Begins dir/NNNNNNNN.sst.tmp.  sst_container_finish() gives it its name; the caller syncs the
 * directory before it is listed anywhere (sst_file_sync_dir).
 * Errors: WIDE_NOMEM, others of os_fail().
 */
extern wide_status sst_container_open(wide_db *db, uint64_t number, sst_container **out);

/* Appends the bytes of a whole sorted file.  *offset: where they are.  After an error all later
 * calls return the same status.  Errors: of os_fail(), WIDE_NOMEM. */
extern wide_status sst_container_add(sst_container *c, wide_bytes file, uint64_t *offset);

/* Returns the bytes of the container so far. */
extern uint64_t sst_container_bytes(const sst_container *c);
extern uint64_t sst_container_number(const sst_container *c);

/* Completes and syncs the file.  After an error it is removed.  Frees c in both cases. */
extern wide_status sst_container_finish(sst_container *c);

/* Removes the file and frees c. */
extern void sst_container_abandon(sst_container *c);

#endif /* WIDE_SST_CONTAINER_H */

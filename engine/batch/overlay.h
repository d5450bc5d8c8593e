/*
 * overlay.h - batches that a snapshot of a followed log sees although they are not in the store:
 * their external transactions have committed, and their FINISH records have not come.
 */
#ifndef WIDE_OVERLAY_H
#define WIDE_OVERLAY_H

#include "engine/wide.h"
#include "engine/shared/layout.h"
#include "engine/set/memtable.h"

typedef struct overlay overlay;

/* Returns the snapshot's overlay; NULL: it sees nothing beside the store, or is NULL. */
extern const overlay *overlay_of(const wide_snapshot *s);

/* The cells of the batches, but for those in files. */
extern const memtable_handle *overlay_cells(const overlay *o);

/* Returns the number of sorted files of the batches, and sets *files to them. */
extern int overlay_files(const overlay *o, const file_meta **files);

#endif /* WIDE_OVERLAY_H */

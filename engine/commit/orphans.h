/* orphans.h - removes files that work which did not finish has left */
#ifndef WIDE_ORPHANS_H
#define WIDE_ORPHANS_H

#include "engine/wide.h"

/*
 * Removes the files of the directories that the set does not list: sorted files, manifests,
 * temporary files.  Does nothing while the host copies them (host->files_held).  Sorted files in
 * the store's directory are left alone if they belong into another one: they are no orphans of this
 * store, but what an administrator may be about to move.
 */
extern wide_status orphans_remove(wide_db *db);

#endif /* WIDE_ORPHANS_H */

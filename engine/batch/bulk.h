/* bulk.h - sorted files made directly from a large batch */
#ifndef WIDE_BULK_H
#define WIDE_BULK_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/base/helper.h"
#include "engine/shared/layout.h"

/*
 * Entries come from next(arg, &family, &entry) in (family, key) order until
 * WIDE_END; *files is malloc'd.  Those of a family that does not exist are left
 * out: the batch that has made it has dropped it, too.  sync = false: the files
 * are marked FILE_UNSYNCED, their bytes must go into the log.
 */
typedef wide_status (*bulk_next_fn)(void *arg, wide_family_id *family, entry *e);
extern wide_status bulk_write(wide_db *db, bulk_next_fn next, void *arg, bool sync, helper *a,
							  file_meta **files, int *n);

/*
 * Append the bytes of the files to the log.  slot->prepare_lsn keeps the log from the
 * first record on; the caller takes it back once the files are linked or discarded.
 */
extern wide_status bulk_log(wide_db *db, const file_meta *files, int n);

/* In the log: the files of bulk_log will not be linked. */
extern void bulk_give_up(wide_db *db, const file_meta *files, int n);
extern void bulk_discard(wide_db *db, const file_meta *files, int n); /* unlink */

#endif /* WIDE_BULK_H */

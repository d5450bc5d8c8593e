/* row_lock.h - the table of row locks */
#ifndef WIDE_ROW_LOCK_H
#define WIDE_ROW_LOCK_H

#include "engine/wide.h"

/* public functions in wide.h; formatted here */
#define ROW_LOCK_BUCKET_BYTES 104 /* with what is behind the table */
extern void row_lock_format(void *mem, uint32_t buckets);
extern wide_status row_lock_attach(wide_db *db);
extern void row_lock_detach(wide_db *db);
/* the row locks of a dead process */
extern wide_status row_lock_sweep(wide_db *db, uint32_t slot_index);

#endif /* WIDE_ROW_LOCK_H */

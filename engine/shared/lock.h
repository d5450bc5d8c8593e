/* lock.h - the table of row locks */
#ifndef WIDE_LOCK_H
#define WIDE_LOCK_H

#include "engine/wide.h"

/* public functions in wide.h; formatted here */
#define LOCK_BUCKET_BYTES 104	/* with what is behind the table */
extern void lock_format(void *mem, uint32_t buckets);
extern wide_status lock_attach(wide_db *db);
extern void lock_detach(wide_db *db);
extern wide_status lock_sweep(wide_db *db, uint32_t slot_index);	/* the row locks of a dead process */

#endif							/* WIDE_LOCK_H */

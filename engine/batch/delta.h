/* delta.h - a transaction's changes to the catalog */
#ifndef WIDE_DELTA_H
#define WIDE_DELTA_H

#include "engine/wide.h"
#include "engine/base/buffer.h"

/*
 * Changes of a transaction to tables and families: recorded in order with the
 * batch's operation number, visible to its own look-ups, encoded into the log
 * record, applied under LOCK_CATALOG at commit and at replay.
 */
typedef struct catalog_delta catalog_delta;
extern catalog_delta *catalog_delta_new(wide_db *db);
extern void catalog_delta_free(catalog_delta *d);
extern void catalog_delta_rewind(catalog_delta *d, uint64_t mark);	/* forget operations numbered >= mark */
extern bool catalog_delta_empty(const catalog_delta *d);

/* Checks that it can be applied (names unique, room in the arrays: reserved) and encodes it. */
extern wide_status catalog_delta_encode(catalog_delta *d, buffer *out);

/* For bulk files: a family that is committed or was made by an unfinished batch of this process. */
extern bool catalog_family_any(wide_db *db, wide_family_id id, wide_family *f);

#endif							/* WIDE_DELTA_H */

/*
 * manifest.h - the bytes of the manifest.
 *
 * Requires for all functions but manifest_encode: LOCK_MANIFEST, or recovery.
 */
#ifndef WIDE_MANIFEST_H
#define WIDE_MANIFEST_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/shared/layout.h"

/* One record of the manifest. */
typedef struct manifest_edit
{
	bool snapshot; /* forget all records before it */
	const file_meta *add;
	int nadd;
	const uint64_t *remove; /* file numbers */
	int nremove;
	uint64_t flushed_seq; /* 0: unchanged; also the next three */
	uint64_t restart_lsn;
	uint64_t sealed_lsn;
	uint64_t next_file;
	int64_t last_ts; /* INT64_MIN: unchanged */
	uint64_t log_id; /* 0: not known, see wide_log.identity */
	uint32_t log_branch;
	wide_bytes catalog; /* data NULL: unchanged */
} manifest_edit;

/* Appends the payload of a record to out.  Returns: WIDE_OK or WIDE_NOMEM. */
extern wide_status manifest_encode(const manifest_edit *edit, buffer *out);

/*
 * Appends a record at set.manifest_size to the manifest, syncs it, and appends it to the copy.
 * Returns: WIDE_OK; else the record is not in force.  If the manifest was removed or the write
 * fails, the next edit has to begin a new manifest (manifest_size is UINT64_MAX then); if the sync
 * fails, the store is poisoned.
 */
extern wide_status manifest_append(wide_db *db, wide_bytes payload);

/*
 * Writes the next manifest, with this snapshot as its first record, and makes
 * CURRENT name it.  Removes the old one, unless the host holds files.
 * Returns: WIDE_OK; else the old manifest is in force, or, if that is not certain,
 * the store is poisoned.
 */
extern wide_status manifest_switch(wide_db *db, wide_bytes snapshot);

/* Reads from CURRENT the number of the manifest in force.
 * Returns: WIDE_OK, WIDE_NOTFOUND if it is missing, WIDE_CORRUPT if it is damaged, WIDE_IO. */
extern wide_status manifest_current(wide_db *db, uint64_t *number);

/*
 * Reads a manifest, each record from the manifest or from its copy.
 * Calls fn for each edit in order, until it returns other than WIDE_OK; what edit
 * points to lives until fn returns.
 * Returns: WIDE_OK; WIDE_CORRUPT if both are missing, or damaged in the same record (edits
 * before the damage have been passed to fn); what fn has
 * returned; or the status of what has failed.
 */
typedef wide_status (*manifest_fn)(void *arg, const manifest_edit *edit);
extern wide_status manifest_read(wide_db *db, uint64_t number, manifest_fn fn, void *arg);

#endif /* WIDE_MANIFEST_H */

/* manifest.h - the bytes of the manifest */
#ifndef WIDE_MANIFEST_H
#define WIDE_MANIFEST_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/shared/layout.h"

/* manifest.c: the bytes of the manifest, called by file_set.c under LOCK_MANIFEST */
typedef struct manifest_edit
{
	bool snapshot; /* begins anew: forget all before it */
	const file_meta *add;
	int nadd;
	const uint64_t *remove;
	int nremove;
	uint64_t flushed_seq; /* 0 = unchanged, like the next two */
	uint64_t restart_lsn;
	uint64_t next_file;
	bool has_last_ts;
	int64_t last_ts;
	uint64_t log_id; /* 0 = not known, see wide_log.identity */
	uint32_t log_branch;
	wide_bytes catalog; /* data NULL: unchanged */
} manifest_edit;

extern wide_status manifest_encode(const manifest_edit *edit, buffer *out);

/* Appends one record at set.manifest_size and syncs; poisons when it fails after the first byte
 * may have been written. */
extern wide_status manifest_append(wide_db *db, wide_bytes payload);

/* Writes the next manifest file with this snapshot as its first record and makes it CURRENT. */
extern wide_status manifest_switch(wide_db *db, wide_bytes snapshot);

/* The number of the manifest that CURRENT names; WIDE_NOTFOUND: the store is new. */
extern wide_status manifest_current(wide_db *db, uint64_t *number);

/* Calls fn for each edit in order, until one gives other than WIDE_OK; a file that is missing or
 * of no use is WIDE_CORRUPT. */
typedef wide_status (*manifest_fn)(void *arg, const manifest_edit *edit);
extern wide_status manifest_read(wide_db *db, uint64_t number, manifest_fn fn, void *arg);

#endif /* WIDE_MANIFEST_H */

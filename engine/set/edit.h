/* edit.h - changes of the set of files, made durable in the manifest */
#ifndef WIDE_EDIT_H
#define WIDE_EDIT_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/*
 * An atomic change: files added and removed, the log no longer needed before
 * restart_lsn, all batches <= flushed_seq in files, memtables done.  Written
 * to the manifest and synced, then shown in the segment.  Also lists files that
 * batches have linked meanwhile, and the catalog when it is dirty.  A failure
 * of the sync poisons.
 */
typedef struct version_edit
{
	const file_meta *add;
	int nadd;
	const uint64_t *remove; /* file numbers */
	int nremove;
	uint64_t flushed_seq; /* 0 = unchanged */
	uint64_t restart_lsn; /* 0 = unchanged */
	int memtable;		  /* index of the memtable that the added files replace, -1 none */
} version_edit;

extern wide_status edit_apply(wide_db *db, const version_edit *edit);

#endif /* WIDE_EDIT_H */

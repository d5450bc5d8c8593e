/* edit.h - changes of the set of files, made durable in the manifest and then shown */
#ifndef WIDE_EDIT_H
#define WIDE_EDIT_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* One atomic change of the set of files. */
typedef struct version_edit
{
	const file_meta *add; /* synced files */
	int nadd;
	const uint64_t *remove; /* numbers of files; a file that is added too only changes its level */
	int nremove;
	uint64_t flushed_seq; /* all batches up to here are in files; 0: unchanged */
	uint64_t restart_lsn; /* the log is not needed before this; 0: unchanged */
	int memtable;		  /* index of the memtable that the added files replace; -1: none */
} version_edit;

/*
 * Writes the edit to the manifest, syncs it, and then shows it in the segment.  Also
 * lists the files that batches have linked since the last edit, and the catalog if
 * it has changed.
 * Requires: no lock of the segment is held.
 * Returns: WIDE_OK; WIDE_FULL if the table of files is full; WIDE_BUSY if a file to be removed is
 * not in the set any more, and not because its family was dropped; or the status of what
 * has failed.  Then the edit is not in force, or, if it is unknown whether the disk
 * has it, the store is poisoned.
 */
extern wide_status edit_apply(wide_db *db, const version_edit *edit);

#endif /* WIDE_EDIT_H */

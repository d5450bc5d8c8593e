/*
 * state_file.h
 *		The state file: what this cluster knows about its store without opening it.
 *
 * The file "widetable.state" is in the data directory, beside the store's directory: it is
 * still there when that is not.
 */
#ifndef WT_STATE_FILE_H
#define WT_STATE_FILE_H

#include "access/xlogdefs.h"

#define WT_STATE_FILE "widetable.state"

typedef enum WtStoreState
{
	WT_STATE_NONE,		/* there was no store, or one of the first release, which has no file */
	WT_STATE_BEGINNING, /* a store is being made; what the directory has counts for nothing */
	WT_STATE_OPEN,		/* there is a store, and processes may write it */
	WT_STATE_CLOSED,	/* there is a store, and its files have everything */
	WT_STATE_RESTING	/* closed, and it has no tables */
} WtStoreState;

typedef struct WtStateFile
{
	WtStoreState state;
	bool intended; /* NONE: a beginning was interrupted; a replication slot may be left over */
	TimeLineID timeline; /* CLOSED, RESTING: where it was closed */
	XLogRecPtr begun;	 /* end of the log record with which the store begins; 0: not known */

	/*
	 * WAL from complete up to resume has no record of the store.  complete is 0 if the store was
	 * never closed; resume is 0 in CLOSED and RESTING: the present end of WAL.
	 */
	XLogRecPtr complete;
	XLogRecPtr resume;
} WtStateFile;

/* Fills in *s.  A file that cannot be read or is damaged counts as OPEN, and says nothing else. */
extern void wt_state_file_read(WtStateFile *s);

/*
 * Writes the file durably.
 * Requires: this process opens or closes the store (WtAnchor.opener), or is the startup process.
 * Errors: those of the file system, with their SQLSTATEs.
 */
extern void wt_state_file_write(const WtStateFile *s);

/* Removes the file durably.  Requires and Errors: as wt_state_file_write(). */
extern void wt_state_file_remove(void);

/* Returns: true if the file says that there is, or was, a store: its state is not NONE. */
extern bool wt_state_file_exists(void);

/* Returns: true if the directory of the store has a file of a store. */
extern bool wt_state_file_has_store(void);

/*
 * Removes the files of a store from the directory, and nothing else.
 * Requires: no process has the store open.
 * Errors: those of the file system.
 */
extern void wt_state_file_clear(const char *directory);

#endif /* WT_STATE_FILE_H */

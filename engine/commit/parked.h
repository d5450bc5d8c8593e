/*
 * parked.h - what a replay has read and cannot apply yet: batches that wait for their FINISH
 * record, and sorted files that wait for the batch that links them.
 */
#ifndef WIDE_PARKED_H
#define WIDE_PARKED_H

#include "engine/wide.h"
#include "engine/base/buffer.h"

enum parked_prepared
{
	PARKED_PLAIN,	/* no PREPARED record, or not all of them */
	PARKED_LOGGED,	/* all records are there; the host is about to prepare it */
	PARKED_PREPARED /* the host has */
};

typedef struct parked
{
	struct parked *next; /* in log order */
	bool file;
	uint64_t id;	/* LSN of the batch's first record; number of the file */
	uint64_t start; /* where the first record begins */

	/* a batch */
	uint64_t xid;	/* external transaction, 0 = none */
	bool forgeable; /* its first record is */
	bool early;		/* its catalog changes are applied */
	uint32_t nchunks;
	uint64_t committed; /* LSN of the external commit, 0 = not known */
	bool presumed;		/* by what the host says: its commit record may still come */
	int64_t time;		/* of the external commit, 0 = not known */
	int64_t commit_ts;	/* for its cells, if it were finished now (follow.c) */
	buffer data;		/* the payload so far */

	/* a transaction that the host prepares (engine/commit/prepared.h) */
	enum parked_prepared prepared;
	uint64_t end;	 /* where its last record ends */
	uint32_t nlocks; /* in all of its PREPARED records */
	buffer locks;	 /* RECORD_LOCK_BYTES for each, so far */

	/* a file */
	uint64_t done, total; /* bytes */
} parked;

/* The private state of a replay (wide_db.replay). */
struct replay
{
	parked *first;		/* in log order */
	bool gap;			/* the beginning of the log is lost */
	bool left_out;		/* a batch was beyond the host's target */
	bool waiting_moved; /* which batches have committed and wait has changed since the last
						 * wide_follow_show */
	buffer key;			/* scratch for payload_apply */
	uint64_t linked;	/* newest batch that the manifest lists as files and flushed_seq has not
						 * passed; 0: none */

	/* ignored records */
	uint64_t ignored, reported; /* their number; of these, the number that a report has counted */
	uint64_t ignored_lsn;		/* start of the first one that no report has counted */
};

/* Finds a batch or a file; NULL: there is none. */
extern parked *parked_find(wide_db *db, bool file, uint64_t id);

/*
 * Begins a batch, or a file, with this record; one of that id that is there begins again.
 * Errors: WIDE_NOMEM.
 */
extern wide_status parked_begin(wide_db *db, bool file, uint64_t id, const wide_replay_event *ev,
								parked **out);

/* Removes it from the list and frees it. */
extern void parked_remove(wide_db *db, parked *gone);

/* Frees the list when the replay has ended or breaks off; the log is still kept for what was in it.
 */
extern void parked_free_all(wide_db *db);

/* Returns WIDE_CORRUPT, with a text about the log record that ends at lsn. */
extern wide_status parked_damaged(uint64_t lsn, const char *what);

#endif /* WIDE_PARKED_H */

/*
 * work.h - what the files of background work share: work.c (jobs, what to do
 * next), flush.c (memtable to files), compact.c (files to files).  Private to
 * them and load.c.
 */
#ifndef WIDE_WORK_H
#define WIDE_WORK_H

#include "db.h"

#define WORK_SLICE 256			/* entries between two looks at host->interrupted */
#define LEVEL0_FILES 4			/* so many are worth a compaction */

/* ------------------------------------------------------------ output files */

/*
 * Files of one family being written: cut at `cut` bytes where the row changes,
 * or, a row that is too long, the column.  On level 0 of a windowed family each window
 * of time gets files of its own, as many as there are lanes; the rest shares the last.
 * Families with SET_WINDOW_FILES files get no lanes: their windows are too small.
 */
#define OUTPUT_LANES		16		/* some 2 MB of memory each */

typedef struct output
{
	wide_db    *db;
	wide_family family;
	int			level;
	bool		global;
	bool		unsynced;
	aside	   *aside;			/* NULL: what writes the files does all of it itself */
	uint64_t	cut;
	bool		whole;			/* without regard to windows */
	sst_writer *w;
	buffer		files;			/* file_meta of finished files */
	uint64_t	bytes;			/* of them */
	struct output *lanes;		/* windowed families: where the entries go */
	int			nlanes;
	int			lane;			/* of the last entry */
	int64_t		window;			/* of a lane */
} output;

/* Number of the window that a timestamp is in; deletes without one are apart from all. */
static inline int64_t
window_number(int64_t ts, int64_t window)
{
	if (ts == WIDE_TS_MAX)
		return INT64_MAX;
	return ts >= 0 ? ts / window : -1 - (-1 - ts) / window;
}

extern wide_status output_emit(void *arg, const entry *e);	/* a view_emit_fn */
extern wide_status output_finish(output *o);	/* the files under way */
extern uint64_t output_bytes(const output *o);	/* written so far */
extern void output_discard(output *o);	/* unlink all, free */
static inline int output_count(const output *o) { return (int) (o->files.len / sizeof(file_meta)); }
static inline const file_meta *output_files(const output *o) { return (const file_meta *) o->files.data; }

/* -------------------------------------------------------------------- jobs */

enum job_kind { JOB_FLUSH = 0, JOB_COMPACT = 1 };

/* WIDE_BUSY: a living process does this already (any flush; a compaction of the family). */
extern wide_status job_begin(wide_db *db, enum job_kind kind, wide_family_id family, int *job);
extern void job_plan(wide_db *db, int job, int from, int to, uint64_t total);
extern void job_progress(wide_db *db, int job, uint64_t done, uint64_t out);
/* ok = false and nothing written: the slot is simply free again when quiet */
extern void job_end(wide_db *db, int job, wide_status st, bool quiet);

/* -------------------------------------------------------------- compaction */

/* What counts as a reason for a job. */
enum compact_mode
{
	COMPACT_DUE,				/* levels over their limits, expired files */
	COMPACT_REST,				/* also space that may be of no use: space.c */
	COMPACT_ALL					/* everything into the bottom level */
};
/* One job of the family; WIDE_END: nothing to do. */
extern wide_status compact_family(wide_db *db, wide_family_id family, enum compact_mode mode);
extern uint64_t level_target(int level);
/* Every entry <= flushed_seq of this file is in it and the log is not going to link it again. */
static inline bool file_settled(const file_meta *f, uint64_t flushed_seq) { return f->global_seq <= flushed_seq; }
/* All its cells have outlived the family's ttl. */
static inline bool
file_expired(const file_meta *f, const wide_family_options *o, int64_t now)
{
	return o->ttl_us > 0 && o->min_versions == 0 && f->ts_max < now - o->ttl_us;
}
/* Mostly deletes, all of them old enough to go. */
static inline bool
file_dead_weight(const file_meta *f, uint64_t settled)
{
	return f->level >= 1 && f->tombstones * 2 > f->cells && f->tombstones > 0 && f->seq_max <= settled;
}

/* ------------------------------------------------------------------- space */

/* Zero-filled, then every settled file of a leveled family is added. */
typedef struct space_tally
{
	uint64_t	bytes[SET_LEVELS], deletes[SET_LEVELS], rows[SET_LEVELS];
	uint32_t	nfiles0;
	uint64_t	largest0, largest0_rows;	/* the largest file of level 0 */
	double		expired;		/* bytes, as estimated */
	double		most_expired;	/* in the file with most of them */
	const file_meta *expired_file;
} space_tally;
extern void space_add(space_tally *s, const file_meta *f, const wide_family_options *o, const family_floor *floors,
					  int64_t now, uint64_t settled);
/* The level that is to go down for the sake of space; -1: all is well. */
extern int	space_sink(const space_tally *s);
/* The file that is to be written anew because much of it has expired; NULL none. */
extern const file_meta *space_expired(const space_tally *s);

#endif							/* WIDE_WORK_H */

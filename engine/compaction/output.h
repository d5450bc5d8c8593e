/*
 * output.h - the files that a flush, a compaction or a large batch writes.
 *
 * An output writes sorted entries of one family to files.  A file is cut at `cut` bytes,
 * where the row changes, or where the column changes if the row is too long.  On level 0
 * of a windowed family each window of time gets files of its own, written through lanes.
 * If there are more windows than OUTPUT_LANES, a lane is for 2, 4, 8, ... neighbouring
 * ones, or, where the output is not told their number, the last lane is for all that are
 * left; compactions split such files further (pick.c).  A family with
 * FILE_SET_WINDOW_FILES files gets no lanes, because its windows are too small.
 */
#ifndef WIDE_OUTPUT_H
#define WIDE_OUTPUT_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/helper.h"
#include "engine/base/tunable.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_container.h"
#include "engine/sst/sst_writer.h"

/* At this size, in bytes, an output file is cut. */
TUNABLE(uint64_t, output_file_bytes, (uint64_t) 64 << 20);

#define OUTPUT_SLICE 256 /* entries between two calls of output_check */
#define OUTPUT_LANES 16	 /* some 2 MB of memory each */

/*
 * Where the small sorted files of a job go, those of all its outputs: a single one becomes a file
 * of the directory, several share containers.  So the files and syncs of a job grow with the bytes
 * that it writes, not with the number of families.  Zero-filled, then db is set.
 */
typedef struct output_share
{
	wide_db *db;
	sst_container *container; /* the open one; NULL: none */
	buffer containers;		  /* uint64_t: the numbers of those that are complete */
	buffer small;			  /* the bytes of the file that was finished last, if it is small */
	buffer first;			  /* the bytes of the first small file, until there is a second one */
	uint64_t first_number;	  /* of the first small file; 0: there was none */
	uint64_t first_container; /* where it went; 0: nowhere yet */
} output_share;

/* Zero-filled, then the members of the first group are set. */
typedef struct output
{
	/* what to write */
	wide_db *db;
	wide_family family;
	int level;
	bool global;		 /* entries get their sequence number when the files are linked */
	bool unsynced;		 /* see FILE_UNSYNCED */
	bool join_windows;	 /* windows get no files of their own */
	uint64_t cut;		 /* bytes */
	helper *helper;		 /* compresses blocks; NULL: none */
	output_share *share; /* for small files; NULL: each is a file of the directory */

	/* files */
	sst_writer *w;	/* the open file; NULL: none */
	buffer files;	/* file_meta of each finished file */
	uint64_t bytes; /* of the finished files */

	/* lanes: where the entries of a windowed family go */
	struct output *lanes; /* OUTPUT_LANES of them; NULL: none */
	int nlanes;
	int lane;		 /* of the last entry */
	int window_bits; /* a lane is for 1 << window_bits neighbouring windows: output_windows */
	int64_t window;	 /* of this output, if it is a lane: its number without these bits */
} output;

/* Returns the number of the window that a timestamp is in.  Deletes without a timestamp have a
 * number of their own. */
static inline int64_t
window_number(int64_t ts, int64_t window)
{
	if (ts == WIDE_TS_MAX)
		return INT64_MAX;
	return ts >= 0 ? ts / window : -1 - (-1 - ts) / window;
}

/* Returns true if the file has cells of several windows of its family. */
static inline bool
output_spans_windows(const file_meta *f, const wide_family_options *o)
{
	return o->compaction == WIDE_COMPACT_WINDOW && f->level == 0 && f->ts_max != WIDE_TS_MAX &&
		   window_number(f->ts_min, o->window_us) != window_number(f->ts_max, o->window_us);
}

/* Tells an output that nothing was written to yet which timestamps will come, so that all lanes are
 * for about as many windows. */
extern void output_windows(output *o, int64_t ts_min, int64_t ts_max);

/* Returns WIDE_INTERRUPTED or WIDE_POISONED if the work must stop. */
extern wide_status output_check(wide_db *db);

/* Writes an entry.  arg: the output (a retention_emit_fn). */
extern wide_status output_emit(void *arg, const entry *e);

/* Completes all open files, but for those in o->share.  The caller frees o->files after use. */
extern wide_status output_finish(output *o);

/* Returns the bytes at which files are cut: more in a large store whose table of files is small. */
extern uint64_t output_cut(wide_db *db);

/* Completes the containers, after all outputs: their n files are valid then.  The caller syncs the
 * directory. */
extern wide_status output_share_finish(output_share *s, file_meta *files, int n);

/* Unlinks the containers. */
extern void output_share_discard(output_share *s);

/* Frees what it holds in memory. */
extern void output_share_free(output_share *s);

/* Returns the bytes written so far. */
extern uint64_t output_bytes(const output *o);

/* Unlinks all files but containers, and frees what the output holds. */
extern void output_discard(output *o);

static inline int
output_count(const output *o)
{
	return (int) (o->files.len / sizeof(file_meta));
}

static inline const file_meta *
output_files(const output *o)
{
	return (const file_meta *) o->files.data;
}

#endif /* WIDE_OUTPUT_H */

/* output.h - the files that a flush, compaction or load writes */
#ifndef WIDE_OUTPUT_H
#define WIDE_OUTPUT_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/helper.h"
#include "engine/base/tunable.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_writer.h"

/* At this size an output file is cut. */
TUNABLE(uint64_t, output_file_bytes, (uint64_t) 64 << 20);

#define WORK_SLICE 256 /* entries between two looks at host->interrupted */

/*
 * Files of one family being written: cut at `cut` bytes where the row changes,
 * or, a row that is too long, the column.  On level 0 of a windowed family each window
 * of time gets files of its own, as many as there are lanes; the rest shares the last.
 * Families with FILE_SET_WINDOW_FILES files get no lanes: their windows are too small.
 */
#define OUTPUT_LANES 16 /* some 2 MB of memory each */

typedef struct output
{
	wide_db *db;
	wide_family family;
	int level;
	bool global;
	bool unsynced;
	helper *aside; /* NULL: what writes the files does all of it itself */
	uint64_t cut;
	bool whole; /* without regard to windows */
	sst_writer *w;
	buffer files;		  /* file_meta of finished files */
	uint64_t bytes;		  /* of them */
	struct output *lanes; /* windowed families: where the entries go */
	int nlanes;
	int lane;		/* of the last entry */
	int64_t window; /* of a lane */
} output;

/* Number of the window that a timestamp is in; deletes without one are apart from all. */
static inline int64_t
window_number(int64_t ts, int64_t window)
{
	if (ts == WIDE_TS_MAX)
		return INT64_MAX;
	return ts >= 0 ? ts / window : -1 - (-1 - ts) / window;
}

extern wide_status output_emit(void *arg, const entry *e); /* a retention_emit_fn */
extern wide_status output_finish(output *o);			   /* the files under way */
extern uint64_t output_bytes(const output *o);			   /* written so far */
extern void output_discard(output *o);					   /* unlink all, free */

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

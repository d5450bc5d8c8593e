/* source_file.h - sorted files that do not overlap, as a source of entries */
#ifndef WIDE_SOURCE_FILE_H
#define WIDE_SOURCE_FILE_H

#include "engine/wide.h"
#include "engine/shared/layout.h"
#include "engine/sst/sst_cursor.h"
#include "engine/sst/sst_reader.h"
#include "engine/read/source.h"

typedef struct file_source
{
	source s; /* first */
	const file_meta *files;
	int nfiles;
	int flags;

	/* the file that is open */
	int at; /* its index in files; -1: none */
	sst_reader *reader;
	sst_cursor cursor;

	/* the last answer "perhaps" of a Bloom filter: file `asked`, limits->range `asked_range` */
	int asked;
	uint64_t asked_range;
} file_source;

extern const source_ops source_file_ops;

/*
 * Makes a source of files[0..n), which are disjoint and in ascending order of keys
 * (n = 1: any file).  Files are opened when they are needed.  flags: enum
 * sst_read_flags.
 * Requires: the array, and a pin on its files, live as long as the source.
 * Returns: WIDE_OK and *out (for source_free), or WIDE_NOMEM.
 */
extern wide_status source_file_new(wide_db *db, const file_meta *files, int n, int flags,
								   source **out);

/* Returns the source as one of files; NULL if it is of another kind. */
static inline file_source *
source_file_of(source *s)
{
	return s->ops == &source_file_ops ? (file_source *) s : NULL;
}

/*
 * Returns true if everything that the files may have of the column that is looked
 * for (limits->column) sorts after `first`, an entry of another source, so that the
 * source need not be sought yet.  True for files without deletes whose timestamps
 * are all older.
 */
extern bool source_file_can_wait(const file_source *f, const entry *first);

/* Returns the number of rows of the current block that lie in it as a whole: the last one may
 * continue in the next block, or in the next file, because large rows are cut. */
extern uint32_t source_file_whole_rows(const file_source *f);

/* Moves a source of files to the first entry of a row of its current block; with the number of
 * rows, to the first entry behind the block (sst_cursor_row). */
extern wide_status source_file_row(source *s, uint32_t row);

#endif /* WIDE_SOURCE_FILE_H */

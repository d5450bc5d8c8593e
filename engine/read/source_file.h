/* source_file.h - files that do not overlap as a source of entries */
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
	int at; /* the file that is open, -1 = none */
	int flags;
	sst_reader *reader;
	sst_cursor cursor;
	int asked; /* its filter has let pass limits->range = asked_range */
	uint64_t asked_range;
	uint64_t blocks_read, blocks_cached, seeks; /* already in the statistics */
} file_source;

/* files[0..n) sorted by key and disjoint (n = 1: any file); opened lazily; flags: enum
 * sst_read_flags */
extern wide_status source_file_new(wide_db *db, const file_meta *files, int n, int flags,
								   source **out);

extern const source_ops source_file_ops;

/* The source as one of files; NULL when it is of another kind. */
static inline file_source *
source_file_of(source *s)
{
	return s->ops == &source_file_ops ? (file_source *) s : NULL;
}

/* To the first entry of a row of the block that a source of files is on, or behind it:
 * sst_cursor_row. */
extern wide_status source_file_row(source *s, uint32_t row);

#endif /* WIDE_SOURCE_FILE_H */

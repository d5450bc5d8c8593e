/*
 * scan_state.h - the inside of a scan, shared by the files of this room.
 *
 * The state is divided by subject: what a family is asked for and where it stands (scan_family),
 * the key ranges, the current row, what was handed out, and the runs of rows that are taken from
 * blocks as they are (scan_run, scan_block).  Everything else is embedded in scan_state: the
 * members that the loops over rows and cells use are reached without a further pointer.
 *
 * "Encoded" means the form of a key in which bytes compare as keys do (base/key.h).
 *
 * Locking: none; a scan belongs to one process.
 */
#ifndef WIDE_SCAN_STATE_H
#define WIDE_SCAN_STATE_H

#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/shared/cache.h"
#include "engine/sst/block.h"
#include "engine/set/pin.h"
#include "engine/read/fold.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/read/visibility.h"
#include "engine/scan/predicate.h"

typedef struct scan_state scan_state;
typedef struct scan_run scan_run;

/* ---------------------------------------------------------------- families */

/* A column that a scan looks for. */
typedef struct scan_column
{
	size_t at, len;				  /* the encoded qualifier, in scan_columns.encoded */
	int want;					  /* index in the spec's quals; -1: not wanted */
	const predicate_column *test; /* NULL: no predicates */
} scan_column;

/* The columns that a scan looks for in a family. */
typedef struct scan_columns
{
	buffer encoded;
	scan_column *list; /* ascending: wanted ones (WANT_COLUMNS) and those with predicates */
	int n;
	int ntests; /* columns with predicates */
	/* WANT_RANGE: the bounds, the first lo_len bytes of encoded and the hi_len bytes behind them;
	 * hi_len 0: open */
	size_t lo_len, hi_len;
} scan_columns;

/* Where a family stands in the current row. */
typedef enum family_state
{
	FAMILY_UNREAD,	  /* nothing of the row was looked at */
	FAMILY_BETWEEN,	  /* the next entry begins a column */
	FAMILY_IN_COLUMN, /* row.ukey is the column */
	FAMILY_HELD,	  /* the current entry is to be shown, but the last wide_row was full */
	FAMILY_HELD_LAST, /* the same, and nothing more of its column is shown */
	FAMILY_FOLDED,	  /* the merge is behind the column; a version of folded is to be shown, but the
					   * last wide_row was full */
	FAMILY_DONE		  /* nothing more of the row is needed */
} family_state;

/* The current row in a family. */
typedef struct family_row
{
	family_state state;
	bool passed_over; /* the row has columns that were not wanted */
	int at;			  /* the first of columns.list that is not behind the merge */
	int tested;		  /* columns before this one have been reported to the predicates */
	int steps;		  /* taken one by one since the last seek */
	int hidden; /* entries of the column that were hidden, some of them passed over together */
	/* the current column */
	buffer ukey;
	bool show;					  /* it is wanted */
	const predicate_column *test; /* its newest visible version is to be tested */
	wide_bytes qual;			  /* decoded, in the arena */
	uint64_t qual_call;			  /* the call in which it was decoded */
	/* with a merge operator */
	fold_column
		folded; /* the column's versions; behind the registers of two, room for the bytes of one */
	append_list appended;			  /* WIDE_MERGE_APPEND: their bytes */
	uint8_t folded_bytes[FOLD_WIDTH]; /* the value of one of them */
	int version;					  /* index of the one that is next */
	bool last;						  /* FAMILY_FOLDED: nothing behind it is shown */
} family_row;

/* Reverse: the largest row of a family below ranges.bound. */
typedef enum before_state
{
	BEFORE_UNKNOWN,
	BEFORE_FOUND,
	BEFORE_NONE
} before_state;

typedef struct family_before
{
	before_state state;
	buffer row; /* encoded */
} family_before;

/* The position of a family that follows (scan.c). */
typedef struct family_follow
{
	bool placed;	   /* the merge stands somewhere in the range */
	uint64_t last_row; /* number of the row to which it went last */
} family_follow;

typedef struct scan_family
{
	/* what is asked for */
	wide_family_id id;
	wide_want want;
	int max_versions; /* as in the spec */
	bool any_exists;  /* cells that are not wanted make the row exist, too */
	bool leads;		  /* rows are looked for in it; the others follow */
	bool newer_only;  /* no row passes unless its one column is as new as limits.ts_min */
	int span_column;  /* number of its first column in a span */
	scan_columns columns;
	/* what is read */
	merge *m;
	source *batch_source; /* the source of the transaction's batch; NULL: none */
	visibility view;
	source_limits limits;
	buffer one_column; /* limits.column */
	/* where it stands */
	family_follow follow;
	family_row row;
	family_before before;
	buffer target; /* scratch: the key to which the merge moves */
	/* rows that are taken from blocks as they are */
	scan_run *runs; /* one for each source that stands on an entry */
	int nruns, runs_cap;
	scan_run *run; /* the one that has the row which is put together; NULL: none */
} scan_family;

/* ------------------------------------------------------------------ ranges */

typedef struct scan_range
{
	wide_bytes lo, hi; /* encoded, in scan_ranges.bounds; hi.len 0: open */
	size_t prefix;	   /* so many bytes of lo begin all rows in the range */
	bool point;		   /* a range of exactly one row; hi is not set */
} scan_range;

typedef enum range_state
{
	RANGE_CLOSED,	/* no range is open */
	RANGE_AT_START, /* open; no row of it was looked at */
	RANGE_ENTERED	/* forward: goes on at row.after; a range of one row: is read */
} range_state;

typedef struct scan_ranges
{
	scan_range *list;
	int n, cap;
	buffer bounds;
	int next; /* the range to open next, counted from the side where the scan begins */
	range_state state;
	const scan_range *cur; /* the open range */
} scan_ranges;

/* ----------------------------------------------------------------- the row */

/* How far the current row is read. */
typedef enum row_phase
{
	ROW_NONE, /* the scan stands between two rows */
	ROW_READING,
	/* It may yet be out, and has too many cells to keep them: only predicates are evaluated. */
	ROW_TESTING
} row_phase;

/* What is known of the current row, or of the last one. */
typedef enum row_verdict
{
	ROW_UNKNOWN,
	ROW_EXISTS,	 /* it has a visible cell */
	ROW_REJECTED /* a predicate is not met */
} row_verdict;

typedef struct scan_row
{
	row_phase phase;
	row_verdict verdict;
	uint32_t shown;	 /* cells of the row handed out */
	int untested;	 /* columns with predicates that have not been reported */
	uint64_t number; /* rows are counted */
	buffer key;		 /* encoded */
	buffer after;	 /* encoded: the least key behind the row */
	buffer bound;	 /* reverse, encoded: rows below this come next */
} scan_row;

/* -------------------------------------------------------------- handed out */

#define SCAN_PINS		 16	 /* blocks that are pinned for cells of one call */
#define SCAN_CELLS_FIRST 12	 /* room for cells at first: below 1 KB malloc is cheap */
#define SCAN_HIDDEN		 2	 /* versions hidden one by one before more are passed over together */
#define SCAN_VERSIONS	 64	 /* of these, at a time */
#define SCAN_STEPS		 8	 /* entries passed over one by one before a seek */
#define SCAN_TEST_CELLS	 256 /* cells kept of a row that may yet be out */

typedef struct chunk
{
	struct chunk *next;
	size_t used, size;
	uint8_t data[];
} chunk;

/* Memory that is valid until the next call. */
typedef struct scan_output
{
	uint64_t call; /* the calls are counted */
	wide_cell *cells;
	int n;
	uint32_t cap;
	chunk *arena;				 /* newest first */
	block_ref pinned[SCAN_PINS]; /* blocks that the merges have left */
	int npinned;
	buffer key; /* of the row, decoded */
} scan_output;

/* ------------------------------------------------------------ rows of a block */

#define NO_COLUMN		 UINT32_MAX		/* of the block */
#define SCAN_BLOCK_ROWS	 WIDE_SPAN_ROWS /* rows read ahead at most */
#define SCAN_BLOCK_CELLS 4096			/* cells of these rows at most */

/* A column of the rows of a run: wanted, or to be tested, or both. */
typedef struct scan_block_column
{
	uint32_t column; /* in the block; NO_COLUMN: no row has it */
	int want;		 /* index in the spec's quals; -1: see qual */
	bool wanted;
	const predicate_column *test;
	size_t qual, quallen; /* the decoded qualifier, in scan_block_columns.quals */
	const block_column *grid;
	/* the row that was looked at last */
	uint32_t row;
	uint32_t i; /* number of the value, or of the next one */
	uint32_t off, len;
	bool there; /* in the row; never, if the block does not have the column */
} scan_block_column;

typedef struct scan_block_columns
{
	scan_block_column *list;
	buffer noted; /* the columns of the block that list was made for; len 0: none */
	int n, cap;
	int ntests;	  /* columns with predicates */
	int nwanted;  /* columns that are wanted */
	buffer quals; /* decoded qualifiers */
	/* block in the form of a list */
	int *by_number;				   /* by column of the block: its place in list; -1: none */
	buffer numbers;				   /* memory of by_number */
	uint32_t next_value, next_off; /* the entry whose value begins at next_off */
} scan_block_columns;

#define SCAN_KEY_PLACES 64

/* The key of the row that was looked at last. */
typedef struct scan_block_key
{
	buffer encoded;
	uint32_t row;
	uint32_t rest; /* offset of the next key's bytes in the block's */
	/* the key that was decoded last */
	buffer decoded;
	uint32_t decoded_row;
	uint8_t places[SCAN_KEY_PLACES]; /* decoded bytes before each byte of the encoded form, of
									  * which the first ones stay the same */
	uint8_t nplaces;
} scan_block_key;

/* The key that was compared last, in the block. */
typedef struct scan_block_match
{
	uint32_t next; /* row behind the one that was compared last; 0: none was */
	uint32_t off;  /* where the bytes of its key begin */
	/* the whole key of its group */
	uint32_t group; /* UINT32_MAX: not known */
	uint32_t headlen;
	const uint8_t *head;
} scan_block_match;

/* Why a run has no more rows. */
typedef enum run_end
{
	RUN_ENDS_BLOCK, /* what follows in the source is in another block, or a row that goes on there
					 */
	RUN_ENDS_RANGE, /* it lies behind the range */
	RUN_ENDS_STOP	/* scan_block.stop comes first */
} run_end;

/* Rows [row, end) of the block on which a source stands, see scan_run.c. */
struct scan_run
{
	source *src;	/* NULL: what follows is not valid */
	uint64_t loads; /* the number of the block, see sst_cursor.loads */
	bool plain;		/* rows of the block can be taken as they are; else only src is valid */
	bool chosen;	/* columns are those of the block */
	scan_family *family;
	block_cursor *block; /* the source's */
	uint64_t seq;		 /* of all entries; 0: each has its own */
	uint32_t row, end;
	run_end why;
	bool same;		/* the row has the same key as that of the run before it in scan_block.order */
	bool all_exist; /* every row of the block makes the row exist */
	bool grid;		/* its columns have arrays of their own; else it is a list */
	block_column only; /* that of a list that is read as a grid */
	bool one_full;	   /* all rows of the block have one of the wanted columns */
	scan_block_columns columns;
	scan_block_key key;
	scan_block_match match;
};

/* The rows that were read ahead. */
typedef struct scan_block_ahead
{
	wide_row *rows;
	int cap;
	int counted;	   /* rows that are in the statistics */
	int limit;		   /* rows to read at a time */
	uint64_t expected; /* rows that the caller probably reads, of which none was read ahead; 0: not
						* known */
} scan_block_ahead;

/* Memory for keys, from the arena. */
typedef struct scan_block_memory
{
	uint8_t *at;
	size_t left;
} scan_block_memory;

/* Where a family has the rows of a stretch. */
typedef struct span_place
{
	scan_run *run; /* NULL: the family does not have them */
	uint32_t row;  /* the first */
} span_place;

/* The values of the rows that were read ahead, by column, see scan_span.c. */
typedef struct scan_span
{
	bool possible; /* the caller takes values so, and the scan is of a kind that may give them */
	bool on;	   /* the rows that were read ahead last are a span */
	bool follows;  /* a family that follows has wanted columns */
	int ncolumns;
	wide_span_column *columns; /* with places one piece of memory; NULL: not needed yet */
	/* stretches of rows that the same runs have one behind the other */
	int nstretches;
	int starts[SCAN_BLOCK_ROWS];		   /* their first rows */
	span_place (*places)[SCAN_BLOCK_ROWS]; /* by family and stretch */
	/* the last stretch */
	bool sure; /* all rows that its runs have exist, and nothing of them is tested */
	/* with this row of this run it goes on, if that is the first in order */
	const scan_run *first;
	uint32_t next;
} scan_span;

/* How a scan goes on behind the rows that were read ahead. */
typedef enum block_onward
{
	BLOCK_GOES_ON,	  /* with the next row of the runs */
	BLOCK_ROW,		  /* this row has to be read entry by entry */
	BLOCK_SEEKS,	  /* at filter.seek, behind the rows of a run */
	BLOCK_ENDS_RANGE, /* the filter wants nothing more of the range */
	BLOCK_ENDS_SCAN	  /* the filter wants nothing more of any range */
} block_onward;

/* A piece of the range of a reverse scan, see scan_back.c. */
typedef struct scan_back
{
	buffer from, bound; /* encoded: the rows that were read ahead are all of [from, bound) */
	buffer row;			/* scratch */
	int singly;			/* rows to read one by one before the next piece */
	int penalty;		/* how many that were when a piece was last read in vain; 0: it was not */
} scan_back;

/* The runs of all families, put together row by row, see scan_block.c. */
typedef struct scan_block
{
	bool possible; /* the scan is of a kind that may do so */
	bool open;	   /* the position is that of the runs, and the merges have none */
	block_onward next;
	scan_run **order; /* runs of leading families that have rows, by the key of the next */
	int norder, order_cap;
	bool together;	 /* all of them have the next row, and had the one before it */
	bool empty;		 /* a run that is not in order any more has to go on behind its block */
	wide_bytes stop; /* the least row, encoded, of sources that are no runs; len 0: none */
	wide_bytes end;	 /* encoded: the runs end before it; len 0: open */
	buffer first;	 /* the row at which the runs were opened */
	buffer passed;	 /* the greatest row that was last of a run; len 0: none */
	int cells;		 /* of a row, at most */
	scan_block_ahead ahead;
	scan_block_memory memory;
	scan_span span;
	scan_back back;
} scan_block;

/* --------------------------------------------------------------- the scan */

/* Times in microseconds since 1970; see wide_scan_spec. */
typedef struct scan_time
{
	int64_t ts_min, ts_max;
	int64_t show_min, show_max;
	bool filtered; /* show_min and show_max are in force */
	int64_t now;
	bool now_given; /* by the spec; else it is the snapshot's */
} scan_time;

typedef struct scan_filter
{
	wide_row_filter fn; /* NULL: none */
	void *arg;
	bool follows; /* its answers depend on the rows that were handed out */
	buffer seek; /* encoded: it wants nothing before (reverse: at or after) this; len 0: no limit */
} scan_filter;

typedef struct scan_sources
{
	version_pin pin;
	bool pinned;	 /* pin is held, and the families have their merges */
	bool incomplete; /* a reader with a later snapshot may need more sources */
} scan_sources;

/* What has been added to the counters of the store. */
typedef struct scan_reported
{
	uint64_t rows, cells;
} scan_reported;

struct scan_state
{
	wide_scan door; /* first, see scan_state_of; the rows read ahead from runs */
	wide_db *db;
	/* what is asked for */
	const wide_snapshot *snap;
	uint64_t seq;		 /* of the snapshot, which may be renewed: see wide_scan_restart */
	uint64_t generation; /* of the catalog when the visibilities were made */
	scan_time time;
	bool reverse;
	uint32_t row_cells; /* cells of one wide_row, at most */
	uint32_t row_limit; /* cells of one row, at most; UINT32_MAX: no limit */
	uint64_t row_hint;	/* as in the spec */
	bool operands;		/* as in the spec */
	scan_filter filter;
	predicates pred;
	/* what is read */
	wide_batch *batch; /* the transaction's batch; NULL: none */
	uint64_t batch_mark;
	scan_sources sources;
	scan_family *families;
	int nfamilies;
	scan_family **order; /* in which they are read: the first ntesting have predicates */
	int ntesting;
	size_t families_bytes; /* size of the memory of families and order */
	/* where it stands */
	scan_ranges ranges;
	scan_row row;
	scan_block block;
	wide_status failed; /* the answer of all further calls, if not WIDE_OK */
	/* what it has done */
	scan_output out;
	wide_scan_stats stats;
	scan_reported reported;
};

/* The inside of a scan that wide_scan_open has made. */
static inline scan_state *
scan_state_of(wide_scan *s)
{
	return (scan_state *) s;
}

static inline bool
scan_range_is_open(const scan_state *s)
{
	return s->ranges.state != RANGE_CLOSED;
}

static inline wide_bytes
scan_bytes(const buffer *b)
{
	return (wide_bytes) {b->data, b->len};
}

/* Compares two encoded keys, or other bytes. */
static inline int
scan_compare(wide_bytes a, wide_bytes b)
{
	if (a.len == 0 || b.len == 0)
		return (a.len > 0) - (b.len > 0);
	return ukey_compare(a.data, a.len, b.data, b.len);
}

/* Moves the merge of a family to an encoded key. */
static inline wide_status
scan_seek(scan_family *f, wide_bytes key)
{
	return merge_seek(f->m, key.data, (uint32_t) key.len, INT64_MAX, SEQ_MAX);
}

/* Returns true if the entry belongs to the current row; e may be NULL. */
static inline bool
scan_row_has(const scan_state *s, const entry *e)
{
	return e != NULL && e->rowlen == s->row.key.len &&
		   memcmp(e->ukey, s->row.key.data, e->rowlen) == 0;
}

#endif /* WIDE_SCAN_STATE_H */

/* scan_state.h - the inside of a scan */
#ifndef WIDE_SCAN_STATE_H
#define WIDE_SCAN_STATE_H

#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/shared/cache.h"
#include "engine/sst/block.h"
#include "engine/set/pin.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/read/visibility.h"
#include "engine/scan/predicate.h"

#define KEPT_MAX	 16
#define CELLS_FIRST	 12	 /* room for cells at first: below 1 KB malloc is cheap */
#define STEPS		 8	 /* entries passed over one by one before seeking */
#define UNTOLD_CELLS 256 /* of a row kept while it may yet be out */

typedef struct chunk
{
	struct chunk *next;
	size_t used, size;
	uint8_t data[];
} chunk;

/* A column that is looked for. */
typedef struct scan_column
{
	size_t at, len;				  /* encoded, in quals */
	int want;					  /* index in the spec's quals, -1: it is not wanted */
	const predicate_column *test; /* NULL: no predicates */
} scan_column;

typedef struct scan_family
{
	wide_family_id id;
	wide_want want;
	bool any_exists;
	bool leads;		   /* rows are looked for in it; others follow, for rows that may be in */
	buffer quals;	   /* encoded */
	scan_column *cols; /* ascending: wanted (WANT_COLUMNS), and those with predicates */
	int ncols;
	int ntests; /* of them with predicates */
	/* of WANT_RANGE: [0, lo_len) and what follows of quals; hi_len 0 = open */
	size_t lo_len, hi_len;
	int max_versions; /* as asked for */
	bool since; /* no row passes unless its one column has a timestamp from limits.ts_min on */
	merge *m;
	source *own;
	visibility view;
	bool view_made;
	source_limits limits;
	buffer column;	   /* limits.column */
	bool placed;	   /* follows, and stands somewhere in the range */
	uint64_t last_row; /* number of the row to which it has followed last */
	/* the row */
	bool ready;		  /* what follows is of the current row */
	bool present;	  /* stands in the current row */
	bool done;		  /* with the current row */
	bool passed_over; /* columns of the row that were not wanted */
	bool in_column;
	bool held; /* the current entry is to be shown, but the last wide_row was full */
	bool show; /* the current column is wanted */
	const predicate_column *test; /* and its newest version is to be tested */
	int want_at;
	int tested; /* columns before this one have been told to the predicates */
	int steps;
	buffer ukey; /* of the current column */
	buffer target;
	wide_bytes qual;	/* decoded, in the arena */
	uint64_t qual_call; /* of this call */
	/* reverse */
	bool before_valid, before_end;
	buffer before; /* the largest row below s->bound */
} scan_family;

/* Encoded bounds in s->bounds; hi_len 0 = open. */
typedef struct scan_range
{
	size_t lo, lo_len, hi, hi_len;
	size_t prefix; /* so many bytes of lo begin all rows in the range */
	bool point;
} scan_range;

/* A column of the rows of a run: wanted, or to be tested, or both. */
typedef struct scan_block_column
{
	uint32_t column; /* in the block; UINT32_MAX: no row has it */
	int want;		 /* index in the spec's quals, -1: see qual */
	bool wanted;
	const predicate_column *test;
	size_t qual, quallen; /* decoded, in run.quals */
	const block_column *grid;
	/* the row looked at last */
	uint32_t row;
	uint32_t i; /* number of the value, or of the next */
	uint32_t off, len;
	bool there;
} scan_block_column;

/* Rows of a block that are taken as they are, see scan_block.c. */
typedef struct scan_block
{
	bool possible; /* by what is asked for */
	bool open;	   /* w is; the merge stands at `first` */
	uint32_t first;
	bool over;				/* the range is, says the filter */
	bool all_over;			/* all ranges are */
	bool seek;				/* it goes on at s->sought, behind w */
	merge_span w;			/* w.row: the next row to look at */
	const uint8_t *refused; /* a block that is no run */
	bool any;				/* every row exists */
	scan_block_column *columns;
	int ncolumns, columns_cap;
	int ntests;
	int nwanted;
	int *of; /* list: by column of the block its place in columns, -1 */
	uint32_t of_cap;
	uint32_t next_value, next_off; /* list: entry whose value begins there */
	buffer key;					   /* encoded */
	uint32_t key_row;			   /* of this row */
	uint32_t key_off;			   /* of the next one's rest */
	buffer quals;
	/* what was read ahead */
	wide_row *rows;
	uint32_t *numbers; /* their rows in the block */
	int rows_cap;
	int counted;   /* rows in the statistics */
	int size;	   /* so many at a time */
	uint8_t *room; /* for keys, in the arena */
	size_t room_left;
} scan_block;

#define NO_COLUMN		 UINT32_MAX /* of the block */
#define SCAN_BLOCK_ROWS	 64			/* read at a time at most */
#define SCAN_BLOCK_CELLS 4096

struct wide_scan
{
	wide_scan_ahead ahead; /* first: wide.h knows it; of the run */
	wide_db *db;
	const wide_snapshot *snap;
	version_pin pin;
	bool pinned;
	bool left_out; /* a renewed snapshot needs more sources than we have */
	scan_family *families;
	int nfamilies;
	size_t families_bytes; /* of these, and of what else lies there */
	scan_family **order;   /* in which they are read: the first ntesting have predicates */
	int ntesting;
	predicates pred;
	scan_range *ranges;
	int nranges, ranges_cap;
	buffer bounds;
	bool reverse;
	int64_t ts_min, ts_max, now;
	int64_t show_min, show_max;
	bool filtered; /* show_min and show_max are in force */
	bool now_given;
	uint64_t seq;		 /* of the snapshot, which may be renewed: see wide_scan_restart */
	uint64_t generation; /* of the catalog when the views were made */
	wide_batch *own;
	uint64_t own_mark;
	uint32_t row_cells;
	uint32_t row_limit; /* UINT32_MAX: none */
	uint32_t row_shown; /* cells of the current row so far */
	wide_row_filter filter;
	void *filter_arg;
	bool filter_follows; /* what was given out decides what it answers */
	/* encoded: the filter wants nothing before (reverse: at or after) this; len 0 = no limit */
	buffer sought;
	/* position */
	int range; /* the next one to open, counted from the side where the scan begins */
	bool open; /* a range is open: cur */
	const scan_range *cur;
	bool point_done;
	bool in_row;
	bool have_row; /* row is of this range */
	bool row_exists;
	bool rejected; /* a predicate is not met */
	bool overflow; /* too many cells while that could be: none is kept, the row is read again */
	int untested;  /* columns with predicates that have not been told */
	uint64_t row_number;
	buffer row;	  /* encoded */
	buffer bound; /* reverse: rows below this are next */
	buffer after; /* key after the row */
	wide_status failed;
	/* handed out */
	uint64_t calls;
	wide_cell *cells;
	int ncells;
	uint32_t cells_cap;
	chunk *arena; /* first = current */
	block_ref kept[KEPT_MAX];
	int nkept;
	buffer key;
	wide_scan_stats stats;
	uint64_t counted_rows, counted_cells;
	scan_block run;
};

static inline bool
in_this_row(const wide_scan *s, const entry *e)
{
	return e != NULL && e->rowlen == s->row.len && memcmp(e->ukey, s->row.data, e->rowlen) == 0;
}

#endif /* WIDE_SCAN_STATE_H */

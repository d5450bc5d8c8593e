/*
 * scan.h - the inside of a scan, for scan.c (ranges, rows, sources) and
 * scan_row.c (the cells of a row).
 */
#ifndef WIDE_SCAN_H
#define WIDE_SCAN_H

#include "batch.h"

#define KEPT_MAX	16
#define STEPS		8			/* entries passed over one by one before seeking */

typedef struct chunk
{
	struct chunk *next;
	size_t		used, size;
	uint8_t		data[];
} chunk;

typedef struct scan_family
{
	wide_family_id id;
	wide_want	want;
	bool		any_exists;
	int			nquals;
	buffer		quals;			/* encoded, one after the other */
	size_t	   *qual_at;		/* nquals + 1 offsets into it */
	int			max_versions;	/* as asked for */
	merge	   *m;
	source	   *own;
	view_read	view;
	bool		view_made;
	source_limits limits;
	buffer		column;			/* limits.column */
	/* the row */
	bool		present;		/* stands in the current row */
	bool		done;			/* with the current row */
	bool		in_column;
	bool		held;			/* the current entry is to be shown, but the last wide_row was full */
	int			want_at;
	int			steps;
	buffer		ukey;			/* of the current column */
	buffer		target;
	wide_bytes	qual;			/* decoded, in the arena */
	uint64_t	qual_call;		/* of this call */
	/* reverse */
	bool		before_valid, before_end;
	buffer		before;			/* the largest row below s->bound */
} scan_family;

/* Encoded bounds in s->bounds; hi_len 0 = open. */
typedef struct scan_range
{
	size_t		lo, lo_len, hi, hi_len;
	bool		point;
} scan_range;

struct wide_scan
{
	wide_db    *db;
	const wide_snapshot *snap;
	set_pin		pin;
	bool		pinned;
	bool		left_out;		/* a renewed snapshot needs more sources than we have */
	scan_family *families;
	int			nfamilies;
	scan_range *ranges;
	int			nranges, ranges_cap;
	buffer		bounds;
	bool		reverse;
	int64_t		ts_min, ts_max, now;
	int64_t		show_min, show_max;
	bool		filtered;		/* show_min and show_max are in force */
	bool		now_given;
	uint64_t	seq;			/* of the snapshot, which may be renewed: see wide_scan_restart */
	uint64_t	generation;		/* of the catalog when the views were made */
	wide_batch *own;
	uint64_t	own_mark;
	uint32_t	row_cells;
	uint32_t	row_limit;		/* UINT32_MAX: none */
	uint32_t	row_shown;		/* cells of the current row so far */
	/* position */
	int			range;			/* the next one to open, counted from the side where the scan begins */
	bool		open;			/* a range is open: cur */
	const scan_range *cur;
	bool		point_done;
	bool		in_row;
	bool		have_row;		/* row is of this range */
	bool		row_exists;
	buffer		row;			/* encoded */
	buffer		bound;			/* reverse: rows below this are next */
	buffer		after;			/* key after the row */
	wide_status failed;
	/* handed out */
	uint64_t	calls;
	wide_cell  *cells;
	int			ncells;
	uint32_t	cells_cap;
	chunk	   *arena;			/* first = current */
	block_ref	kept[KEPT_MAX];
	int			nkept;
	buffer		key;
	wide_scan_stats stats;
	uint64_t	counted_rows, counted_cells;
};

static inline bool
in_this_row(const wide_scan *s, const entry *e)
{
	return e != NULL && e->rowlen == s->row.len && memcmp(e->ukey, s->row.data, e->rowlen) == 0;
}

static inline wide_status
buffer_set(buffer *b, const void *p, size_t n)
{
	b->len = 0;
	return buffer_append(b, p, n);
}

/* scan_row.c */
extern void scan_keep_block(void *arg, block_ref *ref); /* source_limits.keep; arg is the scan */
extern void scan_let_go(wide_scan *s);	/* nothing that was handed out is in use any more */
extern void scan_free_memory(wide_scan *s);
/* Move on towards a key in this row: a few steps, then a seek. */
extern wide_status scan_move(scan_family *f, const uint8_t *ukey, uint32_t klen, int64_t ts);
/* All that the row has in this family.  *full: the wide_row is full, call again for the rest. */
extern wide_status scan_family_row(wide_scan *s, scan_family *f, bool *full);

#endif							/* WIDE_SCAN_H */

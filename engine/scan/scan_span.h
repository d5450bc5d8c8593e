/* scan_span.h - the values of the rows that a scan has read ahead, by column */
#ifndef WIDE_SCAN_SPAN_H
#define WIDE_SCAN_SPAN_H

#include "engine/wide.h"
#include "engine/base/tunable.h"
#include "engine/scan/scan_state.h"

/* Fewer rows than this are handed out as cells: a span has a cost of its own. */
TUNABLE(int, scan_span_least, 16);

/* Finds out whether the scan may give spans. */
extern void scan_span_init(scan_state *s, const wide_scan_spec *spec);

/* Decides whether the next rows, so many at most, are read as a span, and makes room for it. */
extern wide_status scan_span_begin(scan_state *s, int rows);

/* Notes, for the stretch that would be the next one, what the family has of the row to be taken. */
static inline void
scan_span_note(scan_state *s, const scan_family *f)
{
	span_place *p = &s->block.span.places[f - s->families][s->block.span.nstretches];

	p->run = f->run;
	p->row = f->run != NULL ? f->run->row : 0;
}

/*
 * The row at which the runs stand was taken, and was noted for each family of which columns are
 * wanted: it begins a stretch, as row number `at` of the span.
 */
extern void scan_span_took(scan_state *s, int at);

/* Takes the next row of the runs if it simply goes on with the last stretch; else returns false.
 * Requires: scan_block.together. */
static inline bool
scan_span_extend(scan_state *s)
{
	scan_span *span = &s->block.span;

	if (!span->on || span->nstretches == 0 || !span->sure || span->first != s->block.order[0] ||
		span->next != span->first->row)
		return false;
	span->next++;
	return true;
}

/*
 * Puts the values of all n rows into their columns, and sets span, span_row and span_end of the
 * rows.  Requires: no source has moved since the first was taken.
 */
extern wide_status scan_span_fill(scan_state *s, wide_row *rows, int n);

/* Adds the rows [from, to) that were read ahead, a span, to the statistics. */
extern void scan_span_count(scan_state *s, int from, int to);

/* Frees the memory of spans; the scan may be used on. */
extern void scan_span_free(scan_state *s);

#endif /* WIDE_SCAN_SPAN_H */

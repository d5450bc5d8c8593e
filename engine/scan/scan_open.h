/* scan_open.h - what a scan looks for */
#ifndef WIDE_SCAN_OPEN_H
#define WIDE_SCAN_OPEN_H

#include "engine/wide.h"
#include "engine/scan/scan_state.h"

/* The families of the spec, in s->families and s->order; s->pred is ready. */
extern wide_status scan_open_families(scan_state *s, const wide_scan_spec *spec);

/* Sets r->prefix. */
extern void scan_open_range_prefix(scan_range *r, const wide_range *range);
extern void scan_open_families_free(scan_state *s); /* the lists, not what is in them */

/* What is visible of the family, by its options and our snapshot as they are now. */
extern wide_status scan_open_visibility(scan_state *s, scan_family *f);

#endif /* WIDE_SCAN_OPEN_H */

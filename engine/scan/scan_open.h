/* scan_open.h - what a scan looks for in its families */
#ifndef WIDE_SCAN_OPEN_H
#define WIDE_SCAN_OPEN_H

#include "engine/wide.h"
#include "engine/scan/scan_state.h"

/*
 * Makes s->families and s->order from the spec, in one piece of s->families_bytes from the pool.
 * Requires: s->pred, s->time, s->batch and the snapshot are set.
 */
extern wide_status scan_open_families(scan_state *s, const wide_scan_spec *spec);

/* Makes f->view from the family's present options and the scan's snapshot. */
extern wide_status scan_open_visibility(scan_state *s, scan_family *f);

#endif /* WIDE_SCAN_OPEN_H */

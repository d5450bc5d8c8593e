/* format.h - the size and layout of the shared segment */
#ifndef WIDE_FORMAT_H
#define WIDE_FORMAT_H

#include "engine/wide.h"

/* Returns a hash of the sizes of everything in the segment.  It differs between builds that cannot
 * share a segment. */
extern uint64_t format_build_id(void);

#endif /* WIDE_FORMAT_H */

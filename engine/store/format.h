/* format.h - the layout of the shared segment */
#ifndef WIDE_FORMAT_H
#define WIDE_FORMAT_H

#include "engine/wide.h"

/* A hash of the sizes of everything in the segment: differs between builds that cannot share
 * one. */
extern uint64_t format_build_id(void);

#endif /* WIDE_FORMAT_H */

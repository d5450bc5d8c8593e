/* level.h - how large the levels of a family may become */
#ifndef WIDE_LEVEL_H
#define WIDE_LEVEL_H

#include "engine/wide.h"
#include "engine/base/tunable.h"

/* Target of level 1. */
TUNABLE(uint64_t, level_bytes, (uint64_t) 64 << 20);

extern uint64_t level_target(int level);

#endif /* WIDE_LEVEL_H */

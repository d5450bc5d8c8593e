/* level.h - target sizes of the levels of a leveled family */
#ifndef WIDE_LEVEL_H
#define WIDE_LEVEL_H

#include "engine/wide.h"
#include "engine/base/tunable.h"

/* Target of level 1, in bytes. */
TUNABLE(uint64_t, level_bytes, (uint64_t) 64 << 20);

/* Returns the bytes that a level (1 ..) may have: ten times those of the level above. */
extern uint64_t level_target(int level);

#endif /* WIDE_LEVEL_H */

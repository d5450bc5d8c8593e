/* level.h - how large the levels of a family may become */
#ifndef WIDE_LEVEL_H
#define WIDE_LEVEL_H

#include "engine/wide.h"

extern uint64_t level_bytes;
extern uint64_t level_target(int level);

#endif /* WIDE_LEVEL_H */

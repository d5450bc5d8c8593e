/* log.h - a log in a file of its own */
#ifndef WIDE_LOG_H
#define WIDE_LOG_H

#include "engine/wide.h"

/* log.c: wake those who wait in sync; area: at seg->log */
extern void filelog_wake(void *area);

#endif /* WIDE_LOG_H */

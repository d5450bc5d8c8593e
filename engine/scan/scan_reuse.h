/* scan_reuse.h - the next use of a scan */
#ifndef WIDE_SCAN_REUSE_H
#define WIDE_SCAN_REUSE_H

#include "engine/wide.h"

/* scan_reuse.c */

#endif /* WIDE_SCAN_REUSE_H */

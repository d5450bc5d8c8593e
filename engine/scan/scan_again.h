/* scan_again.h - the next use of a scan */
#ifndef WIDE_SCAN_AGAIN_H
#define WIDE_SCAN_AGAIN_H

#include "engine/wide.h"

/* scan_again.c */

#endif							/* WIDE_SCAN_AGAIN_H */

/* exception.h - what an exception of a server means */
#ifndef HB_EXCEPTION_H
#define HB_EXCEPTION_H

#include "hbase/memory.h"

/* What is to be done when a call has failed. */
typedef enum hb_cure
{
	HB_CURE_NONE,	  /* it fails again */
	HB_CURE_RETRY,	  /* wait, and repeat it */
	HB_CURE_RELOCATE, /* forget where the region is, wait, and repeat it */
	HB_CURE_REOPEN	  /* open the scanner again behind the last row */
} hb_cure;

typedef enum hb_do_not_retry
{
	HB_RETRY_ALLOWED,
	HB_RETRY_FORBIDDEN,
	HB_RETRY_UNSAID /* exceptions of single actions do not say */
} hb_do_not_retry;

/*
 * Returns the status that the exception is for the caller when it is not cured, and the cure.
 * text: message and stack.
 */
extern hb_status hb_exception_meaning(hb_bytes java_class, hb_bytes text, hb_do_not_retry retry,
									  hb_cure *cure);

#endif /* HB_EXCEPTION_H */

/* helper.h - a helper thread of this process */
#ifndef WIDE_HELPER_H
#define WIDE_HELPER_H

#include <stdatomic.h>
#include "engine/wide.h"

typedef struct helper helper;

/* Part of what the job is about.  Its memory belongs to the thread from helper_submit until
 * helper_wait returns. */
typedef struct helper_job
{
	void (*run)(struct helper_job *j);
	struct helper_job *next;
	_Atomic bool done;
} helper_job;

/* No thread yet; NULL: out of memory. */
extern helper *helper_new(void);

/* Jobs are done in this order; at once, before it returns, where there can be no thread. */
extern void helper_submit(helper *a, helper_job *j);

/* The job is done, and what it has written can be read. */
extern void helper_wait(helper *a, helper_job *j);

static inline bool
helper_done(helper_job *j)
{
	return atomic_load_explicit(&j->done, memory_order_acquire);
}

/* Does what was submitted, then the thread is gone.  NULL is none. */
extern void helper_free(helper *a);

#endif /* WIDE_HELPER_H */

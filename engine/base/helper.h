/* helper.h - a helper thread of this process; rules for its jobs are in helper.c */
#ifndef WIDE_HELPER_H
#define WIDE_HELPER_H

#include <stdatomic.h>
#include "engine/wide.h"

typedef struct helper helper;

/* The first member of a job's struct.  The struct belongs to the thread from helper_submit until
 * helper_wait returns. */
typedef struct helper_job
{
	void (*run)(struct helper_job *j);
	struct helper_job *next;
	_Atomic bool done;
} helper_job;

/* Makes a helper; the thread starts with the first job.  Returns NULL if out of memory. */
extern helper *helper_new(void);

/* Queues a job; jobs run in this order.  If no thread can be made, runs it before returning. */
extern void helper_submit(helper *a, helper_job *j);

/* Waits until the job is done; what it has written can be read then. */
extern void helper_wait(helper *a, helper_job *j);

/* Returns true if the job is done, as after helper_wait. */
static inline bool
helper_done(helper_job *j)
{
	return atomic_load_explicit(&j->done, memory_order_acquire);
}

/* Runs the jobs that are queued, ends the thread and frees a.  NULL is allowed. */
extern void helper_free(helper *a);

#endif /* WIDE_HELPER_H */

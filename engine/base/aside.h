/* aside.h - a helper thread of this process */
#ifndef WIDE_ASIDE_H
#define WIDE_ASIDE_H

#include <stdatomic.h>
#include "engine/wide.h"

typedef struct aside aside;

/* Part of what the job is about.  Its memory belongs to the thread from aside_submit until aside_wait returns. */
typedef struct aside_job
{
	void		(*run) (struct aside_job *j);
	struct aside_job *next;
	_Atomic bool done;
} aside_job;

/* No thread yet; NULL: out of memory. */
extern aside *aside_new(void);

/* Jobs are done in this order; at once, before it returns, where there can be no thread. */
extern void aside_submit(aside *a, aside_job *j);

/* The job is done, and what it has written can be read. */
extern void aside_wait(aside *a, aside_job *j);
static inline bool aside_done(aside_job *j) { return atomic_load_explicit(&j->done, memory_order_acquire); }

/* Does what was submitted, then the thread is gone.  NULL is none. */
extern void aside_free(aside *a);

/* Tests: no thread can be made; and how many were. */
extern bool aside_refused;
extern _Atomic uint64_t aside_threads;

#endif							/* WIDE_ASIDE_H */

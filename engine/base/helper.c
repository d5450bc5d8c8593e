/*
 * helper.c - a thread of this process that computes while the process continues.
 *
 * A backend that loads much data uses one processor for all of it: it reads rows,
 * sorts them, makes blocks of them and compresses these.  Work that needs only its
 * own memory, and files that no other process knows, can be done beside it.
 *
 * The host knows of no threads, hence these rules:
 *  - A job calls nothing of the host, takes no lock, and does not access the
 *    segment.  It has memory that nothing else touches until helper_wait returns,
 *    and writes to descriptors that were opened for it.
 *  - All signals are blocked in the thread, so the main thread handles them as
 *    before.  A job ends only by returning.
 *  - The thread starts with the first job and ends in helper_free, which the
 *    creator calls on every way out: end or failure of a load, end of a batch.  So
 *    it never exists when the process could fork.
 *  - If no thread can be made, helper_submit runs the job: only time is lost.
 *
 * Locking: one mutex, private to the process.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "engine/base/helper.h"

#define STACK_BYTES ((size_t) 1024 * 1024)

struct helper
{
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	pthread_t thread;
	bool tried;				  /* the first job was submitted */
	bool alone;				  /* the thread could not be made */
	bool stop;				  /* the thread ends when the queue is empty */
	helper_job *first, **end; /* the queue */
};

helper *
helper_new(void)
{
	helper *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	pthread_cond_init(&a->done, NULL);
	a->end = &a->first;
	return a;
}

static void *
thread_main(void *arg)
{
	helper *a = arg;

	pthread_mutex_lock(&a->lock);
	for (;;)
	{
		helper_job *j = a->first;

		if (j == NULL)
		{
			if (a->stop)
				break;
			pthread_cond_wait(&a->work, &a->lock);
			continue;
		}
		a->first = j->next;
		if (a->first == NULL)
			a->end = &a->first;
		pthread_mutex_unlock(&a->lock);
		j->run(j);
		pthread_mutex_lock(&a->lock);
		atomic_store_explicit(&j->done, true, memory_order_release);
		pthread_cond_signal(&a->done);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Starts the thread with all signals blocked.  Returns false on failure. */
static bool
thread_begin(helper *a)
{
	pthread_attr_t attr;
	sigset_t all, before;
	bool ok;

	if (pthread_attr_init(&attr) != 0)
		return false;
	sigfillset(&all);
	ok = pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 &&
		 pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
	if (ok)
	{
		ok = pthread_create(&a->thread, &attr, thread_main, a) == 0;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attr);
	return ok;
}

void
helper_submit(helper *a, helper_job *j)
{
	atomic_store_explicit(&j->done, false, memory_order_relaxed);
	j->next = NULL;
	if (!a->tried)
	{
		a->tried = true;
		a->alone = !thread_begin(a);
	}
	if (a->alone)
	{
		j->run(j);
		atomic_store_explicit(&j->done, true, memory_order_relaxed);
		return;
	}
	pthread_mutex_lock(&a->lock);
	*a->end = j;
	a->end = &j->next;
	pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
}

void
helper_wait(helper *a, helper_job *j)
{
	if (helper_done(j))
		return;
	pthread_mutex_lock(&a->lock);
	while (!helper_done(j))
		pthread_cond_wait(&a->done, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

void
helper_free(helper *a)
{
	if (a == NULL)
		return;
	if (a->tried && !a->alone)
	{
		pthread_mutex_lock(&a->lock);
		a->stop = true;
		pthread_cond_signal(&a->work);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
	}
	pthread_cond_destroy(&a->done);
	pthread_cond_destroy(&a->work);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

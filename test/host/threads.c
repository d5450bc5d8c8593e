/* threads.c - stands before pthread_create; linked with -Wl,--wrap=pthread_create */
#include <errno.h>
#include <pthread.h>
#include "test/host/threads.h"

bool threads_refused;
_Atomic uint64_t threads_started;

extern int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
								 void *(*start)(void *), void *arg);
extern int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
								 void *(*start)(void *), void *arg);

int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
					  void *arg)
{
	int e = threads_refused ? EAGAIN : __real_pthread_create(thread, attr, start, arg);

	threads_started += e == 0;
	return e;
}

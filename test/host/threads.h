/* threads.h - counts the threads that a process starts, and can refuse them */
#ifndef HOST_THREADS_H
#define HOST_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* pthread_create fails with EAGAIN. */
extern bool threads_refused;
/* Successful calls of pthread_create so far. */
extern _Atomic uint64_t threads_started;

#endif /* HOST_THREADS_H */

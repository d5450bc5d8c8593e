/*
 * asan_first.c - makes the address sanitizer initialise itself before any other library.
 *
 * The sanitizer does so in the first malloc().  If that comes from within a library's
 * constructor that holds a lock of libc (libgpg-error, which the server links, calls
 * bindtextdomain()), the sanitizer's own calls of libc break that lock, and the server
 * hangs before main().  This library, linked with -z initfirst and preloaded, is the
 * first to be initialised.
 */
#include <stdlib.h>

static __attribute__((constructor)) void
first(void)
{
	void *volatile p = malloc(1);

	free(p);
}

/*
 * kill_point.h - a process that kills itself at an injection point: for the
 * unit tests of the engine and, in a server, for kill/widetable_kill.c.
 */
#ifndef HOST_KILL_POINT_H
#define HOST_KILL_POINT_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct kill_point
{
	char name[64];
	unsigned long passes; /* left until the process dies; 0: it does not die */
} kill_point;

/* spec: "name", or "name:n" to die at the n-th pass; NULL and "": never. */
static inline void
kill_point_set(kill_point *k, const char *spec)
{
	size_t n = spec != NULL ? strcspn(spec, ":") : 0;

	k->passes = 0;
	if (n == 0 || n >= sizeof(k->name))
		return;
	memcpy(k->name, spec, n);
	k->name[n] = '\0';
	k->passes = spec[n] == ':' ? strtoul(spec + n + 1, NULL, 10) : 1;
}

/* For wide_on_injection_point; arg: the kill_point. */
static inline void
kill_point_reached(void *arg, const char *name)
{
	kill_point *k = arg;

	if (k->passes > 0 && strcmp(name, k->name) == 0 && --k->passes == 0)
		kill(getpid(), SIGKILL);
}

#endif /* HOST_KILL_POINT_H */

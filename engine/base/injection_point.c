/* injection_point.c - named points in the commit, flush, compaction and recovery paths */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "engine/base/injection_point.h"

enum
{
	KILL_UNKNOWN,
	KILL_OFF,
	KILL_ON
};

static _Atomic int kill_state = KILL_UNKNOWN;
static char kill_name[64];
static unsigned long kill_nth; /* passes left before the end; 0 = no name given */
static void (*kill_fn)(void *arg, const char *name);
static void *kill_arg;

static void
kill_setup(void)
{
	const char *env = getenv("WIDE_KILL_POINT");

	kill_nth = 0;
	if (env != NULL && env[0] != '\0')
	{
		const char *colon = strchr(env, ':');
		size_t n = colon != NULL ? (size_t) (colon - env) : strlen(env);

		if (n < sizeof(kill_name))
		{
			memcpy(kill_name, env, n);
			kill_name[n] = '\0';
			kill_nth = colon != NULL ? strtoul(colon + 1, NULL, 10) : 1;
		}
	}
	atomic_store(&kill_state, kill_nth > 0 || kill_fn != NULL ? KILL_ON : KILL_OFF);
}

void
injection_point(const char *name)
{
	int state = atomic_load_explicit(&kill_state, memory_order_relaxed);

	if (state == KILL_OFF)
		return;
	if (state == KILL_UNKNOWN)
	{
		kill_setup();
		if (atomic_load_explicit(&kill_state, memory_order_relaxed) == KILL_OFF)
			return;
	}
	if (kill_nth > 0 && strcmp(name, kill_name) == 0 && --kill_nth == 0)
		kill(getpid(), SIGKILL);
	if (kill_fn != NULL)
		kill_fn(kill_arg, name);
}

void
wide_on_injection_point(void (*fn)(void *arg, const char *name), void *arg)
{
	injection_point_set_hook(fn, arg);
}

/* Also reads the environment again at the next kill point; fn NULL: only that. */
void
injection_point_set_hook(void (*fn)(void *arg, const char *name), void *arg)
{
	kill_fn = fn;
	kill_arg = arg;
	atomic_store(&kill_state, KILL_UNKNOWN);
}

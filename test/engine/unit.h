/*
 * unit.h - cmocka, 1 or 2; no test program runs for ever.
 *
 *     WIDE_TEST_SECONDS=n   its time limit (0: none)
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <cmocka.h>

/* 2 asks for the sign in the name, and warns about the old one */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range(value, low, high) assert_uint_in_range(value, low, high)
#endif

#if defined(__SANITIZE_ADDRESS__)
#define UNIT_SECONDS	1200
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNIT_SECONDS	1200
#endif
#endif
#ifndef UNIT_SECONDS
#define UNIT_SECONDS	300
#endif

static void
unit_too_long(int sig)
{
	const char *parts[] = {"# ", program_invocation_short_name, ": took too long, it hangs or WIDE_TEST_SECONDS is too small\n"};

	(void) sig;
	for (int i = 0; i < 3; i++)
		if (write(2, parts[i], strlen(parts[i])) < 0)
			break;
	_exit(124);
}

/* Before main, in every test.  Children of a test have no alarm: see unit_fork. */
__attribute__((constructor)) static void
unit_limit(void)
{
	const char *text = getenv("WIDE_TEST_SECONDS");

	signal(SIGALRM, unit_too_long);
	if (text != NULL)
		alarm((unsigned) atoi(text));
	else if (getenv("WIDE_OPS") == NULL)	/* a long run is wanted */
		alarm(UNIT_SECONDS);
}

/*
 * fork(); the child ends with its parent, so that nobody stays behind when a
 * check fails or time is up (and holds the output open), and has a limit too.
 */
static inline pid_t
unit_fork(void)
{
	pid_t		parent = getpid(),
				pid = fork();

	if (pid == 0)
	{
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(125);
		alarm(UNIT_SECONDS);
	}
	return pid;
}

#endif

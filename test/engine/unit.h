/*
 * unit.h - cmocka 1 or 2, and a time limit for every test program.
 *
 *     WIDE_TEST_SECONDS=n   the limit in seconds (0: none)
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

/* version 2 wants the signedness in the name, and warns about the old name */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range(value, low, high) assert_uint_in_range(value, low, high)
#endif

#if defined(__SANITIZE_ADDRESS__)
#define UNIT_SECONDS 1200
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNIT_SECONDS 1200
#endif
#endif
#ifndef UNIT_SECONDS
#define UNIT_SECONDS 300
#endif

static void
unit_too_long(int sig)
{
	const char *parts[] = {"# ", program_invocation_short_name,
						   ": timeout: the test hangs, or WIDE_TEST_SECONDS is too small\n"};

	(void) sig;
	for (int i = 0; i < 3; i++)
		if (write(2, parts[i], strlen(parts[i])) < 0)
			break;
	_exit(124);
}

/* Runs before main in every test.  Children have no alarm: see unit_fork. */
__attribute__((constructor)) static void
unit_limit(void)
{
	const char *text = getenv("WIDE_TEST_SECONDS");

	signal(SIGALRM, unit_too_long);
	if (text != NULL)
		alarm((unsigned) atoi(text));
	else if (getenv("WIDE_OPS") == NULL) /* set: a long run is intended */
		alarm(UNIT_SECONDS);
}

/*
 * fork(); the child dies with its parent, so that no child stays behind (and
 * keeps the output open) when a check fails or time is up.  The child has a
 * time limit as well.
 */
static inline pid_t
unit_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0)
	{
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(125);
		alarm(UNIT_SECONDS);
	}
	return pid;
}

/* Write big-endian integers, of which keys are made. */
static inline void
put_u32be(uint8_t *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, 4);
}

static inline void
put_u64be(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, 8);
}

#endif

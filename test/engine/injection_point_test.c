/* injection_point_test.c - functions called at injection points; a process that kills itself there.
 */
#include <sys/wait.h>
#include "engine/base/injection_point.h"
#include "test/host/kill_point.h"
#include "unit.h"

static int
run_killed(const char *spec, int passes)
{
	pid_t pid = unit_fork();
	int ws;

	if (pid == 0)
	{
		kill_point k;

		kill_point_set(&k, spec);
		wide_on_injection_point(kill_point_reached, &k);
		for (int i = 0; i < passes; i++)
		{
			injection_point("other");
			injection_point("here");
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	return WIFSIGNALED(ws) ? WTERMSIG(ws) : 0;
}

static void
killed(void **state)
{
	assert_int_equal(run_killed("here", 1), SIGKILL);
	assert_int_equal(run_killed("here:3", 3), SIGKILL);
	assert_int_equal(run_killed("here:3", 2), 0);
	assert_int_equal(run_killed("nowhere", 5), 0);
	assert_int_equal(run_killed("", 5), 0);
	assert_int_equal(run_killed(NULL, 5), 0);
}

static void
count(void *arg, const char *name)
{
	*(int *) arg += strcmp(name, "here") == 0;
}

static void
counted(void **state)
{
	int n = 0;

	injection_point("here");
	wide_on_injection_point(count, &n);
	injection_point("here");
	injection_point("other");
	assert_int_equal(n, 1);
	wide_on_injection_point(NULL, NULL);
	injection_point("here");
	assert_int_equal(n, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(killed), cmocka_unit_test(counted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

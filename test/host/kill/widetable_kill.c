/*
 * widetable_kill.c
 *		Kills a process of a PostgreSQL server at an injection point of the engine.
 *
 * Built by ./build, for test/torture.pl and test/vectors.pl.  It must be loaded
 * before widetable, by shared_preload_libraries = '.../widetable_kill.so' or
 * '.../widetable_kill.so,widetable': then it finds the rendezvous variable that
 * fdw/store/stop_point.c reads when widetable is loaded.
 *
 * The environment variable WIDE_KILL_POINT of the server is "name" or "name:n":
 * every process that reaches this point the n-th time kills itself with SIGKILL.
 * A server with a name that the engine does not have does not start.
 */
#include "postgres.h"

#include "fmgr.h"

#include "test/host/kill_point.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

/* made by ./build from the sources of the engine */
static const char *const names[] = {
#include "injection_points.inc"
};

static kill_point point;

static void
reached(const char *name)
{
	kill_point_reached(&point, name);
}

void
_PG_init(void)
{
	const char *spec = getenv("WIDE_KILL_POINT");
	bool known = false;

	kill_point_set(&point, spec);
	if (spec == NULL || spec[0] == '\0')
		return;
	for (int i = 0; i < (int) lengthof(names); i++)
		known |= strcmp(names[i], point.name) == 0;
	if (point.passes == 0 || !known)
		ereport(FATAL, (errmsg("WIDE_KILL_POINT=%s: the engine has no such injection point", spec)));
	*find_rendezvous_variable("widetable_injection_point") = reached;
}

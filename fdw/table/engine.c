/*
 * engine.c
 *		Which engines there are beside the embedded one.
 */
#include "postgres.h"

#include "fdw/table/engine.h"

#include "lib/stringinfo.h"

#define MAX_ENGINES 8

static const WtEngine *engines[MAX_ENGINES];
static int nengines = 0;

uint32
wt_engine_register(const WtEngine *engine)
{
	if (nengines == MAX_ENGINES)
		elog(ERROR, "too many engines");
	engines[nengines] = engine;
	return WT_ENGINE_OTHER | (uint32) nengines++ << WT_ENGINE_SHIFT;
}

const WtEngine *
wt_engine_by_name(const char *name)
{
	for (int i = 0; i < nengines; i++)
	{
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	}
	return NULL;
}

const WtEngine *
wt_engine_at(int n)
{
	return n < nengines ? engines[n] : NULL;
}

char *
wt_engine_names(void)
{
	StringInfoData s;

	initStringInfo(&s);
	appendStringInfoString(&s, "embedded");
	for (int i = 0; i < nengines; i++)
		appendStringInfo(&s, ", %s", engines[i]->name);
	return s.data;
}

bool
wt_engine_changed(void)
{
	for (int i = 0; i < nengines; i++)
	{
		if (engines[i]->changed())
			return true;
	}
	return false;
}

const WtEngine *
wt_engine_of_other(uint32 id)
{
	uint32 n = (id & ~WT_ENGINE_OTHER) >> WT_ENGINE_SHIFT;

	return n < (uint32) nengines ? engines[n] : NULL;
}

void
wt_engine_require(const WtTable *t, WtCapability what, const char *action)
{
	if (!wt_engine_can(t, what))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s table \"%s\"", action, t->table_name),
				 errdetail("The engine \"%s\" does not do that.", t->engine->name)));
}

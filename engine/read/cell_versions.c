/* cell_versions.c - the versions of one column over time */
#include <stdlib.h>
#include <string.h>
#include "engine/read/cell_versions.h"
#include "engine/base/array.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"

void
cell_versions_reset(cell_versions *t)
{
	t->dead_end = 0;
	t->nspans = 0;
	t->nsteps = 0;
	t->stepped = false;
}

/* floors are sorted and differ in their seq */
void
cell_versions_init(cell_versions *t, int32_t versions, const family_floor *floors, int nfloors,
				   uint64_t horizon)
{
	uint64_t from = 0;

	memset(t, 0, sizeof(*t));
	t->versions = versions < 1 ? 1 : versions;
	for (int i = 0; i <= nfloors && from <= horizon; i++)
	{
		version_step *s = &t->base[t->nbase++];

		s->from = from;
		s->count = 0;
		s->limit = i == nfloors ? t->versions : floors[i].versions < 1 ? 1 : floors[i].versions;
		if (i < nfloors)
			from = floors[i].seq + 1;
	}
	/* without changes, the last one is all there is */
	t->versions = t->base[t->nbase - 1].limit;
	cell_versions_reset(t);
}

void
cell_versions_free(cell_versions *t)
{
	free(t->spans);
	free(t->steps);
	t->spans = NULL;
	t->steps = NULL;
}

/* Make a step begin at the moment; returns its index. */
static wide_status
track_cut(cell_versions *t, uint64_t at, int *index)
{
	int lo = 0, hi = t->nsteps;

	while (lo < hi)
	{
		int mid = (lo + hi) / 2;

		if (t->steps[mid].from < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	*index = lo;
	if (lo < t->nsteps && t->steps[lo].from == at)
		return WIDE_OK;
	TRY(array_grow((void **) &t->steps, t->nsteps, &t->steps_cap, sizeof(version_step)));
	memmove(t->steps + lo + 1, t->steps + lo, (size_t) (t->nsteps - lo) * sizeof(version_step));
	t->steps[lo] = t->steps[lo - 1]; /* the first step is at or below every moment that is cut */
	t->steps[lo].from = at;
	t->nsteps++;
	return WIDE_OK;
}

/* Count a span in the steps and see what it displaces. */
static wide_status
track_step(cell_versions *t, uint64_t from, uint64_t to)
{
	int a, b, dead = -1;

	if (from < t->steps[0].from)
		from = t->steps[0].from;
	if (from >= to)
		return WIDE_OK;
	TRY(track_cut(t, from, &a));
	b = t->nsteps;
	if (to != MOMENT_END)
		TRY(track_cut(t, to, &b));
	for (int i = a; i < b; i++)
		if (++t->steps[i].count >= t->steps[i].limit)
			dead = i;
	if (dead < 0)
		return WIDE_OK;
	if (dead + 1 == t->nsteps)
	{
		t->dead_end = MOMENT_END;
		return WIDE_OK;
	}
	t->dead_end = t->steps[dead + 1].from;
	t->nsteps -= dead + 1;
	memmove(t->steps, t->steps + dead + 1, (size_t) t->nsteps * sizeof(version_step));
	return WIDE_OK;
}

/* Build the steps from the spans. */
static wide_status
track_rebuild(cell_versions *t)
{
	t->stepped = true;
	t->nsteps = 0;
	for (int i = 0; i < t->nbase; i++)
	{
		TRY(array_grow((void **) &t->steps, t->nsteps, &t->steps_cap, sizeof(version_step)));
		t->steps[t->nsteps++] = t->base[i];
	}
	if (t->dead_end > 0)
	{
		int i;

		TRY(track_cut(t, t->dead_end, &i));
		t->nsteps -= i;
		memmove(t->steps, t->steps + i, (size_t) t->nsteps * sizeof(version_step));
	}
	for (int i = 0; i < t->nspans && t->dead_end != MOMENT_END; i++)
		TRY(track_step(t, t->spans[i].from, t->spans[i].to));
	return WIDE_OK;
}

/* A version, older than all before, was alive in [from, to); it began at or after dead_end. */
wide_status
cell_versions_add(cell_versions *t, uint64_t from, uint64_t to)
{
	if (from >= to)
		return WIDE_OK;
	TRY(array_grow((void **) &t->spans, t->nspans, &t->spans_cap, sizeof(version_span)));
	t->spans[t->nspans].from = from;
	t->spans[t->nspans].to = to;
	t->nspans++;
	if (!t->stepped)
	{
		if (to == MOMENT_END && t->nbase == 1)
		{
			if (t->nspans >= t->versions)
				t->dead_end = MOMENT_END;
			return WIDE_OK;
		}
		return track_rebuild(t);
	}
	return track_step(t, from, to);
}

/* The version added last had the same timestamp already from this moment on. */
wide_status
cell_versions_extend(cell_versions *t, uint64_t from, uint64_t to)
{
	if (!t->stepped && t->nspans > 0 && t->spans[t->nspans - 1].from == to)
	{
		t->spans[t->nspans - 1].from = from;
		return WIDE_OK;
	}
	return cell_versions_add(t, from, to);
}

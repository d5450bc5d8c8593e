/*
 * cell_versions.c - for how long the versions of one column were alive, and which of them were
 * displaced.
 *
 * As long as all versions are still alive and one limit holds at all times, their
 * number decides.  The first version of another kind makes a list of steps out of
 * the spans: a function from sequence numbers to the number of versions alive.
 * Where it reaches the limit, everything born before is dead, so only the steps
 * above the last such place (dead_end) are kept.
 */
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

/* Makes a step begin at this sequence number; *index is its index. */
static wide_status
steps_cut(cell_versions *t, uint64_t at, int *index)
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
	t->steps[lo] = t->steps[lo - 1]; /* no cut is below the first step */
	t->steps[lo].from = at;
	t->nsteps++;
	return WIDE_OK;
}

/* Counts a span in the steps and raises dead_end to what it displaces. */
static wide_status
steps_count(cell_versions *t, uint64_t from, uint64_t to)
{
	int a, b, dead = -1;

	if (from < t->steps[0].from)
		from = t->steps[0].from;
	if (from >= to)
		return WIDE_OK;
	TRY(steps_cut(t, from, &a));
	b = t->nsteps;
	if (to != SEQ_END)
		TRY(steps_cut(t, to, &b));
	for (int i = a; i < b; i++)
		if (++t->steps[i].count >= t->steps[i].limit)
			dead = i;
	if (dead < 0)
		return WIDE_OK;
	if (dead + 1 == t->nsteps)
	{
		t->dead_end = SEQ_END;
		return WIDE_OK;
	}
	t->dead_end = t->steps[dead + 1].from;
	t->nsteps -= dead + 1;
	memmove(t->steps, t->steps + dead + 1, (size_t) t->nsteps * sizeof(version_step));
	return WIDE_OK;
}

/* Makes the steps from the spans. */
static wide_status
steps_rebuild(cell_versions *t)
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

		TRY(steps_cut(t, t->dead_end, &i));
		t->nsteps -= i;
		memmove(t->steps, t->steps + i, (size_t) t->nsteps * sizeof(version_step));
	}
	for (int i = 0; i < t->nspans && t->dead_end != SEQ_END; i++)
		TRY(steps_count(t, t->spans[i].from, t->spans[i].to));
	return WIDE_OK;
}

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
		if (to == SEQ_END && t->nbase == 1)
		{
			if (t->nspans >= t->versions)
				t->dead_end = SEQ_END;
			return WIDE_OK;
		}
		return steps_rebuild(t);
	}
	return steps_count(t, from, to);
}

wide_status
cell_versions_add_alive(cell_versions *t, const uint64_t *from, int n)
{
	while (t->nspans + n > t->spans_cap)
		TRY(array_grow((void **) &t->spans, t->spans_cap, &t->spans_cap, sizeof(version_span)));
	for (int i = 0; i < n; i++)
		t->spans[t->nspans++] = (version_span) {from[i], SEQ_END};
	return WIDE_OK;
}

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

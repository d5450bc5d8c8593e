/*
 * spill.c - a batch that has become larger than its memory.
 *
 * The list is sorted, written as a run and emptied.  When spill_fan runs of one
 * tier have come together they are merged into one of the next, so that their
 * number stays below that for each factor of spill_fan in size, and with it what a
 * source that reads them has to open.
 *
 * What was undone before does not get into a run, and a rewind that reaches back
 * over a whole run drops it.  A rewind that ends within a run leaves an interval
 * in batch.undone.  There is at most one for each boundary between runs: a later
 * rewind over the same boundary is joined with it.
 *
 * A source that reads the list while it becomes a run goes on with the list; it
 * lives as long as that source (own_list_retire).
 *
 * A failure leaves everything as it was.  Locking: none.
 */
#include <stdlib.h>
#include "batch.h"

int			spill_fan = 16;

static wide_status
run_room(wide_batch *b)
{
	int			cap = b->runs_cap == 0 ? 8 : 2 * b->runs_cap;
	batch_run  *p;

	if (b->nruns < b->runs_cap)
		return WIDE_OK;
	p = realloc(b->runs, (size_t) cap * sizeof(*p));
	if (p == NULL)
		return wide_fail(WIDE_NOMEM, "out of memory for a transaction");
	b->runs = p;
	b->runs_cap = cap;
	return WIDE_OK;
}

/* Everything of the merge that is not undone; total: bytes, about.  *out NULL: that is nothing. */
static wide_status
write_run(wide_batch *b, own_merge *m, uint64_t total, bool interruptible, own_run **out)
{
	run_writer *w = NULL;
	const own_stream *s;
	uint64_t	n = 0;
	wide_status st;

	*out = NULL;
	TRY(own_merge_first(m));
	for (; (s = own_merge_top(m)) != NULL;)
	{
		if (!batch_undone(b, own_op(s->e.seq)))
		{
			if (w == NULL)
				TRY_GOTO(run_writer_open(b->db, total, &w));
			TRY_GOTO(run_writer_add(w, s->family, &s->e));
		}
		if (interruptible && ++n % 1024 == 0 && interrupted(b->db))
		{
			st = wide_fail(WIDE_INTERRUPTED, "interrupted");
			goto done;
		}
		TRY_GOTO(own_merge_next(m));
	}
	return w != NULL ? run_writer_finish(w, out) : WIDE_OK;
done:
	run_writer_abandon(w);
	return st;
}

/* The last runs are of one tier: make them one.  Not being able to is no failure: it is tried again. */
static void
merge_tier(wide_batch *b)
{
	int			from = b->nruns - spill_fan;
	uint64_t	total = 0;
	own_merge	m;
	own_run    *run;
	wide_status st;

	for (int i = from; i < b->nruns; i++)
		total += run_bytes(b->runs[i].run);
	st = own_merge_runs(b, from, b->nruns, &m);
	if (st == WIDE_OK)
		st = write_run(b, &m, total, true, &run);
	own_merge_close(&m);
	if (st != WIDE_OK)
		return;
	for (int i = from; i < b->nruns; i++)
		run_unref(b->runs[i].run);
	b->runs[from].run = run;
	b->runs[from].to = b->runs[b->nruns - 1].to;
	b->runs[from].tier++;
	b->nruns = run != NULL ? from + 1 : from;
}

static bool
tier_full(const wide_batch *b)
{
	return b->nruns >= spill_fan && b->runs[b->nruns - spill_fan].tier == b->runs[b->nruns - 1].tier;
}

wide_status
batch_spill(wide_batch *b)
{
	own_list   *l = b->list;
	own_sorted	sorted = {0};
	own_merge	m = {0};
	own_run    *run = NULL;
	wide_status st;

	TRY(run_room(b));
	TRY_GOTO(own_sort(b, &sorted));
	/* the list alone */
	{
		int			nruns = b->nruns;

		b->nruns = 0;
		st = own_merge_open(b, &sorted, UINT64_MAX, &m);
		b->nruns = nruns;
	}
	if (st == WIDE_OK)
		st = write_run(b, &m, l->end, false, &run);
	if (st != WIDE_OK)
		goto done;
	kill_point("batch-spilled");
	if (run != NULL)
		b->runs[b->nruns++] = (batch_run) {.run = run, .from = l->first_op, .to = b->nops};
done:
	own_merge_close(&m);
	own_sorted_free(&sorted);
	if (st != WIDE_OK)
		return st;
	stat_add(b->db, STAT_SPILLS, 1);
	stat_add(b->db, STAT_SPILL_BYTES, run != NULL ? run_bytes(run) : 0);
	/* what was undone in the list is nowhere any more, unless somebody still reads it */
	while (l->users == 0 && b->nundone > 0 && b->undone[b->nundone - 1].from >= l->first_op)
		b->nundone--;
	if (l->users == 0)
		own_list_reset(l);
	else
	{
		own_list_retire(l);
		b->list = NULL;
	}
	b->spills++;
	while (tier_full(b))
	{
		int			n = b->nruns;

		merge_tier(b);
		if (b->nruns == n)
			break;
	}
	return WIDE_OK;
}

void
batch_drop_runs(wide_batch *b, uint64_t mark)
{
	while (b->nruns > 0 && b->runs[b->nruns - 1].from >= mark)
	{
		run_unref(b->runs[--b->nruns].run);
		b->spills++;
	}
}

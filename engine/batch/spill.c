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
 * lives as long as that source (op_list_retire).
 *
 * While a batch is only written to, lists become runs beside it (helper.c): a
 * list that has come to its limit is a piece that the thread has, and the batch
 * goes on with another list.  Pieces become runs in their order.  Before anything
 * is read, undone or committed they are waited for.
 *
 * A failure leaves everything as it was; a piece that has failed is told with a
 * later operation, and tried again by the next that needs it.  Locking: none.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "engine/batch/spill.h"
#include "engine/base/helper.h"
#include "engine/base/injection_point.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/shared/host.h"
#include "engine/batch/batch.h"
#include "engine/batch/op.h"
#include "engine/batch/op_list.h"
#include "engine/batch/op_merge.h"
#include "engine/batch/spill_file.h"

static wide_status
run_room(wide_batch *b)
{
	int cap = b->runs_cap == 0 ? 8 : 2 * b->runs_cap;
	batch_spilled *p;

	if (b->nruns < b->runs_cap)
		return WIDE_OK;
	p = realloc(b->runs, (size_t) cap * sizeof(*p));
	if (p == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	b->runs = p;
	b->runs_cap = cap;
	return WIDE_OK;
}

static void
run_add(wide_batch *b, spill_file *run, uint64_t from, uint64_t to)
{
	injection_point("batch-spilled");
	if (run != NULL)
		b->runs[b->nruns++] = (batch_spilled) {.run = run, .from = from, .to = to};
	counter_add(b->db, COUNTER_SPILLS, 1);
	counter_add(b->db, COUNTER_SPILL_BYTES, run != NULL ? spill_file_bytes(run) : 0);
	b->spills++;
}

/*
 * Everything of the merge that is not undone into w, which is freed.  *out NULL:
 * that is nothing.  cancel: set by another thread; NULL: ask the host.
 */
static wide_status
write_run(wide_db *db, op_merge *m, spill_file_writer *w, const _Atomic bool *cancel,
		  spill_file **out)
{
	const op_stream *s;
	uint64_t n = 0;
	bool any = false;
	wide_status st;

	*out = NULL;
	TRY_GOTO(op_merge_first(m));
	while ((s = op_merge_top(m)) != NULL)
	{
		if (!op_undone_has(m->undone, op_number(s->e.seq)))
		{
			any = true;
			TRY_GOTO(spill_file_writer_add(w, s->family, &s->e));
		}
		if (++n % 1024 == 0 && (cancel != NULL ? atomic_load_explicit(cancel, memory_order_relaxed)
											   : host_interrupted(db)))
		{
			st = status_fail(WIDE_INTERRUPTED, "interrupted");
			goto done;
		}
		TRY_GOTO(op_merge_next(m));
	}
	if (any)
		return spill_file_writer_finish(w, out);
	st = WIDE_OK;
done:
	spill_file_writer_abandon(w);
	return st;
}

/* The last runs are of one tier: make them one.  Not being able to is no failure: it is tried
 * again. */
static void
merge_tier(wide_batch *b)
{
	int from = b->nruns - spill_fan;
	uint64_t total = 0;
	spill_file_writer *w;
	op_merge m;
	spill_file *run;
	wide_status st;

	for (int i = from; i < b->nruns; i++)
		total += spill_file_bytes(b->runs[i].run);
	if (spill_file_writer_open(b->db, total, &w) != WIDE_OK)
		return;
	st = op_merge_files(b, from, b->nruns, &m);
	if (st == WIDE_OK)
		st = write_run(b->db, &m, w, NULL, &run);
	else
		spill_file_writer_abandon(w);
	op_merge_close(&m);
	if (st != WIDE_OK)
		return;
	for (int i = from; i < b->nruns; i++)
		spill_file_unref(b->runs[i].run);
	b->runs[from].run = run;
	b->runs[from].to = b->runs[b->nruns - 1].to;
	b->runs[from].tier++;
	b->nruns = run != NULL ? from + 1 : from;
}

static bool
tier_full(const wide_batch *b)
{
	return b->nruns >= spill_fan &&
		   b->runs[b->nruns - spill_fan].tier == b->runs[b->nruns - 1].tier;
}

static void
merge_tiers(wide_batch *b)
{
	while (tier_full(b))
	{
		int n = b->nruns;

		merge_tier(b);
		if (b->nruns == n)
			break;
	}
}

/* The list alone, sorted, into w, which is freed. */
static wide_status
write_list(op_list *l, const op_undone *undone, spill_file_writer *w, const _Atomic bool *cancel,
		   spill_file **out)
{
	op_sorted sorted = {0};
	op_merge m = {0};
	wide_status st;

	st = op_list_sort(l, undone, &sorted);
	if (st == WIDE_OK)
		st = op_merge_list(l, &sorted, undone, &m);
	if (st == WIDE_OK)
		st = write_run(NULL, &m, w, cancel, out);
	else
		spill_file_writer_abandon(w);
	op_merge_close(&m);
	op_list_sorted_free(&sorted);
	return st;
}

/* ------------------------------------------------------------------ pieces */

/*
 * What is made of a list by the thread.  All that it knows of the batch is the
 * list, which nobody else touches, and what of it was undone by then.
 */
struct batch_piece
{
	helper_job job;
	op_list *list;
	op_undone undone;
	spill_file_writer *w;
	spill_file *run; /* what has come of it; NULL: nothing was left */
	uint64_t to;	 /* behind its operations */
	_Atomic bool cancel;
	bool told; /* that it has failed: it is to be done again */
	wide_status st;
	char text[256];
	batch_piece *next;
};

/*
 * With a thread a list becomes a run when it has a quarter of the memory: one is
 * filled, two are with the thread, and there is sorting.  But not before it is
 * clear that the batch becomes files; where that is close to all of the memory a
 * thread would have nothing to do.
 */
void
spill_set_memory(wide_batch *b, size_t bytes)
{
	size_t most = (size_t) b->db->seg->memtables[0].capacity / 2,
		   piece = bytes / (BATCH_PIECES + 2);

	b->memory = bytes;
	if (piece < most)
		piece = most;
	b->limit = piece > bytes / 3 || piece < spill_piece_least ? bytes : piece;
}

/* In the thread. */
static void
make_run(helper_job *job)
{
	batch_piece *p = (batch_piece *) job;
	spill_file_writer *w = p->w;

	p->w = NULL;
	p->st = write_list(p->list, &p->undone, w, &p->cancel, &p->run);
	if (p->st != WIDE_OK)
		snprintf(p->text, sizeof(p->text), "%s", wide_error_text());
}

/* Its list has been read by nobody. */
static void
piece_free(wide_batch *b, batch_piece *p)
{
	if (b->nidle < BATCH_PIECES)
	{
		op_list_reset(p->list);
		b->idle[b->nidle++] = p->list;
	}
	else
		op_list_retire(p->list);
	spill_file_unref(p->run);
	free(p->undone.intervals);
	free(p);
}

/* Pieces that are done become runs, in their order, until only so many are left.  One that has
 * failed stays, and is tried again. */
static wide_status
collect(wide_batch *b, int leave)
{
	batch_piece *p;

	while ((p = b->pieces) != NULL && (b->npieces > leave || helper_done(&p->job)))
	{
		helper_wait(b->aside, &p->job);
		TRY(run_room(b));
		if (p->told)
		{
			TRY(spill_file_writer_open(b->db, p->list->end, &p->w));
			make_run(&p->job);
		}
		if (p->st != WIDE_OK)
		{
			p->told = true;
			return status_fail(p->st, "%s", p->text);
		}
		b->pieces = p->next;
		b->npieces--;
		run_add(b, p->run, p->list->first_op, p->to);
		p->run = NULL;
		piece_free(b, p);
	}
	return WIDE_OK;
}

static void
lists_free(wide_batch *b)
{
	while (b->nidle > 0)
		op_list_retire(b->idle[--b->nidle]);
}

wide_status
spill_settle(wide_batch *b)
{
	TRY(collect(b, 0));
	helper_free(b->aside);
	b->aside = NULL;
	lists_free(b);
	merge_tiers(b);
	return WIDE_OK;
}

wide_status
spill_before_read(wide_batch *b)
{
	b->limit = b->memory;
	return b->aside == NULL ? WIDE_OK : spill_settle(b);
}

void
spill_pause(wide_batch *b)
{
	for (batch_piece *p = b->pieces; p != NULL; p = p->next)
		helper_wait(b->aside, &p->job);
	(void) collect(b, 0);
}

void
spill_drop_pieces(wide_batch *b)
{
	for (batch_piece *p = b->pieces; p != NULL; p = p->next)
		atomic_store_explicit(&p->cancel, true, memory_order_relaxed);
	helper_free(b->aside);
	b->aside = NULL;
	for (batch_piece *p; (p = b->pieces) != NULL;)
	{
		b->pieces = p->next;
		piece_free(b, p);
	}
	b->npieces = 0;
	lists_free(b);
}

static wide_status
spill_beside(wide_batch *b)
{
	op_list *l = b->list;
	batch_piece *p, **end = &b->pieces;
	wide_status st;

	TRY(collect(b, BATCH_PIECES - 1));
	merge_tiers(b);
	if (b->aside == NULL && (b->aside = helper_new()) == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	p->list = l;
	st = op_undone_copy(&b->undone, &p->undone);
	if (st == WIDE_OK)
		st = spill_file_writer_open(b->db, l->end, &p->w);
	if (st != WIDE_OK)
	{
		free(p->undone.intervals);
		free(p);
		return st;
	}
	p->to = b->nops;
	p->job.run = make_run;
	while (*end != NULL)
		end = &(*end)->next;
	*end = p;
	b->npieces++;
	/* what was undone in the list that goes is nowhere any more */
	op_undone_forget(&b->undone, l->first_op);
	b->list = b->nidle > 0 ? b->idle[--b->nidle] : NULL;
	b->spills++;
	helper_submit(b->aside, &p->job);
	return WIDE_OK;
}

/* -------------------------------------------------------------------- spill */

wide_status
spill_batch(wide_batch *b)
{
	op_list *l = b->list;
	spill_file *run = NULL;
	_Atomic bool never = false; /* it is not interrupted */
	spill_file_writer *w;

	if (b->limit < b->memory && l->users == 0)
		return spill_beside(b);
	TRY(spill_settle(b));
	TRY(run_room(b));
	TRY(spill_file_writer_open(b->db, l->end, &w));
	TRY(write_list(l, &b->undone, w, &never, &run));
	run_add(b, run, l->first_op, b->nops);
	/* unless somebody still reads it */
	if (l->users == 0)
	{
		op_undone_forget(&b->undone, l->first_op);
		op_list_reset(l);
	}
	else
	{
		op_list_retire(l);
		b->list = NULL;
	}
	merge_tiers(b);
	return WIDE_OK;
}

void
spill_drop_files(wide_batch *b, uint64_t mark)
{
	batch_piece **at = &b->pieces;

	while (*at != NULL)
	{
		batch_piece *p = *at;

		if (p->list->first_op < mark)
		{
			at = &p->next;
			continue;
		}
		*at = p->next;
		b->npieces--;
		b->spills++;
		piece_free(b, p);
	}
	while (b->nruns > 0 && b->runs[b->nruns - 1].from >= mark)
	{
		spill_file_unref(b->runs[--b->nruns].run);
		b->spills++;
	}
}

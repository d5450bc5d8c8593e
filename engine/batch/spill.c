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
#include "engine/batch/batch_state.h"
#include "engine/batch/op.h"
#include "engine/batch/op_list.h"
#include "engine/batch/op_merge.h"
#include "engine/batch/spill_file.h"

static wide_status
run_room(wide_batch *b)
{
	int cap = b->spill.files_cap == 0 ? 8 : 2 * b->spill.files_cap;
	batch_spilled *p;

	if (b->spill.nfiles < b->spill.files_cap)
		return WIDE_OK;
	p = realloc(b->spill.files, (size_t) cap * sizeof(*p));
	if (p == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	b->spill.files = p;
	b->spill.files_cap = cap;
	return WIDE_OK;
}

static void
run_add(wide_batch *b, spill_file *run, uint64_t from, uint64_t to)
{
	injection_point("batch-spilled");
	if (run != NULL)
		b->spill.files[b->spill.nfiles++] = (batch_spilled) {.file = run, .from = from, .to = to};
	counter_add(b->db, COUNTER_SPILLS, 1);
	counter_add(b->db, COUNTER_SPILL_BYTES, run != NULL ? spill_file_bytes(run) : 0);
	b->spill.changes++;
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
	int from = b->spill.nfiles - spill_fan;
	uint64_t total = 0;
	spill_file_writer *w;
	op_merge m;
	spill_file *run;
	wide_status st;

	for (int i = from; i < b->spill.nfiles; i++)
		total += spill_file_bytes(b->spill.files[i].file);
	if (spill_file_writer_open(b->db, total, &w) != WIDE_OK)
		return;
	st = op_merge_files(b, from, b->spill.nfiles, &m);
	if (st == WIDE_OK)
		st = write_run(b->db, &m, w, NULL, &run);
	else
		spill_file_writer_abandon(w);
	op_merge_close(&m);
	if (st != WIDE_OK)
		return;
	for (int i = from; i < b->spill.nfiles; i++)
		spill_file_unref(b->spill.files[i].file);
	b->spill.files[from].file = run;
	b->spill.files[from].to = b->spill.files[b->spill.nfiles - 1].to;
	b->spill.files[from].tier++;
	b->spill.nfiles = run != NULL ? from + 1 : from;
}

static bool
tier_full(const wide_batch *b)
{
	return b->spill.nfiles >= spill_fan && b->spill.files[b->spill.nfiles - spill_fan].tier ==
											   b->spill.files[b->spill.nfiles - 1].tier;
}

static void
merge_tiers(wide_batch *b)
{
	while (tier_full(b))
	{
		int n = b->spill.nfiles;

		merge_tier(b);
		if (b->spill.nfiles == n)
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
struct spill_job
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
	spill_job *next;
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
		   piece = bytes / (BATCH_SPILL_JOBS + 2);

	b->spill.memory = bytes;
	if (piece < most)
		piece = most;
	b->spill.limit = piece > bytes / 3 || piece < spill_piece_least ? bytes : piece;
}

/* In the thread. */
static void
make_run(helper_job *job)
{
	spill_job *p = (spill_job *) job;
	spill_file_writer *w = p->w;

	p->w = NULL;
	p->st = write_list(p->list, &p->undone, w, &p->cancel, &p->run);
	if (p->st != WIDE_OK)
		snprintf(p->text, sizeof(p->text), "%s", wide_error_text());
}

/* Its list has been read by nobody. */
static void
piece_free(wide_batch *b, spill_job *p)
{
	if (b->spill.nspare < BATCH_SPILL_JOBS)
	{
		op_list_reset(p->list);
		b->spill.spare[b->spill.nspare++] = p->list;
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
	spill_job *p;

	while ((p = b->spill.jobs) != NULL && (b->spill.njobs > leave || helper_done(&p->job)))
	{
		helper_wait(b->spill.helper, &p->job);
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
		b->spill.jobs = p->next;
		b->spill.njobs--;
		run_add(b, p->run, p->list->first_op, p->to);
		p->run = NULL;
		piece_free(b, p);
	}
	return WIDE_OK;
}

static void
lists_free(wide_batch *b)
{
	while (b->spill.nspare > 0)
		op_list_retire(b->spill.spare[--b->spill.nspare]);
}

wide_status
spill_settle(wide_batch *b)
{
	TRY(collect(b, 0));
	helper_free(b->spill.helper);
	b->spill.helper = NULL;
	lists_free(b);
	merge_tiers(b);
	return WIDE_OK;
}

wide_status
spill_before_read(wide_batch *b)
{
	b->spill.limit = b->spill.memory;
	return b->spill.helper == NULL ? WIDE_OK : spill_settle(b);
}

void
spill_pause(wide_batch *b)
{
	for (spill_job *p = b->spill.jobs; p != NULL; p = p->next)
		helper_wait(b->spill.helper, &p->job);
	(void) collect(b, 0);
}

void
spill_drop_pieces(wide_batch *b)
{
	for (spill_job *p = b->spill.jobs; p != NULL; p = p->next)
		atomic_store_explicit(&p->cancel, true, memory_order_relaxed);
	helper_free(b->spill.helper);
	b->spill.helper = NULL;
	for (spill_job *p; (p = b->spill.jobs) != NULL;)
	{
		b->spill.jobs = p->next;
		piece_free(b, p);
	}
	b->spill.njobs = 0;
	lists_free(b);
}

static wide_status
spill_beside(wide_batch *b)
{
	op_list *l = b->ops.list;
	spill_job *p, **end = &b->spill.jobs;
	wide_status st;

	TRY(collect(b, BATCH_SPILL_JOBS - 1));
	merge_tiers(b);
	if (b->spill.helper == NULL && (b->spill.helper = helper_new()) == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	p->list = l;
	st = op_undone_copy(&b->ops.undone, &p->undone);
	if (st == WIDE_OK)
		st = spill_file_writer_open(b->db, l->end, &p->w);
	if (st != WIDE_OK)
	{
		free(p->undone.intervals);
		free(p);
		return st;
	}
	p->to = b->ops.next;
	p->job.run = make_run;
	while (*end != NULL)
		end = &(*end)->next;
	*end = p;
	b->spill.njobs++;
	/* what was undone in the list that goes is nowhere any more */
	op_undone_forget(&b->ops.undone, l->first_op);
	b->ops.list = b->spill.nspare > 0 ? b->spill.spare[--b->spill.nspare] : NULL;
	b->spill.changes++;
	helper_submit(b->spill.helper, &p->job);
	return WIDE_OK;
}

/* -------------------------------------------------------------------- spill */

wide_status
spill_batch(wide_batch *b)
{
	op_list *l = b->ops.list;
	spill_file *run = NULL;
	_Atomic bool never = false; /* it is not interrupted */
	spill_file_writer *w;

	if (b->spill.limit < b->spill.memory && l->users == 0)
		return spill_beside(b);
	TRY(spill_settle(b));
	TRY(run_room(b));
	TRY(spill_file_writer_open(b->db, l->end, &w));
	TRY(write_list(l, &b->ops.undone, w, &never, &run));
	run_add(b, run, l->first_op, b->ops.next);
	/* unless somebody still reads it */
	if (l->users == 0)
	{
		op_undone_forget(&b->ops.undone, l->first_op);
		op_list_reset(l);
	}
	else
	{
		op_list_retire(l);
		b->ops.list = NULL;
	}
	merge_tiers(b);
	return WIDE_OK;
}

void
spill_drop_files(wide_batch *b, uint64_t mark)
{
	spill_job **at = &b->spill.jobs;

	while (*at != NULL)
	{
		spill_job *p = *at;

		if (p->list->first_op < mark)
		{
			at = &p->next;
			continue;
		}
		*at = p->next;
		b->spill.njobs--;
		b->spill.changes++;
		piece_free(b, p);
	}
	while (b->spill.nfiles > 0 && b->spill.files[b->spill.nfiles - 1].from >= mark)
	{
		spill_file_unref(b->spill.files[--b->spill.nfiles].file);
		b->spill.changes++;
	}
}

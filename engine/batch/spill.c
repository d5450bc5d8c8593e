/*
 * spill.c - writes the operations of a batch that exceeds its memory to spill files.
 *
 * The list is sorted, written to a spill file and emptied.  When the last
 * spill_fan files are of one tier they are merged into one file of the next tier.
 * So fewer than spill_fan files exist for each factor of spill_fan in size, which
 * bounds what a source that reads them has to open.
 *
 * Operations that are undone already are not written.  A rewind drops files whose
 * operations are all at or above its mark.  A rewind to a mark within a file leaves
 * an interval in ops.undone.  There is at most one interval for each boundary
 * between files, because a later rewind over the same boundary extends it.
 *
 * A source that is reading the list when it is spilled goes on with the list, which
 * lives as long as that source (op_list_retire).
 *
 * While a batch is only written to, the helper thread writes its lists (helper.c):
 * a list that has reached its limit becomes a job of the thread, and the batch goes
 * on with another list.  Jobs become files in their order.  Before operations are
 * read, undone or committed, the batch waits for all jobs.
 *
 * The host counts the files (spill_file.h).  For a list of the thread, the bytes that it
 * has in memory are reserved before, and those that the file does not need are given
 * back when the job is done.  A list for which the host grants no such reserve is written
 * without the thread, and counted as it is written.
 *
 * Invariant: a failure leaves the batch as it was.  The failure of a job is reported
 * by the next operation that waits for the job; the one after that tries again.
 *
 * Locking: none.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "engine/batch/spill.h"
#include "engine/base/array.h"
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

/* Makes room for one more file. */
static wide_status
files_reserve(wide_batch *b)
{
	return array_grow((void **) &b->spill.files, b->spill.nfiles, &b->spill.files_cap,
					  sizeof(batch_spilled));
}

/* Adds a file, or only counts the spill if nothing of it was left (NULL).
 * Requires: files_reserve. */
static void
add_file(wide_batch *b, spill_file *file, uint64_t from, uint64_t to)
{
	injection_point("batch-spilled");
	if (file != NULL)
		spill_file_count(file);
	if (file != NULL)
		b->spill.files[b->spill.nfiles++] = (batch_spilled) {.file = file, .from = from, .to = to};
	counter_add(b->db, COUNTER_SPILLS, 1);
	counter_add(b->db, COUNTER_SPILL_BYTES, file != NULL ? spill_file_bytes(file) : 0);
	b->spill.changes++;
}

/*
 * Writes the live operations of the merge and frees w.  *out is NULL if there are
 * none.  cancel: interrupts it, set by another thread; if NULL, db's host is asked.
 */
static wide_status
write_merged(wide_db *db, op_merge *m, spill_file_writer *w, const _Atomic bool *cancel,
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

/* Merges the last spill_fan files into one.  Returns false if that fails: the next spill tries
 * again. */
static bool
merge_tier(wide_batch *b)
{
	int from = b->spill.nfiles - spill_fan;
	uint64_t total = 0;
	spill_file_writer *w;
	op_merge m;
	spill_file *file;
	wide_status st;

	for (int i = from; i < b->spill.nfiles; i++)
		total += spill_file_bytes(b->spill.files[i].file);
	if (spill_file_writer_open(b->db, total, &w) != WIDE_OK)
		return false;
	m = (op_merge) {0};
	/* at once: without room for all of it no part needs to be written */
	st = spill_file_writer_reserve(w, total, false);
	if (st == WIDE_OK)
		st = op_merge_files(b, from, b->spill.nfiles, &m);
	if (st == WIDE_OK)
		st = write_merged(b->db, &m, w, NULL, &file);
	else
		spill_file_writer_abandon(w);
	op_merge_close(&m);
	if (st != WIDE_OK)
		return false;
	for (int i = from; i < b->spill.nfiles; i++)
		spill_file_unref(b->spill.files[i].file);
	if (file != NULL)
		spill_file_count(file);
	b->spill.files[from].file = file;
	b->spill.files[from].to = b->spill.files[b->spill.nfiles - 1].to;
	b->spill.files[from].tier++;
	b->spill.nfiles = file != NULL ? from + 1 : from;
	return true;
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
	while (tier_full(b) && merge_tier(b))
		;
}

/* Sorts the list, writes it and frees w. */
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
		st = write_merged(NULL, &m, w, cancel, out);
	else
		spill_file_writer_abandon(w);
	op_merge_close(&m);
	op_list_sorted_free(&sorted);
	return st;
}

/* -------------------------------------------------------------------- jobs */

/* A list that the helper thread writes.  Until helper_wait returns, the list, undone and w belong
 * to the thread. */
struct spill_job
{
	helper_job job;
	op_list *list;
	op_undone undone;
	spill_file_writer *w;
	spill_file *written; /* the file of w: with this reference the thread never closes it */
	spill_file *file;	 /* the result; NULL: all operations were undone */
	uint64_t to;		 /* its operations are below this number */
	_Atomic bool cancel;
	bool reported; /* an operation has returned its failure; the next one runs it again */
	wide_status st;
	char text[256];
	spill_job *next;
};

/*
 * With the helper thread a list is spilled at a quarter of the memory: one list is
 * being filled, two are with the thread, and sorting takes the rest.  But it is not
 * spilled below half a memtable, from where on the batch becomes sorted files at its
 * commit.  Where that is more than a third of the memory the thread is not used.
 */
void
spill_set_memory(wide_batch *b, size_t bytes)
{
	size_t least = (size_t) b->db->seg->memtables[0].capacity / 2,
		   list = bytes / (BATCH_SPILL_JOBS + 2);

	b->spill.memory = bytes;
	if (list < least)
		list = least;
	b->spill.limit = list > bytes / 3 || list < spill_piece_least ? bytes : list;
}

/* Runs in the helper thread. */
static void
run_job(helper_job *job)
{
	spill_job *j = (spill_job *) job;
	spill_file_writer *w = j->w;

	j->w = NULL;
	j->st = write_list(j->list, &j->undone, w, &j->cancel, &j->file);
	if (j->st != WIDE_OK)
		snprintf(j->text, sizeof(j->text), "%s", wide_error_text());
}

/* Frees a job that is not with the thread.  No source has read its list, so it is used again. */
static void
job_free(wide_batch *b, spill_job *j)
{
	if (b->spill.nspare < BATCH_SPILL_JOBS)
	{
		op_list_reset(j->list);
		b->spill.spare[b->spill.nspare++] = j->list;
	}
	else
		op_list_retire(j->list);
	spill_file_unref(j->written);
	spill_file_unref(j->file);
	free(j->undone.intervals);
	free(j);
}

/* Runs a job again that has failed, in this thread. */
static wide_status
run_again(wide_batch *b, spill_job *j)
{
	spill_file_unref(j->written);
	j->written = NULL;
	TRY(spill_file_writer_open(b->db, j->list->end, &j->w));
	run_job(&j->job);
	return WIDE_OK;
}

/* Turns jobs into files, in their order: waits until at most `leave` are left, and takes those
 * that are done.  A job that fails stays. */
static wide_status
collect_jobs(wide_batch *b, int leave)
{
	spill_job *j;

	while ((j = b->spill.jobs) != NULL && (b->spill.njobs > leave || helper_done(&j->job)))
	{
		helper_wait(b->spill.helper, &j->job);
		TRY(files_reserve(b));
		/* WIDE_BUSY: the file needs more than was reserved */
		if (j->reported || j->st == WIDE_BUSY)
			TRY(run_again(b, j));
		if (j->st != WIDE_OK)
		{
			j->reported = true;
			return status_fail(j->st, "%s", j->text);
		}
		b->spill.jobs = j->next;
		b->spill.njobs--;
		add_file(b, j->file, j->list->first_op, j->to);
		j->file = NULL;
		job_free(b, j);
	}
	return WIDE_OK;
}

static void
spare_free(wide_batch *b)
{
	while (b->spill.nspare > 0)
		op_list_retire(b->spill.spare[--b->spill.nspare]);
}

wide_status
spill_settle(wide_batch *b)
{
	TRY(collect_jobs(b, 0));
	helper_free(b->spill.helper);
	b->spill.helper = NULL;
	spare_free(b);
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
spill_wait(wide_batch *b)
{
	for (spill_job *j = b->spill.jobs; j != NULL; j = j->next)
		helper_wait(b->spill.helper, &j->job);
	(void) collect_jobs(b, 0);
}

void
spill_cancel(wide_batch *b)
{
	for (spill_job *j = b->spill.jobs; j != NULL; j = j->next)
		atomic_store_explicit(&j->cancel, true, memory_order_relaxed);
	helper_free(b->spill.helper);
	b->spill.helper = NULL;
	for (spill_job *j; (j = b->spill.jobs) != NULL;)
	{
		b->spill.jobs = j->next;
		job_free(b, j);
	}
	b->spill.njobs = 0;
	spare_free(b);
}

/* Hands the list to the helper thread and goes on with another one.  Fails with WIDE_TEMP_LIMIT
 * if the host grants no reserve for it. */
static wide_status
spill_to_helper(wide_batch *b)
{
	op_list *l = b->ops.list;
	spill_job *j, **end = &b->spill.jobs;
	wide_status st;

	TRY(collect_jobs(b, BATCH_SPILL_JOBS - 1));
	merge_tiers(b);
	if (b->spill.helper == NULL && (b->spill.helper = helper_new()) == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	j = calloc(1, sizeof(*j));
	if (j == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	j->list = l;
	st = op_undone_copy(&b->ops.undone, &j->undone);
	if (st == WIDE_OK)
		st = spill_file_writer_open(b->db, l->end, &j->w);
	/* a node takes more bytes in memory than its entry in a file, in all practical cases */
	if (st == WIDE_OK)
		st = spill_file_writer_reserve(j->w,
									   l->end - l->start < spill_reserve_most ? l->end - l->start
																			  : spill_reserve_most,
									   true);
	if (st != WIDE_OK)
	{
		spill_file_writer_abandon(j->w);
		free(j->undone.intervals);
		free(j);
		return st;
	}
	j->written = spill_file_writer_file(j->w);
	j->to = b->ops.next;
	j->job.run = run_job;
	while (*end != NULL)
		end = &(*end)->next;
	*end = j;
	b->spill.njobs++;
	op_undone_forget(&b->ops.undone, l->first_op);
	b->ops.list = b->spill.nspare > 0 ? b->spill.spare[--b->spill.nspare] : NULL;
	b->spill.changes++;
	helper_submit(b->spill.helper, &j->job);
	return WIDE_OK;
}

/* -------------------------------------------------------------------- spill */

wide_status
spill_batch(wide_batch *b)
{
	op_list *l = b->ops.list;
	spill_file *file = NULL;
	_Atomic bool never = false; /* this write is not interrupted */
	spill_file_writer *w;

	if (b->spill.limit < b->spill.memory && l->users == 0)
	{
		wide_status st = spill_to_helper(b);

		if (st != WIDE_TEMP_LIMIT)
			return st;
	}
	TRY(spill_settle(b));
	TRY(files_reserve(b));
	TRY(spill_file_writer_open(b->db, l->end, &w));
	TRY(write_list(l, &b->ops.undone, w, &never, &file));
	add_file(b, file, l->first_op, b->ops.next);
	/* a source that reads the list keeps it */
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
		spill_job *j = *at;

		if (j->list->first_op < mark)
		{
			at = &j->next;
			continue;
		}
		*at = j->next;
		b->spill.njobs--;
		b->spill.changes++;
		job_free(b, j);
	}
	while (b->spill.nfiles > 0 && b->spill.files[b->spill.nfiles - 1].from >= mark)
	{
		spill_file_unref(b->spill.files[--b->spill.nfiles].file);
		b->spill.changes++;
	}
}

/*
 * normalise.c - resolves the order of operations within a batch.
 *
 * Reads the merged operations a column at a time, in key order, so the family deletes of
 * a row come before its columns.  Within a column entries come newest timestamp first and,
 * at equal timestamps, the newest operation first.
 *
 * Locking: none.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/batch/normalise.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/read/visibility.h"
#include "engine/batch/batch_state.h"
#include "engine/batch/op.h"
#include "engine/batch/op_list.h"
#include "engine/batch/op_merge.h"

#define NO_OP UINT64_MAX

struct norm
{
	op_merge m;
	int64_t fixed_ts; /* INT64_MIN: none */

	/* the row */
	wide_family_id family;
	buffer row;			 /* empty before the first row */
	row_delete *deletes; /* its family deletes */
	int ndeletes, deletes_cap;

	/* the column */
	op_column c;
	entry *column; /* what is left of c.e */
	int ncolumn;
	int next;		  /* index of the next entry to give out */
	uint64_t auto_op; /* operation of its automatic put; NO_OP: none */
	int64_t floor;	  /* floor of that put */
	int64_t *avoid;	  /* timestamps of its other puts */
	int navoid, avoid_cap;
};

wide_status
normalise_new(wide_batch *b, const op_sorted *sorted, int64_t fixed_ts, norm **out)
{
	norm *n = pool_alloc(sizeof(*n));
	wide_status st;

	if (n == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	n->fixed_ts = fixed_ts;
	st = op_merge_open(b, sorted, UINT64_MAX, &n->m);
	if (st == WIDE_OK)
		st = op_merge_first(&n->m);
	if (st == WIDE_OK)
		*out = n;
	else
		normalise_free(n);
	return st;
}

void
normalise_free(norm *n)
{
	if (n == NULL)
		return;
	op_merge_close(&n->m);
	op_merge_column_free(&n->c);
	buffer_free(&n->row);
	free(n->deletes);
	free(n->avoid);
	pool_free(n, sizeof(*n));
}

static inline uint64_t
op_of(const entry *e)
{
	return op_number(e->seq);
}

/* Reads the next column into n->column; WIDE_END: there is none. */
static wide_status
norm_read(norm *n)
{
	const entry *e;

	/* the copied values of the column before */
	op_merge_column_recycle(&n->c);
	n->ncolumn = n->next = 0;
	TRY(op_merge_column_read(&n->c, &n->m));
	n->column = n->c.e;
	n->ncolumn = n->c.n;
	n->floor = INT64_MIN;
	n->navoid = 0;
	n->auto_op = n->c.newest >= 0 ? op_of(&n->column[n->c.newest]) : NO_OP;
	for (int i = 0; i < n->ncolumn; i++)
	{
		int64_t floor = op_floor(&n->column[i]);

		n->floor = i == n->c.newest ? floor : n->floor;
	}
	e = &n->column[0];
	if (n->c.family != n->family || e->rowlen != n->row.len ||
		memcmp(e->ukey, n->row.data, e->rowlen) != 0)
	{
		n->family = n->c.family;
		n->row.len = 0;
		n->ndeletes = 0;
		TRY(buffer_append(&n->row, e->ukey, e->rowlen));
	}
	return WIDE_OK;
}

/* Returns true if a later delete of the batch, of the row or among d[0..nd), masks the put. */
static bool
norm_masked(const norm *n, const entry *e, const row_delete *d, int nd)
{
	uint64_t covered = NO_DELETE, exact = NO_DELETE;

	visibility_row_masks(n->deletes, n->ndeletes, e, &covered, &exact);
	visibility_row_masks(d, nd, e, &covered, &exact);
	return covered != NO_DELETE || exact != NO_DELETE;
}

/* Adds n->column, which are family deletes, to those of the row.  Repeated ones are left out. */
static wide_status
norm_family_deletes(norm *n)
{
	int left = 0;

	for (int i = 0; i < n->ncolumn; i++)
	{
		const entry *e = &n->column[i];
		bool repeated = false;

		for (int k = 0; k < left && !repeated; k++)
			repeated = n->column[k].type == e->type && n->column[k].ts == e->ts;
		if (repeated)
			continue;
		TRY(array_grow((void **) &n->deletes, n->ndeletes, &n->deletes_cap, sizeof(row_delete)));
		n->deletes[n->ndeletes++] = (row_delete) {.ts = e->ts, .seq = e->seq, .type = e->type};
		n->column[left++] = *e;
	}
	n->ncolumn = left;
	return WIDE_OK;
}

static int
entry_order(const void *a, const void *b)
{
	return key_compare(a, b);
}

/* For files: gives the column's automatic put and its untimed deletes their time, and the column
 * the order of entries of one sequence number. */
static void
norm_fix(norm *n)
{
	for (int i = 0; i < n->ncolumn; i++)
	{
		if (op_of(&n->column[i]) == n->auto_op)
			n->column[i].ts = normalise_ts(n->fixed_ts, n->floor, n->avoid, n->navoid);
		if (entry_is_untimed(&n->column[i]))
			n->column[i].ttl_us = n->fixed_ts;
		n->column[i].seq = 0;
	}
	n->auto_op = NO_OP;
	if (n->ncolumn > 1)
		qsort(n->column, (size_t) n->ncolumn, sizeof(entry), entry_order);
}

/*
 * Adds the column's or version's delete to d[0..*nd) and returns true, or returns false
 * if d has it.  Within one column the two kinds reach as the family deletes do.
 */
static bool
column_delete_add(row_delete *d, int *nd, const entry *e)
{
	uint8_t type = e->type == ENTRY_DELETE_COLUMN ? ENTRY_DELETE_FAMILY
												  : ENTRY_DELETE_FAMILY_VERSION;

	for (int k = *nd - 1; k >= 0 && d[k].ts == e->ts; k--)
		if (d[k].type == type)
			return false;
	d[(*nd)++] = (row_delete) {.ts = e->ts, .seq = e->seq, .type = type};
	return true;
}

/* Lists the timestamps that the column's automatic put, if there is one, has to avoid. */
static wide_status
norm_avoid(norm *n)
{
	for (int i = 0; i < n->ncolumn && n->auto_op != NO_OP; i++)
		if (n->column[i].type == ENTRY_PUT && op_of(&n->column[i]) != n->auto_op)
		{
			TRY(array_grow((void **) &n->avoid, n->navoid, &n->avoid_cap, sizeof(int64_t)));
			n->avoid[n->navoid++] = n->column[i].ts;
		}
	return WIDE_OK;
}

/* Removes from n->column what later operations of the batch make void. */
static wide_status
norm_column(norm *n)
{
	row_delete *d;
	int nd = 0, left = 0;
	int64_t put_ts = 0;
	bool any_put = false;

	if (n->ncolumn == 1 && n->ndeletes == 0)
		return WIDE_OK;
	d = malloc((size_t) n->ncolumn * sizeof(*d));
	if (d == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	for (int i = 0; i < n->ncolumn; i++)
	{
		entry *e = &n->column[i];
		bool stays;

		if (e->type != ENTRY_PUT)
			stays = column_delete_add(d, &nd, e);
		else
		{
			stays = !norm_masked(n, e, d, nd);
			if (op_is_auto(e->seq))
				n->auto_op = stays ? n->auto_op : NO_OP;
			else
			{
				/* replaced by a newer put with the same timestamp */
				stays = stays && !(any_put && put_ts == e->ts);
				any_put = true;
				put_ts = e->ts;
			}
		}
		if (stays)
			n->column[left++] = *e;
	}
	free(d);
	n->ncolumn = left;
	return norm_avoid(n);
}

wide_status
normalise_next(norm *n, norm_op *out)
{
	while (n->next >= n->ncolumn)
	{
		TRY(norm_read(n));
		if (entry_is_family_delete(&n->column[0]))
			TRY(norm_family_deletes(n));
		else
			TRY(norm_column(n));
		if (n->fixed_ts != INT64_MIN)
			norm_fix(n);
	}
	out->family = n->family;
	out->e = n->column[n->next++];
	out->automatic = out->e.type == ENTRY_PUT && op_of(&out->e) == n->auto_op;
	out->floor = out->automatic ? n->floor : INT64_MIN;
	out->avoid = n->avoid;
	out->navoid = out->automatic ? n->navoid : 0;
	out->e.seq = 0;
	return WIDE_OK;
}

int64_t
normalise_ts(int64_t commit_ts, int64_t floor, const int64_t *avoid, int navoid)
{
	int64_t ts = floor >= commit_ts ? floor + 1 : commit_ts;

	for (int i = 0; i < navoid;)
		if (avoid[i] == ts && ts < INT64_MAX)
		{
			ts++;
			i = 0;
		}
		else
			i++;
	return ts;
}

/* normalise.c - what is left of a batch's operations when all get one sequence number */
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
#include <stdlib.h>
#include <string.h>

struct norm
{
	wide_batch *b;
	int64_t fixed_ts;
	op_merge m;
	op_column c;
	wide_family_id family;
	buffer row; /* of the deletes; empty before the first */
	row_delete *deletes;
	int ndeletes, deletes_cap;
	/* the column that is being given out: c.e, as far as it is left */
	entry *column;
	int ncolumn;
	int next;
	int64_t *avoid;
	int navoid, avoid_cap;
	uint64_t auto_op; /* UINT64_MAX none */
	int64_t floor;	  /* of that */
};

wide_status
normalise_new(wide_batch *b, const op_sorted *sorted, int64_t fixed_ts, norm **out)
{
	norm *n = pool_alloc(sizeof(*n));
	wide_status st;

	if (n == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	n->b = b;
	n->fixed_ts = fixed_ts;
	n->family = 0;
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

/* Read the next column into n->column; WIDE_END. */
static wide_status
norm_read(norm *n)
{
	const entry *e;

	/* what was copied for the column before, but for one piece */
	op_merge_column_recycle(&n->c);
	n->ncolumn = n->next = 0;
	TRY(op_merge_column_read(&n->c, &n->m));
	n->column = n->c.e;
	n->ncolumn = n->c.n;
	n->floor = INT64_MIN;
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

/* Is the put masked by a later delete of the batch among the row's or d[0..nd)? */
static bool
norm_masked(const norm *n, const entry *e, const row_delete *d, int nd)
{
	uint64_t covered = NO_DELETE, exact = NO_DELETE;

	visibility_row_masks(n->deletes, n->ndeletes, e, &covered, &exact);
	visibility_row_masks(d, nd, e, &covered, &exact);
	return covered != NO_DELETE || exact != NO_DELETE;
}

/* The row's family deletes, which later columns need; repeated ones once. */
static wide_status
norm_family_deletes(norm *n)
{
	int kept = 0;

	for (int i = 0; i < n->ncolumn; i++)
	{
		const entry *e = &n->column[i];
		bool repeated = false;

		for (int k = 0; k < kept && !repeated; k++)
			repeated = n->column[k].type == e->type && n->column[k].ts == e->ts;
		if (repeated)
			continue;
		TRY(array_grow((void **) &n->deletes, n->ndeletes, &n->deletes_cap, sizeof(row_delete)));
		n->deletes[n->ndeletes].ts = e->ts;
		n->deletes[n->ndeletes].seq = e->seq;
		n->deletes[n->ndeletes++].type = e->type;
		n->column[kept++] = *e;
	}
	n->ncolumn = kept;
	return WIDE_OK;
}

static int
entry_order(const void *a, const void *b)
{
	return key_compare(a, b);
}

/* For files: give the column's automatic put and its untimed deletes their time now, and the
 * order that entries of one seq have. */
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
	n->auto_op = UINT64_MAX;
	if (n->ncolumn > 1)
		qsort(n->column, (size_t) n->ncolumn, sizeof(entry), entry_order);
}

/* Take out of n->column what later operations of the batch make void. */
static wide_status
norm_column(norm *n)
{
	row_delete *d;
	int nd = 0, kept = 0;
	int64_t put_ts = 0;
	bool any_put = false;

	n->auto_op = UINT64_MAX;
	n->navoid = 0;
	if (n->ncolumn == 1 && n->ndeletes == 0)
	{
		if (op_is_auto(n->column[0].seq))
			n->auto_op = op_of(&n->column[0]);
		return WIDE_OK;
	}
	d = malloc((size_t) n->ncolumn * sizeof(*d));
	if (d == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	for (int i = 0; i < n->ncolumn; i++)
		if (op_is_auto(n->column[i].seq) &&
			(n->auto_op == UINT64_MAX || op_of(&n->column[i]) > n->auto_op))
			n->auto_op = op_of(&n->column[i]);
	for (int i = 0; i < n->ncolumn; i++)
	{
		entry *e = &n->column[i];
		bool repeated = false;

		if (e->type != ENTRY_PUT)
		{
			for (int k = nd - 1; k >= 0 && d[k].ts == e->ts && !repeated; k--)
				repeated = d[k].type == (e->type == ENTRY_DELETE_COLUMN
											 ? ENTRY_DELETE_FAMILY
											 : ENTRY_DELETE_FAMILY_VERSION);
			if (repeated)
				continue;
			/* in one column the two kinds reach as the family deletes do */
			d[nd].ts = e->ts;
			d[nd].seq = e->seq;
			d[nd++].type = e->type == ENTRY_DELETE_COLUMN ? ENTRY_DELETE_FAMILY
														  : ENTRY_DELETE_FAMILY_VERSION;
		}
		else if (op_is_auto(e->seq))
		{
			if (op_of(e) != n->auto_op)
				continue;
			if (norm_masked(n, e, d, nd))
			{
				n->auto_op = UINT64_MAX;
				continue;
			}
		}
		else
		{
			bool replaced = any_put && put_ts == e->ts;

			any_put = true;
			put_ts = e->ts;
			if (replaced || norm_masked(n, e, d, nd))
				continue;
		}
		n->column[kept++] = *e;
	}
	free(d);
	n->ncolumn = kept;
	for (int i = 0; i < kept && n->auto_op != UINT64_MAX; i++)
		if (n->column[i].type == ENTRY_PUT && op_of(&n->column[i]) != n->auto_op)
		{
			TRY(array_grow((void **) &n->avoid, n->navoid, &n->avoid_cap, sizeof(int64_t)));
			n->avoid[n->navoid++] = n->column[i].ts;
		}
	return WIDE_OK;
}

wide_status
normalise_next(norm *n, norm_op *out)
{
	while (n->next >= n->ncolumn)
	{
		TRY(norm_read(n));
		if (entry_is_family_delete(&n->column[0]))
		{
			n->auto_op = UINT64_MAX;
			TRY(norm_family_deletes(n));
		}
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

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
#include "engine/read/append.h"
#include "engine/read/fold.h"
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
	int64_t newest;	  /* newest timestamp given out because of it */

	/* the row */
	wide_family_id family;
	buffer row;			 /* empty before the first row */
	row_delete *deletes; /* its family deletes, and behind them those of the column */
	int ndeletes, deletes_cap;

	/* the column */
	op_column c;	  /* what is left of it */
	int next;		  /* index of the next entry to give out */
	uint64_t auto_op; /* operation of the automatic put that stays; NO_OP: none */
	int64_t floor;	  /* floor of that put */
	int64_t *avoid;	  /* timestamps of its other puts */
	int navoid, avoid_cap;
	uint8_t *registers;		 /* of two cells, with WIDE_MERGE_HLL; NULL: not needed yet */
	append_list appended[2]; /* with WIDE_MERGE_APPEND */
};

wide_status
normalise_new(wide_batch *b, const op_sorted *sorted, int64_t fixed_ts, norm **out)
{
	norm *n = pool_alloc(sizeof(*n));
	wide_status st;

	if (n == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	n->fixed_ts = n->newest = fixed_ts;
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
	free(n->registers);
	append_free(&n->appended[0]);
	append_free(&n->appended[1]);
	pool_free(n, sizeof(*n));
}

static inline uint64_t
op_of(const entry *e)
{
	return op_number(e->seq);
}

/* Reads the next column into n->c; WIDE_END: there is none. */
static wide_status
norm_read(norm *n)
{
	const entry *e;

	/* the copied values of the column before */
	op_merge_column_recycle(&n->c);
	n->next = 0;
	TRY(op_merge_column_read(&n->c, &n->m));
	n->floor = INT64_MIN;
	n->navoid = 0;
	n->auto_op = n->c.newest >= 0 ? op_of(&n->c.e[n->c.newest]) : NO_OP;
	for (int i = 0; i < n->c.n; i++)
	{
		int64_t floor = op_floor(&n->c.e[i]);

		n->floor = i == n->c.newest ? floor : n->floor;
	}
	e = &n->c.e[0];
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

/* Returns true if a later delete of the batch, of the row or (from deletes[from] on) of the column,
 * masks the put. */
static bool
norm_masked(const norm *n, int from, const entry *e)
{
	uint64_t covered = NO_DELETE, exact = NO_DELETE;

	visibility_row_masks(n->deletes, from, e, &covered, &exact);
	visibility_row_masks(n->deletes + from, n->ndeletes - from, e, &covered, &exact);
	return covered != NO_DELETE || exact != NO_DELETE;
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
	for (int i = 0; i < n->c.n; i++)
	{
		if (op_of(&n->c.e[i]) == n->auto_op)
		{
			n->c.e[i].ts = normalise_ts(n->fixed_ts, n->floor, n->avoid, n->navoid);
			if (n->floor < n->fixed_ts && n->c.e[i].ts > n->newest)
				n->newest = n->c.e[i].ts;
		}
		if (entry_is_untimed(&n->c.e[i]))
			n->c.e[i].ttl_us = n->fixed_ts;
		n->c.e[i].seq = 0;
	}
	n->auto_op = NO_OP;
	if (n->c.n > 1)
		qsort(n->c.e, (size_t) n->c.n, sizeof(entry), entry_order);
}

/*
 * Adds a delete to n->deletes; *added is false if it repeats one from deletes[from] on.  Within one
 * column the deletes of a column and of a version reach as the family deletes do.
 */
static wide_status
delete_add(norm *n, int from, const entry *e, bool *added)
{
	bool older = e->type == ENTRY_DELETE_COLUMN || e->type == ENTRY_DELETE_FAMILY;
	uint8_t type = older ? ENTRY_DELETE_FAMILY : ENTRY_DELETE_FAMILY_VERSION;

	*added = false;
	for (int k = n->ndeletes - 1; k >= from && n->deletes[k].ts == e->ts; k--)
		if (n->deletes[k].type == type)
			return WIDE_OK;
	TRY(array_grow((void **) &n->deletes, n->ndeletes, &n->deletes_cap, sizeof(row_delete)));
	n->deletes[n->ndeletes++] = (row_delete) {.ts = e->ts, .seq = e->seq, .type = type};
	*added = true;
	return WIDE_OK;
}

/* Lists the timestamps that the column's automatic put, if there is one, has to avoid.  What it
 * appends comes last, so its timestamp is above them: see append.h. */
static wide_status
norm_avoid(norm *n)
{
	for (int i = 0; i < n->c.n && n->auto_op != NO_OP; i++)
		if (n->c.e[i].type == ENTRY_PUT && op_of(&n->c.e[i]) != n->auto_op)
		{
			if (op_merge_kind(n->c.e[i].seq) == WIDE_MERGE_APPEND && n->c.e[i].ts > n->floor)
				n->floor = n->c.e[i].ts;
			TRY(array_grow((void **) &n->avoid, n->navoid, &n->avoid_cap, sizeof(int64_t)));
			n->avoid[n->navoid++] = n->c.e[i].ts;
		}
	return WIDE_OK;
}

/* Operands of a column that are one cell: entry `at` of n->c, and those folded into it. */
typedef struct operands
{
	int at; /* -1: none so far */
	uint8_t kind;
	bool several;
	fold value;
	append_list *appended; /* with WIDE_MERGE_APPEND, instead */
} operands;

/* Gives the entry that stays the bytes of all operands that are appended. */
static wide_status
appended_end(norm *n, operands *o, entry *e)
{
	wide_bytes all;
	wide_status st;

	append_sort(o->appended);
	st = append_join(o->appended, &all);
	if (st == WIDE_LIMIT)
		return status_fail(WIDE_LIMIT,
						   "a transaction appends more than %zu bytes to one column of a row",
						   append_most);
	TRY(st);
	e->value = all.data;
	e->vlen = (uint32_t) all.len;
	return op_merge_column_copy(&n->c, e);
}

/* Gives the entry that stays the value of all. */
static wide_status
operands_end(norm *n, operands *o)
{
	uint8_t bytes[FOLD_MOST];
	bool several = o->several;
	entry *e;

	o->several = false;
	if (!several)
		return WIDE_OK;
	e = &n->c.e[o->at];
	if (o->kind == WIDE_MERGE_APPEND)
		return appended_end(n, o, e);
	e->value = bytes;
	e->vlen = fold_write(o->kind, &o->value, bytes);
	return op_merge_column_copy(&n->c, e);
}

/* Returns true if the operand is of the cell of the automatic ones.  No timestamp is above the end
 * of time, so what is appended there is of that cell, too. */
static bool
operand_is_last(const entry *e)
{
	return op_is_auto(e->seq) || (e->ts == INT64_MAX && op_merge_kind(e->seq) == WIDE_MERGE_APPEND);
}

/*
 * Takes an operand that nothing masks.  Automatic ones are one cell, and so are those with the same
 * stated timestamp.  *stays: it is the first of its cell, and becomes entry `left` of n->c.
 */
static wide_status
norm_operand(norm *n, operands *automatic, operands *stated, const entry *e, int left, bool *stays)
{
	operands *o = operand_is_last(e) ? automatic : stated;

	if (o == stated && o->at >= 0 && n->c.e[o->at].ts != e->ts)
	{
		TRY(operands_end(n, o));
		o->at = -1;
	}
	*stays = o->at < 0;
	o->several = !*stays;
	if (*stays)
	{
		o->kind = op_merge_kind(e->seq);
		if (o->kind == WIDE_MERGE_HLL && n->registers == NULL &&
			(n->registers = malloc((size_t) 2 * WIDE_HLL_REGISTERS)) == NULL)
			return op_list_no_memory();
		o->value = (fold) {.registers = o == stated && n->registers != NULL
											? n->registers + WIDE_HLL_REGISTERS
											: n->registers};
		o->at = left;
		o->appended = &n->appended[o == stated];
		if (o->kind == WIDE_MERGE_APPEND)
			append_clear(o->appended);
	}
	if (o->kind != WIDE_MERGE_APPEND)
		TRY(fold_take(o->kind, &o->value, e->value, e->vlen));
	else if (o->appended->bytes.len <= append_most) /* beyond it the commit fails */
		/* automatic ones come behind those at the end of time */
		TRY(append_add(o->appended, e, op_is_auto(e->seq) ? e->seq : SEQ_BATCH));
	if (!op_is_auto(e->seq))
		return WIDE_OK;
	if (*stays)
	{
		n->auto_op = op_of(e);
		n->floor = INT64_MIN;
	}
	if (op_floor_passed(e) > n->floor)
		n->floor = op_floor_passed(e);
	return WIDE_OK;
}

/* Removes from n->c what later operations of the batch make void.  Family deletes stay in
 * n->deletes. */
static wide_status
norm_column(norm *n)
{
	bool family = entry_is_family_delete(&n->c.e[0]);
	int from = n->ndeletes, left = 0;
	operands automatic = {.at = -1}, stated = {.at = -1};
	int64_t put_ts = 0;
	bool any_put = false;

	if (n->c.n == 1 && n->ndeletes == 0 && !family)
		return WIDE_OK;
	if (n->c.newest >= 0 && op_merge_kind(n->c.e[n->c.newest].seq) != WIDE_MERGE_NONE)
		n->auto_op = NO_OP;
	for (int i = 0; i < n->c.n; i++)
	{
		entry *e = &n->c.e[i];
		bool stays;

		if (e->type != ENTRY_PUT)
			TRY(delete_add(n, from, e, &stays));
		else
		{
			stays = !norm_masked(n, from, e);
			if (op_merge_kind(e->seq) != WIDE_MERGE_NONE)
			{
				if (stays)
					TRY(norm_operand(n, &automatic, &stated, e, left, &stays));
			}
			else if (op_is_auto(e->seq))
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
			n->c.e[left++] = *e;
	}
	TRY(operands_end(n, &automatic));
	TRY(operands_end(n, &stated));
	n->c.n = left;
	n->ndeletes = family ? n->ndeletes : from;
	return norm_avoid(n);
}

wide_status
normalise_next(norm *n, norm_op *out)
{
	while (n->next >= n->c.n)
	{
		TRY(norm_read(n));
		TRY(norm_column(n));
		if (n->fixed_ts != INT64_MIN)
			norm_fix(n);
	}
	out->family = n->family;
	out->e = n->c.e[n->next++];
	out->automatic = out->e.type == ENTRY_PUT && op_of(&out->e) == n->auto_op;
	out->floor = out->automatic ? n->floor : INT64_MIN;
	out->avoid = n->avoid;
	out->navoid = out->automatic ? n->navoid : 0;
	out->e.seq = 0;
	return WIDE_OK;
}

int64_t
normalise_newest(const norm *n)
{
	return n->newest;
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

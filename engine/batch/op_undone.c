/* op_undone.c - the operations of a batch that a rewind has undone */
#include <stdlib.h>
#include <string.h>
#include "engine/batch/op_undone.h"
#include "engine/base/status.h"

void
op_undone_forget(op_undone *u, uint64_t from)
{
	while (u->n > 0 && u->intervals[u->n - 1].from >= from)
		u->n--;
}

void
op_undone_add(op_undone *u, uint64_t from, uint64_t to)
{
	op_undone_forget(u, from);
	if (u->n > 0 && u->intervals[u->n - 1].to >= from)
		u->intervals[u->n - 1].to = to;
	else
		u->intervals[u->n++] = (op_interval) {from, to};
}

wide_status
op_undone_copy(const op_undone *u, op_undone *to)
{
	if (u->n == 0)
		return WIDE_OK;
	to->intervals = malloc((size_t) u->n * sizeof(op_interval));
	if (to->intervals == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a transaction");
	memcpy(to->intervals, u->intervals, (size_t) u->n * sizeof(op_interval));
	to->n = to->cap = u->n;
	return WIDE_OK;
}

bool
op_undone_find(const op_undone *u, uint64_t op)
{
	int lo = 0, hi = u->n;

	/* the first interval that ends behind the operation */
	while (lo < hi)
	{
		int mid = (lo + hi) / 2;

		if (u->intervals[mid].to <= op)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < u->n && u->intervals[lo].from <= op;
}

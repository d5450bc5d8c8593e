/*
 * append.c - values of a family with WIDE_MERGE_APPEND.
 *
 * Operands come newest first, as a rule in their order.  They are copied twice, however many there
 * are: to where they wait for the older ones, and to their place in the value.
 *
 * Locking: none; private memory only.
 */
#include <stdlib.h>
#include "engine/read/append.h"
#include "engine/base/array.h"
#include "engine/base/status.h"

#define KEPT_BYTES ((size_t) 1 << 20) /* memory that is kept for the next column */

static void
empty(buffer *b)
{
	b->len = 0;
	if (b->cap > KEPT_BYTES)
		buffer_free(b);
}

void
append_clear(append_list *l)
{
	l->n = 0;
	empty(&l->bytes);
	empty(&l->joined);
}

void
append_free(append_list *l)
{
	free(l->parts);
	buffer_free(&l->bytes);
	buffer_free(&l->joined);
	memset(l, 0, sizeof(*l));
}

wide_status
append_add(append_list *l, const entry *e, uint64_t place)
{
	TRY(array_grow((void **) &l->parts, l->n, &l->cap, sizeof(*l->parts)));
	l->parts[l->n] = (append_part) {.place = place,
									.ts = e->ts,
									.seq = e->seq,
									.at = l->bytes.len,
									.len = e->vlen,
									.number = l->n};
	l->n++;
	return buffer_append(&l->bytes, e->value, e->vlen);
}

static int
compare(const void *left, const void *right)
{
	const append_part *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

void
append_sort(append_list *l)
{
	int n = l->n, i = 1;

	while (i < n && compare(&l->parts[i - 1], &l->parts[i]) > 0)
		i++;
	if (i < n)
	{
		qsort(l->parts, (size_t) n, sizeof(*l->parts), compare);
		return;
	}
	/* newest first: the rule */
	for (i = 0; i < n / 2; i++)
	{
		append_part p = l->parts[i];

		l->parts[i] = l->parts[n - 1 - i];
		l->parts[n - 1 - i] = p;
	}
}

wide_status
append_join(append_list *l, wide_bytes *out)
{
	/* no bytes are a value, too */
	*out = (wide_bytes) {(const uint8_t *) "", 0};
	if (l->bytes.len > append_most)
		return WIDE_LIMIT;
	if (l->bytes.len == 0)
		return WIDE_OK;
	*out = (wide_bytes) {l->bytes.data, l->bytes.len};
	if (l->n == 1)
		return WIDE_OK;
	l->joined.len = 0;
	TRY(buffer_reserve(&l->joined, l->bytes.len));
	for (int i = 0; i < l->n; i++)
		TRY(buffer_append(&l->joined, l->bytes.data + l->parts[i].at, l->parts[i].len));
	out->data = l->joined.data;
	return WIDE_OK;
}

static int
compare_numbers(const void *a, const void *b)
{
	return ((const append_part *) a)->number - ((const append_part *) b)->number;
}

wide_status
append_fold(append_list *l, append_folds_fn folds, const void *arg)
{
	append_part *p = l->parts;
	int left = l->n;

	append_sort(l);
	l->joined.len = 0;
	/* from the newest on; those that are left gather at the end */
	for (int from, to = l->n - 1; to >= 0; to = from - 1)
	{
		append_part newest = p[to];

		newest.at = l->joined.len;
		for (from = to; from > 0 && (size_t) newest.len + p[from - 1].len <= append_most &&
						folds(arg, &p[from - 1], &p[from]);)
			newest.len += p[--from].len;
		for (int i = from; i <= to; i++)
			TRY(buffer_append(&l->joined, l->bytes.data + p[i].at, p[i].len));
		p[--left] = newest;
	}
	l->n -= left;
	memmove(p, p + left, (size_t) l->n * sizeof(*p));
	qsort(p, (size_t) l->n, sizeof(*p), compare_numbers);
	return WIDE_OK;
}

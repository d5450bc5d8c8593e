/*
 * fold.c - values of a family with a merge operator.
 *
 * Locking: none; private memory only.
 */
#include <math.h>
#include "engine/read/fold.h"
#include "engine/base/array.h"
#include "engine/base/status.h"

static double
as_double(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof d);
	return d;
}

static uint64_t
bits_of(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof bits);
	return bits;
}

/* The order of doubles in PostgreSQL, where NaN is above all others; equal ones, such as -0 and 0,
 * by their bits, so that the order in which they are folded does not matter. */
static bool
double_above(uint64_t left, uint64_t right)
{
	double a = as_double(left), b = as_double(right);

	if (isnan(a) != isnan(b))
		return isnan(a);
	return isnan(a) || a == b ? (int64_t) left > (int64_t) right : a > b;
}

static uint64_t
numbers(uint8_t kind, uint64_t a, uint64_t b)
{
	switch (kind)
	{
		case WIDE_MERGE_SUM:
			return a + b;
		case WIDE_MERGE_MIN:
			return (int64_t) a < (int64_t) b ? a : b;
		case WIDE_MERGE_MAX:
			return (int64_t) a > (int64_t) b ? a : b;
		case WIDE_MERGE_OR:
			return a | b;
		case WIDE_MERGE_AND:
			return a & b;
		case WIDE_MERGE_SUM_DOUBLE:
			return bits_of(as_double(a) + as_double(b));
		case WIDE_MERGE_MIN_DOUBLE:
			return double_above(a, b) ? b : a;
		default:
			return double_above(a, b) ? a : b;
	}
}

fold
fold_both(uint8_t kind, fold a, fold b)
{
	if (!a.any || !b.any)
		return a.any ? a : b;
	return (fold) {numbers(kind, a.number, b.number), true};
}

wide_status
fold_read(const entry *e, fold *out)
{
	*out = (fold) {0, e->vlen > 0};
	if (e->vlen == FOLD_WIDTH)
		out->number = get_u64be(e->value);
	else if (e->vlen > 0)
		return status_fail(WIDE_CORRUPT,
						   "a value of a family with a merge operator has %u bytes instead of %d",
						   e->vlen, FOLD_WIDTH);
	return WIDE_OK;
}

wide_status
fold_add(fold_column *c, uint8_t kind, int32_t most, const entry *e)
{
	fold value;
	fold_version *last = c->n > 0 ? &c->v[c->n - 1] : NULL;

	TRY(fold_read(e, &value));
	if (last != NULL && (last->ts == e->ts || c->n >= most))
	{
		last->value = fold_both(kind, last->value, value);
		if (e->seq > last->seq)
			last->seq = e->seq;
		return WIDE_OK;
	}
	TRY(array_grow((void **) &c->v, c->n, &c->cap, sizeof(*c->v)));
	last = &c->v[c->n++];
	last->ts = e->ts;
	last->seq = e->seq;
	last->floor_ts = e->ts;
	last->provisional = false;
	last->value = value;
	return WIDE_OK;
}

wide_status
fold_add_own(fold_column *c, uint8_t kind, int32_t most, const fold_version *own)
{
	TRY(array_grow((void **) &c->v, c->n, &c->cap, sizeof(*c->v)));
	memmove(c->v + 1, c->v, (size_t) c->n * sizeof(*c->v));
	c->v[0] = *own;
	if (c->n > 0 && own->ts <= c->v[1].ts)
		c->v[0].ts = c->v[1].ts < INT64_MAX ? c->v[1].ts + 1 : INT64_MAX;
	if (++c->n > most)
	{
		c->n--;
		c->v[c->n - 1].value = fold_both(kind, c->v[c->n - 1].value, c->v[c->n].value);
	}
	return WIDE_OK;
}

void
fold_sum_up(fold_column *c, uint8_t kind)
{
	for (int i = c->n - 2; i >= 0; i--)
		c->v[i].value = fold_both(kind, c->v[i].value, c->v[i + 1].value);
}

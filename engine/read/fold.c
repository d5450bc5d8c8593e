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

static wide_status
corrupt(uint32_t len)
{
	return status_fail(WIDE_CORRUPT, "%u bytes are no value of a family with a merge operator",
					   len);
}

static void
greater_of_each(uint8_t *registers, const uint8_t *other)
{
	for (int i = 0; i < WIDE_HLL_REGISTERS; i++)
		registers[i] = registers[i] > other[i] ? registers[i] : other[i];
}

bool
wide_hll_valid(const uint8_t *value, size_t len)
{
	int last = -1;
	uint8_t greatest = 0;

	if (len == WIDE_HLL_REGISTERS)
	{
		for (size_t i = 0; i < len; i++)
			greatest = value[i] > greatest ? value[i] : greatest;
		return greatest > 0 && greatest <= WIDE_HLL_GREATEST;
	}
	if (len % 3 != 0 || len / 3 > FOLD_SPARSE)
		return false;
	for (const uint8_t *end = value + len; value < end; value += 3)
	{
		int i = value[0] << 8 | value[1];

		if (i <= last || i >= WIDE_HLL_REGISTERS || value[2] == 0 || value[2] > WIDE_HLL_GREATEST)
			return false;
		last = i;
	}
	return true;
}

bool
fold_valid(uint8_t kind, const uint8_t *value, size_t len)
{
	if (kind == WIDE_MERGE_HLL)
		return wide_hll_valid(value, len);
	return kind == WIDE_MERGE_APPEND || len == FOLD_WIDTH || len == 0;
}

static void
take_registers(fold *f, const uint8_t *value, uint32_t len)
{
	if (!f->any)
		memset(f->registers, 0, WIDE_HLL_REGISTERS);
	f->any = true;
	if (len == WIDE_HLL_REGISTERS)
		greater_of_each(f->registers, value);
	else
		for (const uint8_t *end = value + len; value < end; value += 3)
		{
			uint8_t *r = &f->registers[value[0] << 8 | value[1]];

			*r = value[2] > *r ? value[2] : *r;
		}
}

wide_status
fold_take(uint8_t kind, fold *f, const uint8_t *value, uint32_t len)
{
	if (!fold_valid(kind, value, len))
		return corrupt(len);
	if (len == 0)
		return WIDE_OK;
	if (kind == WIDE_MERGE_HLL)
	{
		take_registers(f, value, len);
		return WIDE_OK;
	}
	f->number = f->any ? numbers(kind, f->number, get_u64be(value)) : get_u64be(value);
	f->any = true;
	return WIDE_OK;
}

/* Adds what is folded already. */
static void
join(uint8_t kind, fold *f, const fold *other)
{
	if (!other->any)
		return;
	if (kind != WIDE_MERGE_HLL)
		f->number = f->any ? numbers(kind, f->number, other->number) : other->number;
	else if (f->any)
		greater_of_each(f->registers, other->registers);
	else
		memcpy(f->registers, other->registers, WIDE_HLL_REGISTERS);
	f->any = true;
}

static uint32_t
write_registers(const uint8_t *registers, uint8_t *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < WIDE_HLL_REGISTERS; i++)
		n += registers[i] != 0;
	if (n > FOLD_SPARSE)
	{
		memcpy(p, registers, WIDE_HLL_REGISTERS);
		return WIDE_HLL_REGISTERS;
	}
	for (uint32_t i = 0; i < WIDE_HLL_REGISTERS; i++)
		if (registers[i] != 0)
		{
			*p++ = (uint8_t) (i >> 8);
			*p++ = (uint8_t) i;
			*p++ = registers[i];
		}
	return 3 * n;
}

uint32_t
fold_write(uint8_t kind, const fold *f, uint8_t *p)
{
	uint64_t bits = __builtin_bswap64(f->number);

	if (!f->any)
		return 0;
	if (kind == WIDE_MERGE_HLL)
		return write_registers(f->registers, p);
	memcpy(p, &bits, FOLD_WIDTH);
	return FOLD_WIDTH;
}

wide_status
fold_add(fold_column *c, uint8_t kind, int32_t most, const entry *e)
{
	fold_version *last = c->n > 0 ? &c->v[c->n - 1] : NULL;

	if (last != NULL && (last->ts == e->ts || c->n >= most))
	{
		last->seq = e->seq > last->seq ? e->seq : last->seq;
		return fold_take(kind, &last->value, e->value, e->vlen);
	}
	TRY(array_grow((void **) &c->v, c->n, &c->cap, sizeof(*c->v)));
	last = &c->v[c->n++];
	*last = (fold_version) {
		.ts = e->ts, .seq = e->seq, .floor_ts = e->ts, .value.registers = c->registers};
	return fold_take(kind, &last->value, e->value, e->vlen);
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
		join(kind, &c->v[c->n - 1].value, &c->v[c->n].value);
	}
	return WIDE_OK;
}

void
fold_sum_up(fold_column *c, uint8_t kind)
{
	for (int i = c->n - 2; i >= 0; i--)
		join(kind, &c->v[i].value, &c->v[i + 1].value);
}

/* Returns true if the part is not of the version v, which ends with the part `last`. */
static bool
begins_version(const fold_version *v, const append_part *last, const append_part *p)
{
	/* automatic operands of the reader's batch */
	if (p->place > SEQ_BATCH)
		return last->place <= SEQ_BATCH;
	return p->ts > v->ts;
}

/* Adds a version that begins with the part.  Its operands come oldest first. */
static wide_status
begin_version(fold_column *c, const append_part *p, const uint8_t *text)
{
	TRY(array_grow((void **) &c->v, c->n, &c->cap, sizeof(*c->v)));
	c->v[c->n++] = (fold_version) {.ts = p->ts, .value = {.any = true, .text = text}};
	return WIDE_OK;
}

/* Gives the last version, which has the batch's automatic operands, what it will be. */
static void
set_own(fold_column *c, const fold_version *own)
{
	fold_version *v = &c->v[c->n - 1];
	fold value = v->value;

	*v = *own;
	v->value = value;
	if (c->n > 1 && v->ts <= v[-1].ts)
		v->ts = v[-1].ts < INT64_MAX ? v[-1].ts + 1 : INT64_MAX;
}

wide_status
fold_append(fold_column *c, append_list *l, bool apart, const fold_version *own)
{
	wide_bytes all;
	size_t at = 0;

	append_sort(l);
	TRY(append_join(l, &all));
	for (int i = 0; i < l->n; i++)
	{
		const append_part *p = &l->parts[i];
		fold_version *v;

		if (i == 0 || (apart && begins_version(&c->v[c->n - 1], p - 1, p)))
			TRY(begin_version(c, p, all.data + at));
		v = &c->v[c->n - 1];
		v->ts = apart ? v->ts : p->ts;
		v->floor_ts = v->ts;
		v->seq = p->seq;
		v->value.number += p->len;
		at += p->len;
	}
	if (own->provisional)
		set_own(c, own);
	/* newest first */
	for (int i = 0; i < c->n / 2; i++)
	{
		fold_version v = c->v[i];

		c->v[i] = c->v[c->n - 1 - i];
		c->v[c->n - 1 - i] = v;
	}
	return WIDE_OK;
}

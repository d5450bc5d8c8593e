/*
 * predicate.c - conditions on cells: checked and ordered when a scan is opened, evaluated with a
 * few comparisons for each cell.
 *
 * Numbers are compared by their place in an order of int64.  Integers are their own place.  Floats
 * have the bits of the double, negated when the sign is set, so that -0 becomes 0 and NaN, which is
 * made the largest, stands where PostgreSQL has it.  For WIDE_KIND_TIME the number is the cell's
 * timestamp, whatever its value.
 *
 * A predicate is true, not true (what SQL's null amounts to here), or unsure, because the cell does
 * not have the width of a number of the column's type.  A clause is true when one of its predicates
 * is; it fails when none is true and none is unsure.  A row is out when a clause fails.  If none
 * fails but one was unsure, the caller decides.
 *
 * Locking: none; private memory, allocated at opening only.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/scan/predicate.h"
#include "engine/base/bytes.h"
#include "engine/base/key.h"
#include "engine/base/status.h"

#define NUMBER_NAN INT64_MAX /* above the bits of infinity */

typedef enum verdict
{
	NOT_TRUE,
	IS_TRUE,
	UNSURE
} verdict;

/* ---------------------------------------------------------------- numbers */

static int64_t
double_number(double d)
{
	int64_t bits;

	if (d != d)
		return NUMBER_NAN;
	memcpy(&bits, &d, sizeof(bits));
	return bits < 0 ? -(bits & INT64_MAX) : bits; /* -0 becomes 0 */
}

static int64_t
float_number(uint32_t width, int64_t bits)
{
	uint32_t half = (uint32_t) bits;
	float f;
	double d;

	memcpy(&f, &half, sizeof(f));
	memcpy(&d, &bits, sizeof(d));
	return double_number(width == 8 ? d : (double) f);
}

/* Returns false if the bytes are no number of that width. */
static inline bool
number_of(uint8_t kind, uint32_t width, wide_bytes v, int64_t *out)
{
	if (v.len != width)
		return false;
	if (width == 8)
		*out = (int64_t) get_u64be(v.data);
	else if (width == 4)
		*out = (int32_t) get_u32be(v.data);
	else
		*out = width == 2 ? (int16_t) (v.data[0] << 8 | v.data[1]) : (int8_t) v.data[0];
	if (kind == WIDE_KIND_FLOAT)
		*out = float_number(width, *out);
	return true;
}

static inline int
compare_number(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static inline int
compare_bytes(wide_bytes a, wide_bytes b)
{
	if (a.len == 0 || b.len == 0)
		return (a.len > 0) - (b.len > 0);
	return ukey_compare(a.data, a.len, b.data, b.len);
}

static int
value_compare_number(const void *a, const void *b)
{
	return compare_number(((const predicate_value *) a)->number,
						  ((const predicate_value *) b)->number);
}

static int
value_compare_bytes(const void *a, const void *b)
{
	return compare_bytes(((const predicate_value *) a)->bytes,
						 ((const predicate_value *) b)->bytes);
}

/* ------------------------------------------------------------------- init */

static bool
takes_value(wide_op op)
{
	return op != WIDE_OP_IS_NULL && op != WIDE_OP_NOT_NULL;
}

static wide_status
check(const wide_predicate *w, int nfamilies)
{
	size_t width;

	if (w->family < 0 || w->family >= nfamilies)
		return status_fail(WIDE_INVALID, "a predicate is on family %d of %d", w->family, nfamilies);
	if (w->qualifier.len > WIDE_MAX_QUALIFIER)
		return status_fail(WIDE_LIMIT, "a qualifier has at most %d bytes", WIDE_MAX_QUALIFIER);
	if ((unsigned) w->op > WIDE_OP_NOT_NULL || (unsigned) w->kind > WIDE_KIND_TIME)
		return status_fail(WIDE_INVALID, "a predicate has no such operator or kind");
	if (!takes_value(w->op))
		return WIDE_OK;
	if (w->nvalues < 0 || (w->op != WIDE_OP_IN && w->op != WIDE_OP_NOT_IN && w->nvalues != 1))
		return status_fail(WIDE_INVALID, "a predicate has %d values", w->nvalues);
	if (w->kind == WIDE_KIND_BYTES || w->nvalues == 0)
		return WIDE_OK;
	width = w->values[0].len;
	if (w->op == WIDE_OP_PREFIX)
		return status_fail(WIDE_INVALID, "a prefix needs values of kind bytes");
	if (width != 8 && (w->kind == WIDE_KIND_TIME ||
					   (width != 4 && (w->kind == WIDE_KIND_FLOAT || (width != 2 && width != 1)))))
		return status_fail(WIDE_INVALID, "a number of a predicate has %zu bytes", width);
	for (int i = 1; i < w->nvalues; i++)
		if (w->values[i].len != width)
			return status_fail(WIDE_INVALID, "the numbers of a predicate differ in width");
	return WIDE_OK;
}

static int
compare_place(const void *pa, const void *pb)
{
	const wide_predicate *a = *(const wide_predicate *const *) pa,
						 *b = *(const wide_predicate *const *) pb;

	if (a->family != b->family)
		return a->family - b->family;
	return compare_bytes(a->qualifier, b->qualifier);
}

static wide_bytes
keep_bytes(uint8_t **at, wide_bytes b)
{
	wide_bytes copy = {*at, b.len};

	if (b.len > 0)
		memcpy(*at, b.data, b.len);
	*at += b.len;
	return copy;
}

/* Copies a predicate; its values go to *values, their bytes to *at. */
static void
keep(predicate *p, const wide_predicate *w, predicate_value **values, uint8_t **at)
{
	int n = takes_value(w->op) ? w->nvalues : 0;

	p->op = (uint8_t) w->op;
	p->kind = (uint8_t) w->kind;
	p->width = w->kind == WIDE_KIND_BYTES ? w->width : n > 0 ? (uint32_t) w->values[0].len : 0;
	p->values = *values;
	p->nvalues = (uint32_t) n;
	for (int i = 0; i < n; i++)
	{
		predicate_value *v = (*values)++;

		v->bytes = keep_bytes(at, w->values[i]);
		if (w->kind != WIDE_KIND_BYTES)
			(void) number_of(p->kind, p->width, v->bytes, &v->number);
	}
	if (n > 1)
		qsort(*values - n, (size_t) n, sizeof(predicate_value),
			  w->kind == WIDE_KIND_BYTES ? value_compare_bytes : value_compare_number);
}

/* Returns the index in p->clauses of list[i]'s clause, which is a new one if no predicate before it
 * is of that clause.  at: the indexes of these. */
static uint32_t
clause_index(predicates *p, const wide_predicate *list, int i, const uint32_t *at)
{
	for (int k = 0; k < i; k++)
		if (list[k].clause == list[i].clause)
			return at[k];
	return p->nclauses++;
}

wide_status
predicate_init(predicates *p, const wide_predicate *list, int n, int nfamilies)
{
	const wide_predicate **order = NULL;
	uint32_t *clauses = NULL;
	predicate_value *values;
	uint8_t *at;
	size_t nvalues = 0, nbytes = 0;
	wide_status st = WIDE_OK;

	memset(p, 0, sizeof(*p));
	if (n <= 0)
		return WIDE_OK;
	for (int i = 0; i < n; i++)
	{
		TRY(check(&list[i], nfamilies));
		nbytes += list[i].qualifier.len;
		for (int v = 0; takes_value(list[i].op) && v < list[i].nvalues; v++, nvalues++)
			nbytes += list[i].values[v].len;
	}
	order = malloc((size_t) n * sizeof(*order));
	clauses = malloc((size_t) n * sizeof(*clauses));
	p->columns = calloc((size_t) n, sizeof(*p->columns));
	p->clauses = calloc((size_t) n, sizeof(*p->clauses));
	p->list = calloc((size_t) n, sizeof(*p->list));
	p->values = values = calloc(nvalues + 1, sizeof(*p->values));
	p->bytes = at = malloc(nbytes + 1);
	if (order == NULL || clauses == NULL || p->columns == NULL || p->clauses == NULL ||
		p->list == NULL || p->values == NULL || p->bytes == NULL)
	{
		st = status_fail(WIDE_NOMEM, "out of memory for the predicates of a scan");
		goto done;
	}
	for (int i = 0; i < n; i++)
	{
		order[i] = &list[i];
		clauses[i] = clause_index(p, list, i, clauses);
	}
	qsort(order, (size_t) n, sizeof(*order), compare_place);
	for (int i = 0; i < n; i++)
	{
		keep(&p->list[i], order[i], &values, &at);
		p->list[i].clause = clauses[order[i] - list];
		p->clauses[p->list[i].clause].n++;
		if (i == 0 || compare_place(&order[i], &order[i - 1]) != 0)
		{
			predicate_column *c = &p->columns[p->ncolumns++];

			c->family = order[i]->family;
			c->qualifier = keep_bytes(&at, order[i]->qualifier);
			c->first = &p->list[i];
		}
		p->columns[p->ncolumns - 1].n++;
	}
done:
	free(order);
	free(clauses);
	return st;
}

void
predicate_free(predicates *p)
{
	free(p->columns);
	free(p->clauses);
	free(p->list);
	free(p->values);
	free(p->bytes);
	memset(p, 0, sizeof(*p));
}

/* Sets set[family] for the *count families of the clause.  Returns false if one of its predicates
 * is true without a cell. */
static bool
clause_families(const wide_predicate *list, int n, int clause, int nfamilies, bool *set, int *count)
{
	*count = 0;
	memset(set, 0, (size_t) nfamilies * sizeof(*set));
	for (int i = 0; i < n; i++)
	{
		if (list[i].clause != clause)
			continue;
		if (list[i].op == WIDE_OP_IS_NULL)
			return false;
		*count += !set[list[i].family];
		set[list[i].family] = true;
	}
	return true;
}

bool
predicate_lead(const wide_predicate *list, int n, int nfamilies, bool *leads)
{
	int best = -1, least = nfamilies + 1, count;

	/* the clause with the fewest families; leads is scratch here, and made again at the end */
	for (int i = 0; i < n; i++)
		if (clause_families(list, n, list[i].clause, nfamilies, leads, &count) && count < least)
		{
			least = count;
			best = i;
		}
	return best >= 0 && clause_families(list, n, list[best].clause, nfamilies, leads, &count);
}

/* Returns true if the predicate is true only of cells with a timestamp from *least on. */
static bool
asks_since(const predicate *p, int64_t *least)
{
	if (p->kind != WIDE_KIND_TIME || p->nvalues == 0)
		return false;
	*least = p->values[0].number; /* of several the smallest */
	if (p->op == WIDE_OP_GT && *least < INT64_MAX)
		++*least;
	return p->op == WIDE_OP_EQ || p->op == WIDE_OP_IN || p->op == WIDE_OP_GE || p->op == WIDE_OP_GT;
}

bool
predicate_since(const predicates *p, const predicate_column *c, int64_t *since)
{
	bool any = false;

	for (int i = 0; i < c->n; i++)
	{
		uint32_t clause = c->first[i].clause, n = 0;
		int64_t least = INT64_MAX, one;

		/* all predicates of the clause have to be of this kind, and on this column */
		for (int k = 0; k < c->n; k++)
			if (c->first[k].clause == clause && asks_since(&c->first[k], &one))
			{
				n++;
				least = one < least ? one : least;
			}
		if (n < p->clauses[clause].n)
			continue;
		*since = any && *since > least ? *since : least;
		any = true;
	}
	return any;
}

/* ------------------------------------------------------------------- test */

void
predicate_row(predicates *p)
{
	p->unsure = false;
	for (uint32_t i = 0; i < p->nclauses; i++)
	{
		p->clauses[i].left = p->clauses[i].n;
		p->clauses[i].met = p->clauses[i].unsure = false;
	}
}

static verdict
test_in(const predicate *p, wide_bytes value, int64_t number)
{
	predicate_value v = {value, number};

	/* two calls, so that the comparisons are compiled into the search */
	return p->kind == WIDE_KIND_BYTES
			   ? bsearch(&v, p->values, p->nvalues, sizeof(v), value_compare_bytes) != NULL
			   : bsearch(&v, p->values, p->nvalues, sizeof(v), value_compare_number) != NULL;
}

/* For which results of a comparison an operator is true: bit 0 less, bit 1 equal, bit 2 greater. */
static const uint8_t meets[] = {[WIDE_OP_EQ] = 2, [WIDE_OP_NE] = 5, [WIDE_OP_LT] = 1,
								[WIDE_OP_LE] = 3, [WIDE_OP_GT] = 4, [WIDE_OP_GE] = 6};

static inline verdict
test_one(const predicate *p, const wide_bytes *value, int64_t ts)
{
	int64_t number = 0;
	wide_bytes with;
	int c;

	if (value == NULL)
		return p->op == WIDE_OP_IS_NULL ? IS_TRUE : NOT_TRUE;
	if (p->op == WIDE_OP_IS_NULL)
		return NOT_TRUE;
	if (p->op == WIDE_OP_NOT_NULL)
		return IS_TRUE;
	if (p->nvalues == 0)
		return p->op == WIDE_OP_NOT_IN ? IS_TRUE : NOT_TRUE; /* IN () */
	with = p->values[0].bytes;
	if (p->kind == WIDE_KIND_TIME)
		number = ts;
	else if (p->kind == WIDE_KIND_BYTES ? p->width != 0 && value->len != p->width
										: !number_of(p->kind, p->width, *value, &number))
		return UNSURE;
	switch (p->op)
	{
		case WIDE_OP_IN:
			return test_in(p, *value, number);
		case WIDE_OP_NOT_IN:
			return test_in(p, *value, number) == IS_TRUE ? NOT_TRUE : IS_TRUE;
		case WIDE_OP_PREFIX:
			return value->len >= with.len &&
				   (with.len == 0 || memcmp(value->data, with.data, with.len) == 0);
		default:
			c = p->kind == WIDE_KIND_BYTES ? compare_bytes(*value, with)
										   : compare_number(number, p->values[0].number);
			return meets[p->op] >> ((c > 0) - (c < 0) + 1) & 1;
	}
}

bool
predicate_test(predicates *p, const predicate_column *c, const wide_bytes *value, int64_t ts)
{
	for (int i = 0; i < c->n; i++)
	{
		predicate_clause *clause = &p->clauses[c->first[i].clause];

		clause->left--;
		if (clause->met)
			continue;
		switch (test_one(&c->first[i], value, ts))
		{
			case IS_TRUE:
				clause->met = true;
				continue;
			case UNSURE:
				clause->unsure = true;
				break;
			case NOT_TRUE:
				break;
		}
		if (clause->left > 0)
			continue;
		if (!clause->unsure)
			return false;
		p->unsure = true;
	}
	return true;
}

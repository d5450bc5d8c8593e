/*
 * portion.c
 *		What a row adds to its group in a roll-up.
 *
 * A count and a sum lose what a row takes away: its negative is added.  In a roll-up with a time to
 * live it is added with the timestamp of the row, so that it expires with what it takes away.  A
 *sum of doubles cannot lose NaN or an infinity.  A minimum or maximum can only be left by a value
 *that another one of the same row exceeds; a count of distinct values keeps all that it has
 *counted.
 */
#include "postgres.h"

#include "fdw/derived/portion.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "port/pg_bswap.h"
#include "utils/lsyscache.h"

#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"
#include "fdw/table/cell_value.h"
#include "fdw/table/distinct.h"
#include "fdw/table/encoding.h"
#include "fdw/table/key_text.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/type_shape.h"
#include "fdw/xact/change.h"

static const WtPortionValue nothing = {false, {NULL, 0}};

/* A group that changes. */
typedef struct RollupGroup
{
	const WtRollup *r;
	const WtEngineTable *e; /* of the roll-up */
	wide_bytes key;
	int64 ts; /* of what is added */
} RollupGroup;

/* Appends the bytes by which a value is counted: as widetable.add() counts it. */
static void
counted_bytes(const WtRollupColumn *c, Datum value, StringInfo out)
{
	WtColumn plain = {.typid = c->type, .typmod = -1, .role = WT_CELL, .family = -1, .name = ""};
	StringInfoData bytes;

	if (wt_is_integer(c->type) && c->type != OIDOID)
	{
		value = Int64GetDatum(wt_integer_value(c->type, value));
		plain.typid = INT8OID;
	}
	plain.nested = wt_type_shape_is_nested(plain.typid);
	plain.enc = wt_encoding_default(plain.typid, false);
	initStringInfo(&bytes);
	wt_cell_value_encode(&plain, value, &bytes);
	wt_distinct_encode(bytes.data, bytes.len, out);
}

WtPortion
wt_portion_make(const WtRollup *r, const Datum *values, const bool *nulls, int64 ts)
{
	WtPortion out = {.ts = r->ttl_us > 0 ? ts : WIDE_TS_AUTO,
					 .values = palloc0(sizeof(WtPortionValue) * Max(1, r->n))};
	int natts = Max(1, r->table->natts);
	Datum *v = palloc0(sizeof(Datum) * Max(1, r->n)), *group = palloc0(sizeof(Datum) * natts);
	bool *isnull = palloc0(sizeof(bool) * Max(1, r->n)), *no_group = palloc0(sizeof(bool) * natts);
	StringInfoData buf;

	wt_rollup_evaluate(r, values, nulls, v, isnull);
	initStringInfo(&buf);
	for (int i = 0; i < r->n; i++)
	{
		const WtRollupColumn *c = &r->columns[i];

		if (c->kind == WT_ROLLUP_GROUP)
		{
			group[c->column] = v[i];
			no_group[c->column] = isnull[i];
			continue;
		}
		out.values[i].has = c->expr == NULL || !isnull[i];
		if (!out.values[i].has || c->kind == WT_ROLLUP_COUNT)
			continue;
		resetStringInfo(&buf);
		if (c->kind == WT_ROLLUP_HLL)
			counted_bytes(c, v[i], &buf);
		else
			wt_cell_value_encode(&r->table->columns[c->column], v[i], &buf);
		out.values[i].bytes = wt_cell_read_copy_bytes(CurrentMemoryContext, wt_bytes_of(&buf));
	}
	resetStringInfo(&buf);
	wt_rowkey_from_slot(r->table, group, no_group, &buf);
	out.key = wt_bytes_of(&buf);
	return out;
}

/* ------------------------------------------------------------------ changes */

static int64
integer_of(const WtPortionValue *v)
{
	uint64 x = 0;

	if (v->has)
		memcpy(&x, v->bytes.data, sizeof(x));
	return (int64) pg_ntoh64(x);
}

static double
double_of(const WtPortionValue *v)
{
	int64 bits = integer_of(v);
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Adds a number of 8 bytes, or registers, to a cell of the group. */
static void
add_bytes(const RollupGroup *g, int family, wide_bytes qual, wide_bytes value)
{
	wt_change_put(g->r->table, g->e->families[family], g->key, qual, g->ts, PG_INT64_MIN, 0, value);
}

static void
add_bits(const RollupGroup *g, int family, wide_bytes qual, int64 bits)
{
	uint64 x = pg_hton64((uint64) bits);

	add_bytes(g, family, qual, (wide_bytes) {(const uint8 *) &x, sizeof(x)});
}

/* The group loses a value that may have been its minimum or maximum, or has made its sum NaN or
 * infinite. */
static _Noreturn void
raise_lost(const RollupGroup *g, const WtColumn *c)
{
	const WtRollup *r = g->r;

	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("column \"%s\" of roll-up \"%s\" cannot lose a value", c->name,
					get_rel_name(r->relid)),
			 errdetail("Its group %s may have another %s without the row of table \"%s\".",
					   wt_key_text(r->table, g->key),
					   c->rollup == WT_ROLLUP_MIN	? "min"
					   : c->rollup == WT_ROLLUP_MAX ? "max"
													: "sum than NaN or Infinity",
					   get_rel_name(r->base->relid)),
			 errhint("Rows with a value for it can be inserted, but neither deleted nor moved to "
					 "another group.")));
}

/* Returns true if value b is at least as much an extreme as a. */
static bool
exceeds(const WtColumn *c, const WtPortionValue *a, const WtPortionValue *b)
{
	bool min = c->rollup == WT_ROLLUP_MIN;

	if (c->typid == FLOAT8OID)
	{
		double x = double_of(a), y = double_of(b);

		/* NaN is above all others */
		if (isnan(x) || isnan(y))
			return min ? isnan(x) : isnan(y);
		return min ? y <= x : y >= x;
	}
	return min ? integer_of(b) <= integer_of(a) : integer_of(b) >= integer_of(a);
}

/* Changes one aggregate of a group from what the row has added to what it adds. */
static void
change_value(const RollupGroup *g, const WtColumn *c, const WtPortionValue *before,
			 const WtPortionValue *after)
{
	wide_bytes qual = {c->qual, c->qual_len};
	bool same = before->has == after->has && wt_bytes_cmp(before->bytes, after->bytes) == 0;

	if (same)
		return;
	switch (c->rollup)
	{
		case WT_ROLLUP_COUNT:
			add_bits(g, c->family, qual, after->has - before->has);
			break;
		case WT_ROLLUP_SUM:
			if (c->typid == FLOAT8OID)
			{
				double d = double_of(after) - double_of(before);
				int64 bits;

				if (!isfinite(double_of(before)))
					raise_lost(g, c);
				memcpy(&bits, &d, sizeof(bits));
				add_bits(g, c->family, qual, bits);
			}
			else
				add_bits(g, c->family, qual,
						 (int64) ((uint64) integer_of(after) - (uint64) integer_of(before)));
			break;
		case WT_ROLLUP_MIN:
		case WT_ROLLUP_MAX:
			if (before->has && !(after->has && exceeds(c, before, after)))
				raise_lost(g, c);
			/* FALLTHROUGH */
		default:
			if (after->has)
				add_bytes(g, c->family, qual, after->bytes);
	}
}

/* Changes a group; before and after are what the row adds to it, NULL: it does not belong to it. */
static void
change_group(const RollupGroup *g, const WtPortion *before, const WtPortion *after)
{
	const WtRollup *r = g->r;
	const wide_bytes none = {(const uint8 *) "", 0};
	int rows = (after != NULL) - (before != NULL);

	/* first, because a group is shown by it */
	if (rows != 0)
		add_bits(g, 0, none, rows);
	for (int i = 0; i < r->n; i++)
	{
		const WtRollupColumn *c = &r->columns[i];

		/* count(*) is the number of rows */
		if (c->kind == WT_ROLLUP_GROUP || c->expr == NULL)
			continue;
		/* a count without values is zero, and not null */
		if (c->kind == WT_ROLLUP_COUNT && before == NULL && !after->values[i].has)
			add_bits(g, 0,
					 (wide_bytes) {r->table->columns[c->column].qual,
								   r->table->columns[c->column].qual_len},
					 0);
		else
			change_value(g, &r->table->columns[c->column],
						 before != NULL ? &before->values[i] : &nothing,
						 after != NULL ? &after->values[i] : &nothing);
	}
}

/* Returns true if the row adds the same as before. */
static bool
is_same(const WtRollup *r, const WtPortion *a, const WtPortion *b)
{
	if (a->key.data == NULL || b->key.data == NULL || wt_bytes_cmp(a->key, b->key) != 0)
		return false;
	for (int i = 0; i < r->n; i++)
		if (a->values[i].has != b->values[i].has ||
			wt_bytes_cmp(a->values[i].bytes, b->values[i].bytes) != 0)
			return false;
	return true;
}

/* Cells of the row may have expired: it is not known what it has added. */
static _Noreturn void
raise_timed(const WtRollup *r, wide_bytes group)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a row that is counted in roll-up \"%s\" cannot be changed",
					get_rel_name(r->relid)),
			 errdetail("Table \"%s\" has families with a time to live. What a row of group %s has "
					   "added may have expired in part.",
					   get_rel_name(r->base->relid), wt_key_text(r->table, group)),
			 errhint("Rows of such a table can be inserted. They still count when they have "
					 "expired, unless the roll-up has option \"follow_ttl\".")));
}

void
wt_portion_replace(const WtRollup *r, const WtEngineTable *e, const WtPortion *before,
				   const WtPortion *after)
{
	bool was = before->key.data != NULL, is = after->key.data != NULL;
	RollupGroup from = {r, e, before->key, before->ts}, to = {r, e, after->key, after->ts};

	if (was && r->timed && r->ttl_us == 0 && !is_same(r, before, after))
		raise_timed(r, before->key);
	if (was && is && wt_bytes_cmp(from.key, to.key) == 0 && from.ts == to.ts)
	{
		change_group(&to, before, after);
		return;
	}
	if (was)
		change_group(&from, before, NULL);
	if (is)
		change_group(&to, NULL, after);
}

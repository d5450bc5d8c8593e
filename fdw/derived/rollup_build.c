/*
 * rollup_build.c
 *		Adds all rows to a roll-up, and compares it with them.
 *
 * Rows of a group are added up in memory first, so that each group gets one operand for each
 * aggregate.  When there are too many groups, all are written and the table starts anew: what is
 * added twice to a group is added up by the engine.
 */
#include "postgres.h"

#include "fdw/derived/rollup_build.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "fdw/ddl/binding.h"
#include "fdw/derived/base_reader.h"
#include "fdw/derived/index.h"
#include "fdw/derived/portion.h"
#include "fdw/store/bytes.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/table/key_text.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/change.h"
#include "fdw/xact/derive.h"
#include "fdw/xact/engine_scan.h"

#define MAX_GROUPS_BYTES ((Size) 64 * 1024 * 1024) /* in memory at a time */
#define GIVE_WAY_ROWS	 2000 /* after so many it is asked whether somebody waits */

/* What the rows of a group have added to an aggregate: a number's bits, or registers. */
typedef struct Total
{
	bool has;
	int64 bits;
} Total;

typedef struct GroupTotalsKey
{
	wide_bytes bytes;
	int64 ts; /* of the rows, in a roll-up with a time to live; else WIDE_TS_AUTO */
} GroupTotalsKey;

typedef struct GroupTotals
{
	GroupTotalsKey key; /* hash key */
	int64 rows;
	bool seen;	   /* comparison: the roll-up has it */
	Total *totals; /* by the roll-up's columns */
} GroupTotals;

typedef struct AllGroups
{
	const WtRollup *r;
	MemoryContext cxt;
	HTAB *table;
	uint64 rows;						 /* added so far */
	bool (*give_way)(const WtRollup *r); /* NULL: it does not */
} AllGroups;

static uint32
hash_key(const void *key, Size size)
{
	const GroupTotalsKey *k = key;

	return hash_combine(hash_bytes(k->bytes.data, (int) k->bytes.len),
						hash_bytes((const unsigned char *) &k->ts, sizeof(k->ts)));
}

static int
match_key(const void *a, const void *b, Size size)
{
	const GroupTotalsKey *x = a, *y = b;

	return x->ts == y->ts ? wt_bytes_cmp(x->bytes, y->bytes) : 1;
}

/* Begins without groups. */
static void
begin_groups(AllGroups *g)
{
	HASHCTL ctl = {.keysize = sizeof(GroupTotalsKey),
				   .entrysize = sizeof(GroupTotals),
				   .hash = hash_key,
				   .match = match_key,
				   .hcxt = g->cxt};

	MemoryContextReset(g->cxt);
	g->table = hash_create("widetable groups", 1024, &ctl,
						   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

static GroupTotals *
find_group(AllGroups *g, wide_bytes key, int64 ts)
{
	GroupTotalsKey k = {key, ts};
	bool found;
	GroupTotals *group = hash_search(g->table, &k, HASH_ENTER, &found);

	if (!found)
	{
		uint8 *copy = MemoryContextAlloc(g->cxt, Max(1, key.len));

		wt_bytes_copy(copy, key.data, key.len);
		group->key.bytes = (wide_bytes) {copy, key.len};
		group->rows = 0;
		group->seen = false;
		group->totals = MemoryContextAllocZero(g->cxt, sizeof(Total) * Max(1, g->r->n));
	}
	return group;
}

static double
as_double(int64 bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static int64
as_bits(double d)
{
	int64 bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

/* Returns what the merge operator of the column makes of two numbers. */
static int64
combine(const WtColumn *c, int64 a, int64 b)
{
	double x = as_double(a), y = as_double(b);
	bool doubles = c->typid == FLOAT8OID;

	switch (c->rollup)
	{
		case WT_ROLLUP_MIN:
			return doubles ? (isnan(x) || y < x ? b : a) : Min(a, b);
		case WT_ROLLUP_MAX:
			return doubles ? (isnan(y) || y > x ? b : a) : Max(a, b);
		default:
			return doubles ? as_bits(x + y) : (int64) ((uint64) a + (uint64) b);
	}
}

/* Adds a row's portion; what has registers goes to the roll-up at once, if there is one to write.
 */
static void
add_portion(AllGroups *g, const WtPortion *p, const WtEngineTable *e)
{
	GroupTotals *group = find_group(g, p->key, p->ts);

	group->rows++;
	for (int i = 0; i < g->r->n; i++)
	{
		const WtColumn *c = &g->r->table->columns[g->r->columns[i].column];
		const WtPortionValue *v = &p->values[i];
		Total *total = &group->totals[i];
		uint64 x;

		if (g->r->columns[i].kind == WT_ROLLUP_GROUP || !v->has)
			continue;
		if (c->rollup == WT_ROLLUP_HLL)
		{
			if (e != NULL)
				wt_change_put(g->r->table, e->families[c->family], p->key,
							  (wide_bytes) {c->qual, c->qual_len}, p->ts, PG_INT64_MIN, 0,
							  v->bytes);
			continue;
		}
		if (c->rollup == WT_ROLLUP_COUNT)
			x = 1;
		else
		{
			memcpy(&x, v->bytes.data, sizeof(x));
			x = pg_ntoh64(x);
		}
		total->bits = total->has ? combine(c, total->bits, (int64) x) : (int64) x;
		total->has = true;
	}
}

/* Adds the row that was read. */
static void
add_row(AllGroups *g, WtBaseReader *reader, const WtEngineTable *e)
{
	int64 ts = WIDE_TS_AUTO;
	WtPortion p;

	if (e != NULL)
	{
		wide_progress_add(wt_store_db(), 1);
		wt_base_reader_check_ttl(reader, g->r->read, false);
	}
	/* a comparison does not ask when rows expire */
	if (e != NULL && g->r->ttl_us > 0 && !wt_base_reader_timestamp(reader, &ts))
		return;
	p = wt_portion_make(g->r, reader->values, reader->nulls, ts);
	add_portion(g, &p, e);
}

/* Writes what all groups have to the roll-up. */
static void
write_groups(AllGroups *g, const WtEngineTable *e)
{
	const WtRollup *r = g->r;
	HASH_SEQ_STATUS scan;
	GroupTotals *group;

	hash_seq_init(&scan, g->table);
	while ((group = hash_seq_search(&scan)) != NULL)
	{
		uint64 x = pg_hton64((uint64) group->rows);
		wide_bytes number = {(const uint8 *) &x, sizeof(x)};

		CHECK_FOR_INTERRUPTS();
		wt_change_put(r->table, e->families[0], group->key.bytes,
					  (wide_bytes) {(const uint8 *) "", 0}, group->key.ts, PG_INT64_MIN, 0, number);
		for (int i = 0; i < r->n; i++)
		{
			const WtColumn *c = &r->table->columns[r->columns[i].column];

			/* a count without values is zero, and not null */
			if ((!group->totals[i].has && c->rollup != WT_ROLLUP_COUNT) ||
				r->columns[i].expr == NULL)
				continue;
			x = pg_hton64((uint64) group->totals[i].bits);
			wt_change_put(r->table, e->families[c->family], group->key.bytes,
						  (wide_bytes) {c->qual, c->qual_len}, group->key.ts, PG_INT64_MIN, 0,
						  number);
		}
	}
}

/* Writes what there is if it is too much to keep. */
static void
make_room(AllGroups *g, const WtEngineTable *e)
{
	if (MemoryContextMemAllocated(g->cxt, true) <= MAX_GROUPS_BYTES)
		return;
	write_groups(g, e);
	begin_groups(g);
}

/* Gives the families of the roll-up its time to live: families with a merge operator cannot change
 * theirs, so they are replaced. */
static void
set_ttl(const WtRollup *r, wide_table_id id)
{
	int n;
	wide_family *f = wt_binding_families(wt_batch(true), id, &n);

	for (int i = 0; i < n; i++)
	{
		wide_family_id replaced;

		if (f[i].opt.ttl_us == r->ttl_us)
			continue;
		f[i].opt.ttl_us = r->ttl_us;
		wt_error_check(wide_batch_drop_family(wt_batch(true), f[i].id), "could not drop a family");
		wt_error_check(wide_batch_create_family(wt_batch(true), id, f[i].name, &f[i].opt,
												&replaced),
					   "could not create a family");
	}
	pfree(f);
}

/* Adds all rows of the table; e: to the roll-up, else they stay in memory.  Returns false if it has
 * given way. */
static bool
add_rows(AllGroups *g, Snapshot snapshot, const WtEngineTable *e)
{
	MemoryContext row = AllocSetContextCreate(CurrentMemoryContext, "widetable row of a group",
											  ALLOCSET_DEFAULT_SIZES),
				  old;
	WtBaseReader *reader = wt_base_reader_open(g->r->base, g->r->read, snapshot);
	bool more = true, stop = false;

	wt_base_reader_start(reader);
	while (more && !stop)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(row);
		old = MemoryContextSwitchTo(row);
		more = wt_base_reader_next(reader);
		if (more)
			add_row(g, reader, e);
		MemoryContextSwitchTo(old);
		if (e != NULL)
			make_room(g, e);
		stop = g->give_way != NULL && ++g->rows % GIVE_WAY_ROWS == 0 && g->give_way(g->r);
	}
	wt_base_reader_close(reader);
	MemoryContextDelete(row);
	return !stop;
}

static void
make_groups(AllGroups *g, const WtRollup *r)
{
	*g = (AllGroups) {.r = r};
	g->cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable groups",
								   ALLOCSET_DEFAULT_SIZES);
	begin_groups(g);
}

void
wt_rollup_build_empty(const WtRollup *r)
{
	WtEngineTable e;

	wt_batch_command_ddl();
	if (!wt_engine_table(r->table, false, &e))
		elog(ERROR, "roll-up \"%s\" is not stored", get_rel_name(r->relid));
	wt_error_check(wide_batch_truncate_table(wt_batch(true), e.table), "could not empty a roll-up");
	set_ttl(r, e.table);
	wt_derive_rest();
	wt_derive_forget();
}

void
wt_rollup_build(const WtRollup *r)
{
	WtEngineTable e, base;
	AllGroups g;

	wt_rollup_build_empty(r);
	if (!wt_engine_table(r->table, false, &e) || !wt_engine_table(r->base, false, &base))
		return;
	wt_base_reader_begin_progress(r->table, r->base);
	make_groups(&g, r);
	(void) add_rows(&g, NULL, &e);
	write_groups(&g, &e);
	MemoryContextDelete(g.cxt);
	wide_progress_end(wt_store_db());
}

/* ------------------------------------------------------------------ online */

struct WtRollupLack
{
	AllGroups groups;
	WtEngineTable e, base; /* as they were when rows were read */
};

static bool
same_stored(const WtEngineTable *a, const WtEngineTable *b)
{
	return a->table == b->table && a->nall == b->nall &&
		   memcmp(a->all, b->all, sizeof(*a->all) * a->nall) == 0;
}

/* Returns the roll-up's column that the cell belongs to; -1: it is the number of rows. */
static int
column_of_cell(const WtRollup *r, const WtEngineTable *e, wide_family_id family, wide_bytes qual)
{
	for (int i = 0; i < r->n; i++)
	{
		const WtColumn *c = &r->table->columns[r->columns[i].column];

		if (r->columns[i].kind != WT_ROLLUP_GROUP && r->columns[i].expr != NULL &&
			e->families[c->family] == family &&
			wt_bytes_equal(qual.data, qual.len, c->qual, c->qual_len))
			return i;
	}
	return -1;
}

/* A group has this in a cell already: it lacks as much less. */
static void
take_off(AllGroups *g, const WtEngineTable *e, wide_bytes key, wide_family_id family,
		 const wide_cell *cell)
{
	const WtRollup *r = g->r;
	int i = column_of_cell(r, e, family, cell->qualifier);
	const WtColumn *c = i < 0 ? NULL : &r->table->columns[r->columns[i].column];
	GroupTotals *group = find_group(g, key, r->ttl_us > 0 ? cell->ts : WIDE_TS_AUTO);
	uint64 x;

	/* what is put twice into a minimum, a maximum or a count of distinct values changes nothing */
	if (cell->value.len != sizeof(x) ||
		(c != NULL && c->rollup != WT_ROLLUP_COUNT && c->rollup != WT_ROLLUP_SUM))
		return;
	memcpy(&x, cell->value.data, sizeof(x));
	x = pg_ntoh64(x);
	if (c == NULL)
		group->rows -= (int64) x;
	else if (c->typid != FLOAT8OID)
		group->totals[i] = (Total) {true, (int64) -x};
	else if (isfinite(as_double((int64) x)))
		/* the other ones stay, because no row can take them away */
		group->totals[i] = (Total) {true, as_bits(-as_double((int64) x))};
}

/* Takes off what all groups have. */
static void
take_off_groups(AllGroups *g, const WtEngineTable *e)
{
	static const wide_range whole = {{(const uint8 *) "", 0}, {NULL, 0}};
	wide_scan_family fams[WT_MAX_FAMILIES];
	/* with a time to live each operand expires by itself, and counts by itself */
	wide_scan_spec spec = {.families = fams,
						   .nfamilies = e->nall,
						   .ranges = &whole,
						   .nranges = 1,
						   .operands = g->r->ttl_us > 0};
	WtEngineScan *scan;
	wide_row row;

	for (int i = 0; i < e->nall; i++)
		fams[i] = (wide_scan_family) {.id = e->all[i],
									  .want = WIDE_WANT_ALL,
									  .max_versions = g->r->ttl_us > 0 ? PG_INT32_MAX : 1};
	scan = wt_engine_scan_open(GetActiveSnapshot(), &spec);
	while (wt_engine_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < row.ncells; i++)
			take_off(g, e, row.key, fams[row.cells[i].family].id, &row.cells[i]);
		make_room(g, e);
	}
	wt_engine_scan_close(scan);
}

WtRollupLack *
wt_rollup_build_read(const WtRollup *r, bool (*give_way)(const WtRollup *))
{
	WtRollupLack *l = palloc0(sizeof(WtRollupLack));

	make_groups(&l->groups, r);
	l->groups.give_way = give_way;
	if (!wt_engine_table(r->table, false, &l->e) || !wt_engine_table(r->base, false, &l->base))
		return l;
	wt_batch_command();
	take_off_groups(&l->groups, &l->e);
	return add_rows(&l->groups, GetActiveSnapshot(), &l->e) ? l : NULL;
}

bool
wt_rollup_build_add(WtRollupLack *lack, const WtRollup *now)
{
	WtEngineTable e, base;

	if (!wt_engine_table(now->table, false, &e) || !wt_engine_table(now->base, false, &base) ||
		!same_stored(&e, &lack->e) || !same_stored(&base, &lack->base))
		return false;
	write_groups(&lack->groups, &e);
	return true;
}

/* -------------------------------------------------------------- comparison */

/* Returns true if the number in the cell is the total. */
static bool
is_total(const WtColumn *c, const Total *total, const wide_cell *cell)
{
	uint64 x = 0;
	double a, b;

	if (cell->value.len != sizeof(x))
		return false;
	memcpy(&x, cell->value.data, sizeof(x));
	x = pg_ntoh64(x);
	if (c->typid != FLOAT8OID)
		return (int64) x == total->bits;
	a = as_double((int64) x);
	b = as_double(total->bits);
	return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-9 * Max(fabs(a), fabs(b)) ||
		   (c->rollup == WT_ROLLUP_SUM && fabs(a - b) < 1e-6);
}

/* Compares the aggregates of a group with the cells of its row.  Returns the column that differs,
 * or NULL. */
static const WtColumn *
find_difference(const WtRollup *r, const WtEngineTable *e, const GroupTotals *group,
				const wide_row *row, const wide_scan_family *fams)
{
	for (int i = 0; i < r->n; i++)
	{
		const WtColumn *c = &r->table->columns[r->columns[i].column];
		Total total = group->totals[i];
		bool found = false;

		if (r->columns[i].kind == WT_ROLLUP_GROUP || c->rollup == WT_ROLLUP_HLL ||
			r->columns[i].expr == NULL)
			continue;
		for (int k = 0; k < row->ncells && !found; k++)
			if (fams[row->cells[k].family].id == e->families[c->family] &&
				wt_bytes_equal(row->cells[k].qualifier.data, row->cells[k].qualifier.len, c->qual,
							   c->qual_len))
			{
				found = true;
				if (!is_total(c, &total, &row->cells[k]))
					return c;
			}
		/* a count or sum that has lost all values is zero */
		if (!found && total.has)
			return c;
	}
	return NULL;
}

static int64
rows_in(const WtEngineTable *e, const wide_row *row, const wide_scan_family *fams)
{
	for (int k = 0; k < row->ncells; k++)
		if (fams[row->cells[k].family].id == e->families[0] && row->cells[k].qualifier.len == 0 &&
			row->cells[k].value.len == sizeof(uint64))
		{
			uint64 x;

			memcpy(&x, row->cells[k].value.data, sizeof(x));
			return (int64) pg_ntoh64(x);
		}
	return 0;
}

/* Compares a row of the roll-up with its group. */
static void
compare_row(AllGroups *g, const WtEngineTable *e, const wide_row *row, const wide_scan_family *fams,
			WtRollupProblem report, void *arg)
{
	GroupTotalsKey k = {row->key, WIDE_TS_AUTO};
	GroupTotals *group = hash_search(g->table, &k, HASH_FIND, NULL);
	int64 rows = rows_in(e, row, fams), expected = group != NULL ? group->rows : 0;
	const WtColumn *c;

	if (group != NULL)
		group->seen = true;
	if (rows != expected)
		report(arg, g->r,
			   psprintf("group %s has " INT64_FORMAT " rows, and counts " INT64_FORMAT,
						wt_key_text(g->r->table, row->key), expected, rows));
	else if (group != NULL && (c = find_difference(g->r, e, group, row, fams)) != NULL)
		report(arg, g->r,
			   psprintf("column \"%s\" of group %s differs", c->name,
						wt_key_text(g->r->table, row->key)));
}

void
wt_rollup_build_verify(const WtRollup *r, WtRollupProblem report, void *arg)
{
	static const wide_range whole = {{(const uint8 *) "", 0}, {NULL, 0}};
	wide_scan_family fams[WT_MAX_FAMILIES];
	wide_scan_spec spec = {.families = fams, .ranges = &whole, .nranges = 1};
	WtEngineTable e, base;
	HASH_SEQ_STATUS scan;
	WtEngineScan *rows;
	wide_row row;
	GroupTotals *group;
	AllGroups g;

	if (r->building || (r->timed && r->ttl_us == 0) ||
		/* the snapshot sees the table as it was when there was no such roll-up */
		!wt_index_is_visible(wt_index_made(r->relid), GetActiveSnapshot()) ||
		!wt_engine_table(r->table, false, &e) || !wt_engine_table(r->base, false, &base))
		return;
	make_groups(&g, r);
	(void) add_rows(&g, GetActiveSnapshot(), NULL);
	spec.nfamilies = e.nall;
	for (int i = 0; i < e.nall; i++)
		fams[i] = (wide_scan_family) {.id = e.all[i], .want = WIDE_WANT_ALL, .max_versions = 1};
	rows = wt_engine_scan_open(GetActiveSnapshot(), &spec);
	while (wt_engine_scan_next(rows, &row))
	{
		CHECK_FOR_INTERRUPTS();
		compare_row(&g, &e, &row, fams, report, arg);
	}
	wt_engine_scan_close(rows);
	hash_seq_init(&scan, g.table);
	while ((group = hash_seq_search(&scan)) != NULL)
		if (!group->seen)
			report(arg, r,
				   psprintf("group %s is missing", wt_key_text(r->table, group->key.bytes)));
	MemoryContextDelete(g.cxt);
}

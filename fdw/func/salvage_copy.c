/*
 * salvage_copy.c
 *		Copies what can be read of a damaged table into an empty one.
 *
 * The copy reads as any query does, and writes as any command does: it is in WAL, on standbys, and
 * goes with the transaction.  The damaged table is not changed.
 *
 * A read that fails says which range of rows the damage may hit.  The copy takes the rows before
 * that range, passes over the range, and goes on behind it.
 *
 * Invariant: outside of the ranges that are reported, the copy has all versions of all cells that
 * the statement would see if nothing were damaged, and nothing else.  So nothing comes back that a
 * lost delete hid, unlike with salvage in place.  Of a long row in a range the copy may have the
 * first cells.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "engine/wide.h"
#include "fdw/derived/index.h"
#include "fdw/func/result.h"
#include "fdw/func/salvage_copy.h"
#include "fdw/store/bytes.h"
#include "fdw/store/error.h"
#include "fdw/store/store.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/engine_scan.h"
#include "fdw/xact/wal_usage.h"

/* a row key, or the bytes behind one */
typedef struct KeyCopy
{
	size_t len;
	uint8 data[WIDE_MAX_ROW + 1];
} KeyCopy;

/* The copy of a family. */
typedef struct Copy
{
	wide_family from;
	wide_family_id to;
	const wide_snapshot *snapshot;
	uint64 own_mark;
	ReturnSetInfo *rsinfo;
	KeyCopy at;	  /* rows before it are copied or given up */
	KeyCopy end;  /* of the present scan */
	bool bounded; /* end is used */
	int64 cells;  /* copied so far */
	int64 of_row; /* of these, in the row `at` */
	wide_damage damage;
	char why[400];
	/* the range that was reported last */
	uint64 last_file, last_offset;
} Copy;

static wide_bytes
key_bytes(const KeyCopy *k)
{
	return (wide_bytes) {k->data, k->len};
}

static void
set_key(KeyCopy *k, const uint8 *data, size_t len)
{
	memmove(k->data, data, len);
	k->len = len;
}

/* Puts the cells of a row, or of a part of it, into the other table. */
static void
copy_row(Copy *c, const wide_row *row)
{
	if (wt_bytes_cmp(row->key, key_bytes(&c->at)) != 0)
	{
		set_key(&c->at, row->key.data, row->key.len);
		c->of_row = 0;
	}
	for (int i = 0; i < row->ncells; i++)
	{
		const wide_cell *cell = &row->cells[i];

		wt_error_check(wide_batch_put(wt_batch(true), c->to, row->key, cell->qualifier, cell->ts,
									  PG_INT64_MIN, cell->ttl_us, cell->value),
					   "could not copy cells");
		wt_wal_usage_charge();
	}
	c->cells += row->ncells;
	c->of_row += row->ncells;
	wide_progress_add(wt_store_db(), (uint64) row->ncells);
}

/*
 * Copies the rows from `at` to the end of the range, or to damage, which it stores in *c.
 * Returns: WIDE_END, or WIDE_CORRUPT or WIDE_IO.  All other failures are errors.
 */
static wide_status
copy_rows(Copy *c)
{
	wide_scan_family f = {.id = c->from.id, .want = WIDE_WANT_ALL, .max_versions = PG_INT32_MAX};
	KeyCopy from = c->at;
	wide_range range = {key_bytes(&from), {NULL, 0}};
	wide_scan_spec spec = {
		.families = &f, .nfamilies = 1, .ranges = &range, .nranges = 1, .operands = true};
	wide_scan *volatile scan = NULL;
	volatile wide_status st;

	if (c->bounded)
		range.hi = key_bytes(&c->end);
	spec.own = wt_batch(false);
	spec.own_mark = c->own_mark;
	PG_TRY();
	{
		wide_scan *opened = NULL;
		wide_row row;

		while ((st = wide_scan_open(wt_store_db(), c->snapshot, &spec, &opened)) ==
			   WIDE_INTERRUPTED)
			CHECK_FOR_INTERRUPTS();
		scan = st == WIDE_OK ? opened : NULL;
		while (st == WIDE_OK || st == WIDE_INTERRUPTED)
		{
			CHECK_FOR_INTERRUPTS();
			st = wide_scan_next(opened, &row);
			if (st == WIDE_OK)
				copy_row(c, &row);
		}
		if (st != WIDE_END)
		{
			const wide_damage *d = wide_error_damage();

			/* no other failure says which rows it is about */
			if ((st != WIDE_CORRUPT && st != WIDE_IO) || d == NULL || d->family != c->from.id)
				wt_error_check(st, "could not read");
			c->damage = *d;
			strlcpy(c->why, wide_error_text(), sizeof(c->why));
		}
	}
	PG_FINALLY();
	{
		if (scan != NULL)
			wide_scan_close(scan);
	}
	PG_END_TRY();
	return st;
}

/* Adds to the result the range from `at` on, or from where the damage begins, to its end. */
static void
report_range(Copy *c)
{
	const wide_damage *d = &c->damage;
	wide_bytes lo = {d->lo, d->lo_len};
	WtResultRow row = {0};
	char file[40];

	/* its end was cut off, and it goes on */
	if (d->file == c->last_file && d->offset == c->last_offset)
		return;
	c->last_file = d->file;
	c->last_offset = d->offset;
	if (wt_bytes_cmp(lo, key_bytes(&c->at)) > 0)
		lo = key_bytes(&c->at);
	snprintf(file, sizeof(file), "%08llx.sst", (unsigned long long) d->container);
	wt_result_add_text(&row, c->from.name);
	wt_result_add_text(&row, file);
	wt_result_add(&row, wt_result_bytea(lo.data, lo.len));
	wt_result_add(&row, wt_result_bytea(d->hi, d->hi_len));
	for (int i = 0; i < 3; i++)
		wt_result_add_unless(&row, true, (Datum) 0);
	wt_result_add_text(&row, c->why);
	wt_result_put(&row, c->rsinfo);
}

/*
 * Moves `at` behind the damage.  Returns: false if nothing of the family is behind it.
 * Its last key may be cut off, so it ends at that key, or else at the last one that begins so.
 */
static bool
pass_damage(Copy *c)
{
	const wide_damage *d = &c->damage;
	KeyCopy next;

	set_key(&next, d->hi, d->hi_len);
	next.data[next.len++] = 0;
	if (wt_bytes_cmp(key_bytes(&next), key_bytes(&c->at)) <= 0)
	{
		for (next.len = d->hi_len; next.len > 0 && next.data[next.len - 1] == 0xff; next.len--)
			;
		if (next.len == 0)
			return false;
		next.data[next.len - 1]++;
		if (wt_bytes_cmp(key_bytes(&next), key_bytes(&c->at)) <= 0)
			wt_error_check(WIDE_CORRUPT, "could not pass over damage");
	}
	c->at = next;
	return true;
}

static void
copy_family(Copy *c)
{
	for (;;)
	{
		wide_status st = copy_rows(c);
		wide_bytes lo = {c->damage.lo, c->damage.lo_len};

		if (st == WIDE_END && !c->bounded)
			return;
		if (st == WIDE_END)
		{
			c->at = c->end;
			c->of_row = 0;
			c->bounded = false;
			continue;
		}
		/* rows of other files may lie before the damage; each time the range is smaller */
		if (wt_bytes_cmp(lo, key_bytes(&c->at)) > 0 &&
			(!c->bounded || wt_bytes_cmp(lo, key_bytes(&c->end)) < 0))
		{
			set_key(&c->end, lo.data, lo.len);
			c->bounded = true;
			/* the scan begins again, with the row that it may not have read to its end */
			c->cells -= c->of_row;
			c->of_row = 0;
			continue;
		}
		report_range(c);
		c->of_row = 0;
		c->bounded = false;
		if (!pass_damage(c))
			return;
	}
}

/* ----------------------------------------------------------------- tables */

static void
refuse(const WtCall *to, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot salvage into \"%s\"", to->relname), errdetail("%s", detail)));
}

/* Requires that both build the same bytes from a key. */
static void
check_keys(WtCall *from, WtCall *to)
{
	bool same = from->t->salt_buckets == to->t->salt_buckets && from->t->nkeys == to->t->nkeys;

	for (int i = 0; same && i < from->t->nkeys; i++)
	{
		const WtColumn *a = wt_key_column(from->t, i), *b = wt_key_column(to->t, i);

		same = a->typid == b->typid && a->desc == b->desc && a->fixed_len == b->fixed_len &&
			   a->delimited == b->delimited && a->delimiter == b->delimiter &&
			   memcmp(&a->enc, &b->enc, sizeof(a->enc)) == 0;
	}
	if (!same)
		refuse(to, "Its key, or its salt_buckets, is not that of the damaged table.");
}

static void
check_empty(WtCall *to)
{
	int n;
	wide_family *families = wt_engine_table_families(&to->e, &n);

	for (int i = 0; i < n; i++)
	{
		wide_scan_family f = {.id = families[i].id, .want = WIDE_WANT_ALL, .max_versions = 1};
		wide_range all = {{(const uint8 *) "", 0}, {NULL, 0}};
		wide_scan_spec spec = {.families = &f, .nfamilies = 1, .ranges = &all, .nranges = 1};
		WtEngineScan *scan = wt_engine_scan_open(GetActiveSnapshot(), &spec);
		wide_row row;
		bool found = wt_engine_scan_next(scan, &row);

		wt_engine_scan_close(scan);
		if (found)
			refuse(to, "It has rows.");
	}
	pfree(families);
}

void
wt_salvage_copy(WtCall *from, WtCall *to, ReturnSetInfo *rsinfo)
{
	int n;
	wide_family *families;
	Copy *c = palloc0(sizeof(Copy));
	WtEngineScan *held;

	check_keys(from, to);
	wt_call_engine(to, true);
	if (to->e.table == from->e.table)
		refuse(to, "It shows the rows of the damaged table.");
	check_empty(to);
	if (wt_index_list_stored(to->e.table) != NIL)
		refuse(to, "It has indexes. Create them when the rows are there.");
	wt_batch_command();
	families = wt_engine_table_families(&from->e, &n);
	held = wt_engine_scan_hold_snapshot(GetActiveSnapshot());
	for (int i = 0; i < n; i++)
	{
		wide_family_info info;
		WtResultRow row = {0};
		uint64 cells = 0;

		*c = (Copy) {.from = families[i],
					 .to = wt_engine_table_family_by_name(to->t, &to->e, families[i].name),
					 .snapshot = wt_engine_scan_snapshot(held),
					 .own_mark = wt_batch_own_mark(GetActiveSnapshot()),
					 .rsinfo = rsinfo};
		if (c->to == 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("cannot salvage into \"%s\": there is no family \"%s\"", to->relname,
							families[i].name)));
		if (wide_family_statistics(wt_store_db(), families[i].id, &info) == WIDE_OK)
			cells = info.cells + info.memtable_cells;
		wide_progress_begin(wt_store_db(), WIDE_PROGRESS_COPY, from->e.table, cells);
		copy_family(c);
		wt_result_add_text(&row, families[i].name);
		for (int k = 0; k < 5; k++)
			wt_result_add_unless(&row, true, (Datum) 0);
		wt_result_add(&row, Int64GetDatum(c->cells));
		wt_result_add_text(&row, NULL);
		wt_result_put(&row, rsinfo);
	}
	wide_progress_end(wt_store_db());
	wt_engine_scan_close(held);
	pfree(families);
	pfree(c);
}

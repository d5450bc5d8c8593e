/*
 * remote_row.c
 *		Cells of HBase as rows of a scan, with the transaction's changes of the row.
 *
 * HBase returns a row's cells by family, qualifier and timestamp.  The changes of the
 * transaction are made on them one after the other, as the cells will be after the commit: an
 * automatic timestamp is above all others.  Then the cells that the scan wants are taken.
 */
#include "postgres.h"

#include "fdw/remote/remote_row.h"

#include "utils/memutils.h"

#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"

/* Timestamp of a cell that gets its own at commit, in milliseconds: above all others. */
#define PROVISIONAL PG_INT64_MAX

static wide_bytes
from_hbase(hb_bytes b)
{
	return (wide_bytes) {b.data, b.len};
}

/* Returns: < 0, 0 or > 0, as the cells of a row are ordered. */
static int
compare_cells(const void *a, const void *b)
{
	const hb_cell *x = a, *y = b;
	int c = wt_bytes_cmp(from_hbase(x->family), from_hbase(y->family));

	if (c == 0)
		c = wt_bytes_cmp(from_hbase(x->qualifier), from_hbase(y->qualifier));
	if (c == 0)
		c = x->timestamp > y->timestamp ? -1 : x->timestamp < y->timestamp;
	return c;
}

/* ------------------------------------------------------- own changes */

static void
reserve_merged(WtRemoteWant *w, int n)
{
	if (n <= w->max_merged)
		return;
	w->max_merged = Max(n, 2 * w->max_merged);
	w->merged = w->merged == NULL
					? MemoryContextAllocHuge(TopMemoryContext, sizeof(hb_cell) * w->max_merged)
					: repalloc_huge(w->merged, sizeof(hb_cell) * w->max_merged);
}

/* Returns: true if the delete hides the cell. */
static bool
deletes(const WtRemoteChange *d, hb_bytes family, const hb_cell *c)
{
	int64 ts = d->ts == WIDE_TS_MAX ? PG_INT64_MAX : d->ts / 1000;
	bool column = d->kind == 1 + WIDE_DELETE_VERSION || d->kind == 1 + WIDE_DELETE_COLUMN;

	if (!wt_bytes_equal(family.data, family.len, c->family.data, c->family.len) ||
		(column && !wt_bytes_equal(d->qual.data, d->qual.len, c->qualifier.data, c->qualifier.len)))
		return false;
	return d->kind == 1 + WIDE_DELETE_COLUMN || d->kind == 1 + WIDE_DELETE_FAMILY
			   ? c->timestamp <= ts
			   : c->timestamp == ts;
}

/* Makes one change on the first n cells of w->merged.  Returns: how many there are then. */
static int
apply(WtRemoteWant *w, int n, const WtRemoteChange *d)
{
	const char *name = w->table->families[d->family].name;
	hb_bytes family = {(const uint8_t *) name, strlen(name)};
	hb_cell *m = w->merged;
	int left = 0;

	if (d->kind != 0)
	{
		for (int i = 0; i < n; i++)
			if (!deletes(d, family, &m[i]))
				m[left++] = m[i];
		return left;
	}
	m[n] = (hb_cell) {.family = family,
					  .qualifier = {d->qual.data, d->qual.len},
					  .value = {d->value.data, d->value.len},
					  .timestamp = d->ts == WIDE_TS_AUTO ? PROVISIONAL : d->ts / 1000,
					  .type = HB_CELL_PUT};
	for (int i = 0; i < n; i++)
		if (compare_cells(&m[i], &m[n]) == 0)
		{
			m[i] = m[n];
			return n;
		}
	return n + 1;
}

/* Sets w->merged to the cells of the row after the changes.  Returns: their number. */
static int
merge_own(WtRemoteWant *w, const hb_row *from, const WtRemoteRow *own, Snapshot pg)
{
	const WtRemoteChange **list;
	int nown = wt_remote_change_list(own, pg, &list), n = from != NULL ? from->n_cells : 0;

	reserve_merged(w, n + nown + 1);
	if (n > 0)
		memcpy(w->merged, from->cells, sizeof(hb_cell) * n);
	for (int i = 0; i < nown; i++)
		n = apply(w, n, list[i]);
	pfree(list);
	if (nown > 0)
		qsort(w->merged, n, sizeof(hb_cell), compare_cells);
	return n;
}

/* ------------------------------------------------------------- taking */

static void
reserve_cells(WtRemoteWant *w, int n)
{
	if (n <= w->max_cells)
		return;
	w->max_cells = Max(n, 2 * w->max_cells);
	w->cells = w->cells == NULL
				   ? MemoryContextAllocHuge(TopMemoryContext, sizeof(wide_cell) * w->max_cells)
				   : repalloc_huge(w->cells, sizeof(wide_cell) * w->max_cells);
}

/* Returns: the index of the qualifier among those wanted from *at on, -1 if it is not wanted.  *at
 * moves on: cells come in order. */
static int
wanted_column(const wide_scan_family *f, wide_bytes qual, int *at)
{
	while (*at < f->nquals)
	{
		int c = wt_bytes_cmp(f->quals[*at], qual);

		if (c == 0)
			return *at;
		if (c > 0)
			return -1;
		++*at;
	}
	return -1;
}

static bool
in_range(const wide_scan_family *f, wide_bytes qual)
{
	return wt_bytes_cmp(qual, f->quals[0]) >= 0 &&
		   (f->quals[1].data == NULL || wt_bytes_cmp(qual, f->quals[1]) < 0);
}

/* A cell's timestamp in microseconds. */
static int64
time_of(const hb_cell *c, int64 now)
{
	return c->timestamp == PROVISIONAL ? now : c->timestamp * 1000;
}

/* Returns: true if the scan is limited to other times.  A cell of the transaction is of now. */
static bool
outside(const wide_scan_spec *s, const hb_cell *c, int64 ts)
{
	bool limited = s->ts_min != 0 || s->ts_max != 0;
	bool shown = s->show_min == 0 && s->show_max == 0;

	/* HBase has left out its own; those of the transaction are here */
	if (limited && (ts < s->ts_min || (s->ts_max != PG_INT64_MAX && ts >= s->ts_max)))
		return true;
	return !shown && (ts < s->show_min || (s->show_max != PG_INT64_MAX && ts >= s->show_max));
}

/* Takes the cells of one family of the spec, all[0..n).  Sets *exists if the row exists by it. */
static int
take_family(WtRemoteWant *w, int i, const hb_cell *all, int n, int64 now, int taken, bool *exists)
{
	const wide_scan_family *f = &w->spec.families[i];
	int max = f->max_versions > 0 ? f->max_versions : 1, version = 0, at = 0;

	for (int k = 0; k < n; k++)
	{
		const hb_cell *c = &all[k];
		wide_bytes qual = from_hbase(c->qualifier);
		int column = -1;
		int64 ts = time_of(c, now);

		version = k > 0 && wt_bytes_equal(c->qualifier.data, c->qualifier.len,
										  all[k - 1].qualifier.data, all[k - 1].qualifier.len)
					  ? version + 1
					  : 0;
		if (f->want == WIDE_WANT_COLUMNS)
			column = wanted_column(f, qual, &at);
		if (f->want == WIDE_WANT_EXISTS || (f->want == WIDE_WANT_COLUMNS && column < 0) ||
			(f->want == WIDE_WANT_RANGE && !in_range(f, qual)))
		{
			*exists |= f->want == WIDE_WANT_EXISTS || f->any_exists;
			continue;
		}
		if (version >= max || outside(&w->spec, c, ts))
			continue;
		*exists = true;
		if (w->spec.row_limit != 0 && taken >= (int) w->spec.row_limit)
			continue;
		w->cells[taken++] = (wide_cell) {.family = i,
										 .column = column,
										 .version = version,
										 .provisional = c->timestamp == PROVISIONAL,
										 .ts = ts,
										 .floor_ts = ts,
										 .seq = c->timestamp == PROVISIONAL ? 0 : (uint64_t) ts,
										 .qualifier = column >= 0 ? (wide_bytes) {NULL, 0} : qual,
										 .value = from_hbase(c->value)};
	}
	return taken;
}

bool
wt_remote_row_make(WtRemoteWant *w, wide_bytes key, const hb_row *from, const WtRemoteRow *own,
				   Snapshot pg, wide_row *out)
{
	const hb_cell *cells = from != NULL ? from->cells : NULL;
	int n = from != NULL ? from->n_cells : 0, taken = 0;
	int64 now = own != NULL ? wt_clock_now() : 0;
	bool exists = false;

	if (own != NULL)
	{
		n = merge_own(w, from, own, pg);
		cells = w->merged;
	}
	reserve_cells(w, n * Max(1, w->spec.nfamilies));
	for (int i = 0; i < w->spec.nfamilies; i++)
	{
		int at;
		const char *name;
		size_t len;
		int lo = 0, hi;

		(void) wt_remote_table_of(w->spec.families[i].id, &at);
		name = w->table->families[at].name;
		len = strlen(name);
		while (lo < n && !wt_bytes_equal(cells[lo].family.data, cells[lo].family.len, name, len))
			lo++;
		for (hi = lo;
			 hi < n && wt_bytes_equal(cells[hi].family.data, cells[hi].family.len, name, len);)
			hi++;
		taken = take_family(w, i, cells + lo, hi - lo, now, taken, &exists);
	}
	*out = (wide_row) {.key = key, .cells = w->cells, .ncells = taken};
	return exists;
}

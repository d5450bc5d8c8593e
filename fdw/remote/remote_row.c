/*
 * remote_row.c
 *		Cells of HBase as rows of a scan, with the transaction's changes of the row.
 *
 * HBase returns a row's cells by family, qualifier and timestamp.  The changes of the
 * transaction are made on them column by column and in their order, as the cells will be after the
 * commit: an automatic timestamp is above all others.  Then the cells that the scan wants are
 * taken.
 */
#include "postgres.h"

#include "fdw/remote/remote_row.h"

#include "utils/memutils.h"

#include "fdw/store/bytes.h"

/* Timestamp of a cell that gets its own at commit, in milliseconds: above all others. */
#define PROVISIONAL PG_INT64_MAX

static wide_bytes
from_hbase(hb_bytes b)
{
	return (wide_bytes) {b.data, b.len};
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

/* A change of a row, and where it comes among them. */
typedef struct Own
{
	const WtRemoteChange *change;
	hb_bytes family;
	int order;
} Own;

static int
compare_columns(hb_bytes family_a, wide_bytes qual_a, hb_bytes family_b, wide_bytes qual_b)
{
	int c = wt_bytes_cmp(from_hbase(family_a), from_hbase(family_b));

	return c != 0 ? c : wt_bytes_cmp(qual_a, qual_b);
}

static int
compare_own(const void *a, const void *b)
{
	const Own *x = a, *y = b;
	int c = compare_columns(x->family, x->change->qual, y->family, y->change->qual);

	return c != 0 ? c : x->order < y->order ? -1 : 1;
}

/* Removes of the column's n cells m[], newest first, those that the delete hides.  Returns: how
 * many are left. */
static int
apply_delete(hb_cell *m, int n, const WtRemoteChange *d)
{
	int64 ts = d->ts == WIDE_TS_MAX ? PG_INT64_MAX : d->ts / 1000;
	bool up_to = d->kind == 1 + WIDE_DELETE_COLUMN || d->kind == 1 + WIDE_DELETE_FAMILY;
	int left = 0;

	/* without a timestamp: the newest version */
	if (!up_to && d->ts == WIDE_TS_MAX && n > 0)
		ts = m[0].timestamp;
	if (d->ts == WIDE_TS_AUTO)
		ts = PROVISIONAL;
	for (int i = 0; i < n; i++)
		if (up_to ? m[i].timestamp > ts : m[i].timestamp != ts)
			m[left++] = m[i];
	return left;
}

/* Puts a version into the column's n cells m[].  Returns: how many there are then. */
static int
apply_put(hb_cell *m, int n, const Own *own)
{
	const WtRemoteChange *d = own->change;
	int64 ts = d->ts == WIDE_TS_AUTO ? PROVISIONAL : d->ts / 1000;
	int lo = 0, hi = n;

	while (lo < hi)
	{
		int mid = (lo + hi) / 2;

		if (m[mid].timestamp > ts)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == n || m[lo].timestamp != ts)
	{
		memmove(&m[lo + 1], &m[lo], sizeof(hb_cell) * (n - lo));
		n++;
	}
	m[lo] = (hb_cell) {.family = own->family,
					   .qualifier = {d->qual.data, d->qual.len},
					   .value = {d->value.data, d->value.len},
					   .timestamp = ts,
					   .type = HB_CELL_PUT};
	return n;
}

/* Makes the changes of one column on its n cells m[]: its own, and those of its family, in their
 * order.  Returns: how many cells there are then. */
static int
apply_column(hb_cell *m, int n, hb_bytes family, const Own *own, int nown, const Own *whole,
			 int nwhole)
{
	int i = 0, k = 0;

	while (i < nown || k < nwhole)
	{
		const Own *next;

		if (k < nwhole && wt_bytes_cmp(from_hbase(whole[k].family), from_hbase(family)) != 0)
		{
			k++;
			continue;
		}
		next = k == nwhole || (i < nown && own[i].order < whole[k].order) ? &own[i++] : &whole[k++];
		n = next->change->kind == 0 ? apply_put(m, n, next) : apply_delete(m, n, next->change);
	}
	return n;
}

/* Divides the changes into those of columns, sorted, and those of whole families.  Returns: the
 * number of the first. */
static int
divide_own(const WtRemoteWant *w, const WtRemoteChange **list, int n, Own *own, Own *whole,
		   int *nwhole)
{
	int count = 0;

	*nwhole = 0;
	for (int i = 0; i < n; i++)
	{
		const char *name = w->table->families[list[i]->family].name;
		bool all = list[i]->kind == 1 + WIDE_DELETE_FAMILY ||
				   list[i]->kind == 1 + WIDE_DELETE_FAMILY_VERSION;

		*(all ? &whole[(*nwhole)++]
			  : &own[count++]) = (Own) {list[i], {(const uint8_t *) name, strlen(name)}, i};
	}
	qsort(own, count, sizeof(Own), compare_own);
	return count;
}

/* Sets w->merged to the cells of the row after the changes.  Returns: their number. */
static int
merge_own(WtRemoteWant *w, const hb_row *from, const WtRemoteRow *changed, Snapshot pg)
{
	const WtRemoteChange **list;
	const hb_cell *cells = from != NULL ? from->cells : NULL;
	int nlist = wt_remote_change_list(changed, pg, &list), n = from != NULL ? from->n_cells : 0;
	Own *own = palloc_extended(sizeof(Own) * (nlist + 1), MCXT_ALLOC_HUGE);
	Own *whole = palloc_extended(sizeof(Own) * (nlist + 1), MCXT_ALLOC_HUGE);
	int nwhole, nown = divide_own(w, list, nlist, own, whole, &nwhole), out = 0;

	reserve_merged(w, n + nlist + 1);
	for (int i = 0, k = 0; i < n || k < nown;)
	{
		hb_cell *m = &w->merged[out];
		int ncells = 0, first = k, c;
		hb_bytes family;
		wide_bytes qual;

		c = i == n		? 1
			: k == nown ? -1
						: compare_columns(cells[i].family, from_hbase(cells[i].qualifier),
										  own[k].family, own[k].change->qual);
		family = c <= 0 ? cells[i].family : own[k].family;
		qual = c <= 0 ? from_hbase(cells[i].qualifier) : own[k].change->qual;
		for (; i < n &&
			   compare_columns(cells[i].family, from_hbase(cells[i].qualifier), family, qual) == 0;
			 i++)
			m[ncells++] = cells[i];
		for (; k < nown && compare_columns(own[k].family, own[k].change->qual, family, qual) == 0;
			 k++)
			;
		out += apply_column(m, ncells, family, &own[first], k - first, whole, nwhole);
	}
	pfree(own);
	pfree(whole);
	pfree(list);
	return out;
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

/* Returns: true if the time is outside of a range; max 0 or the highest: it is open. */
static bool
outside(int64 ts, int64 min, int64 max)
{
	return ts < min || (max != 0 && max != PG_INT64_MAX && ts >= max);
}

/* Takes the cells of one family of the spec, all[0..n).  Sets *exists if the row exists by it. */
static int
take_family(WtRemoteWant *w, int i, const hb_cell *all, int n, int64 now, int taken, bool *exists)
{
	const wide_scan_family *f = &w->spec.families[i];
	int max = f->max_versions > 0 ? f->max_versions : 1, stored = 0, version = -1, at = 0, index;
	bool limited = w->spec.ts_min != 0 || w->spec.ts_max != 0;
	bool filtered = w->spec.show_min != 0 || w->spec.show_max != 0;

	(void) wt_remote_table_of(f->id, &index);
	for (int k = 0; k < n; k++)
	{
		const hb_cell *c = &all[k];
		wide_bytes qual = from_hbase(c->qualifier);
		int column = -1;
		int64 ts = time_of(c, now);

		if (k == 0 || !wt_bytes_equal(c->qualifier.data, c->qualifier.len,
									  all[k - 1].qualifier.data, all[k - 1].qualifier.len))
		{
			stored = 0;
			version = -1;
		}
		/* HBase keeps no more of them, but here may be new ones of the transaction, and it has left
		 * out other times only where it has not read all versions for these */
		if (++stored > w->table->families[index].opt.versions ||
			(limited && outside(ts, w->spec.ts_min, w->spec.ts_max)))
			continue;
		version++;
		if (f->want == WIDE_WANT_COLUMNS)
			column = wanted_column(f, qual, &at);
		if (f->want == WIDE_WANT_EXISTS || (f->want == WIDE_WANT_COLUMNS && column < 0) ||
			(f->want == WIDE_WANT_RANGE && !in_range(f, qual)))
		{
			*exists |= f->want == WIDE_WANT_EXISTS || f->any_exists;
			continue;
		}
		if (version >= max || (filtered && outside(ts, w->spec.show_min, w->spec.show_max)))
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
	int64 now = own != NULL ? wt_remote_change_provisional() : 0;
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

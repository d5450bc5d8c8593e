/*
 * remote_get.c
 *		Rows of a table of HBase by their keys, many at a time.
 */
#include "postgres.h"

#include "fdw/remote/remote_get.h"

#include "utils/memutils.h"

#include "fdw/remote/remote_whole.h"
#include "fdw/store/bytes.h"

bool
wt_remote_get_may(wide_bytes key)
{
	return key.len > 0 && key.len <= HB_MAX_ROW;
}

/* Reads n rows.  The caller releases *rows. */
static hb_status
try_gets(const WtRemoteRequest *q, const hb_read *read, const hb_bytes *keys, int n, hb_rows **rows)
{
	hb_status status = hb_get_many(q->client, read, keys, n, rows);

	q->work->calls++;
	for (int i = 0; status == HB_OK && i < (*rows)->n; i++)
		for (int c = 0; c < (*rows)->rows[i].n_cells; c++)
			q->work->bytes += (*rows)->rows[i].key.len + (*rows)->rows[i].cells[c].qualifier.len +
							  (*rows)->rows[i].cells[c].value.len;
	return status;
}

static hb_rows *
call_gets(const WtRemoteRequest *q, const hb_read *read, const hb_bytes *keys, int n)
{
	hb_rows *rows = NULL;
	hb_status status = try_gets(q, read, keys, n, &rows);

	if (status != HB_OK)
		wt_remote_request_fail(q, status);
	return rows;
}

/* Reads the keys for which no row has come again, with all that makes a row exist. */
static void
get_again(const WtRemoteRequest *q, const hb_read *read, const hb_bytes *keys, WtRemoteRows *out)
{
	hb_rows *rows = out->rows;
	hb_bytes *missing = palloc(sizeof(hb_bytes) * Max(1, rows->n));
	int n = 0;

	for (int i = 0; i < rows->n; i++)
		if (rows->rows[i].n_cells == 0)
			missing[n++] = keys[i];
	if (n > 0)
	{
		out->more = call_gets(q, read, missing, n);
		n = 0;
		for (int i = 0; i < rows->n; i++)
			if (rows->rows[i].n_cells == 0)
				rows->rows[i] = out->more->rows[n++];
	}
	pfree(missing);
}

/* Reads n rows with all their cells.  Returns: false if one has too many. */
static bool
get_whole(const WtRemoteRequest *q, const hb_bytes *keys, int n, hb_rows **out)
{
	hb_read read = wt_remote_request_read(q);
	hb_rows *rows = NULL;
	hb_status status = try_gets(q, &read, keys, n, &rows);
	bool whole = true;

	if (status == HB_TOOLARGE)
		return false;
	if (status != HB_OK)
		wt_remote_request_fail(q, status);
	for (int i = 0; i < rows->n; i++)
		if (rows->rows[i].n_cells > 0)
			whole &= wt_remote_whole_note(q->table, &rows->rows[i]);
	if (whole)
		*out = rows;
	else
		hb_rows_free(q->client, rows);
	return whole;
}

/* Returns: false if the first ones of many keys have rows that are too large, or it is known that
 * rows are. */
static bool
may_be_whole(const WtRemoteRequest *q, const hb_bytes *keys, int n)
{
	WtRemoteRows some = {0};
	bool whole = true;

	if (!wt_remote_whole_known(q->table))
	{
		if (n <= WT_REMOTE_WHOLE_TRY)
			return true;
		whole = get_whole(q, keys, WT_REMOTE_WHOLE_TRY, &some.rows);
		wt_remote_get_free(q, &some);
	}
	return whole && wt_remote_whole_pays(q->table, q->spec, true);
}

void
wt_remote_get(WtRemoteRequest *q, const hb_bytes *keys, int n, WtRemoteRows *out)
{
	hb_read read, first;

	if (q->whole)
	{
		if (may_be_whole(q, keys, n) && get_whole(q, keys, n, &out->rows))
			return;
		wt_remote_request_filter(q, false);
	}
	read = wt_remote_request_read(q);
	if (!q->two_steps)
	{
		out->rows = call_gets(q, &read, keys, n);
		return;
	}
	first = read;
	first.filter = q->first_filter;
	first.families = q->first_columns;
	first.n_families = q->nfirst;
	out->rows = call_gets(q, &first, keys, n);
	get_again(q, &read, keys, out);
}

void
wt_remote_get_free(const WtRemoteRequest *q, WtRemoteRows *rows)
{
	if (rows->rows != NULL)
		hb_rows_free(q->client, rows->rows);
	if (rows->more != NULL)
		hb_rows_free(q->client, rows->more);
	*rows = (WtRemoteRows) {0};
}

/* ---------------------------------------------------------------- ahead */

void
wt_remote_get_drop(const WtRemoteRequest *q, WtRemoteAhead *a)
{
	wt_remote_get_free(q, &a->rows);
	a->n = 0;
}

void
wt_remote_get_ahead(WtRemoteRequest *q, WtRemoteAhead *a, const wide_range *keys, int n,
					MemoryContext parent)
{
	int count = 0;

	wt_remote_get_drop(q, a);
	if (!wt_remote_request_finds(q))
		return;
	if (a->cxt == NULL)
		a->cxt = AllocSetContextCreate(parent, "keys", ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(a->cxt);
	a->keys = MemoryContextAlloc(a->cxt, sizeof(hb_bytes) * Max(1, n));
	for (int i = 0; i < n; i++)
	{
		wide_bytes key = keys[i].lo;
		uint8 *copy;

		if (!wt_remote_get_may(key))
			continue;
		copy = MemoryContextAlloc(a->cxt, key.len);
		memcpy(copy, key.data, key.len);
		a->keys[count++] = (hb_bytes) {copy, key.len};
	}
	if (count > 0)
		wt_remote_get(q, a->keys, count, &a->rows);
	a->n = count;
}

const hb_row *
wt_remote_get_find(const WtRemoteAhead *a, wide_bytes key)
{
	int lo = 0, hi = a->n;

	while (lo < hi)
	{
		int mid = lo + (hi - lo) / 2;
		int c = wt_bytes_cmp((wide_bytes) {a->keys[mid].data, a->keys[mid].len}, key);

		if (c == 0)
			return &a->rows.rows->rows[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

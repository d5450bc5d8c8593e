/* scan_range.c - the key ranges of a scan, one after the other, and its row filter */
#include <stdlib.h>
#include <string.h>
#include "engine/scan/scan_range.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/counter.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/scan/scan_open.h"
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_state.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* hi is lo and a zero byte */
static bool
is_point(const wide_range *r)
{
	return r->hi.data != NULL && r->hi.len == r->lo.len + 1 && r->lo.len > 0 &&
		   r->hi.data[r->lo.len] == 0 && memcmp(r->lo.data, r->hi.data, r->lo.len) == 0;
}

static wide_status
add_bound(wide_scan *s, wide_bytes row, size_t *at, size_t *len)
{
	uint8_t *end;

	if (row.len > WIDE_MAX_ROW + 1)
		return status_fail(WIDE_LIMIT, "a bound of a row range has at most %d bytes",
						   WIDE_MAX_ROW + 1);
	TRY(buffer_reserve(&s->bounds, KEY_ROW_MAX(row.len)));
	*at = s->bounds.len;
	end = key_put_part(s->bounds.data + s->bounds.len, row.data, row.len);
	*len = (size_t) (end - (s->bounds.data + s->bounds.len));
	s->bounds.len += *len;
	return WIDE_OK;
}

wide_status
scan_range_set(wide_scan *s, const wide_range *ranges, int n)
{
	bool points = n > 0;

	if (n > s->ranges_cap)
	{
		scan_range *p = realloc(s->ranges, (size_t) n * sizeof(*p));

		if (p == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
		s->ranges = p;
		s->ranges_cap = n;
	}
	s->bounds.len = 0;
	s->nranges = 0;
	for (int i = 0; i < n; i++)
	{
		scan_range *r = &s->ranges[s->nranges];

		memset(r, 0, sizeof(*r));
		r->point = is_point(&ranges[i]);
		points = points && r->point;
		if (ranges[i].lo.len > 0)
			TRY(add_bound(s, ranges[i].lo, &r->lo, &r->lo_len));
		if (ranges[i].hi.data != NULL && !r->point)
		{
			TRY(add_bound(s, ranges[i].hi, &r->hi, &r->hi_len));
			if (ukey_compare(s->bounds.data + r->lo, r->lo_len, s->bounds.data + r->hi,
							 r->hi_len) >= 0)
				continue; /* empty */
			scan_open_range_prefix(r, &ranges[i]);
		}
		s->nranges++;
	}
	s->range = 0;
	s->sought.len = 0;
	s->open = s->in_row = s->have_row = false;
	counter_add(s->db, points ? COUNTER_GETS : COUNTER_SCANS, points ? (uint64_t) n : 1);
	return WIDE_OK;
}

/* Above every key: a row has at most WIDE_MAX_ROW bytes. */
static wide_status
key_above_all(buffer *b)
{
	b->len = 0;
	TRY(buffer_reserve(b, WIDE_MAX_ROW + 1));
	memset(b->data, 0xff, WIDE_MAX_ROW + 1);
	b->len = WIDE_MAX_ROW + 1;
	return WIDE_OK;
}

/* What the sources of a family need not look at in the open range. */
static wide_status
range_limits(wide_scan *s, scan_family *f)
{
	source_limits *l = &f->limits;

	l->hi = l->row = l->column = l->prefix = NULL;
	l->range++;
	/* a filter may want to go on elsewhere; who follows is sought for one row */
	l->pass_old = l->by_time && f->leads && !s->reverse && !s->cur->point && s->filter == NULL;
	if (!s->cur->point)
	{
		if (s->cur->hi_len > 0 && !s->reverse)
		{
			l->hi = s->bounds.data + s->cur->hi;
			l->hilen = (uint32_t) s->cur->hi_len;
		}
		/* a source remembers, for falling keys, what lies before them in all ranges */
		if (s->cur->prefix > 0 && (!s->reverse || s->nranges == 1))
		{
			l->prefix = scan_range_lo(s);
			l->prefixlen = (uint32_t) s->cur->prefix;
		}
		return WIDE_OK;
	}
	l->row = scan_range_lo(s);
	l->rowlen = (uint32_t) s->cur->lo_len;
	if (f->want == WIDE_WANT_COLUMNS && f->ncols == 1 && !f->any_exists)
	{
		TRY(buffer_set(&f->column, l->row, l->rowlen));
		TRY(buffer_append(&f->column, f->quals.data, f->quals.len));
		l->column = f->column.data;
		l->columnlen = (uint32_t) f->column.len;
	}
	return WIDE_OK;
}

/* Stand before the open range, or after the row that was read last in it. */
wide_status
scan_range_seek(wide_scan *s)
{
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		TRY(range_limits(s, f));
		f->placed = f->ready = false;
		if (!f->leads || (s->reverse && !s->cur->point))
			continue;
		if (s->have_row)
			TRY(merge_seek(f->m, s->after.data, (uint32_t) s->after.len, INT64_MAX, SEQ_MAX));
		else
			TRY(merge_seek(f->m, scan_range_lo(s), (uint32_t) s->cur->lo_len, INT64_MAX, SEQ_MAX));
	}
	return WIDE_OK;
}

/* The place in the order of rows that the filter has named last lies behind (reverse: before)
 * all of the range. */
bool
scan_range_passed(const wide_scan *s)
{
	const uint8_t *lo = scan_range_lo(s);

	if (s->sought.len == 0)
		return false;
	if (s->reverse)
		return ukey_compare(lo, s->cur->lo_len, s->sought.data, s->sought.len) >= 0;
	if (s->cur->point)
		return ukey_compare(lo, s->cur->lo_len, s->sought.data, s->sought.len) < 0;
	return s->cur->hi_len > 0 && ukey_compare(s->bounds.data + s->cur->hi, s->cur->hi_len,
											  s->sought.data, s->sought.len) <= 0;
}

wide_status
scan_range_open(wide_scan *s)
{
	s->cur = &s->ranges[s->reverse ? s->nranges - 1 - s->range : s->range];
	s->range++;
	s->point_done = s->have_row = false;
	if (scan_range_passed(s))
		return WIDE_OK;
	s->open = true;
	if (s->reverse && !s->cur->point)
	{
		if (s->cur->hi_len > 0)
			TRY(buffer_set(&s->bound, s->bounds.data + s->cur->hi, s->cur->hi_len));
		else
			TRY(key_above_all(&s->bound));
		if (s->sought.len > 0 &&
			ukey_compare(s->sought.data, s->sought.len, s->bound.data, s->bound.len) < 0)
			TRY(buffer_set(&s->bound, s->sought.data, s->sought.len));
	}
	else if (!s->reverse && s->sought.len > 0 &&
			 ukey_compare(scan_range_lo(s), s->cur->lo_len, s->sought.data, s->sought.len) < 0)
	{
		/* as if a row before it had been read */
		TRY(buffer_set(&s->after, s->sought.data, s->sought.len));
		s->have_row = true;
	}
	return scan_range_seek(s);
}

/* The filter wants nothing before s->sought (reverse: nothing from there on). */
wide_status
scan_range_go_to_sought(wide_scan *s)
{
	if (scan_range_passed(s))
	{
		s->open = false;
		return WIDE_OK;
	}
	if (s->cur->point)
		return WIDE_OK;
	if (s->reverse)
		return buffer_set(&s->bound, s->sought.data, s->sought.len);
	TRY(buffer_set(&s->after, s->sought.data, s->sought.len));
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];
		const entry *e;

		f->steps = 0;
		while (f->leads && (e = merge_entry(f->m)) != NULL &&
			   ukey_compare(e->ukey, e->klen, s->after.data, s->after.len) < 0)
			TRY(scan_row_move(f, s->after.data, (uint32_t) s->after.len, INT64_MAX));
	}
	return WIDE_OK;
}

wide_status
scan_range_ask_filter(wide_scan *s, const buffer *row, wide_bytes key, wide_row_verdict *verdict)
{
	wide_bytes to = {NULL, 0};

	*verdict = s->filter(s->filter_arg, key, &to);
	if (*verdict != WIDE_ROW_SEEK)
		return WIDE_OK;
	if (to.len > WIDE_MAX_ROW + 1)
		return status_fail(WIDE_LIMIT, "a row filter named a key of %zu bytes", to.len);
	s->sought.len = 0;
	TRY(buffer_reserve(&s->sought, KEY_ROW_MAX(to.len)));
	s->sought.len = (size_t) (key_put_part(s->sought.data, to.data, to.len) - s->sought.data);
	if ((ukey_compare(s->sought.data, s->sought.len, row->data, row->len) > 0) == s->reverse)
	{
		/* it does not lead on */
		s->sought.len = 0;
		*verdict = WIDE_ROW_SKIP;
	}
	return WIDE_OK;
}

/*
 * scan_range.c - the key ranges of a scan, one after the other, and its row filter.
 *
 * Ranges are opened in the order of the scan.  Opening one tells the sources what they need not
 * look at (source_limits) and moves the merges of the leading families to its beginning; families
 * that follow, and reverse scans, are moved when a row is looked for.
 *
 * The row filter may name a key before which (reverse: from which on) it wants nothing.  The key is
 * kept encoded in filter.seek, and ranges that lie before it are passed over.
 *
 * Locking: none; the scan's pin protects what is read.
 */
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

/* Returns true if the range holds exactly one row: hi is lo and a zero byte. */
static bool
is_point(const wide_range *r)
{
	return r->hi.data != NULL && r->hi.len == r->lo.len + 1 && r->lo.len > 0 &&
		   r->hi.data[r->lo.len] == 0 && memcmp(r->lo.data, r->hi.data, r->lo.len) == 0;
}

static wide_status
add_bound(scan_state *s, wide_bytes row, size_t *at, size_t *len)
{
	uint8_t *end;

	if (row.len > WIDE_MAX_ROW + 1)
		return status_fail(WIDE_LIMIT, "a bound of a row range has at most %d bytes",
						   WIDE_MAX_ROW + 1);
	TRY(buffer_reserve(&s->ranges.bounds, KEY_ROW_MAX(row.len)));
	*at = s->ranges.bounds.len;
	end = key_put_part(s->ranges.bounds.data + s->ranges.bounds.len, row.data, row.len);
	*len = (size_t) (end - (s->ranges.bounds.data + s->ranges.bounds.len));
	s->ranges.bounds.len += *len;
	return WIDE_OK;
}

wide_status
scan_range_set(scan_state *s, const wide_range *ranges, int n)
{
	bool points = n > 0;

	if (n > s->ranges.cap)
	{
		scan_range *p = realloc(s->ranges.list, (size_t) n * sizeof(*p));

		if (p == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
		s->ranges.list = p;
		s->ranges.cap = n;
	}
	s->ranges.bounds.len = 0;
	s->ranges.n = 0;
	for (int i = 0; i < n; i++)
	{
		scan_range *r = &s->ranges.list[s->ranges.n];

		memset(r, 0, sizeof(*r));
		r->point = is_point(&ranges[i]);
		points = points && r->point;
		if (ranges[i].lo.len > 0)
			TRY(add_bound(s, ranges[i].lo, &r->lo, &r->lo_len));
		if (ranges[i].hi.data != NULL && !r->point)
		{
			TRY(add_bound(s, ranges[i].hi, &r->hi, &r->hi_len));
			if (ukey_compare(s->ranges.bounds.data + r->lo, r->lo_len,
							 s->ranges.bounds.data + r->hi, r->hi_len) >= 0)
				continue; /* empty */
			scan_open_range_prefix(r, &ranges[i]);
		}
		s->ranges.n++;
	}
	s->ranges.next = 0;
	s->filter.seek.len = 0;
	s->ranges.state = RANGE_CLOSED;
	s->row.phase = ROW_NONE;
	counter_add(s->db, points ? COUNTER_GETS : COUNTER_SCANS, points ? (uint64_t) n : 1);
	return WIDE_OK;
}

/* A key above every row: a row has at most WIDE_MAX_ROW bytes. */
static wide_status
key_above_all(buffer *b)
{
	b->len = 0;
	TRY(buffer_reserve(b, WIDE_MAX_ROW + 1));
	memset(b->data, 0xff, WIDE_MAX_ROW + 1);
	b->len = WIDE_MAX_ROW + 1;
	return WIDE_OK;
}

/* Sets what the sources of a family need not look at in the open range. */
static wide_status
range_limits(scan_state *s, scan_family *f)
{
	source_limits *l = &f->limits;

	l->hi = l->row = l->column = l->prefix = NULL;
	l->range++;
	/* not with a filter, which may want to go on elsewhere, nor where single rows are looked up */
	l->pass_old = l->by_time && f->leads && !s->reverse && !s->ranges.cur->point &&
				  s->filter.fn == NULL;
	if (!s->ranges.cur->point)
	{
		if (s->ranges.cur->hi_len > 0 && !s->reverse)
		{
			l->hi = s->ranges.bounds.data + s->ranges.cur->hi;
			l->hilen = (uint32_t) s->ranges.cur->hi_len;
		}
		/* reverse: what a source remembers of rows before a key has to be right in all ranges */
		if (s->ranges.cur->prefix > 0 && (!s->reverse || s->ranges.n == 1))
		{
			l->prefix = scan_range_lo(s);
			l->prefixlen = (uint32_t) s->ranges.cur->prefix;
		}
		return WIDE_OK;
	}
	l->row = scan_range_lo(s);
	l->rowlen = (uint32_t) s->ranges.cur->lo_len;
	if (f->want == WIDE_WANT_COLUMNS && f->columns.n == 1 && !f->any_exists)
	{
		TRY(buffer_set(&f->one_column, l->row, l->rowlen));
		TRY(buffer_append(&f->one_column, f->columns.encoded.data, f->columns.encoded.len));
		l->column = f->one_column.data;
		l->columnlen = (uint32_t) f->one_column.len;
	}
	return WIDE_OK;
}

wide_status
scan_range_seek(scan_state *s)
{
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		TRY(range_limits(s, f));
		f->follow.placed = false;
		f->row.state = FAMILY_UNREAD;
		if (!f->leads || (s->reverse && !s->ranges.cur->point))
			continue;
		if (s->ranges.state == RANGE_ENTERED)
			TRY(merge_seek(f->m, s->row.after.data, (uint32_t) s->row.after.len, INT64_MAX,
						   SEQ_MAX));
		else
			TRY(merge_seek(f->m, scan_range_lo(s), (uint32_t) s->ranges.cur->lo_len, INT64_MAX,
						   SEQ_MAX));
	}
	return WIDE_OK;
}

bool
scan_range_passed(const scan_state *s)
{
	const uint8_t *lo = scan_range_lo(s);

	if (s->filter.seek.len == 0)
		return false;
	if (s->reverse)
		return ukey_compare(lo, s->ranges.cur->lo_len, s->filter.seek.data, s->filter.seek.len) >=
			   0;
	if (s->ranges.cur->point)
		return ukey_compare(lo, s->ranges.cur->lo_len, s->filter.seek.data, s->filter.seek.len) < 0;
	return s->ranges.cur->hi_len > 0 &&
		   ukey_compare(s->ranges.bounds.data + s->ranges.cur->hi, s->ranges.cur->hi_len,
						s->filter.seek.data, s->filter.seek.len) <= 0;
}

wide_status
scan_range_open(scan_state *s)
{
	s->ranges.cur = &s->ranges.list[s->reverse ? s->ranges.n - 1 - s->ranges.next : s->ranges.next];
	s->ranges.next++;
	if (scan_range_passed(s))
		return WIDE_OK;
	s->ranges.state = RANGE_AT_START;
	if (s->reverse && !s->ranges.cur->point)
	{
		if (s->ranges.cur->hi_len > 0)
			TRY(buffer_set(&s->row.bound, s->ranges.bounds.data + s->ranges.cur->hi,
						   s->ranges.cur->hi_len));
		else
			TRY(key_above_all(&s->row.bound));
		if (s->filter.seek.len > 0 && ukey_compare(s->filter.seek.data, s->filter.seek.len,
												   s->row.bound.data, s->row.bound.len) < 0)
			TRY(buffer_set(&s->row.bound, s->filter.seek.data, s->filter.seek.len));
	}
	else if (!s->reverse && s->filter.seek.len > 0 &&
			 ukey_compare(scan_range_lo(s), s->ranges.cur->lo_len, s->filter.seek.data,
						  s->filter.seek.len) < 0)
	{
		/* as if the row before it had been read */
		TRY(buffer_set(&s->row.after, s->filter.seek.data, s->filter.seek.len));
		s->ranges.state = RANGE_ENTERED;
	}
	return scan_range_seek(s);
}

wide_status
scan_range_follow_filter(scan_state *s)
{
	if (scan_range_passed(s))
	{
		s->ranges.state = RANGE_CLOSED;
		return WIDE_OK;
	}
	if (s->ranges.cur->point)
		return WIDE_OK;
	if (s->reverse)
		return buffer_set(&s->row.bound, s->filter.seek.data, s->filter.seek.len);
	TRY(buffer_set(&s->row.after, s->filter.seek.data, s->filter.seek.len));
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];
		const entry *e;

		f->row.steps = 0;
		while (f->leads && (e = merge_entry(f->m)) != NULL &&
			   ukey_compare(e->ukey, e->klen, s->row.after.data, s->row.after.len) < 0)
			TRY(scan_row_move(f, s->row.after.data, (uint32_t) s->row.after.len, INT64_MAX));
	}
	return WIDE_OK;
}

wide_status
scan_range_ask_row_filter(scan_state *s, const buffer *row, wide_bytes key,
						  wide_row_verdict *verdict)
{
	wide_bytes to = {NULL, 0};

	*verdict = s->filter.fn(s->filter.arg, key, &to);
	if (*verdict != WIDE_ROW_SEEK)
		return WIDE_OK;
	if (to.len > WIDE_MAX_ROW + 1)
		return status_fail(WIDE_LIMIT, "a row filter named a key of %zu bytes", to.len);
	s->filter.seek.len = 0;
	TRY(buffer_reserve(&s->filter.seek, KEY_ROW_MAX(to.len)));
	s->filter.seek.len = (size_t) (key_put_part(s->filter.seek.data, to.data, to.len) -
								   s->filter.seek.data);
	if ((ukey_compare(s->filter.seek.data, s->filter.seek.len, row->data, row->len) > 0) ==
		s->reverse)
	{
		/* the key does not lead on */
		s->filter.seek.len = 0;
		*verdict = WIDE_ROW_SKIP;
	}
	return WIDE_OK;
}

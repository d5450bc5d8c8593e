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
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_state.h"

/* Returns true if the range holds exactly one row: hi is lo and a zero byte. */
static bool
is_point(const wide_range *r)
{
	return r->hi.data != NULL && r->hi.len == r->lo.len + 1 && r->lo.len > 0 &&
		   r->hi.data[r->lo.len] == 0 && memcmp(r->lo.data, r->hi.data, r->lo.len) == 0;
}

/*
 * The bytes that the bounds have in common begin all rows.  So does the lower bound's next byte if
 * the upper bound's is that plus 1 and ends there, like the bound behind all keys with a prefix;
 * and so do the bytes 0xff of the lower bound behind it.  Returns: the number of these bytes,
 * encoded.
 */
static size_t
range_prefix(wide_bytes lo, wide_bytes hi)
{
	size_t n = 0, zeros = 0;

	while (n < lo.len && n < hi.len && lo.data[n] == hi.data[n])
		n++;
	if (n < lo.len && n + 1 == hi.len && hi.data[n] == lo.data[n] + 1)
		for (n++; n < lo.len && lo.data[n] == 0xff; n++)
			;
	/* a zero byte takes two bytes in the encoding */
	for (size_t i = 0; i < n; i++)
		zeros += lo.data[i] == 0;
	return n + zeros;
}

/* Encodes a bound behind those before, for which there is room. */
static wide_bytes
add_bound(buffer *b, wide_bytes row)
{
	size_t at = b->len;

	b->len = (size_t) (key_put_part(b->data + at, row.data, row.len) - b->data);
	return (wide_bytes) {b->data + at, b->len - at};
}

wide_status
scan_range_set(scan_state *s, const wide_range *ranges, int n)
{
	bool points = n > 0;
	size_t room = 0;

	if (n > s->ranges.cap)
	{
		scan_range *p = realloc(s->ranges.list, (size_t) n * sizeof(*p));

		if (p == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a scan");
		s->ranges.list = p;
		s->ranges.cap = n;
	}
	for (int i = 0; i < n; i++)
	{
		/* the upper bound of a point is not encoded */
		size_t hi = ranges[i].hi.data != NULL && !is_point(&ranges[i]) ? ranges[i].hi.len : 0;

		if (ranges[i].lo.len > WIDE_MAX_ROW + 1 || hi > WIDE_MAX_ROW + 1)
			return status_fail(WIDE_LIMIT, "a bound of a row range has at most %d bytes",
							   WIDE_MAX_ROW + 1);
		room += KEY_ROW_MAX(ranges[i].lo.len) + (hi > 0 ? KEY_ROW_MAX(hi) : 0);
	}
	s->ranges.n = 0;
	s->ranges.bounds.len = 0;
	TRY(buffer_reserve(&s->ranges.bounds, room));
	for (int i = 0; i < n; i++)
	{
		scan_range *r = &s->ranges.list[s->ranges.n];

		*r = (scan_range) {.lo.data = (const uint8_t *) "", .point = is_point(&ranges[i])};
		points = points && r->point;
		if (ranges[i].lo.len > 0)
			r->lo = add_bound(&s->ranges.bounds, ranges[i].lo);
		if (ranges[i].hi.data != NULL && !r->point)
		{
			r->hi = add_bound(&s->ranges.bounds, ranges[i].hi);
			if (scan_compare(r->lo, r->hi) >= 0)
				continue; /* empty */
			r->prefix = range_prefix(ranges[i].lo, ranges[i].hi);
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

/* Sets what the sources of a family need not look at in the open range. */
static wide_status
range_limits(scan_state *s, scan_family *f)
{
	source_limits *l = &f->limits;
	const scan_range *r = s->ranges.cur;

	l->hi = l->lo = l->row = l->column = l->prefix = NULL;
	l->range++;
	/* not with a filter, which may want to go on elsewhere, nor where single rows are looked up */
	l->pass_old = l->by_time && f->leads && !s->reverse && !r->point && s->filter.fn == NULL;
	if (!r->point)
	{
		if (r->hi.len > 0 && !s->reverse)
		{
			l->hi = r->hi.data;
			l->hilen = (uint32_t) r->hi.len;
		}
		/* reverse: what a source remembers of rows before a key has to be right in all ranges */
		if (s->reverse && s->ranges.n == 1 && r->lo.len > 0)
		{
			l->lo = r->lo.data;
			l->lolen = (uint32_t) r->lo.len;
		}
		if (r->prefix > 0 && (!s->reverse || s->ranges.n == 1))
		{
			l->prefix = r->lo.data;
			l->prefixlen = (uint32_t) r->prefix;
		}
		return WIDE_OK;
	}
	l->row = r->lo.data;
	l->rowlen = (uint32_t) r->lo.len;
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
		TRY(scan_seek(f, s->ranges.state == RANGE_ENTERED ? scan_bytes(&s->row.after)
														  : s->ranges.cur->lo));
	}
	return WIDE_OK;
}

const entry *
scan_range_first(const scan_state *s)
{
	const entry *first = NULL;

	for (int i = 0; i < s->nfamilies; i++)
	{
		const entry *e = s->families[i].leads ? merge_entry(s->families[i].m) : NULL;

		if (e != NULL &&
			(first == NULL || ukey_compare(e->ukey, e->rowlen, first->ukey, first->rowlen) < 0))
			first = e;
	}
	return first;
}

bool
scan_range_passed(const scan_state *s)
{
	const scan_range *r = s->ranges.cur;
	wide_bytes seek = scan_bytes(&s->filter.seek);

	if (seek.len == 0)
		return false;
	if (s->reverse)
		return scan_compare(r->lo, seek) >= 0;
	if (r->point)
		return scan_compare(r->lo, seek) < 0;
	return r->hi.len > 0 && scan_compare(r->hi, seek) <= 0;
}

wide_status
scan_range_open(scan_state *s)
{
	wide_bytes seek = scan_bytes(&s->filter.seek);
	const scan_range *r;

	do
	{
		if (s->ranges.next >= s->ranges.n)
			return WIDE_END;
		r = &s->ranges.list[s->reverse ? s->ranges.n - 1 - s->ranges.next : s->ranges.next];
		s->ranges.cur = r;
		s->ranges.next++;
	} while (scan_range_passed(s));
	s->ranges.state = RANGE_AT_START;
	if (s->reverse && !r->point)
	{
		buffer *bound = &s->row.bound;

		if (r->hi.len > 0)
			TRY(buffer_set(bound, r->hi.data, r->hi.len));
		else
		{
			/* above every row, which has at most WIDE_MAX_ROW bytes */
			bound->len = 0;
			TRY(buffer_reserve(bound, WIDE_MAX_ROW + 1));
			bound->len = WIDE_MAX_ROW + 1;
			memset(bound->data, 0xff, bound->len);
		}
		if (seek.len > 0 && scan_compare(seek, scan_bytes(bound)) < 0)
			TRY(buffer_set(bound, seek.data, seek.len));
	}
	else if (!s->reverse && scan_compare(r->lo, seek) < 0)
	{
		/* as if the row before it had been read */
		TRY(buffer_set(&s->row.after, seek.data, seek.len));
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
	TRY(key_make_row(&s->filter.seek, to));
	if ((scan_compare(scan_bytes(&s->filter.seek), scan_bytes(row)) > 0) == s->reverse)
	{
		/* the key does not lead on */
		s->filter.seek.len = 0;
		*verdict = WIDE_ROW_SKIP;
	}
	return WIDE_OK;
}

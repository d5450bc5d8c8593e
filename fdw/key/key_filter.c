/*
 * key_filter.c
 *		Key filters: leave out rows by tests on later parts of the key.
 *
 * Ranges of keys contain the tests on leading parts.  A test behind a gap (b = 5
 * with the key a, b) is met by rows all over these ranges.  The engine calls the
 * key filter for each row before it reads a cell of it.  The filter splits the key
 * into its parts and looks each one up in the intervals of its part.  If one is
 * outside, the filter says which key can be the next with all parts inside.  The
 * engine takes a few steps before it seeks, so rows that are close together cost
 * no search.
 *
 * A part is compared with the intervals together with all bytes that follow it in
 * the key.  No encoded value is a prefix of another one, so these bytes do not
 * change on which side of a bound the part is.  The bounds of a row comparison,
 * which go on in the next parts, need no code of their own.
 *
 * The answer depends on the key alone.  A key that cannot be split passes; the
 * reader decides what to do with it.
 *
 * The engine calls a filter where it must not be left by an error, so all memory is
 * reserved before.
 */
#include "postgres.h"

#include "fdw/key/key_filter.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "fdw/key/key_interval.h"
#include "fdw/key/key_test.h"
#include "fdw/key/key_value.h"
#include "fdw/store/bytes.h"
#include "fdw/table/rowkey.h"
#include "fdw/table/types.h"

struct WtKeyFilter
{
	WtTable *t;
	int n; /* alternatives */
	WtIntervals **alternatives;
	int nparts; /* leading parts up to the last that is restricted */

	/* the current key */
	size_t *at;			 /* offsets of its parts, without salt; nparts + 1 entries */
	StringInfoData seek; /* bound by one alternative, without salt */
	StringInfoData best; /* the nearest bound so far, with salt */
};

/* Reserves memory for a key with the longest bounds of all parts behind it. */
static void
reserve_room(WtKeyFilter *f)
{
	size_t most = WIDE_MAX_ROW + 2;

	for (int part = 0; part < f->nparts; part++)
	{
		size_t longest = 0;

		for (int i = 0; i < f->n; i++)
		{
			const WtIntervals *p = &f->alternatives[i][part];

			for (int k = 0; p->restricted && k < p->n; k++)
			{
				longest = Max(longest, p->iv[k].lo.len);
				if (!p->iv[k].inf)
					longest = Max(longest, p->iv[k].hi.len);
			}
		}
		most += longest;
	}
	enlargeStringInfo(&f->seek, (int) Min(most, MaxAllocSize / 2));
	enlargeStringInfo(&f->best, (int) Min(most, MaxAllocSize / 2));
}

WtKeyFilter *
wt_key_filter_make(WtTable *t, int n, WtIntervals **alternatives)
{
	WtKeyFilter *f = palloc0(sizeof(WtKeyFilter));

	f->t = t;
	f->at = palloc0(sizeof(size_t) * (t->nkeys + 1));
	initStringInfo(&f->seek);
	initStringInfo(&f->best);
	f->n = n;
	f->alternatives = palloc(sizeof(WtIntervals *) * Max(1, n));
	wt_bytes_copy(f->alternatives, alternatives, sizeof(WtIntervals *) * n);
	for (int i = 0; i < n; i++)
		for (int part = 0; part < t->nkeys; part++)
			if (alternatives[i][part].restricted)
				f->nparts = Max(f->nparts, part + 1);
	reserve_room(f);
	return f;
}

/* Returns true if the part has tests, all outside of ORs, for equality with one value.  (A row
 * comparison that begins at another part may leave some of its rows out.) */
static bool
is_one_value(const WtTest *tests, int ntests, int part)
{
	bool any = false;

	for (int i = 0; i < ntests; i++)
	{
		if (tests[i].part != part)
			continue;
		if (tests[i].clause != 0 || tests[i].kind != WT_COND_EQ || tests[i].n != 1)
			return false;
		any = true;
	}
	return any;
}

/* Ranges contain the tests on a part if each part before it has one value (plain_ranges() in
 * key_range.c). */
bool
wt_key_filter_possible(WtTable *t, const WtTest *tests, int ntests)
{
	for (int i = 0; i < ntests; i++)
	{
		if (tests[i].part == 0 || tests[i].part >= t->nkeys)
			continue;
		if (tests[i].clause != 0)
			return true;
		for (int part = 0; part < tests[i].part; part++)
			if (!is_one_value(tests, ntests, part))
				return true;
	}
	return false;
}

static inline wide_bytes
rest_of(wide_bytes key, size_t from)
{
	return (wide_bytes) {key.data + from, key.len - from};
}

/* Returns the first interval that ends above b, p->n if there is none. */
static int
find_interval(const WtIntervals *p, wide_bytes b)
{
	int lo = 0, hi = p->n;

	while (lo < hi)
	{
		int mid = (lo + hi) / 2;

		if (p->iv[mid].inf || wt_bytes_cmp(p->iv[mid].hi, b) > 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Fills in f->at.  Returns false if the key is damaged. */
static bool
split_key(WtKeyFilter *f, wide_bytes key)
{
	f->at[0] = 0;
	for (int part = 0; part < f->nparts; part++)
	{
		ssize_t n = wt_rowkey_part_length(wt_key_column(f->t, part), key.data + f->at[part],
										  key.len - f->at[part]);

		if (n < 0)
			return false;
		f->at[part + 1] = f->at[part] + n;
	}
	return true;
}

/* Returns the first part that is in none of its intervals, nparts if there is none. */
static int
first_outside(WtKeyFilter *f, const WtIntervals *parts, wide_bytes key)
{
	for (int part = 0; part < f->nparts; part++)
	{
		const WtIntervals *p = &parts[part];
		wide_bytes rest;
		int i;

		if (!p->restricted)
			continue;
		rest = rest_of(key, f->at[part]);
		i = find_interval(p, rest);
		if (i == p->n || wt_bytes_cmp(p->iv[i].lo, rest) > 0)
			return part;
	}
	return f->nparts;
}

/* Begins a bound with the parts of the key that stand before part. */
static void
begin_seek(WtKeyFilter *f, wide_bytes key, int part)
{
	resetStringInfo(&f->seek);
	appendBinaryStringInfo(&f->seek, (const char *) key.data, (int) f->at[part]);
}

static void
append_bytes(WtKeyFilter *f, wide_bytes b)
{
	appendBinaryStringInfo(&f->seek, (const char *) b.data, (int) b.len);
}

/* Replaces the last width bytes of the bound by the next (step 1) or previous (-1) value.  Returns
 * false if there is none. */
static bool
step_fixed(WtKeyFilter *f, int width, int step)
{
	char *p = f->seek.data + f->seek.len;

	while (width-- > 0)
	{
		p--;
		*p = (char) (*p + step);
		if ((uint8) *p != (step > 0 ? 0x00 : 0xFF))
			return true;
	}
	return false;
}

/* Appends the lowest values of part and the parts after it.
 * Requires: the bound ends with a whole value. */
static void
append_lowest(WtKeyFilter *f, const WtIntervals *parts, int part)
{
	for (; part < f->nparts && parts[part].restricted; part++)
	{
		append_bytes(f, parts[part].iv[0].lo);
		if (!parts[part].iv[0].point)
			break;
	}
}

/* Appends the upper end of all values of part.  Returns false if there is none.
 * Requires: the bound ends with a whole value. */
static bool
append_highest(WtKeyFilter *f, const WtIntervals *parts, int part)
{
	const WtInterval *last;

	if (part >= f->nparts || !parts[part].restricted)
		return false;
	last = &parts[part].iv[parts[part].n - 1];
	if (last->inf)
		return false;
	append_bytes(f, last->hi);
	return true;
}

/*
 * Sets seek to the least key above this one that can have all parts in their intervals.
 * Requires: part is the first that is outside.
 * Returns: false if there is no such key.
 */
static bool
seek_forward(WtKeyFilter *f, const WtIntervals *parts, wide_bytes key, int part)
{
	int i = find_interval(&parts[part], rest_of(key, f->at[part]));

	if (i < parts[part].n)
	{
		begin_seek(f, key, part);
		append_bytes(f, parts[part].iv[i].lo);
		if (parts[part].iv[i].point)
			append_lowest(f, parts, part + 1);
		return true;
	}
	/* no key with the same leading parts: take the next value of one of them */
	while (--part >= 0)
	{
		const WtIntervals *p = &parts[part];
		int width = wt_key_column(f->t, part)->fixed_len;
		size_t start = f->at[part];
		wide_bytes next;

		begin_seek(f, key, width > 0 ? part + 1 : part);
		if (width > 0 ? !step_fixed(f, width, 1)
					  : !wt_rowkey_prefix_end(key.data + start, f->at[part + 1] - start, &f->seek))
			continue;
		next = (wide_bytes) {(const uint8 *) f->seek.data + start, f->seek.len - start};
		i = p->restricted ? find_interval(p, next) : 0;
		if (p->restricted && i == p->n)
			continue;
		if (p->restricted && wt_bytes_cmp(p->iv[i].lo, next) > 0)
		{
			begin_seek(f, key, part);
			append_bytes(f, p->iv[i].lo);
			if (p->iv[i].point)
				append_lowest(f, parts, part + 1);
		}
		else if (width > 0)
			append_lowest(f, parts, part + 1);
		return true;
	}
	return false;
}

/* Sets seek to the upper end of interval i of the part. */
static void
seek_below(WtKeyFilter *f, const WtIntervals *parts, wide_bytes key, int part, int i)
{
	const WtInterval *iv = &parts[part].iv[i];

	begin_seek(f, key, part);
	if (iv->point)
	{
		append_bytes(f, iv->lo);
		if (append_highest(f, parts, part + 1))
			return;
		begin_seek(f, key, part);
	}
	append_bytes(f, iv->hi);
}

/* As seek_forward, downward: sets seek such that the next key can only be below it. */
static bool
seek_reverse(WtKeyFilter *f, const WtIntervals *parts, wide_bytes key, int part)
{
	int i = find_interval(&parts[part], rest_of(key, f->at[part]));

	if (i > 0)
	{
		seek_below(f, parts, key, part, i - 1);
		return true;
	}
	while (--part >= 0)
	{
		const WtIntervals *p = &parts[part];
		int width = wt_key_column(f->t, part)->fixed_len;
		size_t start = f->at[part];
		wide_bytes bound = {key.data + start, f->at[part + 1] - start};

		if (p->restricted)
		{
			/* find the last interval that begins below the current value */
			i = find_interval(p, bound);
			if (i == p->n || wt_bytes_cmp(p->iv[i].lo, bound) >= 0)
			{
				if (i == 0)
					continue;
				seek_below(f, parts, key, part, i - 1);
				return true;
			}
		}
		begin_seek(f, key, part + 1);
		if (width > 0)
		{
			if (!step_fixed(f, width, -1))
				continue;
			if ((!p->restricted ||
				 wt_bytes_cmp(p->iv[i].lo,
							  (wide_bytes) {(const uint8 *) f->seek.data + start, width}) <= 0) &&
				append_highest(f, parts, part + 1))
				return true;
			begin_seek(f, key, part + 1);
		}
		return true;
	}
	return false;
}

/* No key passes in the rest of the table, or of this bucket of a salted table. */
static wide_row_verdict
end_of_bucket(WtKeyFilter *f, wide_bytes whole, bool reverse, wide_bytes *seek)
{
	uint8 salt;

	if (f->t->salt_buckets == 0)
		return WIDE_ROW_END;
	salt = whole.data[0];
	if (!reverse && salt == 0xFF)
		return WIDE_ROW_END;
	resetStringInfo(&f->best);
	appendStringInfoChar(&f->best, (char) (reverse ? salt : salt + 1));
	*seek = (wide_bytes) {(const uint8 *) f->best.data, f->best.len};
	return WIDE_ROW_SEEK;
}

/* Answers with the bound in best. */
static wide_row_verdict
seek_best(WtKeyFilter *f, wide_bytes *seek)
{
	/* a bound longer than any key is right behind its first WIDE_MAX_ROW bytes */
	if (f->best.len > WIDE_MAX_ROW)
	{
		f->best.data[WIDE_MAX_ROW] = '\0';
		f->best.len = WIDE_MAX_ROW + 1;
	}
	*seek = (wide_bytes) {(const uint8 *) f->best.data, f->best.len};
	return WIDE_ROW_SEEK;
}

wide_row_verdict
wt_key_filter(void *arg, wide_bytes whole, wide_bytes *seek)
{
	WtKeyFilter *f = ((WtKeyFilterArg *) arg)->filter;
	bool reverse = ((WtKeyFilterArg *) arg)->reverse;
	size_t salt;
	wide_bytes key;
	bool found = false;

	if (f == NULL)
		return WIDE_ROW_ACCEPT;
	salt = f->t->salt_buckets > 0 ? 1 : 0;
	if (whole.len < salt)
		return WIDE_ROW_ACCEPT;
	key = rest_of(whole, salt);
	if (!split_key(f, key))
		return WIDE_ROW_ACCEPT;
	for (int i = 0; i < f->n; i++)
	{
		const WtIntervals *parts = f->alternatives[i];
		int outside = first_outside(f, parts, key);

		if (outside == f->nparts)
			return WIDE_ROW_ACCEPT;
		if (!(reverse ? seek_reverse(f, parts, key, outside)
					  : seek_forward(f, parts, key, outside)))
			continue;
		if (found)
		{
			wide_bytes a = {(const uint8 *) f->seek.data, f->seek.len},
					   b = {(const uint8 *) f->best.data + salt, f->best.len - salt};

			if ((wt_bytes_cmp(a, b) < 0) == reverse)
				continue;
		}
		found = true;
		resetStringInfo(&f->best);
		appendBinaryStringInfo(&f->best, (const char *) whole.data, (int) salt);
		appendBinaryStringInfo(&f->best, f->seek.data, f->seek.len);
	}
	return found ? seek_best(f, seek) : end_of_bucket(f, whole, reverse, seek);
}

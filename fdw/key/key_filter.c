/*
 * key_filter.c
 *		Key filters: conditions on later parts of the key, by its bytes.
 *
 * Ranges of keys say what the leading parts are bound to.  Conditions on parts
 * behind a gap (b = 5 on the key a, b) leave rows all over these ranges.  The
 * engine asks a key filter about each row before it reads any cell of it; the
 * filter splits the key into its parts, looks each one up in the intervals of
 * its part, and when one is in none says where the next key can be at which all
 * of them hold.  The engine takes a few steps before it seeks, so that rows that
 * lie close together cost no search.
 *
 * Intervals are of the bytes from the beginning of a part to the end of the key:
 * no encoding of a part is the beginning of another one, so the bytes behind a
 * part do not change on which side of a bound it lies, and a row comparison,
 * whose bounds go on in the next parts, needs no care of its own.
 *
 * What a filter answers depends on the key alone.  A key that cannot be split is
 * let through: what is to be done with it is for the reader to say.
 *
 * The engine calls it where no error may leave it: all memory is reserved before.
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
	int nparts;			 /* parts that are looked at */
	size_t *at;			 /* where the parts of the key at hand begin; nparts + 1 */
	StringInfoData seek; /* one alternative's answer, without salt */
	StringInfoData best; /* the nearest of all, with salt */
};

/* ---------------------------------------------------------------- making */

/* Room for a key with any of the bounds behind each other in place of its end. */
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
	memcpy(f->alternatives, alternatives, sizeof(WtIntervals *) * n);
	for (int i = 0; i < n; i++)
		for (int part = 0; part < t->nkeys; part++)
			if (alternatives[i][part].restricted)
				f->nparts = Max(f->nparts, part + 1);
	reserve_room(f);
	return f;
}

/* Nothing is said of the part but that it is equal to a value.  (A row comparison may leave some
 * of what has it.) */
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

/* With one value of each part before it, what is said of a part goes into the ranges
 * (plain_ranges). */
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

/* ---------------------------------------------------------------- looking */

static inline wide_bytes
rest_of(wide_bytes key, size_t from)
{
	return (wide_bytes) {key.data + from, key.len - from};
}

/* The first interval that does not end before b; n when all do. */
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

/* The first part that is in none of its intervals; nparts: all are. */
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

/* ---------------------------------------------------------------- seeking */

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

/* The next or the previous value of a part of fixed width, at the end of seek; false: there is
 * none. */
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

/* Behind a whole value: the lowest that the parts after it can be. */
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

/* Behind a whole value: above all that the parts after it can be.  false: no bound is known. */
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
 * The least key above this one at which all parts can be in their intervals:
 * into seek.  part is the first that is not.  false: there is none.
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
	/* nothing more with these leading parts: another value of one of them */
	while (--part >= 0)
	{
		const WtIntervals *p = &parts[part];
		int width = wt_key_column(f->t, part)->fixed_len;
		size_t start = f->at[part];
		wide_bytes next;

		begin_seek(f, key, part + 1);
		if (width > 0)
		{
			if (!step_fixed(f, width, 1))
				continue;
		}
		else
		{
			resetStringInfo(&f->seek);
			if (!wt_rowkey_prefix_end(key.data + start, f->at[part + 1] - start, &f->seek))
				continue;
			/* the parts before it in front again */
			enlargeStringInfo(&f->seek, (int) start);
			memmove(f->seek.data + start, f->seek.data, f->seek.len + 1);
			memcpy(f->seek.data, key.data, start);
			f->seek.len += (int) start;
		}
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

/* Below the end of interval i of the part: into seek. */
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

/* The same downwards: no key that seek names or that is above it. */
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
			/* the last interval that begins below the value at hand */
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

/* ----------------------------------------------------------------- asking */

/* All is said about this bucket of a salted table (others: the table). */
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

static wide_row_verdict
seek_best(WtKeyFilter *f, wide_bytes *seek)
{
	/* no key is longer: a longer bound lies right behind its own beginning */
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

/*
 * mutation.c
 *		What HBase is sent for the changes of one row.
 *
 * HBase makes a list of changes at one moment, in any order: a delete wins over a put of the list
 * that it covers, whichever came first.
 *
 *	- A put or delete that a later change makes needless is left out.
 *	- Where a put without a timestamp follows a delete of all that was before, the delete gets this
 *	  machine's time as timestamp and the put the next millisecond.
 *	- Where another put follows a delete that covers it, the changes from the put on are a list of
 *	  their own, which is sent when the first one is done.  So is a delete of the newest version
 *	  that follows puts of the column: HBase looks for that version before it makes the list.
 *
 * The time is the real one, also if widetable.clock is set: HBase does not know that.
 *
 * A row may have many changes: columns are found by hash.  Most rows are a few puts, of which only
 * those that are replaced have to be found.
 */
#include "postgres.h"

#include "fdw/remote/mutation.h"

#include "common/hashfn.h"
#include "utils/timestamp.h"

#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"

/* A column, or one version of it; of a family: without a qualifier. */
typedef struct PlaceKey
{
	int family;
	bool whole; /* all qualifiers */
	bool version;
	int64 ts; /* of the version */
	wide_bytes qual;
} PlaceKey;

/* What the changes that were looked at do there.  pass: in which they were, older ones do not
 * count. */
typedef struct Place
{
	PlaceKey key;
	int pass;
	bool put;
	bool removed; /* all of it, whatever its timestamp */
	int by;		  /* by this change */
	bool newest;  /* the newest version is removed */
	bool some;	  /* versions up to `upto` are removed */
	int64 upto;
	char status;
} Place;

static uint32
hash_place(const PlaceKey *k)
{
	uint32 h = hash_bytes(k->qual.data, (int) k->qual.len);

	h = hash_combine(h, murmurhash32((uint32) k->family * 4 + k->whole * 2 + k->version));
	return k->version ? hash_combine(h, hash_bytes((const unsigned char *) &k->ts, sizeof(k->ts)))
					  : h;
}

static bool
same_place(const PlaceKey *a, const PlaceKey *b)
{
	return a->family == b->family && a->whole == b->whole && a->version == b->version &&
		   a->ts == b->ts && wt_bytes_cmp(a->qual, b->qual) == 0;
}

#define SH_PREFIX		  places
#define SH_ELEMENT_TYPE	  Place
#define SH_KEY_TYPE		  PlaceKey
#define SH_KEY			  key
#define SH_HASH_KEY(t, k) hash_place(&(k))
#define SH_EQUAL(t, a, b) same_place(&(a), &(b))
#define SH_SCOPE		  static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static const wide_bytes no_bytes = {(const uint8 *) "", 0};

/* Returns: the place of the change: its column (or family), or its version there. */
static Place *
place_of(places_hash *h, const WtRemoteChange *c, bool whole, bool version, int pass)
{
	PlaceKey key = {.family = c->family,
					.whole = whole,
					.version = version,
					.ts = version ? c->ts : 0,
					.qual = whole ? no_bytes : c->qual};
	bool found;
	Place *p = places_insert(h, key, &found);

	if (!found || p->pass != pass)
	{
		p->pass = pass;
		p->put = p->removed = p->newest = p->some = false;
	}
	return p;
}

static bool
of_family(const WtRemoteChange *c)
{
	return c->kind == 1 + WIDE_DELETE_FAMILY || c->kind == 1 + WIDE_DELETE_FAMILY_VERSION;
}

/* Sets needless[i] for the changes that a later one replaces or undoes. */
static void
find_needless(places_hash *h, const WtRemoteChange *const *list, int n, bool *needless)
{
	for (int i = n - 1; i >= 0; i--)
	{
		const WtRemoteChange *c = list[i];
		Place *p;

		needless[i] = place_of(h, c, true, false, 0)->removed ||
					  (!of_family(c) && place_of(h, c, false, false, 0)->removed);
		if (c->kind == 0 || c->ts == WIDE_TS_AUTO)
		{
			p = place_of(h, c, false, true, 0);
			needless[i] = needless[i] || p->put || c->kind != 0;
			p->put = true;
		}
		else if (c->ts == WIDE_TS_MAX && c->kind == 1 + WIDE_DELETE_FAMILY)
			place_of(h, c, true, false, 0)->removed = true;
		else if (c->ts == WIDE_TS_MAX && c->kind == 1 + WIDE_DELETE_COLUMN)
			place_of(h, c, false, false, 0)->removed = true;
	}
}

/* Returns: true if the change is of the column without a qualifier where that is different. */
static bool
is_bare(const WtRemoteRow *row, const WtRemoteChange *c)
{
	return c->qual.len == 0 && !of_family(c) && row->table->families[c->family].exact;
}

/* Returns: true if a delete of this pass would hide the put wrongly, in one list with it.  Sets
 * by[] to the deletes, or -1, from which timestamps of now can tell it apart. */
static bool
is_hidden(places_hash *h, const WtRemoteRow *row, const WtRemoteChange *c, int pass, int64 now_us,
		  int by[2])
{
	int64 ts = c->ts == WIDE_TS_AUTO ? now_us : c->ts;
	bool late = c->ts != WIDE_TS_AUTO || is_bare(row, c);

	by[0] = by[1] = -1;
	for (int whole = 0; whole < 2; whole++)
	{
		Place *p = place_of(h, c, whole, false, pass);

		if (p->newest || (p->some && p->upto >= ts))
			return true;
		if (p->removed && late)
			return true;
		if (p->removed)
			by[whole] = p->by;
		if (c->ts != WIDE_TS_AUTO && place_of(h, c, whole, true, pass)->removed)
			return true;
	}
	return false;
}

/* Notes a delete of this pass. */
static void
note_delete(places_hash *h, const WtRemoteChange *c, int i, int pass)
{
	bool whole = of_family(c);
	Place *p = place_of(h, c, whole, false, pass);

	if (c->kind == 1 + WIDE_DELETE_COLUMN || c->kind == 1 + WIDE_DELETE_FAMILY)
	{
		if (c->ts == WIDE_TS_MAX)
		{
			p->removed = true;
			p->by = i;
		}
		else
		{
			p->upto = p->some ? Max(p->upto, c->ts) : c->ts;
			p->some = true;
		}
	}
	else if (c->ts == WIDE_TS_MAX)
		p->newest = true;
	else
		place_of(h, c, whole, true, pass)->removed = true;
}

/* Sets pass[i], the list to which a change belongs, and timed[i] if its timestamp is now.  Returns:
 * the number of lists. */
static int
find_passes(places_hash *h, const WtRemoteRow *row, const WtRemoteChange *const *list, int n,
			const bool *needless, int64 now_us, int *pass, bool *timed)
{
	int current = 1;

	for (int i = 0; i < n; i++)
	{
		const WtRemoteChange *c = list[i];
		int by[2] = {-1, -1};
		bool next;

		if (needless[i])
			continue;
		if (c->kind == 0)
			next = is_hidden(h, row, c, current, now_us, by);
		else
			next = c->kind == 1 + WIDE_DELETE_VERSION && c->ts == WIDE_TS_MAX &&
				   (place_of(h, c, false, false, current)->put ||
					place_of(h, c, false, false, current)->newest);
		current += next;
		for (int k = 0; k < 2 && !next; k++)
			if (by[k] >= 0)
				timed[i] = timed[by[k]] = true;
		if (c->kind == 0)
			place_of(h, c, false, false, current)->put = true;
		else
			note_delete(h, c, i, current);
		pass[i] = current;
	}
	return current;
}

#define FEW 16 /* changes, among which a hash table finds columns no faster */

/* For a few puts: sets needless[i] for those that a later one replaces.  Returns: false if the
 * changes are many, or others. */
static bool
are_few_puts(const WtRemoteChange *const *list, int n, bool *needless)
{
	if (n > FEW)
		return false;
	for (int i = 0; i < n; i++)
		if (list[i]->kind != 0)
			return false;
	for (int i = 0; i < n; i++)
		for (int k = i + 1; k < n && !needless[i]; k++)
			needless[i] = list[i]->family == list[k]->family && list[i]->ts == list[k]->ts &&
						  wt_bytes_equal(list[i]->qual.data, list[i]->qual.len, list[k]->qual.data,
										 list[k]->qual.len);
	return true;
}

static const hb_change_kind kinds[] = {
	HB_PUT,
	[1 + WIDE_DELETE_VERSION] = HB_DELETE_VERSION,
	[1 + WIDE_DELETE_COLUMN] = HB_DELETE_COLUMN,
	[1 + WIDE_DELETE_FAMILY] = HB_DELETE_FAMILY,
	[1 + WIDE_DELETE_FAMILY_VERSION] = HB_DELETE_FAMILY_VERSION,
};

static hb_bytes
to_hbase(wide_bytes b)
{
	return (hb_bytes) {b.data, b.len};
}

/* Returns: the timestamp for HBase. */
static int64
timestamp_of(const WtRemoteRow *row, const WtRemoteChange *c, bool timed, int64 now)
{
	if (c->ts != WIDE_TS_AUTO && c->ts != WIDE_TS_MAX)
		return c->ts / 1000;
	if (c->kind == 1 + WIDE_DELETE_VERSION)
		return HB_TS_LATEST;
	if (timed && !is_bare(row, c))
		return c->kind == 0 ? now + 1 : now;
	/* HBase would take its time, and leave cells of the future */
	if (c->kind != 0 && row->table->families[c->family].exact)
		return WT_REMOTE_ALL_TIMES;
	return HB_TS_LATEST;
}

/* Sets out[0] to the change, and perhaps out[1].  Returns: how many were set. */
static int
add_change(const WtRemoteRow *row, const WtRemoteChange *c, bool timed, int64 now, hb_change *out)
{
	const WtRemoteFamily *family = &row->table->families[c->family];

	out[0] = (hb_change) {.kind = kinds[c->kind],
						  .family = {(const uint8_t *) family->name, strlen(family->name)},
						  .qualifier = to_hbase(c->qual),
						  .value = to_hbase(c->value),
						  .timestamp = timestamp_of(row, c, timed, now),
						  .ttl_ms = c->ttl_us / 1000};
	if (c->kind != 1 + WIDE_DELETE_FAMILY || c->ts != WIDE_TS_MAX || !family->exact)
		return 1;
	/* remote_change.c says why; it must come first, which is in the order of timestamps */
	out[1] = out[0];
	out[1].kind = HB_DELETE_COLUMN;
	out[1].timestamp = WT_REMOTE_ALL_TIMES;
	out[0].timestamp = Min(out[0].timestamp, WT_REMOTE_ALL_TIMES - 1);
	return 2;
}

int
wt_mutation_make(const WtRemoteRow *row, hb_mutation **out)
{
	const WtRemoteChange **list;
	int n = wt_remote_change_list(row, NULL, &list), passes = 1, made = 0, count = 0;
	hb_change *changes = palloc_extended(sizeof(hb_change) * Max(1, 2 * n), MCXT_ALLOC_HUGE);
	int *pass = palloc0(sizeof(int) * Max(1, n));
	bool *timed = palloc0(n + 1), *needless = palloc0(n + 1);
	int64 now_us = GetCurrentTimestamp() + WT_EPOCH_DIFF;

	if (are_few_puts(list, n, needless))
		for (int i = 0; i < n; i++)
			pass[i] = 1;
	else if (n > 1)
	{
		places_hash *h = places_create(CurrentMemoryContext, (uint32) Min(n, 1 << 20), NULL);

		find_needless(h, list, n, needless);
		passes = find_passes(h, row, list, n, needless, now_us, pass, timed);
		places_destroy(h);
	}
	else if (n == 1)
	{
		pass[0] = 1;
		needless[0] = list[0]->kind != 0 && list[0]->ts == WIDE_TS_AUTO;
	}
	*out = palloc(sizeof(hb_mutation) * passes);
	/* the lists follow each other: pass[] does not fall */
	for (int p = 1, i = 0; p <= passes; p++)
	{
		int from = count;

		for (; i < n && (needless[i] || pass[i] == p); i++)
			if (!needless[i])
				count += add_change(row, list[i], timed[i], now_us / 1000, &changes[count]);
		if (count > from)
			(*out)[made++] = (hb_mutation) {
				.key = to_hbase(row->key), .changes = changes + from, .n_changes = count - from};
	}
	pfree(pass);
	pfree(timed);
	pfree(needless);
	pfree(list);
	return made;
}

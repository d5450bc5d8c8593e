/*
 * index_scan.c
 *		Scans that find rows by the entries of an index.
 */
#include "postgres.h"

#include "fdw/scan/index_scan.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "fdw/store/bytes.h"
#include "fdw/table/rowkey.h"

/* How many keys are looked up together: few at first, because of a LIMIT perhaps. */
#define FIRST_BATCH 64
#define LAST_BATCH	4096

/* Room at first: mostly one row is looked up. */
#define FIRST_KEYS 4
#define KEY_BYTES  64

struct WtIndexScan
{
	WtIndex *x;
	WtScanState *scan; /* of the index */
	WtFetch fetch;	   /* reads it */
	int batch;
	bool over;

	/* an entry, by column of the projection */
	Datum *values;
	bool *nulls;

	/* the batch: for WtRanges, with bytes in WtScanRanges.cxt */
	int nkeys;
	wide_range *keys;
	int cap;
	StringInfoData key; /* scratch */

	/* of a timed index: the rows that were found, which may have several entries; NULL: none */
	HTAB *found;
};

/* 128 bits of a key's hash: no two of the keys of a table have the same. */
typedef struct FoundKey
{
	uint64 hash[2];
} FoundKey;

static _Noreturn void
raise_changed(Oid relid)
{
	char *name = get_rel_name(relid);

	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 name != NULL ? errmsg("index \"%s\" is newer than what the statement reads", name)
						  : errmsg("an index was dropped while the statement began"),
			 errhint("Run the statement, or the transaction, again.")));
}

WtIndex *
wt_index_scan_index(Oid relid, PlanState *ps)
{
	WtIndex *x;

	LockRelationOid(relid, AccessShareLock);
	x = wt_index(relid);
	if (x == NULL || !wt_index_is_visible(x->made, ps->state->es_snapshot))
		raise_changed(relid);
	return x;
}

WtIndexScan *
wt_index_scan_make(WtIndex *x, WtScanState *scan, WtFetch fetch)
{
	WtIndexScan *s = palloc0(sizeof(WtIndexScan));

	s->x = x;
	s->scan = scan;
	s->fetch = fetch;
	s->batch = FIRST_BATCH;
	s->values = palloc0(sizeof(Datum) * x->projection->natts);
	s->nulls = palloc0(sizeof(bool) * x->projection->natts);
	s->cap = FIRST_KEYS;
	s->keys = palloc(sizeof(wide_range) * s->cap);
	s->key.maxlen = KEY_BYTES;
	s->key.data = palloc(s->key.maxlen);
	return s;
}

WtScanState *
wt_index_scan_of(WtIndexScan *s)
{
	return s->scan;
}

/* Returns true if the row with this key is found for the first time. */
static bool
is_first(WtIndexScan *s, wide_bytes key)
{
	FoundKey k;
	bool found;

	if (!s->x->timed)
		return true;
	if (s->found == NULL)
	{
		HASHCTL ctl = {.keysize = sizeof(FoundKey),
					   .entrysize = sizeof(FoundKey),
					   .hcxt = GetMemoryChunkContext(s)};

		s->found = hash_create("widetable rows of an index", 256, &ctl,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	k.hash[0] = hash_bytes_extended(key.data, (int) key.len, 0);
	k.hash[1] = hash_bytes_extended(key.data, (int) key.len, 1);
	(void) hash_search(s->found, &k, HASH_ENTER, &found);
	return !found;
}

static inline int
cmp_range(const wide_range *a, const wide_range *b)
{
	return wt_bytes_cmp(a->lo, b->lo);
}

#define ST_SORT			 sort_keys
#define ST_ELEMENT_TYPE	 wide_range
#define ST_COMPARE(a, b) cmp_range(a, b)
#define ST_SCOPE		 static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Adds the range of the row that the present entry belongs to, unless it was found before. */
static void
add_key(WtIndexScan *s)
{
	wide_bytes key;
	uint8 *copy;

	resetStringInfo(&s->key);
	wt_rowkey_from_slot(s->x->base, s->values, s->nulls, &s->key);
	key = wt_bytes_of(&s->key);
	if (!is_first(s, key))
		return;
	if (s->nkeys == s->cap)
	{
		s->cap *= 2;
		s->keys = repalloc(s->keys, sizeof(wide_range) * s->cap);
	}
	/* with the zero byte behind it, it is the upper end */
	copy = palloc(key.len + 1);
	memcpy(copy, key.data, key.len);
	copy[key.len] = 0;
	s->keys[s->nkeys++] = (wide_range) {{copy, key.len}, {copy, key.len + 1}};
}

bool
wt_index_scan_next(WtScanState *st)
{
	WtIndexScan *s = st->index;
	int batch = s->scan->ordered ? 1 : s->batch;
	MemoryContext old;

	if (s->over)
		return false;
	s->batch = Min(s->batch * 2, LAST_BATCH);
	MemoryContextReset(st->range.cxt);
	old = MemoryContextSwitchTo(st->range.cxt);
	s->nkeys = 0;
	while (s->nkeys < batch && !s->over)
	{
		CHECK_FOR_INTERRUPTS();
		if (s->fetch(s->scan, s->values, s->nulls))
			add_key(s);
		else
			s->over = true;
	}
	MemoryContextSwitchTo(old);
	if (s->nkeys > 1)
		sort_keys(s->keys, s->nkeys);
	st->range.ranges = (WtRanges) {.nbuckets = 1,
								   .parts = s->x->base->nkeys,
								   .points = s->nkeys,
								   .total = s->nkeys,
								   .n = &s->nkeys,
								   .ranges = &s->keys};
	return s->nkeys > 0;
}

void
wt_index_scan_again(WtIndexScan *s)
{
	s->over = false;
	s->batch = FIRST_BATCH;
	if (s->found != NULL)
		hash_destroy(s->found);
	s->found = NULL;
}

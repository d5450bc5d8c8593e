/*
 * version_move.c
 *		Versions of cells that an UPDATE of layout 'cells' moves.
 *
 * UPDATE ... SET ts = ts - 1, or one that swaps two qualifiers, puts a version
 * in a place (key, family, qualifier, timestamp) whose version is moved away
 * later.  Rows come one by one, and each is "delete the old version, put the
 * new one".  A delete hides what was written to its place before, so the later
 * row's delete would remove the earlier row's put.  The result must not depend
 * on the order of the rows.  Invariants:
 *
 *	- After a delete of a place, what the statement has put there before is put
 *	  again; wt_version_move_leave returns its value.
 *	- Two versions never get the same place.  Two puts by the statement are
 *	  detected at the second one; a put where a version was that is not moved
 *	  away is detected at the end of the statement.
 *	- Whether a place has a version is looked up before the statement puts one
 *	  there.  The timestamps of the cell looked up last are kept, because rows
 *	  come cell by cell, and a cell may have very many versions.  They may be out
 *	  of date only in places that the statement has left or written, and these
 *	  are recorded.
 *
 * A hash of 128 bits identifies a place.  The value of a put is kept while the
 * version that was in its place may still leave it: in a shift, one value at a
 * time.
 *
 * There is no locking here: the caller has locked the rows.
 */
#include "postgres.h"

#include "fdw/write/version_move.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "utils/hsearch.h"

#include "fdw/row/cell_read.h"
#include "fdw/store/bytes.h"

typedef struct Place
{
	uint64 h[2];
	bool left;		  /* the version that was there has been moved away */
	bool written;	  /* the statement has put a version there */
	bool taken;		  /* a version was there when the statement put its own */
	WtVersion where;  /* this place; set while it is taken and not left */
	wide_bytes value; /* of the statement's put, likewise */
} Place;

struct WtVersionMoves
{
	MemoryContext cxt;
	HTAB *places;		/* of Place */
	StringInfoData buf; /* scratch */

	/* the cell looked up last */
	WtVersion cell;	   /* without timestamp; key NULL: none */
	StringInfoData ts; /* int64 each, descending */
	bool provisional;  /* it also has a version of this transaction without a timestamp */
};

WtVersionMoves *
wt_version_move_new(MemoryContext cxt)
{
	HASHCTL ctl = {.keysize = 2 * sizeof(uint64), .entrysize = sizeof(Place), .hcxt = cxt};
	MemoryContext old = MemoryContextSwitchTo(cxt);
	WtVersionMoves *m = palloc0(sizeof(WtVersionMoves));

	m->cxt = cxt;
	m->places = hash_create("widetable versions moved", 256, &ctl,
							HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	initStringInfo(&m->buf);
	initStringInfo(&m->ts);
	MemoryContextSwitchTo(old);
	return m;
}

void
wt_version_move_identity(const WtVersion *v, StringInfo out)
{
	uint32 key_len = (uint32) v->key.len;

	appendBinaryStringInfo(out, (const char *) &key_len, sizeof(key_len));
	appendBinaryStringInfo(out, (const char *) v->key.data, (int) v->key.len);
	appendBinaryStringInfo(out, (const char *) &v->family, sizeof(v->family));
	appendBinaryStringInfo(out, (const char *) &v->ts, sizeof(v->ts));
	appendBinaryStringInfo(out, (const char *) v->qual.data, (int) v->qual.len);
}

/* Finds the place of a version in the hash table, or adds it. */
static Place *
place_of(WtVersionMoves *m, const WtVersion *v)
{
	uint64 h[2];
	Place *p;
	bool found;

	resetStringInfo(&m->buf);
	wt_version_move_identity(v, &m->buf);
	h[0] = hash_bytes_extended((const unsigned char *) m->buf.data, m->buf.len, 1);
	h[1] = hash_bytes_extended((const unsigned char *) m->buf.data, m->buf.len, 2);
	p = hash_search(m->places, h, HASH_ENTER, &found);
	if (!found)
		memset((char *) p + sizeof(h), 0, sizeof(Place) - sizeof(h));
	return p;
}

/* For a descending order. */
static int
ts_cmp(const void *a, const void *b)
{
	const int64 x = *(const int64 *) a, y = *(const int64 *) b;

	return x > y ? -1 : x < y;
}

/* Returns true if a version was in the place when its cell was read. */
static bool
was_taken(WtVersionMoves *m, const WtVersion *v)
{
	if (m->cell.key.data == NULL || !wt_version_move_same_cell(&m->cell, v))
	{
		if (m->cell.key.data != NULL)
		{
			pfree(unconstify(uint8 *, m->cell.key.data));
			pfree(unconstify(uint8 *, m->cell.qual.data));
		}
		m->cell.key = wt_cell_read_copy_bytes(m->cxt, v->key);
		m->cell.family = v->family;
		m->cell.qual = wt_cell_read_copy_bytes(m->cxt, v->qual);
		resetStringInfo(&m->ts);
		m->provisional = wt_cell_read_versions(v->family, v->key, v->qual, &m->ts);
	}
	if (v->ts == WIDE_TS_AUTO)
		return m->provisional;
	return bsearch(&v->ts, m->ts.data, m->ts.len / sizeof(int64), sizeof(int64), ts_cmp) != NULL;
}

bool
wt_version_move_leave(WtVersionMoves *m, const WtVersion *from, wide_bytes *again)
{
	Place *p = place_of(m, from);
	bool waiting = p->taken && !p->left;

	p->left = true;
	if (!waiting)
		return false;
	*again = p->value;
	pfree(unconstify(uint8 *, p->where.key.data));
	pfree(unconstify(uint8 *, p->where.qual.data));
	return true;
}

bool
wt_version_move_arrive(WtVersionMoves *m, const WtVersion *to, wide_bytes value)
{
	Place *p = place_of(m, to);

	if (p->written)
		return false;
	p->written = true;
	if (!p->left && was_taken(m, to))
	{
		p->taken = true;
		p->where = *to;
		p->where.key = wt_cell_read_copy_bytes(m->cxt, to->key);
		p->where.qual = wt_cell_read_copy_bytes(m->cxt, to->qual);
		p->value = wt_cell_read_copy_bytes(m->cxt, value);
	}
	return true;
}

const WtVersion *
wt_version_move_collision(WtVersionMoves *m)
{
	HASH_SEQ_STATUS seq;
	Place *p;

	hash_seq_init(&seq, m->places);
	while ((p = hash_seq_search(&seq)) != NULL)
	{
		if (p->taken && !p->left)
		{
			hash_seq_term(&seq);
			return &p->where;
		}
	}
	return NULL;
}

/* sst_tally.h - derives the properties of a sorted file from its entries */
#ifndef WIDE_SST_TALLY_H
#define WIDE_SST_TALLY_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"

/* Zero-filled is empty; the owner frees `last`. */
typedef struct sst_tally
{
	file_meta meta; /* of the entries counted; max_row only after sst_tally_end */
	bool family_deletes;
	/* the entry counted last */
	buffer last; /* its ukey */
	entry e;	 /* its other members; ukey is stale, value unset */
	/* what sst_tally_look has found about an entry */
	bool new_row, new_column;
	uint32_t shared; /* bytes of its ukey that it shares with the entry before */
} sst_tally;

/* Compares the next entry with the one counted last, and sets new_row, new_column and shared.
 * Errors: WIDE_INVALID if it does not follow in key order or its key is malformed. */
extern wide_status sst_tally_look(sst_tally *t, const entry *e);

/* Counts the entry that was looked at last.  Errors: WIDE_NOMEM. */
extern wide_status sst_tally_count(sst_tally *t, const entry *e);

static inline wide_status
sst_tally_add(sst_tally *t, const entry *e)
{
	TRY(sst_tally_look(t, e));
	return sst_tally_count(t, e);
}

/* Sets max_row, after the last entry. */
extern void sst_tally_end(sst_tally *t);

#endif /* WIDE_SST_TALLY_H */

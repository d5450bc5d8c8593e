/* sst_tally.h - collects the properties of a sorted file from its entries */
#ifndef WIDE_SST_TALLY_H
#define WIDE_SST_TALLY_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"

/*
 * Counts entries in file order: the writer to describe its file, verify to
 * find that the description is true.  WIDE_INVALID when e is not above the
 * entry before.
 */
typedef struct sst_tally
{
	file_meta meta;
	buffer last; /* ukey of the entry before */
	entry e;	 /* the entry before (ukey is stale, value unset) */
	bool family_deletes;
	bool new_row, new_column; /* of the entry looked at last */
	uint32_t shared;		  /* bytes of its ukey that are those of the entry before */
} sst_tally;

/* In two steps: what the entry begins, and counting it. */
extern wide_status sst_tally_look(sst_tally *t, const entry *e);
extern wide_status sst_tally_count(sst_tally *t, const entry *e);

static inline wide_status
sst_tally_add(sst_tally *t, const entry *e)
{
	TRY(sst_tally_look(t, e));
	return sst_tally_count(t, e);
}

extern void sst_tally_end(sst_tally *t); /* sets max_row */

#endif /* WIDE_SST_TALLY_H */

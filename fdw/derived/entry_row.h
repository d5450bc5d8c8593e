/*
 * entry_row.h
 *		From an entry of an index to its row in the indexed table.
 */
#ifndef WT_ENTRY_ROW_H
#define WT_ENTRY_ROW_H

#include "lib/stringinfo.h"
#include "utils/snapshot.h"

#include "engine/wide.h"
#include "fdw/derived/index.h"

/* Appends the key of the entry's row.  key: of the entry.  Errors: DATA_CORRUPTED if it does not
 * decode. */
extern void wt_entry_row_key(const WtIndex *x, wide_bytes key, StringInfo out);

/* Returns true if the newest state of the entry's row has this entry. */
extern bool wt_entry_row_has(const WtIndex *x, wide_bytes key);

#endif /* WT_ENTRY_ROW_H */

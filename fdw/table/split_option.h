/*
 * split_option.h
 *		The table's option "split_at": keys at which a new table is divided into regions.
 *
 * It is a JSON array.  A string or number is a value of the first key column in its text form,
 * {"hex": "6d"} are bytes of a key.
 */
#ifndef WT_SPLIT_OPTION_H
#define WT_SPLIT_OPTION_H

#include "nodes/pg_list.h"

#include "fdw/table/types.h"

typedef struct WtSplitItem
{
	char *text; /* of a value; NULL: bytes */
	uint8 *bytes;
	uint32 len;
} WtSplitItem;

/* Returns: a list of WtSplitItem.  Errors: HV024 if the text is not such an array. */
extern List *wt_split_option_parse(const char *text);

/*
 * Returns: the keys at which the table is divided, in order, without doubles; palloc'd.  A salted
 * table is divided at each bucket, and inside of each one at the keys of the option.
 * Errors: those of the input function of the first key column.
 */
extern wide_bytes *wt_split_option_keys(WtTable *t, int *n);

#endif /* WT_SPLIT_OPTION_H */

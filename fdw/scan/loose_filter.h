/*
 * loose_filter.h
 *		Rows of a group that was returned are passed over.
 */
#ifndef WT_LOOSE_FILTER_H
#define WT_LOOSE_FILTER_H

#include "lib/stringinfo.h"

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * Rows of a group that was returned are not looked at any more: the engine goes
 * on behind them.  Asks the scan's own filter about the others.
 */
typedef struct WtLoose
{
	WtTable *t;
	bool reverse;
	bool whole;			   /* the group's prefix is the whole key */
	StringInfoData prefix; /* of the group last returned, without salt; empty: none */
	StringInfoData seek;
	wide_row_filter inner; /* may be NULL */
	void *inner_arg;
} WtLoose;

/* A row filter of the engine; its argument is a WtLoose. */
extern wide_row_verdict wt_loose_filter(void *arg, wide_bytes key, wide_bytes *seek);

#endif /* WT_LOOSE_FILTER_H */

/*
 * lookup_path.h
 *		Joins that look up the rows of a table by their keys, many at a time.
 */
#ifndef WT_LOOKUP_PATH_H
#define WT_LOOKUP_PATH_H

/* Name of the node's methods: RegisterCustomScanMethods. */
#define WT_LOOKUP_NAME "Lookup Ahead"

/* The most rows that the node reads ahead. */
#define WT_LOOKUP_BATCH 1000

/* The node's custom_private; custom_exprs has the values of the tests. */
enum WtLookupPrivate
{
	WtLookupTests, /* integer list: array of WtTest */
	WtLookupTypes, /* OID list: the type of each of custom_exprs */
	WtLookupTable, /* OID list: the foreign table */
	WtLookupToken  /* integer list: the scan's WtFlagLookups */
};

/* Installs the hook. */
extern void wt_lookup_path_init(void);

#endif /* WT_LOOKUP_PATH_H */

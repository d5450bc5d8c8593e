/*
 * remote_filter.h
 *		What a scan of a table of HBase asks the servers to leave out: filters.
 */
#ifndef WT_REMOTE_FILTER_H
#define WT_REMOTE_FILTER_H

#include "engine/wide.h"
#include "fdw/remote/remote_table.h"
#include "hbase/hbase.h"

/*
 * Returns: the filter for the scan; NULL: none is needed.  It leaves out cells that are neither
 * wanted nor tested, but for one of each row without its value if the row may exist by it alone;
 * and rows for which the predicates cannot be true.  Rows for which they are not true may be left,
 * so the caller tests them again.
 * Requires: the changes of the transaction do not concern the table.
 */
extern const hb_filter *wt_remote_filter_make(hb_filters *f, const WtRemoteTable *r,
											  const wide_scan_spec *spec);

/* The same of rows only: all cells of the families are read. */
extern const hb_filter *wt_remote_filter_rows(hb_filters *f, const WtRemoteTable *r,
											  const wide_scan_spec *spec);

/*
 * Returns: the columns of HBase that are read, with the columns of predicates, by family; *n is
 * their number.  filtered: a filter leaves out the other cells of families of which only columns
 * or the existence of rows is wanted, else the caller does.  palloc'd; the bytes are the spec's.
 */
extern hb_columns *wt_remote_filter_columns(const WtRemoteTable *r, const wide_scan_spec *spec,
											int *n);

/*
 * What a get of many keys may ask for first: the wanted columns, without the cells that only prove
 * that a row exists.  A row that comes is as with the filter and columns above; a key without one
 * has to be read again with them.
 * Returns: false if that would not be less.  Sets *filter (NULL: none), *columns and *n.
 */
extern bool wt_remote_filter_first(hb_filters *f, const WtRemoteTable *r,
								   const wide_scan_spec *spec, const hb_filter **filter,
								   hb_columns **columns, int *n);

#endif /* WT_REMOTE_FILTER_H */

/*
 * remote_row.h
 *		Cells of HBase as rows of a scan, with the transaction's changes of the row.
 */
#ifndef WT_REMOTE_ROW_H
#define WT_REMOTE_ROW_H

#include "utils/snapshot.h"

#include "engine/wide.h"
#include "fdw/remote/remote_change.h"
#include "fdw/remote/remote_table.h"
#include "hbase/hbase.h"

/* What a scan wants of a row, and room for the cells of one. */
typedef struct WtRemoteWant
{
	WtRemoteTable *table;
	wide_scan_spec spec; /* families and limits; the arrays are the scan's */

	wide_cell *cells;
	int max_cells;
	hb_cell *merged; /* of a row that the transaction has changed */
	int max_merged;
} WtRemoteWant;

/*
 * Makes a row of the scan of a row of HBase; from: NULL if it has none there.  own: the row's
 * changes, or NULL; pg: the snapshot that decides which of them are seen.
 * Returns: false if the row does not exist.  The cells point into `from` and the changes.
 */
extern bool wt_remote_row_make(WtRemoteWant *w, wide_bytes key, const hb_row *from,
							   const WtRemoteRow *own, Snapshot pg, wide_row *out);

#endif /* WT_REMOTE_ROW_H */

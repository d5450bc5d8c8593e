/*
 * remote_whole.h
 *		Rows of HBase that are read whole, because that costs its servers less than a filter.
 */
#ifndef WT_REMOTE_WHOLE_H
#define WT_REMOTE_WHOLE_H

#include "fdw/remote/remote_table.h"

#define WT_REMOTE_WHOLE_CELLS 32 /* most cells of each family of a row that are asked for */
#define WT_REMOTE_WHOLE_TRY	  16 /* rows that are read before it is known how large others are */

/*
 * Returns: true if all cells of the spec's families are to be read, and the caller leaves out those
 * that are not wanted.  points: by gets of single keys.
 * Requires: the changes of the transaction do not concern the table.
 */
extern bool wt_remote_whole_pays(const WtRemoteTable *r, const wide_scan_spec *spec, bool points);

/* Returns: true if some rows were read so. */
extern bool wt_remote_whole_known(const WtRemoteTable *r);

/* A row was read so.  Returns: false if it may have more cells, and has to be read again. */
extern bool wt_remote_whole_note(WtRemoteTable *r, const hb_row *row);

#endif /* WT_REMOTE_WHOLE_H */

/*
 * mutation.h
 *		What HBase is sent for the changes of one row.
 */
#ifndef WT_MUTATION_H
#define WT_MUTATION_H

#include "fdw/remote/remote_change.h"
#include "hbase/hbase.h"

/*
 * Makes of the row's changes lists that are to be sent one after the other; mostly there is one.
 * Returns: their number, 0 if there is nothing to do.  *list is palloc'd, as what it points to;
 * keys and values are those of the changes.
 */
extern int wt_mutation_make(const WtRemoteRow *row, hb_mutation **list);

#endif /* WT_MUTATION_H */

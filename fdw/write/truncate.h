/*
 * truncate.h
 *		TRUNCATE.
 */
#ifndef WT_TRUNCATE_H
#define WT_TRUNCATE_H

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

extern void wt_truncate_tables(List *rels, DropBehavior behavior, bool restart_seqs);

#endif /* WT_TRUNCATE_H */

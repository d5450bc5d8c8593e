/*
 * truncate.h
 *		TRUNCATE.
 */
#ifndef WT_TRUNCATE_H
#define WT_TRUNCATE_H

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

/*
 * The callback ExecForeignTruncate.  55000 if a table does not allow it.  Both
 * options have no effect: the tables own no sequences, and no foreign key
 * refers to a foreign table.
 */
extern void wt_truncate_tables(List *rels, DropBehavior behavior, bool restart_seqs);

#endif /* WT_TRUNCATE_H */

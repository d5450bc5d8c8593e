/*
 * upsert_rights.h
 *		Whether an INSERT may write over the cells of an existing row.
 */
#ifndef WT_UPSERT_RIGHTS_H
#define WT_UPSERT_RIGHTS_H

#include "nodes/execnodes.h"

#include "fdw/table/types.h"

/* What an INSERT into a table may do to an existing row. */
typedef enum WtUpsert
{
	WT_UPSERT_ALL,	   /* write over all of its cells */
	WT_UPSERT_COLUMNS, /* write over the cells of some columns */
	WT_UPSERT_RIGHTS,  /* nothing: the privilege UPDATE is missing */
	WT_UPSERT_HIDDEN,  /* nothing: row security or a view may hide the row */
	WT_UPSERT_MOVED	   /* nothing: the row comes from another partition, or from MERGE */
} WtUpsert;

/*
 * Decides for one execution of a statement, by the privileges of the users that the statement
 * is checked as.
 * Requires: called while the executor starts, or while it makes the state of a partition.
 * Returns: for WT_UPSERT_COLUMNS, *columns by column of t, palloc'd: true if UPDATE of it is
 * allowed; else NULL.
 */
extern WtUpsert wt_upsert_rights(const ModifyTableState *mtstate, const ResultRelInfo *rinfo,
								 const WtTable *t, bool **columns);

#endif /* WT_UPSERT_RIGHTS_H */

/*
 * modify_state.h
 *		The state of INSERT, UPDATE or DELETE on one target table, and what both
 *		layouts do with it.
 *
 * The way of a row: modify.c (the executor's callbacks) calls the table's
 * layout once, rows_layout.c or cells_layout.c; the layout turns the row into
 * puts and deletes and adds them to the batch with the functions below.  The
 * files of the two layouts do not call each other.
 */
#ifndef WT_MODIFY_STATE_H
#define WT_MODIFY_STATE_H

#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "utils/hsearch.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/row/cell_read.h"
#include "fdw/table/types.h"
#include "fdw/write/upsert_rights.h"
#include "fdw/write/version_move.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/engine_scan.h"

/* Resnos of the columns in the plan's rows that identify the target row. */
typedef struct WtModifyJunk
{
	AttrNumber *keys;			 /* by key part */
	AttrNumber family, qual, ts; /* layout 'cells' */
	AttrNumber row;				 /* the old row; invalid if the plan does not deliver it */
} WtModifyJunk;

/* Layout 'rows'. */
typedef struct WtModifyRows
{
	int *ts_of; /* by column: index of the TIMESTAMP_OF column of its cell, -1 */
	int nts;	/* number of TIMESTAMP_OF columns */
	int nmaps;	/* number of map columns */

	/* changes of the row being updated; the array lives as long as the statement */
	struct WtCellWrite *writes;
	int nwrites, writes_max;

	/* reused from row to row */
	WtFloorReader *floors; /* timestamps of the cells that an UPDATE writes */
	WtEngineScan *exists;  /* looks for existing rows */
} WtModifyRows;

/* Layout 'cells'. */
typedef struct WtModifyCells
{
	int col_family, col_qual, col_ts,
		col_value; /* indexes into t->columns, or -1; only in this layout */

	wide_family *names; /* families of the engine's table */
	int nnames;

	WtVersionMoves *moves; /* NULL until an UPDATE sets more than the value */
} WtModifyCells;

typedef struct WtModify
{
	Relation rel;
	WtTable *t;
	WtWriter writer;
	bool do_nothing;   /* ON CONFLICT DO NOTHING */
	CmdType statement; /* INSERT: the command of the statement, which may also be UPDATE or MERGE */
	WtUpsert upsert;   /* INSERT: what it may do to an existing row */
	bool *may_update;  /* WT_UPSERT_COLUMNS, by column: INSERT may write over its cells */
	struct WtModify *aux; /* INSERT state of a partition that an UPDATE also routes rows to */

	Oid user; /* changes a table of another engine; below a view its owner */

	/* the engine's table, from the first row on */
	WtEngineTable e;
	bool engine_known;
	bool wrote_before; /* the transaction's batch was not empty then */

	/* UPDATE, DELETE: identity of target rows */
	WtModifyJunk junk;
	HTAB *seen; /* hashes of rows done; NULL if the plan delivers each row once */

	/* UPDATE: columns that the statement sets */
	bool *set; /* by column */
	bool set_known;
	bool compare_all; /* BEFORE ROW triggers may set any column */

	WtModifyRows rows;
	WtModifyCells cells;

	/* scratch space */
	MemoryContext row_cxt; /* reset for each row */
	Datum *values;		   /* by column */
	bool *nulls;
	StringInfoData key, new_key, value, qual, range;
} WtModify;

/* Returns the index in t->columns of the TIMESTAMP_OF column of a cell, or -1. */
extern int wt_modify_state_timestamp_of(WtTable *t, int family, wide_bytes qual);

/* ------------------------------------------------------- identity of rows */

/* Adds a column that identifies target rows to what the plan delivers. */
extern void wt_modify_state_add_identity(PlannerInfo *root, Index rtindex, Relation rel,
										 AttrNumber attno);
/* Returns true if the column is part of a version's identity in layout 'cells', beside the key. */
extern bool wt_modify_state_is_cell_identity(const WtColumn *c);
/* Returns the key of the row that the plan delivered; its bytes are in out. */
extern wide_bytes wt_modify_state_old_key(WtModify *m, TupleTableSlot *planSlot, StringInfo out);
/*
 * Returns true if the statement meets this row for the first time.  identity:
 * the key; in layout 'cells' the whole version.
 */
extern bool wt_modify_state_first_time(WtModify *m, wide_bytes identity);

/* ------------------------------------------------------- state and engine */

/*
 * Makes the state of one target table, in the query's memory context.  subplan
 * delivers the rows of UPDATE and DELETE; it may be NULL for INSERT.
 */
extern WtModify *wt_modify_state_begin(EState *estate, ResultRelInfo *rinfo, CmdType op,
									   Plan *subplan, bool do_nothing);
/* Releases what the state holds outside the query's memory context, and its large parts. */
extern void wt_modify_state_end(WtModify *m);
/* Finds the engine's table, or creates it.  Requires: called before a row's first use of m->e. */
extern void wt_modify_state_need_engine(WtModify *m);
/* Returns the engine's id of family t->families[family]; 42703 if the engine has none. */
extern wide_family_id wt_modify_state_family(WtModify *m, int family);

/* ---------------------------------------------------------- puts, deletes */

/* Adds deletes of the whole row, one in each family of the engine's table. */
extern void wt_modify_state_delete_row(WtTable *t, const WtEngineTable *e, wide_bytes key);
/* Puts the marker of the row (marker.h).  Requires: the table has markers. */
extern void wt_modify_state_put_marker(WtTable *t, const WtEngineTable *e, wide_bytes key);
/*
 * After the deletes of an UPDATE: puts the marker if the row has no cell left, in any family.
 * *exists and buf as in wt_cell_read_row_exists_again.  Requires: the table has markers, and the
 * row is locked, so that no other transaction deletes its other cells.
 */
extern void wt_modify_state_mark_empty(WtTable *t, WtEngineTable *e, WtEngineScan **exists,
									   wide_bytes key, StringInfo buf);
/*
 * Returns the timestamp that the row has in column ts_col, in microseconds
 * since 1970; WIDE_TS_AUTO if it is NULL or ts_col is -1.
 */
extern int64 wt_modify_state_stated_ts(WtModify *m, TupleTableSlot *slot, int ts_col);

/* ------------------------------------------------------------ unique keys */

/*
 * Returns true if an INSERT may write over the row's existing cells, in layout 'cells' over
 * those of its cell; false: it must look for them first.
 */
extern bool wt_modify_state_may_upsert(const WtModify *m, TupleTableSlot *slot);

/* ----------------------------------------------------------------- errors */

/*
 * For ereport: a detail with the key, if the user may see it.  As for ordinary tables, no key
 * is shown under row security or without SELECT of the key columns: a default or a trigger may
 * have given it.
 */
extern int wt_modify_state_errdetail_key(const WtModify *m, wide_bytes key);
/* For ereport: a hint why an INSERT that meets an existing row is an error, if there is a reason
 * beside the table's options. */
extern int wt_modify_state_errhint_upsert(const WtModify *m);

/*
 * A null is to be written to the column: raises 23502 if it is NOT NULL.
 * PostgreSQL does not enforce NOT NULL of foreign tables, but its planner and
 * this wrapper's planner rely on it.
 */
extern void wt_modify_state_check_not_null(Relation rel, const WtColumn *c);
/* Raises 23502: an INSERT would write no cells, so there would be no row.  The hint says why there
 * is no marker. */
extern void wt_modify_state_raise_no_cells(WtModify *m, wide_bytes key);

#endif /* WT_MODIFY_STATE_H */

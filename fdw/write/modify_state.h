/*
 * modify_state.h
 *		What the parts of INSERT, UPDATE and DELETE share.
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
#include "fdw/write/version_move.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/engine_scan.h"

/* A change of one cell in an UPDATE, before it goes to the batch. */
typedef struct WtCellWrite
{
	int family; /* index into t->families */
	wide_bytes qual;
	bool remove;
	wide_bytes value;
	int64 ts;	 /* or WIDE_TS_AUTO */
	bool ts_set; /* the statement sets the timestamp: the version moves there */
} WtCellWrite;

typedef struct WtModify
{
	Relation rel;
	WtTable *t;
	WtEngineTable e;
	bool engine_known;
	bool wrote_before; /* the transaction has other writes */
	CmdType op;
	bool do_nothing; /* ON CONFLICT DO NOTHING */
	WtWriter writer;

	AttrNumber *key_junk; /* by key part: resno in the plan's row */
	AttrNumber family_junk, qual_junk, ts_junk;
	AttrNumber row_junk; /* the old row, when the plan delivers it */
	int col_family,		 /* layout 'cells': indexes into t->columns, -1 */
		col_qual, col_ts, col_value;
	wide_family *names; /* layout 'cells': families of the engine's table */
	int nnames;

	int *ts_of; /* by column: the TIMESTAMP_OF column of its cell, -1 */
	int nts;	/* number of TIMESTAMP_OF columns */
	bool *set;	/* UPDATE, by column: the statement sets it */
	bool set_known;
	bool compare_all; /* BEFORE ROW triggers may set any column */

	WtVersionMoves *moves; /* UPDATE of layout 'cells' that sets more than the value */
	HTAB *seen;			   /* rows done, when the plan may deliver one twice */

	Datum *values; /* scratch, by column */
	bool *nulls;
	WtCellWrite *writes;
	int nwrites, writes_max;
	StringInfoData key, new_key, value, qual, range;
	MemoryContext row_cxt;
	WtFloorReader *floors; /* of the cells that an UPDATE writes */
	WtEngineScan *exists;  /* looks for rows that exist */

	struct WtModify *aux; /* tuple routing into a table that is also updated */
} WtModify;

/* 23502 when the column, which gets a null, is NOT NULL */
extern void wt_modify_state_check_not_null(Relation rel, const WtColumn *c);

/* Adds a column that identifies the row to what the plan delivers. */
extern void wt_modify_state_add_identity(PlannerInfo *root, Index rtindex, Relation rel,
										 AttrNumber attno);
/* Layout 'cells': true if the column tells which version a row is. */
extern bool wt_modify_state_is_cell_identity(const WtColumn *c);
/* The state of one target table. */
extern WtModify *wt_modify_state_begin(EState *estate, ResultRelInfo *rinfo, CmdType op,
									   Plan *subplan, bool do_nothing);
/* Finds or makes the engine's table, at the first row. */
extern void wt_modify_state_need_engine(WtModify *m);
/* The engine's id of a family; an error when there is none. */
extern wide_family_id wt_modify_state_family(WtModify *m, int family);
/* Adds a put to the batch. */
extern void wt_modify_state_put(WtModify *m, wide_family_id family, wide_bytes key, wide_bytes qual,
								int64 ts, int64 floor_ts, int64 ttl_us, wide_bytes value);
/* Adds a delete to the batch. */
extern void wt_modify_state_delete(WtModify *m, wide_delete kind, wide_family_id family,
								   wide_bytes key, wide_bytes qual, int64 ts);
/* Raises 23505. */
extern void wt_modify_state_raise_duplicate(WtModify *m, wide_bytes key);
/* The bytes of a text or bytea value. */
extern wide_bytes wt_modify_state_varlena_bytes(Datum d);
/* The TIMESTAMP_OF column of any cell, -1. */
extern int wt_modify_state_find_ts_of(WtModify *m, int family, wide_bytes qual);
/* The timestamp that the row states for a cell stamped by column ts_col. */
extern int64 wt_modify_state_stated_ts(WtModify *m, TupleTableSlot *slot, int ts_col);
/*
 * The row as stored: a column that shows the timestamp of a cell just written
 * shows the present time, or NULL when the cell is gone.  Only when somebody
 * will look at it.
 */
extern void wt_modify_state_show_stored(WtModify *m, ResultRelInfo *rinfo, TupleTableSlot *slot,
										const bool *written);
/* First time in this statement?  identity: key, in layout 'cells' more. */
extern bool wt_modify_state_first_time(WtModify *m, wide_bytes identity);
/* Key of the row that the plan delivered, into out. */
extern wide_bytes wt_modify_state_old_key(WtModify *m, TupleTableSlot *planSlot, StringInfo out);
/* Appends to m->writes; value NULL: the column's cells are removed. */
extern void wt_modify_state_add_write(WtModify *m, int family, wide_bytes qual,
									  const wide_bytes *value, int64 ts, bool ts_set);
/* A copy in CurrentMemoryContext. */
extern wide_bytes wt_modify_state_copy_bytes(wide_bytes b);
/* Deletes the row in all families. */
extern void wt_modify_state_delete_row(WtModify *m, wide_bytes key);
/*
 * PostgreSQL routes rows to foreign partitions but does not look whether a row
 * that is written to one belongs there.
 */
extern void wt_modify_state_check_partition(WtModify *m, ResultRelInfo *rinfo, TupleTableSlot *slot,
											EState *estate);

#endif /* WT_MODIFY_STATE_H */

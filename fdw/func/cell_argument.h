/*
 * cell_argument.h
 *		Cells and values as arguments of functions.
 */
#ifndef WT_CELL_ARGUMENT_H
#define WT_CELL_ARGUMENT_H

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "utils/jsonb.h"

#include "engine/wide.h"
#include "fdw/func/call.h"
#include "fdw/row/cell_read.h"
#include "fdw/table/types.h"

/* A cell that an argument names. */
typedef struct WtCallCell
{
	const char *name;
	const char *family_name; /* of a family that t does not have; else NULL */
	int family;				 /* index into t->families, unless family_name is set */
	WtCellRef ref;
} WtCallCell;

/* errdetail with table, key and column; for use in ereport. */
extern int wt_cell_argument_errdetail(WtCall *c, const char *col);
/* Returns argument n as a C string; 22004 if it is NULL. */
extern const char *wt_cell_argument_text(FunctionCallInfo fcinfo, int n, const char *name);
/* Returns the engine's id of the cell's family; 42703 if the engine has none. */
extern wide_family_id wt_cell_argument_family(WtCall *c, const WtCallCell *cell);
/* Raises 428C9 if the column, which may be NULL, is GENERATED ALWAYS. */
extern void wt_cell_argument_check_generated(const WtCall *c, const WtColumn *column);
/*
 * Parses 'family:qualifier' or the name of a column.  The family may be one that
 * only another foreign table on the same stored table has.  writes: 22023 for
 * the cell that holds the original of a key column, 428C9 for one that a column
 * GENERATED ALWAYS shows.
 */
extern void wt_cell_argument_parse(WtCall *c, const char *name, bool writes, WtCallCell *cell);
/* Parses name, checks the privileges in mode, then finds the engine's table and family. */
extern void wt_cell_argument_find(WtCall *c, const char *name, AclMode mode, WtCallCell *cell);
/*
 * Reads the newest versions of cells.  Requires: the row lock.  Under
 * REPEATABLE READ, 40001 if they are not the versions that the snapshot sees,
 * the transaction's own writes included in both.
 */
extern void wt_cell_argument_read_newest(WtCall *c, WtCellRef *refs, int n);
/*
 * Adds a put of the cell to the batch; arguments as wide_batch_put.  An assigned
 * timestamp exceeds r->floor_ts, of the version read.
 */
extern void wt_cell_argument_put(WtCall *c, const WtCellRef *r, int64 ts, int64 ttl_us,
								 wide_bytes value);
/*
 * Adds a delete to the batch; arguments as wide_batch_delete.  Of NOT NULL columns it
 * is noted, for wt_cell_argument_finish, because a later mutation may put a value.
 */
extern void wt_cell_argument_delete(WtCall *c, wide_delete kind, const WtCellRef *r, int64 ts);
/*
 * Ends a call that changes a row.  If c->wrote is set, puts the originals of the key
 * columns whose keys have a digest; each row with cells has them.  locked: the row
 * lock is held, and only missing ones are put; else they are put blindly, as by
 * INSERT.  They get no time to live, because other cells of the row may live longer.
 *
 * Raises 23502 if the row exists without a NOT NULL column that was deleted.  Puts
 * are blind: they do not check whether the row has its other columns.
 */
extern void wt_cell_argument_finish(WtCall *c, bool locked);
/*
 * Converts a value of any type to target, by its text if the types differ; typmod
 * (unless -1) applies a length as in varchar(3) or numeric(4,1).
 */
extern Datum wt_cell_argument_coerce(Datum v, Oid type, Oid target, int32 typmod);
/* Checks the constraints of the column's domain; for values that no cast has checked. */
extern void wt_cell_argument_check_domain(const WtColumn *column, Datum v);
/* The same for a value that was read from bytes, whose inside has not been checked either. */
extern void wt_cell_argument_check_bytes(const WtColumn *column, Datum v);
/* Returns a column of this type without options. */
extern WtColumn wt_cell_argument_plain_column(Oid type);
/*
 * Appends the stored bytes of a value.  column: the one that maps the cell, whose
 * encoding is used; NULL: the value is stored as by a column of its type without
 * options, an untyped literal as text.  A bytea for a column of another type
 * stands for the cell's bytes, as cells() shows them; 22023 if they are not a
 * value of the column.
 */
extern void wt_cell_argument_value(const WtColumn *column, Datum v, Oid type, StringInfo out);
/* The same for a value in a jsonb argument.  Requires: it is not JSON null. */
extern void wt_cell_argument_json_value(const WtColumn *column, const JsonbValue *v,
										StringInfo out);
/* Returns argument n, a jsonb; 22004 if it is NULL, 22023 if it is not a JSON object. */
extern JsonbContainer *wt_cell_argument_object(FunctionCallInfo fcinfo, int n, const char *name);
/* Returns the key of a JSON object's entry as a C string, palloc'd. */
extern char *wt_cell_argument_json_key(const JsonbValue *v);
/* Returns a time to live in microseconds; 22023 if it is not greater than zero. */
extern int64 wt_cell_argument_ttl(const Interval *iv);

#endif /* WT_CELL_ARGUMENT_H */

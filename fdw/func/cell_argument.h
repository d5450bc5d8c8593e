/*
 * cell_argument.h
 *		Cells and their values as functions get them.
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

/* A cell as the caller named it. */
typedef struct WtCallCell
{
	const char *name;
	const char *family_name; /* of a family that t does not mention; else NULL */
	int family;				 /* index into t->families otherwise */
	WtCellRef ref;
} WtCallCell;

/* For errors about a cell: what and where. */
extern int wt_cell_argument_errdetail(WtCall *c, const char *col);
/* Argument n as text; 22004 when it is NULL. */
extern const char *wt_cell_argument_text(FunctionCallInfo fcinfo, int n, const char *name);
extern wide_family_id wt_cell_argument_family(WtCall *c, const WtCallCell *cell);
/* 'family:qualifier' or a column's name.  A family that another foreign table made can be named
 * too. */
extern void wt_cell_argument_parse(WtCall *c, const char *name, bool writes, WtCallCell *cell);
/* Privileges are checked here, before the engine is asked for anything. */
extern void wt_cell_argument_find(WtCall *c, const char *name, AclMode mode, WtCallCell *cell);
/*
 * The newest versions, under the row lock.  REPEATABLE READ: they must be the
 * ones that the snapshot sees, when our own writes are laid over both.
 */
extern void wt_cell_argument_read_newest(WtCall *c, WtCellRef *refs, int n);
/* The timestamp of the version that was read, above which a new one has to lie; PG_INT64_MIN:
 * there is none. */
extern int64 wt_cell_argument_floor(const WtCellRef *r);
/* Adds a put of the cell to the batch. */
extern void wt_cell_argument_put(WtCall *c, const WtCellRef *r, int64 ts, int64 floor_ts,
								 int64 ttl_us, wide_bytes value);
/* Adds a delete to the batch. */
extern void wt_cell_argument_delete(WtCall *c, wide_delete kind, wide_family_id family,
									wide_bytes qual, int64 ts);
extern bool wt_cell_argument_has_originals(WtCall *c);
/*
 * A row that has cells has the originals of its digest keys.  locked: they are
 * written only when they are missing; else blindly, as INSERT does.  Without a
 * ttl: other cells of the row may live longer.
 */
extern void wt_cell_argument_put_originals(WtCall *c, bool locked);
/*
 * What a call deletes of NOT NULL columns is looked at again when it is done:
 * a later mutation may have put a value, and a row that is gone as a whole is
 * in order.  Puts do not look whether the row has all its other columns; they
 * are blind.
 */
extern void wt_cell_argument_note_delete(WtCall *c, wide_family_id family, const WtCellRef *cell);
extern void wt_cell_argument_check_not_null(WtCall *c);
/* Any value as the type, with the length of a varchar(3) or numeric(4,1) unless typmod is -1. */
extern Datum wt_cell_argument_coerce(Datum v, Oid type, Oid target, int32 typmod);
/* A value that no cast to the column's type has seen: the domain's constraints. */
extern void wt_cell_argument_check_domain(const WtColumn *column, Datum v);
/* A column as one of this type would be without any option. */
extern WtColumn wt_cell_argument_plain_column(Oid type);
/*
 * Mapped cells by their column's encoding; others as a column of the value's
 * type without options would store it, untyped literals as text.  A bytea for a
 * column of another type is the cell's bytes, as cells() shows them; they have
 * to be a value of the column.
 */
extern void wt_cell_argument_value(const WtColumn *column, Datum v, Oid type, StringInfo out);
/* The same for a value of a jsonb argument, which is not JSON null. */
extern void wt_cell_argument_json_value(const WtColumn *column, const JsonbValue *v,
										StringInfo out);
/* jb itself; an error that names what when it is no JSON object. */
extern Jsonb *wt_cell_argument_need_object(Jsonb *jb, const char *what);
/* The key of a JSON object's entry as a string. */
extern char *wt_cell_argument_json_key(const JsonbValue *v);
/* Microseconds of a TTL; an error when it is not greater than zero. */
extern int64 wt_cell_argument_ttl(const Interval *iv);

#endif /* WT_CELL_ARGUMENT_H */

/*
 * put_json.h
 *		Puts and deletes of the cells of a row that a JSON object names.
 */
#ifndef WT_PUT_JSON_H
#define WT_PUT_JSON_H

#include "postgres.h"

#include "utils/jsonb.h"

#include "fdw/func/call.h"

/*
 * Puts the cells of {"f:q": value, ...}; JSON null deletes the column, as in map
 * columns.  above: the row is locked, and the new timestamps exceed those of the
 * newest versions.
 *
 * Puts are blind, but all deletes lock the row, also here.  Another process that
 * reads the newest state under the row lock does not see a delete that is not
 * published yet; only the lock shows that there is one
 * (wt_row_lock_newest_batch).
 */
extern void wt_put_json(WtCall *c, JsonbContainer *object, bool above);

#endif /* WT_PUT_JSON_H */

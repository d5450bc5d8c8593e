/*
 * write_error.h
 *		Errors of writes that name the table and the row.
 */
#ifndef WT_WRITE_ERROR_H
#define WT_WRITE_ERROR_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/* Raises the error of an engine's call that changes a row; returns if st is WIDE_OK. */
extern void wt_write_error_check(wide_status st, WtTable *t, wide_bytes key);

#endif /* WT_WRITE_ERROR_H */

/*
 * error.h
 *		The engine's statuses as errors of PostgreSQL.
 */
#ifndef WT_ERROR_H
#define WT_ERROR_H

#include "engine/wide.h"

/* Turns a status into ereport(ERROR); what: "could not read table \"%s\"" style prefix or NULL.
 * WIDE_OK returns. */
extern void wt_error_check(wide_status st, const char *what);

/* The SQLSTATE of a status that is not WIDE_OK. */
extern int wt_error_sqlstate(wide_status st);

#endif /* WT_ERROR_H */

/*
 * remote_request.h
 *		What a scan of a table of HBase asks for: columns, versions, times and filters.
 */
#ifndef WT_REMOTE_REQUEST_H
#define WT_REMOTE_REQUEST_H

#include "fdw/remote/remote_table.h"
#include "fdw/table/engine.h"

typedef struct WtRemoteRequest
{
	MemoryContext cxt; /* of the columns; it lives as long as the scan */
	WtRemoteTable *table;
	hb_client *client;
	const wide_scan_spec *spec;
	WtEngineWork *work; /* of the scan */

	bool versions; /* all versions are asked for */
	hb_columns *columns;
	int ncolumns;
	hb_filters *filters; /* NULL: none */
	const hb_filter *filter;
	bool whole;		/* all cells of the families are read, up to a limit (remote_whole.c) */
	bool two_steps; /* gets ask for these first: */
	hb_columns *first_columns;
	int nfirst;
	const hb_filter *first_filter;
} WtRemoteRequest;

/* Sets the columns.  Requires: the fields before them are set. */
extern void wt_remote_request_init(WtRemoteRequest *q);

/* Rows and cells are left out by filters; whole: only rows are. */
extern void wt_remote_request_filter(WtRemoteRequest *q, bool whole);

/* Nothing is left out.  versions: nor are versions. */
extern void wt_remote_request_all(WtRemoteRequest *q, bool versions);

/* Returns: true if HBase may have rows with one of the families that are read. */
extern bool wt_remote_request_finds(const WtRemoteRequest *q);

/* The request as the client takes it. */
extern hb_read wt_remote_request_read(const WtRemoteRequest *q);

/* Raises a failure to read. */
extern _Noreturn void wt_remote_request_fail(const WtRemoteRequest *q, hb_status status);

/* Releases the filters. */
extern void wt_remote_request_free(WtRemoteRequest *q);

#endif /* WT_REMOTE_REQUEST_H */

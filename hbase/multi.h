/*
 * multi.h - an operation on many rows: grouped by server, sent to all servers at once, repeated for
 * the rows that it failed for
 */
#ifndef HB_MULTI_H
#define HB_MULTI_H

#include "hbase/proto/data.pb-c.h"
#include "hbase/rpc.h"

typedef struct hb_multi hb_multi;

/* What is done with each row; i is its index. */
typedef struct hb_multi_operation
{
	hb_bytes (*key)(const hb_multi *m, int64_t i);
	/* Bytes that the row takes in a request, about. */
	size_t (*size)(const hb_multi *m, int64_t i);
	/* Number of actions.  Several are done atomically. */
	int (*count)(const hb_multi *m, int64_t i);
	/* Fills in the actions, which are initialised, and appends their cells to client->cells. */
	hb_status (*fill)(hb_multi *m, int64_t i, Hbp__Action *actions);
	/* Takes a result of the row, and its cells from *block. */
	hb_status (*result)(hb_multi *m, int64_t i, const Hbp__Result *result, hb_bytes *block);
	/* Takes the answer of a server before its results are taken. */
	hb_status (*answer)(hb_multi *m, hb_call *call);
} hb_multi_operation;

struct hb_multi
{
	hb_client *client;
	const char *table;
	const hb_multi_operation *operation;
	const void *rows;
	void *ctx;
	int64_t n;
	/* the outcome */
	int64_t done;		/* rows */
	int64_t failed_row; /* -1: none */
	/* private */
	uint8_t *is_done;
	hb_arena arena;
	int64_t first; /* all rows before are done */
	hb_retry retry;
};

/*
 * Does the operation.  The caller sets the first six members; the others are zero.
 * Returns: HB_OK when all rows are done; else the first failure that repetition does not cure.
 */
extern hb_status hb_multi_run(hb_multi *m);

#endif /* HB_MULTI_H */

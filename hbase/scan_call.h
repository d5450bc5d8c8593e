/* scan_call.h - the answer of a Scan call */
#ifndef HB_SCAN_CALL_H
#define HB_SCAN_CALL_H

#include "hbase/proto/data.pb-c.h"
#include "hbase/rpc.h"

typedef struct hb_scan_answer
{
	const uint32_t *counts;			   /* cells of each result; in client->answer */
	const protobuf_c_boolean *partial; /* as long as counts, or NULL: all rows are whole */
	size_t n;
	bool more;		/* the scan goes on */
	bool more_here; /* in this region */
	bool has_scanner;
	uint64_t scanner;
} hb_scan_answer;

/*
 * Waits for the answer, and reads it.
 * Errors: HB_PROTOCOL, and what the call failed with.
 */
extern hb_status hb_scan_call_finish(hb_client *client, hb_call *call, hb_scan_answer *answer);

#endif /* HB_SCAN_CALL_H */

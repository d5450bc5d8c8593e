/* result.h - rows that gets and row operations return */
#ifndef HB_RESULT_H
#define HB_RESULT_H

#include "hbase/proto/data.pb-c.h"
#include "hbase/rpc.h"

/* Rows under construction, and the memory that they lie in. */
typedef struct hb_result
{
	hb_rows rows; /* first: what the caller has */
	hb_arena arena;
	hb_buffer *frames; /* answers that cells point into */
	int n_frames;
	int frames_cap;
} hb_result;

/* Makes n rows without cells. */
extern hb_status hb_result_new(hb_client *client, int n, hb_result **result);

/* Makes the frame of the call part of the result; the call is empty then.  What points into the
 * frame stays right. */
extern hb_status hb_result_keep(hb_client *client, hb_result *result, hb_call *call);

/*
 * Adds the cells of a message to a row.  Those in the message are copied; those in the cell block
 * are taken from the front of *block, which must be in memory that the result keeps.
 * Errors: HB_NOMEM, HB_PROTOCOL.
 */
extern hb_status hb_result_add(hb_client *client, hb_result *result, int row,
							   const Hbp__Result *message, hb_bytes *block);

/* Takes the cells of a message from the front of *block without looking at them. */
extern hb_status hb_result_skip(hb_client *client, const Hbp__Result *message, hb_bytes *block);

/* Makes the exception of a single action the client's failure.  Returns its status. */
extern hb_status hb_result_exception(hb_client *client, const hb_server *server,
									 const Hbp__NameBytesPair *exception);

#endif /* HB_RESULT_H */

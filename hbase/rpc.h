/* rpc.h - calls: sending them, waiting for answers, repeating them */
#ifndef HB_RPC_H
#define HB_RPC_H

#include "hbase/connection.h"

#define HB_RPC_REGISTRY "ClientMetaService"
#define HB_RPC_CLIENT	"ClientService"
#define HB_RPC_MASTER	"MasterService"
#define HB_RPC_ADMIN	"AdminService"

/*
 * Sends a call, as far as that is possible without waiting.  The answer keeps the memory that the
 * call has.
 * Requires: the call is not waiting.
 * Errors: HB_NOMEM, HB_LOST, HB_TOOLARGE.
 */
extern hb_status hb_rpc_send(hb_client *client, hb_call *call, const hb_server *server,
							 const char *service, const char *method, const ProtobufCMessage *param,
							 hb_bytes cells);

/*
 * Waits until none of n calls waits.  One that is not answered in time has failed.
 * Errors: HB_INTERRUPTED: all connections on which an answer was due are closed.
 */
extern hb_status hb_rpc_wait(hb_client *client, hb_call *const *calls, int n);

/* Waits for one call.  A failure of it becomes the client's and is returned. */
extern hb_status hb_rpc_finish(hb_client *client, hb_call *call);

/* Frees the answer; a call that waits is dropped. */
extern void hb_rpc_free(hb_client *client, hb_call *call);

/*
 * Unpacks the message of a finished call into client->answer, which is emptied before.
 * Errors: HB_PROTOCOL, HB_NOMEM.
 */
extern hb_status hb_rpc_unpack(hb_client *client, const hb_call *call,
							   const ProtobufCMessageDescriptor *type, void *message);

/* Sends, waits and unpacks. */
extern hb_status hb_rpc_call(hb_client *client, hb_call *call, const hb_server *server,
							 const char *service, const char *method, const ProtobufCMessage *param,
							 const ProtobufCMessageDescriptor *type, void *message);

/* Repetition of an operation. */
typedef struct hb_retry
{
	int64_t begun_us;
	int tries;	  /* since the last progress */
	int doubtful; /* of these, after failures of which that is not known to be of use */
} hb_retry;

/* Begins an operation: its time runs from now. */
extern void hb_rpc_begin(hb_client *client, hb_retry *retry);
/* The operation has got further: its time runs from now again. */
extern void hb_rpc_progress(hb_client *client, hb_retry *retry);
/*
 * After a failure, client->failure: waits a while before the next try.
 * Returns: HB_OK if it should be tried again; else the status of the failure.
 */
extern hb_status hb_rpc_again(hb_client *client, hb_retry *retry);
/* Waits for some milliseconds.  Errors: HB_INTERRUPTED. */
extern hb_status hb_rpc_sleep(hb_client *client, int ms);

#endif /* HB_RPC_H */

/* master.h - calls to the master, and procedures that it carries out */
#ifndef HB_MASTER_H
#define HB_MASTER_H

#include "hbase/proto/admin.pb-c.h"
#include "hbase/rpc.h"

/*
 * Calls the master, again after failures, and unpacks its answer into client->answer.
 * Errors: those of calls.
 */
extern hb_status hb_master_call(hb_client *client, const char *method,
								const ProtobufCMessage *param,
								const ProtobufCMessageDescriptor *type, void *message);

/*
 * Calls the master for something that becomes a procedure, and waits until that has ended.
 * Errors: HB_TIMEOUT; what the procedure failed with.
 */
extern hb_status hb_master_procedure(hb_client *client, const char *method,
									 const ProtobufCMessage *param);

/*
 * The same for a procedure of the older kind, which has a name and an object.
 * Errors: HB_TIMEOUT.
 */
extern hb_status hb_master_joint_procedure(hb_client *client, const char *signature,
										   const char *instance);

/* Makes a nonce, by which the master recognises a repetition. */
extern uint64_t hb_master_nonce(hb_client *client);

#endif /* HB_MASTER_H */

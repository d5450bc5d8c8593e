/* master.c - calls to the master, and procedures that it carries out */
#include "hbase/master.h"
#include "hbase/registry.h"

#define POLL_MIN_MS 5
#define POLL_MAX_MS 200

enum procedure_state
{
	PROCEDURE_NOT_FOUND,
	PROCEDURE_RUNNING,
	PROCEDURE_FINISHED
};

uint64_t
hb_master_nonce(hb_client *client)
{
	return ++client->nonce;
}

static hb_status
call_with(hb_client *client, hb_retry *retry, const char *method, const ProtobufCMessage *param,
		  const ProtobufCMessageDescriptor *type, void *message)
{
	hb_call call = {0};
	hb_status st;

	do
	{
		st = hb_registry_master(client);
		if (st == HB_OK)
			st = hb_rpc_call(client, &call, &client->master, HB_RPC_MASTER, method, param, type,
							 message);
		if (st == HB_OK)
			break;
		if (client->failure.cure == HB_CURE_RELOCATE)
			client->master.host[0] = 0;
		st = hb_rpc_again(client, retry);
	} while (st == HB_OK);
	hb_rpc_free(client, &call);
	return st;
}

hb_status
hb_master_call(hb_client *client, const char *method, const ProtobufCMessage *param,
			   const ProtobufCMessageDescriptor *type, void *message)
{
	hb_retry retry;

	hb_rpc_begin(client, &retry);
	return call_with(client, &retry, method, param, type, message);
}

static hb_status
procedure_failure(hb_client *client, const Hbp__ForeignExceptionMessage *x)
{
	hb_failure *f = &client->failure;
	hb_bytes name = {NULL, 0};
	hb_bytes text = {NULL, 0};
	hb_cure cure;
	hb_status st;

	if (x->generic_exception != NULL)
	{
		name = hb_from_pb(x->generic_exception->class_name);
		text = hb_from_pb(x->generic_exception->message);
	}
	st = hb_exception_meaning(name, text, HB_RETRY_FORBIDDEN, &cure);
	hb_status_set(f, st, HB_CURE_NONE, &client->master, " ");
	hb_status_text(f->error.java_class, sizeof f->error.java_class, name);
	hb_status_text(f->error.message, sizeof f->error.message, text);
	memcpy(f->error.text, f->error.message, sizeof f->error.message);
	return st;
}

hb_status
hb_master_procedure(hb_client *client, const char *method, const ProtobufCMessage *param)
{
	Hbp__GetProcedureResultRequest req = HBP__GET_PROCEDURE_RESULT_REQUEST__INIT;
	Hbp__GetProcedureResultResponse *result;
	Hbp__ProcedureResponse *started;
	hb_retry retry;
	int ms = POLL_MIN_MS;

	hb_rpc_begin(client, &retry);
	HB_TRY(call_with(client, &retry, method, param, &hbp__procedure_response__descriptor,
					 &started));
	if (!started->has_proc_id)
		return HB_OK;
	req.proc_id = started->proc_id;
	for (;;)
	{
		HB_TRY(call_with(client, &retry, "getProcedureResult", &req.base,
						 &hbp__get_procedure_result_response__descriptor, &result));
		if (result->state != PROCEDURE_RUNNING)
			break;
		if (hb_now(client) > client->deadline_us)
			return hb_status_fail(client, HB_TIMEOUT, "%s was not done in time", method);
		HB_TRY(hb_rpc_sleep(client, ms));
		ms = ms * 2 > POLL_MAX_MS ? POLL_MAX_MS : ms * 2;
	}
	return result->exception == NULL ? HB_OK : procedure_failure(client, result->exception);
}

hb_status
hb_master_joint_procedure(hb_client *client, const char *signature, const char *instance)
{
	Hbp__ProcedureDescription what = HBP__PROCEDURE_DESCRIPTION__INIT;
	Hbp__ExecProcedureRequest exec = HBP__EXEC_PROCEDURE_REQUEST__INIT;
	Hbp__IsProcedureDoneRequest req = HBP__IS_PROCEDURE_DONE_REQUEST__INIT;
	Hbp__ExecProcedureResponse *started;
	Hbp__IsProcedureDoneResponse *result;
	hb_retry retry;
	int ms = POLL_MIN_MS;

	what.signature = (char *) signature;
	what.instance = (char *) instance;
	exec.procedure = req.procedure = &what;
	hb_rpc_begin(client, &retry);
	HB_TRY(call_with(client, &retry, "ExecProcedure", &exec.base,
					 &hbp__exec_procedure_response__descriptor, &started));
	for (;;)
	{
		HB_TRY(call_with(client, &retry, "IsProcedureDone", &req.base,
						 &hbp__is_procedure_done_response__descriptor, &result));
		if (result->done)
			return HB_OK;
		if (hb_now(client) > client->deadline_us)
			return hb_status_fail(client, HB_TIMEOUT, "%s was not done in time", signature);
		HB_TRY(hb_rpc_sleep(client, ms));
		ms = ms * 2 > POLL_MAX_MS ? POLL_MAX_MS : ms * 2;
	}
}

/*
 * row_operation.c - changes of one row that are made exactly once; declared in hbase.h
 *
 * Changes of one kind without a condition are sent as a Mutate: for an increment that is two
 * thirds of the server's work.  Others are sent as a Multi with one atomic RegionAction, which
 * takes mutations of all kinds and a condition.  The nonces stay the same when the call is
 * repeated, so that a server which has done it answers instead of doing it again.
 */
#include "hbase/change.h"
#include "hbase/filter.h"
#include "hbase/region.h"
#include "hbase/result.h"

/* An operation while it is tried. */
typedef struct operation
{
	const char *table;
	const hb_condition *condition; /* or NULL */
	const hb_mutation *row;
	int n_messages; /* that the row becomes */
	uint64_t nonce; /* of the first mutation; the others follow */
	bool processed;
	hb_result *result;
} operation;

static hb_status
no_memory(hb_client *client)
{
	return hb_status_fail(client, HB_NOMEM, "out of memory");
}

/* HBase compares the value with the column: "value op column". */
static uint32_t
turned(hb_compare op)
{
	switch (op)
	{
		case HB_LESS:
			return HB_GREATER;
		case HB_LESS_OR_EQUAL:
			return HB_GREATER_OR_EQUAL;
		case HB_GREATER:
			return HB_LESS;
		case HB_GREATER_OR_EQUAL:
			return HB_LESS_OR_EQUAL;
		default:
			return op;
	}
}

static hb_status
set_condition(hb_client *client, const operation *o, Hbp__Condition *m)
{
	const hb_condition *c = o->condition;

	m->row = hb_pb(o->row->key);
	if (c->filter != NULL)
	{
		if (c->filter->failed)
			return no_memory(client);
		m->filter = (Hbp__Filter *) &c->filter->message;
	}
	else
	{
		m->has_family = m->has_qualifier = m->has_compare_type = 1;
		m->family = hb_pb(c->family);
		m->qualifier = hb_pb(c->qualifier);
		m->compare_type = turned(c->op);
		m->comparator = hb_arena_alloc(&client->request, sizeof *m->comparator);
		if (m->comparator == NULL ||
			!hb_filter_comparator(&client->request, c->value, m->comparator))
			return no_memory(client);
	}
	if (c->time_range)
	{
		m->time_range = hb_arena_alloc(&client->request, sizeof *m->time_range);
		if (m->time_range == NULL)
			return no_memory(client);
		hbp__time_range__init(m->time_range);
		m->time_range->has_from = m->time_range->has_to = 1;
		m->time_range->from = (uint64_t) c->min_time;
		m->time_range->to = (uint64_t) c->max_time;
	}
	return HB_OK;
}

/* Returns the row's messages, in client->request; their cells are in client->cells.
 * NULL: client->failure says why. */
static Hbp__MutationProto *
make_messages(hb_client *client, const operation *o)
{
	Hbp__MutationProto *messages = hb_arena_alloc(&client->request,
												  (size_t) o->n_messages * sizeof *messages);

	client->cells.len = 0;
	if (messages == NULL)
	{
		(void) no_memory(client);
		return NULL;
	}
	if (hb_change_messages(client, o->row, messages) != HB_OK)
		return NULL;
	for (int i = 0; i < o->n_messages; i++)
	{
		messages[i].has_nonce = 1;
		messages[i].nonce = o->nonce + (uint64_t) i;
	}
	return messages;
}

/* Fills in the RegionAction, in client->request. */
static hb_status
set_action(hb_client *client, const operation *o, Hbp__RegionAction *ra)
{
	hb_arena *a = &client->request;
	int n = o->n_messages;
	Hbp__MutationProto *messages = make_messages(client, o);
	Hbp__Action *actions = hb_arena_alloc(a, (size_t) n * sizeof *actions);

	if (messages == NULL)
		return client->failure.error.status;
	ra->action = hb_arena_alloc(a, (size_t) n * sizeof *ra->action);
	if (actions == NULL || ra->action == NULL)
		return no_memory(client);
	for (int i = 0; i < n; i++)
	{
		hbp__action__init(&actions[i]);
		actions[i].has_index = 1;
		actions[i].index = (uint32_t) i;
		actions[i].mutation = &messages[i];
		ra->action[i] = &actions[i];
	}
	ra->n_action = (size_t) n;
	ra->has_atomic = ra->atomic = 1;
	return HB_OK;
}

static hb_status
take(hb_client *client, operation *o, const hb_server *server, hb_call *call)
{
	Hbp__MultiResponse *response;
	const Hbp__RegionActionResult *r;
	hb_bytes block;

	HB_TRY(hb_rpc_unpack(client, call, &hbp__multi_response__descriptor, &response));
	if (response->n_region_action_result != 1)
		return hb_status_fail(client, HB_PROTOCOL, "an answer of Multi cannot be understood");
	r = response->region_action_result[0];
	if (r->exception != NULL)
		return hb_result_exception(client, server, r->exception);
	o->processed = r->has_processed ? r->processed : response->processed;
	block = call->cells;
	HB_TRY(hb_result_keep(client, o->result, call));
	for (size_t i = 0; i < r->n_result_or_exception; i++)
	{
		const Hbp__ResultOrException *x = r->result_or_exception[i];

		if (x->exception != NULL)
			return hb_result_exception(client, server, x->exception);
		if (x->result != NULL)
			HB_TRY(hb_result_add(client, o->result, 0, x->result, &block));
	}
	return HB_OK;
}

/* Sends all as a Multi, and takes the answer. */
static hb_status
multi(hb_client *client, operation *o, const hb_server *server, Hbp__RegionSpecifier *region,
	  hb_call *call)
{
	Hbp__MultiRequest req = HBP__MULTI_REQUEST__INIT;
	Hbp__RegionAction ra = HBP__REGION_ACTION__INIT;
	Hbp__RegionAction *list[] = {&ra};
	Hbp__Condition condition = HBP__CONDITION__INIT;

	ra.region = region;
	HB_TRY(set_action(client, o, &ra));
	if (o->condition != NULL)
	{
		HB_TRY(set_condition(client, o, &condition));
		ra.condition = &condition;
	}
	req.region_action = list;
	req.n_region_action = 1;
	req.has_nonce_group = 1;
	req.nonce_group = client->nonce_group;
	HB_TRY(hb_rpc_send(client, call, server, HB_RPC_CLIENT, "Multi", &req.base,
					   hb_memory_bytes(&client->cells)));
	HB_TRY(hb_rpc_finish(client, call));
	return take(client, o, server, call);
}

/* Sends the only message as a Mutate, and takes the answer. */
static hb_status
mutate(hb_client *client, operation *o, const hb_server *server, Hbp__RegionSpecifier *region,
	   hb_call *call)
{
	Hbp__MutateRequest req = HBP__MUTATE_REQUEST__INIT;
	Hbp__MutateResponse *response;
	hb_bytes block;

	req.region = region;
	req.mutation = make_messages(client, o);
	if (req.mutation == NULL)
		return client->failure.error.status;
	req.has_nonce_group = 1;
	req.nonce_group = client->nonce_group;
	HB_TRY(hb_rpc_send(client, call, server, HB_RPC_CLIENT, "Mutate", &req.base,
					   hb_memory_bytes(&client->cells)));
	HB_TRY(hb_rpc_finish(client, call));
	HB_TRY(hb_rpc_unpack(client, call, &hbp__mutate_response__descriptor, &response));
	o->processed = true;
	if (response->result == NULL)
		return HB_OK;
	block = call->cells;
	HB_TRY(hb_result_keep(client, o->result, call));
	return hb_result_add(client, o->result, 0, response->result, &block);
}

static hb_status
try_once(hb_client *client, operation *o, hb_call *call)
{
	Hbp__RegionSpecifier specifier;
	const hb_region *region;
	hb_server server;

	HB_TRY(hb_region_find(client, o->table, o->row->key, false, &region));
	hb_region_server(region, &server);
	hb_region_specify(&specifier, region->name);
	hb_arena_reset(&client->request);
	return o->n_messages == 1 && o->condition == NULL ? mutate(client, o, &server, &specifier, call)
													  : multi(client, o, &server, &specifier, call);
}

static hb_status
run(hb_client *client, operation *o)
{
	hb_retry retry;
	hb_call call = {0};
	hb_status st;

	hb_rpc_begin(client, &retry);
	o->nonce = client->nonce + 1;
	client->nonce += (uint64_t) o->n_messages;
	do
	{
		st = try_once(client, o, &call);
		if (st == HB_OK)
			break;
		st = hb_region_retry(client, &retry, o->table);
	} while (st == HB_OK);
	hb_rpc_free(client, &call);
	return st;
}

/* Makes the changes; o->processed says whether the condition was true. */
static hb_status
change_row(hb_client *client, operation *o, hb_rows **rows)
{
	hb_status st;

	if (rows != NULL)
		*rows = NULL;
	HB_TRY(hb_change_check(client, o->row, true));
	o->n_messages = hb_change_count(o->row);
	HB_TRY(hb_result_new(client, 1, &o->result));
	st = run(client, o);
	if (st == HB_OK && rows != NULL)
		*rows = &o->result->rows;
	else
		hb_rows_free(client, &o->result->rows);
	return st;
}

hb_status
hb_row_change(hb_client *client, const char *table, const hb_mutation *row, hb_rows **rows)
{
	operation o = {.table = table, .row = row};

	return change_row(client, &o, rows);
}

hb_status
hb_check_and_mutate(hb_client *client, const char *table, const hb_condition *condition,
					const hb_mutation *row, bool *matched, hb_rows **rows)
{
	operation o = {.table = table, .condition = condition, .row = row};

	*matched = false;
	HB_TRY(change_row(client, &o, rows));
	*matched = o.processed;
	return HB_OK;
}

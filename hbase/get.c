/* get.c - reads of rows by their keys; declared in hbase.h */
#include "hbase/multi.h"
#include "hbase/read.h"
#include "hbase/region.h"
#include "hbase/result.h"

#define GET_SIZE 64 /* bytes of a request, besides the key and the columns */

/* The context of hb_multi. */
typedef struct gets
{
	const hb_read *read;
	hb_arena arena; /* of the message */
	hb_read_message message;
	hb_result *result;
} gets;

static hb_bytes
key_of(const hb_multi *m, int64_t i)
{
	return ((const hb_bytes *) m->rows)[i];
}

static size_t
size_of(const hb_multi *m, int64_t i)
{
	return key_of(m, i).len + GET_SIZE;
}

static int
count(const hb_multi *m, int64_t i)
{
	(void) m;
	(void) i;
	return 1;
}

static void
fill_get(const gets *g, hb_bytes key, Hbp__Get *get)
{
	hbp__get__init(get);
	get->row = hb_pb(key);
	get->column = g->message.columns;
	get->n_column = g->message.n_columns;
	get->filter = g->message.filter;
	get->time_range = g->message.time_range;
	get->has_max_versions = get->has_cache_blocks = 1;
	get->max_versions = g->message.max_versions;
	get->has_store_limit = g->read->family_cells > 0;
	get->store_limit = (uint32_t) g->read->family_cells;
	get->cache_blocks = !g->read->no_cache;
}

static hb_status
fill(hb_multi *m, int64_t i, Hbp__Action *action)
{
	action->get = hb_arena_alloc(&m->client->request, sizeof *action->get);
	if (action->get == NULL)
		return hb_status_fail(m->client, HB_NOMEM, "out of memory");
	fill_get(m->ctx, key_of(m, i), action->get);
	return HB_OK;
}

static hb_status
take_result(hb_multi *m, int64_t i, const Hbp__Result *result, hb_bytes *block)
{
	return hb_result_add(m->client, ((gets *) m->ctx)->result, (int) i, result, block);
}

static hb_status
take_answer(hb_multi *m, hb_call *call)
{
	return hb_result_keep(m->client, ((gets *) m->ctx)->result, call);
}

static const hb_multi_operation operation = {key_of, size_of,	  count,
											 fill,	 take_result, take_answer};

/* A single key: a call of its own is less work for the server. */
static hb_status
get_one(hb_client *client, gets *g, hb_bytes key, hb_call *call)
{
	Hbp__GetRequest req = HBP__GET_REQUEST__INIT;
	Hbp__RegionSpecifier specifier;
	Hbp__GetResponse *response;
	Hbp__Get get;
	const hb_region *region;
	hb_server server;
	hb_bytes block;

	HB_TRY(hb_region_find(client, g->read->table, key, false, &region));
	hb_region_server(region, &server);
	hb_region_specify(&specifier, region->name);
	fill_get(g, key, &get);
	req.region = &specifier;
	req.get = &get;
	HB_TRY(hb_rpc_call(client, call, &server, HB_RPC_CLIENT, "Get", &req.base,
					   &hbp__get_response__descriptor, &response));
	block = call->cells;
	if (response->result == NULL)
		return HB_OK;
	HB_TRY(hb_result_keep(client, g->result, call));
	return hb_result_add(client, g->result, 0, response->result, &block);
}

static hb_status
get_single(hb_client *client, gets *g, hb_bytes key)
{
	hb_retry retry;
	hb_call call = {0};
	hb_status st;

	hb_rpc_begin(client, &retry);
	do
	{
		st = get_one(client, g, key, &call);
		if (st == HB_OK)
			break;
		st = hb_region_retry(client, &retry, g->read->table);
	} while (st == HB_OK);
	hb_rpc_free(client, &call);
	return st;
}

static hb_status
check_keys(hb_client *client, const hb_read *read, const hb_bytes *keys, int n)
{
	if (read->table == NULL)
		return hb_status_fail(client, HB_INVALID, "no table is given");
	for (int i = 0; i < n; i++)
	{
		if (keys[i].len == 0 || keys[i].len > HB_MAX_ROW)
			return hb_status_fail(client, HB_INVALID, "a key must have 1 to %d bytes", HB_MAX_ROW);
	}
	return HB_OK;
}

hb_status
hb_get_many(hb_client *client, const hb_read *read, const hb_bytes *keys, int n, hb_rows **rows)
{
	gets g = {.read = read};
	hb_multi m = {client, read->table, &operation, keys, &g, n, .done = 0};
	hb_status st;

	*rows = NULL;
	HB_TRY(check_keys(client, read, keys, n));
	HB_TRY(hb_result_new(client, n, &g.result));
	hb_arena_init(&g.arena, &client->host);
	st = hb_read_to_message(client, &g.arena, read, &g.message);
	if (st == HB_OK)
		st = n == 1 ? get_single(client, &g, keys[0]) : hb_multi_run(&m);
	hb_arena_free(&g.arena);
	if (st == HB_OK)
		*rows = &g.result->rows;
	else
		hb_rows_free(client, &g.result->rows);
	return st;
}

/* multi.c - an operation on many rows, by server */
#include <stdlib.h>
#include "hbase/multi.h"
#include "hbase/region.h"
#include "hbase/result.h"

#define ROUND_FACTOR 4	 /* rows that are looked at in a round, by those that one call takes */
#define CALLS		 4	 /* to one server in a round: it works on a call in one thread */
#define CALL_ROWS	 100 /* that are worth a call of their own */

/* A row of this round. */
typedef struct item
{
	const hb_region *region;
	int64_t row;
	int server; /* number of its server in this round */
} item;

/* A RegionAction, and the rows that it is about. */
typedef struct group
{
	const item *items;
	int n;
	bool atomic; /* of one row */
} group;

/* A call. */
typedef struct batch
{
	hb_server server;
	hb_call call;
	group *groups;
	int n_groups;
} batch;

typedef struct round
{
	item *items;
	int n_items;
	batch **batches; /* first one for each server, by its number */
	int n_batches;
	int sent;			/* rows */
	bool failed;		/* client->failure is that of a row or server */
	hb_failure failure; /* the worst */
} round;

static hb_status
no_memory(hb_client *client)
{
	return hb_status_fail(client, HB_NOMEM, "out of memory");
}

/* Notes client->failure; one without a cure counts more. */
static void
note(hb_multi *m, round *r, int64_t row)
{
	if (r->failed && (r->failure.cure == HB_CURE_NONE || m->client->failure.cure != HB_CURE_NONE))
		return;
	r->failed = true;
	r->failure = m->client->failure;
	if (r->failure.cure == HB_CURE_NONE)
		m->failed_row = row;
}

/* ---- grouping ---- */

static int
compare_items(const void *a, const void *b)
{
	const item *x = a;
	const item *y = b;

	if (x->server != y->server)
		return x->server < y->server ? -1 : 1;
	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Returns a new batch; NULL: no memory. */
static batch *
add_batch(hb_multi *m, round *r, const hb_server *server)
{
	batch *b;

	if (r->n_batches % 16 == 0)
	{
		batch **more = hb_arena_alloc(&m->arena, ((size_t) r->n_batches + 16) * sizeof *r->batches);

		if (more == NULL)
			return NULL;
		if (r->n_batches > 0)
			memcpy(more, r->batches, (size_t) r->n_batches * sizeof *more);
		r->batches = more;
	}
	b = hb_arena_alloc(&m->arena, sizeof *b);
	if (b == NULL)
		return NULL;
	b->server = *server;
	r->batches[r->n_batches++] = b;
	return b;
}

/* Returns the number of the region's server in this round; -1: no memory. */
static int
number_of_server(hb_multi *m, round *r, const hb_region *region)
{
	hb_server server;

	for (int i = 0; i < r->n_batches; i++)
	{
		if (r->batches[i]->server.port == region->port &&
			strcmp(r->batches[i]->server.host, region->host) == 0)
			return i;
	}
	hb_region_server(region, &server);
	return add_batch(m, r, &server) == NULL ? -1 : r->n_batches - 1;
}

/* Finds the regions of the rows that are next. */
static hb_status
collect(hb_multi *m, round *r)
{
	int64_t left = m->n - m->first;
	int64_t most = (int64_t) m->client->max_rows * ROUND_FACTOR;

	if (left > most)
		left = most;
	r->items = hb_arena_alloc(&m->arena, (size_t) left * sizeof *r->items);
	if (r->items == NULL)
		return no_memory(m->client);
	for (int64_t i = m->first; i < m->n && r->n_items < left; i++)
	{
		item *it = &r->items[r->n_items];

		if (m->is_done[i])
			continue;
		HB_TRY(hb_region_find(m->client, m->table, m->operation->key(m, i), false, &it->region));
		it->row = i;
		it->server = number_of_server(m, r, it->region);
		if (it->server < 0)
			return no_memory(m->client);
		r->n_items++;
	}
	qsort(r->items, (size_t) r->n_items, sizeof *r->items, compare_items);
	return HB_OK;
}

/* Returns the number of the items [first, end) that go in one call of at most so many rows. */
static int
fit(hb_multi *m, const round *r, int first, int end, int rows)
{
	size_t size = 0;
	int i = first;

	while (i < end && i - first < rows)
	{
		size += m->operation->size(m, r->items[i].row);
		if (i > first && size > m->client->max_request)
			break;
		i++;
	}
	return i - first;
}

/* ---- sending ---- */

/* Adds the actions of a row to a RegionAction. */
static hb_status
add_actions(hb_multi *m, Hbp__RegionAction *ra, int index, const item *it, int n)
{
	Hbp__Action *actions = hb_arena_alloc(&m->client->request, (size_t) n * sizeof *actions);

	if (actions == NULL)
		return no_memory(m->client);
	for (int i = 0; i < n; i++)
	{
		hbp__action__init(&actions[i]);
		actions[i].has_index = 1;
		actions[i].index = (uint32_t) (n > 1 ? i : index);
		ra->action[ra->n_action++] = &actions[i];
	}
	return m->operation->fill(m, it->row, actions);
}

/* Returns how many of n items can share the RegionAction of the first. */
static int
run_length(const hb_multi *m, const item *items, int n)
{
	int i = 1;

	while (i < n && items[i].region == items->region && m->operation->count(m, items[i].row) == 1)
		i++;
	return i;
}

/* Makes the RegionActions of n items, and the groups that say what they are. */
static hb_status
make_groups(hb_multi *m, batch *b, const item *items, int n, Hbp__MultiRequest *req)
{
	hb_arena *a = &m->client->request;
	Hbp__RegionAction *ra = hb_arena_alloc(a, (size_t) n * sizeof *ra);

	req->region_action = hb_arena_alloc(a, (size_t) n * sizeof *req->region_action);
	b->groups = hb_arena_alloc(&m->arena, (size_t) n * sizeof *b->groups);
	if (ra == NULL || req->region_action == NULL || b->groups == NULL)
		return no_memory(m->client);
	b->n_groups = 0;
	for (int i = 0; i < n; i++)
	{
		int count = m->operation->count(m, items[i].row);
		group *g = b->n_groups > 0 ? &b->groups[b->n_groups - 1] : NULL;

		if (g == NULL || g->atomic || count > 1 || g->items->region != items[i].region)
		{
			Hbp__RegionSpecifier *spec = hb_arena_alloc(a, sizeof *spec);
			Hbp__RegionAction *r = &ra[b->n_groups];

			hbp__region_action__init(r);
			r->action = hb_arena_alloc(a, (size_t) (count > 1 ? count
															  : run_length(m, &items[i], n - i)) *
											  sizeof *r->action);
			if (spec == NULL || r->action == NULL)
				return no_memory(m->client);
			hb_region_specify(spec, items[i].region->name);
			r->region = spec;
			r->has_atomic = r->atomic = count > 1;
			req->region_action[b->n_groups] = r;
			g = &b->groups[b->n_groups++];
			*g = (group) {&items[i], 0, count > 1};
		}
		HB_TRY(add_actions(m, &ra[b->n_groups - 1], g->n, &items[i], count));
		g->n++;
	}
	req->n_region_action = (size_t) b->n_groups;
	return HB_OK;
}

static hb_status
send_batch(hb_multi *m, round *r, batch *b, int first, int n)
{
	hb_client *c = m->client;
	Hbp__MultiRequest req = HBP__MULTI_REQUEST__INIT;
	hb_status st;

	hb_arena_reset(&c->request);
	c->cells.len = 0;
	HB_TRY(make_groups(m, b, &r->items[first], n, &req));
	r->sent += n;
	st = hb_rpc_send(c, &b->call, &b->server, HB_RPC_CLIENT, "Multi", &req.base,
					 hb_memory_bytes(&c->cells));
	if (st == HB_NOMEM)
		return st;
	if (st != HB_OK)
		note(m, r, -1);
	return HB_OK;
}

/* Sends one server the items [first, end), as far as they fit into some calls. */
static hb_status
send_server(hb_multi *m, round *r, int first, int end)
{
	batch *b = r->batches[r->items[first].server];
	int rows = (end - first - 1) / CALLS + 1;

	if (rows < CALL_ROWS)
		rows = CALL_ROWS;
	if (rows > m->client->max_rows)
		rows = m->client->max_rows;
	for (int i = 0; i < CALLS && first < end; i++)
	{
		int n = fit(m, r, first, end, rows);

		if (i > 0)
			b = add_batch(m, r, &b->server);
		if (b == NULL)
			return no_memory(m->client);
		HB_TRY(send_batch(m, r, b, first, n));
		first += n;
	}
	return HB_OK;
}

static hb_status
send_all(hb_multi *m, round *r)
{
	for (int i = 0, end; i < r->n_items; i = end)
	{
		for (end = i + 1; end < r->n_items && r->items[end].server == r->items[i].server;)
			end++;
		HB_TRY(send_server(m, r, i, end));
	}
	return HB_OK;
}

/* ---- answers ---- */

static hb_status
garbage(hb_multi *m)
{
	return hb_status_fail(m->client, HB_PROTOCOL, "an answer of Multi cannot be understood");
}

static void
set_done(hb_multi *m, int64_t row)
{
	if (!m->is_done[row])
	{
		m->is_done[row] = 1;
		m->done++;
	}
}

/* Takes the results of one group. */
static hb_status
take_group(hb_multi *m, round *r, const batch *b, const group *g,
		   const Hbp__RegionActionResult *result, hb_bytes *block)
{
	bool bad = false;

	if (result->exception != NULL)
	{
		(void) hb_result_exception(m->client, &b->server, result->exception);
		note(m, r, g->n == 1 ? g->items->row : -1);
		return HB_OK;
	}
	for (size_t i = 0; i < result->n_result_or_exception; i++)
	{
		const Hbp__ResultOrException *x = result->result_or_exception[i];
		int64_t row;

		if (!g->atomic && x->index >= (uint32_t) g->n)
			return garbage(m);
		row = g->items[g->atomic ? 0 : x->index].row;
		if (x->exception != NULL)
		{
			(void) hb_result_exception(m->client, &b->server, x->exception);
			note(m, r, row);
			bad = true;
			continue;
		}
		if (x->result != NULL)
			HB_TRY(m->operation->result(m, row, x->result, block));
		if (!g->atomic)
			set_done(m, row);
	}
	if (g->atomic && !bad)
		set_done(m, g->items->row);
	return HB_OK;
}

static hb_status
take_batch(hb_multi *m, round *r, batch *b)
{
	Hbp__MultiResponse *response;
	hb_bytes block;

	if (b->call.state == HB_CALL_FAILED)
	{
		m->client->failure = b->call.failure;
		note(m, r, -1);
		return HB_OK;
	}
	if (b->call.state != HB_CALL_DONE)
		return HB_OK;
	HB_TRY(hb_rpc_unpack(m->client, &b->call, &hbp__multi_response__descriptor, &response));
	if (response->n_region_action_result != (size_t) b->n_groups)
		return garbage(m);
	block = b->call.cells;
	HB_TRY(m->operation->answer(m, &b->call));
	for (int i = 0; i < b->n_groups; i++)
		HB_TRY(take_group(m, r, b, &b->groups[i], response->region_action_result[i], &block));
	return HB_OK;
}

static hb_status
receive_all(hb_multi *m, round *r)
{
	hb_call **calls = hb_arena_alloc(&m->arena, ((size_t) r->n_batches + 1) * sizeof *calls);
	int n = 0;

	if (calls == NULL)
		return no_memory(m->client);
	for (int i = 0; i < r->n_batches; i++)
		calls[n++] = &r->batches[i]->call;
	HB_TRY(hb_rpc_wait(m->client, calls, n));
	for (int i = 0; i < r->n_batches; i++)
		HB_TRY(take_batch(m, r, r->batches[i]));
	return HB_OK;
}

/* ---- rounds ---- */

/* Sends what can be sent at once, and takes the answers.  A failure is client->failure. */
static hb_status
run_round(hb_multi *m)
{
	round r = {0};
	int64_t before = m->done;
	hb_status st;

	hb_arena_reset(&m->arena);
	st = collect(m, &r);
	if (st == HB_OK)
		st = send_all(m, &r);
	if (st == HB_OK)
		st = receive_all(m, &r);
	for (int i = 0; i < r.n_batches; i++)
		hb_rpc_free(m->client, &r.batches[i]->call);
	while (m->first < m->n && m->is_done[m->first])
		m->first++;
	if (m->done > before)
		hb_rpc_progress(m->client, &m->retry);
	if (st != HB_OK)
		return st;
	if (!r.failed && m->done - before < r.sent)
		return garbage(m);
	if (!r.failed)
		return HB_OK;
	m->client->failure = r.failure;
	return r.failure.error.status;
}

hb_status
hb_multi_run(hb_multi *m)
{
	hb_status st = HB_OK;

	m->failed_row = -1;
	if (m->n <= 0)
		return HB_OK;
	m->is_done = m->client->host.alloc(m->client->host.ctx, (size_t) m->n);
	if (m->is_done == NULL)
		return no_memory(m->client);
	memset(m->is_done, 0, (size_t) m->n);
	hb_arena_init(&m->arena, &m->client->host);
	hb_rpc_begin(m->client, &m->retry);
	while (st == HB_OK && m->done < m->n)
	{
		st = run_round(m);
		if (st != HB_OK)
			st = hb_region_retry(m->client, &m->retry, m->table);
	}
	hb_arena_free(&m->arena);
	m->client->host.free(m->client->host.ctx, m->is_done);
	return st;
}

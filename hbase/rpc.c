/* rpc.c - calls: sending them, waiting for answers, repeating them */
#include <stdio.h>
#include "hbase/proto/rpc.pb-c.h"
#include "hbase/rpc.h"
#include "hbase/wire.h"

#define BACKOFF_MIN_MS 10
#define BACKOFF_MAX_MS 1000
#define DOUBTFUL_TRIES 8
#define NOMEM_TEXT	   "out of memory"

hb_status
hb_rpc_send(hb_client *client, hb_call *call, const hb_server *server, const char *service,
			const char *method, const ProtobufCMessage *param, hb_bytes cells)
{
	Hbp__RequestHeader h = HBP__REQUEST_HEADER__INIT;
	Hbp__CellBlockMeta meta = HBP__CELL_BLOCK_META__INIT;
	int64_t now = hb_now(client);
	hb_connection *c;
	hb_status st;

	HB_TRY(hb_connection_get(client, server, service, &c));
	call->deadline_us = now + (int64_t) client->call_timeout_ms * 1000;
	if (call->deadline_us > client->deadline_us)
		call->deadline_us = client->deadline_us;
	call->id = ++client->last_call & INT32_MAX;
	h.has_call_id = h.has_method_name = h.has_request_param = h.has_timeout = 1;
	h.call_id = call->id;
	h.method_name = hb_pb(hb_text(method));
	h.request_param = param != NULL;
	h.timeout = call->deadline_us > now + 1000 ? (uint32_t) ((call->deadline_us - now) / 1000) : 1;
	if (cells.len > 0)
	{
		meta.has_length = 1;
		meta.length = (uint32_t) cells.len;
		h.cell_block_meta = &meta;
	}
	st = hb_wire_frame(&client->host, hb_connection_frames(client, c), &h.base, param, cells);
	if (st != HB_OK)
		return hb_status_fail(client, st, "%s",
							  st == HB_NOMEM ? NOMEM_TEXT : "the request is too large");
	hb_connection_add(c, call);
	hb_connection_flush(client, c);
	return HB_OK;
}

/* ---- waiting ---- */

#define SOCKETS 64 /* that are waited for at a time */

/* Fills in the sockets of the calls that wait; sets the time of the first deadline. */
static int
sockets_of(hb_call *const *calls, int n, hb_wait *sockets, int64_t *deadline)
{
	int m = 0;

	for (int i = 0; i < n && m < SOCKETS; i++)
	{
		hb_connection *c = calls[i]->connection;
		bool seen = false;

		if (calls[i]->state != HB_CALL_WAITING)
			continue;
		if (*deadline > calls[i]->deadline_us)
			*deadline = calls[i]->deadline_us;
		for (int k = 0; k < m; k++)
			seen = seen || sockets[k].fd == c->fd;
		if (!seen)
			sockets[m++] = (hb_wait) {c->fd, c->connected, !c->connected || c->sent < c->out.len};
	}
	return m;
}

static void
pump_all(hb_client *client, hb_call *const *calls, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (calls[i]->state == HB_CALL_WAITING)
			hb_connection_pump(client, calls[i]->connection);
	}
}

/* Fails the calls that are overdue.  Their connections are closed: the servers do not answer. */
static void
expire(hb_client *client, hb_call *const *calls, int n, int64_t now)
{
	for (int i = 0; i < n; i++)
	{
		hb_call *call = calls[i];
		hb_failure f;

		if (call->state != HB_CALL_WAITING || call->deadline_us > now)
			continue;
		hb_status_set(&f, HB_TIMEOUT, HB_CURE_RELOCATE, &call->connection->server,
					  "%s:%d does not answer", call->connection->server.host,
					  call->connection->server.port);
		hb_connection_fail(client, call->connection, &f);
	}
}

static hb_status
interrupted(hb_client *client)
{
	hb_connection_close(client, HB_WHICH_BUSY, HB_LOST);
	return hb_status_fail(client, HB_INTERRUPTED, "interrupted");
}

hb_status
hb_rpc_wait(hb_client *client, hb_call *const *calls, int n)
{
	for (;;)
	{
		hb_wait sockets[SOCKETS];
		int64_t deadline = INT64_MAX;
		int m = sockets_of(calls, n, sockets, &deadline);
		int64_t now;
		int64_t ms;
		int r;

		if (m == 0)
			return HB_OK;
		now = hb_now(client);
		ms = deadline <= now ? 0 : (deadline - now) / 1000 + 1;
		r = client->host.wait(client->host.ctx, sockets, m, ms > 60000 ? 60000 : (int) ms);
		if (r < 0)
			return interrupted(client);
		pump_all(client, calls, n);
		if (r == 0 || ms == 0)
			expire(client, calls, n, hb_now(client));
	}
}

hb_status
hb_rpc_finish(hb_client *client, hb_call *call)
{
	HB_TRY(hb_rpc_wait(client, &call, 1));
	if (call->state != HB_CALL_FAILED)
		return HB_OK;
	client->failure = call->failure;
	return call->failure.error.status;
}

void
hb_rpc_free(hb_client *client, hb_call *call)
{
	hb_connection_drop(call);
	hb_memory_free(&client->host, &call->frame);
}

hb_status
hb_rpc_unpack(hb_client *client, const hb_call *call, const ProtobufCMessageDescriptor *type,
			  void *message)
{
	ProtobufCMessage *m;

	hb_arena_reset(&client->answer);
	m = protobuf_c_message_unpack(type, &client->answer.allocator, call->message.len,
								  call->message.data);
	if (m == NULL)
		return hb_status_fail(client, client->answer.failed ? HB_NOMEM : HB_PROTOCOL, "%s",
							  client->answer.failed ? NOMEM_TEXT
													: "an answer cannot be understood");
	memcpy(message, &m, sizeof m);
	return HB_OK;
}

hb_status
hb_rpc_call(hb_client *client, hb_call *call, const hb_server *server, const char *service,
			const char *method, const ProtobufCMessage *param,
			const ProtobufCMessageDescriptor *type, void *message)
{
	HB_TRY(hb_rpc_send(client, call, server, service, method, param, (hb_bytes) {NULL, 0}));
	HB_TRY(hb_rpc_finish(client, call));
	return hb_rpc_unpack(client, call, type, message);
}

/* ---- repetition ---- */

void
hb_rpc_begin(hb_client *client, hb_retry *retry)
{
	retry->begun_us = 0;
	hb_rpc_progress(client, retry);
}

void
hb_rpc_progress(hb_client *client, hb_retry *retry)
{
	retry->begun_us = hb_now(client);
	retry->tries = retry->doubtful = 0;
	client->deadline_us = retry->begun_us + (int64_t) client->timeout_ms * 1000;
}

hb_status
hb_rpc_sleep(hb_client *client, int ms)
{
	int64_t now = hb_now(client);
	int64_t end = now + (int64_t) ms * 1000;

	while (now < end)
	{
		if (client->host.wait(client->host.ctx, NULL, 0, (int) ((end - now) / 1000) + 1) < 0)
			return interrupted(client);
		now = hb_now(client);
	}
	return HB_OK;
}

hb_status
hb_rpc_again(hb_client *client, hb_retry *retry)
{
	hb_failure *f = &client->failure;
	hb_failure kept;
	int64_t now = hb_now(client);
	int64_t end = client->deadline_us;
	int ms = BACKOFF_MAX_MS;

	if (f->cure == HB_CURE_NONE)
		return f->error.status;
	if (f->doubtful && retry->doubtful++ >= DOUBTFUL_TRIES)
		return f->error.status;
	if (f->error.status == HB_CONNECT &&
		end > retry->begun_us + (int64_t) client->connect_timeout_ms * 1000)
		end = retry->begun_us + (int64_t) client->connect_timeout_ms * 1000;
	if (retry->tries < 7)
		ms = BACKOFF_MIN_MS << retry->tries;
	if (now + (int64_t) ms * 1000 >= end)
		return f->error.status;
	retry->tries++;
	if (client->host.report != NULL)
		client->host.report(client->host.ctx, HB_LEVEL_DEBUG, f->error.text);
	kept = *f;
	HB_TRY(hb_rpc_sleep(client, ms));
	*f = kept;
	return HB_OK;
}

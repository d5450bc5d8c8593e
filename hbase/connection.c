/* connection.c - a connection to one service of one server, and the calls that wait for it */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>
#include "hbase/cell_block.h"
#include "hbase/connection.h"
#include "hbase/proto/rpc.pb-c.h"
#include "hbase/wire.h"

#define RECEIVE		  ((size_t) 64 * 1024)		 /* bytes that are received at a time */
#define GROW		  ((size_t) 1024 * 1024)	 /* room that a length alone is worth */
#define KEEP		  ((size_t) 4 * 1024 * 1024) /* the largest buffer that is kept */
#define IDLE_US		  ((int64_t) 1000000) /* from then on a connection is looked at before use */
#define AUTH_SIMPLE	  80				  /* in the preamble */
#define AUTH_KERBEROS 81
#define FATAL_CALL	  UINT32_MAX		 /* the id of an answer that is meant for all calls */
#define LENGTH_MAX	  ((size_t) 1 << 30) /* of a frame; a larger one is no length */

/* Empties a buffer, and frees a large one. */
static void
empty(hb_client *client, hb_buffer *b)
{
	b->len = 0;
	if (b->cap > KEEP)
		hb_memory_free(&client->host, b);
}

/* the version of HBase's own client that behaves like this one */
#define LIKE	   "2.5.0"
#define LIKE_MAJOR 2
#define LIKE_MINOR 5

static void
close_socket(hb_client *client, hb_connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->connected = false;
	hb_sasl_end(client, &c->sasl);
	c->sent = 0;
	empty(client, &c->out);
	empty(client, &c->in);
	empty(client, &c->frames);
	empty(client, &c->pieces);
}

void
hb_connection_fail(hb_client *client, hb_connection *c, const hb_failure *failure)
{
	hb_call *call;

	close_socket(client, c);
	while ((call = c->calls) != NULL)
	{
		c->calls = call->next;
		call->next = NULL;
		call->connection = NULL;
		call->state = HB_CALL_FAILED;
		call->failure = *failure;
	}
}

static void
lost(hb_client *client, hb_connection *c, const char *what)
{
	hb_failure f;

	hb_status_set(&f, HB_LOST, HB_CURE_RELOCATE, &c->server, "%s %s:%d: %s",
				  c->connected ? "connection lost to" : "cannot connect to", c->server.host,
				  c->server.port, what);
	hb_connection_fail(client, c, &f);
}

static void
garbage(hb_client *client, hb_connection *c, const char *what)
{
	hb_failure f;

	hb_status_set(&f, HB_PROTOCOL, HB_CURE_NONE, &c->server,
				  "the answer of %s:%d cannot be understood: %s", c->server.host, c->server.port,
				  what);
	hb_connection_fail(client, c, &f);
}

static void
no_memory(hb_client *client, hb_connection *c)
{
	hb_failure f;

	hb_status_set(&f, HB_NOMEM, HB_CURE_NONE, &c->server, "out of memory");
	hb_connection_fail(client, c, &f);
}

/* ---- opening ---- */

static hb_status
resolve(hb_client *client, hb_connection *c)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	char port[16];
	int r;

	snprintf(port, sizeof port, "%d", c->server.port);
	r = getaddrinfo(c->server.host, port, &hints, &list);
	c->n_addresses = 0;
	for (struct addrinfo *a = list; r == 0 && a != NULL && c->n_addresses < HB_ADDRESSES;
		 a = a->ai_next)
	{
		if (a->ai_addrlen <= sizeof c->addresses[0])
			memcpy(&c->addresses[c->n_addresses++], a->ai_addr, a->ai_addrlen);
	}
	if (list != NULL)
		freeaddrinfo(list);
	if (c->n_addresses > 0)
		return HB_OK;
	hb_status_set(&client->failure, HB_LOST, HB_CURE_RELOCATE, &c->server,
				  "the address of %s is not known: %s", c->server.host,
				  r != 0 ? gai_strerror(r) : "no address");
	return HB_LOST;
}

/* Begins to connect to the address in use, or one behind it.  Returns false, errno, if none is
 * left. */
static bool
try_addresses(hb_connection *c)
{
	int one = 1;

	for (; c->address < c->n_addresses; c->address++)
	{
		struct sockaddr *a = (struct sockaddr *) &c->addresses[c->address];
		socklen_t n = a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
											   : sizeof(struct sockaddr_in);

		c->fd = socket(a->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (c->fd < 0)
			continue;
		(void) setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		(void) setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
		if (connect(c->fd, a, n) == 0 || errno == EINPROGRESS || errno == EINTR)
			return true;
		close(c->fd);
		c->fd = -1;
	}
	return false;
}

hb_buffer *
hb_connection_frames(hb_client *client, hb_connection *c)
{
	return client->kerberos != NULL ? &c->frames : &c->out;
}

/* With Kerberos the servers take the user from the authentication. */
static hb_status
append_header(hb_client *client, hb_connection *c)
{
	Hbp__ConnectionHeader h = HBP__CONNECTION_HEADER__INIT;
	Hbp__UserInformation user = HBP__USER_INFORMATION__INIT;
	Hbp__VersionInfo version = HBP__VERSION_INFO__INIT;
	hb_buffer *out = hb_connection_frames(client, c);
	uint8_t length[4];
	size_t n;

	user.effective_user = hb_pb(hb_text(client->user));
	h.user_info = client->kerberos != NULL ? NULL : &user;
	h.has_service_name = h.has_cell_block_codec_class = 1;
	h.service_name = hb_pb(hb_text(c->service));
	h.cell_block_codec_class = hb_pb(hb_text(HB_CELL_BLOCK_CODEC));
	/* the server answers a Get with a cell block only to clients of a version from 1.3 on */
	version.version = LIKE;
	version.url = version.revision = version.user = version.date = version.src_checksum = "";
	version.has_version_major = version.has_version_minor = 1;
	version.version_major = LIKE_MAJOR;
	version.version_minor = LIKE_MINOR;
	h.version_info = &version;
	n = protobuf_c_message_get_packed_size(&h.base);
	hb_wire_put32(length, (uint32_t) n);
	HB_TRY(hb_memory_append(&client->host, out, length, sizeof length));
	HB_TRY(hb_memory_reserve(&client->host, out, n));
	out->len += protobuf_c_message_pack(&h.base, out->data + out->len);
	return HB_OK;
}

static hb_status
append_preamble(hb_client *client, hb_connection *c)
{
	static const uint8_t magic[] = {'H', 'B', 'a', 's', 0}; /* version 0 */
	uint8_t method = client->kerberos != NULL ? AUTH_KERBEROS : AUTH_SIMPLE;

	HB_TRY(hb_memory_append(&client->host, &c->out, magic, sizeof magic));
	HB_TRY(hb_memory_append(&client->host, &c->out, &method, 1));
	return append_header(client, c);
}

static hb_status
open_connection(hb_client *client, hb_connection *c)
{
	c->address = 0;
	HB_TRY(resolve(client, c));
	HB_TRY_MEMORY(client, append_preamble(client, c));
	if (try_addresses(c))
		return HB_OK;
	hb_status_set(&client->failure, HB_LOST, HB_CURE_RELOCATE, &c->server,
				  "cannot connect to %s:%d: %s", c->server.host, c->server.port, strerror(errno));
	close_socket(client, c);
	return HB_LOST;
}

/* Returns true if the server has closed an idle connection. */
static bool
is_stale(hb_client *client, hb_connection *c)
{
	char byte;
	int64_t now;
	ssize_t r;

	if (c->calls != NULL || !c->connected)
		return false;
	now = hb_now(client);
	if (now - c->used_us < IDLE_US)
		return false;
	r = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return r == 0 || (r < 0 && errno != EAGAIN && errno != EINTR && errno != EWOULDBLOCK);
}

hb_status
hb_connection_get(hb_client *client, const hb_server *server, const char *service,
				  hb_connection **connection)
{
	hb_connection *c = client->connections;

	while (c != NULL && (c->server.port != server->port || strcmp(c->service, service) != 0 ||
						 strcmp(c->server.host, server->host) != 0))
		c = c->next;
	if (c == NULL)
	{
		c = client->host.alloc(client->host.ctx, sizeof *c);
		if (c == NULL)
			return hb_status_fail(client, HB_NOMEM, "out of memory");
		memset(c, 0, sizeof *c);
		c->fd = -1;
		c->server = *server;
		c->service = service;
		c->next = client->connections;
		client->connections = c;
	}
	*connection = c;
	if (c->fd >= 0 && is_stale(client, c))
		close_socket(client, c);
	return c->fd >= 0 ? HB_OK : open_connection(client, c);
}

/* ---- calls ---- */

void
hb_connection_add(hb_connection *c, hb_call *call)
{
	call->connection = c;
	call->state = HB_CALL_WAITING;
	call->next = c->calls;
	c->calls = call;
}

void
hb_connection_drop(hb_call *call)
{
	if (call->state == HB_CALL_WAITING)
	{
		hb_call **p = &call->connection->calls;

		while (*p != call)
			p = &(*p)->next;
		*p = call->next;
	}
	call->next = NULL;
	call->connection = NULL;
	call->state = HB_CALL_IDLE;
}

/* ---- sending ---- */

/* Returns true once the connection is established. */
static bool
finish_connecting(hb_client *client, hb_connection *c)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;
	int error = 0;
	socklen_t n = sizeof error;

	if (c->connected)
		return true;
	(void) getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n);
	if (error == 0)
	{
		c->connected = getpeername(c->fd, (struct sockaddr *) &peer, &len) == 0;
		return c->connected;
	}
	close(c->fd);
	c->fd = -1;
	c->address++;
	errno = error;
	if (!try_addresses(c))
		lost(client, c, strerror(errno));
	return false;
}

/* Begins to authenticate, or gives frames to out that wait for the end of that.  Returns false if
 * the connection has failed. */
static bool
secure(hb_client *client, hb_connection *c)
{
	hb_failure f;
	hb_status st = HB_OK;

	if (client->kerberos == NULL)
		return true;
	if (c->sasl.state == HB_SASL_IDLE)
		st = hb_sasl_begin(client, &c->server, &c->sasl, &c->out, &f);
	else if (c->sasl.state == HB_SASL_DONE && c->frames.len > 0)
		st = hb_sasl_send(client, &c->sasl, &c->frames, &c->out, &f);
	if (st == HB_OK)
		return true;
	hb_connection_fail(client, c, &f);
	return false;
}

void
hb_connection_flush(hb_client *client, hb_connection *c)
{
	if (c->fd < 0 || !finish_connecting(client, c) || !secure(client, c))
		return;
	while (c->sent < c->out.len)
	{
		ssize_t r = send(c->fd, c->out.data + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (r < 0)
		{
			lost(client, c, strerror(errno));
			return;
		}
		c->sent += (size_t) r;
	}
	c->sent = 0;
	empty(client, &c->out);
}

/* ---- receiving ---- */

static void
remote_failure(hb_connection *c, const Hbp__ExceptionResponse *x, hb_failure *f)
{
	hb_bytes name = hb_from_pb(x->exception_class_name);
	hb_bytes text = hb_from_pb(x->stack_trace);
	const uint8_t *newline = text.len > 0 ? memchr(text.data, '\n', text.len) : NULL;
	hb_cure cure;
	hb_status st = hb_exception_meaning(name, text,
										x->do_not_retry ? HB_RETRY_FORBIDDEN : HB_RETRY_ALLOWED,
										&cure);

	if (x->server_overloaded && cure == HB_CURE_RETRY)
		st = HB_BUSY;
	hb_status_set(f, st, cure, &c->server, " ");
	hb_status_text(f->error.java_class, sizeof f->error.java_class, name);
	if (newline != NULL)
		text.len = (size_t) (newline - text.data);
	hb_status_text(f->error.message, sizeof f->error.message, text);
	memcpy(f->error.text, f->error.message, sizeof f->error.message);
}

static hb_call *
take_call(hb_connection *c, uint32_t id)
{
	for (hb_call **p = &c->calls; *p != NULL; p = &(*p)->next)
	{
		hb_call *call = *p;

		if (call->id == id)
		{
			*p = call->next;
			call->next = NULL;
			call->connection = NULL;
			return call;
		}
	}
	return NULL;
}

/* Splits what follows the header into message and cells.  Returns NULL or what is wrong. */
static const char *
split_frame(hb_call *call, hb_bytes rest, const Hbp__CellBlockMeta *meta)
{
	if (!hb_wire_delimited(&rest, &call->message))
		return "the message is cut";
	call->cells = rest;
	if (rest.len != (meta == NULL ? 0 : meta->length))
		return "the cell block has another length than announced";
	return NULL;
}

/* Gives the frame of `len` bytes at the front of c->in to the call.  If nothing follows it, the
 * buffers change places.  Errors: HB_NOMEM. */
static hb_status
give_frame(hb_client *client, hb_connection *c, size_t len, hb_call *call)
{
	hb_buffer old = call->frame;

	if (c->in.len != len)
		return hb_memory_set(&client->host, &call->frame, (hb_bytes) {c->in.data, len});
	call->frame = c->in;
	c->in = old;
	c->in.len = 0;
	return HB_OK;
}

/* Completes a call with the frame of `len` bytes, whose header ends at `at`. */
static void
complete(hb_client *client, hb_connection *c, hb_call *call, const Hbp__ResponseHeader *h,
		 size_t at, size_t len)
{
	const char *wrong;

	if (h->exception != NULL)
	{
		remote_failure(c, h->exception, &call->failure);
		call->state = HB_CALL_FAILED;
		return;
	}
	if (give_frame(client, c, len, call) != HB_OK)
	{
		hb_connection_add(c, call);
		no_memory(client, c);
		return;
	}
	wrong = split_frame(call, (hb_bytes) {call->frame.data + at, len - at}, h->cell_block_meta);
	call->state = HB_CALL_DONE;
	if (wrong != NULL)
	{
		hb_connection_add(c, call);
		garbage(client, c, wrong);
	}
}

/* Unpacks the header of an answer into client->header.  NULL: the connection has failed. */
static Hbp__ResponseHeader *
unpack_header(hb_client *client, hb_connection *c, hb_bytes *rest)
{
	Hbp__ResponseHeader *h;
	hb_bytes header;

	hb_arena_reset(&client->header);
	if (!hb_wire_delimited(rest, &header))
	{
		garbage(client, c, "the header is cut");
		return NULL;
	}
	h = (Hbp__ResponseHeader *) protobuf_c_message_unpack(&hbp__response_header__descriptor,
														  &client->header.allocator, header.len,
														  header.data);
	if (h == NULL && client->header.failed)
		no_memory(client, c);
	else if (h == NULL || !h->has_call_id)
	{
		garbage(client, c, "the header is no header");
		h = NULL;
	}
	return h;
}

/* Deals with the frame of `len` bytes at the front of c->in. */
static void
take_frame(hb_client *client, hb_connection *c, size_t len)
{
	hb_bytes rest = {c->in.data + 4, len - 4};
	Hbp__ResponseHeader *h = unpack_header(client, c, &rest);
	hb_call *call;

	if (h == NULL)
		return;
	if (h->exception != NULL && h->call_id == FATAL_CALL)
	{
		hb_failure f;

		remote_failure(c, h->exception, &f);
		hb_connection_fail(client, c, &f);
		return;
	}
	/* an answer that nobody waits for any more is thrown away */
	call = take_call(c, h->call_id);
	if (call != NULL)
		complete(client, c, call, h, len - rest.len, len);
	if (c->in.len >= len)
	{
		c->in.len -= len;
		memmove(c->in.data, c->in.data + len, c->in.len);
	}
}

/* Instead of the first frame there is a refusal of the authentication.  Returns 0 if it is whole
 * and the connection has failed, else 1. */
static size_t
take_refusal(hb_client *client, hb_connection *c)
{
	hb_failure f;

	if (hb_sasl_read_refusal(&c->server, hb_memory_bytes(&c->in), &f) == HB_OK)
		return 1;
	hb_connection_fail(client, c, &f);
	return 0;
}

/* Deals with all whole frames in c->in.  Returns the bytes that are missing of the next one, as far
 * as its length is known; 0 if the connection was closed. */
static size_t
take_frames(hb_client *client, hb_connection *c)
{
	while (c->fd >= 0 && c->in.len >= 4)
	{
		size_t n = hb_wire_get32(c->in.data);

		if (client->kerberos != NULL && hb_sasl_is_refusal(&c->sasl, hb_memory_bytes(&c->in)))
			return take_refusal(client, c);
		if (n > client->max_response || n > LENGTH_MAX)
		{
			hb_failure f;

			if (n > LENGTH_MAX)
			{
				garbage(client, c, "a length is too large");
				return 0;
			}
			hb_status_set(&f, HB_TOOLARGE, HB_CURE_NONE, &c->server,
						  "an answer of %zu bytes is larger than the limit of %zu", n,
						  client->max_response);
			hb_connection_fail(client, c, &f);
			return 0;
		}
		if (c->in.len < 4 + n)
			return 4 + n - c->in.len;
		/* before the frame, which may end the connection, and its authentication */
		c->sasl.heard = true;
		take_frame(client, c, 4 + n);
	}
	return c->fd < 0 ? 0 : 4 - c->in.len;
}

/* Returns where bytes of the server are received. */
static hb_buffer *
incoming(hb_connection *c)
{
	return c->sasl.state == HB_SASL_DONE && c->sasl.sealed ? &c->pieces : &c->in;
}

/* Deals with all that is whole of what has been received.  Returns as take_frames. */
static size_t
take(hb_client *client, hb_connection *c)
{
	hb_failure f;
	hb_status st;

	if (client->kerberos == NULL || (c->sasl.state == HB_SASL_DONE && !c->sasl.sealed))
		return take_frames(client, c);
	if (c->sasl.state == HB_SASL_DONE)
		st = hb_sasl_open(client, &c->server, &c->sasl, &c->pieces, &c->in, &f);
	else
		st = hb_sasl_take(client, &c->server, &c->sasl, &c->in, &c->out, &f);
	if (st != HB_OK)
		hb_connection_fail(client, c, &f);
	else if (c->sasl.state == HB_SASL_DONE && c->sasl.sealed)
		(void) take_frames(client, c);
	return c->fd < 0 ? 0 : 1;
}

static void
receive(hb_client *client, hb_connection *c)
{
	size_t missing = take(client, c);

	while (missing > 0)
	{
		hb_buffer *in = incoming(c);
		size_t room = missing < RECEIVE ? RECEIVE : missing;
		ssize_t r;

		/* memory grows with what has come, not with what was announced */
		if (room > in->len + GROW)
			room = in->len + GROW;
		if (hb_memory_reserve(&client->host, in, room) != HB_OK)
		{
			no_memory(client, c);
			return;
		}
		r = recv(c->fd, in->data + in->len, room, 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (r <= 0)
		{
			lost(client, c, r == 0 ? "the server has closed it" : strerror(errno));
			return;
		}
		in->len += (size_t) r;
		missing = take(client, c);
		if (c->calls == NULL || (size_t) r < room)
			return;
	}
}

void
hb_connection_pump(hb_client *client, hb_connection *c)
{
	hb_sasl_state before = c->sasl.state;

	hb_connection_flush(client, c);
	if (c->fd >= 0 && c->connected)
		receive(client, c);
	/* an answer to the authentication may have made something to send */
	if (client->kerberos != NULL && before != HB_SASL_DONE)
		hb_connection_flush(client, c);
}

/* ---- closing ---- */

void
hb_connection_close(hb_client *client, hb_which which, hb_status status)
{
	hb_failure f;

	hb_status_set(&f, status, HB_CURE_RELOCATE, NULL, "the connection was closed");
	for (hb_connection *c = client->connections; c != NULL; c = c->next)
	{
		if (which == HB_WHICH_ALL || (which == HB_WHICH_BUSY) == (c->calls != NULL))
			hb_connection_fail(client, c, &f);
	}
}

void
hb_connection_free(hb_client *client)
{
	hb_connection *c;

	hb_connection_close(client, HB_WHICH_ALL, HB_LOST);
	while ((c = client->connections) != NULL)
	{
		client->connections = c->next;
		hb_memory_free(&client->host, &c->in);
		hb_memory_free(&client->host, &c->out);
		hb_memory_free(&client->host, &c->frames);
		hb_memory_free(&client->host, &c->pieces);
		client->host.free(client->host.ctx, c);
	}
}

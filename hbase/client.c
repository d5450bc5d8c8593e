/* client.c - making and freeing clients; declared in hbase.h */
#include <stdlib.h>
#include <sys/random.h>
#include "hbase/gss.h"
#include "hbase/region.h"

#define TIMEOUT_MS		   60000
#define CONNECT_TIMEOUT_MS 5000
#define MAX_RESPONSE	   ((size_t) 256 * 1024 * 1024)
#define MAX_REQUEST		   ((size_t) 2 * 1024 * 1024)
#define MAX_ROWS		   5000
#define UNPACKED_PER_BYTE  16 /* memory that an answer may take, by its length */

/* Reads "host:port" up to end.  Returns false if it is something else. */
static bool
parse_node(const char *s, const char *end, hb_server *node)
{
	const char *colon;
	char *stop;
	long port;

	while (s < end && *s == ' ')
		s++;
	while (end > s && end[-1] == ' ')
		end--;
	colon = memrchr(s, ':', (size_t) (end - s));
	if (colon == NULL || colon == s || colon + 1 == end || colon - s >= HB_HOST_MAX)
		return false;
	port = strtol(colon + 1, &stop, 10);
	if (stop != end || port < 1 || port > 65535)
		return false;
	/* "[::1]:16000" */
	if (*s == '[' && colon[-1] == ']')
	{
		memcpy(node->host, s + 1, (size_t) (colon - s - 2));
		node->host[colon - s - 2] = 0;
	}
	else
	{
		memcpy(node->host, s, (size_t) (colon - s));
		node->host[colon - s] = 0;
	}
	node->port = (int) port;
	return node->host[0] != 0;
}

static hb_status
parse_nodes(hb_client *client, const char *nodes)
{
	int n = 1;

	for (const char *s = nodes; *s != 0; s++)
		n += *s == ',';
	client->nodes = client->host.alloc(client->host.ctx, (size_t) n * sizeof *client->nodes);
	if (client->nodes == NULL)
		return HB_NOMEM;
	for (const char *s = nodes;;)
	{
		const char *end = strchrnul(s, ',');

		if (!parse_node(s, end, &client->nodes[client->n_nodes++]))
			return HB_INVALID;
		if (*end == 0)
			return HB_OK;
		s = end + 1;
	}
}

/* Copies a text; NULL stays NULL. */
static hb_status
copy_text(const hb_client *c, char **to, const char *from)
{
	*to = NULL;
	if (from == NULL)
		return HB_OK;
	*to = c->host.alloc(c->host.ctx, strlen(from) + 1);
	if (*to == NULL)
		return HB_NOMEM;
	memcpy(*to, from, strlen(from) + 1);
	return HB_OK;
}

static hb_status
copy_kerberos(hb_client *c, const hb_kerberos *from)
{
	hb_kerberos_state *k = c->host.alloc(c->host.ctx, sizeof *k);

	if (k == NULL)
		return HB_NOMEM;
	memset(k, 0, sizeof *k);
	c->kerberos = k;
	k->protection = from->protection;
	HB_TRY(copy_text(c, &k->service, from->service != NULL ? from->service : "hbase"));
	HB_TRY(copy_text(c, &k->principal, from->principal));
	HB_TRY(copy_text(c, &k->keytab, from->keytab));
	return copy_text(c, &k->cache, from->cache);
}

static void
free_kerberos(hb_client *c)
{
	hb_kerberos_state *k = c->kerberos;

	if (k == NULL)
		return;
	c->host.free(c->host.ctx, k->service);
	c->host.free(c->host.ctx, k->principal);
	c->host.free(c->host.ctx, k->keytab);
	c->host.free(c->host.ctx, k->cache);
	c->host.free(c->host.ctx, k);
}

static hb_status
init(hb_client *c, const hb_options *o)
{
	const char *user = o->user != NULL && o->user[0] != 0 ? o->user : "root";

	c->timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS;
	c->call_timeout_ms = o->call_timeout_ms > 0 ? o->call_timeout_ms : c->timeout_ms / 3 + 1;
	c->connect_timeout_ms = o->connect_timeout_ms > 0 ? o->connect_timeout_ms : CONNECT_TIMEOUT_MS;
	c->max_response = o->max_response > 0 ? o->max_response : MAX_RESPONSE;
	c->max_request = o->max_request > 0 ? o->max_request : MAX_REQUEST;
	c->max_rows = o->max_rows > 0 ? o->max_rows : MAX_ROWS;
	hb_arena_init(&c->request, &c->host);
	hb_arena_init(&c->answer, &c->host);
	hb_arena_init(&c->header, &c->host);
	c->answer.limit = c->max_response * UNPACKED_PER_BYTE;
	c->header.limit = c->max_response * UNPACKED_PER_BYTE;
	if (getrandom(&c->nonce_group, sizeof c->nonce_group, 0) != sizeof c->nonce_group ||
		getrandom(&c->nonce, sizeof c->nonce, 0) != sizeof c->nonce)
		c->nonce_group = (uint64_t) hb_now(c) ^ (uint64_t) (uintptr_t) c;
	c->nonce >>= 2;
	c->nonce_group |= 1; /* 0 means none */
	HB_TRY(copy_text(c, &c->user, user));
	if (o->kerberos != NULL)
		HB_TRY(copy_kerberos(c, o->kerberos));
	return parse_nodes(c, o->nodes);
}

hb_status
hb_client_new(const hb_options *options, const hb_host *host, hb_client **client)
{
	hb_client *c;
	hb_status st;

	*client = NULL;
	if (options->nodes == NULL)
		return HB_INVALID;
	c = host->alloc(host->ctx, sizeof *c);
	if (c == NULL)
		return HB_NOMEM;
	memset(c, 0, sizeof *c);
	c->host = *host;
	st = init(c, options);
	if (st != HB_OK)
	{
		hb_client_free(c);
		return st;
	}
	*client = c;
	return HB_OK;
}

void
hb_client_free(hb_client *client)
{
	hb_host host;

	if (client == NULL)
		return;
	host = client->host;
	hb_connection_free(client);
	hb_region_free(client);
	if (client->request.host != NULL)
	{
		hb_arena_free(&client->request);
		hb_arena_free(&client->answer);
		hb_arena_free(&client->header);
	}
	hb_memory_free(&host, &client->cells);
	host.free(host.ctx, client->nodes);
	host.free(host.ctx, client->user);
	free_kerberos(client);
	host.free(host.ctx, client);
}

bool
hb_client_has_kerberos(void)
{
	return hb_gss_built();
}

const char *
hb_client_user(const hb_client *client)
{
	return client->kerberos != NULL ? client->kerberos->authenticated : client->user;
}

void
hb_client_close_idle(hb_client *client)
{
	hb_connection_close(client, HB_WHICH_IDLE, HB_LOST);
}

void
hb_client_set_timeout(hb_client *client, int timeout_ms)
{
	client->timeout_ms = timeout_ms > 0 ? timeout_ms : TIMEOUT_MS;
	client->call_timeout_ms = client->timeout_ms / 3 + 1;
}

const hb_error *
hb_client_error(const hb_client *client)
{
	return &client->failure.error;
}

/*
 * connection.c
 *		Connections of this session to clusters of HBase.
 *
 * A client is kept for each server and user.  Its callbacks are called where no error may be
 * raised: an interrupt ends the wait, and the caller's next CHECK_FOR_INTERRUPTS() reports it.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/remote/connection.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "access/xact.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "fdw/store/host.h"
#include "fdw/store/wait_event.h"

#define SLICE_MS	20 /* longest wait without a look for interrupts */
#define MAX_SOCKETS 64 /* that one call of poll waits for */

typedef struct ConnectionKey
{
	Oid server;
	Oid user;
} ConnectionKey;

typedef struct Connection
{
	ConnectionKey key; /* hash key */
	hb_client *client; /* NULL: none yet */
	bool stale;		   /* the server, the user mapping or the role has changed */
	bool kerberos;	   /* the client authenticates */

	/* what has happened */
	char name[NAMEDATALEN]; /* that the servers know; longer ones are cut here */
	TimestampTz since;
	int64 waits, wait_us, retries, errors;
	char last_error[256];
	TimestampTz last_error_at;
} Connection;

static HTAB *connections = NULL;

/* ---------------------------------------------------------------- callbacks */

static int64_t
now_us(void *ctx)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Waits for a socket in slices, because a signal may come just before poll. */
static int
wait_sockets(void *ctx, const hb_wait *sockets, int n, int timeout_ms)
{
	struct pollfd fds[MAX_SOCKETS];
	Connection *c = ctx;
	int64 begun = now_us(NULL);
	int left = timeout_ms, ready = 0;

	n = Min(n, MAX_SOCKETS);
	for (int i = 0; i < n; i++)
		fds[i] = (struct pollfd) {.fd = sockets[i].fd,
								  .events = (sockets[i].readable ? POLLIN : 0) |
											(sockets[i].writable ? POLLOUT : 0)};
	pgstat_report_wait_start(wt_wait_event(WT_WAIT_REMOTE));
	for (;;)
	{
		int slice = left < 0 || left > SLICE_MS ? SLICE_MS : left;

		if (wt_host_interrupted())
		{
			ready = -1;
			break;
		}
		ready = poll(fds, (nfds_t) n, slice);
		if (ready > 0)
			break;
		if (ready < 0 && errno != EINTR)
			break;
		ready = 0;
		if (left >= 0 && (left -= slice) <= 0)
			break;
	}
	pgstat_report_wait_end();
	c->waits++;
	c->wait_us += now_us(NULL) - begun;
	return ready;
}

static void *
take_memory(void *ctx, size_t size)
{
	return malloc(size);
}

static void *
resize_memory(void *ctx, void *p, size_t size)
{
	return realloc(p, size);
}

static void
give_memory(void *ctx, void *p)
{
	free(p);
}

static void
report(void *ctx, hb_level level, const char *text)
{
	ErrorContextCallback *callers = error_context_stack;

	((Connection *) ctx)->retries++;
	/* nothing may longjmp: levels that return, no cancellation at the end of ereport(), and none
	 * of the callers' functions that describe what they do */
	HOLD_INTERRUPTS();
	error_context_stack = NULL;
	ereport(level == HB_LEVEL_WARNING ? LOG : DEBUG1, (errmsg_internal("widetable: %s", text)));
	error_context_stack = callers;
	RESUME_INTERRUPTS();
}

/* -------------------------------------------------------------- connections */

/* Copies as much of a text as there is room for, in whole characters, and no other bytes: the text
 * of an error has bytes of a server. */
static void
cut_text(char *to, const char *text, size_t size)
{
	int len = pg_encoding_verifymbstr(GetDatabaseEncoding(), text, (int) strlen(text));

	len = pg_mbcliplen(text, len, (int) size - 1);
	memcpy(to, text, len);
	to[len] = '\0';
}

/* A server, a user mapping or a role, which may not be a superuser any more, has changed: which one
 * is not worth finding out. */
static void
mark_stale(Datum arg, int cache, uint32 hash)
{
	HASH_SEQ_STATUS scan;
	Connection *c;

	if (connections == NULL)
		return;
	hash_seq_init(&scan, connections);
	while ((c = hash_seq_search(&scan)) != NULL)
		c->stale = true;
}

/* At the end of a transaction no scan is open any more. */
static void
end_stale(XactEvent event, void *arg)
{
	HASH_SEQ_STATUS scan;
	Connection *c;

	if ((event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT) || connections == NULL)
		return;
	hash_seq_init(&scan, connections);
	while ((c = hash_seq_search(&scan)) != NULL)
		if (c->stale && c->client != NULL)
		{
			hb_client_free(c->client);
			c->client = NULL;
		}
}

/* What a user mapping says. */
typedef struct Mapping
{
	char *user; /* NULL, also below: not given */
	char *principal, *keytab, *cache;
	bool server_credentials;
} Mapping;

static void
take_mapping_option(Mapping *m, DefElem *def)
{
	if (strcmp(def->defname, "user") == 0)
		m->user = defGetString(def);
	else if (strcmp(def->defname, "principal") == 0)
		m->principal = defGetString(def);
	else if (strcmp(def->defname, "keytab") == 0)
		m->keytab = defGetString(def);
	else if (strcmp(def->defname, "credential_cache") == 0)
		m->cache = defGetString(def);
	else if (strcmp(def->defname, "server_credentials") == 0)
		m->server_credentials = defGetBoolean(def);
}

/* Reads the user's mapping, or that of PUBLIC; all is empty if there is none. */
static Mapping
read_mapping(const ConnectionKey *key)
{
	HeapTuple tup = SearchSysCache2(USERMAPPINGUSERSERVER, ObjectIdGetDatum(key->user),
									ObjectIdGetDatum(key->server));
	Mapping m = {0};
	ListCell *lc;

	if (!HeapTupleIsValid(tup))
		tup = SearchSysCache2(USERMAPPINGUSERSERVER, ObjectIdGetDatum(InvalidOid),
							  ObjectIdGetDatum(key->server));
	if (HeapTupleIsValid(tup))
	{
		ReleaseSysCache(tup);
		foreach(lc, GetUserMapping(key->user, key->server)->options)
			take_mapping_option(&m, lfirst(lc));
	}
	return m;
}

/* ----------------------------------------------------------------- Kerberos */

static const char *
server_name(const ConnectionKey *key)
{
	return GetForeignServer(key->server)->servername;
}

/*
 * Which credentials the user may show.  The tickets of the server process are not its users': they
 * are used for superusers, and for those to whom a superuser has given some of them by a user
 * mapping (the validator sees to that).
 */
static void
check_credentials(const ConnectionKey *key, const Mapping *m)
{
	const char *cache = getenv("KRB5CCNAME");

	if (m->user != NULL)
		ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
						errmsg("option \"user\" of a user mapping is not for server \"%s\"",
							   server_name(key)),
						errdetail("It has authentication 'kerberos': the cluster knows the user by "
								  "its principal.")));
	if (m->keytab != NULL || m->cache != NULL)
		return;
	if (!m->server_credentials && !superuser_arg(key->user))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("role \"%s\" has no credentials for server \"%s\"",
							   GetUserNameFromId(key->user, false), server_name(key)),
						errhint("A superuser can give it some by a user mapping with option "
								"\"keytab\", \"credential_cache\" or \"server_credentials\".")));
	/* PostgreSQL has put the tickets there that the session's client has delegated */
	if (cache != NULL && strncmp(cache, "MEMORY:", 7) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("the credentials of the server process are not there in this session"),
				 errdetail("Its client's delegated credentials have taken their place."),
				 errhint("Name a keytab or a cache of tickets in the user mapping.")));
}

static hb_kerberos
kerberos_options(const ConnectionKey *key, const Mapping *m, const WtPlace *place)
{
	static const hb_protection protections[] = {[WT_PROTECT_ANY] = HB_PROTECTION_ANY,
												[WT_PROTECT_NOTHING] = HB_PROTECTION_AUTHENTICATION,
												[WT_PROTECT_INTEGRITY] = HB_PROTECTION_INTEGRITY,
												[WT_PROTECT_PRIVACY] = HB_PROTECTION_PRIVACY};

	if (!hb_client_has_kerberos())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("server \"%s\" has authentication 'kerberos', and this library was "
							   "built without Kerberos",
							   server_name(key)),
						errhint("Build it where MIT's GSSAPI library and its headers are "
								"(libkrb5-dev).")));
	check_credentials(key, m);
	return (hb_kerberos) {.service = place->service[0] != '\0' ? place->service : NULL,
						  .principal = m->principal,
						  .keytab = m->keytab,
						  .cache = m->cache,
						  .protection = protections[place->protection]};
}

/* The hint of an error about authentication. */
static const char *
authentication_hint(const hb_client *client)
{
	HASH_SEQ_STATUS scan;
	Connection *c;
	bool kerberos = false;

	hash_seq_init(&scan, connections);
	while ((c = hash_seq_search(&scan)) != NULL)
		kerberos |= c->client == client && c->kerberos;
	return kerberos
			   ? "See that the tickets, or the keytab, of the user mapping are valid, and that "
				 "\"nodes\", \"kerberos_service\" and \"rpc_protection\" are those of the cluster."
			   : "The cluster demands authentication: ALTER SERVER ... OPTIONS (ADD authentication "
				 "'kerberos').";
}

/* ------------------------------------------------------------------ clients */

static hb_client *
connect_to(Connection *c, const WtPlace *place)
{
	const hb_host host = {.ctx = c,
						  .wait = wait_sockets,
						  .alloc = take_memory,
						  .realloc = resize_memory,
						  .free = give_memory,
						  .now_us = now_us,
						  .report = report};
	Mapping m = read_mapping(&c->key);
	hb_options options = {.nodes = place->nodes,
						  .user = m.user != NULL ? m.user : GetUserNameFromId(c->key.user, false),
						  .timeout_ms = place->timeout_ms};
	hb_kerberos kerberos;
	hb_client *client;
	hb_status status;

	if (place->nodes == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION),
				 errmsg("server \"%s\" has no option \"nodes\"",
						server_name(&c->key)),
				 errhint("ALTER SERVER ... OPTIONS (ADD nodes 'host:port,host:port') names some of "
						 "its masters or region servers.")));
	if (place->kerberos)
	{
		kerberos = kerberos_options(&c->key, &m, place);
		options.kerberos = &kerberos;
	}
	status = hb_client_new(&options, &host, &client);
	if (status == HB_NOMEM)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	if (status != HB_OK)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("invalid value \"%s\" for option \"nodes\"", place->nodes),
				 errhint("Write host:port, several separated by commas.")));
	cut_text(c->name, hb_client_user(client), sizeof(c->name));
	c->kerberos = place->kerberos;
	c->since = GetCurrentTimestamp();
	return client;
}

hb_client *
wt_connection_to(Oid server, Oid user, const WtPlace *place)
{
	ConnectionKey key = {server, user};
	Connection *c;
	bool found;

	if (connections == NULL)
	{
		HASHCTL ctl = {.keysize = sizeof(ConnectionKey),
					   .entrysize = sizeof(Connection),
					   .hcxt = TopMemoryContext};

		connections = hash_create("widetable connections", 8, &ctl,
								  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	c = hash_search(connections, &key, HASH_ENTER, &found);
	if (!found)
	{
		memset(c, 0, sizeof(*c));
		c->key = key;
	}
	if (c->client == NULL)
	{
		/* before the user mapping is read: it may change while that is done */
		c->stale = false;
		c->client = connect_to(c, place);
	}
	return c->client;
}

/* ------------------------------------------------------------------- errors */

static int
sqlstate_of(hb_status status)
{
	switch (status)
	{
		case HB_NOMEM:
			return ERRCODE_OUT_OF_MEMORY;
		case HB_CONNECT:
			return ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION;
		case HB_LOST:
		case HB_TIMEOUT:
			return ERRCODE_CONNECTION_FAILURE;
		case HB_NOTABLE:
			return ERRCODE_UNDEFINED_TABLE;
		case HB_NOFAMILY:
			return ERRCODE_UNDEFINED_COLUMN;
		case HB_DISABLED:
			return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
		case HB_EXISTS:
			return ERRCODE_DUPLICATE_TABLE;
		case HB_DENIED:
			return ERRCODE_INSUFFICIENT_PRIVILEGE;
		case HB_AUTH:
			return ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION;
		case HB_BUSY:
			return ERRCODE_INSUFFICIENT_RESOURCES;
		case HB_NOTNUMBER:
		case HB_INVALID:
			return ERRCODE_INVALID_PARAMETER_VALUE;
		case HB_TOOLARGE:
			return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		case HB_PROTOCOL:
			return ERRCODE_PROTOCOL_VIOLATION;
		default:
			return ERRCODE_FDW_ERROR;
	}
}

static void
note_error(const hb_client *client, const char *text)
{
	HASH_SEQ_STATUS scan;
	Connection *c;

	hash_seq_init(&scan, connections);
	while ((c = hash_seq_search(&scan)) != NULL)
		if (c->client == client)
		{
			c->errors++;
			c->last_error_at = GetCurrentTimestamp();
			cut_text(c->last_error, text, sizeof(c->last_error));
		}
}

void
wt_connection_fail(hb_client *client, hb_status status, const char *what, const char *table,
				   const char *more)
{
	const hb_error *e = hb_client_error(client);
	char text[sizeof(e->text)], server[sizeof(e->server)], class[sizeof(e->java_class)];

	if (status == HB_INTERRUPTED)
		CHECK_FOR_INTERRUPTS();
	cut_text(text, e->text, sizeof(text));
	cut_text(server, e->server, sizeof(server));
	cut_text(class, e->java_class, sizeof(class));
	note_error(client, text);
	ereport(ERROR,
			(errcode(status == HB_INTERRUPTED ? ERRCODE_QUERY_CANCELED : sqlstate_of(status)),
			 table != NULL ? errmsg("%s table \"%s\" of HBase: %s", what, table, text)
						   : errmsg("%s HBase: %s", what, text),
			 more != NULL || class[0] != '\0'
				 ? errdetail("%s%s%s%s%s%s", more != NULL ? more : "",
							 more != NULL && class[0] != '\0' ? " " : "",
							 class[0] != '\0' ? "The server " : "", class[0] != '\0' ? server : "",
							 class[0] != '\0' ? " answered: " : "", class)
				 : 0,
			 status == HB_AUTH ? errhint("%s", authentication_hint(client)) : 0));
}

void
wt_connection_each(void (*each)(void *ctx, const WtEngineConnection *c), void *ctx)
{
	HASH_SEQ_STATUS scan;
	Connection *c;

	if (connections == NULL)
		return;
	hash_seq_init(&scan, connections);
	while ((c = hash_seq_search(&scan)) != NULL)
	{
		/* with Kerberos it is known from the first authentication on */
		if (c->client != NULL)
			cut_text(c->name, hb_client_user(c->client), sizeof(c->name));
		each(ctx, &(WtEngineConnection) {.engine = "hbase",
										 .server = c->key.server,
										 .user = c->key.user,
										 .remote_user = c->name,
										 .since = c->since,
										 .waits = c->waits,
										 .wait_us = c->wait_us,
										 .retries = c->retries,
										 .errors = c->errors,
										 .last_error = c->last_error,
										 .last_error_at = c->last_error_at});
	}
}

void
wt_connection_init(void)
{
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, mark_stale, (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, mark_stale, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, mark_stale, (Datum) 0);
	RegisterXactCallback(end_stale, NULL);
}

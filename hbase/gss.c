/* gss.c - a security context of Kerberos, by the system's GSSAPI library */
#include "hbase/gss.h"

#ifdef HB_GSSAPI

#include <errno.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

struct hb_gss
{
	gss_cred_id_t credentials;
	gss_name_t service;
	gss_ctx_id_t context;
	OM_uint32 wanted; /* flags */
};

bool
hb_gss_built(void)
{
	return true;
}

/* ---- failures ---- */

/* Appends what a code of the library means. */
static void
append_meaning(char *text, size_t size, OM_uint32 code, int type)
{
	OM_uint32 minor;
	OM_uint32 more = 0;

	do
	{
		gss_buffer_desc line = GSS_C_EMPTY_BUFFER;
		size_t len = strlen(text);

		if (gss_display_status(&minor, code, type, GSS_C_NO_OID, &more, &line) != GSS_S_COMPLETE)
			return;
		snprintf(text + len, size - len, "%s%.*s", len > 0 ? ": " : "", (int) line.length,
				 (const char *) line.value);
		(void) gss_release_buffer(&minor, &line);
	} while (more != 0);
}

static hb_status
fail(hb_failure *f, const hb_server *server, const char *what, OM_uint32 major, OM_uint32 minor)
{
	char text[512] = "";

	/* what Kerberos says is clearer, if it says something */
	if (minor != 0)
		append_meaning(text, sizeof text, minor, GSS_C_MECH_CODE);
	if (text[0] == 0)
		append_meaning(text, sizeof text, major, GSS_C_GSS_CODE);
	hb_status_set(f, HB_AUTH, HB_CURE_NONE, server, "%s: %s", what, text);
	return HB_AUTH;
}

/* ---- credentials ---- */

static OM_uint32
import(OM_uint32 *minor, const char *text, gss_OID type, gss_name_t *name)
{
	gss_buffer_desc b = {strlen(text), (void *) text};

	return gss_import_name(minor, &b, type, name);
}

/*
 * Tickets that are got with a keytab are kept in a cache of their own in this process, under a name
 * that no other client of the process has, so that no client can use another one's.  It ends with
 * the process: GSSAPI has no call that removes it.
 */
static void
name_cache(hb_client *client)
{
	static atomic_uint last;
	hb_kerberos_state *k = client->kerberos;

	if (k->own_cache[0] == 0)
		snprintf(k->own_cache, sizeof k->own_cache, "MEMORY:hbase-%ld-%u", (long) getpid(),
				 atomic_fetch_add(&last, 1));
}

/* The library says only that there are no tickets if the keytab cannot be read. */
static hb_status
check_keytab(const char *keytab, hb_failure *f)
{
	const char *path = strncmp(keytab, "FILE:", 5) == 0 ? keytab + 5 : keytab;

	if (path[0] != '/' || access(path, R_OK) == 0)
		return HB_OK;
	hb_status_set(f, HB_AUTH, HB_CURE_NONE, NULL, "the keytab \"%s\" cannot be read: %s", path,
				  strerror(errno));
	return HB_AUTH;
}

/* Finds the client's credentials anew for each connection: a ticket may have been renewed. */
static hb_status
acquire(hb_client *client, hb_gss *gss, hb_failure *f)
{
	hb_kerberos_state *k = client->kerberos;
	gss_key_value_element_desc element[2];
	gss_key_value_set_desc store = {2, element};
	gss_OID_set_desc mechanisms = {1, (gss_OID) gss_mech_krb5};
	gss_name_t name = GSS_C_NO_NAME;
	OM_uint32 major = GSS_S_COMPLETE;
	OM_uint32 minor = 0;
	OM_uint32 ignored;

	if (k->keytab != NULL)
	{
		HB_TRY(check_keytab(k->keytab, f));
		name_cache(client);
		element[0] = (gss_key_value_element_desc) {"client_keytab", k->keytab};
		element[1] = (gss_key_value_element_desc) {"ccache", k->own_cache};
	}
	else if (k->cache != NULL)
	{
		/* an empty keytab: else the process's would fill the cache when its ticket has expired */
		element[0] = (gss_key_value_element_desc) {"client_keytab", "MEMORY:hbase-none"};
		element[1] = (gss_key_value_element_desc) {"ccache", k->cache};
	}
	if (k->principal != NULL)
		major = import(&minor, k->principal, (gss_OID) GSS_KRB5_NT_PRINCIPAL_NAME, &name);
	if (major == GSS_S_COMPLETE)
		major = gss_acquire_cred_from(&minor, name, GSS_C_INDEFINITE, &mechanisms, GSS_C_INITIATE,
									  k->keytab != NULL || k->cache != NULL ? &store
																			: GSS_C_NO_CRED_STORE,
									  &gss->credentials, NULL, NULL);
	(void) gss_release_name(&ignored, &name);
	if (GSS_ERROR(major))
		return fail(f, NULL, "there are no credentials of Kerberos", major, minor);
	return HB_OK;
}

/* Returns true if the name of a host has no character that means something in a principal. */
static bool
is_plain(const char *host)
{
	return host[0] != 0 && strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
										"0123456789.-_:") == strlen(host);
}

static hb_status
name_service(hb_client *client, const hb_server *server, hb_gss *gss, hb_failure *f)
{
	char text[sizeof server->host + 128];
	OM_uint32 major;
	OM_uint32 minor;
	int n;

	n = snprintf(text, sizeof text, "%s@%s", client->kerberos->service, server->host);
	if (!is_plain(server->host) || !is_plain(client->kerberos->service) ||
		(size_t) n >= sizeof text)
	{
		hb_status_set(f, HB_AUTH, HB_CURE_NONE, server, "there can be no principal of %s on %s",
					  client->kerberos->service, server->host);
		return HB_AUTH;
	}
	major = import(&minor, text, GSS_C_NT_HOSTBASED_SERVICE, &gss->service);
	return GSS_ERROR(major) ? fail(f, server, "the service has no name", major, minor) : HB_OK;
}

hb_status
hb_gss_new(hb_client *client, const hb_server *server, hb_gss **gss, hb_failure *f)
{
	hb_gss *g = client->host.alloc(client->host.ctx, sizeof *g);
	hb_status st;

	*gss = NULL;
	if (g == NULL)
		return hb_status_no_memory(f);
	memset(g, 0, sizeof *g);
	g->wanted = GSS_C_MUTUAL_FLAG | GSS_C_REPLAY_FLAG | GSS_C_SEQUENCE_FLAG | GSS_C_INTEG_FLAG;
	if (client->kerberos->protection == HB_PROTECTION_ANY ||
		client->kerberos->protection == HB_PROTECTION_PRIVACY)
		g->wanted |= GSS_C_CONF_FLAG;
	st = acquire(client, g, f);
	if (st == HB_OK)
		st = name_service(client, server, g, f);
	if (st == HB_OK)
		*gss = g;
	else
		hb_gss_free(client, g);
	return st;
}

void
hb_gss_free(hb_client *client, hb_gss *gss)
{
	OM_uint32 minor;

	if (gss == NULL)
		return;
	(void) gss_delete_sec_context(&minor, &gss->context, GSS_C_NO_BUFFER);
	(void) gss_release_name(&minor, &gss->service);
	(void) gss_release_cred(&minor, &gss->credentials);
	client->host.free(client->host.ctx, gss);
}

/* ---- the context ---- */

/* Appends what the library has made, and frees that. */
static hb_status
append(hb_client *client, gss_buffer_desc *from, hb_buffer *out, hb_failure *f)
{
	OM_uint32 minor;
	hb_status st = hb_memory_append(&client->host, out, from->value, from->length);

	(void) gss_release_buffer(&minor, from);
	return st == HB_OK ? HB_OK : hb_status_no_memory(f);
}

hb_status
hb_gss_step(hb_client *client, hb_gss *gss, hb_bytes token, hb_buffer *out, bool *done,
			hb_failure *f)
{
	gss_buffer_desc in = {token.len, (void *) token.data};
	gss_buffer_desc answer = GSS_C_EMPTY_BUFFER;
	OM_uint32 flags = 0;
	OM_uint32 needed;
	OM_uint32 minor = 0;
	OM_uint32 major = gss_init_sec_context(&minor, gss->credentials, &gss->context, gss->service,
										   (gss_OID) gss_mech_krb5, gss->wanted, 0,
										   GSS_C_NO_CHANNEL_BINDINGS,
										   token.len == 0 ? GSS_C_NO_BUFFER : &in, NULL, &answer,
										   &flags, NULL);

	HB_TRY(append(client, &answer, out, f));
	*done = major == GSS_S_COMPLETE;
	if (GSS_ERROR(major))
		return fail(f, NULL, "authentication by Kerberos failed", major, minor);
	/* encryption is looked at when it is used */
	needed = gss->wanted & ~(OM_uint32) GSS_C_CONF_FLAG;
	if (*done && (flags & needed) != needed)
	{
		hb_status_set(f, HB_AUTH, HB_CURE_NONE, NULL,
					  "the server has not proven what it is, or cannot protect messages");
		return HB_AUTH;
	}
	return HB_OK;
}

hb_status
hb_gss_seal(hb_client *client, hb_gss *gss, hb_seal seal, hb_bytes bytes, hb_buffer *out,
			hb_failure *f)
{
	gss_buffer_desc in = {bytes.len, (void *) bytes.data};
	gss_buffer_desc sealed = GSS_C_EMPTY_BUFFER;
	bool private = seal == HB_SEAL_PRIVACY;
	OM_uint32 minor = 0;
	OM_uint32 ignored;
	int encrypted = 0;
	OM_uint32 major = gss_wrap(&minor, gss->context, private, GSS_C_QOP_DEFAULT, &in, &encrypted,
							   &sealed);

	if (major == GSS_S_COMPLETE && (encrypted || !private))
		return append(client, &sealed, out, f);
	(void) gss_release_buffer(&ignored, &sealed);
	return fail(f, NULL, "a message cannot be protected", major, minor);
}

hb_status
hb_gss_open(hb_client *client, hb_gss *gss, hb_seal seal, hb_bytes sealed, hb_buffer *out,
			hb_failure *f)
{
	gss_buffer_desc in = {sealed.len, (void *) sealed.data};
	gss_buffer_desc bytes = GSS_C_EMPTY_BUFFER;
	OM_uint32 minor = 0;
	OM_uint32 ignored;
	int encrypted = 0;
	/* any other status: it has come before, or others are missing */
	OM_uint32 major = gss_unwrap(&minor, gss->context, &in, &bytes, &encrypted, NULL);

	if (major == GSS_S_COMPLETE && (encrypted || seal == HB_SEAL_INTEGRITY))
		return append(client, &bytes, out, f);
	(void) gss_release_buffer(&ignored, &bytes);
	return fail(f, NULL,
				major == GSS_S_COMPLETE ? "a message is not encrypted"
										: "a message was damaged, or is not the server's",
				major, minor);
}

size_t
hb_gss_room(hb_gss *gss, hb_seal seal, size_t max)
{
	OM_uint32 minor;
	OM_uint32 room = 0;
	OM_uint32 major = gss_wrap_size_limit(&minor, gss->context, seal == HB_SEAL_PRIVACY,
										  GSS_C_QOP_DEFAULT, (OM_uint32) max, &room);

	return major == GSS_S_COMPLETE ? room : 0;
}

void
hb_gss_principal(hb_gss *gss, char *text, size_t size)
{
	gss_buffer_desc b = GSS_C_EMPTY_BUFFER;
	gss_name_t name = GSS_C_NO_NAME;
	OM_uint32 minor;

	text[0] = 0;
	if (gss_inquire_context(&minor, gss->context, &name, NULL, NULL, NULL, NULL, NULL, NULL) ==
			GSS_S_COMPLETE &&
		gss_display_name(&minor, name, &b, NULL) == GSS_S_COMPLETE)
		hb_status_text(text, size, (hb_bytes) {b.value, b.length});
	(void) gss_release_buffer(&minor, &b);
	(void) gss_release_name(&minor, &name);
}

#else /* HB_GSSAPI */

bool
hb_gss_built(void)
{
	return false;
}

static hb_status
missing(hb_failure *f)
{
	hb_status_set(f, HB_AUTH, HB_CURE_NONE, NULL, "this library was built without Kerberos");
	return HB_AUTH;
}

hb_status
hb_gss_new(hb_client *client, const hb_server *server, hb_gss **gss, hb_failure *f)
{
	(void) client;
	(void) server;
	*gss = NULL;
	return missing(f);
}

hb_status
hb_gss_step(hb_client *client, hb_gss *gss, hb_bytes token, hb_buffer *out, bool *done,
			hb_failure *f)
{
	(void) client;
	(void) gss;
	(void) token;
	(void) out;
	*done = false;
	return missing(f);
}

hb_status
hb_gss_seal(hb_client *client, hb_gss *gss, hb_seal seal, hb_bytes bytes, hb_buffer *out,
			hb_failure *f)
{
	(void) client;
	(void) gss;
	(void) seal;
	(void) bytes;
	(void) out;
	return missing(f);
}

hb_status
hb_gss_open(hb_client *client, hb_gss *gss, hb_seal seal, hb_bytes sealed, hb_buffer *out,
			hb_failure *f)
{
	return hb_gss_seal(client, gss, seal, sealed, out, f);
}

size_t
hb_gss_room(hb_gss *gss, hb_seal seal, size_t max)
{
	(void) gss;
	(void) seal;
	(void) max;
	return 0;
}

void
hb_gss_principal(hb_gss *gss, char *text, size_t size)
{
	(void) gss;
	(void) size;
	text[0] = 0;
}

void
hb_gss_free(hb_client *client, hb_gss *gss)
{
	(void) client;
	(void) gss;
}

#endif /* HB_GSSAPI */

/* sasl.c - how a connection authenticates: SASL's mechanism GSSAPI (RFC 4752) */
#include <stdio.h>
#include "hbase/sasl.h"
#include "hbase/wire.h"

#define TOKEN_MAX	 ((size_t) 64 * 1024) /* of the server; those of Kerberos are below 1 kB */
#define TEXT_MAX	 ((size_t) 64 * 1024) /* of an exception's class, and of its message */
#define OFFER		 4					  /* bytes of an offer, and of the answer to it */
#define RECEIVE_MAX	 0xffffff /* the largest piece that an answer can ask for; HBase ignores it */
#define PIECE_EXTRA	 ((size_t) 64 * 1024) /* bytes that sealing may add */
#define TO_SIMPLE	 ((uint32_t) -88)	  /* instead of a length: go on without authentication */
#define STATUS_OK	 0
#define STATUS_ERROR 1

static hb_status
garbage(hb_failure *f, const hb_server *server, const char *what)
{
	hb_status_set(f, HB_PROTOCOL, HB_CURE_NONE, server,
				  "the answer of %s:%d to the authentication cannot be understood: %s",
				  server->host, server->port, what);
	return HB_PROTOCOL;
}

static void
drop_front(hb_buffer *b, size_t n)
{
	b->len -= n;
	if (b->len > 0)
		memmove(b->data, b->data + n, b->len);
}

/* Names the server in a failure that gss.c has noted. */
static hb_status
at(const hb_server *server, hb_status st, hb_failure *f)
{
	if (st == HB_AUTH && f->error.server[0] == 0)
		snprintf(f->error.server, sizeof f->error.server, "%s:%d", server->host, server->port);
	return st;
}

/* ---- an error of the server ---- */

/* Takes a text, a length and bytes, off the front of *in.  Returns false if it is not whole yet. */
static bool
take_text(hb_bytes *in, hb_bytes *text, bool *wrong)
{
	uint32_t n;

	if (in->len < 4)
		return false;
	n = hb_wire_get32(in->data);
	n = n == UINT32_MAX ? 0 : n; /* null in Java */
	*wrong = n > TEXT_MAX;
	if (*wrong || in->len - 4 < n)
		return false;
	*text = (hb_bytes) {in->data + 4, n};
	in->data += 4 + n;
	in->len -= 4 + n;
	return true;
}

/* Reads what follows a status of failure.  Returns HB_OK if it is not whole yet. */
static hb_status
read_error(const hb_server *server, hb_bytes in, hb_failure *f)
{
	hb_bytes name;
	hb_bytes text;
	bool wrong = false;

	if (!take_text(&in, &name, &wrong) || !take_text(&in, &text, &wrong))
		return wrong ? garbage(f, server, "a length is too large") : HB_OK;
	hb_status_set(f, HB_AUTH, HB_CURE_NONE, server, " ");
	hb_status_text(f->error.java_class, sizeof f->error.java_class, name);
	hb_status_text(f->error.message, sizeof f->error.message, text);
	snprintf(f->error.text, sizeof f->error.text, "%s:%d refuses the authentication: %.300s",
			 server->host, server->port, f->error.message);
	return HB_AUTH;
}

bool
hb_sasl_is_refusal(const hb_sasl *sasl, hb_bytes in)
{
	return !sasl->heard && in.len >= 4 && hb_wire_get32(in.data) == STATUS_ERROR;
}

hb_status
hb_sasl_read_refusal(const hb_server *server, hb_bytes in, hb_failure *f)
{
	return read_error(server, (hb_bytes) {in.data + 4, in.len - 4}, f);
}

/* ---- tokens ---- */

/* Appends room for a length to out; set_length() fills it in. */
static hb_status
begin_token(hb_client *client, hb_buffer *out, size_t *start, hb_failure *f)
{
	*start = out->len;
	return hb_memory_append(&client->host, out, "\0\0\0\0", 4) == HB_OK ? HB_OK
																		: hb_status_no_memory(f);
}

static void
end_token(hb_buffer *out, size_t start)
{
	hb_wire_put32(out->data + start, (uint32_t) (out->len - start - 4));
}

/* Gives a token to Kerberos and sends its answer, which may be empty: the server awaits it. */
static hb_status
step(hb_client *client, hb_sasl *sasl, hb_bytes token, hb_buffer *out, hb_failure *f)
{
	size_t start;
	bool done;

	HB_TRY(begin_token(client, out, &start, f));
	HB_TRY(hb_gss_step(client, sasl->gss, token, out, &done, f));
	end_token(out, start);
	if (done)
	{
		sasl->state = HB_SASL_PROTECTION;
		hb_gss_principal(sasl->gss, client->kerberos->authenticated,
						 sizeof client->kerberos->authenticated);
	}
	return HB_OK;
}

hb_status
hb_sasl_begin(hb_client *client, const hb_server *server, hb_sasl *sasl, hb_buffer *out,
			  hb_failure *f)
{
	HB_TRY(at(server, hb_gss_new(client, server, &sasl->gss, f), f));
	sasl->state = HB_SASL_CONTEXT;
	return at(server, step(client, sasl, (hb_bytes) {NULL, 0}, out, f), f);
}

/* ---- protection ---- */

static const char *
protection_name(hb_protection p)
{
	return p == HB_PROTECTION_PRIVACY	  ? "privacy"
		   : p == HB_PROTECTION_INTEGRITY ? "integrity"
										  : "authentication";
}

/* Returns the wanted level, or the strongest that is offered; HB_PROTECTION_ANY: there is none. */
static hb_protection
choose(hb_protection wanted, uint8_t offered)
{
	static const hb_protection levels[] = {HB_PROTECTION_PRIVACY, HB_PROTECTION_INTEGRITY,
										   HB_PROTECTION_AUTHENTICATION};

	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
	{
		if ((offered & levels[i]) != 0 && (wanted == HB_PROTECTION_ANY || wanted == levels[i]))
			return levels[i];
	}
	return HB_PROTECTION_ANY;
}

/* Answers an offer: a byte with the levels, and the size of the largest piece in three bytes. */
static hb_status
answer_offer(hb_client *client, const hb_server *server, hb_sasl *sasl, const uint8_t *offer,
			 hb_buffer *out, hb_failure *f)
{
	hb_protection p = choose(client->kerberos->protection, offer[0]);
	uint8_t answer[OFFER];
	size_t start;

	if (p == HB_PROTECTION_ANY)
	{
		hb_status_set(f, HB_AUTH, HB_CURE_NONE, server,
					  "%s:%d does not offer the protection \"%s\" (hbase.rpc.protection)",
					  server->host, server->port, protection_name(client->kerberos->protection));
		return HB_AUTH;
	}
	sasl->sealed = p != HB_PROTECTION_AUTHENTICATION;
	sasl->seal = p == HB_PROTECTION_PRIVACY ? HB_SEAL_PRIVACY : HB_SEAL_INTEGRITY;
	hb_wire_put32(answer, sasl->sealed ? RECEIVE_MAX : 0);
	answer[0] = (uint8_t) p;
	HB_TRY(begin_token(client, out, &start, f));
	HB_TRY(hb_gss_seal(client, sasl->gss, HB_SEAL_INTEGRITY, (hb_bytes) {answer, OFFER}, out, f));
	end_token(out, start);
	if (sasl->sealed)
	{
		sasl->room = hb_gss_room(sasl->gss, sasl->seal,
								 hb_wire_get32(offer) & (uint32_t) RECEIVE_MAX);
		if (sasl->room == 0)
			return garbage(f, server, "it takes no messages");
	}
	sasl->state = HB_SASL_DONE;
	return HB_OK;
}

static hb_status
take_offer(hb_client *client, const hb_server *server, hb_sasl *sasl, hb_bytes token,
		   hb_buffer *out, hb_failure *f)
{
	hb_buffer offer = {0};
	hb_status st = hb_gss_open(client, sasl->gss, HB_SEAL_INTEGRITY, token, &offer, f);

	if (st == HB_OK && offer.len != OFFER)
		st = garbage(f, server, "an offer has another length");
	if (st == HB_OK)
		st = answer_offer(client, server, sasl, offer.data, out, f);
	hb_memory_free(&client->host, &offer);
	return st;
}

/* ---- answers ---- */

/* Takes one answer off the front of in.  *more: there was no whole one. */
static hb_status
take_answer(hb_client *client, const hb_server *server, hb_sasl *sasl, hb_buffer *in,
			hb_buffer *out, bool *more, hb_failure *f)
{
	hb_bytes token;
	uint32_t n;

	*more = true;
	if (in->len >= 4 && hb_wire_get32(in->data) != STATUS_OK)
		return read_error(server, (hb_bytes) {in->data + 4, in->len - 4}, f);
	if (in->len < 8)
		return HB_OK;
	n = hb_wire_get32(in->data + 4);
	if (n == TO_SIMPLE)
	{
		hb_status_set(f, HB_AUTH, HB_CURE_NONE, server,
					  "%s:%d does not authenticate its clients, which was asked for", server->host,
					  server->port);
		return HB_AUTH;
	}
	if (n > TOKEN_MAX)
		return garbage(f, server, "a length is too large");
	if (in->len - 8 < n)
		return HB_OK;
	*more = false;
	token = (hb_bytes) {in->data + 8, n};
	if (sasl->state == HB_SASL_CONTEXT && n == 0)
		return garbage(f, server, "a token is empty");
	if (sasl->state == HB_SASL_CONTEXT)
		HB_TRY(at(server, step(client, sasl, token, out, f), f));
	else
		HB_TRY(at(server, take_offer(client, server, sasl, token, out, f), f));
	drop_front(in, 8 + n);
	return HB_OK;
}

hb_status
hb_sasl_take(hb_client *client, const hb_server *server, hb_sasl *sasl, hb_buffer *in,
			 hb_buffer *out, hb_failure *f)
{
	bool more = false;

	while (!more && sasl->state != HB_SASL_DONE)
		HB_TRY(take_answer(client, server, sasl, in, out, &more, f));
	/* what comes unasked was not protected, and is not what the server says */
	if (sasl->state == HB_SASL_DONE && in->len > 0)
		return garbage(f, server, "bytes follow that were not asked for");
	return HB_OK;
}

/* ---- after the authentication ---- */

hb_status
hb_sasl_send(hb_client *client, hb_sasl *sasl, hb_buffer *frames, hb_buffer *out, hb_failure *f)
{
	size_t start;

	if (!sasl->sealed && out->len == 0)
	{
		hb_buffer empty = *out;

		*out = *frames;
		*frames = empty;
		return HB_OK;
	}
	if (!sasl->sealed && hb_memory_append(&client->host, out, frames->data, frames->len) != HB_OK)
		return hb_status_no_memory(f);
	for (size_t i = 0; sasl->sealed && i < frames->len; i += sasl->room)
	{
		size_t n = frames->len - i < sasl->room ? frames->len - i : sasl->room;

		HB_TRY(begin_token(client, out, &start, f));
		HB_TRY(hb_gss_seal(client, sasl->gss, sasl->seal, (hb_bytes) {frames->data + i, n}, out,
						   f));
		end_token(out, start);
	}
	frames->len = 0;
	return HB_OK;
}

hb_status
hb_sasl_open(hb_client *client, const hb_server *server, hb_sasl *sasl, hb_buffer *pieces,
			 hb_buffer *in, hb_failure *f)
{
	size_t from = 0;

	if (hb_sasl_is_refusal(sasl, hb_memory_bytes(pieces)))
		return hb_sasl_read_refusal(server, hb_memory_bytes(pieces), f);
	while (pieces->len - from >= 4)
	{
		size_t n = hb_wire_get32(pieces->data + from);

		if (n > client->max_response + PIECE_EXTRA)
			return garbage(f, server, "a length is too large");
		if (pieces->len - from - 4 < n)
			break;
		HB_TRY(at(server,
				  hb_gss_open(client, sasl->gss, sasl->seal,
							  (hb_bytes) {pieces->data + from + 4, n}, in, f),
				  f));
		sasl->heard = true;
		from += 4 + n;
	}
	if (from > 0)
		drop_front(pieces, from);
	return HB_OK;
}

void
hb_sasl_end(hb_client *client, hb_sasl *sasl)
{
	hb_gss_free(client, sasl->gss);
	memset(sasl, 0, sizeof *sasl);
}

/*
 * sasl.h - how a connection authenticates: SASL's mechanism GSSAPI (RFC 4752), as HBase frames it
 *
 * The client sends tokens: a length of 4 bytes and that many bytes.  The server answers each with a
 * status of 4 bytes, 0, and a token; or with another status and two texts, an exception and its
 * message.  After the tokens of Kerberos the server offers levels of protection and the client
 * chooses one.  The server does not answer that: frames follow.  With protection they are sent in
 * sealed pieces of a length and that many bytes, and a piece may have a part of a frame, or
 * several.
 */
#ifndef HB_SASL_H
#define HB_SASL_H

#include "hbase/gss.h"

typedef enum hb_sasl_state
{
	HB_SASL_IDLE,
	HB_SASL_CONTEXT,	/* tokens of Kerberos go to and fro */
	HB_SASL_PROTECTION, /* the server's offer is awaited */
	HB_SASL_DONE
} hb_sasl_state;

/* Zero-filled is idle. */
typedef struct hb_sasl
{
	hb_sasl_state state;
	bool sealed; /* with protection; seal: which */
	hb_seal seal;
	bool heard;	 /* something came after the authentication, so it has succeeded */
	size_t room; /* bytes of one piece */
	hb_gss *gss;
} hb_sasl;

/* Appends the client's first token to out.
 * Errors, in *failure, here and below: those of gss.h; HB_PROTOCOL. */
extern hb_status hb_sasl_begin(hb_client *client, const hb_server *server, hb_sasl *sasl,
							   hb_buffer *out, hb_failure *failure);

/*
 * Takes whole answers off the front of in, and appends the client's tokens to out, until the state
 * is HB_SASL_DONE or more bytes are wanted.
 */
extern hb_status hb_sasl_take(hb_client *client, const hb_server *server, hb_sasl *sasl,
							  hb_buffer *in, hb_buffer *out, hb_failure *failure);

/* Moves frames to out as the connection sends them: as they are, or sealed.
 * Requires: HB_SASL_DONE, here and below. */
extern hb_status hb_sasl_send(hb_client *client, hb_sasl *sasl, hb_buffer *frames, hb_buffer *out,
							  hb_failure *failure);

/* Opens the whole pieces at the front of pieces and appends what they hold to in. */
extern hb_status hb_sasl_open(hb_client *client, const hb_server *server, hb_sasl *sasl,
							  hb_buffer *pieces, hb_buffer *in, hb_failure *failure);

/* Returns true if these bytes begin like a refusal where the first frame is awaited: the server
 * does not confirm that an authentication is complete, but may say that it is not. */
extern bool hb_sasl_is_refusal(const hb_sasl *sasl, hb_bytes in);

/* Returns HB_OK if the refusal is not whole yet; else its failure. */
extern hb_status hb_sasl_read_refusal(const hb_server *server, hb_bytes in, hb_failure *failure);

/* Frees everything; idle then. */
extern void hb_sasl_end(hb_client *client, hb_sasl *sasl);

#endif /* HB_SASL_H */

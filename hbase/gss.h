/*
 * gss.h - a security context of Kerberos, by the system's GSSAPI library
 *
 * Without that library (hbase.mk) every context fails with HB_AUTH.
 */
#ifndef HB_GSS_H
#define HB_GSS_H

#include "hbase/state.h"

typedef struct hb_gss hb_gss;

typedef enum hb_seal
{
	HB_SEAL_INTEGRITY, /* changes are detected; anyone can read it */
	HB_SEAL_PRIVACY	   /* it is encrypted, too */
} hb_seal;

/* Returns true if the library was built with GSSAPI. */
extern bool hb_gss_built(void);

/*
 * Begins a context with the service on the server, with the client's credentials.
 * Errors, in *failure, here and below: HB_AUTH with what GSSAPI says; HB_NOMEM.
 */
extern hb_status hb_gss_new(hb_client *client, const hb_server *server, hb_gss **gss,
							hb_failure *failure);

/*
 * Takes the server's token (empty: there is none yet) and appends the client's to out, perhaps
 * none. Blocks while it asks the KDC.  *done: the context is complete; the server has proven what
 * it is.
 */
extern hb_status hb_gss_step(hb_client *client, hb_gss *gss, hb_bytes token, hb_buffer *out,
							 bool *done, hb_failure *failure);

/* Appends the sealed bytes to out. */
extern hb_status hb_gss_seal(hb_client *client, hb_gss *gss, hb_seal seal, hb_bytes bytes,
							 hb_buffer *out, hb_failure *failure);

/* Opens what the other side has sealed, this strongly at least, and appends it to out.  Fails also
 * if it comes twice, or out of order. */
extern hb_status hb_gss_open(hb_client *client, hb_gss *gss, hb_seal seal, hb_bytes sealed,
							 hb_buffer *out, hb_failure *failure);

/* Returns how many bytes may be sealed so that at most max come out; 0: none. */
extern size_t hb_gss_room(hb_gss *gss, hb_seal seal, size_t max);

/* Writes the client's principal, cut to the size; an empty text if it is not known. */
extern void hb_gss_principal(hb_gss *gss, char *text, size_t size);

/* NULL is allowed. */
extern void hb_gss_free(hb_client *client, hb_gss *gss);

#endif /* HB_GSS_H */

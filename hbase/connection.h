/*
 * connection.h - a connection to one service of one server, and the calls that wait for its answers
 *
 * Several calls may be under way on a connection; answers come in any order.
 */
#ifndef HB_CONNECTION_H
#define HB_CONNECTION_H

#include <sys/socket.h>
#include "hbase/sasl.h"

typedef enum hb_call_state
{
	HB_CALL_IDLE,
	HB_CALL_WAITING, /* in the list of its connection */
	HB_CALL_DONE,
	HB_CALL_FAILED
} hb_call_state;

/* Zero-filled is idle.  The owner keeps it in place while it waits. */
typedef struct hb_call
{
	struct hb_call *next; /* of the same connection */
	struct hb_connection *connection;
	uint32_t id;
	hb_call_state state;
	int64_t deadline_us;
	hb_buffer frame;	/* the answer, if done */
	hb_bytes message;	/* in frame */
	hb_bytes cells;		/* in frame: the cell block */
	hb_failure failure; /* if failed */
} hb_call;

#define HB_ADDRESSES 4 /* of one host that are tried */

typedef struct hb_connection
{
	struct hb_connection *next;
	hb_server server;
	const char *service; /* a constant */
	int fd;				 /* -1: closed */
	bool connected;
	struct sockaddr_storage addresses[HB_ADDRESSES];
	int n_addresses;
	int address; /* the one in use */
	hb_buffer out;
	size_t sent;	  /* of out */
	hb_buffer in;	  /* the beginning of a frame; before the authentication: of its answers */
	hb_sasl sasl;	  /* with Kerberos, and so the two below */
	hb_buffer frames; /* that wait for the authentication, or to be sealed */
	hb_buffer pieces; /* sealed: the beginning of one */
	hb_call *calls;
	int64_t used_us; /* the last answer */
} hb_connection;

/*
 * Finds or makes the connection.  It is opened if it is closed: in the background, so that a
 * failure is that of its calls. Errors: HB_NOMEM; HB_LOST if the name of the host is not known or
 * no socket can be made.
 */
extern hb_status hb_connection_get(hb_client *client, const hb_server *server, const char *service,
								   hb_connection **connection);

/* Returns where frames are appended that will be sent. */
extern hb_buffer *hb_connection_frames(hb_client *client, hb_connection *connection);

/* Adds a call whose frame was appended there. */
extern void hb_connection_add(hb_connection *connection, hb_call *call);

/* Takes a call off its connection; its answer will be thrown away. */
extern void hb_connection_drop(hb_call *call);

/* Sends what can be sent, without waiting.  A failure is that of the calls. */
extern void hb_connection_flush(hb_client *client, hb_connection *connection);

/* Sends and receives without waiting.  A failure is that of the calls. */
extern void hb_connection_pump(hb_client *client, hb_connection *connection);

/* Closes the connection; its calls fail with this failure. */
extern void hb_connection_fail(hb_client *client, hb_connection *connection,
							   const hb_failure *failure);

/* Closes connections: all, those with calls, or those without. */
typedef enum hb_which
{
	HB_WHICH_ALL,
	HB_WHICH_BUSY,
	HB_WHICH_IDLE
} hb_which;

extern void hb_connection_close(hb_client *client, hb_which which, hb_status status);

/* Closes and frees all. */
extern void hb_connection_free(hb_client *client);

#endif /* HB_CONNECTION_H */

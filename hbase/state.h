/* state.h - what a client knows, and how a failure is noted in it */
#ifndef HB_STATE_H
#define HB_STATE_H

#include "hbase/exception.h"
#include "hbase/arena.h"
#include "hbase/memory.h"

#define HB_HOST_MAX 256 /* bytes of a host's name with the zero byte */

typedef struct hb_server
{
	char host[HB_HOST_MAX]; /* empty: not known */
	int port;
} hb_server;

typedef struct hb_failure
{
	hb_error error;
	hb_cure cure;
	bool doubtful; /* the server did not say whether another try is of use */
} hb_failure;

/* What Kerberos needs, and has told. */
typedef struct hb_kerberos_state
{
	char *service;
	char *principal; /* NULL, also below: not given */
	char *keytab;
	char *cache;
	hb_protection protection;
	char own_cache[64];		 /* the name of the cache for tickets got with the keytab; or empty */
	char authenticated[256]; /* the principal of the last authentication, or empty */
} hb_kerberos_state;

struct hb_connection;
struct hb_table_entry;

struct hb_client
{
	hb_host host;
	char *user;
	hb_kerberos_state *kerberos; /* NULL: the servers believe the name */
	int timeout_ms;
	int call_timeout_ms;
	int connect_timeout_ms;
	size_t max_response;
	size_t max_request;
	int max_rows;
	hb_server *nodes;
	int n_nodes;
	int good_node; /* the one that answered last */
	hb_server meta;
	hb_server master;
	struct hb_connection *connections;
	struct hb_table_entry *tables;
	hb_arena request; /* messages that are about to be sent */
	hb_arena answer;  /* the answer that is looked at */
	hb_arena header;  /* the header of a frame */
	hb_buffer cells;  /* the cell block that is about to be sent */
	hb_failure failure;
	int64_t deadline_us; /* of the operation */
	uint64_t nonce_group;
	uint64_t nonce;
	uint32_t last_call;
};

/* Sets the failure; returns the status.  The cure is HB_CURE_NONE. */
extern hb_status hb_status_fail(hb_client *client, hb_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4), cold));

/* Fills in a failure. */
extern void hb_status_set(hb_failure *failure, hb_status status, hb_cure cure,
						  const hb_server *server, const char *format, ...)
	__attribute__((format(printf, 5, 6), cold));

/* Sets *failure to HB_NOMEM, which it returns. */
extern hb_status hb_status_no_memory(hb_failure *failure);

/* Copies bytes of the network, cut to the size of the text; what cannot be printed becomes "?". */
extern void hb_status_text(char *text, size_t size, hb_bytes bytes);

/* Returns from the function with the failure HB_NOMEM if expr fails, which reports that only. */
#define HB_TRY_MEMORY(client, expr)                                     \
	do                                                                  \
	{                                                                   \
		if (__builtin_expect((expr) != HB_OK, 0))                       \
			return hb_status_fail((client), HB_NOMEM, "out of memory"); \
	} while (0)

static inline int64_t
hb_now(const hb_client *client)
{
	return client->host.now_us(client->host.ctx);
}

#endif /* HB_STATE_H */

/*
 * sasl_unit.c - a server that damages the answers to an authentication
 *
 * Kerberos itself is not here: the functions of gss.h below stand in for hbase/gss.c, which is not
 * linked then.  test/hbase.d/kerberos.t is with Kerberos and HBase.
 *
 *     HB_ROUNDS=n  HB_SEED=n   the rounds of damage, and the first seed
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fake_server.h"
#include "hbase/gss.h"

/* ---------------------------------------------------- a mechanism for tests */

#define HELLO	"hello"
#define WELCOME "welcome"
#define MAX		1000 /* the size of a piece that the server takes */

struct hb_gss
{
	int steps;
};

bool
hb_gss_built(void)
{
	return true;
}

hb_status
hb_gss_new(hb_client *client, const hb_server *server, hb_gss **gss, hb_failure *f)
{
	(void) server;
	*gss = client->host.alloc(client->host.ctx, sizeof **gss);
	if (*gss != NULL)
	{
		(*gss)->steps = 0;
		return HB_OK;
	}
	return hb_status_no_memory(f);
}

static hb_status
append(hb_client *client, hb_buffer *out, const void *p, size_t n, hb_failure *f)
{
	if (hb_memory_append(&client->host, out, p, n) == HB_OK)
		return HB_OK;
	return hb_status_no_memory(f);
}

static hb_status
refuse(hb_failure *f)
{
	hb_status_set(f, HB_AUTH, HB_CURE_NONE, NULL, "not the server's");
	return HB_AUTH;
}

hb_status
hb_gss_step(hb_client *client, hb_gss *gss, hb_bytes token, hb_buffer *out, bool *done,
			hb_failure *f)
{
	*done = gss->steps++ > 0;
	if (!*done)
		return append(client, out, HELLO, strlen(HELLO), f);
	return hb_memory_equal(token, text(WELCOME)) ? HB_OK : refuse(f);
}

static uint8_t
sum_of(const uint8_t *p, size_t n)
{
	uint8_t sum = 7;

	for (size_t i = 0; i < n; i++)
		sum = (uint8_t) (sum * 31 + p[i]);
	return sum;
}

/* Sealed is: how, the bytes, a sum. */
hb_status
hb_gss_seal(hb_client *client, hb_gss *gss, hb_seal seal, hb_bytes bytes, hb_buffer *out,
			hb_failure *f)
{
	uint8_t how = (uint8_t) seal;
	uint8_t sum = sum_of(bytes.data, bytes.len);

	(void) gss;
	HB_TRY(append(client, out, &how, 1, f));
	HB_TRY(append(client, out, bytes.data, bytes.len, f));
	return append(client, out, &sum, 1, f);
}

hb_status
hb_gss_open(hb_client *client, hb_gss *gss, hb_seal seal, hb_bytes sealed, hb_buffer *out,
			hb_failure *f)
{
	(void) gss;
	if (sealed.len < 2 || sealed.data[0] != (uint8_t) seal ||
		sealed.data[sealed.len - 1] != sum_of(sealed.data + 1, sealed.len - 2))
		return refuse(f);
	return append(client, out, sealed.data + 1, sealed.len - 2, f);
}

size_t
hb_gss_room(hb_gss *gss, hb_seal seal, size_t max)
{
	(void) gss;
	(void) seal;
	return max > 2 ? max - 2 : 0;
}

void
hb_gss_principal(hb_gss *gss, char *name, size_t size)
{
	(void) gss;
	snprintf(name, size, "client@TEST");
}

void
hb_gss_free(hb_client *client, hb_gss *gss)
{
	client->host.free(client->host.ctx, gss);
}

/* ------------------------------------------------------------------- server */

typedef enum sasl_mode
{
	SASL_GOOD,
	SASL_SIMPLE,	   /* the server asks for SIMPLE */
	SASL_ERROR,		   /* an exception */
	SASL_ERROR_LENGTH, /* whose length is too large */
	SASL_ERROR_CUT,
	SASL_ERROR_NULL, /* without a message */
	SASL_STATUS,	 /* another status, and nothing behind it */
	SASL_LENGTH,	 /* a length that is too large */
	SASL_NEGATIVE,
	SASL_EMPTY,
	SASL_CUT,
	SASL_HANG,
	SASL_WRONG, /* a token of another server */
	SASL_OFFER_CUT,
	SASL_OFFER_NONE,
	SASL_OFFER_SHORT,
	SASL_OFFER_DAMAGED,
	SASL_OFFER_ROOM,   /* the server takes no pieces */
	SASL_OFFER_BEHIND, /* something unprotected comes behind it */
	SASL_LATE,		   /* an exception instead of the first frame */
	SASL_LATE_CUT,
	SASL_PIECE, /* good; what follows is not: */
	SASL_PIECE_LENGTH,
	SASL_PIECE_DAMAGED,
	SASL_PIECE_PLAIN, /* not encrypted */
	SASL_PIECE_EMPTY,
	SASL_FLIP,	/* some bytes of any answer are others */
	SASL_DENIED /* what HBase answers to clients that do not authenticate */
} sasl_mode;

static fake_server server;
static sasl_mode mode;
static uint8_t offered = HB_PROTECTION_AUTHENTICATION;

static bool
put(int fd, const void *p, size_t n)
{
	return send(fd, p, n, MSG_NOSIGNAL) == (ssize_t) n;
}

/* Sends a status or length, and bytes; some are damaged with SASL_FLIP. */
static bool
answer(int fd, const char *status, uint32_t length, const void *p, size_t n)
{
	uint8_t bytes[512];
	size_t at = 0;

	if (status != NULL)
	{
		memcpy(bytes, status, 4);
		at = 4;
	}
	hb_wire_put32(bytes + at, length);
	memcpy(bytes + at + 4, p, n);
	n += at + 4;
	if (mode == SASL_FLIP && fake_number(&server, 3) == 0)
	{
		for (unsigned k = 1 + fake_number(&server, 4); k > 0; k--)
			bytes[fake_number(&server, (unsigned) n)] = (uint8_t) rand_r(&server.seed);
	}
	return put(fd, bytes, n);
}

#define OK_STATUS	 "\0\0\0\0"
#define ERROR_STATUS "\0\0\0\1"

static bool
exception(int fd, bool whole)
{
	static const char error[] = "javax.Bad\0\0\0\x0dno such ticket";

	return answer(fd, ERROR_STATUS, 9, error, sizeof error - 1 - (whole ? 1 : 8));
}

/* Reads a length and bytes; returns the length, -1 at the end. */
static int
token(int fd, uint8_t *p, size_t max)
{
	uint8_t length[4];
	size_t n;

	if (!fake_read(fd, length, 4) || (n = hb_wire_get32(length)) > max || !fake_read(fd, p, n))
		return -1;
	return (int) n;
}

/* Waits until the client ends the connection; returns false. */
static bool
hang(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, 0) > 0)
		;
	return false;
}

/* Answers the first token.  *more: it was a good answer. */
static bool
welcome(int fd, bool *more)
{
	*more = false;
	switch (mode)
	{
		case SASL_SIMPLE:
			return answer(fd, OK_STATUS, (uint32_t) -88, "", 0);
		case SASL_ERROR:
			return exception(fd, true);
		case SASL_ERROR_LENGTH:
			return answer(fd, ERROR_STATUS, INT32_MAX, "javax", 5);
		case SASL_ERROR_CUT:
			(void) exception(fd, false);
			return false;
		case SASL_ERROR_NULL:
			return answer(fd, ERROR_STATUS, 1, "X\xff\xff\xff\xff", 5);
		case SASL_STATUS:
			(void) put(fd, "\0\0\1\0", 4);
			return false;
		case SASL_LENGTH:
			return answer(fd, OK_STATUS, INT32_MAX, WELCOME, strlen(WELCOME));
		case SASL_NEGATIVE:
			return answer(fd, OK_STATUS, (uint32_t) -1, WELCOME, strlen(WELCOME));
		case SASL_EMPTY:
			return answer(fd, OK_STATUS, 0, "", 0);
		case SASL_CUT:
			(void) answer(fd, OK_STATUS, (uint32_t) strlen(WELCOME), WELCOME, 3);
			return false;
		case SASL_HANG:
			return answer(fd, OK_STATUS, (uint32_t) strlen(WELCOME), WELCOME, 3);
		case SASL_WRONG:
			return answer(fd, OK_STATUS, 4, "evil", 4);
		default:
			*more = true;
			return answer(fd, OK_STATUS, (uint32_t) strlen(WELCOME), WELCOME, strlen(WELCOME));
	}
}

static bool
offer(int fd, bool *more)
{
	uint8_t bytes[] = {HB_SEAL_INTEGRITY, offered, 0, MAX >> 8, MAX & 255, 0};

	*more = false;
	if (mode == SASL_OFFER_NONE)
		bytes[1] = 8;
	if (mode == SASL_OFFER_ROOM)
		memset(bytes + 2, 0, 3);
	bytes[5] = sum_of(bytes + 1, 4);
	switch (mode)
	{
		case SASL_OFFER_CUT:
			(void) answer(fd, OK_STATUS, sizeof bytes, bytes, 2);
			return false;
		case SASL_OFFER_SHORT:
			bytes[4] = sum_of(bytes + 1, 3);
			return answer(fd, OK_STATUS, 5, bytes, 5);
		case SASL_OFFER_DAMAGED:
			bytes[1] ^= 255;
			return answer(fd, OK_STATUS, sizeof bytes, bytes, sizeof bytes);
		case SASL_OFFER_BEHIND:
			return answer(fd, OK_STATUS, sizeof bytes, "\1\1\0\3\350\0\0\0\0\1", 10);
		default:
			*more = mode != SASL_OFFER_ROOM && mode != SASL_OFFER_NONE;
			return answer(fd, OK_STATUS, sizeof bytes, bytes, sizeof bytes);
	}
}

/* What comes after the authentication, with protection. */
static bool
pieces(int fd)
{
	uint8_t bytes[] = {HB_SEAL_PRIVACY, 1, 2, 3, 0};

	bytes[4] = sum_of(bytes + 1, 3);
	switch (mode)
	{
		case SASL_PIECE_LENGTH:
			return answer(fd, NULL, INT32_MAX, bytes, sizeof bytes);
		case SASL_PIECE_DAMAGED:
			bytes[2]++;
			return answer(fd, NULL, sizeof bytes, bytes, sizeof bytes);
		case SASL_PIECE_PLAIN:
			bytes[0] = HB_SEAL_INTEGRITY;
			return answer(fd, NULL, sizeof bytes, bytes, sizeof bytes);
		case SASL_PIECE_EMPTY:
			return answer(fd, NULL, 0, bytes, 0);
		case SASL_PIECE:
			/* the length of a frame that is too large, in two pieces */
			memset(bytes + 1, 255, 3);
			bytes[4] = sum_of(bytes + 1, 3);
			return answer(fd, NULL, sizeof bytes, bytes, sizeof bytes) &&
				   answer(fd, NULL, sizeof bytes, bytes, sizeof bytes);
		default:
			return answer(fd, NULL, sizeof bytes, bytes, sizeof bytes);
	}
}

/* An answer for all calls: the client must authenticate. */
static void
deny(int fd)
{
	Hbp__ResponseHeader h = HBP__RESPONSE_HEADER__INIT;
	Hbp__ExceptionResponse x = HBP__EXCEPTION_RESPONSE__INIT;
	uint8_t bytes[256];
	size_t n;

	h.has_call_id = 1;
	h.call_id = (uint32_t) -1;
	x.has_exception_class_name = x.has_stack_trace = 1;
	x.exception_class_name = hb_pb(text("org.apache.hadoop.hbase.security.AccessDeniedException"));
	x.stack_trace = hb_pb(text("x.AccessDeniedException: Authentication is required\n\tat x"));
	h.exception = &x;
	n = hbp__response_header__get_packed_size(&h);
	bytes[0] = (uint8_t) (n & 127) | 128;
	bytes[1] = (uint8_t) (n >> 7);
	hbp__response_header__pack(&h, bytes + 2);
	(void) answer(fd, NULL, (uint32_t) n + 2, bytes, n + 2);
}

static bool
greet(fake_server *s, int fd)
{
	uint8_t bytes[2048];
	bool more;

	(void) s;
	if (!fake_read(fd, bytes, 6) || memcmp(bytes, "HBas\0", 5) != 0)
		return false;
	if (bytes[5] != 0x51)
	{
		deny(fd);
		return hang(fd);
	}
	if (token(fd, bytes, sizeof bytes) != (int) strlen(HELLO))
		return false;
	if (!welcome(fd, &more))
		return false;
	if (!more)
		return hang(fd);
	/* the client has nothing to say, then chooses */
	if (token(fd, bytes, sizeof bytes) != 0 || !offer(fd, &more))
		return false;
	if (!more || token(fd, bytes, sizeof bytes) != 6)
		return hang(fd);
	if (mode == SASL_LATE || mode == SASL_LATE_CUT)
		return exception(fd, mode == SASL_LATE) && mode == SASL_LATE && hang(fd);
	if (bytes[1] != HB_PROTECTION_AUTHENTICATION)
		return token(fd, bytes, sizeof bytes) >= 0 && pieces(fd) && hang(fd);
	return fake_header(fd);
}

/* -------------------------------------------------------------------- tests */

static hb_client *
new_client(test_host *host, int timeout_ms, hb_protection protection)
{
	static char nodes[64];
	hb_kerberos kerberos = {.protection = protection};
	hb_options o = {.nodes = nodes,
					.timeout_ms = timeout_ms,
					.call_timeout_ms = timeout_ms / 2,
					.connect_timeout_ms = timeout_ms,
					.max_response = 1 << 20,
					.kerberos = mode == SASL_DENIED ? NULL : &kerberos};
	hb_client *client;

	snprintf(nodes, sizeof nodes, "127.0.0.1:%d", server.port);
	return hb_client_new(&o, &host->host, &client) == HB_OK ? client : NULL;
}

static hb_status
read_scan(hb_client *client, int *n)
{
	hb_scan_spec spec = {.read = {.table = "t"}};
	hb_scan *scan;
	hb_row row;
	hb_status st = hb_scan_open(client, &spec, &scan);

	*n = 0;
	if (st != HB_OK)
		return st;
	while ((st = hb_scan_next(scan, &row)) == HB_OK && *n < 1000)
		++*n;
	hb_scan_close(scan);
	return st;
}

static void
good(void **state)
{
	test_host host;
	hb_client *client;
	int n;

	(void) state;
	mode = SASL_GOOD;
	test_host_init(&host);
	client = new_client(&host, 2000, HB_PROTECTION_ANY);
	assert_string_equal(hb_client_user(client), "");
	assert_int_equal(read_scan(client, &n), HB_END);
	assert_int_equal(n, 5);
	assert_string_equal(hb_client_user(client), "client@TEST");
	hb_client_close_idle(client);
	assert_int_equal(read_scan(client, &n), HB_END);
	hb_client_free(client);
	assert_int_equal(host.allocated, 0);
}

static void
what_it_is_called(void **state)
{
	static const struct
	{
		sasl_mode mode;
		uint8_t offered;
		hb_status status;
		const char *says;
	} cases[] = {
		{SASL_SIMPLE, 1, HB_AUTH, "does not authenticate"},
		{SASL_ERROR, 1, HB_AUTH, "refuses the authentication: no such ticke"},
		{SASL_ERROR_LENGTH, 1, HB_PROTOCOL, "too large"},
		{SASL_ERROR_CUT, 1, HB_CONNECT, "lost"},
		{SASL_ERROR_NULL, 1, HB_AUTH, "refuses"},
		{SASL_STATUS, 1, HB_CONNECT, "lost"},
		{SASL_LENGTH, 1, HB_PROTOCOL, "too large"},
		{SASL_NEGATIVE, 1, HB_PROTOCOL, "too large"},
		{SASL_EMPTY, 1, HB_PROTOCOL, "empty"},
		{SASL_CUT, 1, HB_CONNECT, "lost"},
		{SASL_HANG, 1, HB_CONNECT, "does not answer"},
		{SASL_WRONG, 1, HB_AUTH, "not the server's"},
		{SASL_OFFER_CUT, 1, HB_CONNECT, "lost"},
		{SASL_OFFER_NONE, 1, HB_AUTH, "does not offer"},
		{SASL_OFFER_SHORT, 1, HB_PROTOCOL, "another length"},
		{SASL_OFFER_DAMAGED, 1, HB_AUTH, "not the server's"},
		{SASL_OFFER_ROOM, 4, HB_PROTOCOL, "takes no messages"},
		{SASL_LATE, 1, HB_AUTH, "refuses"},
		{SASL_LATE, 4, HB_AUTH, "refuses"},
		{SASL_LATE_CUT, 1, HB_CONNECT, "lost"},
		{SASL_LATE_CUT, 4, HB_CONNECT, "lost"},
		{SASL_PIECE, 4, HB_PROTOCOL, "too large"},
		{SASL_PIECE_LENGTH, 4, HB_PROTOCOL, "too large"},
		{SASL_PIECE_DAMAGED, 4, HB_AUTH, "not the server's"},
		{SASL_PIECE_PLAIN, 4, HB_AUTH, "not the server's"},
		{SASL_PIECE_EMPTY, 4, HB_AUTH, "not the server's"},
		{SASL_DENIED, 1, HB_AUTH, "Authentication is required"},
	};

	(void) state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		test_host host;
		hb_client *client;
		int64_t begun = host_now(NULL);
		int n;

		test_host_init(&host);
		mode = cases[i].mode;
		offered = cases[i].offered;
		client = new_client(&host, 300, HB_PROTECTION_ANY);
		n = 0;
		assert_int_equal(read_scan(client, &n), cases[i].status);
		if (strstr(hb_client_error(client)->text, cases[i].says) == NULL)
			fail_msg("case %zu: %s", i, hb_client_error(client)->text);
		assert_true(host_now(NULL) - begun < 3000000);
		if (mode == SASL_ERROR)
			assert_string_equal(hb_client_error(client)->java_class, "javax.Bad");
		hb_client_free(client);
		assert_int_equal(host.allocated, 0);
	}
	offered = HB_PROTECTION_AUTHENTICATION;
}

/* The strongest level is taken, or the one that is asked for. */
static void
levels(void **state)
{
	static const struct
	{
		hb_protection wanted;
		uint8_t offered;
		hb_status status;
	} cases[] = {{HB_PROTECTION_AUTHENTICATION, 7, HB_END},
				 {HB_PROTECTION_AUTHENTICATION, 6, HB_AUTH},
				 {HB_PROTECTION_PRIVACY, 3, HB_AUTH},
				 {HB_PROTECTION_ANY, 1, HB_END}};

	int n;

	(void) state;
	mode = SASL_GOOD;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		test_host host;
		hb_client *client;

		test_host_init(&host);
		offered = cases[i].offered;
		client = new_client(&host, 500, cases[i].wanted);
		assert_int_equal(read_scan(client, &n), cases[i].status);
		hb_client_free(client);
	}
	offered = HB_PROTECTION_AUTHENTICATION;
}

/* A connection that has ended in the middle is authenticated anew. */
static void
again(void **state)
{
	test_host host;
	hb_client *client;
	int n;

	(void) state;
	test_host_init(&host);
	mode = SASL_GOOD;
	client = new_client(&host, 500, HB_PROTECTION_ANY);
	server.mode = FAKE_RANDOM;
	server.chance = 1;
	server.seed = 4;
	assert_int_not_equal(read_scan(client, &n), HB_END);
	server.mode = FAKE_GOOD;
	mode = SASL_LATE;
	assert_int_equal(read_scan(client, &n), HB_AUTH);
	mode = SASL_GOOD;
	assert_int_equal(read_scan(client, &n), HB_END);
	hb_client_free(client);
	assert_int_equal(host.allocated, 0);
}

/* Whatever the server sends: an end in time, a status, nothing leaked. */
static void
damage(void **state)
{
	int rounds = number_of("HB_ROUNDS", 200);
	int seed = number_of("HB_SEED", 1);
	long statuses[HB_REMOTE + 1] = {0};

	(void) state;
	mode = SASL_FLIP;
	for (int i = 0; i < rounds; i++)
	{
		test_host host;
		hb_client *client;
		int64_t begun = host_now(NULL);
		int n;

		test_host_init(&host);
		server.seed = (unsigned) (seed + i);
		offered = i % 2 == 0 ? 7 : 1;
		client = new_client(&host, 60, HB_PROTECTION_ANY);
		statuses[read_scan(client, &n)]++;
		assert_true(host_now(NULL) - begun < 2000000);
		hb_client_free(client);
		assert_int_equal(host.allocated, 0);
	}
	offered = HB_PROTECTION_AUTHENTICATION;
	print_statuses(statuses);
}

/* An interrupt ends an authentication at once; the client can be used afterwards. */
static void
interrupts(void **state)
{
	test_host host;
	hb_client *client;
	int64_t begun;
	int n;

	(void) state;
	test_host_init(&host);
	mode = SASL_HANG;
	client = new_client(&host, 20000, HB_PROTECTION_ANY);
	begun = host_now(NULL);
	host.interrupt_us = begun + 100000;
	assert_int_equal(read_scan(client, &n), HB_INTERRUPTED);
	assert_true(host_now(NULL) - begun < 300000);
	mode = SASL_GOOD;
	host.interrupt_us = 0;
	assert_int_equal(read_scan(client, &n), HB_END);
	assert_int_equal(n, 5);
	hb_client_free(client);
	assert_int_equal(host.allocated, 0);
}

/* Each allocation fails once. */
static void
no_memory(void **state)
{
	long i;

	(void) state;
	mode = SASL_GOOD;
	for (i = 1; i < 1000; i++)
	{
		test_host host;
		hb_client *client;
		hb_status st;
		bool failed;
		int n;

		test_host_init(&host);
		host.fail_at = i;
		client = new_client(&host, 2000, HB_PROTECTION_ANY);
		st = client == NULL ? HB_NOMEM : read_scan(client, &n);
		failed = host.fail_at == 0;
		hb_client_free(client);
		assert_int_equal(host.allocated, 0);
		if (!failed)
			break;
		assert_true(st == HB_NOMEM || st == HB_END);
	}
	assert_true(i > 20 && i < 1000);
}

static int
setup(void **state)
{
	(void) state;
	if (!fake_start(&server))
		return -1;
	server.greet = greet;
	return 0;
}

static int
teardown(void **state)
{
	(void) state;
	fake_stop(&server);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),	  cmocka_unit_test(what_it_is_called), cmocka_unit_test(levels),
		cmocka_unit_test(again),  cmocka_unit_test(interrupts),		   cmocka_unit_test(no_memory),
		cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

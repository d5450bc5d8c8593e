/*
 * fake_server.h - a server for tests that is master, region server and registry of a table "t" with
 * one region, and damages its answers
 *
 * It listens on a port of 127.0.0.1 and serves one connection after the other in a thread each.
 */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include "hbase/cell_block.h"
#include "hbase/proto/admin.pb-c.h"
#include "hbase/proto/data.pb-c.h"
#include "hbase/proto/rpc.pb-c.h"
#include "hbase/wire.h"
#include "host.h"

typedef enum fake_mode
{
	FAKE_GOOD,
	FAKE_FLIP,		/* some bytes of an answer are others */
	FAKE_CUT,		/* a part of an answer, then the end */
	FAKE_HANG,		/* a part of an answer, then nothing */
	FAKE_LENGTH,	/* a large number somewhere */
	FAKE_RANDOM,	/* any bytes */
	FAKE_EXCEPTION, /* an exception instead */
	FAKE_MODES
} fake_mode;

typedef struct fake_server fake_server;

struct fake_server
{
	int listener;
	int port;
	pthread_t thread;
	fake_mode mode;	  /* of answers to these methods: */
	const char *only; /* NULL: all */
	int chance;		  /* one of so many answers is damaged */
	unsigned seed;
	long calls;
	/* answers what comes before the first request.  Returns false if the connection ends.  NULL:
	 * fake_greet() */
	bool (*greet)(fake_server *server, int fd);
	test_host memory; /* of frames; not counted exactly, since threads share it */
};

static inline bool
fake_read(int fd, void *p, size_t n)
{
	for (size_t at = 0; at < n;)
	{
		ssize_t r = recv(fd, (uint8_t *) p + at, n - at, 0);

		if (r <= 0)
			return false;
		at += (size_t) r;
	}
	return true;
}

static inline void
fake_cell(fake_server *s, hb_buffer *block, const char *row, const char *family,
		  const char *qualifier, hb_bytes value)
{
	hb_cell c = {text(family), text(qualifier), value, 1000, HB_CELL_PUT};

	(void) hb_cell_block_append(&s->memory.host, block, text(row), &c);
}

/* The row of the region in hbase:meta. */
static inline void
fake_meta(fake_server *s, hb_buffer *block)
{
	Hbp__TableName name = HBP__TABLE_NAME__INIT;
	Hbp__RegionInfo info = HBP__REGION_INFO__INIT;
	uint8_t value[200] = "PBUF";
	char address[32];
	const char *row = "t,,1.0123456789abcdef0123456789abcdef.";

	name.namespace_ = hb_pb(text("default"));
	name.qualifier = hb_pb(text("t"));
	info.region_id = 1;
	info.table_name = &name;
	snprintf(address, sizeof address, "127.0.0.1:%d", s->port);
	fake_cell(s, block, row, "info", "regioninfo",
			  (hb_bytes) {value, 4 + hbp__region_info__pack(&info, value + 4)});
	fake_cell(s, block, row, "info", "server", text(address));
}

/* Answers; the rows are k0 .. k5 of two cells each, the last in two parts. */
static inline void
fake_scan(fake_server *s, const Hbp__ScanRequest *req, Hbp__ScanResponse *r, hb_buffer *block)
{
	static uint32_t counts[] = {2, 2, 2, 1};
	static protobuf_c_boolean partial[] = {0, 0, 0, 1};
	static uint32_t last[] = {1, 2};
	bool meta = req->region != NULL && req->region->value.len > 6 &&
				memcmp(req->region->value.data, "hbase:", 6) == 0;
	bool first = req->region != NULL;
	int from = first ? 0 : 3;
	int to = first ? 4 : 5;

	r->has_more_results = r->has_more_results_in_region = 1;
	r->more_results = !meta;
	r->more_results_in_region = !meta && first;
	r->has_scanner_id = 1;
	r->scanner_id = 7;
	r->cells_per_result = meta ? counts : first ? counts : last;
	r->n_cells_per_result = meta ? 1 : first ? 4 : 2;
	if (!meta && first)
	{
		r->partial_flag_per_result = partial;
		r->n_partial_flag_per_result = 4;
	}
	if (meta)
	{
		fake_meta(s, block);
		return;
	}
	for (int i = from; i < to; i++)
	{
		char row[4] = {'k', (char) ('0' + i), 0};

		if (!(i == 3 && !first))
			fake_cell(s, block, row, "f", "a", text("value"));
		if (!(i == 3 && first))
			fake_cell(s, block, row, "f", "b", text("value"));
	}
}

static inline size_t
fake_meta_location(fake_server *s, uint8_t *out, Hbp__ServerName *me)
{
	Hbp__TableName name = HBP__TABLE_NAME__INIT;
	Hbp__RegionInfo info = HBP__REGION_INFO__INIT;
	Hbp__RegionLocation l = HBP__REGION_LOCATION__INIT;
	Hbp__RegionLocation *list[] = {&l};
	Hbp__GetMetaRegionLocationsResponse r = HBP__GET_META_REGION_LOCATIONS_RESPONSE__INIT;

	(void) s;
	name.namespace_ = hb_pb(text("hbase"));
	name.qualifier = hb_pb(text("meta"));
	info.table_name = &name;
	l.region_info = &info;
	l.server_name = me;
	r.meta_locations = list;
	r.n_meta_locations = 1;
	return hbp__get_meta_region_locations_response__pack(&r, out);
}

static inline size_t
fake_table_names(uint8_t *out)
{
	Hbp__TableName name = HBP__TABLE_NAME__INIT;
	Hbp__TableName *list[] = {&name};
	Hbp__GetTableNamesResponse r = HBP__GET_TABLE_NAMES_RESPONSE__INIT;

	name.namespace_ = hb_pb(text("ns"));
	name.qualifier = hb_pb(text("t"));
	r.table_names = list;
	r.n_table_names = 1;
	return hbp__get_table_names_response__pack(&r, out);
}

static inline size_t
fake_get(uint8_t *out)
{
	Hbp__Cell c = HBP__CELL__INIT;
	Hbp__Cell *list[] = {&c};
	Hbp__Result result = HBP__RESULT__INIT;
	Hbp__GetResponse r = HBP__GET_RESPONSE__INIT;

	c.has_row = c.has_family = c.has_qualifier = c.has_value = c.has_timestamp = 1;
	c.row = c.family = c.qualifier = c.value = hb_pb(text("abc"));
	result.cell = list;
	result.n_cell = 1;
	r.result = &result;
	return hbp__get_response__pack(&r, out);
}

#define FAKE_MOST 64 /* actions that are answered */

static inline size_t
fake_multi(fake_server *s, const Hbp__MultiRequest *req, uint8_t *out, hb_buffer *block)
{
	Hbp__MultiResponse r = HBP__MULTI_RESPONSE__INIT;
	Hbp__Result result = HBP__RESULT__INIT;
	Hbp__ResultOrException x[FAKE_MOST];
	Hbp__ResultOrException *lists[FAKE_MOST];
	Hbp__RegionActionResult ra[FAKE_MOST];
	Hbp__RegionActionResult *ras[FAKE_MOST];
	size_t used = 0;

	result.has_associated_cell_count = 1;
	result.associated_cell_count = 1;
	for (size_t i = 0; i < req->n_region_action && i < FAKE_MOST; i++)
	{
		hbp__region_action_result__init(&ra[i]);
		ras[i] = &ra[i];
		ra[i].result_or_exception = &lists[used];
		for (size_t k = 0; k < req->region_action[i]->n_action && used < FAKE_MOST; k++)
		{
			hbp__result_or_exception__init(&x[used]);
			x[used].has_index = 1;
			x[used].index = req->region_action[i]->action[k]->index;
			x[used].result = &result;
			fake_cell(s, block, "k1", "f", "a", text("value"));
			lists[used] = &x[used];
			used++;
			ra[i].n_result_or_exception++;
		}
	}
	r.region_action_result = ras;
	r.n_region_action_result = req->n_region_action < FAKE_MOST ? req->n_region_action : FAKE_MOST;
	return hbp__multi_response__pack(&r, out);
}

/* Packs the answer to a method; returns its length. */
static inline size_t
fake_answer(fake_server *s, hb_bytes method, hb_bytes param, uint8_t *out, hb_buffer *block)
{
	Hbp__ServerName me = HBP__SERVER_NAME__INIT;
	size_t n = 0;

	me.host_name = hb_pb(text("127.0.0.1"));
	me.has_port = 1;
	me.port = (uint32_t) s->port;
	if (hb_memory_equal(method, text("GetMetaRegionLocations")))
		return fake_meta_location(s, out, &me);
	if (hb_memory_equal(method, text("GetActiveMaster")))
	{
		Hbp__GetActiveMasterResponse r = HBP__GET_ACTIVE_MASTER_RESPONSE__INIT;

		r.server_name = &me;
		return hbp__get_active_master_response__pack(&r, out);
	}
	if (hb_memory_equal(method, text("GetTableNames")))
		return fake_table_names(out);
	if (hb_memory_equal(method, text("Get")))
		return fake_get(out);
	if (hb_memory_equal(method, text("Scan")))
	{
		Hbp__ScanRequest *req = hbp__scan_request__unpack(NULL, param.len, param.data);
		Hbp__ScanResponse r = HBP__SCAN_RESPONSE__INIT;

		if (req != NULL)
			fake_scan(s, req, &r, block);
		hbp__scan_request__free_unpacked(req, NULL);
		return hbp__scan_response__pack(&r, out);
	}
	if (hb_memory_equal(method, text("Multi")))
	{
		Hbp__MultiRequest *req = hbp__multi_request__unpack(NULL, param.len, param.data);

		n = req == NULL ? 0 : fake_multi(s, req, out, block);
		hbp__multi_request__free_unpacked(req, NULL);
	}
	return n;
}

/* Makes the frame of an answer. */
static inline void
fake_frame(fake_server *s, uint32_t id, hb_bytes method, hb_bytes param, bool exception,
		   hb_buffer *frame)
{
	Hbp__ResponseHeader h = HBP__RESPONSE_HEADER__INIT;
	Hbp__ExceptionResponse x = HBP__EXCEPTION_RESPONSE__INIT;
	Hbp__CellBlockMeta meta = HBP__CELL_BLOCK_META__INIT;
	hb_buffer block = {0};
	uint8_t message[8192];
	uint8_t head[1024];
	uint8_t number[HB_VARINT_MAX];
	const hb_host *m = &s->memory.host;
	size_t n = 0;
	size_t hn;

	h.has_call_id = 1;
	h.call_id = id;
	frame->len = 0;
	(void) hb_memory_append(m, frame, "\0\0\0\0", 4);
	if (exception)
	{
		x.has_exception_class_name = x.has_stack_trace = x.has_do_not_retry = 1;
		x.exception_class_name = hb_pb(text("java.lang.Nonsense"));
		x.stack_trace = hb_pb(text("first line\nsecond line"));
		x.do_not_retry = 1;
		h.exception = &x;
	}
	else
	{
		n = fake_answer(s, method, param, message, &block);
		if (block.len > 0)
		{
			meta.has_length = 1;
			meta.length = (uint32_t) block.len;
			h.cell_block_meta = &meta;
		}
	}
	hn = hbp__response_header__pack(&h, head);
	(void) hb_memory_append(m, frame, number, (size_t) (hb_wire_put_varint(number, hn) - number));
	(void) hb_memory_append(m, frame, head, hn);
	if (!exception)
	{
		(void) hb_memory_append(m, frame, number,
								(size_t) (hb_wire_put_varint(number, n) - number));
		(void) hb_memory_append(m, frame, message, n);
		(void) hb_memory_append(m, frame, block.data, block.len);
	}
	hb_wire_put32(frame->data, (uint32_t) frame->len - 4);
	hb_memory_free(m, &block);
}

static inline unsigned
fake_number(fake_server *s, unsigned n)
{
	return n == 0 ? 0 : (unsigned) rand_r(&s->seed) % n;
}

/* Damages the frame; returns the bytes of it that are sent. */
static inline size_t
fake_damage(fake_server *s, fake_mode mode, hb_buffer *f)
{
	unsigned n = (unsigned) f->len;

	switch (mode)
	{
		case FAKE_FLIP:
			for (unsigned k = 1 + fake_number(s, 4); k > 0; k--)
				f->data[fake_number(s, n)] ^= (uint8_t) (1 << fake_number(s, 8));
			return n;
		case FAKE_LENGTH:
			f->data[fake_number(s, 2) ? fake_number(s, n) : fake_number(s, n < 40 ? n : 40)] = 255;
			return n;
		case FAKE_RANDOM:
			for (unsigned i = fake_number(s, 2) ? 0 : 4; i < n; i++)
				f->data[i] = (uint8_t) rand_r(&s->seed);
			return n;
		case FAKE_CUT:
		case FAKE_HANG:
			return fake_number(s, n);
		default:
			return n;
	}
}

typedef struct fake_connection
{
	fake_server *server;
	int fd;
} fake_connection;

/* Answers one request.  Returns false if the connection ends. */
static inline bool
fake_serve(fake_server *s, int fd, hb_buffer *in, hb_buffer *frame)
{
	uint8_t length[4];
	hb_bytes rest;
	hb_bytes header;
	hb_bytes param;
	Hbp__RequestHeader *h;
	fake_mode mode = FAKE_GOOD;
	size_t n;

	if (!fake_read(fd, length, 4))
		return false;
	n = hb_wire_get32(length);
	in->len = 0;
	if (n > 1 << 24 || hb_memory_reserve(&s->memory.host, in, n) != HB_OK ||
		!fake_read(fd, in->data, n))
		return false;
	rest = (hb_bytes) {in->data, n};
	if (!hb_wire_delimited(&rest, &header) || !hb_wire_delimited(&rest, &param))
		return false;
	h = hbp__request_header__unpack(NULL, header.len, header.data);
	if (h == NULL)
		return false;
	s->calls++;
	if (s->chance > 0 && fake_number(s, (unsigned) s->chance) == 0 &&
		(s->only == NULL || hb_memory_equal(hb_from_pb(h->method_name), text(s->only))))
		mode = s->mode;
	fake_frame(s, h->call_id, hb_from_pb(h->method_name), param, mode == FAKE_EXCEPTION, frame);
	hbp__request_header__free_unpacked(h, NULL);
	n = fake_damage(s, mode, frame);
	(void) !send(fd, frame->data, n, MSG_NOSIGNAL);
	return mode != FAKE_CUT;
}

/* Reads the header of a connection. */
static inline bool
fake_header(int fd)
{
	uint8_t length[4];
	uint8_t skip[256];
	size_t n;

	return fake_read(fd, length, 4) && (n = hb_wire_get32(length)) <= sizeof skip &&
		   fake_read(fd, skip, n);
}

static inline bool
fake_greet(fake_server *s, int fd)
{
	uint8_t head[6];

	(void) s;
	return fake_read(fd, head, 6) && memcmp(head, "HBas\0\x50", 6) == 0 && fake_header(fd);
}

static inline void *
fake_connection_main(void *arg)
{
	fake_connection *c = arg;
	hb_buffer in = {0};
	hb_buffer frame = {0};
	bool more = c->server->greet != NULL ? c->server->greet(c->server, c->fd)
										 : fake_greet(c->server, c->fd);

	while (more)
		more = fake_serve(c->server, c->fd, &in, &frame);
	close(c->fd);
	hb_memory_free(&c->server->memory.host, &in);
	hb_memory_free(&c->server->memory.host, &frame);
	free(c);
	return NULL;
}

static inline void *
fake_main(void *arg)
{
	fake_server *s = arg;

	for (;;)
	{
		int fd = accept(s->listener, NULL, NULL);
		fake_connection *c;
		pthread_t t;

		if (fd < 0)
			return NULL;
		c = malloc(sizeof *c);
		*c = (fake_connection) {s, fd};
		if (pthread_create(&t, NULL, fake_connection_main, c) == 0)
			pthread_detach(t);
	}
}

static inline bool
fake_start(fake_server *s)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;

	memset(s, 0, sizeof *s);
	test_host_init(&s->memory);
	s->listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(s->listener, (struct sockaddr *) &a, sizeof a) != 0 || listen(s->listener, 50) != 0 ||
		getsockname(s->listener, (struct sockaddr *) &a, &n) != 0)
		return false;
	s->port = ntohs(a.sin_port);
	return pthread_create(&s->thread, NULL, fake_main, s) == 0;
}

static inline void
fake_stop(fake_server *s)
{
	shutdown(s->listener, SHUT_RDWR);
	close(s->listener);
	pthread_join(s->thread, NULL);
}

/* Returns the number in the environment variable, or the other one. */
static inline int
number_of(const char *name, int otherwise)
{
	return getenv(name) != NULL ? atoi(getenv(name)) : otherwise;
}

/* Shows how often each status came. */
static inline void
print_statuses(const long *statuses)
{
	for (int i = 0; i <= HB_REMOTE; i++)
	{
		if (statuses[i] > 0)
			print_message("    %s: %ld\n", hb_status_name(i), statuses[i]);
	}
}

#endif /* FAKE_SERVER_H */

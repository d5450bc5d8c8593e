/* host.h - a host for tests: malloc, poll, and ways to make these fail */
#ifndef HOST_H
#define HOST_H

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "hbase/hbase.h"

typedef struct test_host
{
	hb_host host;
	long allocated;		  /* blocks that are not freed */
	long fail_at;		  /* this allocation fails (counted down); 0: none */
	int64_t interrupt_us; /* from then on wait returns -1; 0: never */
	long waits;
	bool verbose;
} test_host;

static inline int64_t
host_now(void *ctx)
{
	struct timespec t;

	(void) ctx;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline void *
host_alloc(void *ctx, size_t size)
{
	test_host *h = ctx;
	void *p;

	if (h->fail_at > 0 && --h->fail_at == 0)
		return NULL;
	p = malloc(size == 0 ? 1 : size);
	h->allocated += p != NULL;
	return p;
}

static inline void *
host_realloc(void *ctx, void *old, size_t size)
{
	test_host *h = ctx;
	void *p;

	if (old == NULL)
		return host_alloc(ctx, size);
	if (h->fail_at > 0 && --h->fail_at == 0)
		return NULL;
	p = realloc(old, size);
	return p;
}

static inline void
host_free(void *ctx, void *p)
{
	test_host *h = ctx;

	h->allocated -= p != NULL;
	free(p);
}

static inline int
host_wait(void *ctx, const hb_wait *w, int n, int timeout_ms)
{
	test_host *h = ctx;
	struct pollfd p[64];
	int r;

	h->waits++;
	for (int i = 0; i < n; i++)
		p[i] = (struct pollfd) {
			.fd = w[i].fd,
			.events = (short) ((w[i].readable ? POLLIN : 0) | (w[i].writable ? POLLOUT : 0))};
	if (h->interrupt_us > 0)
	{
		int64_t left = (h->interrupt_us - host_now(ctx)) / 1000;

		if (left <= 0)
			return -1;
		if (left < timeout_ms)
			timeout_ms = (int) left;
	}
	r = poll(p, (nfds_t) n, timeout_ms);
	if (h->interrupt_us > 0 && r == 0 && host_now(ctx) >= h->interrupt_us)
		return -1;
	return r < 0 ? 1 : r;
}

static inline void
host_report(void *ctx, hb_level level, const char *text)
{
	test_host *h = ctx;

	(void) level;
	if (h->verbose)
		fprintf(stderr, "  again: %s\n", text);
}

static inline void
test_host_init(test_host *h)
{
	memset(h, 0, sizeof *h);
	h->host = (hb_host) {h, host_wait, host_alloc, host_realloc, host_free, host_now, host_report};
	h->verbose = getenv("HB_VERBOSE") != NULL;
}

static inline hb_bytes
text(const char *s)
{
	return (hb_bytes) {(const uint8_t *) s, strlen(s)};
}

#endif /* HOST_H */

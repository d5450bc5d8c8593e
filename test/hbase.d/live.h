/* live.h - what the tests against a cluster share: a client, tables, rows */
#ifndef LIVE_H
#define LIVE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "host.h"

static test_host the_host;
static hb_client *client;

static inline void
report_failure(const char *what, const char *file, int line)
{
	const hb_error *e = hb_client_error(client);

	print_error("%s:%d: %s: %s [%s] %s: %s\n", file, line, what, hb_status_name(e->status),
				e->server, e->java_class, e->text);
}

#define assert_ok(expr)                                 \
	do                                                  \
	{                                                   \
		hb_status assert_ok_ = (expr);                  \
		if (assert_ok_ != HB_OK)                        \
		{                                               \
			report_failure(#expr, __FILE__, __LINE__);  \
			fail_msg("%s", hb_status_name(assert_ok_)); \
		}                                               \
	} while (0)

#define assert_status(expr, expected)                                     \
	do                                                                    \
	{                                                                     \
		hb_status assert_st_ = (expr);                                    \
		if (assert_st_ != (expected))                                     \
		{                                                                 \
			report_failure(#expr, __FILE__, __LINE__);                    \
			fail_msg("%s is not " #expected, hb_status_name(assert_st_)); \
		}                                                                 \
	} while (0)

/* HB_NODES says where the cluster is.  HB_KEYTAB: the cluster demands Kerberos; HB_PROTECTION: 1, 2
 * or 4, as hb_protection. */
static inline int
live_setup(void **state)
{
	hb_kerberos kerberos = {.keytab = getenv("HB_KEYTAB")};
	hb_options o = {.nodes = getenv("HB_NODES"),
					.timeout_ms = 60000,
					.kerberos = kerberos.keytab != NULL ? &kerberos : NULL};

	if (getenv("HB_PROTECTION") != NULL)
		kerberos.protection = (hb_protection) atoi(getenv("HB_PROTECTION"));

	(void) state;
	test_host_init(&the_host);
	if (o.nodes == NULL)
		o.nodes = "127.0.0.1:56001";
	return hb_client_new(&o, &the_host.host, &client) == HB_OK ? 0 : -1;
}

static inline int
live_teardown(void **state)
{
	(void) state;
	hb_client_free(client);
	if (the_host.allocated != 0)
		print_error("%ld blocks of memory were not freed\n", the_host.allocated);
	return the_host.allocated == 0 ? 0 : -1;
}

/* Makes the table anew, with family f (5 versions) and g, split at these keys. */
static inline void
make_table(const char *name, const char *const *splits, int n_splits)
{
	hb_attribute versions[] = {{"VERSIONS", "5"}, {"NEW_VERSION_BEHAVIOR", "true"}};
	hb_family families[] = {{.name = "f", .attributes = versions, .n_attributes = 2},
							{.name = "g"}};
	hb_table t = {.name = name, .families = families, .n_families = 2};
	hb_bytes keys[64];
	hb_status st = hb_admin_drop(client, name);

	assert_true(st == HB_OK || st == HB_NOTABLE);
	for (int i = 0; i < n_splits; i++)
		keys[i] = text(splits[i]);
	assert_ok(hb_admin_create(client, &t, keys, n_splits));
}

/* Writes n rows "r000000" with f:a = the number in text, g:b = "x". */
static inline void
write_rows(const char *table, int from, int n)
{
	hb_mutation *m = calloc((size_t) n, sizeof *m);
	hb_change *c = calloc((size_t) n * 2, sizeof *c);
	char(*keys)[16] = calloc((size_t) n, sizeof *keys);
	hb_mutate_result r;

	for (int i = 0; i < n; i++)
	{
		snprintf(keys[i], sizeof keys[i], "r%06d", from + i);
		c[2 * i] = (hb_change) {HB_PUT, text("f"), text("a"), text(keys[i] + 1), HB_TS_LATEST, 0};
		c[2 * i + 1] = (hb_change) {HB_PUT, text("g"), text("b"), text("x"), HB_TS_LATEST, 0};
		m[i] = (hb_mutation) {text(keys[i]), &c[2 * i], 2};
	}
	assert_ok(hb_mutate(client, table, m, n, &r));
	assert_int_equal(r.written, n);
	free(m);
	free(c);
	free(keys);
}

/* Reads the whole scan; checks that keys rise (fall) strictly.  Returns the number of rows. */
static inline int64_t
count_rows(const hb_scan_spec *spec)
{
	hb_scan *scan;
	hb_row row;
	hb_status st;
	int64_t n = 0;
	uint8_t last[64];
	size_t last_len = 0;

	assert_ok(hb_scan_open(client, spec, &scan));
	while ((st = hb_scan_next(scan, &row)) == HB_OK)
	{
		if (n++ > 0)
		{
			size_t m = row.key.len < last_len ? row.key.len : last_len;
			int c = memcmp(last, row.key.data, m);

			if (c == 0)
				c = last_len < row.key.len ? -1 : last_len > row.key.len;
			assert_true(spec->reversed ? c > 0 : c < 0);
		}
		assert_true(row.key.len <= sizeof last);
		memcpy(last, row.key.data, row.key.len);
		last_len = row.key.len;
	}
	assert_status(st, HB_END);
	hb_scan_close(scan);
	return n;
}

#endif /* LIVE_H */

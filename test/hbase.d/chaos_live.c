/*
 * chaos_live.c - scans, writes and increments while regions move and split and servers are killed
 *
 *     HB_SECONDS=n     how long it lasts; 20
 *     HB_CLUSTER=path  the script of the cluster: region servers are killed and started again
 *     HB_SERVERS=n     how many there are; 3
 *
 * Three processes work, each with its own client: one scans rows that do not change, one writes
 * rows and remembers those that were acknowledged, one increments counters.  At the end every
 * acknowledged row must be there, and each counter must be the number of its increments.
 */
#include <endian.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "live.h"

#define T		 "hbt_chaos"
#define FIXED	 20000 /* rows r000000 ... that do not change */
#define BATCH	 20	   /* rows of a write */
#define COUNTERS 7

static const char *const splits[] = {"r005000", "r010000", "r015000", "s", "w1", "w3", "w5", "w7"};

/* What the processes share. */
static struct
{
	volatile bool stop;
	volatile long scans;
	volatile long wrong; /* scans with another number of rows */
	volatile int64_t slowest_scan_us;
	volatile long written;
	volatile int64_t slowest_write_us;
	volatile long counted[COUNTERS];
	volatile long failures;
	volatile long retries;
} * shared;

static void
failed(const char *what)
{
	const hb_error *e = hb_client_error(client);

	shared->failures++;
	print_error("%s: %s [%s] %s: %s\n", what, hb_status_name(e->status), e->server, e->java_class,
				e->text);
}

static void
scanner(void)
{
	hb_range r = {text("r"), text("s"), false, false};
	hb_scan_spec spec = {.read = {.table = T}, .ranges = &r, .n_ranges = 1};

	for (int i = 0; !shared->stop; i++)
	{
		int64_t begun = host_now(NULL);
		hb_scan *scan;
		hb_row row;
		hb_status st;
		long n = 0;

		spec.reversed = i % 3 == 1;
		spec.rows_per_call = i % 2 == 0 ? 100 : 1000;
		spec.no_read_ahead = i % 5 == 4;
		if (hb_scan_open(client, &spec, &scan) != HB_OK)
			break;
		while ((st = hb_scan_next(scan, &row)) == HB_OK)
		{
			char key[32];

			/* no row twice, none left out */
			snprintf(key, sizeof key, "r%06ld", spec.reversed ? FIXED - 1 - n : n);
			if (row.key.len != 7 || memcmp(row.key.data, key, 7) != 0 || row.n_cells != 2)
				break;
			n++;
		}
		if (st != HB_END && st != HB_OK)
			failed("scan");
		if (n != FIXED)
			shared->wrong++;
		shared->scans++;
		shared->retries += (long) hb_scan_statistics(scan)->retries;
		hb_scan_close(scan);
		begun = host_now(NULL) - begun;
		if (begun > shared->slowest_scan_us)
			shared->slowest_scan_us = begun;
	}
}

static void
key_of(char *key, long i)
{
	snprintf(key, 32, "w%ld-%08ld", i % 10, i);
}

static void
writer(void)
{
	static char keys[BATCH][32];

	for (long i = 0; !shared->stop; i += BATCH)
	{
		hb_change c = {HB_PUT, text("f"), text("a"), text("1"), HB_TS_LATEST, 0};
		hb_mutation m[BATCH];
		int64_t begun = host_now(NULL);

		for (int k = 0; k < BATCH; k++)
		{
			key_of(keys[k], i + k);
			m[k] = (hb_mutation) {text(keys[k]), &c, 1};
		}
		if (hb_mutate(client, T, m, BATCH, NULL) != HB_OK)
		{
			failed("write");
			break;
		}
		shared->written = i + BATCH;
		begun = host_now(NULL) - begun;
		if (begun > shared->slowest_write_us)
			shared->slowest_write_us = begun;
	}
}

static void
incrementer(void)
{
	uint64_t one = htobe64(1);

	for (long i = 0; !shared->stop; i++)
	{
		hb_change c = {HB_INCREMENT, text("f"), text("n"), {(const uint8_t *) &one, 8},
					   HB_TS_LATEST, 0};
		char key[32];
		hb_mutation m = {{0}, &c, 1};

		snprintf(key, sizeof key, "w%ld-counter", i % COUNTERS);
		m.key = text(key);
		if (hb_row_change(client, T, &m, NULL) != HB_OK)
		{
			failed("increment");
			break;
		}
		shared->counted[i % COUNTERS]++;
	}
}

static pid_t
start(void (*work)(void))
{
	pid_t pid = fork();
	void *none = NULL;

	if (pid != 0)
		return pid;
	if (live_setup(&none) == 0)
		work();
	hb_client_free(client);
	_exit(0);
}

static void
nap(int ms)
{
	host_wait(&the_host, NULL, 0, ms);
}

static void
cluster(const char *command, int server)
{
	char line[512];

	snprintf(line, sizeof line, "%s %s %d", getenv("HB_CLUSTER"), command, server);
	if (system(line) != 0)
		print_error("%s: failed\n", line);
}

/* Moves a region, splits one, or kills a server. */
static void
disturb(int i, int servers, int *moves, int *new_regions, int *kills)
{
	char key[32];

	if (i % 5 == 3 && *new_regions < 12)
	{
		snprintf(key, sizeof key, "r%06d", 700 + *new_regions * 1500);
		*new_regions += hb_admin_split(client, T, text(key)) == HB_OK;
	}
	else if (i % 12 == 7 && getenv("HB_CLUSTER") != NULL)
	{
		int server = 1 + *kills % servers;

		cluster("kill-server", server);
		++*kills;
		nap(6000);
		cluster("start-server", server);
		nap(3000);
	}
	else
	{
		snprintf(key, sizeof key, i % 2 == 0 ? "r%06d" : "w%d",
				 i % 2 == 0 ? i * 777 % FIXED : i % 10);
		*moves += hb_admin_move(client, T, text(key), NULL, 0) == HB_OK;
	}
	nap(300);
}

static void
check_counters(void)
{
	for (int i = 0; i < COUNTERS; i++)
	{
		hb_read read = {.table = T};
		char key[32];
		hb_bytes k;
		hb_rows *rows;
		uint64_t v = 0;

		snprintf(key, sizeof key, "w%d-counter", i);
		k = text(key);
		assert_ok(hb_get_many(client, &read, &k, 1, &rows));
		if (rows->rows[0].n_cells == 1)
			memcpy(&v, rows->rows[0].cells[0].value.data, 8);
		assert_int_equal(be64toh(v), shared->counted[i]);
		hb_rows_free(client, rows);
	}
}

static void
check_writes(void)
{
	long missing = 0;

	for (long i = 0; i < shared->written; i += 1000)
	{
		hb_read read = {.table = T};
		static char keys[1000][32];
		hb_bytes k[1000];
		hb_rows *rows;
		int n = 0;

		for (; n < 1000 && i + n < shared->written; n++)
		{
			key_of(keys[n], i + n);
			k[n] = text(keys[n]);
		}
		assert_ok(hb_get_many(client, &read, k, n, &rows));
		for (int r = 0; r < n; r++)
			missing += rows->rows[r].n_cells != 1;
		hb_rows_free(client, rows);
	}
	assert_int_equal(missing, 0);
}

static void
chaos(void **state)
{
	int seconds = getenv("HB_SECONDS") != NULL ? atoi(getenv("HB_SECONDS")) : 20;
	int servers = getenv("HB_SERVERS") != NULL ? atoi(getenv("HB_SERVERS")) : 3;
	int64_t end;
	pid_t pids[3];
	int moves = 0;
	int new_regions = 0;
	int kills = 0;
	long counted = 0;

	(void) state;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	make_table(T, splits, 8);
	write_rows(T, 0, FIXED);
	pids[0] = start(scanner);
	pids[1] = start(writer);
	pids[2] = start(incrementer);
	end = host_now(NULL) + (int64_t) seconds * 1000000;
	for (int i = 0; host_now(NULL) < end; i++)
		disturb(i, servers, &moves, &new_regions, &kills);
	shared->stop = true;
	for (int i = 0; i < 3; i++)
		(void) waitpid(pids[i], NULL, 0);
	for (int i = 0; i < COUNTERS; i++)
		counted += shared->counted[i];
	print_message("    %d moves, %d splits, %d kills\n", moves, new_regions, kills);
	print_message("    %ld scans, %ld wrong, %ld reopened, the slowest %.1f s\n", shared->scans,
				  shared->wrong, shared->retries, (double) shared->slowest_scan_us / 1e6);
	print_message("    %ld rows acknowledged, the slowest write %.1f s; %ld increments\n",
				  shared->written, (double) shared->slowest_write_us / 1e6, counted);
	assert_int_equal(shared->failures, 0);
	assert_int_equal(shared->wrong, 0);
	assert_true(shared->scans > 0 && shared->written > 0 && counted > 0);
	check_counters();
	check_writes();
	assert_ok(hb_admin_drop(client, T));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(chaos)};

	return cmocka_run_group_tests(tests, live_setup, live_teardown);
}

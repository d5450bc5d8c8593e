/*
 * damage_test.c - damage stays small: whatever byte or file of a store is lost, the store opens,
 * and every read gives either the right rows or WIDE_CORRUPT, in the families that the damage does
 * not hit always the right rows.  That holds after writes, compactions and restarts, too.
 *
 * The rows are compared with a model that has one value for each cell.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/compaction/output.h"
#include "engine/set/pin.h"
#include "engine/sst/sst_file.h"

#define FAMILIES 3
#define ROWS	 60
#define QUALS	 4
#define TABLES	 2 /* a table of its own for the last family */

typedef struct life
{
	store s;
	uint64_t seed;
	wide_table_id tables[TABLES];
	wide_family_id families[FAMILIES];
	int model[FAMILIES][ROWS][QUALS]; /* the value; 0: none */
	int last;						  /* value */
	/* results of the reads */
	int right, refused;
	int at_rest; /* problems before the damaged store was opened */
} life;

static uint64_t
pick(life *l, uint64_t n)
{
	return rnd(&l->seed) % n;
}

/* -------------------------------------------------------------- the life */

static void
row_key(int row, char *key)
{
	snprintf(key, 24, "row%03d", row);
}

static void
change(life *l, int family, int row, int qual, bool delete)
{
	char key[24], q[8], value[400];
	wide_batch *b;

	row_key(row, key);
	snprintf(q, sizeof q, "q%d", qual);
	assert_ok(wide_batch_new(l->s.db, &b));
	if (delete)
	{
		assert_ok(wide_batch_delete(b, WIDE_DELETE_COLUMN, l->families[family], text(key), text(q),
									WIDE_TS_MAX));
		l->model[family][row][qual] = 0;
	}
	else
	{
		l->model[family][row][qual] = ++l->last;
		snprintf(value, sizeof value, "%d %0*d", l->last, (int) pick(l, 200) + 1, 7);
		assert_ok(wide_batch_put(b, l->families[family], text(key), text(q), WIDE_TS_AUTO,
								 INT64_MIN, 0, text(value)));
	}
	assert_ok(store_commit(&l->s, b, NULL));
	l->s.now += 1000;
}

static void
changes(life *l, int n)
{
	while (n-- > 0)
		change(l, (int) pick(l, FAMILIES), (int) pick(l, ROWS), (int) pick(l, QUALS),
			   pick(l, 5) == 0);
}

static void
life_begin(life *l, uint64_t seed)
{
	wide_family_options opt;
	wide_batch *b;

	memset(l, 0, sizeof *l);
	l->seed = seed;
	store_init(&l->s);
	assert_ok(store_open(&l->s));
	wide_family_defaults(&opt);
	opt.block_size = 1024;
	assert_ok(wide_batch_new(l->s.db, &b));
	assert_ok(wide_batch_create_table(b, 1, "one", &l->tables[0]));
	assert_ok(wide_batch_create_table(b, 1, "two", &l->tables[1]));
	for (int f = 0; f < FAMILIES; f++)
	{
		opt.bloom = f == 1 ? WIDE_BLOOM_NONE : WIDE_BLOOM_ROWCOL;
		opt.compression = f == 2 ? WIDE_COMPRESS_NONE : opt.compression;
		assert_ok(wide_batch_create_family(b, l->tables[f / 2], f == 1 ? "g" : "f", &opt,
										   &l->families[f]));
	}
	assert_ok(store_commit(&l->s, b, NULL));
	for (int i = 0, n = (int) pick(l, 8) + 1; i < n; i++)
	{
		changes(l, 100);
		if (pick(l, 4) > 0)
			assert_ok(wide_flush(l->s.db));
		if (pick(l, 4) == 0)
			assert_ok(wide_compact(l->s.db, l->families[pick(l, FAMILIES)]));
		if (pick(l, 4) == 0)
			store_work(&l->s);
	}
	assert_ok(wide_flush(l->s.db));
}

/* ----------------------------------------------------------------- reads */

/* Returns the value of a cell's bytes. */
static int
value_of(const wide_cell *c)
{
	char text[12] = {0};

	memcpy(text, c->value.data, c->value.len < 11 ? c->value.len : 11);
	return atoi(text);
}

/* Compares a row that was read with the model. */
static void
check_row(life *l, int f, int row, const wide_row *r)
{
	int got[QUALS] = {0};

	for (int i = 0; r != NULL && i < r->ncells; i++)
	{
		const wide_cell *c = &r->cells[i];
		int q = c->qualifier.data[1] - '0';

		assert_in_range(q, 0, QUALS - 1);
		got[q] = value_of(c);
	}
	for (int q = 0; q < QUALS; q++)
		if (got[q] != l->model[f][row][q])
			fail_msg("family %d row %d q%d: read %d, want %d", f, row, q, got[q],
					 l->model[f][row][q]);
}

static void
refused(life *l, int f, wide_status st, bool damaged)
{
	const wide_damage *d = wide_error_damage();

	if (st != WIDE_CORRUPT || !damaged)
		fail_msg("family %d: status %d, %s", f, st, wide_error_text());
	/* it says where */
	assert_non_null(d);
	assert_int_equal(d->family, l->families[f]);
	l->refused++;
}

/* Reads rows [lo, hi) of the family; the reads may be refused if it is damaged. */
static void
check_range(life *l, int f, int lo, int hi, bool reverse, bool damaged)
{
	wide_scan_family fam = {.id = l->families[f], .want = WIDE_WANT_ALL, .max_versions = 1};
	char from[24], to[24];
	wide_range range;
	wide_scan_spec spec = {.families = &fam,
						   .nfamilies = 1,
						   .ranges = &range,
						   .nranges = 1,
						   .reverse = reverse,
						   .now = l->s.now};
	wide_snapshot *snap;
	wide_scan *scan;
	wide_row row;
	wide_status st;
	int step = reverse ? -1 : 1, at = reverse ? hi - 1 : lo;

	row_key(lo, from);
	row_key(hi, to);
	range = (wide_range) {text(from), text(to)};
	assert_ok(wide_snapshot_latest(l->s.db, &snap));
	st = wide_scan_open(l->s.db, snap, &spec, &scan);
	if (st == WIDE_OK)
	{
		while ((st = wide_scan_next(scan, &row)) == WIDE_OK)
		{
			int got = atoi((const char *) row.key.data + 3);

			/* no row is left out before it */
			for (; at != got; at += step)
			{
				assert_in_range(at, lo, hi - 1);
				check_row(l, f, at, NULL);
			}
			check_row(l, f, got, &row);
			at += step;
		}
		wide_scan_close(scan);
	}
	if (st == WIDE_END)
	{
		for (; at >= lo && at < hi; at += step)
			check_row(l, f, at, NULL);
		l->right++;
	}
	else
		refused(l, f, st, damaged);
	wide_snapshot_release(snap);
}

/* Reads everything in several ways.  damaged: the family that the damage has hit; -1: none. */
static void
check_all(life *l, int damaged)
{
	for (int f = 0; f < FAMILIES; f++)
	{
		wide_range range = {text("row010"), text("row050")};
		wide_estimate est;
		int refusals = l->refused;

		for (int row = 0; row < ROWS; row++)
			check_range(l, f, row, row + 1, row % 2, f == damaged);
		check_range(l, f, 0, ROWS, false, f == damaged);
		check_range(l, f, 0, ROWS, true, f == damaged);
		check_range(l, f, 10, 20, false, f == damaged);
		/* what plans reads does not refuse */
		assert_ok(wide_estimate_range(l->s.db, l->families[f], &range, &est));
		if (f != damaged)
			assert_int_equal(refusals, l->refused);
	}
}

/* ---------------------------------------------------------------- damage */

typedef struct names
{
	char name[300][48];
	int n;
} names;

static int
add_name(void *arg, const char *name)
{
	names *l = arg;

	if (strncmp(name, "log.", 4) != 0 && l->n < 300)
		snprintf(l->name[l->n++], sizeof l->name[0], "%s", name);
	return 0;
}

/* Returns the family of a file of the set; -1: it is no such file. */
static int
family_of(life *l, const char *name)
{
	version_pin pin = {0};
	unsigned long long number = 0;
	int found = -1;

	if (sscanf(name, "%llx.sst", &number) != 1 || strstr(name, ".sst") == NULL)
		return -1;
	assert_ok(pin_take(l->s.db, &pin));
	for (int f = 0; f < FAMILIES; f++)
	{
		family_files files;

		assert_ok(pin_files(l->s.db, &pin, l->families[f], &files));
		for (int i = 0; i < files.n; i++)
			if (files.files[i].number == number)
				found = f;
	}
	pin_drop(l->s.db, &pin);
	return found;
}

/* Damages the file at the path. */
static void
damage_file(life *l, const char *path)
{
	struct stat st;
	int fd;
	uint8_t byte;
	uint64_t at;

	assert_int_equal(stat(path, &st), 0);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	switch (pick(l, 6))
	{
		case 0:
			assert_int_equal(unlink(path), 0);
			break;
		case 1:
			assert_int_equal(ftruncate(fd, (off_t) pick(l, (uint64_t) st.st_size)), 0);
			break;
		default:
			/* the ends of files say how to read the rest */
			at = pick(l, 2) == 0 ? pick(l, (uint64_t) st.st_size)
								 : (uint64_t) st.st_size - 1 -
									   pick(l, st.st_size < 200 ? (uint64_t) st.st_size : 200);
			assert_int_equal(pread(fd, &byte, 1, (off_t) at), 1);
			byte ^= (uint8_t) (1 << pick(l, 8));
			assert_int_equal(pwrite(fd, &byte, 1, (off_t) at), 1);
	}
	close(fd);
}

static bool
reaches_nothing(void *ctx, uint64_t lsn)
{
	return false;
}

/* The log has nothing from before the newest state. */
static void
log_short(wide_log *log)
{
	log->reaches = reaches_nothing;
}

static wide_status
count_problem(void *arg, const char *object, const char *problem)
{
	++*(int *) arg;
	return WIDE_OK;
}

/* Returns the number of problems that a check of the closed store finds.  It changes nothing. */
static int
check_at_rest(life *l)
{
	int n = 0, names = test_dir_count(l->s.dir);
	wide_check_host host = {.ctx = &n, .problem = count_problem};
	wide_status st = wide_check(l->s.dir, &host);

	assert_int_equal(test_dir_count(l->s.dir), names);
	if (st != WIDE_OK)
		fail_msg("check: %d, %s", st, wide_error_text());
	return n;
}

/* Damages a file of the closed store, and returns the family that this may hit. */
static int
damage(life *l)
{
	names list = {0};
	char path[200];
	const char *name;
	int family;

	assert_true(os_real()->list(os_real(), l->s.dir, add_name, &list) >= 0);
	name = list.name[pick(l, (uint64_t) list.n)];
	family = family_of(l, name);
	snprintf(path, sizeof path, "%s/%s", l->s.dir, name);
	store_close(&l->s);
	assert_int_equal(check_at_rest(l), 0);
	damage_file(l, path);
	l->at_rest = check_at_rest(l);
	return family;
}

static void
work(life *l)
{
	for (int n = 0; n < 100 && wide_work(l->s.db) == WIDE_OK; n++)
		;
	for (int f = 0; f < FAMILIES; f++)
		assert_ok(wide_compact(l->s.db, l->families[f]));
}

static int
problems(life *l, wide_family_id family)
{
	int n = 0;

	assert_ok(wide_verify(l->s.db, family, count_problem, &n));
	return n;
}

/* What a salvage has reported. */
typedef struct lost
{
	life *l;
	bool row[ROWS]; /* may be hit */
	uint64_t rows, cells, kept;
	int ranges, files;
} lost;

static wide_status
note_lost(void *arg, const wide_lost *w)
{
	lost *o = arg;

	if (w->whole)
	{
		o->files++;
		o->rows += w->rows;
		o->cells += w->cells;
		o->kept += w->kept;
		assert_true(w->why[0] != 0);
		return WIDE_OK;
	}
	o->ranges++;
	assert_true(w->lo.len > 0 && w->hi.len > 0);
	for (int row = 0; row < ROWS; row++)
	{
		char key[24];

		row_key(row, key);
		o->row[row] |= memcmp(key, w->lo.data, w->lo.len) >= 0 &&
					   memcmp(key, w->hi.data, w->hi.len) <= 0;
	}
	return WIDE_OK;
}

/* Salvages a family: afterwards all of it can be read, and what was not given up is right. */
static void
salvage(life *l, int f, lost *out)
{
	lost look = {.l = l};
	int refused = l->refused;

	*out = (lost) {.l = l};
	assert_ok(wide_salvage(l->s.db, l->families[f], true, note_lost, &look));
	assert_true(problems(l, l->families[f]) > 0);
	assert_ok(wide_salvage(l->s.db, l->families[f], false, note_lost, out));
	assert_int_equal(look.ranges, out->ranges);
	assert_int_equal(look.files, out->files);
	assert_int_equal(look.rows, out->rows);
	assert_int_equal(look.cells, out->cells);
	assert_int_equal(look.kept, out->kept);
	assert_true(out->files > 0);
	assert_int_equal(out->ranges > 0, out->cells > 0);
	assert_memory_equal(look.row, out->row, sizeof look.row);
	store_work(&l->s);
	assert_int_equal(problems(l, l->families[f]), 0);
	for (int i = 0; i < 2; i++)
	{
		for (int row = 0; row < ROWS; row++)
			if (!out->row[row])
				check_range(l, f, row, row + 1, false, false);
		store_close(&l->s);
		assert_ok(store_open(&l->s));
	}
	assert_int_equal(l->refused, refused);
	/* what was given up can be read, too: it is taken as it is now */
	for (int row = 0; row < ROWS; row++)
		for (int q = 0; q < QUALS && out->row[row]; q++)
			change(l, f, row, q, false);
	work(l);
	assert_ok(wide_salvage(l->s.db, l->families[f], false, note_lost, &look));
	assert_int_equal(look.files, out->files);
}

static void
life_end(life *l, int damaged)
{
	wide_batch *b;

	if (damaged >= 0)
	{
		int before = store_files(&l->s, l->families[damaged], -1);

		/* its table goes, and its files with it */
		assert_ok(wide_batch_new(l->s.db, &b));
		assert_ok(wide_batch_drop_table(b, l->tables[damaged / 2]));
		assert_ok(store_commit(&l->s, b, NULL));
		store_work(&l->s);
		assert_true(before >= 0);
		store_close(&l->s);
		assert_ok(store_open(&l->s));
		store_work(&l->s);
		assert_int_equal(problems(l, 0), 0);
	}
	store_drop(&l->s);
}

/* ----------------------------------------------------------------- tests */

static void
test_random(void **state)
{
	int refused = 0, right = 0, hit = 0, salvaged = 0, partly = 0;
	int rounds = getenv("WIDE_ROUNDS") != NULL ? atoi(getenv("WIDE_ROUNDS")) : 120;

	for (int round = 0; round < rounds; round++)
	{
		life l;
		int damaged;

		life_begin(&l, (uint64_t) round + 1);
		check_all(&l, -1);
		assert_int_equal(l.refused, 0);
		if (pick(&l, 4) > 0)
			l.s.opening = log_short;
		damaged = damage(&l);
		if (store_open(&l.s) != WIDE_OK)
			fail_msg("round %d: %s", round, wide_error_text());
		check_all(&l, damaged);
		if (pick(&l, 2) == 0)
			work(&l);
		changes(&l, 60);
		check_all(&l, damaged);
		assert_ok(wide_flush(l.s.db));
		work(&l);
		check_all(&l, damaged);
		store_close(&l.s);
		assert_ok(store_open(&l.s));
		check_all(&l, damaged);
		changes(&l, 60);
		work(&l);
		check_all(&l, damaged);
		if (l.refused > 0)
		{
			hit++;
			assert_true(l.at_rest > 0);
			assert_true(problems(&l, l.families[damaged]) > 0);
			if (round % 2 == 0)
			{
				lost gone;
				int refused_before = l.refused;

				salvage(&l, damaged, &gone);
				salvaged++;
				partly += gone.ranges > 0 && gone.kept > 0;
				check_all(&l, -1);
				assert_int_equal(l.refused, refused_before);
			}
		}
		right += l.right;
		refused += l.refused;
		life_end(&l, damaged);
	}
	/* damage is found, and is confined */
	assert_true(hit > rounds / 4);
	assert_true(salvaged > rounds / 12 && partly > 0);
	assert_true(refused > 0 && right > 4 * refused);
}

/* A lost file: its range is refused also after compactions and restarts, all else can be read, no
 * more of the log is needed, and older deletes and values do not come back. */
static void
test_missing(void **state)
{
	life l = {.seed = 5};
	wide_family_options opt;
	family_files files;
	version_pin pin = {0};
	char path[200];

	store_init(&l.s);
	assert_ok(store_open(&l.s));
	wide_family_defaults(&opt);
	store_table(&l.s, &opt, 3, &l.tables[0], l.families);
	for (int row = 0; row < ROWS; row++)
		change(&l, 0, row, 0, false);
	assert_ok(wide_flush(l.s.db));
	assert_ok(wide_compact(l.s.db, l.families[0]));
	for (int row = 20; row < 30; row++)
		change(&l, 0, row, 1, row % 2);
	for (int row = 20; row < 30; row++)
		change(&l, 0, row, 0, row % 2);
	assert_ok(wide_flush(l.s.db));
	assert_ok(pin_take(l.s.db, &pin));
	assert_ok(pin_files(l.s.db, &pin, l.families[0], &files));
	assert_int_equal(files.n, 2);
	assert_int_equal(files.files[0].level, 0);
	sst_file_path(l.s.db, files.files[0].number, path, sizeof path);
	pin_drop(l.s.db, &pin);
	store_close(&l.s);
	assert_int_equal(unlink(path), 0);
	l.s.opening = log_short;
	for (int i = 0; i < 4; i++)
	{
		assert_ok(store_open(&l.s));
		check_range(&l, 0, 0, 20, false, false);
		check_range(&l, 0, 30, ROWS, true, false);
		for (int row = 20; row < 30; row++)
		{
			int n = l.refused;

			check_range(&l, 0, row, row + 1, false, true);
			assert_int_equal(l.refused, n + 1);
		}
		/* deletes and new values in the lost range, and around it */
		for (int row = 10; row < 40; row++)
			change(&l, 0, row, 0, (row + i) % 3 == 0);
		assert_ok(wide_flush(l.s.db));
		assert_ok(wide_compact(l.s.db, l.families[0]));
		check_range(&l, 0, 0, 20, false, false);
		check_range(&l, 0, 25, 26, false, true);
		check_range(&l, 0, 30, ROWS, false, false);
		store_close(&l.s);
	}
	assert_int_equal(l.refused, 4 * 11);
	assert_ok(store_open(&l.s));
	assert_int_equal(problems(&l, 0), 1);
	life_end(&l, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_random),
	};

	/* several files below level 0 */
	output_file_bytes = 16 * 1024;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

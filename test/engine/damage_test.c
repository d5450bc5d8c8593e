/*
 * damage_test.c - damage stays small: whatever byte or file of a store is lost, the store opens,
 * and every read gives either the right rows or WIDE_CORRUPT, in the families that the damage does
 * not hit always the right rows.  That holds after writes, compactions and restarts, too.
 *
 * Sorted files share containers: damage of a byte hits one of them, and a container that is missing
 * or cut off all those that are not whole any more.
 *
 * The rows are compared with a model that has one value for each cell.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store_fixture.h"
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/compaction/gather.h"
#include "engine/compaction/output.h"
#include "engine/set/pin.h"
#include "engine/sst/sst_file.h"

#define OUTPUT_BYTES (16 * 1024)
#define FAMILIES	 3
#define ROWS		 60
#define QUALS		 4
#define TABLES		 2 /* a table of its own for the last family */

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
	int at_rest;		/* problems before the damaged store was opened */
	uint64_t container; /* the file of the directory that was damaged; 0: none */
	uint64_t second;	/* another one */
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
	if (l->container != 0)
		assert_true(d->container == l->container || (l->second != 0 && d->container == l->second));
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
			char key[24] = {0};
			int got;

			assert_in_range(row.key.len, 4, sizeof key - 1);
			memcpy(key, row.key.data, row.key.len);
			got = atoi(key + 3);
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

/* Reads everything in several ways.  hit: a bit for each family that the damage has hit. */
static void
check_all(life *l, unsigned hit)
{
	for (int f = 0; f < FAMILIES; f++)
	{
		wide_range range = {text("row010"), text("row050")};
		wide_estimate est;
		int refusals = l->refused;

		for (int row = 0; row < ROWS; row++)
			check_range(l, f, row, row + 1, row % 2, hit >> f & 1);
		check_range(l, f, 0, ROWS, false, hit >> f & 1);
		check_range(l, f, 0, ROWS, true, hit >> f & 1);
		check_range(l, f, 10, 20, false, hit >> f & 1);
		/* what plans reads does not refuse */
		assert_ok(wide_estimate_range(l->s.db, l->families[f], &range, &est));
		if (!(hit >> f & 1))
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

/* Returns the number of a sorted file's container from its name; 0: it is no such file. */
static uint64_t
number_of(const char *name)
{
	unsigned long long number = 0;

	return strstr(name, ".sst") != NULL && sscanf(name, "%llx.sst", &number) == 1 ? number : 0;
}

/* Returns a bit for each family that has a byte in [from, to) of the container. */
static unsigned
families_in(life *l, uint64_t container, uint64_t from, uint64_t to)
{
	version_pin pin = {0};
	unsigned hit = 0;

	assert_ok(pin_take_files(l->s.db, &pin));
	for (int f = 0; f < FAMILIES; f++)
	{
		family_files files;

		assert_ok(pin_files(l->s.db, &pin, l->families[f], &files));
		for (int i = 0; i < files.n; i++)
		{
			const file_meta *m = &files.files[i];
			uint64_t begin = m->container != 0 ? m->offset : 0;

			if (file_container(m) == container && begin < to && from < begin + m->bytes)
				hit |= 1u << f;
		}
	}
	pin_drop(l->s.db, &pin);
	return hit;
}

/* Bytes of a file of the directory that are to be lost. */
typedef struct loss
{
	uint64_t from, to;

	enum
	{
		LOSS_FILE, /* all of it */
		LOSS_TAIL,
		LOSS_BIT
	} kind;
} loss;

/* Chooses what is lost of the file at the path. */
static loss
choose_loss(life *l, const char *path)
{
	struct stat st;
	uint64_t size, at;

	assert_int_equal(stat(path, &st), 0);
	size = (uint64_t) st.st_size;
	switch (pick(l, 6))
	{
		case 0:
			return (loss) {0, UINT64_MAX, LOSS_FILE};
		case 1:
			return (loss) {pick(l, size), UINT64_MAX, LOSS_TAIL};
		default:
			/* the ends of files say how to read the rest */
			at = pick(l, 2) == 0 ? pick(l, size) : size - 1 - pick(l, size < 200 ? size : 200);
			return (loss) {at, at + 1, LOSS_BIT};
	}
}

/* Damages the file at the path. */
static void
damage_file(life *l, const char *path, loss what)
{
	uint8_t byte;
	int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	if (what.kind == LOSS_FILE)
		assert_int_equal(unlink(path), 0);
	else if (what.kind == LOSS_TAIL)
		assert_int_equal(ftruncate(fd, (off_t) what.from), 0);
	else
	{
		assert_int_equal(pread(fd, &byte, 1, (off_t) what.from), 1);
		byte ^= (uint8_t) (1 << pick(l, 8));
		assert_int_equal(pwrite(fd, &byte, 1, (off_t) what.from), 1);
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

/* Chooses a sorted file to be damaged, too, by its tail or a bit: its path, and what is lost.
 * Returns as damage(); 0: there is none. */
static unsigned
choose_second(life *l, const names *list, char *path, size_t size, loss *what)
{
	const char *name = list->name[pick(l, (uint64_t) list->n)];

	snprintf(path, size, "%s/%s", l->s.dir, name);
	if (number_of(name) == 0 || number_of(name) == l->container)
		return 0;
	do
		*what = choose_loss(l, path);
	while (what->kind == LOSS_FILE);
	l->second = number_of(name);
	return families_in(l, number_of(name), what->from, what->to);
}

/* Damages a file of the open store, or two, while it is closed; returns a bit for each family that
 * this may hit. */
static unsigned
damage(life *l)
{
	names list = {0};
	char path[200], second[200];
	const char *name;
	unsigned hit = 0, more;
	loss what, other = {0};

	assert_true(os_real()->list(os_real(), l->s.dir, add_name, &list) >= 0);
	name = list.name[pick(l, (uint64_t) list.n)];
	snprintf(path, sizeof path, "%s/%s", l->s.dir, name);
	what = choose_loss(l, path);
	l->container = number_of(name);
	if (l->container != 0)
		hit = families_in(l, l->container, what.from, what.to);
	more = choose_second(l, &list, second, sizeof second, &other);
	store_close(&l->s);
	assert_int_equal(check_at_rest(l), 0);
	damage_file(l, path, what);
	if (more != 0)
		damage_file(l, second, other);
	/* because of a missing file an older state may be opened, which has other families in the other
	 * file */
	hit |= more != 0 && l->s.opening == NULL ? (1u << FAMILIES) - 1 : more;
	l->at_rest = check_at_rest(l);
	return hit;
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
life_end(life *l, unsigned hit)
{
	wide_batch *b;

	if (hit != 0)
	{
		/* the tables go, and their files with them */
		assert_ok(wide_batch_new(l->s.db, &b));
		for (int t = 0; t < TABLES; t++)
			if ((t == 0 ? hit & 3 : hit >> 2) != 0)
				assert_ok(wide_batch_drop_table(b, l->tables[t]));
		assert_ok(store_commit(&l->s, b, NULL));
		store_work(&l->s);
		store_close(&l->s);
		assert_ok(store_open(&l->s));
		store_work(&l->s);
		assert_int_equal(problems(l, 0), 0);
	}
	store_drop(&l->s);
}

/* ----------------------------------------------------------------- tests */

/* Salvages the families that reads have refused; the number of those of which a part was kept. */
static int
salvage_all(life *l, unsigned hit)
{
	int partly = 0;

	for (int f = 0; f < FAMILIES; f++)
	{
		lost gone;

		if (!(hit >> f & 1) || problems(l, l->families[f]) == 0)
			continue;
		salvage(l, f, &gone);
		partly += gone.ranges > 0 && gone.kept > 0;
	}
	return partly;
}

/* Of random lives; share: of how many the damage hit some families of a container, and not all. */
static void
random_lives(int rounds, int *share)
{
	int refused = 0, right = 0, lost_some = 0, salvaged = 0, partly = 0;

	for (int round = 0; round < rounds; round++)
	{
		life l;
		unsigned hit;

		life_begin(&l, (uint64_t) round + 1);
		check_all(&l, 0);
		assert_int_equal(l.refused, 0);
		if (pick(&l, 4) > 0)
			l.s.opening = log_short;
		hit = damage(&l);
		*share += (hit & (hit - 1)) != 0;
		if (store_open(&l.s) != WIDE_OK)
			fail_msg("round %d: %s", round, wide_error_text());
		check_all(&l, hit);
		if (pick(&l, 2) == 0)
			work(&l);
		changes(&l, 60);
		check_all(&l, hit);
		assert_ok(wide_flush(l.s.db));
		work(&l);
		check_all(&l, hit);
		store_close(&l.s);
		assert_ok(store_open(&l.s));
		check_all(&l, hit);
		changes(&l, 60);
		work(&l);
		check_all(&l, hit);
		if (l.refused > 0)
		{
			lost_some++;
			assert_true(l.at_rest > 0);
			assert_true(problems(&l, 0) > 0);
			if (round % 2 == 0)
			{
				partly += salvage_all(&l, hit);
				salvaged++;
				/* each salvage compares the families with its own reads, which may be refused */
				int refused_before = l.refused;

				check_all(&l, 0);
				assert_int_equal(l.refused, refused_before);
			}
		}
		right += l.right;
		refused += l.refused;
		life_end(&l, hit);
	}
	/* damage is found, and is confined */
	assert_true(lost_some > rounds / 4);
	assert_true(salvaged > rounds / 12 && partly > 0);
	assert_true(refused > 0 && right > 2 * refused);
}

static int
rounds_of(int most)
{
	return getenv("WIDE_ROUNDS") != NULL ? atoi(getenv("WIDE_ROUNDS")) : most;
}

static void
test_random(void **state)
{
	int share = 0;

	random_lives(rounds_of(120), &share);
	assert_true(share > 0);
}

/* The same with containers that are gathered all the time. */
static void
test_random_gathered(void **state)
{
	int share = 0;

	gather_files = 3;
	output_file_bytes = 256 * 1024;
	random_lives(rounds_of(60), &share);
	gather_files = 64;
	output_file_bytes = OUTPUT_BYTES;
	assert_true(share > 0);
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
	sst_file_path(l.s.db, file_container(&files.files[0]), path, sizeof path);
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
	life_end(&l, 1);
}

/* ------------------------------------------------------------ containers */

/* Where the sorted file of each family is, in the container that all share. */
typedef struct shared_file
{
	char path[200];
	uint64_t number;
	file_meta slot[FAMILIES];
} shared_file;

/* Makes a store with two containers: one with a file of each family of rows 0 to 29, and another
 * one with a file of each family of rows 30 to 59.  *c: the first one. */
static void
shared_begin(life *l, shared_file *c)
{
	version_pin pin = {0};
	wide_family_options opt;

	memset(l, 0, sizeof *l);
	l->seed = 7;
	store_init(&l->s);
	assert_ok(store_open(&l->s));
	wide_family_defaults(&opt);
	opt.block_size = 1024;
	store_table(&l->s, &opt, FAMILIES, &l->tables[0], l->families);
	for (int half = 0; half < 2; half++)
	{
		for (int row = 30 * half; row < 30 * half + 30; row++)
			for (int f = 0; f < FAMILIES; f++)
				for (int q = 0; q < QUALS; q++)
					change(l, f, row, q, false);
		assert_ok(wide_flush(l->s.db));
	}
	assert_ok(pin_take_files(l->s.db, &pin));
	for (int f = 0; f < FAMILIES; f++)
	{
		family_files files;

		assert_ok(pin_files(l->s.db, &pin, l->families[f], &files));
		assert_int_equal(files.n, 2);
		/* the older one */
		c->slot[f] = files.files[files.files[0].seq_max < files.files[1].seq_max ? 0 : 1];
		assert_true(c->slot[f].container != 0);
		assert_int_equal(c->slot[f].container, c->slot[0].container);
	}
	pin_drop(l->s.db, &pin);
	c->number = c->slot[0].container;
	sst_file_path(l->s.db, c->number, c->path, sizeof c->path);
	l->container = c->number;
	l->s.opening = log_short;
}

/* Reads both halves of each family; those of `hit` are refused, in the first half only. */
static void
check_halves(life *l, unsigned hit)
{
	for (int f = 0; f < FAMILIES; f++)
	{
		int before = l->refused;

		check_range(l, f, 0, 30, false, hit >> f & 1);
		assert_int_equal(l->refused - before, hit >> f & 1);
		check_range(l, f, 30, ROWS, true, false);
	}
}

static void
compact_families_of(life *l)
{
	for (int f = 0; f < FAMILIES; f++)
		assert_ok(wide_compact(l->s.db, l->families[f]));
	store_work(&l->s);
}

static void
flip(const char *path, uint64_t at)
{
	uint8_t byte;
	int fd = open(path, O_RDWR);

	assert_int_equal(pread(fd, &byte, 1, (off_t) at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t) at), 1);
	close(fd);
}

/* Returns the number of files of all families that are marked as damaged. */
static int
marked_files(life *l)
{
	version_pin pin = {0};
	int n = 0;

	assert_ok(pin_take_files(l->s.db, &pin));
	for (int f = 0; f < FAMILIES; f++)
	{
		family_files files;

		assert_ok(pin_files(l->s.db, &pin, l->families[f], &files));
		for (int i = 0; i < files.n; i++)
			n += (files.files[i].flags & FILE_DAMAGED) != 0;
	}
	pin_drop(l->s.db, &pin);
	return n;
}

/* One slot of a container is damaged: the others are read, compacted and moved away; it stays, with
 * its container, until it is salvaged. */
static void
test_slot(void **state)
{
	life l;
	shared_file c;
	lost gone;

	shared_begin(&l, &c);
	store_close(&l.s);
	/* the footer: nothing of the slot can be read */
	flip(c.path, c.slot[1].offset + c.slot[1].bytes - 20);
	assert_int_equal(check_at_rest(&l), 1);
	assert_ok(store_open(&l.s));
	check_halves(&l, 2);
	compact_families_of(&l);
	check_halves(&l, 2);
	assert_int_equal(marked_files(&l), 1);
	assert_true(test_exists(c.path));
	assert_int_equal(families_in(&l, c.number, 0, UINT64_MAX), 2);
	assert_int_equal(problems(&l, 0), 1);
	store_close(&l.s);
	assert_ok(store_open(&l.s));
	check_halves(&l, 2);
	salvage(&l, 1, &gone);
	assert_int_equal(gone.kept, 0);
	store_work(&l.s);
	assert_false(test_exists(c.path));
	check_halves(&l, 0);
	store_drop(&l.s);
}

/* A data block of one slot: what else it has is kept. */
static void
test_block_of_slot(void **state)
{
	life l;
	shared_file c;
	lost gone;

	shared_begin(&l, &c);
	store_close(&l.s);
	flip(c.path, c.slot[2].offset + 100);
	assert_ok(store_open(&l.s));
	check_halves(&l, 4);
	salvage(&l, 2, &gone);
	assert_true(gone.kept > 0 && gone.cells > 0 && gone.ranges == 1);
	check_halves(&l, 0);
	compact_families_of(&l);
	check_halves(&l, 0);
	assert_false(test_exists(c.path));
	store_drop(&l.s);
}

/* A container is missing: all its slots, and nothing else.  When it comes back nothing is lost. */
static void
test_missing_container(void **state)
{
	life l;
	shared_file c;
	char away[220];
	lost none = {0};

	shared_begin(&l, &c);
	store_close(&l.s);
	snprintf(away, sizeof away, "%s/../away-%d", l.s.dir, (int) getpid());
	assert_int_equal(rename(c.path, away), 0);
	assert_int_equal(check_at_rest(&l), FAMILIES);
	assert_ok(store_open(&l.s));
	assert_int_equal(l.s.db->seg->set.lost, FAMILIES);
	assert_int_equal(marked_files(&l), FAMILIES);
	check_halves(&l, 7);
	compact_families_of(&l);
	check_halves(&l, 7);
	assert_int_equal(problems(&l, 0), FAMILIES);
	store_close(&l.s);
	assert_ok(store_open(&l.s));
	check_halves(&l, 7);
	store_close(&l.s);
	assert_int_equal(rename(away, c.path), 0);
	assert_ok(store_open(&l.s));
	check_halves(&l, 0);
	for (int f = 0; f < FAMILIES; f++)
		assert_ok(wide_salvage(l.s.db, l.families[f], false, note_lost, &none));
	assert_int_equal(none.files, 0);
	assert_int_equal(marked_files(&l), 0);
	compact_families_of(&l);
	assert_int_equal(problems(&l, 0), 0);
	assert_false(test_exists(c.path));
	check_halves(&l, 0);
	store_drop(&l.s);
}

/* A container is cut off in its second slot: the first one is whole. */
static void
test_truncated(void **state)
{
	life l;
	shared_file c;
	unsigned hit = 0;
	int first = 0;

	shared_begin(&l, &c);
	for (int f = 0; f < FAMILIES; f++)
		first = c.slot[f].offset < c.slot[first].offset ? f : first;
	hit = 7u & ~(1u << first);
	store_close(&l.s);
	assert_int_equal(truncate(c.path, (off_t) (c.slot[first].bytes + 50)), 0);
	assert_int_equal(check_at_rest(&l), FAMILIES - 1);
	assert_ok(store_open(&l.s));
	check_halves(&l, hit);
	compact_families_of(&l);
	check_halves(&l, hit);
	for (int f = 0; f < FAMILIES; f++)
	{
		lost gone;

		if (hit >> f & 1)
			salvage(&l, f, &gone);
	}
	check_halves(&l, 0);
	store_work(&l.s);
	assert_false(test_exists(c.path));
	store_drop(&l.s);
}

/* Gathering leaves a container with a damaged slot as it is, and goes on with the others. */
static void
test_gather(void **state)
{
	life l;
	shared_file c;

	for (int marked = 0; marked < 2; marked++)
	{
		shared_begin(&l, &c);
		output_file_bytes = 64 << 20;
		store_close(&l.s);
		flip(c.path, c.slot[0].offset + c.slot[0].bytes - 20);
		assert_ok(store_open(&l.s));
		if (marked)
		{
			assert_ok(wide_compact(l.s.db, l.families[0]));
			check_halves(&l, 1);
		}
		for (int i = 0; i < 6; i++)
		{
			for (int f = 0; f < FAMILIES; f++)
				change(&l, f, 40 + i, 0, false);
			assert_ok(wide_flush(l.s.db));
			gather_files = 3;
			(void) gather_some(l.s.db, true);
			gather_files = 64;
		}
		assert_true(test_exists(c.path));
		assert_true(families_in(&l, c.number, 0, UINT64_MAX) & 1);
		check_halves(&l, 1);
		compact_families_of(&l);
		check_halves(&l, 1);
		store_close(&l.s);
		assert_ok(store_open(&l.s));
		check_halves(&l, 1);
		assert_int_equal(problems(&l, 0), 1);
		output_file_bytes = OUTPUT_BYTES;
		store_drop(&l.s);
	}
}

/* A store of which all containers are missing is not opened: its directory is not there. */
static void
test_all_missing(void **state)
{
	life l;
	shared_file c;
	names list = {0};
	char path[200];

	shared_begin(&l, &c);
	store_close(&l.s);
	assert_true(os_real()->list(os_real(), l.s.dir, add_name, &list) >= 0);
	for (int i = 0; i < list.n; i++)
	{
		snprintf(path, sizeof path, "%s/%s", l.s.dir, list.name[i]);
		if (number_of(list.name[i]) != 0)
			assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(store_open(&l.s), WIDE_CORRUPT);
	test_dir_drop(l.s.dir);
}

/* ------------------------------------------------------ failing calls */

/* What calls on files whose names end like this return. */
static struct
{
	const char *name;
	int open, read; /* errno; 0: nothing fails */
	int fd;			/* the last one that was opened; -1: none */
} failing = {.fd = -1};

static int
failing_open(wide_os *os, const char *path, int flags)
{
	size_t n = strlen(path), len = failing.name != NULL ? strlen(failing.name) : 0;
	int fd;

	if (len == 0 || n < len || strcmp(path + n - len, failing.name) != 0 ||
		(flags & O_ACCMODE) != O_RDONLY)
		return os_real()->open(os_real(), path, flags);
	if (failing.open != 0)
		return -failing.open;
	fd = os_real()->open(os_real(), path, flags);
	failing.fd = fd;
	return fd;
}

static int64_t
failing_pread(wide_os *os, int fd, void *buf, size_t n, uint64_t off)
{
	return failing.read != 0 && fd == failing.fd ? -failing.read
												 : os_real()->pread(os_real(), fd, buf, n, off);
}

static int
failing_close(wide_os *os, int fd)
{
	if (fd == failing.fd)
		failing.fd = -1;
	return os_real()->close(os_real(), fd);
}

static wide_os *
failing_os(void)
{
	static wide_os os;

	os = *os_real();
	os.open = failing_open;
	os.pread = failing_pread;
	os.close = failing_close;
	return &os;
}

/* A process that cannot open a file, which is whole, neither marks it nor gives it up. */
static void
test_cannot_open(void **state)
{
	static const int errors[] = {EMFILE, ENFILE, EACCES};

	for (int i = 0; i < 3; i++)
	{
		life l;
		shared_file c;
		lost none = {0};

		shared_begin(&l, &c);
		store_close(&l.s);
		l.s.os = failing_os();
		assert_ok(store_open(&l.s));
		failing.name = ".sst";
		failing.open = errors[i];
		if (errors[i] != EACCES)
		{
			assert_int_equal(wide_compact(l.s.db, l.families[0]), WIDE_NOMEM);
			assert_int_equal(marked_files(&l), 0);
		}
		for (int look = 1; look >= 0; look--)
			assert_int_not_equal(wide_salvage(l.s.db, l.families[0], look, note_lost, &none),
								 WIDE_OK);
		assert_int_equal(none.files, 0);
		failing.open = 0;
		check_halves(&l, 0);
		compact_families_of(&l);
		assert_int_equal(problems(&l, 0), 0);
		check_halves(&l, 0);
		store_drop(&l.s);
	}
}

/* A bad sector below CURRENT is as good as no CURRENT. */
static void
test_current_unreadable(void **state)
{
	life l;
	shared_file c;

	shared_begin(&l, &c);
	store_close(&l.s);
	l.s.os = failing_os();
	failing.name = "CURRENT";
	failing.read = EIO;
	assert_ok(store_open(&l.s));
	failing.read = 0;
	check_halves(&l, 0);
	store_close(&l.s);
	assert_ok(store_open(&l.s));
	check_halves(&l, 0);
	store_drop(&l.s);
}

/* The manifest is removed while the store is in use: one edit fails at most, and the next one
 * begins a new manifest. */
static void
test_manifest_removed(void **state)
{
	life l;
	shared_file c;
	char path[200];

	shared_begin(&l, &c);
	snprintf(path, sizeof path, "%s/manifest-%08llx", l.s.dir,
			 (unsigned long long) l.s.db->seg->set.manifest_number);
	assert_int_equal(unlink(path), 0);
	change(&l, 0, 3, 0, false);
	(void) wide_flush(l.s.db);
	assert_ok(wide_flush(l.s.db));
	assert_int_equal(problems(&l, 0), 0);
	check_halves(&l, 0);
	compact_families_of(&l);
	store_close(&l.s);
	assert_int_equal(check_at_rest(&l), 0);
	assert_ok(store_open(&l.s));
	check_halves(&l, 0);
	store_drop(&l.s);
}

/* The directory is moved away while the store is in use, and another one is there: nothing is
 * written to that, and when the directory is back, nothing is missing. */
static void
test_directory_replaced(void **state)
{
	life l;
	shared_file c;
	char away[200], current[220];

	shared_begin(&l, &c);
	snprintf(away, sizeof away, "%s.away", l.s.dir);
	snprintf(current, sizeof current, "%s/CURRENT", l.s.dir);
	assert_int_equal(rename(l.s.dir, away), 0);
	assert_int_equal(mkdir(l.s.dir, 0700), 0);
	change(&l, 0, 3, 0, false);
	for (int i = 0; i < 3; i++)
		assert_int_not_equal(wide_flush(l.s.db), WIDE_OK);
	assert_int_equal(access(current, F_OK), -1);
	test_dir_drop(l.s.dir);
	assert_int_equal(rename(away, l.s.dir), 0);
	assert_ok(wide_flush(l.s.db));
	assert_int_equal(problems(&l, 0), 0);
	check_halves(&l, 0);
	store_close(&l.s);
	assert_int_equal(check_at_rest(&l), 0);
	assert_ok(store_open(&l.s));
	check_halves(&l, 0);
	store_drop(&l.s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_slot),
		cmocka_unit_test(test_block_of_slot),
		cmocka_unit_test(test_missing_container),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_gather),
		cmocka_unit_test(test_all_missing),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_random_gathered),
		cmocka_unit_test(test_cannot_open),
		cmocka_unit_test(test_current_unreadable),
		cmocka_unit_test(test_manifest_removed),
		cmocka_unit_test(test_directory_replaced),
	};

	/* several files below level 0 */
	output_file_bytes = OUTPUT_BYTES;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

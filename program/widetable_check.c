/*
 * widetable_check DIR - verifies the wide tables in a data directory that no server uses, or in a
 * base backup.
 *
 * Reads every byte of every sorted file and compares checksums, order, bounds, filters and the list
 * of files.  Prints one line for each problem, with the table as far as the store knows it.
 * Changes nothing in DIR.  Exit status: 0 no problem, 1 otherwise.
 *
 * DIR is the data directory, or the directory of the store in it.  What is in WAL only is not
 * checked.  If files are missing that WAL can bring back (a base backup that was made while the
 * store was in use), that is no problem; WAL is looked for in DIR/pg_wal.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "engine/wide.h"

#define WAL_SEGMENT_MIN ((off_t) 1 << 20)
#define WAL_SEGMENT_MAX ((off_t) 1 << 30)

typedef struct state
{
	const char *wal; /* directory */
	unsigned long problems;
} state;

/* Prints a line; bytes that are not printable ASCII or UTF-8 become question marks, so that a
 * damaged name cannot control a terminal. */
static void
print_line(const char *prefix, const char *text)
{
	fputs(prefix, stdout);
	for (; *text != 0; text++)
		putchar((unsigned char) *text < ' ' || *text == 0x7f ? '?' : *text);
	putchar('\n');
}

static wide_status
problem(void *ctx, const char *object, const char *text)
{
	state *s = ctx;

	s->problems++;
	print_line("", object);
	print_line("    ", text);
	return WIDE_OK;
}

static void
note(void *ctx, const char *text)
{
	print_line("note: ", text);
}

/* Returns the number of the WAL segment with this name; -1: it is none.  size: of a segment. */
static long long
segment_number(const char *name, off_t size)
{
	unsigned timeline, high, low;
	int end = 0;

	if (strspn(name, "0123456789ABCDEF") != 24 ||
		sscanf(name, "%8X%8X%8X%n", &timeline, &high, &low, &end) != 3 || end != 24 ||
		(name[24] != 0 && strcmp(name + 24, ".partial") != 0))
		return -1;
	return (long long) high * (((long long) 1 << 32) / size) + low;
}

/* Returns the size of a WAL segment; 0: there is none. */
static off_t
segment_size(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	off_t size = 0;

	while (d != NULL && size == 0 && (e = readdir(d)) != NULL)
	{
		char path[4096];
		struct stat st;

		if (segment_number(e->d_name, WAL_SEGMENT_MIN) < 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (stat(path, &st) == 0 && st.st_size >= WAL_SEGMENT_MIN &&
			st.st_size <= WAL_SEGMENT_MAX && (st.st_size & (st.st_size - 1)) == 0)
			size = st.st_size;
	}
	if (d != NULL)
		closedir(d);
	return size;
}

static int
compare_numbers(const void *a, const void *b)
{
	long long x = *(const long long *) a, y = *(const long long *) b;

	return (x > y) - (x < y);
}

/* Returns true if pg_wal has the segment of the position and all between it and its last one. */
static bool
log_reaches(void *ctx, uint64_t lsn)
{
	const state *s = ctx;
	off_t size = segment_size(s->wal);
	DIR *d = size != 0 ? opendir(s->wal) : NULL;
	struct dirent *e;
	long long *list = NULL, want;
	size_t n = 0, cap = 0;

	if (d == NULL)
		return false;
	while ((e = readdir(d)) != NULL)
	{
		if (n == cap)
		{
			long long *more = realloc(list, (cap = cap * 2 + 64) * sizeof *list);

			if (more == NULL)
				break;
			list = more;
		}
		if ((list[n] = segment_number(e->d_name, size)) >= 0)
			n++;
	}
	closedir(d);
	qsort(list, n, sizeof *list, compare_numbers);
	want = (long long) (lsn / (uint64_t) size);
	for (size_t i = 0; i < n; i++)
		want += list[i] == want;
	n = n > 0 && want > list[n - 1];
	free(list);
	return n != 0;
}

/* Returns true if the directory has files of a store. */
static bool
is_store(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool found = false;

	while (d != NULL && !found && (e = readdir(d)) != NULL)
	{
		size_t n = strlen(e->d_name);

		found = strcmp(e->d_name, "CURRENT") == 0 || strncmp(e->d_name, "manifest-", 9) == 0 ||
				(n > 4 && strcmp(e->d_name + n - 4, ".sst") == 0);
	}
	if (d != NULL)
		closedir(d);
	return found;
}

/*
 * Sets path to the directory of the sorted files if the store's file LOCATION ("tablespace OID
 * PATH") says that they are in a tablespace.  data: the data directory.
 * Returns false if there is such a file and no such directory.
 */
static bool
find_files(const char *store, const char *data, char *path, size_t size)
{
	char name[1000];
	unsigned oid = 0;
	FILE *f;
	DIR *d;
	struct dirent *e;
	struct stat st;
	bool found = false;

	path[0] = 0;
	snprintf(name, sizeof name, "%s/LOCATION", store);
	f = fopen(name, "r");
	if (f == NULL)
		return true;
	if (fscanf(f, "tablespace %u", &oid) != 1)
		oid = 0;
	fclose(f);
	snprintf(name, sizeof name, "%s/pg_tblspc/%u", data, oid);
	d = opendir(name);
	/* one directory for each version of the server's catalog; the store is in one of them */
	while (d != NULL && !found && (e = readdir(d)) != NULL)
	{
		if (strncmp(e->d_name, "PG_", 3) != 0)
			continue;
		snprintf(path, size, "%s/%s/widetable", name, e->d_name);
		found = stat(path, &st) == 0;
	}
	if (d != NULL)
		closedir(d);
	return found;
}

int
main(int argc, char **argv)
{
	char store[900], wal[900], data[900], files[1400];
	state s = {.wal = wal};
	wide_check_host host = {
		.ctx = &s, .problem = problem, .note = note, .log_reaches = log_reaches};
	const char *dir = argc == 2 ? argv[1] : "";
	wide_status st;

	if (argc != 2 || dir[0] == 0 || dir[0] == '-' || strlen(dir) > sizeof store - 64)
	{
		fprintf(stderr, "usage: widetable_check DIR\n"
						"verifies the wide tables in data directory or base backup DIR, which no "
						"server may use; changes nothing\n"
						"exit status: 0 no problem, 1 otherwise\n");
		return 1;
	}
	snprintf(store, sizeof store, "%s/widetable", dir);
	snprintf(data, sizeof data, "%s", dir);
	if (!is_store(store) && is_store(dir))
	{
		snprintf(store, sizeof store, "%s", dir);
		snprintf(data, sizeof data, "%s/..", dir);
	}
	snprintf(wal, sizeof wal, "%.880s/pg_wal", data);
	if (!is_store(store))
	{
		printf("%s has no store of wide tables\n", dir);
		return 1;
	}
	if (!find_files(store, data, files, sizeof files))
	{
		printf("%s/LOCATION names a tablespace that is not there\n", store);
		return 1;
	}
	host.files_directory = files[0] != 0 ? files : NULL;
	st = wide_check(store, &host);
	if (st != WIDE_OK)
		problem(&s, store, wide_error_text());
	if (s.problems > 0)
		printf("%lu problems\n", s.problems);
	return fflush(stdout) == 0 && s.problems == 0 ? 0 : 1;
}

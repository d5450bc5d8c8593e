/* directory.c - the names of the store's directory, and of that of its sorted files */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/set/directory.h"
#include "engine/base/buffer.h"
#include "engine/base/os.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"

/* db->os->list: one name.  Adds its number to the list that it belongs to. */
static int
add_name(void *arg, const char *name)
{
	directory *d = arg;
	unsigned long long number;
	int end = 0;
	uint64_t n;
	buffer *list = NULL;

	if (sscanf(name, "%llx.sst%n", &number, &end) == 1 && end != 0)
		list = name[end] == 0 ? &d->files : strcmp(name + end, ".tmp") == 0 ? &d->unfinished : NULL;
	else if (sscanf(name, "manifest-%llx%n", &number, &end) == 1 &&
			 (name[end] == 0 || strcmp(name + end, ".copy") == 0))
		list = &d->manifests;
	n = number;
	if (list != NULL)
		d->st = buffer_append(list, &n, sizeof n);
	return d->st != WIDE_OK;
}

static int
compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static wide_status
read_names(wide_db *db, const char *path, directory *d)
{
	int rc = db->os->list(db->os, path, add_name, d);

	return rc < 0 ? status_fail(WIDE_IO, "could not list directory \"%s\": %s", path, strerror(-rc))
				  : WIDE_OK;
}

wide_status
directory_read(wide_db *db, directory *d)
{
	TRY(read_names(db, db->files_dir, d));
	if (strcmp(db->dir, db->files_dir) != 0)
	{
		/* sorted files that are left in the store's directory are none of the store */
		directory rest = {0};
		wide_status st = read_names(db, db->dir, &rest);

		buffer_free(&d->manifests);
		d->manifests = rest.manifests;
		if (st == WIDE_OK)
			st = rest.st;
		rest.manifests = (buffer) {0};
		directory_free(&rest);
		TRY(st);
	}
	if (d->files.len > 0)
		qsort(d->files.data, d->files.len / sizeof(uint64_t), sizeof(uint64_t), compare_numbers);
	return d->st;
}

void
directory_free(directory *d)
{
	buffer_free(&d->files);
	buffer_free(&d->unfinished);
	buffer_free(&d->manifests);
}

bool
directory_has(const directory *d, uint64_t number)
{
	return d->files.len > 0 && bsearch(&number, d->files.data, d->files.len / sizeof(uint64_t),
									   sizeof(uint64_t), compare_numbers) != NULL;
}

/* directory.c - the names of the store's directory */
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
	else if (sscanf(name, "manifest-%llx%n", &number, &end) == 1 && name[end] == 0)
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

wide_status
directory_read(wide_db *db, directory *d)
{
	int rc = db->os->list(db->os, db->dir, add_name, d);

	if (rc < 0)
		return status_fail(WIDE_IO, "could not list directory \"%s\": %s", db->dir, strerror(-rc));
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

/*
 * history.h - a random life of a store as data: a list of operations, each
 * with a kind and a few numbers, that can be run, printed, parsed and shrunk.
 *
 * Any sub-list is a history as well: an operation does nothing if it does not
 * find what it needs (a savepoint, a snapshot).  The first operations are the
 * options of the store and of its families; 0 is the plain value of most
 * fields.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum step_kind
{
	STEP_STORE,
	STEP_FAMILY,
	STEP_PUT,
	STEP_DELETE,
	STEP_DELETE_ROW,
	STEP_MARK,
	STEP_REWIND,
	STEP_COMMIT,
	STEP_ABORT,
	STEP_REFUSE,
	STEP_DIE,
	STEP_SNAPSHOT,
	STEP_RELEASE,
	STEP_SCAN,
	STEP_FLUSH,
	STEP_COMPACT,
	STEP_WORK,
	STEP_CRASH,
	STEP_CLOCK,
	STEP_ALTER,
	STEP_BULK,
	STEP_REWRITE,
	STEP_KINDS
};

#define STEP_FIELDS 10

typedef struct step
{
	int kind;
	int64_t a[STEP_FIELDS];
} step;

typedef struct history
{
	step *steps;
	int n, cap;
} history;

/*
 * ts and floor: microseconds after the start; -1: assigned by the store
 * (put), everything before (delete), none
 */
static const struct
{
	const char *name;
	const char *fields[STEP_FIELDS];
} step_kinds[STEP_KINDS] = {
	{"store", {"memtable", "file", "level", "rows", "quals", "names", "big", "memory"}},
	{"family",
	 {"versions", "min", "ttl", "keep", "block", "bloom", "prefix", "compression", "window"}},
	{"put", {"batch", "family", "row", "qual", "ts", "floor", "ttl", "value"}},
	{"delete", {"batch", "what", "family", "row", "qual", "ts"}},
	{"delete_row", {"batch", "row", "ts"}},
	{"mark", {"batch"}},
	{"rewind", {"batch", "to"}},
	{"commit", {"batch", "external"}},
	{"abort", {"batch"}},
	{"refuse", {"batch"}},
	{"die", {"batch"}},
	{"snapshot", {"seed"}},
	{"release", {"which"}},
	{"scan", {"seed"}},
	{"flush", {NULL}},
	{"compact", {"family"}},
	{"work", {"units"}},
	{"crash", {NULL}},
	{"clock", {"by"}},
	{"alter", {"family", "versions", "min", "ttl", "keep", "bloom", "compression", "window"}},
	{"bulk", {"batch", "family", "seed", "cells", "times"}},
	{"rewrite", {"batch", "family", "row", "qual", "value"}},
};

static inline step *
history_add(history *h, const step *s)
{
	if (h->n == h->cap)
	{
		h->cap = h->cap ? 2 * h->cap : 64;
		h->steps = realloc(h->steps, (size_t) h->cap * sizeof(step));
	}
	h->steps[h->n] = *s;
	return &h->steps[h->n++];
}

/* Returns the history without the steps [from, to). */
static inline history
history_without(const history *h, int from, int to)
{
	history out = {0};

	for (int i = 0; i < h->n; i++)
		if (i < from || i >= to)
			history_add(&out, &h->steps[i]);
	return out;
}

static inline void
step_print(FILE *f, const step *s)
{
	fprintf(f, "%s", step_kinds[s->kind].name);
	for (int i = 0; i < STEP_FIELDS && step_kinds[s->kind].fields[i] != NULL; i++)
		fprintf(f, " %s=%lld", step_kinds[s->kind].fields[i], (long long) s->a[i]);
}

/* Parses one line; # starts a comment.  Returns 1: a step, 0: an empty line, -1: an error. */
static inline int
step_parse(char *line, step *s)
{
	char *save, *word;

	line[strcspn(line, "#\n")] = '\0';
	memset(s, 0, sizeof *s);
	word = strtok_r(line, " \t", &save);
	if (word == NULL)
		return 0;
	for (s->kind = 0; s->kind < STEP_KINDS && strcmp(word, step_kinds[s->kind].name) != 0;
		 s->kind++)
		;
	if (s->kind == STEP_KINDS)
		return -1;
	while ((word = strtok_r(NULL, " \t", &save)) != NULL)
	{
		char *value = strchr(word, '=');
		int i = 0;

		if (value == NULL)
			return -1;
		*value++ = '\0';
		while (i < STEP_FIELDS && step_kinds[s->kind].fields[i] != NULL &&
			   strcmp(word, step_kinds[s->kind].fields[i]) != 0)
			i++;
		if (i == STEP_FIELDS || step_kinds[s->kind].fields[i] == NULL)
			return -1;
		s->a[i] = strtoll(value, NULL, 0);
	}
	return 1;
}

#endif /* HISTORY_H */

/*
 * fuzz_driver.c - runs a fuzz target without libFuzzer, so that gcc is enough.  It damages
 * inputs of a corpus at random, without looking at coverage.  The same seed and corpus make
 * the same inputs.
 *
 *   fuzz_X [-runs=N] [-only=N] [-seed=N] [CORPUS]
 *
 * CORPUS: a directory, whose files are the inputs to begin with; without one, inputs are random
 * bytes.  -only repeats one run.  A run that takes more than RUN_SECONDS ends the process:
 * whatever the bytes, the engine comes to an end.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/wide.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

#define INPUT_MAX	65536
#define RUN_SECONDS 20

typedef struct input
{
	size_t len;
	uint8_t *data;
} input;

static input *corpus;
static int ninputs;
static uint64_t state, seed = 1;
static unsigned long run;
static const char *program;

static uint64_t
rnd(uint64_t below)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (z ^ (z >> 31)) % below;
}

/* Says how to repeat the run; safe in a signal handler. */
static void
tell(void)
{
	char line[256];
	int n = snprintf(line, sizeof line, "to repeat: %s -seed=%llu -only=%lu\n", program,
					 (unsigned long long) seed, run);

	if (write(2, line, (size_t) n) < 0)
		return;
}

static void
too_long(int signal)
{
	static const char text[] = "a run does not come to an end\n";

	if (write(2, text, sizeof text - 1) > 0)
		abort();
}

static void
aborted(int signal)
{
	tell(); /* returns into abort(), which ends the process */
}

static void
load(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[1024];

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL)
	{
		FILE *f;
		input *i;

		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (e->d_name[0] == '.' || (f = fopen(path, "rb")) == NULL)
			continue;
		corpus = realloc(corpus, sizeof(input) * (size_t) (ninputs + 1));
		i = &corpus[ninputs++];
		i->data = malloc(INPUT_MAX);
		i->len = fread(i->data, 1, INPUT_MAX, f);
		fclose(f);
	}
	closedir(d);
}

/* Changes p, which has room for INPUT_MAX bytes, at one place.  Returns its new length. */
static size_t
damage(uint8_t *p, size_t n)
{
	static const uint64_t edges[] = {0,			 1,			 2,			0x7f,		0x80,
									 0xff,		 0x7fff,	 0xffff,	0x7fffffff, 0x80000000,
									 0xffffffff, 1ull << 40, INT64_MAX, 1ull << 63, UINT64_MAX};
	size_t at = n > 0 ? rnd(n) : 0, to, k, width = (size_t) 1 << rnd(4);
	uint64_t v = rnd(2) ? edges[rnd(sizeof edges / sizeof *edges)] : rnd(1 << 16);

	/* the heads and ends of files and blocks say how to read the rest */
	if (n > 64 && rnd(3) == 0)
		at = n - 1 - rnd(64);
	switch (rnd(8))
	{
		case 0:
			if (n > 0)
				p[at] ^= (uint8_t) (1 << rnd(8));
			break;
		case 1:
			if (n > 0)
				p[at] = (uint8_t) rnd(256);
			break;
		case 2:
		case 3:
			if (at + width <= n)
				memcpy(p + at, &v, width);
			break;
		case 4: /* one more, one less: lengths and offsets that nearly fit */
			if (n > 0)
				p[at] += rnd(2) ? 1 : 255;
			break;
		case 5: /* a copy of other bytes */
			if (n > 1)
			{
				to = rnd(n);
				k = 1 + rnd(64);
				k = at + k > n ? n - at : k;
				k = to + k > n ? n - to : k;
				memmove(p + to, p + at, k);
			}
			break;
		case 6: /* shorter */
			if (rnd(8) == 0)
				return at;
			break;
		case 7: /* bytes removed or inserted */
			k = 1 + rnd(8);
			if (rnd(2) && at + k <= n)
			{
				memmove(p + at, p + at + k, n - at - k);
				return n - k;
			}
			if (n + k <= INPUT_MAX)
			{
				memmove(p + at + k, p + at, n - at);
				return n + k;
			}
			break;
	}
	return n;
}

static size_t
make(uint8_t *p)
{
	size_t n = 0;

	if (ninputs > 0)
	{
		const input *i = &corpus[rnd((uint64_t) ninputs)];

		n = i->len;
		memcpy(p, i->data, n);
		for (uint64_t k = 1 + rnd(6); k > 0; k--)
			n = damage(p, n);
		return n;
	}
	for (n = 0; n < 256 && rnd(40) != 0; n++)
		p[n] = (uint8_t) rnd(256);
	return n;
}

static void
one(uint8_t *p)
{
	uint8_t *exact;
	size_t n;

	state = seed * 0x2545f4914f6cdd1d + run;
	n = make(p);
	/* the exact size, for the address sanitizer */
	exact = malloc(n > 0 ? n : 1);
	memcpy(exact, p, n);
	alarm(RUN_SECONDS);
	LLVMFuzzerTestOneInput(exact, n);
	alarm(0);
	free(exact);
}

int
main(int argc, char **argv)
{
	unsigned long runs = 10000, only = 0;
	uint8_t *p = malloc(INPUT_MAX);
	const char *dir = NULL;

	program = argv[0];
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "-runs=", 6) == 0)
			runs = strtoul(argv[i] + 6, NULL, 10);
		else if (strncmp(argv[i], "-only=", 6) == 0)
			only = strtoul(argv[i] + 6, NULL, 10);
		else if (strncmp(argv[i], "-seed=", 6) == 0)
			seed = strtoull(argv[i] + 6, NULL, 10);
		else
			dir = argv[i];
	if (LLVMFuzzerInitialize != NULL)
		LLVMFuzzerInitialize(&argc, &argv);
	if (dir != NULL)
		load(dir);
	signal(SIGALRM, too_long);
	signal(SIGABRT, aborted);
	if (__sanitizer_set_death_callback != NULL)
		__sanitizer_set_death_callback(tell);
	for (run = only > 0 ? only : 1; run <= (only > 0 ? only : runs); run++)
		one(p);
	free(p);
	for (int i = 0; i < ninputs; i++)
		free(corpus[i].data);
	free(corpus);
	printf("ok - %s: %lu inputs with seed %llu\n",
		   strrchr(program, '/') != NULL ? strrchr(program, '/') + 1 : program, only > 0 ? 1 : runs,
		   (unsigned long long) seed);
	return 0;
}

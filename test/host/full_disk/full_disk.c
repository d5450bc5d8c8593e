/*
 * full_disk.c - a full disk for some files of a server that it is preloaded to.
 *
 * While the file that the environment variable FULL_DISK names exists, every pwrite() to a
 * file fails with ENOSPC if its name contains the first line of that file.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int
is_full(int fd)
{
	const char *control = getenv("FULL_DISK");
	char what[256] = "", link[64], name[4096];
	FILE *f;
	ssize_t n;

	if (control == NULL || (f = fopen(control, "re")) == NULL)
		return 0;
	if (fgets(what, sizeof what, f) != NULL)
		what[strcspn(what, "\n")] = '\0';
	fclose(f);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof name - 1);
	if (n < 0 || what[0] == '\0')
		return 0;
	name[n] = '\0';
	return strstr(name, what) != NULL;
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	static ssize_t (*real)(int, const void *, size_t, off_t);

	if (real == NULL)
		real = (ssize_t(*)(int, const void *, size_t, off_t)) dlsym(RTLD_NEXT, "pwrite");
	if (is_full(fd))
	{
		errno = ENOSPC;
		return -1;
	}
	return real(fd, p, n, at);
}

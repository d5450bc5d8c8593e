/*
 * os.c - the real system calls on files.
 *
 * Interrupted calls are repeated, except close and fdatasync.
 *
 * fdatasync is enough for data files: it writes the size if that has changed.
 * Names need syncdir.  After a failed sync the kernel may have dropped the dirty
 * pages and call them clean, so callers never sync the same file again: they
 * discard it or poison the store.
 *
 * No file is opened through a symbolic link: the store has none, and one that another program put
 * there could lead a write to any file of the same user.  The directory itself may be one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "engine/base/os.h"
#include "engine/base/status.h"

wide_status
os_fail(int64_t error, const char *what, const char *path)
{
	int e = (int) (error < 0 ? -error : error);
	wide_status st = WIDE_IO;

	if (e == ENOSPC || e == EDQUOT || e == EFBIG)
		st = WIDE_NOSPACE;
	/* a want of this process or of the system that passes: it says nothing about the file, and must
	 * not be taken for damage (damage.h) */
	else if (e == ENOMEM || e == EMFILE || e == ENFILE)
		st = WIDE_NOMEM;
	return status_fail(st, "could not %s \"%s\": %s", what, path, strerror(e));
}

static mode_t file_mode = 0600, directory_mode = 0700;

void
os_set_modes(unsigned file, unsigned directory)
{
	file_mode = (mode_t) file;
	directory_mode = (mode_t) directory;
}

int
os_create(wide_os *os, const char *path)
{
	int fd = os->open(os, path, O_RDWR | O_CREAT | O_EXCL);

	if (fd == -EEXIST)
	{
		int rc = os->unlink(os, path);

		fd = rc < 0 && rc != -ENOENT ? rc : os->open(os, path, O_RDWR | O_CREAT | O_EXCL);
	}
	return fd;
}

static int
real_open(wide_os *os, const char *path, int flags)
{
	int fd;

	if ((flags & O_DIRECTORY) == 0)
		flags |= O_NOFOLLOW;
	do
		fd = open(path, flags | O_CLOEXEC, file_mode);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

static int
real_close(wide_os *os, int fd)
{
	/* never repeated: on Linux the descriptor is gone even after EINTR */
	return close(fd) < 0 && errno != EINTR ? -errno : 0;
}

static int64_t
real_pread(wide_os *os, int fd, void *buf, size_t n, uint64_t off)
{
	size_t done = 0;

	while (done < n)
	{
		ssize_t r = pread(fd, (char *) buf + done, n - done, (off_t) (off + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		done += (size_t) r;
	}
	return (int64_t) done;
}

static void
real_will_read(wide_os *os, int fd, uint64_t off, uint64_t n)
{
	(void) posix_fadvise(fd, (off_t) off, (off_t) n, POSIX_FADV_WILLNEED);
}

static int64_t
real_pwrite(wide_os *os, int fd, const void *buf, size_t n, uint64_t off)
{
	size_t done = 0;

	while (done < n)
	{
		ssize_t r = pwrite(fd, (const char *) buf + done, n - done, (off_t) (off + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			return -ENOSPC;
		done += (size_t) r;
	}
	return (int64_t) done;
}

static int
real_sync(wide_os *os, int fd)
{
	/* not repeated, not even after EINTR: see above */
	return fdatasync(fd) < 0 ? -errno : 0;
}

static int64_t
real_size(wide_os *os, int fd)
{
	struct stat s;

	return fstat(fd, &s) < 0 ? -errno : (int64_t) s.st_size;
}

static int
real_truncate(wide_os *os, int fd, uint64_t size)
{
	int r;

	do
		r = ftruncate(fd, (off_t) size);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

static int
real_links(wide_os *os, int fd)
{
	struct stat s;

	return fstat(fd, &s) < 0 ? -errno : (int) s.st_nlink;
}

static int
real_unlink(wide_os *os, const char *path)
{
	return unlink(path) < 0 ? -errno : 0;
}

static int
real_rename(wide_os *os, const char *from, const char *to)
{
	return rename(from, to) < 0 ? -errno : 0;
}

static int
real_mkdir(wide_os *os, const char *path)
{
	return mkdir(path, directory_mode) < 0 ? -errno : 0;
}

static int
real_syncdir(wide_os *os, const char *path)
{
	int fd = real_open(os, path, O_RDONLY | O_DIRECTORY);
	int r;

	if (fd < 0)
		return fd;
	r = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static int
real_list(wide_os *os, const char *path, int (*fn)(void *arg, const char *name), void *arg)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int r = 0;

	if (d == NULL)
		return -errno;
	while (errno = 0, (e = readdir(d)) != NULL)
	{
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fn(arg, e->d_name) != 0)
			break;
	}
	if (e == NULL && errno != 0)
		r = -errno;
	closedir(d);
	return r;
}

wide_os *
os_real(void)
{
	static wide_os real = {real_open,	real_close, real_pread,	   real_will_read, real_pwrite,
						   real_sync,	real_size,	real_truncate, real_links,	   real_unlink,
						   real_rename, real_mkdir, real_syncdir,  real_list};

	return &real;
}

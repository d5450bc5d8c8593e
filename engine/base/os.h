/* os.h - all system calls on files */
#ifndef WIDE_OS_H
#define WIDE_OS_H

#include "engine/wide.h"

/*
 * All system calls on files go through this table, so that a test can replace
 * them.  The functions return >= 0 on success and -errno on failure; pread
 * and pwrite return the number of bytes.
 */
typedef struct wide_os wide_os;

struct wide_os
{
	/* O_RDONLY | O_RDWR | O_CREAT | O_EXCL; O_CLOEXEC and, but for directories, O_NOFOLLOW are
	 * added. To create files: os_create */
	int (*open)(wide_os *os, const char *path, int flags);
	int (*close)(wide_os *os, int fd);
	/* short only at the end of the file */
	int64_t (*pread)(wide_os *os, int fd, void *buf, size_t n, uint64_t off);
	/* hint: the bytes will be read soon */
	void (*will_read)(wide_os *os, int fd, uint64_t off, uint64_t n);
	/* writes all n bytes */
	int64_t (*pwrite)(wide_os *os, int fd, const void *buf, size_t n, uint64_t off);
	int (*sync)(wide_os *os, int fd); /* fdatasync, which covers the size */
	int64_t (*size)(wide_os *os, int fd);
	int (*truncate)(wide_os *os, int fd, uint64_t size);
	/* the number of names that the file has */
	int (*links)(wide_os *os, int fd);
	int (*unlink)(wide_os *os, const char *path);
	int (*rename)(wide_os *os, const char *from, const char *to);
	int (*mkdir)(wide_os *os, const char *path);
	/* makes names in the directory durable */
	int (*syncdir)(wide_os *os, const char *path);
	/* calls fn for each name except . and .., until fn returns nonzero */
	int (*list)(wide_os *os, const char *path, int (*fn)(void *arg, const char *name), void *arg);
};

/* Returns the table of the real system calls. */
extern wide_os *os_real(void);

/* Sets the modes of files and directories that this process creates; 0600 and 0700 otherwise. */
extern void os_set_modes(unsigned file, unsigned directory);

/*
 * Creates a file for reading and writing, in the place of what has its name: that is removed, never
 * written to, whatever it is.  Returns the descriptor, or -errno.
 */
extern int os_create(wide_os *os, const char *path);

/*
 * Returns the status for a failed call (error: errno or -errno), with a text that
 * says what ("write", "open") failed for which path: WIDE_NOSPACE for a full disk,
 * a quota or the largest file size, WIDE_NOMEM, otherwise WIDE_IO.
 */
extern wide_status os_fail(int64_t error, const char *what, const char *path);

#endif /* WIDE_OS_H */

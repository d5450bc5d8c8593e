/* os.h - every system call on files */
#ifndef WIDE_OS_H
#define WIDE_OS_H

#include "engine/wide.h"

/*
 * Every system call on files goes through this table.  All functions return
 * 0 or more on success and -errno on failure.  Paths are as given by the
 * caller.  The table is const for the real system; a test may wrap it.
 */
typedef struct wide_os wide_os;

struct wide_os
{
	/* O_RDONLY | O_RDWR | O_CREAT | O_EXCL | O_TRUNC; mode 0600, O_CLOEXEC */
	int (*open)(wide_os *os, const char *path, int flags);
	int (*close)(wide_os *os, int fd);
	/* loops; short only at the end of file */
	int64_t (*pread)(wide_os *os, int fd, void *buf, size_t n, uint64_t off);
	/* the same if all of it is in the system's cache, else -EAGAIN; where the system does not
	 * tell, the same */
	int64_t (*pread_now)(wide_os *os, int fd, void *buf, size_t n, uint64_t off);
	void (*will_read)(wide_os *os, int fd, uint64_t off, uint64_t n); /* soon: a hint */
	/* loops; all or -errno */
	int64_t (*pwrite)(wide_os *os, int fd, const void *buf, size_t n, uint64_t off);
	int (*sync)(wide_os *os, int fd); /* fdatasync (which covers the size) */
	int64_t (*size)(wide_os *os, int fd);
	int (*truncate)(wide_os *os, int fd, uint64_t size);
	int (*unlink)(wide_os *os, const char *path);
	int (*rename)(wide_os *os, const char *from, const char *to);
	int (*mkdir)(wide_os *os, const char *path); /* 0700 */
	int (*syncdir)(wide_os *os, const char *path);
	/* calls fn for each name except . and .. ; stops when fn returns nonzero */
	int (*list)(wide_os *os, const char *path, int (*fn)(void *arg, const char *name), void *arg);
};

extern wide_os *os_real(void);

/*
 * The status for a failed call of the table (error = -errno as returned or
 * errno), with a text that names what was done to which path: WIDE_FULL for a
 * full disk, WIDE_NOMEM, else WIDE_IO.
 */
extern wide_status os_fail(int64_t error, const char *what, const char *path);

#endif /* WIDE_OS_H */
